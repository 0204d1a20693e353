"""Local search: unions of near classes are partitioned anew, exactly where they are small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity._arrays import points_of
from discreet.kanonymity.candidate import (
    Candidate,
    Interrupted,
    Limits,
    order_of,
    require_feasible,
)
from discreet.kanonymity.initial import initial_sizes
from discreet.kanonymity.local.shared import LEAST_ROWS, search_shared
from discreet.kanonymity.local.steps import state_of, work
from discreet.kanonymity.local.unions import Union, unions_for
from discreet.kanonymity.segmentation import Segmentation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Points
    from discreet.kanonymity.local._kernels import Table
    from discreet.kanonymity.problem import Problem

__all__ = ["LocalSearch", "split_large"]

MOST_EXACT = 14
"""Rows up to which a union may be partitioned exactly."""

NOTE = "Unions of near classes were partitioned anew."

PAIR = 0.7e-9
"""Seconds for a pair of points and a column, as measured, when all pairs are looked at for the near ones."""

EVERY_PAIR = 10.0
"""Seconds that this may take, and at most a fifth of the time that is left."""


@final
@dataclass(frozen=True)
class LocalSearch:
    """Improve a partition: pick a class and some near it, and partition their rows anew if that loses no more.

    Where rows may be suppressed, one of them is left out at times, and one that was left out taken back.

    Parameters
    ----------
    rounds
        Unions to look at, at most; ``None`` for as many as fit into the time.
    unions
        Kinds of unions, of at most 14 rows where they are exact; ``None`` chooses by k.
    nearest
        Near points that are kept for each point.
    seed
        Where the search begins to look. It decides no question of privacy.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60, 52]}, [Numeric("age")])
    >>> start = np.array([0, 1, 0, 0, 1, 1], dtype=np.int32)
    >>> labels = LocalSearch(rounds=5).solve(problem, 3, Limits(start=start)).labels
    >>> np.flatnonzero(labels == labels[0]).tolist()
    [0, 4, 5]
    """

    rounds: int | None = None
    unions: tuple[Union, ...] | None = None
    nearest: int = 16
    seed: int = 1

    def __post_init__(self) -> None:
        rows = max([0, *(union.rows for union in self.unions or () if union.exact)])
        if rows > MOST_EXACT or self.unions == ():
            raise InvalidProblemError(
                "unions", f"one or more, exact ones of {MOST_EXACT} rows at most", "others"
            )

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:
        """Search until the rounds or the time are over; without either, for twenty rounds a class, at least 300.

        Complexity
        ----------
        ``O(p^2 m)`` once for the near points of p different rows, where that takes ten seconds or less; else windows
        of m orders are looked at.
        """
        require_feasible(problem, k)
        start = limits.start
        if start is None:
            start = Segmentation(3).solve(problem, k, limits).labels
        if (start < 0).sum() > limits.suppress:
            raise InvalidProblemError("start", "no more suppressed rows than allowed", "more")
        points = points_of(problem, order_of(problem, range(problem.m)))
        whole = split_large(problem, start, k)
        table = _table(problem, points, self.nearest, min(EVERY_PAIR, limits.left / 5))
        unions = unions_for(k) if self.unions is None else self.unions
        if self._is_shared(problem, limits):
            labels = search_shared(problem, points, table, whole, unions, k, limits, self.seed)
            return Candidate("local-search", labels, note=NOTE)
        state = state_of(problem, whole, k, limits.suppress, self.seed)
        stopped = False
        try:
            work(points.arrays, table, state, unions, k, self.rounds, limits)
        except KeyboardInterrupt:
            # No kernel is left half-way: the interpreter hears the signal after it.
            stopped = True
        labels = np.full(problem.n, -1, dtype=np.int32)
        kept = state.labels >= 0
        labels[kept] = np.unique(state.labels[kept], return_inverse=True)[1]
        found = Candidate("local-search", labels, note=NOTE)
        if stopped:
            raise Interrupted(found)
        return found

    def _is_shared(self, problem: Problem, limits: Limits) -> bool:
        """Whether to search in several threads: by the clock alone, and where there are many rows for each."""
        timed = self.rounds is None and limits.left < float("inf")
        enough = problem.n >= LEAST_ROWS * limits.threads
        return timed and enough and limits.threads > 1 and not limits.suppress


def split_large(problem: Problem, labels: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Split classes of 2k rows and more into classes of k to 2k - 1, which loses nothing.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [5, 2, 5, 2, 2]}, [Numeric("age")])
    >>> split_large(problem, np.zeros(5, dtype=np.int32), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    by_value = order_of(problem, range(problem.m))
    by_value = by_value[labels[by_value] >= 0]
    order = by_value[np.argsort(labels[by_value], kind="stable")]
    sizes = np.bincount(labels[order])
    cut = np.concatenate([initial_sizes(int(size), k) for size in sizes])
    split = np.full(problem.n, -1, dtype=np.int32)
    split[order] = np.repeat(np.arange(len(cut), dtype=np.int32), cut)
    return split


def _table(problem: Problem, points: Points, nearest: int, seconds: float) -> Table:
    """Collapse equal rows and find the near points of each, among all where that fits into the time."""
    from discreet.kanonymity._kernels import nearest_in_orders, nearest_points
    from discreet.kanonymity.local._kernels import Table

    n_near = max(1, min(nearest, points.n - 1))
    if PAIR * points.n**2 * problem.m <= seconds:
        near, _ = nearest_points(points.arrays, 0, points.n, n_near)
    else:
        ranks = [points.arrays.codes[:, j] for j in range(problem.m)]
        turned = [[*ranks[j:], *ranks[:j]] for j in range(problem.m)]
        orders = np.stack([np.lexsort(keys) for keys in turned]).astype(np.int64)
        near = nearest_in_orders(points.arrays, orders, 12, n_near)
    return Table(points.of_row, points.rows, points.first, near)
