"""Greedy Search: Algorithm 2 of [LS20]_."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import whole_number
from discreet.kanonymity.arrays import points_of
from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchLimits,
    assign_leftovers,
    portions,
    require_feasible,
)
from discreet.kanonymity.methods.initial import variance_order
from discreet.kanonymity.methods.segmentation import Segmentation
from discreet.kanonymity.methods.top_down import TopDown
from discreet.kanonymity.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class GreedySearch:
    r"""Start each class at the first row that is left, and add the row that widens it least, until there are k.

    Rows are in the order of :func:`~discreet.kanonymity.methods.initial.variance_order`. The at most k - 1 rows that
    are left over join a class each. Equal rows are looked at once, which changes no class.

    Parameters
    ----------
    leftovers
        ``"increase"``: where the loss grows least, as the text says. ``"range"``: where the cells are least wide
        afterwards, as in Table 7.
    part
        Rows of a part, at least k, that classes grow within; default: the whole table, as published. Parts are runs of
        near classes of the partition to start from, split top-down where there is none, so that many rows take time in
        proportion to their number. Threads share them.

    Notes
    -----
    The pseudo-code runs until no row is left, which would leave a last class of fewer than k; the search ends when
    ``n mod k`` rows are left (T9). Theorem 2 counts one round too many; see :func:`evaluations`.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> GreedySearch().solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    leftovers: Literal["increase", "range"] = "increase"
    part: int | None = None

    def __post_init__(self) -> None:
        if self.leftovers not in {"increase", "range"}:
            raise InvalidProblemError("leftovers", "'increase' or 'range'", repr(self.leftovers))
        if self.part is not None:
            whole_number(self.part, "part", "at least one row")

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Grow class after class; rows that are left when the time is over are cut along an order.

        Complexity
        ----------
        ``O(p (n - n mod k))`` looks at m columns, for p different rows of the table, or of a part.
        """
        require_feasible(problem.n, k)
        if self.part is not None:
            labels = self._within_parts(problem, k, limits, self.part)
            return CandidateClasses("greedy-search", labels)
        order = variance_order(problem)
        labels = grown(problem, order, k, limits, seed=-1)
        rest = order[labels[order] < 0].tolist()
        labels = assign_leftovers(problem, labels, rest, rule=self.leftovers)
        return CandidateClasses("greedy-search", labels)

    def _within_parts(
        self, problem: Problem, k: int, limits: SearchLimits, size: int
    ) -> NDArray[np.int32]:
        """Grow the classes of each part of `size` rows or more, and number them one after another.

        Labels int32 ``(n,)``. Parts are runs of classes of a partition, and solved in threads, each in its share of
        the time: ``O(size^2 m)``.
        """
        start = limits.start
        if start is None or (start < 0).any():
            start = TopDown().solve(problem, k, replace(limits, start=None, suppress=0)).labels
        parts = runs_of_classes(start, max(k, size))
        grow, left = replace(self, part=None), [problem.n]

        def one(rows: NDArray[np.int64]) -> NDArray[np.int32]:
            mine = replace(
                limits, deadline=limits.share(len(rows) / left[0]), start=None, suppress=0
            )
            left[0] -= len(rows)
            return grow.solve(
                Problem(problem.columns, problem.codes[rows], problem.loss), k, mine
            ).labels

        labels, classes = np.empty(problem.n, dtype=np.int32), 0
        with ThreadPoolExecutor(limits.threads) as pool:
            for rows, part_labels in zip(parts, pool.map(one, parts), strict=True):
                labels[rows] = classes + part_labels
                classes += int(part_labels.max()) + 1
        return labels


def runs_of_classes(labels: NDArray[np.int32], least: int) -> list[NDArray[np.int64]]:
    """Return the row indices of runs of classes in the order of their labels, at least `least` rows in each run.

    `labels` is ``(n,)``, from 0 without gaps. A sort.

    One run of all rows where there are fewer than twice as many.
    """
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    cuts, begin = [], 0
    for end in ends.tolist():
        if end - begin >= least and len(order) - end >= least:
            cuts.append(end)
            begin = end
    return np.split(order, cuts)


def grown(
    problem: Problem, order: NDArray[np.int64], k: int, limits: SearchLimits, *, seed: int
) -> NDArray[np.int32]:
    """Label the rows of grown classes, int32 ``(n,)``, and those left over with -1, fewer than k; see the kernel.

    `order` ``(n,)`` are all rows, equal ones together. ``O(n^2 m)``; rows that the time does not suffice for are cut
    in runs.
    """
    from discreet.kanonymity.kernels.boxes import grow, start_growth

    points = points_of(problem, order)
    growth = start_growth(points.arrays, points.first, k, seed)
    picks, done = problem.n // k * k, 0
    for begin, stop in portions(picks, limits, first=10 * k):
        grow(points.arrays, points.first, k, growth, seed, begin, stop)
        done = stop
    labels = np.empty(problem.n, dtype=np.int32)
    labels[order] = growth.labels
    if done < picks:
        # The last class may be part of one.
        n_classes = done // k
        rest = np.flatnonzero((labels < 0) | (labels >= n_classes))
        part = Problem(problem.columns, problem.codes[rest], problem.loss)
        labels[rest] = n_classes + Segmentation(orders=1).solve(part, k, limits).labels
    return labels


def evaluations(n: int, k: int) -> int:
    r"""Count how many rows Algorithm 2 tries: :math:`(k-1)\,q\,(n - kq/2)` with :math:`q = \lfloor n/k \rfloor`.

    Theorem 2's sum starts at p = 0 with p - 1, which is one round too many.

    Examples
    --------
    >>> evaluations(5000, 3), evaluations(20000, 200)
    (8333332, 199000000)
    """
    q = n // k
    return (k - 1) * q * (2 * n - k * q) // 2
