"""Compiled: split packed rows top-down, each node by what the counts of its values say of every split.

A node is a run of rows, a class a run that is split no further; what it publishes is not stored, since it follows from
its rows. A split of a taxonomy separates the most frequent children of the tightest node over the rows, of an interval
cuts it, of a set separates its most frequent values. Kinds are written out: 0 numbers, 1 trees, 2 sets.
"""

# ruff: noqa: PLR0917 - a compiled kernel takes its arrays one by one
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import inlined, kernel, part
from discreet.kanonymity.kernels.growing import holds
from discreet.kanonymity.kernels.sorting import sort_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.demand import Wanted
    from discreet.kanonymity.packed import RowLayout

TRIED, IN_TRIALS = 0, 1
"""Rows of `ranked` in :class:`Scratch`: the splits of a node that is split, and of nodes of a greedy run below it."""


class PackedTable(NamedTuple):
    """Packed rows, which splits move about, with their columns and demands.

    Row r is ``words[r]`` ``(words,)`` int64, in the layout of :class:`~discreet.kanonymity.packed.RowLayout`; `buffer`
    has the shape of `words` and is overwritten. ``bound[r]`` is 1 for the first row of each class, else 0.
    """

    columns: Arrays
    layout: RowLayout
    wanted: Wanted
    words: NDArray[np.int64]
    buffer: NDArray[np.int64]
    bound: NDArray[np.uint8]


class Rules(NamedTuple):
    """Least rows of a class, and how much is tried.

    Of a node of up to `trial_rows` rows the `trials` best splits are each tried with a greedy run, and the best of
    these is taken; of a larger node the best split is taken as it is.
    """

    k: int
    trials: int
    trial_rows: int
    unusable_nats: float = 0.3
    """Nats of a node that splits cannot use: classes have 1.3 k rows on average (Adult, k = 5 to 50)."""
    nats_offset: float = 0.1
    """Nats added to those that a split spends, so that a split that spends next to nothing has a finite score."""


VALUE, COUNT, BEGIN, END, ROWS, KEYS, SPARE, GROUP, AT, APART = range(10)
"""Rows of `lists` in :class:`Scratch`: values of a column, and the rows of each; then units of them."""


class Scratch(NamedTuple):
    """What one node needs; few arrays, since a call counts references to each. `tally` is 0 between uses."""

    tally: NDArray[np.int64]
    lists: NDArray[np.int64]
    cost: NDArray[np.float64]
    ranked: NDArray[np.int64]
    score: NDArray[np.float64]
    whole: NDArray[np.float64]
    members: NDArray[np.int64]


class SplitRoom(NamedTuple):
    """Room of one thread: ``numbers[0]`` nodes are on the stack, ``numbers[1]`` are put aside at its other end.

    The others are for greedy runs.
    """

    scratch: Scratch
    stack: NDArray[np.int64]
    below: NDArray[np.int64]
    ends: NDArray[np.int64]
    ends_ahead: NDArray[np.int64]
    numbers: NDArray[np.int64]


