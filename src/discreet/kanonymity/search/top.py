"""The first splits of a large table, from a sample of its rows; they divide it into parts that are split by themselves.

The sample says where to split, which may cost loss. Privacy rests on exact counts: a part that has too few rows, or
fails a demand, joins its neighbor. Parts are the same wherever their rows are, so that all engines find
the same classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.arrays import columns_as_arrays
from discreet.kanonymity.demand import wanted_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.packed import RowLayout
    from discreet.kanonymity.problem import CodedColumn


@final
@dataclass(frozen=True)
class TopTuning:
    """Sizes of the sample and of the parts of a large table, in rows.

    Parameters
    ----------
    max_rows_of_one_part
        Rows up to which a table is one part.
    min_sample_rows
        Rows of a sample, at least.
    rows_per_sampled_row
        One row in so many is in the sample of a larger table.
    target_parts
        Parts of about so many rows each: enough for all threads and workers, and each large enough to be split
        well.
    min_sampled_classes_per_side
        Sampled rows of k that each side of a split of the sample has.
    """

    max_rows_of_one_part: int = 200_000
    min_sample_rows: int = 100_000
    rows_per_sampled_row: int = 50
    target_parts: int = 64
    min_sampled_classes_per_side: int = 20


TOP = TopTuning()


@final
@dataclass(frozen=True, eq=False)
class Top:
    """Which part each row belongs to, by its codes alone.

    Parameters
    ----------
    column, first, after
        A tree of tests: node i looks at the code c of its column and goes to ``after[first[i] + c]``. A leaf has column
        -1, and ``first[i]`` is the number of its part.
    parts
        Number of parts, in the order of the tree.
    """

    column: NDArray[np.int64]
    first: NDArray[np.int64]
    after: NDArray[np.int32]
    parts: int

    def route(self, words: NDArray[np.int64], layout: RowLayout) -> NDArray[np.int32]:
        """Return the part of each packed row of `words` ``(n, words)``: int32 ``(n,)``. ``O(n depth)``."""
        from discreet.kanonymity.kernels.dealing import route_rows

        part = np.empty(len(words), dtype=np.int32)
        route_rows(layout, words, self.column, self.first, self.after, part)
        return part

    @classmethod
    def single(cls) -> Top:
        """Return a tree with one part, for all rows."""
        one = np.zeros(1, dtype=np.int64)
        return cls(one - 1, one, np.empty(0, dtype=np.int32), 1)


def sampled(n: int, first: int, stop: int) -> NDArray[np.int64]:
    """Return the rows from `first` to ``stop - 1`` that are in the sample of a table of n rows.

    The same rows are, whichever engine reads them: the choice follows from their numbers, and decides nothing private.

    Examples
    --------
    >>> len(sampled(100, 10, 30)), len(sampled(10**8, 0, 10**5)) // 100
    (20, 20)
    """
    rows = np.arange(first, stop, dtype=np.int64)
    wanted = max(TOP.min_sample_rows, n // TOP.rows_per_sampled_row)
    if n <= wanted:
        return rows
    # Multiples of the golden section are spread evenly, and fall into step with no order of the rows.
    spread = (rows.astype(np.uint64) * np.uint64(11400714819323198485)) >> np.uint64(32)
    return rows[spread < np.uint64(wanted * 2**32 // n)]


def first_splits(
    columns: Sequence[CodedColumn], layout: RowLayout, sample: NDArray[np.int64], n: int, k: int
) -> Top:
    """Split a sample until parts stand for about a sixty-fourth of the table.

    Linear in the sample and its columns for each level of splits.

    Parameters
    ----------
    columns
        The quasi-identifiers.
    layout, sample
        Packed rows; they are moved about.
    n
        Rows of the table.
    k
        Least size of a class.
    """
    from discreet.kanonymity.kernels.splitting import (
        GROUP,
        PackedTable,
        Rules,
        rank_splits,
        room_for_rows,
        split_node,
    )

    if n <= TOP.max_rows_of_one_part or len(sample) < 2:
        return Top.single()
    arrays, no_demands = columns_as_arrays(columns), wanted_of(())
    share = len(sample) / n
    least = max(2, int(TOP.min_sampled_classes_per_side * k * share), min(k, 20))
    rules = Rules(least, 1, 0)
    room = room_for_rows(arrays, no_demands, len(sample), rules)
    group, no_bound = room.scratch.lists[GROUP], np.empty(0, dtype=np.uint8)
    table = PackedTable(arrays, layout, no_demands, sample, np.empty_like(sample), no_bound)
    limit = max(2 * least, len(sample) // TOP.target_parts)
    column, first, after = [-1], [0], [np.empty(0, np.int32)]
    used, parts = 0, 0
    # Depth first, so that neighbors in the tree are neighbors in number.
    stack = [(0, 0, len(sample))]
    while stack:
        node, lo, hi = stack.pop()
        if hi - lo <= limit or not rank_splits(table, lo, hi, rules, 1, room.scratch, 0):
            first[node] = parts
            parts += 1
            continue
        a, cut = int(room.scratch.ranked[0, 0, 0]), int(room.scratch.ranked[0, 1, 0])
        size = int(arrays.start[a + 1] - arrays.start[a])
        group[:size] = -1
        groups = split_node(table, lo, hi, a, cut, least, room.scratch, room.ends)
        ends = room.ends[: groups + 1].copy()
        counts = np.diff(ends)
        goes = _everywhere(group[:size].copy(), int(arrays.kind[a]), int(np.argmax(counts)))
        children = len(column) + np.arange(groups)
        column[node], first[node] = a, used
        after.append(children[goes].astype(np.int32))
        used += size
        column += [-1] * groups
        first += [0] * groups
        stack += [
            (int(child), int(begin), int(end))
            for child, begin, end in zip(
                children[::-1], ends[:-1][::-1], ends[1:][::-1], strict=True
            )
        ]
    return Top(np.array(column), np.array(first), np.concatenate(after), parts)


def _everywhere(group: NDArray[np.int64], kind: int, largest: int) -> NDArray[np.int64]:
    """Assign codes that the sample did not have, -1 in `group` ``(D,)``, to a group: the nearest below, or `largest`.

    The nearest below for numbers, `kind` 0. Linear.
    """
    known = np.flatnonzero(group >= 0)
    if kind != 0:
        return np.where(group >= 0, group, largest)
    below = np.searchsorted(known, np.arange(len(group)), side="right") - 1
    return group[known[np.maximum(below, 0)]]


def join_small(parts: int, enough: Callable[[list[int]], bool]) -> list[list[int]]:
    """Join parts with their neighbors until each union is large enough; give those of each, in order.

    Parameters
    ----------
    parts
        Number of parts.
    enough
        Whether a union has rows enough and holds all demands, by exact counts. A larger one then does, too.

    Examples
    --------
    >>> counts = [5, 1, 1, 9, 3]
    >>> join_small(5, lambda union: sum(counts[part] for part in union) >= 3)
    [[0], [1, 2, 3], [4]]
    """
    unions: list[list[int]] = [[]]
    for part in range(parts):
        unions[-1].append(part)
        if enough(unions[-1]):
            unions.append([])
    last = unions.pop()
    if last and unions:
        unions[-1] += last
    elif last:
        unions.append(last)
    return unions
