"""Checks of stored distances against the points that they are about, for verifiers.

Nothing here is shared with what computes distances.

Trusted: the guarantee rests on this code, which verifies the distances.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.certificate import Check
from discreet.core.spaces.lattice import LatticeLengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace


class _Limits(NamedTuple):
    """Limits on the lengths, the scale and the points of a space."""

    length: int = 1 << 52
    """No length reaches it, in stored units; with longer ones sums of int64 could wrap."""

    scale_bits: int = 1000
    """Largest scale, beyond that of any space: 2^-s is then still a float."""

    extent: float = 2.0**100
    """No coordinate reaches it; the largest of a vector with a direction is its inverse or more. Squares are floats."""

    distance_to_sphere: Fraction = Fraction(1, 1 << 500)
    """A point of the Poincare ball is farther from its sphere, so that products of two such distances are floats."""


_LIMITS = _Limits()

_UNITS = {"haversine": ("km", "m"), "angular": ("rad",)}
"""The units of metrics whose true distances have one of their own."""


def distance_checks(space: MetricSpace) -> list[Check]:
    """Compare stored distances with their mirror images, and with the true ones where there are points.

    Without a matrix the space refuses with InvalidProblemError. ``O(n^2 dimensions)``, and integers for close pairs.

    Parameters
    ----------
    space
        At most 5120 secrets.

    Returns
    -------
    list of Check
        That distances are symmetric, non-negative, below ``2^52`` and zero on the diagonal; and for points that none
        exceeds the true distance: in integers for lattices, Euclidean and Manhattan distances, up to ``1e-10`` of the
        extent for great circles, angles and parts of a grid, and up to ``1e-10`` of itself in the Poincare ball. All
        of them exceed it where points are none of their metric, the unit is not that of the metric, or the
        metric is unknown. Spaces of graphs and matrices have no points to compare with.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> [check.passed for check in distance_checks(MetricSpace.grid(2, 3, cell=1, unit="km"))]
    [True, True]
    """
    stored = space.distances
    wrong = int((stored != stored.T).sum() + (stored.diagonal() != 0).sum())
    wrong += int((stored < 0).sum() + (stored >= _LIMITS.length).sum())
    wrong += not 0 <= space.scale_bits <= _LIMITS.scale_bits
    checks = [
        Check(
            "malformed distances",
            wrong,
            0,
            exact=True,
            detail="symmetric, zero on the diagonal",
        )
    ]
    if space.metric in {"graph", "matrix"} or wrong:
        return checks
    exact, detail = True, f"{space.metric}, in integers"
    strange = _strange(space)
    if strange:
        above, detail = space.n, strange
    elif isinstance(space.source, LatticeLengths):
        above = _above_grid(stored, space.source.places, space.source.cell * 2**space.scale_bits)
    elif space.metric in {"euclidean", "manhattan"}:
        above = _above_plane(space)
    elif space.metric in {"haversine", "angular"}:
        exact, detail = False, f"{space.metric}, up to 1e-10 of the extent"
        above = _above_sphere(space)
        if space.metric == "haversine":
            # Files from before have great circles that no ellipsoid shortened, and no check forbids them.
            longer = _above_sphere(space, min(_meridian_radius(space), 6371.0088))
            known = "up to .56 % above" if longer else "not above"
            detail = f"great circles, {known} geodesics of WGS 84, up to 1e-10 of the extent"
    elif space.metric == "grid":
        exact, detail = False, "part of a grid, up to 1e-10 of the extent"
        above = _above_centers(space)
    else:
        exact, detail = False, "hyperbolic, up to 1e-10 of each"
        above = _above_ball(space)
    return [*checks, Check("distances above the true ones", above, 0, exact=exact, detail=detail)]


def _strange(space: MetricSpace) -> str:
    """Return the reason why a space's points have no distances of its metric and unit, or an empty text."""
    metric, lattice = space.metric, isinstance(space.source, LatticeLengths)
    if metric not in {"grid", "euclidean", "manhattan", "haversine", "angular", "hyperbolic"}:
        return "a metric that is not known"
    if space.unit not in _UNITS.get(metric, (space.unit,)):
        return f"{metric} distances have another unit"
    if metric != "grid" if lattice else space.points is None:
        return f"no points for {metric} distances"
    points = np.zeros((space.n, 2)) if space.points is None else np.asarray(space.points)
    # Negated, so that what is not a number is refused too.
    if points.ndim != 2 or len(points) != space.n or not (np.abs(points) < _LIMITS.extent).all():
        return "points that are no points"
    if metric == "haversine":
        outside = points.shape[1] != 2 or (np.abs(points) > (90, 360)).any()
    elif metric == "hyperbolic":
        outside = min(_depths(points)) <= _LIMITS.distance_to_sphere
    else:
        # A length whose square is no float would make every angle nan.
        outside = metric == "angular" and bool(
            (np.abs(points).max(axis=1) < 1 / _LIMITS.extent).any()
        )
    return f"points outside of what {metric} distances are about" if outside else ""


