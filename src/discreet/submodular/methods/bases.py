r"""Continuous greedy with whole bases drawn by the exponential mechanism: the sound form of Algorithm 1.

A linear function has its maximum over the matroid polytope at a base, so that no covering of the polytope is needed: in
each of T steps a base is drawn with probability proportional to :math:`\exp(c \sum_{e \in B} w_e(x))`, and x moves
towards it by 1/T. The T bases are swap-rounded.

Trusted: the guarantee rests on this code, which draws as the accountant assumes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_above
from discreet.core.guarantee import ApproxDP
from discreet.core.printed import at_most
from discreet.submodular.accounting import Draws, short_down, strongest
from discreet.submodular.draws.fractional import marginals, swap_round
from discreet.submodular.draws.whole_bases import (
    TV_BITS,
    draw_forest,
    draw_nested_base,
    walk_base,
)
from discreet.submodular.matroids.capacities import CapacityMatroid
from discreet.submodular.matroids.representable import GraphicMatroid
from discreet.submodular.method import (
    Chosen,
    DrawPlan,
    need_approximate,
    need_set_function,
)
from discreet.submodular.objectives.objective import positive
from discreet.submodular.problem import AccountLine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts


def has_exact_sampler(matroid: Matroid) -> bool:
    """Whether bases of a matroid can be drawn with exactly the exponential mechanism's law.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> has_exact_sampler(UniformMatroid(3, 2))
    True
    """
    return isinstance(matroid, CapacityMatroid | GraphicMatroid)


def draw_base(
    matroid: Matroid, scores: Sequence[int], rate: Fraction, bits: RandomBits
) -> tuple[int, ...]:
    """Draw a base with probability proportional to exp(rate times the sum of its scores).

    Exactly for uniform, partition, laminar and graphic matroids; within total variation ``2^-60`` for others.

    `scores` has an integer for each element, `rate` is in nats for each unit of a score, at least 0. Elements of the
    base are numbers from 0.

    Examples
    --------
    >>> from discreet.core.randomness import SystemBits
    >>> from discreet.submodular import PartitionMatroid
    >>> draw_base(PartitionMatroid([0, 0, 1], 1), [0, 900, 0], Fraction(1), SystemBits())
    (1, 2)
    """
    if isinstance(matroid, GraphicMatroid):
        return draw_forest(matroid, scores, rate, bits)
    if isinstance(matroid, CapacityMatroid):
        return draw_nested_base(matroid, scores, rate, bits)
    return walk_base(matroid, scores, rate, bits)


_FINE = 1 << 30
"""Parts into which a coordinate is divided."""


@dataclass(frozen=True)
class _WholeBases(ABC):
    """T draws of bases by the exponential mechanism, and rounding; which point is looked at differs."""

    steps: int | None = None
    samples: int = 16
    name: ClassVar[str]

    def __post_init__(self) -> None:
        if self.steps is not None:
            positive(self.steps, "steps")
        positive(self.samples, "samples")

    @abstractmethod
    def _point(self, drawn: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64], int]:
        """Return the point after some draws, ``(n_elements,)`` numerators, and their denominator.

        `drawn` ``(n_elements,)`` counts how often each element was in a drawn base; `steps` is T.
        """

    def plan(self, statement: ChoiceFacts, matroid: Matroid, guarantee: DPGuarantee) -> DrawPlan:
        """Find the largest coefficient that the guarantee allows for T draws of bases; T is `steps`, or else the rank.

        InvalidProblemError for several kinds, for a guarantee that no rule proves, and for a matroid without an exact
        sampler unless the guarantee is ApproxDP with a delta that covers the walk's distance from its law.
        """
        need_set_function(self.name, statement)
        count, rank = self.steps or matroid.rank, matroid.rank
        parameters = {"steps": count, "samples": self.samples}
        if has_exact_sampler(matroid):
            draws = Draws(count, per_draw=rank, one_pass=False)
            coefficient, accounting = strongest(draws, statement, guarantee)
            mechanism = "rounds"
        else:
            need_approximate(f"bases of {type(matroid).__name__}", guarantee)
            coefficient, line = _walk_line(count, rank, statement, guarantee)
            accounting, mechanism = (line,), "walk"
        return DrawPlan(coefficient, accounting, count, rank, mechanism, parameters)

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw T bases at the marginals so far, by :func:`draw_base`, then round them to one by swaps.

        Pairs of an element and kind 0. All marginals for each base: a closed form, or `samples` random sets.
        """
        drawn = np.zeros(objective.n_elements, dtype=np.int64)
        bases = []
        for number in range(plan.draws):
            x, parts = self._point(drawn, plan.draws)
            scores, unit = marginals(objective, x, parts, self.samples, bits)
            rate = Fraction(plan.coefficient or 0) * unit
            base = draw_base(matroid, scores.tolist(), rate, bits)
            drawn[list(base)] += 1
            bases.append(base)
            if on_draw is not None:
                on_draw(number + 1)
        return tuple((e, 0) for e in swap_round(matroid, bases, bits=bits))


