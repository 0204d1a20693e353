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
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.bounds.local import Plan, priceable
from discreet.metricdp.part import Candidate
from discreet.metricdp.primal_dual.iterate import follows_distance
from discreet.metricdp.primal_dual.mend import fill_rows, mend, mend_over_all_pairs, raise_once
from discreet.metricdp.primal_dual.order import OrderedProgram
from discreet.metricdp.primal_dual.seeds import (
    has_sparse_spanner,
    is_dense,
    seconds_for_spanner,
    spanner_for_steps,
)
from discreet.metricdp.primal_dual.units import steps_before_new_units

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor
    from fractions import Fraction

    from numpy.typing import NDArray

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

_MAX_HELD_SHARE = 0.1
"""Share of all multipliers that tiles of such a reach may hold; beyond it tiles hold all secrets. Where paths are much
longer than distances, reports that are cheap lie beyond the reach: 1,000 uniform points within two and a half spacings,
half a nat, were left at 2.6 % after 20 CPU seconds, and at .8 % after 5 with all secrets."""

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

_NUMBERS_OF_MERGED_REPORTS, _MERGING_SHARE_OF_GAP = (400, 600, 1000, 1400), 0.25
"""Numbers of groups of near reports that are tried before mending, and the loss that they may add."""

_SECONDS_PER_MENDED_TRIPLE = 5e-9
"""Seconds of one thread for two secrets and a merged report, over all pairs: 35 s for 2,000 of each, 12 rounds."""

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

        Raises
        ------
        LimitReachedError
            If no time was left to mend a channel; multipliers were handed in then.

        Complexity
        ----------
        A step takes half a nanosecond for each multiplier: ``2 m`` for each report of a tile, m the constraints between
        its secrets. At most 3 GiB for the state, two thirds more while multipliers are polished, and some tables of
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
        return _Run(part, limits, start, self.iterations).run()


def _plan(near: OrderedProgram, epsilon: Fraction, gap: float) -> Plan:
    """Divide reports into tiles, and choose the constraints that get a price."""
    graph = priceable(near.edges, epsilon)
    rate = float(epsilon) * 2.0**-graph.scale_bits
    stars, fine, reach = False, True, _REACH_IN_NATS
    if is_dense(graph):
        stars = not has_sparse_spanner(near.lengths)
        if not stars:
            graph, fine = spanner_for_steps(graph)
            reach = _REACH_IN_NATS if fine else _SPANNER_REACH_IN_NATS
    largest = float(near.cost.max()) or 1.0
    away = np.asarray(rate * near.lengths[:, near.homes], dtype=np.float64)
    decays = follows_distance(near.cost / largest, away)
    if not decays or gap < _MIN_GAP_FOR_REACH or _has_rare_secrets(near.cost):
        reach = math.inf
    return Plan(
        near,
        graph,
        epsilon,
        farthest=reach,
        stars=stars,
        decays=decays,
        max_multiplier_share=_MAX_HELD_SHARE if fine else 1.0,
    )


def _has_rare_secrets(cost: NDArray[np.float64]) -> bool:
    """Return whether reports outside of their tiles are free for many secrets."""
    rows = cost.mean(axis=1)
    rare = rows < _MAX_RARE_COST * float(np.median(rows))
    return float(rare.mean()) > _MAX_RARE_SECRETS


