r"""The private greedy algorithms of Mitrovic, Bun, Krause and Karbasi: for a cardinality bound, and for a matroid.

Both draw r times from the exponential mechanism on the gains of the elements that still fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.method import Chosen, DrawPlan, need_set_function
from discreet.submodular.methods.algorithm_3 import Algorithm3

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts

__all__ = ["Mitrovic"]

_PUBLISHED = frozenset({"basic composition", "advanced composition"})


@final
@dataclass(frozen=True)
class Mitrovic:
    r"""Private greedy for set functions, with basic and advanced composition as published.

    Parameters
    ----------
    lazy
        As in :class:`Algorithm3`.

    Guarantee
    ---------
    r draws at :math:`\epsilon_0` each: :math:`r\epsilon_0`-DP, or advanced composition. Ratio 1 - 1/e for a uniform
    matroid and 1/2 for any, additive error :math:`O(\Delta r \ln n/\epsilon_0)`. :class:`Algorithm3` has the same law
    and uses every valid rule.

    References
    ----------
    [MBKK17]_, Algorithms 1 and 2.

    Examples
    --------
    >>> Mitrovic().name
    'mitrovic'
    """

    lazy: bool = True

    @property
    def name(self) -> str:
        """The registered name."""
        return "mitrovic"

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the published rules allow."""
        need_set_function(self.name, statement)
        coefficient, accounting = strongest(
            Draws(matroid.rank), statement, guarantee, rules=_PUBLISHED
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
        """Draw a base, one element after another."""
        return Algorithm3(self.lazy).choose(objective, matroid, plan, bits, on_draw)
