r"""The verifier of mechanisms for every point with a row for each control point of a net, in integers.

A point draws the control point (i, j) by the weights of the biquadratic B-spline, and then a report from its row:
:math:`z_k(x) = \sum_{ij} b_i(x_1) b_j(x_2) W_{ijk} / 2^B`. On each cell of side h this is a polynomial with nine
Bernstein coefficients, one for each pair of *knot* or *middle* along the two axes. With c the weights of a report along
an axis, take there

================  ===================  =======================
of a              value, twice         slope, twice
================  ===================  =======================
knot a            c[a] + c[a+1]        2 (c[a+1] - c[a])
middle a          2 c[a+1]             c[a+2] - c[a]
================  ===================  =======================

and in the plane V, the value in one axis of the value in the other, and :math:`G_1, G_2`, the slope in one of the value
in the other. **Theorem.** If at all (2m + 1)(2n + 1) pairs of an m x n net, and for all reports,

.. math:: G_1^2 + G_2^2 \le (\rho V)^2, \qquad \rho = \epsilon h \qquad (**)

then :math:`z_k(x) \le e^{\epsilon |x - y|} z_k(y)` for all points x, y of the box and each k. The proof is that of
:mod:`discreet.lrgeo.points.verify_noise`, for one report in place of one node of the torus.

Nothing is known here of how rows are made or points found: only arrays are read.

Trusted: the guarantee rests on this code, which verifies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.guarantee import MetricDP

__all__ = ["ClaimedTable", "verify_table"]

_FLOAT_MARGIN = 2.0**-44
"""Part by which one side of (**) has to be larger for floats to settle it: see :func:`_violations`."""

_ALLOWS_ALL = Fraction(1 << 200)
"""A rate beyond all slopes, which are below 2^57, and below what floats hold: a larger one allows no more."""


@dataclass(frozen=True, eq=False)
class ClaimedTable:
    """What is verified: an array of integers, and what is claimed of it.

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
    low, side, cells
        The box: its corner, the side of its cells in decimeters, and how many there are.
    weights
        ``((cells[0] + 2) * (cells[1] + 2), K)``: a row for each control point, those of one column after another.
    bits
        Bits of the sum of a row.
    guarantee
        The claim.
    """

    unit: str
    origin: tuple[str, str] | None
    factors: tuple[int, int]
    reach: int
    low: tuple[int, int]
    side: int
    cells: tuple[int, int]
    weights: NDArray[np.int64]
    bits: int
    guarantee: MetricDP


def verify_table(claimed: ClaimedTable) -> Certificate:
    """Verify a mechanism for every point with a row for each control point, in exact integers.

    Parameters
    ----------
    claimed
        The array and the claim: ``claimed()`` of such a mechanism or design.

    Returns
    -------
    Certificate
        Passed only if the claim holds between any two points of the box.

    Guarantee
    ---------
    Exact, but for one comparison: that nothing of the region on a sphere is farther apart in the plane is decided in
    floats with a margin of 2^-31.

    Complexity
    ----------
    A tenth of a microsecond for each weight.
    """
    checks = [check_none("numbers out of range", _is_strange(claimed))]
    if checks[0].passed:
        checks += _rows(claimed)
    if all(check.passed for check in checks):
        checks += [_condition(claimed), *check_claims(_stated(claimed))]
    return Certificate(tuple(checks))


def _is_strange(claimed: ClaimedTable) -> bool:
    """Check shapes and sizes first, so that everything else fits its types."""
    (x, y), (wide, tall), side = claimed.low, claimed.cells, claimed.side
    weights = claimed.weights
    corners = (x, y, x + wide * side, y + tall * side)
    return (
        side < 1
        or min(wide, tall) < 1
        or max(map(abs, corners)) >= FARTHEST
        or weights.ndim != 2
        or weights.dtype != np.dtype(np.int64)
        or len(weights) != (wide + 2) * (tall + 2)
        or weights.shape[1] < 1
        or not 0 < claimed.bits <= MOST_BITS
        or claimed.unit not in DECIMETERS
        or not 0 <= claimed.reach < FARTHEST
    )


def _rows(claimed: ClaimedTable) -> list[Check]:
    """Check that each row is a distribution."""
    weights, total = claimed.weights, 1 << claimed.bits
    negative, too_large = int((weights < 0).sum()), int((weights > total).sum())
    off = len(weights)
    if not negative + too_large:
        # By parts of 256 entries of at most 2^53, so that no sum overflows.
        parts = np.add.reduceat(weights, np.arange(0, weights.shape[1], 256), axis=1)
        off = sum(sum(row) != total for row in parts.tolist())
    return [
        check_none("negative weights", negative),
        check_none("row sums off", off, f"{len(weights)} rows"),
    ]


def _condition(claimed: ClaimedTable) -> Check:
    """Count the nodes and reports for which (**) does not hold, one line of nodes after the other."""
    (wide, tall), k = claimed.cells, claimed.weights.shape[1]
    table = claimed.weights.reshape(wide + 2, tall + 2, k)
    rho = claimed.guarantee.epsilon * claimed.side / DECIMETERS[claimed.guarantee.unit]
    rho = min(rho, _ALLOWS_ALL)
    wrong = 0
    for line in range(2 * wide + 1):
        value, slope = _across(table, line)
        for middle in (False, True):
            valued, north = _along(value, middle=middle)
            east, _ = _along(slope, middle=middle)
            wrong += _violations(valued, east, north, rho)
    detail = f"{(2 * wide + 1) * (2 * tall + 1) * k} pairs of a node and a report"
    return Check("inequalities violated", wrong, 0, exact=True, detail=detail)


def _across(c: NDArray[np.int64], line: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return twice the value and twice the slope along the first axis at one line: a knot, or a middle."""
    a = line // 2
    if line % 2 == 0:
        return c[a] + c[a + 1], 2 * (c[a + 1] - c[a])
    return 2 * c[a + 1], c[a + 2] - c[a]