def _rename_reports(matrix: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rename each column as the report that costs least given it, which is no less private: ``(n, n_reports)``."""
    best = (cost.T @ matrix).argmin(axis=0)
    table: NDArray[np.float64] = np.zeros_like(cost)
    np.add.at(table.T, best, matrix.T)
    return table


class _Run:
    """State of one search: the steps, and the channel and bound that were handed in."""

    def __init__(self, part: Part, limits: PartLimits, start: float, iterations: int) -> None:
        self.limits, self.iterations = limits, iterations
        self.seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop = start + self.seconds
        home = part.cost.argmin(axis=0) if part.home is None else part.home
        self.near = near = OrderedProgram.of(part.cost, part.binding, part.paths, home)
        self.plan = plan = _plan(near, part.epsilon, limits.gap)
        self.state = plan.state(limits.threads)
        self.state.measuring = steps_before_new_units(part.n)
        self.state.weights = 0.2, _MAX_FIRST_WEIGHT * math.sqrt(1000 / part.n)
        # Where a spanner or stars stand for very many constraints, channels are mended over all pairs.
        self.every = priceable(near.edges, part.epsilon) if is_dense(near.edges) else None
        self.edges = near.edges if self.every is None else plan.graph
        self.nats = part.nats(self.edges.lengths)
        self.mending_factor, self.polishing_share, self.gap_share = (
            _MENDING_FACTOR,
            _POLISHING_SHARE,
            _SHARE_OF_GAP,
        )
        self.polished_at = self.offered_at = self.grown_at = 0
        self.reserve, self.step_seconds, self.upper = 0.0, 0.0, math.inf
        self.channel: NDArray[np.float64] | None = None
        self.offered_bound = -math.inf
        self.pool: ThreadPoolExecutor | None = None

    def run(self) -> Candidate:
        """Take steps until the gap is reached or time is up; an interrupt hands in the bound so far.

        Looks come after numbers of steps that do not depend on the limit, so that a longer one has all looks of a
        shorter one but the last.
        """
        try:
            return self._steps()
        except KeyboardInterrupt:
            if self.limits.offer is not None:
                self.limits.offer(self._candidate(self._pop_channel()))
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
                self.step_seconds = (clock() - started) / max(state.count - 1, 1)
                forecast = _POLISHING_STEPS * self.step_seconds + self._mending_seconds()
                forecast = (
                    0.0 if self.offered_at else min(forecast, _MAX_RESERVED_SHARE * self.seconds)
                )
                reserve = max(self.reserve, forecast)
                last = clock() + reserve > self.stop or state.count >= self.iterations
                if (
                    last
                    and self.offered_at > 0
                    and state.count < _SPACING_OF_LAST_LOOK * self.offered_at
                ):
                    return self._candidate(None)
                if last or state.count >= due:
                    due = max(due, int(_STEP_GROWTH_BETWEEN_LOOKS * state.count) + 1)
                    candidate = self._evaluate(hand_in=last)
                    if candidate is not None or last:
                        return candidate or self._candidate(None)

    def _mending_seconds(self, reports: int = _NUMBERS_OF_MERGED_REPORTS[1]) -> float:
        """Estimate the seconds of mending, over all pairs with so many reports, from those of a step."""
        if self.every is None:
            return _MENDING_STEPS * self.step_seconds
        n, n_reports = self.near.cost.shape
        triples = n**2 * min(reports, n_reports)
        return float(_SECONDS_PER_MENDED_TRIPLE * triples / self.limits.threads)

    def _evaluate(self, *, hand_in: bool) -> Candidate | None:
        """Estimate bound and loss; hand them in if they reach the gap, or on `hand_in`. Return the last result."""
        state, near, start = self.state, self.near, clock()
        state.update_best(self.pool)
        matrix = state.matrix(near.cost.shape[1])
        if not self.plan.stars:
            # Secrets that cost hardly anything may be served by a report outside of all their tiles.
            fill_rows(matrix, self.edges, self.nats, threads=self.limits.threads)
        sums = np.maximum(matrix.sum(axis=1), _LEAST_SUM)
        loss = float(((near.cost * matrix).sum(axis=1) / sums).sum())
        raised = self._raise_iterate(matrix)
        added = max(float((near.cost * raised).sum()) - loss, 0.0)
        if self.every is not None:
            matrix = raised
        del raised
        state.balance(added, state.dual_objective() - state.best)
        guess = max(loss + self.mending_factor * added, state.dual_objective())
        hoped = state.best + self.polishing_share * max(guess - state.best, 0.0)
        close = (
            self._gap_is_reached(guess, hoped)
            and state.count >= _SPACING_OF_POLISHING * self.polished_at
        )
        # What polishing gives is not known before it was tried once.
        close |= not self.polished_at and self._gap_is_reached(guess, state.dual_objective())
        if not (hand_in or close):
            return None
        self._polish(guess)
        if not (hand_in or self._gap_is_reached(guess, state.best)):
            return None
        if clock() + self._mending_seconds() > self.stop + _OVERTIME_IN_SECONDS:
            return self._bound_alone()
        upper = self._mend(matrix)
        if added > 0:
            self.mending_factor = min(max((upper - loss) / added, 1.0), _MAX_MENDING_FACTOR)
        if not (hand_in or self._gap_is_reached(self.upper, state.best)):
            return None
        candidate = self._hand_in()
        self.reserve = _RESERVE_FACTOR * (clock() - start)
        return candidate

    def _bound_alone(self) -> Candidate:
        """Hand in multipliers without a channel, since mending one would take longer than is left."""
        candidate = self._candidate(self._pop_channel())
        if self.limits.offer is not None and candidate.matrix is None:
            self.limits.offer(candidate)
            raise LimitReachedError(
                f"{candidate.note[:-1]}, and no time was left to mend a channel"
            )
        return candidate

    def _polish(self, upper: float) -> None:
        """Make copies of the multipliers nearly feasible, and measure the share of the gap that this closed."""
        state, before = self.state, self.state.best
        state.polish(_POLISHING_STEPS, self.pool, aside=True, is_late=self._half_time_is_over())
        self.polished_at = state.count
        if upper > before:
            self.polishing_share = (state.best - before) / (upper - before)

    def _raise_iterate(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raise the iterate once and divide rows by their sums; with stars, add constraints that it violates."""
        state, threads = self.state, self.limits.threads
        if (
            self.every
            and self.plan.stars
            and state.count >= _STEP_GROWTH_BETWEEN_CONSTRAINTS * self.grown_at
        ):
            self.grown_at = state.count
            matrix = np.maximum(matrix, self.plan.grow(state, self.every, self.pool))
        if not self.plan.stars:
            return raise_once(matrix, self.edges, self.nats, threads=threads)
        raised: NDArray[np.float64] = matrix / np.maximum(
            matrix.sum(axis=1, keepdims=True), _LEAST_SUM
        )
        return raised

    def _gap_is_reached(self, upper: float, lower: float) -> bool:
        return upper - lower <= self.gap_share * self.limits.gap * upper

    def _half_time_is_over(self) -> Callable[[], bool]:
        """Return a function that returns whether half of the time from now to the end is over."""
        return self._is_after(0.5 * (clock() + self.stop))

    def _is_after(self, moment: float) -> Callable[[], bool]:
        def is_late() -> bool:
            self.limits.beat()
            return clock() > moment

        return is_late

    def _mend(self, matrix: NDArray[np.float64]) -> float:
        """Mend an iterate; keep the channel if it is the best so far, and return its loss, renamed if that is quick."""
        cost, threads = self.near.cost, self.limits.threads
        if self.every is not None:
            firsts = self._merge_reports(matrix)
            merged = np.add.reduceat(matrix, firsts, axis=1)
            delta = min(_MAX_DELTA_OVER_ALL, 0.1 * self.limits.gap + 1e-7)
            nats = np.asarray(self.plan.rate * self.near.lengths, dtype=np.float64)
            # Repair is quick once all rounds were taken, and slow before.
            is_late = self._is_after(self.stop)
            table = _rename_reports(
                mend_over_all_pairs(merged, nats, delta, threads=threads, is_late=is_late), cost
            )
            upper = float((cost * table).sum())
        else:
            delta = min(_MAX_DELTA, 0.1 * self.limits.gap + 1e-9)
            is_late = self._half_time_is_over()
            table = mend(matrix, self.edges, self.nats, delta, threads=threads, is_late=is_late)
            few_secrets = len(cost) <= _MAX_SECRETS_FOR_REMAP
            upper = float(((cost.T @ table).min(axis=0) if few_secrets else cost * table).sum())
        if upper < self.upper:
            self.upper, self.channel = upper, table
        return upper

    def _merge_reports(self, matrix: NDArray[np.float64]) -> NDArray[np.int64]:
        """Divide near reports into groups, measured before mending.

        Returns
        -------
        ndarray
            First report of each group, reports in the order of their homes. Of the numbers of groups that there is time
            to mend it is the least that adds little to the loss, or the largest.
        """
        cost, left = self.near.cost, self.stop - clock()
        n_reports = cost.shape[1]
        raised_loss = float((cost.T @ matrix).min(axis=0).sum())
        allowed = _MERGING_SHARE_OF_GAP * max(raised_loss - self.state.best, 0.0)
        numbers = [number for number in _NUMBERS_OF_MERGED_REPORTS if number < n_reports]
        firsts = np.arange(n_reports)
        for groups in (*numbers, n_reports):
            if groups > _NUMBERS_OF_MERGED_REPORTS[0] and self._mending_seconds(groups) > left:
                break
            firsts = np.linspace(0, n_reports, groups, endpoint=False).astype(np.int64)
            merged = np.add.reduceat(matrix, firsts, axis=1)
            if float((cost.T @ merged).min(axis=0).sum()) - raised_loss <= allowed:
                break
        return firsts

    def _hand_in(self) -> Candidate | None:
        """Hand in channel and multipliers; return the result if the search ends."""
        candidate = self._candidate(self._pop_channel())
        offer, self.offered_at = self.limits.offer, self.state.count
        if offer is None:
            return candidate
        if offer(candidate):
            return self._candidate(None)
        if self._gap_is_reached(self.upper, self.state.best):
            # Repair lost more than mending: what is handed in next has to be better than seemed enough.
            self.gap_share /= 2
        return None

    def _pop_channel(self) -> NDArray[np.float64] | None:
        """Return the best channel that was not handed in yet, its secrets in their order, and forget it."""
        channel, self.channel = self.channel, None
        return None if channel is None else self.near.restore_order(channel)

    def _candidate(self, matrix: NDArray[np.float64] | None) -> Candidate:
        state, plan, prices = self.state, self.plan, None
        if state.best > self.offered_bound:
            gap = min(max(1 - state.best / self.upper, 0.0), 0.1) if self.upper > 0 else 0.0
            least = (
                max(_LEAST_PRICE, _LEAST_PRICE_PER_GAP * gap)
                if self.limits.offer is not None
                else _LEAST_PRICE
            )
            listed, self.offered_bound = (
                plan.list_multipliers(state, least).relabel(self.near.secrets),
                state.best,
            )
            report = self.near.reports[listed.report]
            prices = Multipliers(report, listed.source, listed.target, listed.value)
        facts = {"iterations": state.count, "restarts": state.restarts, "tiles": len(plan.tiles)}
        note = f"{state.count} primal-dual steps on {len(plan.tiles)} tiles of {estimate(plan.reach)} nats."
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
