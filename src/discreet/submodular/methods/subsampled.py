r"""Subsampled greedy: pure privacy without a factor of the rank, for decomposable functions.

Keep each record with probability :math:`p = 1 - e^{-\epsilon}`, in secret; then draw greedily with
:math:`c = \ln(1 + e^\epsilon)` from the gains of the records that were kept.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_below, log_below, root_below, to_fraction
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.randomness import bernoulli_exps
from discreet.submodular.accounting import short_down
from discreet.submodular.draws.growing import GreedyDraws
from discreet.submodular.method import DrawPlan
from discreet.submodular.problem import AccountLine

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import GrowingChoice, Objective
    from discreet.submodular.problem import ChoiceFacts

_RECORDS_AT_ONCE = 1 << 16
"""Records whose coins are drawn together."""


@final
@dataclass(frozen=True)
class Subsampled(GreedyDraws):
    r"""Greedy on a secret subsample of the records; pure differential privacy at any rank.

    Parameters
    ----------
    lazy
        As in :class:`Algorithm3`.

    Guarantee
    ---------
    With A the greedy choice with coefficient c, :math:`\Pr[A(D + x) = o] \le e^{c F_x(o)} \Pr[A(D) = o] \le e^c
    \Pr[A(D) = o]`: the numerators telescope and the normalizers only grow. So with the subsample the choice is
    :math:`\epsilon`-DP when a record is added or removed: below by :math:`1 - p = e^{-\epsilon}`, above by
    :math:`1 + p (e^c - 1) = e^\epsilon`. Replacing a record is removing one and adding one; each has half of epsilon.
    The sample and its size stay secret. c is rounded down.

    Its additive error, about :math:`r \ln(n r)/(p c)` records, rests on concentration of the sampled gains, which is
    not proved here; the privacy is.

    References
    ----------
    [GKKMS24]_ for the idea; the proof, also for k-submodular functions and any matroid, stands on the page *The secret
    subsample*.

    Examples
    --------
    >>> Subsampled().name
    'subsampled'
    """

    lazy: bool = True
    name: ClassVar[str] = "subsampled"

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan of r draws, with coefficient c; the share of records that is kept follows from epsilon.

        The account proves pure DP: with the guarantee's epsilon, also where it has a delta, and for zCDP with the
        epsilon that implies it. ``parameters["epsilon_of_subsample"]`` is the epsilon of the coins, a fraction as
        text.

        Raises
        ------
        InvalidProblemError
            For a function that is no sum over records.
        """
        if not statement.decomposable:
            raise InvalidProblemError(
                "objective",
                "a decomposable function for subsampled",
                "no sum over records",
            )
        epsilon = _pure_epsilon(guarantee)
        joins = epsilon if statement.neighbors == "add-remove-one" else epsilon / 2
        coefficient = subsampled_coefficient(joins) / statement.sensitivity
        loss = coefficient * statement.width
        proved = PureDP(epsilon, statement.neighbors)  # type: ignore[arg-type] # the statement checked it
        line = AccountLine("secret subsample", proved, matroid.rank, loss)
        parameters = {"lazy": self.lazy, "epsilon_of_subsample": str(joins)}
        return DrawPlan(
            coefficient, (line,), matroid.rank, mechanism="subsample", parameters=parameters
        )

    def _start(self, objective: Objective, plan: DrawPlan, bits: RandomBits) -> GrowingChoice:
        """Start with the empty set, on a secret subsample of the records."""
        joins = to_fraction(plan.parameters["epsilon_of_subsample"], "epsilon_of_subsample")
        return objective.start(keep_records(objective.n_records, joins, bits))


def subsampled_coefficient(epsilon: Fraction) -> Fraction:
    """Round ln(1 + e^epsilon) down, to 30 significant bits.

    `epsilon` is that of a record that joins, above 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> round(float(subsampled_coefficient(Fraction(1))), 6)
    1.313262
    """
    return short_down(log_below(1 + exp_below(epsilon)))


def keep_records(n_records: int, epsilon: Fraction, bits: RandomBits) -> NDArray[np.bool_]:
    """Return a random mask ``(n_records,)``; each record is kept with probability exactly ``1 - exp(-epsilon)``.

    Records are independent. The result is secret.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.randomness import SystemBits
    >>> keep_records(3, Fraction(1000), SystemBits()).tolist()
    [True, True, True]
    """
    mask = np.empty(n_records, dtype=np.bool_)
    for first in range(0, n_records, _RECORDS_AT_ONCE):
        block = mask[first : first + _RECORDS_AT_ONCE]
        kind = np.uint64 if epsilon.numerator < 1 << 63 else object
        numerators = np.full(block.size, epsilon.numerator, dtype=kind)
        block[:] = ~bernoulli_exps(numerators, epsilon.denominator, bits)
    return mask


def _pure_epsilon(guarantee: DPGuarantee, *, max_denominator_bits: int = 31) -> Fraction:
    """Return the epsilon of a pure guarantee that implies `guarantee`, rounded down if its denominator is longer.

    So the coins of all records are drawn in numbers of one machine word.
    """
    if isinstance(guarantee, ZeroConcentratedDP):
        return short_down(root_below(2 * guarantee.rho))
    epsilon = guarantee.epsilon
    long = epsilon.denominator.bit_length() > max_denominator_bits
    return short_down(epsilon) if long else epsilon
