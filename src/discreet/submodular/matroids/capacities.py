r"""The uniform matroid: at most so many elements, whichever they are.

The partition matroid: at most so many elements of each group.

The laminar matroid: groups within groups, each with a capacity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import array_of
from discreet.core.outcome import digest_array
from discreet.submodular.matroids.base import IndependentSet, Matroid, count, greedy_rank
from discreet.submodular.objectives.objective import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray


@final
class UniformMatroid(Matroid):
    """Sets of at most ``rank`` elements.

    Parameters
    ----------
    n_elements
        Size of the ground set, at least 1.
    rank
        How many elements a base has, at most `n_elements`.

    Raises
    ------
    InvalidProblemError
        For numbers that make no sense.

    Examples
    --------
    >>> matroid = UniformMatroid(5, 2)
    >>> chosen = matroid.start()
    >>> chosen.add(3)
    >>> chosen.feasible().tolist()
    [True, True, True, False, True]
    >>> matroid.is_independent([0, 1, 2])
    False
    """

    def __init__(self, n_elements: int, rank: int) -> None:
        self.n_elements = count(n_elements, "n_elements", 1)
        self.rank = count(rank, "rank")
        if self.rank > self.n_elements:
            raise InvalidProblemError("rank", f"at most {self.n_elements}", rank)

    def start(self) -> IndependentSet:
        """Return a new independent set without elements; ``O(n_elements)``, and so is each addition."""
        return _Few(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether a set has at most ``rank`` elements; raise InvalidProblemError for an unknown element."""
        return len(self.check(chosen)) <= self.rank

    def _facts(self) -> str:
        return f"{self.n_elements} {self.rank}"


class _Few(IndependentSet):
    def __init__(self, matroid: UniformMatroid) -> None:
        super().__init__(matroid)
        self._free = np.full(matroid.n_elements, matroid.rank > 0)
        self._left = matroid.rank

    def feasible(self) -> NDArray[np.bool_]:
        return self._free.copy()

    def _add(self, element: int) -> None:
        """Close the element, and all others once the capacity is used."""
        self._left -= 1
        self._free[element] = False
        if not self._left:
            self._free[:] = False


@final
class PartitionMatroid(Matroid):
    """Sets with at most ``capacities[g]`` elements of each group g.

    Parameters
    ----------
    labels
        ``(n_elements,)`` the group of each element, numbered from 0.
    capacities
        One integer for each group, or one for all.

    Attributes
    ----------
    labels
        The groups, read-only.
    capacities
        ``(n_groups,)`` capacities, read-only.

    Raises
    ------
    InvalidProblemError
        For labels that are no numbers from 0, or capacities that do not fit them.

    Examples
    --------
    >>> matroid = PartitionMatroid([0, 0, 1, 1, 1], [1, 2])
    >>> matroid.rank
    3
    >>> chosen = matroid.start()
    >>> chosen.add(1)
    >>> chosen.feasible().tolist()
    [False, False, True, True, True]
    """

    def __init__(self, labels: ArrayLike, capacities: ArrayLike) -> None:
        read = array_of(labels, "labels", "one group for each element")
        if read.ndim != 1 or not read.size or not np.issubdtype(read.dtype, np.integer):
            raise InvalidProblemError(
                "labels", "one group for each element", f"{read.dtype} {read.shape}"
            )
        if read.min() < 0:
            raise InvalidProblemError("labels", "groups numbered from 0", int(read.min()))
        self.labels: NDArray[np.int64] = read.astype(np.int64)
        sizes = np.bincount(self.labels)
        limits = array_of(capacities, "capacities", "whole numbers")
        if not np.issubdtype(limits.dtype, np.integer) or limits.shape not in {(), sizes.shape}:
            raise InvalidProblemError(
                "capacities", f"an integer for each of {len(sizes)} groups", f"shape {limits.shape}"
            )
        self.capacities: NDArray[np.int64] = np.array(
            np.broadcast_to(limits, sizes.shape), np.int64
        )
        count(int(self.capacities.min()), "capacities")
        self.labels.setflags(write=False)
        self.capacities.setflags(write=False)
        self.n_elements = len(self.labels)
        self.rank = int(np.minimum(sizes, self.capacities).sum())

    def start(self) -> IndependentSet:
        """Return a new independent set without elements; ``O(n_elements)``, and so is each addition."""
        return _Grouped(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether no group holds more than its capacity; raise InvalidProblemError for an unknown element."""
        groups = self.labels[np.array(self.check(chosen), dtype=np.int64)]
        return bool((np.bincount(groups, minlength=len(self.capacities)) <= self.capacities).all())

    def _facts(self) -> str:
        return f"{digest_array(self.labels)} {digest_array(self.capacities)}"


class _Grouped(IndependentSet):
    def __init__(self, matroid: PartitionMatroid) -> None:
        super().__init__(matroid)
        self._labels = matroid.labels
        self._left = matroid.capacities.copy()
        self._free: NDArray[np.bool_] = self._left[self._labels] > 0

    def feasible(self) -> NDArray[np.bool_]:
        return self._free.copy()

    def _add(self, element: int) -> None:
        """Take one from the capacity of the element's group, and close the group when nothing is left of it."""
        group = self._labels[element]
        self._left[group] -= 1
        self._free[element] = False
        if not self._left[group]:
            self._free[self._labels == group] = False


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
        """Return a new independent set without elements; linear in the elements of all groups."""
        return _Nested(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether no group holds more of `chosen` than its capacity.

        Raise InvalidProblemError for an unknown element. Linear in the elements of all groups.
        """
        members = np.zeros(self.n_elements, dtype=np.bool_)
        members[list(self.check(chosen))] = True
        return all(
            int(members[group].sum()) <= capacity
            for group, capacity in zip(self.groups, self.capacities, strict=True)
        )

    def _facts(self) -> str:
        """Return what the digest covers: size, sets and capacities."""
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
        """Take one from the capacity of each set that holds the element, and close those of which nothing is left."""
        self._free[element] = False
        for g, group in enumerate(self._groups):
            at = int(np.searchsorted(group, element))
            if at < len(group) and group[at] == element:
                self._left[g] -= 1
                if not self._left[g]:
                    self._free[group] = False
