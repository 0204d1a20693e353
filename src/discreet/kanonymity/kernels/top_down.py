"""Compiled: which splits are taken: the best of each node, one tried with greedy runs, or one of all trees below it."""

# ruff: noqa: PLR0917 - a compiled kernel takes its arrays one by one
from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.jit import expanded, inlined, kernel
from discreet.kanonymity.kernels.splitting import MAX_TREE_DEPTH, rank_splits, split_node

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Arrays
    from discreet.kanonymity.demand import Wanted
    from discreet.kanonymity.kernels.splitting import Rules, SplitRoom
    from discreet.kanonymity.packed import RowLayout

__all__ = ["split_nodes"]

INFINITE_COST = 1e300
"""More than any node costs."""

TREE_ROWS_PER_ROW = 1_000
"""Rows that the search of all trees below a node may look at for each row of the node; then it takes first splits."""


@inlined
def _close(bound: NDArray[np.uint8], lo: int, hi: int) -> None:
    """Mark a run of rows as one class."""
    bound[lo] = 1
    for r in range(lo + 1, hi):
        bound[r] = 0


@expanded
def _take(
    A: Arrays,
    L: RowLayout,
    W: Wanted,
    P: NDArray[np.int64],
    buf: NDArray[np.int64],
    lo: int,
    hi: int,
    at: int,
    n: int,
    k: int,
    R: SplitRoom,
    ends: NDArray[np.int64],
) -> int:
    """Split a node by the first of the splits listed that meets the demands; give the number of groups, or 0."""
    ranked, groups, x = R.scratch.ranked, 0, 0
    while not groups and x < n:
        groups = split_node(
            A, L, W, P, buf, lo, hi, ranked[at, 0, x], ranked[at, 1, x], k, R.scratch, ends
        )
        x += 1
    return groups


@expanded
def _greedy(
    A: Arrays,
    L: RowLayout,
    W: Wanted,
    P: NDArray[np.int64],
    buf: NDArray[np.int64],
    bound: NDArray[np.uint8],
    lo: int,
    hi: int,
    k: int,
    R: SplitRoom,
    limit: float,
) -> float:
    """Take the best split of each node until there is none; give what that costs, or anything above the limit."""
    stack, n, total = R.below, 1, 0.0
    at, most = len(R.scratch.ranked) - 1, max(1, min(1, len(W.kind)) * len(A.kind))
    stack[0, 0], stack[0, 1] = lo, hi
    while n:
        n -= 1
        begin, end = stack[n, 0], stack[n, 1]
        ranked = rank_splits(A, L, P, begin, end, k, most, R.scratch, at)
        cost = (end - begin) * R.scratch.whole[0]
        groups = _take(A, L, W, P, buf, begin, end, at, ranked, k, R, R.ends)
        if not groups:
            _close(bound, begin, end)
            total += cost
            if total > limit:
                return float(total)
        for q in range(groups):
            stack[n, 0], stack[n, 1] = R.ends[q], R.ends[q + 1]
            n += 1
    return float(total)


@expanded
def _tree(
    A: Arrays,
    L: RowLayout,
    W: Wanted,
    P: NDArray[np.int64],
    buf: NDArray[np.int64],
    bound: NDArray[np.uint8],
    lo: int,
    hi: int,
    U: Rules,
    R: SplitRoom,
) -> int:
    """Search all trees of the best splits of each node, each broken off once it costs as much as one found before.

    Where splits may leave few rows on one side, and all columns can be split, trees are as many as the splits to the
    power of the depth. After :data:`TREE_ROWS_PER_ROW` rows for each row of the node no further split is tried: open
    trees are finished, and the best tree is taken. Returns the number of rows that were read.

    A frame holds a node: where it begins and ends, how many splits are listed, which is the next, the group that is
    looked at, how many there are, how many splits were divided, and where the groups end. Beside it stand what its
    rows may cost, what the groups before cost, and what the node costs as one class. There is no recursion, which a
    cache of compiled code does not survive.
    """
    frame, value, k = R.frame, R.worth, U.k
    demanded = len(W.kind) > 0
    # No literals, for which kernels that take them would be compiled once more.
    d, back, entering = lo - lo, 0.0, True
    looked, most = lo - lo, TREE_ROWS_PER_ROW * (hi - lo)
    frame[0, 0], frame[0, 1], value[0, 0] = lo, hi, INFINITE_COST
    while d >= 0:
        begin, end = frame[d, 0], frame[d, 1]
        size, another = end - begin, True
        if entering:
            listed = (len(A.kind) if demanded else U.tree) * int(d < MAX_TREE_DEPTH)
            looked += size
            frame[d, 2] = rank_splits(A, L, P, begin, end, k, listed, R.scratch, d)
            frame[d, 3], frame[d, 6], frame[d, 7] = 0, 0, 0
            value[d, 2] = size * R.scratch.whole[0]
        else:
            value[d, 1] += back
            frame[d, 4] += 1
            if value[d, 1] < value[d, 0]:
                another = frame[d, 4] == frame[d, 5]
                if another:
                    value[d, 0] = value[d, 1]
                    for r in range(size):
                        R.kept_bound[d, r] = bound[begin + r]
                        for w in range(P.shape[1]):
                            R.kept[d, r, w] = P[begin + r, w]
                    frame[d, 7] = 1
        if another:
            groups, tries = 0, U.tree if looked < most else 1
            while not groups and frame[d, 3] < frame[d, 2] and frame[d, 6] < tries:
                x = frame[d, 3]
                frame[d, 3] += 1
                groups = split_node(
                    A,
                    L,
                    W,
                    P,
                    buf,
                    begin,
                    end,
                    R.scratch.ranked[d, 0, x],
                    R.scratch.ranked[d, 1, x],
                    k,
                    R.scratch,
                    R.ends,
                )
            if not groups:
                # All was tried. Where nothing costs less than it may, the node above must not take this for an answer.
                back = INFINITE_COST
                if frame[d, 7]:
                    for r in range(size):
                        bound[begin + r] = R.kept_bound[d, r]
                        for w in range(P.shape[1]):
                            P[begin + r, w] = R.kept[d, r, w]
                    back = value[d, 0]
                elif not frame[d, 6]:
                    _close(bound, begin, end)
                    back = value[d, 2]
                d -= 1
                entering = False
                continue
            frame[d, 4], frame[d, 5], value[d, 1] = 0, groups, 0.0
            frame[d, 6] += 1
            for q in range(groups + 1):
                frame[d, 8 + q] = R.ends[q]
        q = frame[d, 4]
        frame[d + 1, 0], frame[d + 1, 1] = frame[d, 8 + q], frame[d, 9 + q]
        value[d + 1, 0] = value[d, 0] - value[d, 1]
        d += 1
        entering = True
    return int(looked)


