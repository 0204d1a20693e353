"""Baselines as methods: greedy without noise, which has no guarantee, and a random base, which has every one."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

from discreet.submodular._method import Chosen, Plan
from discreet.submodular.baselines import Greedy, LazyGreedy, RandomBase, StochasticGreedy
from discreet.submodular.continuous_greedy import ContinuousGreedy
from discreet.submodular.problem import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objective import Objective
    from discreet.submodular.problem import Statement

__all__ = ["Blind", "NonPrivate", "continuous_greedy", "lazy_greedy", "stochastic_greedy"]


@final
@dataclass(frozen=True)
class NonPrivate:
    """A greedy baseline, for ``reproduce``. No privacy.

    Parameters
    ----------
    algorithm
        Which one.

    Examples
    --------
    >>> NonPrivate().name
    'non-private-greedy'
    """

    algorithm: Greedy | LazyGreedy | StochasticGreedy | ContinuousGreedy = field(
        default_factory=Greedy
    )

    @property
    def name(self) -> str:
        """The name that people type."""
        return self.algorithm.name

    def unproven(self, matroid: Matroid) -> str:
        """Say why there is no guarantee."""
        del matroid
        return "no noise is added: the chosen set is a function of the records."

    def literal_plan(self, statement: Statement, matroid: Matroid) -> Plan:
        """Plan as many steps as a base has elements."""
        del statement
        return Plan(None, (), matroid.rank)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: Plan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Take the best pair, again and again."""
        del plan
        if isinstance(self.algorithm, StochasticGreedy | ContinuousGreedy):
            return self.algorithm.choose(objective, matroid, on_draw, bits=bits)
        return self.algorithm.choose(objective, matroid, on_draw)


def lazy_greedy() -> NonPrivate:
    """Greedy with old gains as bounds."""
    return NonPrivate(LazyGreedy())


def continuous_greedy() -> NonPrivate:
    """Continuous greedy in a hundred steps."""
    return NonPrivate(ContinuousGreedy(steps=100))


def stochastic_greedy() -> NonPrivate:
    """Greedy on random candidates."""
    return NonPrivate(StochasticGreedy())


@final
@dataclass(frozen=True)
class Blind:
    """A random base, as a method of ``release``.

    Guarantee
    ---------
    Every one: the records are not read.

    Examples
    --------
    >>> Blind().name
    'random-base'
    """

    @property
    def name(self) -> str:
        """The name that people type."""
        return RandomBase().name

    def plan(self, statement: Statement, matroid: Matroid, guarantee: DPGuarantee) -> Plan:
        """Plan as many steps as a base has elements; any guarantee holds."""
        del statement
        line = Line("no data", guarantee, matroid.rank, Fraction(0))
        return Plan(None, (line,), matroid.rank, mechanism="blind")

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: Plan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Take elements in random order."""
        del plan
        return RandomBase().choose(objective, matroid, on_draw, bits=bits)
