"""The primal-dual method as a method of design: restarted steps on tiles, and when their results are handed in.

The same steps give a lower bound and a channel. Constraints without a price are relaxed, so that any choice of them
gives a valid bound: those that no others imply, a spanner where very many bind, or the constraints at the reports'
homes where no few stand for the others. Proposes; checked by repair, :func:`~discreet.metricdp.verify` and the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.jit import clock
from discreet.core.printed import estimate
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.lengths import TableLengths
from discreet.metricdp.bounds.local import Plan, priceable
from discreet.metricdp.part import Candidate
from discreet.metricdp.primal_dual.iterate import follows
from discreet.metricdp.primal_dual.mend import fill, mend, mend_all, raise_once
from discreet.metricdp.primal_dual.merged import MergedReports
from discreet.metricdp.primal_dual.order import near_together
from discreet.metricdp.primal_dual.seeds import (
    has_near_structure,
    is_dense,
    seconds_for_spanner,
    spanner_for_steps,
)
from discreet.metricdp.primal_dual.units import measured_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.lengths import Lengths
    from discreet.metricdp.part import Part, PartLimits

__all__ = ["PrimalDual"]

_STEPS_BEFORE_FIRST_LOOK, _STEP_GROWTH_BETWEEN_LOOKS = 110.0, 1.15
"""For 1,000 secrets, and as the root of their number for others."""

_MAX_RARE_COST, _MAX_RARE_SECRETS = 0.01, 0.02
"""A secret is rare if its mean cost is below this share of the median one. If more than this share of the secrets are
rare, tiles hold all secrets: a third without probability left 14.5 % of 225 points after 8,000 steps otherwise."""

_REACH_IN_NATS, _SPANNER_REACH_IN_NATS = 10.5, 7.0
"""From reports to the secrets of their tile; the latter on a coarse spanner, which leaves out more: of 2,000 junctions
the bound was .825 with 7 nats and .775 with 4."""

_MAX_HELD_SHARE = 0.35
"""Share of all multipliers that tiles of such a reach may hold; beyond it tiles hold all secrets. 1,000 uniform points
within two spacings, half a nat: 24 CPU seconds and a gap of 2.6 % by tiles that left something out, and .9 % in 4."""

_MIN_GAP_FOR_REACH = 5e-3
"""Relative gap below which tiles hold all secrets: what the reach leaves out may matter."""

_MAX_FIRST_WEIGHT = 12.0
"""Limit on the primal weight for 1,000 secrets until it is balanced, as the root of their number for others."""

_POLISHING_STEPS = 64
"""Steps that make multipliers feasible. 700 random points after 383 steps: a bound of 2.823, and 2.880 with them."""

_MENDING_STEPS = 36
"""Steps that take about as long as mending along edges and evaluating the bound."""

_SPACING_OF_POLISHING, _SPACING_OF_LAST_LOOK = 1.2, 1.5
"""Factors by which the number of steps grows before multipliers are polished again, and before a last look pays."""

_MENDING_FACTOR, _MAX_MENDING_FACTOR, _POLISHING_SHARE = 1.27, 4.0, 0.4
"""Loss that mending adds, in units of what one round of raising adds, and its limit; and the share of the gap that
polishing closes: both before they were measured."""

_SHARE_OF_GAP = 0.97
"""Share of the requested gap at which results are handed in; rounding takes the rest."""

_MAX_SECRETS_FOR_REMAP = 3000
"""Secrets up to which reports are renamed to measure the loss of a channel: 5,041 take 10 CPU seconds."""

_MAX_DELTA, _MAX_DELTA_OVER_ALL = 2e-4, 1e-3
"""Share of epsilon that mending leaves for rows that do not sum to one, along edges and over all pairs."""

_LEAST_PRICE, _LEAST_PRICE_PER_GAP = 1e-6, 1e-2
"""Prices that are left out, in units of the cost of a typical secret, and in these units and that of the gap."""

_MAX_RESERVED_SHARE = 0.5
"""Share of the limit that is kept at most for polishing and mending before these were measured."""

_OVERTIME_IN_SECONDS = 1.0
"""Seconds beyond the limit that mending may be expected to take before it is left out."""

_RESERVE_FACTOR = 1.3
"""Seconds reserved for handing in, in units of those of the last time."""

_NUMBERS_OF_MERGED_REPORTS, _MERGING_SHARE_OF_GAP = (400, 600, 1000), 0.25
"""Numbers of groups of near reports that are tried before mending, and the loss that they may add."""

_STEPS_PER_MENDED_TRIPLE = 4.0
"""Time of mending for two secrets and a merged report, in units of that of a multiplier in a step: 12 rounds."""

_STEP_GROWTH_BETWEEN_CONSTRAINTS = 1.3
"""Factor by which the number of steps grows before constraints are added, since each addition restarts the steps."""

_LEAST_SUM = 1e-12
"""Sum of a row below which it counts as empty."""


@final
@dataclass(frozen=True)
class PrimalDual:
    """Restarted primal-dual steps on tiles of reports, compiled.

    Parameters
    ----------
    iterations
        Steps after which to give up.

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
        """Take steps until the gap is reached, time is up, or the last step is taken.

        Returns
        -------
        Candidate or None
            ``None`` if nothing is constrained. Without a matrix and multipliers if everything was handed in already,
            or if there is no time to prepare the steps.

        Complexity
        ----------
        A step takes half a nanosecond for each multiplier: ``2 m`` for each report of a tile, m the constraints between
        its secrets. At most 3 GiB for the state, two thirds more while multipliers are polished, and some tables of
        ``n`` by ``n_reports``.
        """
        begun = clock()
        graph = priceable(part.binding, part.epsilon)
        if not len(graph) or part.n_reports < 2:
            return None
        if limits.seconds is not None and seconds_for_spanner(graph) > limits.seconds:
            return Candidate(
                "primal-dual", None, None, "No time to choose constraints; it was not started."
            )
        return _Run(part, _plan(part, graph, limits.gap), limits, begun, self.iterations).until()


