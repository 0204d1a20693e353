"""Compiled: partition unions of near equivalence classes anew under demands on sensitive values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel, part
from discreet.kanonymity.kernels.growing import (
    exchange,
    grow_diverse,
    part_holds,
)
from discreet.kanonymity.kernels.rebuild import below, part_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.demand import Wanted


@part
def _chain(
    first: NDArray[np.int64], after: NDArray[np.int64], c: int, into: NDArray[np.int64], n: int
) -> int:
    """Write the rows of class c, ``first[c]`` and its successors in `after` ``(rows,)``, behind ``into[:n]``.

    Returns the new length. Linear in the class.
    """
    row = first[c]
    while row >= 0:
        into[n] = row
        n += 1
        row = after[row]
    return n


@kernel
def improve_diverse(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    W: Wanted,
    point: NDArray[np.int64],
    at: NDArray[np.int64],
    start: NDArray[np.int64],
    near: NDArray[np.int32],
    labels: NDArray[np.int64],
    k: int,
    most_rows: int,
    draw: NDArray[np.int64],
    rounds: int,
) -> float:
    """Partition unions of near classes anew, in place, where all parts meet the demands; return the fall of the loss.

    Row r is of point ``point[r]``; rows of point p are ``at[start[p] : start[p + 1]]``, and ``near[p]`` int32 are near
    points, -1 for none. `labels` ``(n,)`` int64 are below n / k, and may have gaps. In each of `rounds` a random class
    of at most `most_rows` rows and up to five near ones are united; classes grow anew or stay, rows are exchanged, and
    the result is kept if it loses no more and each class holds. ``O(u^2 m)`` for a union of u rows, and as many
    decisions of the demands as rows are exchanged.
    """
    n_all = len(labels)
    slots = n_all // k
    first = np.full(slots, -1, dtype=np.int64)
    size = np.zeros(slots, dtype=np.int64)
    after = np.empty(n_all, dtype=np.int64)
    for row in range(n_all - 1, -1, -1):
        after[row] = first[labels[row]]
        first[labels[row]] = row
        size[labels[row]] += 1
    free = np.empty(slots, dtype=np.int64)
    n_free = int(np.int64(0))
    for c in range(slots):
        if size[c] == 0:
            free[n_free] = c
            n_free += 1
    room = most_rows + 1
    union, part, old = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    m, rows = len(A.kind), np.empty(room, dtype=np.int64)
    codes = np.empty((room, m), dtype=np.int64)
    picked = np.empty(room, dtype=np.int64)
    gained = 0.0
    for _ in range(rounds):
        c = labels[below(draw, n_all)]
        if size[c] > most_rows:
            continue
        n = _chain(first, after, c, union, 0)
        picked[0], n_picked = c, int(np.int64(1))
        wanted = 1 + below(draw, 5)
        for _ in range(4 * wanted):
            if n_picked > wanted:
                break
            p = point[union[below(draw, n)]]
            q = near[p, min(below(draw, near.shape[1]), below(draw, near.shape[1]))]
            if q < 0 or below(draw, 8) == 0:
                q = p
            d = labels[at[start[q] + below(draw, start[q + 1] - start[q])]]
            known = n + size[d] > most_rows
            for t in range(n_picked):
                known = known or picked[t] == d
            if not known:
                n = _chain(first, after, d, union, n)
                picked[n_picked] = d
                n_picked += 1
        for i in range(n):
            for t in range(n_picked):
                if labels[union[i]] == picked[t]:
                    old[i] = t
            for a in range(m):
                codes[i, a] = A.codes[point[union[i]], a]
        before = part_costs(A, codes, n, old, n_picked).sum()
        if before == 0.0:
            continue
        grown = below(draw, 3) > 0
        n_parts = grow_diverse(A, W, codes, union, n, k, part, draw) if grown else 0
        if n_parts == 0:
            n_parts = n_picked
            for i in range(n):
                part[i] = old[i]
        exchange(A, W, codes, union, n, k, part, draw, 4 * n)
        after_cost = part_costs(A, codes, n, part, n_parts).sum()
        if after_cost > before or n_parts > n_free + n_picked:
            continue
        good = True
        for t in range(n_parts):
            good = good and part_holds(W, union, n, part, t, k, rows)
        if not good:
            continue
        gained += before - after_cost
        for t in range(n_picked):
            size[picked[t]], first[picked[t]] = 0, -1
            free[n_free] = picked[t]
            n_free += 1
        n_free -= n_parts
        for i in range(n):
            slot = free[n_free + part[i]]
            labels[union[i]] = slot
            after[union[i]] = first[slot]
            first[slot] = union[i]
            size[slot] += 1
    return gained
