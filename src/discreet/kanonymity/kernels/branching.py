"""Compiled search for classes that their rows' multipliers overpay: branches of boxes.

Proposes classes, and proves bounds of their excess; `tests/kanonymity/test_lower_bounds.py` checks both against all
classes of small tables.


A node of the search has an inner and an outer box; its classes cover the one and lie in the other. What is found is
kept by root, the point of the class with the largest multiplier, ties by rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import inlined, kernel, part
from discreet.kanonymity.kernels.boxes import pair_cost, span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays, BranchLimits

BITS_PER_SET = np.iinfo(np.int64).bits - 1
"""Bits of a set; values beyond share bits, so that a set may seem smaller, and cheaper, than it is."""


class OverpaidClasses(NamedTuple):
    """A few overpaid classes of each root.

    `points` and `rows` ``(n_points, n_kept, k)`` int32 are the points of a class, -1 for none, and the number
    of rows of each; `excess` ``(n_points, n_kept)`` float64 is by how much the class is overpaid.
    """

    points: NDArray[np.int32]
    rows: NDArray[np.int32]
    excess: NDArray[np.float64]


class Largest(NamedTuple):
    """The k rows of largest multiplier so far, by points."""

    u: NDArray[np.float64]
    point: NDArray[np.int32]
    rows: NDArray[np.int32]


@part
def _keep(F: OverpaidClasses, root: int, T: Largest, used: int, excess: float) -> None:
    """Keep the class of `used` points in T for `root`, unless it is known or all that are kept have a larger excess.

    Linear in what is kept of the root.
    """
    worst = 0
    for slot in range(F.excess.shape[1]):
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


@part
def _room_of(k: int) -> Largest:
    """Allocate arrays for k rows, and one more for insertion."""
    return Largest(
        np.empty(k + 1), np.empty(k + 1, dtype=np.int32), np.empty(k + 1, dtype=np.int32)
    )


@part
def _with(A: Arrays, a: int, box: NDArray[np.int64], at: int, x: int) -> float:
    """Return the cost of a cell of the inner box with value x added; infinite outside of the outer one.

    ``box`` is ``(4, columns)``: ends, or bits and number of values, of the inner box, then of the outer one.
    """
    if A.kind[a] == 2:
        bit = np.int64(1) << (x % BITS_PER_SET)
        if box[2, at] & bit:
            return np.inf
        more = 0 if box[0, at] & bit else 1
        return float(A.place[A.start[a] + box[1, at] - 1 + more])
    if x < box[2, at] or x > box[3, at]:
        return np.inf
    lo, hi = min(box[0, at], x), max(box[1, at], x)
    if A.kind[a] == 0:
        start = A.start[a]
        return float(min(A.cap[a], A.place[start + hi] - A.place[start + lo]))
    return span(A, a, lo, hi)


@part
def _inner_cost(A: Arrays, a: int, box: NDArray[np.int64]) -> float:
    """Return the cost of the cell of the inner box in column a."""
    if A.kind[a] == 2:
        return float(A.place[A.start[a] + box[1, a] - 1])
    return span(A, a, box[0, a], box[1, a])


@inlined
def _mean(T: Largest, used: int) -> float:
    """Return the mean multiplier of the rows of the first `used` points of a class."""
    total, rows = 0.0, 0
    for t in range(used):
        total += T.u[t] * T.rows[t]
        rows += T.rows[t]
    return total / rows


@part
def _class_cost(A: Arrays, T: Largest, used: int) -> float:
    """Return the cost of one row of the class of the first `used` points in ``T.point``, weights included.

    `used` is 1 or more. ``O(m used)``, for a set column ``O(used^2)``.
    """
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
        if A.kind[a] == 2:
            total += A.place[A.start[a] + different - 1]
        else:
            total += span(A, a, int(np.int64(lo)), int(np.int64(hi)))
    return total


@part
def _parted(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    T: Largest,
    used: int,
    box: NDArray[np.int64],
    inner: NDArray[np.int64],
    outer: NDArray[np.int64],
) -> int:
    """Divide the boxes between `inner` and `outer` in the column where the class sticks out most; -1 for none.

    All three are ``(4, columns)``; the class has `used` points. On return `outer` has those that do not reach so far,
    and `inner` those that do. The cost is the columns times the points.

    The rows of a box are inner low and high, outer low and high codes; of a set, bits.
    """
    most, where, side, far = 0.0, -1, 0, 0
    for a in range(len(A.kind)):
        base = _inner_cost(A, a, box)
        if A.kind[a] == 2:
            for t in range(used):
                x = A.codes[T.point[t], a]
                more = _with(A, a, box, a, x) - base
                if more > most:
                    most, where, side, far = more, a, 2, int(x % BITS_PER_SET)
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
    # An assignment of slices would compile the text of its error, for five seconds.
    np.positive(box, inner)
    np.positive(box, outer)
    if where < 0:
        return -1
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
    return a


@inlined
def _widened(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    a: int,
    box: NDArray[np.int64],
    before: NDArray[np.int64],
    given: NDArray[np.int32],
    paid: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> None:
    """Write the cost of the inner box with each point of `given`, after the box grew in column a, from costs `paid`.

    `box` is ``(4, columns)``, `before` its column a before ``(4,)``; the others are as long as `given`. Infinite
    outside of the outer box. ``O(points)``.
    """
    if A.kind[a] == 0:
        place = A.place[A.start[a] :]
        low, high, cap = place[box[0, a]], place[box[1, a]], A.cap[a]
        low_before, high_before = place[before[0]], place[before[1]]
        for t in range(len(given)):
            code = A.codes[given[t], a]
            position = place[code]
            more = min(cap, max(high, position) - min(low, position))
            more -= min(cap, max(high_before, position) - min(low_before, position))
            cost[t] = paid[t] + more if box[2, a] <= code <= box[3, a] else np.inf
        return
    now = np.empty((2, 4, 1), dtype=np.int64)
    for q in range(4):
        now[0, q, 0], now[1, q, 0] = before[q], box[q, a]
    for t in range(len(given)):
        code = int(A.codes[given[t], a])
        # A value that was outside is not in the list.
        cost[t] = paid[t] - _with(A, a, now[0], 0, code) + _with(A, a, now[1], 0, code)


@inlined
def _best_of(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    times: float,
    given: NDArray[np.int32],
    cost: NDArray[np.float64],
    T: Largest,
    best: Largest,
    slot: NDArray[np.int64],
) -> tuple[float, int]:
    """Return the largest mean multiplier of k rows less their largest cost, and the number of points of that class.

    `counts` and `u` are by point, rows and multipliers; `given` are points by falling multiplier with their `cost`,
    the factor of which is `times`. `T` and `slot` are working memory, `best` gets the points. Where it is not above
    zero, anything up to it is given, and no point.
    """
    base = np.inf
    for t in range(len(given)):
        base = min(base, cost[t])
    used = n_rows = int(np.int64(0))
    at, total, most = 0, 0.0, np.inf
    value, best_size = 0.0, 0
    while True:
        # Fill up with the rows of largest multiplier among those that cost less than the dearest so far.
        if used > 0 and n_rows < k:
            p = T.point[used - 1]
            rows = min(counts[p] - T.rows[used - 1], k - n_rows)
            # Later rows were looked at once all of this point were taken.
            T.rows[used - 1] += rows
            n_rows += rows
            total += rows * u[p]
        while n_rows < k and at < len(given):
            if cost[at] < most:
                p = given[at]
                rows = min(counts[p], k - n_rows)
                T.point[used], T.rows[used], slot[used] = p, rows, at
                used += 1
                n_rows += rows
                total += rows * u[p]
            at += 1
        if n_rows < k or total <= k * (times * base + value):
            return value, best_size
        most = 0.0
        for t in range(used):
            most = max(most, cost[slot[t]])
        excess = total / k - times * most
        if excess > value:
            value, best_size = excess, used
            for t in range(used):
                best.point[t], best.rows[t], best.u[t] = T.point[t], T.rows[t], u[T.point[t]]
        # Leave out the dearest.
        left = 0
        n_rows, total = 0, 0.0
        for t in range(used):
            if cost[slot[t]] < most:
                T.point[left], T.rows[left], slot[left] = T.point[t], T.rows[t], slot[t]
                n_rows += T.rows[t]
                total += T.rows[t] * u[T.point[t]]
                left += 1
        used = left


@part
def _first_node(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    order: NDArray[np.int32],
    k: int,
    times: float,
    rank: int,
    points: NDArray[np.int32],
    paid: NDArray[np.float64],
    box: NDArray[np.int64],
) -> int:
    """List the points that a class of the root may have, and write its boxes; return their number, 0 for no class.

    The root is ``order[rank]``; a point p counts if its pair with the root costs less than ``u[root] / times`` a row,
    and k rows are needed in all. ``counts`` and ``u`` are ``(points,)``, ``points`` and ``paid`` get one entry a point,
    ``box`` is ``(4, columns)``. The cost is the points times the columns.
    """
    root = int(np.int64(order[rank]))
    size, n_rows = 0, 0
    for t in range(rank, len(order)):
        p = order[t]
        cost = pair_cost(A, A.codes[root], A.codes[p], u[root] / times)
        if cost * times < u[root]:
            points[size], paid[size] = p, cost
            size += 1
            n_rows += min(counts[p], k)
    for a in range(len(A.kind)):
        x = A.codes[root, a]
        if A.kind[a] == 2:
            box[0, a], box[1, a] = np.int64(1) << (x % BITS_PER_SET), 1
            box[2, a], box[3, a] = 0, 0
        else:
            box[0, a] = box[1, a] = x
            box[2, a], box[3, a] = 0, A.start[a + 1] - A.start[a] - 1
    return size if n_rows >= k else 0


@inlined
def _recount(
    A: Arrays, box: NDArray[np.int64], given: NDArray[np.int32], cost: NDArray[np.float64]
) -> None:
    """Write the cost of the inner box with each point of `given` added, into `cost`; infinite outside of the outer box.

    `box` is ``(4, columns)``, inner and outer ends; `given` and `cost` are as long. ``O(points columns)``.
    """
    for t in range(len(given)):
        cost[t] = 0.0
        for a in range(len(A.kind)):
            cost[t] += _with(A, a, box, a, A.codes[given[t], a])


@inlined
def _cheap_points(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    times: float,
    most: float,
    given: NDArray[np.int32],
    points: NDArray[np.int32],
    costs: NDArray[np.float64],
) -> int:
    """Keep the points that can be in an overpaid class, by the k - 1 largest multipliers; return their number.

    `given` are points by falling multiplier, `costs` theirs, `u` and `counts` by point; `points` is written, `costs`
    compacted. Linear.
    """
    n_rows, top_sum, size = 0, 0.0, 0
    for t in range(len(given)):
        cost = costs[t]
        if cost * times >= most:
            continue
        p = given[t]
        if n_rows < k - 1:
            rows = min(counts[p], k - 1 - n_rows)
            n_rows += rows
            top_sum += rows * u[p]
        elif top_sum + u[p] - k * times * cost <= 0:
            continue
        points[size], costs[size] = p, cost
        size += 1
    return size


@kernel
def branches(  # noqa: PLR0917 - one loop whose state is the stack
    A: Arrays,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    order: NDArray[np.int32],
    k: int,
    slack: float,
    B: BranchLimits,
    rank: int,
    F: OverpaidClasses,
    upper: NDArray[np.float64],
    doubtful: NDArray[np.bool_],
    halted: NDArray[np.bool_],
) -> int:
    r"""Find classes whose mean multiplier exceeds ``(1 + slack)`` times their width, and return the number of nodes.

    The root is the point ``order[rank]``, by falling multiplier `u` ``(n_points,)`` float64; point p stands for
    ``counts[p]`` int64 rows. A node is a pair of an inner and an outer box. A row l of a class between them costs at
    least :math:`e_l`, what the inner box with it does, so that the excess is at most

    .. math:: \max_t \Bigl\{ \tfrac{1}{k} \max_{|T| = k,\; e_l \le t\; (l \in T)} \sum_{l \in T} u_l
              - (1 + \text{slack})\, t \Bigr\}.

    The class of that maximum is measured; the node is divided where it sticks out of the inner box most. Then
    ``upper[root]`` is at least the largest excess of a class of the root; infinite after ``B.max_nodes`` or once
    ``halted[0]`` is set, when ``doubtful[p]`` becomes true for points p of its other classes. A pass over rows a node.
    """
    n, m = A.codes.shape
    T, best_top, slots = _room_of(k), _room_of(k), np.empty(k + 1, dtype=np.int64)
    state = np.empty((B.max_open_nodes, 4, m), dtype=np.int64)
    bound, part = np.empty(B.max_open_nodes), np.empty((B.max_open_nodes, 2), dtype=np.int64)
    depth, grown = np.empty(B.max_open_nodes, np.int64), np.empty(B.max_open_nodes, np.int64)
    before = np.empty((B.max_open_nodes, 4), dtype=np.int64)
    room, times = 24 * n, 1.0 + slack
    lists, paid = np.empty(room, dtype=np.int32), np.empty(room)
    open_here = np.zeros(n, dtype=np.bool_)
    root = int(np.int64(order[rank]))
    upper[root] = 0.0
    size = _first_node(A, counts, u, order, k, times, rank, lists, paid, state[0])
    if size == 0:
        return 0
    bound[0], part[0, 0], part[0, 1] = u[root], 0, size
    grown[0], depth[0] = 0, 0
    np.positive(state[0, :, 0], before[0])
    waiting, best, gone, nodes, finished = 1, 0.0, 0.0, 0, True
    while waiting > 0:
        waiting -= 1
        first, last = part[waiting, 0], part[waiting, 1]
        free = max(last, part[waiting - 1, 1]) if waiting > 0 else last
        if (
            bound[waiting] <= best
            or nodes >= B.max_nodes
            or halted[0]
            or waiting > B.max_open_nodes - 3
            or free + last - first > room
        ):
            gone = max(gone, bound[waiting])
            finished = finished and bound[waiting] <= best
            for t in range(first, last):
                open_here[lists[t]] = True
            continue
        nodes += 1
        box = state[waiting].copy()
        points, costs = lists[free:], paid[free:]
        deep = depth[waiting]
        if deep < B.nodes_between_recounts:
            a = grown[waiting]
            _widened(A, a, box, before[waiting], lists[first:last], paid[first:last], costs)
        else:
            deep = 0
            _recount(A, box, lists[first:last], costs)
        size = _cheap_points(counts, u, k, times, u[root], lists[first:last], points, costs)
        value, used = _best_of(counts, u, k, times, points[:size], costs[:size], T, best_top, slots)
        if used == 0:
            continue
        excess = _mean(best_top, used) - times * _class_cost(A, best_top, used)
        if excess > 0:
            _keep(F, root, best_top, used, excess)
        best = max(best, excess)
        value = min(value, bound[waiting])
        # The first child is outside, and the second, which is next, inside.
        a = _parted(A, best_top, used, box, state[waiting + 1], state[waiting])
        if a < 0:
            # Nothing sticks out; sets whose bits are shared may still cost more than they seem to.
            gone = max(gone, value)
            for t in range(size):
                open_here[points[t]] = True
            continue
        for _ in range(2):
            np.positive(box[:, a], before[waiting])
            grown[waiting], bound[waiting], depth[waiting] = a, value, deep + 1
            part[waiting, 0], part[waiting, 1] = free, free + size
            waiting += 1
    upper[root] = max(best, gone) if finished else np.inf
    if not finished:
        for t in range(n):
            # Other threads write to it too: a mark is never taken back.
            if open_here[t]:
                doubtful[t] = True
    return nodes
