"""Tables of any size in parts: rows that are near each other go into a part, and each part is solved by itself.

Classes of a part are classes of the table, so that k-anonymity needs nothing more; what is lost is that no class spans
two parts. Parts are solved where an executor puts them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.kanonymity.bound import nearest_bound
from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchInterrupted,
    SearchLimits,
    labels_of,
    order_of,
    require_feasible,
)
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.methods.greedy_search import GreedySearch
from discreet.kanonymity.methods.initial import initial_sizes
from discreet.kanonymity.methods.local_search import LocalSearch
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.problem import Problem

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.problem import CodedColumn

__all__ = ["Parts", "PartsFound", "cut", "search_parts"]

ROWS = 10_000
"""Rows of a part: growing classes among them takes under a second for eight columns."""

AHEAD = 4
"""Parts that wait at an executor for each worker."""

WARM_UP = 0.5
"""Seconds for which each worker solves a few rows before the time of a search begins."""

BOUND_SECONDS, BOUND_SHARE = 20.0, 0.1
"""Most seconds for the lower bound, and the part of a time limit that is kept for it."""


@final
@dataclass(frozen=True)
class Parts:
    """Cut the table at medians into parts, and solve each.

    Parameters
    ----------
    rows
        Most rows of a part, and never less than 4 k; larger ones lose less and take longer.
    inner
        The method for a part, or its registered name; ``None`` for the better of segmentation and greedy search.
    executor
        Where parts are solved: any :class:`concurrent.futures.Executor`. Without one, here, one after another.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> Parts(rows=4).solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    rows: int = ROWS
    inner: Method | str | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InvalidProblemError("rows", "at least one row in a part", self.rows)
        object.__setattr__(self, "inner", self.method)

    @property
    def method(self) -> Method | None:
        """The method for a part, resolved."""
        found: Method | None = METHODS.resolve(self.inner, field="inner", optional=True)
        return found

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Solve part after part; a time limit is shared out among them. Parts that it does not reach are cut by k.

        Raises
        ------
        SearchInterrupted
            On Ctrl-C, with the parts that were solved by then, and the others cut by k.

        Complexity
        ----------
        ``O(n log(n / rows))`` to cut, and what the method needs for each part.
        """
        require_feasible(problem, k)
        # A cut leaves a quarter of the rows on each side, which must be k.
        parts = cut(problem, max(self.rows, 4 * k))
        found: list[NDArray[np.int32] | None] = [None] * len(parts)
        stopped = False
        try:
            self._solve(problem, parts, k, limits, found)
        except KeyboardInterrupt:
            stopped = True
        labels = np.empty(problem.n, dtype=np.int32)
        classes = 0
        for rows, solved in zip(parts, found, strict=True):
            labels[rows] = classes + (
                _quickly(_part(problem, rows), k) if solved is None else solved
            )
            classes = int(labels[rows].max()) + 1
        note = "The table was cut at medians, and each part solved."
        candidate = CandidateClasses("parts", labels, note=note)
        if stopped:
            raise SearchInterrupted(candidate)
        return candidate

    def warm_up(self, problem: Problem, k: int) -> None:
        """Let each worker of the executor load and compile what a part needs: some rows are solved and forgotten.

        A worker's clock stands still while it compiles, that of the process which waits for it does not.
        """
        if self.executor is not None:
            few = _Task(_part(problem, np.arange(min(problem.n, 8 * k))), k, self.method, WARM_UP)
            workers = range(getattr(self.executor, "_max_workers", 1))
            for future in [self.executor.submit(_solve, few) for _ in workers]:
                future.result()

    def _solve(
        self,
        problem: Problem,
        parts: list[NDArray[np.int64]],
        k: int,
        limits: SearchLimits,
        found: list[NDArray[np.int32] | None],
    ) -> None:
        """Write the classes of each part where it was solved."""
        workers = 1 if self.executor is None else getattr(self.executor, "_max_workers", 1)
        waiting: deque[tuple[int, Future[NDArray[np.int32]]]] = deque()
        try:
            for at, rows in enumerate(parts):
                if limits.left <= 0:
                    break
                seconds = limits.left * workers / (len(parts) - at)
                task = _Task(_part(problem, rows), k, self.method, seconds)
                if self.executor is None:
                    found[at] = _solve(task)
                    continue
                waiting.append((at, self.executor.submit(_solve, task)))
                if len(waiting) > AHEAD * workers:
                    _take(found, waiting)
            while waiting:
                _take(found, waiting)
        except BaseException:
            # If one fails, the others need not be solved; those that are done count.
            for at, future in waiting:
                if not future.cancel() and future.done() and future.exception() is None:
                    found[at] = future.result()
            raise


@final
@dataclass(frozen=True, eq=False)
class PartsFound:
    """Classes, what they lose and what none loses less than; the time that it took, and whether Ctrl-C ended it."""

    labels: NDArray[np.int32]
    lost: float
    lower: float
    seconds: float
    stopped: bool


def search_parts(problem: Problem, k: int, parts: Parts, time_limit: float | None) -> PartsFound:
    """Solve the parts, and find a bound."""
    if time_limit is not None:
        parts.warm_up(problem, k)
    began = clock()
    most = SearchLimits.within(time_limit)
    limits = most if time_limit is None else SearchLimits.within(time_limit * (1 - BOUND_SHARE))
    stopped = False
    try:
        labels = parts.solve(problem, k, limits).labels
    except SearchInterrupted as interrupt:
        # Ctrl-C ends the search; what was found is written. Once more, and nothing is.
        labels, stopped = interrupt.best.labels, True
    lost, lower = problem.loss_of(labels), 0.0
    if not stopped:
        within = SearchLimits.within(min(BOUND_SECONDS, most.left))
        lower = min(lost, nearest_bound(problem, k, within))
    return PartsFound(labels, lost, lower, clock() - began, stopped)


def cut(problem: Problem, most: int) -> list[NDArray[np.int64]]:
    """Cut rows into parts of at most so many, at the median of the column in which they differ most.

    Equal values stay together where that leaves a quarter of the rows on each side.

    Parameters
    ----------
    problem
        The problem.
    most
        Most rows of a part.

    Returns
    -------
    list of ndarray
        Rows of each part; no part has fewer than a quarter of `most`, unless there is but one.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> [part.tolist() for part in cut(problem, 3)]
    [[1, 3], [2, 0, 4]]
    """
    parts, stack = [], [np.arange(problem.n)]
    while stack:
        rows = stack.pop()
        if len(rows) <= most:
            parts.append(rows)
            continue
        codes = problem.codes[rows]
        widths = [_width(column, codes[:, j]) for j, column in enumerate(problem.columns)]
        values = codes[:, int(np.argmax(widths))]
        order = np.argsort(values, kind="stable")
        at = _near_middle(values[order])
        stack += [rows[order[at:]], rows[order[:at]]]
    return parts


def _width(column: CodedColumn, codes: NDArray[np.int32]) -> float:
    if column.is_set:
        return float(column.set_cost(len(np.unique(codes))))
    return float(column.span_cost(codes.min(), codes.max()))


def _near_middle(values: NDArray[np.int32]) -> int:
    """Find the place nearest to the middle where sorted values change, or the middle."""
    n = len(values)
    quarter = n // 4
    changes = np.flatnonzero(np.diff(values[quarter : n - quarter])) + quarter + 1
    if not len(changes):
        return n // 2
    return int(changes[np.argmin(np.abs(changes - n // 2))])


def _part(problem: Problem, rows: NDArray[np.int64]) -> Problem:
    return Problem(problem.columns, problem.codes[rows], problem.loss)


def _quickly(part: Problem, k: int) -> NDArray[np.int32]:
    """Cut the rows of a part into classes of k, in their order."""
    return labels_of(order_of(part, range(part.m)), initial_sizes(part.n, k))


def _take(
    found: list[NDArray[np.int32] | None], waiting: deque[tuple[int, Future[NDArray[np.int32]]]]
) -> None:
    """Wait for the first part."""
    at, future = waiting[0]
    found[at] = future.result()
    waiting.popleft()


@final
@dataclass(frozen=True)
class _Task:
    """A part, and the seconds that it may take."""

    problem: Problem
    k: int
    inner: Method | None
    seconds: float


def _solve(task: _Task) -> NDArray[np.int32]:
    """Solve a part; runs in any process."""
    problem, k, seconds = task.problem, task.k, task.seconds
    timed = np.isfinite(seconds)
    limits = SearchLimits.within(seconds if timed else None)
    if task.inner is not None:
        return task.inner.solve(problem, k, limits).labels
    best = Segmentation(orders=1).solve(problem, k, limits).labels
    for method in (GreedySearch(), LocalSearch()) if timed else (GreedySearch(),):
        if limits.left <= 0:
            break
        found = method.solve(problem, k, replace(limits, start=best)).labels
        best = min(best, found, key=problem.loss_of)
    return best
