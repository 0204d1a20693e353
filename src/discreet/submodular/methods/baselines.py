r"""Baselines of private choices: greedy algorithms without noise, and a random base.

Only the random base is private: the others return the same set for the same records, so ``reproduce`` runs them and
``release`` refuses them. All are called as methods are, and need neither a plan nor a source of randomness.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.options import instance_of
from discreet.core.randomness import as_bits
from discreet.submodular.draws.fractional import marginals, swap_round
from discreet.submodular.draws.growing import FreshGains, grow, subset
from discreet.submodular.matroids.capacities import UniformMatroid
from discreet.submodular.method import Chosen, DrawPlan
from discreet.submodular.methods import WITHOUT_GUARANTEE
from discreet.submodular.objectives.objective import Objective, positive
from discreet.submodular.problem import AccountLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.draws.growing import Among, Drawer
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import GrowingChoice
    from discreet.submodular.problem import ChoiceFacts

    OnDraw = Callable[[int], None]


def fits(objective: Objective, matroid: Matroid) -> None:
    """Raise InvalidProblemError unless a function and a matroid have as many elements and are of these types."""
    instance_of(objective, Objective, "objective", "an Objective")
    for name in ("n_elements", "rank"):
        if not hasattr(matroid, name):
            raise InvalidProblemError("matroid", "a Matroid", type(matroid).__name__)
    if objective.n_elements != matroid.n_elements:
        raise InvalidProblemError(
            "matroid", f"{objective.n_elements} elements", f"{matroid.n_elements} elements"
        )


@dataclass(frozen=True)
class _Baseline(ABC):
    """A method that needs neither a plan nor a source of randomness."""

    name: ClassVar[str]

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan | None = None,
        bits: RandomBits | None = None,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Choose a base.

        Parameters
        ----------
        objective
            The function.
        matroid
            The matroid.
        plan
            Ignored.
        bits
            Source of randomness; default: the operating system.
        on_draw
            Called after each choice, or step, with its number.

        Returns
        -------
        tuple of tuple
            Pairs of an element and its kind, in order; those of :class:`ContinuousGreedy` have kind 0 and ascend.

        Raises
        ------
        InvalidProblemError
            For ground sets that differ; for a function that is not known to be submodular (:class:`LazyGreedy`), of
            several kinds (:class:`ContinuousGreedy`, :class:`StochasticGreedy`), or another than a uniform matroid
            (:class:`StochasticGreedy`).
        """
        del plan
        fits(objective, matroid)
        return self._chosen(objective, matroid, as_bits(bits), on_draw or _ignore)

    @abstractmethod
    def _chosen(
        self, objective: Objective, matroid: Matroid, bits: RandomBits, on_draw: OnDraw
    ) -> Chosen: ...


def _ignore(number: int) -> None:
    """Ignore the progress of the draws."""


class _WithoutNoise(_Baseline):
    """A baseline that adds no noise; ``reproduce`` runs it."""

    def unproven(self, matroid: Matroid) -> str:
        """Return the reason why there is no guarantee."""
        del matroid
        return WITHOUT_GUARANTEE["non-private-greedy"].why_none

    def literal_plan(self, statement: ChoiceFacts, matroid: Matroid) -> DrawPlan:
        """Plan as many draws as a base has elements."""
        del statement
        return DrawPlan(None, (), matroid.rank)

    def _chosen(
        self, objective: Objective, matroid: Matroid, bits: RandomBits, on_draw: OnDraw
    ) -> Chosen:
        """Take a pair of largest gain among the candidates, the first among equals, until a base is reached.

        Returns pairs of an element and its kind; `on_draw` is called with the number of them. Gains of all candidates
        each time.
        """
        among = self._candidates(objective, matroid, bits)
        state = objective.start()
        drawer = self._drawer(state)
        return grow(state, matroid.start(), drawer, matroid.rank, among=among, on_draw=on_draw)

    def _candidates(self, objective: Objective, matroid: Matroid, bits: RandomBits) -> Among | None:
        """Return a sampler of the candidates of each choice, or ``None`` for all feasible elements."""
        del objective, matroid, bits
        return None

    def _drawer(self, state: GrowingChoice) -> Drawer:
        """Return what picks the pair of largest gain at each choice, from gains computed anew."""
        return FreshGains(state, lambda gains: int(np.argmax(gains)))


@final
class _LazyBest:
    """Takes the same pair, and evaluates only gains that may be the largest: those of before are upper bounds.

    The first evaluation has `first_batch` stale gains, doubled each time, since a call costs several evaluations.
    """

    def __init__(self, state: GrowingChoice, first_batch: int = 16) -> None:
        self._state, self._first_batch = state, first_batch
        self._bounds = state.gains()
        self._fresh = True

    def draw(self, candidates: NDArray[np.int64]) -> tuple[int, int]:
        """Return the element and the kind of the largest gain among the candidates, the first one of equal gains.

        `candidates` ``(m,)`` are element numbers. Old gains are upper bounds; only gains that may beat the best are
        computed anew, in batches.

        Precondition: an element that was no candidate once never is again; its bound is dropped. Gains
        must never rise.
        """
        bounds = self._bounds
        feasible = np.zeros(len(bounds), dtype=np.bool_)
        feasible[candidates] = True
        bounds[~feasible] = -1
        stale = np.zeros_like(feasible) if self._fresh else feasible
        self._fresh = False
        batch = self._first_batch
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
            bounds[some] = self._state.gains(some)
            stale[some] = False
        at = int(np.argmax(np.where(stale[:, None], -1, bounds)))
        return at // bounds.shape[1], at % bounds.shape[1]


