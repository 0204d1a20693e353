"""The chapter of a private choice: what is promised, what was chosen, what it costs, and how the guarantee adds up.

A chapter of real records holds what the release holds and nothing else. Maps of people and curves of values are for
synthetic data, or for data that are public anyway: they are options that the caller gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.plot import plot_selection
from discreet.plot.style import VERMILION
from discreet.report.attacked import outcome_chapter
from discreet.report.figures import drawn, frontier_svg
from discreet.report.words import promise_about_a_person
from discreet.submodular.method import draws_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.outcome import Release
    from discreet.evaluate.attack.finding import Attacked
    from discreet.evaluate.audit.audit import Audit
    from discreet.plot import Curve
    from discreet.report.page import Chapter
    from discreet.submodular.problem import Selection

_AUDITED = (
    "The verifier went over this choice. Its method was replayed, every draw of it, on a few synthetic records and all "
    "their neighbors, in search of an event that the promise does not allow: nothing private was read for that. That a "
    "promise was not broken proves nothing."
)


@final
@dataclass(frozen=True, eq=False)
class Ground:
    """Candidates as places in the plane.

    Parameters
    ----------
    places
        ``(n_elements, 2)`` coordinates, in any unit. Public.
    people
        ``(n, 2)`` coordinates of records, or ``None``. **Drawn as they are**: for synthetic data only.
    compared
        Elements to ring for comparison, such as those that a choice without noise would take. **Not private.**
    words
        What the map shows, plain text.

    Raises
    ------
    InvalidProblemError
        For coordinates of another shape.
    """

    places: NDArray[np.float64]
    people: NDArray[np.float64] | None = None
    compared: tuple[int, ...] = ()
    words: str = "The chosen places are the discs; the dots are all candidates."

    def __post_init__(self) -> None:
        for name in ("places", "people"):
            points = getattr(self, name)
            if points is None:
                continue
            if points.ndim != 2 or points.shape[1] != 2 or not len(points):
                raise InvalidProblemError(name, "coordinates in the plane", "another shape")


def chapter(
    release: Release[Selection],
    *,
    title: str = "A private choice",
    anchor: str = "choice",
    lead: Sequence[str] = (),
    names: Sequence[str] | None = None,
    ground: Ground | None = None,
    curves: Sequence[Curve] = (),
    curves_note: str = "",
    value_name: str = "value",
    attacked: Attacked | None = None,
    audits: Sequence[Audit] = (),
) -> Chapter:
    """Render a release.

    Parameters
    ----------
    release
        What :func:`discreet.submodular.release` returned.
    title
        Heading of the chapter.
    anchor
        Its name in links.
    lead
        Paragraphs under the heading, plain text: who is protected, and what is chosen.
    names
        What to call the elements, ``(n_elements,)``; numbers by default.
    ground
        A map of the candidates.
    curves
        Values against epsilon, for data that are public anyway.
    curves_note
        What the curves are about, plain text.
    value_name
        What the axis of values is called.
    attacked, audits
        What was tried against it: attacks on synthetic data, since they know the records, and audits, which know none.

    Returns
    -------
    Chapter
        For :func:`discreet.report.write_report`.

    Raises
    ------
    InvalidProblemError
        For names that do not fit the ground set.
    """
    selection = release.result
    labels = _names(selection, names)
    about: dict[str, Any] = {} if attacked is not None else {"title": "Audited", "lead": _AUDITED}
    return outcome_chapter(
        "submodular.html",
        release,
        (title, anchor, lead),
        (attacked, audits),
        about,
        promise=promise_about_a_person(release.guarantee),
        chosen=labels,
        n_elements=selection.statement.n_elements,
        map="" if ground is None else _map(ground, selection, anchor),
        words="" if ground is None else ground.words,
        figure=frontier_svg(curves, f"{value_name} against epsilon", anchor, quantity=value_name),
        curves_note=curves_note,
        how=draws_in_words(
            release.provenance.method, release.result.mechanism, release.result.coefficient
        ),
        lines=[
            {
                "rule": line.rule,
                "proves": _short(line.guarantee),
                "draws": line.draws,
                "loss": printed.decimal_up(line.loss),
            }
            for line in selection.accounting
        ],
        method=release.provenance.method,
        charge=release.provenance.charge or "unknown",
    )


def _names(selection: Selection, names: Sequence[str] | None) -> list[str]:
    """Return the names of the chosen elements, with the kind of each if there are several, in the order of the draws.

    Numbers are used where `names` ``(n_elements,)`` is None. InvalidProblemError for another length.

    `selection` is the published choice.
    """
    statement = selection.statement
    if names is not None and len(names) != statement.n_elements:
        raise InvalidProblemError("names", f"{statement.n_elements} names", len(names))
    shown = []
    for element, kind in selection.chosen:
        name = f"element {element}" if names is None else names[element]
        if statement.n_kinds > 1:
            name += f", kind {kind}"
        shown.append(name)
    return shown


def _short(guarantee: DPGuarantee) -> str:
    """Write a guarantee as its parameters, rounded up."""
    if isinstance(guarantee, PureDP):
        return f"epsilon {printed.decimal_up(guarantee.epsilon)}"
    if isinstance(guarantee, ApproxDP):
        return f"epsilon {printed.decimal_up(guarantee.epsilon)}, delta {printed.decimal_up(guarantee.delta)}"
    return f"rho {printed.decimal_up(guarantee.rho)}"


def _map(ground: Ground, selection: Selection, anchor: str) -> str:
    """Return an SVG of the candidates and the chosen places, with rings for `compared` and dots for people, if given.

    InvalidProblemError for another number of places than elements.
    """
    if len(ground.places) != selection.statement.n_elements:
        expected = f"{selection.statement.n_elements} places"
        raise InvalidProblemError("places", expected, len(ground.places))

    def draw(figure: Figure) -> None:
        ax = plot_selection(selection, ground.places, people=ground.people, ax=figure.add_subplot())
        if ground.compared:
            rings = ground.places[list(ground.compared)]
            ax.plot(*rings.T, "o", mfc="none", mec=VERMILION, ms=13, zorder=4)

    return drawn(draw, 5.6, 4.6, label=f"Map: {ground.words}", salt=f"{anchor}-map")
