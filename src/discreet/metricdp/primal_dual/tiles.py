"""Primal-dual steps for very many secrets, on tiles: groups of reports with the secrets near to them.

Constraints far from a report have multiplier 0, since it is too costly there. Leaving them out relaxes the program, and
the number of multipliers grows with the number of secrets, not with its square: a *tile* is a group of reports, the
secrets within some nats of it, and the constraints between these. Tiles share the prices of the rows alone. A secret
may also use a report outside of all its tiles, without constraints and at its cost, so that the price of a row is at
most the least of these costs.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.threads import run_pieces
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK, StepSizes
from discreet.metricdp.primal_dual.iterate import (
    WEIGHT_ON_TILES,
    PrimalWeight,
    TileState,
    aligned_zeros,
    balance_weight,
    convert_multipliers,
    from_blocks,
    is_restart_due,
    new_units,
    to_blocks,
)
from discreet.metricdp.primal_dual.mend import AlongEdges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.primal_dual.arcs import ArcTile

_BOUND_FACTORS = (1.0, 0.9995, 0.998, 0.9925, 0.98, 0.95)
"""Candidate factors of the multipliers for the bound: a factor below 1 raises most brackets."""


def bytes_of(secrets: int, edges: int, reports: int) -> int:
    """Return the bytes of a tile: three tables of multipliers, a row for each edge, and seven of variables.

    Arguments are the numbers of its secrets, constraints and reports, these rounded up to whole blocks.
    """
    return 4 * REPORTS_PER_BLOCK * -(-reports // REPORTS_PER_BLOCK) * (3 * edges + 7 * secrets)


@final
@dataclass(eq=False)
class Tile(TileState):
    """A group of reports, the secrets near to it, and the constraints between these.

    Parameters
    ----------
    edges
        Constraints between the secrets, numbered as in ``secrets``.
    shrink
        ``(m,)``: ``e^-d`` of the constraints.
    """

    edges: Adjacency
    shrink: NDArray[np.float64]

    def prepare(self, unit: float, degree: NDArray[np.float64]) -> None:
        """Convert all arrays to blocks, costs divided by `unit`; multipliers start at 0, variables at `start`.

        `degree` ``(n,)`` is the number of constraints of each secret, in units of the mean. `units` and `start` are
        deleted. Linear in the tables.
        """
        self.unit = unit
        self.degree_roots = np.sqrt(degree)[:, None]
        self._measure(self.units)
        self.X = to_blocks(self.start / (self.units / self.degree_roots))
        blocks = len(self.S)
        n = len(self.secrets)
        self.X0, self.G = aligned_zeros(self.X.shape), aligned_zeros(self.X.shape)
        self.X0[:] = self.X
        self.L, self.L0 = (
            aligned_zeros((blocks, len(self.edges), REPORTS_PER_BLOCK)) for _ in range(2)
        )
        self.drop_best()
        self.sums = np.zeros(n)
        self.moved = np.zeros(2)
        self.small = self.shrink.astype(np.float32)
        # Steps need none of these.
        del self.units, self.start

    def _measure(self, units: NDArray[np.float64]) -> None:
        """Set the scales and scaled costs of all entries from their units ``(n, k)``."""
        scale = units / self.degree_roots
        self.S, self.R = to_blocks(scale), to_blocks(1.0 / units)
        self.W = to_blocks(self.cost / self.unit * scale)
        self.squares = (scale**2).sum(axis=1)

    @property
    def n_multipliers(self) -> int:
        """Number of multipliers."""
        return len(self.edges) * len(self.reports)

    def largest_value(self, *, rounds: int = 20) -> float:
        """Estimate the largest squared singular value of the scaled ratios, from the first block, by the power method.

        `rounds` products with the constraints; the step size allows for an error of 3 %.
        """
        from discreet.metricdp.kernels.primal_dual import largest_value

        return largest_value(self.S[0], self.R[0], self.edges.pairs, self.small, rounds)

    def matrix(self) -> NDArray[np.float64]:
        """Return the channel of the iterate, ``(n, k)``."""
        return np.maximum(from_blocks(self.X * self.S, len(self.reports)), 0.0)

    def raised(self) -> NDArray[np.float64]:
        """Return the channel of the iterate after one round of raising along its constraints, ``(n, k)``. Linear."""
        return AlongEdges(self.edges, -np.log(self.shrink)).estimate(self.matrix())

    def change_units(self) -> None:
        """Derive units from the channel of the iterate, and convert all variables and multipliers to them, in place.

        Call :meth:`set_anchor` afterwards: the anchor is not converted. A few sweeps over the constraints for each
        report.
        """
        before = 1.0 / from_blocks(self.R, len(self.reports))
        units = new_units(before, self.raised(), self.local)
        change = to_blocks(units / before)
        # The padding of the last block.
        change[change == 0] = 1.0
        convert_multipliers(self.L, change, self.edges.pairs)
        self.X /= change
        self._measure(units)

    def step(self, y: NDArray[np.float32], sizes: StepSizes) -> None:
        """Take one step at the row prices `y` of all secrets, in place; sets `sums`, the row sums, and `moved`.

        ``O(n + m)`` a report.
        """
        from discreet.metricdp.kernels.primal_dual import step

        edges = self.edges.pairs, self.small
        self.sums = step(self.arrays, y[self.secrets], *edges, sizes, self.moved)

    def sum_prices(self) -> None:
        """Sum anew what multipliers add to reduced costs. ``O(m)`` a report."""
        from discreet.metricdp.kernels.primal_dual import sum_prices

        sum_prices(self.L, self.R, self.edges.pairs, self.small, self.G)

    def least(self, factors: Sequence[float]) -> NDArray[np.float64]:
        """Return the least bracket of each row, for multipliers times each factor: ``(n, factors)``.

        ``O(n + m)`` for each report and factor.
        """
        from discreet.metricdp.kernels.primal_dual import sum_prices

        flows = np.empty(self.R.shape)
        sum_prices(self.L, self.R.astype(float), self.edges.pairs, self.shrink, flows)
        flow = self.unit * from_blocks(flows, len(self.reports))
        return np.stack([(self.cost + by * flow).min(axis=1) for by in factors], axis=1)

    def prices(self, least: float) -> Multipliers:
        """Return the best multipliers above `least`, secrets and reports numbered as in the tile.

        `least` is in units of a typical row's cost, the result in the unit of the loss. Linear in the multipliers.
        """
        i, j = self.edges.pairs.T
        listed = [Multipliers.empty()]
        for block, (L, R) in enumerate(zip(self.best_multipliers, self.best_scales, strict=False)):
            # The scale is that of the secret with the bounding probability: j if positive.
            price = np.where(L > 0, R[j], R[i]).astype(float)
            price *= np.abs(L) * self.shrink[:, None]
            edge, lane = np.nonzero(price > least)
            source, target = np.where(L[edge, lane] > 0, (i[edge], j[edge]), (j[edge], i[edge]))
            report, value = REPORTS_PER_BLOCK * block + lane, self.unit * price[edge, lane]
            listed.append(Multipliers(report, source, target, value))
        return Multipliers.stack(listed)


@final
class TiledIterate:
    """State of the steps on all tiles: prices of the rows, restarts and primal weight.

    Parameters
    ----------
    tiles
        The tiles, not prepared.
    far
        ``(n,)``: cost of the cheapest report outside of its tiles for each secret; infinite if there is none.
    unit
        Cost of a typical row.
    degree
        ``(n,)``: number of constraints of each secret, in units of the mean.
    threads
        Number of threads; the steps do not depend on it.
    hubs
        Number of the last secrets, whose rows have no sum and no price.
    weights
        First primal weight, and how far later ones may be from it.
    """

    def __init__(
        self,
        tiles: Sequence[Tile | ArcTile],
        far: NDArray[np.float64],
        *,
        unit: float,
        degree: NDArray[np.float64],
        threads: int,
        hubs: int = 0,
        weights: PrimalWeight = WEIGHT_ON_TILES,
    ) -> None:
        self.weights = weights
        self.tiles, self.far, self.unit, self.threads = tiles, far, unit, threads
        self.n = n = len(far)
        for tile in tiles:
            tile.prepare(unit, degree[tile.secrets])
        self._measure()
        far[n - hubs :] = 0.0
        self.cap = np.minimum(far / unit, 1e30).astype(np.float32)
        self.floor = np.where(np.arange(n) < n - hubs, -np.inf, 0.0).astype(np.float32)
        self.y = np.zeros(n, dtype=np.float32)
        self.y0 = self.y.copy()
        self.row_sum_target = 1.0
        self.weight = self.first_weight = self.target = self._estimate_weight()
        self.best = -math.inf
        self.least_gain = 0.0
        """Least relative rise of the bound for which multipliers replace the best ones."""
        self.count = self.age = self.restarts = 0
        self.first = self.last = self.longest = math.inf
        self.measuring: list[int] = []
        """Numbers of steps after which variables get new units."""

    def _measure(self, *, row_weight: float = 0.15) -> None:
        """Set the step size and the row weights from an estimate of the largest singular value of all tiles.

        `row_weight` is the squared weight of the row sums beside the ratios, in units of the largest of both: random
        points, 225 secrets of 3 to 25 neighbors, needed 15 to 25 % fewer steps to the same bound with 0.15 than with
        one weight for all, November 2026. Some products with the constraints of each tile.
        """
        ratios = 0.0
        squares = np.zeros(self.n)
        for tile in self.tiles:
            ratios = max(ratios, tile.largest_value())
            squares[tile.secrets] += tile.squares
        self.row_weight = row_weight * ratios / np.maximum(squares, 1e-30)
        self.step_size = 0.97 / math.sqrt((1.03 + row_weight) * ratios)

    def _estimate_weight(self) -> float:
        """Estimate the primal weight: the norm of the row prices over that of the variables, both scaled, and a factor.

        A row's price is about its cost at the starting channel. Linear in the variables.
        """
        prices = np.zeros(self.n)
        size = 0.0
        for tile in self.tiles:
            prices[tile.secrets] += (tile.matrix() * tile.cost).sum(axis=1) / self.unit
            size += float(np.square(tile.X, dtype=float).sum())
        ratio = math.sqrt(float((prices**2 / self.row_weight).sum()) / size) if size else 0.0
        return self.weights.first * ratio or 1.0

    def remeasure(self, pool: ThreadPoolExecutor | None) -> None:
        """Convert variables and multipliers to new units, and restart at the point; each step size is estimated anew.

        `pool` is as of :meth:`for_each_tile`. Some steps' worth of work; tiles of arcs keep their units.
        """
        tiles = [tile for tile in self.tiles if isinstance(tile, Tile)]
        self.for_each_tile(pool, lambda t: tiles[t].change_units())
        self.restart_after_growth(pool)

    def restart_after_growth(self, pool: ThreadPoolExecutor | None) -> None:
        """Restart at the point after its units or its constraints have changed; step sizes are estimated anew.

        `pool` is as of :meth:`for_each_tile`. Some products with the constraints.
        """
        self._measure()
        self.move_anchor(pool)

    def for_each_tile(self, pool: ThreadPoolExecutor | None, work: Callable[[int], object]) -> None:
        """Call a function with the index of each tile, in this thread and in those of `pool`, or alone."""
        run_pieces(pool, self.threads, len(self.tiles), work)

    def advance(self, pool: ThreadPoolExecutor | None) -> None:
        """Take one step, in place, and restart if the steps have shrunk enough; `pool` is as of :meth:`for_each_tile`.

        Linear in the multipliers and variables of all tiles. At stated steps variables get new units.
        """
        weight = np.float32((self.age + 1) / (self.age + 2))
        tau, sigma = self.step_size / self.weight, self.step_size * self.weight
        sizes = StepSizes(np.float32(tau), np.float32(sigma), np.float32(1.0) - weight, weight)
        self.for_each_tile(pool, lambda t: self.tiles[t].step(self.y, sizes))
        sums, moved = np.zeros(self.n), np.zeros(2)
        for tile in self.tiles:
            sums[tile.secrets] += tile.sums
            moved += tile.moved
        ahead = self.y + (sigma * self.row_weight * (self.row_sum_target - sums)).astype(np.float32)
        change = np.minimum(np.maximum(ahead, self.floor), self.cap) - self.y
        self.y = (1 - weight) * self.y0 + weight * (self.y + 2 * change)
        dx, dl = moved.tolist()
        dl += float((change.astype(float) ** 2 / self.row_weight).sum())
        self.count += 1
        self.age += 1
        if self.count in self.measuring:
            self.remeasure(pool)
        else:
            self._restart_if_due(math.sqrt(self.weight * dx + dl / self.weight), pool)

    def _restart_if_due(
        self, size: float, pool: ThreadPoolExecutor | None, *, max_growth: float = 2.0
    ) -> None:
        """Move the anchor if the step's length `size` says so; if steps diverge, return to it and shorten them.

        They diverge if one is longer than the first with this step size by a factor of `max_growth`, as none of 160
        runs on ten families did. `pool` is as of :meth:`for_each_tile`. Linear in the multipliers if the anchor moves
        or is returned to.
        """
        if self.age == 1:
            self.first = size
        if self.longest == math.inf:
            self.longest = max_growth * size
        if not size <= self.longest:
            # The power method underestimated the largest singular value.
            self.step_size *= 0.7
            self.longest = math.inf
            self.for_each_tile(
                pool, lambda t: self.tiles[t].move_to(self.tiles[t].X0, self.tiles[t].L0)
            )
            self.for_each_tile(pool, lambda t: self.tiles[t].set_anchor())
            self.y = self.y0.copy()
            self.age, self.last = 0, math.inf
            return
        is_due = is_restart_due(self.count, self.age, size, self.first, self.last)
        self.last = size
        if is_due:
            self.move_anchor(pool)

    def move_anchor(self, pool: ThreadPoolExecutor | None) -> None:
        """Restart at the point, with the primal weight of :meth:`balance`.

        `pool` is as of :meth:`for_each_tile`. Linear in the multipliers and variables.
        """
        self.for_each_tile(pool, lambda t: self.tiles[t].set_anchor())
        self.weight, self.y0 = self.target, self.y.copy()
        self.age, self.last = 0, math.inf
        self.restarts += 1

    def balance(self, primal: float, dual: float) -> None:
        """Set the primal weight for the next restart from the residuals of the channel and of the bound.

        Both are losses in one unit. Nothing changes until the weight has reached the last target.
        """
        if self.weight == self.target:
            limits = {"first": self.first_weight, "most": self.weights.most}
            self.target = balance_weight(self.weight, primal, dual, **limits)

    def polish(
        self,
        steps: int,
        pool: ThreadPoolExecutor | None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> None:
        """Polish the multipliers: nearly feasible ones at a small distance, with few brackets below their row prices.

        These are steps for the program with row sums 0, from the zero channel; their multipliers are kept if all of
        them were taken and their bound is the best. The iterate restarts before, and is as it was after them; meanwhile
        there is one more table of multipliers.
        """
        # The anchor is the point after a restart, so that it needs no copy.
        self.move_anchor(pool)
        state, points = copy.copy(self), [(tile, tile.copy_point()) for tile in self.tiles]
        try:
            for tile in self.tiles:
                tile.X[:] = 0.0
            state.move_anchor(pool)
            state.row_sum_target = 0.0
            state.measuring = []
            state.count = 0
            while state.count < steps and not is_late():
                state.advance(pool)
            if state.count == steps:
                state.update_best(pool)
                self.best = state.best
        finally:
            for tile, point in points:
                tile.move_to(*point)
                tile.set_anchor()

    def drop_points(self) -> None:
        """Free the memory of all tiles that further steps would need; the best multipliers stay."""
        for tile in self.tiles:
            tile.drop_point()

    def update_best(self, pool: ThreadPoolExecutor | None) -> float:
        """Return the bound of the multipliers, times the best factor, and store them if it is the best so far.

        In floats, in the unit of the loss; it is the largest over a few factors. Linear in the multipliers for each.
        """
        values = self.bounds(_BOUND_FACTORS, pool)
        at = int(values.argmax())
        if values[at] > self.best + self.least_gain * max(self.best, 0.0):
            self.best = float(values[at])
            factor = _BOUND_FACTORS[at]
            self.for_each_tile(pool, lambda t: self.tiles[t].keep(factor))
        return float(values[at])

    def matrix(self, n_reports: int) -> NDArray[np.float64]:
        """Return the channel of the iterate, ``(n, n_reports)``, zero outside of tiles; rows sum to about 1.

        ``O(n n_reports)``.
        """
        table = np.zeros((self.n, n_reports))
        for tile in self.tiles:
            table[np.ix_(tile.secrets, tile.reports)] = tile.matrix()
        return table

    def dual_objective(self) -> float:
        """Return the dual objective: the sum of the row prices."""
        return float(self.y.sum(dtype=float)) * self.unit

    def bounds(
        self, factors: Sequence[float], pool: ThreadPoolExecutor | None
    ) -> NDArray[np.float64]:
        """Evaluate the bound in floats for the multipliers times each factor: ``(factors,)``, in the unit of the loss.

        Not rounded down, so no proof. Linear in the multipliers for each factor.
        """
        by_tile: list[NDArray[np.float64]] = [np.zeros((0, 0))] * len(self.tiles)

        def evaluate_tile(t: int) -> None:
            by_tile[t] = self.tiles[t].least(factors)

        self.for_each_tile(pool, evaluate_tile)
        least = np.repeat(self.far[:, None], len(factors), axis=1)
        for tile, levels in zip(self.tiles, by_tile, strict=True):
            least[tile.secrets] = np.minimum(least[tile.secrets], levels)
        return np.asarray(least.sum(axis=0))
