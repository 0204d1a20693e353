"""The uniform matroid: at most so many elements, whichever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.matroids.base import IndependentSet, Matroid, count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["UniformMatroid"]


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
        """Start with the empty set."""
        return _Few(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Tell whether a set has at most ``rank`` elements."""
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
        self._left -= 1
        self._free[element] = False
        if not self._left:
            self._free[:] = False
