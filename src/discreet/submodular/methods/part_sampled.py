r"""Part-sampled greedy: the sound form of Algorithm 4 of [RY20]_ for partition matroids.

In round t Algorithm 4 looks only at a random subset R of the unused elements, of size
:math:`\lceil \frac{n-t+1}{r-t+1} \ln\frac r\gamma \rceil`. That is proved for uniform matroids. For others the proof
has a gap and the theorem is false: the element that the exchange needs may not have been among the candidates. Per
part of a partition matroid every unused element of the part can be exchanged, so that sampling inside the parts is
sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.draws.growing import drawer_for, grow, subset
from discreet.submodular.matroids.capacities import PartitionMatroid, UniformMatroid
from discreet.submodular.method import Chosen, DrawPlan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts

__all__ = ["PartSampled", "candidate_count", "parts_of", "read_gamma"]


def read_gamma(value: Exact) -> Fraction:
    """Read the probability with which a ratio may be missed."""
    exact = to_fraction(value, "gamma")
    if not 0 < exact < 1:
        raise InvalidProblemError("gamma", "a number strictly between 0 and 1", value)
    return exact


def candidate_count(unused: int, left: int, rank: int, gamma: Fraction) -> int:
    """How many candidates to look at; public, so that a float may round it."""
    return math.ceil(unused / left * math.log(rank / gamma))


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
        As in :class:`~discreet.submodular.methods.algorithm_3.Algorithm3`.

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
    [RY20]_, Section 5.1, corrected. The order of the parts is that of the matroid, whatever the records say.

    Examples
    --------
    >>> PartSampled().name
    'part-sampled'
    """

    gamma: Fraction
    lazy: bool
    name: ClassVar[str] = "part-sampled"

    def __init__(self, gamma: Exact = "0.1", *, lazy: bool = True) -> None:
        object.__setattr__(self, "gamma", read_gamma(gamma))
        object.__setattr__(self, "lazy", lazy)

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the guarantee allows."""
        parts_of(matroid, self.name)
        coefficient, accounting = strongest(Draws(matroid.rank), statement, guarantee)
        parameters = {"gamma": str(self.gamma), "lazy": self.lazy}
        return DrawPlan(coefficient, accounting, matroid.rank, parameters=parameters)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
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
            return subset(
                np.intersect1d(part, feasible), candidate_count(unused, left, r, self.gamma), bits
            )

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
