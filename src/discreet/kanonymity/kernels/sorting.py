"""Compiled sorts: those of numpy take two seconds each to compile, for every type anew (2026-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.jit import part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INSERTION_SORT_LENGTH = 16
"""Numbers of a run that is sorted by insertion, which takes fewer steps than merging a short run."""


@part
def sort_by(key: NDArray[np.float64], order: NDArray[np.int64], spare: NDArray[np.int64]) -> None:
    """Sort numbers by their keys, stably, in place: ``key[order[i]]`` rises, and equal ones stay in their order.

    Runs of a few are sorted by insertion, and then merged two by two; `spare` is room for as many. ``O(n log n)``.
    """
    n = len(order)
    for begin in range(0, n, INSERTION_SORT_LENGTH):
        for i in range(begin + 1, min(begin + INSERTION_SORT_LENGTH, n)):
            one, at = order[i], i
            while at > begin and key[order[at - 1]] > key[one]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = one
    width = INSERTION_SORT_LENGTH
    while width < n:
        for begin in range(0, n - width, 2 * width):
            middle, stop = begin + width, min(begin + 2 * width, n)
            if key[order[middle - 1]] <= key[order[middle]]:
                continue
            for i in range(begin, middle):
                spare[i] = order[i]
            left, right, at = begin, middle, begin
            while left < middle:
                if right < stop and key[order[right]] < key[spare[left]]:
                    order[at] = order[right]
                    right += 1
                else:
                    order[at] = spare[left]
                    left += 1
                at += 1
        width *= 2


@part
def sort_up(values: NDArray[np.int64], n: int) -> None:
    """Sort the first n of `values`, int64, in place, by Shell's method: ``O(n^1.5)`` at worst, few by insertion."""
    gap = 1
    while gap < n // INSERTION_SORT_LENGTH:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            one, at = values[i], i
            while at >= gap and values[at - gap] > one:
                values[at] = values[at - gap]
                at -= gap
            values[at] = one
        gap //= 3
