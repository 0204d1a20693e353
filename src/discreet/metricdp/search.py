"""The search of one design: candidates go in; what is repaired, verified and proven comes out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import SolverError
from discreet.core.jit import clock
from discreet.core.outcome import Design, Provenance
from discreet.core.progress import Progress
from discreet.core.verified import mark_verified
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.bounds.pairs import pair_prices
from discreet.metricdp.bounds.repair import Repaired, repair
from discreet.metricdp.methods.baselines import Exponential, PlanarLaplace, bayes_remap
from discreet.metricdp.methods.hub import TailsAndHub
from discreet.metricdp.part import (
    Candidate,
    Method,
    OutOfTime,
    Part,
    PartLimits,
    WholeProblem,
    solve_part,
)
from discreet.metricdp.problem import Problem
from discreet.metricdp.verify import Claim

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from discreet.core.certificate import Certificate
    from discreet.core.channels.channel import Channel
    from discreet.core.guarantee import MetricDP

__all__ = ["MetricDesign", "Search", "Trivial"]

_OPTIMAL = 1e-6
"""Proven relative gap that is called optimal: what rounding and repair leave."""

_MORE = 1.3
"""How much longer than the last time repair and verification may take."""

_TOO_LATE = 0.1
"""Part of the time limit; when less is left, no other method starts: most would build their program in vain."""

_OVERDUE = 0.5
"""Seconds beyond the limit after which repair makes no further attempt at a small loss."""

_NEGLIGIBLE = 2.0**-40
"""Loss, in parts of that of the best constant report, below which there is no gap to speak of: rounding alone makes
as much, and where the optimum is e^-1000 no relative gap could ever be reached."""

_CHEAP: tuple[Method, ...] = (Exponential(), PlanarLaplace(), TailsAndHub())
"""Channels that take no search: they are always compared, and no design loses more than the best of them."""

_SECONDS_BETWEEN_REPORTS = 1.0
"""Seconds after which steps report progress though nothing new is known: a line at least every two seconds."""

_MAX_SUM_ERROR = 1e-6
"""Amount by which the probabilities of a row of such a channel may not sum to 1 before it is left out."""

_CHEAP_SHARE = 0.1
"""Part of the time limit that each of these may take."""

MetricDesign = Design[Problem, Multipliers]


@final
@dataclass(frozen=True)
class Trivial:
    """What needs no optimization: parts of one secret, and problems with one report."""

    def solve(self, part: Part, _limits: PartLimits) -> Candidate | None:
        """Report the cheapest where nothing binds, or the only one."""
        if part.n > 1 and part.n_reports > 1:
            return None
        matrix = np.zeros_like(part.cost)
        matrix[np.arange(part.n), part.cost.argmin(axis=1)] = 1.0
        return Candidate("trivial", matrix, None, "Nothing binds the report.")


class _State:
    """What is known about one part."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.best: Candidate | None = None
        self.raw = math.inf
        self._compared: list[tuple[Candidate, float]] = []
        self.repaired: Repaired | None = None
        self.prices = Multipliers.none()
        self.lower = max(0.0, self._lower(self.prices))

    def _lower(self, prices: Multipliers) -> float:
        return lower_bound(self.part.cost, self.part.constraints, self.part.epsilon, prices)

    @property
    def cheapest(self) -> tuple[Candidate, float]:
        """The best channel that takes no search, its reports renamed, and its loss: at least the exponential one."""
        if not self._compared:
            self.compare(Exponential(), PartLimits())
        return min(self._compared, key=itemgetter(1))

    def compare(self, method: Method, limits: PartLimits) -> str | None:
        """Keep a channel that takes no search if it loses least of these; return what the trace says of it."""
        answer = solve_part(method, self.part, limits)
        if not isinstance(answer, Candidate):
            return answer
        measured = self._measured(answer)
        if measured is None:
            return None
        self._compared.append(measured)
        return answer.note

    def _measured(self, answer: Candidate) -> tuple[Candidate, float] | None:
        if answer.matrix is None:
            return None
        if not np.abs(answer.matrix.sum(axis=1) - 1.0).max() < _MAX_SUM_ERROR:
            # Integrals of noise over cells fail where it is wider than the cells by more digits than floats have.
            return None
        renamed = _renamed(self.part, answer)
        matrix = renamed.matrix
        return None if matrix is None else (renamed, float((self.part.cost * matrix).sum()))

    @property
    def current(self) -> tuple[Candidate, float]:
        """The candidate that loses least, and its loss: the best of a search, or of what takes none."""
        cheapest, loss = self.cheapest
        return (self.best, self.raw) if self.best and self.raw <= loss else (cheapest, loss)

    def lost(self, candidate: Candidate, upper: float) -> None:
        """Restate the loss of the best channel that takes no search, once it is repaired and rounded."""
        self._compared = [
            (one, max(loss, upper) if one is candidate else loss) for one, loss in self._compared
        ]

    def done(self, gap: float) -> bool:
        """Whether the proven gap is less than half of the one requested, so that rounding may take the rest."""
        upper = min(self.raw, self.cheapest[1]) if self._compared else self.raw
        left = upper - self.lower
        return math.isfinite(left) and left <= max(gap / 2, 1e-9) * upper

    def learn(
        self,
        found: Candidate,
        threads: int = 1,
        late: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Keep better prices and a better matrix; return whether the matrix is. Once it is late, repair is short."""
        if found.multipliers is not None:
            lower = self._lower(found.multipliers)
            if lower > self.lower:
                self.prices, self.lower = found.multipliers, lower
        matrix = found.matrix
        if matrix is None:
            return False
        sums = matrix.sum(axis=1)
        if not sums.min() > 0:
            return False
        part, repaired = self.part, None
        raw = float(((part.cost * matrix).sum(axis=1) / sums).sum())
        most = min(self.raw, self.cheapest[1]) if self._compared else self.raw
        if found.rough:
            # Renamed it loses less: that product takes as long as a repair, and is not needed where this is enough.
            if raw >= most and float((part.cost.T @ matrix).min(axis=0).sum()) >= most:
                return False
            repaired = _repaired(matrix, part, threads, late)
            raw = repaired.upper
        if raw >= most:
            return False
        if repaired is not None:
            found = replace(found, matrix=repaired.channel.probabilities)
        self.best, self.raw, self.repaired = found, raw, repaired
        return True


@dataclass(frozen=True)
class _Verified:
    """A channel that passed every check, with where it came from."""

    channel: Channel
    certificate: Certificate
    upper: float
    method: str
    parameters: dict[str, Any]


class Search:
    """The state of one design: what is proven so far, and by which channel it is met."""

    def __init__(
        self,
        whole: WholeProblem,
        guarantee: MetricDP,
        limits: PartLimits,
        on_progress: Callable[[Progress], None] | None,
        executor: Executor | None,
        *,
        start: float | None = None,
    ) -> None:
        self.start = clock() if start is None else start
        self.handling = 0.0
        self.reported = self.start
        self.whole, self.guarantee, self.limits = whole, guarantee, limits
        self.claim = Claim(whole.problem.space, guarantee)
        self.on_progress, self.executor = on_progress, executor
        self.states = [_State(part) for part in whole.parts]
        self.trace: list[str] = []
        self.short_of_time = self.forced = False
        self.verified: _Verified | None = None
        self.judged: set[tuple[int, ...]] = set()
        """Identities of the candidates, one for each part, whose channels were verified."""
        self.witness = Multipliers.none()
        self.lower = 0.0
        self._bound()
        constant = float(whole.cost.sum(axis=0).min())
        self.negligible = _NEGLIGIBLE * constant

    def run(
        self,
        quick: tuple[Method, ...],
        costly: Callable[[WholeProblem], tuple[tuple[Method, ...], str]],
    ) -> MetricDesign:
        """Try the methods in turn until the gap is reached or time is up, after the channels that take no search.

        ``costly`` lists methods and the reason for their order.
        """
        for method in quick:
            self._try(method)
        if not self.optimal:
            self._compare()
        # What the order of methods depends on takes seconds where all of 1,000 secrets are constrained.
        methods, why = ((), "") if self.reached or self._late() else costly(self.whole)
        if why:
            self.trace.append(why)
        for method in methods:
            if self.reached or self._late() or self._pointless():
                break
            self._try(method)
        return self._finished()

    def force(self, method: Method) -> MetricDesign:
        """Use one method and no other, apart from what is trivial.

        Raises
        ------
        SolverError
            When it finds no channel although there was time.
        """
        self.forced = True
        self._try(Trivial())
        self._try(method)
        if self.verified is None and self._remaining() != 0 and not self.short_of_time:
            said = self.trace[-1] if self.trace else ""
            raise SolverError(type(method).__name__, "found no channel", said)
        return self._outcome(self.verified or self._fall_back())

    def _finished(self) -> MetricDesign:
        """Return the known channel that loses least, with the bound by pairs at least."""
        if not self.reached:
            for state in self.states:
                state.learn(Candidate("pairs", None, pair_prices(state.part), ""))
            self._bound()
        return self._outcome(self._fall_back())

    def _compare(self) -> None:
        """Compare the channels that take no search; verify the best if the bound so far proves it good enough."""
        seconds = self.limits.seconds
        for method in _CHEAP:
            # All components share the time of a method.
            stop = None if seconds is None else clock() + _CHEAP_SHARE * seconds
            notes: list[str | None] = []
            for state in self.states:
                left = None if stop is None else max(0.0, stop - clock())
                if left == 0 and notes and method is not _CHEAP[0]:
                    break
                notes.append(state.compare(method, replace(self.limits, seconds=left)))
            name = type(method).__name__
            self.trace += [f"{name}: {note}" for note in notes[:1] if note]
            self._tell(name)
        self._take("Cheap channels", better=False)

    @property
    def best(self) -> MetricDesign | None:
        """The best design so far, verified."""
        return self._outcome(self._fall_back())

    @property
    def reached(self) -> bool:
        """Whether what is requested is proven."""
        if self.verified is None:
            return False
        return self._gap() <= self.limits.gap or self.verified.upper - self.lower <= self.negligible

    @property
    def optimal(self) -> bool:
        """Whether the verified channel is proven to be optimal, up to rounding."""
        return self.verified is not None and self._gap() <= _OPTIMAL

    def _try(self, method: Method) -> None:
        todo = [state for state in self.states if not state.done(self.limits.gap)]
        if not todo:
            return
        found = self._solve(method, todo)
        better, news = False, []
        for state, answer in zip(todo, found, strict=True):
            if isinstance(answer, Candidate):
                better |= state.learn(answer, self.limits.threads, self._overdue)
            self.short_of_time |= isinstance(answer, OutOfTime)
            if answer is not None:
                news.append(answer.note if isinstance(answer, Candidate) else answer)
        name = type(method).__name__
        if news:
            more = f" (the first of {len(news)} components)" if len(set(news)) > 1 else ""
            self.trace.append(f"{name}: {news[0]}{more}")
        elif isinstance(method, Trivial):
            return
        else:
            self.trace.append(f"{name} does not apply.")
        self._take(name, better=better)

    def _take(self, name: str, *, better: bool) -> None:
        """Bound, verify and tell what was learned."""
        self._bound()
        if self.forced:
            if better and all(state.best is not None for state in self.states):
                self._verify([state.best for state in self.states if state.best is not None])
        elif better or self._enough():
            self._verify([state.current[0] for state in self.states])
        self._tell(name)

    def _enough(self) -> bool:
        """Whether a channel that is not verified yet loses so little that the gap is reached."""
        upper = sum(state.current[1] for state in self.states)
        return self._is_new() and upper - self.lower <= max(
            self.limits.gap * upper, self.negligible
        )

    def _offered(self, name: str, state: _State, found: Candidate) -> bool:
        """Take what a method has so far; say whether it is enough."""
        better = state.learn(found, self.limits.threads, self._overdue)
        self._take(name, better=better)
        return self.reached if len(self.states) == 1 else state.done(self.limits.gap)

    def _solve(self, method: Method, todo: list[_State]) -> list[Candidate | str | None]:
        if self.executor is not None and len(todo) > 1:
            # What is elsewhere can't hand anything in before it ends.
            limits = replace(self.limits, seconds=self._remaining(), handling=self.handling)
            n, parts = len(todo), [state.part for state in todo]
            return list(self.executor.map(solve_part, [method] * n, parts, [limits] * n))
        name, found = type(method).__name__, []
        for state in todo:
            offer = partial(self._offered, name, state)
            limits = replace(
                self.limits,
                seconds=self._remaining(),
                offer=offer,
                handling=self.handling,
                beat=partial(self._beat, name),
            )
            found.append(solve_part(method, state.part, limits))
        return found

    def _bound(self) -> None:
        """Evaluate the bound for the problem as stated, from the best prices of every part."""
        whole = self.whole
        prices = whole.lift([state.prices for state in self.states])
        lower = self.states[0].lower
        if len(self.states) > 1 or whole.merged is not whole.constraints:
            lower = lower_bound(whole.problem.cost, whole.constraints, whole.epsilon, prices)
        if lower > self.lower:
            # In this order: a signal between the two leaves a bound that its witness proves.
            self.witness = prices
            self.lower = lower

    def _verify(self, parts: list[Candidate]) -> _Verified:
        """Repair, round and verify the matrices of the parts; keep the channel if it loses less."""
        whole, problem, start = self.whole, self.whole.problem, clock()
        judged = tuple(id(part) for part in parts)
        repaired = self.states[0].repaired if len(self.states) == 1 else None
        if repaired is None or parts[0] is not self.states[0].best:
            matrix = whole.assemble([part.matrix for part in parts if part.matrix is not None])
            repaired = repair(
                matrix,
                whole.binding,
                whole.epsilon,
                cost=whole.cost,
                threads=self.limits.threads,
                late=self._overdue,
            )
        channel = repaired.channel
        if whole.n_classes < problem.n_secrets:
            channel = channel.restrict(whole.labels)
        upper = _loss(channel, problem.cost)
        for state, part, members in zip(self.states, parts, whole.members, strict=True):
            # A program without its loosest constraints loses less than the repair leaves of it.
            lost = upper
            if len(self.states) > 1:
                rows = repaired.channel.probabilities[members]
                lost = float((whole.cost[members] * rows).sum())
            if part is state.best:
                state.raw = max(state.raw, lost)
            elif not self.forced:
                state.lost(part, lost)
        if self.verified is not None and upper >= self.verified.upper:
            self.judged.add(judged)
            return self.verified
        certificate = self.claim.check(channel)
        certificate.raise_for_failure()
        # Of many components the largest speaks for all.
        main = max(zip(whole.parts, parts, strict=True), key=lambda pair: pair[0].n)[1]
        facts = {
            **main.parameters,
            "delta": str(repaired.delta),
            "theta": str(repaired.theta),
            "limbs": repaired.limbs,
        }
        self.verified = _Verified(channel, certificate, upper, main.method, facts)
        # Not before: what a signal interrupted here is verified by the fallback.
        self.judged.add(judged)
        self.handling = _MORE * (clock() - start)
        return self.verified

    def _is_new(self) -> bool:
        """Whether the best candidates are not verified yet and lose less than the verified channel."""
        tried = [state.current for state in self.states]
        if tuple(id(candidate) for candidate, _ in tried) in self.judged:
            return False
        loss = sum(loss for _, loss in tried)
        return self.verified is None or loss < (1 - _OPTIMAL) * self.verified.upper

    def _fall_back(self) -> _Verified:
        """Verify the channel that loses least, if it is not the verified one already; return what then loses least.

        A channel that is repaired and rounded may lose more than before. Then the next is compared with it, as long as
        that loses less.
        """
        while self.verified is None or (not self.forced and self._is_new()):
            tried = [state.current[0] for state in self.states]
            self._verify(tried)
            self._tell(tried[0].method)
        if self.verified is None:  # pragma: no cover - a first channel is always kept
            raise SolverError("Exponential", "no channel", "")
        return self.verified

    def _remaining(self) -> float | None:
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - (clock() - self.start))

    def _overdue(self) -> bool:
        """Tell whether the limit is over by so much that a repair has to end."""
        return self._remaining() == 0 and clock() - self.start > _OVERDUE + (
            self.limits.seconds or 0.0
        )

    def _late(self) -> bool:
        left, seconds = self._remaining(), self.limits.seconds
        return left is not None and seconds is not None and left <= _TOO_LATE * seconds

    def _pointless(self) -> bool:
        """Tell whether there is a channel with a bound, and no time to repair and verify another."""
        left = self._remaining()
        known = self.verified is not None and self.lower > self.negligible
        return known and left is not None and left <= self.handling

    def _gap(self) -> float:
        upper = math.inf if self.verified is None else self.verified.upper
        if upper <= self.lower:
            return 0.0
        return 1.0 if math.isinf(upper) else (upper - self.lower) / upper

    def _beat(self, method: str) -> None:
        """Report progress if the last report is older than a second."""
        if clock() - self.reported > _SECONDS_BETWEEN_REPORTS:
            self._tell(method)

    def _tell(self, method: str) -> None:
        self.reported = clock()
        if self.on_progress is not None:
            elapsed = clock() - self.start
            upper = None if self.verified is None else self.verified.upper
            self.on_progress(Progress(elapsed, method, lower=self.lower, upper=upper))

    def _outcome(self, found: _Verified) -> MetricDesign:
        problem = self.whole.problem
        provenance = Provenance(
            method=found.method,
            parameters=found.parameters,
            assumed_public=problem.assumed_public(),
            method_trace=tuple(self.trace),
        )
        made = Design(
            channel=found.channel,
            guarantee=self.guarantee,
            certificate=found.certificate,
            lower=self.lower,
            upper=found.upper,
            provenance=provenance,
            problem=problem,
            witness=self.witness,
            status=self._status(),
        )
        return mark_verified(made)

    def _status(self) -> str:
        if self._gap() <= _OPTIMAL:
            return "optimal"
        if self._gap() <= self.limits.gap:
            return "gap reached"
        return "loss negligible" if self.reached else "limit reached"


def _repaired(
    matrix: NDArray[np.float64], part: Part, threads: int, late: Callable[[], bool]
) -> Repaired:
    """Repair a rough matrix, and rename each report as the one that costs least given it."""
    cost = part.cost
    repaired = repair(matrix, part.binding, part.epsilon, cost=cost, threads=threads, late=late)
    channel = bayes_remap(repaired.channel, part.cost)
    upper = channel.expected_loss(part.cost)
    return replace(repaired, channel=channel, upper=upper) if upper < repaired.upper else repaired


def _renamed(part: Part, found: Candidate) -> Candidate:
    """Rename each report as the one that costs least given it: no less private, and no more costly."""
    if found.matrix is None:
        return found
    # Single precision chooses nearly as well in half the time; what the choice loses is summed in double.
    cost = (part.cost / (part.cost.max() or 1.0)).astype(np.float32)
    best = (cost.T @ found.matrix.astype(np.float32)).argmin(axis=0)
    renamed = np.zeros_like(found.matrix)
    np.add.at(renamed.T, best, found.matrix.T)
    return replace(found, matrix=renamed)


def _loss(channel: Channel, cost: NDArray[np.float64]) -> float:
    """Expected loss, rounded up; exactly zero where every report that can happen is free."""
    free = not any(((limb > 0) & (cost > 0)).any() for limb in channel.limbs)
    return 0.0 if free else channel.expected_loss(cost)
