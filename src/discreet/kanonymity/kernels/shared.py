"""Compiled descent into the cells that k rows share, column after column, with the rows that lie in them.

Rows are packed: the atoms of the columns that are still open, the next one in the lowest bits. A frame holds the rows
of one cell in the present column and of fixed cells in those before it, sorted, equal ones as one. It goes on to the
cells inside its own, and then fixes its own: the column's bits are dropped, and rows that are now equal become one.
Costs are whole numbers, so that sums are exact.

The cells of the last column need not be listed: the narrowest interval, or the least set of values, that holds a row
and k rows follows from how many rows have each value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import expanded, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Lattice", "deal_atoms", "descend", "descend_below", "packed"]

MORE_ROOM = 10_000_000
"""Rows of 20 bytes that a search has room for beyond three times its own, at most."""

LISTED, INTERVALS, SETS = range(3)
"""What the cells of the last column are: listed, all intervals, or all sets."""

FIXED, CLOSED, WHOLE, DIVIDED = range(-1, -5, -1)
"""What is done next with a frame, if not a cell inside it: its own cell is fixed; nothing; all cells of the last
columns; all cells inside it together."""

LEFT_CELL = -1
"""In place of the step to the next row: a cell that is left without looking."""

ROWS_UNIT = 2**31
"""A cell's rows and its different rows are counted in one number: so many times the first, and the other."""


class Lattice(NamedTuple):
    """The cells of all columns, those of column j from ``start[j]`` on, its widest first.

    ``inside[member[cell] + atom]`` says whether an atom is in a cell, `child` and `next` are the first cell inside one
    and the next inside the same, -1 for none, and ``branch[member[cell] + atom]`` the one that has an atom, where no
    two share one. Cells that are `alone` have one atom and are followed by another column. ``opens[cell]`` is what is
    done first with a frame of a cell, and `cost` what it costs.
    ``floor[cell, r]`` is what all boxes cost at least that have r different rows or more, within the cell and the
    columns after it. `width` and `depth` are the atoms of each column and how often its cells lie in one another.

    By `kind` the last column is listed like the others, or has all intervals, which cost no less than
    ``low[b] - high[a]`` from atom a to a later one b and ``sizes[0]`` at most, or all sets of values, of which s cost
    ``sizes[s - 1]``.
    """

    start: NDArray[np.int64]
    bits: NDArray[np.int64]
    inside: NDArray[np.bool_]
    member: NDArray[np.int64]
    child: NDArray[np.int64]
    next: NDArray[np.int64]
    branch: NDArray[np.int32]
    alone: NDArray[np.bool_]
    opens: NDArray[np.int64]
    cost: NDArray[np.int64]
    floor: NDArray[np.int64]
    width: NDArray[np.int64]
    depth: NDArray[np.int64]
    kind: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.int64]


@expanded
def _intervals(  # noqa: PLR0917 - the arrays of one search
    L: Lattice,
    K: NDArray[np.int64],
    N: NDArray[np.int32],
    B: NDArray[np.int32],
    into: NDArray[np.int32],
    begin: int,
    end: int,
    cost: int,
    k: int,
) -> None:
    """Find the narrowest interval around each row that k rows share.

    Of the shortest runs of k rows, whose ends rise together, those around a row are neighbors, and a queue keeps the
    narrowest of them; else an interval ends at the row, and begins where the last run before it does.
    """
    shift, widest = end - begin, L.sizes[-1]
    stop, total = begin, int(N[begin])
    windows = begin
    for i in range(begin, end):
        while total < k and stop + 1 < end:
            stop += 1
            total += N[stop]
        if total < k:
            break
        K[i + shift] = stop
        B[i + shift] = min(widest, max(0, L.low[K[stop]] - L.high[K[i]])) if stop > i else 0
        windows = i + 1
        total -= N[i]
        if stop == i and stop + 1 < end:
            stop += 1
            total += N[stop]
    first, head, tail, added = begin, end, end, begin
    for a in range(begin, end):
        while added < min(a + 1, windows):
            while tail > head and B[into[tail - 1] + shift] >= B[added + shift]:
                tail -= 1
            into[tail] = added
            tail += 1
            added += 1
        while first < windows and K[first + shift] < a:
            first += 1
        while head < tail and into[head] < first:
            head += 1
        narrowest = widest
        if head < tail:
            narrowest = min(narrowest, B[into[head] + shift])
        if first > begin:
            narrowest = min(narrowest, max(0, L.low[K[a]] - L.high[K[first - 1]]))
        B[a] = min(B[a], cost + narrowest)


