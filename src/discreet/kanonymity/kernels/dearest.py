"""Compiled search for classes that their rows' multipliers overpay: all boxes of few columns.

It looks for k rows in a box whose mean multiplier is above what the box costs. Points are rows that differ; a point
stands for at most k of its rows in a class. What is found is kept by root, the point of the class with the largest
multiplier, ties by rank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel, part
from discreet.kanonymity.kernels.sorting import sort_by

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["CLASSES_PER_ROOT", "FoundBoxes", "Largest", "Sweep", "keep", "room_of", "sweep"]

CLASSES_PER_ROOT = 4
"""Classes that are kept for each root."""


class FoundBoxes(NamedTuple):
    """Violated classes: their points, -1 for none, with the rows of each, and by how much they are overpaid."""

    points: NDArray[np.int32]
    rows: NDArray[np.int32]
    excess: NDArray[np.float64]


class Sweep(NamedTuple):
    """Columns whose boxes are listed, and one of numbers that is swept.

    Point p has atom ``atoms[p, a]`` in column a, of which cell q is ``start[a] + q``, costs ``cost[start[a] + q]``
    and holds an atom where ``inside[member[start[a] + q] + atom]``; its number stands at ``place[p]``, and no interval
    costs more than `cap`.
    """

    atoms: NDArray[np.int64]
    start: NDArray[np.int64]
    cost: NDArray[np.float64]
    inside: NDArray[np.bool_]
    member: NDArray[np.int64]
    place: NDArray[np.float64]
    cap: float


class Largest(NamedTuple):
    """The k rows of largest multiplier so far, by points."""

    u: NDArray[np.float64]
    point: NDArray[np.int32]
    rows: NDArray[np.int32]


@part
def _insert(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    T: Largest, used: int, n_rows: int, u: float, p: int, rows: int, k: int
) -> tuple[int, int]:
    """Add rows of a point; give the points and rows that are kept, at most k rows."""
    if n_rows == k and u <= T.u[used - 1]:
        return used, n_rows
    at = used
    while at > 0 and T.u[at - 1] < u:
        T.u[at], T.point[at], T.rows[at] = T.u[at - 1], T.point[at - 1], T.rows[at - 1]
        at -= 1
    T.u[at], T.point[at], T.rows[at] = u, p, min(rows, k)
    used += 1
    n_rows += min(rows, k)
    while n_rows > k:
        over = n_rows - k
        if T.rows[used - 1] <= over:
            n_rows -= T.rows[used - 1]
            used -= 1
        else:
            T.rows[used - 1] -= over
            n_rows = k
    return used, n_rows


@part
def _sum(T: Largest, used: int) -> float:
    total = 0.0
    for t in range(used):
        total += T.u[t] * T.rows[t]
    return total


@part
def keep(F: FoundBoxes, root: int, T: Largest, used: int, excess: float) -> None:
    """Keep a class unless it is known or all that are kept are worse violated."""
    worst = 0
    for slot in range(CLASSES_PER_ROOT):
        if F.excess[root, slot] < F.excess[root, worst]:
            worst = slot
        same = F.excess[root, slot] > 0
        for t in range(used):
            same = (
                same
                and F.points[root, slot, t] == T.point[t]
                and F.rows[root, slot, t] == T.rows[t]
            )
        if same:
            F.excess[root, slot] = max(F.excess[root, slot], excess)
            return
    if excess <= F.excess[root, worst]:
        return
    F.excess[root, worst] = excess
    for t in range(F.points.shape[2]):
        F.points[root, worst, t] = T.point[t] if t < used else -1
        F.rows[root, worst, t] = T.rows[t] if t < used else 0


@part
def room_of(k: int) -> Largest:
    """Allocate arrays for k rows, and one more for insertion."""
    return Largest(
        np.empty(k + 1), np.empty(k + 1, dtype=np.int32), np.empty(k + 1, dtype=np.int32)
    )


@part
def _narrowed(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: Sweep,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    a: int,
    cell: int,
    paid: float,
    given: NDArray[np.int32],
    size: int,
    kept: NDArray[np.int32],
) -> int:
    """Write the points, by falling multiplier, that lie in a cell and in some violated class; none if there is none.

    A class with point p has a mean of at most that of p and the k - 1 largest others.
    """
    base = S.member[cell]
    n, n_rows, total, top_sum = 0, 0, 0.0, 0.0
    for t in range(size):
        p = given[t]
        if n_rows == k and top_sum + u[p] <= k * paid:
            break
        if not S.inside[base + S.atoms[p, a]]:
            continue
        if n_rows < k:
            if total + (k - n_rows) * u[p] <= k * paid:
                return 0
            rows = min(counts[p], k - n_rows)
            total += rows * u[p]
            n_rows += rows
            top_sum = total - u[p]
        kept[n] = p
        n += 1
    return n if n_rows == k and total > k * paid else 0


@part
def _swept(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: Sweep,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    k: int,
    paid: float,
    given: NDArray[np.int32],
    T: Largest,
    F: FoundBoxes,
    ratio: NDArray[np.float64],
) -> None:
    """Try all intervals of the swept column among some points."""
    n_rows, used, n = 0, 0, len(given)
    for t in range(n):
        p = given[t]
        used, n_rows = _insert(T, used, n_rows, u[p], p, counts[p], k)
        if n_rows == k:
            break
    most = _sum(T, used) / k
    order, spare = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for t in range(n):
        order[t] = given[t]
    sort_by(S.place, order, spare)
    first = 0
    while first < len(order):
        left = S.place[order[first]]
        at, used, n_rows = first, 0, 0
        while at < len(order):
            place = S.place[order[at]]
            width = paid + min(S.cap, place - left)
            if width >= most:
                break
            while at < len(order) and S.place[order[at]] == place:
                p = order[at]
                used, n_rows = _insert(T, used, n_rows, u[p], p, counts[p], k)
                at += 1
            if n_rows < k:
                continue
            mean = _sum(T, used) / k
            if mean <= width:
                continue
            keep(F, T.point[0], T, used, mean - width)
            least = T.u[used - 1]
            for t in range(first, at):
                p = order[t]
                with_p = mean + min(0.0, u[p] - least) / k
                if u[p] > 0 and with_p > ratio[p] * width:
                    ratio[p] = with_p / width if width > 0 else np.inf
        while first < len(order) and S.place[order[first]] == left:
            first += 1


@kernel
def sweep(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    S: Sweep,
    counts: NDArray[np.int64],
    u: NDArray[np.float64],
    order: NDArray[np.int32],
    k: int,
    begin: int,
    stop: int,
    F: FoundBoxes,
    ratio: NDArray[np.float64],
) -> None:
    """Enumerate every box with the cells `begin` to ``stop - 1`` of the first column.

    ``ratio[p]`` becomes the largest mean over width of a class of k rows with p, where that is above it. `order` has
    the points by falling multiplier.
    """
    m = len(S.start) - 1
    lists = np.empty((m + 1, len(order)), dtype=np.int32)
    for t in range(len(order)):
        lists[0, t] = order[t]
    sizes = np.zeros(m + 1, dtype=np.int64)
    sizes[0] = len(order)
    cell = np.zeros(m, dtype=np.int64)
    paid = np.zeros(m + 1)
    T = room_of(k)
    cell[0] = S.start[0] + begin
    d = 0
    while d >= 0:
        if cell[d] == (S.start[0] + stop if d == 0 else S.start[d + 1]):
            d -= 1
            if d >= 0:
                cell[d] += 1
            continue
        paid[d + 1] = paid[d] + S.cost[cell[d]]
        sizes[d + 1] = _narrowed(
            S, counts, u, k, d, cell[d], paid[d + 1], lists[d], sizes[d], lists[d + 1]
        )
        if sizes[d + 1] and d + 1 < m:
            d += 1
            cell[d] = S.start[d]
            continue
        if sizes[d + 1]:
            _swept(S, counts, u, k, paid[m], lists[m, : sizes[m]], T, F, ratio)
        cell[d] += 1
