"""Primal-dual steps on tiles as a method of design: for tables whose multipliers, all of them, take too much memory.

The same steps give the bound and a channel. What a tile leaves out, a report far from its secrets, has probability zero
in the iterate; mending raises it to the tail that privacy asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

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
from discreet.metricdp.primal_dual.seeds import has_near_structure, is_dense, spanner_for_steps
from discreet.metricdp.primal_dual.units import measured_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.lengths import Lengths
    from discreet.metricdp.part import Part, PartLimits

__all__ = ["Tiled", "tiles_pay"]

_FEWEST, _MOST = 100, 30_000
"""Steps that are taken whatever the time, since before them there is nothing to speak of; and most steps."""

_FIRST, _GROWTH = 110.0, 1.15
"""Steps before both sides are looked at first, for 1,000 secrets and as the root of their number for others; and from
one look to the next."""

_FEW_SECRETS, _MOST_HELD = 300, 0.35
"""Secrets up to which tiles come before steps on one table whatever they hold, since less is handed in; and the part of
all multipliers up to which they do for more. Seven families of 225, half a nat and two, 1 %: the median of 14 was .56
CPU seconds by tiles and .85 by one table; a grid at two nats .47 and .27. 800 uniform points, half a nat, whose tiles
hold .58: 10.5 and 7.4, with twice the steps; November 2026."""

_SPARSE = 3.0
"""Constraints a secret up to which tiles may come first outside of planes, as on roads. 225 words by the Euclidean
distance have 5.8, and a quarter nat left 2.3 % after 8,000 steps on tiles; 600 of them half a nat 2.3 % after 4,000,
where one table took 3,441 steps to 1 %; November 2026."""

_RARE, _FEW_RARE = 0.01, 0.02
"""Part of the median row's cost below which a secret is rare, and part of the secrets that may be: to send them to
reports outside of their tiles costs nothing, so that neither side learns what they are worth to their neighbors. A
third without any probability left 14.5 % of 225 random points after 8,000 steps, November 2026."""

_NEAR, _FAR, _NARROW = 9.0, 10.5, 0.02
"""Nats from reports to the secrets of their tile, the latter for gaps below the third: a grid of 225, two nats a cell,
took 596 steps to 1 % with 9, what it left out being a third of that, and 340 with 10.5 and with 12; November 2026."""

_REACH_ON_SPANNERS = 7.0
"""The same on a spanner, which leaves out more: of 2,000 junctions the bound was .825 with 7 nats, .775 with 4."""

_MANY = 8
"""Constraints a secret in a plane beyond which they do not."""

_LARGEST_WEIGHT = 12.0
"""Most that the primal weight is for 1,000 secrets until it is balanced, others by the root of their number."""

_POLISH = 64
"""Steps that make multipliers feasible. 700 random points, half a nat, after 383 steps: a bound of 2.823, and 2.880
with them; the channel of that iterate lost 2.970, November 2026."""

_RESERVED_STEPS = 100
"""Steps whose time is reserved for what follows the last: 64 that polish the multipliers, mending and the bound."""

_BEYOND, _GAINED = 1.27, 0.4
"""How many times what one round of raising adds to the loss mending is thought to add, and what part of what the bound
lacks polishing is thought to give, before they were tried: 300 and 700 such points after 270 to 380 steps, 1.24 to 1.30
and 0.38; November 2026."""

_MOST_BEYOND = 4.0
"""Most of the former."""

_AGAIN, _WORTH = 1.2, 1.5
"""How many times the steps of the last time make mending, and handing in late, worth it again."""

_SAFE = 0.97
"""Part of the gap to reach before anything is handed in as enough: rounding takes the rest."""

_FEW = 3000
"""Secrets up to which reports are renamed to see what a channel loses: 5,041 take 10 CPU seconds, November 2026."""

_DELTA = 2e-4
"""Most of epsilon that mending leaves for rows that do not sum to one."""

_LEAST, _LEFT_OUT = 1e-6, 1e-2
"""What prices that are left out may be, in units of what a typical secret costs; and times the gap."""

_RESERVE = 1.3
"""How much longer than the last time it may take to mend, polish, hand in, repair and verify."""


_GAP_FOR_REACH = 5e-3
"""Relative gap below which tiles hold all secrets: what a reach of nine nats leaves out may matter."""

_DELTA_ALL = 1e-3
"""The same over all pairs at once, whose rounds take long."""

_MERGED = (400, 600, 1000)
"""Numbers of groups of near reports that are tried, fewest first, before all reports are mended."""

_MERGING_LOSS = 0.25
"""Part of the gap that merging reports may add to the loss of the iterate."""

_MENDED_TRIPLE = 4.0
"""Time that mending takes for two secrets and a merged report, in units of that of a multiplier in a step: 12 rounds of
a third of a nanosecond each."""

_GROWTH_OF_ARCS = 1.3
"""Factor by which the number of steps grows before constraints are added again: each addition restarts the steps."""

_LEAST_SUM = 1e-12
"""Sum of a row below which it counts as empty."""


@final
@dataclass(frozen=True)
class _PartCosts:
    """Costs of a part, in blocks of secrets and reports."""

    part: Part
    lengths: Lengths
    homes: NDArray[np.int64]

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.part.cost[np.ix_(secrets, reports)]


@final
@dataclass(frozen=True)
class Tiled:
    """Primal-dual steps on tiles: multipliers for the bound, and a channel.

    Examples
    --------
    >>> Tiled()
    Tiled()
    """

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Take steps until what is handed in is enough, time is up, or the last step is taken.

        Returns
        -------
        Candidate or None
            ``None`` for a part that was made by hand, or has nothing to constrain. Without a matrix where everything
            was handed in already.

        Complexity
        ----------
        A step takes a nanosecond for each multiplier: ``2 m`` times 64 for each tile, m the constraints between its
        secrets. At most 3 GiB for the state, two thirds more while multipliers are polished, and some tables of
        ``n`` by ``n_reports``.
        """
        begun = clock()
        plan = _plan(part, limits.gap)
        return None if plan is None else _Run(part, plan, limits, begun).until()


