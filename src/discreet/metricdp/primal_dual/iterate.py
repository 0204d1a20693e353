"""The state of the primal-dual method: scaled variables, multipliers and their anchors; steps and restarts."""

from __future__ import annotations

import copy
import math
from contextlib import nullcontext
from itertools import count
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.primal_dual.units import in_common, new_units, rewrite, size

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency

__all__ = [
    "LANES",
    "LEAST_ENTRY",
    "LEAST_PRICE",
    "ROW_WEIGHT",
    "Iterate",
    "Scaling",
    "aligned",
    "balanced",
    "blocked",
    "follows",
    "lanes_changed",
    "restart_due",
    "share",
    "unblocked",
]

LANES = 16
"""Reports side by side: one vector register of floats."""

_STEEPNESS, _STEEPEST = 0.5, 0.4
"""Most that the scaling takes away of the decay of a column: this part of it, and so many nats from one secret to the
next. At half a nat a cell the gap closed half as fast with parts of 0.25 or 0.75; at four nats hardly at all with 0.5.
"""

_CORRELATED = 0.3
"""Correlation with the distance above which losses are scaled by it."""

_DEEPEST = 15.0
"""Nats that the scaling takes away at most: what multipliers far from home are rounded by, the scaling magnifies again.
1,000 points on lines, a quarter nat to the nearest, after 800 steps: bounds of 1.14 with 40, 1.276 with 25, 1.278 with
15, 1.281 with 8, and with 15 in place of 4 for the primal weight none, 1.281, 1.291, 1.290; the loss of the iterate was
1.303 and 1.331. Seven families of 225 secrets took as many steps with 10, 15, 20 and 40; November 2026."""

ROW_WEIGHT = 0.15
"""Squared weight of the rows' sums beside the ratios, in units of the largest of either: random points, 225 secrets of
3 to 25 neighbors, needed 15 to 25 % fewer steps to the same bound than with one weight for all, November 2026."""

_LEAST_WEIGHT, _MOST_WEIGHT = 0.2, 12.0
"""Between which the primal weight is kept until it is balanced, the second for 1,000 secrets, others by the root of
their number: left alone it overshoots a hundredfold at first, and multipliers stall."""

_MANY, _MOST_OF_MANY = 8, 8.0
"""Edges a secret beyond which the primal weight is kept lower at first: 400 secrets, 19 edges each, after 800 steps
bounds of 2.915, 2.916, 2.912, 2.904 with at most 4, 7, 12 and 24; the loss of the iterate was 2.917, 2.929, 2.937,
2.944."""

_BALANCED = 0.02, 100.0
"""Between which it is kept from then on."""

_STEEP = 0.5
"""Power of the ratio of what both sides lack by which the weight changes, and its least factor; the most is one over
it."""

_STRIDE = 8
"""Of so many steps one counts for the mean of the multipliers."""

_CHUNKS = 16
"""Of so many pieces threads take the next; a fixed number, so that sums are the same whatever the threads are."""

_ALONE = 1_500_000
"""Multipliers below which one thread takes all pieces: 600,000 take 0.3 ms, and to wake another thread 0.1 ms."""

_POWER_ROUNDS, _TRIED = 20, 32
"""Rounds of the power method for the largest singular value, and about how many blocks are looked at."""

_SUFFICIENT, _NECESSARY, _ARTIFICIAL = 0.2, 0.8, 0.36
"""When the anchor moves: the usual factors of restarted first-order methods for linear programs."""

LEAST_PRICE, LEAST_ENTRY = 1e-12, 1e-18
"""Multipliers, in units of what a row costs, and variables that become zero where the anchor moves. With 1e-32 for both
a step of 225 random points took 0.5 ms at first, and 1.4 after 1,000 steps, when 8 % of the multipliers had squares
below the normal floats; November 2026."""

_LINE = 64
"""Bytes of a line of the cache, at which rows of 16 floats start."""


