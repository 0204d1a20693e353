"""The primal-dual method: restarted steps on tiles, and the schedule by which their results are evaluated and offered.

The same steps give a lower bound and a channel. Constraints without a price are relaxed, so that any choice of them
gives a valid bound: those not implied by others, a spanner if very many bind, or, if no sparse spanner exists, edges of
a tree with hubs, or arcs that each report has of its own. Proposes; checked by repair,
:func:`~discreet.metricdp.verify` and the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.printed import estimate
from discreet.core.threads import thread_pool
from discreet.metricdp.bounds.local import TUNING as BOUND_TUNING
from discreet.metricdp.bounds.local import Plan, priceable
from discreet.metricdp.methods.remap import rename_columns
from discreet.metricdp.part import Candidate
from discreet.metricdp.primal_dual.hubs import HubProgram, with_hubs, with_middle
from discreet.metricdp.primal_dual.iterate import follows_distance, steps_before_new_units
from discreet.metricdp.primal_dual.mend import (
    AlongEdges,
    OverAllPairs,
    mend,
    merge_reports,
)
from discreet.metricdp.primal_dual.order import OrderedProgram
from discreet.metricdp.primal_dual.seeds import (
    has_sparse_spanner,
    is_dense,
    seconds_for_spanner,
    spanner_for_steps,
)

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.part import Part, PartLimits


class _Tuning(NamedTuple):
    """When bound and channel are evaluated, mended and offered: chosen on families of 225 to 2,000 secrets."""

    steps_before_first_look: float = 110.0
    """Steps before the first evaluation for 1,000 secrets, as the root of their number."""

    reach_nats: float = 7.0
    max_reach_nats: float = 10.5
    rare_share: float = 0.02
    """Nats from reports to the secrets of their tile beyond those between nearest secrets, and those by which the
    costs of this share of rare secrets are below the median; limit on their sum. Of 2,000 junctions the bound was .825
    with 7 nats and .775 with 4. Of 1,000, a third of probability 0, half a nat, the gap was 3.1 % after 60 CPU seconds
    within 7 nats, and 1.4 % within 10.5; December 2026."""

    max_held_share: float = 0.5
    """Share of all multipliers up to which tiles have that reach where few constraints bind; beyond it they have all
    secrets, since cheap reports lie beyond the reach if paths are much longer than distances. With a tenth a grid of
    5,041, half a nat, pairs within two cells, had a gap of 14 % after 119 CPU seconds, with half of 1.3 % after 99;
    December 2026."""

    small_gap: float = 5e-3
    """Relative gap below which tiles have all secrets, and spanners twice the edges, since what is left out may matter:
    225 random points, half a nat, had a gap of .13 % after 36 CPU seconds with 20 edges each, and .09 % after 15 with
    40; 400 places took 1.13 times the time to 1 % with 30; December 2026."""

    arc_growth: float = 1.1
    """Factor of the number of steps from one evaluation to the next where each adds arcs: 1,000 words, four nats, had a
    gap of 7.6 % after 60 CPU seconds with 1.2, and of .6 % after 42 with 1.1; December 2026."""

    steps_per_offer: int = 2
    """Least steps before an offer of a channel whatever its gap, in units of those before the last offer, or before the
    first evaluation; and of the work of an offer. With 1.4 for the first 225 uniform points took 2.0 CPU seconds to
    1 %, and 1.8 with 2; November 2026."""

    least_gain: float = 1e-6
    """Least relative rise of the bound for which multipliers replace the best ones: more than their rounding, so that
    what is listed proves more, too; and least gap for which channels are mended."""

    least_price_per_gap: float = 1.6e-2
    """Least price of an offer on tiles, in units of the cost of a typical secret, for each unit of the requested gap.
    Of 2,000 junctions, gap 4 %, after 1,005 steps 8.7 million prices of 4e-5 or more proved .84226, and 6.9 million
    of 6.4e-4 or more .84183; of 1,000 after 218 steps there were 9.6 and 4.6 million. On arcs small prices matter:
    2,000 words at gap 1 % had a bound of .745 with such a limit, of .770 without; Nov. 2026."""

    share_of_gap: float = 0.99
    """Share of the requested gap at which results are offered; the rest is for rounding."""

    delta_per_gap: float = 0.1
    """Share of epsilon that mending reserves for row sums other than 1, for each unit of the requested gap; less where
    the loss is far below that of the best constant report. 225 hexagons, four nats, never reached 1 % with .001 of
    epsilon, and after 3 CPU seconds with a quarter of it; December 2026."""

    overtime_share: float = 0.03
    """Share of the limit, beyond the seconds within which an offer has to end by its forecast, at which one that takes
    longer is given up."""

    spare_time_for_offer: float = 1.4
    """Time of an offer that is put off, in units of its forecast: steps may take longer until then. With 1.25 some
    runs on a busy machine ended without a channel; a look more is worth a fifteenth of the gap of 2,000 junctions."""

    handling_share: float = 0.2
    """Least time of repair and bound of an offer, as a share of that of polishing and mending."""

    merging_share_of_gap: float = 0.1
    """Limit on the loss added by merging reports before mending, as a share of the gap."""

    multipliers_per_mended_triple: float = 1.8
    """Work of mending and handing in for each triple of two secrets and a merged report, in multipliers of a step: 15
    closures of 2,000 junctions take the time of 70 steps, repair and bound that of 60."""


_TUNING = _Tuning()


_LEAST_SUM = float(np.finfo(np.float64).tiny)
"""Least sum of a row as a divisor: the least normal float, since a row of zeros stays zero."""


@final
@dataclass(frozen=True)
class PrimalDual:
    """Restarted primal-dual steps on tiles of reports, compiled.

    Parameters
    ----------
    iterations
        Limit on the steps.

    Examples
    --------
    >>> PrimalDual(iterations=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: iterations: expected at least one step, got 0
    """

    iterations: int = 30_000

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidProblemError("iterations", "at least one step", self.iterations)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Take steps on `part` until the gap of `limits` is reached, time is up, or the last step is taken.

        Returns
        -------
        Candidate or None
            ``None`` without constraints or a second report. A candidate without a matrix and multipliers if the caller
            takes offers, or if there is no time to prepare the steps.

        Complexity
        ----------
        A step takes a nanosecond for each multiplier: ``m`` for each report of a tile, m the constraints between
        its secrets. At most 3 GiB for the state, a third more while multipliers are polished, and some tables of
        ``n`` by ``n_reports``.
        """
        start = clock()
        graph = priceable(part.binding, part.epsilon)
        if not len(graph) or part.n_reports < 2:
            return None
        if limits.seconds is not None and seconds_for_spanner(graph) > limits.seconds:
            return Candidate(
                "primal-dual", None, None, "No time to choose constraints; it was not started."
            )
        del graph
        return _Run(part, limits, start, self.iterations).run()


def _plan(near: OrderedProgram, edges: Adjacency, part: Part, gap: float) -> Plan:
    """Return a division of the reports into tiles, with those of the constraints `edges` that may have a price.

    `near` is the program of a `part` in order of nearness. Within a reach in nats where losses follow
    distance and the `gap` allows it, else one tile of all secrets. ``O(n k)``, and a spanner if all pairs are
    constrained.
    """
    graph, rate = priceable(edges, part.epsilon), part.rate
    costs: OrderedProgram | HubProgram = near
    stars, dense = False, is_dense(graph)
    more = max(rate * graph.nearest, _nats_to_rare(near.cost))
    reach = min(_TUNING.reach_nats + more, _TUNING.max_reach_nats)
    if dense:
        stars = not has_sparse_spanner(near.lengths)
        # Prices of a tree become prices of any pairs.
        hubs = with_hubs(near, rate, graph.scale_bits) if stars and part.all_pairs else None
        if hubs is not None:
            costs, graph, stars, reach = hubs, hubs.graph, False, math.inf
        elif not stars:
            graph = spanner_for_steps(graph, finer=gap < _TUNING.small_gap)
        elif part.all_pairs and (middle := with_middle(near, graph, rate)) is not None:
            costs, graph = middle, middle.graph
    cost = near.cost
    away = part.nats(near.lengths[:, near.homes])
    decays = follows_distance(cost / (float(cost.max()) or 1.0), away)
    if not decays or gap < _TUNING.small_gap:
        reach = math.inf
    return Plan(
        costs,
        graph,
        part.epsilon,
        farthest=reach,
        stars=stars,
        decays=decays,
        max_share=1.0 if dense else _TUNING.max_held_share,
        hubs=graph.n - part.n,
    )


def _nats_to_rare(cost: NDArray[np.float64]) -> float:
    """Return the logarithm of the ratio of a typical to a rare secret's mean cost; infinite if that is 0."""
    rare, typical = np.quantile(cost.mean(axis=1), [_TUNING.rare_share, 0.5]).tolist()
    return math.log(typical / rare) if rare > 0 else math.inf


class _Run:
    """State of one run: the steps, the best channel, and the offered channel and bound.

    Steps, looks, offers and what is offered depend on the number of steps, and on the loss of the caller's channel:
    where that is as low, and once the bound is close to it, the bound is offered alone. The time limit decides only
    where this sequence ends, so that with an equal channel of the caller a longer limit has every offer and bound of
    a shorter one: the run ends at an offer for which there is no time. An exception is the first offer: it comes
    earlier if there is no time for it later, since any channel of some steps is better than none.
    """

    def __init__(self, part: Part, limits: PartLimits, start: float, iterations: int) -> None:
        self.limits, self.iterations = limits, iterations
        seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop = start + seconds
        self.end = self.stop + self.limits.overtime + _TUNING.overtime_share * seconds
        self.near = near = OrderedProgram.of(part.cost, part.paths, part.homes)
        edges = near.renumber(part.binding)
        # If steps use a subset of very many constraints, channels are mended over all pairs.
        self.over_all_pairs = is_dense(edges)
        self.plan = plan = _plan(near, edges, part, limits.gap)
        self.state = plan.state(limits.threads)
        self.state.measuring = [] if plan.stars else steps_before_new_units(part.n)
        self.state.least_gain = _TUNING.least_gain
        self.least_price = BOUND_TUNING.least_price
        if not plan.stars:
            self.least_price = max(self.least_price, _TUNING.least_price_per_gap * limits.gap)
        edges = plan.graph if self.over_all_pairs else edges
        self.along_edges = AlongEdges(edges, part.nats(edges.lengths), limits.threads)
        # Loss added by mending, in units of that added by one round of raising; share of the gap that polishing closes.
        self.mending_factor, self.polishing_share = 1.0, 0.0
        self.gap_share = _TUNING.share_of_gap
        self.polished_at = 0
        self.merged_share = 1.0
        first_look = _TUNING.steps_before_first_look * math.sqrt(part.n / 1000)
        self.look_at = int(first_look)
        # So that a short limit has a bound.
        self.bounded_at = {self.look_at // 4, self.look_at // 2}
        self.look_growth = _TUNING.arc_growth if plan.stars else BOUND_TUNING.look_growth
        self.offer_at, self.offered_at = int(_TUNING.steps_per_offer * first_look), 0
        self.step_seconds = self.look_seconds = 0.0
        self.offer_seconds, self.upper = limits.handling, limits.upper
        self.channel: NDArray[np.float64] | None = None
        self.offered_bound = -math.inf
        self.pool: ThreadPoolExecutor | None = None

    def run(self) -> Candidate:
        """Take steps until the gap is reached or time is up; return the last candidate, with what was not offered yet.

        KeyboardInterrupt passes through, after the bound so far was offered.
        """
        try:
            return self._steps()
        except KeyboardInterrupt:
            if self.limits.offer is not None:
                self.limits.offer(self._candidate(self._pop_channel(), self._pop_prices()))
            raise

    def _steps(self) -> Candidate:
        """Take steps until a candidate is good enough, the steps or the time are over; return it.

        At least one step is taken. If time is up and the caller takes offers, the candidate has prices alone.
        """
        state, spent, steps = self.state, 0.0, 0
        with thread_pool(state.threads) as self.pool:
            while clock() < self.stop or not state.count:
                begun = clock()
                state.advance(self.pool)
                # The first step is the first to touch the memory, and new units take longer than a step.
                if state.count > 1 and state.count not in state.measuring:
                    spent, steps = spent + clock() - begun, steps + 1
                    self.step_seconds = spent / steps
                self.limits.beat()
                if state.count in self.bounded_at:
                    state.update_best(self.pool)
                last = state.count >= self.iterations
                if last or state.count >= self.look_at:
                    self.look_at = int(self.look_growth * state.count) + 1
                    candidate = self._look(last=last)
                    if candidate is not None or last:
                        return candidate or self._candidate(self._pop_channel(), self._pop_prices())
        return self._end()

    def _end(self) -> Candidate:
        """Return what a run without more time hands in: prices, and a channel only if the caller takes no offers.

        A channel that was not offered yet stays so: a longer limit would not offer it at this step.
        """
        self.state.drop_points()
        channel = self._pop_channel() if self.limits.offer is None else None
        return self._candidate(channel, self._pop_prices())

    def _work_of_mending(self) -> float:
        """Estimate the work of mending and polishing, in steps."""
        if not self.over_all_pairs:
            # Mending along edges takes no longer.
            return 2 * BOUND_TUNING.polishing_steps
        n, n_reports = self.near.stated_cost.shape
        triples = float(n * n * self.merged_share * n_reports)
        # Of a step, in multipliers of a tile, of which sixteen are one vector.
        work = self.plan.multipliers * (BOUND_TUNING.work_per_arc if self.plan.stars else 1)
        mending = _TUNING.multipliers_per_mended_triple * triples / work
        return BOUND_TUNING.polishing_steps + mending

    def _look(self, *, last: bool) -> Candidate | None:
        """Evaluate bound and loss; offer them if it is their turn or the gap is near.

        Returns the result if the run ends, else ``None``. `last` makes it the turn of an offer. Offers take a polish
        and a repair; without time for the latter the run ends with the bound.
        """
        state, near, begun = self.state, self.near, clock()
        level = state.update_best(self.pool)
        matrix = state.matrix(len(near.reports))[: len(near.secrets)]
        # A secret of no cost may use a report outside of all its tiles: its row is zero until it is raised.
        matrix /= np.maximum(matrix.sum(axis=1, keepdims=True), _LEAST_SUM)
        loss = float(near.losses(matrix).sum())
        # Steps can mend violations of the constraints that they have, and no others.
        own = self.plan.losses()
        matrix = self._raise_iterate(matrix)
        added = max(float(near.losses(matrix).sum()) - loss, 0.0)
        state.balance(own[1] - own[0], state.dual_objective() - level)
        guess = max(loss + self.mending_factor * added, state.dual_objective())
        upper = min(guess, self.upper)
        hoped = state.best + self.polishing_share * max(upper - state.best, 0.0)
        close = self._is_close(upper, hoped)
        # The gain of polishing is unknown before the first time.
        close |= not self.polished_at and self._is_close(guess, state.dual_objective())
        # Added arcs make steps longer, so that an offer takes fewer of them.
        since = state.count - self.offered_at if self.offered_at else math.inf
        self.look_seconds = clock() - begun
        is_better = guess < self.upper
        due = last or (
            state.count >= self.offer_at
            and since >= _TUNING.steps_per_offer * self._work_of_mending()
        )
        if is_better and not self.offered_at:
            is_tight = not self._has_time_for_offer(_TUNING.spare_time_for_offer, self.look_at)
            if is_tight and self.over_all_pairs and self.merged_share == 1.0:
                # How long mending takes depends on how many columns are left for it.
                self._merge_reports(matrix)
                is_tight = not self._has_time_for_offer(_TUNING.spare_time_for_offer, self.look_at)
            due |= is_tight
        if not (due or close):
            return None
        has_time, start = self._has_time_for_offer(), clock()
        self._polish(upper)
        if self._is_close(self.upper, state.best) or (due and not is_better):
            # The bound alone, since the caller's channel is as good as one of this iterate.
            return self._hand_in(clock() - start)
        if not (due or self._is_close(guess, state.best)):
            return None
        if not has_time:
            # More steps would prove a larger bound than a longer limit does, which has this offer at this step.
            return self._end()
        upper = self._mend(matrix)
        del matrix
        if added > 0 and math.isfinite(upper):
            self.mending_factor = max((upper - loss) / added, 1.0)
        # A channel that is not offered now would be lost at the end of time.
        if math.isinf(upper) or not (due or self.channel is not None):
            return None
        result = self._hand_in(clock() - start)
        self.offer_seconds = clock() - start
        return result

    def _has_time_for_offer(self, spare: float = 1.0, at: int = 0) -> bool:
        """Forecast whether an offer at step `at`, or now, ends in time: from the last one, the last look and steps.

        `spare` is a factor of the time that it is expected to take.
        """
        wait = max(at - self.state.count, 0) * self.step_seconds + (self.look_seconds if at else 0)
        seconds = spare * max(self.offer_seconds, self._work_of_mending() * self.step_seconds)
        # The first channel may take all of the time after which it is given up.
        until = self.stop + self.limits.overtime if self.offered_at or at else self.end
        return clock() + wait + seconds < until

    def _polish(self, upper: float) -> None:
        """Polish a copy of the multipliers, and measure the share of the gap to `upper` that this closes.

        `upper` is a guess of the loss after repair. Costs a fixed number of steps.
        """
        state, before = self.state, self.state.best
        state.polish(BOUND_TUNING.polishing_steps, self.pool, self._is_late)
        self.polished_at = state.count
        if upper > before:
            self.polishing_share = (state.best - before) / (upper - before)

    def _raise_iterate(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the iterate ``(n, k)`` after one round of raising; with stars, add constraints that it violates.

        A round costs the constraints times the reports.
        """
        if self.plan.stars:
            raised = self.plan.grow(self.state, self.pool)
        else:
            hubs = np.zeros((self.plan.hubs, matrix.shape[1]))
            raised = self.along_edges.estimate(np.concatenate([matrix, hubs]))[: len(matrix)]
        raised /= np.maximum(raised.sum(axis=1, keepdims=True), _LEAST_SUM)
        return raised

    def _is_close(self, upper: float, lower: float) -> bool:
        """Return whether the bounds are within this run's share of the gap."""
        return lower >= (1 - self.gap_share * self.limits.gap) * upper

    def _is_late(self) -> bool:
        """Report progress, and return whether the limit is over by so much that unfinished work is left."""
        self.limits.beat()
        return clock() > self.end

    def _mend(self, matrix: NDArray[np.float64]) -> float:
        """Mend an iterate `matrix` ``(n, k)``, store the channel if it is the best, and return its loss.

        The loss is infinite if time is up, and the channel is not stored. Rounds of edges, or pairs, times reports.
        """
        near, edges = self.near, self.along_edges
        constant, loss = near.stated_cost.sum(axis=0).min(), near.losses(matrix).sum()
        # Halving the loss takes about as many nats wherever it is, so that a share of epsilon adds more to a small one.
        steepness = max(1.0, math.log1p(float(constant) / max(float(loss), _LEAST_SUM)))
        gap = max(self.limits.gap, _TUNING.least_gain)
        delta = _TUNING.delta_per_gap * gap / steepness
        if self.over_all_pairs:
            matrix = self._merge_reports(matrix)
            nats = np.asarray(self.plan.rate * near.lengths, dtype=float)
            first = None if self.plan.stars or self.plan.hubs else edges
            pairs = OverAllPairs(nats, self.limits.threads)
            private = mend(matrix, pairs, delta, first=first, is_late=self._is_late)
            del nats, pairs, matrix
            table, _ = rename_columns(private, near.cost)
        else:
            table = mend(matrix, edges, delta, is_late=self._is_late)
        upper = float(near.losses(table).sum())
        if self._is_late():
            # A channel mended in part may lose less or more than the mended one.
            return math.inf
        if upper < self.upper:
            self.upper, self.channel = upper, table
        return upper

    def _merge_reports(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Merge reports of `matrix` ``(n, k)`` for a share of the gap, since mending takes time for each column.

        Returns ``(n, groups)``, whose share of the columns is stored; the cost is that of :func:`merge_reports`.
        """
        near = self.near
        # Single precision chooses as well, in half the memory.
        cost, homes = near.cost.astype(np.float32), near.secrets[near.homes]
        loss = float((cost.T @ matrix.astype(np.float32)).min(axis=0).sum())
        allowed = _TUNING.merging_share_of_gap * max(loss - self.state.best, 0.0)
        merged = merge_reports(matrix, cost, near.stated_lengths[np.ix_(homes, homes)], allowed)
        self.merged_share = merged.shape[1] / matrix.shape[1]
        return merged

    def _hand_in(self, seconds: float) -> Candidate | None:
        """Offer channel and multipliers; return the result if the run ends, else ``None``.

        It ends if the caller says that the gap is reached, or, without offers, if it is near enough; or if an offer at
        the next look would not end in time. `seconds` are those of polishing and mending.
        """
        count, offer = self.state.count, self.limits.offer
        close = self._is_close(self.upper, self.state.best)
        self.offer_at = _TUNING.steps_per_offer * count
        self.offered_at = self.offered_at if self.channel is None else count
        if offer is None:
            return self._candidate(self._pop_channel(), self._pop_prices()) if close else None
        handling = max(self.limits.handling, _TUNING.handling_share * seconds)
        wait = (self.look_at - count) * self.step_seconds
        ends = clock() + wait + seconds + 2 * handling >= self.stop
        ends |= count >= self.iterations
        if ends:
            # Repair and bound need the memory.
            self.state.drop_points()
        # Two lists of prices at once would take more memory than all else.
        is_first = self.offered_bound == -math.inf
        prices = self._pop_prices() if is_first or close or ends else None
        if offer(self._candidate(self._pop_channel(), prices)) or ends:
            return self._candidate(None, self._pop_prices())
        if close:
            # Repair added more loss than expected: the next offer needs a smaller gap.
            self.gap_share /= 2
        return None

    def _pop_channel(self) -> NDArray[np.float64] | None:
        """Return the best channel since the last offer, in the original order, and clear it."""
        channel, self.channel = self.channel, None
        return None if channel is None else self.near.restore_order(channel)

    def _pop_prices(self) -> Multipliers | None:
        """Return the prices of the best bound, numbered as in the part; ``None`` if it has not grown since the last."""
        state, plan = self.state, self.plan
        if state.best <= self.offered_bound:
            return None
        secrets = np.arange(plan.graph.n) if plan.hubs else self.near.secrets
        prices = plan.list_multipliers(self.least_price, secrets, self.near.reports)
        self.offered_bound = state.best
        return plan.costs.to_pairs(prices) if isinstance(plan.costs, HubProgram) else prices

    def _candidate(
        self, matrix: NDArray[np.float64] | None, prices: Multipliers | None
    ) -> Candidate:
        """Return the channel `matrix` ``(n, k)`` and `prices`, if any, with facts of the run."""
        state, tiles = self.state, len(self.plan.tiles)
        facts = {"iterations": state.count, "restarts": state.restarts, "tiles": tiles}
        note = (
            f"{state.count} primal-dual steps on {tiles} tiles of {estimate(self.plan.reach)} nats."
        )
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
