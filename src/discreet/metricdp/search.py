"""The search of one design: candidates of methods are repaired, verified and bounded, and the best is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, final
from weakref import ref

import numpy as np

from discreet.core.errors import SolverError
from discreet.core.jit import clock
from discreet.core.outcome import Design, Provenance
from discreet.core.progress import FINAL_VERIFICATION, Progress, gap_between
from discreet.core.verified import mark_verified
from discreet.metricdp.bounds.bound import Multipliers, lower_bound, sum_of_levels
from discreet.metricdp.bounds.repair import Repaired, repair
from discreet.metricdp.methods.baselines import Exponential, PlanarLaplace
from discreet.metricdp.methods.hub import TailsAndHub
from discreet.metricdp.methods.remap import rename_columns
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


class _Limits(NamedTuple):
    """Time and accuracy of a search."""

    max_optimal_gap: float = 1e-6
    """Proven relative gap up to which the status is "optimal": the loss added by rounding and repair."""

    least_gain: float = 1e-9
    """Least relative rise of a bound for which its prices are kept: more than rounding, since which methods run depends
    on the limit."""

    seconds_between_reports: float = 1.0
    """Seconds after which steps report progress without new bounds: a line at least every two seconds."""

    max_sum_error: float = 1e-6
    """Largest error of a row's sum in a channel of a cheap method; with a larger one the channel is left out."""

    method_time_share: float = 0.1
    """Share of the time limit for each cheap method, and that must remain for another one to start, since most build a
    program first."""


_LIMITS = _Limits()


_CHEAP_METHODS: tuple[Method, ...] = (Exponential(), PlanarLaplace(), TailsAndHub())
"""Methods without a search, which always run: no design loses more than the best of their channels."""

MetricDesign = Design[Problem, Multipliers]


def negligible_loss(cost: NDArray[np.float64], *, share: float = 2.0**-40) -> float:
    """Return the gap that counts as reached, in the unit of the costs ``(n, n_reports)``.

    A `share` of the loss of the best constant report: rounding adds as much, and e^-1000 has no relative gap. Linear.
    """
    return share * float(cost.sum(axis=0).min())


@final
@dataclass(frozen=True)
class Trivial:
    """The optimum of parts with one secret, and of problems with one report."""

    def solve(self, part: Part, _limits: PartLimits) -> Candidate | None:
        """Return the cheapest report for each secret, of probability 1; ``None`` for several secrets and reports."""
        if part.n > 1 and part.n_reports > 1:
            return None
        matrix = np.zeros_like(part.cost)
        matrix[np.arange(part.n), part.cost.argmin(axis=1)] = 1.0
        return Candidate("trivial", matrix, None, "Nothing binds the report.")


