r"""The primal-dual method for the program of a control net: a cone for each node of the net and report.

The program is :math:`\min \langle C, z \rangle` over rows that sum to 1 and columns with
:math:`|G_n(z_k)| \le \rho V_n(z_k)` at each node n: see :mod:`discreet.lrgeo.points.stencils`. With multipliers p for G
and q for V, :math:`|p| \le q`,

.. math:: p \cdot G_n(z_k) - q \rho V_n(z_k) \le 0

for every column that keeps the condition, so that any such multipliers give a lower bound, whatever found them: the sum
over control points of the least reduced cost in their rows.

Steps are those of :mod:`discreet.metricdp.primal_dual`: reflected, averaged with an anchor, restarted [LY24]_.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.threads import run_pieces
from discreet.lrgeo.points.stencils import gradients, stencils
from discreet.metricdp.primal_dual.iterate import aligned_zeros

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray


class _Tuning(NamedTuple):
    """Parameters of the steps; those of restarts are as in :mod:`discreet.metricdp.primal_dual.iterate`.

    Tails that are measured in too large a unit violate the condition by much, and repairing them costs: 400 reports,
    441 control points, half a nat a cell, after 300 steps an iterate of 1.62 to 1.64 was 3.57 after the repair with a
    `scaled_decay` of 0.5, 1.73 with 0.57, 1.674 with 0.7 and 1.677 with 0.8; the bound was 1.577, 1.588, 1.588 and
    1.598, and the optimum is about 1.65; November 2026.
    """

    scaled_decay: float = 0.7
    """Share of the decay of a column that the scaling removes."""
    max_scaled_nats: float = 30.0
    """Most nats that the scaling removes, so that products of floats keep their range."""
    start_decay: float = 0.85
    """Decay of the columns of the start, as a share of epsilon."""
    primal_weight_range: tuple[float, float] = (0.2, 8.0)
    row_weight: float = 0.15
    """Weight of the row sums against the cones in the step size."""
    sufficient_decrease: float = 0.2
    necessary_decrease: float = 0.8
    max_age_share: float = 0.36
    """Restart once the residual fell to the first share of its first value; if it rose below the second; or once the
    current run is this share of all steps."""
    steps_per_check: int = 8
    power_iterations: int = 30
    importance_decay: float = 1.0
    """Decay of the importance of a place around it, as a share of epsilon."""
    min_importance: float = 0.01
    """Smallest importance relative to the mean."""
    min_multipliers_for_threads: int = 400_000


_TUNING = _Tuning()


@final
class NetIterate:
    """Where the method stands; ``0`` marks the anchor.

    Parameters
    ----------
    cells
        Of the net, in both directions.
    cost
        ``(V, K)``: what each report costs at each control point, times how likely it is drawn.
    rho
        Nats a cell.
    away
        ``(V, K)`` from each control point to each report, in sides of a cell.
    threads
        Among how many threads blocks are divided, which changes nothing but the time.
    """

    def __init__(
        self,
        cells: tuple[int, int],
        cost: NDArray[np.float64],
        rho: float,
        away: NDArray[np.float64],
        *,
        threads: int = 1,
    ) -> None:
        self.n, self.n_reports = len(cost), int(cost.shape[1])
        self.cells, self.cost, self.rho = cells, cost, rho
        self.stencils = stencils(cells)
        nats = rho * away
        near = nats - nats.min(axis=1, keepdims=True)
        start = np.exp(-_TUNING.start_decay * near)
        start /= start.sum(axis=1, keepdims=True)
        self.unit: float = float((cost * start).sum()) / self.n or 1.0
        """What a row costs, typically: all costs are divided by it."""
        self.table = np.exp(-np.minimum(_TUNING.scaled_decay * near, _TUNING.max_scaled_nats))
        self.table /= np.sqrt(_importance(cells, (cost * start).sum(axis=1), rho))[:, None]
        rows = np.concatenate([1.0 / value for _, _, value in gradients(cells, self.table)])
        scaled = (start / self.table, start / self.table, self.table, cost / self.unit * self.table)
        row_scale = _blocked(rows)
        blocks, nodes, lanes = row_scale.shape
        self.P = aligned_zeros((blocks, self.n, 5, lanes))
        for part, one in enumerate(scaled):
            self.P[:, :, part] = _blocked(one)
        self.X, self.X0, self.G = self.P[:, :, 0], self.P[:, :, 1], self.P[:, :, 4]
        self.D = aligned_zeros((blocks, nodes, 7, lanes))
        self.D[:, :, 6] = row_scale
        self.L, self.L0 = self.D[:, :, :3], self.D[:, :, 3:6]
        self.y = np.zeros(self.n, dtype=np.float32)
        self.y0 = self.y.copy()
        self.total, self.summands = aligned_zeros(self.L.shape), 0.0
        size = self._largest(rows)
        self.row_weight = _TUNING.row_weight * size / (self.table**2).sum(axis=1)
        self.step_size = 0.97 / math.sqrt((1.03 + _TUNING.row_weight) * size)
        self.weight = 4.0
        self.count = self.age = self.restarts = 0
        self.first = self.last = math.inf
        self.sums, self.moved = np.zeros((blocks, self.n)), np.zeros((blocks, 2))
        self.threads = (
            min(threads, blocks) if self.L.size > _TUNING.min_multipliers_for_threads else 1
        )

    def pool(self) -> ThreadPoolExecutor | nullcontext[None]:
        """Return a context with a pool of the other threads, or with ``None`` for one thread."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else nullcontext()

    def _largest(self, rows: NDArray[np.float64]) -> float:
        """Estimate the largest squared singular value of the constraint matrix of a column, by the power method.

        `rows` ``(nodes, K)`` scales the rows. At most eight columns, ``O(nodes)`` for each iteration.
        """
        columns = np.unique(np.linspace(0, self.n_reports - 1, min(8, self.n_reports)).astype(int))
        points, most = self.stencils.points, 0.0
        weights = self.stencils.weights[self.stencils.kinds]
        weights[:, 0] *= self.rho
        for k in columns.tolist():
            scaled = weights * rows[:, k, None, None]
            x = np.cos(np.arange(self.n) * 2.4)
            for _ in range(_TUNING.power_iterations):
                at = (self.table[:, k] * x)[points]
                back = np.einsum("tpe,tp->te", scaled, np.einsum("tpe,te->tp", scaled, at))
                x = np.bincount(points.ravel(), back.ravel(), self.n) * self.table[:, k]
                size = float(np.linalg.norm(x))
                x /= size
            most = max(most, size)
        return most

    def advance(self, pool: ThreadPoolExecutor | None = None) -> None:
        """Take one step in place, and move the anchor if the steps have shrunk enough. ``O(nodes K)``.

        `pool` is as of :meth:`pool`; without it all blocks are stepped in this thread.
        """
        weight = np.float32((self.age + 1) / (self.age + 2))
        sigma = self.step_size * self.weight
        if pool is None:
            self._step(0, len(self.P), weight)
        else:
            run_pieces(pool, self.threads, len(self.P), lambda b: self._step(b, b + 1, weight))
        row_step = (sigma * self.row_weight).astype(np.float32)
        change = row_step * (1 - self.sums.sum(axis=0)).astype(np.float32)
        self.y = (1 - weight) * self.y0 + weight * (self.y + 2 * change)
        dx, dl = self.moved.sum(axis=0).tolist()
        dl += float((change.astype(np.float64) ** 2 / self.row_weight).sum())
        self.count += 1
        self.age += 1
        if self.count % _TUNING.steps_per_check == 0:
            self.total += self.L
            self.summands += 1
        self._judge(math.sqrt(self.weight * dx + dl / self.weight))

    def _step(self, first: int, last: int, weight: np.float32) -> None:
        """Take one step, in place, in the blocks of reports from `first` up to but not `last`.

        `weight` is the new point's share against the anchor. ``O(nodes)`` for each report.
        """
        from discreet.lrgeo.points.kernels.nets import net_step

        net_step(
            first,
            last,
            self.cells[1],
            self.P,
            self.D,
            self.y,
            np.float32(self.rho),
            np.float32(self.step_size / self.weight),
            np.float32(self.step_size * self.weight),
            weight,
            self.sums,
            self.moved,
        )

    def _judge(self, size: float) -> None:
        """Move the anchor if the step's length `size` says so; if steps diverge, return to it and shorten them.

        It does if the length has fallen by enough since the anchor, stalls after a smaller fall, or too many steps
        were taken.
        """
        if self.age == 1:
            self.first = size
        if size > 1e3 * self.first or not math.isfinite(size):
            # The power method found less than the largest singular value.
            self.step_size *= 0.7
            self.X[:], self.L[:], self.y = self.X0, self.L0, self.y0.copy()
            self._push()
            self.age, self.last = 0, math.inf
            return
        sufficient = size < _TUNING.sufficient_decrease * self.first
        stalled = self.last < size < _TUNING.necessary_decrease * self.first
        old = self.count > 50 and self.age > _TUNING.max_age_share * self.count
        self.last = size
        if self.count > 5 and (sufficient or stalled or old):
            self._move_anchor()

    def _push(self) -> None:
        """Compute anew, in place, what the multipliers add to reduced costs, the part G of P. ``O(nodes K)``."""
        from discreet.lrgeo.points.kernels.nets import push_nets

        kinds, points, weights = self.stencils
        push_nets(self.P, self.D, kinds, points, weights.astype(np.float32), np.float32(self.rho))

    def _move_anchor(self) -> None:
        """Replace the anchor by the iterate, and balance the primal weight by how far both sides have moved.

        ``O(nodes K)``. Negative and tiny entries of the iterate become 0.
        """
        np.maximum(self.X, 0.0, out=self.X)
        self.X[self.X < 1e-18] = 0.0
        self.L[np.abs(self.L) < 1e-12] = 0.0
        dx = _squared(self.X, self.X0)
        dl = _squared(self.L, self.L0)
        dl += float(((self.y - self.y0).astype(np.float64) ** 2 / self.row_weight).sum())
        if dx > 0 and dl > 0:
            low, high = _TUNING.primal_weight_range
            self.weight = min(max(math.sqrt(math.sqrt(dl / dx) * self.weight), low), high)
        self.X0[:], self.L0[:], self.y0 = self.X, self.L, self.y.copy()
        self._push()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def matrix(self) -> NDArray[np.float64]:
        """Return the unscaled iterate z, ``(V, K)`` float64.

        Not negative, rows sum to about 1, the condition may be violated.
        """
        columns = self.X.transpose(1, 0, 2).reshape(self.n, -1)[:, : self.n_reports]
        table: NDArray[np.float64] = columns * self.table
        return np.maximum(table, 0.0)

    def mean(self) -> NDArray[np.float32]:
        """Return the mean of the multipliers since the start, in the layout of ``L``, float32.

        Each call changes the state: all terms so far then count half.
        """
        mean: NDArray[np.float32] = self.total / np.float32(max(self.summands, 1.0))
        self.total *= np.float32(0.5)
        self.summands *= 0.5
        return mean

    def bound(self, L: NDArray[np.float32], rho: float) -> float:
        """Return a lower bound on the expected loss of every table that keeps the condition, from any multipliers.

        Rounded down, in the unit of `cost`; far below 0 for poor multipliers. ``O(nodes K)`` time, some ``(V, K)``
        tables of float64. The object is not changed.

        Parameters
        ----------
        L
            ``(blocks, nodes, 3, 64)`` float32, as ``self.L``: p in both directions, and q, which is not read: it is
            taken as the length of p.
        rho
            Nats a cell, at least those of the guarantee.

        Notes
        -----
        Multipliers are valid for every rho once q is at least the length of p: what is subtracted from the reduced
        costs grows with rho, as it has to.
        """
        from discreet.lrgeo.points.kernels.nets import net_flows

        flows, size = np.zeros(self.cost.shape), np.zeros(self.cost.shape)
        net_flows(L, self.D, *self.stencils, rho * (1 + 1e-12), flows, size)
        reduced: NDArray[np.float64] = self.cost + self.unit * flows
        # Sums of at most some hundred terms: what they err by is below 2^-44 of their magnitudes.
        reduced -= 2.0**-44 * (self.cost + self.unit * size)
        total = float(reduced.min(axis=1).sum())
        return total - 1e-12 * self.n * self.unit


