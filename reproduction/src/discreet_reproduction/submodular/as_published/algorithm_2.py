r"""Algorithm 2, as published: continuous greedy on sampled points of a covering, by layers of their scores.

It has no valid guarantee. Rounding scores down to layers makes them more sensitive than the proof says, by
:math:`\epsilon_0 \ln(1+\mu)/\Delta` a step: on two points that straddle a boundary the loss is 0.5 at
:math:`\epsilon_0 = 0.01, \Delta = 10^{-4}`, where 0.02 is claimed. And the sampled points miss the exponentially rare
good ones, so that its ratio is false as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.randomness import exponential_mechanism
from discreet.submodular.draws.fractional import marginals, swap_round
from discreet.submodular.draws.growing import subset
from discreet.submodular.method import Chosen, DrawPlan, need_set_function
from discreet.submodular.methods import WITHOUT_GUARANTEE
from discreet.submodular.methods.part_sampled import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective
    from discreet.submodular.problem import ChoiceFacts

_REASON = WITHOUT_GUARANTEE["algorithm-2"].why_none


def sample_size(n: int, layers: int) -> int:
    r"""Number of sampled points: :math:`\lceil \ln(2k/\theta) / (2\lambda^2) \rceil`, Corollary 4.2 made explicit.

    With :math:`\lambda = 1/\sqrt n` and :math:`\theta = 1/n^2`.

    Examples
    --------
    >>> sample_size(300, 100_000)
    3543
    """
    return math.ceil(n * math.log(2 * layers * n**2) / 2)


def layer_scores(scores: list[Fraction], width: Fraction) -> list[int]:
    """Number of the layer of each score, from 0; layers are as wide as ln(1 + mu).

    Examples
    --------
    >>> layer_scores([Fraction(0), Fraction(1, 2), Fraction(1)], Fraction(1, 2))
    [0, 1, 2]
    """
    return [math.floor(score / width) for score in scores]


@final
@dataclass(frozen=True, init=False)
class Algorithm2:
    r"""The published "improved" continuous greedy, for ``reproduce`` alone.

    Parameters
    ----------
    epsilon
        :math:`\epsilon_0`; :math:`\mu = e^{\epsilon_0} - 1`, so that layers have width :math:`\epsilon_0`.
    sensitivity
        :math:`\Delta` of the function divided by its number of records; one over that number by default.
    samples
        Points drawn in each step; :func:`sample_size` by default.

    References
    ----------
    [RY20]_, Algorithm 2, Theorems 4.4 to 4.6. The step size, which is not defined there, is 1/r; a point is drawn
    uniformly from the sampled ones of its layer. The covering is the set of bases of a uniform or partition matroid,
    which is the best for it: all its points are candidates for the maximum.

    Examples
    --------
    >>> Algorithm2("0.1").epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction
    sensitivity: Fraction | None
    samples: int | None
    name: ClassVar[str] = "algorithm-2"

    def __init__(
        self,
        epsilon: Exact = "0.1",
        sensitivity: Exact | None = None,
        samples: int | None = None,
    ) -> None:
        exact = to_fraction(epsilon, "epsilon")
        if exact <= 0:
            raise InvalidProblemError("epsilon", "a positive number", epsilon)
        delta = None if sensitivity is None else to_fraction(sensitivity, "sensitivity")
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "sensitivity", delta)
        object.__setattr__(self, "samples", samples)

    def unproven(self, matroid: Matroid) -> str:
        """Say what is false."""
        del matroid
        return _REASON

    def literal_plan(self, statement: ChoiceFacts, matroid: Matroid) -> DrawPlan:
        """Plan r steps."""
        need_set_function(self.name, statement)
        parts_of(matroid, self.name)
        return DrawPlan(None, (), matroid.rank, parameters={"epsilon": str(self.epsilon)})

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw r bases by their layers, then round."""
        n, r = objective.n_elements, plan.draws
        records = max(1, objective.n_records)
        delta = self.sensitivity or Fraction(1, records)
        # (1 + mu)^(eps' i) = exp(eps0 / (2 Delta) ln(1 + mu) i), and ln(1 + mu) = eps0.
        rate = self.epsilon / (2 * delta) * self.epsilon
        size = self.samples or sample_size(n, math.ceil(r / self.epsilon))
        x = np.zeros(n, dtype=np.int64)
        bases = []
        for number in range(r):
            scores, unit = marginals(objective, x, r, 16, bits)
            drawn = [self._base(matroid, bits) for _ in range(size)]
            sums = [int(scores[list(base)].sum()) * unit / records for base in drawn]
            layers = layer_scores(sums, self.epsilon)
            base = drawn[exponential_mechanism(layers, rate, 1, monotone=True, bits=bits)]
            x[list(base)] += 1
            bases.append(base)
            if on_draw is not None:
                on_draw(number + 1)
        return tuple((e, 0) for e in swap_round(matroid, bases, bits=bits))

    def _base(self, matroid: Matroid, bits: RandomBits) -> tuple[int, ...]:
        """Draw a uniform base."""
        parts = parts_of(matroid, self.name)
        return tuple(e for part, size in parts for e in subset(part, size, bits).tolist())
