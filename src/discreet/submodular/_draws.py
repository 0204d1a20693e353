"""Draws from the gains of a growing set, and the loop that all greedy algorithms share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.randomness import exponential_mechanism
from discreet.submodular.lazy_thinning import LazyThinning

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import IndependentSet
    from discreet.submodular.objective import Objective, State

__all__ = ["Drawer", "Eager", "drawer_for", "grow", "subset"]


class Drawer(Protocol):
    """What draws the next pair of an element and its kind."""

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Draw among the elements that may be chosen."""
        ...


@final
class Eager:
    """The exponential mechanism on gains that are all evaluated anew for each draw.

    Parameters
    ----------
    state
        The set that grows.
    rate
        A draw is proportional to exp(rate times the gain), gains in the units of the state.
    bits
        Source of chance.
    """

    def __init__(self, state: State, rate: Fraction, bits: RandomBits) -> None:
        self._state = state
        self._rate = rate
        self._bits = bits

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Draw one pair."""
        gains = self._state.gains(candidates)
        at = exponential_mechanism(gains.reshape(-1), self._rate, 1, monotone=True, bits=self._bits)
        return int(candidates[at // gains.shape[1]]), at % gains.shape[1]


def drawer_for(
    objective: Objective, *, lazy: bool
) -> Callable[[State, Fraction, RandomBits], Drawer]:
    """Choose between the two; lazy thinning needs a function that is known to be submodular."""
    return LazyThinning if lazy and objective.submodular else Eager


def grow(
    state: State,
    grown: IndependentSet,
    drawer: Drawer,
    draws: int,
    *,
    among: Callable[[int, NDArray[np.int64]], NDArray[np.int64]] | None = None,
    on_draw: Callable[[int], None] | None = None,
) -> tuple[tuple[int, int], ...]:
    """Draw one pair after another, and take each in.

    Parameters
    ----------
    state, grown
        Where the choice grows: what it is worth, and what still fits.
    drawer
        What draws.
    draws
        How many.
    among
        For the number of the draw and the feasible elements, those of them that are candidates. All by default.
    on_draw
        Called after each draw with its number.

    Returns
    -------
    tuple of tuple
        Pairs of an element and its kind, in order.
    """
    chosen = []
    for number in range(draws):
        feasible = np.flatnonzero(grown.feasible())
        candidates = feasible if among is None else among(number, feasible)
        if not candidates.size:
            break
        element, kind = drawer.draw(candidates)
        state.add(element, kind)
        grown.add(element)
        chosen.append((element, kind))
        if on_draw is not None:
            on_draw(number + 1)
    return tuple(chosen)


def subset(elements: NDArray[np.int64], size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw a uniform subset of a given size, ascending.

    Examples
    --------
    >>> from discreet.core.randomness import SystemBits
    >>> subset(np.arange(3), 3, SystemBits()).tolist()
    [0, 1, 2]
    """
    if size >= elements.size:
        return elements
    left = elements.copy()
    for i in range(size):
        j = i + bits.randrange(left.size - i)
        left[i], left[j] = left[j], left[i]
    return np.sort(left[:size])
