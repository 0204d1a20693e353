"""Compiled descent into the cells that k rows share, column after column, with the rows that lie in them.

Rows are packed: the atoms of the columns that are still open, the next one in the lowest bits. A frame holds the rows
of one cell in the present column and of fixed cells in those before it, sorted, equal ones as one. It goes on to the
cells inside its own, and then fixes its own: the column's bits are dropped, and rows that are now equal become one.
Costs are whole numbers, so that sums are exact.

The cells of the last column need not be listed: the narrowest interval, or the least set of values, that holds a row
and k rows follows from how many rows have each value. The last two may be sets, of which a table of counts tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import expanded, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Lattice", "descend", "descend_below", "packed"]

MORE_ROOM = 10_000_000
"""Rows of 24 bytes that a search has room for beyond three times its own, at most."""

FRAMES = 4096
"""Frames that are open at a time, at most: the depths of all columns together."""


LISTED, INTERVALS, SETS, PAIRS = range(4)
"""What the cells of the last column are: listed, all intervals, all sets, or all sets of the last two."""


class Lattice(NamedTuple):
    """The cells of all columns, those of column j from ``start[j]`` on, its widest first.

    ``inside[member[cell] + atom]`` says whether an atom is in a cell, `child` and `next` are the first cell inside one
    and the next inside the same, -1 for none; `cost` what it costs, and `least` what the cheapest inside it does.

    By `kind` the last column is listed like the others, or has all intervals, which cost no less than
    ``low[b] - high[a]`` from atom a to a later one b and ``sizes[0]`` at most, or all sets of values, of which s cost
    ``sizes[s - 1]``. Where the last two are such sets, s values cost ``low[s - 1]`` in the first, and
    ``high[s - 1]`` in the other.
    """

    start: NDArray[np.int64]
    bits: NDArray[np.int64]
    inside: NDArray[np.bool_]
    member: NDArray[np.int64]
    child: NDArray[np.int64]
    next: NDArray[np.int64]
    cost: NDArray[np.int64]
    least: NDArray[np.int64]
    kind: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    sizes: NDArray[np.int64]


@expanded
def _nested(  # noqa: PLR0917 - the arrays of one search
    table: NDArray[np.int64],
    n: int,
    m: int,
    step: int,
    skip: int,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    tops: NDArray[np.int64],
    sums: NDArray[np.int64],
    order: NDArray[np.int64],
    k: int,
    found: NDArray[np.int64],
) -> None:
    """Bound what two sets cost together, for each value v of the first that is among its values.

    At most so many rows lie in s values of the first and t of the other: those in the t most frequent values of the
    other, chosen anew for each of the s, added up for v and the others that have most. The sets that k rows share cost
    no less than the cheapest s and t for which these are k.
    """
    for v in range(n):
        found[v] = one[n - 1] + other[m - 1]
        for w in range(m):
            rows = table[v * step + w * skip]
            at = w
            while at > 0 and tops[v * m + at - 1] < rows:
                tops[v * m + at] = tops[v * m + at - 1]
                at -= 1
            tops[v * m + at] = rows
        for w in range(1, m):
            tops[v * m + w] += tops[v * m + w - 1]
    for v in range(n):
        order[v] = v
    for w in range(m):
        for v in range(1, n):
            here, at = order[v], v
            while at > 0 and tops[order[at - 1] * m + w] < tops[here * m + w]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = here
        total = 0
        for at in range(n):
            total += tops[order[at] * m + w]
            sums[at] = total
        if total < k:
            continue
        for rank in range(n):
            v = order[rank]
            mine = tops[v * m + w]
            if mine == 0:
                break
            if mine >= k:
                found[v] = min(found[v], other[w])
                continue
            for s in range(1, n):
                if other[w] + one[s] >= found[v]:
                    break
                if (sums[s] if rank <= s else sums[s - 1] + mine) >= k:
                    found[v] = other[w] + one[s]
                    break


@expanded
def _intervals(  # noqa: PLR0917 - the arrays of one search
    L: Lattice,
    K: NDArray[np.int64],
    N: NDArray[np.int32],
    B: NDArray[np.int64],
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
    shift, whole = end - begin, L.sizes[-1]
    stop, total = begin, int(N[begin])
    windows = begin
    for i in range(begin, end):
        while total < k and stop + 1 < end:
            stop += 1
            total += N[stop]
        if total < k:
            break
        K[i + shift] = stop
        B[i + shift] = min(whole, max(0, L.low[K[stop]] - L.high[K[i]])) if stop > i else 0
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
        found = whole
        if head < tail:
            found = min(found, B[into[head] + shift])
        if first > begin:
            found = min(found, max(0, L.low[K[a]] - L.high[K[first - 1]]))
        B[a] = min(B[a], cost + found)


@expanded
def _sets(  # noqa: PLR0917 - the arrays of one search
    L: Lattice,
    N: NDArray[np.int32],
    B: NDArray[np.int64],
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
    """Write the atoms of a column into the packed rows."""
    for i in range(len(keys)):
        keys[i] |= atoms[codes[i]] << shift


@kernel
def descend(  # noqa: PLR0917 - one loop whose state is the stack
    L: Lattice,
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    best: NDArray[np.int64],
    column: int,
    paid: int,
    k: int,
    room: int,
    most_rows: int,
    stop: NDArray[np.bool_],
) -> int:
    """Lower ``best[i]`` to what the cheapest cells cost that hold row i and k rows, where that is less.

    Columns before `column` are fixed, at a cost of `paid`. What does not fit into `room` rows counts as if it cost no
    more than what is fixed by then, which is less than it does.

    Returns
    -------
    int
        How many rows were looked at, below 0 where not all was. ``stop[0]`` ends it before, or `most_rows` looked at;
        what was not looked at by then counts as in the sentence above, so that ``best[i]`` is no more than it would be.
    """
    n, last = len(keys), len(L.bits) - 1
    K = np.empty(room, dtype=np.int64)
    N = np.empty(room, dtype=np.int32)
    B = np.empty(room, dtype=np.int64)
    into = np.empty(room, dtype=np.int32)
    K[:n] = keys
    N[:n] = counts
    B[:n] = best
    n1, m = len(L.low), len(L.high)
    pairs = n1 * m if L.kind == PAIRS else 0
    table, tops = np.zeros(pairs, dtype=np.int64), np.zeros(pairs, dtype=np.int64)
    sums, order = np.zeros(n1 + m, dtype=np.int64), np.zeros(n1 + m, dtype=np.int64)
    first, second = np.zeros(n1, dtype=np.int64), np.zeros(m, dtype=np.int64)
    leaf = last - 1 if L.kind == PAIRS else last
    f = np.empty((FRAMES, 6), dtype=np.int64)
    d = 0
    f[0, 0], f[0, 1], f[0, 2], f[0, 3], f[0, 4] = column, L.start[column], 0, n, paid
    f[0, 5] = -3 if L.kind and column == leaf else L.child[L.start[column]]
    looks, looked, cut = 0, 0, False
    while d >= 0:
        looks += 1
        if looks % 64 == 0 and (stop[0] or looked > most_rows):
            # Frames that are open are left from here on, without looking further down.
            cut = True
        a, cell, begin, end, cost = f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4]
        inner = f[d, 5]
        looked += end - begin
        if inner == -3:
            f[d, 5] = -2
            if cut or end + (end - begin) > room:
                for x in range(begin, end):
                    B[x] = min(B[x], cost)
            elif L.kind == INTERVALS:
                _intervals(L, K, N, B, into, begin, end, cost, k)
            elif L.kind == PAIRS:
                bits = L.bits[last - 1]
                for x in range(begin, end):
                    table[(K[x] & ((1 << bits) - 1)) * m + (K[x] >> bits)] = N[x]
                _nested(table, n1, m, m, 1, L.low, L.high, tops, sums, order, k, first)
                _nested(table, m, n1, 1, m, L.high, L.low, tops, sums, order, k, second)
                for x in range(begin, end):
                    v, w = K[x] & ((1 << bits) - 1), K[x] >> bits
                    table[v * m + w] = 0
                    B[x] = min(B[x], cost + max(first[v], second[w]))
            else:
                _sets(L, N, B, into, begin, end, cost, k)
        elif inner >= 0:
            f[d, 5] = L.next[inner]
            least = cost + L.least[inner]
            mask = (1 << L.bits[a]) - 1
            base = L.member[inner]
            total, most = 0, 0
            for x in range(begin, end):
                if L.inside[base + (K[x] & mask)]:
                    total += N[x]
                    most = max(most, B[x])
            if total < k or most <= least:
                continue
            if cut or end + (end - begin) > room:
                for x in range(begin, end):
                    if L.inside[base + (K[x] & mask)]:
                        B[x] = min(B[x], least)
                continue
            at = end
            for x in range(begin, end):
                # Written in any case and kept where it is inside, which spares a jump.
                K[at], N[at], B[at], into[at] = K[x], N[x], B[x], x
                at += L.inside[base + (K[x] & mask)]
            d += 1
            f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4] = a, inner, end, at, cost
            f[d, 5] = L.child[inner]
        elif inner == -1:
            f[d, 5] = -2
            cost += L.cost[cell]
            most = 0
            for x in range(begin, end):
                most = max(most, B[x])
            if most <= cost:
                continue
            if cut or a == last or end + (end - begin) > room:
                for x in range(begin, end):
                    B[x] = min(B[x], cost)
                continue
            at = end - 1
            key = np.int64(-1)
            for x in range(begin, end):
                rest = K[x] >> L.bits[a]
                if rest != key:
                    at += 1
                    key = rest
                    K[at], N[at], B[at] = rest, 0, 0
                N[at] = min(k, N[at] + N[x])
                B[at] = max(B[at], B[x])
            d += 1
            root = L.start[a + 1]
            f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4] = a + 1, root, end, at + 1, cost
            f[d, 5] = -3 if L.kind and a + 1 == leaf else L.child[root]
        else:
            d -= 1
            if d < 0:
                break
            if f[d, 0] == a:
                for x in range(begin, end):
                    B[into[x]] = min(B[into[x]], B[x])
            else:
                # Rows that became one stand in the order of what they became.
                at = begin
                for x in range(f[d, 2], f[d, 3]):
                    if K[x] >> L.bits[f[d, 0]] != K[at]:
                        at += 1
                    B[x] = min(B[x], B[at])
    best[:] = B[:n]
    return -looked - 1 if cut else looked


@kernel
def descend_below(  # noqa: PLR0917 - as above
    L: Lattice,
    keys: NDArray[np.int64],
    counts: NDArray[np.int32],
    best: NDArray[np.int64],
    cell: int,
    k: int,
    most_rows: int,
    stop: NDArray[np.bool_],
) -> int:
    """Do what :func:`descend` does, for one cell of the first column alone, and write to the rows in it alone.

    Cells that share no row can be searched at the same time.
    """
    bits, base, cost = L.bits[0], L.member[cell], L.cost[cell]
    mask = (1 << bits) - 1
    if len(L.bits) - (L.kind == PAIRS) == 1 and L.kind != LISTED:
        return descend(L, keys, counts, best, 0, 0, k, 2 * len(keys), most_rows, stop)
    size, total, most, last = 0, 0, 0, np.int64(-1)
    for x in range(len(keys)):
        if L.inside[base + (keys[x] & mask)]:
            size += int(keys[x] >> bits != last)
            last = keys[x] >> bits
            total += counts[x]
            most = max(most, best[x])
    if total < k or most <= cost:
        return len(keys)
    # Rows that agree in all later columns become one.
    K, N = np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.int32)
    B, at = np.zeros(size, dtype=np.int64), -1
    last = np.int64(-1)
    for x in range(len(keys)):
        if L.inside[base + (keys[x] & mask)]:
            if keys[x] >> bits != last:
                at += 1
                last = keys[x] >> bits
                K[at] = last
            N[at] = min(k, N[at] + counts[x])
            B[at] = max(B[at], best[x])
    looked = 0
    if len(L.bits) == 1 or stop[0]:
        for at in range(size):
            B[at] = min(B[at], cost)
        looked = -1 if len(L.bits) > 1 else 0
    else:
        # What does not fit counts too little, in silence: each column has frames of its rows, one within the other.
        room, cells = 100_000, 1
        for a in range(len(L.bits) - 1, 0, -1):
            # Rows that differ in the columns from here on are no more than their cells.
            cells = min(size, cells * (1 << L.bits[a]))
            room += 3 * cells
        room = min(room, 3 * size + MORE_ROOM)
        looked = descend(L, K, N, B, 1, cost, k, room, most_rows, stop)
    at = 0
    for x in range(len(keys)):
        if L.inside[base + (keys[x] & mask)]:
            if keys[x] >> bits != K[at]:
                at += 1
            best[x] = min(best[x], B[at])
    return looked - len(keys) if looked < 0 else looked + len(keys)
