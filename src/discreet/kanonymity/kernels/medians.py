"""Compiled: cut a table at medians again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel
from discreet.kanonymity.kernels.boxes import span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays


class MedianParts(NamedTuple):
    """Parts that may be cut: rows ``rows[stack[d, 0] : stack[d, 1]]`` for each d below ``counts[0]``.

    The others are classes, ``counts[1]`` of them, by which `labels` are. ``counts[2]`` parts were looked at; `scratch`
    and `stamp` are room.
    """

    rows: NDArray[np.int64]
    stack: NDArray[np.int64]
    labels: NDArray[np.int32]
    counts: NDArray[np.int64]
    scratch: NDArray[np.int64]
    stamp: NDArray[np.int64]


@kernel
def start_parts(A: Arrays, k: int) -> MedianParts:
    """Begin with all rows as one part, to be cut; `k` is the least class size.

    ``O(n)`` memory, and one entry a value.
    """
    n, m = A.codes.shape
    stack = np.empty((n // max(k, 1) + 2, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    return MedianParts(
        np.arange(n),
        stack,
        np.empty(n, dtype=np.int32),
        np.array([1, 0, 0]),
        np.empty(n, dtype=np.int64),
        np.full(A.start[m], -1, dtype=np.int64),
    )


@kernel
def cut_at_medians(A: Arrays, k: int, strict: bool, P: MedianParts, most: int) -> None:  # noqa: FBT001 - a kernel has no keywords
    """Split parts of a table at the median until no part is left or `most` rows were read.

    The widest column that has an allowed cut is cut. Strict: equal values stay together, the median itself goes below,
    or above where that alone leaves k rows on each side. Relaxed: ties are divided, in the order of rows. A part of s
    rows takes ``O(s m)`` looks and a sort.
    """
    m = len(A.kind)
    rows, stack, labels, scratch, stamp = P.rows, P.stack, P.labels, P.scratch, P.stamp
    depth, n_labels, visits = P.counts[0], P.counts[1], P.counts[2]
    width = np.empty(m)
    looked = 0
    while depth and looked < most:
        depth -= 1
        begin, stop = stack[depth, 0], stack[depth, 1]
        visits += 1
        looked += stop - begin
        middle = -1
        if stop - begin >= 2 * k:
            for a in range(m):
                lo, hi, count = A.start[a + 1], -1, 0
                for t in range(begin, stop):
                    code = A.codes[rows[t], a]
                    lo, hi = min(lo, code), max(hi, code)
                    if A.kind[a] == 2 and stamp[A.start[a] + code] != visits:
                        stamp[A.start[a] + code] = visits
                        count += 1
                if A.kind[a] == 2:
                    width[a] = A.place[A.start[a] + count - 1]
                else:
                    width[a] = span(A, a, lo, hi)
            for a in np.argsort(-width, kind="mergesort"):
                if width[a] <= 0.0:
                    break
                values = np.empty(stop - begin, dtype=np.int64)
                for t in range(begin, stop):
                    values[t - begin] = A.codes[rows[t], a]
                if not strict:
                    by_value = np.argsort(values, kind="mergesort")
                    for t in range(stop - begin):
                        scratch[t] = rows[begin + by_value[t]]
                    rows[begin:stop] = scratch[: stop - begin]
                    middle = begin + (stop - begin) // 2
                    break
                ordered = np.sort(values)
                median = ordered[(stop - begin - 1) // 2]
                below = np.searchsorted(ordered, median, side="right")
                if below < k or stop - begin - below < k:
                    below = np.searchsorted(ordered, median, side="left")
                    median -= 1
                if below < k or stop - begin - below < k:
                    continue
                down, up = 0, below
                for t in range(begin, stop):
                    if values[t - begin] <= median:
                        scratch[down] = rows[t]
                        down += 1
                    else:
                        scratch[up] = rows[t]
                        up += 1
                rows[begin:stop] = scratch[: stop - begin]
                middle = begin + below
                break
        if middle < 0:
            for t in range(begin, stop):
                labels[rows[t]] = n_labels
            n_labels += 1
            continue
        stack[depth, 0], stack[depth, 1] = middle, stop
        stack[depth + 1, 0], stack[depth + 1, 1] = begin, middle
        depth += 2
    P.counts[0], P.counts[1], P.counts[2] = depth, n_labels, visits
