"""The partition matroid: at most so many elements of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import digest_array
from discreet.submodular.matroids.base import IndependentSet, Matroid, count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["PartitionMatroid"]


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
        read = np.array(labels)
        if read.ndim != 1 or not read.size or not np.issubdtype(read.dtype, np.integer):
            raise InvalidProblemError(
                "labels", "one group for each element", f"{read.dtype} {read.shape}"
            )
        if read.min() < 0:
            raise InvalidProblemError("labels", "groups numbered from 0", int(read.min()))
        self.labels: NDArray[np.int64] = read.astype(np.int64)
        sizes = np.bincount(self.labels)
        given = np.array(capacities)
        if not np.issubdtype(given.dtype, np.integer) or given.shape not in {(), sizes.shape}:
            raise InvalidProblemError(
                "capacities", f"an integer for each of {len(sizes)} groups", f"shape {given.shape}"
            )
        self.capacities: NDArray[np.int64] = np.array(np.broadcast_to(given, sizes.shape), np.int64)
        count(int(self.capacities.min()), "capacities")
        self.labels.setflags(write=False)
        self.capacities.setflags(write=False)
        self.n_elements = len(self.labels)
        self.rank = int(np.minimum(sizes, self.capacities).sum())

    def start(self) -> IndependentSet:
        """Start with the empty set."""
        return _Grouped(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Tell whether no group holds more than its capacity."""
        taken = self.labels[np.array(self.check(chosen), dtype=np.int64)]
        return bool((np.bincount(taken, minlength=len(self.capacities)) <= self.capacities).all())

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
        group = self._labels[element]
        self._left[group] -= 1
        self._free[element] = False
        if not self._left[group]:
            self._free[self._labels == group] = False
