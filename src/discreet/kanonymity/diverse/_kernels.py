"""Compiled: classes that fail are merged, and unions of near classes partitioned anew under what is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core._jit import kernel
from discreet.kanonymity.diverse.growing._kernels import (
    class_cost,
    exchange,
    grow_diverse,
    holds,
    part_holds,
)
from discreet.kanonymity.rebuild._kernels import below, part_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Arrays
    from discreet.kanonymity.diverse.demand import Wanted

__all__ = ["improve_diverse", "merge_failing"]


@kernel
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


@kernel
def merge_failing(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    W: Wanted,
    point: NDArray[np.int64],
    at: NDArray[np.int64],
    start: NDArray[np.int64],
    near: NDArray[np.int32],
    labels: NDArray[np.int64],
    n_classes: int,
    draw: NDArray[np.int64],
) -> None:
    """Merge each class that fails with one near to it, where the loss grows least, until all hold what is asked.

    Rows of point p are ``at[start[p] : start[p + 1]]``; ``near[p]`` are near points. Candidates are the classes of near
    points and some at random. Labels are changed in place, with gaps.
    """
    n = len(labels)
    first = np.full(n_classes, -1, dtype=np.int64)
    size = np.zeros(n_classes, dtype=np.int64)
    after = np.empty(n, dtype=np.int64)
    for row in range(n - 1, -1, -1):
        after[row] = first[labels[row]]
        first[labels[row]] = row
        size[labels[row]] += 1
    rows, part = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    cost, fails = np.empty(n_classes), np.zeros(n_classes, dtype=np.bool_)
    stack = np.empty(2 * n_classes + 1, dtype=np.int64)
    n_stack = 0
    for c in range(n_classes):
        count = _chain(first, after, c, rows, 0)
        cost[c] = class_cost(A, point, rows, count, part)
        fails[c] = not holds(W, rows, count)
        if fails[c]:
            stack[n_stack] = c
            n_stack += 1
    alive = n_classes
    while n_stack > 0 and alive > 1:
        n_stack -= 1
        c = stack[n_stack]
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
            for d in range(n_classes):
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
        alive -= 1
        if fails[chosen] and n_stack < len(stack):
            stack[n_stack] = chosen
            n_stack += 1


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
    """Partition unions of near classes anew, in place, where all parts hold what is asked; give what is lost less.

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
