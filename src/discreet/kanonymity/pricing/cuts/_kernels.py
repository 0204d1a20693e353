"""Compiled: find violated subset-row cuts of five rows and more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core._jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["odd_sets"]


@kernel
def odd_sets(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    classes: NDArray[np.int32],
    x: NDArray[np.float64],
    n: int,
    size: int,
    more: float,
    room: NDArray[np.int32],
    room_value: NDArray[np.float64],
) -> int:
    """Grow sets of `size` rows, an odd number, from pairs that classes hold, by the row that adds most.

    Each class counts by half of the rows of the set that it holds, rounded down; of a partition at most
    ``size // 2`` come together. Sets with more, by `more`, are written; they need not differ.
    """
    held = np.zeros(len(x), dtype=np.int64)
    holding = np.empty((n, len(x)), dtype=np.int32)
    count = np.zeros(n, dtype=np.int64)
    for s in range(len(x)):
        for e in range(classes.shape[1]):
            if classes[s, e] < 0:
                break
            holding[classes[s, e], count[classes[s, e]]] = s
            count[classes[s, e]] += 1
    gain = np.zeros(n)
    inside = np.zeros(n, dtype=np.bool_)
    rows = np.empty(size, dtype=np.int64)
    written = 0
    for s in range(len(x)):
        for e in range(classes.shape[1]):
            for f in range(e):
                if classes[s, e] < 0 or written == len(room):
                    break
                held[:] = 0
                inside[:] = False
                rows[0], rows[1] = classes[s, e], classes[s, f]
                for t in range(1, size + 1):
                    row = rows[t - 1]
                    inside[row] = True
                    for h in range(count[row]):
                        held[holding[row, h]] += 1
                    if t == size:
                        break
                    if t == 1:
                        continue
                    gain[:] = 0.0
                    for c in range(len(x)):
                        if held[c] == 0:
                            continue
                        # A row that only begins a half is worth a little.
                        worth = x[c] if held[c] % 2 == 1 else 0.01 * x[c]
                        for g in range(classes.shape[1]):
                            row = classes[c, g]
                            if row < 0:
                                break
                            if not inside[row]:
                                gain[row] += worth
                    best = -1
                    for row in range(n):
                        if (
                            not inside[row]
                            and gain[row] > 0.0
                            and (best < 0 or gain[row] > gain[best])
                        ):
                            best = row
                    if best < 0:
                        break
                    rows[t] = best
                if inside.sum() < size:
                    continue
                total = -float(size // 2)
                for c in range(len(x)):
                    total += (held[c] // 2) * x[c]
                if total > more:
                    for t in range(size):
                        room[written, t] = rows[t]
                    room_value[written] = total
                    written += 1
    return written
