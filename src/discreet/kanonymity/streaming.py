"""Tables of any size in parts: rows that are near each other go into a part, and each part is solved by itself.

Classes of a part are classes of the table, so that k-anonymity needs nothing more; what is lost is that no class spans
two parts. Parts are solved where an executor puts them.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import Candidate, Limits, require_feasible
from discreet.kanonymity.greedy_search import GreedySearch
from discreet.kanonymity.problem import Problem
from discreet.kanonymity.segmentation import Segmentation

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import Method
    from discreet.kanonymity.problem import Column

__all__ = ["Parts", "cut"]

ROWS = 10_000
"""Rows of a part: growing classes among them takes under a second for eight columns."""

AHEAD = 4
"""Parts that wait at an executor for each worker."""


@final
@dataclass(frozen=True)
class Parts:
    """Cut the table at medians into parts, and solve each.

    Parameters
    ----------
    rows
        Most rows of a part, and never less than 4 k; larger ones lose less and take longer.
    inner
        The method for a part; ``None`` for the better of segmentation and greedy search.
    executor
        Where parts are solved: any :class:`concurrent.futures.Executor`. Without one, here, one after another.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> Parts(rows=4).solve(problem, 2, Limits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    rows: int = ROWS
    inner: Method | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise InvalidProblemError("rows", "at least one row in a part", self.rows)

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:
        """Solve part after part; a time limit is shared out among them.

        Complexity
        ----------
        ``O(n log(n / rows))`` to cut, and what the method needs for each part.
        """
        require_feasible(problem, k)
        # A cut leaves a quarter of the rows on each side, which must be k.
        parts = cut(problem, max(self.rows, 4 * k))
        workers = 1 if self.executor is None else getattr(self.executor, "_max_workers", 1)
        labels = np.empty(problem.n, dtype=np.int32)
        classes = 0
        began, left = time.monotonic(), limits.left
        waiting: deque[tuple[NDArray[np.int64], Future[NDArray[np.int32]]]] = deque()
        for at, rows in enumerate(parts):
            spent = time.monotonic() - began
            seconds = max(0.0, left - spent) * workers / (len(parts) - at)
            part = Problem(problem.columns, problem.codes[rows], problem.loss)
            task = _Task(part, k, self.inner, seconds)
            if self.executor is None:
                classes = _put(labels, rows, _solve(task), classes)
                continue
            waiting.append((rows, self.executor.submit(_solve, task)))
            if len(waiting) > AHEAD * workers:
                classes = _take(labels, waiting, classes)
        while waiting:
            classes = _take(labels, waiting, classes)
        return Candidate(
            "parts", labels, note="The table was cut at medians, and each part solved."
        )


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


def _width(column: Column, codes: NDArray[np.int32]) -> float:
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


def _put(
    labels: NDArray[np.int32], rows: NDArray[np.int64], found: NDArray[np.int32], classes: int
) -> int:
    """Number the classes of a part after those that are there."""
    labels[rows] = found + classes
    return classes + int(found.max()) + 1


def _take(
    labels: NDArray[np.int32],
    waiting: deque[tuple[NDArray[np.int64], Future[NDArray[np.int32]]]],
    classes: int,
) -> int:
    """Wait for the first part; if it fails, the others need not be solved."""
    rows, future = waiting.popleft()
    try:
        return _put(labels, rows, future.result(), classes)
    except BaseException:
        for _, other in waiting:
            other.cancel()
        raise


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
    limits = Limits.within(None if np.isinf(seconds) else seconds)
    if task.inner is not None:
        return task.inner.solve(problem, k, limits).labels
    tried: list[Method] = [Segmentation(orders=1), GreedySearch()]
    found = [method.solve(problem, k, limits).labels for method in tried]
    best = min(found, key=problem.loss_of)
    if np.isfinite(seconds) and limits.left > 0:
        from discreet.kanonymity.local_search import LocalSearch

        better = LocalSearch().solve(problem, k, replace(limits, start=best)).labels
        return min(best, better, key=problem.loss_of)
    return best
