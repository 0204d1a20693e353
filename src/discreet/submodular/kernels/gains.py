"""Compiled loops over records: gains of facility location and coverage, and their multilinear marginals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel, part

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


@kernel
def facility_gains(
    S: NDArray[Any], best: NDArray[Any], elements: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Write ``sum_i max(S[e, i] - best[i], 0)`` for each element e into ``out``.

    ``S`` ``(n_elements, n_records)`` and ``best`` ``(n_records,)`` are in units of the objective, ``elements`` and
    ``out`` ``(m,)``. The cost is ``O(m n_records)``.
    """
    for a in range(len(elements)):
        row = S[elements[a]]
        total = np.int64(0)
        for i in range(len(best)):
            total += np.int64(max(row[i], best[i])) - np.int64(best[i])
        out[a] = total


@kernel
def facility_marginals(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: NDArray[Any],
    kept: NDArray[np.bool_],
    support: NDArray[np.int64],
    x: NDArray[np.float64],
    scale: float,
    margin: float,
    out: NDArray[np.int64],
) -> None:
    """Add to ``out`` each record's part of ``E[F(R + e)] - E[F(R)]``, in units of 1 / scale, rounded down.

    ``S`` is ``(n_elements, n_records)``, ``kept`` masks the records, ``x`` has the chances of the elements ``support``,
    both ``(m,)``, and ``margin`` is subtracted from each part. Only the elements with ``x > 0`` matter for R. For each
    record they are sorted by similarity, most first: with ``P_j`` the chance that none of the first j is in R,
    ``E[F_i(R)]`` is the sum of ``s_j x_j P_j``, and with e it is the same sum over the more similar ones, plus ``s_e``
    where none of those is in R. The cost is ``O(n_records (m + n_elements) log m)``.
    """
    n_elements, n = S.shape
    m = len(support)
    block = 128
    sims = np.zeros((block, m + 1))
    heads = np.zeros((block, m + 1))
    misses = np.ones((block, m + 1))
    for first in range(0, n, block):
        width = min(block, n - first)
        for i in range(width):
            column = np.empty(m)
            for j in range(m):
                column[j] = S[support[j], first + i]
            order = np.argsort(-column)
            head, miss = 0.0, 1.0
            for j in range(m):
                s = column[order[j]]
                sims[i, j] = s
                heads[i, j] = head
                misses[i, j] = miss
                head += s * x[order[j]] * miss
                miss *= 1.0 - x[order[j]]
            heads[i, m] = head
            misses[i, m] = miss
        for e in range(n_elements):
            total = np.int64(0)
            for i in range(width):
                if not kept[first + i]:
                    continue
                s = float(S[e, first + i])
                low, high = 0, m
                while low < high:
                    middle = (low + high) // 2
                    if sims[i, middle] > s:
                        low = middle + 1
                    else:
                        high = middle
                part = (heads[i, low] + s * misses[i, low] - heads[i, m]) * scale - margin
                if part > 0:
                    total += np.int64(part)
            out[e] += total


@part
def popcount(x: np.uint64) -> np.uint64:
    """Count the ones of a word; the compiler knows this form as one instruction."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    # Folded by hand: as plain Python the usual multiplication would warn of its overflow.
    x += x >> np.uint64(8)
    x += x >> np.uint64(16)
    x += x >> np.uint64(32)
    return x & np.uint64(127)


@kernel
def covered_gains(
    bits: NDArray[np.uint64],
    left: NDArray[np.uint64],
    elements: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Count the records of ``left`` that each element covers, into ``out`` ``(m,)``.

    ``bits`` ``(n_elements, words)`` has a bit for each record, ``left`` is ``(words,)``, ``elements`` ``(m,)``. The
    cost is ``O(m words)``.
    """
    for a in range(len(elements)):
        row = bits[elements[a]]
        total = np.uint64(0)
        for i in range(len(left)):
            total += popcount(row[i] & left[i])
        out[a] = total


@kernel
def cover_keep(
    bits: NDArray[np.uint64],
    support: NDArray[np.int64],
    x: NDArray[np.float64],
    keep: NDArray[np.float64],
) -> None:
    """Multiply ``keep`` ``(64 words,)``, in place, by the chance that no chosen element covers a record.

    ``keep[i]`` gets the factor ``1 - x[j]`` of each element ``support[j]`` that covers record i. ``bits`` is
    ``(n_elements, words)``; ``support`` and ``x`` are ``(m,)``. The cost is the set bits of the m rows.
    """
    for j in range(len(support)):
        row = bits[support[j]]
        factor = 1.0 - x[j]
        for i in range(len(row)):
            word = row[i]
            while word:
                lowest = word & (~word + np.uint64(1))
                keep[np.int64(i) * 64 + np.int64(popcount(lowest - np.uint64(1)))] *= factor
                word ^= lowest


@kernel
def cover_marginals(
    bits: NDArray[np.uint64], parts: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Sum ``parts`` ``(64 words,)`` over the records that each element covers, into ``out`` ``(n_elements,)``.

    ``bits`` is ``(n_elements, words)``. The cost is the set bits.
    """
    for e in range(len(bits)):
        total = np.int64(0)
        for i in range(bits.shape[1]):
            word = bits[e, i]
            while word:
                lowest = word & (~word + np.uint64(1))
                total += parts[np.int64(i) * 64 + np.int64(popcount(lowest - np.uint64(1)))]
                word ^= lowest
        out[e] = total


@kernel
def weighted_gains(
    start: NDArray[np.int64],
    records: NDArray[np.int64],
    left: NDArray[np.int64],
    elements: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Sum ``left`` ``(n_records,)`` over the records that each element covers, into ``out`` ``(m,)``.

    Element e covers ``records[start[e]]`` to ``records[start[e + 1] - 1]``. The cost is the edges of ``elements``.
    """
    for a in range(len(elements)):
        total = np.int64(0)
        for at in range(start[elements[a]], start[elements[a] + 1]):
            total += left[records[at]]
        out[a] = total


@kernel
def concave_gains(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    start: NDArray[np.int64],
    slots: NDArray[np.int64],
    weights: NDArray[np.int64],
    totals: NDArray[np.int64],
    table: NDArray[np.int64],
    elements: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Sum ``table[total + weight] - table[total]`` over the slots of each element, into ``out`` ``(m,)``.

    Element e adds ``weights`` to ``slots`` at ``start[e]`` to ``start[e + 1]``; ``totals`` has each slot's total, and
    beyond its end ``table`` is constant. The cost is the slots of ``elements``.
    """
    last = len(table) - 1
    for a in range(len(elements)):
        gained = np.int64(0)
        for at in range(start[elements[a]], start[elements[a] + 1]):
            total = totals[slots[at]]
            gained += table[min(total + weights[at], last)] - table[total]
        out[a] = gained
