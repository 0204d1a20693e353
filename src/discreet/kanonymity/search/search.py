"""Run the methods in order of cost and keep the best partition, each audited and measured anew, until gap or limit.

Proposes; checked by `discreet.kanonymity.verify.verify`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.certificate import Certificate, Check
from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.options import relative_gap
from discreet.core.printed import at_least, at_most
from discreet.kanonymity.candidate import (
    SearchInterrupted,
    SearchLimits,
    audit,
    check_search,
    require_feasible,
)
from discreet.kanonymity.demand import failing_classes, require_whole
from discreet.kanonymity.exact.tree import RELATIVE_TOLERANCE
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.problem import Problem, Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import CandidateClasses, Method
    from discreet.kanonymity.demand import Demand


@final
@dataclass(frozen=True)
class SearchTuning:
    """Measured limits by which methods are chosen, and their shares of the time.

    Parameters
    ----------
    seconds_per_pair_and_column
        Seconds for a pair of rows and a column, as measured, where classes grow among all rows.
    seconds_per_row_and_value
        Seconds for a row and a value of any column, as measured, where classes grow.
    max_growth_seconds
        Seconds that this may take, and at most a fifth of the time that is left.
    min_rows_to_grow_in
        Rows of a part within which classes grow, at least.
    strong_splitting_loss_factor
        Of the loss of fast splitting: where another method loses less than this, strong splitting is left out.
        It takes 15 to 140 times as long as the fast one and loses 4 to 15 % less; classes that grow lose up to
        35 % less (thirty columns, 2026-11).
    max_rows_without_splitting
        Rows up to which splitting is left out unless the effort is fast or a column is a taxonomy: classes that
        grow among all rows lose as little there, and compiling the kernels of splitting took half the CPU time
        of a first run. With taxonomies the loss rose by 4 % without splitting (2,000 rows, four taxonomies, k =
        5, 2026-11).
    share_of_time_for_bound, share_of_time_for_branching, share_of_time_before_proof
        Part of the time that may go into the lower bound, where it rises by branching, and where a method that
        proves one follows.
    fast_nearest_seconds
        Seconds for the bound by near rows of a fast search without a time limit, which takes less itself.
    share_of_time_for_splitting
        Part of the time that is left for splitting, fast or strong, at most: it gains more in less time than
        the others.
    fast_splitting_seconds_per_cell
        Seconds for a cell that fast splitting takes at most: 7.3 for 2,000,000 rows of eight columns, and twice
        that.
    max_rows_searched_untimed
        Rows up to which near classes are partitioned anew without a time limit; effort is strong by default
        then.
    max_provable_k
        Largest k for which an optimum, or a bound near it, is looked for.
    max_provable_rows
        Rows up to which it is, within a time limit.
    max_provable_rows_untimed
        Rows up to which it is without one: about a second.
    """

    seconds_per_pair_and_column: float = 0.5e-9
    seconds_per_row_and_value: float = 0.6e-9
    max_growth_seconds: float = 10.0
    min_rows_to_grow_in: int = 500
    strong_splitting_loss_factor: float = 0.95
    max_rows_without_splitting: int = 5_000
    share_of_time_for_bound: float = 0.4
    share_of_time_for_branching: float = 0.25
    share_of_time_before_proof: float = 0.1
    fast_nearest_seconds: float = 2.0
    share_of_time_for_splitting: float = 0.8
    fast_splitting_seconds_per_cell: float = 1e-6
    max_rows_searched_untimed: int = 200_000
    max_provable_k: int = 4
    max_provable_rows: int = 1_500
    max_provable_rows_untimed: int = 40


SEARCH = SearchTuning()


OPTIMALITY_TOLERANCE = 2 * RELATIVE_TOLERANCE
"""Relative gap up to which a partition counts as optimal: what directed rounding of sums leaves open."""


@final
@dataclass(frozen=True)
class SearchStep:
    """Result of one method. Computed from private rows.

    Parameters
    ----------
    method
        Its name.
    loss
        Information loss of its partition.
    lower
        Lower bound on the loss that it proved; 0 if it proves none.
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
    seconds
        Wall-clock time of the search, from after compilation.
    """

    method: str
    labels: NDArray[np.int32]
    loss: float
    lower: float
    steps: tuple[SearchStep, ...]
    seconds: float = 0.0

    @property
    def gap(self) -> float:
        """``(loss - lower) / loss``, 0 when both are 0."""
        return 0.0 if self.loss <= self.lower else (self.loss - self.lower) / self.loss

    @property
    def optimal(self) -> bool:
        """Whether nothing better is possible, up to rounding: a gap of a billionth."""
        return self.gap <= OPTIMALITY_TOLERANCE

    def __repr__(self) -> str:
        return f"Found(method={self.method!r}, loss={at_most(self.loss)}, lower={at_least(self.lower)})"


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
        Seconds for the search, counted from after the compilation of kernels: overrun by a tenth and two seconds
        at most on a machine that does nothing else. What is found is verified after that.
    gap
        Relative gap at which to stop.
    suppress
        Largest share of rows that may be suppressed; each costs the weights of all columns.
    demands
        What each class must hold besides k rows; see :class:`~discreet.kanonymity.methods.local_search.LocalSearch`.
        A partition that a method finds is then merged and searched until it does. Bounds stay valid, as nothing more
        is allowed.
    effort
        ``"fast"`` ends with top-down splitting where there is no time limit; ``"strong"`` tries more methods for up to
        200,000 rows, and more splits where no other method lost a twentieth less. Default: strong for so many, fast
        for more.
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
    require_feasible(problem.n, k)
    chosen: Method | None = METHODS.resolve(method, optional=True)
    relative_gap(gap)
    check_search(time_limit, suppress, threads, effort)
    if demands:
        if suppress:
            raise InvalidProblemError("suppress", "0, with demands on sensitive columns", suppress)
        require_whole(demands, problem.n)
    deadline = SearchLimits.within(time_limit).deadline
    limits = SearchLimits(deadline, gap or 0.0, threads, int(suppress * problem.n))
    chosen_effort = effort or (
        "strong" if problem.n <= SEARCH.max_rows_searched_untimed else "fast"
    )
    run = _Run(problem, k, limits, on_step, demands=tuple(demands), effort=chosen_effort)
    try:
        run.all(chosen)
    except KeyboardInterrupt as interrupt:
        if isinstance(interrupt, SearchInterrupted) and interrupt.best is not None:
            run.learn(interrupt.best)
        raise SearchInterrupted(None if run.best is None else run.result()) from None
    return run.result()


def _by_cost(run: _Run) -> Iterator[Method]:
    """Yield methods in order of cost, by the size of the table, the effort, the time, and what was found so far."""
    from discreet.kanonymity.methods.greedy_search import GreedySearch
    from discreet.kanonymity.methods.initial import Initial
    from discreet.kanonymity.methods.local_search import LocalSearch
    from discreet.kanonymity.methods.partitioning import SetPartitioning
    from discreet.kanonymity.methods.subsets import SubsetProgram
    from discreet.kanonymity.methods.top_down import TopDown

    problem, k, limits, effort = run.problem, run.k, run.limits, run.effort
    if problem.n <= SubsetProgram.max_rows:
        yield SubsetProgram()
        if not limits.suppress:
            return
    if limits.left < SEARCH.fast_splitting_seconds_per_cell * problem.n * problem.m:
        # Cut short, splitting may lose more than the plainest method.
        yield Initial()
    timed = limits.left < np.inf
    if not timed and (effort == "fast" or problem.n > SEARCH.max_rows_searched_untimed):
        yield TopDown()
        return
    # Splitting suppresses rows where it gains most; classes that grow suppress none.
    splits = limits.suppress > 0 or not run.is_grown
    if splits:
        yield TopDown()
    seconds, split_loss = run.took, run.loss
    if problem.n <= SEARCH.max_rows_searched_untimed:
        part = _rows_of_part(problem, min(SEARCH.max_growth_seconds, limits.left / 5))
        if part >= min(SEARCH.min_rows_to_grow_in, problem.n):
            yield GreedySearch(part=None if part >= problem.n else part)
    # Strong splitting begins with the fast one.
    strong = effort == "strong" and run.loss > SEARCH.strong_splitting_loss_factor * split_loss
    if splits and strong and limits.left > 4 * seconds:
        yield TopDown("strong")
    # What it takes to prove an optimum is known for few rows alone.
    most = SEARCH.max_provable_rows if timed else SEARCH.max_provable_rows_untimed
    if k <= SEARCH.max_provable_k and not limits.suppress and problem.n <= most:
        yield SetPartitioning()
    yield LocalSearch()


def _rows_of_part(problem: Problem, seconds: float) -> int:
    """Return the number of rows of a part within which classes can grow in some seconds."""
    values = sum(len(column.domain) for column in problem.columns)
    left = seconds / problem.n - SEARCH.seconds_per_row_and_value * values
    return int(min(problem.n, max(0.0, left / (SEARCH.seconds_per_pair_and_column * problem.m))))


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
        self.began, self.took, self.learning = clock(), 0.0, 0.0
        self.best: CandidateClasses | None = None
        self.loss, self.lower = np.inf, 0.0
        # On first use: bounds load the solver's interface and threads, which reading a problem does not need.
        from discreet.kanonymity.bounds.lower import LOWER, LowerBound

        quick = effort == "fast" and problem.n <= SEARCH.max_rows_searched_untimed
        nearest = SEARCH.fast_nearest_seconds if quick else LOWER.untimed_nearest_seconds
        self.bounds = LowerBound(problem, k, suppressed=limits.suppress > 0, nearest=nearest)
        self.steps: list[SearchStep] = []

    @property
    def is_grown(self) -> bool:
        """Whether classes grow among all rows, and splitting is left out: small tables without taxonomies."""
        trees = any(isinstance(column.attribute, Taxonomy) for column in self.problem.columns)
        return (
            self.effort == "strong"
            and self.problem.n <= SEARCH.max_rows_without_splitting
            and not trees
        )

    def bound(self, share: float) -> None:
        """Raise the lower bound for a part of the time left; without a limit, until the bound ends by itself.

        The limit is `share`, from 0 to 1, of the seconds left. The incumbent guides the bound where there is one and
        no demand.
        """
        limits = SearchLimits.within(share * self.limits.left)
        labels = None if self.best is None or self.demands else self.best.labels
        try:
            self.bounds.refine(replace(limits, threads=self.limits.threads), labels)
        finally:
            self.lower = max(self.lower, self.bounds.value)

    @property
    def done(self) -> bool:
        """Whether there is an incumbent and nothing left to do: no time, or a gap that is small enough."""
        if self.best is None:
            return False
        reached = self.loss - self.lower <= max(self.limits.gap, OPTIMALITY_TOLERANCE) * self.loss
        return reached or self.limits.left <= 0

    def all(self, method: Method | None) -> None:
        """Run one `method`, or without one the library's by their cost, and raise the bound before and after them.

        A part of the time goes to the bound. The incumbent, the bound and the steps are kept; nothing is returned.
        """
        proves = self.k <= SEARCH.max_provable_k and self.problem.n <= SEARCH.max_provable_rows
        share = (
            SEARCH.share_of_time_for_branching
            if self.bounds.is_branching
            else SEARCH.share_of_time_for_bound
        )
        if proves:
            share = SEARCH.share_of_time_before_proof
        if self.demands or method is not None:
            self.bound(share)
        if self.demands:
            self.hold(method)
        elif method is not None:
            self.take(method)
        else:
            from discreet.kanonymity.methods.initial import Initial

            bounded = False
            for one in _by_cost(self):
                if self.done:
                    return
                self.take(one, several=True)
                if self.loss > 0 and not bounded and not isinstance(one, Initial):
                    # Once there is something that Ctrl-C can leave.
                    self.bound(share)
                    bounded = True
        if not self.done and self.limits.left < np.inf:
            self.bound(1.0)

    def take(self, method: Method, *, several: bool = False) -> None:
        """Run a method and learn what it found; where several are run, splitting has a part of the time.

        Starts from the incumbent and audits the result as :meth:`learn` does, which raises for an invalid partition.
        """
        from discreet.kanonymity.methods.top_down import TopDown

        start = None if self.best is None else self.best.labels
        limits = replace(self.limits, start=start)
        if limits.left < np.inf:
            # What is found is measured within the limit too.
            limits = replace(limits, deadline=limits.deadline - self.learning)
        if several and limits.left < np.inf and isinstance(method, TopDown):
            # Trees of splits may take all the time, where every column can be split at many values.
            limits = replace(
                limits, deadline=clock() + SEARCH.share_of_time_for_splitting * limits.left
            )
        began = clock()
        candidate = method.solve(self.problem, self.k, limits)
        ended = clock()
        self.learn(candidate)
        self.took, self.learning = ended - began, clock() - ended

    def hold(self, method: Method | None) -> None:
        """Find classes that meet the demands, and keep the best: split top-down under them, or merge those of a method.

        Without a `method` the library's own are run. Nothing is returned; an unmet demand leaves no incumbent.
        """
        from discreet.kanonymity.methods.local_search import LocalSearch
        from discreet.kanonymity.methods.top_down import TopDown

        limits = self.limits
        start: NDArray[np.int32] | None
        if method is None and self.is_grown:
            from discreet.kanonymity.methods.greedy_search import GreedySearch

            start = GreedySearch().solve(self.problem, self.k, limits).labels
        elif method is None:
            self.take(TopDown(self.effort, self.demands))
            large = self.problem.n > SEARCH.max_rows_searched_untimed or self.effort == "fast"
            if self.done or (large and limits.left == np.inf):
                return
            start = None if self.best is None else self.best.labels
        else:
            # Most of the time is for what holds the demands.
            first = SearchLimits.within(
                SEARCH.share_of_time_for_splitting * limits.left, gap=limits.gap
            )
            first = replace(first, threads=limits.threads, suppress=limits.suppress)
            start = method.solve(self.problem, self.k, first).labels
        limits = replace(limits, start=start)
        self.learn(LocalSearch(demands=self.demands).solve(self.problem, self.k, limits))

    def learn(self, candidate: CandidateClasses) -> None:
        """Audit a partition, and keep it if it loses less.

        Records a step and calls `on_step`. Its lower bound counts only where no row may be suppressed.
        CertificateError for a class smaller than k, too many suppressed rows, or a class that fails a demand.
        """
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
        if self.on_step is not None:
            self.on_step(step)

    def result(self) -> Found:
        """Return the incumbent; raise InvalidProblemError if no method gave one."""
        if self.best is None:
            raise InvalidProblemError("method", "one that gives a partition", "none")
        return Found(
            self.best.method,
            self.best.labels,
            self.loss,
            self.lower,
            tuple(self.steps),
            clock() - self.began,
        )