def room_for_rows(A: Arrays, W: Wanted, most: int, rules: Rules) -> SplitRoom:
    """Return working memory, with an empty stack, for nodes of at most `most` rows: linear in values and nodes."""
    m = len(A.kind)
    size = max(m, int(np.diff(A.start).max(initial=1))) + 4
    nodes = most // max(rules.k, 1) + 4
    scratch = Scratch(
        np.zeros(int(A.start[m]), np.int64),
        np.zeros((10, size), np.int64),
        np.empty(size),
        np.empty((2, 2, m + 1), np.int64),
        np.empty((2, m + 1)),
        np.zeros(1),
        np.empty(most if len(W.kind) else 1, np.int64),
    )
    return SplitRoom(
        scratch,
        np.empty((nodes, 2), np.int64),
        np.empty((min(most, max(rules.trial_rows, 1)) // max(rules.k, 1) + 4, 2), np.int64),
        np.empty(size + nodes, np.int64),
        np.empty(size + nodes, np.int64),
        np.zeros(2, np.int64),
    )


@inlined
def _usable(rows: int, U: Rules) -> float:
    """Nats of information about its rows that classes below a node can still publish."""
    return float(np.log(rows / U.k) - U.unusable_nats) if rows >= 2 * U.k else 0.0


@inlined
def _join_cost(
    peaks: NDArray[np.float64], bits: NDArray[np.int64], peak: int, values: int, lo: int, hi: int
) -> float:
    """Return the cost of the tightest node of a taxonomy over the codes from `lo` to `hi`, which differ; ``O(1)``.

    `peaks` from `peak` on is a sparse table, a level of `values` entries each; `bits` are logarithms by length.
    """
    level = bits[hi - lo]
    at = peak + level * values
    return float(max(peaks[at + lo], peaks[at + hi - (1 << level)]))


@inlined
def _present(T: PackedTable, lo: int, hi: int, a: int, S: Scratch) -> int:
    """List the values of column `a` in rows `lo` to ``hi - 1``, ascending, with their counts; return their number.

    Writes ``S.lists[VALUE]`` and ``S.lists[COUNT]``. ``O(s + values)`` for s rows, or a sort where there are more than
    ``2 s + 16`` values.
    """
    value, count, tally, spare = S.lists[VALUE], S.lists[COUNT], S.tally, S.lists[SPARE]
    size, first, P = hi - lo, T.columns.start[a], T.words
    values = T.columns.start[a + 1] - first
    word, shift, mask = T.layout.word[a], T.layout.shift[a], T.layout.mask[a]
    n = 0
    # A counter for each value takes less than sorting the values of the rows.
    if values <= 2 * size + 16:
        for r in range(lo, hi):
            tally[first + ((P[r, word] >> shift) & mask)] += 1
        for v in range(values):
            rows = tally[first + v]
            if rows > 0:
                value[n] = v
                count[n] = rows
                n += 1
                tally[first + v] = 0
    else:
        for r in range(lo, hi):
            spare[r - lo] = (P[r, word] >> shift) & mask
        sort_up(spare, size)
        for i in range(size):
            if n and value[n - 1] == spare[i]:
                count[n - 1] += 1
            else:
                value[n] = spare[i]
                count[n] = 1
                n += 1
    return n


@inlined
def _whole_cost(A: Arrays, a: int, n: int, S: Scratch) -> float:
    """What a cell that covers the n values listed costs."""
    cost, first = 0.0, A.start[a]
    if n >= 2:
        kind, place, value = A.kind[a], A.place, S.lists[VALUE]
        if kind == 2:
            cost = place[first + n - 1]
        elif kind == 0:
            cost = min(A.cap[a], place[first + value[n - 1]] - place[first + value[0]])
        else:
            values = A.start[a + 1] - first
            cost = _join_cost(A.peaks, A.bits, A.peak[a], values, value[0], value[n - 1])
    return cost


@inlined
def _units(A: Arrays, a: int, n: int, whole: float, S: Scratch) -> int:
    """Group the n listed values into what a split separates: values, or children of the tightest taxonomy node.

    Those of intervals stay in order, others stand with the most frequent first.
    """
    value, count, begin, end = S.lists[VALUE], S.lists[COUNT], S.lists[BEGIN], S.lists[END]
    rows, cost = S.lists[ROWS], S.cost
    keys, spare, at = S.lists[KEYS], S.lists[SPARE], S.lists[AT]
    kind, peaks, bits, peak = A.kind[a], A.peaks, A.bits, A.peak[a]
    values = A.start[a + 1] - A.start[a]
    # No literal, for which what takes it would be compiled once more.
    units, first, total = n - n, 0, 0
    for i in range(1, n + 1):
        total += count[i - 1]
        # Neighbors that only the tightest node joins are below different children.
        if (
            kind != 1
            or i == n
            or _join_cost(peaks, bits, peak, values, value[i - 1], value[i]) >= whole
        ):
            begin[units] = first
            end[units] = i
            rows[units] = total
            units += 1
            first, total = i, 0
    if kind != 0:
        for x in range(units):
            keys[x] = -(rows[x] << 32) + x
        sort_up(keys, units)
        for x in range(units):
            spare[x] = keys[x] & 0xFFFFFFFF
            rows[x] = -(keys[x] >> 32)
            at[x] = begin[spare[x]]
        for x in range(units):
            begin[x] = at[x]
            at[x] = end[spare[x]]
        for x in range(units):
            end[x] = at[x]
    for x in range(units):
        cost[x] = 0.0
        if end[x] - begin[x] > 1:
            cost[x] = _join_cost(peaks, bits, peak, values, value[begin[x]], value[end[x] - 1])
    return units


@inlined
def _best_cut(
    A: Arrays, a: int, units: int, whole: float, size: int, U: Rules, S: Scratch
) -> tuple[float, int]:
    """Find how many units of column a a split separates best, by gain for each nat spent.

    Gain and number, (0, 0) for none. `whole` is the cost per row of the node, `size` its rows; `S` has the
    units as :func:`_units` listed them. ``O(units)``.
    """
    rows, cost, value, place = S.lists[ROWS], S.cost, S.lists[VALUE], A.place
    kind, first, cap = A.kind[a], A.start[a], A.cap[a]
    k, best, at, before = U.k, 0.0, 0, _usable(size, U)
    left_rows, gain, spent = 0, 0.0, before
    for t in range(1, units + 1):
        unit_rows = rows[t - 1]
        left_rows += unit_rows
        rest = size - left_rows
        loss_drop, used = 0.0, 0.0
        if kind == 1:
            if unit_rows < k:
                break
            gain += unit_rows * (whole - cost[t - 1])
            spent -= unit_rows / size * _usable(unit_rows, U)
            loss_drop, used = gain, spent
            if rest >= k:
                used -= rest / size * _usable(rest, U)
            elif rest > 0:
                # Too few are left: they borrow rows of the most frequent child, which then cost what they do.
                lent = k - rest
                if rows[0] - lent < k:
                    continue
                loss_drop -= lent * (whole - cost[0])
                used += rows[0] / size * _usable(rows[0], U)
                used -= (rows[0] - lent) / size * _usable(rows[0] - lent, U)
        else:
            if left_rows < k:
                continue
            if rest < k:
                break
            if kind == 0:
                left = min(cap, place[first + value[t - 1]] - place[first + value[0]])
                right = min(cap, place[first + value[units - 1]] - place[first + value[t]])
            else:
                left, right = place[first + t - 1], place[first + units - t - 1]
            loss_drop = size * whole - left_rows * left - rest * right
            used = (
                before - left_rows / size * _usable(left_rows, U) - rest / size * _usable(rest, U)
            )
        if loss_drop <= 1e-9:
            continue
        score = loss_drop / size / (used + U.nats_offset)
        if score > best:
            best, at = score, t
    return best, at


@kernel
def rank_splits(T: PackedTable, lo: int, hi: int, U: Rules, most: int, S: Scratch, use: int) -> int:
    """List the best split of each column of the rows `lo` to ``hi - 1``, the best first, and return their number.

    At most `most` are counted; ``S.ranked[use, 0]`` are their columns, ``S.ranked[use, 1]`` how many units are
    separated, and ``S.whole[0]`` is what a row costs unsplit. A split that lowers the loss of s rows by D and spends u
    nats scores ``D / s / (u + U.nats_offset)``. ``O(s m)``, and a sort for a column of more values than rows.
    """
    size, n = hi - lo, 0
    scores, columns, cuts = S.score[use], S.ranked[use, 0], S.ranked[use, 1]
    A, total = T.columns, 0.0
    for a in range(len(A.kind)):
        values = _present(T, lo, hi, a, S)
        unsplit = _whole_cost(A, a, values, S)
        total += unsplit
        if size < 2 * U.k or unsplit <= 0.0:
            continue
        units = _units(A, a, values, unsplit, S)
        score, cut = _best_cut(A, a, units, unsplit, size, U, S)
        if cut == 0:
            continue
        y = n - 1
        while y >= 0 and scores[y] < score:
            scores[y + 1] = scores[y]
            columns[y + 1] = columns[y]
            cuts[y + 1] = cuts[y]
            y -= 1
        scores[y + 1] = score
        columns[y + 1] = a
        cuts[y + 1] = cut
        n += 1
    S.whole[0] = total
    return min(n, most)


@inlined
def _move(
    T: PackedTable,
    lo: int,
    hi: int,
    a: int,
    values: int,
    groups: int,
    S: Scratch,
    ends: NDArray[np.int64],
) -> None:
    """Sort rows `lo` to ``hi - 1`` stably by the group of their value; group q is then ``ends[q] : ends[q + 1]``.

    Linear in the rows.
    """
    group, value, count, at = S.lists[GROUP], S.lists[VALUE], S.lists[COUNT], S.lists[AT]
    for q in range(groups + 1):
        ends[q] = 0
    for i in range(values):
        ends[group[value[i]] + 1] += count[i]
    ends[0] = lo
    for q in range(groups):
        ends[q + 1] += ends[q]
        at[q] = ends[q]
    word, shift, mask = T.layout.word[a], T.layout.shift[a], T.layout.mask[a]
    P, buf = T.words, T.buffer
    words = P.shape[1]
    for r in range(lo, hi):
        q = group[(P[r, word] >> shift) & mask]
        to = at[q]
        at[q] = to + 1
        for w in range(words):
            buf[to, w] = P[r, w]
    for r in range(lo, hi):
        for w in range(words):
            P[r, w] = buf[r, w]


@part
def _holds(T: PackedTable, lo: int, hi: int, S: Scratch) -> bool:
    """Whether rows as a class meet the demands."""
    for r in range(lo, hi):
        S.members[r - lo] = T.words[r, 0] >> 32
    return bool(holds(T.wanted, S.members, hi - lo))


@part
def _cut_held(
    T: PackedTable,
    lo: int,
    hi: int,
    a: int,
    units: int,
    t: int,
    k: int,
    S: Scratch,
    ends: NDArray[np.int64],
) -> int:
    """Split rows `lo` to ``hi - 1`` by an interval or a set so that both sides meet the demands; return 2, or 0.

    The cut is after t of the units of column a, else near 1/2, 1/4 or 3/4 of the rows; ``ends[1]`` is the boundary.
    Rows are reordered even where no cut works. Four passes at most.
    """
    size = hi - lo
    group, value, begin, rows = S.lists[GROUP], S.lists[VALUE], S.lists[BEGIN], S.lists[ROWS]
    for trial in range(4):
        cut, left_rows = t, 0
        if trial:
            cut = 0
            goal = size * (2, 1, 3)[trial - 1] // 4
            while cut < units and left_rows < goal:
                left_rows += rows[cut]
                cut += 1
            if cut == t or left_rows < k or size - left_rows < k:
                continue
        for x in range(units):
            group[value[begin[x]]] = 0 if x < cut else 1
        _move(T, lo, hi, a, units, 2, S, ends)
        if _holds(T, lo, ends[1], S) and _holds(T, ends[1], hi, S):
            return 2
    return 0


@part
def _children_held(
    T: PackedTable,
    lo: int,
    hi: int,
    a: int,
    values: int,
    units: int,
    t: int,
    k: int,
    S: Scratch,
    ends: NDArray[np.int64],
) -> int:
    """Separate children that meet the demands; the others stay together, with so many more that they hold it too.

    Of the units of column a, the first t are tried. Returns the number of groups, whose rows begin at ``ends``, or 0. A
    pass over rows `lo` to ``hi - 1`` for each child that is put back.
    """
    group, value, begin, end = S.lists[GROUP], S.lists[VALUE], S.lists[BEGIN], S.lists[END]
    rows, apart = S.lists[ROWS], S.lists[APART]
    for x in range(units):
        apart[x] = 1 if x < t else 0
    while True:
        groups, rest_rows, last = 0, 0, -1
        for x in range(units):
            if apart[x]:
                last = x
            else:
                rest_rows += rows[x]
        if last < 0:
            return 0
        groups = 1 if rest_rows else 0
        for x in range(units):
            q = 0
            if apart[x]:
                q = groups
                groups += 1
            for i in range(begin[x], end[x]):
                group[value[i]] = q
        _move(T, lo, hi, a, values, groups, S, ends)
        changed, q = False, 1 if rest_rows else 0
        for x in range(units):
            if apart[x]:
                if not _holds(T, ends[q], ends[q + 1], S):
                    apart[x] = 0
                    changed = True
                q += 1
        if not changed and rest_rows and (rest_rows < k or not _holds(T, lo, ends[1], S)):
            apart[last] = 0
            changed = True
        if not changed:
            return groups if groups > 1 else 0


@kernel
def split_node(
    T: PackedTable,
    lo: int,
    hi: int,
    a: int,
    t: int,
    k: int,
    S: Scratch,
    ends: NDArray[np.int64],
) -> int:
    """Split the rows `lo` to ``hi - 1`` by t units of column a; return the number of groups, 0 if demands forbid it.

    Group q is then the rows ``ends[q]`` to ``ends[q + 1] - 1`` of the table, which is reordered; ``S`` is scratch.
    ``O(hi - lo)``, and more where demands are decided.
    """
    A, values = T.columns, _present(T, lo, hi, a, S)
    units = _units(A, a, values, _whole_cost(A, a, values, S), S)
    demanded = len(T.wanted.kind) > 0
    group, value, begin, end = S.lists[GROUP], S.lists[VALUE], S.lists[BEGIN], S.lists[END]
    rows = S.lists[ROWS]
    if A.kind[a] != 1:
        if demanded:
            return int(_cut_held(T, lo, hi, a, units, t, k, S, ends))
        for x in range(units):
            group[value[begin[x]]] = 0 if x < t else 1
        _move(T, lo, hi, a, values, 2, S, ends)
        return 2
    if demanded:
        return int(_children_held(T, lo, hi, a, values, units, t, k, S, ends))
    rest = 0
    for x in range(t, units):
        rest += rows[x]
    rest_groups = 1 if rest else 0
    for x in range(units):
        for i in range(begin[x], end[x]):
            group[value[i]] = rest_groups + x if x < t else 0
    _move(T, lo, hi, a, values, rest_groups + t, S, ends)
    if 0 < rest < k:
        # The most frequent child lies next to them.
        ends[1] = lo + k
    return rest_groups + t
