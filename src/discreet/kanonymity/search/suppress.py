"""Leave rows out of a partition where their class then loses more than they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


def leave_out(
    problem: Problem, labels: NDArray[np.int32], k: int, most: int, rounds: int = 10
) -> NDArray[np.int32]:
    """Suppress rows that widen their class, at most so many, first those that gain most for each row.

    In each round a class may give up the rows at one end of an interval or of a run of leaves, or those of the rarest
    value of a set; it keeps k. A suppressed row costs the weights of all columns.

    Parameters
    ----------
    problem, labels, k
        A partition into classes 0, 1, ... of k rows or more.
    most
        Most rows that may be left out.
    rounds
        Times that each class may give up a value.

    Returns
    -------
    ndarray
        Labels, -1 for suppressed rows; no class ends.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [20, 21, 22, 90]}, [Numeric("age")])
    >>> leave_out(problem, np.zeros(4, np.int32), 2, 1).tolist()
    [0, 0, 0, -1]
    """
    labels = labels.copy()
    left = most
    for _ in range(rounds):
        if left <= 0:
            break
        best = [_best_of_column(problem, labels, k, j) for j in range(problem.m)]
        gain, rows, code = (np.stack(part) for part in zip(*best, strict=True))
        rate = np.where(gain > 0, gain / np.maximum(rows, 1), 0.0)
        column = np.argmax(rate, axis=0)
        classes = np.arange(len(column))
        order = np.argsort(-rate[column, classes], kind="stable")
        order = order[rate[column[order], order] > 0]
        fits = np.cumsum(rows[column[order], order]) <= left
        chosen = order[fits]
        if not len(chosen):
            break
        given_up = np.full(len(column), -1, dtype=np.int64)
        at = np.zeros(len(column), dtype=np.int64)
        given_up[chosen], at[chosen] = code[column[chosen], chosen], column[chosen]
        unsuppressed = np.flatnonzero(labels >= 0)
        mine = labels[unsuppressed]
        gone = unsuppressed[problem.codes[unsuppressed, at[mine]] == given_up[mine]]
        labels[gone] = -1
        left -= len(gone)
    return labels


def _best_of_column(
    problem: Problem, labels: NDArray[np.int32], k: int, j: int
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the largest gain of each class by suppressing a value of column `j`, the rows that have it, and its code.

    All are ``(classes,)``; a gain of 0 where fewer than k rows would stay. A sort of the rows.
    """
    column = problem.columns[j]
    size, boxes = len(column.domain), problem.boxes(labels)
    unsuppressed = np.flatnonzero(labels >= 0)
    keys, counts = np.unique(
        labels[unsuppressed].astype(np.int64) * size + problem.codes[unsuppressed, j],
        return_counts=True,
    )
    label, code = keys // size, keys % size
    first = np.searchsorted(label, np.arange(len(boxes.sizes)))
    last = np.append(first[1:], len(label)) - 1
    wide, old = last > first, boxes.costs[:, j]
    # The next code inwards where there is one; the others are masked.
    after, before = np.minimum(first + 1, last), np.maximum(last - 1, first)
    if column.is_set:
        by_count = np.lexsort([counts, label])
        rarest = by_count[first]
        ends = [(rarest, column.set_cost(np.maximum(last - first, 1)))]
    else:
        ends = [
            (first, column.span_cost(code[after], code[last])),
            (last, column.span_cost(code[first], code[before])),
        ]
    extra = problem.suppressed_cost - boxes.costs.sum(axis=1)
    gains, rows, codes = [], [], []
    for end, cost in ends:
        rows_of_value = counts[end]
        gain = (boxes.sizes - rows_of_value) * (old - cost) - rows_of_value * extra
        gains.append(np.where(wide & (boxes.sizes - rows_of_value >= k), gain, 0.0))
        rows.append(rows_of_value)
        codes.append(code[end])
    best = np.argmax(np.stack(gains), axis=0)
    pick = (best, np.arange(len(best)))
    return np.stack(gains)[pick], np.stack(rows)[pick], np.stack(codes)[pick]