@final
@dataclass(frozen=True)
class Greedy(_WithoutNoise):
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

    name: ClassVar[str] = "non-private-greedy"


@final
@dataclass(frozen=True)
class LazyGreedy(_WithoutNoise):
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

    name: ClassVar[str] = "lazy-greedy"

    def _drawer(self, state: GrowingChoice) -> Drawer:
        """Return what picks the pair of largest gain, with old gains as bounds; refuse a function not submodular."""
        if not state.objective.submodular:
            expected = "a function known to be submodular"
            raise InvalidProblemError("objective", expected, repr(state.objective))
        return _LazyBest(state)


@final
@dataclass(frozen=True)
class StochasticGreedy(_WithoutNoise):
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
    name: ClassVar[str] = "stochastic-greedy"

    def __post_init__(self) -> None:
        if not 0 < to_fraction(self.gamma, "gamma") < 1:
            raise InvalidProblemError("gamma", "a number between 0 and 1", self.gamma)

    def _candidates(self, objective: Objective, matroid: Matroid, bits: RandomBits) -> Among:
        """Return a sampler of ``ceil(n / r log(1 / gamma))`` feasible elements for each addition.

        Raises
        ------
        InvalidProblemError
            For another matroid than a uniform one, or several kinds.
        """
        if not isinstance(matroid, UniformMatroid) or objective.n_kinds != 1:
            raise InvalidProblemError("matroid", "a uniform matroid and one kind", matroid)
        log = -math.log(to_fraction(self.gamma, "gamma"))
        size = math.ceil(objective.n_elements / max(1, matroid.rank) * log)
        return lambda _number, _chosen, feasible: subset(feasible, size, bits)


@final
@dataclass(frozen=True)
class ContinuousGreedy(_WithoutNoise):
    r"""Move toward the base of largest marginals T times, and round.

    Parameters
    ----------
    steps
        T. As many as the rank give 0.4685 and not 1 - 1/e, see the theory page; :math:`r/\eta` give
        :math:`1 - e^{-(1 - \eta)}`.
    samples
        Random sets behind each estimate of marginals, where there is no closed form.

    Guarantee
    ---------
    No privacy. In expectation :math:`1 - (1 - (1 - (1 - 1/T)^r)/r)^T` of the optimum with exact marginals, for one kind
    under any matroid.

    References
    ----------
    [CCPV11]_; rounding of [CVZ10]_.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False, True], [True, True, False], [False, True, False]])
    >>> sorted(ContinuousGreedy(steps=1).choose(reach, UniformMatroid(3, 2)))
    [(0, 0), (1, 0)]
    """

    steps: int = 100
    samples: int = 64
    name: ClassVar[str] = "continuous-greedy"

    def __post_init__(self) -> None:
        for name in ("steps", "samples"):
            positive(getattr(self, name), name)

    def _chosen(
        self, objective: Objective, matroid: Matroid, bits: RandomBits, on_draw: OnDraw
    ) -> Chosen:
        """Add the heaviest base for the marginals at x, `steps` times, and round the bases to one by swaps.

        Returns pairs of an element and kind 0. More than one kind is refused.

        Each step takes all marginals: a closed form, or `samples` random sets.
        """
        if objective.n_kinds != 1:
            raise InvalidProblemError("objective", "a function of one kind", objective)
        x = np.zeros(objective.n_elements, dtype=np.int64)
        bases = []
        for number in range(self.steps):
            scores, _ = marginals(objective, x, self.steps, self.samples, bits)
            bases.append(heaviest_base(matroid, scores))
            x[list(bases[-1])] += 1
            on_draw(number + 1)
        return tuple((element, 0) for element in swap_round(matroid, bases, bits=bits))


@final
@dataclass(frozen=True)
class RandomBase(_Baseline):
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

    name: ClassVar[str] = "random-base"

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Plan as many draws as a base has elements; any guarantee holds.

        The line of account has the rule ``"no data"`` and a loss of 0; there is no coefficient.
        """
        del statement
        line = AccountLine("no data", guarantee, matroid.rank, Fraction(0))
        return DrawPlan(None, (line,), matroid.rank, mechanism="blind")

    def _chosen(
        self, objective: Objective, matroid: Matroid, bits: RandomBits, on_draw: OnDraw
    ) -> Chosen:
        """Go through the elements in random order, and add each that keeps the set independent, with a random kind.

        Returns pairs of an element and its kind. `on_draw` is called with the size of the set after each addition.

        One :meth:`IndependentSet.feasible` for each element.
        """
        left = np.arange(objective.n_elements)
        grown = matroid.start()
        chosen = []
        for at in range(len(left)):
            other = at + bits.randrange(len(left) - at)
            left[[at, other]] = left[[other, at]]
            element = int(left[at])
            if grown.feasible()[element]:
                grown.add(element)
                chosen.append((element, int(bits.randrange(objective.n_kinds))))
                on_draw(len(chosen))
        return tuple(chosen)


def heaviest_base(matroid: Matroid, weights: NDArray[np.int64]) -> tuple[int, ...]:
    """Return a base of largest total weight, its elements in falling order of weight; the first among equals.

    `weights` is ``(n,)``. A sort, and one :meth:`IndependentSet.feasible` for each element.
    """
    return matroid.start().take(np.argsort(-weights, kind="stable").tolist()).members
