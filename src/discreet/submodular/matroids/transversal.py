"""The transversal matroid: sets that can be matched to slots."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import digest_array
from discreet.submodular.matroids.base import IndependentSet, Matroid, greedy_rank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["TransversalMatroid"]


@final
class TransversalMatroid(Matroid):
    """Sets whose elements can all be given different slots that suit them.

    Parameters
    ----------
    suits
        ``(n_elements, n_slots)`` booleans: which slots suit an element.

    Attributes
    ----------
    suits
        The table, read-only.

    Raises
    ------
    InvalidProblemError
        For anything but a table of booleans.

    Examples
    --------
    >>> matroid = TransversalMatroid([[True, False], [True, False], [True, True]])
    >>> matroid.rank, matroid.is_independent([0, 2]), matroid.is_independent([0, 1])
    (2, True, False)
    """

    def __init__(self, suits: ArrayLike) -> None:
        read = np.array(suits)
        if read.ndim != 2 or read.dtype != np.bool_ or not len(read):
            raise InvalidProblemError("suits", "a table of booleans", f"{read.dtype} {read.shape}")
        self.suits: NDArray[np.bool_] = read
        self.suits.setflags(write=False)
        self.n_elements = len(read)
        self.rank = greedy_rank(self)

    def start(self) -> IndependentSet:
        """Start with the empty set."""
        return _Matched(self)

    def _facts(self) -> str:
        return digest_array(self.suits)


class _Matched(IndependentSet):
    """A matching, and for each slot the next one on a way to a free slot.

    An element fits if some slot that suits it is free, or can be freed by moving what holds it along such a way.
    """

    def __init__(self, matroid: TransversalMatroid) -> None:
        super().__init__(matroid)
        self._suits = matroid.suits
        self._holder = np.full(matroid.suits.shape[1], -1)
        self._matched = np.zeros(matroid.n_elements, dtype=np.bool_)
        self._trace()

    def _trace(self) -> None:
        free = np.flatnonzero(self._holder < 0).tolist()
        self._next = dict.fromkeys(free, -1)
        held = np.flatnonzero(self._holder >= 0)
        queue = list(free)
        for slot in queue:
            movable = held[self._suits[self._holder[held], slot]] if len(held) else held
            for other in movable.tolist():
                if other not in self._next:
                    self._next[other] = slot
                    queue.append(other)

    def feasible(self) -> NDArray[np.bool_]:
        reach = self._suits[:, sorted(self._next)].any(axis=1)
        return np.asarray(reach & ~self._matched)

    def _add(self, element: int) -> None:
        slot = next(s for s in sorted(self._next) if self._suits[element, s])
        moving = element
        while slot >= 0:
            moving, self._holder[slot] = int(self._holder[slot]), moving
            slot = self._next[slot]
        self._matched[element] = True
        self._trace()
