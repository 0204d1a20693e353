"""Compiled: the best partition of a few rows, by dynamic programming over their subsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Subsets(NamedTuple):
    """Room for the subsets of at most so many rows, and which of them may be classes.

    ``classes[begin[b] : begin[b + 1]]`` are the subsets of k to 2k - 1 rows whose last row is b; ``rows_in[s]`` is the
    number of rows in s. The rest is overwritten by each call.
    """

    k: int
    rows_in: NDArray[np.int64]
    classes: NDArray[np.int64]
    begin: NDArray[np.int64]
    lo: NDArray[np.uint8]
    hi: NDArray[np.uint8]
    mask: NDArray[np.int64]
    cost: NDArray[np.float64]
    least: NDArray[np.float64]
    taken: NDArray[np.int64]
    parts: NDArray[np.int64]


def room_for(most: int, m: int, k: int) -> Subsets:
    """Return working memory for the subsets of up to `most` rows of `m` columns.

    ``2^most`` entries in several arrays.
    """
    n_sets = 1 << most
    count = np.zeros(1, dtype=np.int64)
    for _ in range(most):
        count = np.concatenate([count, count + 1])
    classes = np.flatnonzero((count >= max(k, 1)) & (count < 2 * k))
    begin = np.searchsorted(classes, 1 << np.arange(most + 1))
    return Subsets(
        k,
        count,
        classes,
        begin,
        np.empty((n_sets, m), dtype=np.uint8),
        np.empty((n_sets, m), dtype=np.uint8),
        np.empty((n_sets, m), dtype=np.int64),
        np.empty(n_sets, dtype=np.float64),
        np.empty(n_sets, dtype=np.float64),
        np.empty(n_sets, dtype=np.int64),
        np.zeros(n_sets, dtype=np.int64),
    )


@kernel
def best_partition(
    local: NDArray[np.int64],
    table: NDArray[np.float64],
    is_set: NDArray[np.bool_],
    part: NDArray[np.int64],
    W: Subsets,
) -> float:
    r"""Partition n rows into classes of k to 2k - 1 rows at the least cost, and return that cost.

    .. math:: f(S \cup T) = \min_T f(S) + c(T), \qquad T \ni \text{the last row outside of } S,\; k \le |T| < 2k,

    over subsets written as bits. Row i has the values ``local[i]`` ``(m,)`` int64, numbered from 0 in each column among
    these rows, and ``part[i]`` becomes its class. A cell from value x to y costs ``table[a, x, y]``, a set of x + 1
    values ``table[a, 0, x]``.
    ``O(2^n (m + C(n - 1, 2k - 2)))`` at most.

    Of equal costs the partition into more classes is taken. Every class is looked at, by its last row.
    """
    n, m = local.shape
    k = W.k
    for a in range(m):
        W.lo[0, a], W.hi[0, a], W.mask[0, a] = 255, 0, 0
    for b in range(n):
        for rest in range(1 << b):
            size = W.rows_in[rest] + 1
            if size >= 2 * k:
                continue
            s = rest + (1 << b)
            width = 0.0
            for a in range(m):
                code = local[b, a]
                if is_set[a]:
                    W.mask[s, a] = W.mask[rest, a] | (1 << code)
                    if size >= k:
                        values, covered = W.mask[s, a], 0
                        while values:
                            values &= values - 1
                            covered += 1
                        width += table[a, 0, covered - 1]
                else:
                    lo, hi = min(np.int64(W.lo[rest, a]), code), max(np.int64(W.hi[rest, a]), code)
                    W.lo[s, a], W.hi[s, a] = lo, hi
                    if size >= k:
                        width += table[a, lo, hi]
            W.cost[s] = size * width
    full = (1 << n) - 1
    for s in range(1, full + 1):
        W.least[s] = np.inf
    W.least[0] = 0.0
    for s in range(full):
        base = W.least[s]
        if base == np.inf:
            continue
        last = n - 1
        while s & (1 << last):
            last -= 1
        for at in range(W.begin[last], W.begin[last + 1]):
            t = W.classes[at]
            if s & t:
                continue
            total, parts = base + W.cost[t], W.parts[s] + 1
            best = W.least[s | t]
            if total < best or (total == best and parts > W.parts[s | t]):
                W.least[s | t], W.taken[s | t], W.parts[s | t] = total, t, parts
    if W.least[full] == np.inf:
        return np.inf
    s, label = full, 0
    while s:
        t = W.taken[s]
        for i in range(n):
            if t & (1 << i):
                part[i] = label
        label += 1
        s ^= t
    return float(W.least[full])
