"""Compiled: classes that fail are merged, and unions of near classes partitioned anew under the demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel, part
from discreet.kanonymity.kernels.growing import (
    class_cost,
    exchange,
    grow_diverse,
    holds,
    part_holds,
)
from discreet.kanonymity.kernels.rebuild import below, part_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.demand import Wanted

__all__ = ["Merging", "improve_diverse", "judge_classes", "merge_failing", "start_merging"]


@part
def _chain(
    first: NDArray[np.int64], after: NDArray[np.int64], c: int, into: NDArray[np.int64], n: int
) -> int:
    """Write the rows of class c behind ``into[:n]``; give how many there are then."""
    row = first[c]
    while row >= 0:
        into[n] = row
        n += 1
        row = after[row]
    return n


class Merging(NamedTuple):
    """How far classes were merged, so that it can go on from there.

    Rows of class c are ``first[c]``, ``after[first[c]]`` and so on until -1, ``size[c]`` in all. It costs ``cost[c]``;
    ``fails[c]`` says whether it fails. Classes ``stack[: counts[0]]`` are to be merged, ``counts[1]`` are left; `rows`
    and `part` are room.
    """

    first: NDArray[np.int64]
    after: NDArray[np.int64]
    size: NDArray[np.int64]
    cost: NDArray[np.float64]
    fails: NDArray[np.bool_]
    stack: NDArray[np.int64]
    counts: NDArray[np.int64]
    rows: NDArray[np.int64]
    part: NDArray[np.int64]


@kernel
def start_merging(labels: NDArray[np.int64], n_classes: int) -> Merging:
    """List the rows of classes 0, 1, ..., of which nothing is known yet."""
    n = len(labels)
    first = np.full(n_classes, -1, dtype=np.int64)
    size = np.zeros(n_classes, dtype=np.int64)
    after = np.empty(n, dtype=np.int64)
    for row in range(n - 1, -1, -1):
        after[row] = first[labels[row]]
        first[labels[row]] = row
        size[labels[row]] += 1
    return Merging(
        first,
        after,
        size,
        np.empty(n_classes),
        np.zeros(n_classes, dtype=np.bool_),
        np.empty(2 * n_classes + 1, dtype=np.int64),
        np.array([0, n_classes]),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
    )


@kernel
def judge_classes(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays, W: Wanted, point: NDArray[np.int64], M: Merging, begin: int, stop: int
) -> None:
    """Find what classes `begin` to ``stop - 1`` cost, and which of them fail."""
    for c in range(begin, stop):
        count = _chain(M.first, M.after, c, M.rows, 0)
        M.cost[c] = class_cost(A, point, M.rows, count, M.part)
        M.fails[c] = not holds(W, M.rows, count)
        if M.fails[c]:
            M.stack[M.counts[0]] = c
            M.counts[0] += 1


@kernel
def merge_failing(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    W: Wanted,
    point: NDArray[np.int64],
    at: NDArray[np.int64],
    start: NDArray[np.int64],
    near: NDArray[np.int32],
    labels: NDArray[np.int64],
    M: Merging,
    draw: NDArray[np.int64],
    most: int,
) -> None:
    """Merge each class that fails with one near to it, where the loss grows least, at most so many of them.

    All meet the demands once ``M.counts[0]`` is 0 or ``M.counts[1]`` is 1. Rows of point p are
    ``at[start[p] : start[p + 1]]``; ``near[p]`` are near points. Candidates are the classes of near points and some at
    random. Labels are changed in place, with gaps.
    """
    n = len(labels)
    first, after, size, cost, fails = M.first, M.after, M.size, M.cost, M.fails
    stack, counts, rows, part = M.stack, M.counts, M.rows, M.part
    for _ in range(most):
        if counts[0] == 0 or counts[1] == 1:
            return
        counts[0] -= 1
        c = stack[counts[0]]
        if size[c] == 0 or not fails[c]:
            continue
        mine = _chain(first, after, c, rows, 0)
        best, chosen, heals = np.inf, -1, False
        for _ in range(min(mine, 12)):
            p = point[rows[below(draw, mine)]]
            for s in range(near.shape[1] + 4):
                if s < near.shape[1]:
                    q = near[p, s]
                    if q < 0:
                        continue
                    other = at[start[q] + below(draw, start[q + 1] - start[q])]
                elif s == near.shape[1]:
                    other = at[start[p] + below(draw, start[p + 1] - start[p])]
                else:
                    other = below(draw, n)
                d = labels[other]
                if d in (c, chosen):
                    continue
                count = _chain(first, after, d, rows, mine)
                grows = class_cost(A, point, rows, count, part) - cost[c] - cost[d]
                good = holds(W, rows, count)
                # One that still fails has to grow again.
                if (good and not heals) or (good == heals and grows < best):
                    best, chosen, heals = grows, d, good
        if chosen < 0:
            # All near rows are in this class already: any other will do.
            for d in range(len(size)):
                if d != c and size[d] > 0:
                    chosen = d
                    break
        count = _chain(first, after, chosen, rows, mine)
        cost[chosen] = class_cost(A, point, rows, count, part)
        fails[chosen] = not holds(W, rows, count)
        for t in range(count - 1):
            after[rows[t]] = rows[t + 1]
        after[rows[count - 1]] = -1
        first[chosen], first[c] = rows[0], -1
        size[chosen], size[c] = count, 0
        for t in range(mine):
            labels[rows[t]] = chosen
        counts[1] -= 1
        if fails[chosen] and counts[0] < len(stack):
            stack[counts[0]] = chosen
            counts[0] += 1


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
    """Partition unions of near classes anew, in place, where all parts meet the demands; give what is lost less.

    Labels are below n / k, and may have gaps.
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
    n_free = 0
    for c in range(slots):
        if size[c] == 0:
            free[n_free] = c
            n_free += 1
    room = most_rows + 1
    union, part, old = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    rows = np.empty(room, dtype=np.int64)
    picked = np.empty(room, dtype=np.int64)
    gained = 0.0
    for _ in range(rounds):
        c = labels[below(draw, n_all)]
        if size[c] > most_rows:
            continue
        n = _chain(first, after, c, union, 0)
        picked[0], n_picked = c, 1
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
        before = part_costs(A, point, union, n, old, n_picked).sum()
        if before == 0.0:
            continue
        grown = below(draw, 3) > 0
        n_parts = grow_diverse(A, W, point, union, n, k, part, draw) if grown else 0
        if n_parts == 0:
            part[:n] = old[:n]
            n_parts = n_picked
        exchange(A, W, point, union, n, k, part, draw, 4 * n)
        after_cost = part_costs(A, point, union, n, part, n_parts).sum()
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
