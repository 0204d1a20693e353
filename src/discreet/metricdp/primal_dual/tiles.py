"""Primal-dual steps for very many secrets: each group of reports sees the secrets near to it, and nothing else.

A report that is far from a secret is too costly for it, so that the constraints there have no price. Leaving them out
relaxes the program, and the multipliers that are left grow with the number of secrets, not with its square: a *tile*
is a group of reports, the secrets within some nats of it, and the constraints between these. Tiles share the prices of
the rows alone. A secret may also use a report that is outside of all its tiles, unconstrained and at its cost, which
keeps the price of a row below the least of these.
"""

from __future__ import annotations

import copy
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.primal_dual.iterate import (
    LANES,
    LEAST_ENTRY,
    LEAST_PRICE,
    ROW_WEIGHT,
    aligned,
    balanced,
    blocked,
    lanes_changed,
    restart_due,
    share,
    unblocked,
)
from discreet.metricdp.primal_dual.mend import raised
from discreet.metricdp.primal_dual.units import in_common, new_units, rewrite, size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency

__all__ = ["Tile", "TiledIterate", "bytes_of"]

_POWER_ROUNDS = 20
"""Rounds of the power method for the largest singular value, on the first sixteen reports of each tile."""

_FIRST_WEIGHT_LIMITS = 0.2, 100.0
"""Limits on the primal weight until it is balanced."""

_LEAST_VIOLATION = 0.02
"""Relative violation from which on a constraint may be added to a tile."""

_LEAST_REQUIRED_PROBABILITY = 1e-7
"""Probability that a constraint requires before it is added."""

_TINY_COST = 1e-300
"""A cost above 0: constraints whose violation costs nothing are not added."""

_BOUND_FACTORS = (1.0, 0.9995, 0.998, 0.9925, 0.98, 0.95)
"""Factors of the multipliers at which the bound is evaluated: most brackets gain by a factor below 1."""


