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
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.lrgeo.points.verify_claims import Claimed, check_claims, check_none, count_violations

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ClaimedTable(Claimed):
    """What is verified: an array of integers, and what is claimed of it.

    Its parameters are those of :class:`~discreet.lrgeo.points.verify_claims.Claimed`, and these.

    Parameters
    ----------
    weights
        ``((cells[0] + 2) * (cells[1] + 2), K)``: a row for each control point, those of one column after another.
    """

    weights: NDArray[np.int64]


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
        checks += [_condition(claimed), *check_claims(claimed)]
    return Certificate(tuple(checks))


def _is_strange(claimed: ClaimedTable) -> bool:
    """Return whether shapes, types or sizes are other than stated, looked at first so that all else fits its types."""
    (wide, tall), weights = claimed.cells, claimed.weights
    return (
        not claimed.is_in_range
        or weights.ndim != 2
        or weights.dtype != np.dtype(np.int64)
        or len(weights) != (wide + 2) * (tall + 2)
        or weights.shape[1] < 1
    )


def _rows(claimed: ClaimedTable) -> list[Check]:
    """Return the checks that no weight is negative and that each row sums to ``2^bits``, exactly. Linear."""
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
    """Return the check that counts the nodes and reports for which (**) does not hold; it passes for 0.

    One line of nodes after the other; linear in the weights.
    """
    (wide, tall), k = claimed.cells, claimed.weights.shape[1]
    table = claimed.weights.reshape(wide + 2, tall + 2, k)
    wrong = 0
    for line in range(2 * wide + 1):
        value, slope = _across(table, line)
        for middle in (False, True):
            valued, north = _along(value, middle=middle)
            east, _ = _along(slope, middle=middle)
            wrong += count_violations(valued, east, north, claimed.rate)
    detail = f"{(2 * wide + 1) * (2 * tall + 1) * k} pairs of a node and a report"
    return Check("inequalities violated", wrong, 0, exact=True, detail=detail)


def _across(c: NDArray[np.int64], line: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return twice the value and twice the slope along the first axis of `c` at one line.

    A knot if even, else a middle. Arrays of one dimension less, int64.
    """
    a = line // 2
    if line % 2 == 0:
        return c[a] + c[a + 1], 2 * (c[a + 1] - c[a])
    return 2 * c[a + 1], c[a + 2] - c[a]


def _along(c: NDArray[np.int64], *, middle: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return twice the value and twice the slope along the second axis, at all knots or at all middles.

    `c` is ``(rows, K)`` int64; the results have one row less at knots, two less at middles.
    """
    if middle:
        return 2 * c[1:-1], c[2:] - c[:-2]
    return c[:-1] + c[1:], 2 * (c[1:] - c[:-1])
