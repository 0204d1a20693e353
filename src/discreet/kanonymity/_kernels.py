"""Compiled loops over rows and classes: costs of boxes, greedy growth of classes, the best cuts of an order.

A box is a least and a greatest code in each column that is published by them, and marks of values in each column that
is published as a set. Arrays are those of :class:`~discreet.kanonymity._arrays.Arrays`; kinds are written out: 0 for
numbers, 1 for trees, 2 for sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core._jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity._arrays import Arrays

__all__ = [
    "crowded",
    "extend",
    "grow",
    "nearest_in_orders",
    "nearest_points",
    "pair_cost",
    "segment",
    "span",
]


@kernel
def span(A: Arrays, a: int, lo: int, hi: int) -> float:
    """Cost of a cell from code `lo` to code `hi` of a column that is no set."""
    start = A.start[a]
    if A.kind[a] == 0:
        return float(min(A.cap[a], A.place[start + hi] - A.place[start + lo]))
    if lo == hi:
        return 0.0
    level = A.bits[hi - lo]
    at = A.peak[a] + level * (A.start[a + 1] - start)
    return float(max(A.peaks[at + lo], A.peaks[at + hi - (1 << level)]))


@kernel
def pair_cost(A: Arrays, x: NDArray[np.int32], y: NDArray[np.int32], most: float) -> float:
    """Cost of a row of the class of two points, or anything beyond `most`."""
    total = 0.0
    for a in range(len(A.kind)):
        if x[a] == y[a]:
            continue
        if A.kind[a] == 2:
            total += A.place[A.start[a] + 1]
        else:
            total += span(A, a, min(x[a], y[a]), max(x[a], y[a]))
        if total > most:
            break
    return total


@kernel
def extend(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    a: int,
    lo: int,
    hi: int,
    count: int,
    marks: NDArray[np.bool_],
    wider: NDArray[np.float64],
) -> None:
    """Write what a cell of a box costs in one column once each value is added: ``wider[start[a] + v]``."""
    first, stop = A.start[a], A.start[a + 1]
    if A.kind[a] == 0:
        bottom, top, cap = A.place[first + lo], A.place[first + hi], A.cap[a]
        for at in range(first, stop):
            here = A.place[at]
            wider[at] = min(cap, max(top, here) - min(bottom, here))
    elif A.kind[a] == 1:
        inside = span(A, a, lo, hi)
        for at in range(first + lo, first + hi + 1):
            wider[at] = inside
        reached = inside
        for at in range(first + lo - 1, first - 1, -1):
            reached = max(reached, A.place[at])
            wider[at] = reached
        reached = inside
        for at in range(first + hi + 1, stop):
            reached = max(reached, A.place[at - 1])
            wider[at] = reached
    else:
        same = A.place[first + count - 1]
        more = A.place[min(first + count, stop - 1)]
        for at in range(first, stop):
            wider[at] = same if marks[at] else more


@kernel
def _from_point(A: Arrays, p: int, marks: NDArray[np.bool_], apart: NDArray[np.float64]) -> None:
    """Write what a cell costs that covers a point's value and each other: ``apart[start[a] + v]``."""
    for a in range(len(A.kind)):
        code = A.codes[p, a]
        marks[A.start[a] + code] = True
        extend(A, a, code, code, 1, marks, apart)
        marks[A.start[a] + code] = False


@kernel
def _addresses(A: Arrays) -> NDArray[np.int64]:
    """``start[a] + code`` of each point and column."""
    at = np.empty(A.codes.shape, dtype=np.int64)
    for p in range(len(at)):
        for a in range(len(A.kind)):
            at[p, a] = A.start[a] + A.codes[p, a]
    return at


