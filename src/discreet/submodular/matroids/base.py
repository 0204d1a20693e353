"""Matroids: a rank, a test of independence, and independent sets that grow, with a mask of the elements that fit."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.objectives.objective import positions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class IndependentSet(ABC):
    """An independent set that grows, and the mask of the elements that can be added."""

    def __init__(self, matroid: Matroid) -> None:
        self._matroid = matroid
        self._members: list[int] = []

    @property
    def members(self) -> tuple[int, ...]:
        """The elements, in the order in which they were added."""
        return tuple(self._members)

    @abstractmethod
    def feasible(self) -> NDArray[np.bool_]:
        """Return a mask of the elements that are new and keep the set independent; ``(n_elements,)``."""

    def add(self, element: int) -> None:
        """Add an element in place.

        One :meth:`feasible`, and the update of the mask.

        Raises
        ------
        InvalidProblemError
            If the element is unknown, already a member, or does not fit.
        """
        if not 0 <= element < self._matroid.n_elements:
            expected = f"0 to {self._matroid.n_elements - 1}"
            raise InvalidProblemError("element", expected, element)
        if not self.feasible()[element]:
            raise InvalidProblemError("element", "one that keeps the set independent", element)
        self._add(int(element))
        self._members.append(int(element))

    def take(self, elements: Iterable[int]) -> Self:
        """Add each of `elements`, in their order, that fits, in place, and return the set.

        One :meth:`feasible` for each element, each ``O(n_elements)`` or more. Of all elements it is a base, and has as
        many as the rank.
        """
        for element in elements:
            if self.feasible()[element]:
                self._add(element)
                self._members.append(element)
        return self

    @abstractmethod
    def _add(self, element: int) -> None:
        """Add an element that fits."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._members})"


class Matroid(ABC):
    """A family of independent sets: it holds all subsets of its sets, and its maximal sets have the same size.

    Matroids are public. An element is a number from 0.

    Attributes
    ----------
    n_elements
        Size of the ground set.
    rank
        Size of every base, a maximal independent set.
    """

    n_elements: int
    rank: int

    @abstractmethod
    def start(self) -> IndependentSet:
        """Return a new independent set without elements, to which :meth:`IndependentSet.add` adds."""

    @abstractmethod
    def _facts(self) -> str:
        """Return everything that the matroid consists of, as text."""

    def is_independent(self, chosen: Iterable[int]) -> bool:
        """Return whether the set of elements `chosen` is independent.

        One :meth:`IndependentSet.feasible` for each element.

        Raises
        ------
        InvalidProblemError
            For an unknown element.
        """
        members = self.check(chosen)
        return len(self.start().take(members).members) == len(members)

    def check(self, chosen: Iterable[int]) -> tuple[int, ...]:
        """Return the elements `chosen` as a tuple, ascending and without repetition; a sort.

        Raises
        ------
        InvalidProblemError
            For an unknown element.
        """
        return tuple(sorted({int(e) for e in positions(list(chosen), self.n_elements).tolist()}))

    @property
    def digest(self) -> str:
        """SHA-256 of everything that the matroid consists of."""
        facts = f"discreet.submodular.matroid/1 {type(self).__name__} {self._facts()}"
        return hashlib.sha256(facts.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matroid):
            return NotImplemented
        return type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_elements} elements, rank {self.rank})"


def count(value: object, field: str, least: int = 0) -> int:
    """Read an integer of at least `least`.

    Raises
    ------
    InvalidProblemError
        For any other value, a boolean included; `field` names the argument.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InvalidProblemError(field, f"an integer of at least {least}", repr(value))
    return int(value)
