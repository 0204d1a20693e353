"""Compiled pricing: classes of negative reduced cost, by depth-first search from the row of the largest multiplier.

A class is found once. Its rows are ranked by falling multiplier, and its first row is its root. Of the others the one
that makes the box of the root widest is added first, then of the rest the one that makes that box widest, and so on.
All rows of a class pay at least for the box so far, and the rest adds at most the largest multipliers that are left: a
bound that is strong at once, since the box is wide from the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel, part
from discreet.kanonymity.kernels.boxes import pair_cost, span
from discreet.kanonymity.kernels.sorting import sort_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays


class Room(NamedTuple):
    """Scratch memory of one search for classes of up to ``D = 2k - 1`` rows; row d is for depth d, of d + 1 rows.

    ``member`` ``(D,)`` are the rows; ``lo``, ``hi``, ``different`` and ``part`` ``(D, m)`` the box: least and greatest
    code, number of different codes, and cost of each column. ``rows``, ``cost`` and ``bound`` ``(D, n)`` are the rows
    that may come next, by rising cost: number, cost of each row once it is added, and lower bound on the reduced cost
    of classes whose widest row it is. ``top`` ``(D,)``: largest multipliers, falling, -inf behind them.
    """

    k: int
    member: NDArray[np.int32]
    lo: NDArray[np.int32]
    hi: NDArray[np.int32]
    different: NDArray[np.int64]
    part: NDArray[np.float64]
    rows: NDArray[np.int32]
    cost: NDArray[np.float64]
    bound: NDArray[np.float64]
    top: NDArray[np.float64]


@kernel
def room_for(n: int, m: int, k: int) -> Room:
    """Allocate the arrays of a search of n rows and m columns."""
    depth = 2 * k - 1
    return Room(
        k,
        np.empty(depth, dtype=np.int32),
        np.empty((depth, m), dtype=np.int32),
        np.empty((depth, m), dtype=np.int32),
        np.empty((depth, m), dtype=np.int64),
        np.empty((depth, m), dtype=np.float64),
        np.empty((depth, n), dtype=np.int32),
        np.empty((depth, n), dtype=np.float64),
        np.empty((depth, n), dtype=np.float64),
        np.empty(depth, dtype=np.float64),
    )


class PricedClasses(NamedTuple):
    """Results of the searches from several roots.

    ``classes[c]`` ``(2k - 1,)`` int32 are the rows of a class, filled up with -1, and ``costs[c]`` what it loses.
    ``least[i]``: no class with root i has a smaller reduced cost, which is the threshold where no class was found.
    ``work[0]`` counts boxes, ``work[1]`` roots left unfinished, and ``work[2]`` is 1 once there was no more room for
    classes, which ends the search, with `least` minus infinity for the roots that are left.
    """

    classes: NDArray[np.int32]
    costs: NDArray[np.float64]
    least: NDArray[np.float64]
    work: NDArray[np.int64]


@kernel
def all_pairs(A: Arrays) -> NDArray[np.float64]:
    """Return ``(n, n)`` float64 costs per row of the class of each two rows. ``O(n^2 m)``."""
    n = len(A.codes)
    costs = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            costs[i, j] = costs[j, i] = pair_cost(A, A.codes[i], A.codes[j], np.inf)
    return costs


@part
def _is_new(A: Arrays, R: Room, d: int, a: int, code: int) -> bool:
    """Test whether `code` of set column a is in none of the rows 0 to d of the class. ``O(d)``."""
    new = True
    for e in range(d + 1):
        if A.codes[R.member[e], a] == code:
            new = False
    return new


@part
def _with_row(A: Arrays, R: Room, d: int, row: int) -> float:
    """Return the cost of one row of the class at depth `d` of `R` once `row` is added, weights included.

    R is not changed. ``O(m)``, and times d for set columns.
    """
    total = 0.0
    for a in range(len(A.kind)):
        code = A.codes[row, a]
        if A.kind[a] == 2:
            count = R.different[d, a]
            if _is_new(A, R, d, a, code):
                total += A.place[A.start[a] + count]
            else:
                total += R.part[d, a]
        elif R.lo[d, a] <= code <= R.hi[d, a]:
            total += R.part[d, a]
        else:
            total += span(
                A, a, int(np.int64(min(code, R.lo[d, a]))), int(np.int64(max(code, R.hi[d, a])))
            )
    return total


@part
def _add(A: Arrays, R: Room, d: int, row: int) -> None:
    """Write the box of depth d into R: that of depth d - 1 with `row` added.

    ``O(columns)``, times d for new values of sets.
    """
    for a in range(len(A.kind)):
        code = A.codes[row, a]
        if d == 0:
            R.lo[0, a] = R.hi[0, a] = code
            R.different[0, a] = 1
            # A set of one value costs nothing, nor does a single number or leaf.
            R.part[0, a] = A.place[A.start[a]] if A.kind[a] == 2 else 0.0
            continue
        R.lo[d, a] = min(code, R.lo[d - 1, a])
        R.hi[d, a] = max(code, R.hi[d - 1, a])
        R.different[d, a] = R.different[d - 1, a]
        if A.kind[a] == 2:
            if _is_new(A, R, d - 1, a, code):
                R.different[d, a] += 1
            R.part[d, a] = A.place[A.start[a] + R.different[d, a] - 1]
        elif R.lo[d, a] == R.lo[d - 1, a] and R.hi[d, a] == R.hi[d - 1, a]:
            R.part[d, a] = R.part[d - 1, a]
        else:
            R.part[d, a] = span(A, a, int(np.int64(R.lo[d, a])), int(np.int64(R.hi[d, a])))
    R.member[d] = row


@part
def _sort(cost: NDArray[np.float64], rows: NDArray[np.int32], size: int) -> None:
    """Sort the first `size` of `rows` by rising `cost`, both in place; by insertion where they are few."""
    if size > 40:
        order = np.arange(size)
        sort_by(cost, order, np.empty_like(order))
        np.positive(cost[:size][order], cost[:size])
        np.positive(rows[:size][order], rows[:size])
        return
    for at in range(1, size):
        c, r, to = cost[at], rows[at], at
        while to > 0 and cost[to - 1] > c:
            cost[to] = cost[to - 1]
            rows[to] = rows[to - 1]
            to -= 1
        cost[to], rows[to] = c, r


@part
def _insert(top: NDArray[np.float64], length: int, value: float) -> None:
    """Insert a value into `top` ``(length,)`` or longer, the largest ones, falling, in place. ``O(length)``.

    The rest of `top` is minus infinity.
    """
    if value <= top[length - 1]:
        return
    to = length - 1
    while to > 0 and top[to - 1] < value:
        top[to] = top[to - 1]
        to -= 1
    top[to] = value


@part
def _least(R: Room, size: int, cost: float, paid: float, room: int) -> float:
    """Return the least reduced cost of a class of `size` rows or up to `room` more, infinite if k cannot be reached.

    `cost` is a row's cost, and `paid` the multipliers of the rows so far; further rows pay those in ``R.top``, in
    order.
    """
    least = np.inf
    if size >= R.k:
        least = size * cost - paid
    for t in range(room):
        if R.top[t] == -np.inf:
            break
        size += 1
        paid += R.top[t]
        if size >= R.k and size * cost - paid < least:
            least = size * cost - paid
    return least


@part
def _open(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    R: Room, pi: NDArray[np.float64], d: int, count: int, paid: float, below: float
) -> int:
    """Drop rows that no class of reduced cost `below` has, sort the rest, and bound classes by their widest row.

    At depth d, `count` rows may come next and the class has `paid` in multipliers ``pi`` ``(rows,)``. Returns how many
    rows are left. ``O(count (k + log count))``.
    """
    size, room = d + 1, 2 * R.k - 1 - (d + 1)
    R.top[:] = -np.inf
    for at in range(count):
        _insert(R.top, room, pi[R.rows[d, at]])
    n_open = int(np.int64(0))
    for at in range(count):
        row, cost = R.rows[d, at], R.cost[d, at]
        # With the row itself among the largest the bound is looser, and valid.
        if _least(R, size + 1, cost, paid + pi[row], room - 1) < below:
            R.rows[d, n_open] = row
            R.cost[d, n_open] = cost
            n_open += 1
    _sort(R.cost[d], R.rows[d], n_open)
    R.top[:] = -np.inf
    for at in range(n_open):
        row = R.rows[d, at]
        R.bound[d, at] = _least(R, size + 1, R.cost[d, at], paid + pi[row], room - 1)
        if room > 1:
            _insert(R.top, room - 1, pi[row])
    return n_open


@kernel
def price(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    apart: NDArray[np.float64],
    pi: NDArray[np.float64],
    order: NDArray[np.int64],
    first: int,
    stop: int,
    R: Room,
    below: float,
    budget: int,
    each: int,
    F: PricedClasses,
) -> int:
    r"""Find classes with a reduced cost :math:`c(S) - \sum_{i \in S} \pi_i` below a number, root by root.

    The roots are ``order[first]`` to ``order[stop - 1]``. A root's rows are those behind
    it; its widest row is chosen first, then the widest of the rest. A branch ends where what all rows pay for the box
    so far, less the largest multipliers that are left, is not below the number. Exponential in k at worst.

    `apart` is what :func:`all_pairs` returns, `pi` ``(n,)`` float64 are the multipliers, and `order` ``(n,)`` int64 the
    rows by falling multiplier. For each root at most `budget` boxes are looked at, and at most `each` classes of least
    reduced cost are written to `F`; 0 for all, while there is room. Returns the number of classes written.
    """
    n, k = len(A.codes), R.k
    largest = 2 * k - 1
    depth_of, size_of = np.empty(largest, dtype=np.int64), np.empty(largest, dtype=np.int64)
    paid, reduced = np.empty(largest), np.empty(len(F.costs))
    written, root_depth = 0, int(np.int64(0))
    for place in range(first, stop):
        root = int(np.int64(order[place]))
        begin, limit, best, boxes = written, below, below, 0
        _add(A, R, root_depth, root)
        paid[0] = pi[root]
        count = n - place - 1
        for at in range(count):
            R.rows[0, at] = order[place + 1 + at]
            R.cost[0, at] = apart[root, order[place + 1 + at]]
        size_of[0] = _open(R, pi, root_depth, count, paid[0], limit)
        depth_of[0] = 0
        d = 0
        while d >= 0:
            at = depth_of[d]
            if at >= size_of[d]:
                d -= 1
                continue
            if boxes >= budget:
                # What was not looked at is bounded by its widest row, next to the root.
                for rest in range(max(0, depth_of[0] - 1), size_of[0]):
                    best = min(best, R.bound[0, rest])
                F.work[1] += 1
                break
            depth_of[d] += 1
            if R.bound[d, at] >= limit:
                continue
            row, cost = int(np.int64(R.rows[d, at])), R.cost[d, at]
            boxes += 1
            total = paid[d] + pi[row]
            size = d + 2
            if size >= k:
                value = size * cost - total
                if value < limit:
                    best = min(best, value)
                    if each and written - begin == each:
                        to = begin
                        for other in range(begin + 1, written):
                            if reduced[other] > reduced[to]:
                                to = other
                    elif written < len(F.costs):
                        to = written
                        written += 1
                    else:
                        for rest in range(place, n):
                            F.least[order[rest]] = -np.inf
                        F.work[2] += 1
                        return written
                    for e in range(d + 1):
                        F.classes[to, e] = R.member[e]
                    F.classes[to, d + 1] = row
                    for e in range(d + 2, largest):
                        F.classes[to, e] = -1
                    F.costs[to] = size * cost
                    reduced[to] = value
                    if each and written - begin == each:
                        limit = reduced[begin]
                        for other in range(begin + 1, written):
                            limit = max(limit, reduced[other])
            if size == largest or at == 0:
                continue
            _add(A, R, d + 1, row)
            paid[d + 1] = total
            for other in range(at):
                R.rows[d + 1, other] = R.rows[d, other]
                R.cost[d + 1, other] = _with_row(A, R, d + 1, R.rows[d, other])
            size_of[d + 1] = _open(R, pi, d + 1, at, total, limit)
            if size_of[d + 1]:
                d += 1
                depth_of[d] = 0
        F.least[root] = best
        F.work[0] += boxes
    return written


@kernel
def triples(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    classes: NDArray[np.int32],
    x: NDArray[np.float64],
    n: int,
    more: float,
    room: NDArray[np.int32],
    room_value: NDArray[np.float64],
) -> int:
    """Find three rows of which classes hold two or more with a total of `x` above ``1 + more``; return their number.

    `classes` ``(n_classes, 2k - 1)`` int32 are padded with -1, and `x` ``(n_classes,)`` float64 is the part of each.
    ``room[t]`` ``(3,)`` int32 becomes a triple, ``room_value[t]`` its total. ``O(n^3)`` at least.
    """
    together = np.zeros((n, n))
    count = np.zeros(n, dtype=np.int64)
    holding = np.empty((n, len(x)), dtype=np.int32)
    for s in range(len(x)):
        for e in range(classes.shape[1]):
            r = classes[s, e]
            if r < 0:
                break
            holding[r, count[r]] = s
            count[r] += 1
            for f in range(e):
                q = classes[s, f]
                together[r, q] += x[s]
                together[q, r] += x[s]
    written = 0
    for r in range(n):
        for q in range(r):
            for p in range(q):
                pairs = together[r, q] + together[q, p] + together[r, p]
                if pairs <= 1.0 + more:
                    continue
                all_three = 0.0
                for h in range(count[r]):
                    two = 0
                    for e in range(classes.shape[1]):
                        if classes[holding[r, h], e] == q or classes[holding[r, h], e] == p:
                            two += 1
                    if two == 2:
                        all_three += x[holding[r, h]]
                # A class with all three has been counted by each of its pairs.
                if pairs - 2 * all_three > 1.0 + more and written < len(room):
                    room[written, 0] = r
                    room[written, 1] = q
                    room[written, 2] = p
                    room_value[written] = pairs - 2 * all_three
                    written += 1
    return written
