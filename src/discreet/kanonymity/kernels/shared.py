"""Compiled descent into the cells that k rows share, column after column, with the rows that lie in them.

Rows are packed: the atoms of the columns that are still open, the next one in the lowest bits. A frame holds the rows
of one cell in the present column and of fixed cells in those before it, sorted, equal ones as one. It goes on to the
cells inside its own, and then fixes its own: the column's bits are dropped, and rows that are now equal become one.
Costs are whole numbers, so that sums are exact.

The cells of the last column need not be listed if it is numeric: the narrowest interval that holds a row and k rows
follows from how many rows have each value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import expanded, inlined, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIXED, CLOSED, WHOLE = range(-1, -4, -1)
"""What is done next with a frame, if not a cell inside it: its own cell is fixed; nothing; all intervals of the
last column."""


class Lattice(NamedTuple):
    """The cells of all columns, those of column j from ``start[j]`` on, its widest first.

    ``inside[member[cell] + atom]`` says whether an atom is in a cell, `child` and `next` are the first cell inside one
    and the next inside the same, -1 for none. ``opens[cell]`` is what is done first with a frame of a cell, and `cost`
    what it costs. `width` and `depth` are the atoms of each column and how often its cells lie in one another.

    The last column is listed like the others, or has all intervals, which cost no less than ``low[b] - high[a]`` from
    atom a to a later one b and `widest` at most.
    """

    start: NDArray[np.int64]
    bits: NDArray[np.int64]
    inside: NDArray[np.bool_]
    member: NDArray[np.int64]
    child: NDArray[np.int64]
    next: NDArray[np.int64]
    opens: NDArray[np.int64]
    cost: NDArray[np.int64]
    width: NDArray[np.int64]
    depth: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    widest: int


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
    """Lower B for entries `begin` to ``end - 1`` to the narrowest interval around each that k rows share, plus `cost`.

    Entry i stands for ``N[i]`` rows with the atom ``K[i]`` of the last column, ascending; ``B[i]`` is the least cost
    found for them yet, `cost` what the fixed cells of the other columns cost, in whole numbers. An interval costs as
    in :class:`Lattice`. K and B from `end` to ``2 end - begin`` and `into` from `end` on are overwritten.

    Of the shortest runs of k rows, whose ends rise together, those around an entry are neighbors, and a queue keeps
    the narrowest of them; else an interval ends at the entry, and begins where the last run before it does. Linear.
    """
    shift, widest = end - begin, L.widest
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


@inlined
def _without_column(  # noqa: PLR0917 - the arrays of one search
    K: NDArray[np.int64],
    N: NDArray[np.int32],
    B: NDArray[np.int32],
    begin: int,
    end: int,
    bits: int,
    k: int,
) -> tuple[int, int]:
    """Write rows `begin` to ``end - 1`` behind `end` without the lowest `bits`, equal ones as one; linear.

    K, N and B are packed rows, their numbers (k at most) and bounds, of which the largest is kept. Returns the last
    place and the largest bound.
    """
    at, key, most = end - 1, np.int64(-1), 0
    for x in range(begin, end):
        rest = K[x] >> bits
        if rest != key:
            at += 1
            key = rest
            K[at], N[at], B[at] = rest, 0, 0
        N[at] = min(k, N[at] + N[x])
        B[at] = max(B[at], B[x])
        most = max(most, B[at])
    return at, most


@inlined
def _lower_costs(B: NDArray[np.int32], begin: int, end: int, cost: int) -> None:
    """Lower ``B[begin:end]`` to `cost` where it is more."""
    for x in range(begin, end):
        B[x] = min(B[x], cost)


@kernel
def packed(
    keys: NDArray[np.int64], codes: NDArray[np.int32], atoms: NDArray[np.int64], shift: int
) -> None:
    """Write the atoms of a column into the packed rows ``(n,)`` int64, from bit `shift` on. ``O(n)``.

    `codes` is ``(n,)``, `atoms` by code.
    """
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
    """Write the places of packed rows into the run of their first atom's group, from ``at[group]`` on; -1 is left out.

    ``keys`` is ``(rows,)``, with the atom below ``mask``; ``group`` has the group of each atom. ``at`` is changed.
    Linear.

    `order` ``(rows,)`` gets the places.
    """
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
    at least, is room to work in. Columns before `column` are fixed, at a cost of `paid`. Boxes that do not fit into the
    room count with the cost of the cells that are fixed by then, which is a lower bound.

    Returns the number of rows that were looked at, below 0 if ``stop[0]`` or `most_rows` cut the search short: what was
    not looked at by then counts as in the sentence above.
    """
    room, last = len(K) - 1, len(L.bits) - 1
    into = np.empty(room + 1, dtype=np.int32)
    f = np.empty((len(L.cost) + len(L.bits) + 2, 7), dtype=np.int64)
    d = 0
    f[0, 0], f[0, 1], f[0, 2], f[0, 3], f[0, 4] = column, L.start[column], 0, n, paid
    f[0, 5], f[0, 6] = L.opens[L.start[column]], 1
    steps, looked, cut = 0, 0, False
    while d >= 0:
        steps += 1
        if steps % 64 == 0 and (stop[0] or looked > most_rows):
            cut = True
        a, cell, begin, end, cost = f[d, 0], f[d, 1], f[d, 2], f[d, 3], f[d, 4]
        inner = f[d, 5]
        looked += end - begin
        if inner == WHOLE:
            f[d, 5] = CLOSED
            if cut or end + (end - begin) > room:
                _lower_costs(B, begin, end, cost)
            else:
                _intervals(L, K, N, B, into, begin, end, cost, k)
        elif inner >= 0:
            f[d, 5] = L.next[inner]
            mask, base = (1 << L.bits[a]) - 1, L.member[inner]
            rows, most = 0, 0
            for x in range(begin, end):
                if L.inside[base + (K[x] & mask)]:
                    rows += N[x]
                    most = max(most, B[x])
            if rows < k or most <= cost:
                continue
            if cut or end + (end - begin) > room:
                for x in range(begin, end):
                    if L.inside[base + (K[x] & mask)]:
                        B[x] = min(B[x], cost)
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
                _lower_costs(B, begin, end, cost)
                continue
            at, most = _without_column(K, N, B, begin, end, L.bits[a], k)
            root = L.start[a + 1]
            if most <= cost:
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
    max_extra_rows: int,
    stop: NDArray[np.bool_],
) -> int:
    """Do what :func:`descend` does for one cell of the first column alone: for the rows in it, in their order.

    ``keys``, ``counts`` and ``best`` are packed rows, their numbers and bounds; only ``best`` of the places ``rows`` is
    lowered. Cells that share no row can be searched at the same time. There is room for three times as many rows as are
    searched, and for `max_extra_rows` more, at most.

    Returns as :func:`descend`. `keys`, `counts` and `best` are ``(packed rows,)``, `rows` indices into them, `stop`
    ``(1,)``.
    """
    bits, cost = L.bits[0], L.cost[cell]
    if L.opens[L.start[0]] == WHOLE:
        # There is one listed cell, and its own column is open.
        bits, cost = 0, 0
    size, total, most, last = int(np.int64(0)), 0, 0, np.int64(-1)
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
    room = min(room, 3 * size + max_extra_rows)
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
