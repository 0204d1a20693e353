"""Primal-dual steps on tiles as a method of design: for tables whose multipliers, all of them, take too much memory.

The same steps give the bound and a channel. What a tile leaves out, a report far from its secrets, has probability zero
in the iterate; mending raises it to the tail that privacy asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.local import Plan, priceable
from discreet.metricdp.part import Candidate
from discreet.metricdp.primal_dual.iterate import follows
from discreet.metricdp.primal_dual.mend import fill, mend, raise_once
from discreet.metricdp.primal_dual.order import near_together
from discreet.metricdp.primal_dual.units import measured_after

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp.part import Part, PartLimits

__all__ = ["Tiled", "tiles_pay"]

_FEWEST, _MOST = 100, 8000
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

_MANY = 8
"""Constraints a secret in a plane beyond which they do not."""

_LARGEST_WEIGHT = 12.0
"""Most that the primal weight is for 1,000 secrets until it is balanced, others by the root of their number."""

_POLISH = 64
"""Steps that make multipliers feasible. 700 random points, half a nat, after 383 steps: a bound of 2.823, and 2.880
with them; the channel of that iterate lost 2.970, November 2026."""

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


@final
@dataclass(frozen=True)
class _PartCosts:
    """The costs of a part that has a space and says where its reports stand."""

    part: Part
    space: MetricSpace
    homes: NDArray[np.int64]

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.part.cost[np.ix_(secrets, reports)]


@final
@dataclass(frozen=True)
class Tiled:
    """Primal-dual steps on tiles: multipliers for the bound, and a channel.

    Parameters
    ----------
    share
        Part of the time left after which both are handed in first: evaluating, repairing and verifying them need the
        rest.

    Examples
    --------
    >>> Tiled(share=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: share: expected a part of the time, above 0 and at most 1, got 0
    """

    share: float = 1 / 3

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidProblemError(
                "share", "a part of the time, above 0 and at most 1", self.share
            )

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
        return None if plan is None else _Run(part, plan, limits, self.share, begun).until()


def _plan(part: Part, gap: float) -> Plan | None:
    """Divide a part into tiles; ``None`` where it was made by hand, or has nothing to constrain."""
    graph = priceable(part.binding, part.epsilon)
    if part.space is None or part.home is None or not len(graph):
        return None
    costs = _PartCosts(part, part.space, np.asarray(part.home, dtype=np.int64))
    return Plan(costs, graph, part.epsilon, farthest=_FAR if gap < _NARROW else _NEAR)


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

    def __init__(
        self, part: Part, plan: Plan, limits: PartLimits, share: float, begun: float
    ) -> None:
        self.part, self.plan, self.limits = part, plan, limits
        seconds = math.inf if limits.seconds is None else limits.seconds
        self.stop, self.first_due = begun + seconds, begun + share * seconds
        self.state = plan.state(limits.threads)
        self.state.measuring = measured_after(part.n)
        self.state.weights = 0.2, _LARGEST_WEIGHT * math.sqrt(1000 / part.n)
        secrets = near_together(part.paths)
        self.place = np.empty(part.n, dtype=np.int64)
        self.place[secrets] = np.arange(part.n)
        # In the order of neighbors, so that a sweep over the edges carries far.
        self.cost = part.cost[secrets]
        graph = part.binding
        ends = self.place[graph.pairs].astype(np.int32)
        self.edges = Adjacency(graph.n, ends, graph.lengths, graph.scale_bits)
        self.nats = part.nats(self.edges.lengths)
        self.beyond, self.gained, self.safe = _BEYOND, _GAINED, _SAFE
        self.tried = self.offered = 0
        self.reserve, self.upper = 0.0, math.inf
        self.ready: NDArray[np.float64] | None = None
        self.handed = -math.inf
        self.pool: ThreadPoolExecutor | None = None

    def until(self) -> Candidate:
        state = self.state
        due = int(_FIRST * math.sqrt(state.n / 1000))
        with state.pool() as self.pool:
            while True:
                state.advance(self.pool)
                now = clock()
                last = now + self.reserve > self.stop or state.count == _MOST
                first = now > self.first_due and not self.offered
                if last and self.offered > 0 and state.count < _WORTH * self.offered:
                    return self._candidate(None)
                must = (last or first) and state.count >= _FEWEST
                if must or state.count >= due:
                    due = max(due, int(_GROWTH * state.count) + 1)
                    found = self._look(hand_in=must)
                    if found is not None or (must and last):
                        return found or self._candidate(None)

    def _look(self, *, hand_in: bool) -> Candidate | None:
        """Evaluate bound and loss roughly; hand in what is enough, or has to be; say what to return if that ends it."""
        state, begun = self.state, clock()
        state.learn(self.pool)
        matrix = state.matrix(self.place, self.part.n_reports)
        # Secrets that cost hardly anything may be served by a report outside of all their tiles.
        fill(matrix, self.edges, self.nats, threads=self.limits.threads)
        sums = matrix.sum(axis=1)
        loss = float(((self.cost * matrix).sum(axis=1) / sums).sum())
        raised = raise_once(matrix, self.edges, self.nats, threads=self.limits.threads)
        added = max(float((self.cost * raised).sum()) - loss, 0.0)
        del raised
        state.balance(added, state.level() - state.best)
        guess = max(loss + self.beyond * added, state.level())
        hoped = state.best + self.gained * max(guess - state.best, 0.0)
        close = self._enough(guess, hoped) and state.count >= _AGAIN * self.tried
        if not (hand_in or close):
            return None
        before = state.best
        # Polishing takes no time beside mending, and a bound is worth as much as a channel.
        state.polish(_POLISH, self.pool, aside=True, late=lambda: clock() > self.stop)
        upper = self._mend(matrix)
        if added > 0:
            self.beyond = min(max((upper - loss) / added, 1.0), _MOST_BEYOND)
        if upper > before:
            self.gained = (state.best - before) / (upper - before)
        self.tried = state.count
        if not (hand_in or self._enough(self.upper, state.best)):
            return None
        found = self._hand_in()
        self.reserve = _RESERVE * (clock() - begun)
        return found

    def _enough(self, upper: float, lower: float) -> bool:
        return upper - lower <= self.safe * self.limits.gap * upper

    def _late(self, begun: float) -> Callable[[], bool]:
        """Make what tells that no time is left but for what follows, which takes about as long."""
        return lambda: 2 * clock() - begun > self.stop

    def _mend(self, matrix: NDArray[np.float64]) -> float:
        """Mend an iterate; say what it loses, renamed if that is quick, and keep it if it is the best so far."""
        part = self.part
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

    def _hand_in(self) -> Candidate | None:
        """Hand in channel and prices; say what to return if that ends it."""
        ready, self.ready = self.ready, None
        found = self._candidate(None if ready is None else ready[self.place])
        del ready
        listens, self.offered = self.limits.offer, self.state.count
        if listens is None:
            return found
        if listens(found):
            return self._candidate(None)
        if self._enough(self.upper, self.state.best):
            # Repair lost more than mending: what is handed in next has to be better than seemed enough.
            self.safe /= 2
        return None

    def _candidate(self, matrix: NDArray[np.float64] | None) -> Candidate:
        state, plan, prices = self.state, self.plan, None
        if state.best > self.handed:
            gap = min(max(1 - state.best / self.upper, 0.0), 0.1) if self.upper > 0 else 0.0
            least = max(_LEAST, _LEFT_OUT * gap) if self.limits.offer is not None else _LEAST
            prices, self.handed = plan.named(state, least), state.best
        facts = {"iterations": state.count, "restarts": state.restarts, "tiles": len(plan.tiles)}
        note = f"{state.count} primal-dual steps on {len(plan.tiles)} tiles of {plan.reach:g} nats."
        return Candidate("primal-dual", matrix, prices, note, facts, rough=True)
