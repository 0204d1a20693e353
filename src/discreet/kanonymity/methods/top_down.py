"""Top-down splitting, of the family of Mondrian [LDR06]_ and of top-down specialization [FWY05]_."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Event
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.arrays import columns_as_arrays
from discreet.kanonymity.candidate import (
    EFFORTS,
    CandidateClasses,
    SearchInterrupted,
    SearchLimits,
    require_feasible,
)
from discreet.kanonymity.demand import Demand, failing_classes, require_whole, wanted_of
from discreet.kanonymity.packed import layout_of, pack, rows_of
from discreet.kanonymity.search.suppress import leave_out
from discreet.kanonymity.search.top import Top, first_splits, join_small, sampled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.demand import Wanted
    from discreet.kanonymity.kernels.splitting import Rules
    from discreet.kanonymity.packed import RowLayout
    from discreet.kanonymity.problem import CodedColumn, Problem

__all__ = ["TopDown", "classes_of_rows", "rules_for", "split_part"]

ROWS_AT_ONCE = 2_000_000
"""Rows that are looked at between two looks at the clock: about a tenth of a second."""

NOTE = "Rows were split top-down, each node where a split gains most for what it spends."


@final
@dataclass(frozen=True)
class TopDown:
    r"""Split all rows top-down, each node by the split that gains most for each nat of information that it spends.

    A split of a taxonomy separates the most frequent children of the tightest node over the rows, while the others stay
    together under its label; too few others borrow rows of the most frequent child. A split of an interval cuts it
    anywhere, and one of a set separates its most frequent values. What is ours is the score: the fall of the loss,
    divided by the fall of :math:`\max(0, \ln(s/k) - 0.3)` for nodes of s rows, which charges for the rows that a class
    has beyond k as entropy does not; that splits are tried before they are taken; and the end, where all trees of few
    splits are searched.

    Parameters
    ----------
    effort
        ``"fast"`` tries trees of two splits in nodes of up to 4 k rows; ``"strong"`` those of more splits in larger
        nodes, and above them each of several splits with a greedy run.
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

        Raises
        ------
        InfeasibleError
            When all rows as one class fail a demand, so that every partition does.

        Complexity
        ----------
        ``O(m n log(n / k))`` looks at a cell, and as many again for each split that is tried.
        """
        require_feasible(problem, k)
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
        words, ends = _dealt(words, layout, top, self.demands, k)
        wanted, rules = wanted_of(self.demands), rules_for(self.effort, k, problem.n)
        bound = np.zeros(problem.n, dtype=np.uint8)
        # A part is a class until it is split.
        bound[ends[:-1]] = 1
        stop = Event()

        def one(begin: int, end: int) -> None:
            # The scratch space of demands is written to.
            mine = wanted._replace(tally=wanted.tally.copy(), seen=wanted.seen.copy())
            split_part(
                words[begin:end],
                bound[begin:end],
                problem.columns,
                layout,
                mine,
                rules,
                limits,
                stop,
            )

        parts = sorted(pairwise(ends.tolist()), key=lambda part: part[0] - part[1])
        with ThreadPoolExecutor(limits.threads) as pool:
            solving = [pool.submit(one, *part) for part in parts]
            try:
                wait(solving)
            except KeyboardInterrupt:
                stop.set()
        for part in solving:
            try:
                part.result()
            except KeyboardInterrupt:
                stop.set()
        labels = classes_of_rows(words, bound)
        if self.effort != "fast" and int(np.bincount(labels).min()) < k:
            # A tree that was cut while it was tried: what was split so far is not whole.
            whole = replace(limits, deadline=np.inf, suppress=0)
            labels = replace(self, effort="fast").solve(problem, k, whole).labels
        if limits.suppress:
            labels = leave_out(problem, labels, k, limits.suppress)
        found = CandidateClasses("top-down", labels, note=NOTE)
        if stop.is_set():
            raise SearchInterrupted(found)
        return found


def rules_for(effort: str, k: int, n: int) -> Rules:
    """Choose how much is tried, by the size of the table.

    Measured on Adult of 30,162 rows, k = 5, and enlarged to 5 million, k = 50.
    """
    from discreet.kanonymity.kernels.splitting import Rules

    if effort == "fast":
        return Rules(k, 1, 0, 2, 4 * k)
    if n <= SMALL_TABLE:
        return Rules(k, 4, 50_000, 9, max(60, min(12 * k, 120)))
    return Rules(k, 3, 50_000, 3, 8 * k)


SMALL_TABLE = 100_000
"""Rows up to which many splits are tried."""


def split_part(  # noqa: PLR0917 - the parts of one piece of work
    words: NDArray[np.int64],
    bound: NDArray[np.uint8],
    columns: Sequence[CodedColumn],
    layout: RowLayout,
    wanted: Wanted,
    rules: Rules,
    limits: SearchLimits,
    stop: Event | None = None,
) -> None:
    """Split packed rows, which are moved, and mark the first row of each class; once the time is over, nodes are."""
    from discreet.kanonymity.kernels.splitting import room_for_rows
    from discreet.kanonymity.kernels.top_down import split_nodes

    arrays, buffer = columns_as_arrays(columns), np.empty_like(words)
    room = room_for_rows(arrays, layout, wanted, len(words), rules)
    room.stack[0] = 0, len(words)
    room.numbers[0] = 1
    while room.numbers[0] and limits.left > 0 and not (stop is not None and stop.is_set()):
        split_nodes(arrays, layout, wanted, words, buffer, bound, rules, room, ROWS_AT_ONCE)
    for begin, _ in room.stack[: room.numbers[0]].tolist():
        bound[begin] = 1


def classes_of_rows(words: NDArray[np.int64], bound: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Give the class of each row, in the order of their numbers."""
    from discreet.kanonymity.kernels.dealing import label_runs

    labels = np.empty(len(words), dtype=np.int32)
    label_runs(words, bound, labels, 0)
    return labels


def _dealt(
    words: NDArray[np.int64],
    layout: RowLayout,
    top: Top,
    demands: Sequence[Demand],
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort rows by their part, and give where parts begin and end: each with k rows that hold what is asked."""
    from discreet.kanonymity.kernels.dealing import deal_rows

    if top.parts == 1:
        return words, np.array([0, len(words)])
    part = top.route(words, layout)
    counts = np.bincount(part, minlength=top.parts)
    ends = np.concatenate([[0], np.cumsum(counts)])
    dealt = np.empty_like(words)
    deal_rows(words, part, ends[:-1].copy(), dealt)

    def enough(union: list[int]) -> bool:
        rows = rows_of(dealt[ends[union[0]] : ends[union[-1] + 1]])
        return len(rows) >= k and not _fails(demands, rows)

    unions = join_small(top.parts, enough)
    return dealt, np.array([0, *(ends[union[-1] + 1] for union in unions)])


def _fails(demands: Sequence[Demand], rows: NDArray[np.int64]) -> bool:
    some = [replace(demand, codes=demand.codes[rows]) for demand in demands]
    return bool(some) and bool(failing_classes(some, np.zeros(len(rows), np.int64)).any())
