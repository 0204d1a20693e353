r"""The verifier of mechanisms for every point: the mesh, and one condition for each triangle and report, in integers.

A point of triangle T with weights :math:`w_v` draws the corner v with probability :math:`w_v` and then from its row:
:math:`z_k(x) = \sum_v w_v(x) W_{vk} / 2^B`. **Theorem.** If the mesh conforms, its region is convex, and

.. math:: |\nabla_T z_k| \le \epsilon \min_{v \in T} z_k(v) \qquad (*)

for each triangle T and report k, then :math:`z_k(x) \le e^{\epsilon |x - y|} z_k(y)` for all points x, y of the region.
*Proof.* Along the segment from y to x, which lies in the region, :math:`\ln z_k` is continuous, since the triangles fit
edge to edge, and but for finitely many points it has a derivative of at most :math:`|\nabla_T z_k| / z_k \le \epsilon`,
since :math:`z_k` on T is at least its least value at a corner. ∎ It is necessary, too: let y tend to the corner of the
least value along the gradient. Where that value is zero, so is the gradient: a report exists everywhere or nowhere.

Nothing is known here of how meshes are made or points found: only arrays are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.lrgeo.points.verify_claims import (
    DECIMETERS,
    FARTHEST,
    MOST_BITS,
    Stated,
    check_claims,
    check_none,
)
from discreet.lrgeo.points.verify_noise import ClaimedNoise, verify_noise
from discreet.lrgeo.points.verify_table import ClaimedTable, verify_table

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.guarantee import MetricDP

__all__ = ["Claimed", "verify"]

_BLOCK = 1 << 22
"""Pairs of a triangle and a report that are looked at together."""

_CLEAR = 1e-6
"""Part by which one side of (*) has to be larger for floats to settle it: see :func:`_violations`."""


@dataclass(frozen=True, eq=False)
class Claimed:
    """What is verified: arrays of integers, and what is claimed of them.

    Parameters
    ----------
    unit
        Of distances.
    origin
        Degrees, as decimal texts.
    factors
        Of the plane, east and north.
    reach
        Decimeters around the region.
    vertices
        ``(V, 2)`` decimeters.
    triangles
        ``(T, 3)`` vertices.
    outline
        Corners of the region.
    weights
        ``(V, K)``.
    bits
        Of what a row sums to.
    guarantee
        The claim.
    """

    unit: str
    origin: tuple[str, str] | None
    factors: tuple[int, int]
    reach: int
    vertices: NDArray[np.int64]
    triangles: NDArray[np.int64]
    outline: NDArray[np.int64]
    weights: NDArray[np.int64]
    bits: int
    guarantee: MetricDP


def verify(claimed: Claimed | ClaimedNoise | ClaimedTable) -> Certificate:
    """Verify a mechanism for every point, in exact integers.

    Parameters
    ----------
    claimed
        The arrays and the claim: ``claimed()`` of a mechanism or a design for every point.

    Returns
    -------
    Certificate
        Passed only if the claim holds between any two points of the region.

    Guarantee
    ---------
    Exact, but for one comparison: that nothing of the region on a sphere is farther apart in the plane is decided in
    floats with a margin of 2^-31.

    Complexity
    ----------
    A microsecond for a hundred pairs of a triangle and a report; close calls, a microsecond each.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> made = design(Region.from_grid(3, 3, cell="0.5", unit="km"), MetricDP(2, "km"), scope="points")
    >>> verify(made.claimed()).passed
    True
    """
    if isinstance(claimed, ClaimedNoise):
        return verify_noise(claimed)
    if isinstance(claimed, ClaimedTable):
        return verify_table(claimed)
    checks = [*_rows(claimed)]
    if all(check.passed for check in checks):
        mesh = _mesh(claimed)
        checks += mesh
        if all(check.passed for check in mesh):
            checks += [_condition(claimed), *check_claims(_stated(claimed))]
    return Certificate(tuple(checks))


def _rows(claimed: Claimed) -> list[Check]:
    """Check shapes and sizes first, so that everything else fits its types, and then the sums."""
    vertices, triangles = claimed.vertices, claimed.triangles
    weights, outline, n = claimed.weights, claimed.outline, len(claimed.vertices)
    shaped = (
        (vertices.ndim, triangles.ndim, outline.ndim, weights.ndim) == (2, 2, 1, 2)
        and (vertices.shape[1], triangles.shape[1], len(weights)) == (2, 3, n)
        and min(len(triangles), len(outline), weights.shape[1], n) > 0
        and {array.dtype.kind for array in (vertices, triangles, outline, weights)} == {"i"}
        and 0 < claimed.bits <= MOST_BITS
    )
    if not shaped:
        return [check_none("arrays of other shapes", 1)]
    strange = sum(
        int(((numbers < 0) | (numbers >= n)).sum()) for numbers in (triangles, outline)
    ) + int((np.abs(vertices) >= FARTHEST).sum())
    strange += not 0 <= claimed.reach < FARTHEST
    negative = int((weights < 0).sum())
    # Entries that may not be there could make a sum overflow.
    too_large = int((weights > 1 << claimed.bits).sum())
    off = n
    if not negative + too_large and weights.shape[1] <= 1 << (62 - claimed.bits):
        off = int((weights.sum(axis=1) != 1 << claimed.bits).sum())
    elif not negative + too_large:
        off = sum(sum(row) != 1 << claimed.bits for row in weights.tolist())
    return [
        check_none("numbers out of range", strange),
        check_none("negative weights", negative),
        check_none("row sums off", off, f"{n} rows"),
    ]


def _mesh(claimed: Claimed) -> list[Check]:
    """Check that the triangles conform and cover a convex polygon once."""
    vertices, triangles = claimed.vertices, claimed.triangles
    again = len(vertices) - len(np.unique(vertices, axis=0))
    unused = len(vertices) - len(np.unique(triangles))
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    # Coordinates are below 2^30, so that these are below 2^63.
    twice = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    flat = int((twice <= 0).sum())
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forth = edges[:, 0] * len(vertices) + edges[:, 1]
    back = edges[:, 1] * len(vertices) + edges[:, 0]
    repeated = len(forth) - len(np.unique(forth))
    border = edges[~np.isin(forth, back)]
    checks = [
        check_none("vertices at one spot", again, f"{len(vertices)} vertices"),
        check_none("vertices of no triangle", unused),
        check_none("triangles without area, or clockwise", flat, f"{len(triangles)} triangles"),
        check_none("edges of two triangles on one side", repeated),
        check_none("faults of the border", _border_faults(claimed, border)),
    ]
    corners = vertices[claimed.outline].tolist()
    following = corners[1:] + corners[:1]
    area = sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(corners, following, strict=True))
    covered = sum(twice.tolist())
    checks.append(check_none("area not covered once", covered != area, "square decimeters"))
    return checks


def _border_faults(claimed: Claimed, border: NDArray[np.int64]) -> int:
    """Count what keeps the border from being one simple convex polygon with the stated corners."""
    after = dict(border.tolist())
    if len(after) < len(border):
        return 1
    places, corners = claimed.vertices.tolist(), claimed.outline.tolist()
    if corners[0] != min(corners, key=lambda corner: tuple(places[corner])):
        return 1
    if len(set(corners)) < len(corners) or len(corners) < 3:
        return 1
    faults, left = 0, len(border)
    for number, corner in enumerate(corners):
        following = corners[(number + 1) % len(corners)]
        before = corners[number - 1]
        faults += _turn(places[before], places[corner], places[following]) <= 0
        # All corners are on the left of each side: it turns around once only.
        faults += any(_turn(places[corner], places[following], places[one]) < 0 for one in corners)
        at = corner
        while left > 0:
            found = after.get(at)
            left -= 1
            if found is None:
                return faults + 1
            straight = _turn(places[corner], places[following], places[found]) == 0
            faults += not (straight and _ahead(places[at], places[found], places[following]))
            at = found
            if at == following:
                break
        if at != following:
            return faults + 1
    return faults + (left != 0)


def _turn(a: list[int], b: list[int], c: list[int]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _ahead(at: list[int], found: list[int], end: list[int]) -> bool:
    """Tell whether a step goes towards the end of a side, and not beyond it."""
    step = (found[0] - at[0], found[1] - at[1])
    rest = (end[0] - at[0], end[1] - at[1])
    along = step[0] * rest[0] + step[1] * rest[1]
    return 0 < along <= rest[0] ** 2 + rest[1] ** 2


def _condition(claimed: Claimed) -> Check:
    """Count the triangles and reports for which (*) does not hold."""
    weights = claimed.weights
    each = max(1, _BLOCK // weights.shape[1])
    wrong = sum(
        _violations(claimed, claimed.triangles[first : first + each])
        for first in range(0, len(claimed.triangles), each)
    )
    looked = len(claimed.triangles) * weights.shape[1]
    detail = f"{looked} pairs of a triangle and a report"
    return Check("inequalities violated", wrong, 0, exact=True, detail=detail)


def _violations(claimed: Claimed, triangles: NDArray[np.int64]) -> int:
    r"""Count violations, in floats where these are sure, else in integers.

    With corners a, b, c and twice the area A, the gradient is :math:`(W_b - W_a)` times one edge plus
    :math:`(W_c - W_a)` times another, over A. Differences of weights below 2^53 and of places are exact as floats. Each
    product errs by 2^-53 of itself, their sum by as much again: :math:`|g|` errs by less than 2^-50 of the sum
    :math:`s` of the products' magnitudes, and the other side by 2^-50 of itself. So a comparison that holds with a
    margin of 10^-6 of both, far more, is sure. Where s itself is large beside the right side, integers decide.
    """
    at = claimed.vertices[triangles]
    (ax, ay), (bx, by), (cx, cy) = (at[:, v].T for v in range(3))
    twice = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    first, second, third = (claimed.weights[triangles[:, v]] for v in range(3))
    least = np.minimum(np.minimum(first, second), third)
    u, v = (second - first).astype(np.float64), (third - first).astype(np.float64)
    gx, gx_size = _sum(u, (cy - ay)[:, None], v, (ay - by)[:, None])
    gy, gy_size = _sum(u, (ax - cx)[:, None], v, (bx - ax)[:, None])
    guarantee = claimed.guarantee
    rate = float(guarantee.epsilon) / DECIMETERS[guarantee.unit]
    right = rate * twice[:, None].astype(np.float64) * least
    left = np.hypot(gx, gy)
    unsure = 2.0**-49 * (gx_size + gy_size) + _CLEAR * right
    wrong = left > right + unsure
    close = ~wrong & (left > right - unsure)
    count = int(wrong.sum())
    for t, k in np.argwhere(close).tolist():
        corners = [claimed.vertices[corner].tolist() for corner in triangles[t].tolist()]
        values = [int(claimed.weights[corner, k]) for corner in triangles[t].tolist()]
        count += not _holds(corners, values, guarantee.epsilon / DECIMETERS[guarantee.unit])
    return count


def _sum(
    u: NDArray[np.float64], p: NDArray[np.int64], v: NDArray[np.float64], q: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add two products; give the sum of their magnitudes too."""
    one, other = u * p, v * q
    return one + other, np.abs(one) + np.abs(other)


def _holds(corners: list[list[int]], values: list[int], rate: Fraction) -> bool:
    """Decide (*) in integers, for one triangle and report."""
    (ax, ay), (bx, by), (cx, cy) = corners
    wa, wb, wc = values
    gx = wa * (by - cy) + wb * (cy - ay) + wc * (ay - by)
    gy = wa * (cx - bx) + wb * (ax - cx) + wc * (bx - ax)
    twice = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    right = rate.numerator * twice * min(values)
    return (gx * gx + gy * gy) * rate.denominator**2 <= right * right


def _stated(claimed: Claimed) -> Stated:
    corners = claimed.vertices[claimed.outline].tolist()
    plane = (claimed.unit, claimed.origin, claimed.factors, claimed.reach)
    return Stated(*plane, corners, claimed.guarantee)
