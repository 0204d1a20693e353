"""Compiled loop of the local search: pick near classes, partition their union anew, keep what loses no more.

Where there are demands on sensitive values, each part has to meet them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel, part
from discreet.kanonymity.kernels.growing import exchange, grow_diverse, part_holds
from discreet.kanonymity.kernels.rebuild import below, part_costs, polish, recut, regrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.demand import Wanted


class NearTable(NamedTuple):
    """Rows and points: row r is at ``point[r]``; rows of point p are ``rows[first[p] : first[p + 1]]``.

    ``near[p]`` are near points, nearest first, -1 where there are no more.
    """

    point: NDArray[np.int64]
    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    near: NDArray[np.int32]


class SearchState(NamedTuple):
    """A partition that is being improved.

    Class c has ``size[c]`` rows, ``first[c]`` and its successors in `after`, of which the last one's is -1, and loses
    ``cost[c]``; a slot of size 0 is free. The rows ``outside[: n_outside[0]]`` are suppressed and have the label -1, at
    most ``len(outside)`` of them. ``draw[0]`` is the state of the generator that says where to look.
    """

    labels: NDArray[np.int64]
    first: NDArray[np.int64]
    after: NDArray[np.int64]
    size: NDArray[np.int64]
    cost: NDArray[np.float64]
    outside: NDArray[np.int64]
    n_outside: NDArray[np.int64]
    draw: NDArray[np.int64]


@part
def _near_class(T: NearTable, S: SearchState, row: int) -> int:
    """Return the class of a row of a point that is kept as near to that of `row`, the nearest more often."""
    p, n_near = T.point[row], T.near.shape[1]
    q = T.near[p, min(below(S.draw, n_near), below(S.draw, n_near))]
    # A class of rows that are equal to this one can take it in, or give some of them.
    if q < 0 or (
        T.first[p + 1] - T.first[p] > S.size[S.labels[row]] and below(S.draw, int(np.int64(3))) == 0
    ):
        q = p
    return int(S.labels[T.rows[T.first[q] + below(S.draw, T.first[q + 1] - T.first[q])]])


@part
def _chain(S: SearchState, c: int, union: NDArray[np.int64], n: int) -> int:
    """Write the rows of class c behind ``union[:n]``, and return the new length. Linear in the class."""
    row = S.first[c]
    while row >= 0:
        union[n] = row
        n += 1
        row = S.after[row]
    return n


@part
def _pick(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    T: NearTable,
    S: SearchState,
    active: NDArray[np.int64],
    n_active: int,
    most_rows: int,
    most_classes: int,
    picked: NDArray[np.int64],
    union: NDArray[np.int64],
) -> tuple[int, int]:
    """Pick a class that loses something and classes near to its rows; return their number and that of their rows.

    The classes are written into ``picked``, their rows into ``union``, `most_classes` and `most_rows` at most; none for
    a class of more rows. Active are the `n_active` classes that lost something when the rounds began, or slots that
    they left.

    `active` is ``(n_active,)`` or longer. ``O(most_classes)`` draws.
    """
    c = active[below(S.draw, n_active)]
    for _ in range(20):
        if S.cost[c] > 0.0 and S.size[c] > 0:
            break
        c = active[below(S.draw, n_active)]
    picked[0], n_picked = c, int(np.int64(1))
    if S.size[c] == 0 or S.size[c] > most_rows:
        return 0, 0
    n = _chain(S, c, union, int(np.int64(0)))
    for _ in range(4 * most_classes):
        if n_picked == most_classes:
            break
        row = union[below(S.draw, n)]
        d = _near_class(T, S, row)
        known = d < 0 or n + S.size[d] > most_rows
        for t in range(n_picked):
            known = known or picked[t] == d
        if known:
            continue
        n = _chain(S, d, union, n)
        picked[n_picked] = d
        n_picked += 1
    return n_picked, n


@part
def _divide(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    W: Wanted | None,
    codes: NDArray[np.int64],
    union: NDArray[np.int64],
    n: int,
    k: int,
    part: NDArray[np.int64],
    n_parts: int,
    draw: NDArray[np.int64],
    wider: NDArray[np.float64],
    marks: NDArray[np.bool_],
) -> int:
    """Partition n rows anew: write the class of each into `part` ``(n,)``, and return their number.

    `codes` is ``(n, m)``, and `part` has the `n_parts` classes of before. With demands classes grow anew or stay, and
    rows are exchanged. ``O(n^2 m)``, and as many decisions of the demands as rows are exchanged. `wider` and `marks`
    ``(values,)`` are working memory.
    """
    if W is None:
        if below(draw, int(np.int64(2))) == 0:
            n_parts = recut(A, codes, n, k, part, draw)
        else:
            n_parts = regrow(A, codes, n, k, part, draw, wider, marks)
        polish(A, codes, n, k, part, n_parts, 3)
        return n_parts
    if below(draw, int(np.int64(3))) > 0:
        n_grown = grow_diverse(A, W, codes, union, n, k, part, draw)
        if n_grown > 0:
            n_parts = n_grown
    exchange(A, W, codes, union, n, k, part, draw, 4 * n)
    return n_parts


@part
def _hold(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    W: Wanted | None,
    union: NDArray[np.int64],
    n: int,
    part: NDArray[np.int64],
    n_parts: int,
    k: int,
    scratch: NDArray[np.int64],
) -> bool:
    """Return whether each part of the n rows of a union meets the demands, if there are any."""
    good = True
    if W is not None:
        for t in range(n_parts):
            good = good and part_holds(W, union, n, part, t, k, scratch)
    return good


@kernel
def improve(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    A: Arrays,
    T: NearTable,
    S: SearchState,
    W: Wanted | None,
    k: int,
    most_rows: int,
    most_classes: int,
    rounds: int,
) -> float:
    """Improve a partition in place for so many rounds, and return the decrease of its loss.

    Each round unites a class of positive loss with classes near to it, of at most `most_rows` rows together, partitions
    the union anew, and replaces its classes if the loss does not rise. Classes grow anew from random rows, or a random
    order of the rows is cut, and both are polished. With suppression, one row in three rounds is suppressed or taken
    back; it is not combined with demands. ``O(n^2 m)`` for a union of n rows.
    """
    union = np.empty(most_rows + 1, dtype=np.int64)
    m, alone = len(A.kind), 0.0
    for a in range(m):
        alone += A.cap[a]
    codes, part = np.empty((len(union), m), np.int64), np.empty(len(union), dtype=np.int64)
    picked, scratch = np.empty(most_classes, np.int64), np.empty(len(union), np.int64)
    slots = np.empty(len(S.size), dtype=np.int64)
    wider = np.empty(A.start[m], dtype=np.float64)
    marks = np.zeros(len(wider), dtype=np.bool_)
    active = np.empty(len(S.size), dtype=np.int64)
    n_free, n_active = int(np.int64(0)), int(np.int64(0))
    two, three = int(np.int64(2)), int(np.int64(3))
    for c in range(len(S.size)):
        if S.size[c] == 0:
            slots[n_free] = c
            n_free += 1
        elif S.cost[c] > 0.0:
            active[n_active] = c
            n_active += 1
    gained = 0.0
    if n_active == 0:
        return gained
    for _ in range(rounds):
        n_picked, n = _pick(T, S, active, n_active, most_rows, most_classes, picked, union)
        if n == 0:
            continue
        before = 0.0
        for t in range(n_picked):
            before += S.cost[picked[t]]
        # One row more or less: a suppressed row comes back, or one of these is suppressed.
        back, gone = int(np.int64(-1)), int(np.int64(-1))
        if len(S.outside) > 0 and below(S.draw, three) == 0:
            if S.n_outside[0] > 0 and below(S.draw, two) == 0:
                back = below(S.draw, S.n_outside[0])
                union[n] = S.outside[back]
                n += 1
                before += alone
            elif S.n_outside[0] < len(S.outside) and n > k:
                t = below(S.draw, n)
                gone = union[t]
                n -= 1
                union[t] = union[n]
        if n_picked < 2 and n < 2 * k and back < 0 and gone < 0:
            continue
        added = alone if gone >= 0 else 0.0
        for i in range(n):
            for a in range(m):
                codes[i, a] = A.codes[T.point[union[i]], a]
        end = 0
        for t in range(n_picked):
            part[end : end + S.size[picked[t]]] = t
            end += S.size[picked[t]]
        n_parts = _divide(A, W, codes, union, n, k, part, n_picked, S.draw, wider, marks)
        costs = part_costs(A, codes, n, part, n_parts)
        after = added
        for t in range(n_parts):
            after += costs[t]
        if after > before or not _hold(W, union, n, part, n_parts, k, scratch):
            continue
        gained += before - after
        if back >= 0:
            S.n_outside[0] -= 1
            S.outside[back] = S.outside[S.n_outside[0]]
        if gone >= 0:
            S.outside[S.n_outside[0]] = gone
            S.n_outside[0] += 1
            S.labels[gone] = -1
        for t in range(n_picked):
            S.size[picked[t]], S.first[picked[t]] = 0, -1
            slots[n_free] = picked[t]
            n_free += 1
        n_free -= n_parts
        for t in range(n_parts):
            S.cost[slots[n_free + t]] = costs[t]
        for i in range(n):
            c = slots[n_free + part[i]]
            S.after[union[i]] = S.first[c]
            S.first[c] = union[i]
            S.size[c] += 1
            S.labels[union[i]] = c
    return gained