@kernel
def grow(
    A: Arrays, first: NDArray[np.int64], k: int, seed: int, tolerance: float
) -> NDArray[np.int32]:
    """Grow classes of k rows, one after another, each by the row that widens it least.

    Points are the rows of ``A.codes``; point p stands for rows ``first[p]`` to ``first[p + 1] - 1``. With a `seed`
    below zero each class starts at the first row that is left; else the first class starts at that point and each other
    at the row farthest from the one added last. Of equal rows the first is taken. Rows left over have class -1.
    """
    n_points, m = A.codes.shape
    n = int(first[n_points])
    labels = np.full(n, -1, dtype=np.int32)
    at = _addresses(A)
    left = np.empty(n_points, dtype=np.int64)
    used = first[:n_points].copy()
    for p in range(n_points):
        left[p] = p
    n_left = n_points
    wider = np.empty(A.start[m], dtype=np.float64)
    marks = np.zeros(A.start[m], dtype=np.bool_)
    box = np.empty((3, m), dtype=np.int64)
    picked = np.empty(k, dtype=np.int64)
    last = seed
    for label in range(n // k):
        place = 0
        if seed >= 0 and label == 0:
            while left[place] != seed:
                place += 1
        elif seed >= 0:
            _from_point(A, last, marks, wider)
            farthest = -1.0
            for t in range(n_left):
                apart = 0.0
                for a in range(m):
                    apart += wider[at[left[t], a]]
                if apart > farthest:
                    farthest, place = apart, t
        width = 0.0
        for step in range(k):
            if step > 0:
                best = np.inf
                for t in range(n_left):
                    p = left[t]
                    cost = 0.0
                    for a in range(m):
                        cost += wider[at[p, a]]
                        if cost >= best:
                            break
                    if cost < best - tolerance:
                        best, place = cost, t
                        # No row can widen the box by less than nothing.
                        if best <= width + tolerance:
                            break
                width = best
            p = left[place]
            labels[used[p]] = label
            picked[step] = p
            used[p] += 1
            if used[p] == first[p + 1]:
                for t in range(place + 1, n_left):
                    left[t - 1] = left[t]
                n_left -= 1
            for a in range(m):
                code = A.codes[p, a]
                changed = step == 0
                if step == 0:
                    box[0, a], box[1, a], box[2, a] = code, code, 0
                if code < box[0, a]:
                    box[0, a], changed = code, True
                if code > box[1, a]:
                    box[1, a], changed = code, True
                if A.kind[a] == 2:
                    changed = not marks[at[p, a]]
                    if changed:
                        marks[at[p, a]] = True
                        box[2, a] += 1
                if changed:
                    extend(A, a, box[0, a], box[1, a], box[2, a], marks, wider)
        last = picked[k - 1]
        for step in range(k):
            for a in range(m):
                marks[at[picked[step], a]] = False
    return labels


@kernel
def segment(A: Arrays, first: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Cut an order of rows into runs of k to 2k - 1 rows at the least cost; give where runs start, n last.

    Points as in :func:`grow`. Dynamic programming over where the last run starts; a run is given up once it alone costs
    more than the best that is known.
    """
    n_points, m = A.codes.shape
    n = int(first[n_points])
    point = np.empty(n, dtype=np.int64)
    for p in range(n_points):
        for row in range(first[p], first[p + 1]):
            point[row] = p
    least = np.full(n + 1, np.inf)
    least[0] = 0.0
    origin = np.zeros(n + 1, dtype=np.int64)
    stamp = np.full(A.start[m], -1, dtype=np.int64)
    lo, hi = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    cell, count = np.empty(m, dtype=np.float64), np.empty(m, dtype=np.int64)
    for end in range(k, n + 1):
        best, best_start = np.inf, 0
        width = 0.0
        before = -1
        for size in range(1, min(2 * k, end + 1)):
            begin = end - size
            p = point[begin]
            if p != before:
                before = p
                width = 0.0
                for a in range(m):
                    code = A.codes[p, a]
                    if A.kind[a] == 2:
                        if size == 1:
                            count[a] = 0
                        if stamp[A.start[a] + code] != end:
                            stamp[A.start[a] + code] = end
                            count[a] += 1
                            cell[a] = A.place[A.start[a] + count[a] - 1]
                    elif size == 1:
                        lo[a], hi[a], cell[a] = code, code, 0.0
                    elif code < lo[a] or code > hi[a]:
                        lo[a], hi[a] = min(lo[a], code), max(hi[a], code)
                        cell[a] = span(A, a, lo[a], hi[a])
                    width += cell[a]
            if size * width >= best:
                break
            if size >= k and least[begin] + size * width < best:
                best, best_start = least[begin] + size * width, begin
        least[end], origin[end] = best, best_start
    cuts = np.empty(n // k + 1, dtype=np.int64)
    n_cuts = 0
    cut = n
    while cut > 0:
        cuts[n_cuts] = cut
        n_cuts += 1
        cut = int(origin[cut])
    cuts[n_cuts] = 0
    return cuts[: n_cuts + 1][::-1].copy()


@kernel
def nearest_points(
    A: Arrays, begin: int, stop: int, n_nearest: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the nearest other points of points `begin` to ``stop - 1``, nearest first, with their costs."""
    n_points = len(A.codes)
    m = len(A.kind)
    found = np.full((stop - begin, n_nearest), -1, dtype=np.int32)
    apart = np.full((stop - begin, n_nearest), np.inf)
    at = _addresses(A)
    marks = np.zeros(A.start[m], dtype=np.bool_)
    from_here = np.empty(A.start[m], dtype=np.float64)
    for p in range(begin, stop):
        ids, costs = found[p - begin], apart[p - begin]
        _from_point(A, p, marks, from_here)
        for q in range(n_points):
            most = costs[n_nearest - 1]
            cost = 0.0
            for a in range(m):
                cost += from_here[at[q, a]]
                if cost >= most:
                    break
            if cost < most and q != p:
                t = n_nearest - 1
                while t > 0 and costs[t - 1] > cost:
                    costs[t], ids[t] = costs[t - 1], ids[t - 1]
                    t -= 1
                costs[t], ids[t] = cost, q
    return found, apart


@kernel
def nearest_in_orders(
    A: Arrays, orders: NDArray[np.int64], reach: int, n_nearest: int
) -> NDArray[np.int32]:
    """Find near points of each: the nearest among those at most `reach` places away in one of several orders."""
    n_points = len(A.codes)
    found = np.full((n_points, n_nearest), -1, dtype=np.int32)
    apart = np.full((n_points, n_nearest), np.inf)
    for r in range(len(orders)):
        for x in range(n_points):
            p = orders[r, x]
            ids, costs = found[p], apart[p]
            for y in range(max(0, x - reach), min(n_points, x + reach + 1)):
                q = orders[r, y]
                if q == p:
                    continue
                cost = pair_cost(A, A.codes[p], A.codes[q], costs[n_nearest - 1])
                if cost >= costs[n_nearest - 1]:
                    continue
                known = False
                for t in range(n_nearest):
                    known = known or ids[t] == q
                if known:
                    continue
                t = n_nearest - 1
                while t > 0 and costs[t - 1] > cost:
                    costs[t], ids[t] = costs[t - 1], ids[t - 1]
                    t -= 1
                costs[t], ids[t] = cost, q
    return found


@kernel
def crowded(
    A: Arrays, counts: NDArray[np.int64], begin: int, stop: int, k: int
) -> NDArray[np.float64]:
    """Distance of points `begin` to ``stop - 1`` within which there are k rows, their own included.

    Point q stands for ``counts[q]`` rows. Distances that are enough are kept, nearest first, with the rows there.
    """
    n_points, m = A.codes.shape
    at = _addresses(A)
    marks = np.zeros(A.start[m], dtype=np.bool_)
    from_here = np.empty(A.start[m], dtype=np.float64)
    apart, rows = np.empty(k + 1), np.empty(k + 1, dtype=np.int64)
    found = np.zeros(stop - begin)
    for p in range(begin, stop):
        need = k - counts[p]
        if need <= 0:
            continue
        _from_point(A, p, marks, from_here)
        kept, held, most = 0, 0, np.inf
        for q in range(n_points):
            cost = 0.0
            for a in range(m):
                cost += from_here[at[q, a]]
                if cost >= most:
                    break
            if cost >= most or q == p:
                continue
            t = kept
            while t > 0 and apart[t - 1] > cost:
                apart[t], rows[t] = apart[t - 1], rows[t - 1]
                t -= 1
            apart[t], rows[t] = cost, counts[q]
            kept += 1
            held += counts[q]
            while held - rows[kept - 1] >= need:
                kept -= 1
                held -= rows[kept]
            if held >= need:
                most = apart[kept - 1]
        found[p - begin] = most
    return found