@final
@dataclass(frozen=True)
class BaseContinuousGreedy(_WholeBases):
    r"""Private continuous greedy, T steps of whole bases.

    Parameters
    ----------
    steps
        T; the rank, as published, by default. With T = r the ratio is :math:`1 - e^{-(1-1/e)} = 0.4685` at worst, not
        :math:`1 - 1/e`; with :math:`T = r/\eta` it is at least :math:`1 - e^{-(1-\eta)}`.
    samples
        As in :class:`~discreet.submodular.methods.badanidiyuru_vondrak.BadanidiyuruVondrak`.

    Guarantee
    ---------
    The changes of the sums of r scores differ by at most r times the width of one, so that a step is (r c w)-DP: the
    constant of Theorem 3.4 of [RY20]_ with marginals in place of partial derivatives, and it is attained. Where bases
    are drawn by the exchange walk, approximate DP only.

    References
    ----------
    [RY20]_, Algorithm 1, on bases instead of a covering; [CCPV11]_.

    Examples
    --------
    >>> BaseContinuousGreedy(steps=5).name
    'base-continuous-greedy'
    """

    name: ClassVar[str] = "base-continuous-greedy"

    def _point(self, drawn: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64], int]:
        return drawn, steps


@final
@dataclass(frozen=True)
class MeasuredContinuousGreedy(_WholeBases):
    r"""Private measured continuous greedy: x moves by :math:`(1 - x_e)/T` in each coordinate of the drawn base.

    The point stays below the mean of the drawn bases, which is what is rounded; F is monotone, so nothing is lost.

    Parameters
    ----------
    steps
        T; the rank by default.
    samples
        Sets drawn for each estimate where the function has no closed form of its multilinear extension.

    Guarantee
    ---------
    That of :class:`BaseContinuousGreedy`: the point is a function of the bases drawn before.

    References
    ----------
    [FNS11]_, with bases drawn by the exponential mechanism.

    Examples
    --------
    >>> MeasuredContinuousGreedy(steps=5).name
    'measured-continuous-greedy'
    """

    name: ClassVar[str] = "measured-continuous-greedy"

    def _point(self, drawn: NDArray[np.int64], steps: int) -> tuple[NDArray[np.int64], int]:
        """Return the public point with 1 - (1 - 1/T)^k for an element that was drawn k times."""
        gone = [1 - Fraction(steps - 1, steps) ** k for k in range(int(drawn.max()) + 1)]
        return np.array([int(share * _FINE) for share in gone], dtype=np.int64)[drawn], _FINE


def _walk_line(
    count: int, rank: int, statement: ChoiceFacts, guarantee: DPGuarantee
) -> tuple[Fraction, AccountLine]:
    """Return the coefficient and the line of account of `count` walks: epsilon is divided by their number.

    `rank` is the matroid's.

    `statement` gives the width of a score, `guarantee` must be ApproxDP.

    Raises
    ------
    InvalidProblemError
        If delta does not cover how far the walk's law is from the exact one.
    """
    if not isinstance(guarantee, ApproxDP):  # pragma: no cover - the caller has asked
        raise TypeError
    loss = short_down(guarantee.epsilon / count)
    delta = count * (1 + exp_above(loss)) / (1 << TV_BITS)
    if guarantee.delta < delta:
        expected = f"at least {at_most(delta, 3)} for a walk"
        raise InvalidProblemError("delta", expected, guarantee.delta)
    neighbors = guarantee.neighbors
    line = AccountLine("exchange walk", ApproxDP(count * loss, delta, neighbors), count, loss)
    return loss / (statement.width * rank), line
