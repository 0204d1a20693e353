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
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.lrgeo.points.verify_claims import Claimed, check_claims, check_none, count_violations

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NODES = 1 << 22
"""Of a torus: five arrays of them are held while it is verified."""

_KINDS = ("knot", "middle")
"""Where two cells meet, and the middle of one."""


@dataclass(frozen=True, eq=False)
class ClaimedNoise(Claimed):
    """What is verified: arrays of integers, and what is claimed of them.

    Its parameters are those of :class:`~discreet.lrgeo.points.verify_claims.Claimed`, and these.

    Parameters
    ----------
    noise
        ``(m, n)``.
    names
        ``(m, n)``: numbers of reports.
    reports
        How many there are.
    """

    noise: NDArray[np.int64]
    names: NDArray[np.int64]
    reports: int


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
        checks += [_condition(claimed), *check_claims(claimed)]
    return Certificate(tuple(checks))


def _shapes(claimed: ClaimedNoise) -> list[Check]:
    """Return the checks of shapes and sizes, one or two, before all others, so that everything else fits its types."""
    (wide, tall), noise, names = claimed.cells, claimed.noise, claimed.names
    strange = (
        not claimed.is_in_range
        or noise.ndim != 2
        or noise.shape != names.shape
        or {noise.dtype, names.dtype} != {np.dtype(np.int64)}
        or not 0 < noise.size <= MOST_NODES
        or claimed.reports < 1
    )
    checks = [check_none("numbers out of range", strange)]
    if not strange:
        narrow = noise.shape[0] < wide + 2 or noise.shape[1] < tall + 2
        checks.append(check_none("control points that share a node", narrow))
    return checks


def _numbers(claimed: ClaimedNoise) -> list[Check]:
    """Return the checks that the noise is not negative and sums to ``2^bits``, and that each node has a name.

    Linear.
    """
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
    """Return the check that counts the nodes at which (**) does not hold; it passes for 0. Linear in the torus."""
    noise = claimed.noise
    wrong = 0
    for across in _KINDS:
        value, slope = _along(noise, 0, across)
        for along in _KINDS:
            valued, north = _along(value, 1, along)
            wrong += count_violations(valued, _along(slope, 1, along)[0], north, claimed.rate)
    detail = f"{4 * noise.size} coefficients"
    return Check("inequalities violated", wrong, 0, exact=True, detail=detail)


def _along(
    c: NDArray[np.int64], axis: int, kind: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return twice the value and twice the slope along `axis`, at a "knot" of two cells or in the middle of one.

    Both have the shape of `c`, ``(m, n)`` int64, a torus.
    """
    following = np.roll(c, -1, axis)
    if kind == "knot":
        return c + following, 2 * (following - c)
    return 2 * following, np.roll(c, -2, axis) - c
