r"""The verifier of mechanisms for every point with one noise: one condition for each node of a torus, in integers.

A point draws the control point (i, j) by the weights of the biquadratic B-spline, and noise with the integers w moves
it on a torus to the node z: :math:`f_z(x) = \sum_{ij} b_i(x_1) b_j(x_2) w(z - (i, j)) / 2^B`. On each cell of side h
this is a polynomial with nine Bernstein coefficients, one for each pair of *knot* or *middle* along the two axes. With
c the values of w along an axis, take there

================  ===================  =======================
of a              value, twice         slope, twice
================  ===================  =======================
knot              c[a] + c[a+1]        2 (c[a+1] - c[a])
middle            2 c[a+1]             c[a+2] - c[a]
================  ===================  =======================

and in the plane V, the value in one axis of the value in the other, and :math:`G_1, G_2`, the slope in one of the value
in the other. **Theorem.** If at all 4mn pairs and nodes of an m x n torus

.. math:: G_1^2 + G_2^2 \le (\rho V)^2, \qquad \rho = \epsilon h \qquad (**)

then :math:`f_z(x) \le e^{\epsilon |x - y|} f_z(y)` for all points x, y of the box and each z, and so for sums over the
nodes of one name. *Proof.* V/4 are the Bernstein coefficients of f on a cell, and G/4h those of its gradient, raised
to the same degree. Bernstein polynomials B are nonnegative, so that for each unit vector u on a cell
:math:`u \cdot \nabla f = \sum B\, u \cdot G / 4h \le \sum B |G| / 4h \le \epsilon \sum B V / 4 = \epsilon f`. The
gradient is continuous across cells, so that along the segment from y to x, which lies in the box, :math:`\ln f`
changes by at most :math:`\epsilon |x - y|`; where f is zero at one point it is zero at all. ∎ Which steps lead from a
control point to a node is the same for all of them, up to a turn of the torus, so that one table is looked at.

Nothing is known here of how noise and names are made or points found: only arrays are read.

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

__all__ = ["MOST_NODES", "ClaimedNoise", "verify_noise"]

MOST_NODES = 1 << 22
"""Of a torus: five arrays of them are held while it is verified."""

_KINDS = ("knot", "middle")
"""Where two cells meet, and the middle of one."""

_FLOAT_MARGIN = 2.0**-44
"""Part by which one side of (**) has to be larger for floats to settle it: see :func:`_violations`."""

_ALLOWS_ALL = Fraction(1 << 200)
"""A rate beyond all slopes, which are below 2^57, and below what floats hold: a larger one allows no more."""


@dataclass(frozen=True, eq=False)
class ClaimedNoise:
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
    low, side, cells
        The box: its corner, the side of its cells in decimeters, and how many there are.
    noise
        ``(m, n)``.
    names
        ``(m, n)``: numbers of reports.
    reports
        How many there are.
    bits
        Bits of the sum of the noise.
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
    noise: NDArray[np.int64]
    names: NDArray[np.int64]
    reports: int
    bits: int
    guarantee: MetricDP


def verify_noise(claimed: ClaimedNoise) -> Certificate:
    """Verify a mechanism for every point with one noise, in exact integers.

    Parameters
    ----------
    claimed
        The arrays and the claim: ``claimed()`` of such a mechanism.

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
    A tenth of a microsecond for each node of the torus.
    """
    checks = _shapes(claimed)
    if all(check.passed for check in checks):
        checks += _numbers(claimed)
    if all(check.passed for check in checks):
        checks += [_condition(claimed), *check_claims(_stated(claimed))]
    return Certificate(tuple(checks))


def _shapes(claimed: ClaimedNoise) -> list[Check]:
    """Check shapes and sizes first, so that everything else fits its types."""
    (x, y), (wide, tall), side = claimed.low, claimed.cells, claimed.side
    noise, names = claimed.noise, claimed.names
    corners = (x, y, x + wide * side, y + tall * side)
    strange = (
        noise.ndim != 2
        or noise.shape != names.shape
        or {noise.dtype, names.dtype} != {np.dtype(np.int64)}
        or not 0 < noise.size <= MOST_NODES
        or not 0 < claimed.bits <= MOST_BITS
        or claimed.unit not in DECIMETERS
        or not 0 <= claimed.reach < FARTHEST
        or side < 1
        or min(wide, tall) < 1
        or max(map(abs, corners)) >= FARTHEST
        or claimed.reports < 1
    )
    checks = [check_none("numbers out of range", strange)]
    if not strange:
        narrow = noise.shape[0] < wide + 2 or noise.shape[1] < tall + 2
        checks.append(check_none("control points that share a node", narrow))
    return checks


def _numbers(claimed: ClaimedNoise) -> list[Check]:
    """Check that the noise is one, and that each node has a name."""
    noise, names = claimed.noise, claimed.names
    negative = int((noise < 0).sum())
    too_large = int((noise > 1 << claimed.bits).sum())
    off = negative + too_large > 0
    if not off:
        # By parts of 256 entries of at most 2^53, so that no sum overflows.
        parts = np.add.reduceat(noise.ravel(), np.arange(0, noise.size, 256))
        off = sum(parts.tolist()) != 1 << claimed.bits
    unnamed = int(((names < 0) | (names >= claimed.reports)).sum())
    return [
        check_none("negative noise", negative),
        check_none("sums off", off, "of the noise"),
        check_none("names of no report", unnamed, f"{names.size} nodes"),
    ]


def _condition(claimed: ClaimedNoise) -> Check:
    """Count the nodes at which (**) does not hold."""
    noise = claimed.noise
    rho = claimed.guarantee.epsilon * claimed.side / DECIMETERS[claimed.guarantee.unit]
    rho = min(rho, _ALLOWS_ALL)
    wrong = 0
    for across in _KINDS:
        value, slope = _along(noise, 0, across)
        for along in _KINDS:
            valued, north = _along(value, 1, along)
            wrong += _violations(valued, _along(slope, 1, along)[0], north, rho)
    detail = f"{4 * noise.size} coefficients"
    return Check("inequalities violated", wrong, 0, exact=True, detail=detail)


def _along(
    c: NDArray[np.int64], axis: int, kind: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return twice the value and twice the slope, at a knot of two cells or in the middle of one."""
    following = np.roll(c, -1, axis)
    if kind == "knot":
        return c + following, 2 * (following - c)
    return 2 * following, np.roll(c, -2, axis) - c


def _violations(
    value: NDArray[np.int64], east: NDArray[np.int64], north: NDArray[np.int64], rho: Fraction
) -> int:
    """Count violations, in floats where these are sure, else in integers.

    All three are sums of at most eight entries in magnitude of a table that sums to 2^53 at most, so that they are
    below 2^56 and exact. As floats they err by 2^-53 of themselves, the length by less than 2^-50 of itself, and the
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


def _stated(claimed: ClaimedNoise) -> Stated:
    (x, y), (wide, tall), side = claimed.low, claimed.cells, claimed.side
    right, high = x + wide * side, y + tall * side
    corners = ((x, y), (right, y), (right, high), (x, high))
    plane = (claimed.unit, claimed.origin, claimed.factors, claimed.reach)
    return Stated(*plane, corners, claimed.guarantee)
