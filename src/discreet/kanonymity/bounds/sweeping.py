"""Multipliers of few values: every box is looked at, and each class found is overpaid by a factor that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.bounds.covers import cover_of
from discreet.kanonymity.candidate import SearchLimits, portions
from discreet.kanonymity.problem import Numeric, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Points
    from discreet.kanonymity.kernels.dearest import FoundBoxes, Sweep

__all__ = ["AllBoxes", "Searched", "listed", "room_for"]

RELATIVE_GAP_AT_END = 1e-4
"""Relative distance of the bound to the program's value at which it ends."""

MAX_CLASSES_PER_SCARCE_POINT = 3
"""Classes of one round that may share a scarce point."""

MANY_CLASSES_PER_POINT = 0.05
"""Classes that are found, as a part of all points, from which the next trial point is nearer to what is proved."""


@final
@dataclass(frozen=True, eq=False)
class Searched:
    """Multipliers that overpay no class, and some classes that those searched overpay, one a row, -1 for no point."""

    feasible: NDArray[np.float64]
    points: NDArray[np.int32]
    rows: NDArray[np.int32]


@final
class AllBoxes:
    """Few values: every box is looked at, the product of the cells of all columns but one, which is swept.

    Multipliers of violated classes are divided by the largest mean over width of a class that they are in: each
    class loses at least its own factor, and outliers alone are scaled.
    """

    slack, covered = 0.0, MAX_CLASSES_PER_SCARCE_POINT

    def __init__(self, problem: Problem, points: Points, k: int) -> None:
        self.k, self.counts, self.share = k, np.diff(points.first), 0.5
        self.sweep = _sweep_of(problem, points, k)
        self.cells = int(self.sweep.start[1])

    def search(
        self, u: NDArray[np.float64], _known: NDArray[np.float64], /, limits: SearchLimits
    ) -> Searched | None:
        """Search multipliers of points; ``None`` where the time ended it."""
        from discreet.kanonymity.kernels.dearest import sweep

        classes = room_for(len(u), self.k)
        ratio = np.ones(len(u))
        order = np.argsort(-u, kind="stable").astype(np.int32)
        done = 0
        for begin, stop in portions(self.cells, limits):
            sweep(self.sweep, self.counts, u, order, self.k, begin, stop, classes, ratio)
            done = stop
        if done < self.cells:
            return None
        return Searched(np.where(u > 0, u / ratio, u), *listed(classes))

    def refine(self, value: float, top: float, added: int) -> bool:
        """Choose how near the next trial point is to what is proved; False where the program's value is reached."""
        if not added and self.share > 0:
            # The trial point itself was feasible: look nearer to the program's solution.
            self.share = max(0.0, self.share - 0.2)
            return True
        if added > MANY_CLASSES_PER_POINT * len(self.counts):
            self.share = min(0.7, self.share + 0.1)
        return value < (1 - RELATIVE_GAP_AT_END) * top and added > 0


def _sweep_of(problem: Problem, points: Points, k: int) -> Sweep:
    from discreet.kanonymity.kernels.dearest import Sweep

    codes = points.arrays.codes
    rows = np.diff(points.first)
    numeric = [
        j for j, column in enumerate(problem.columns) if isinstance(column.attribute, Numeric)
    ]
    values = [len(np.unique(codes[:, j])) for j in range(problem.m)]
    swept = max(numeric, key=lambda j: values[j], default=None)
    covers = []
    for j, column in enumerate(problem.columns):
        if j != swept:
            counts = np.bincount(codes[:, j], weights=rows, minlength=len(column.domain))
            cover = cover_of(column, counts.astype(np.int64), k, len(column.domain))
            covers.append((cover, cover.atoms[codes[:, j]]))
    covers.sort(key=lambda one: -len(one[0].costs))
    if not covers:
        one_atom = np.zeros(points.n, dtype=np.int64)
        atoms, start, cost = one_atom[:, None], np.array([0, 1]), np.zeros(1)
        inside, member = np.ones(1, dtype=bool), np.zeros(1, dtype=np.int64)
    else:
        atoms = np.stack([one[1] for one in covers], axis=1)
        start = np.concatenate([[0], np.cumsum([len(c.costs) for c, _ in covers])])
        cost = np.concatenate([c.costs for c, _ in covers])
        inside = np.concatenate([c.members.ravel() for c, _ in covers])
        wide = np.concatenate([np.full(len(c.costs), c.members.shape[1]) for c, _ in covers])
        member = np.concatenate([[0], np.cumsum(wide)[:-1]])
    place = np.zeros(points.n)
    cap = 0.0
    if swept is not None:
        place = problem.columns[swept].place[codes[:, swept]]
        cap = problem.columns[swept].attribute.weight
    return Sweep(atoms, start.astype(np.int64), cost, inside, member.astype(np.int64), place, cap)


def room_for(n: int, k: int) -> FoundBoxes:
    """Allocate arrays for a few classes of each point."""
    from discreet.kanonymity.kernels.dearest import CLASSES_PER_ROOT, FoundBoxes

    shape = (n, CLASSES_PER_ROOT, k)
    points = np.full(shape, -1, dtype=np.int32)
    return FoundBoxes(points, np.zeros(shape, dtype=np.int32), np.zeros(shape[:2]))


def listed(found: FoundBoxes) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """List what was found, the most overpaid first."""
    root, slot = np.nonzero(found.excess > 1e-9)
    order = np.argsort(-found.excess[root, slot], kind="stable")
    root, slot = root[order], slot[order]
    return found.points[root, slot], found.rows[root, slot]
