r"""Continuous greedy in few rounds, each of which builds a base element by element.

With M rounds, in each of them r times: draw an element that keeps the round's set independent, with probability
proportional to :math:`\exp(c\, w_e(x))`, and raise :math:`x_e` by 1/M. The M bases are swap-rounded. M = 1 is greedy.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.draws.fractional import Rounds, marginals
from discreet.submodular.method import DrawPlan, need_set_function
from discreet.submodular.objectives.objective import positive

if TYPE_CHECKING:
    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.draws.fractional import Scorer
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts


@final
@dataclass(frozen=True)
class BadanidiyuruVondrak(Rounds):
    r"""Private continuous greedy in M rounds of r draws.

    Parameters
    ----------
    rounds
        M. Ratio :math:`1 - 1/e - O(1/M)`; privacy is shared by r M draws.
    samples
        Sets drawn for each estimate where the function has no closed form of its multilinear extension.

    Guarantee
    ---------
    r M draws with scores of the width of a gain each. Sampling costs utility, never privacy.

    References
    ----------
    [BV14]_, Section 3, with the choice of the best element replaced by the exponential mechanism. Its descending
    thresholds are not used: they would be data dependent.

    Examples
    --------
    >>> BadanidiyuruVondrak(rounds=2).name
    'badanidiyuru-vondrak'
    """

    rounds: int = 4
    samples: int = 16
    name: ClassVar[str] = "badanidiyuru-vondrak"

    def __post_init__(self) -> None:
        positive(self.rounds, "rounds")
        positive(self.samples, "samples")

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan of r M draws (rank times `rounds`) with the largest coefficient that the guarantee allows.

        Raises
        ------
        InvalidProblemError
            For more than one kind, or a function or guarantee for which no draw is private.
        """
        need_set_function(self.name, statement)
        count = self.rounds * matroid.rank
        coefficient, accounting = strongest(Draws(count, one_pass=False), statement, guarantee)
        parameters = {"rounds": self.rounds, "samples": self.samples}
        return DrawPlan(coefficient, accounting, count, mechanism="rounds", parameters=parameters)

    def scorer(self, objective: Objective, plan: DrawPlan, bits: RandomBits) -> Scorer:
        """Return a function from the counts of draws so far to the marginals of the multilinear extension there.

        It takes ``(n_elements,)`` int64: e is in the random set R with probability ``counts[e] / rounds``. It returns
        ``E[F(R + e)] - E[F(R)]`` as ``(n_elements,)`` int64 scores, and a Fraction: the value of one of them.
        Private. Each call takes a closed form, or else `samples` random sets, each with the gains of all elements.
        `plan` is unused.
        """
        del plan
        return lambda counts: marginals(objective, counts, self.rounds, self.samples, bits)
