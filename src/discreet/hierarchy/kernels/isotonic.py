"""Compiled loops of isotonic regression: pooling of adjacent violators, and its counterpart for medians."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def pool_integers(sums: NDArray[np.int64], weights: NDArray[np.int64]) -> None:
    """Replace each row of weighted sums by its nondecreasing least-squares fit, means rounded half up, in place.

    Both arrays are ``(rows, n)`` and are used up; weights are positive. ``O(n)`` a row.
    """
    rows, n = sums.shape
    length = np.empty(n, np.int64)
    for r in range(rows):
        S = sums[r]
        W = weights[r]
        top = -1
        for i in range(n):
            s = S[i]
            w = W[i]
            count = 1
            while top >= 0:
                # Whole parts first, so that no product of a sum and a weight is formed, which could leave 64 bits.
                q = s // w
                p = S[top] // W[top]
                if p < q or (p == q and (S[top] - p * W[top]) * w < (s - q * w) * W[top]):
                    break
                s += S[top]
                w += W[top]
                count += length[top]
                top -= 1
            top += 1
            S[top] = s
            W[top] = w
            length[top] = count
        # Blocks lie before the entries that they stand for: written from the end, none is overwritten too early.
        at = n
        for block in range(top, -1, -1):
            # The mean, rounded half up.
            mean = (2 * S[block] + W[block]) // (2 * W[block])
            for _ in range(length[block]):
                at -= 1
                S[at] = mean


@kernel
def pool_floats(values: NDArray[np.float64]) -> None:
    """Replace each row of `values` ``(rows, n)``, in place, by its nondecreasing least-squares fit.

    Pools, ``O(n)`` a row.
    """
    rows, n = values.shape
    length = np.empty(n, np.int64)
    for r in range(rows):
        V = values[r]
        top = -1
        for i in range(n):
            v = V[i]
            count = 1
            while top >= 0 and V[top] >= v:
                total = count + length[top]
                v = (v * count + V[top] * length[top]) / total
                count = total
                top -= 1
            top += 1
            V[top] = v
            length[top] = count
        at = n
        for block in range(top, -1, -1):
            v = V[block]
            for _ in range(length[block]):
                at -= 1
                V[at] = v


@kernel
def pool_medians(values: NDArray[np.int64]) -> None:
    """Replace each row of `values` ``(rows, n)``, in place, by its nondecreasing fit in absolute deviations.

    After entry ``i`` the cost of the best row up to ``i``, as a function of a bound on its last entry, falls up to the
    largest number of the heap and is flat beyond; a smaller entry takes one slope away there and adds one at itself.
    ``O(n log n)`` a row.
    """
    rows, n = values.shape
    for r in range(rows):
        V = values[r]
        heap = [-V[0]]
        for i in range(n):
            if i:
                heapq.heappush(heap, -V[i])
            if V[i] < -heap[0]:
                heapq.heapreplace(heap, -V[i])
            V[i] = -heap[0]
        for i in range(n - 2, -1, -1):
            V[i] = min(V[i], V[i + 1])
