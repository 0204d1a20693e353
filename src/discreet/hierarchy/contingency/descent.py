r"""Non-negative tables of the regions below one parent, and a bound of how far any such tables are from the best.

Given the parent's table :math:`X`, its children minimize

.. math:: f(x) = \tfrac12 \sum_c (x_c - m_c)^T \Lambda_c (x_c - m_c), \qquad \sum_c x_c = X, \quad x \ge 0,

where :math:`m_c` is a child's estimate from its own subtree and :math:`\Lambda_c = \sum_S a_{cS} E_S` its precision.
Without the bounds this is generalized least squares. A model of siblings (:mod:`discreet.hierarchy.contingency.shape`)
adds :math:`h(x) = \tfrac12 \sum w (x - t)^2` over all cells. The alternating direction method of multipliers [BPCPE11]_
solves it: one step is closed form for each coefficient, the other for each cell, where it clips.

**The bound.** For any multipliers :math:`s_c` and :math:`\mu`, with :math:`t_c = s_c + \mu`, the minima of
:math:`f - s \cdot x - \mu \cdot (\sum_c x_c - X)` over all x and of :math:`h + s \cdot x` over :math:`x \ge 0` add up
to a lower bound L; and for every feasible table x, with :math:`d_c = x_c - m_c`,

.. math:: f(x) + h(x) - L = \tfrac12 \sum_c \lVert \Lambda_c^{1/2} d_c - \Lambda_c^{-1/2} t_c \rVert^2
    + \bigl[ h(x) + s \cdot x - \min_{z \ge 0} (h(z) + s \cdot z) \bigr],

a sum of terms that are not negative, for each child and each cell: nothing cancels, and floats with a proved error give
it rounded outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import SolverError
from discreet.hierarchy.contingency.intervals import ROUND_UP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.estimates import InteractionBasis

_HALF_ULP = np.finfo(np.float64).eps / 2


@final
@dataclass(frozen=True, eq=False)
class Siblings:
    """The problem of the children of one parent.

    Parameters
    ----------
    targets
        ``(children, cells)``: the coefficients of their estimates.
    precision
        ``(children, interactions)``: of each interaction.
    parent
        ``(cells,)`` whole numbers that the children add up to; ``None`` for the root.
    total
        For the root the public number of records, or ``None``.
    free
        ``(cells,)``: where a record may be.
    expected, weight
        ``(children, cells)``: tables that a model makes expected, 0 where `free` or the parent is; and their inverse
        variances, 0 without a model.
    """

    targets: NDArray[np.float64]
    precision: NDArray[np.float64]
    parent: NDArray[np.int64] | None
    total: int | None
    free: NDArray[np.bool_]
    expected: NDArray[np.float64] | float = 0.0
    weight: NDArray[np.float64] | float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Solved:
    """What the search found: tables that are not negative, and the multipliers of the bounds.

    Parameters
    ----------
    tables
        ``(children, cells)`` floats, not negative; they add up to the parent up to the residual.
    multipliers
        ``(children, cells)``; not negative but where no record may be.
    residual
        The largest difference from tables that add up exactly.
    """

    tables: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    residual: float


def solve(task: Siblings, basis: InteractionBasis, *, rounds: int, tol: float = 0.01) -> Solved:
    """Fit non-negative tables of children to their estimates by the alternating direction method of multipliers.

    Minimizes the squared distances from the estimates, weighted by `precision`, and from expected tables; the tables
    add up to the parent up to the residual. Returns them with the multipliers of the step that clips and the residual,
    in records; one above `tol` after `rounds` is not raised.

    Parameters
    ----------
    task
        Estimates and precisions of the children of one parent, and the sums that they have to add up to.
    basis
        The change of basis, in the floats to compute with.
    rounds
        How many rounds, at most.
    tol
        Residual at which it ends.

    Complexity
    ----------
    Two transforms of all children a round.
    """
    from discreet.hierarchy.contingency.kernels import descent as kernels

    targets, precision = (np.ascontiguousarray(one) for one in (task.targets, task.precision))
    step = float(np.median(precision[:, basis.subset].mean(axis=0)))
    parent, fixed = _sums(task, basis)
    # Nothing is below a parent that has nothing.
    free = task.free if task.parent is None else task.free & (task.parent > 0)
    clipped = np.maximum(basis.backward(targets), 0)
    clipped[:, ~free] = 0
    dual = np.zeros_like(clipped)
    expected, pull = dual + task.expected, dual + task.weight / step
    wanted, gap = clipped.copy(), np.zeros(clipped.shape[1])
    residual = math.inf
    for _ in range(rounds):
        moved = basis.forward(wanted)
        kernels.mix(moved, targets, precision, basis.subset, step, parent, fixed, gap)
        cells = basis.backward(moved)
        residual = float(kernels.clip(cells, clipped, dual, free, expected, pull, wanted))
        if residual < tol:
            break
    return Solved(clipped, -step * dual, residual)


def _sums(task: Siblings, basis: InteractionBasis) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the sums of coefficients over the children, and whether each of these sums is fixed: ``(cells,)`` each.

    With a parent's table its coefficients in `basis` are the sums, all fixed; else only the total is, if there is
    one.
    """
    size = task.targets.shape[1]
    if task.parent is not None:
        made = basis.forward(task.parent[None].astype(np.float64))[0]
        return np.asarray(made, dtype=np.float64), np.ones(size, dtype=bool)
    parent, fixed = np.zeros(size), np.zeros(size, dtype=bool)
    if task.total is not None:
        parent[0], fixed[0] = task.total / math.sqrt(size), True
    return parent, fixed


