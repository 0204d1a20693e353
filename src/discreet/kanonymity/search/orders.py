"""Orders of rows in which near rows follow one another: sorted by columns, to and fro, or along Hilbert's curve."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.candidate import order_of
from discreet.kanonymity.methods.initial import variance_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


def several_orders(problem: Problem, most_columns: int = 6) -> Iterator[NDArray[np.int64]]:
    """Yield permutations ``(n,)`` of rows, the most promising first.

    Cardinality and variance order of columns, each to and fro; Hilbert's curve; then, for six columns or fewer, every
    other order of columns. On tables of more columns no other order of them came near to Hilbert's curve.
    """
    favorite = cardinality_columns(problem)
    second = variance_columns(problem)
    yield snake_order(problem, favorite)
    if second != favorite:
        yield snake_order(problem, second)
    yield hilbert_order(problem)
    if problem.m <= most_columns:
        for columns in map(list, itertools.permutations(favorite)):
            if columns not in (favorite, second):
                yield snake_order(problem, columns)


def cardinality_columns(problem: Problem) -> list[int]:
    """Return the indices of the columns by how many different values occur in them, the fewest first."""
    counts = [np.count_nonzero(np.bincount(problem.codes[:, j])) for j in range(problem.m)]
    return [int(j) for j in np.argsort(counts, kind="stable")]


def snake_order(problem: Problem, columns: Sequence[int]) -> NDArray[np.int64]:
    """Sort by columns, each next one up and down in turn, so that no column falls back from its end to its start.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> rows = {"a": [0, 0, 1, 1], "b": [5, 6, 5, 6]}
    >>> snake_order(Problem.from_columns(rows, [Numeric("a"), Numeric("b")]), [0, 1]).tolist()
    [0, 1, 3, 2]
    """
    order = order_of(problem, columns)
    codes = problem.codes[order]
    # Rows that agree in the columns so far are a group; groups are numbered in the order of `order`. The turn of a
    # group is its number in the new order: where it is odd, the next column runs backwards.
    group = np.zeros(len(order), dtype=np.int64)
    starts = np.zeros(1, dtype=np.int64)
    turn = np.zeros(1, dtype=np.int64)
    for j in columns:
        new = np.zeros(len(order), dtype=bool)
        new[1:] = codes[1:, j] != codes[:-1, j]
        new[starts] = True
        inner = np.flatnonzero(new)
        parent = group[inner]
        first = np.searchsorted(parent, np.arange(len(starts)))
        count = np.diff(np.append(first, len(inner)))
        in_turn = np.argsort(turn, kind="stable")
        before = np.empty(len(starts), dtype=np.int64)
        before[in_turn] = np.cumsum(count[in_turn]) - count[in_turn]
        place = np.arange(len(inner)) - first[parent]
        backwards = turn[parent] % 2 == 1
        turn = before[parent] + np.where(backwards, count[parent] - 1 - place, place)
        starts, group = inner, np.cumsum(new) - 1
    sizes = np.diff(np.append(starts, len(order)))
    in_turn = np.empty(len(starts), dtype=np.int64)
    in_turn[turn] = np.arange(len(starts))
    moved = np.cumsum(sizes[in_turn]) - sizes[in_turn]
    place = np.arange(len(order)) + np.repeat(starts[in_turn] - moved, sizes[in_turn])
    return np.asarray(order[place])


def hilbert_order(problem: Problem) -> NDArray[np.int64]:
    """Sort along Hilbert's curve through the codes, after Skilling's transposed form [Ski04]_: row indices ``(n,)``.

    Codes are scaled to as many bits as m columns leave in 62; ties keep their order.
    """
    m = problem.m
    bits = max(1, min(16, 62 // m))
    X = np.empty((m, problem.n), dtype=np.int64)
    for j, column in enumerate(problem.columns):
        X[j] = problem.codes[:, j] * (2**bits - 1) // max(1, len(column.domain) - 1)
    step = 1 << (bits - 1)
    while step > 1:
        low = step - 1
        for j in range(m):
            inverted = (X[j] & step) > 0
            X[0] = np.where(inverted, X[0] ^ low, X[0])
            swap = np.where(inverted, 0, (X[0] ^ X[j]) & low)
            X[0] ^= swap
            X[j] ^= swap
        step >>= 1
    for j in range(1, m):
        X[j] ^= X[j - 1]
    turn = np.zeros(problem.n, dtype=np.int64)
    step = 1 << (bits - 1)
    while step > 1:
        turn = np.where((X[m - 1] & step) > 0, turn ^ (step - 1), turn)
        step >>= 1
    X ^= turn
    key = np.zeros(problem.n, dtype=np.int64)
    for bit in range(bits - 1, -1, -1):
        for j in range(m):
            key = (key << 1) | ((X[j] >> bit) & 1)
    return np.argsort(key, kind="stable")
