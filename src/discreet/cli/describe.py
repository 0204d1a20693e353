"""What a design is, as plain facts and as text: for `design`, for `info`, and for reports to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.output import facts
from discreet.core.exact import text_ceil, text_floor

if TYPE_CHECKING:
    from discreet.core.outcome import Design
    from discreet.metricdp.bound import Multipliers
    from discreet.metricdp.problem import Problem

    MetricDesign = Design[Problem, Multipliers]

__all__ = ["bounds", "describe", "design_text", "info_text", "unprotected"]

_SHOWN = 10
"""Secrets that a warning names; all of them stand in ``--json`` and in ``info``."""


def bounds(design: MetricDesign) -> dict[str, Any]:
    """Give what a design loses, what no channel can beat, and by which method."""
    return {
        "loss": design.upper,
        "lower": design.lower,
        "upper": design.upper,
        "gap": design.gap,
        "status": design.status,
        "method": design.provenance.method,
    }


def describe(design: MetricDesign) -> dict[str, Any]:
    """Give the facts that `design` and `info` have in common."""
    scope = design.guarantee.scope
    return {
        **bounds(design),
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


def design_text(design: MetricDesign, seconds: float) -> str:
    """Describe a new design to people."""
    rows = [("guarantee", design.guarantee), *_loss(design), ("seconds", f"{seconds:.2f}")]
    return f"{facts(rows)}\n\n{design.certificate}"


def info_text(design: MetricDesign, labels: tuple[str, ...] | None) -> str:
    """Describe a stored design to people."""
    channel, scope, provenance = design.channel, design.guarantee.scope, design.provenance
    rows = [("guarantee", design.guarantee), ("unit", design.guarantee.unit)]
    rows += [("secrets", channel.n_secrets), ("reports", channel.n_reports), *_loss(design)]
    if scope is not None:
        named = [labels[i] if labels else str(i) for i in scope.isolated]
        rows += [("joined links", scope.joined), ("isolated secrets", ", ".join(named) or "none")]
    for public in provenance.assumed_public:
        rows += [
            ("assumed public", f"{public.name}: {public.description}, sha256 {public.digest[:16]}")
        ]
    rows += [(f"  {name}", value) for name, value in provenance.parameters.items()]
    rows += [("tried", sentence) for sentence in provenance.method_trace]
    rows += [("made with", ", ".join(f"{k} {v}" for k, v in provenance.versions.items()))]
    rows += [("private", "no: made with a seed")] if provenance.seeded else []
    return f"{facts(rows)}\n\n{design.certificate}"


def unprotected(design: MetricDesign, labels: tuple[str, ...] | None) -> list[str]:
    """Say which secrets the guarantee does not protect, and which it joined so that it does."""
    scope = design.guarantee.scope
    if scope is None:
        return []
    said = []
    if scope.joined:
        said.append(f"joined separate groups of secrets by {scope.joined} links beyond the radius")
    if scope.components > 1:
        said.append(f"nothing is promised between {scope.components} separate groups of secrets")
    if scope.isolated:
        named = [labels[i] if labels else str(i) for i in scope.isolated[:_SHOWN]]
        more = len(scope.isolated) - len(named)
        tail = f" and {more} more" if more else ""
        said.append(f"{len(scope.isolated)} secrets are NOT protected: {', '.join(named)}{tail}")
    return said


def _loss(design: MetricDesign) -> list[tuple[str, object]]:
    lower = "none" if design.lower is None else text_floor(design.lower)
    gap = "" if design.gap is None else f", gap {design.gap:.2%}"
    gap = (
        f" ({design.status})" if design.status == "loss negligible" else f"{gap} ({design.status})"
    )
    return [
        ("expected loss", f"{text_ceil(design.upper)}, lower bound {lower}{gap}"),
        ("method", design.provenance.method),
    ]