@final
@dataclass(frozen=True)
class _PartCosts:
    """Costs of a part, in blocks of secrets and reports."""

    part: Part
    lengths: Lengths
    homes: NDArray[np.int64]

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.part.cost[np.ix_(secrets, reports)]


def _plan(part: Part, graph: Adjacency, gap: float) -> Plan:
    """Divide the reports of a part into tiles, and choose the constraints that get a price."""
    homes = part.cost.argmin(axis=0) if part.home is None else np.asarray(part.home)
    costs = _PartCosts(part, TableLengths(part.paths), homes.astype(np.int64))
    stars, fine, reach = False, True, _REACH_IN_NATS
    if is_dense(graph):
        stars = not has_near_structure(part.paths)
        if not stars:
            graph, fine = spanner_for_steps(graph)
            reach = _REACH_IN_NATS if fine else _SPANNER_REACH_IN_NATS
    largest = float(part.cost.max()) or 1.0
    decays = follows(part.cost / largest, part.nats(part.paths)[:, homes])
    if not decays or gap < _MIN_GAP_FOR_REACH or _has_rare_secrets(part):
        reach = math.inf
    return Plan(
        costs,
        graph,
        part.epsilon,
        farthest=reach,
        stars=stars,
        decays=decays,
        most_held=_MAX_HELD_SHARE if fine else 1.0,
    )


def _has_rare_secrets(part: Part) -> bool:
    """Return whether reports outside of their tiles are free for many secrets."""
    rows = part.cost.mean(axis=1)
    rare = rows < _MAX_RARE_COST * float(np.median(rows))
    return float(rare.mean()) > _MAX_RARE_SECRETS


