"""Lower bounds from multipliers: formulas that hold for any multipliers.

Nothing here asks a solver. What the formulas return is rounded outward, so that with finite bounds on the variables
it is below the optimum of the program, not merely about it.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_ceil, float_floor
from discreet.core.printed import estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.lp.program import LinearProgram

_EPS = float(np.finfo(np.float64).eps)
"""Twice the unit roundoff; the factor of two covers the roundings of the error bounds themselves."""

_TINY = float(np.finfo(np.float64).tiny)
"""At least what one product may lose to underflow."""

_LARGEST_MULTIPLIER = math.sqrt(sys.float_info.max)
"""Below it no product with an entry, a cost or a bound overflows, nor a sum of them."""


def lagrangian_bound(
    program: LinearProgram, row_duals: ArrayLike, *, tolerance: float = 0.0
) -> float:
    r"""Bound the optimum from below by multipliers of the rows, any multipliers.

    .. math::

        L(y) = \sum_i \min_{r_i \le t \le R_i} y_i t
             + \sum_j \min_{l_j \le t \le u_j} \bigl(c - A^\top y\bigr)_j\, t
        \;\le\; \min \{ c^\top x : r \le A x \le R,\ l \le x \le u \}.

    One pass over the entries of the matrix, and exact fractions where the sign of a reduced cost is open.

    Parameters
    ----------
    program
        The program; integrality is ignored, which leaves the bound valid.
    row_duals
        y, shape (m,). A multiplier whose side of the row is infinite counts as zero.
    tolerance
        Relative size below which a reduced cost on an infinite side counts as zero. With 0 the bound is proved;
        anything else makes it a measurement for programs whose variables have no finite bounds.

    Returns
    -------
    float
        A number not above L(y), or minus infinity.

    Raises
    ------
    InvalidProblemError
        When the multipliers have the wrong shape, or are not numbers below 1e154.

    Notes
    -----
    Reduced costs are enclosed by the standard bound on dot products in any order, those whose sign matters are
    computed exactly, the terms are added without error (``math.fsum``), and the result is lowered by a bound on
    the rounding errors of the products.

    Examples
    --------
    >>> from discreet.core.lp import LinearProgram
    >>> program = LinearProgram([1, 2], [[1, 1], [0, 1]], row_lower=[4, 1], upper=10)
    >>> 0 <= 5 - lagrangian_bound(program, [1, 1]) < 1e-12
    True
    """
    return _bound(program, program.cost, row_duals, tolerance)


def infeasibility(program: LinearProgram, row_duals: ArrayLike, *, tolerance: float = 0.0) -> float:
    """Measure what multipliers prove about feasibility: a positive value means that no point is feasible.

    It is :func:`lagrangian_bound` for the same constraints and cost zero: feasible points all cost zero, so that a
    positive lower bound leaves none (Farkas).

    The cost is that of :func:`lagrangian_bound`.

    Parameters
    ----------
    program
        The program; its cost plays no part.
    row_duals
        The ray y, shape (m,), positive for the lower side of a row.
    tolerance
        See :func:`lagrangian_bound`.

    Returns
    -------
    float
        The bound; it scales with ``y``.

    Raises
    ------
    InvalidProblemError
        When the multipliers have the wrong shape, or are not numbers below 1e154.

    Examples
    --------
    >>> from discreet.core.lp import LinearProgram
    >>> program = LinearProgram([0, 0], [[1, 1], [1, 1]], row_lower=[3, -float("inf")], row_upper=[float("inf"), 1])
    >>> infeasibility(program, [1, -1]) > 1.9, infeasibility(program, [1, 0]) > 0
    (True, False)
    """
    return _bound(program, np.zeros(program.n_variables), row_duals, tolerance)


def dual_objective(
    program: LinearProgram, row_duals: NDArray[np.float64], reduced_costs: NDArray[np.float64]
) -> float:
    """Return the value of the dual at a solver's own multipliers ``(m,)`` and reduced costs ``(n,)``.

    A bound only if ``cost - matrix.T @ row_duals == reduced_costs`` and the signs are right.

    In the unit of the cost. Terms of multipliers towards an infinite side are left out. Linear in rows and columns.
    """
    terms = np.concatenate(
        [
            _least(row_duals, program.row_lower, program.row_upper),
            _least(reduced_costs, program.lower, program.upper),
        ]
    )
    return math.fsum(terms[~np.isneginf(terms)])


def _bound(
    program: LinearProgram, cost: NDArray[np.float64], row_duals: ArrayLike, tolerance: float
) -> float:
    """Return the Lagrangian bound ``min_x (c - A' y)' x + y' b`` less all rounding errors, or ``-inf``.

    `row_duals` is ``(n_rows,)``. Reduced costs towards an infinite bound count as 0 up to `tolerance` of their terms.

    `cost` is ``(n,)``; one pass over the entries of the matrix.
    """
    y = np.array(row_duals, dtype=np.float64)
    if y.shape != (program.n_rows,) or not (np.abs(y) < _LARGEST_MULTIPLIER).all():
        expected = f"magnitudes below {estimate(_LARGEST_MULTIPLIER)}, shape ({program.n_rows},)"
        raise InvalidProblemError("row_duals", expected, f"shape {y.shape}")
    rows = _least(y, program.row_lower, program.row_upper)
    unusable = np.isneginf(rows)
    y[unusable] = rows[unusable] = 0.0
    low, high, size = _reduced_costs(program, cost, y)
    for end in (low, high):
        end[np.isposinf(program.upper) & (end < 0) & (end >= -tolerance * size)] = 0.0
        end[np.isneginf(program.lower) & (end > 0) & (end <= tolerance * size)] = 0.0
    # The least value over the box is concave in the reduced cost, so that the ends of its enclosure decide.
    columns = np.minimum(
        _least(low, program.lower, program.upper), _least(high, program.lower, program.upper)
    )
    if np.isneginf(columns).any():
        return -math.inf
    lost = (
        4 * _EPS * (math.fsum(np.abs(rows)) + math.fsum(np.abs(columns)))
        + (rows.size + columns.size) * _TINY
    )
    return math.nextafter(math.fsum([*rows, *columns, -lost]), -math.inf)


def _reduced_costs(
    program: LinearProgram, cost: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Enclose ``cost - matrix.T @ y`` by two vectors ``(n,)``; third, the sums of the magnitudes of its terms.

    `cost` is ``(n,)``, `y` ``(m,)``. A pass over the entries; exact fractions where the sign matters and is open.
    """
    columns = program.matrix.tocsc()
    reduced = cost - columns.T @ y
    size = np.abs(cost) + abs(columns).T @ np.abs(y)
    error = (np.diff(columns.indptr) + 2) * (_EPS * size + _TINY)
    low, high = reduced - error, reduced + error
    # An infinite side asks for a sign; where rounding hides it, it is found in exact arithmetic.
    hidden = (low < 0) & (high > 0) & ~(np.isfinite(program.lower) & np.isfinite(program.upper))
    for j in np.flatnonzero(hidden):
        entries = slice(columns.indptr[j], columns.indptr[j + 1])
        products = zip(columns.data[entries], y[columns.indices[entries]], strict=True)
        exact = Fraction(cost[j]) - sum(Fraction(a) * Fraction(v) for a, v in products)
        low[j], high[j] = float_floor(exact), float_ceil(exact)
    return low, high, size


def _least(
    multiplier: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``min(multiplier * t for lower <= t <= upper)``, entry by entry; 0 for a zero multiplier. Equal shapes."""
    side = np.where(multiplier > 0, lower, upper)
    return np.multiply(multiplier, side, out=np.zeros_like(multiplier), where=multiplier != 0)
