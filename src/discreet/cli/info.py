"""``info``: what a channel guarantees, loses and assumes, as plain facts and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from discreet.cli.calls import from_options
from discreet.cli.files import channel_kind, open_any, open_file
from discreet.cli.mechanisms import (
    mechanism_facts,
    mechanism_text,
    points_facts,
    points_text,
)
from discreet.cli.options import ChannelOption, JsonOption, VerboseOption
from discreet.cli.output import emit, facts, proved
from discreet.core import printed
from discreet.core.statements import state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.artefact import AnchoredArtefact
    from discreet.core.outcome import Design, Provenance
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.problem import Problem

    MetricDesign = Design[Problem, Multipliers]

__all__ = ["anchored_facts", "describe", "info", "loss_rows"]


_EXAMPLES = "Example:\n\n```\ndiscreet info c.channel --json\n```"


@final
class InfoOptions(ChannelOption, JsonOption, VerboseOption):
    """Options of ``info``."""


@from_options(InfoOptions, examples=_EXAMPLES)
def info(options: InfoOptions) -> None:
    """Show what a channel file guarantees, loses, assumes, and how it was made.

    Nothing is checked beyond the file being whole; `discreet verify` checks what it claims.
    """
    from discreet.artefact import (
        FOR_EVERY_POINT,
        MECHANISM,
        Artefact,
        load_mechanism,
        load_points,
    )

    channel = options.channel
    kind = channel_kind(channel)
    data: Mapping[str, Any]
    if kind in FOR_EVERY_POINT:
        points = open_file(load_points, channel)
        data, text, certificate = points_facts(points), points_text(points), points.certificate
    elif kind == MECHANISM:
        mechanism = open_file(load_mechanism, channel)
        data, text = mechanism_facts(mechanism), mechanism_text(mechanism)
        certificate = mechanism.certificate
    else:
        stored = open_any(channel)
        labels = None if stored.labels is None else list(stored.labels)
        if isinstance(stored, Artefact):
            made = stored.design
            data = {**describe(made), "provenance": made.provenance.to_dict(), "labels": labels}
            text, certificate = _info_text(made, stored.labels), made.certificate
        else:
            data = {**anchored_facts(stored), "labels": labels}
            text, certificate = _anchored_text(stored), stored.certificate
    # A file may state any certificate: only `verify` may say that something holds.
    checks = proved(certificate, verbose=options.verbose)
    text += f"\n\nNot checked here; discreet verify does. The file states: {checks}"
    emit({**data, "checked": False}, text, as_json=options.as_json, command="info")


def describe(design: MetricDesign) -> dict[str, Any]:
    """Return the facts that `design` and `info` have in common."""
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


def _info_text(design: MetricDesign, labels: tuple[str, ...] | None) -> str:
    """Describe a stored design to people."""
    channel, scope, provenance = design.channel, design.guarantee.space_scope, design.provenance
    rows = [("guarantee", design.guarantee), ("unit", design.guarantee.unit)]
    rows += [
        ("secrets", channel.n_secrets),
        ("reports", channel.n_reports),
        *loss_rows(design, labels),
    ]
    if scope is not None:
        named = [labels[i] if labels else str(i) for i in scope.isolated]
        rows += [("joined links", scope.joined), ("isolated secrets", ", ".join(named) or "none")]
    return facts([*rows, *provenance_rows(provenance)])


def provenance_rows(provenance: Provenance) -> list[tuple[str, object]]:
    """Return rows of text about the public inputs, parameters and versions behind a file."""
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
    """Return rows of text about the loss of a design, its lower bound, loss by secret, and the method."""
    links = design.guarantee.links_in_words
    median, most, worst = map(printed.at_most, design.loss_quantiles.values())
    at = int(design.loss_by_secret.argmax())
    place = labels[at] if labels else f"number {at}"
    return [
        (
            "expected loss",
            f"{printed.bounds(design.lower, design.upper)} ({design.status_in_words})",
        ),
        *([("where the bound is that", state("bound of channels", links=links))] if links else []),
        (
            "loss by secret",
            f"up to {median} for half of the secrets, {most} for 95 %, {worst} at worst ({place})",
        ),
        ("method", design.provenance.method),
    ]


def anchored_facts(stored: AnchoredArtefact) -> dict[str, Any]:
    """Return what a file states about its channel, as plain values."""
    channel, guarantee, provenance = stored.channel, stored.guarantee, stored.provenance
    return {
        "kind": "anchored",
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        "unit": guarantee.unit,
        "method": provenance.method,
        "sizes": {
            "secrets": channel.n_secrets,
            "reports": channel.n_reports,
            "ball": len(channel.ball),
        },
        "rate": str(channel.rate),
        "lift": channel.lift,
        "totals_share": str(stored.totals_share),
        "certificate": stored.certificate.to_dict(),
        "provenance": provenance.to_dict(),
    }


def _anchored_text(stored: AnchoredArtefact) -> str:
    """Describe a stored channel to people."""
    channel, provenance = stored.channel, stored.provenance
    rows: list[tuple[str, object]] = [
        ("guarantee", stored.guarantee),
        ("unit", stored.guarantee.unit),
        ("secrets", channel.n_secrets),
        ("reports", channel.n_reports),
        ("explicit weights", len(channel.ball)),
        ("tails fall at", f"{printed.estimate(channel.rate)} nats per {stored.guarantee.unit}"),
        ("epsilon for the totals", f"{stored.totals_share} of it"),
        ("method", provenance.method),
    ]
    return facts([*rows, *provenance_rows(provenance)])
