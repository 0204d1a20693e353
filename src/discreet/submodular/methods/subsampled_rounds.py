r"""Continuous greedy on a secret subsample: pure privacy at any rank, and more than half of the optimum.

The rounds of :class:`~discreet.submodular.methods.badanidiyuru_vondrak.BadanidiyuruVondrak`, with
:math:`c = \ln(1 + e^\epsilon)/M`, on records kept with probability :math:`1 - e^{-\epsilon}`. A record's marginals
along the path add up to at most M: raising :math:`x_e` by 1/M raises :math:`f_x` by
:math:`w_e / (M (1 - x_e)) \ge w_e / M`.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.submodular.draws.fractional import Rounds, in_units
from discreet.submodular.method import DrawPlan, need_set_function
from discreet.submodular.methods.subsampled import Subsampled, keep_records
from discreet.submodular.objectives.objective import positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.draws.fractional import Scorer
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts


@final
@dataclass(frozen=True)
class SubsampledRounds(Rounds):
    r"""Continuous greedy in M rounds on a secret subsample, for decomposable functions with a closed form.

    Parameters
    ----------
    rounds
        M. Ratio :math:`1 - 1/e - O(1/M)`; noise grows with M.

    Guarantee
    ---------
    :math:`\epsilon`-DP by the theorem on the secret subsample: adding a record multiplies the law of the path by at
    most :math:`e^{c M}`, since its marginals add up to at most M and normalizers only grow. Estimates from random
    sets would not add up, so that a closed form is needed; its rounding takes each record's part down, never up.

    References
    ----------
    [BV14]_ and [GKKMS24]_; the proof stands on the page *Rounds on a secret subsample*.

    Examples
    --------
    >>> SubsampledRounds(rounds=2).name
    'subsampled-rounds'
    """

    rounds: int = 2
    name: ClassVar[str] = "subsampled-rounds"

    def __post_init__(self) -> None:
        positive(self.rounds, "rounds")

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan of rank times `rounds` draws, the coefficient of the subsample divided by the rounds.

        Raises InvalidProblemError for a function that is no sum over records, or more than one kind.
        """
        need_set_function(self.name, statement)
        greedy = Subsampled().plan(statement, matroid, guarantee)
        coefficient = Fraction(greedy.coefficient or 0) / self.rounds
        parameters = {
            "rounds": self.rounds,
            "epsilon_of_subsample": greedy.parameters["epsilon_of_subsample"],
        }
        count = self.rounds * matroid.rank
        return DrawPlan(coefficient, greedy.accounting, count, self.rounds, "subsample", parameters)

    def scorer(self, objective: Objective, plan: DrawPlan, bits: RandomBits) -> Scorer:
        """Keep records in secret.

        Return a function from the counts of draws so far to the marginals of the kept records. Marginals are
        ``(n_elements,)`` int64, with their unit. Each call takes one closed form.

        Raises
        ------
        InvalidProblemError
            By the function, for an objective without a closed form of its multilinear extension.
        """
        joins = to_fraction(plan.parameters["epsilon_of_subsample"], "epsilon_of_subsample")
        mask = keep_records(objective.n_records, joins, bits)

        def scores_of(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], Fraction]:
            exact = objective.multilinear_marginals(counts / self.rounds, mask)
            if exact is None:
                expected = "one with a closed form of its multilinear extension"
                raise InvalidProblemError("objective", expected, type(objective).__name__)
            return in_units(exact)

        return scores_of
