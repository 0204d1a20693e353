"""Matroids made from matroids: truncation, direct sum, dual, contraction."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.matroids.base import IndependentSet, Matroid, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray


@final
class Truncation(Matroid):
    """The independent sets of a matroid that have at most so many elements.

    Parameters
    ----------
    matroid
        The matroid.
    rank
        The most elements; no effect beyond the rank of the matroid.

    Examples
    --------
    >>> from discreet.submodular import PartitionMatroid
    >>> matroid = Truncation(PartitionMatroid([0, 1, 2], 1), 2)
    >>> matroid.rank, matroid.is_independent([0, 1, 2])
    (2, False)
    """

    def __init__(self, matroid: Matroid, rank: int) -> None:
        self.matroid = matroid
        self.n_elements = matroid.n_elements
        self.rank = min(matroid.rank, count(rank, "rank"))

    def start(self) -> IndependentSet:
        """Return a new independent set without elements, at the cost of the inner matroid's ``start``."""
        return _Short(self)

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether a set is small enough and independent; raise InvalidProblemError for an unknown element."""
        members = self.check(chosen)
        return len(members) <= self.rank and self.matroid.is_independent(members)

    def _facts(self) -> str:
        return f"{self.matroid.digest} {self.rank}"


class _Short(IndependentSet):
    def __init__(self, matroid: Truncation) -> None:
        super().__init__(matroid)
        self._inner = matroid.matroid.start()
        self._left = matroid.rank

    def feasible(self) -> NDArray[np.bool_]:
        """Return the inner set's feasible elements ``(n,)``, or none once it is long enough."""
        mask = self._inner.feasible()
        return mask if self._left else np.zeros_like(mask)

    def _add(self, element: int) -> None:
        """Add the element to the inner set, and count it."""
        self._inner.add(element)
        self._left -= 1


@final
class DirectSum(Matroid):
    """Matroids side by side: a set is independent where each of its parts is.

    Parameters
    ----------
    matroids
        The matroids. The elements of the first come first, then those of the second.

    Raises
    ------
    InvalidProblemError
        Where there is no matroid.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> matroid = DirectSum([UniformMatroid(2, 1), UniformMatroid(3, 2)])
    >>> matroid.n_elements, matroid.rank, matroid.is_independent([0, 3, 4])
    (5, 3, True)
    """

    def __init__(self, matroids: Sequence[Matroid]) -> None:
        self.matroids = tuple(matroids)
        if not self.matroids:
            raise InvalidProblemError("matroids", "at least one matroid", "none")
        ends = np.cumsum([matroid.n_elements for matroid in self.matroids]).tolist()
        self.starts: tuple[int, ...] = (0, *ends[:-1])
        self.n_elements = int(ends[-1])
        self.rank = sum(matroid.rank for matroid in self.matroids)

    def start(self) -> IndependentSet:
        """Return a new independent set without elements: a new one of each part."""
        return _Beside(self)

    def _facts(self) -> str:
        return " ".join(matroid.digest for matroid in self.matroids)


class _Beside(IndependentSet):
    def __init__(self, matroid: DirectSum) -> None:
        super().__init__(matroid)
        self._parts = [part.start() for part in matroid.matroids]
        self._starts = np.array(matroid.starts)

    def feasible(self) -> NDArray[np.bool_]:
        return np.concatenate([part.feasible() for part in self._parts])

    def _add(self, element: int) -> None:
        """Add the element to the set of its part, under its number there."""
        part = int(np.searchsorted(self._starts, element, side="right")) - 1
        self._parts[part].add(element - int(self._starts[part]))


@final
class Dual(Matroid):
    """The sets whose complement still holds a base of a matroid.

    Parameters
    ----------
    matroid
        The matroid.

    Complexity
    ----------
    The mask after each choice takes about ``rank^2`` steps of the matroid.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> matroid = Dual(UniformMatroid(5, 2))
    >>> matroid.rank, matroid.is_independent([0, 1, 2]), matroid.is_independent([0, 1, 2, 3])
    (3, True, False)
    """

    def __init__(self, matroid: Matroid) -> None:
        self.matroid = matroid
        self.n_elements = matroid.n_elements
        self.rank = matroid.n_elements - matroid.rank

    def start(self) -> IndependentSet:
        """Return a new independent set without elements; ``O(n_elements)``.

        The work is in its :meth:`IndependentSet.feasible`.
        """
        return _Spared(self)

    def _facts(self) -> str:
        return self.matroid.digest


class _Spared(IndependentSet):
    def __init__(self, matroid: Dual) -> None:
        super().__init__(matroid)
        self._primal = matroid.matroid
        self._out = np.zeros(matroid.n_elements, dtype=np.bool_)
        self._mask: NDArray[np.bool_] | None = None

    def feasible(self) -> NDArray[np.bool_]:
        """As :meth:`IndependentSet.feasible`; after each addition it builds a base of the rest anew.

        With a base of r elements that takes r^2 additions to sets of the matroid.
        """
        if self._mask is None:
            self._mask = self._spare()
        return self._mask.copy()

    def _spare(self) -> NDArray[np.bool_]:
        """Return the elements, ``(n,)`` booleans, that are not in every base of the remaining elements."""
        base = self._primal.start().take(np.flatnonzero(~self._out).tolist()).members
        mask = ~self._out
        mask[list(base)] = False
        outside = mask.copy()
        for element in base:
            rest = self._primal.start().take(other for other in base if other != element)
            mask[element] = bool((rest.feasible() & outside).any())
        return mask

    def _add(self, element: int) -> None:
        """Note the element as left out; the feasible ones are computed anew when asked for."""
        self._out[element] = True
        self._mask = None


@final
class Contraction(Matroid):
    """The sets that stay independent together with given elements.

    Elements keep their numbers; those that were contracted can no longer be chosen.

    Parameters
    ----------
    matroid
        The matroid.
    elements
        What is contracted. Of a dependent set a maximal independent part counts.

    Examples
    --------
    >>> from discreet.submodular import GraphicMatroid
    >>> matroid = Contraction(GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]]), [0])
    >>> matroid.rank, matroid.is_independent([1]), matroid.is_independent([0])
    (1, True, False)
    """

    def __init__(self, matroid: Matroid, elements: Iterable[int]) -> None:
        self.matroid = matroid
        self.n_elements = matroid.n_elements
        self.elements = self.check(elements)
        self.rank = len(self.start().take(range(self.n_elements)).members)

    def start(self) -> IndependentSet:
        """Return a new independent set without elements; the contracted ones are added inside, one addition each."""
        return _Beyond(self)

    def _facts(self) -> str:
        return f"{self.matroid.digest} {self.elements}"


class _Beyond(IndependentSet):
    def __init__(self, matroid: Contraction) -> None:
        super().__init__(matroid)
        self._gone = list(matroid.elements)
        self._inner = matroid.matroid.start().take(self._gone)

    def feasible(self) -> NDArray[np.bool_]:
        """Return the inner set's feasible elements ``(n,)``, the contracted ones excepted."""
        mask = self._inner.feasible()
        mask[self._gone] = False
        return mask

    def _add(self, element: int) -> None:
        self._inner.add(element)