def proved(
    task: Siblings, solved: Solved, tables: NDArray[np.int64], basis: InteractionBasis
) -> tuple[float, float, float, float]:
    """Bound the objective of whole tables and their distance from the best, outwards.

    Raises SolverError for tables that are negative, or positive where no record may be. Two transforms of all
    children.

    Parameters
    ----------
    task
        The children of one parent.
    solved
        Whose multipliers are used; any are valid.
    tables
        ``(children, cells)`` whole numbers, feasible.
    basis
        The change of basis in doubles.

    Returns
    -------
    least : float
        The objective of the tables, rounded down.
    most : float
        The objective of the tables, rounded up.
    apart : float
        By how much no feasible tables are better, rounded up.
    moved : float
        The part of the objective that is the distance from the estimates, rounded up.

    Notes
    -----
    A block of n orthonormal columns, whose entries are right to eight units in the last place, is applied with an
    error of at most ``(n + 8) sqrt(n)`` units of the Euclidean norm; blocks add up. With the weights in front, an error
    e of the coefficients of a row moves the norm by at most ``sqrt(max a) e``, or ``e / sqrt(min a)`` for multipliers.
    """
    fine = sum((len(block) + 8) * math.sqrt(len(block)) for block in basis.blocks) * 2 * _HALF_ULP
    free = task.free if task.parent is None else task.free & (task.parent > 0)
    weight = task.precision[:, basis.subset]
    if tables.min(initial=0) < 0 or tables[:, ~free].any():
        raise SolverError("descent", "tables that are not negative, and 0 where no record may be")
    cells = tables.astype(np.float64)
    off = basis.forward(cells) - task.targets
    expected, by = task.expected, task.weight
    # Multipliers are any numbers, of the right sign where no model expects a count: the floats that are there.
    multipliers = np.where(free & (by == 0), np.maximum(solved.multipliers, 0), solved.multipliers)
    _, fixed = _sums(task, basis)
    marked = basis.forward(multipliers)
    common = np.where(
        fixed, (off.sum(axis=0) - (marked / weight).sum(axis=0)) / (1 / weight).sum(axis=0), 0.0
    )
    shifted = marked + common
    largest, smallest = math.sqrt(float(weight.max())), math.sqrt(float(weight.min()))
    # The subtraction and the sum round once more, each number by itself.
    moved = fine * np.linalg.norm(cells, axis=1) + 2 * _HALF_ULP * (
        np.linalg.norm(off, axis=1) + np.linalg.norm(task.targets, axis=1)
    )
    turning = fine * np.linalg.norm(multipliers, axis=1) + 2 * _HALF_ULP * np.linalg.norm(
        shifted, axis=1
    )
    slack = (largest * moved + turning / smallest) * ROUND_UP
    norms = np.linalg.norm(off * np.sqrt(weight), axis=1)
    slack += 8 * _HALF_ULP * (norms + np.linalg.norm(shifted / np.sqrt(weight), axis=1)) * ROUND_UP
    rows = np.linalg.norm((weight * off - shifted) / np.sqrt(weight), axis=1) * ROUND_UP + slack
    # Each cell's part of h(x) + s x less its least value over x >= 0, which is at `best` up to what floats err by.
    shift = np.divide(multipliers, by, out=np.zeros_like(cells), where=by > 0)
    best = np.maximum(expected - shift, 0)
    slope = np.where(best > 0, 0, np.maximum(multipliers - by * expected, 0))
    slack = 8 * _HALF_ULP * (np.abs(multipliers) + by * (expected + best))
    slack *= cells + best + expected + np.abs(shift)
    clipped = by * (cells - best) ** 2 / 2 + slope * cells + slack
    apart = (float((rows**2).sum()) / 2 + float(clipped[:, free].sum())) * ROUND_UP
    model = float((by * (cells - expected) ** 2)[:, free].sum()) / 2
    least = float((np.maximum(norms / ROUND_UP - largest * moved, 0) ** 2).sum()) / 2
    most = float(((norms * ROUND_UP + largest * moved) ** 2).sum()) / 2 * ROUND_UP
    return (least + model) / ROUND_UP, most + model * ROUND_UP, apart, most