def _plan(part: Part, gap: float) -> Plan | None:
    """Divide a part into tiles and choose the constraints that get a price; ``None`` if nothing is constrained."""
    graph = priceable(part.binding, part.epsilon)
    if not len(graph) or part.n_reports < 2:
        return None
    homes = part.cost.argmin(axis=0) if part.home is None else np.asarray(part.home)
    costs = _PartCosts(part, TableLengths(part.paths), homes.astype(np.int64))
    stars, farthest = False, _FAR if gap < _NARROW else _NEAR
    if is_dense(graph):
        stars = not has_near_structure(part.paths)
        if not stars:
            graph, fine = spanner_for_steps(graph)
            farthest = farthest if fine else _REACH_ON_SPANNERS
    largest = float(part.cost.max()) or 1.0
    decays = follows(part.cost / largest, part.nats(part.paths)[:, homes])
    if not decays or gap < _GAP_FOR_REACH or _has_rare_secrets(part):
        farthest = math.inf
    return Plan(costs, graph, part.epsilon, farthest=farthest, stars=stars, decays=decays)


def _has_rare_secrets(part: Part) -> bool:
    """Return whether many secrets cost so little that reports outside of their tiles are free for them."""
    rows = part.cost.mean(axis=1)
    return float((rows < _RARE * float(np.median(rows))).mean()) > _FEW_RARE


def tiles_pay(part: Part, gap: float) -> bool:
    """Tell whether steps on tiles pay: losses grow with the distance, and tiles leave something out or are few."""
    most = _SPARSE if part.plane is None else _MANY
    if part.home is None or len(part.binding) > most * part.n:
        return False
    largest = float(part.cost.max()) or 1.0
    if not follows(part.cost / largest, part.nats(part.paths)[:, part.home]):
        return False
    rows = part.cost.mean(axis=1)
    if float((rows < _RARE * float(np.median(rows))).mean()) > _FEW_RARE:
        return False
    plan = _plan(part, gap)
    if plan is None:
        return False
    whole = 2 * len(plan.graph) * part.n_reports
    return part.n <= _FEW_SECRETS or plan.held() <= _MOST_HELD * whole


