"""Compiled: packed rows are dealt to parts by a tree of tests, and classes numbered where rows were split."""

# ruff: noqa: PLR0917 - a compiled kernel takes its arrays one by one
from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.jit import kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.kanonymity.packed import RowLayout


@kernel
def label_runs(
    P: NDArray[np.int64], bound: NDArray[np.uint8], labels: NDArray[np.int32], first: int
) -> int:
    """Number the classes in the order of their runs, from `first` on, and return the next number.

    `P` ``(n, words)`` int64 are packed rows, `bound` ``(n,)`` uint8 marks the first row of a run, and `labels` int32
    becomes the class by row number. ``O(n)``.
    """
    label = first - 1
    for r in range(len(P)):
        label += int(bound[r])
        labels[P[r, 0] >> 32] = label
    return label + 1


@kernel
def route_rows(
    L: RowLayout,
    P: NDArray[np.int64],
    column: NDArray[np.int64],
    first: NDArray[np.int64],
    after: NDArray[np.int32],
    part: NDArray[np.int32],
) -> None:
    """Write the part of each row ``(n,)`` int32, by a tree of tests of its codes; see `Top`. ``O(n depth)``.

    `P` is ``(n, words)``; `column`, `first` and `after` are the nodes of the tree: column or -1, first child or part.
    """
    for r in range(len(P)):
        i = 0
        while column[i] >= 0:
            a = column[i]
            i = after[first[i] + ((P[r, L.word[a]] >> L.shift[a]) & L.mask[a])]
        part[r] = first[i]


@kernel
def deal_rows(
    P: NDArray[np.int64], part: NDArray[np.int32], at: NDArray[np.int64], to: NDArray[np.int64]
) -> None:
    """Sort packed rows `P` ``(n, words)`` stably by their part ``(n,)``; those of part q go to ``to[at[q]]`` and after.

    `at` ``(parts,)`` is counted up, `to` has the shape of `P`. Linear.
    """
    words = P.shape[1]
    for r in range(len(P)):
        place = at[part[r]]
        at[part[r]] = place + 1
        for w in range(words):
            to[place, w] = P[r, w]
