"""The linear matroid over the field of two elements: sets of independent vectors of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import digest_array
from discreet.submodular.matroids.base import IndependentSet, Matroid, greedy_rank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LinearMatroid"]


@final
class LinearMatroid(Matroid):
    """Sets of vectors over GF(2) none of which is a sum of others.

    Parameters
    ----------
    vectors
        ``(n_elements, dimensions)`` booleans, a vector for each element.

    Attributes
    ----------
    vectors
        The vectors, read-only.

    Raises
    ------
    InvalidProblemError
        For anything but a table of booleans.

    Examples
    --------
    >>> matroid = LinearMatroid([[True, False], [False, True], [True, True]])
    >>> matroid.rank, matroid.is_independent([1, 2]), matroid.is_independent([0, 1, 2])
    (2, True, False)
    """

    def __init__(self, vectors: ArrayLike) -> None:
        read = np.array(vectors)
        if read.ndim != 2 or read.dtype != np.bool_ or not len(read):
            raise InvalidProblemError(
                "vectors", "a table of booleans", f"{read.dtype} {read.shape}"
            )
        self.vectors: NDArray[np.bool_] = read
        self.vectors.setflags(write=False)
        self.n_elements = len(read)
        self.rank = greedy_rank(self)

    def start(self) -> IndependentSet:
        """Start with the empty set."""
        return _Reduced(self)

    def _facts(self) -> str:
        return digest_array(self.vectors)


class _Reduced(IndependentSet):
    """Every vector minus its part in the span of the chosen ones: those that vanish do not fit."""

    def __init__(self, matroid: LinearMatroid) -> None:
        super().__init__(matroid)
        self._rest = matroid.vectors.copy()

    def feasible(self) -> NDArray[np.bool_]:
        return np.asarray(self._rest.any(axis=1))

    def _add(self, element: int) -> None:
        vector = self._rest[element].copy()
        pivot = int(np.argmax(vector))
        self._rest[self._rest[:, pivot]] ^= vector
