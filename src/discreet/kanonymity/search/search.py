"""Run the methods in order of cost and keep the best partition, each audited and measured anew, until gap or limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_floor
from discreet.core.jit import clock
from discreet.core.options import positive_seconds, relative_gap, whole_number
from discreet.kanonymity.candidate import (
    EFFORTS,
    SearchInterrupted,
    SearchLimits,
    audit,
    require_feasible,
)
from discreet.kanonymity.demand import failing_classes, require_whole
from discreet.kanonymity.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import CandidateClasses, Method
    from discreet.kanonymity.demand import Demand
    from discreet.kanonymity.problem import Problem

__all__ = ["Found", "SearchStep", "search"]

PAIR = 0.5e-9
"""Seconds for a pair of rows and a column, as measured, where classes grow among all rows."""

GROWTH = 10.0
"""Seconds that this may take, and at most a fifth of the time that is left."""

BOUND_SHARE, BRANCHING_SHARE, PROVING_SHARE = 0.4, 0.25, 0.1
"""Part of the time that may go into the lower bound, where it rises by branching, and where a method that proves one
follows."""

START_PART = 0.4
"""Part of the time for the partition to begin with, at most, where others follow."""

STRONG_ROW = 3e-4
"""Seconds for each row that strong splitting takes at most: 3.9 for 30,162 rows of nine columns, and twice that."""

FAST_CELL = 1e-6
"""Seconds for a cell that fast splitting takes at most: 7.3 for 2,000,000 rows of eight columns, and twice that."""

MOST_UNTIMED = 200_000
"""Rows up to which near classes are partitioned anew without a time limit; effort is strong by default then."""

OPTIMAL = 1e-9
"""Relative gap up to which a partition counts as optimal: what directed rounding of sums leaves open."""


PROVABLE = 4
"""Largest k for which an optimum, or a bound near it, is looked for."""

MOST_PROVED = 1_500
"""Rows up to which it is, within a time limit."""

MOST_PROVED_UNTIMED = 40
"""Rows up to which it is without one: about a second."""


@final
@dataclass(frozen=True)
class SearchStep:
    """What one method did. Computed from private rows.

    Parameters
    ----------
    method
        Its name.
    loss
        Information loss of what it found.
    lower
        What it proved that no partition loses less than; 0 for nothing.
    seconds
        Since the search began.
    """

    method: str
    loss: float
    lower: float
    seconds: float


@final
@dataclass(frozen=True, eq=False)
class Found:
    """The best partition of a search. Computed from private rows.

    Parameters
    ----------
    method
        The method that found it.
    labels
        ``(n,)`` classes; -1 for suppressed rows.
    loss
        Its information loss, a sum over cells.
    lower
        What no k-anonymous partition of all rows loses less than.
    steps
        What was tried, in order.
    notes
        One sentence for each method, without anything computed from rows.
    seconds
        Wall-clock time of the search, from after compilation.
    """

    method: str
    labels: NDArray[np.int32]
    loss: float
    lower: float
    steps: tuple[SearchStep, ...]
    notes: tuple[str, ...]
    seconds: float = 0.0

    @property
    def gap(self) -> float:
        """``(loss - lower) / loss``, 0 when both are 0."""
        return 0.0 if self.loss <= self.lower else (self.loss - self.lower) / self.loss

    @property
    def optimal(self) -> bool:
        """Whether nothing better is possible, up to rounding: a gap of a billionth."""
        return self.gap <= OPTIMAL

    def __repr__(self) -> str:
        return (
            f"Found(method={self.method!r}, loss={self.loss:.6g}, lower={text_floor(self.lower)})"
        )


def search(
    problem: Problem,
    k: int,
    *,
    method: Method | str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    suppress: float = 0.0,
    demands: Sequence[Demand] = (),
    effort: str | None = None,
    threads: int = 1,
    on_step: Callable[[SearchStep], None] | None = None,
) -> Found:
    """Find a k-anonymous partition that loses little, and a bound on what any loses.

    Parameters
    ----------
    problem
        The problem.
    k
        Least class size, 1 or more; 1 leaves every row as it is.
    method
        A method or its registered name, such as ``"mondrian"``; default: several, in order of cost.
    time_limit
        Seconds for the search, counted from after the compilation of what it runs: overrun by a tenth and two seconds
        at most on a machine that does nothing else. What is found is verified after that.
    gap
        Relative gap at which to stop.
    suppress
        Largest share of rows that may be suppressed; each costs the weights of all columns.
    demands
        What each class must hold besides k rows; see :class:`~discreet.kanonymity.search.diverse.Diverse`. A partition
        that a method finds is then merged and searched until it does. Bounds stay valid, as nothing more is allowed.
    effort
        ``"fast"`` ends with top-down splitting where there is no time limit; ``"strong"`` tries more splits, and goes
        on for up to 200,000 rows. Default: strong for so many, fast for more.
    threads
        Threads of solvers and trees.
    on_step
        Called after each method.

    Returns
    -------
    Found
        The best partition whose classes all have k rows, counted on its labels.

    Raises
    ------
    InvalidProblemError
        When an argument makes no sense, or the method does not apply.
    InfeasibleError
        When there are fewer than k rows, or all rows as one class fail a demand.
    CertificateError
        When a method gives a class of fewer than k rows, or one that fails a demand: a bug, and never returned.
    SearchInterrupted
        On Ctrl-C; a ``KeyboardInterrupt`` whose ``best`` is what was found by then, or ``None``.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> found = search(problem, 2)
    >>> found.labels.tolist(), found.optimal
    ([1, 0, 1, 0, 1], True)
    """
    require_feasible(problem, k)
    chosen: Method | None = METHODS.resolve(method, optional=True)
    _check(time_limit, gap, suppress, threads)
    if effort is not None and effort not in EFFORTS:
        raise InvalidProblemError("effort", f"one of {', '.join(EFFORTS)}", repr(effort))
    if demands:
        if suppress:
            raise InvalidProblemError("suppress", "0, with demands on sensitive columns", suppress)
        require_whole(demands, problem.n)
    deadline = SearchLimits.within(time_limit).deadline
    limits = SearchLimits(deadline, gap or 0.0, threads, int(suppress * problem.n))
    chosen_effort = effort or ("strong" if problem.n <= MOST_UNTIMED else "fast")
    run = _Run(problem, k, limits, on_step, demands=tuple(demands), effort=chosen_effort)
    try:
        run.all(chosen)
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, SearchInterrupted) and interrupt.best is not None:
            run.learn(interrupt.best)
        raise SearchInterrupted(None if run.best is None else run.found()) from None
    return run.found()


def _check(
    time_limit: float | None,
    gap: float | None,
    suppress: float,
    threads: int,
) -> None:
    relative_gap(gap)
    positive_seconds(time_limit)
    whole_number(threads, "threads", "at least one thread")
    share: object = suppress
    if isinstance(share, bool) or not isinstance(share, Real):
        raise InvalidProblemError("suppress", "a share in [0, 1)", type(suppress).__name__)
    if not 0 <= suppress < 1:
        raise InvalidProblemError("suppress", "a share in [0, 1)", suppress)


def _by_cost(problem: Problem, k: int, limits: SearchLimits, effort: str) -> Iterator[Method]:
    """Yield methods in order of cost, by the size of the table, the effort and the time alone."""
    from discreet.kanonymity.methods.greedy_search import GreedySearch
    from discreet.kanonymity.methods.initial import Initial
    from discreet.kanonymity.methods.local_search import LocalSearch
    from discreet.kanonymity.methods.partitioning import SetPartitioning
    from discreet.kanonymity.methods.segmentation import Segmentation
    from discreet.kanonymity.methods.subsets import MOST_ROWS, SubsetProgram
    from discreet.kanonymity.methods.top_down import TopDown

    if problem.n <= MOST_ROWS:
        yield SubsetProgram()
        if not limits.suppress:
            return
    if limits.left < FAST_CELL * problem.n * problem.m:
        # Cut short, splitting may lose more than the plainest method.
        yield Initial()
    # The strong one is for where it has time to end, so that some is left for what comes after it.
    yield TopDown(effort if limits.left > STRONG_ROW * problem.n else "fast")
    if limits.left == np.inf and (effort == "fast" or problem.n > MOST_UNTIMED):
        return
    if problem.n <= MOST_UNTIMED:
        yield Segmentation(orders=8)
    if PAIR * problem.n**2 * problem.m <= min(GROWTH, limits.left / 5):
        yield GreedySearch()
    # What it takes to prove an optimum is known for few rows alone.
    most = MOST_PROVED if limits.left < np.inf else MOST_PROVED_UNTIMED
    if k <= PROVABLE and not limits.suppress and problem.n <= most:
        yield SetPartitioning()
    yield LocalSearch()


class _Run:
    """What is known so far."""

    def __init__(
        self,
        problem: Problem,
        k: int,
        limits: SearchLimits,
        on_step: Callable[[SearchStep], None] | None,
        *,
        demands: tuple[Demand, ...] = (),
        effort: str = "fast",
    ) -> None:
        self.problem, self.k, self.limits = problem, k, limits
        self.effort = effort
        self.demands = demands
        self.on_step = on_step
        self.began, self.learning = clock(), 0.0
        self.best: CandidateClasses | None = None
        self.loss, self.lower = np.inf, 0.0
        # On first use: bounds load the solver's interface and threads, which reading a problem does not need.
        from discreet.kanonymity.bounds.lower import LowerBound

        self.bounds = LowerBound(problem, k, suppressed=limits.suppress > 0)
        self.steps: list[SearchStep] = []
        self.notes: list[str] = []

    def bound(self, share: float) -> None:
        """Raise the lower bound for a part of the time that is left; without a limit, as far as it goes by itself."""
        limits = SearchLimits.within(share * self.limits.left)
        labels = None if self.best is None or self.demands else self.best.labels
        try:
            self.bounds.refine(replace(limits, threads=self.limits.threads), labels)
        finally:
            self.lower = max(self.lower, self.bounds.value)

    @property
    def done(self) -> bool:
        """Whether nothing is left to do: no time, or a gap that is small enough."""
        if self.best is None:
            return False
        reached = self.loss - self.lower <= max(self.limits.gap, OPTIMAL) * self.loss
        return reached or self.limits.left <= 0

    def all(self, method: Method | None) -> None:
        """Run one method, or several, and raise the bound in a part of the time, and in what is left in the end."""
        proves = self.k <= PROVABLE and self.problem.n <= MOST_PROVED
        share = BRANCHING_SHARE if self.bounds.is_branching else BOUND_SHARE
        if proves:
            share = PROVING_SHARE
        if self.demands or method is not None:
            self.bound(share)
        if self.demands:
            self.hold(method)
        elif method is not None:
            self.take(method)
        else:
            for one in _by_cost(self.problem, self.k, self.limits, self.effort):
                if self.done:
                    return
                self.take(one, several=True)
                if len(self.steps) == 1:
                    # Once there is something that Ctrl-C can leave.
                    self.bound(share)
        if not self.done and self.limits.left < np.inf:
            self.bound(1.0)

    def take(self, method: Method, *, several: bool = False) -> None:
        """Run a method and learn what it found; where several are run, the first one has a part of the time."""
        start = None if self.best is None else self.best.labels
        limits = replace(self.limits, start=start)
        if limits.left < np.inf:
            # What is found is measured within the limit too.
            limits = replace(limits, deadline=limits.deadline - self.learning)
        if several and self.best is None and limits.left < np.inf:
            # Trees of splits may take all the time, where every column can be split at many values.
            limits = replace(limits, deadline=clock() + START_PART * limits.left)
        candidate = method.solve(self.problem, self.k, limits)
        began = clock()
        self.learn(candidate)
        self.learning = clock() - began

    def hold(self, method: Method | None) -> None:
        """Split top-down so that all classes hold the demands, or mend what a method finds; go on from there."""
        from discreet.kanonymity.methods.top_down import TopDown
        from discreet.kanonymity.search.diverse import Diverse

        limits = self.limits
        if method is None:
            self.take(TopDown(self.effort, self.demands))
            large = self.problem.n > MOST_UNTIMED or self.effort == "fast"
            if self.done or (large and limits.left == np.inf):
                return
            start = None if self.best is None else self.best.labels
        else:
            # Most of the time is for what holds the demands.
            first = SearchLimits.within(START_PART * limits.left, gap=limits.gap)
            first = replace(first, threads=limits.threads, suppress=limits.suppress)
            start = method.solve(self.problem, self.k, first).labels
        self.learn(Diverse(self.demands).solve(self.problem, self.k, replace(limits, start=start)))

    def learn(self, candidate: CandidateClasses) -> None:
        """Audit a partition, and keep it if it loses less."""
        audit(candidate.labels, self.k, suppress=self.limits.suppress).raise_for_failure()
        if self.demands:
            few = int(failing_classes(self.demands, candidate.labels.astype(np.int64)).sum())
            Certificate(
                (Check("classes that fail a demand", few, 0, exact=True),)
            ).raise_for_failure()
        loss = self.problem.loss_of(candidate.labels)
        # What a method proves is for partitions of all rows.
        if not self.limits.suppress:
            self.lower = max(self.lower, candidate.lower)
        if loss < self.loss:
            self.best, self.loss = candidate, loss
        step = SearchStep(candidate.method, loss, candidate.lower, clock() - self.began)
        self.steps.append(step)
        self.notes.append(candidate.note)
        if self.on_step is not None:
            self.on_step(step)

    def found(self) -> Found:
        """Give the best."""
        if self.best is None:
            raise InvalidProblemError("method", "one that gives a partition", "none")
        return Found(
            self.best.method,
            self.best.labels,
            self.loss,
            self.lower,
            tuple(self.steps),
            tuple(dict.fromkeys(self.notes)),
            clock() - self.began,
        )