class _Run:
    """One run: what was handed in, and how long that took."""

    def __init__(
        self, part: Part, plan: Plan, limits: PartLimits, begun: float, iterations: int
    ) -> None:
        self.part, self.plan, self.limits, self.iterations = part, plan, limits, iterations
        self.seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop = begun + self.seconds
        self.state = plan.state(limits.threads)
        self.state.measuring = measured_after(part.n)
        self.state.weights = 0.2, _MAX_FIRST_WEIGHT * math.sqrt(1000 / part.n)
        secrets = near_together(part.paths)
        self.place = np.empty(part.n, dtype=np.int64)
        self.place[secrets] = np.arange(part.n)
        # In the order of neighbors, so that a sweep over the edges carries far.
        self.cost = part.cost[secrets]
        # Where a spanner or stars stand for very many constraints, channels are mended over all pairs.
        self.every = priceable(part.binding, part.epsilon) if is_dense(part.binding) else None
        graph = part.binding if self.every is None else plan.graph
        ends = self.place[graph.pairs].astype(np.int32)
        self.edges = Adjacency(graph.n, ends, graph.lengths, graph.scale_bits)
        self.nats = part.nats(self.edges.lengths)
        self.beyond, self.gained, self.safe = _MENDING_FACTOR, _POLISHING_SHARE, _SHARE_OF_GAP
        self.tried = self.offered = self.grown = 0
        self.reserve, self.step, self.upper = 0.0, 0.0, math.inf
        self.ready: NDArray[np.float64] | None = None
        self.handed = -math.inf
        self.pool: ThreadPoolExecutor | None = None

    def until(self) -> Candidate:
        """Take steps until what is handed in is enough or time is up; an interrupt hands in what there is.

        Looks come after numbers of steps that do not depend on the limit, so that a longer one has all looks of a
        shorter one but the last.
        """
        try:
            return self._steps()
        except KeyboardInterrupt:
            if self.limits.offer is not None:
                self.limits.offer(self._candidate(self._in_place()))
            raise

    def _steps(self) -> Candidate:
        state = self.state
        due, started = int(_STEPS_BEFORE_FIRST_LOOK * math.sqrt(state.n / 1000)), clock()
        with state.pool() as self.pool:
            while True:
                state.advance(self.pool)
                self.limits.beat()
                if state.count == 1:
                    # The first step takes longer, since it is the first to touch the memory.
                    started = clock()
                self.step = (clock() - started) / max(state.count - 1, 1)
                foreseen = _POLISHING_STEPS * self.step + self._mending_seconds()
                foreseen = (
                    0.0 if self.offered else min(foreseen, _MAX_RESERVED_SHARE * self.seconds)
                )
                reserve = max(self.reserve, foreseen)
                last = clock() + reserve > self.stop or state.count >= self.iterations
                if last and self.offered > 0 and state.count < _SPACING_OF_LAST_LOOK * self.offered:
                    return self._candidate(None)
                if last or state.count >= due:
                    due = max(due, int(_STEP_GROWTH_BETWEEN_LOOKS * state.count) + 1)
                    found = self._look(hand_in=last)
                    if found is not None or last:
                        return found or self._candidate(None)

    def _mending_seconds(self) -> float:
        """Estimate the seconds of mending from those of a step."""
        seconds = _MENDING_STEPS * self.step
        if self.every is not None:
            triples = self.part.n**2 * min(self.part.n_reports, _NUMBERS_OF_MERGED_REPORTS[0])
            seconds += _STEPS_PER_MENDED_TRIPLE * self.step / self.plan.multipliers * triples
        return seconds

    def _look(self, *, hand_in: bool) -> Candidate | None:
        """Evaluate bound and loss roughly; hand in what is enough, or has to be; say what to return if that ends it."""
        state, begun = self.state, clock()
        state.learn(self.pool)
        matrix = state.matrix(self.place, self.part.n_reports)
        if not self.plan.stars:
            # Secrets that cost hardly anything may be served by a report outside of all their tiles.
            fill(matrix, self.edges, self.nats, threads=self.limits.threads)
        sums = np.maximum(matrix.sum(axis=1), _LEAST_SUM)
        loss = float(((self.cost * matrix).sum(axis=1) / sums).sum())
        raised = self._raised(matrix)
        added = max(float((self.cost * raised).sum()) - loss, 0.0)
        if self.every is not None:
            matrix = raised
        del raised
        state.balance(added, state.level() - state.best)
        guess = max(loss + self.beyond * added, state.level())
        hoped = state.best + self.gained * max(guess - state.best, 0.0)
        close = self._enough(guess, hoped) and state.count >= _SPACING_OF_POLISHING * self.tried
        # What polishing gives is not known before it was tried once.
        close |= not self.tried and self._enough(guess, state.level())
        if not (hand_in or close):
            return None
        self._polish(guess)
        if not (hand_in or self._enough(guess, state.best)):
            return None
        if clock() + self._mending_seconds() > self.stop + _OVERTIME_IN_SECONDS:
            return self._bound_alone()
        upper = self._mend(matrix)
        if added > 0:
            self.beyond = min(max((upper - loss) / added, 1.0), _MAX_MENDING_FACTOR)
        if not (hand_in or self._enough(self.upper, state.best)):
            return None
        found = self._hand_in()
        self.reserve = _RESERVE_FACTOR * (clock() - begun)
        return found

    def _bound_alone(self) -> Candidate:
        """Hand in multipliers without a channel, since mending one would take longer than is left."""
        found = self._candidate(self._in_place())
        if self.limits.offer is not None and found.matrix is None:
            self.limits.offer(found)
            raise LimitReachedError(f"{found.note[:-1]}, and no time was left to mend a channel")
        return found

    def _polish(self, upper: float) -> None:
        """Make copies of the multipliers nearly feasible, and measure the share of the gap that this closed."""
        state, before = self.state, self.state.best
        state.polish(_POLISHING_STEPS, self.pool, aside=True, late=self._late(clock()))
        self.tried = state.count
        if upper > before:
            self.gained = (state.best - before) / (upper - before)

    def _raised(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raise the iterate once and divide rows by their sums; with stars, add constraints that it violates."""
        state, threads = self.state, self.limits.threads
        if (
            self.every
            and self.plan.stars
            and state.count >= _STEP_GROWTH_BETWEEN_CONSTRAINTS * self.grown
        ):
            self.grown = state.count
            above = np.empty_like(matrix)
            above[self.place] = self.plan.grow(state, self.every, self.pool)
            matrix = np.maximum(matrix, above)
        if not self.plan.stars:
            return raise_once(matrix, self.edges, self.nats, threads=threads)
        raised: NDArray[np.float64] = matrix / np.maximum(
            matrix.sum(axis=1, keepdims=True), _LEAST_SUM
        )
        return raised

    def _enough(self, upper: float, lower: float) -> bool:
        return upper - lower <= self.safe * self.limits.gap * upper

    def _late(self, begun: float) -> Callable[[], bool]:
        """Make a function that returns whether no time is left but for what follows, which takes about as long."""

        def late() -> bool:
            self.limits.beat()
            return 2 * clock() - begun > self.stop

        return late

    def _mend(self, matrix: NDArray[np.float64]) -> float:
        """Mend an iterate; say what it loses, renamed if that is quick, and keep it if it is the best so far."""
        part = self.part
        if self.every is not None:
            return self._mend_all(matrix)
        delta = min(_MAX_DELTA, 0.1 * self.limits.gap + 1e-9)
        table = mend(
            matrix,
            self.edges,
            self.nats,
            delta,
            threads=self.limits.threads,
            late=self._late(clock()),
        )
        few = part.n <= _MAX_SECRETS_FOR_REMAP
        upper = float(((self.cost.T @ table).min(axis=0) if few else self.cost * table).sum())
        if upper < self.upper:
            self.upper, self.ready = upper, table
        return upper

    def _mend_all(self, matrix: NDArray[np.float64]) -> float:
        """Mend over all pairs, after reports are merged as far as that costs little; keep the result if it is best."""
        part, late = self.part, self._late(clock())
        reports = self._merged(matrix)
        few = np.add.reduceat(matrix[:, reports.members], reports.firsts[:-1], axis=1)
        order = np.argsort(self.place)
        nats = part.nats(part.paths[np.ix_(order, order)])
        delta = min(_MAX_DELTA_OVER_ALL, 0.1 * self.limits.gap + 1e-7)
        table = mend_all(few, nats, delta, threads=self.limits.threads, late=late)
        table = reports.renamed(table, self.cost)
        upper = float((self.cost * table).sum())
        if upper < self.upper:
            self.upper, self.ready = upper, table
        return upper

    def _merged(self, matrix: NDArray[np.float64]) -> MergedReports:
        """Merge near reports into the fewest groups that add little to the loss, measured before mending."""
        k, place = self.part.n_reports, self.place[self.part.places]
        whole = float((self.cost.T @ matrix).min(axis=0).sum())
        allowed = _MERGING_SHARE_OF_GAP * max(whole - self.state.best, 0.0)
        for groups in _NUMBERS_OF_MERGED_REPORTS:
            if groups >= k:
                break
            reports = MergedReports.of(place, groups)
            few = np.add.reduceat(matrix[:, reports.members], reports.firsts[:-1], axis=1)
            if float((self.cost.T @ few).min(axis=0).sum()) - whole <= allowed:
                return reports
        return MergedReports.of(place, k)

    def _hand_in(self) -> Candidate | None:
        """Hand in channel and prices; say what to return if that ends it."""
        found = self._candidate(self._in_place())
        listens, self.offered = self.limits.offer, self.state.count
        if listens is None:
            return found
        if listens(found):
            return self._candidate(None)
        if self._enough(self.upper, self.state.best):
            # Repair lost more than mending: what is handed in next has to be better than seemed enough.
            self.safe /= 2
        return None

    def _in_place(self) -> NDArray[np.float64] | None:
        """Return the best channel that was not handed in yet, its secrets in their order, and forget it."""
        ready, self.ready = self.ready, None
        return None if ready is None else ready[self.place]

    def _candidate(self, matrix: NDArray[np.float64] | None) -> Candidate:
        state, plan, prices = self.state, self.plan, None
        if state.best > self.handed:
            gap = min(max(1 - state.best / self.upper, 0.0), 0.1) if self.upper > 0 else 0.0
            least = (
                max(_LEAST_PRICE, _LEAST_PRICE_PER_GAP * gap)
                if self.limits.offer is not None
                else _LEAST_PRICE
            )
            prices, self.handed = plan.named(state, least), state.best
        facts = {"iterations": state.count, "restarts": state.restarts, "tiles": len(plan.tiles)}
        note = f"{state.count} primal-dual steps on {len(plan.tiles)} tiles of {estimate(plan.reach)} nats."
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
