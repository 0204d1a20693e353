"""Compiled loops over rows and classes: costs of boxes, greedy growth of classes, near points.

A box is a least and a greatest code in each column that is published by them, and marks of values in each column that
is published as a set. Arrays are those of :class:`~discreet.kanonymity.arrays.Arrays`; kinds are written out: 0 for
numbers, 1 for trees, 2 for sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import inlined, kernel, part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays


@inlined
def code_of(A: Arrays, p: int, a: int) -> int:
    """Return the code of point p in column a as int64, so that kernels that take it are compiled for one type."""
    return int(np.int64(A.codes[p, a]))


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


@part
def pair_cost(A: Arrays, x: NDArray[np.int32], y: NDArray[np.int32], most: float) -> float:
    """Return the cost per row of the class of points `x` and `y`, codes ``(columns,)``, or any number beyond `most`.

    ``O(columns)``.
    """
    total = 0.0
    for a in range(len(A.kind)):
        if x[a] == y[a]:
            continue
        if A.kind[a] == 2:
            total += A.place[A.start[a] + 1]
        else:
            p, q = np.int64(x[a]), np.int64(y[a])
            total += span(A, a, int(min(p, q)), int(max(p, q)))
        if total > most:
            break
    return total


@part
def extend(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    a: int,
    lo: int,
    hi: int,
    count: int,
    marks: NDArray[np.bool_],
    wider: NDArray[np.float64],
) -> None:
    """Write what a cell of a box costs in column a once each value is added: ``wider[start[a] + v]``.

    `lo` and `hi` are the codes of its ends, `count` and `marks` the values of a set. Linear in the column's values.

    `marks` and `wider` are ``(values of all columns,)``; a is the column.
    """
    first, stop = A.start[a], A.start[a + 1]
    if A.kind[a] == 0:
        bottom, top, cap = A.place[first + lo], A.place[first + hi], A.cap[a]
        for at in range(first, stop):
            place = A.place[at]
            wider[at] = min(cap, max(top, place) - min(bottom, place))
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


@part
def _from_point(A: Arrays, p: int, marks: NDArray[np.bool_], apart: NDArray[np.float64]) -> None:
    """Write what a cell costs that covers the value of point p and each other: ``apart[start[a] + v]``.

    `marks` and `apart` are ``(values of all columns,)``; the marks are all false, before and after. Linear in them.
    """
    one = int(np.int64(1))
    for a in range(len(A.kind)):
        code = code_of(A, p, a)
        marks[A.start[a] + code] = True
        extend(A, a, code, code, one, marks, apart)
        marks[A.start[a] + code] = False


@part
def _addresses(A: Arrays) -> NDArray[np.int64]:
    """Return ``start[a] + code`` of each point and column, ``(points, columns)``."""
    at = np.empty(A.codes.shape, dtype=np.int64)
    for p in range(len(at)):
        for a in range(len(A.kind)):
            at[p, a] = A.start[a] + code_of(A, p, a)
    return at


class Growth(NamedTuple):
    """How far classes have grown, so that growth can go on from there.

    ``labels[r]`` is the class of row r, -1 for none. Points ``left[: counts[0]]`` have rows without a class, those from
    ``used[p]`` on; ``counts[1]`` is the point added last. The class that grows has the points `picked`, the cells
    `box` and `marks`, and costs ``width[0]``; ``wider[at[p, a]]`` is what its cell costs once point p is added.
    """

    labels: NDArray[np.int32]
    at: NDArray[np.int64]
    left: NDArray[np.int64]
    used: NDArray[np.int64]
    counts: NDArray[np.int64]
    picked: NDArray[np.int64]
    box: NDArray[np.int64]
    marks: NDArray[np.bool_]
    wider: NDArray[np.float64]
    width: NDArray[np.float64]


def start_growth(A: Arrays, first: NDArray[np.int64], k: int, seed: int) -> Growth:
    """Return the state of a growth with all rows and no class.

    Point p stands for rows ``first[p]`` to ``first[p + 1] - 1``. `first` is ``(points + 1,)``; `seed` starts the
    draws. Linear in rows and values.
    """
    n_points, m = A.codes.shape
    return Growth(
        np.full(int(first[n_points]), -1, dtype=np.int32),
        A.start[:m] + A.codes,
        np.arange(n_points),
        first[:n_points].copy(),
        np.array([n_points, seed]),
        np.empty(k, dtype=np.int64),
        np.empty((3, m), dtype=np.int64),
        np.zeros(A.start[m], dtype=np.bool_),
        np.empty(A.start[m], dtype=np.float64),
        np.zeros(1),
    )


@kernel
def grow(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    first: NDArray[np.int64],
    k: int,
    G: Growth,
    seed: int,
    begin: int,
    stop: int,
    tolerance: float = 1e-12,
) -> None:
    r"""Grow classes of k rows, one after another, each by the row that widens it least: the picks from `begin` on.

    .. math:: S \leftarrow S \cup \{ \arg\min_{r \text{ left}} w(S \cup \{r\}) \}, \qquad |S| < k,

    w being the cost per row of a class. With a `seed` below zero each class starts at the first row that is left; else
    the first class starts at that point and each other at the row farthest from the one added last. Costs that differ
    by less than `tolerance` are ties, which the first row wins, as in Table 7.

    ``first`` is ``(n_points + 1,)`` int64. ``O(n_points m)`` a pick.
    """
    m = len(A.kind)
    left, at, box, marks, wider = G.left, G.at, G.box, G.marks, G.wider
    for pick in range(begin, stop):
        label, step = pick // k, pick % k
        place = 0
        if step == 0:
            G.width[0] = 0.0
            if seed >= 0 and label == 0:
                while left[place] != seed:
                    place += 1
            elif seed >= 0:
                _from_point(A, G.counts[1], marks, wider)
                farthest = -1.0
                for t in range(G.counts[0]):
                    apart = 0.0
                    for a in range(m):
                        apart += wider[at[left[t], a]]
                    if apart > farthest:
                        farthest, place = apart, t
        else:
            best = np.inf
            for t in range(G.counts[0]):
                p = left[t]
                cost = 0.0
                for a in range(m):
                    cost += wider[at[p, a]]
                    if cost >= best:
                        break
                if cost < best - tolerance:
                    best, place = cost, t
                    # No row can widen the box by less than nothing.
                    if best <= G.width[0] + tolerance:
                        break
            G.width[0] = best
        p = left[place]
        G.labels[G.used[p]] = label
        G.picked[step] = p
        G.used[p] += 1
        if G.used[p] == first[p + 1]:
            for t in range(place + 1, G.counts[0]):
                left[t - 1] = left[t]
            G.counts[0] -= 1
        for a in range(m):
            code = code_of(A, p, a)
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
        if step == k - 1:
            G.counts[1] = p
            for other in range(k):
                for a in range(m):
                    marks[at[G.picked[other], a]] = False


@kernel
def nearest_points(
    A: Arrays, begin: int, stop: int, n_nearest: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the other points nearest to points `begin` to ``stop - 1``, nearest first, with their costs.

    Both are ``(stop - begin, n_nearest)``, int32 and float64; -1 and infinity where there are no more. A distance is
    the cost per row of the class of two points. ``O(n_points m)`` for each point.
    """
    n_points = len(A.codes)
    m = len(A.kind)
    nearest = np.empty((stop - begin, n_nearest), dtype=np.int32)
    apart = np.empty((stop - begin, n_nearest))
    nearest[:], apart[:] = -1, np.inf
    at = _addresses(A)
    marks = np.zeros(A.start[m], dtype=np.bool_)
    from_here = np.empty(A.start[m], dtype=np.float64)
    for p in range(begin, stop):
        ids, costs = nearest[p - begin], apart[p - begin]
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
    return nearest, apart


@kernel
def nearest_in_order(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    order: NDArray[np.int64],
    reach: int,
    found: NDArray[np.int32],
    apart: NDArray[np.float64],
    begin: int,
    stop: int,
) -> None:
    """Update near points with points at most `reach` places away in an order, for places `begin` to ``stop - 1``.

    ``found[p]`` ``(n_nearest,)`` int32 are the nearest points of p that were seen, nearest first, -1 for none, and
    ``apart[p]`` float64 their costs. ``O(reach m)`` for each place.
    """
    n_points, n_nearest = found.shape
    for x in range(begin, stop):
        p = order[x]
        ids, costs = found[p], apart[p]
        for y in range(max(0, x - reach), min(n_points, x + reach + 1)):
            q = order[y]
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
