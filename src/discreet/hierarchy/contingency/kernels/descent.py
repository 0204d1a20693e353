"""Compiled loops of the descent: the steps of ADMM between two transforms, greedy rounding, and exchanges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["clip", "exchange", "mix", "share_out"]


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

    ``gap`` is scratch of one number a coefficient, ``precision`` has one a child and interaction.
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
def clip(
    cells: NDArray[np.floating],
    kept: NDArray[np.floating],
    dual: NDArray[np.floating],
    free: NDArray[np.bool_],
    out: NDArray[np.floating],
) -> float:
    """Clip at zero with over-relaxation, move the multipliers, and write what is transformed next.

    Returns the largest difference between the cells and the clipped ones.
    """
    k, size = cells.shape
    worst = 0.0
    for c in range(k):
        for j in range(size):
            x = cells[c, j]
            u = dual[c, j] + 1.7 * x - 0.7 * kept[c, j]
            new = u if u > 0 and free[j] else u * 0
            u -= new
            worst = max(worst, abs(x - new))
            kept[c, j] = new
            dual[c, j] = u
            out[c, j] = new - u
    return worst


@kernel
def share_out(  # noqa: PLR0917 - a compiled loop takes its arrays one by one
    units: NDArray[np.int64],
    parent: NDArray[np.int64],
    entries: NDArray[np.int64],
    need: NDArray[np.float64],
    order: NDArray[np.int64],
    one: int,
    out: NDArray[np.int64],
) -> None:
    """Round the children of one parent: sums of cells exact, marginals greedily near what is wanted.

    Parameters
    ----------
    units
        ``(children, cells)`` in units of ``1 / one``; the sums over the children are ``one * parent``.
    parent
        ``(cells,)`` whole numbers.
    entries
        ``(marginals, cells)``: the entry of each marginal to which a cell belongs.
    need
        ``(marginals, children, entries)``: what is wanted of each; it is used up.
    order
        In which order cells are dealt with.
    one
        The unit.
    out
        ``(children, cells)``: floor or ceiling of each.
    """
    k, n = units.shape
    m = len(entries)
    score = np.empty(k)
    for s in range(n):
        for c in range(k):
            floor = units[c, s] // one
            out[c, s] = floor
            for j in range(m):
                need[j, c, entries[j, s]] -= floor
    for at in range(n):
        s = order[at]
        left = parent[s]
        for c in range(k):
            left -= out[c, s]
        while left > 0:
            best, most = -1, -1e300
            for c in range(k):
                rest = units[c, s] - out[c, s] * one
                if rest <= 0:
                    continue
                score[c] = rest / one
                for j in range(m):
                    score[c] += need[j, c, entries[j, s]]
                if score[c] > most:
                    best, most = c, score[c]
            out[best, s] += 1
            left -= 1
            for j in range(m):
                need[j, best, entries[j, s]] -= 1.0


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
    """Move units of a cell from child to child while that lowers the objective; tell how many were moved.

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
