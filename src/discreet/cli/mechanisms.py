"""What the commands say of the mechanism of a location service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.output import facts
from discreet.core import printed
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.published import PublishedPoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.lrgeo import Mechanism

__all__ = [
    "mechanism_facts",
    "mechanism_text",
    "points_facts",
    "points_text",
]


def mechanism_facts(mechanism: Mechanism) -> dict[str, Any]:
    """Return the facts that a mechanism states, as plain values."""
    channel = mechanism.channel
    sizes = {
        "places": mechanism.region.K,
        "reports": channel.n_reports,
        "ball": len(channel.ball),
    }
    return _facts("mechanism", mechanism, sizes)


def _facts(
    kind: str,
    mechanism: Mechanism | PublishedPoints,
    sizes: Mapping[str, float],
) -> dict[str, Any]:
    """Collect the facts that mechanisms of all kinds state, as plain values."""
    guarantee = mechanism.guarantee
    mesh = {"mesh_lower": getattr(mechanism, "mesh_lower", None)}
    return {
        "kind": kind,
        "guarantee": {**guarantee.to_dict(), "sentence": mechanism.promise},
        "unit": guarantee.unit,
        "method": mechanism.provenance.method,
        "sizes": dict(sizes),
        "loss": mechanism.upper,
        "lower": mechanism.lower,
        **(mesh if isinstance(mechanism, PublishedPoints) else {}),
        "digest": mechanism.digest,
        "certificate": mechanism.certificate.to_dict(),
        "provenance": mechanism.provenance.to_dict(),
    }


def _last_rows(
    mechanism: Mechanism | PublishedPoints,
) -> list[tuple[str, object]]:
    """Describe how a mechanism of any kind was made."""
    provenance = mechanism.provenance
    return [
        ("method", provenance.method),
        ("sha256", mechanism.digest),
        *(("tried", sentence) for sentence in provenance.method_trace),
        ("made with", ", ".join(f"{k} {v}" for k, v in provenance.versions.items())),
    ]


def mechanism_text(mechanism: Mechanism) -> str:
    """Describe a mechanism to people."""
    channel = mechanism.channel
    unit = mechanism.guarantee.unit
    rows: list[tuple[str, object]] = [
        ("guarantee", mechanism.promise),
        ("which is about", "places: a point is snapped to the nearest one first"),
        ("places", mechanism.region.K),
        ("explicit weights", len(channel.ball)),
        ("tails fall at", f"{printed.estimate(channel.rate)} nats per {unit}"),
        ("expected loss", _loss(mechanism.upper, unit)),
        ("lower bound", f"for all mechanisms: {_bound(mechanism.lower, unit)}"),
    ]
    return facts([*rows, *_last_rows(mechanism)])


def points_facts(mechanism: PublishedPoints) -> dict[str, Any]:
    """Return the facts that a mechanism for every point states, as plain values."""
    from discreet.artefact import LATTICE_MECHANISM, NOISE_MECHANISM
    from discreet.lrgeo.points.noise import NoiseMechanism
    from discreet.lrgeo.points.table import LatticeMechanism

    kinds: dict[type[PublishedPoints], str] = {
        NoiseMechanism: NOISE_MECHANISM,
        LatticeMechanism: LATTICE_MECHANISM,
    }
    sizes = {name.replace(" ", "_"): count for name, count in mechanism.sizes.items()}
    return _facts(kinds[type(mechanism)], mechanism, {**sizes, "bits": mechanism.bits})


def points_text(mechanism: PublishedPoints) -> str:
    """Describe a mechanism for every point to people."""
    unit = mechanism.unit
    sizes = [(name, count) for name, count in mechanism.sizes.items() if name != "reports"]
    rows: list[tuple[str, object]] = [
        ("guarantee", mechanism.promise),
        ("which is about", "any two points of the region: none is snapped to a place"),
        ("reports", mechanism.K),
        ("drawn from", ", ".join(f"{count} {name}" for name, count in sizes)),
        (
            "a little outside",
            f"up to {printed.estimate(mechanism.reach / per_unit(unit))} {unit}: as the nearest point",
        ),
        ("expected loss", _loss(mechanism.upper, unit)),
        ("lower bound", f"for all mechanisms with these reports: {_bound(mechanism.lower, unit)}"),
    ]
    if hasattr(mechanism, "mesh_lower"):
        bound = f"for all tables on this lattice: {_bound(mechanism.mesh_lower, unit)}"
        rows.append(("lower bound", bound))
    return facts([*rows, *_last_rows(mechanism)])


def _loss(upper: float | None, unit: str) -> str:
    return "not computed" if upper is None else printed.at_most(upper, unit=unit)


def _bound(lower: float | None, unit: str) -> str:
    return "not computed" if lower is None else printed.at_least(lower, unit=unit)
