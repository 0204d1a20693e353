"""Compiled search for classes that their rows' multipliers overpay: all boxes of few columns, or branches of many.

Both look for k rows in a box whose mean multiplier is above what the box costs. Points are rows that differ; a point
stands for at most k of its rows in a class. What is found is kept by root, the point of the class with the largest
multiplier, ties by rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel
from discreet.kanonymity.kernels.boxes import pair_cost, span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays

__all__ = ["FoundBoxes", "Sweep", "branches", "sweep"]

SLOTS = 4
"""Classes that are kept for each root."""

STACK = 500
"""Boxes that wait in one search."""

STEPS = 64
"""Steps in which the costs of rows are told apart."""

FOLDED = 62
"""Bits of a set; values beyond share bits, so that a set may seem smaller, and cheaper, than it is."""


class FoundBoxes(NamedTuple):
    """Violated classes: their points, -1 for none, with the rows of each, and by how much they are overpaid."""

    points: NDArray[np.int32]
    rows: NDArray[np.int32]
    excess: NDArray[np.float64]


class Sweep(NamedTuple):
    """Columns whose boxes are listed, and one of numbers that is swept.

    Point p has atom ``atoms[p, a]`` in column a, of which cell q is ``start[a] + q``, costs ``cost[start[a] + q]``
    and holds an atom where ``inside[member[start[a] + q] + atom]``; its number stands at ``place[p]``, and no interval
    costs more than `cap`.
    """

    atoms: NDArray[np.int64]
    start: NDArray[np.int64]
    cost: NDArray[np.float64]
    inside: NDArray[np.bool_]
    member: NDArray[np.int64]
    place: NDArray[np.float64]
    cap: float


class _Top(NamedTuple):
    """The k rows of largest multiplier so far, by points."""

    u: NDArray[np.float64]
    point: NDArray[np.int32]
    rows: NDArray[np.int32]


@kernel
def _insert(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    T: _Top, used: int, held: int, u: float, p: int, rows: int, k: int
) -> tuple[int, int]:
    """Add rows of a point; give the points and rows that are kept, at most k rows."""
    if held == k and u <= T.u[used - 1]:
        return used, held
    at = used
    while at > 0 and T.u[at - 1] < u:
        T.u[at], T.point[at], T.rows[at] = T.u[at - 1], T.point[at - 1], T.rows[at - 1]
        at -= 1
    T.u[at], T.point[at], T.rows[at] = u, p, min(rows, k)
    used += 1
    held += min(rows, k)
    while held > k:
        over = held - k
        if T.rows[used - 1] <= over:
            held -= T.rows[used - 1]
            used -= 1
        else:
            T.rows[used - 1] -= over
            held = k
    return used, held


@kernel
def _sum(T: _Top, used: int) -> float:
    total = 0.0
    for t in range(used):
        total += T.u[t] * T.rows[t]
    return total


@kernel
def _keep(F: FoundBoxes, root: int, T: _Top, used: int, excess: float) -> None:
    """Keep a class unless it is known or all that are kept are worse violated."""
    worst = 0
    for slot in range(SLOTS):
        if F.excess[root, slot] < F.excess[root, worst]:
            worst = slot
        same = F.excess[root, slot] > 0
        for t in range(used):
            same = (
                same
                and F.points[root, slot, t] == T.point[t]
                and F.rows[root, slot, t] == T.rows[t]
            )
        if same:
            F.excess[root, slot] = max(F.excess[root, slot], excess)
            return
    if excess <= F.excess[root, worst]:
        return
    F.excess[root, worst] = excess
    for t in range(F.points.shape[2]):
        F.points[root, worst, t] = T.point[t] if t < used else -1
        F.rows[root, worst, t] = T.rows[t] if t < used else 0


@kernel
def _room(k: int) -> _Top:
    return _Top(np.empty(k + 1), np.empty(k + 1, dtype=np.int32), np.empty(k + 1, dtype=np.int32))


@kernel
def _narrowed(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: Sweep,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    a: int,
    cell: int,
    paid: float,
    given: NDArray[np.int32],
    size: int,
    kept: NDArray[np.int32],
) -> int:
    """Write the points, by falling multiplier, that lie in a cell and in some violated class; none if there is none.

    A class with point p has a mean of at most that of p and the k - 1 largest others.
    """
    base = S.member[cell]
    n, held, total, others = 0, 0, 0.0, 0.0
    for t in range(size):
        p = given[t]
        if held == k and others + u[p] <= k * paid:
            break
        if not S.inside[base + S.atoms[p, a]]:
            continue
        if held < k:
            if total + (k - held) * u[p] <= k * paid:
                return 0
            rows = min(counts[p], k - held)
            total += rows * u[p]
            held += rows
            others = total - u[p]
        kept[n] = p
        n += 1
    return n if held == k and total > k * paid else 0


@kernel
def _swept(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: Sweep,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    paid: float,
    given: NDArray[np.int32],
    T: _Top,
    F: FoundBoxes,
    ratio: NDArray[np.float64],
) -> None:
    """Try all intervals of the swept column among some points."""
    held = used = 0
    for p in given:
        used, held = _insert(T, used, held, u[p], p, counts[p], k)
        if held == k:
            break
    most = _sum(T, used) / k
    order = given[np.argsort(S.place[given], kind="mergesort")]
    first = 0
    while first < len(order):
        left = S.place[order[first]]
        at, used, held = first, 0, 0
        while at < len(order):
            here = S.place[order[at]]
            width = paid + min(S.cap, here - left)
            if width >= most:
                break
            while at < len(order) and S.place[order[at]] == here:
                p = order[at]
                used, held = _insert(T, used, held, u[p], p, counts[p], k)
                at += 1
            if held < k:
                continue
            mean = _sum(T, used) / k
            if mean <= width:
                continue
            _keep(F, T.point[0], T, used, mean - width)
            least = T.u[used - 1]
            for t in range(first, at):
                p = order[t]
                with_p = mean + min(0.0, u[p] - least) / k
                if u[p] > 0 and with_p > ratio[p] * width:
                    ratio[p] = with_p / width if width > 0 else np.inf
        while first < len(order) and S.place[order[first]] == left:
            first += 1


@kernel
def sweep(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: Sweep,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    order: NDArray[np.int32],
    k: int,
    begin: int,
    stop: int,
    F: FoundBoxes,
    ratio: NDArray[np.float64],
) -> None:
    """Look at every box with the cells `begin` to ``stop - 1`` of the first column.

    ``ratio[p]`` becomes the largest mean over width of a class of k rows with p, where that is above it. `order` has
    the points by falling multiplier.
    """
    m = len(S.start) - 1
    lists = np.empty((m + 1, len(order)), dtype=np.int32)
    lists[0] = order
    sizes = np.zeros(m + 1, dtype=np.int64)
    sizes[0] = len(order)
    cell = np.zeros(m, dtype=np.int64)
    paid = np.zeros(m + 1)
    T = _room(k)
    cell[0] = S.start[0] + begin
    d = 0
    while d >= 0:
        if cell[d] == (S.start[0] + stop if d == 0 else S.start[d + 1]):
            d -= 1
            if d >= 0:
                cell[d] += 1
            continue
        paid[d + 1] = paid[d] + S.cost[cell[d]]
        sizes[d + 1] = _narrowed(
            S, counts, u, k, d, cell[d], paid[d + 1], lists[d], sizes[d], lists[d + 1]
        )
        if sizes[d + 1] and d + 1 < m:
            d += 1
            cell[d] = S.start[d]
            continue
        if sizes[d + 1]:
            _swept(S, counts, u, k, paid[m], lists[m, : sizes[m]], T, F, ratio)
        cell[d] += 1


@kernel
def _with(A: Arrays, a: int, box: NDArray[np.int64], x: int) -> float:
    """Cost of a cell of the inner box with a value added; infinite outside of the outer one."""
    if A.kind[a] == 2:
        bit = np.int64(1) << (x % FOLDED)
        if box[2, a] & bit:
            return np.inf
        more = 0 if box[0, a] & bit else 1
        return float(A.place[A.start[a] + box[1, a] - 1 + more])
    if x < box[2, a] or x > box[3, a]:
        return np.inf
    lo, hi = min(box[0, a], x), max(box[1, a], x)
    if A.kind[a] == 0:
        start = A.start[a]
        return float(min(A.cap[a], A.place[start + hi] - A.place[start + lo]))
    return span(A, a, lo, hi)


@kernel
def _inner_cost(A: Arrays, a: int, box: NDArray[np.int64]) -> float:
    if A.kind[a] == 2:
        return float(A.place[A.start[a] + box[1, a] - 1])
    return span(A, a, box[0, a], box[1, a])


@kernel
def _class_cost(A: Arrays, T: _Top, used: int) -> float:
    """Cost of the cells of the points that are kept."""
    total = 0.0
    for a in range(len(A.kind)):
        lo = hi = A.codes[T.point[0], a]
        different = 1
        for t in range(1, used):
            x = A.codes[T.point[t], a]
            lo, hi = min(lo, x), max(hi, x)
            if A.kind[a] == 2:
                new = 1
                for s in range(t):
                    if A.codes[T.point[s], a] == x:
                        new = 0
                different += new
        total += A.place[A.start[a] + different - 1] if A.kind[a] == 2 else span(A, a, lo, hi)
    return total


@kernel
def _parted(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    T: _Top,
    used: int,
    box: NDArray[np.int64],
    inner: NDArray[np.int64],
    outer: NDArray[np.int64],
) -> bool:
    """Divide the boxes between `inner` and `outer` where the class sticks out most; whether it does anywhere.

    On return `outer` has those that do not reach so far, and `inner` those that do.
    """
    most, where, side, far = 0.0, -1, 0, 0
    for a in range(len(A.kind)):
        base = _inner_cost(A, a, box)
        if A.kind[a] == 2:
            for t in range(used):
                x = A.codes[T.point[t], a]
                more = _with(A, a, box, x) - base
                if more > most:
                    most, where, side, far = more, a, 2, int(x % FOLDED)
            continue
        lo, hi = int(box[0, a]), int(box[1, a])
        for t in range(used):
            lo = min(lo, int(A.codes[T.point[t], a]))
            hi = max(hi, int(A.codes[T.point[t], a]))
        if hi > box[1, a]:
            more = span(A, a, box[0, a], hi) - base
            if more > most:
                most, where, side, far = more, a, 1, hi
        if lo < box[0, a]:
            more = span(A, a, lo, box[1, a]) - base
            if more > most:
                most, where, side, far = more, a, 0, lo
    inner[:] = box
    outer[:] = box
    if where < 0:
        return False
    a = where
    base = _inner_cost(A, a, box)
    if side == 2:
        bit = np.int64(1) << far
        outer[2, a] |= bit
        inner[0, a] |= bit
        inner[1, a] += 1
    elif side == 1:
        while far - 1 > box[1, a] and span(A, a, box[0, a], far - 1) - base >= 0.5 * most:
            far -= 1
        outer[3, a] = far - 1
        inner[1, a] = far
    else:
        while far + 1 < box[0, a] and span(A, a, far + 1, box[1, a]) - base >= 0.5 * most:
            far += 1
        outer[2, a] = far + 1
        inner[0, a] = far
    return True


@kernel
def branches(  # noqa: PLR0917 - one loop whose state is the stack
    A: Arrays,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    order: NDArray[np.int32],
    k: int,
    slack: float,
    limit: int,
    extra: int,
    least: float,
    gain: NDArray[np.float64],
    begin: int,
    stop: int,
    step: int,
    F: FoundBoxes,
    upper: NDArray[np.float64],
) -> None:
    """Find classes whose mean multiplier exceeds ``(1 + slack)`` times their width, by roots.

    The roots are those of ranks `begin`, ``begin + step``, ... below `stop`.

    A node of the search has an inner and an outer box; its classes cover the one and lie in the other. Each of their
    rows costs at least what the inner box with it does, so that for some t their mean is at most that of the k largest
    multipliers of rows within t, and their width at least t. No class exceeds the mean of its rows' `gain` either.
    ``upper[i]`` becomes an upper bound on the excess of all
    classes with root i, also where a search ends after `limit` nodes, or `extra` nodes after
    its first class; an excess up to `least` is not looked for, and counts.
    """
    n, m = A.codes.shape
    T, M = _room(k), _room(k)
    state = np.empty((STACK, 4, m), dtype=np.int64)
    bound, part = np.empty(STACK), np.empty((STACK, 2), dtype=np.int64)
    inner, outer = np.empty((4, m), dtype=np.int64), np.empty((4, m), dtype=np.int64)
    box = np.empty((4, m), dtype=np.int64)
    room = 24 * n
    lists = np.empty(room, dtype=np.int32)
    near, sequence = np.empty(n), np.empty(n, dtype=np.int32)
    ends, where = np.empty(STEPS + 1, dtype=np.int64), np.empty(STEPS + 1, dtype=np.int64)
    wider = np.empty(A.start[m])
    at = np.empty((n, m), dtype=np.int32)
    for p in range(n):
        for a in range(m):
            at[p, a] = A.start[a] + A.codes[p, a]
    times = 1.0 + slack
    for rank in range(begin, stop, step):
        root = order[rank]
        upper[root] = 0.0
        for slot in range(SLOTS):
            F.excess[root, slot] = 0.0
        if u[root] <= 0:
            continue
        size, held = 0, 0
        for t in range(rank, n):
            p = order[t]
            if pair_cost(A, A.codes[root], A.codes[p], u[root] / times) * times < u[root]:
                lists[size] = p
                size += 1
                held += min(counts[p], k)
        if held < k:
            continue
        for a in range(m):
            x = A.codes[root, a]
            if A.kind[a] == 2:
                state[0, 0, a], state[0, 1, a] = np.int64(1) << (x % FOLDED), 1
                state[0, 2, a], state[0, 3, a] = 0, 0
            else:
                state[0, 0, a] = state[0, 1, a] = x
                state[0, 2, a], state[0, 3, a] = 0, A.start[a + 1] - A.start[a] - 1
        bound[0], part[0, 0], part[0, 1] = u[root], 0, size
        waiting, best, gone, nodes, most_nodes = 1, least, 0.0, 0, limit
        while waiting > 0:
            waiting -= 1
            if bound[waiting] <= best:
                continue
            if nodes >= most_nodes or waiting > STACK - 3:
                gone = max(gone, bound[waiting])
                continue
            nodes += 1
            box[:] = state[waiting]
            first, last = part[waiting, 0], part[waiting, 1]
            free = max(last, part[waiting - 1, 1]) if waiting > 0 else last
            # The k - 1 largest multipliers of rows in the outer box.
            held, others, size = 0, 0.0, 0
            if free + last - first > room:
                gone = max(gone, bound[waiting])
                continue
            for a in range(m):
                for x in range(A.start[a + 1] - A.start[a]):
                    wider[A.start[a] + x] = _with(A, a, box, x)
            furthest = 0.0
            more_used = more_held = 0
            for t in range(first, last):
                p = lists[t]
                cost = 0.0
                for a in range(m):
                    cost += wider[at[p, a]]
                if cost * times >= u[root]:
                    continue
                if held < k - 1:
                    rows = min(counts[p], k - 1 - held)
                    held += rows
                    others += rows * u[p]
                elif others + u[p] - k * times * cost <= k * best:
                    continue
                if more_held < k or gain[p] > M.u[more_used - 1]:
                    more_used, more_held = _insert(
                        M, more_used, more_held, gain[p], p, counts[p], k
                    )
                near[size] = cost
                furthest = max(furthest, cost)
                lists[free + size] = p
                size += 1
            if more_held < k or _sum(M, more_used) / k <= best:
                continue
            # Rows in the order of their cost, as finely as so many steps tell: within one the least cost counts.
            base = near[0]
            for s in range(size):
                base = min(base, near[s])
            scale = (STEPS - 1) / (furthest - base) if furthest > base else 0.0
            ends[:] = 0
            for s in range(size):
                ends[1 + int((near[s] - base) * scale)] += 1
            for q in range(STEPS):
                ends[q + 1] += ends[q]
            where[: STEPS + 1] = ends
            for s in range(size):
                q = int((near[s] - base) * scale)
                sequence[where[q]] = s
                where[q] += 1
            used = held = 0
            value, at_best = best, -1
            for q in range(STEPS):
                changed, least_here = False, np.inf
                for s in range(ends[q], ends[q + 1]):
                    p = lists[free + sequence[s]]
                    least_here = min(least_here, near[sequence[s]])
                    if held < k or u[p] > T.u[used - 1]:
                        used, held = _insert(T, used, held, u[p], p, counts[p], k)
                        changed = True
                if changed and held == k:
                    here = _sum(T, used) / k - times * least_here
                    if here > value:
                        value, at_best = here, ends[q + 1]
            if at_best < 0:
                continue
            used = held = 0
            for s in range(at_best):
                p = lists[free + sequence[s]]
                used, held = _insert(T, used, held, u[p], p, counts[p], k)
            excess = _sum(T, used) / k - times * _class_cost(A, T, used)
            if excess > 0:
                _keep(F, root, T, used, excess)
            if excess > best:
                if best == least:
                    most_nodes = min(limit, nodes + extra)
                best = excess
            value = min(value, bound[waiting], _sum(M, more_used) / k)
            if not _parted(A, T, used, box, inner, outer):
                # Nothing sticks out; sets whose bits are shared may still cost more than they seem to.
                gone = max(gone, value)
                continue
            for child in range(2):
                state[waiting] = outer if child == 0 else inner
                bound[waiting], part[waiting, 0], part[waiting, 1] = value, free, free + size
                waiting += 1
        upper[root] = max(best, gone)