def _along(c: NDArray[np.int64], *, middle: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return twice the value and twice the slope along the second axis, at all knots or at all middles."""
    if middle:
        return 2 * c[1:-1], c[2:] - c[:-2]
    return c[:-1] + c[1:], 2 * (c[1:] - c[:-1])


def _violations(
    value: NDArray[np.int64], east: NDArray[np.int64], north: NDArray[np.int64], rho: Fraction
) -> int:
    """Count violations, in floats where these are sure, else in integers.

    All three are sums of entries of at most 2^53 with factors whose magnitudes sum to at most 8, so that they are at
    most 2^56 and exact. As floats they err by 2^-53 of themselves, the length by less than 2^-50 of itself, and the
    other side likewise: a comparison that holds with a margin of 2^-44 of both is sure.
    """
    left = np.hypot(east.astype(np.float64), north.astype(np.float64))
    right = float(rho) * value.astype(np.float64)
    wrong = left > right * (1 + _FLOAT_MARGIN)
    close = ~wrong & (left > right * (1 - _FLOAT_MARGIN))
    count = int(wrong.sum())
    over, under = rho.numerator**2, rho.denominator**2
    for v, gx, gy in zip(
        value[close].tolist(), east[close].tolist(), north[close].tolist(), strict=True
    ):
        count += (gx * gx + gy * gy) * under > over * v * v
    return count


def _stated(claimed: ClaimedTable) -> Stated:
    (x, y), (wide, tall), side = claimed.low, claimed.cells, claimed.side
    right, high = x + wide * side, y + tall * side
    corners = ((x, y), (right, y), (right, high), (x, high))
    plane = (claimed.unit, claimed.origin, claimed.factors, claimed.reach)
    return Stated(*plane, corners, claimed.guarantee)
