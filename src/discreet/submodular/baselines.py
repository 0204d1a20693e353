"""What private choices are compared with: greedy algorithms that read the records as they are, and a random base.

None but the last keeps anything private: each returns the same set for the same records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.submodular.matroids.uniform import UniformMatroid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objective import Objective

__all__ = ["Greedy", "LazyGreedy", "RandomBase", "StochasticGreedy", "fits"]

Pairs = tuple[tuple[int, int], ...]

_BATCH = 16
"""Stale gains that are evaluated first, then twice as many each time: a call costs as much as a few evaluations."""


def fits(objective: Objective, matroid: Matroid) -> None:
    """Refuse a function and a matroid on different ground sets."""
    if objective.n_elements != matroid.n_elements:
        raise InvalidProblemError(
            "matroid", f"{objective.n_elements} elements", f"{matroid.n_elements} elements"
        )


@final
@dataclass(frozen=True)
class Greedy:
    """Take the pair of largest gain, the first among equals, until a base is reached.

    Guarantee
    ---------
    No privacy. For monotone functions 1/2 of the optimum under any matroid, with one kind or more, and 1 - 1/e for one
    kind under a uniform matroid.

    References
    ----------
    [NWF78]_, [FNW78]_ under a matroid; for several kinds [OY15]_ and [Sak17]_.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, True], [True, True, False], [False, True, False]])
    >>> Greedy().choose(reach, UniformMatroid(3, 2))
    ((0, 0), (1, 0))
    """

    @property
    def name(self) -> str:
        """The name that people type."""
        return "non-private-greedy"

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        on_draw: Callable[[int], None] | None = None,
    ) -> Pairs:
        """Choose a base.

        Parameters
        ----------
        objective
            The function.
        matroid
            What may be chosen.
        on_draw
            Called after each choice with its number.

        Returns
        -------
        tuple of tuple
            Pairs of an element and its kind, in order.
        """
        fits(objective, matroid)
        state, grown = objective.start(), matroid.start()
        for number in range(matroid.rank):
            candidates = np.flatnonzero(grown.feasible())
            gains = state.gains(candidates)
            at = int(np.argmax(gains))
            element, kind = int(candidates[at // gains.shape[1]]), at % gains.shape[1]
            state.add(element, kind)
            grown.add(element)
            if on_draw is not None:
                on_draw(number + 1)
        return state.members


@final
@dataclass(frozen=True)
class LazyGreedy:
    """The same choice as :class:`Greedy`, with old gains as upper bounds of new ones.

    A gain never rises as the set grows, so that an element whose old gain is below a fresh one need not be looked at.

    Guarantee
    ---------
    No privacy; the approximation of :class:`Greedy`.

    References
    ----------
    [Min78]_

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, True], [True, True, False], [False, True, False]])
    >>> LazyGreedy().choose(reach, UniformMatroid(3, 2))
    ((0, 0), (1, 0))
    """

    @property
    def name(self) -> str:
        """The name that people type."""
        return "lazy-greedy"

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        on_draw: Callable[[int], None] | None = None,
    ) -> Pairs:
        """Choose a base, as :meth:`Greedy.choose` does.

        Raises
        ------
        InvalidProblemError
            For a function that is not known to be submodular.
        """
        fits(objective, matroid)
        if not objective.submodular:
            raise InvalidProblemError("objective", "a function known to be submodular", "another")
        state, grown = objective.start(), matroid.start()
        bounds = state.gains()
        for number in range(matroid.rank):
            stale = grown.feasible()
            bounds[~stale] = -1
            # After the first choice every bound is old.
            if not number:
                stale[:] = False
            batch = _BATCH
            while stale.any():
                fresh = np.where(stale, -1, bounds.max(axis=1))
                best = int(np.argmax(fresh))
                open_ = np.flatnonzero(stale)
                old = bounds[open_].max(axis=1)
                # An equal bound of an earlier element still decides a tie.
                threat = (old > fresh[best]) | ((old == fresh[best]) & (open_ < best))
                if not threat.any():
                    break
                some = open_[threat]
                some = some[np.argsort(-old[threat], kind="stable")[:batch]]
                batch *= 2
                bounds[some] = state.gains(some)
                stale[some] = False
            at = int(np.argmax(np.where(stale[:, None], -1, bounds)))
            element, kind = divmod(at, objective.n_kinds)
            state.add(element, kind)
            grown.add(element)
            if on_draw is not None:
                on_draw(number + 1)
        return state.members


@final
@dataclass(frozen=True)
class StochasticGreedy:
    r"""Take the pair of largest gain within a random subset of :math:`\lceil (n/r) \ln(1/\gamma) \rceil` elements.

    Parameters
    ----------
    gamma
        :math:`\gamma`, between 0 and 1: what the expected ratio loses.

    Guarantee
    ---------
    No privacy. In expectation :math:`1 - 1/e - \gamma` of the optimum, for one kind under a uniform matroid.

    Complexity
    ----------
    :math:`n \ln(1/\gamma)` gains in all.

    References
    ----------
    [MBKVK15]_, Algorithm 1.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, True], [True, True, False], [False, True, False]])
    >>> len(StochasticGreedy("0.1").choose(reach, UniformMatroid(3, 2)))
    2
    """

    gamma: Exact = Fraction(1, 10)

    def __post_init__(self) -> None:
        if not 0 < to_fraction(self.gamma, "gamma") < 1:
            raise InvalidProblemError("gamma", "a number between 0 and 1", self.gamma)

    @property
    def name(self) -> str:
        """The name that people type."""
        return "stochastic-greedy"

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        on_draw: Callable[[int], None] | None = None,
        *,
        bits: RandomBits | None = None,
    ) -> Pairs:
        """Choose a base, as :meth:`Greedy.choose` does, with chance from `bits`.

        Raises
        ------
        InvalidProblemError
            For several kinds, or another than a uniform matroid.
        """
        fits(objective, matroid)
        if not isinstance(matroid, UniformMatroid) or objective.n_kinds != 1:
            raise InvalidProblemError("matroid", "a uniform matroid and one kind", matroid)
        source = _source(bits)
        log = -math.log(to_fraction(self.gamma, "gamma"))
        size = math.ceil(objective.n_elements / max(1, matroid.rank) * log)
        state, grown = objective.start(), matroid.start()
        for number in range(matroid.rank):
            candidates = _some(np.flatnonzero(grown.feasible()), size, source)
            element = int(candidates[np.argmax(state.gains(candidates)[:, 0])])
            state.add(element)
            grown.add(element)
            if on_draw is not None:
                on_draw(number + 1)
        return state.members


@final
@dataclass(frozen=True)
class RandomBase:
    """Look at the elements in random order, and take each that fits, with a random kind.

    Guarantee
    ---------
    Perfect privacy: the records are not read.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, True]])
    >>> len(RandomBase().choose(reach, UniformMatroid(3, 2)))
    2
    """

    @property
    def name(self) -> str:
        """The name that people type."""
        return "random-base"

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        on_draw: Callable[[int], None] | None = None,
        *,
        bits: RandomBits | None = None,
    ) -> Pairs:
        """Choose a base; of the function only the sizes of its ground set are read."""
        fits(objective, matroid)
        source = _source(bits)
        everything = np.arange(objective.n_elements)
        grown = matroid.start()
        chosen = []
        for element in _some(everything, len(everything), source).tolist():
            if grown.feasible()[element]:
                grown.add(element)
                chosen.append((element, int(source.randrange(objective.n_kinds))))
                if on_draw is not None:
                    on_draw(len(chosen))
        return tuple(chosen)


def _source(bits: RandomBits | None) -> RandomBits:
    from discreet.core.randomness import SystemBits

    return SystemBits() if bits is None else bits


def _some(elements: NDArray[np.int64], size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw so many different elements, uniformly, in random order."""
    left = elements.copy()
    for i in range(min(size, len(left))):
        j = i + bits.randrange(len(left) - i)
        left[[i, j]] = left[[j, i]]
    return left[:size]
