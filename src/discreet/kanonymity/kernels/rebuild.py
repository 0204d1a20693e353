"""Compiled: grow classes among a few hundred rows from random seeds, then move and swap rows between them.

Row i of the union has the codes ``codes[i]`` ``(m,)`` int64, which are copied together once, and its class is
``part[i]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import part
from discreet.kanonymity.kernels.boxes import extend, pair_cost, span
from discreet.kanonymity.kernels.runs import Cuts, cut_rows
from discreet.kanonymity.kernels.sorting import sort_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays


@part
def below(draw: NDArray[np.int64], n: int) -> int:
    """Draw a number below n by Lehmer's generator, whose state is ``draw[0]``, in place.

    It decides where the search looks, and nothing private.
    """
    draw[0] = draw[0] * 48271 % 2147483647
    return int(draw[0] % n)


@part
def part_costs(
    A: Arrays,
    codes: NDArray[np.int64],
    n: int,
    part: NDArray[np.int64],
    n_parts: int,
) -> NDArray[np.float64]:
    """Return the cost of each part of the first n rows, ``(n_parts,)``: its rows times the sum of its cells.

    ``codes`` is ``(rows, m)``, ``part`` the part of each row. ``O(n m)``.
    """
    m = len(A.kind)
    size = np.zeros(n_parts, dtype=np.int64)
    width = np.zeros(n_parts)
    lo, hi = np.empty(n_parts, dtype=np.int64), np.empty(n_parts, dtype=np.int64)
    for i in range(n):
        size[part[i]] += 1
    for a in range(m):
        if A.kind[a] == 2:
            n_values = A.start[a + 1] - A.start[a]
            seen = np.zeros((n_parts, n_values), dtype=np.bool_)
            hi[:] = -1
            for i in range(n):
                code = codes[i, a]
                if not seen[part[i], code]:
                    seen[part[i], code] = True
                    hi[part[i]] += 1
            for c in range(n_parts):
                width[c] += A.place[A.start[a] + hi[c]]
            continue
        lo[:], hi[:] = A.start[a + 1], -1
        for i in range(n):
            code = codes[i, a]
            lo[part[i]] = min(lo[part[i]], code)
            hi[part[i]] = max(hi[part[i]], code)
        for c in range(n_parts):
            width[c] += span(A, a, lo[c], hi[c])
    return size * width


@part
def regrow(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    codes: NDArray[np.int64],
    n: int,
    k: int,
    part: NDArray[np.int64],
    draw: NDArray[np.int64],
    wider: NDArray[np.float64],
    marks: NDArray[np.bool_],
) -> int:
    """Grow ``n // k`` classes among n rows, each from a row at random or far from the last; return ``n // k``.

    The last class takes what is left; `part` ``(n,)`` int64 becomes the class of each row. Ties are broken by a random
    order. ``O(n^2 m)``.

    `codes` is ``(n, m)``; `wider` and `marks` ``(values,)`` are working memory, `draw` ``(1,)`` the state of the
    random numbers.
    """
    m = len(A.kind)
    left = np.empty(n, dtype=np.int64)
    for i in range(n):
        j = below(draw, i + 1)
        left[i] = left[j]
        left[j] = i
    n_left = n
    n_parts = n // k
    far = below(draw, int(np.int64(2))) == 0
    last = left[n - 1]
    lo, hi, count = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    # A column of very many values is not tabled for each box: the table would cost more than the looks.
    tabled = np.empty(m, dtype=np.bool_)
    for a in range(m):
        tabled[a] = A.kind[a] == 2 or A.start[a + 1] - A.start[a] <= 2 * n
    for label in range(n_parts - 1):
        place = n_left - 1
        if far:
            farthest = -1.0
            for t in range(n_left):
                apart = pair_cost(A, codes[left[t]], codes[last], np.inf)
                if apart > farthest:
                    farthest, place = apart, t
        for step in range(k):
            if step > 0:
                best = np.inf
                for t in range(n_left):
                    cost = 0.0
                    for a in range(m):
                        code = codes[left[t], a]
                        if tabled[a]:
                            cost += wider[A.start[a] + code]
                        else:
                            cost += span(A, a, min(lo[a], code), max(hi[a], code))
                        if cost >= best:
                            break
                    if cost < best:
                        best, place = cost, t
            i = left[place]
            last = i
            part[i] = label
            n_left -= 1
            left[place] = left[n_left]
            for a in range(m):
                code = codes[i, a]
                changed = step == 0
                if step == 0:
                    lo[a], hi[a], count[a] = code, code, 0
                if code < lo[a]:
                    lo[a], changed = code, True
                if code > hi[a]:
                    hi[a], changed = code, True
                if A.kind[a] == 2:
                    changed = not marks[A.start[a] + code]
                    if changed:
                        marks[A.start[a] + code] = True
                        count[a] += 1
                if changed and tabled[a]:
                    extend(A, a, lo[a], hi[a], count[a], marks, wider)
        for a in range(m):
            if A.kind[a] == 2:
                marks[A.start[a] : A.start[a + 1]] = False
    for t in range(n_left):
        part[left[t]] = n_parts - 1
    return n_parts


@part
def recut(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    codes: NDArray[np.int64],
    n: int,
    k: int,
    part: NDArray[np.int64],
    draw: NDArray[np.int64],
) -> int:
    """Partition the rows into runs of a random order at the least cost; return the number of classes.

    ``part`` ``(n,)`` becomes the class of each row of ``codes`` ``(n, m)``. The order is by columns in a random
    sequence, to and fro, or by a random direction through all of them; the cuts are those of
    :func:`~discreet.kanonymity.kernels.runs.cut_rows`. ``O(n (log n + k) m)``.

    `draw` ``(1,)`` is the state of the random numbers.
    """
    m = len(A.kind)
    key, least = np.empty(n, dtype=np.float64), np.empty(n + 1, dtype=np.float64)
    order, spare = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    columns = np.empty(m, dtype=np.int64)
    two, thousand = int(np.int64(2)), int(np.int64(1000))
    for i in range(n):
        key[i], order[i] = 0.0, i
    for a in range(m):
        t = below(draw, a + 1)
        columns[a] = columns[t]
        columns[t] = a
    slanted = below(draw, two) == 0
    for t in range(m - 1, -1, -1):
        a = columns[t]
        most = A.start[a + 1] - A.start[a] - 1
        weight = (1.0 + below(draw, thousand)) / 1000 / max(most, 1)
        weight *= A.cap[a] if below(draw, two) == 0 else -A.cap[a]
        for i in range(n):
            row = order[i]
            code = codes[row, a]
            if slanted:
                key[row] += weight * code
            else:
                back = t > 0 and codes[row, columns[t - 1]] % 2 == 1
                key[row] = most - code if back else code
        if not slanted or t == 0:
            sort_by(key, order, spare)
    origin, stamp = np.empty(n + 1, dtype=np.int64), np.empty(A.start[m], dtype=np.int64)
    for i in range(n):
        least[i + 1] = np.inf
    for at in range(A.start[m]):
        stamp[at] = -1
    least[0], origin[0] = 0.0, 0
    cut_rows(A, codes, Cuts(order, least, origin, stamp), k, k, n + 1)
    classes, stop = 0, n
    while stop > 0:
        classes += 1
        stop = origin[stop]
    label, stop = classes, n
    while stop > 0:
        label -= 1
        for i in range(origin[stop], stop):
            part[order[i]] = label
        stop = origin[stop]
    return classes


@part
def _summarize(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    codes: NDArray[np.int64],
    n: int,
    part: NDArray[np.int64],
    c: int,
    ends: NDArray[np.int64],
    tally: NDArray[np.int64],
) -> None:
    """Write two least and two greatest codes of part c in each column, and how often each value of a set occurs.

    ``ends`` is ``(parts, m, 4)``, with the number of values of a set first; ``tally`` is ``(parts, values)``. ``O(n
    m)``.
    """
    m = len(A.kind)
    for a in range(m):
        ends[c, a, 0], ends[c, a, 1] = A.start[a + 1], A.start[a + 1]
        ends[c, a, 2], ends[c, a, 3] = -1, -1
        if A.kind[a] == 2:
            tally[c, A.start[a] : A.start[a + 1]] = 0
    for i in range(n):
        if part[i] != c:
            continue
        for a in range(m):
            code = codes[i, a]
            if A.kind[a] == 2:
                tally[c, A.start[a] + code] += 1
                continue
            if code < ends[c, a, 0]:
                ends[c, a, 1], ends[c, a, 0] = ends[c, a, 0], code
            elif code < ends[c, a, 1]:
                ends[c, a, 1] = code
            if code > ends[c, a, 2]:
                ends[c, a, 3], ends[c, a, 2] = ends[c, a, 2], code
            elif code > ends[c, a, 3]:
                ends[c, a, 3] = code
    for a in range(m):
        if A.kind[a] == 2:
            ends[c, a, 0] = 0
            for at in range(A.start[a], A.start[a + 1]):
                ends[c, a, 0] += 1 if tally[c, at] > 0 else 0


@part
def _width(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    codes: NDArray[np.int64],
    c: int,
    out: int,
    into: int,
    ends: NDArray[np.int64],
    tally: NDArray[np.int64],
) -> float:
    """Return the cost of a row of part c without the row `out` and with the row `into`; -1 for none. ``O(m)``.

    ``ends`` and ``tally`` are as :func:`_summarize` wrote them.

    `codes` is ``(rows, m)``.
    """
    width = 0.0
    for a in range(len(A.kind)):
        if A.kind[a] == 2:
            count = ends[c, a, 0]
            start = A.start[a]
            gone, come = -1, -1
            if out >= 0:
                gone = codes[out, a]
                count -= 1 if tally[c, start + gone] == 1 else 0
            if into >= 0:
                come = codes[into, a]
                remaining = tally[c, start + come] - (1 if come == gone else 0)
                count += 1 if remaining == 0 else 0
            width += A.place[start + count - 1]
            continue
        lo, hi = ends[c, a, 0], ends[c, a, 2]
        if out >= 0:
            code = codes[out, a]
            lo = ends[c, a, 1] if code == lo else lo
            hi = ends[c, a, 3] if code == hi else hi
        if into >= 0:
            code = codes[into, a]
            lo, hi = min(lo, code), max(hi, code)
        width += span(A, a, lo, hi)
    return width


@part
def polish(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    codes: NDArray[np.int64],
    n: int,
    k: int,
    part: NDArray[np.int64],
    n_parts: int,
    passes: int,
) -> None:
    """Swap rows of two parts, or move one out of a part of more than k, while that loses less.

    ``part`` ``(n,)`` is changed in place; ``codes`` is ``(n, m)``. A swap can help only if one of the two rows widens
    its part, so that pairs of others are not looked at. ``O(n^2 m)`` for each of at most `passes` passes.
    """
    m = len(A.kind)
    # A literal as an argument is a type of its own, for which a kernel is compiled once more.
    no_row = int(np.int64(-1))
    ends = np.empty((n_parts, m, 4), dtype=np.int64)
    tally = np.empty((n_parts, A.start[m]), dtype=np.int64)
    size = np.zeros(n_parts, dtype=np.int64)
    width = np.empty(n_parts)
    for i in range(n):
        size[part[i]] += 1
    for c in range(n_parts):
        _summarize(A, codes, n, part, c, ends, tally)
        width[c] = _width(A, codes, c, no_row, no_row, ends, tally)
    for _ in range(passes):
        improved = False
        for i in range(n):
            c = part[i]
            if width[c] == 0.0:
                continue
            slim = _width(A, codes, c, i, no_row, ends, tally)
            if slim >= width[c] - 1e-12:
                continue
            gain, partner, target = 1e-12, no_row, no_row
            if size[c] > k:
                freed = size[c] * width[c] - (size[c] - 1) * slim
                for d in range(n_parts):
                    if d != c and size[d] < 2 * k - 1:
                        wide = _width(A, codes, d, no_row, i, ends, tally)
                        saved = freed - (size[d] + 1) * wide + size[d] * width[d]
                        if saved > gain:
                            gain, target, partner = saved, d, no_row
            for j in range(n):
                d = part[j]
                if d == c:
                    continue
                mine = size[c] * (width[c] - _width(A, codes, c, i, j, ends, tally))
                if mine + size[d] * width[d] <= gain:
                    continue
                saved = mine + size[d] * (width[d] - _width(A, codes, d, j, i, ends, tally))
                if saved > gain:
                    gain, target, partner = saved, d, j
            if target < 0:
                continue
            part[i] = target
            if partner >= 0:
                part[partner] = c
            else:
                size[c] -= 1
                size[target] += 1
            for d in (c, target):
                _summarize(A, codes, n, part, d, ends, tally)
                width[d] = _width(A, codes, d, no_row, no_row, ends, tally)
            improved = True
        if not improved:
            break
