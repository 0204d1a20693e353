r"""The private greedy algorithm of Gupta et al. for the combinatorial public projects problem.

One greedy pass over a decomposable function. Its accounting does not grow with the number of draws: a record's gains
add up to at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from discreet.core.errors import InvalidProblemError
from discreet.submodular.draws.growing import GreedyDraws
from discreet.submodular.method import need_approximate

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.method import DrawPlan
    from discreet.submodular.problem import ChoiceFacts


@final
@dataclass(frozen=True)
class Gupta(GreedyDraws):
    r"""Private greedy for decomposable functions, with an accounting that does not depend on the rank.

    Parameters
    ----------
    lazy
        As in :class:`~discreet.submodular.methods.algorithm_3.Algorithm3`.

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
    name: ClassVar[str] = "gupta"
    rules: ClassVar[frozenset[str] | None] = frozenset({"decomposable, one pass"})

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan of r draws, r the matroid's rank, with the largest coefficient that the one-pass rule allows.

        Raises
        ------
        InvalidProblemError
            For a guarantee without a delta, or a function that is no sum over records.
        """
        need_approximate(self.name, guarantee)
        if not statement.decomposable:
            raise InvalidProblemError(
                "objective", "a decomposable function for gupta", "no sum over records"
            )
        return super().plan(statement, matroid, guarantee)
