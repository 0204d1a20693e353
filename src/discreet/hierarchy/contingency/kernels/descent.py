"""Compiled loops of the descent: the steps of ADMM between two transforms, and exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def mix(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    moved: NDArray[np.floating],
    target: NDArray[np.floating],
    precision: NDArray[np.floating],
    subset: NDArray[np.int64],
    step: float,
    parent: NDArray[np.floating],
    fixed: NDArray[np.bool_],
    gap: NDArray[np.float64],
) -> None:
    """Minimize over the coefficients in place: near the targets, near ``moved``, with given sums where they are fixed.

    Child c and coefficient j get ``(p t + step m) / (p + step)``, with ``p = precision[c, subset[j]]``, and where
    ``fixed``, an equal price that makes their sum ``parent[j]``. ``moved`` and ``target`` are ``(children,
    coefficients)``, ``precision`` ``(children, interactions)``, the others ``(coefficients,)``; ``gap`` is scratch.
    Linear cost.
    """
    k, size = moved.shape
    for j in range(size):
        gap[j] = parent[j]
    for c in range(k):
        for j in range(size):
            weight = precision[c, subset[j]]
            made = (weight * target[c, j] + step * moved[c, j]) / (weight + step)
            moved[c, j] = made
            gap[j] -= made
    inverse = np.zeros(precision.shape[1])
    for s in range(precision.shape[1]):
        for c in range(k):
            inverse[s] += 1.0 / (precision[c, s] + step)
    for j in range(size):
        gap[j] = gap[j] / inverse[subset[j]] if fixed[j] else 0.0
    for c in range(k):
        for j in range(size):
            moved[c, j] += gap[j] / (precision[c, subset[j]] + step)


@kernel
def clip(  # noqa: PLR0917 - as above
    cells: NDArray[np.floating],
    kept: NDArray[np.floating],
    dual: NDArray[np.floating],
    free: NDArray[np.bool_],
    expected: NDArray[np.floating],
    pull: NDArray[np.floating],
    out: NDArray[np.floating],
) -> float:
    """Draw cells to the expected ones and clip at zero, with over-relaxation; move the multipliers.

    All arrays are ``(children, cells)``, but ``free`` ``(cells,)``, whose other cells become 0. ``pull`` is the weight
    of the expected cells for one of the others. ``kept`` becomes the clipped cells, ``dual`` the multipliers, ``out``
    their difference, which is transformed next. Returns the largest difference between the cells and the clipped ones.
    Linear cost.
    """
    k, size = cells.shape
    worst = 0.0
    for c in range(k):
        for j in range(size):
            x = cells[c, j]
            u = dual[c, j] + 1.7 * x - 0.7 * kept[c, j]
            new = (u + pull[c, j] * expected[c, j]) / (1 + pull[c, j])
            new = new if new > 0 and free[j] else u * 0
            u -= new
            worst = max(worst, abs(x - new))
            kept[c, j] = new
            dual[c, j] = u
            out[c, j] = new - u
    return worst


@kernel
def exchange(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    cells: NDArray[np.int64],
    off: NDArray[np.float64],
    weight: NDArray[np.float64],
    places: NDArray[np.int64],
    free: NDArray[np.bool_],
    passes: int,
    slope: NDArray[np.float64],
) -> int:
    """Move units of a cell from child to child while that lowers the objective; return how many were moved.

    Each pass takes ``O(children marginals)`` for each cell, and as much for each unit that moves.

    Parameters
    ----------
    cells
        ``(children, cells)`` whole numbers, changed in place.
    off
        ``(children, entries)``: what each entry of each marginal has more than is wanted; kept up to date.
    weight
        ``(children, marginals)``: the objective is half the weighted sum of squares of these.
    places
        ``(marginals, cells)``: the place of a cell's entry among all entries.
    free
        ``(cells,)``: where a record may be.
    passes
        Over all cells, at most.
    slope
        ``(children,)`` scratch.
    """
    k, n = cells.shape
    m = len(places)
    moved = 0
    own = np.zeros(k)
    for c in range(k):
        for q in range(m):
            own[c] += 0.5 * weight[c, q]
    for _ in range(passes):
        before = moved
        for s in range(n):
            if not free[s]:
                continue
            for c in range(k):
                derivative = 0.0
                for q in range(m):
                    derivative += weight[c, q] * off[c, places[q, s]]
                slope[c] = derivative
            while True:
                giver, taker = -1, -1
                least, most = 0.0, 0.0
                for c in range(k):
                    gain = slope[c] - own[c]
                    if cells[c, s] > 0 and (giver < 0 or gain > most):
                        giver, most = c, gain
                    cost = slope[c] + own[c]
                    if taker < 0 or cost < least:
                        taker, least = c, cost
                # By more than floats err, so that it ends.
                if giver < 0 or most - least <= 1e-9 * (abs(most) + abs(least)):
                    break
                cells[giver, s] -= 1
                cells[taker, s] += 1
                moved += 1
                for q in range(m):
                    off[giver, places[q, s]] -= 1.0
                    off[taker, places[q, s]] += 1.0
                slope[giver] -= 2.0 * own[giver]
                slope[taker] += 2.0 * own[taker]
        if moved == before:
            break
    return moved
