r"""A lower bound for very many secrets: only constraints near a report have prices for it.

The bound of :mod:`discreet.metricdp.bounds.bound` holds for any multipliers, so that those far from a report may be
zero. Row i then has the brackets of the reports in whose tile it is, and the cost of the cheapest other report:

.. math::

    L(\lambda) = \sum_i \min\Bigl( \min_{k : i \in T_k} \Bigl[ p_i c_{ik} + \sum_{(i,t)} \lambda^k_{it}
                 - \sum_{(s,i)} e^{\epsilon d_{si}} \lambda^k_{si} \Bigr],\ \min_{k : i \notin T_k} p_i c_{ik} \Bigr).

Primal-dual steps on tiles propose the multipliers (:mod:`discreet.metricdp.primal_dual.tiles`). They are not trusted:
the bound is evaluated from them, rounded down, one tile after another. No table of secrets and reports is in memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

import numpy as np

from discreet.core.jit import clock
from discreet.core.progress import Reporter
from discreet.core.spaces.lengths import LENGTHS_AT_ONCE
from discreet.core.threads import thread_pool
from discreet.metricdp.bounds.bound import Multipliers, row_levels, sum_of_levels
from discreet.metricdp.bounds.closure import close_over_all_pairs
from discreet.metricdp.bounds.loans import Loans
from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK
from discreet.metricdp.methods.direct import LARGEST_EXPONENT
from discreet.metricdp.part import induced_graph
from discreet.metricdp.primal_dual.arcs import ArcTile
from discreet.metricdp.primal_dual.iterate import WEIGHT_ON_ARCS, WEIGHT_ON_TILES
from discreet.metricdp.primal_dual.tiles import Tile, TiledIterate, bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import ThreadPoolExecutor
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.progress import Progress
    from discreet.core.spaces.adjacency import Adjacency

_REPORTS_PER_TILE = 4 * REPORTS_PER_BLOCK
"""Reports of a tile: few blocks, so that reach and constraints suit all of them; one block with arcs of their own, so
that threads share the work."""

_MIN_STEPS, _MAX_STEPS = 100, 4000
"""Steps before the first evaluation of the bound, which is near zero before, whatever the time limit; limit on all."""

_MAX_SCALED_SHARE, _MAX_SCALED_NATS_PER_STEP, _MAX_SCALED_NATS = 0.5, 0.4, 15.0
"""Limits on the decay of a column that its scaling removes: a share, nats from one secret to the next, and nats in all.
Scaling magnifies the rounding errors of multipliers far from home: 1,000 points on lines after 800 steps had bounds of
1.14 with at most 40 nats in all, 1.276 with 25 and 1.278 with 15."""


class Tuning(NamedTuple):
    """Limits on memory, on the arcs that are added to a tile, and on the multipliers of the bound."""

    look_growth: float = 1.2
    """Factor of the number of steps from one evaluation of the bound to the next."""
    polishing_steps: int = 64
    """Final steps, which make the multipliers nearly feasible. 700 random points after 383 steps: a bound of 2.823, and
    2.880 with them."""
    least_price: float = 1e-6
    """Least multiplier of the bound, as a share of the cost of a typical row; smaller ones are left out."""
    max_state_bytes: int = 3 * 2**30
    shorter_reach: float = 0.8
    """Memory of all tiles, a fixed number, so that the same input gives the same bound; factor of their reach while
    they take more."""
    sampled_pairs: int = 1 << 24
    """Pairs of secrets and reports by which the cost of a typical row, and which secrets are rare, is estimated. With
    every second report 400 places, a third of probability 0, 4 nats, took 30,000 steps to 1.3 %, and 3 CPU seconds to
    .8 % with all; December 2026."""
    work_per_arc: int = 5
    """Time of an arc of a single report in units of that of a multiplier in a vector: 3.5 and .7 nanoseconds."""
    raised_share: float = 0.8
    """Share of the loss added by raising a tile's columns that the arcs added to its reports account for: 225 words,
    epsilon 2, had a gap of .64 % after 5 CPU seconds with .8, and of .80 % with .95; November 2026."""
    least_sum: float = 1e-6
    """Least sum of a secret's variables as a divisor: with less it reports from outside of its tiles."""