class _State:
    """Best candidates and bound of one part.

    Parameters
    ----------
    part
        The part.
    close
        Repair of a matrix ``(n, n_reports)`` of the part.
    """

    def __init__(self, part: Part, close: Callable[[NDArray[np.float64], Part], Repaired]) -> None:
        self.part, self.close = part, close
        self._found: dict[Method | None, tuple[Candidate, float]] = {}
        """Candidate of each method without a search with its loss, and the best of all searches under ``None``."""
        self.repaired: Repaired | None = None
        self.prices = Multipliers.empty()
        # Without prices each row has the cost of its best report.
        self.lower = max(0.0, sum_of_levels(part.cost.min(axis=1)))

    @property
    def best(self) -> Candidate | None:
        """The best candidate of a search, if any."""
        return self._found[None][0] if None in self._found else None

    def compare(self, method: Method, limits: PartLimits) -> str | None:
        """Add the channel of a method without a search to the candidates; return its note for the trace.

        `limits` has the seconds for it. If there is no channel, returns why, or ``None`` if the method does not apply
        or its rows do not sum to 1. A method that was compared before is not run again.
        """
        if method in self._found:
            return self._found[method][0].note
        answer = solve_part(method, self.part, limits)
        if not isinstance(answer, Candidate):
            return answer
        table = answer.matrix
        # Integrals of noise over cells fail if the cells are smaller than the noise times the float precision.
        if table is None or not np.abs(table.sum(axis=1) - 1.0).max() < _LIMITS.max_sum_error:
            return None
        # Single precision chooses nearly as well in half the time; losses are summed in double precision.
        cost = self.part.cost / (self.part.cost.max() or 1.0)
        matrix, _ = rename_columns(table, cost.astype(np.float32))
        loss = float((self.part.cost * matrix).sum())
        # A method with renamed reports is another one, as `planar-laplace-remap` is.
        name = answer.method if (matrix == table).all() else f"{answer.method}-remap"
        self._found[method] = replace(answer, method=name, matrix=matrix), loss
        return answer.note

    def matrix(self, candidate: Candidate) -> NDArray[np.float64] | None:
        """Return the matrix ``(n, n_reports)`` of a candidate, if any: that of the repaired channel for the best."""
        if candidate is self.best and self.repaired is not None:
            return self.repaired.channel.probabilities
        return candidate.matrix

    @property
    def current(self) -> tuple[Candidate, float]:
        """The candidate of least loss, and its loss; the exponential mechanism is always compared."""
        if not self._found.keys() - {None}:
            self.compare(Exponential(), PartLimits())
        # Of equal losses that of a search.
        return min(self._found.items(), key=lambda one: (one[1][1], one[0] is not None))[1]

    @property
    def _least_loss(self) -> float:
        """The loss of the best candidate; infinite if there is none."""
        return min((loss for _, loss in self._found.values()), default=math.inf)

    def update_loss(self, candidate: Candidate, upper: float) -> None:
        """Set the loss of `candidate`, whose channel was repaired, to `upper`, that after repair, if it is larger.

        Matrices of channels without a search that lose more than this one are dropped, to save memory.
        """
        upper = max([upper, *(loss for one, loss in self._found.values() if one is candidate)])
        for method, (one, loss) in self._found.items():
            loses_more = method is not None and loss > (1 + _LIMITS.max_optimal_gap) * upper
            lean = replace(one, matrix=None) if loses_more else one
            self._found[method] = lean, upper if one is candidate else loss

    def done(self, gap: float) -> bool:
        """Return whether the relative gap is at most half of `gap`, the requested one; the rest is for rounding."""
        upper = self._least_loss
        difference = upper - self.lower
        return math.isfinite(difference) and difference <= max(gap / 2, 1e-9) * upper

    def learn(self, candidate: Candidate) -> bool:
        """Keep better prices and a better matrix; return whether the matrix is better.

        Better prices prove a larger lower bound. A matrix is better if its loss, rows scaled to sum 1, is below that
        of all others; a rough one is renamed and repaired first if its loss could be.
        """
        matrix, part, repaired = candidate.matrix, self.part, None
        if candidate.multipliers is not None:
            lower = lower_bound(part.cost, part.constraints, part.epsilon, candidate.multipliers)
            if lower > (1 + _LIMITS.least_gain) * self.lower:
                self.prices, self.lower = candidate.multipliers, lower
        sums = np.zeros(1) if matrix is None else matrix.sum(axis=1)
        if matrix is None or not sums.min() > 0:
            return False
        raw = float(((part.cost * matrix).sum(axis=1) / sums).sum())
        target = self._least_loss
        if candidate.rough:
            # Renaming lowers the loss, but its product takes as long as a repair: only if the raw loss is too large.
            if raw >= target and float((part.cost.T @ matrix).min(axis=0).sum()) >= target:
                return False
            # Names that are given up are columns of zeros, which take no time in repair.
            repaired = self.close(rename_columns(matrix, part.cost)[0], part)
            raw = repaired.upper
        if raw >= target:
            return False
        # What the state or the repaired channel has is not kept twice.
        lean = replace(candidate, matrix=matrix if repaired is None else None, multipliers=None)
        self._found[None] = lean, raw
        self.repaired = repaired
        return True


@dataclass(frozen=True)
class _Verified:
    """A channel that passed every check, with its provenance."""

    channel: Channel
    certificate: Certificate
    upper: float
    method: str
    parameters: dict[str, Any]