@expanded
def _sets(  # noqa: PLR0917 - the arrays of one search
    L: Lattice,
    N: NDArray[np.int32],
    B: NDArray[np.int32],
    into: NDArray[np.int32],
    begin: int,
    end: int,
    cost: int,
    k: int,
) -> None:
    """Find the least number of values, that of a row among them, which k rows have: the most frequent ones."""
    m = end - begin
    for x in range(begin, end):
        at = x + m
        while at > end and N[into[at - 1]] < N[x]:
            into[at] = into[at - 1]
            at -= 1
        into[at] = x
    total = 0
    for x in range(end, end + m):
        total += N[into[x]]
        B[x] = total
    for rank in range(m):
        x = into[end + rank]
        if N[x] >= k:
            B[x] = min(B[x], cost)
            continue
        size = m
        for s in range(2, m + 1):
            have = B[end + s - 1] if rank < s else B[end + s - 2] + N[x]
            if have >= k:
                size = s
                break
        B[x] = min(B[x], cost + L.sizes[size - 1])


@kernel
def packed(
    keys: NDArray[np.int64], codes: NDArray[np.int32], atoms: NDArray[np.int64], shift: int
) -> None:
    """Write the atoms of a column into the packed rows ``(n,)`` int64, from bit `shift` on. ``O(n)``."""
    for i in range(len(keys)):
        keys[i] |= atoms[codes[i]] << shift


@kernel
def deal_atoms(
    keys: NDArray[np.int64],
    mask: int,
    group: NDArray[np.int64],
    at: NDArray[np.int64],
    order: NDArray[np.int32],
) -> None:
    """Write the places of packed rows into the run of their first atom's group, from ``at[group]`` on; -1 is left."""
    for x in range(len(keys)):
        g = group[keys[x] & mask]
        if g >= 0:
            order[at[g]] = x
            at[g] += 1