def _importance(
    cells: tuple[int, int], loss: NDArray[np.float64], rho: float
) -> NDArray[np.float64]:
    """Return the importance of each control point ``(V,)``: the loss around it, relative to the mean, bounded below.

    `loss` ``(V,)`` is that at each one, `rho` nats a cell; losses around fade exponentially. Where people are likely,
    prices are high, and steps of the variables have to be short.
    """
    columns, rows = (
        np.exp(
            -_TUNING.importance_decay
            * rho
            * np.abs(np.subtract.outer(np.arange(count + 2), np.arange(count + 2)))
        )
        for count in cells
    )
    around = columns @ loss.reshape(len(columns), len(rows)) @ rows
    importance: NDArray[np.float64] = np.maximum(
        around / around.mean(), _TUNING.min_importance
    ).ravel()
    return importance


def _blocked(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """Split a table ``(V, K)`` into blocks of reports, float32 ``(blocks, V, 64)``, the last one padded with zeros."""
    from discreet.lrgeo.points.kernels.nets import REPORTS_PER_BLOCK

    n, k = table.shape
    padded = np.zeros((n, -(-k // REPORTS_PER_BLOCK) * REPORTS_PER_BLOCK), dtype=np.float32)
    padded[:, :k] = table
    return padded.reshape(n, -1, REPORTS_PER_BLOCK).transpose(1, 0, 2)


def _squared(new: NDArray[np.float32], old: NDArray[np.float32]) -> float:
    return float(sum(((a - b) ** 2).sum(dtype=np.float64) for a, b in zip(new, old, strict=True)))
