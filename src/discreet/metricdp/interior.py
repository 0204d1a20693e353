r"""Interior-point method for programs of many small blocks: an inverse for each block, a Schur complement for the rows.

.. math:: \min_u w^\top u \quad\text{subject to}\quad G u \ge 0,\quad M u = 1,

where each row of G has at most two entries, both of one block, and each block of u has one *tail* variable that enters
all rows of M by a column of T, besides variables that enter one row each. Mehrotra's predictor and corrector steps; the
normal equations are :math:`S = \sum_k M_k (G_k^\top \Theta_k G_k)^{-1} M_k^\top`, one dense matrix of the size of the
rows, computed by one product of matrices and a sum over blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_RIDGES = (1e-14, 1e-11, 1e-8)
"""Relative regularizations of the diagonal of the Schur complement; the next is used if the factorization fails. The
first is also that of the scaled blocks."""


@final
@dataclass(frozen=True, eq=False)
class Blocks:
    """The structure: K blocks in N rows.

    Parameters
    ----------
    block, row
        ``(variables,)``: block and row of each variable; the last variable of each block is its tail, row -1.
    small, large, factor
        ``(inequalities,)`` with the meaning ``u[small] <= factor u[large]``; ``small`` is -1 for ``0 <= u[large]``.
    tails
        T, ``(N, K)``: the coefficients of the tails in the rows.
    """

    block: NDArray[np.int64]
    row: NDArray[np.int64]
    small: NDArray[np.int64]
    large: NDArray[np.int64]
    factor: NDArray[np.float64]
    tails: NDArray[np.float64]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Variables of each block."""
        return np.bincount(self.block, minlength=self.tails.shape[1])

    @cached_property
    def last(self) -> NDArray[np.int64]:
        """Indices of the tail variables."""
        return np.cumsum(self.sizes) - 1

    @cached_property
    def slot(self) -> NDArray[np.int64]:
        """Position of each variable in its block."""
        return np.arange(len(self.block)) - (np.cumsum(self.sizes) - self.sizes)[self.block]

    @cached_property
    def inside(self) -> NDArray[np.int64]:
        """Indices of the variables that enter one row."""
        return np.flatnonzero(self.row >= 0)

    @cached_property
    def tails_transposed(self) -> NDArray[np.float64]:
        """The transpose of T, contiguous by rows."""
        return np.ascontiguousarray(self.tails.T)

    def rows(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute ``M u``, the sum of each row: ``(N,)`` from the variables `u` ``(variables,)``.

        Each variable in a row counts once, each tail times its coefficient in T. ``O(variables + N K)``.
        """
        inside = self.inside
        direct = np.bincount(self.row[inside], u[inside], minlength=len(self.tails))
        return np.asarray(direct + self.tails @ u[self.last])

    def prices(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute ``M' y``, one number a variable: ``(variables,)`` from row prices `y` ``(N,)``.

        A variable in a row gets the price of its row; the tail of block k gets ``tails[:, k] @ y``. ``O(variables + N
        K)``.
        """
        priced: NDArray[np.float64] = np.where(self.row >= 0, y[self.row], 0.0)
        priced[self.last] = self.tails.T @ y
        return priced

    def slacks(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute ``G u``, ``factor u[large] - u[small]`` for each inequality.

        ``(inequalities,)`` from `u` ``(variables,)``. Where `small` is -1 nothing is subtracted. Linear.
        """
        return np.asarray(self.factor * u[self.large] - np.where(self.small >= 0, u[self.small], 0))

    def apply_transposed(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute ``G' t``, one number a variable: ``(variables,)`` from multipliers `t` ``(inequalities,)``.

        Linear.
        """
        n, two = len(self.block), self.small >= 0
        pulled = np.bincount(self.large, self.factor * t, minlength=n)
        return np.asarray(pulled - np.bincount(self.small[two], t[two], minlength=n))

    def channel_matrix(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns of variables `u` ``(variables,)`` as a table ``(N, K)``, in ``O(N K)``."""
        table: NDArray[np.float64] = self.tails * u[self.last]
        inside = self.inside
        table[self.row[inside], self.block[inside]] += u[inside]
        return table


class _Normal:
    """The normal equations at one point: inverses of the blocks, and the factor of the Schur complement."""

    def __init__(self, blocks: Blocks, theta: NDArray[np.float64]) -> None:
        from scipy.linalg import LinAlgError, cho_factor

        self.blocks = blocks
        self.inverse = self._inverses(theta)
        for ridge in _RIDGES:
            schur = self._schur(ridge)
            try:
                self.factor = cho_factor(schur, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                if ridge == _RIDGES[-1]:
                    raise
            else:
                break

    def _schur(self, ridge: float) -> NDArray[np.float64]:
        """Return the Schur complement ``(N, N)``, its diagonal times ``1 + ridge``; only its lower half is meaningful.

        ``O(N^2 blocks)``.
        """
        from scipy.linalg.blas import dsyrk
        from scipy.sparse import coo_array, csr_array

        blocks, inverse = self.blocks, self.inverse
        k, slot, inside = blocks.block, blocks.slot, blocks.inside
        n, count = blocks.tails.shape
        last = blocks.sizes - 1
        # T W T', W > 0: a symmetric product takes half the operations.
        weights = np.sqrt(inverse[np.arange(count), last, last])
        schur = dsyrk(1.0, (blocks.tails * weights).T, trans=1, lower=1)
        row, column = blocks.row[inside], k[inside]
        values = inverse[column, slot[inside], last[column]]
        ends = csr_array((values, (row, column)), shape=(n, count))
        edge: NDArray[np.float64] = np.asarray(ends @ blocks.tails_transposed)
        schur += edge
        schur += edge.T
        # Padding and tails go to an extra row and column, which are dropped.
        place = np.full((count, inverse.shape[1]), n)
        place[column, slot[inside]] = row
        flat = (place[:, :, None] * (n + 1) + place[:, None, :]).ravel()
        within_blocks = coo_array(
            (inverse.ravel(), np.divmod(flat, n + 1)), shape=(n + 1, n + 1)
        ).tocsr()
        direct = within_blocks[:n, :n].tocoo()
        schur[direct.row, direct.col] += direct.data
        schur[np.diag_indices(n)] *= 1 + ridge
        return np.asarray(schur)

    def _inverses(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Invert ``G_k' Theta G_k`` for all blocks: ``(blocks, size, size)``, size that of the largest, padded by ones.

        `theta` ``(inequalities,)`` are positive weights of the inequalities. The diagonal, scaled to 1, is raised by
        the first ridge. ``O(size^3)`` a block.
        """
        blocks = self.blocks
        count, width = len(blocks.sizes), int(blocks.sizes.max())
        k, a, b = blocks.block[blocks.large], blocks.slot[blocks.small], blocks.slot[blocks.large]
        two, c = blocks.small >= 0, blocks.factor
        base = k * width * width
        positions = [base + b * (width + 1), (base + a * (width + 1))[two]]
        positions += [(base + a * width + b)[two], (base + b * width + a)[two]]
        entries = [theta * c * c, theta[two], -(theta * c)[two], -(theta * c)[two]]
        flat = np.bincount(
            np.concatenate(positions), np.concatenate(entries), minlength=count * width * width
        )
        gram: NDArray[np.float64] = flat.astype(np.float64).reshape(count, width, width)
        indices = np.arange(width)
        diagonal = gram[:, indices, indices]
        diagonal = np.where(indices[None, :] < blocks.sizes[:, None], diagonal, 1.0)
        scale = 1 / np.sqrt(diagonal)
        gram *= scale[:, :, None] * scale[:, None, :]
        gram[:, indices, indices] = 1 + _RIDGES[0]
        inverse = np.linalg.inv(gram)
        inverse = 0.5 * (inverse + inverse.transpose(0, 2, 1))
        return np.asarray(inverse * (scale[:, :, None] * scale[:, None, :]))

    def apply(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply a vector `x` ``(variables,)`` by the inverses of the blocks.

        ``(variables,)``, ``O(size^2)`` a block.
        """
        blocks = self.blocks
        padded = np.zeros(self.inverse.shape[:2])
        padded[blocks.block, blocks.slot] = x
        product = np.matmul(self.inverse, padded[:, :, None])[:, :, 0]
        return np.asarray(product[blocks.block, blocks.slot])

    def rows(self, side: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solve the Schur complement for a side ``(N,)``: returns ``(N,)``, in ``O(N^2)``."""
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(self.factor, side, check_finite=False))


class Interior(NamedTuple):
    """Solution of a program of blocks.

    Parameters
    ----------
    u
        The variables: ``G u > 0``, ``M u`` near 1.
    objective, bound
        ``w'u`` and the dual objective, both up to the residuals.
    residual
        Largest error of a row.
    iterations
        Number of iterations.
    """

    u: NDArray[np.float64]
    objective: float
    bound: float
    residual: float
    iterations: int


def solve_blocks(
    blocks: Blocks,
    cost: NDArray[np.float64],
    start: NDArray[np.float64],
    *,
    tolerance: float = 1e-4,
    max_iterations: int = 80,
    stop: Callable[[], bool] = lambda: False,
) -> Interior:
    """Solve a program of blocks to a relative gap.

    Parameters
    ----------
    blocks
        The structure.
    cost
        w, ``(variables,)``.
    start
        A point with ``G u > 0``; its rows need not sum to 1.
    tolerance
        Relative gap, and a thousand times the largest error of a row. Explicit inverses reach about 1e-5.
    max_iterations
        Limit on the iterations; most programs take 15 to 35.
    stop
        Called before each iteration; once it returns true, the current point is returned.

    Returns
    -------
    Interior
        The last point, or the last one before a numerical failure.

    Complexity
    ----------
    ``N^2 K + N^3 / 3`` operations an iteration, and the cube of each block's size.
    """
    from scipy.linalg import LinAlgError

    size = float(np.abs(cost).mean()) or 1.0
    w = cost / size
    u = start / max(float(blocks.rows(start).mean()), 1e-300)
    s = blocks.slacks(u)
    t = max(float(np.median(w) * np.median(u)), 1e-12) / s
    y = np.zeros(len(blocks.tails))
    result = Interior(u, float(cost @ u), 0.0, 1.0, 0)
    for count in range(max_iterations):
        dual, primal = w - blocks.prices(y) - blocks.apply_transposed(t), 1 - blocks.rows(u)
        residual, mu = float(np.abs(primal).max()), float(s @ t) / len(s)
        result = Interior(u, float(cost @ u), float(y.sum()) * size, residual, count)
        if _has_converged(result, float(np.abs(dual) @ u) * size, tolerance) or stop():
            break
        try:
            normal = _Normal(blocks, t / s)
        except LinAlgError:
            break
        u, y, t = _step(blocks, normal, (u, y, s, t), (dual, primal, mu))
        s = blocks.slacks(u)
        if not (np.isfinite(u).all() and s.min() > 0 and t.min() > 0):
            break
    return result


def _has_converged(result: Interior, dual_error: float, tolerance: float) -> bool:
    """Return whether the rows' residual is at most ``tolerance / 1000``, and the gap ``tolerance`` times the objective.

    The gap is ``|objective - bound|`` plus `dual_error`, in the unit of the objective.
    """
    gap = abs(result.objective - result.bound) + dual_error
    return result.residual <= 1e-3 * tolerance and gap <= tolerance * abs(result.objective)


_Point = tuple[
    "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"
]


def _step(
    blocks: Blocks,
    normal: _Normal,
    point: _Point,
    residuals: tuple[NDArray[np.float64], NDArray[np.float64], float],
    boundary_share: float = 0.99,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return u, y and t, the variables, row prices and multipliers, after a predictor and a corrector step.

    `point` is u, y, the slacks s and t; `residuals` are the dual one ``(variables,)``, that of the rows ``(N,)``, and
    the mean of s times t. Primal and dual each take `boundary_share` of the longest step to the boundary, at most 1.
    Two solves of the Schur complement, three if the corrector's step is short.
    """
    u, y, s, t = point
    dual, primal, mu = residuals

    def direction(aim: NDArray[np.float64]) -> _Point:
        pulled = blocks.apply_transposed(aim) - dual
        dy = normal.rows(primal - blocks.rows(normal.apply(pulled)))
        du = normal.apply(pulled + blocks.prices(dy))
        ds = blocks.slacks(du)
        return du, dy, ds, aim - t / s * ds

    du, dy, ds, dt = direction(-t)
    along, across = min(1.0, _longest_step(s, ds)), min(1.0, _longest_step(t, dt))
    ahead = float((s + along * ds) @ (t + across * dt)) / len(s)
    center = max((ahead / mu) ** 3, 1e-4)
    du, dy, ds, dt = direction((center * mu - ds * dt) / s - t)
    if min(_longest_step(s, ds), _longest_step(t, dt)) < 0.1:
        # The step is too short: repeat it with more centering.
        du, dy, ds, dt = direction(max(center, 0.3) * mu / s - t)
    along = min(1.0, boundary_share * _longest_step(s, ds))
    across = min(1.0, boundary_share * _longest_step(t, dt))
    return u + along * du, y + across * dy, t + across * dt


def _longest_step(x: NDArray[np.float64], dx: NDArray[np.float64]) -> float:
    """Return the step at which the first entry of ``x + step dx`` becomes zero, ``(m,)`` both; infinity if none falls.

    `x` must be positive.
    """
    falling = dx < 0
    return float((-x[falling] / dx[falling]).min(initial=np.inf))