def _above_grid(stored: NDArray[np.int64], places: NDArray[np.int64], cell: Fraction) -> int:
    """Count pairs with ``D^2 > cell^2 (a^2 + b^2)``, one limit for all pairs that are alike, exactly.

    `stored` ``(n, n)`` are lengths, `places` ``(n, 2)`` rows and columns, `cell` is in stored units. ``O(n^2 log
    n)``.
    """
    steps = sum((line[:, None] - line) ** 2 for line in places.T)
    kinds, which = np.unique(steps, return_inverse=True)
    limits = [math.isqrt(math.floor(cell * cell * square)) for square in kinds.tolist()]
    return int((stored > np.array(limits)[which].reshape(stored.shape)).sum()) // 2


def _above_plane(space: MetricSpace) -> int:
    """Count pairs longer than their points are apart, exactly; floats decide what is clear by a bound on their error.

    ``O(n^2)``.
    """
    points, stored, bits = np.asarray(space.points), space.distances, space.scale_bits
    power = 2 if space.metric == "euclidean" else 1
    ratios = [[float(x).as_integer_ratio() for x in point] for point in points.tolist()]
    # A float is an integer over a power of two: all of them over the largest.
    below = max(bottom for point in ratios for _, bottom in point)
    numerators = [[top * (below // bottom) for top, bottom in point] for point in ratios]
    # A difference, a power and the terms of a sum, and the same again for the stored side.
    sure = 1 - (2 * points.shape[1] + 16) * 2.0**-53
    above = 0
    for i in range(space.n - 1):
        true = (np.abs(points[i + 1 :] - points[i]) ** power).sum(axis=1)
        clear = (
            stored[i, i + 1 :].astype(np.float64) ** power <= np.ldexp(true, power * bits) * sure
        )
        for j in (np.flatnonzero(~clear) + i + 1).tolist():
            length = sum(
                abs(x - y) ** power for x, y in zip(numerators[i], numerators[j], strict=True)
            )
            above += (int(stored[i, j]) * below) ** power > length << (power * bits)
    return above


def _above_centers(space: MetricSpace) -> int:
    """Count pairs longer than their centers are apart, in floats that were rounded; ``O(n^2)``.

    1e-10 of the extent is allowed for float error; NaN counts as longer.
    """
    points, above = np.asarray(space.points), 0
    room = 1e-10 * float(np.ptp(points, axis=0).max())
    for i in range(space.n - 1):
        true = np.sqrt(((points[i + 1 :] - points[i]) ** 2).sum(axis=1))
        limit = np.ldexp(true + room, space.scale_bits)
        above += int((~(space.distances[i, i + 1 :] <= limit)).sum())
    return above


def _depths(points: NDArray[np.float64]) -> list[Fraction]:
    """Compute ``1 - |p|^2`` exactly: near the sphere it is the difference of nearly equal numbers."""
    return [1 - sum((Fraction(x) ** 2 for x in point), Fraction(0)) for point in points.tolist()]


def _above_ball(space: MetricSpace) -> int:
    """Count pairs longer than ``arcosh(1 + t)``, ``t = 2 |p - q|^2 / ((1 - |p|^2) (1 - |q|^2))``.

    Up to one part in 10^10 is allowed for float error; NaN counts as longer. ``O(n^2 dimensions)``.
    """
    points = np.asarray(space.points)
    depth = np.array([float(depth) for depth in _depths(points)])
    above = 0
    for i in range(space.n - 1):
        t = 2 * ((points[i + 1 :] - points[i]) ** 2).sum(axis=1) / (depth[i + 1 :] * depth[i])
        # arcosh(1 + t), without such a difference for small t.
        true = np.log1p(t + np.sqrt(t) * np.sqrt(t + 2))
        limit = np.ldexp(true * (1 + 1e-10), space.scale_bits)
        above += int((~(space.distances[i, i + 1 :] <= limit)).sum())
    return above


def _meridian_radius(space: MetricSpace) -> float:
    """Compute the least radius of curvature a (1 - e^2) / (1 - e^2 sin^2)^1.5 of WGS 84 between places, in km."""
    north = np.asarray(space.points)[:, 0]
    nearest = 0.0 if north.min() <= 0 <= north.max() else float(np.abs(north).min())
    curved: float = 1 - 0.00669437999014 * math.sin(math.radians(nearest)) ** 2
    return float(6335.43932729 / curved**1.5)


def _above_sphere(space: MetricSpace, radius: float = 6371.0088) -> int:
    """Count pairs longer than the angles between their directions, times the radius in km, by more than floats err.

    ``O(n^2)``.

    Angles alone for the angular metric. 1e-10 of the radius is allowed for float error; NaN counts as longer.
    """
    points = np.asarray(space.points)
    if space.metric == "angular":
        radius = 1.0
    else:
        (north, east), radius = np.radians(points).T, radius * (1000 if space.unit == "m" else 1)
        points = np.stack(
            [np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1
        )
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    above = 0
    for i in range(space.n - 1):
        difference, total = unit[i + 1 :] - unit[i], unit[i + 1 :] + unit[i]
        angle = 2 * np.arctan2(np.linalg.norm(difference, axis=1), np.linalg.norm(total, axis=1))
        limit = np.ldexp(radius * (angle + 1e-10), space.scale_bits)
        above += int((~(space.distances[i, i + 1 :] <= limit)).sum())
    return above
