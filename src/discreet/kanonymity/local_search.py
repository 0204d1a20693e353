"""Local search: unions of near classes are partitioned anew, exactly where they are small."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity._arrays import points_of
from discreet.kanonymity.candidate import Candidate, Limits, order_of, require_feasible
from discreet.kanonymity.initial import initial_sizes
from discreet.kanonymity.segmentation import Segmentation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Points
    from discreet.kanonymity.local._kernels import State, Table
    from discreet.kanonymity.problem import Problem

__all__ = ["LocalSearch", "split_large"]

MOST_EXACT = 14
"""Rows up to which a union may be partitioned exactly."""

EVERY_PAIR = 25_000
"""Points up to which all pairs are looked at for the near ones: four seconds for eight columns."""


@final
@dataclass(frozen=True)
class LocalSearch:
    """Improve a partition: pick a class and some near it, and partition their rows anew if that loses no more.

    Where rows may be suppressed, one of them is left out at times, and one that was left out taken back.

    Parameters
    ----------
    rounds
        Unions to look at, at most; ``None`` for as many as fit into the time.
    exact_rows
        Unions of at most so many rows are partitioned exactly, by dynamic programming over subsets; ``None`` chooses.
    classes
        Classes in a union, at most; ``None`` chooses.
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
    exact_rows: int | None = None
    classes: int | None = None
    nearest: int = 16
    seed: int = 1

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:
        """Search until the rounds or the time are over; without either, for twenty rounds a class.

        Complexity
        ----------
        ``O(p^2 m)`` once for the near points of p different rows, up to some ten thousand.
        """
        from discreet.kanonymity.local._kernels import improve
        from discreet.kanonymity.subsets._kernels import room_for

        require_feasible(problem, k)
        if self.exact_rows is not None and self.exact_rows > MOST_EXACT:
            raise InvalidProblemError("exact_rows", f"at most {MOST_EXACT}", self.exact_rows)
        start = limits.start
        if start is None:
            start = Segmentation(3).solve(problem, k, limits).labels
        if (start < 0).sum() > limits.suppress:
            raise InvalidProblemError("start", "no more suppressed rows than allowed", "more")
        points = points_of(problem, order_of(problem, range(problem.m)))
        state = _state(problem, split_large(problem, start, k), k, limits.suppress, self.seed)
        table = _table(problem, points, self.nearest)
        exact, classes = self.exact_rows, self.classes
        if exact is None:
            exact = 12 if k <= 4 else 0
        if classes is None:
            classes = max(2, exact // k) if exact >= 2 * k else 3
        most_rows = exact if exact >= 2 * k else classes * (2 * k - 1)
        room = room_for(max(exact, 1), problem.m, k)
        samples = 0 if k <= 4 else min(256, problem.n)
        rounds = self.rounds
        if rounds is None and limits.left == float("inf"):
            rounds = 20 * len(state.size)
        batch, done = 64, 0
        while (rounds is None or done < rounds) and (done == 0 or limits.left > 0):
            here = batch if rounds is None else min(batch, rounds - done)
            began = time.monotonic()
            improve(points.arrays, table, state, room, k, exact, most_rows, classes, samples, here)
            done += here
            # About ten looks at the clock a second.
            batch = min(4 * batch, max(16, int(here * 0.1 / max(time.monotonic() - began, 1e-6))))
        labels = np.full(problem.n, -1, dtype=np.int32)
        kept = state.labels >= 0
        labels[kept] = np.unique(state.labels[kept], return_inverse=True)[1]
        return Candidate(
            "local-search", labels, note="Unions of near classes were partitioned anew."
        )


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


def _state(problem: Problem, labels: NDArray[np.int32], k: int, suppress: int, seed: int) -> State:
    """Write a partition as the search wants it."""
    from discreet.kanonymity.local._kernels import State

    slots = problem.n // k
    boxes = problem.boxes(labels)
    size, cost = np.zeros(slots, dtype=np.int64), np.zeros(slots)
    size[: len(boxes.sizes)] = boxes.sizes
    cost[: len(boxes.sizes)] = boxes.sizes * boxes.costs.sum(axis=1)
    members = np.full((slots, 2 * k - 1), -1, dtype=np.int64)
    left_out = np.flatnonzero(labels < 0)
    rows = np.argsort(labels, kind="stable")[len(left_out) :]
    first = np.concatenate([[0], np.cumsum(size)])
    members[labels[rows], np.arange(len(rows)) - first[labels[rows]]] = rows
    outside = np.full(suppress, -1, dtype=np.int64)
    outside[: len(left_out)] = left_out
    draw = np.array([seed * 7919 % 2147483646 + 1], dtype=np.int64)
    n_outside = np.array([len(left_out)], dtype=np.int64)
    return State(labels.astype(np.int64), members, size, cost, outside, n_outside, draw)


def _table(problem: Problem, points: Points, nearest: int) -> Table:
    """Collapse equal rows and find the near points of each."""
    from discreet.kanonymity._kernels import nearest_in_orders, nearest_points
    from discreet.kanonymity.local._kernels import Table

    n_near = max(1, min(nearest, points.n - 1))
    if points.n <= EVERY_PAIR:
        near, _ = nearest_points(points.arrays, 0, points.n, n_near)
    else:
        ranks = [points.arrays.codes[:, j] for j in range(problem.m)]
        turned = [[*ranks[j:], *ranks[:j]] for j in range(problem.m)]
        orders = np.stack([np.lexsort(keys) for keys in turned]).astype(np.int64)
        near = nearest_in_orders(points.arrays, orders, 12, n_near)
    return Table(points.of_row, points.rows, points.first, near)
