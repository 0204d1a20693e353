"""The chapter of a location service: what is promised, where a place is reported, and what the server learns.

A mechanism is made from public inputs, so that nothing on the page is private; the place whose row is drawn is an
example.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import cautions
from discreet.plot import plot_channel_row
from discreet.plot.style import FAINT
from discreet.report.attacked import section
from discreet.report.figures import drawn
from discreet.report.page import IN_BROWSER, Chapter, render_template
from discreet.report.words import distance, example_distance, guesses, strength

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from discreet.evaluate.attack.finding import Attacked
    from discreet.lrgeo import Mechanism, Region

_LEAD = "A server publishes one mechanism for everybody; clients draw their reports themselves."


def chapter(
    mechanism: Mechanism,
    *,
    region: Region | None = None,
    place: int = 0,
    lead: Sequence[str] = (_LEAD,),
    size: int | None = None,
    artefact: str | None = None,
    sha256: str = "",
    attacked: Sequence[tuple[str, Attacked]] = (),
) -> Chapter:
    """Render a mechanism that a location service publishes.

    Parameters
    ----------
    mechanism
        What is published.
    region
        The region with its roads, which are no part of a mechanism, to be drawn under the map.
    place
        Index of the place whose row is drawn.
    lead
        Paragraphs under the heading.
    size
        Bytes of the file.
    artefact
        Name of the file, for the command that checks it.
    sha256
        The digest of that file, so that one that was altered since can be told.
    attacked
        Pairs of a heading and the findings of an attack on the service.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.

    Raises
    ------
    InvalidProblemError
        When there is no such place.
    """
    own, guarantee, title = mechanism.region, mechanism.guarantee, "A location service"
    if not 0 <= place < own.K:
        raise InvalidProblemError("place", f"an index from 0 to {own.K - 1}", place)
    spacing = Fraction(own.reach).limit_denominator(1000)
    length = example_distance(guarantee, spacing)
    nats = strength(guarantee, length)
    size_text = "one file" if size is None else printed.at_most(Fraction(size, 1000), 3, "kB")
    body = render_template(
        "location.html",
        title=title,
        anchor="location",
        lead=lead,
        passed=mechanism.certificate.passed,
        cautions=cautions(guarantee, spacing),
        guarantee=mechanism.promise,
        claim={
            "distance": distance(length, own.unit),
            "guesses": "100" if nats is None else guesses(nats * (own.stretch or 1)),
        },
        size=size_text,
        figure=_map(mechanism, region or own, place),
        numbers=_numbers(mechanism),
        bounded=mechanism.lower is not None,
        artefact=artefact,
        in_browser=IN_BROWSER,
        sha256=sha256,
        attacked=[
            section(attack, title=heading, anchor=f"location-attacked-{at}")
            for at, (heading, attack) in enumerate(attacked)
        ],
    )
    return Chapter(title, "location", body, lead[0] if lead else _LEAD)


def _map(mechanism: Mechanism, region: Region, place: int) -> str:
    """Return the SVG of a region, with its roads if it has some, and the reports of place number `place`."""

    def draw(figure: Figure) -> None:
        from matplotlib.collections import LineCollection

        ax = figure.add_subplot()
        roads = region.roads
        if roads is not None:
            lines = roads.vertices[roads.segments] * (region.points[0] / region.places[0])[0]
            ax.add_collection(LineCollection(list(lines), colors=FAINT, linewidths=0.8, zorder=1))
        plot_channel_row(
            mechanism.channel,
            region.points,
            place,
            reports=mechanism.channel.names,
            unit=region.unit,
            ax=ax,
        )

    return drawn(draw, 5.0, 4.4, label="Map of where one place is reported", salt="location")


def _numbers(mechanism: Mechanism) -> list[tuple[str, str]]:
    """Return the rows of a mechanism's table of numbers, names with texts.

    Texts: places, explicit weights, loss (rounded up) and lower bound (down) if known, checks, and the digest's
    beginning.
    """
    channel, unit = mechanism.channel, mechanism.region.unit
    rows = [("places", f"{mechanism.region.K}"), ("explicit weights", f"{len(channel.ball)}")]
    if mechanism.upper is not None:
        rows.append(("expected loss", printed.at_most(mechanism.upper, 3, unit)))
    if mechanism.lower is not None:
        rows.append(("lower bound", printed.at_least(mechanism.lower, 3, unit)))
    checks = mechanism.certificate.checks
    passed = sum(check.passed for check in checks)
    return [
        *rows,
        ("checks of the verifier passed", f"{passed} of {len(checks)}"),
        ("SHA-256", mechanism.digest[:16]),
    ]