def bytes_of(secrets: int, edges: int, reports: int) -> int:
    """Count the bytes of a tile: three tables of multipliers, six of variables."""
    return 4 * LANES * -(-reports // LANES) * (6 * edges + 7 * secrets)


@final
@dataclass(eq=False)
class Tile:
    """A group of reports, the secrets near to it, and the constraints between these.

    Parameters
    ----------
    secrets
        ``(n,)``: the secrets, ascending.
    reports
        ``(k,)``: the reports.
    edges
        Constraints between the secrets, numbered as in ``secrets``.
    shrink
        ``(m,)``: ``e^-d`` of the constraints.
    cost
        ``(n, k)``, in their own unit.
    units
        ``(n, k)``: what variables of the steps are measured in, the secrets' degrees not included.
    local
        ``(n,)``: what each secret and its neighbors contribute to the loss, in units of the mean.
    start
        ``(n, k)``: where the steps start.
    """

    secrets: NDArray[np.int64]
    reports: NDArray[np.int64]
    edges: Adjacency
    shrink: NDArray[np.float64]
    cost: NDArray[np.float64]
    units: NDArray[np.float64]
    local: NDArray[np.float64]
    start: NDArray[np.float64]
    squares: NDArray[np.float64] = field(init=False)

    def prepare(self, unit: float, degree: NDArray[np.float64] | None) -> None:
        """Arrange all arrays in blocks, costs in the unit that all tiles share; without degrees those of the tile."""
        self.unit = unit
        self.slower = self._slower() if degree is None else np.sqrt(degree)[:, None]
        self._measure(self.units)
        self.X = blocked(self.start / (self.units / self.slower))
        blocks, n = len(self.S), len(self.secrets)
        self.X0, self.G = aligned(self.X.shape), aligned(self.X.shape)
        self.X0[:] = self.X
        self.L, self.L0, self.kept = (
            aligned((blocks, 2 * len(self.edges), LANES)) for _ in range(3)
        )
        self.cuts = np.array([0, blocks], dtype=np.int64)
        self.Z, self.rows = aligned((1, n, LANES)), aligned((1, n, LANES))
        self.sums, self.moved = np.zeros((1, n)), np.zeros((1, 2))
        self.small = self.shrink.astype(np.float32)
        # Steps need none of these.
        del self.units, self.start

    def _slower(self) -> NDArray[np.float64]:
        """Return the square roots of the secrets' degrees, in units of their mean, as a column."""
        ends = self.edges.pairs.ravel()
        degree = np.maximum(np.bincount(ends, minlength=len(self.secrets)), 1.0)
        return np.asarray(np.sqrt(degree / degree.mean())[:, None], dtype=np.float64)

    def violated(
        self, decay: NDArray[np.float32], cover: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Raise the columns to their most violated constraints, once, and choose the constraints that cost most.

        Parameters
        ----------
        decay
            ``(n, n)``: ``e^-d`` of the constraints between the secrets of the tile, 0 where there is none.
        cover
            Part of what raising adds to the loss that the chosen constraints make up.

        Returns
        -------
        raised
            ``(n, k)``.
        pairs
            ``(a, 2)`` the chosen constraints, as pairs of secrets of the tile; some may come twice.
        """
        from discreet.metricdp.kernels.primal_dual import most_violated

        Z = np.maximum(self.X * self.S, np.float32(0.0))
        asked, source = np.zeros_like(Z), np.zeros(Z.shape, dtype=np.int32)
        for z, most, which in zip(Z, asked, source, strict=True):
            most_violated(z, decay, most, which)
        k = len(self.reports)
        before, above = unblocked(Z, k), unblocked(asked, k)
        added = self.cost * np.maximum(above - before * (1 + _LEAST_VIOLATION), 0.0)
        added[above < _LEAST_REQUIRED_PROBABILITY] = 0.0
        order = np.sort(added, axis=None)[::-1]
        total = np.cumsum(order)
        raised = np.maximum(before, above)
        if not total[-1] > 0:
            return raised, np.zeros((0, 2), dtype=np.int64)
        least = order[min(int(np.searchsorted(total, cover * total[-1])), len(order) - 1)]
        i, v = np.nonzero(added >= max(least, _TINY_COST))
        j = source.transpose(1, 0, 2).reshape(len(Z[0]), -1)[i, v]
        return raised, np.stack([i, j], axis=1)

    def add(self, edges: Adjacency, nats: NDArray[np.float64]) -> None:
        """Take a larger set of constraints, new ones without a price; :meth:`set_anchor` has to follow."""
        n = len(self.secrets)
        keys = edges.pairs.astype(np.int64) @ np.array([n, 1])
        place = np.searchsorted(keys, self.edges.pairs.astype(np.int64) @ np.array([n, 1]))
        rows = np.stack([2 * place, 2 * place + 1], axis=1).ravel()
        tables = []
        for table in (self.L, self.kept):
            wide = aligned((len(table), 2 * len(edges), LANES))
            wide[:, rows] = table
            tables.append(wide)
        (self.L, self.kept), self.L0 = tables, aligned(tables[0].shape)
        self.edges, self.shrink = edges, np.exp(-nats)
        self.small = self.shrink.astype(np.float32)
        before = self.S
        self.slower = self._slower()
        self._measure(1.0 / unblocked(self.R, len(self.reports)))
        change = np.divide(before, self.S, out=np.ones_like(self.S), where=self.S > 0)
        self.X *= change

    def _measure(self, units: NDArray[np.float64]) -> None:
        scale = units / self.slower
        self.S, self.R = blocked(scale), blocked(1.0 / units)
        self.W = blocked(self.cost / self.unit * scale)
        self.squares = (scale**2).sum(axis=1)

    def change_units(self) -> None:
        """Choose units by the channel of the iterate, and convert the kept multipliers."""
        before = 1.0 / unblocked(self.R, len(self.reports))
        matrix = np.maximum(unblocked(self.X * self.S, len(self.reports)), 0.0)
        units = new_units(before, raised(matrix, self.edges, -np.log(self.shrink)), self.local)
        change = lanes_changed(units / before)
        for table in (self.L, self.kept):
            rewrite(table, change, self.edges.pairs)
        self.X /= change
        self._measure(units)

    def multiply_units(self, factor: float) -> None:
        """Change all units by a factor."""
        by = np.float32(factor)
        for table in (self.L, self.kept, self.S, self.W):
            np.multiply(table, by, out=table)
        for table in (self.X, self.R):
            np.divide(table, by, out=table)
        self.squares *= factor**2

    def step(self, y: NDArray[np.float32], tau: float, sigma: float, weight: np.float32) -> None:
        """Take one step at these prices of the rows."""
        from discreet.metricdp.kernels.primal_dual import step

        step(
            self.cuts,
            0,
            1,
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
            y[self.secrets],
            self.edges.pairs,
            self.small,
            np.float32(tau),
            np.float32(sigma),
            weight,
            self.sums,
            self.moved,
        )

    def set_anchor(self) -> tuple[float, float]:
        """Make the point the anchor; return the squared distances of variables and multipliers from the old one."""
        from discreet.metricdp.kernels.primal_dual import anchor, anchor_prices

        ends = self.edges.pairs
        dl = anchor_prices(self.L, self.L0, self.R, ends, self.small, self.G, LEAST_PRICE)
        return anchor(self.X, self.X0, LEAST_ENTRY), dl

    def copied(self) -> Tile:
        """Return a copy whose variables and multipliers are its own and all else is shared."""
        twin = copy.copy(self)
        for name in ("X", "X0", "G", "L", "L0"):
            mine = getattr(self, name)
            other = aligned(mine.shape)
            np.copyto(other, mine)
            setattr(twin, name, other)
        return twin

    def restore(self) -> None:
        """Go back to the anchor."""
        np.copyto(self.X, self.X0)
        np.copyto(self.L, self.L0)
        self.set_anchor()

    def least(
        self, L: NDArray[np.float32], unit: float, factors: Sequence[float]
    ) -> NDArray[np.float64]:
        """Return the least bracket of each row, for multipliers times each factor: ``(n, factors)``."""
        from discreet.metricdp.kernels.primal_dual import flows

        flow = np.zeros(self.cost.shape)
        flows(0, len(L), L, self.R, self.edges.pairs, self.shrink, flow)
        flow *= unit
        columns = [(self.cost + by * flow).min(axis=1) for by in factors]
        return np.stack(columns, axis=1)

    def prices(self, least: float, unit: float) -> Multipliers:
        """List the kept multipliers above ``least``, secrets and reports numbered as in the tile."""
        from discreet.metricdp.kernels.primal_dual import list_prices

        n, k = self.cost.shape
        found, room = 0, 0
        while True:
            report, source, target = (np.empty(room, dtype=np.int32) for _ in range(3))
            price = np.empty(room)
            found = list_prices(
                0,
                len(self.kept),
                self.kept,
                self.R,
                self.edges.pairs,
                self.shrink,
                least,
                unit,
                np.arange(n),
                np.arange(k),
                report,
                source,
                target,
                price,
            )
            if found <= room:
                return Multipliers(report, source, target, price)
            # Without room they were only counted.
            room = found


@final
class TiledIterate:
    """State of the steps on all tiles: prices of the rows, restarts and primal weight.

    Parameters
    ----------
    tiles
        The tiles, not prepared.
    n
        Number of secrets.
    far
        ``(n,)``: cost of the cheapest report outside of its tiles for each secret; infinite if there is none.
    unit
        Cost of a typical row.
    degree
        ``(n,)``: constraints of each secret, in units of their mean; ``None`` for those of each tile.
    threads
        Among how many threads tiles are divided, which changes nothing but the time.
    """

    def __init__(
        self,
        tiles: Sequence[Tile],
        n: int,
        far: NDArray[np.float64],
        *,
        unit: float,
        degree: NDArray[np.float64] | None,
        threads: int,
    ) -> None:
        self.tiles, self.n, self.unit, self.threads = tiles, n, unit, threads
        self.far = far
        for tile in tiles:
            tile.prepare(unit, None if degree is None else degree[tile.secrets])
        self._measure()
        self.cap = np.minimum(far / unit, 1e30).astype(np.float32)
        self.y = np.zeros(n, dtype=np.float32)
        self.y0 = self.y.copy()
        self.weight, self.wanted = 4.0, 1.0
        self.weights, self.target = _FIRST_WEIGHT_LIMITS, math.inf
        self.best = -math.inf
        self.count = self.age = self.restarts = 0
        self.first = self.last = math.inf
        self.measuring: list[int] = []
        """Steps after which variables get new units, none before they are named."""

    def _measure(self) -> None:
        """Estimate the largest singular value, and set the step size and the weights of rows."""
        from discreet.metricdp.kernels.primal_dual import largest_value

        ratios, squares, one = 0.0, np.zeros(self.n), slice(None, 1)
        for tile in self.tiles:
            found = largest_value(
                tile.S[one], tile.R[one], tile.edges.pairs, tile.small, _POWER_ROUNDS
            )
            ratios = max(ratios, found)
            squares[tile.secrets] += tile.squares
        self.row_weight = ROW_WEIGHT * ratios / np.maximum(squares, 1e-30)
        self.step_size = 0.97 / math.sqrt((1.03 + ROW_WEIGHT) * ratios)

    def remeasure(self, pool: ThreadPoolExecutor | None) -> None:
        """Measure variables and multipliers in new units; the point becomes the anchor."""
        before = self._sizes()
        self.each(pool, lambda t: self.tiles[t].change_units())
        common = in_common(before, self._sizes())
        self.each(pool, lambda t: self.tiles[t].multiply_units(common))
        self._measure()
        self.each(pool, lambda t: self.tiles[t].set_anchor())
        self.y0 = self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def grown(self, pool: ThreadPoolExecutor | None) -> None:
        """Restart at the point after constraints were added to tiles."""
        self._measure()
        self.each(pool, lambda t: self.tiles[t].set_anchor())
        low, high = self.weights
        self.weight = min(max(self.weight, low), high)
        self.y0 = self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def _sizes(self) -> tuple[float, float]:
        """Return the norms of all multipliers and of all variables."""
        sizes = np.array([(size(tile.L), size(tile.X)) for tile in self.tiles])
        prices, variables = np.sqrt((sizes**2).sum(axis=0)).tolist()
        return prices, variables

    def pool(self) -> ThreadPoolExecutor | nullcontext[None]:
        """Return a pool of the other threads as a context, or an empty context for one thread."""
        return ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else nullcontext()

    def each(self, pool: ThreadPoolExecutor | None, work: Callable[[int], object]) -> None:
        """Call a function with the number of each tile."""
        share(pool, self.threads, len(self.tiles), work)

    def advance(self, pool: ThreadPoolExecutor | None) -> None:
        """Take one step, and move the anchor if the steps have shrunk enough."""
        weight = np.float32((self.age + 1) / (self.age + 2))
        tau, sigma = self.step_size / self.weight, self.step_size * self.weight
        self.each(pool, lambda t: self.tiles[t].step(self.y, tau, sigma, weight))
        sums, moved = np.zeros(self.n), np.zeros(2)
        for tile in self.tiles:
            sums[tile.secrets] += tile.sums[0]
            moved += tile.moved[0]
        ahead = self.y + (sigma * self.row_weight * (self.wanted - sums)).astype(np.float32)
        change = np.minimum(ahead, self.cap) - self.y
        self.y = (1 - weight) * self.y0 + weight * (self.y + 2 * change)
        dx, dl = moved.tolist()
        dl += float((change.astype(np.float64) ** 2 / self.row_weight).sum())
        self.count += 1
        self.age += 1
        if self.count in self.measuring:
            self.remeasure(pool)
        else:
            self._judge(math.sqrt(self.weight * dx + dl / self.weight), pool)

    def _judge(self, size: float, pool: ThreadPoolExecutor | None) -> None:
        if self.age == 1:
            self.first = size
        if size > 1e3 * self.first or not math.isfinite(size):
            # The power method found less than the largest singular value.
            self.step_size *= 0.7
            self.each(pool, lambda t: self.tiles[t].restore())
            self.y = self.y0.copy()
            self.age, self.last = 0, math.inf
            return
        due = restart_due(self.count, self.age, size, self.first, self.last)
        self.last = size
        if due:
            self.move_anchor(pool)

    def move_anchor(self, pool: ThreadPoolExecutor | None) -> None:
        """Make the point the anchor, and choose the primal weight by how far both sides have moved."""
        moved = np.zeros((len(self.tiles), 2))

        def move(t: int) -> None:
            moved[t] = self.tiles[t].set_anchor()

        self.each(pool, move)
        dx, dl = moved.sum(axis=0).tolist()
        dl += float(((self.y - self.y0).astype(np.float64) ** 2 / self.row_weight).sum())
        if dx > 0 and dl > 0:
            low, high = self.weights
            self.weight = min(max(math.sqrt(math.sqrt(dl / dx) * self.weight), low), high)
        self.y0 = self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def balance(self, primal: float, dual: float) -> None:
        """Set the primal weight for the next restart from the residuals of the channel and of the bound."""
        if self.weight == self.target or math.isinf(self.target):
            self.target = balanced(self.weight, primal, dual)
            self.weights = self.target, self.target

    def polish(
        self,
        steps: int,
        pool: ThreadPoolExecutor | None,
        *,
        aside: bool = False,
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        """Move the multipliers nearly as little as possible to where hardly a bracket is below the price of its row.

        These are steps for the program whose rows sum to 0, from no channel, and what they lead to is kept if its bound
        is the best. Unless they are taken aside, with two more tables of multipliers, the channel of the iterate is
        lost, so that this is what comes last.
        """
        twin = self
        if aside:
            twin = copy.copy(self)
            twin.tiles = [tile.copied() for tile in self.tiles]
        for tile in twin.tiles:
            tile.X[:] = 0.0
        twin.move_anchor(pool)
        twin.wanted, twin.measuring = 0.0, []
        twin.count = 0
        while twin.count < steps and not late():
            twin.advance(pool)
        twin.learn(pool)
        self.best = twin.best

    def learn(self, pool: ThreadPoolExecutor | None) -> None:
        """Keep the multipliers, times the best factor, if their bound is the best so far."""
        values = self.bounds(_BOUND_FACTORS, pool)
        at = int(values.argmax())
        if values[at] > self.best:
            self.best = float(values[at])
            self.keep(_BOUND_FACTORS[at], pool)

    def matrix(self, n_reports: int) -> NDArray[np.float64]:
        """Return the channel of the iterate, ``(n, n_reports)``, zero outside of tiles: rows sum to about 1."""
        table = np.zeros((self.n, n_reports))
        for tile in self.tiles:
            mine = unblocked(tile.X * tile.S, len(tile.reports))
            table[np.ix_(tile.secrets, tile.reports)] = np.maximum(mine, 0.0)
        return table

    def level(self) -> float:
        """Dual objective: the sum of the prices of the rows."""
        return float(self.y.sum(dtype=np.float64)) * self.unit

    def bounds(
        self, factors: Sequence[float], pool: ThreadPoolExecutor | None
    ) -> NDArray[np.float64]:
        """Evaluate the bound, in floats, for the multipliers times each factor."""
        found: list[NDArray[np.float64]] = [np.zeros((0, 0))] * len(self.tiles)

        def look(t: int) -> None:
            tile = self.tiles[t]
            found[t] = tile.least(tile.L, self.unit, factors)

        self.each(pool, look)
        least = np.repeat(self.far[:, None], len(factors), axis=1)
        for tile, mine in zip(self.tiles, found, strict=True):
            least[tile.secrets] = np.minimum(least[tile.secrets], mine)
        sums: NDArray[np.float64] = least.sum(axis=0)
        return sums

    def keep(self, factor: float, pool: ThreadPoolExecutor | None) -> None:
        """Keep the multipliers, times a factor."""

        def copy(t: int) -> None:
            tile = self.tiles[t]
            np.maximum(tile.L, np.float32(0.0), out=tile.kept)
            tile.kept *= np.float32(factor)

        self.each(pool, copy)
