"""The state of the primal-dual method: scaled variables, multipliers and their anchors; steps and restarts."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency

__all__ = ["LANES", "Iterate", "Scaling"]

LANES = 32
"""Reports side by side: a few vector registers of floats."""

_STEEPNESS, _STEEPEST = 0.5, 0.4
"""Most that the scaling takes away of the decay of a column: this part of it, and so many nats from one secret to the
next. At half a nat a cell the gap closed half as fast with parts of 0.25 or 0.75; at four nats hardly at all with 0.5.
"""

_CORRELATED = 0.3
"""Correlation with the distance above which losses are scaled by it."""

_DEEPEST = 40.0
"""Nats that the scaling takes away at most, so that no product of three floats leaves the range of float32."""

_ROW_WEIGHT = 0.25
"""Squared weight of the rows' sums beside the ratios: their singular values are the largest, and not what is slow."""

_PRIMAL_WEIGHTS = (0.2, 12.0)
"""Between which the primal weight is kept: left alone it overshoots a hundredfold, and the multipliers stall."""

_MANY, _MOST_OF_MANY = 8, 8.0
"""Edges a secret beyond which the primal weight is kept lower: 400 secrets, 19 edges each, after 800 steps bounds of
2.915, 2.916, 2.912, 2.904 with at most 4, 7, 12 and 24; the loss of the iterate was 2.917, 2.929, 2.937, 2.944."""

_STRIDE = 8
"""Of so many steps one counts for the mean of the multipliers."""

_CHUNKS = 8
"""Of so many pieces threads take the next; a fixed number, so that sums are the same whatever the threads are."""

_POWER_ROUNDS, _TRIED = 40, 32
"""Rounds of the power method for the largest singular value, and about how many blocks are looked at."""

_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.8, 0.36
"""When the anchor moves: the usual factors of restarted first-order methods for linear programs."""


