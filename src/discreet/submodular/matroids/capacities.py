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
from discreet.submodular.matroids.base import IndependentSet, Matroid, count
from discreet.submodular.objectives.objective import positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray


class CapacityMatroid(Matroid):
    """Sets with at most so many elements of each of some groups, which are nested or disjoint."""

    _limits: tuple[tuple[NDArray[np.int64], int], ...]
    _innermost: NDArray[np.int64]
    """Number of the smallest group of each element, -1 for none."""
    _outer: list[int]
    """Number of the next larger group around each group, -1 for none."""

    @property
    def limits(self) -> tuple[tuple[NDArray[np.int64], int], ...]:
        """Elements of each group, and its capacity; smaller groups first."""
        return self._limits

    def start(self) -> IndependentSet:
        """Return a new independent set without elements; linear in the elements of all groups."""
        return _Within(self)

    def groups_of(self, element: int) -> Iterator[int]:
        """Yield the numbers of the groups that hold an element, smaller ones first."""
        group = int(self._innermost[element])
        while group >= 0:
            yield group
            group = self._outer[group]

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether no group holds more of `chosen` than its capacity.

        Raise InvalidProblemError for an unknown element. Linear in the elements of all groups.
        """
        members = np.zeros(self.n_elements, dtype=np.bool_)
        members[list(self.check(chosen))] = True
        return all(int(members[group].sum()) <= capacity for group, capacity in self.limits)


class _Within(IndependentSet):
    def __init__(self, matroid: CapacityMatroid) -> None:
        super().__init__(matroid)
        self._of, self._limits = matroid, matroid.limits
        self._left = [capacity for _, capacity in self._limits]
        self._free = np.ones(matroid.n_elements, dtype=np.bool_)
        for group, capacity in self._limits:
            if not capacity:
                self._free[group] = False

    def feasible(self) -> NDArray[np.bool_]:
        return self._free.copy()

    def _add(self, element: int) -> None:
        """Take one from the capacity of each group that holds the element, and close those of which nothing is left."""
        self._free[element] = False
        for number in self._of.groups_of(element):
            self._left[number] -= 1
            if not self._left[number]:
                self._free[self._limits[number][0]] = False


@final
class UniformMatroid(CapacityMatroid):
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

    @property
    def limits(self) -> tuple[tuple[NDArray[np.int64], int], ...]:
        """One group, all elements, with its capacity, the rank; ``O(n_elements)`` at each call."""
        return ((np.arange(self.n_elements), self.rank),)

    def groups_of(self, element: int) -> Iterator[int]:
        """Yield 0, the number of the ground set."""
        del element
        yield 0

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether a set has at most ``rank`` elements; raise InvalidProblemError for an unknown element."""
        return len(self.check(chosen)) <= self.rank

    def _facts(self) -> str:
        return f"{self.n_elements} {self.rank}"


@final
class PartitionMatroid(CapacityMatroid):
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
        groups = np.split(np.argsort(self.labels, kind="stable"), np.cumsum(sizes)[:-1])
        self._limits = tuple(zip(groups, self.capacities.tolist(), strict=True))
        self._innermost, self._outer = self.labels, [-1] * len(groups)

    def _facts(self) -> str:
        return f"{digest_array(self.labels)} {digest_array(self.capacities)}"


@final
class LaminarMatroid(CapacityMatroid):
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
        self._limits = tuple(zip(self.groups, self.capacities, strict=True))
        self._innermost, self._outer = np.full(self.n_elements, -1), [-1] * len(read)
        inside = self._innermost.copy()
        for g, group in enumerate(self.groups):
            # Smaller groups come first: a group that crosses one holds some of it and not all.
            for other in np.unique(inside[group][inside[group] >= 0]).tolist():
                if not np.isin(self.groups[other], group).all():
                    raise InvalidProblemError(
                        "groups", "nested or disjoint groups", f"{order[other]} and {order[g]}"
                    )
                self._outer[other] = g
            self._innermost[group[inside[group] < 0]] = g
            inside[group] = g
        self.rank = len(self.start().take(range(self.n_elements)).members)

    def _facts(self) -> str:
        """Return what the digest covers: size, sets and capacities."""
        groups = [group.tolist() for group in self.groups]
        return f"{self.n_elements} {groups} {self.capacities}"
