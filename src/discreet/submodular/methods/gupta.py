r"""The private greedy algorithm of Gupta et al. for the combinatorial public projects problem.

One greedy pass over a decomposable function. Its accounting does not grow with the number of draws: a record's gains
add up to at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core.errors import InvalidProblemError
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.method import Chosen, DrawPlan, need_approximate
from discreet.submodular.methods.algorithm_3 import Algorithm3

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts

__all__ = ["Gupta"]


@final
@dataclass(frozen=True)
class Gupta:
    r"""Private greedy for decomposable functions, with an accounting that does not depend on the rank.

    Parameters
    ----------
    lazy
        As in :class:`Algorithm3`.

    Guarantee
    ---------
    :math:`((e^c - 1) \ln(e/\delta), \delta)`-DP; see :func:`~discreet.submodular.accounting.one_pass`.

    References
    ----------
    [GLMRT10]_, Section 7, for a cardinality bound; the proof on the page *One pass over a sum* is for any matroid.

    Examples
    --------
    >>> Gupta().name
    'gupta'
    """

    lazy: bool = True

    @property
    def name(self) -> str:
        """The registered name."""
        return "gupta"

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the rule allows."""
        need_approximate(self.name, guarantee)
        if not statement.decomposable:
            raise InvalidProblemError(
                "objective", "a decomposable function for gupta", "no sum over records"
            )
        coefficient, accounting = strongest(
            Draws(matroid.rank), statement, guarantee, rules=frozenset({"decomposable, one pass"})
        )
        return DrawPlan(coefficient, accounting, matroid.rank, parameters={"lazy": self.lazy})

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw a base, one pair after another."""
        return Algorithm3(self.lazy).choose(objective, matroid, plan, bits, on_draw)
