"""Compiled loops over nodes of a torus and places: how likely each leads to each, and the best names there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def likely_at(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    table: NDArray[np.float64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    column: int,
    step: int,
    out: NDArray[np.float32],
) -> None:
    """Fill in how likely each place leads to every ``step``-th node of one ``column`` of the torus.

    ``table`` ``(columns, rows)`` is the noise; place p has taps ``weights[p]`` ``(2, taps)`` from the node ``first[p]``
    on; ``out`` is ``(lines, places)``. Probabilities are relative to the greatest at the node, so that none of those
    that matter is lost in float32. The cost is ``O(lines places taps^2)``.
    """
    m, n = table.shape
    taps = weights.shape[2]
    found = np.empty(len(first))
    for line in range(out.shape[0]):
        greatest = 1e-300
        for p in range(len(first)):
            total = 0.0
            for i in range(taps):
                x = column - first[p, 0] - i
                if x < 0:
                    x += m
                for j in range(taps):
                    y = line * step - first[p, 1] - j
                    if y < 0:
                        y += n
                    total += weights[p, 0, i] * weights[p, 1, j] * table[x, y]
            found[p] = total
            greatest = max(greatest, total)
        for p in range(len(first)):
            out[line, p] = np.float32(found[p] / greatest)


@kernel
def name_blocks(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    table: NDArray[np.float64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    cost: NDArray[np.float64],
    kept: NDArray[np.int64],
    begin: int,
    end: int,
    names: NDArray[np.int64],
    least: NDArray[np.float64],
) -> None:
    """Name the nodes of blocks of 4 x 4, in the columns of blocks from ``begin`` to ``end``.

    ``cost`` is ``(K, P)``; ``kept`` ``(wide, tall, candidates)`` holds candidates at the first node of each block.
    Those of the four around a block are compared at its nodes; ``least`` gets what the best of them costs there,
    ``names`` its number, ``(m, n)`` both.

    `table` ``(m, n)`` is the noise, `first` ``(P, 2)`` and `weights` ``(P, 2, taps)`` the steps of places to control
    points. ``O(P)`` for each node and candidate.
    """
    m, n = table.shape
    wide, tall, few = kept.shape
    taps, n_places = weights.shape[2], len(first)
    likely = np.empty((n_places, 16))
    band = np.empty((4, 6))
    chosen = np.empty(4 * few, dtype=np.int64)
    total = np.empty(16)
    for a in range(begin, end):
        for b in range(tall):
            for p in range(n_places):
                x0, y0 = 4 * a - first[p, 0], 4 * b - first[p, 1]
                # Columns first, for the rows that the four nodes need, then rows.
                for s in range(4):
                    for t in range(3 + taps):
                        y = y0 + t - taps + 1
                        if y < 0:
                            y += n
                        value = 0.0
                        for i in range(taps):
                            x = x0 + s - i
                            if x < 0:
                                x += m
                            value += weights[p, 0, i] * table[x, y]
                        band[s, t] = value
                for s in range(4):
                    for t in range(4):
                        value = 0.0
                        for j in range(taps):
                            value += weights[p, 1, j] * band[s, t - j + taps - 1]
                        likely[p, 4 * s + t] = value
            count = 0
            for corner in range(4):
                i, j = (a + corner // 2) % wide, (b + corner % 2) % tall
                for c in range(few):
                    name, known = kept[i, j, c], False
                    for seen in range(count):
                        known |= chosen[seen] == name
                    if not known:
                        chosen[count] = name
                        count += 1
            for c in range(count):
                for v in range(16):
                    total[v] = 0.0
                row = cost[chosen[c]]
                for p in range(n_places):
                    price = row[p]
                    for v in range(16):
                        total[v] += price * likely[p, v]
                for v in range(16):
                    x, y = 4 * a + v // 4, 4 * b + v % 4
                    if c == 0 or total[v] < least[x, y]:
                        least[x, y], names[x, y] = total[v], chosen[c]
