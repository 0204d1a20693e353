"""Compiled: which splits are taken: the best of each node, or the best of several that are tried with greedy runs."""

# ruff: noqa: PLR0917 - a compiled kernel takes its arrays one by one
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import expanded, inlined, kernel
from discreet.kanonymity.kernels.splitting import IN_TRIALS, TRIED, rank_splits, split_node

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.kernels.splitting import PackedTable, Rules, SplitRoom


@inlined
def _close(bound: NDArray[np.uint8], lo: int, hi: int) -> None:
    """Mark rows `lo` to ``hi - 1`` as one class."""
    bound[lo] = 1
    for r in range(lo + 1, hi):
        bound[r] = 0


@expanded
def _take(
    T: PackedTable,
    lo: int,
    hi: int,
    at: int,
    n: int,
    k: int,
    R: SplitRoom,
    ends: NDArray[np.int64],
) -> int:
    """Split a node by the first of the listed splits that meets the demands; return the number of groups, or 0.

    The node has the rows `lo` to ``hi - 1``; the list is ``R.scratch.ranked[at]``, n columns and numbers of units.
    Group q is then ``ends[q]`` to ``ends[q + 1]``.

    `ends` is ``(groups + 1,)`` or longer. A pass over the rows for each split tried.
    """
    ranked, groups, x = R.scratch.ranked, 0, 0
    while not groups and x < n:
        groups = split_node(T, lo, hi, ranked[at, 0, x], ranked[at, 1, x], k, R.scratch, ends)
        x += 1
    return groups


@expanded
def _greedy(
    T: PackedTable,
    lo: int,
    hi: int,
    U: Rules,
    R: SplitRoom,
    limit: float,
) -> float:
    """Take the best split of each node below rows `lo` to ``hi - 1`` until there is none.

    Returns the loss of the classes, or anything above `limit`. The rows are reordered, and ``T.bound`` is overwritten:
    1 in the first row of a class. Linear in rows and columns for each level of splits.
    """
    stack, n, total = R.below, 1, 0.0
    most = max(1, min(1, len(T.wanted.kind)) * len(T.columns.kind))
    stack[0, 0], stack[0, 1] = lo, hi
    while n:
        n -= 1
        begin, end = stack[n, 0], stack[n, 1]
        ranked = rank_splits(T, begin, end, U, most, R.scratch, int(np.int64(IN_TRIALS)))
        cost = (end - begin) * R.scratch.whole[0]
        groups = _take(T, begin, end, IN_TRIALS, ranked, U.k, R, R.ends)
        if not groups:
            _close(T.bound, begin, end)
            total += cost
            if total > limit:
                return float(total)
        for q in range(groups):
            stack[n, 0], stack[n, 1] = R.ends[q], R.ends[q + 1]
            n += 1
    return float(total)


@expanded
def _split_by_trials(
    T: PackedTable,
    lo: int,
    hi: int,
    ranked: int,
    U: Rules,
    R: SplitRoom,
) -> int:
    """Try at most ``U.trials`` of the `ranked` best splits of a node, each with a greedy run, and take the best.

    Rows are `lo` to ``hi - 1``. Returns the number of groups, whose ends are in ``R.ends``, or 0. A greedy run a
    trial.
    """
    best, at, tried = np.inf, -1, 0
    columns, cuts = R.scratch.ranked[TRIED, 0], R.scratch.ranked[TRIED, 1]
    for x in range(ranked):
        if tried == U.trials:
            break
        groups = split_node(T, lo, hi, columns[x], cuts[x], U.k, R.scratch, R.ends_ahead)
        if not groups:
            continue
        tried += 1
        cost = 0.0
        for q in range(groups):
            begin, end = R.ends_ahead[q], R.ends_ahead[q + 1]
            cost += _greedy(T, begin, end, U, R, best - cost)
            if cost >= best:
                break
        if cost < best:
            best, at = cost, x
    if at < 0:
        return 0
    return int(split_node(T, lo, hi, columns[at], cuts[at], U.k, R.scratch, R.ends))


@kernel
def split_nodes(
    T: PackedTable,
    U: Rules,
    R: SplitRoom,
    least: int,
    most: int,
) -> None:
    """Split the nodes on the stack, and those that come of them, until none is left or `most` rows were looked at.

    Of a node of up to ``U.trial_rows`` rows the ``U.trials`` best splits are tried, each with a run that takes the best
    split of each node, ``O(s m log(s / k))`` for s rows; of others the best split is taken. ``R.numbers[0]`` nodes are
    on the stack, rows ``R.stack[d, 0] : R.stack[d, 1]``; ``T.bound`` marks the first row of each class. Nodes of fewer
    than `least` rows are put aside: there are ``R.numbers[1]`` at the other end of the stack, the last one first.
    Nothing on the stack or aside is marked.
    """
    looked, demanded = 0, len(T.wanted.kind) > 0
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
        tries = max(1, U.trials * int(size <= U.trial_rows))
        listed = len(T.columns.kind) if demanded else tries
        ranked = rank_splits(T, begin, end, U, listed, R.scratch, int(np.int64(TRIED)))
        if tries > 1 and ranked > 1:
            looked += 10 * tries * size
            groups = _split_by_trials(T, begin, end, ranked, U, R)
        else:
            groups = _take(T, begin, end, TRIED, ranked, U.k, R, R.ends)
        if not groups:
            _close(T.bound, begin, end)
        for q in range(groups):
            R.stack[n, 0], R.stack[n, 1] = R.ends[q], R.ends[q + 1]
            n += 1
        R.numbers[0] = n