def aligned(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Make zeros that begin at a line of the cache, so that no row of 16 floats lies in two."""
    size = math.prod(shape)
    room = np.zeros(size + _LINE // 4, dtype=np.float32)
    skipped = -(room.ctypes.data // 4) % (_LINE // 4)
    return room[skipped : skipped + size].reshape(shape)


def blocked(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """Lay a table of (secret, report) out in blocks of 16 reports, the last filled up with zeros."""
    n, k = table.shape
    blocks = -(-k // LANES)
    padded = np.zeros((n, blocks * LANES), dtype=np.float32)
    padded[:, :k] = table
    laid = aligned((blocks, n, LANES))
    laid[:] = padded.reshape(n, blocks, LANES).transpose(1, 0, 2)
    return laid


def unblocked(blocks: NDArray[np.float32], n_reports: int) -> NDArray[np.float64]:
    """Undo the layout."""
    number, n, lanes = blocks.shape
    table = blocks.transpose(1, 0, 2).reshape(n, number * lanes)[:, :n_reports]
    return table.astype(np.float64)


def share(
    pool: ThreadPoolExecutor | None, threads: int, pieces: int, work: Callable[[int], object]
) -> None:
    """Do pieces of work, each once, this thread among those that take the next."""
    following = count()

    def take() -> None:
        while (piece := next(following)) < pieces:
            work(piece)

    others = [] if pool is None else [pool.submit(take) for _ in range(min(threads, pieces) - 1)]
    take()
    for other in others:
        other.result()


def lanes_changed(change: NDArray[np.float64]) -> NDArray[np.float32]:
    """Lay out by what units change; lanes that only fill up the last block have none."""
    laid = blocked(change)
    laid[laid == 0] = 1.0
    return laid


def restart_due(count: int, age: int, size: float, first: float, last: float) -> bool:
    """Tell whether the anchor should move: after so many steps in all and since, of these lengths, now, first and last.

    Examples
    --------
    >>> restart_due(100, 9, 0.1, 1.0, 0.2), restart_due(100, 9, 0.5, 1.0, 0.6)
    (True, False)
    """
    enough = size < _SUFFICIENT * first
    stalled = last < size < _NECESSARY * first
    old = count > 50 and age > _ARTIFICIAL * count
    return count > 5 and (enough or stalled or old)


def balanced(weight: float, primal: float, dual: float) -> float:
    """Choose the next primal weight by what the channel lacks, and what the bound lacks, in the same unit.

    Examples
    --------
    >>> balanced(4.0, 0.01, 0.01), balanced(4.0, 1.0, 0.0), balanced(4.0, 0.0, 1.0)
    (4.0, 8.0, 2.0)
    """
    ratio = max(primal, 0.0) / dual if dual > 0 else math.inf
    low, high = _BALANCED
    factor: float = min(max(ratio**_STEEP, _STEEP), 1 / _STEEP)
    return float(min(max(weight * factor, low), high))


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
        if follows(cost / largest, away):
            self.steepness = min(_STEEPNESS, _STEEPEST / max(step, 1e-9))
        taken = np.minimum(self.steepness * away, _DEEPEST)
        self.table: NDArray[np.float64] = np.exp(-taken) / np.sqrt(self.local)[:, None]


def follows(cost: NDArray[np.float64], away: NDArray[np.float64]) -> bool:
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
        self.n, self.n_reports = cost.shape
        self.scaling, self.edges = scaling, edges
        self.cost = cost / scaling.unit
        degree = np.bincount(edges.pairs.ravel(), minlength=self.n)
        # Variables of secrets with many constraints take shorter steps.
        self.slower = np.sqrt(np.maximum(degree, 1) / degree.mean())[:, None]
        self.ends, self.shrink = edges.pairs, np.exp(-nats)
        self._shrink = self.shrink.astype(np.float32)
        self._measure(scaling.table)
        self.X = blocked(scaling.start / self.table)
        blocks = len(self.S)
        self.L = aligned((blocks, 2 * len(edges), LANES))
        self.y = np.zeros(self.n, dtype=np.float32)
        # What rows have to sum to, and whether the multipliers of steps go into a mean.
        self.wanted, self.collects = 1.0, True
        self.total, self.summands = aligned(self.L.shape), 0.0
        self.X0, self.L0, self.y0 = aligned(self.X.shape), aligned(self.L.shape), self.y.copy()
        self.X0[:] = self.X
        self.G = aligned(self.X.shape)
        self.weight = 4.0
        most = _MOST_OF_MANY if len(edges) > _MANY * self.n else _MOST_WEIGHT
        self.weights = _LEAST_WEIGHT, most * math.sqrt(1000 / self.n)
        self.target: float | None = None
        self.count = self.age = self.restarts = 0
        self.first = self.last = math.inf
        self.cuts = np.linspace(0, blocks, min(_CHUNKS, blocks) + 1).astype(np.int64)
        chunks = len(self.cuts) - 1
        self.threads = min(threads, chunks) if self.L.size > _ALONE else 1
        self.sums, self.moved = np.zeros((chunks, self.n)), np.zeros((chunks, 2))
        self.Z, self.rows = aligned((chunks, self.n, LANES)), aligned((chunks, self.n, LANES))

    def _measure(self, units: NDArray[np.float64]) -> None:
        """Lay the units of variables and rows out, and find how long steps may be with them."""
        from discreet.metricdp.kernels.primal_dual import largest_value

        self.units, self.table = units, units / self.slower
        self.S, self.R = blocked(self.table), blocked(1.0 / units)
        self.W = blocked(self.cost * self.table)
        some = slice(None, None, -(-len(self.S) // _TRIED))
        ratios = largest_value(self.S[some], self.R[some], self.ends, self._shrink, _POWER_ROUNDS)
        self.row_weight = ROW_WEIGHT * ratios / (self.table**2).sum(axis=1)
        self.step_size = 0.97 / math.sqrt((1.03 + ROW_WEIGHT) * ratios)

    def remeasure(self, matrix: NDArray[np.float64], kept: NDArray[np.float32]) -> None:
        r"""Measure variables and rows in new units, by a channel that steps have led to; the point becomes the anchor.

        Half of the logarithm of a unit stays; the other half is that of :math:`(z_{ik} / q_i \max_j z_{jk})^{1/2}`, so
        that what is going to be small takes short steps. On a grid, with losses that follow the distance, the units of
        the start expect just that. Of other places and losses nothing is known before some steps are taken.

        Parameters
        ----------
        matrix
            ``(n, n_reports)`` positive.
        kept
            Multipliers that are kept besides; rewritten in place.
        """
        units = new_units(self.units, matrix, self.scaling.local)
        before = size(self.L), size(self.X)
        change = lanes_changed(units / self.units)
        tables = self.L, self.total, kept
        for table in tables:
            rewrite(table, change, self.ends)
        self.X /= change
        common = in_common(before, (size(self.L), size(self.X)))
        for table in tables:
            np.multiply(table, np.float32(common), out=table)
        self.X /= np.float32(common)
        self._measure(common * units)
        self.set_anchor(None)
        self.y0 = self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def pool(self) -> ThreadPoolExecutor | nullcontext[None]:
        """Open what work is divided with, to be closed by ``with``; nothing for one thread."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else nullcontext()

    def advance(self, pool: ThreadPoolExecutor | None) -> None:
        """Take one step, and move the anchor if the steps have shrunk enough."""
        weight = np.float32((self.age + 1) / (self.age + 2))
        sigma = self.step_size * self.weight
        chunks = len(self.sums)
        if pool is None:
            self._step(0, chunks, weight)
        else:
            self._each(pool, lambda c: self._step(c, c + 1, weight))
        row_step = (sigma * self.row_weight).astype(np.float32)
        change = row_step * (self.wanted - self.sums.sum(axis=0)).astype(np.float32)
        self.y = (1 - weight) * self.y0 + weight * (self.y + 2 * change)
        dx, dl = self.moved.sum(axis=0).tolist()
        dl += float((change.astype(np.float64) ** 2 / self.row_weight).sum())
        self.count += 1
        self.age += 1
        if self.collects and self.count % _STRIDE == 0:
            from discreet.metricdp.kernels.primal_dual import add_up

            self._each(pool, lambda c: add_up(self._of(self.L, c), self._of(self.total, c)))
            self.summands += 1
        self._judge(math.sqrt(self.weight * dx + dl / self.weight), pool)

    def _each(self, pool: ThreadPoolExecutor | None, work: Callable[[int], object]) -> None:
        share(pool, self.threads, len(self.sums), work)

    def _of(self, table: NDArray[np.float32], c: int) -> NDArray[np.float32]:
        return table[self.cuts[c] : self.cuts[c + 1]]

    def _step(self, first: int, last: int, weight: np.float32) -> None:
        from discreet.metricdp.kernels.primal_dual import step

        step(
            self.cuts,
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
            self.Z,
            self.rows,
            self.y,
            self.ends,
            self._shrink,
            np.float32(self.step_size / self.weight),
            np.float32(self.step_size * self.weight),
            weight,
            self.sums,
            self.moved,
        )

    def balance(self, primal: float, dual: float) -> None:
        """Choose the weight from the next anchor on by what both sides lack, in the same unit.

        A high weight mends the channel's ratios soon and the multipliers' bound late. How high it may be differs with
        size, epsilon and gap; what is lacking tells it while steps are taken.

        Parameters
        ----------
        primal
            What the iterate's loss grows by when it is raised to where it keeps its ratios.
        dual
            What its bound is below the sum of the prices of its rows.
        """
        if self.target is not None and self.weight != self.target:
            # The last choice has not been tried yet.
            return
        self.target = balanced(self.weight, primal, dual)
        self.weights = self.target, self.target

    def polished(
        self,
        steps: int,
        pool: ThreadPoolExecutor | None,
        late: Callable[[], bool] = lambda: False,
    ) -> NDArray[np.float32]:
        """Move the multipliers nearly as little as possible to where hardly a bracket is below the price of its row.

        These are steps for the program whose rows sum to 0, from the multipliers and prices of rows as they are and
        from no channel: the bound has no part in them, only that its constraints hold. The state stays as it is.

        Complexity
        ----------
        So many steps, and two more tables of multipliers while they last.
        """
        twin = copy.copy(self)
        twin.wanted, twin.collects = 0.0, False
        twin.X, twin.X0, twin.G = (aligned(self.X.shape) for _ in range(3))
        twin.L, twin.L0 = aligned(self.L.shape), aligned(self.L.shape)
        np.copyto(twin.L, self.L)
        twin.set_anchor(pool)
        twin.y, twin.y0 = self.y.copy(), self.y.copy()
        twin.count = twin.age = twin.restarts = 0
        twin.first = twin.last = math.inf
        for _ in range(steps):
            if late():
                break
            twin.advance(pool)
        return twin.L

    def mean(self) -> NDArray[np.float32]:
        """Give the mean of the multipliers; what went into it counts half from then on."""
        mean: NDArray[np.float32] = self.total / np.float32(max(self.summands, 1.0))
        self.total *= np.float32(0.5)
        self.summands *= 0.5
        return mean

    def _judge(self, size: float, pool: ThreadPoolExecutor | None) -> None:
        if self.age == 1:
            self.first = size
        if size > 1e3 * self.first or not math.isfinite(size):
            # The power method found less than the largest singular value.
            self.step_size *= 0.7
            self._restore()
            return
        due = restart_due(self.count, self.age, size, self.first, self.last)
        self.last = size
        if due:
            self._move_anchor(pool)

    def _restore(self) -> None:
        np.copyto(self.X, self.X0)
        np.copyto(self.L, self.L0)
        self.y = self.y0.copy()
        self.set_anchor(None)
        self.age, self.last = 0, math.inf

    def set_anchor(self, pool: ThreadPoolExecutor | None) -> tuple[float, float]:
        """Make the point the anchor; return the squared distances from the old one."""
        from discreet.metricdp.kernels.primal_dual import anchor, anchor_prices

        moved = np.zeros((len(self.sums), 2))

        def move(c: int) -> None:
            X, X0, L, L0, R, G = (
                self._of(t, c) for t in (self.X, self.X0, self.L, self.L0, self.R, self.G)
            )
            prices = anchor_prices(L, L0, R, self.ends, self._shrink, G, LEAST_PRICE)
            moved[c] = anchor(X, X0, LEAST_ENTRY), prices

        self._each(pool, move)
        dx, dl = moved.sum(axis=0).tolist()
        return dx, dl

    def _move_anchor(self, pool: ThreadPoolExecutor | None) -> None:
        dx, dl = self.set_anchor(pool)
        dl += float(((self.y - self.y0).astype(np.float64) ** 2 / self.row_weight).sum())
        if dx > 0 and dl > 0:
            low, high = self.weights
            self.weight = min(max(math.sqrt(math.sqrt(dl / dx) * self.weight), low), high)
        self.y0 = self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def matrix(self) -> NDArray[np.float64]:
        """Give z, unscaled: rows sum to about 1."""
        table: NDArray[np.float64] = unblocked(self.X, self.n_reports) * self.table
        return np.maximum(table, 0.0)

    def level(self) -> float:
        """Sum of the prices of the rows: what the loss is thought to be."""
        return float(self.y.sum(dtype=np.float64)) * self.scaling.unit

    def flows(
        self, L: NDArray[np.float32], pool: ThreadPoolExecutor | None = None
    ) -> NDArray[np.float64]:
        """Give what multipliers add to each bracket of the bound, costs in their own unit."""
        from discreet.metricdp.kernels.primal_dual import flows

        table = np.zeros((self.n, self.n_reports))

        def fill(c: int) -> None:
            flows(self.cuts[c], self.cuts[c + 1], L, self.R, self.ends, self.shrink, table)

        self._each(pool, fill)
        table *= self.scaling.unit
        return table

    def prices(
        self,
        L: NDArray[np.float32],
        least: float,
        secrets: NDArray[np.int64],
        reports: NDArray[np.int64],
        pool: ThreadPoolExecutor | None = None,
    ) -> Multipliers:
        """List multipliers above ``least``, costs in their own unit; secrets and reports get the names given."""
        from discreet.metricdp.kernels.primal_dual import list_prices

        chunks = len(self.sums)
        starts, counts = np.zeros(chunks + 1, dtype=np.int64), np.zeros(chunks, dtype=np.int64)
        report, source, target = (np.empty(0, dtype=np.int32) for _ in range(3))
        price = np.empty(0)

        def fill(c: int) -> None:
            room = slice(starts[c], starts[c + 1])
            counts[c] = list_prices(
                self.cuts[c],
                self.cuts[c + 1],
                L,
                self.R,
                self.ends,
                self.shrink,
                least,
                self.scaling.unit,
                secrets,
                reports,
                report[room],
                source[room],
                target[room],
                price[room],
            )

        # Without room they are only counted.
        self._each(pool, fill)
        starts[1:] = np.cumsum(counts)
        report, source, target = (np.empty(starts[-1], dtype=np.int32) for _ in range(3))
        price = np.empty(starts[-1])
        self._each(pool, fill)
        return Multipliers(report, source, target, price)
