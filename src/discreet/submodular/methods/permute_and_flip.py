r"""Permute-and-flip in place of the exponential mechanism, for each draw of the greedy algorithm.

Go through the candidates in random order and accept a candidate with probability :math:`e^{-c (\max q - q_e)}`. Its
expected score is never below the exponential mechanism's at the same epsilon. It has no bounded range: at epsilon 1 the
log-ratios of one draw can have a range of 1.66, so that :math:`\epsilon^2/8` does not account for it, and under zCDP it
costs :math:`\epsilon^2/2`.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from discreet.core.randomness import bernoulli_exp
from discreet.submodular.accounting import Draws, strongest
from discreet.submodular.draws.growing import FreshGains, GreedyDraws
from discreet.submodular.method import DrawPlan

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import GrowingChoice
    from discreet.submodular.problem import ChoiceFacts

_RULES = frozenset({"basic composition"})


def permute_and_flip(scores: NDArray[np.int64], rate: Fraction, bits: RandomBits) -> int:
    r"""Choose an index by permute-and-flip, exactly.

    Parameters
    ----------
    scores
        ``(n,)`` integers, higher is better.
    rate
        A candidate that is d worse than the best is accepted with probability ``exp(-rate d)``.
    bits
        Source of chance.

    Returns
    -------
    int
        The chosen index.

    Guarantee
    ---------
    With changes of scores between neighbors that differ by at most w, rate w-differentially private. Not of bounded
    range.

    References
    ----------
    [MS20]_, Algorithm 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from discreet.core.randomness import SystemBits
    >>> permute_and_flip(np.array([0, 10_000]), Fraction(1), SystemBits())
    1
    """
    best = int(scores.max())
    left = list(range(len(scores)))
    while True:
        at = bits.randrange(len(left))
        index = left[at]
        if bernoulli_exp(rate * (best - int(scores[index])), bits):
            return index
        left[at] = left[-1]
        left.pop()


@final
@dataclass(frozen=True)
class PermuteAndFlip(GreedyDraws):
    """Greedy with permute-and-flip, under basic composition alone.

    Guarantee
    ---------
    r draws at epsilon_0 each: r epsilon_0-DP. No other rule is used: its zCDP is epsilon^2/2, which is never better
    than the exponential mechanism at twice the epsilon.

    References
    ----------
    [MS20]_

    Examples
    --------
    >>> PermuteAndFlip().name
    'permute-and-flip'
    """

    name: ClassVar[str] = "permute-and-flip"

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Return the plan of r draws, r the matroid's rank, by basic composition: each gets an equal part of epsilon.

        Raises
        ------
        InvalidProblemError
            For a guarantee that basic composition does not prove, such as zCDP.
        """
        draws = Draws(matroid.rank, bounded_range=False)
        coefficient, accounting = strongest(draws, statement, guarantee, rules=_RULES)
        return DrawPlan(coefficient, accounting, matroid.rank, mechanism=self.name)

    def _drawer(self, state: GrowingChoice, rate: Fraction, bits: RandomBits) -> FreshGains:
        """Return what draws a pair by permute-and-flip at `rate` a unit of gain, from gains computed anew."""
        return FreshGains(state, lambda gains: permute_and_flip(gains, rate, bits))
