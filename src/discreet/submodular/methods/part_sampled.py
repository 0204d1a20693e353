r"""Part-sampled greedy: the sound form of Algorithm 4 of [RY20]_ for partition matroids.

In round t Algorithm 4 looks only at a random subset R of the unused elements, of size
:math:`\lceil \frac{n-t+1}{r-t+1} \ln\frac r\gamma \rceil`. That is proved for uniform matroids. For others the proof
has a gap and the theorem is false: the element that the exchange needs may not have been among the candidates. Per
part of a partition matroid every unused element of the part can be exchanged, so that sampling inside the parts is
sound.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.submodular.draws.growing import GreedyDraws, subset
from discreet.submodular.matroids.capacities import PartitionMatroid, UniformMatroid

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.draws.growing import Among
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.method import DrawPlan
    from discreet.submodular.problem import ChoiceFacts


def candidate_count(unused: int, left: int, rank: int, gamma: Fraction) -> int:
    """Return how many of `unused` elements are sampled as candidates of a draw.

    ``ceil(unused / left * ln(rank / gamma))``. `left` is the number of draws left, this one included, at least 1. The
    result may exceed `unused`. It is public, so that a float may round it.
    """
    return math.ceil(unused / left * math.log(rank / gamma))


@dataclass(frozen=True, init=False)
class SampledCandidates(GreedyDraws):
    """Greedy that draws among a random sample of the elements."""

    gamma: Fraction
    lazy: bool

    def __init__(self, gamma: Exact = "0.1", *, lazy: bool = True) -> None:
        exact = to_fraction(gamma, "gamma")
        if not 0 < exact < 1:
            raise InvalidProblemError("gamma", "a number strictly between 0 and 1", gamma)
        object.__setattr__(self, "gamma", exact)
        object.__setattr__(self, "lazy", lazy)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments for the record of a release: ``"gamma"``, exact, as text, and ``"lazy"``, a boolean."""
        return {"gamma": str(self.gamma), "lazy": self.lazy}


@final
@dataclass(frozen=True, init=False)
class PartSampled(SampledCandidates):
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

    name: ClassVar[str] = "part-sampled"

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan with the largest coefficient that the guarantee allows, for a uniform or partition matroid.

        Raises
        ------
        InvalidProblemError
            For another matroid, or a function or guarantee for which no draw is private.
        """
        parts_of(matroid, self.name)
        return super().plan(statement, matroid, guarantee)

    def _candidates(self, matroid: Matroid, plan: DrawPlan, bits: RandomBits) -> Among:
        """Return a sampler of the candidates of each draw: random feasible elements of that draw's part.

        Raises InvalidProblemError for a matroid without parts.
        """
        turns = [
            (part, len(part) - s, capacity - s)
            for part, capacity in parts_of(matroid, self.name)
            for s in range(capacity)
        ]

        def among(
            number: int, chosen: tuple[int, ...], feasible: NDArray[np.int64]
        ) -> NDArray[np.int64]:
            del chosen
            part, unused, left = turns[number]
            size = candidate_count(unused, left, plan.draws, self.gamma)
            return subset(np.intersect1d(part, feasible), size, bits)

        return among


def parts_of(matroid: Matroid, name: str) -> list[tuple[NDArray[np.int64], int]]:
    """Return the parts of a partition matroid, element numbers, each with its share of a base.

    One for a uniform matroid.

    Raises
    ------
    InvalidProblemError
        For any other matroid; `name` is the method's.
    """
    if not isinstance(matroid, PartitionMatroid | UniformMatroid):
        raise InvalidProblemError(
            "matroid", f"a partition or uniform matroid for {name}", repr(matroid)
        )
    parts = [(part, min(len(part), capacity)) for part, capacity in matroid.limits]
    return [(part, size) for part, size in parts if size]
