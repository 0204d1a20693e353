r"""Algorithm 1: private continuous greedy on a covering of the matroid polytope.

In each of T = r steps a point y of a :math:`\rho`-covering is drawn with probability proportional to
:math:`\exp(c \langle y, w(x) \rangle)`, and x moves by y/T. A covering can be listed for toys alone;
:class:`~discreet.submodular.methods.bases.BaseContinuousGreedy` draws bases instead, and loses nothing by it.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.randomness import exponential_mechanism
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.draws.covering import covering, exact_marginals, pipage, ranks, set_values
from discreet.submodular.method import Chosen, DrawPlan, need_set_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts


@final
@dataclass(frozen=True, init=False)
class Algorithm1:
    r"""Private continuous greedy on a grid covering, for at most 8 elements.

    Parameters
    ----------
    rho
        Radius of the covering.

    Guarantee
    ---------
    A step's log-ratios have a range of at most r c w, since :math:`y(E) \le r`: the constant of Theorem 3.4 of
    [RY20]_, which its proof misses by a factor of 2. The ratio :math:`1 - 1/e` of Theorem 3.3 is false for T = r, as
    published; what is true is :math:`1 - e^{-(1-1/e)} = 0.4685` in the worst case.

    References
    ----------
    [RY20]_, Algorithm 1. Deviations: the marginals :math:`w_e = (1 - x_e)\,\partial_e f` stand for the partial
    derivatives, whose constant would be 2 r; the covering is a grid, as no other is given; points are not vertices,
    so that the end point is rounded by pipage instead of swaps (Remark 3.2 promises more than either keeps).

    Examples
    --------
    >>> Algorithm1(rho="0.5").rho
    Fraction(1, 2)
    """

    rho: Fraction
    name: ClassVar[str] = "algorithm-1"

    def __init__(self, rho: Exact = "0.5") -> None:
        exact = to_fraction(rho, "rho")
        if exact <= 0:
            raise InvalidProblemError("rho", "a positive radius", rho)
        object.__setattr__(self, "rho", exact)

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the guarantee allows for r draws of points, r the rank.

        InvalidProblemError for more than 8 elements, several kinds, or a guarantee that no rule proves. It lists the
        covering, which is exponential in the elements.
        """
        need_set_function(self.name, statement)
        covering(matroid, self.rho)
        rank = matroid.rank
        draws = Draws(rank, per_draw=rank, one_pass=False)
        coefficient, accounting = strongest(draws, statement, guarantee)
        parameters = {"rho": str(self.rho)}
        return DrawPlan(coefficient, accounting, rank, rank, "rounds", parameters)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw r points of the covering, then round to a base by pipage; pairs of an element and kind 0.

        Each draw scores all points by exact marginals, which are exponential in the elements.
        """
        points, parts = covering(matroid, self.rho)
        values = set_values(objective)
        unit = parts * plan.draws
        x = np.zeros(objective.n_elements, dtype=np.int64)
        rate = Fraction(plan.coefficient or 0) / (parts << objective.scale_bits)
        for number in range(plan.draws):
            w = exact_marginals(values, [Fraction(int(k), unit) for k in x])
            scores = [
                sum((int(k) * v for k, v in zip(y, w, strict=True)), Fraction(0)) for y in points
            ]
            at = exponential_mechanism(scores, rate, 1, monotone=True, bits=bits)
            x += points[at]
            if on_draw is not None:
                on_draw(number + 1)
        return tuple((e, 0) for e in pipage(ranks(matroid), x.tolist(), unit, bits))
