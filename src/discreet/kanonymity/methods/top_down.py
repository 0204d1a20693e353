"""Top-down splitting, of the family of Mondrian [LDR06]_ and of top-down specialization [FWY05]_."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import (
    EFFORTS,
    CandidateClasses,
    SearchInterrupted,
    SearchLimits,
    require_feasible,
)
from discreet.kanonymity.demand import Demand, failing_classes, require_whole, wanted_of
from discreet.kanonymity.packed import layout_of, pack, rows_of
from discreet.kanonymity.search.parts import Rows, split_parts
from discreet.kanonymity.search.suppress import leave_out
from discreet.kanonymity.search.top import Top, first_splits, join_small, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.packed import RowLayout
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class TopDown:
    r"""Split all rows top-down, each node by the split that gains most for each nat of information that it spends.

    A split of a taxonomy separates the most frequent children of the tightest node over the rows, while the others stay
    together under its label; too few others borrow rows of the most frequent child. A split of an interval cuts it
    anywhere, and one of a set separates its most frequent values. What is ours is the score: the fall of the loss,
    divided by the fall of :math:`\max(0, \ln(s/k) - 0.3)` for nodes of s rows, which charges for the rows that a class
    has beyond k as entropy does not; and that splits are tried before they are taken.

    Parameters
    ----------
    effort
        ``"fast"`` tries two splits of each node of up to 5 k rows, each with a greedy run; ``"strong"`` three or four
        of each node of up to 50,000 rows.
    demands
        What each class must hold besides k rows. A split that would leave a group short of it is not made.
    top
        The first splits; default: found from a sample of the rows where there are more than 200,000.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> TopDown().solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    effort: str = "fast"
    demands: tuple[Demand, ...] = ()
    top: Top | None = None

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise InvalidProblemError("effort", f"one of {', '.join(EFFORTS)}", repr(self.effort))

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Split until nothing can be split, or the time is over; what was not split by then is a class.

        Within a time limit all rows are split fast, the largest nodes first; what more the effort tries comes after
        that, and ends so early that the rest can be split fast.

        Raises
        ------
        InfeasibleError
            When all rows as one class fail a demand, so that every partition does.

        Complexity
        ----------
        ``O(m n log(n / k))`` looks at a cell, and as many again for each split that is tried.
        """
        require_feasible(problem.n, k)
        require_whole(self.demands, problem.n)
        if self.demands and limits.suppress:
            raise InvalidProblemError("suppress", "0, with demands on sensitive columns", "more")
        layout = layout_of(problem.columns)
        words = pack([problem.codes[:, a] for a in range(problem.m)], layout)
        if self.top is None:
            sample = words[sampled(problem.n, 0, problem.n)]
            top = first_splits(problem.columns, layout, sample, problem.n, k)
        else:
            top = self.top
        words, ends = _sorted_by_part(words, layout, top, self.demands, k)
        rows = Rows(
            words,
            np.zeros(problem.n, dtype=np.uint8),
            problem.columns,
            layout,
            wanted_of(self.demands),
        )
        # A part is a class until it is split.
        rows.bound[ends[:-1]] = 1
        parts = list(pairwise(ends.tolist()))
        interrupted = split_parts(rows, parts, self.effort, k, limits)
        labels = classes_of_rows(words, rows.bound)
        if limits.suppress:
            labels = leave_out(problem, labels, k, limits.suppress)
        candidate = CandidateClasses("top-down", labels)
        if interrupted:
            raise SearchInterrupted(candidate)
        return candidate


def classes_of_rows(words: NDArray[np.int64], bound: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the class of each row, int32 ``(n,)`` by row number, from packed rows `words` ``(n, words)``.

    `bound` ``(n,)`` marks the last row of each class. Linear.
    """
    from discreet.kanonymity.kernels.dealing import label_runs

    labels = np.empty(len(words), dtype=np.int32)
    label_runs(words, bound, labels, 0)
    return labels


def _sorted_by_part(
    words: NDArray[np.int64],
    layout: RowLayout,
    top: Top,
    demands: Sequence[Demand],
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort packed rows `words` ``(n, words)`` by their part; return them and the ends of parts ``(parts + 1,)``.

    Parts that have fewer than k rows or fail the demands are joined to neighbors. Linear.
    """
    from discreet.kanonymity.kernels.dealing import deal_rows

    if top.parts == 1:
        return words, np.array([0, len(words)])
    part = top.route(words, layout)
    counts = np.bincount(part, minlength=top.parts)
    ends = np.concatenate([[0], np.cumsum(counts)])
    sorted_words = np.empty_like(words)
    deal_rows(words, part, ends[:-1].copy(), sorted_words)

    def is_large(union: list[int]) -> bool:
        rows = rows_of(sorted_words[ends[union[0]] : ends[union[-1] + 1]])
        return len(rows) >= k and not _fails(demands, rows)

    unions = join_small(top.parts, is_large)
    return sorted_words, np.array([0, *(ends[union[-1] + 1] for union in unions)])


def _fails(demands: Sequence[Demand], rows: NDArray[np.int64]) -> bool:
    """Return whether rows as one class fail a demand."""
    some = [replace(demand, codes=demand.codes[rows]) for demand in demands]
    return bool(some) and bool(failing_classes(some, np.zeros(len(rows), np.int64)).any())
