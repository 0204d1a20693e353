"""A problem as flat arrays, the form in which compiled loops read it; equal rows collapsed to points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import CodedColumn, Problem

NUMERIC, TREE, SET = 0, 1, 2
"""Kinds of columns, as :class:`Arrays` writes them."""


class Arrays(NamedTuple):
    """What a kernel needs to know of the columns; values of column a have codes 0 to ``start[a + 1] - start[a] - 1``.

    ``place[start[a] + v]`` is what :class:`~discreet.kanonymity.problem.CodedColumn` calls `place`, ``cap[a]`` the
    weight. ``peaks[peak[a] + level * size + v]`` is the largest place of ``2^level`` codes from v on, and ``bits[d]``
    is the level for d of them.
    """

    codes: NDArray[np.int32]
    kind: NDArray[np.uint8]
    start: NDArray[np.int64]
    place: NDArray[np.float64]
    cap: NDArray[np.float64]
    peaks: NDArray[np.float64]
    peak: NDArray[np.int64]
    bits: NDArray[np.int64]


class BranchLimits(NamedTuple):
    """Limits of the search of one root, as the compiled search takes them."""

    max_nodes: int = 20_000
    """Boxes searched for one root: some hundredths of a second."""
    max_open_nodes: int = 500
    """Boxes that wait at once; more are given up, and the rows of their classes marked."""
    nodes_between_recounts: int = 64
    """Boxes inside one another after which the costs of rows are summed anew, since each change of one is rounded."""
    min_excess: float = 1e-9
    """Least excess of a class that is returned: above what rounding adds to its mean multiplier."""


BRANCHES = BranchLimits()


@final
@dataclass(frozen=True, eq=False)
class Points:
    """Different rows, in some order, with the rows that each stands for.

    Parameters
    ----------
    arrays
        The columns, with one row of codes for each point.
    rows
        All rows, those of point 0 first.
    first
        ``(n_points + 1,)``: the rows of point p are ``rows[first[p] : first[p + 1]]``.
    """

    arrays: Arrays
    rows: NDArray[np.int64]
    first: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.first) - 1

    @property
    def of_row(self) -> NDArray[np.int64]:
        """Array ``(n,)``: the point of each row."""
        point = np.empty(len(self.rows), dtype=np.int64)
        point[self.rows] = np.repeat(np.arange(self.n), np.diff(self.first))
        return point


def arrays_of(problem: Problem) -> Arrays:
    """Return a problem as flat arrays, for the kernels; the codes are shared with the problem, not copied."""
    return columns_as_arrays(problem.columns)._replace(codes=problem.codes)


def columns_as_arrays(columns: Sequence[CodedColumn]) -> Arrays:
    """Write columns as flat arrays, for loops that have the codes of the rows elsewhere.

    `codes` is ``(0, m)``; replace it by :func:`with_codes`. ``O(D)`` for D values of all columns, ``O(D log D)`` for
    taxonomies.
    """
    kinds, places, peaks, peak = [], [], [], [0]
    no_rows = np.empty((0, len(columns)), dtype=np.int32)
    # As those of a problem are, so that loops are compiled once.
    no_rows.setflags(write=False)
    for column in columns:
        numeric = isinstance(column.attribute, Numeric)
        kinds.append(SET if column.is_set else NUMERIC if numeric else TREE)
        places.append(column.place)
        peaks.append(column.peaks.ravel() if kinds[-1] == TREE else np.empty(0))
        peak.append(peak[-1] + len(peaks[-1]))
    sizes = [len(place) for place in places]
    bits = np.frexp(np.maximum(np.arange(max(sizes) + 1), 1).astype(np.float64))[1] - 1
    return Arrays(
        no_rows,
        np.array(kinds, dtype=np.uint8),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate(places),
        np.array([column.attribute.weight for column in columns], dtype=np.float64),
        np.concatenate([*peaks, np.zeros(1)]),
        np.array(peak[:-1], dtype=np.int64),
        bits.astype(np.int64),
    )


def with_codes(arrays: Arrays, codes: NDArray[np.int32]) -> Arrays:
    """Return the columns with other rows of codes, read-only as all are: each kernel is compiled for one type."""
    rows = np.array(codes, dtype=np.int32, order="C")
    rows.setflags(write=False)
    return arrays._replace(codes=rows)


def points_of(problem: Problem, order: NDArray[np.int64]) -> Points:
    """Collapse equal rows of a problem, where they follow one another in an order of its rows; ``O(n m)``.

    Parameters
    ----------
    problem
        The problem.
    order
        All rows. Equal ones that are apart become different points.
    """
    arrays = arrays_of(problem)
    codes = problem.codes[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]).any(axis=1)
    first = np.append(np.flatnonzero(new), len(order)).astype(np.int64)
    return Points(with_codes(arrays, codes[new]), order, first)