@kernel
def descend(  # noqa: PLR0917 - one loop whose state is the stack
    L: Lattice,
    K: NDArray[np.int64],
    N: NDArray[np.int32],
    B: NDArray[np.int32],
    n: int,
    column: int,
    paid: int,
    k: int,
    most_rows: int,
    stop: NDArray[np.bool_],
) -> int:
    """Lower ``B[i]`` to what the cheapest cells cost that hold row i and k rows, where that is less.

    The first `n` entries are the rows, ``K`` packed and rising, with ``N`` of each, k at most; what follows, one entry
    at least, is room to work in. Columns before `column` are fixed, at a cost of `paid`. What does not fit into the
    room counts as if it cost no more than what is fixed by then and the floor of what is open, which is no more than it
    does.

    Returns
    -------
    int
        How many rows were looked at, below 0 where not all was. ``stop[0]`` ends it before, or `most_rows` looked at;
        what was not looked at by then counts as in the sentence above, so that ``B[i]`` is no more than it would be.
    """
    room, last, deep = len(K) - 1, len(L.bits) - 1, L.floor.shape[1] - 1
    # One place more, as `K` has, for rows in no cell inside.
    into = np.empty(room + 1, dtype=np.int32)
    cells = len(L.cost)
    # The last entry is for rows in no cell inside, which are written to the last place.
    packed_sizes, most_of = np.zeros(cells + 1, dtype=np.int64), np.zeros(cells + 1, dtype=np.int64)
    many_of, to = np.zeros(cells + 1, dtype=np.int64), np.full(cells + 1, room, dtype=np.int64)
    step, drop = np.zeros(cells + 1, dtype=np.int64), np.zeros(cells + 1, dtype=np.int64)
    f = np.empty((cells + len(L.bits) + 2, 7), dtype=np.int64)
    d = 0
    f[0, 0], f[0, 1], f[0, 2], f[0, 3], f[0, 4] = column, L.start[column], 0, n, paid
    f[0, 5], f[0, 6] = L.opens[L.start[column]], 1
    steps, looked, cut = 0, 0, False
    while d >= 0:
        steps += 1
        if steps % 64 == 0 and (stop[0] or looked > most_rows):
            # Frames that are open are left from here on, without looking further down.
            cut = True
        a, cell, begin, end, cost = f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4]
        inner = f[d, 5]
        looked += end - begin
        if inner == WHOLE:
            f[d, 5] = CLOSED
            if cut or end + (end - begin) > room:
                for x in range(begin, end):
                    B[x] = min(B[x], cost)
            elif L.kind == INTERVALS:
                _intervals(L, K, N, B, into, begin, end, cost, k)
            else:
                _sets(L, N, B, into, begin, end, cost, k)
        elif inner == DIVIDED:
            # The cells inside this one share no atom: all of them are filled in two passes.
            f[d, 5] = FIXED
            bits, base = L.bits[a], L.member[cell]
            mask, c = (1 << bits) - 1, L.child[cell]
            while c >= 0:
                packed_sizes[c], most_of[c], many_of[c] = 0, 0, 1
                c = L.next[c]
            for x in range(begin, end):
                c = L.branch[base + (K[x] & mask)]
                packed_sizes[c] += ROWS_UNIT * np.int64(N[x]) + 1
                most_of[c] = max(most_of[c], B[x])
                many_of[c] = max(many_of[c], N[x])
            at, c, some, without = end, L.child[cell], False, False
            while c >= 0:
                size = packed_sizes[c] % ROWS_UNIT
                # Rows of a cell that is passed over are all written to the last place, which spares a jump.
                to[c], step[c], drop[c] = room, 0, 0
                if packed_sizes[c] // ROWS_UNIT >= k and most_of[c] > cost + L.floor[c, 1]:
                    floor = cost + L.floor[c, min(deep, (k - 1) // many_of[c] + 1)]
                    if most_of[c] > floor and (cut or at + size > room):
                        without, step[c], packed_sizes[c] = True, LEFT_CELL, floor
                    elif most_of[c] > floor:
                        some = True
                        to[c], step[c] = at, 1
                        d += 1
                        f[d, 2], f[d, 3], f[d, 6] = at, at + size, 0
                        if L.alone[c]:
                            # Its rows stay different without the column, which is fixed on the way.
                            f[d, 0], f[d, 1], f[d, 4] = a + 1, L.start[a + 1], cost + L.cost[c]
                            drop[c] = bits
                        else:
                            f[d, 0], f[d, 1], f[d, 4] = a, c, cost
                        f[d, 5] = L.opens[f[d, 1]]
                        at += size
                c = L.next[c]
            if without:
                for x in range(begin, end):
                    c = L.branch[base + (K[x] & mask)]
                    if step[c] == LEFT_CELL:
                        B[x] = min(B[x], packed_sizes[c])
                c = L.child[cell]
                while c >= 0:
                    step[c] = max(step[c], 0)
                    c = L.next[c]
            if some:
                for x in range(begin, end):
                    c = L.branch[base + (K[x] & mask)]
                    at = to[c]
                    K[at], N[at], B[at], into[at] = K[x] >> drop[c], N[x], B[x], x
                    to[c] += step[c]
        elif inner >= 0:
            f[d, 5] = L.next[inner]
            mask, base = (1 << L.bits[a]) - 1, L.member[inner]
            rows, most, many = 0, 0, 1
            for x in range(begin, end):
                if L.inside[base + (K[x] & mask)]:
                    rows += N[x]
                    most = max(most, B[x])
                    many = max(many, N[x])
            floor = cost + L.floor[inner, min(deep, (k - 1) // many + 1)]
            if rows < k or most <= floor:
                continue
            if cut or end + (end - begin) > room:
                for x in range(begin, end):
                    if L.inside[base + (K[x] & mask)]:
                        B[x] = min(B[x], floor)
                continue
            at = end
            for x in range(begin, end):
                # Written in any case and kept where it is inside, which spares a jump.
                K[at], N[at], B[at], into[at] = K[x], N[x], B[x], x
                at += L.inside[base + (K[x] & mask)]
            d += 1
            f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4] = a, inner, end, at, cost
            f[d, 5], f[d, 6] = L.opens[inner], 0
        elif inner == FIXED:
            f[d, 5] = CLOSED
            cost += L.cost[cell]
            if L.child[cell] >= 0:
                most = 0
                for x in range(begin, end):
                    most = max(most, B[x])
                if most <= cost:
                    continue
            if cut or a == last or end + (end - begin) > room:
                for x in range(begin, end):
                    B[x] = min(B[x], cost)
                continue
            at, key, most, many = end - 1, np.int64(-1), 0, 1
            for x in range(begin, end):
                rest = K[x] >> L.bits[a]
                if rest != key:
                    at += 1
                    key = rest
                    K[at], N[at], B[at] = rest, 0, 0
                N[at] = min(k, N[at] + N[x])
                B[at] = max(B[at], B[x])
                many, most = max(many, N[at]), max(most, B[at])
            root = L.start[a + 1]
            if most <= cost + L.floor[root, min(deep, (k - 1) // many + 1)]:
                continue
            d += 1
            f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4] = a + 1, root, end, at + 1, cost
            f[d, 5], f[d, 6] = L.opens[root], 1
        else:
            up = f[d, 6]
            d -= 1
            if d < 0:
                break
            if up:
                # Rows that became one stand in the order of what they became.
                at = begin
                for x in range(f[d, 2], f[d, 3]):
                    if K[x] >> L.bits[f[d, 0]] != K[at]:
                        at += 1
                    B[x] = min(B[x], B[at])
            else:
                for x in range(begin, end):
                    B[into[x]] = min(B[into[x]], B[x])
    return -looked - 1 if cut else looked


@kernel
def descend_below(  # noqa: PLR0917 - as above
    L: Lattice,
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    best: NDArray[np.int64],
    rows: NDArray[np.int32],
    cell: int,
    k: int,
    most_rows: int,
    stop: NDArray[np.bool_],
) -> int:
    """Do what :func:`descend` does for one cell of the first column alone: for the rows in it, in their order.

    Cells that share no row can be searched at the same time.
    """
    bits, cost = L.bits[0], L.cost[cell]
    if L.opens[L.start[0]] == WHOLE:
        # There is one listed cell, and its own column is open.
        bits, cost = 0, 0
    size, total, most, last = 0, 0, 0, np.int64(-1)
    for at in range(len(rows)):
        x = rows[at]
        size += int(keys[x] >> bits != last)
        last = keys[x] >> bits
        total += counts[x]
        most = max(most, best[x])
    if total < k or most <= cost:
        return len(rows)
    if (len(L.bits) == 1 and bits > 0) or stop[0]:
        for at in range(len(rows)):
            best[rows[at]] = min(best[rows[at]], cost)
        return -len(rows) - 1 if stop[0] else len(rows)
    # What does not fit counts too little, in silence: each depth of each column has a frame of its rows.
    room, span = 1000, 1
    for a in range(len(L.bits) - 1, int(bits > 0) - 1, -1):
        span = min(size, span * L.width[a])
        room += (L.depth[a] + 1) * span
    room = min(room, 3 * size + MORE_ROOM)
    K, N = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
    B, into = np.empty(room, dtype=np.int32), -1
    last = np.int64(-1)
    # Rows that agree in all later columns become one.
    for at in range(len(rows)):
        x = rows[at]
        if keys[x] >> bits != last:
            into += 1
            last = keys[x] >> bits
            K[into], N[into], B[into] = last, 0, 0
        N[into] = min(k, N[into] + counts[x])
        B[into] = max(B[into], best[x])
    looked = descend(L, K, N, B, size, int(bits > 0), cost, k, most_rows, stop)
    into = 0
    for at in range(len(rows)):
        x = rows[at]
        if keys[x] >> bits != K[into]:
            into += 1
        best[x] = min(best[x], B[into])
    return looked - len(rows) if looked < 0 else looked + len(rows)