class _Run:
    """One run: what was handed in, and how long that took."""

    def __init__(self, part: Part, plan: Plan, limits: PartLimits, begun: float) -> None:
        self.part, self.plan, self.limits = part, plan, limits
        seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop = begun + seconds
        self.state = plan.state(limits.threads)
        self.state.measuring = measured_after(part.n)
        self.state.weights = 0.2, _LARGEST_WEIGHT * math.sqrt(1000 / part.n)
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
        self.beyond, self.gained, self.safe = _BEYOND, _GAINED, _SAFE
        self.tried = self.offered = self.grown = 0
        self.reserve, self.upper = 0.0, math.inf
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
        due, started = int(_FIRST * math.sqrt(state.n / 1000)), clock()
        with state.pool() as self.pool:
            while True:
                state.advance(self.pool)
                self.limits.beat()
                # What follows the last step takes about as long as so many steps, if that was not measured yet.
                step = (clock() - started) / state.count
                reserve = max(self.reserve, 0.0 if self.offered else self._foreseen(step))
                last = clock() + reserve > self.stop or state.count == _MOST
                if last and self.offered > 0 and state.count < _WORTH * self.offered:
                    return self._candidate(None)
                must = last and state.count >= _FEWEST
                if must or state.count >= due:
                    due = max(due, int(_GROWTH * state.count) + 1)
                    found = self._look(hand_in=must)
                    if found is not None or must:
                        return found or self._candidate(None)

    def _foreseen(self, step: float) -> float:
        """Estimate the seconds that polishing, mending and bounding take, from those of a step."""
        seconds = _RESERVED_STEPS * step
        if self.every is not None:
            triples = self.part.n**2 * min(self.part.n_reports, _MERGED[0])
            seconds += _MENDED_TRIPLE * step / self.plan.multipliers * triples
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
        close = self._enough(guess, hoped) and state.count >= _AGAIN * self.tried
        # What polishing gives is not known before it was tried once.
        close |= not self.tried and self._enough(guess, state.level())
        if not (hand_in or close):
            return None
        self._polish(guess)
        if not (hand_in or self._enough(guess, state.best)):
            return None
        upper = self._mend(matrix)
        if added > 0:
            self.beyond = min(max((upper - loss) / added, 1.0), _MOST_BEYOND)
        if not (hand_in or self._enough(self.upper, state.best)):
            return None
        found = self._hand_in()
        self.reserve = _RESERVE * (clock() - begun)
        return found

    def _polish(self, upper: float) -> None:
        """Move copies of the multipliers to where they are nearly feasible; learn what that gave of what was lacking."""
        state, before = self.state, self.state.best
        state.polish(_POLISH, self.pool, aside=True, late=self._late(clock()))
        self.tried = state.count
        if upper > before:
            self.gained = (state.best - before) / (upper - before)

    def _raised(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raise the iterate once and divide rows by their sums; with stars, add constraints that it violates."""
        state, threads = self.state, self.limits.threads
        if self.every and self.plan.stars and state.count >= _GROWTH_OF_ARCS * self.grown:
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
        delta = min(_DELTA, 0.1 * self.limits.gap + 1e-9)
        table = mend(
            matrix,
            self.edges,
            self.nats,
            delta,
            threads=self.limits.threads,
            late=self._late(clock()),
        )
        few = part.n <= _FEW
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
        delta = min(_DELTA_ALL, 0.1 * self.limits.gap + 1e-7)
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
        allowed = _MERGING_LOSS * max(whole - self.state.best, 0.0)
        for groups in _MERGED:
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
            least = max(_LEAST, _LEFT_OUT * gap) if self.limits.offer is not None else _LEAST
            prices, self.handed = plan.named(state, least), state.best
        facts = {"iterations": state.count, "restarts": state.restarts, "tiles": len(plan.tiles)}
        note = f"{state.count} primal-dual steps on {len(plan.tiles)} tiles of {estimate(plan.reach)} nats."
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
