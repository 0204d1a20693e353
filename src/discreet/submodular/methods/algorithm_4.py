r"""Algorithm 4: private greedy on random candidates, proved for uniform matroids.

Theorem 5.7 of the paper, its ratio for every matroid, is false: for other matroids only ``reproduce`` runs it. The form
that is proved for partition matroids is :class:`~discreet.submodular.methods.part_sampled.PartSampled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.draws.growing import drawer_for, grow, subset
from discreet.submodular.matroids.capacities import UniformMatroid
from discreet.submodular.method import Chosen, DrawPlan
from discreet.submodular.methods import WITHOUT_GUARANTEE
from discreet.submodular.methods.part_sampled import candidate_count, read_gamma

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts

__all__ = ["Algorithm4"]

_FALSE = WITHOUT_GUARANTEE["algorithm-4-as-published"].why_none


@final
@dataclass(frozen=True, init=False)
class Algorithm4:
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

    gamma: Fraction
    lazy: bool
    name: ClassVar[str] = "algorithm-4"

    def __init__(self, gamma: Exact = "0.1", *, lazy: bool = True) -> None:
        object.__setattr__(self, "gamma", read_gamma(gamma))
        object.__setattr__(self, "lazy", lazy)

    def unproven(self, matroid: Matroid) -> str | None:
        """Say what is false for a matroid, if anything is."""
        return None if isinstance(matroid, UniformMatroid) else _FALSE

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the guarantee allows."""
        if self.unproven(matroid):
            raise InvalidProblemError(
                "method", "part-sampled, or algorithm-4 with a uniform matroid", repr(matroid)
            )
        coefficient, accounting = strongest(Draws(matroid.rank), statement, guarantee)
        parameters = {"gamma": str(self.gamma), "lazy": self.lazy}
        return DrawPlan(coefficient, accounting, matroid.rank, parameters=parameters)

    def literal_plan(self, statement: ChoiceFacts, matroid: Matroid) -> DrawPlan:
        """Plan draws with a coefficient so large that they are greedy's, to look at the ratio alone."""
        del statement
        parameters = {"gamma": str(self.gamma), "lazy": self.lazy}
        return DrawPlan(Fraction(1 << 20), (), matroid.rank, parameters=parameters)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
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
            drawn = subset(unused, candidate_count(n - number, r - number, r, self.gamma), bits)
            candidates = np.intersect1d(drawn, feasible)
            # Published as a failure; it depends on public facts and coins alone.
            return candidates if candidates.size else feasible

        return grow(state, grown, drawer, r, among=among, on_draw=on_draw)
