"""What the commands say of the mechanism of a location service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.files import open_any
from discreet.cli.output import facts
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_ceil, text_floor
from discreet.lrgeo.places.space import per_unit
from discreet.lrgeo.points.published import PublishedPoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.artefact import AnchoredArtefact
    from discreet.lrgeo import Mechanism, RoadMechanism

__all__ = [
    "mechanism_facts",
    "mechanism_text",
    "open_mechanism",
    "open_placed",
    "open_points",
    "open_roads",
    "points_facts",
    "points_text",
    "roads_facts",
    "roads_text",
]


def open_mechanism(path: str) -> Mechanism:
    """Read a mechanism; an error names the command's argument."""
    from discreet.artefact import load_mechanism

    try:
        return load_mechanism(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("CHANNEL", error.expected, error.got) from None


def open_placed(path: str, kind: str) -> AnchoredArtefact | Mechanism:
    """Read a channel without a table: one of a file of its own, or that of a mechanism."""
    from discreet.artefact import MECHANISM, Artefact

    if kind == MECHANISM:
        return open_mechanism(path)
    stored = open_any(path)
    if isinstance(stored, Artefact):  # pragma: no cover - so that types are known
        raise InvalidProblemError("CHANNEL", "a channel without a table", "one with")
    return stored


def mechanism_facts(mechanism: Mechanism) -> dict[str, Any]:
    """Give what a mechanism says of itself, as plain values."""
    channel = mechanism.channel
    sizes = {
        "places": mechanism.region.K,
        "reports": channel.n_reports,
        "ball": len(channel.ball),
    }
    return _facts("mechanism", mechanism, sizes)


def _facts(
    kind: str,
    mechanism: Mechanism | PublishedPoints | RoadMechanism,
    sizes: Mapping[str, float],
) -> dict[str, Any]:
    """Collect the facts that mechanisms of all kinds state, as plain values."""
    guarantee = mechanism.guarantee
    mesh = {"mesh_lower": getattr(mechanism, "mesh_lower", None)}
    return {
        "kind": kind,
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
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
    mechanism: Mechanism | PublishedPoints | RoadMechanism,
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
        ("guarantee", mechanism.guarantee),
        ("which is about", "places: a point is snapped to the nearest one first"),
        ("places", mechanism.region.K),
        ("explicit weights", len(channel.ball)),
        ("tails fall at", f"{float(channel.rate):.6g} nats per {unit}"),
        ("expected loss", _loss(mechanism.upper, unit)),
        ("lower bound", f"for all mechanisms: {_bound(mechanism.lower, unit)}"),
    ]
    return facts([*rows, *_last_rows(mechanism)])


def open_points(path: str) -> PublishedPoints:
    """Read a mechanism for every point; an error names the command's argument."""
    from discreet.artefact import load_points

    try:
        return load_points(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("CHANNEL", error.expected, error.got) from None


def points_facts(mechanism: PublishedPoints) -> dict[str, Any]:
    """Give what a mechanism for every point says of itself, as plain values."""
    from discreet.artefact import LATTICE_MECHANISM, NOISE_MECHANISM, POINT_MECHANISM
    from discreet.lrgeo.points.mesh import PointMechanism
    from discreet.lrgeo.points.noise import NoiseMechanism
    from discreet.lrgeo.points.table import LatticeMechanism

    kinds: dict[type[PublishedPoints], str] = {
        PointMechanism: POINT_MECHANISM,
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
        ("guarantee", mechanism.guarantee),
        ("which is about", "any two points of the region: none is snapped to a place"),
        ("reports", mechanism.K),
        ("drawn from", ", ".join(f"{count} {name}" for name, count in sizes)),
        (
            "a little outside",
            f"up to {mechanism.reach / per_unit(unit):g} {unit}: as the nearest point",
        ),
        ("expected loss", _loss(mechanism.upper, unit)),
        ("lower bound", f"for all mechanisms with these reports: {_bound(mechanism.lower, unit)}"),
    ]
    if hasattr(mechanism, "mesh_lower"):
        form = (
            "all rows on this mesh" if hasattr(mechanism, "mesh") else "all tables on this lattice"
        )
        rows.append(("lower bound", f"for {form}: {_bound(mechanism.mesh_lower, unit)}"))
    return facts([*rows, *_last_rows(mechanism)])


def open_roads(path: str) -> RoadMechanism:
    """Read a mechanism along roads; an error names the command's argument."""
    from discreet.artefact import load_roads

    try:
        return load_roads(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("CHANNEL", error.expected, error.got) from None


def roads_facts(mechanism: RoadMechanism) -> dict[str, Any]:
    """Give what a mechanism along roads says of itself, as plain values."""
    from discreet.artefact import ROAD_MECHANISM

    sizes = {**_road_sizes(mechanism), "bits": mechanism.bits}
    return _facts(ROAD_MECHANISM, mechanism, sizes)


def roads_text(mechanism: RoadMechanism) -> str:
    """Describe a mechanism along roads to people."""
    sizes = _road_sizes(mechanism)
    joined = sizes["networks"]
    rows: list[tuple[str, object]] = [
        ("guarantee", mechanism.guarantee),
        ("which is about", "points on these roads alone, at the length of the way along them"),
        (
            "it is not about",
            "distances in the plane, nor points that are moved to the nearest road",
        ),
        ("roads", f"{sizes['pieces']} pieces, {sizes['length']:g} {mechanism.unit} as stated"),
        (
            "which are joined",
            "all of them"
            if joined == 1
            else f"in {joined} networks: nothing is promised between one and another",
        ),
        ("reports", mechanism.K),
        ("drawn from", f"{sizes['nodes']} nodes"),
        ("expected loss", _loss(mechanism.upper, mechanism.unit)),
        ("lower bound", f"for all rows at these nodes: {_bound(mechanism.lower, mechanism.unit)}"),
    ]
    return facts([*rows, *_last_rows(mechanism)])


def _road_sizes(mechanism: RoadMechanism) -> dict[str, int | float]:
    """Count what the roads consist of; a length is in the unit."""
    roads = mechanism.network
    return {
        "reports": mechanism.K,
        "nodes": roads.n_nodes,
        "pieces": len(roads.segments),
        "networks": roads.n_networks,
        "length": int(roads.lengths.sum()) / per_unit(mechanism.unit),
    }


def _loss(upper: float | None, unit: str) -> str:
    return "not computed" if upper is None else f"{text_ceil(upper)} {unit}"


def _bound(lower: float | None, unit: str) -> str:
    return "not computed" if lower is None else f"{text_floor(lower)} {unit}"
