"""Orders of rows in which near rows follow one another: sorted by columns, to and fro, or along Hilbert's curve."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.candidate import order_of
from discreet.kanonymity.initial import variance_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem

__all__ = ["cardinality_columns", "hilbert_order", "several_orders", "snake_order"]

ALL_ORDERS = 6
"""Columns up to which every order of them is tried: 720."""


def several_orders(problem: Problem) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield orders with their names, the most promising first.

    Cardinality and variance order of columns, each to and fro; Hilbert's curve; then, for six columns or fewer, every
    other order of columns, and for more the cyclic shifts of the cardinality order.
    """
    favorite = cardinality_columns(problem)
    second = variance_columns(problem)
    yield "cardinality", snake_order(problem, favorite)
    if second != favorite:
        yield "variance", snake_order(problem, second)
    yield "hilbert", hilbert_order(problem)
    rest = (
        [list(columns) for columns in itertools.permutations(favorite)]
        if problem.m <= ALL_ORDERS
        else [favorite[shift:] + favorite[:shift] for shift in range(1, problem.m)]
    )
    for columns in rest:
        if columns not in (favorite, second):
            yield "columns", snake_order(problem, columns)


def cardinality_columns(problem: Problem) -> list[int]:
    """Order the columns by how many different values they have, the fewest first."""
    counts = [len(np.unique(problem.codes[:, j])) for j in range(problem.m)]
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
    new = np.ones(len(order), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    points = codes[new]
    # The rank of each prefix in the order so far: where it is odd, the next column runs backwards.
    rank = np.zeros(len(points), dtype=np.int64)
    for j in columns:
        size = len(problem.columns[j].domain)
        here = np.where(rank % 2 == 0, points[:, j], size - 1 - points[:, j])
        rank = np.unique(rank * size + here, return_inverse=True)[1]
    of_row = np.cumsum(new) - 1
    return order[np.argsort(rank[of_row], kind="stable")]


def hilbert_order(problem: Problem) -> NDArray[np.int64]:
    """Sort along Hilbert's curve through the codes, after Skilling's transposed form [Ski04]_.

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
