"""Local search in several threads: each has the classes on one side of a cut, and cuts change.

Kernels release the interpreter's lock, so that threads run at once; they share nothing that is written.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.candidate import Limits
from discreet.kanonymity.local.steps import state_of, work
from discreet.kanonymity.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Points
    from discreet.kanonymity.local._kernels import Table
    from discreet.kanonymity.local.unions import Union

__all__ = ["LEAST_ROWS", "search_shared", "sides"]

LEAST_ROWS = 1_000
"""Rows for each thread below which one thread does it all."""

TURNS = 8
"""Cuts in the time that there is."""


def search_shared(  # noqa: PLR0917 - the parts of one search
    problem: Problem,
    points: Points,
    table: Table,
    labels: NDArray[np.int32],
    unions: tuple[Union, ...],
    k: int,
    limits: Limits,
    seed: int,
) -> NDArray[np.int32]:
    """Improve a partition until the time is over.

    Parameters
    ----------
    problem, points, table
        The rows, and near points of each.
    labels
        Classes 0, 1, ... of k to 2k - 1 rows.
    unions
        Kinds of unions.
    k, limits
        As for any method; as many threads as the limits say.
    seed
        Where the search begins to look.
    """
    found = labels.astype(np.int64)
    each = max(limits.left / TURNS, 0.2)
    turn = 0
    with ThreadPoolExecutor(limits.threads) as pool:
        while limits.left > 0:
            turn += 1
            parts = sides(problem, found, limits.threads, turn)
            within = Limits.within(min(each, limits.left))

            def one(
                rows: NDArray[np.int64], within: Limits = within, turn: int = turn
            ) -> NDArray[np.int64]:
                inside = np.unique(found[rows], return_inverse=True)[1].astype(np.int32)
                part = Problem(problem.columns, problem.codes[rows], problem.loss)
                state = state_of(part, inside, k, 0, seed + turn)
                kept, local = _within(table, rows)
                arrays = points.arrays._replace(codes=points.arrays.codes[kept])
                work(arrays, local, state, unions, k, None, replace(within, threads=1))
                return np.asarray(state.labels)

            classes = 0
            solved = list(pool.map(one, parts))
            for rows, inside in zip(parts, solved, strict=True):
                found[rows] = classes + np.unique(inside, return_inverse=True)[1]
                classes = int(found[rows].max()) + 1
    return found.astype(np.int32)


def sides(
    problem: Problem, labels: NDArray[np.int64], parts: int, turn: int
) -> list[NDArray[np.int64]]:
    """Cut the classes into parts of about as many rows, across a direction that each turn changes.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> problem = Problem.from_columns({"age": [20, 50, 21, 51]}, [Numeric("age")])
    >>> [rows.tolist() for rows in sides(problem, np.array([0, 1, 0, 1]), 2, 1)]
    [[0, 2], [1, 3]]
    """
    # Multiples of the golden section are spread evenly.
    slopes = [(turn * (1237 + 1013 * j) + 765 * j) % 2003 / 2003 - 0.5 for j in range(problem.m)]
    sizes = [max(len(column.domain) - 1, 1) for column in problem.columns]
    place = problem.codes @ (np.array(slopes) / np.array(sizes))
    rows = np.bincount(labels)
    centre = np.bincount(labels, weights=place) / np.maximum(rows, 1)
    order = np.argsort(centre, kind="stable")
    before = np.cumsum(rows[order]) - rows[order]
    part = np.empty(len(rows), dtype=np.int64)
    part[order] = np.minimum(before * parts // max(len(labels), 1), parts - 1)
    found = [np.flatnonzero(part[labels] == side) for side in range(parts)]
    return [side for side in found if len(side)]


def _within(table: Table, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Table]:
    """Give the points of some rows, and the table of these rows and points alone, numbered anew."""
    from discreet.kanonymity.local._kernels import Table

    kept, point = np.unique(table.point[rows], return_inverse=True)
    number = np.full(len(table.near) + 1, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    order = np.argsort(point, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(point, minlength=len(kept)))])
    # The last number, -1, stands for what is no point here.
    near = number[table.near[kept]]
    return kept, Table(point.astype(np.int64), order.astype(np.int64), first.astype(np.int64), near)
