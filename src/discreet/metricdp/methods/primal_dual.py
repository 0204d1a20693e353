"""The primal-dual method as a method of design: its checkpoints, and when it ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.printed import at_most
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.methods.direct import priced_edges
from discreet.metricdp.part import Candidate, Part
from discreet.metricdp.primal_dual.iterate import LANES, Iterate, Scaling
from discreet.metricdp.primal_dual.mend import mend, mend_all, raise_once
from discreet.metricdp.primal_dual.merged import MergedReports, few_edges
from discreet.metricdp.primal_dual.mixture import Mixture
from discreet.metricdp.primal_dual.order import Ordered, near_together
from discreet.metricdp.primal_dual.units import measured_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.bounds.bound import Multipliers
    from discreet.metricdp.part import PartLimits

__all__ = ["PrimalDual", "can_polish", "fits"]

_FIRST, _GROWTH = 480.0, 1.15
"""Steps before the first checkpoint, for 1,000 secrets and as the root of their number for others; and from one to the
next. Before so many there is no bound to speak of."""

_BALANCE, _BALANCE_GROWTH = 160.0, 1.6
"""Steps before the primal weight is balanced first, likewise; and from one to the next before the first checkpoint."""

_MOST_BEYOND = 4.0
"""Most times what one round of raising adds to the loss that mending is thought to add: 225 random points, one nat,
gap .1 %: 1.3 times."""

_FIRST_PART = 1 / 3
"""Part of the time after which the first checkpoint is at the latest."""

_PATIENCE = 3.0
"""How many times the steps of the last time the method takes before it hands in what is not thought enough."""

_SLOW, _LITTLE = 4000, 0.7
"""Steps from which on it matters whether three times as many have closed at least so much of the gap."""

_DELTA, _DELTA_ALL = 2e-4, 1e-3
"""Most of epsilon that mending leaves for rows that do not sum to one, and most where it takes all pairs at a time,
whose rounds take long. 1,000 random points: 0.07 % of the loss less than with 1e-3, a third slower, November 2026."""

_SAFE = 0.97
"""Part of the gap to reach before anything is handed in as enough: rounding takes the rest."""

_DEMANDED = 0.5
"""By what that part shrinks where what seemed enough was not."""

_NEAR = 0.85
"""Part of the gap, by an iterate that was not mended, from which on mending it may be worth the time."""

_AGAIN, _AGAIN_FOR_LESS = 1.1, 1.3
"""How many times the steps of the last time before an iterate is mended again: where mending as much as it added then
is expected to be enough, and where it has to add less."""

_RESERVE = 1.5
"""How much longer than the last time it may take to mend, list, bound, repair and verify."""

_POLISH = 32
"""Steps that make multipliers feasible before their bound is judged. 1,000 random points, epsilon 1, after 700 steps:
bounds of 1.4735, and 1.4770, 1.4796, 1.4825, 1.4826 after 8, 16, 32, 64 of them; 400 points after 500: 1.4405, and
1.4434, 1.4457, 1.4478, 1.4478. Without them they were reached after 1,000 and 750 steps; November 2026."""

_GAINED = 0.5
"""Part of what the bound lacks that they are thought to give before they were tried."""

_WORTH, _BOUNDING = 1.5, 0.5
"""How many times the steps of the last time make mending again worth it where there is no time for more; and which part
of the reserve prices alone take, polished: 500 random points, 0.25 of 1.1 CPU seconds without that, November 2026."""

_POLISHED = 0.7
"""Part of the reserve, for all or for prices alone, that polishing leaves for what follows."""

_POLISHING = 0.2
"""Most of the time that is left that polishing takes."""

_HANDING_IN = 2.5e-7
"""Seconds for each multiplier that all this takes together, before it was measured: 3 s for 11.7 million, 1,000 random
points, November 2026."""

_RESERVED = 0.6
"""Most of the time that is left to be kept for it at first: with limits that are shorter than it takes, what is handed
in is late anyway, and without steps it is worth nothing."""

_LEAST = 1e-6
"""What all prices that are left out may sum to for each report, in units of what a typical secret costs."""

_LEFT_OUT = 1e-2
"""What each of them may be, times the gap if that is known and at most 0.1: 400 random points, 1.8 million multipliers,
had 913,000 prices above 0, 806,000 above 1e-5, and 665,000 above 1e-4, with bounds that rose by 1.4e-5, November 2026.
"""

_DENSE = 18
"""Constraints a secret beyond which a spanner stands for them."""

_FEW = 20
"""Edges a secret that the spanner may have."""

_DILATIONS = (1.002, 1.005, 1.01, 1.02, 1.04, 1.08, 1.15)
"""How much longer than a constraint its path in the spanner may be: the first that leaves few enough edges."""

_THINNING = 0.6
"""Most of the time that is left for it: 1,000 words by their cosines, all pairs, took 1.2 CPU seconds for each of the
seven, November 2026."""

_TRIAL, _TRIALS = 1.5e-6, 2
"""Seconds for each constraint that one of them takes at least, before it was measured: 0.8 to 1.2 for 500,000; and how
many it takes at least, as a rule."""

_MERGING, _MENDING, _REPAIRING = 0.3, 4e-9, 0.1
"""Where reports are merged, since there is no time for all: part of the time that is left that handing in may take, and
that mending may; seconds that mending takes for each pair of secrets and merged report, 12 rounds on a loaded machine,
November 2026; and part of the time that is kept for the repair, which loses much once it is late.
"""

_STATING = 4e-8
"""Seconds for each multiplier that stating prices for all members of merged reports and bounding by them takes: 1,000
words, all pairs, 16,164 edges, limit 5 s, was late by 2.8 CPU seconds where that was not foreseen, November 2026."""

_GROUPS, _SPARSE = 150, 3
"""Merged reports for which there is time where edges are few enough, and edges a secret that always are. All pairs of
1,000 words by their cosines, one nat, limit 5 s: a gap of 43 % by 132 reports on 16,164 edges, and 54 % by 500 on
4,441; November 2026."""

_FEWEST_GROUPS = 16
"""Merged reports below which there is no bound to speak of."""

_LARGEST_STATE = 6 * 2**30
"""Bytes beyond which the method does not start; a fixed number, so that the same input gives the same design."""


@final
@dataclass(frozen=True)
class PrimalDual:
    """Restarted primal-dual steps on the whole program, compiled.

    Parameters
    ----------
    iterations
        Steps after which to give up.
    persistent
        Whether to go on although twice the steps gained little, as where nothing else is left to try.

    Examples
    --------
    >>> PrimalDual(iterations=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: iterations: expected at least one step, got 0
    """

    iterations: int = 30_000
    persistent: bool = True

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InvalidProblemError("iterations", "at least one step", self.iterations)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Take steps until what was handed in is enough, time is up, or the last step is taken.

        Returns
        -------
        Candidate or None
            ``None`` where nothing is constrained. Without a matrix where the state would not fit into memory, and
            where everything was handed in already.

        Complexity
        ----------
        A step takes half a nanosecond for each of the ``2 m n_reports`` multipliers, and a gap of 1 % some 1,000 steps
        for 225 secrets, 2,000 to 3,000 for 1,000. Sixteen bytes for each multiplier, and twenty for its price.
        """
        edges = priced_edges(part)
        if not len(edges) or part.n_reports < 2:
            return None
        begun = clock()
        # Of more a spanner with so many is taken, if there is one.
        seconds = math.inf if limits.seconds is None else limits.seconds
        # Half of the edges that a spanner may have are the least that it has, as a rule.
        least = _HANDING_IN * _FEW * part.n * part.n_reports
        dense = len(edges) > _DENSE * part.n
        thinned = None if dense and least > seconds else _thinned(edges, seconds)
        if thinned is None:
            return _merged(part, edges, limits, begun)
        edges, dilation = thinned
        needed = _state(len(edges), part)
        if needed > _LARGEST_STATE:
            note = f"Its state would take {at_most(needed / 2**30, 2)} GiB; it was not started. Anchored() needs less."
            return Candidate("primal-dual", None, None, note)
        expected = _HANDING_IN * 2 * len(edges) * part.n_reports
        left = math.inf
        if limits.seconds is not None and not self.persistent:
            left = limits.seconds - (clock() - begun)
        if expected > left:
            return _merged(part, edges, limits, begun)
        run = _Run(part, limits, edges, dilation, begun, persistent=self.persistent)
        return run.until(self.iterations)


def fits(part: Part) -> bool:
    """Tell whether the state of the steps fits into memory."""
    return _state(_edges_taken(part), part) <= _LARGEST_STATE


def can_polish(part: Part) -> bool:
    """Tell whether a second state fits beside it, without which the bound comes late."""
    return _state_to_polish(_edges_taken(part), part) <= _LARGEST_STATE


def _edges_taken(part: Part) -> int:
    edges = len(priced_edges(part))
    return min(edges, _FEW * part.n) if edges > _DENSE * part.n else edges


def _state(edges: int, part: Part) -> int:
    """Count the bytes of multipliers, their anchor, their mean and the kept ones, and of six tables of variables."""
    return 4 * LANES * -(-part.n_reports // LANES) * (9 * edges + 12 * part.n)


def _state_to_polish(edges: int, part: Part) -> int:
    """Count the bytes with those of a second state beside it."""
    return 4 * LANES * -(-part.n_reports // LANES) * (13 * edges + 15 * part.n)


def _thinned(edges: Adjacency, seconds: float) -> tuple[Adjacency, float] | None:
    """Choose edges whose paths are little longer than the constraints, where there are too many of these.

    ``None`` where that would take most of so many seconds.

    The program on the spanner is then a relaxation, good for the bound, and its iterates are mended over all pairs.
    Nothing is claimed of either: repair and bound look at all constraints.
    """
    if len(edges) <= _DENSE * edges.n:
        return edges, 1.0
    if _TRIALS * _TRIAL * len(edges) > _THINNING * seconds:
        return None
    from discreet.core.kernels.distances import spanner

    order = np.argsort(edges.lengths, kind="stable")
    pairs, lengths = edges.pairs[order], edges.lengths[order].astype(np.float64)
    begun = clock()
    for number, dilation in enumerate(_DILATIONS):
        kept = spanner(edges.n, pairs, lengths, dilation * lengths)
        enough = kept.sum() <= _FEW * edges.n or dilation == _DILATIONS[-1]
        # The next one takes as long as those before.
        taken = (clock() - begun) * (1.0 if enough else (number + 2) / (number + 1))
        if taken > _THINNING * seconds:
            return None
        if enough:
            break
    return edges.subgraph(np.sort(order[kept])), dilation


def _merged(part: Part, edges: Adjacency, limits: PartLimits, begun: float) -> Candidate:
    """Take steps on few edges and merged reports, where there is no time for all of them."""
    stop = begun + (1 - _REPAIRING) * (limits.seconds or 0.0)
    stating = 2 * _STATING * part.n_reports
    most = _MERGING * (stop - clock()) / max(2 * _HANDING_IN * _GROUPS, stating)
    graph = few_edges(edges, max(int(most), _SPARSE * part.n))
    left = stop - clock()
    groups = int(_MERGING * left / (2 * _HANDING_IN * len(graph)))
    mending = _MENDING * part.n**2
    columns = min(groups, int(_MERGING * left / mending))
    if columns < _FEWEST_GROUPS:
        note = "To hand anything in would take several times what is left; it was not started."
        return Candidate("primal-dual", None, None, note)
    place = np.empty(part.n, dtype=np.int64)
    place[near_together(part.paths)] = np.arange(part.n)
    reports = MergedReports.of(place[part.places], min(groups, part.n_reports))
    coarse = Part(reports.cost(part.cost), graph, part.epsilon, None)
    later = mending * min(columns, coarse.n_reports) + stating * len(graph)
    left = stop - clock()
    # What is left after that is worth nothing without steps.
    seconds = max(0.0, left - min(later, 0.5 * left))
    found = PrimalDual().solve(coarse, replace(limits, seconds=seconds, offer=None))
    if found is None or found.matrix is None:
        return Candidate("primal-dual", None, None, "No step was taken in time.")
    every = part.nats(part.paths)
    # A bound has more reports than there is time to mend.
    firsts = np.linspace(0, coarse.n_reports, min(columns, coarse.n_reports), endpoint=False)
    few = np.add.reduceat(found.matrix, firsts.astype(np.int64), axis=1)
    table = mend_all(few, every, _DELTA_ALL, threads=limits.threads, late=lambda: clock() > stop)
    matrix = reports.renamed(table, part.cost)
    prices = None if found.multipliers is None else reports.prices(found.multipliers)
    note = f"{found.note[:-1]}, on {len(graph)} edges and {coarse.n_reports} merged reports."
    return replace(found, matrix=matrix, multipliers=prices, note=note)


def _nearest(edges: Adjacency, nats: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the shortest edge of each secret."""
    nearest: NDArray[np.float64] = np.full(edges.n, np.inf)
    for side in edges.pairs.T:
        np.minimum.at(nearest, side, nats)
    return nearest


class _Run:
    """One run: the best bound so far, and what has been handed in."""

    def __init__(
        self,
        part: Part,
        limits: PartLimits,
        edges: Adjacency,
        dilation: float,
        begun: float,
        *,
        persistent: bool,
    ) -> None:
        self.limits, self.persistent, self.dilation = limits, persistent, dilation
        seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop = begun + seconds
        # Where nobody listens, what is handed in is the end.
        self.first_due = self.stop if limits.offer is None else begun + _FIRST_PART * seconds
        home = part.cost.argmin(axis=0) if part.home is None else part.home
        self.near = near = Ordered.of(part.cost, edges, part.paths, home)
        self.nats = part.nats(near.edges.lengths)
        # Long edges of a spanner say nothing of how far the nearest are apart.
        step = float(np.median(self.nats if dilation == 1 else _nearest(near.edges, self.nats)))
        paths = part.nats(part.paths[np.ix_(near.secrets, near.secrets)])
        scaling = Scaling(near.cost, paths, near.place[home[near.reports]], step)
        self.every = paths if dilation > 1 else None
        self.state = Iterate(near.cost, scaling, near.edges, self.nats, limits.threads)
        self.best = Mixture(near.cost, self.state)
        left = max(self.stop - clock(), 0.0)
        self.reserve = min(_HANDING_IN * self.state.L.size, _RESERVED * left)
        self.polishes = _state_to_polish(len(edges), part) <= _LARGEST_STATE
        self.gained, self.safe = _GAINED, _SAFE
        # What one round of raising adds to the loss, and how many times that mending added the last time.
        self.raised, self.beyond = math.inf, 1.0
        self.mended = self.offered = self.polished = 0
        self.gap = self.upper = math.inf
        # What mending adds to the loss, as a factor; known from the last time.
        self.excess = 1.0
        self.ready: NDArray[np.float64] | None = None
        self.part = part
        self.exponential: float | None = None
        self.pool: ThreadPoolExecutor | None = None

    def until(self, iterations: int) -> Candidate:
        state = self.state
        checkpoint = max(1, int(_FIRST * math.sqrt(state.n / 1000)))
        balancing = max(1, int(_BALANCE * math.sqrt(state.n / 1000)))
        measuring = measured_after(state.n)
        with state.pool() as self.pool:
            while state.count < iterations:
                state.advance(self.pool)
                self.limits.beat()
                if state.count in measuring:
                    self._measure()
                now = clock()
                # The last iterate has to be mended and handed in, too, which may take as long as the last time.
                last = now + self.reserve > self.stop or state.count == iterations
                little = now > self.stop or state.count < _WORTH * self.offered
                if last and self.offered > 0 and little:
                    return self._bound_until(checkpoint, iterations)
                first = now > self.first_due and not self.offered
                if balancing <= state.count < checkpoint and not self.offered:
                    balancing = int(_BALANCE_GROWTH * state.count) + 1
                    self.best.learn(self.pool)
                    self._balance(self._iterate())
                if last or first or state.count >= checkpoint:
                    checkpoint = max(checkpoint, int(_GROWTH * state.count))
                    found = self._check(last=last, first=first)
                    if found is not None or last:
                        return found or self._candidate(None, None)
        return self._candidate(None, None)

    def _bound_until(self, checkpoint: int, iterations: int) -> Candidate:
        """Take steps for the bound alone, as long as there is time to hand it in; the channel is nearly as good."""
        state = self.state
        if clock() + _BOUNDING * self.reserve > self.stop:
            # Handing in took what was left: the prices are those that were handed in, but for a step or two.
            return self._candidate(None, None)
        while state.count < iterations and clock() + _BOUNDING * self.reserve <= self.stop:
            state.advance(self.pool)
            self.limits.beat()
            if state.count >= checkpoint:
                checkpoint = int(_GROWTH * state.count) + 1
                self.best.learn(self.pool)
        self.best.learn(self.pool)
        if self.polishes:
            self.best.polish(_POLISH, self.pool, self._late(_POLISHED * _BOUNDING))
        self.ready = None
        self._hand_in()
        return self._candidate(None, None)

    def _check(self, *, last: bool, first: bool) -> Candidate | None:
        """Evaluate bound and loss roughly; hand in what looks enough, or was waited for long enough."""
        state, listens = self.state, self.limits.offer
        self.best.learn(self.pool)
        matrix = self._iterate()
        if self._now_enough():
            # What was mended before, handed in or not, is enough now.
            return self._hand_in()
        loss = self._balance(matrix)
        # Before it is mended it breaks constraints and loses too little.
        guess = max(loss, state.level())
        waited = listens is not None and state.count >= _PATIENCE * self.offered
        start = clock()
        if last or first or waited or self._may_polish(guess * self.excess):
            self._polish(guess)
            if self._now_enough():
                return self._hand_in()
        since = state.count / max(self.mended, 1)
        close = self._enough(guess * self.excess) and since >= _AGAIN
        near = guess - self.best.lower <= _NEAR * self.limits.gap * guess
        close |= near and since >= _AGAIN_FOR_LESS
        if not (last or first or waited or close):
            return None
        # Mended it loses more than raised: early on, more than what takes no steps.
        if self.persistent or not listens or loss + self.raised <= self._plain():
            upper = self._mend(matrix)
            self.excess = upper / guess if guess > 0 else 1.0
            if self.raised > 0:
                self.beyond = min(max((upper - loss) / self.raised, 1.0), _MOST_BEYOND)
            self.mended = state.count
        if not (last or first or waited or self._enough(self.upper)):
            return None
        found = self._hand_in()
        self.reserve = _RESERVE * (clock() - start)
        return found

    def _iterate(self) -> NDArray[np.float64]:
        """Give the channel as it is; a row that steps have made zero is as it was before them."""
        matrix = self.state.matrix()
        empty = ~(matrix.sum(axis=1) > 0)
        matrix[empty] = self.state.scaling.start[empty]
        return matrix

    def _measure(self) -> None:
        """Measure variables by what steps have led to so far."""
        near, threads = self.near, self.limits.threads
        matrix = raise_once(self._iterate(), near.edges, self.nats, threads=threads)
        self.state.remeasure(matrix, self.best.L)

    def _balance(self, matrix: NDArray[np.float64]) -> float:
        """Balance what channel and bound lack; give the loss of the iterate once its rows sum to 1."""
        state, near = self.state, self.near
        loss = float(((near.cost * matrix).sum(axis=1) / matrix.sum(axis=1)).sum())
        raised = raise_once(matrix, near.edges, self.nats, threads=self.limits.threads)
        self.raised = float((near.cost * raised).sum()) - loss
        state.balance(self.beyond * self.raised, state.level() - self.best.lower)
        return loss

    def _late(self, part: float) -> Callable[[], bool]:
        """Make what tells that polishing took its share of the time, or leaves less than so much of the reserve."""
        now = clock()
        end = min(self.stop - part * self.reserve, now + _POLISHING * (self.stop - now))
        return lambda: clock() > end

    def _may_polish(self, guess: float) -> bool:
        """Tell whether polished multipliers may be enough, and were not tried just before."""
        hoped = self.best.lower + self.gained * max(guess - self.best.lower, 0.0)
        enough = guess - hoped <= self.safe * self.limits.gap * guess
        return enough and self.state.count >= _AGAIN * self.polished

    def _polish(self, guess: float) -> None:
        """Polish the multipliers, and learn what part of what the bound lacked it gave."""
        if not self.polishes:
            return
        before, self.polished = self.best.lower, self.state.count
        self.best.polish(_POLISH, self.pool, self._late(_POLISHED))
        if guess > before:
            self.gained = (self.best.lower - before) / (guess - before)

    def _now_enough(self) -> bool:
        """Tell whether what was mended before is enough, and some of it or of the prices was not handed in yet."""
        new = self.ready is not None or self.best.fresh
        return new and math.isfinite(self.upper) and self._enough(self.upper)

    def _plain(self) -> float:
        """Say what the exponential mechanism loses, its reports renamed: what listens has that in any case."""
        if self.exponential is None:
            matrix = Exponential().solve(self.part, self.limits).matrix
            loss = None if matrix is None else (self.part.cost.T @ matrix).min(axis=0).sum()
            self.exponential = math.inf if loss is None else float(loss)
        return self.exponential

    def _enough(self, upper: float) -> bool:
        return upper - self.best.lower <= self.safe * self.limits.gap * upper

    def _mend(self, matrix: NDArray[np.float64]) -> float:
        """Mend an iterate; say what it loses once its reports are renamed, and keep it if that is less."""
        gap, cost, threads = self.limits.gap, self.near.cost, self.limits.threads
        begun = clock()

        def late() -> bool:
            # What follows takes about as long.
            now = clock()
            return now + (now - begun) > self.stop

        if self.every is not None:
            delta = min(_DELTA_ALL, 0.1 * gap + 1e-7)
            table = mend_all(matrix, self.every, delta, threads=threads, late=late)
        else:
            delta = min(_DELTA, 0.1 * gap + 1e-9)
            table = mend(matrix, self.near.edges, self.nats, delta, threads=threads, late=late)
        upper = float((cost.T @ table).min(axis=0).sum())
        if upper < self.upper or self.ready is None:
            self.upper, self.ready = upper, table
        return upper

    def _hand_in(self) -> Candidate | None:
        """Hand in the best channel and the best prices; say what to return if that ends it."""
        ready, self.ready = self.ready, None
        matrix = None if ready is None else self.near.undone(ready)
        found = self._candidate(matrix, self._multipliers())
        listens = self.limits.offer
        if listens is None:
            return found
        before = self.gap
        if math.isfinite(self.upper):
            self.gap = (self.upper - self.best.lower) / (self.upper or 1.0)
        slow = self.state.count >= max(_SLOW, _PATIENCE * self.offered)
        stalled = slow and self.gap > _LITTLE * before and not self.persistent
        self.offered = self.state.count
        if listens(found) or stalled:
            return self._candidate(None, None)
        if self._enough(self.upper):
            # Repair lost more than mending: what is handed in next has to be better than seemed enough.
            self.safe *= _DEMANDED
        return None

    def _multipliers(self) -> Multipliers | None:
        """State the best prices since the last time, if there are any, unscaled and at full epsilon."""
        if not self.best.fresh:
            return None
        self.best.fresh = False
        state, near = self.state, self.near
        # Prices are in units of what a row costs: as many as there are secrets and constraints change little.
        gap = min(self.gap, 0.1) if self.limits.offer is not None else 0.0
        least = max(_LEAST / len(state.edges), _LEFT_OUT * gap)
        return state.prices(self.best.L, least, near.secrets, near.reports, self.pool)

    def _candidate(
        self, matrix: NDArray[np.float64] | None, prices: Multipliers | None
    ) -> Candidate:
        count, restarts = self.state.count, self.state.restarts
        note = f"{count} primal-dual steps, {restarts} restarts."
        facts = {"iterations": count, "restarts": restarts}
        if self.dilation > 1:
            note = f"{note[:-1]}, on {len(self.state.edges)} edges of a {at_most(self.dilation)}-spanner."
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
