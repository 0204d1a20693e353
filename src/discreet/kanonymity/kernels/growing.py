"""Compiled: whether a class meets the demands; classes grown, and rows exchanged, so that each does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel, part
from discreet.kanonymity.kernels.boxes import span
from discreet.kanonymity.kernels.rebuild import below, part_costs
from discreet.kanonymity.kernels.sorting import sort_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.demand import Wanted


@kernel
def holds(W: Wanted, rows: NDArray[np.int64], n: int) -> bool:
    """Return whether ``rows[:n]`` int64 as a class meet all demands; entropies by a margin, all else in integers.

    ``O(n)`` for each demand, and for closeness the number of values of the table.
    """
    for q in range(len(W.kind)):
        met, present = 0, 0
        for i in range(n):
            value = W.codes[q, rows[i]]
            if value == W.missing[q]:
                continue
            present += 1
            if W.tally[value] == 0:
                W.seen[met] = value
                met += 1
            W.tally[value] += 1
        kind = W.kind[q]
        good, table_rows = True, 0
        if kind >= 4:
            for value in range(W.whole.shape[1]):
                table_rows += W.whole[q, value]
        if kind == 0:
            good = max(met, 1) >= W.least[q]
        elif present == 0:
            # A class of missing values is judged where they count as a value.
            good = True
        elif kind == 1:
            entropy = 0.0
            for t in range(met):
                share = W.tally[W.seen[t]] / present
                entropy -= share * np.log(share)
            good = entropy >= W.level[q]
        elif kind == 2:
            falling = np.empty(met, dtype=np.int64)
            for t in range(met):
                falling[t] = -W.tally[W.seen[t]]
            sort_up(falling, met)
            tail = 0
            for t in range(W.least[q] - 1, met):
                tail -= falling[t]
            good = -falling[0] * W.b[q] < W.a[q] * tail
        elif kind == 4:
            # Values that are not met are as far as the table has of them.
            moved = present * table_rows
            for t in range(met):
                value = W.seen[t]
                scaled = present * W.whole[q, value]
                moved += abs(W.tally[value] * table_rows - scaled) - scaled
            good = moved * W.b[q] <= W.a[q] * W.least[q] * present * table_rows
        elif kind == 5:
            moved, carried = 0, 0
            for value in range(W.whole.shape[1]):
                carried += W.tally[value] * table_rows - present * W.whole[q, value]
                moved += abs(carried)
            good = moved * W.b[q] <= W.a[q] * W.least[q] * present * table_rows
        else:
            for t in range(met):
                if W.tally[W.seen[t]] * W.b[q] > W.a[q] * present:
                    good = False
        for t in range(met):
            W.tally[W.seen[t]] = 0
        if not good:
            return False
    return True


@part
def _wider(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    code: NDArray[np.int64],
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    marks: NDArray[np.bool_],
    count: NDArray[np.int64],
) -> float:
    """Return the cost of a row of a box once a row with these codes is added, in ``O(columns)``.

    All but ``marks`` ``(values,)`` are ``(columns,)``: codes, ends, and the number of values of a set.

    `marks` tells which values of sets the box has; -1 for none.
    """
    cost = 0.0
    for a in range(len(A.kind)):
        if A.kind[a] == 2:
            more = 0 if marks[A.start[a] + code[a]] else 1
            cost += A.place[A.start[a] + count[a] + more - 1]
        else:
            cost += span(A, a, min(lo[a], code[a]), max(hi[a], code[a]))
    return cost


@part
def grow_diverse(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    W: Wanted,
    codes: NDArray[np.int64],
    union: NDArray[np.int64],
    n: int,
    k: int,
    part: NDArray[np.int64],
    draw: NDArray[np.int64],
) -> int:
    """Grow classes from rows at random until each has k rows and meets the demands; return their number, 0 for none.

    Row i of the union is row ``union[i]`` of the table, with the codes ``codes[i]``; ``part[i]`` becomes its class.
    ``O(n^2 m)``.

    Once a class has k rows, or as few places left as the first demand needs values, only rows of values that it has
    least of are added. What is left when no further class can be grown joins the classes that it widens least.
    """
    m = len(A.kind)
    left, mine = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(n):
        j = below(draw, i + 1)
        left[i] = left[j]
        left[j] = i
    rows = np.empty(n, dtype=np.int64)
    tally = np.zeros(len(W.tally), dtype=np.int64)
    most_classes = n // max(k, 1) + 1
    lo, hi = np.empty((most_classes, m), np.int64), np.empty((most_classes, m), np.int64)
    count = np.zeros((most_classes, m), dtype=np.int64)
    marks = np.zeros((len(lo), A.start[m]), dtype=np.bool_)
    size = np.zeros(len(lo), dtype=np.int64)
    n_left, label = n, 0
    while n_left >= k and label < len(lo):
        n_mine, met = int(np.int64(0)), int(np.int64(0))
        while True:
            if n_left == 0 or (n_mine >= k and holds(W, rows, n_mine)):
                break
            missing = W.least[0] - met if W.kind[0] == 0 else 0
            rare = n_mine >= k or (n_mine > 0 and missing >= k - n_mine)
            best, place, fewest = np.inf, -1, n + 1
            if rare:
                for t in range(n_left):
                    fewest = min(fewest, tally[W.codes[0, union[left[t]]]])
            for t in range(n_left):
                if rare and tally[W.codes[0, union[left[t]]]] > fewest:
                    continue
                if n_mine == 0:
                    place = t
                    break
                cost = _wider(A, codes[left[t]], lo[label], hi[label], marks[label], count[label])
                if cost < best:
                    best, place = cost, t
            i = left[place]
            n_left -= 1
            left[place] = left[n_left]
            row = union[i]
            value = W.codes[0, row]
            if tally[value] == 0:
                met += 1
            tally[value] += 1
            for a in range(m):
                code = codes[i, a]
                if n_mine == 0:
                    lo[label, a], hi[label, a] = code, code
                lo[label, a], hi[label, a] = min(lo[label, a], code), max(hi[label, a], code)
                if A.kind[a] == 2 and not marks[label, A.start[a] + code]:
                    marks[label, A.start[a] + code] = True
                    count[label, a] += 1
            mine[n_mine], rows[n_mine] = i, row
            n_mine += 1
        for t in range(n_mine):
            tally[W.codes[0, rows[t]]] = 0
        if n_mine < k or not holds(W, rows, n_mine):
            # The last one failed: its rows are left over.
            for t in range(n_mine):
                left[n_left] = mine[t]
                n_left += 1
            marks[label] = False
            break
        for t in range(n_mine):
            part[mine[t]] = label
        size[label] = n_mine
        label += 1
    if label == 0:
        return 0
    for t in range(n_left):
        best, chosen = np.inf, 0
        for c in range(label):
            now = _wider(A, codes[left[t]], lo[c], hi[c], marks[c], count[c])
            if now < best:
                best, chosen = now, c
        part[left[t]] = chosen
        for a in range(m):
            code = codes[left[t], a]
            lo[chosen, a], hi[chosen, a] = min(lo[chosen, a], code), max(hi[chosen, a], code)
            if A.kind[a] == 2 and not marks[chosen, A.start[a] + code]:
                marks[chosen, A.start[a] + code] = True
                count[chosen, a] += 1
    return label


@part
def part_holds(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    W: Wanted,
    union: NDArray[np.int64],
    n: int,
    part: NDArray[np.int64],
    c: int,
    k: int,
    rows: NDArray[np.int64],
) -> bool:
    """Return whether part c of the n rows of a union is empty, or has k rows and meets the demands.

    ``rows`` ``(n,)`` is scratch. The cost is that of :func:`holds`.
    """
    count = int(np.int64(0))
    for i in range(n):
        if part[i] == c:
            rows[count] = union[i]
            count += 1
    return count == 0 or (count >= k and holds(W, rows, count))


@part
def exchange(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    W: Wanted,
    codes: NDArray[np.int64],
    union: NDArray[np.int64],
    n: int,
    k: int,
    part: NDArray[np.int64],
    draw: NDArray[np.int64],
    tries: int,
) -> None:
    """Move rows, or swap two, at random, where both parts still meet the demands and lose less.

    ``codes`` is ``(n, columns)``; ``union`` and ``part`` ``(n,)`` are the rows and, in place, their parts. Each of
    `tries` tries costs ``O(n columns)`` and a test of the demands.

    `draw` ``(1,)`` is the state of the random numbers.
    """
    rows = np.empty(n, dtype=np.int64)
    two, sides = np.empty((n, codes.shape[1]), dtype=np.int64), np.empty(n, dtype=np.int64)
    two_sides = int(np.int64(2))
    for _ in range(tries):
        i, j = below(draw, n), below(draw, n)
        c, d = part[i], part[j]
        if c == d:
            continue
        swap = below(draw, two_sides) == 0
        count = int(np.int64(0))
        for t in range(n):
            if part[t] == c or part[t] == d:
                np.positive(codes[t], two[count])
                sides[count] = 0 if part[t] == c else 1
                count += 1
        before = part_costs(A, two, count, sides, two_sides).sum()
        part[i] = d
        if swap:
            part[j] = c
        count = int(np.int64(0))
        nonempty = False
        for t in range(n):
            if part[t] == c or part[t] == d:
                np.positive(codes[t], two[count])
                sides[count] = 0 if part[t] == c else 1
                nonempty = nonempty or part[t] == c
                count += 1
        good = False
        # What is emptied is gone; its rows are held by the other.
        if nonempty and part_costs(A, two, count, sides, two_sides).sum() < before - 1e-12:
            good = part_holds(W, union, n, part, c, k, rows) and part_holds(
                W, union, n, part, d, k, rows
            )
        if not good:
            part[i] = c
            if swap:
                part[j] = d
