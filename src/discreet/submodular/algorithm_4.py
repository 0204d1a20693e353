r"""Algorithm 4: the private greedy algorithm on random candidates, and its sound form for partition matroids.

In round t only a random subset R of the unused elements is looked at, of size
:math:`\lceil \frac{n-t+1}{r-t+1} \ln\frac r\gamma \rceil`. That is proved for uniform matroids. For others the proof
has a gap and the theorem is false: the element that the exchange needs may not have been among the candidates. Per
part of a partition matroid every unused element of the part can be exchanged, so that sampling inside the parts is
sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.submodular._draws import drawer_for, grow, subset
from discreet.submodular._method import Chosen, Plan
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.matroids.partition import PartitionMatroid
from discreet.submodular.matroids.uniform import UniformMatroid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objective import Objective
    from discreet.submodular.problem import Statement

__all__ = ["Algorithm4", "PartSampled"]

_FALSE = (
    "Theorem 5.7 is false beyond uniform matroids: the exchange needs an element that depends on the chosen one, and "
    "it may not have been among the candidates. With fifty parts, one of which holds a jewel among decoys, half of the "
    "optimum is reached with probability 0.14, and 0.9 is claimed."
)


def _probability(value: Exact) -> Fraction:
    exact = to_fraction(value, "gamma")
    if not 0 < exact < 1:
        raise InvalidProblemError("gamma", "a number strictly between 0 and 1", value)
    return exact


def _size(unused: int, left: int, rank: int, gamma: Fraction) -> int:
    """How many candidates to look at; public, so that a float may round it."""
    return math.ceil(unused / left * math.log(rank / gamma))


@final
@dataclass(frozen=True, init=False)
class Algorithm4:
    r"""Private greedy on sampled candidates, as published.

    Parameters
    ----------
    gamma
        Probability with which the ratio may be missed.
    lazy
        As in :class:`~discreet.submodular.algorithm_3.Algorithm3`.

    Guarantee
    ---------
    Privacy as Algorithm 3. The ratio of 1/2 with probability :math:`1 - 2\gamma` is proved for uniform matroids
    (Theorem 5.6, a union bound added); others go through ``reproduce``. When no candidate is feasible the published
    algorithm fails; this one then looks at all feasible elements, an event that depends on public facts alone.

    Complexity
    ----------
    :math:`k n \ln r \ln(r/\gamma)` evaluations.

    References
    ----------
    [RY20]_, Algorithm 4, Theorems 5.6 and 5.7; the sampling is that of [OY15]_. Sizes are rounded up.

    Examples
    --------
    >>> Algorithm4(gamma="0.1").gamma
    Fraction(1, 10)
    """

    gamma: Fraction
    lazy: bool

    def __init__(self, gamma: Exact = "0.1", *, lazy: bool = True) -> None:
        object.__setattr__(self, "gamma", _probability(gamma))
        object.__setattr__(self, "lazy", lazy)

    @property
    def name(self) -> str:
        """The name that people type."""
        return "algorithm-4"

    def unproven(self, matroid: Matroid) -> str | None:
        """Say what is false for a matroid, if anything is."""
        return None if isinstance(matroid, UniformMatroid) else _FALSE

    def plan(self, statement: Statement, matroid: Matroid, guarantee: DPGuarantee) -> Plan:
        """Find the largest coefficient that the guarantee allows."""
        if self.unproven(matroid):
            raise InvalidProblemError(
                "method", "part-sampled, or algorithm-4 with a uniform matroid", repr(matroid)
            )
        coefficient, accounting = strongest(Draws(matroid.rank), statement, guarantee)
        parameters = {"gamma": str(self.gamma), "lazy": self.lazy}
        return Plan(coefficient, accounting, matroid.rank, parameters=parameters)

    def literal_plan(self, statement: Statement, matroid: Matroid) -> Plan:
        """Plan draws with a coefficient so large that they are greedy's, to look at the ratio alone."""
        del statement
        parameters = {"gamma": str(self.gamma), "lazy": self.lazy}
        return Plan(Fraction(1 << 20), (), matroid.rank, parameters=parameters)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: Plan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw a base, one pair after another."""
        state, grown = objective.start(), matroid.start()
        rate = Fraction(plan.coefficient or 0) / (1 << objective.scale_bits)
        drawer = drawer_for(objective, lazy=self.lazy)(state, rate, bits)
        n, r = matroid.n_elements, plan.draws

        def among(number: int, feasible: NDArray[np.int64]) -> NDArray[np.int64]:
            unused = np.setdiff1d(np.arange(n), np.array(grown.members, dtype=np.int64))
            drawn = subset(unused, _size(n - number, r - number, r, self.gamma), bits)
            candidates = np.intersect1d(drawn, feasible)
            # Published as a failure; it depends on public facts and coins alone.
            return candidates if candidates.size else feasible

        return grow(state, grown, drawer, r, among=among, on_draw=on_draw)


@final
@dataclass(frozen=True, init=False)
class PartSampled:
    r"""Private greedy on candidates sampled inside each part of a partition matroid.

    The parts are gone through in their order. For the s-th element of part p, with :math:`n_p` elements and capacity
    :math:`c_p`, :math:`\lceil \frac{n_p - s}{c_p - s} \ln\frac r\gamma \rceil` unused elements of the part are
    candidates.

    Parameters
    ----------
    gamma
        Probability with which the ratio may be missed.
    lazy
        As in :class:`~discreet.submodular.algorithm_3.Algorithm3`.

    Guarantee
    ---------
    Privacy as Algorithm 3. Ratio 1/2 with probability :math:`1 - 2\gamma`: the chosen element of part p exchanges with
    *any* unused element of the optimum in p, and the candidates hold one with probability at least
    :math:`1 - \gamma/r`; see the page *Sampling inside parts*.

    Complexity
    ----------
    At most :math:`k \sum_p n_p H_{c_p} \ln(r/\gamma)` evaluations, rounding apart.

    References
    ----------
    [RY20]_, Section 5.3, corrected. The order of the parts is that of the matroid, whatever the records say.

    Examples
    --------
    >>> PartSampled().name
    'part-sampled'
    """

    gamma: Fraction
    lazy: bool

    def __init__(self, gamma: Exact = "0.1", *, lazy: bool = True) -> None:
        object.__setattr__(self, "gamma", _probability(gamma))
        object.__setattr__(self, "lazy", lazy)

    @property
    def name(self) -> str:
        """The name that people type."""
        return "part-sampled"

    def plan(self, statement: Statement, matroid: Matroid, guarantee: DPGuarantee) -> Plan:
        """Find the largest coefficient that the guarantee allows."""
        parts_of(matroid, self.name)
        coefficient, accounting = strongest(Draws(matroid.rank), statement, guarantee)
        parameters = {"gamma": str(self.gamma), "lazy": self.lazy}
        return Plan(coefficient, accounting, matroid.rank, parameters=parameters)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: Plan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw a base, part by part."""
        state = objective.start()
        rate = Fraction(plan.coefficient or 0) / (1 << objective.scale_bits)
        drawer = drawer_for(objective, lazy=self.lazy)(state, rate, bits)
        r = plan.draws
        turns = [
            (part, len(part) - s, capacity - s)
            for part, capacity in parts_of(matroid, self.name)
            for s in range(capacity)
        ]

        def among(number: int, feasible: NDArray[np.int64]) -> NDArray[np.int64]:
            part, unused, left = turns[number]
            return subset(np.intersect1d(part, feasible), _size(unused, left, r, self.gamma), bits)

        return grow(state, matroid.start(), drawer, r, among=among, on_draw=on_draw)


def parts_of(matroid: Matroid, name: str) -> list[tuple[NDArray[np.int64], int]]:
    """List the parts of a partition matroid, with how many elements a base has in each; a uniform one has one part."""
    if isinstance(matroid, UniformMatroid):
        return [(np.arange(matroid.n_elements), matroid.rank)]
    if not isinstance(matroid, PartitionMatroid):
        raise InvalidProblemError(
            "matroid", f"a partition or uniform matroid for {name}", repr(matroid)
        )
    parts = [np.flatnonzero(matroid.labels == p) for p in range(len(matroid.capacities))]
    sizes = np.minimum(matroid.capacities, [len(part) for part in parts]).tolist()
    return [(part, size) for part, size in zip(parts, sizes, strict=True) if size]