def blocked(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """Lay a table of (secret, report) out in blocks of 32 reports, the last filled up with zeros."""
    n, k = table.shape
    blocks = -(-k // LANES)
    padded = np.zeros((n, blocks * LANES), dtype=np.float32)
    padded[:, :k] = table
    return np.ascontiguousarray(padded.reshape(n, blocks, LANES).transpose(1, 0, 2))


def unblocked(blocks: NDArray[np.float32], n_reports: int) -> NDArray[np.float64]:
    """Undo the layout."""
    count, n, lanes = blocks.shape
    table = blocks.transpose(1, 0, 2).reshape(n, count * lanes)[:, :n_reports]
    return table.astype(np.float64)


@final
class Scaling:
    r"""What variables and rows are measured in, so that steps of one size suit all of them.

    A variable is :math:`z_{ik} = e^{-\beta D_{ik}} q_i^{-1/2} x_{ik}`, D nats from the report's home, q what a secret
    and those near to it contribute to the loss: where secrets are likely, prices are high and steps of the variables
    have to be short. The price of a row is measured in :math:`q_i^{1/2}`. Losses that have nothing to do with the
    distance get :math:`\beta = 0`.

    Parameters
    ----------
    cost
        ``(n, n_reports)``.
    nats
        ``(n, n)``: D between secrets.
    home
        ``(n_reports,)``: a secret for each report.
    step
        Nats from a secret to the next, typically.
    """

    def __init__(
        self,
        cost: NDArray[np.float64],
        nats: NDArray[np.float64],
        home: NDArray[np.int64],
        step: float,
    ) -> None:
        away = nats[:, home]
        start = np.exp(-0.7 * (away - away.min(axis=1, keepdims=True)))
        start /= start.sum(axis=1, keepdims=True)
        largest = float(cost.max()) or 1.0
        contributed = (cost / largest * start).sum(axis=1)
        near = np.exp(-2.0 * nats)
        smooth = near @ contributed / near.sum(axis=1)
        mean = float(smooth.mean()) or 1.0
        smooth = np.maximum(smooth / mean, 1e-3)
        self.start = start
        self.unit = 0.5 * mean * largest
        """Loss of a row that is thought typical: all costs are divided by it."""
        self.local = smooth / math.exp(float(np.log(smooth).mean()))
        self.steepness = 0.0
        if _follows(cost / largest, away):
            self.steepness = min(_STEEPNESS, _STEEPEST / max(step, 1e-9))
        taken = np.minimum(self.steepness * away, _DEEPEST)
        self.table: NDArray[np.float64] = np.exp(-taken) / np.sqrt(self.local)[:, None]


def _follows(cost: NDArray[np.float64], away: NDArray[np.float64]) -> bool:
    """Tell whether losses grow with the distance from home: correlate them, each secret's in its own unit."""
    mean = cost.mean(axis=1, keepdims=True)
    relative = np.divide(cost, mean, out=np.ones_like(cost), where=mean > 0) - 1.0
    far = np.where(mean > 0, away - away.mean(axis=1, keepdims=True), 0.0)
    size = math.sqrt(float((relative**2).sum()) * float((far**2).sum()))
    return float((relative * far).sum()) > _CORRELATED * size


@final
class Iterate:
    """Where the method stands. Reads like the formulas: capital letters are blocked arrays, ``0`` marks the anchor.

    Parameters
    ----------
    cost
        ``(n, n_reports)``.
    scaling
        The scaling.
    edges
        The constraints.
    nats
        ``(m,)``: their lengths.
    threads
        Among how many threads blocks are divided, which changes nothing but the time.
    """

    def __init__(
        self,
        cost: NDArray[np.float64],
        scaling: Scaling,
        edges: Adjacency,
        nats: NDArray[np.float64],
        threads: int,
    ) -> None:
        from discreet.metricdp.kernels.primal_dual import largest_value

        self.n, self.n_reports = cost.shape
        self.scaling, self.edges = scaling, edges
        table = scaling.table
        self.S, self.R = blocked(table), blocked(1.0 / table)
        self.W = blocked(cost / scaling.unit * table)
        self.X = blocked(scaling.start / table)
        self.L = np.zeros((len(self.S), 2 * len(edges), LANES), dtype=np.float32)
        self.y = np.zeros(self.n, dtype=np.float32)
        self.total, self.summands = np.zeros_like(self.L), 0.0
        self.X0, self.L0, self.y0 = self.X.copy(), self.L.copy(), self.y.copy()
        self.ends, self.shrink = edges.pairs, np.exp(-nats)
        self._shrink = self.shrink.astype(np.float32)
        some = slice(None, None, -(-len(self.S) // _TRIED))
        ratios = largest_value(self.S[some], self.R[some], self.ends, self._shrink, _POWER_ROUNDS)
        self.row_weight = _ROW_WEIGHT * scaling.local
        rows = float((self.row_weight * (table**2).sum(axis=1)).max())
        self.step_size = 0.97 / math.sqrt(1.03 * ratios + rows)
        self.weight = 4.0
        low, high = _PRIMAL_WEIGHTS
        self.weights = (low, _MOST_OF_MANY if len(edges) > _MANY * self.n else high)
        self.count = self.age = self.restarts = 0
        self.first = self.last = math.inf
        self.threads = threads
        self.cuts = np.linspace(0, len(self.S), min(_CHUNKS, len(self.S)) + 1).astype(int).tolist()
        self.sums = np.zeros((len(self.cuts) - 1, self.n))
        self.moved = np.zeros((len(self.cuts) - 1, 2))

    def pool(self) -> ThreadPoolExecutor | nullcontext[None]:
        """Open what :meth:`advance` divides its work with, to be closed by ``with``; nothing for one thread."""
        from concurrent.futures import ThreadPoolExecutor

        workers = min(self.threads, len(self.sums))
        return ThreadPoolExecutor(workers) if workers > 1 else nullcontext()

    def advance(self, pool: ThreadPoolExecutor | None) -> None:
        """Take one step, and move the anchor if the steps have shrunk enough."""
        weight = np.float32((self.age + 1) / (self.age + 2))
        sigma = self.step_size * self.weight
        chunks = range(len(self.sums))
        list((map if pool is None else pool.map)(self._step, chunks, [weight] * len(chunks)))
        row_step = (sigma * self.row_weight).astype(np.float32)
        change = row_step * (1 - self.sums.sum(axis=0)).astype(np.float32)
        self.y = (1 - weight) * self.y0 + weight * (self.y + 2 * change)
        dx, dl = self.moved.sum(axis=0).tolist()
        dl += float((change.astype(np.float64) ** 2 / self.row_weight).sum())
        self.count += 1
        self.age += 1
        if self.count % _STRIDE == 0:
            list((map if pool is None else pool.map)(self._add_up, chunks))
            self.summands += 1
        self._judge(math.sqrt(self.weight * dx + dl / self.weight))

    def _step(self, c: int, weight: np.float32) -> None:
        from discreet.metricdp.kernels.primal_dual import step

        step(
            self.cuts[c],
            self.cuts[c + 1],
            self.X,
            self.X0,
            self.L,
            self.L0,
            self.S,
            self.R,
            self.W,
            self.y,
            self.ends,
            self._shrink,
            np.float32(self.step_size / self.weight),
            np.float32(self.step_size * self.weight),
            weight,
            self.sums[c],
            self.moved[c],
        )

    def _add_up(self, c: int) -> None:
        from discreet.metricdp.kernels.primal_dual import add_up

        inside = slice(self.cuts[c], self.cuts[c + 1])
        add_up(self.L[inside], self.total[inside])

    def mean(self) -> NDArray[np.float32]:
        """Give the mean of the multipliers; what went into it counts half from then on."""
        mean: NDArray[np.float32] = self.total / np.float32(max(self.summands, 1.0))
        self.total *= np.float32(0.5)
        self.summands *= 0.5
        return mean

    def _judge(self, size: float) -> None:
        if self.age == 1:
            self.first = size
        if size > 1e3 * self.first or not math.isfinite(size):
            # The power method found less than the largest singular value.
            self.step_size *= 0.7
            self._restore()
            return
        enough = size < _SUFFICIENT * self.first
        stalled = self.last < size < _NECESSARY * self.first
        old = self.count > 50 and self.age > _ARTIFICIAL * self.count
        self.last = size
        if self.count > 5 and (enough or stalled or old):
            self._move_anchor()

    def _restore(self) -> None:
        np.copyto(self.X, self.X0)
        np.copyto(self.L, self.L0)
        self.y = self.y0.copy()
        self.age, self.last = 0, math.inf

    def _move_anchor(self) -> None:
        from discreet.metricdp.kernels.primal_dual import anchor

        dx = math.sqrt(anchor(self.X, self.X0))
        rows = float(((self.y - self.y0).astype(np.float64) ** 2 / self.row_weight).sum())
        dl = math.sqrt(anchor(self.L, self.L0) + rows)
        if dx > 0 and dl > 0:
            low, high = self.weights
            self.weight = min(max(math.sqrt(dl / dx * self.weight), low), high)
        self.y0 = self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def matrix(self) -> NDArray[np.float64]:
        """Give z, unscaled: rows sum to about 1."""
        table: NDArray[np.float64] = unblocked(self.X, self.n_reports) * self.scaling.table
        return np.maximum(table, 0.0)

    def flows(
        self, L: NDArray[np.float32], pool: ThreadPoolExecutor | None = None
    ) -> NDArray[np.float64]:
        """Give what multipliers add to each bracket of the bound, costs in their own unit."""
        from discreet.metricdp.kernels.primal_dual import flows

        table = np.zeros((self.n, self.n_reports))

        def fill(c: int) -> None:
            flows(self.cuts[c], self.cuts[c + 1], L, self.S, self.ends, self.shrink, table)

        list((map if pool is None else pool.map)(fill, range(len(self.sums))))
        table *= self.scaling.unit
        return table
