"""Compiled Viterbi pass: the likeliest trajectory of each of many sequences of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def likeliest_ways(
    start: NDArray[np.float64],
    moves: NDArray[np.float64],
    likely: NDArray[np.float64],
    seen: NDArray[np.int64],
    ways: NDArray[np.int64],
) -> bool:
    """Write the likeliest way of each row of ``seen`` to ``ways``; return whether every row is possible.

    ``start``, ``moves`` and ``likely`` are logarithms of the prior, of the transitions, and of ``(report, secret)``
    probabilities. Predecessors are searched for on the way back only: a table of them would take a hundred times more
    memory, and the forward loop is then one of additions and maxima, which the compiler turns into vector code.

    `start` is ``(n,)``, `moves` ``(n, n)``, from row to column; `seen`, numbers of reports, and `ways` are ``(rows,
    steps)``. After the first impossible row nothing more is written. ``O(rows steps n^2)``.
    """
    n, steps = len(start), seen.shape[1]
    scores = np.empty((steps, n))
    for row in range(len(seen)):
        scores[0] = start + likely[seen[row, 0]]
        for t in range(1, steps):
            before, best = scores[t - 1], scores[t]
            best[:] = -np.inf
            # Two sources at a time halve the loads and stores of the best scores.
            for i in range(0, n - 1, 2):
                one, two = before[i], before[i + 1]
                if one == -np.inf and two == -np.inf:
                    continue
                for j in range(n):
                    best[j] = max(best[j], one + moves[i, j], two + moves[i + 1, j])
            if n % 2:
                for j in range(n):
                    best[j] = max(best[j], before[n - 1] + moves[n - 1, j])
            best += likely[seen[row, t]]
        at = int(np.argmax(scores[steps - 1]))
        if scores[steps - 1, at] == -np.inf:
            return False
        ways[row, steps - 1] = at
        for t in range(steps - 1, 0, -1):
            at = int(np.argmax(scores[t - 1] + moves[:, at]))
            ways[row, t - 1] = at
    return True
