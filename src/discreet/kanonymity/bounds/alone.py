r"""What each column costs on its own, added up: a bound for columns of very many values.

The class of row i has k rows or more whose values lie in its cell of column j, so that this cell costs no less than the
cheapest one that holds the row's value and k rows of the table, whatever the other columns are:

.. math:: \text{information loss} \;\ge\; \sum_j \sum_i \min\{\, w_j c_j(C) : v_{ij} \in C,\ |C| \ge k \,\}.

Columns add up, since the least of a sum is no less than the sum of the least. It says nothing of columns of which each
value has k rows, and little of most columns with nearly as many values as rows. A suppressed row costs no less in any
column than a cell of all values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import CodedColumn

__all__ = ["alone_bound"]

SAFE, CANCELLED = 1.0 - 1e-11, 1e-15
"""What rounding takes off: a part of the sum, and a part of all weights for each row."""


def alone_bound(
    columns: Sequence[CodedColumn], counts: Sequence[NDArray[np.int64]], k: int
) -> float:
    """Add up the cheapest cells of each value that k rows share, column by column, rounded down.

    Parameters
    ----------
    columns
        The columns. Taxonomies count nothing: their nodes are listed by :mod:`~discreet.kanonymity.bounds.covers`.
    counts
        ``(D,)`` rows with each code, for each column; k or more together.
    k
        Least class size.

    Complexity
    ----------
    ``O(D log D)`` for each column.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Problem
    >>> people = Problem.from_columns({"age": [20, 21, 40, 50, 60]}, [Numeric("age")])
    >>> round(alone_bound(people.columns, [np.ones(5, dtype=np.int64)], 2), 6)
    0.8
    """
    sums, slack = [], 0.0
    for column, rows in zip(columns, counts, strict=True):
        codes = np.flatnonzero(rows)
        present = rows[codes]
        if present.min(initial=k) >= k:
            continue
        if column.is_set:
            costs = column.set_cost(_values_needed(present, k))
        elif isinstance(column.attribute, Numeric):
            costs = _narrowest(column, codes, present, k)
        else:
            continue
        sums.append(math.fsum((present * costs).tolist()))
        slack += CANCELLED * float(present.sum()) * column.attribute.weight
    return max(0.0, math.fsum(sums) * SAFE - slack)


def _values_needed(rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return for each value the size of the smallest set of values that contains it and is shared by k rows.

    Examples
    --------
    >>> _values_needed(np.array([1, 5, 2, 1]), 7).tolist()
    [3, 2, 2, 3]
    """
    falling = -np.sort(-rows)
    most = np.concatenate([[0], np.cumsum(falling)])
    # A value that is among the most frequent ones needs no place of its own.
    without = 1 + np.searchsorted(most, k - rows)
    among = np.searchsorted(most, k)
    return np.where(rows >= falling[among - 1], among, np.maximum(1, without))


def _narrowest(
    column: CodedColumn, codes: NDArray[np.int64], rows: NDArray[np.int64], k: int
) -> NDArray[np.float64]:
    """Return the cost of the narrowest interval around each value that k rows share.

    It cannot be made narrower at either end: it is the shortest one from where it begins, or else it ends at the value
    and is the shortest one that does.
    """
    d = len(codes)
    before = np.concatenate([[0], np.cumsum(rows)])
    starts = np.flatnonzero(before[:-1] + k <= before[-1])
    ends = np.searchsorted(before, before[starts] + k) - 1
    widths = column.span_cost(codes[starts], codes[ends])
    # Those around a value stand next to each other: ends rise with starts.
    first = np.searchsorted(ends, np.arange(d))
    last = np.minimum(np.arange(d), len(starts) - 1)
    costs = np.full(d, np.inf)
    covered = np.flatnonzero(first <= last)
    least, reach = [widths], 1
    while 2 * reach <= len(widths):
        least.append(np.minimum(least[-1][: len(least[-1]) - reach], least[-1][reach:]))
        reach *= 2
    level = np.frexp((last - first + 1)[covered].astype(np.float64))[1] - 1
    for at, table in enumerate(least):
        mine = covered[level == at]
        costs[mine] = np.minimum(table[first[mine]], table[last[mine] - (1 << at) + 1])
    backward = np.flatnonzero(before[1:] >= k)
    begins = np.searchsorted(before, before[1:][backward] - k, side="right") - 1
    costs[backward] = np.minimum(costs[backward], column.span_cost(codes[begins], codes[backward]))
    return costs