TUNING = Tuning()


class LengthsOfPairs(Protocol):
    """Lengths between secrets, from a table or computed on demand."""

    @property
    def n(self) -> int:
        """Number of secrets."""
        ...

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Lengths of the pairs ``(i[t], j[t])``: int64 in stored units, each rounded down."""
        ...


class CostsInBlocks(Protocol):
    """Costs of reports, from a table or computed on demand."""

    @property
    def source(self) -> LengthsOfPairs:
        """Lengths between the secrets."""
        ...

    @property
    def homes(self) -> NDArray[np.int64]:
        """Secret of each report, ``(n_reports,)``."""
        ...

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return ``p_i c_ik``, or a lower bound, of `secrets` ``(a,)`` and `reports` ``(b,)``: ``(a, b)`` float64."""
        ...


@final
@dataclass(frozen=True)
class LocalBound:
    """A lower bound, with the number and the size of the steps.

    Parameters
    ----------
    lower
        Lower bound on the loss of every private channel.
    steps
        Number of steps.
    reach
        Nats from a report to the farthest secrets whose constraints may have a price for it.
    estimate
        Sum of the row prices, an estimate of the least loss; no bound.
    """

    lower: float
    steps: int
    reach: float
    estimate: float


def local_bound(
    costs: CostsInBlocks,
    constraints: Adjacency,
    epsilon: Fraction,
    *,
    gap: float = 0.01,
    time_limit: float | None = None,
    farthest: float = 9.0,
    threads: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> LocalBound:
    """Bound the loss of every private channel from below, in memory that grows with the number of secrets.

    Parameters
    ----------
    costs
        Costs of the reports.
    constraints
        The stated constraints, or some of them.
    epsilon
        Nats per unit of distance.
    gap
        Relative gap between the bound and the steps' estimate of the least loss at which they end.
    time_limit
        Seconds after which steps end; the first hundred are always taken.
    farthest
        Limit on the nats from the reports of a tile to its secrets.
    threads
        Threads of the steps; the bound does not depend on it unless the time limit is reached.
    on_progress
        Called at each evaluation of the bound.

    Returns
    -------
    LocalBound
        The bound is finite, and at least the loss without privacy, rounded down.

    Complexity
    ----------
    ``O(n^2)`` for the costs of reports outside of tiles, in blocks; a nanosecond for each multiplier and step. At
    most 3 GiB for the state.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp.costs import ImplicitCosts
    >>> space = MetricSpace.grid(5, 5, cell=1, unit="km")
    >>> bound = local_bound(ImplicitCosts(space, "euclidean"), space.adjacency(1), Fraction(1))
    >>> 0.75 < bound.lower < bound.estimate * 1.01
    True
    """
    graph = priceable(constraints.prune(), epsilon)
    cheapest = _least_costs(costs)
    lowest = sum_of_levels(cheapest)
    if not len(graph):
        return LocalBound(lowest, 0, 0.0, float(cheapest.sum()))
    plan = Plan(costs, graph, epsilon, farthest=farthest)
    steps, estimate = _search(plan, gap, time_limit, threads, on_progress)
    lower = max(plan.lower_bound(), lowest)
    return LocalBound(lower, steps, plan.reach, estimate)


def _search(
    plan: Plan,
    gap: float,
    time_limit: float | None,
    threads: int,
    on_progress: Callable[[Progress], None] | None,
) -> tuple[int, float]:
    """Take steps until the bound is within `gap` of the estimated loss or time is up; then polish multipliers.

    `plan` has the tiles, which keep the best multipliers, `time_limit` is in seconds; `on_progress` is called at each
    evaluation. Returns the number of steps, and their estimate of the least loss. A step is linear in the multipliers.
    """
    start = clock()
    end = math.inf if time_limit is None else start + time_limit
    state = plan.state(threads)
    report = Reporter(on_progress, clock, start=start)
    with thread_pool(threads) as pool:
        due = _MIN_STEPS
        while state.count < _MAX_STEPS and (state.count < _MIN_STEPS or clock() < end):
            state.advance(pool)
            if state.count >= due:
                due = int(TUNING.look_growth * due) + 1
                level = state.update_best(pool)
                loss, raised = plan.losses()
                state.balance(raised - loss, state.dual_objective() - level)
                report("local bound", done=state.count, lower=max(state.best, 0.0))
                if state.best >= (1 - gap) * max(raised, state.dual_objective()):
                    break
        steps, estimate = state.count, state.dual_objective()
        state.polish(TUNING.polishing_steps, pool)
        report("local bound", done=steps, lower=max(state.best, 0.0))
    return steps, estimate


def priceable(constraints: Adjacency, epsilon: Fraction) -> Adjacency:
    """Return the constraints without those of length 0 or too long for a coefficient, which relaxes the program.

    A graph on the same secrets; longer than 20 nats is too long. Linear.
    """
    lengths = constraints.lengths
    nats = float(epsilon) * 2.0**-constraints.scale_bits * lengths
    return constraints.subgraph(np.flatnonzero((lengths > 0) & (nats <= LARGEST_EXPONENT)))


def _least_costs(costs: CostsInBlocks) -> NDArray[np.float64]:
    """Return the cost of the cheapest report for each secret, ``(n,)``; ``O(n n_reports)``, in blocks."""
    n, every = costs.source.n, np.arange(len(costs.homes))
    step = max(1, LENGTHS_AT_ONCE // len(every))
    rows = [np.arange(first, min(first + step, n)) for first in range(0, n, step)]
    return np.concatenate([costs.block(some, every).min(axis=1) for some in rows])


def length_table(
    source: LengthsOfPairs, i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return all lengths between secrets `i` and `j`, floats ``(len(i), len(j))`` in stored units, in as many steps."""
    every = np.repeat(i, len(j)), np.tile(j, len(i))
    return source.between(*every).reshape(len(i), len(j)).astype(float)


def nats_away(
    source: LengthsOfPairs, group: NDArray[np.int64], secrets: NDArray[np.int64], rate: float
) -> NDArray[np.float64]:
    """Return lower bounds on the nats from each of `secrets` ``(n,)`` to a `group` ``(g,)``, which may be negative.

    They are distances to the center of the group, less its radius; `rate` is nats a stored unit. ``O(g^2 + n)``.
    """
    within = length_table(source, group, group).max(axis=1)
    center = int(within.argmin())
    lengths = length_table(source, group[center : center + 1], secrets)[0]
    return np.asarray(rate * (lengths - within[center]))


def near_groups(
    source: LengthsOfPairs, homes: NDArray[np.int64], max_size: int = _REPORTS_PER_TILE
) -> list[NDArray[np.int64]]:
    """Divide reports into groups of near ones by halving: each half is nearer to one of two distant reports.

    `homes` ``(reports,)`` are their secrets; returns sorted indices of groups of at most `max_size`. ``O(reports log
    reports)`` lengths, and sorts.
    """
    todo, groups = [np.arange(len(homes))], []
    while todo:
        group = todo.pop()
        if len(group) <= max_size:
            groups.append(np.sort(group))
            continue
        places = homes[group]
        far = int(length_table(source, places[:1], places)[0].argmax())
        away = length_table(source, places[far : far + 1], places)[0]
        other = int(away.argmax())
        rank = np.argsort(
            away - length_table(source, places[other : other + 1], places)[0], kind="stable"
        )
        # Whole groups, so that no lane of a block stays empty.
        half = max_size * max(1, round(len(group) / (2 * max_size)))
        todo += [group[rank[half:]], group[rank[:half]]]
    return groups


class Plan:
    """Division of the reports into tiles, their constraints, and the start of the steps.

    Parameters
    ----------
    costs
        Costs of the reports.
    graph
        Constraints that may have a price.
    epsilon
        Nats per unit of distance.
    farthest
        Limit on the nats from the reports of a tile to its secrets.
    stars
        Whether each report has all secrets and arcs of its own, at first those from its home: for spaces without a
        sparse spanner.
    decays
        Whether optimal columns are expected to decay with the distance from home, so that variables are scaled.
    max_share
        Share of all multipliers beyond which tiles have all secrets.
    hubs
        Number of the last secrets, which have no cost and no row sum.
    """

    def __init__(
        self,
        costs: CostsInBlocks,
        graph: Adjacency,
        epsilon: Fraction,
        *,
        farthest: float = 9.0,
        stars: bool = False,
        decays: bool = True,
        max_share: float = 1.0,
        hubs: int = 0,
    ) -> None:
        self.stars, self.decays, self.hubs = stars, decays, hubs
        self.costs, self.graph, self.epsilon = costs, graph, epsilon
        self.source = costs.source
        self.rate = float(epsilon) * 2.0**-graph.scale_bits
        self.homes = costs.homes
        self.groups = near_groups(
            self.source, self.homes, REPORTS_PER_BLOCK if stars else _REPORTS_PER_TILE
        )
        every = np.arange(graph.n)
        away = [
            nats_away(self.source, self.homes[group], every, self.rate) for group in self.groups
        ]
        # Lower bounds, which may be negative.
        self.away = np.array(away, dtype=np.float32)
        n, k = graph.n, len(self.homes)
        self.sample = np.arange(0, k, -(-k * n // TUNING.sampled_pairs))
        step = max(1, LENGTHS_AT_ONCE // len(self.sample))
        self.blocks = [np.arange(first, min(first + step, n)) for first in range(0, n, step)]
        # With stars or hubs, tiles have all secrets.
        edges = graph.subgraph(np.arange(0 if stars or hubs else len(graph)))
        typical = [costs.block(rows, self.sample).mean(axis=1) for rows in self.blocks]
        nats = np.asarray(self.rate * edges.lengths, dtype=float)
        self.loans = Loans.among(edges, nats, np.concatenate(typical))
        # Who lends and who borrows are in the same tiles.
        borrower, lender = self.loans.borrower, self.loans.lender
        np.minimum.at(self.away.T, lender, self.away.T[borrower])
        self.away[:, borrower] = self.away[:, lender]
        self.reach = math.inf if stars else farthest
        while not stars and self.reach > 1 and self._bytes(self.reach) > TUNING.max_state_bytes:
            self.reach = TUNING.shorter_reach * min(self.reach, float(self.away.max()))
        fits = self._bytes(math.inf) <= TUNING.max_state_bytes
        products = sum(edges * reports for _, edges, reports in self._sizes(self.reach))
        if fits and products > max_share * len(graph) * len(self.homes):
            self.reach = math.inf
        self.tiles: list[Tile | ArcTile] = []
        self.far = np.full(graph.n, np.inf)

    @property
    def multipliers(self) -> int:
        """Number of multipliers of all tiles."""
        return sum(tile.n_multipliers for tile in self.tiles)

    def _bytes(self, reach: float) -> int:
        """Estimate the memory of all tiles of a reach, in bytes."""
        return sum(bytes_of(*sizes) for sizes in self._sizes(reach))

    def _sizes(self, reach: float) -> Iterator[tuple[int, int, int]]:
        """Yield the numbers of secrets, constraints and reports of each tile at a `reach` in nats.

        Linear in all for each.
        """
        i, j = self.graph.pairs.T
        for group, away in zip(self.groups, self.away, strict=True):
            inside = away <= reach
            yield int(inside.sum()), int((inside[i] & inside[j]).sum()), len(group)

    def state(self, threads: int) -> TiledIterate:
        """Return the start of the steps, its tiles prepared: channel of exponential decay, multipliers 0.

        `threads` is the number for the steps. Call it once: the tiles are added to this plan. ``O(n n_reports)``, in
        blocks.
        """
        graph, n = self.graph, self.graph.n
        nats = self.rate * graph.lengths
        step = float(np.median(nats))
        degree = np.maximum(np.bincount(graph.pairs.ravel(), minlength=n), 1.0)
        degree /= degree.mean()
        typical = self._typical_costs()
        mean = float(typical.mean()) or 1.0
        local = np.maximum(typical / mean, 1e-3)
        local /= math.exp(float(np.log(local).mean()))
        steepness = _MAX_SCALED_SHARE if self.decays else 0.0
        if not self.stars:
            steepness = min(steepness, _MAX_SCALED_NATS_PER_STEP / max(step, 1e-9))
        sums = np.zeros(n)
        decay = np.zeros((n, n) if self.stars else (0, 0), dtype=np.float32)
        if self.stars:
            i, j = graph.pairs.T
            decay[i, j] = decay[j, i] = np.exp(-nats)
        for group, away in zip(self.groups, self.away, strict=True):
            inside = np.flatnonzero(away <= self.reach)
            apart = self.rate * length_table(self.source, inside, self.homes[group])
            scale = np.exp(-np.minimum(steepness * apart, _MAX_SCALED_NATS))
            units, start = scale / np.sqrt(local[inside])[:, None], np.exp(-0.7 * apart)
            sums[inside] += start.sum(axis=1)
            parts = inside, group, self.costs.block(inside, group), units, local[inside], start
            if self.stars:
                self.tiles.append(ArcTile(*parts, self.homes[group], decay, bool(self.hubs)))
            else:
                edges, own = induced_graph(self.graph, inside)
                self.tiles.append(Tile(*parts, edges, np.exp(-nats[own])))
        for _, outside, cost, _, _ in self._outside():
            self.far[outside] = np.minimum(self.far[outside], cost.min(axis=1))
        for tile in self.tiles:
            tile.start /= sums[tile.secrets, None]
        return TiledIterate(
            self.tiles,
            self.far,
            unit=0.5 * mean,
            degree=degree,
            threads=threads,
            hubs=self.hubs,
            weights=WEIGHT_ON_ARCS if self.stars else WEIGHT_ON_TILES,
        )

    def _outside(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield reports of each tile, secrets outside of it, their costs after loans, which loans, and their prices."""
        for group, away in zip(self.groups, self.away, strict=True):
            outside = np.flatnonzero(away > self.reach)
            if len(outside):
                cost = self.costs.block(outside, group)
                yield group, outside, cost, *self.loans.lend(outside, cost)

    def prices_of_loans(
        self, secrets: NDArray[np.int64], reports: NDArray[np.int64]
    ) -> list[Multipliers]:
        """Return the prices of loans outside of each tile, secrets and reports numbered as in :meth:`list_multipliers`.

        Linear in secrets times reports.
        """
        loans = self.loans
        return [
            Multipliers(
                np.tile(reports[group], int(is_made.sum())),
                secrets[np.repeat(loans.borrower[is_made], len(group))],
                secrets[np.repeat(loans.lender[is_made], len(group))],
                prices.ravel(),
            )
            for group, _, _, is_made, prices in self._outside()
            if is_made.any()
        ]

    def grow(self, state: TiledIterate, pool: ThreadPoolExecutor | None) -> NDArray[np.float64]:
        """Add the most costly violated arcs to each report; return the channel raised to the violated ones.

        Parameters
        ----------
        state
            State of the steps on the tiles of this plan.
        pool
            Pool whose threads process the tiles.

        Returns
        -------
        ndarray
            ``(n, n_reports)``.

        Complexity
        ----------
        A product for each report and two secrets, a tenth of a nanosecond.
        """
        tiles = [tile for tile in self.tiles if isinstance(tile, ArcTile)]
        table = np.empty((self.graph.n, len(self.homes)), dtype=np.float32)
        for tile in tiles:
            table[:, tile.reports] = tile.table().T
        # Pairs that are not constrained have factor 0, so that this is no closure but one round of raising.
        raised = np.empty_like(table)
        n = self.graph.n - self.hubs
        # What the value of a hub requires is no violation.
        table[n:] = 0.0
        close_over_all_pairs(table, tiles[0].decay, raised, threads=state.threads)
        del table

        def grow_tile(t: int) -> None:
            required = np.ascontiguousarray(raised[:, tiles[t].reports].T)
            tiles[t].grow(required, TUNING.raised_share)

        state.for_each_tile(pool, grow_tile)
        state.restart_after_growth(pool)
        return raised[:n].astype(float)

    def losses(self) -> tuple[float, float]:
        """Return the loss of the iterate before and after it is raised within its tiles, rows scaled to sum 1.

        In the unit of the costs. The time of a few steps.
        """
        sums, loss = np.zeros((2, 2, self.graph.n))
        for tile in self.tiles:
            for of_sums, of_loss, table in zip(
                sums, loss, (tile.matrix(), tile.raised()), strict=True
            ):
                of_sums[tile.secrets] += table.sum(axis=1)
                of_loss[tile.secrets] += (tile.cost * table).sum(axis=1)
        before, after = (loss / np.maximum(sums, TUNING.least_sum)).sum(axis=1).tolist()
        return before, after

    def _typical_costs(self) -> NDArray[np.float64]:
        """Estimate the mean contribution to the loss of the secrets around each one, ``(n,)``; weights ``e^(-2 nats)``.

        A sample of the reports is looked at, ``O(n)`` times their number.
        """
        some, (mean_cost, smooth) = self.sample, np.empty((2, self.graph.n))
        for rows in self.blocks:
            apart = self.rate * length_table(self.source, rows, self.homes[some])
            start = np.exp(-0.7 * (apart - apart.min(axis=1, keepdims=True)))
            mean_cost[rows] = (self.costs.block(rows, some) * start).sum(axis=1) / start.sum(axis=1)
        homes = np.unique(self.homes[some])
        for rows in self.blocks:
            near = np.exp(-2.0 * self.rate * length_table(self.source, rows, homes))
            near[rows[:, None] == homes] = 0.0
            smooth[rows] = (mean_cost[rows] + near @ mean_cost[homes]) / (1.0 + near.sum(axis=1))
        return smooth

    def lower_bound(self) -> float:
        """Return the bound of the best multipliers, rounded down, in the unit of the loss, computed tile by tile.

        Minus infinity if a price is too high for floats. Linear in costs and multipliers.
        """
        least = self.far.copy()
        for tile in self.tiles:
            prices = tile.prices(TUNING.least_price)
            edges = tile.edges if isinstance(tile, Tile) else self.graph
            levels = row_levels(tile.cost, edges, self.epsilon, prices)
            least[tile.secrets] = np.minimum(least[tile.secrets], levels)
        return sum_of_levels(least)

    def list_multipliers(
        self, least: float, secrets: NDArray[np.int64], reports: NDArray[np.int64]
    ) -> Multipliers:
        """Return the best multipliers of all tiles above `least`, which is in units of a typical row's cost.

        Secrets ``(n,)`` and reports ``(k,)`` have their numbers in the result, those of loans outside of tiles first.
        The tables of the tiles are dropped, to save memory. Linear in the multipliers.
        """
        of_loans = self.prices_of_loans(secrets, reports)
        count = sum(map(len, of_loans))
        capacity = count + sum(np.count_nonzero(tile.best_multipliers) for tile in self.tiles)
        columns = [np.empty(capacity, dtype) for dtype in (np.int32, np.int32, np.int32, float)]
        for column, values in zip(columns, Multipliers.stack(of_loans).columns, strict=True):
            column[:count] = values
        for tile in self.tiles:
            prices, own = tile.prices(least), secrets[tile.secrets]
            rows = slice(count, count + len(prices))
            columns[0][rows] = reports[tile.reports][prices.report]
            columns[1][rows] = own[prices.source]
            columns[2][rows] = own[prices.target]
            columns[3][rows] = prices.value
            count += len(prices)
            tile.drop_best()
        # In place, and read-only, so that nothing is copied.
        for column in columns:
            column.resize(count, refcheck=False)
            column.setflags(write=False)
        return Multipliers(*columns)
