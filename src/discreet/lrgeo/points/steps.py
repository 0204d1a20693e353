r"""The primal-dual method for the program of a mesh: a cone for each triangle and report, and no directions.

The program is :math:`\min \langle C, z \rangle` over rows that sum to 1 and columns with
:math:`|\nabla_T z_k| \le \epsilon z_k(v)` for each corner v of each triangle T. With multipliers p for the gradient and
q for the corners, :math:`|p| \le q_1 + q_2 + q_3` and :math:`q \ge 0`,

.. math:: p \cdot \nabla_T z_k - \epsilon \sum_v q_v z_k(v) \le 0

for every column that keeps (*), so that any such multipliers give a lower bound, whatever found them: the sum over
vertices of the least reduced cost in their rows. A cone takes five numbers, and its projection a root. Sixteen
directions in place of a cone, as linear programs need, take 48 rows and lose 2 %.

Steps are those of :mod:`discreet.metricdp.primal_dual`: reflected, averaged with an anchor, restarted [LY24]_.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.primal_dual.iterate import LANES, aligned, blocked, share, unblocked

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.lrgeo.points.mesh import Mesh

__all__ = ["ConeIterate"]

_STEEPNESS = 0.5
"""Part of the decay of a column that the scaling takes away."""

_DEEPEST = 30.0
"""Nats that the scaling takes away at most, so that products of floats keep their range."""

_WEIGHTS = (0.2, 8.0)
"""Between which the primal weight is kept: left alone it grows to 50 at first, and bounds stall. 100 reports, 361
vertices, half a nat a cell: after 700 steps the gap was 3.4 % with at most 8, 5.8 with 2, 21 with 50; November 2026."""

_ROW_WEIGHT = 0.15
_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.8, 0.36
_STRIDE = 8
"""As in :mod:`discreet.metricdp.primal_dual.iterate`."""

_POWER_ROUNDS = 30

_ALONE = 400_000
"""Multipliers below which one thread takes all blocks."""


@final
class ConeIterate:
    """Where the method stands; ``0`` marks the anchor.

    Parameters
    ----------
    mesh
        The triangles.
    cost
        ``(V, K)``: what each report costs at each vertex, times how likely the vertex is.
    epsilon
        Nats per decimeter.
    away
        ``(V, K)`` decimeters from each vertex to each report.
    threads
        Among how many threads blocks are divided, which changes nothing but the time.
    """

    def __init__(
        self,
        mesh: Mesh,
        cost: NDArray[np.float64],
        epsilon: float,
        away: NDArray[np.float64],
        *,
        threads: int = 1,
    ) -> None:
        self.n, self.n_reports = len(cost), int(cost.shape[1])
        self.mesh, self.cost = mesh, cost
        legs = np.sqrt(mesh.twice_areas.astype(np.float64))
        self.corners = mesh.triangles.astype(np.int32)
        self.slopes = (mesh.gradients * legs[:, None, None]).reshape(-1, 6)
        self.legs, self.rates = legs, epsilon * legs
        nats = epsilon * away
        near = nats - nats.min(axis=1, keepdims=True)
        start = np.exp(-0.7 * near)
        start /= start.sum(axis=1, keepdims=True)
        self.unit: float = float((cost * start).sum()) / self.n or 1.0
        """What a row costs, typically: all costs are divided by it."""
        self.table = np.exp(-np.minimum(_STEEPNESS * near, _DEEPEST))
        rows = 1.0 / self.table[mesh.triangles].mean(axis=1)
        self.S, self.R = blocked(self.table), blocked(rows)
        self.W = blocked(cost / self.unit * self.table)
        self.X = blocked(start / self.table)
        blocks = len(self.S)
        self.L = aligned((blocks, 5 * len(self.corners), LANES))
        self.y = np.zeros(self.n, dtype=np.float32)
        self.X0, self.L0, self.y0 = aligned(self.X.shape), aligned(self.L.shape), self.y.copy()
        self.X0[:] = self.X
        self.G = aligned(self.X.shape)
        self.total, self.summands = aligned(self.L.shape), 0.0
        self.slopes32 = self.slopes.astype(np.float32)
        self.rates32 = self.rates.astype(np.float32)
        size = self._largest()
        self.row_weight = _ROW_WEIGHT * size / (self.table**2).sum(axis=1)
        self.step_size = 0.97 / math.sqrt((1.03 + _ROW_WEIGHT) * size)
        self.weight = 4.0
        self.count = self.age = self.restarts = 0
        self.first = self.last = math.inf
        self.sums, self.moved = np.zeros((blocks, self.n)), np.zeros((blocks, 2))
        self.threads = min(threads, blocks) if self.L.size > _ALONE else 1

    def begin(self, table: NDArray[np.float64], multipliers: NDArray[np.float32]) -> None:
        """Start elsewhere: from rows that sum to 1, and multipliers in the layout of this iterate."""
        self.X[:] = blocked(table / self.table)
        self.L[:] = multipliers
        self._push()
        reduced = self.cost / self.unit + unblocked(self.G, self.n_reports)
        self.y = (table * reduced).sum(axis=1).astype(np.float32)
        self.X0[:], self.L0[:], self.y0 = self.X, self.L, self.y.copy()

    def pool(self) -> ThreadPoolExecutor | nullcontext[None]:
        """Open what work is divided with, to be closed by ``with``; nothing for one thread."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else nullcontext()

    def _largest(self) -> float:
        """Estimate the largest squared singular value of what columns are multiplied with, by the power method."""
        columns = np.unique(np.linspace(0, self.n_reports - 1, min(8, self.n_reports)).astype(int))
        corners, most = self.corners, 0.0
        slopes = self.slopes.reshape(-1, 2, 3)
        for k in columns.tolist():
            table = self.table[:, k]
            rows = 1.0 / table[corners].mean(axis=1)
            x = np.cos(np.arange(self.n) * 2.4)
            for _ in range(_POWER_ROUNDS):
                at = (table * x)[corners]
                gradient = rows[:, None] * np.einsum("tdc,tc->td", slopes, at)
                values = (rows * self.rates)[:, None] * at
                back = np.einsum("tdc,td->tc", slopes, gradient) + self.rates[:, None] * values
                x = np.zeros(self.n)
                np.add.at(x, corners, rows[:, None] * back)
                x *= table
                size = float(np.linalg.norm(x))
                x /= size
            most = max(most, size)
        return most

    def advance(self, pool: ThreadPoolExecutor | None = None) -> None:
        """Take one step, and move the anchor if the steps have shrunk enough."""
        weight = np.float32((self.age + 1) / (self.age + 2))
        sigma = self.step_size * self.weight
        if pool is None:
            self._step(0, len(self.S), weight)
        else:
            share(pool, self.threads, len(self.S), lambda b: self._step(b, b + 1, weight))
        row_step = (sigma * self.row_weight).astype(np.float32)
        change = row_step * (1 - self.sums.sum(axis=0)).astype(np.float32)
        self.y = (1 - weight) * self.y0 + weight * (self.y + 2 * change)
        dx, dl = self.moved.sum(axis=0).tolist()
        dl += float((change.astype(np.float64) ** 2 / self.row_weight).sum())
        self.count += 1
        self.age += 1
        if self.count % _STRIDE == 0:
            self.total += self.L
            self.summands += 1
        self._judge(math.sqrt(self.weight * dx + dl / self.weight))

    def _step(self, first: int, last: int, weight: np.float32) -> None:
        from discreet.lrgeo.points.kernels.cones import cone_step

        cone_step(
            first,
            last,
            self.X,
            self.X0,
            self.L,
            self.L0,
            self.S,
            self.R,
            self.W,
            self.G,
            self.y,
            self.corners,
            self.slopes32,
            self.rates32,
            np.float32(self.step_size / self.weight),
            np.float32(self.step_size * self.weight),
            weight,
            self.sums,
            self.moved,
        )

    def _judge(self, size: float) -> None:
        if self.age == 1:
            self.first = size
        if size > 1e3 * self.first or not math.isfinite(size):
            # The power method found less than the largest singular value.
            self.step_size *= 0.7
            self.X[:], self.L[:], self.y = self.X0, self.L0, self.y0.copy()
            self._push()
            self.age, self.last = 0, math.inf
            return
        enough = size < _SUFFICIENT * self.first
        stalled = self.last < size < _NECESSARY * self.first
        old = self.count > 50 and self.age > _ARTIFICIAL * self.count
        self.last = size
        if self.count > 5 and (enough or stalled or old):
            self._move_anchor()

    def _push(self) -> None:
        from discreet.lrgeo.points.kernels.cones import push_cones

        push_cones(self.L, self.R, self.corners, self.slopes32, self.rates32, self.G)

    def _move_anchor(self) -> None:
        np.maximum(self.X, 0.0, out=self.X)
        self.X[self.X < 1e-18] = 0.0
        self.L[np.abs(self.L) < 1e-12] = 0.0
        dx = _squared(self.X, self.X0)
        dl = _squared(self.L, self.L0)
        dl += float(((self.y - self.y0).astype(np.float64) ** 2 / self.row_weight).sum())
        if dx > 0 and dl > 0:
            low, high = _WEIGHTS
            self.weight = min(max(math.sqrt(math.sqrt(dl / dx) * self.weight), low), high)
        self.X0[:], self.L0[:], self.y0 = self.X, self.L, self.y.copy()
        self._push()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def matrix(self) -> NDArray[np.float64]:
        """Give z, unscaled: rows sum to about 1."""
        table: NDArray[np.float64] = unblocked(self.X, self.n_reports) * self.table
        return np.maximum(table, 0.0)

    def mean(self) -> NDArray[np.float32]:
        """Give the mean of the multipliers; what went into it counts half from then on."""
        mean: NDArray[np.float32] = self.total / np.float32(max(self.summands, 1.0))
        self.total *= np.float32(0.5)
        self.summands *= 0.5
        return mean

    def bound(self, L: NDArray[np.float32], epsilon: float) -> float:
        """Evaluate the lower bound of multipliers for an epsilon, rounded down; any are allowed, and made valid first.

        Parameters
        ----------
        L
            The multipliers.
        epsilon
            Nats per decimeter, at least that of the guarantee.
        """
        from discreet.lrgeo.points.kernels.cones import cone_flows

        flows, size = np.zeros(self.cost.shape), np.zeros(self.cost.shape)
        rates = epsilon * (1 + 1e-12) * self.legs
        cone_flows(L, self.R, self.corners, self.slopes, rates, flows, size)
        reduced: NDArray[np.float64] = self.cost + self.unit * flows
        # Sums of at most some hundred terms: what they err by is below 2^-44 of their magnitudes.
        reduced -= 2.0**-44 * (self.cost + self.unit * size)
        total = float(reduced.min(axis=1).sum())
        return total - 1e-12 * self.n * self.unit


def _squared(new: NDArray[np.float32], old: NDArray[np.float32]) -> float:
    return float(sum(((a - b) ** 2).sum(dtype=np.float64) for a, b in zip(new, old, strict=True)))