class Search:
    """State of one design: the best verified channel, and the lower bound with its witness."""

    def __init__(
        self,
        whole: WholeProblem,
        guarantee: MetricDP,
        limits: PartLimits,
        on_progress: Callable[[Progress], None] | None,
        executor: Executor | None,
        *,
        start: float,
    ) -> None:
        self.start = self.reported = start
        self.handling = 0.0
        self.whole, self.guarantee, self.limits = whole, guarantee, limits
        self.claim = Claim(whole.problem.space, guarantee)
        self.on_progress, self.executor = on_progress, executor
        self.states = [_State(part, self._close) for part in whole.parts]
        self.trace: list[str] = []
        self.short_of_time = self.forced = False
        self.unfinished = "limit reached"
        self.verified: _Verified | None = None
        self.judged: set[tuple[ref[Candidate], ...]] = set()
        """Candidates, one for each part, whose channels were verified; they are not kept in memory for that."""
        self.witness = Multipliers.empty()
        self.lower = 0.0
        self._bound()
        self.negligible = negligible_loss(whole.cost)

    def run(
        self,
        quick: tuple[Method, ...],
        costly: Callable[[WholeProblem], tuple[tuple[Method, ...], str]],
    ) -> MetricDesign:
        """Run the methods in turn until the gap is reached or time is up, after the `quick` ones; return the design.

        ``costly`` lists methods and the reason for their order. It is called once, only if the gap is open and time
        is left. Methods that fail are noted in the trace. CertificateError if a channel fails verification.
        """
        for method in quick:
            self._run_method(method)
        if self._gap() > _LIMITS.max_optimal_gap:
            self._compare_cheap_methods()
        # Computing the order of methods takes seconds if all pairs of 1,000 secrets are constrained.
        methods, reason = ((), "") if self.reached or self._is_late() else costly(self.whole)
        if reason:
            self.trace.append(reason)
        for method in methods:
            if self.reached or self._is_late():
                break
            self._run_method(method)
        self._report_progress(FINAL_VERIFICATION)
        return self._outcome(self._verify_best())

    def force(self, method: Method) -> MetricDesign:
        """Run one method and no other, apart from :class:`Trivial`; return the verified design.

        If time was up without a channel of the method, the design is the best channel without a search.

        Raises
        ------
        SolverError
            If it returns no channel although there was time.
        """
        self.forced = True
        self._run_method(Trivial())
        self._run_method(method)
        if self.verified is None and self._remaining() != 0 and not self.short_of_time:
            last_note = self.trace[-1] if self.trace else ""
            raise SolverError(type(method).__name__, "found no channel", last_note)
        self._report_progress(FINAL_VERIFICATION)
        return self._outcome(self.verified or self._verify_best())

    def _compare_cheap_methods(self) -> None:
        """Run the methods without a search; verify the best if it reaches the gap with the current bound."""
        seconds = self.limits.seconds
        for method in _CHEAP_METHODS:
            # The time of a method is for all components together.
            stop = None if seconds is None else clock() + _LIMITS.method_time_share * seconds
            notes: list[str | None] = []
            for state in self.states:
                remaining = None if stop is None else max(0.0, stop - clock())
                if remaining == 0 and notes and method is not _CHEAP_METHODS[0]:
                    break
                notes.append(state.compare(method, replace(self.limits, seconds=remaining)))
            name = type(method).__name__
            self.trace += [f"{name}: {note}" for note in notes[:1] if note]
            self._report_progress(name)
        self._bound_and_verify("Cheap channels", better=False)

    @property
    def best(self) -> MetricDesign:
        """The best design so far of a search that was interrupted; its candidates are repaired and verified first."""
        self.unfinished = "interrupted"
        return self._outcome(self._verify_best())

    @property
    def reached(self) -> bool:
        """Whether the requested gap is proven."""
        if self.verified is None:
            return False
        return self._gap() <= self.limits.gap or self.verified.upper - self.lower <= self.negligible

    def _run_method(self, method: Method) -> None:
        """Run a method on all unfinished components, note what it said, and verify what is better.

        Nothing happens if all components have reached half of the gap. A failure is a line of the trace, not an
        error.
        """
        unfinished = [state for state in self.states if not state.done(self.limits.gap)]
        if not unfinished:
            return
        answers = self._solve(method, unfinished)
        name, better = type(method).__name__, False
        for state, answer in zip(unfinished, answers, strict=True):
            better |= isinstance(answer, Candidate) and state.learn(answer)
            self.short_of_time |= isinstance(answer, OutOfTime)
        notes = [
            one.note if isinstance(one, Candidate) else one for one in answers if one is not None
        ]
        if notes:
            more = f" (the first of {len(notes)} components)" if len(set(notes)) > 1 else ""
            self.trace.append(f"{name}: {notes[0]}{more}")
        elif isinstance(method, Trivial):
            return
        else:
            self.trace.append(f"{name} does not apply.")
        self._bound_and_verify(name, better=better)

    def _bound_and_verify(self, name: str, *, better: bool) -> None:
        """Update the bound, verify the channel if it is `better` or reaches the gap, and report progress as `name`."""
        self._bound()
        if self.forced:
            if better and all(state.best is not None for state in self.states):
                self._verify([state.best for state in self.states if state.best is not None])
        else:
            upper = sum(state.current[1] for state in self.states)
            near_bound = upper - self.lower <= max(self.limits.gap * upper, self.negligible)
            if better or (self._is_new() and near_bound):
                self._verify([state.current[0] for state in self.states])
        self._report_progress(name)

    def _handle_offer(self, name: str, state: _State, candidate: Candidate) -> bool:
        """Update the state by a method's current candidate; return whether the method can stop.

        It can if the gap is proven by a verified channel, or, with several components, if this one's gap is small
        enough. A repaired channel is verified only then, or after the search, to which the time limit does not apply.
        """
        better = state.learn(candidate)
        if better and len(self.states) == 1 and state.best and state.repaired is not None:
            state.update_loss(state.best, state.repaired.upper)
        at_once = self.forced or state.repaired is None
        self._bound_and_verify(name, better=better and at_once)
        return self.reached if len(self.states) == 1 else state.done(self.limits.gap)

    def _solve(self, method: Method, unfinished: list[_State]) -> list[Candidate | str | None]:
        """Return a method's answer for each unfinished component: a candidate, why there is none, or ``None``.

        Components are solved in processes where there is an executor.
        """
        name, answers = type(method).__name__, []
        limits = replace(self.limits, seconds=self._remaining(), handling=self.handling)
        if self.executor is not None and len(unfinished) > 1:
            # Methods in other processes can't offer candidates before they end.
            n, parts = len(unfinished), [state.part for state in unfinished]
            return list(self.executor.map(solve_part, [method] * n, parts, [limits] * n))
        for state in unfinished:
            offer, beat = partial(self._handle_offer, name, state), partial(self._beat, name)
            upper = math.inf if self.forced else state.current[1]
            own = replace(limits, seconds=self._remaining(), offer=offer, upper=upper, beat=beat)
            answers.append(solve_part(method, state.part, own))
        return answers

    def _bound(self) -> None:
        """Update the bound of the stated problem from the best prices of every part."""
        task = self.whole
        prices = task.lift([state.prices for state in self.states])
        lower = self.states[0].lower
        if len(self.states) > 1 or task.merged is not task.constraints:
            lower = lower_bound(task.problem.cost, task.constraints, task.epsilon, prices)
        if lower > self.lower:
            # In this order: a signal between the two leaves a bound that its witness proves.
            self.witness = prices
            self.lower = lower

    def _verify(self, parts: list[Candidate]) -> _Verified:
        """Repair, round and verify the matrices of `parts`; return the best verified channel, maybe an earlier one."""
        task, problem, start = self.whole, self.whole.problem, clock()
        judged = tuple(map(ref, parts))
        repaired = self.states[0].repaired if len(self.states) == 1 else None
        if repaired is None or parts[0] is not self.states[0].best:
            matrices = map(_State.matrix, self.states, parts)
            matrix = task.assemble([matrix for matrix in matrices if matrix is not None])
            repaired = self._close(matrix, task)
        channel = repaired.channel
        if task.n_classes < problem.n_secrets:
            channel = channel.restrict(task.labels)
        upper = channel.expected_loss(problem.cost)
        for state, part, members in zip(self.states, parts, task.members, strict=True):
            # A program without its loosest constraints has a smaller loss than the repaired channel.
            part_loss = upper
            if len(self.states) > 1:
                rows = repaired.channel.probabilities[members]
                part_loss = float((task.cost[members] * rows).sum())
            state.update_loss(part, part_loss)
        if self.verified is not None and upper >= self.verified.upper:
            self.judged.add(judged)
            return self.verified
        certificate = self.claim.check(channel)
        certificate.raise_for_failure()
        # The provenance names the method and parameters of the largest component.
        largest = max(zip(task.parts, parts, strict=True), key=lambda pair: pair[0].n)[1]
        delta, theta = str(repaired.delta), str(repaired.theta)
        facts = {**largest.parameters, "delta": delta, "theta": theta, "limbs": repaired.limbs}
        self.verified = _Verified(channel, certificate, upper, largest.method, facts)
        # Last, so that after a signal before this line the channel is verified again.
        self.judged.add(judged)
        self.handling = clock() - start
        return self.verified

    def _close(self, matrix: NDArray[np.float64], of: Part | WholeProblem) -> Repaired:
        """Repair a matrix ``(n, k)`` of a part or of the whole problem."""
        return repair(
            matrix,
            of.binding,
            of.epsilon,
            cost=of.cost,
            threads=self.limits.threads,
            is_late=self._is_overdue,
        )

    def _is_new(self) -> bool:
        """Return whether the best candidates have no verified channel and lose less than the verified one."""
        candidates = [state.current for state in self.states]
        if tuple(ref(candidate) for candidate, _ in candidates) in self.judged:
            return False
        loss = sum(loss for _, loss in candidates)
        return self.verified is None or loss < (1 - _LIMITS.max_optimal_gap) * self.verified.upper

    def _verify_best(self) -> _Verified:
        """Verify the candidates of least loss until none loses less than the verified channel, and return that.

        Repair and rounding may increase the loss of a channel, so that the next candidate may be better.
        """
        while self.verified is None or (not self.forced and self._is_new()):
            candidates = [state.current[0] for state in self.states]
            self._verify(candidates)
            self._report_progress(candidates[0].method)
        if self.verified is None:  # pragma: no cover - a first channel is always kept
            raise SolverError("Exponential", "no channel", "")
        return self.verified

    def _remaining(self) -> float | None:
        """Return the seconds that are left, or ``None`` without a limit."""
        if self.limits.seconds is None:
            return None
        return max(0.0, self.limits.seconds - (clock() - self.start))

    def _is_overdue(self) -> bool:
        """Return whether the time limit is exceeded by so much that a repair has to end."""
        limit = math.inf if self.limits.seconds is None else self.limits.seconds
        return clock() - self.start > limit + self.limits.overtime

    def _is_late(self) -> bool:
        """Return whether too little of the time limit is left for another method."""
        remaining, seconds = self._remaining(), self.limits.seconds or 0.0
        return remaining is not None and remaining <= _LIMITS.method_time_share * seconds

    def _gap(self) -> float:
        """Return the relative gap of the verified channel; 1 without one."""
        gap = gap_between(self.lower, None if self.verified is None else self.verified.upper)
        return 1.0 if gap is None else gap

    def _beat(self, method: str) -> None:
        """Report progress, naming `method`, if the last report is older than a second."""
        if clock() - self.reported > _LIMITS.seconds_between_reports:
            self._report_progress(method)

    def _report_progress(self, method: str) -> None:
        """Report method, seconds and bounds to the caller."""
        self.reported = clock()
        if self.on_progress is not None:
            upper = math.inf if self.verified is None else self.verified.upper
            if len(self.states) == 1 and (repaired := self.states[0].repaired) is not None:
                # Repaired and rounded: its loss is final, and it is verified after the search.
                upper = min(upper, repaired.upper)
            known = None if math.isinf(upper) else upper
            self.on_progress(Progress(clock() - self.start, method, lower=self.lower, upper=known))

    def _outcome(self, verified: _Verified) -> MetricDesign:
        """Return the design of the verified channel, with the bound, its witness and the trace."""
        problem = self.whole.problem
        public, trace = problem.assumed_public(), tuple(self.trace)
        design = Design(
            channel=verified.channel,
            guarantee=self.guarantee,
            certificate=verified.certificate,
            lower=self.lower,
            upper=verified.upper,
            provenance=Provenance(verified.method, verified.parameters, public, trace),
            problem=problem,
            witness=self.witness,
            status=self._status(),
        )
        return mark_verified(design)

    def _status(self) -> str:
        """Return why the search ended: optimal, gap reached, loss negligible, limit reached, or interrupted."""
        if self._gap() <= _LIMITS.max_optimal_gap:
            return "optimal"
        if self._gap() <= self.limits.gap:
            return "gap reached"
        return "loss negligible" if self.reached else self.unfinished
