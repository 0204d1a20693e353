"""Mechanisms on meshes of triangles: the frozen ones, and small ones by hand.

Nothing designs them any more; files with them are read, verified, served and drawn from as ever.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.outcome import Provenance
from discreet.lrgeo import PointMechanism, Region
from discreet.lrgeo.points.frame import region_digest
from discreet.lrgeo.points.layout import plane_of, told
from discreet.lrgeo.points.mesh import Mesh
from discreet.lrgeo.points.verify import verify

__all__ = ["VECTORS", "exponential", "frozen", "squares"]

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "lrgeo-points-vectors.json").read_text(encoding="utf-8")
)
"""Files of version 1, designed when meshes were, and what everybody draws from them for ever."""

_BITS = 48
_HALVINGS = 24


def frozen(number: int = 1) -> PointMechanism:
    """Read a frozen mechanism: 9 reports, 25 vertices, 2 per km; 0 lies on the sphere, 1 in a plane."""
    return PointMechanism.from_dict(VECTORS[number]["file"])


def squares(low: tuple[int, int], cells: tuple[int, int], side: int, *, reach: int = 0) -> Mesh:
    """Cover a box with squares, each cut in two, the diagonals alternating."""
    wide, tall = cells
    vertices = [
        (low[0] + i * side, low[1] + j * side) for j in range(tall + 1) for i in range(wide + 1)
    ]
    triangles = []
    for j in range(tall):
        for i in range(wide):
            a = j * (wide + 1) + i
            b, c, d = a + 1, a + wide + 1, a + wide + 2
            triangles += [(b, d, a), (c, a, d)] if (i + j) % 2 == 0 else [(a, b, c), (d, c, b)]
    last = (wide + 1) * (tall + 1) - 1
    return Mesh(vertices, triangles, [0, wide, last, last - wide], reach=reach)


def exponential(region: Region, claim: MetricDP, side: int) -> PointMechanism:
    """Make the exponential mechanism at the vertices of a mesh, as steep as the verifier allows."""
    frame, places, reach = plane_of(region)
    low, size = places.min(axis=0).tolist(), np.ptp(places, axis=0)
    wide, tall = np.ceil(size / side).astype(int).tolist()
    mesh = squares((low[0], low[1]), (wide, tall), side, reach=reach)
    scope = PointScope(region_digest(frame, mesh.corners, reach))
    made = PointMechanism(
        frame=frame,
        mesh=mesh,
        reports=places,
        shown=told(region, frame, places),
        weights=_weights(mesh, places, 0.0),
        bits=_BITS,
        guarantee=MetricDP(claim.epsilon, claim.unit, scope=scope),
        certificate=Certificate((Check("made by hand", 0, 0, exact=True),)),
        lower=None,
        mesh_lower=0.0,
        upper=None,
        provenance=Provenance("by hand"),
    )
    kept, above = 0.0, 20.0 / float(np.hypot(*size))
    for _ in range(_HALVINGS):
        rate = (kept + above) / 2
        steeper = replace(made, weights=_weights(mesh, places, rate))
        if verify(steeper.claimed()).passed:
            made, kept = steeper, rate
        else:
            above = rate
    loss = np.hypot(*(places[:, None] - places).transpose(2, 0, 1)) / _decimeters(claim.unit)
    laws = np.array([made.law(point) for point in made.shown], dtype=float)
    return replace(
        made, certificate=verify(made.claimed()), upper=float((laws * loss).mean(0).sum())
    )


def _decimeters(unit: str) -> int:
    """Decimeters in a unit."""
    return {"km": 10_000, "m": 10}[unit]


def _weights(mesh: Mesh, places: Any, rate: float) -> Any:
    """Integers that fall off by so many nats a decimeter; what rounding left over goes to the largest."""
    away = np.hypot(*(mesh.vertices[:, None] - places).transpose(2, 0, 1))
    chances = np.exp(-rate * away)
    weights = np.floor(chances / chances.sum(axis=1, keepdims=True) * 2**_BITS).astype(np.int64)
    largest = weights.argmax(axis=1)
    weights[np.arange(len(weights)), largest] += (1 << _BITS) - weights.sum(axis=1)
    return weights
