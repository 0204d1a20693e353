"""``info``: what a channel guarantees, loses and assumes, as plain facts and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from discreet.cli.calls import from_options
from discreet.cli.files import channel_kind, open_any, open_file
from discreet.cli.options import ChannelOption, JsonOption, VerboseOption
from discreet.cli.output import emit, proved
from discreet.core import printed
from discreet.core.printed import facts
from discreet.core.statements import state

if TYPE_CHECKING:
    from discreet.artefact.implicit import AnchoredArtefact
    from discreet.core.outcome import Design, Provenance
    from discreet.lrgeo import Mechanism
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem

    Rows = list[tuple[str, object]]
    MetricDesign = Design[Problem, Multipliers]


@final
class InfoOptions(ChannelOption, JsonOption, VerboseOption):
    """Options of ``info``."""


@from_options(InfoOptions, examples=("discreet info c.channel --json",))
def info(options: InfoOptions) -> None:
    """Show what a channel file guarantees, loses, assumes, and how it was made.

    Nothing is checked beyond the file being whole; `discreet verify` checks what it claims.
    """
    from discreet.artefact import load_mechanism, load_points
    from discreet.artefact.mechanism import FOR_EVERY_POINT, MECHANISM
    from discreet.artefact.reader import Artefact

    channel = options.channel
    kind = channel_kind(channel)
    stored: Any
    if kind == MECHANISM or kind in FOR_EVERY_POINT:
        stored = open_file(load_mechanism if kind == MECHANISM else load_points, channel)
        data, rows = describe_mechanism(kind, stored)
    else:
        stored = open_any(channel)
        labels = None if stored.labels is None else list(stored.labels)
        if isinstance(stored, Artefact):
            rows, stored = _design_rows(stored.design, stored.labels), stored.design
            data = {**describe(stored), "provenance": stored.provenance.to_dict()}
        else:
            data, rows = anchored_facts(stored), _anchored_rows(stored)
        data["labels"] = labels
    # A file may state any certificate: only `verify` may say that something holds.
    checks = proved(stored.certificate, verbose=options.verbose)
    text = f"{facts(rows)}\n\nNot checked here; discreet verify does. The file states: {checks}"
    emit("info", options, {**data, "checked": False}, text)


def describe(design: MetricDesign) -> dict[str, Any]:
    """Return the facts that `design` and `info` have in common, by name.

    Loss and bounds, guarantee, sizes, certificate. Plain values for JSON, ``loss_by_secret`` a list for all secrets.
    Nothing is checked.
    """
    scope = design.guarantee.space_scope
    return {
        "loss": design.upper,
        "lower": design.lower,
        "upper": design.upper,
        "gap": design.gap,
        "status": design.status,
        "loss_quantiles": design.loss_quantiles,
        "loss_by_secret": design.loss_by_secret.tolist(),
        "method": design.provenance.method,
        "guarantee": {**design.guarantee.to_dict(), "sentence": str(design.guarantee)},
        "unit": design.guarantee.unit,
        "sizes": {
            "secrets": design.channel.n_secrets,
            "reports": design.channel.n_reports,
            "bits": design.channel.total.bit_length() - 1,
        },
        "components": 1 if scope is None else scope.components,
        "joined_links": 0 if scope is None else scope.joined,
        "isolated_secrets": [] if scope is None else list(scope.isolated),
        "assumed_public": design.provenance.to_dict()["assumed_public"],
        "certificate": design.certificate.to_dict(),
    }


def _design_rows(design: MetricDesign, labels: tuple[str, ...] | None) -> Rows:
    """Return pairs of a name and a value about a stored design; `labels` name isolated secrets, None numbers them."""
    channel, scope = design.channel, design.guarantee.space_scope
    rows: Rows = [("guarantee", design.guarantee), ("unit", design.guarantee.unit)]
    rows += [("secrets", channel.n_secrets), ("reports", channel.n_reports)]
    rows += loss_rows(design, labels)
    if scope is not None:
        named = [labels[i] if labels else str(i) for i in scope.isolated]
        rows += [("joined links", scope.joined), ("isolated secrets", ", ".join(named) or "none")]
    return [*rows, *_provenance_rows(design.provenance)]


def _provenance_rows(provenance: Provenance) -> list[tuple[str, object]]:
    """Return rows of text about the public inputs, parameters and versions behind a file.

    Name and text; a digest is cut to 16 digits. A seed is stated as not private.
    """
    seeded = [("private", "no: made with a seed")] if provenance.seeded else []
    return [
        *(
            ("assumed public", f"{public.name}: {public.description}, sha256 {public.digest[:16]}")
            for public in provenance.assumed_public
        ),
        *((f"  {name}", value) for name, value in provenance.parameters.items()),
        *(("tried", sentence) for sentence in provenance.method_trace),
        ("made with", ", ".join(f"{k} {v}" for k, v in provenance.versions.items())),
        *seeded,
    ]


def loss_rows(design: MetricDesign, labels: tuple[str, ...] | None) -> list[tuple[str, object]]:
    """Return rows, name and text, about the loss of a design, its lower bound, its quantiles, and the method.

    `labels` name the secret with the greatest loss; None names it by number.
    """
    links = design.guarantee.links_in_words
    median, most, worst = map(printed.at_most, design.loss_quantiles.values())
    at = int(design.loss_by_secret.argmax())
    place = labels[at] if labels else f"number {at}"
    share = printed.share(0.95)
    quantiles = state(
        "loss by secret", noun="secret", median=median, share=share, most=most, worst=worst
    )
    return [
        (
            "expected loss",
            f"{printed.bounds(design.lower, design.upper)} ({design.status_in_words})",
        ),
        *([("where the bound is that", state("bound of channels", links=links))] if links else []),
        (
            "loss by secret",
            f"{quantiles} The worst is {place}.",
        ),
        ("method", design.provenance.method),
    ]


def _stated(kind: str, stored: AnchoredArtefact | Mechanism | PublishedPoints) -> dict[str, Any]:
    """Return kind, guarantee, unit, method, certificate and provenance of a stored channel or mechanism, plainly.

    `kind` is that of its file; all values are plain, for JSON. Nothing is checked.
    """
    guarantee = stored.guarantee
    return {
        "kind": kind,
        "guarantee": {
            **guarantee.to_dict(),
            "sentence": getattr(stored, "promise", str(guarantee)),
        },
        "unit": guarantee.unit,
        "method": stored.provenance.method,
        "certificate": stored.certificate.to_dict(),
        "provenance": stored.provenance.to_dict(),
    }


def anchored_facts(stored: AnchoredArtefact) -> dict[str, Any]:
    """Return what a file states about its channel, by name: `_stated`, sizes, rate, lift and totals_share.

    `stored` is the file as it was read; nothing is checked.
    """
    channel = stored.channel
    sizes = {"secrets": channel.n_secrets, "reports": channel.n_reports, "ball": len(channel.ball)}
    return {
        **_stated("anchored", stored),
        "sizes": sizes,
        "rate": str(channel.rate),
        "lift": channel.lift,
        "totals_share": str(stored.totals_share),
    }


def _anchored_rows(stored: AnchoredArtefact) -> Rows:
    """Return rows of text about a stored channel."""
    channel = stored.channel
    return [
        ("guarantee", stored.guarantee),
        ("unit", stored.guarantee.unit),
        ("secrets", channel.n_secrets),
        ("reports", channel.n_reports),
        ("explicit weights", len(channel.ball)),
        ("tails fall at", f"{printed.estimate(channel.rate)} nats per {stored.guarantee.unit}"),
        ("epsilon for the totals", f"{stored.totals_share} of it"),
        ("method", stored.provenance.method),
        *_provenance_rows(stored.provenance),
    ]


def describe_mechanism(
    kind: str, stored: Mechanism | PublishedPoints
) -> tuple[dict[str, Any], Rows]:
    """Return what a mechanism for places or for every point states: plain values for JSON, and rows of name and text.

    `kind` is that of its file. Nothing is checked.
    """
    from discreet.lrgeo.places.space import per_unit
    from discreet.lrgeo.points.published import PublishedPoints

    unit, provenance = stored.guarantee.unit, stored.provenance
    data = {**_stated(kind, stored), "loss": stored.upper, "lower": stored.lower}
    if isinstance(stored, PublishedPoints):
        sizes = {name.replace(" ", "_"): count for name, count in stored.sizes.items()}
        data |= {
            "mesh_lower": getattr(stored, "mesh_lower", None),
            "sizes": {**sizes, "bits": stored.bits},
        }
        parts = (f"{count} {name}" for name, count in stored.sizes.items() if name != "reports")
        reach = f"{printed.estimate(stored.reach / per_unit(unit))} {unit}"
        bounds, about = "all mechanisms with these reports", "any two points of the region"
        rows: Rows = [
            ("which is about", f"{about}: none is snapped to a place"),
            ("reports", stored.K),
            ("drawn from", ", ".join(parts)),
            ("a little outside", f"up to {reach}: as the nearest point"),
        ]
    else:
        channel, bounds = stored.channel, "all mechanisms"
        places = {"places": stored.region.K, "reports": channel.n_reports}
        data["sizes"] = {**places, "ball": len(channel.ball)}
        rows = [
            ("which is about", "places: a point is snapped to the nearest one first"),
            ("places", stored.region.K),
            ("explicit weights", len(channel.ball)),
            ("tails fall at", f"{printed.estimate(channel.rate)} nats per {unit}"),
        ]
    lows = [(bounds, stored.lower)]
    if hasattr(stored, "mesh_lower"):
        lows.append(("all tables on this lattice", stored.mesh_lower))
    loss = "not computed" if stored.upper is None else printed.at_most(stored.upper, unit=unit)
    return {**data, "digest": stored.digest}, [
        ("guarantee", stored.promise),
        *rows,
        ("expected loss", loss),
        *(
            (
                "lower bound",
                f"for {of}: {'not computed' if low is None else printed.at_least(low, unit=unit)}",
            )
            for of, low in lows
        ),
        ("method", provenance.method),
        ("sha256", stored.digest),
        *(("tried", sentence) for sentence in provenance.method_trace),
        ("made with", ", ".join(f"{k} {v}" for k, v in provenance.versions.items())),
    ]
