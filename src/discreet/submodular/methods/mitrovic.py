r"""The private greedy algorithms of Mitrovic, Bun, Krause and Karbasi: for a cardinality bound, and for a matroid.

Both draw r times from the exponential mechanism on the gains of the elements that still fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from discreet.submodular.draws.growing import GreedyDraws
from discreet.submodular.method import need_set_function

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.method import DrawPlan
    from discreet.submodular.problem import ChoiceFacts


@final
@dataclass(frozen=True)
class Mitrovic(GreedyDraws):
    r"""Private greedy for set functions, with basic and advanced composition as published.

    Parameters
    ----------
    lazy
        As in :class:`~discreet.submodular.methods.algorithm_3.Algorithm3`.

    Guarantee
    ---------
    r draws at :math:`\epsilon_0` each: :math:`r\epsilon_0`-DP, or advanced composition. Ratio 1 - 1/e for a uniform
    matroid and 1/2 for any, additive error :math:`O(\Delta r \ln n/\epsilon_0)`. Algorithm 3 has the same law
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
    name: ClassVar[str] = "mitrovic"
    rules: ClassVar[frozenset[str] | None] = frozenset(
        {"basic composition", "advanced composition"}
    )

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the published rules allow.

        InvalidProblemError for several kinds, or a guarantee that neither composition proves, such as zCDP.
        """
        need_set_function(self.name, statement)
        return super().plan(statement, matroid, guarantee)