@expanded
def _ahead(
    A: Arrays,
    L: RowLayout,
    W: Wanted,
    P: NDArray[np.int64],
    buf: NDArray[np.int64],
    bound: NDArray[np.uint8],
    lo: int,
    hi: int,
    ranked: int,
    U: Rules,
    R: SplitRoom,
) -> int:
    """Try the best splits of a node, each with a greedy run; divide it by the best, and give the number of groups."""
    best, at, tried, ahead = INFINITE_COST, -1, 0, len(R.scratch.ranked) - 2
    for x in range(ranked):
        if tried == U.ahead:
            break
        groups = split_node(
            A,
            L,
            W,
            P,
            buf,
            lo,
            hi,
            R.scratch.ranked[ahead, 0, x],
            R.scratch.ranked[ahead, 1, x],
            U.k,
            R.scratch,
            R.ends_ahead,
        )
        if not groups:
            continue
        tried += 1
        cost = 0.0
        for q in range(groups):
            begin, end = R.ends_ahead[q], R.ends_ahead[q + 1]
            cost += _greedy(A, L, W, P, buf, bound, begin, end, U.k, R, best - cost)
            if cost >= best:
                break
        if cost < best:
            best, at = cost, x
    if at < 0:
        return 0
    return int(
        split_node(
            A,
            L,
            W,
            P,
            buf,
            lo,
            hi,
            R.scratch.ranked[ahead, 0, at],
            R.scratch.ranked[ahead, 1, at],
            U.k,
            R.scratch,
            R.ends,
        )
    )


@kernel
def split_nodes(
    A: Arrays,
    L: RowLayout,
    W: Wanted,
    P: NDArray[np.int64],
    buf: NDArray[np.int64],
    bound: NDArray[np.uint8],
    U: Rules,
    R: SplitRoom,
    least: int,
    most: int,
) -> None:
    """Split the nodes on the stack, and those that come of them, until none is left or so many rows were looked at.

    ``R.numbers[0]`` nodes are on the stack, rows ``R.stack[d, 0] : R.stack[d, 1]``; `bound` marks the first row of each
    class. Nodes of fewer than `least` rows are put aside: there are ``R.numbers[1]`` at the other end of the stack, the
    last one first. Nothing on the stack or aside is marked.
    """
    looked, demanded, ahead = 0, len(W.kind) > 0, len(R.scratch.ranked) - 2
    while R.numbers[0] and looked < most:
        R.numbers[0] -= 1
        n = R.numbers[0]
        begin, end = R.stack[n, 0], R.stack[n, 1]
        size = end - begin
        if size < least:
            R.numbers[1] += 1
            aside = len(R.stack) - R.numbers[1]
            R.stack[aside, 0], R.stack[aside, 1] = begin, end
            continue
        looked += size
        if size <= U.tree_rows:
            # A row costs more where nodes are small.
            looked += 6 * _tree(A, L, W, P, buf, bound, begin, end, U, R)
            continue
        tries = max(1, U.ahead * int(size <= U.ahead_rows))
        ranked = rank_splits(
            A, L, P, begin, end, U.k, len(A.kind) if demanded else tries, R.scratch, ahead
        )
        if tries > 1 and ranked > 1:
            looked += 10 * tries * size
            groups = _ahead(A, L, W, P, buf, bound, begin, end, ranked, U, R)
        else:
            groups = _take(A, L, W, P, buf, begin, end, ahead, ranked, U.k, R, R.ends)
        if not groups:
            _close(bound, begin, end)
        for q in range(groups):
            R.stack[n, 0], R.stack[n, 1] = R.ends[q], R.ends[q + 1]
            n += 1
        R.numbers[0] = n
