"""The laminar matroid: groups within groups, each with a capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.matroids.base import IndependentSet, Matroid, count, greedy_rank
from discreet.submodular.objective import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["LaminarMatroid"]


@final
class LaminarMatroid(Matroid):
    """Sets with at most ``capacities[g]`` elements of each group g, where groups are nested or disjoint.

    Parameters
    ----------
    n_elements
        Size of the ground set.
    groups
        Elements of each group. Any two groups are disjoint, or one holds the other.
    capacities
        One integer for each group.

    Attributes
    ----------
    groups
        The groups as arrays, read-only, smaller ones first.
    capacities
        Their capacities, in the same order.

    Raises
    ------
    InvalidProblemError
        For groups that cross, or capacities that do not fit them.

    Examples
    --------
    >>> matroid = LaminarMatroid(4, [[0, 1, 2, 3], [0, 1]], [2, 1])
    >>> matroid.rank, matroid.is_independent([0, 1]), matroid.is_independent([1, 2])
    (2, False, True)
    """

    def __init__(
        self, n_elements: int, groups: Sequence[Sequence[int]], capacities: Sequence[int]
    ) -> None:
        self.n_elements = count(n_elements, "n_elements", 1)
        if len(groups) != len(capacities):
            raise InvalidProblemError("capacities", f"{len(groups)} integers", len(capacities))
        limits = [count(capacity, "capacities") for capacity in capacities]
        read = [np.unique(positions(list(group), self.n_elements)) for group in groups]
        order = sorted(range(len(read)), key=lambda g: len(read[g]))
        self.groups: tuple[NDArray[np.int64], ...] = tuple(read[g] for g in order)
        self.capacities: tuple[int, ...] = tuple(limits[g] for g in order)
        for group in self.groups:
            group.setflags(write=False)
        inside = np.full(self.n_elements, -1)
        for g, group in enumerate(self.groups):
            # Smaller groups come first: a group that crosses one holds some of it and not all.
            for other in np.unique(inside[group][inside[group] >= 0]).tolist():
                if not np.isin(self.groups[other], group).all():
                    raise InvalidProblemError(
                        "groups", "nested or disjoint groups", f"{order[other]} and {order[g]}"
                    )
            inside[group] = g
        self.rank = greedy_rank(self)

    def start(self) -> IndependentSet:
        """Start with the empty set."""
        return _Nested(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Tell whether no group holds more than its capacity."""
        members = np.zeros(self.n_elements, dtype=np.bool_)
        members[list(self.check(chosen))] = True
        return all(
            int(members[group].sum()) <= capacity
            for group, capacity in zip(self.groups, self.capacities, strict=True)
        )

    def _facts(self) -> str:
        groups = [group.tolist() for group in self.groups]
        return f"{self.n_elements} {groups} {self.capacities}"


class _Nested(IndependentSet):
    def __init__(self, matroid: LaminarMatroid) -> None:
        super().__init__(matroid)
        self._groups = matroid.groups
        self._left = list(matroid.capacities)
        self._free = np.ones(matroid.n_elements, dtype=np.bool_)
        for group, left in zip(self._groups, self._left, strict=True):
            if not left:
                self._free[group] = False

    def feasible(self) -> NDArray[np.bool_]:
        return self._free.copy()

    def _add(self, element: int) -> None:
        self._free[element] = False
        for g, group in enumerate(self._groups):
            at = int(np.searchsorted(group, element))
            if at < len(group) and group[at] == element:
                self._left[g] -= 1
                if not self._left[g]:
                    self._free[group] = False
