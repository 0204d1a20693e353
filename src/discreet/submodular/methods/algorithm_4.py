r"""Algorithm 4: private greedy on random candidates, proved for uniform matroids.

Theorem 5.7 of the paper, its ratio for every matroid, is false: for other matroids only ``reproduce`` runs it. The form
that is proved for partition matroids is :class:`~discreet.submodular.methods.part_sampled.PartSampled`.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.draws.growing import subset
from discreet.submodular.matroids.capacities import UniformMatroid
from discreet.submodular.method import DrawPlan
from discreet.submodular.methods import WITHOUT_GUARANTEE
from discreet.submodular.methods.part_sampled import SampledCandidates, candidate_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.draws.growing import Among
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.problem import ChoiceFacts

_FALSE = WITHOUT_GUARANTEE["algorithm-4-as-published"].why_none

_GREEDY_COEFFICIENT = Fraction(1 << 20)
"""Coefficient of draws without noise: a gain that is lower by 0.001 is e^1000 times less likely."""


@final
@dataclass(frozen=True, init=False)
class Algorithm4(SampledCandidates):
    r"""Private greedy on sampled candidates, as published.

    Parameters
    ----------
    gamma
        Probability with which the ratio may be missed.
    lazy
        As in :class:`~discreet.submodular.methods.algorithm_3.Algorithm3`.

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

    name: ClassVar[str] = "algorithm-4"

    def unproven(self, matroid: Matroid) -> str | None:
        """Return the reason why there is no guarantee under a matroid, or ``None`` if there is one."""
        return None if isinstance(matroid, UniformMatroid) else _FALSE

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the guarantee allows, for a uniform matroid.

        Raises
        ------
        InvalidProblemError
            For any other matroid.
        """
        if self.unproven(matroid):
            expected = "part-sampled, or algorithm-4 with a uniform matroid"
            raise InvalidProblemError("method", expected, repr(matroid))
        return super().plan(statement, matroid, guarantee)

    def literal_plan(self, statement: ChoiceFacts, matroid: Matroid) -> DrawPlan:
        """Plan draws with a coefficient so large that they are greedy's, to measure the ratio alone.

        For :func:`~discreet.submodular.reproduce`: as many draws as the rank, without a line of account, under any
        matroid.
        """
        del statement
        return DrawPlan(_GREEDY_COEFFICIENT, (), matroid.rank, parameters=self.parameters)

    def _candidates(self, matroid: Matroid, plan: DrawPlan, bits: RandomBits) -> Among:
        """Return a sampler of the candidates of each draw: the feasible ones of a random subset of the unused elements.

        If there are none, all feasible elements. Sizes depend on public facts and `gamma` alone.
        """
        n, r = matroid.n_elements, plan.draws

        def among(
            number: int, chosen: tuple[int, ...], feasible: NDArray[np.int64]
        ) -> NDArray[np.int64]:
            unused = np.setdiff1d(np.arange(n), np.array(chosen, dtype=np.int64))
            size = candidate_count(n - number, r - number, r, self.gamma)
            candidates = np.intersect1d(subset(unused, size, bits), feasible)
            # Published as a failure; it depends on public facts and coins alone.
            return candidates if candidates.size else feasible

        return among
