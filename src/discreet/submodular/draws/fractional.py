r"""Marginals of the multilinear extension as integers, so that a record moves them by a known number of units.

Rounds: bases that are drawn element by element, each draw at the point of the draws before it.

Swap rounding: a random base from a convex combination of bases, losing nothing in expectation.

Two bases with weights b and c are merged: while they differ, take i from one and j from the other such that both
exchanges give bases; with probability :math:`b/(b+c)` the second takes i for j, else the first takes j for i. Merging
all bases in turn gives S with :math:`\Pr[e \in S] = x_e` and :math:`E[F(S)] \ge f(x)` for monotone submodular F.

It looks at the bases alone, never at the function, and so costs no privacy. To round several times and keep the best
would: that choice reads the records.

Trusted: the guarantee rests on this code, by how much one record moves a marginal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import whole_number
from discreet.core.randomness import as_bits, bernoullis, exponential_mechanism
from discreet.submodular.objectives.objective import MARGINAL_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits, UniformSource
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.method import Chosen, DrawPlan
    from discreet.submodular.objectives.objective import Objective

    Scorer = Callable[[NDArray[np.int64]], tuple[NDArray[np.int64], Fraction]]


def marginals(
    objective: Objective, x: NDArray[np.int64], parts: int, samples: int, bits: RandomBits
) -> tuple[NDArray[np.int64], Fraction]:
    r"""Compute :math:`w_e = E[F(R + e)] - E[F(R)]` at a public point, in units of a known size.

    One record moves a score by at most its sensitivity divided by the unit.

    The cost is that of a closed form, or of the gains of all elements for each of `samples` sets.

    Parameters
    ----------
    objective
        A set function.
    x
        ``(n_elements,)`` numerators: R holds e with probability ``x[e] / parts``.
    parts
        The denominator.
    samples
        How many sets R are drawn where there is no closed form. Fixed beforehand: a number that depends on the records
        would tell about them.
    bits
        Source of chance, for the sets R.

    Returns
    -------
    scores : ndarray
        ``(n_elements,)`` integers.
    unit : Fraction
        What one of them is worth.

    Notes
    -----
    A closed form rounds each record's part before the parts are added, so that the sum is exact. Sampled sets depend
    on the public point and on coins alone; given them the scores are sums of gains, as sensitive as gains are.
    """
    exact = objective.multilinear_marginals(x / parts)
    if exact is not None:
        return in_units(exact)
    scores = sampled_marginals(objective, x, parts, samples, bits)
    return scores, Fraction(1, samples << objective.scale_bits)


def in_units(exact: NDArray[np.float64]) -> tuple[NDArray[np.int64], Fraction]:
    """Return marginals of a closed form as integers, and their unit, ``2^-MARGINAL_BITS``."""
    scores = np.rint(np.ldexp(exact, MARGINAL_BITS)).astype(np.int64)
    return scores, Fraction(1, 1 << MARGINAL_BITS)


def sampled_marginals(
    objective: Objective, x: NDArray[np.int64], parts: int, samples: int, bits: RandomBits
) -> NDArray[np.int64]:
    """Return the sum, over `samples` random sets, of the gain of every element: ``(n_elements,)`` int64.

    Each set has each element with probability ``x / parts``, independently. Gains are in units of the objective.

    `x` ``(n_elements,)`` are int64 numerators of the denominator `parts`; the function must have one kind.
    """
    total = np.zeros(objective.n_elements, dtype=np.int64)
    possible = np.flatnonzero(x)
    for _ in range(samples):
        state = objective.start()
        for element in possible[bernoullis(x[possible], parts, bits)].tolist():
            state.add(element)
        total += state.gains()[:, 0]
    return total


def swap_round(
    matroid: Matroid,
    bases: Sequence[Sequence[int]],
    weights: Sequence[int] | None = None,
    *,
    bits: UniformSource | None = None,
) -> tuple[int, ...]:
    """Round a convex combination of bases to one base.

    Merging a base takes up to r exchanges, each of up to 2 r tests of independence.

    Parameters
    ----------
    matroid
        What may be chosen.
    bases
        Bases of it.
    weights
        Positive integers, one for each base; equal by default.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    tuple of int
        A base, ascending. An element is in it with exactly the total weight of the bases that hold it, divided by the
        sum of the weights.

    Raises
    ------
    InvalidProblemError
        For sets that are no bases, or weights that are not positive.

    Guarantee
    ---------
    Expectation only: the value may be below f(x) with any probability short of 1, whatever Remark 3.2 of [RY20]_ says.

    References
    ----------
    [CVZ10]_, Section 3.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> swap_round(UniformMatroid(3, 2), [[0, 1], [1, 0]])
    (0, 1)
    """
    for weight in () if weights is None else weights:
        whole_number(weight, "weights", "a positive integer for each base")
    shares = [1] * len(bases) if weights is None else [int(weight) for weight in weights]
    if not bases or len(shares) != len(bases):
        raise InvalidProblemError("weights", "a positive integer for each base", repr(weights))
    sets = [set(base) for base in bases]
    for base in sets:
        if len(base) != matroid.rank or not matroid.is_independent(base):
            raise InvalidProblemError("bases", f"bases of {matroid!r}", sorted(base))
    source = as_bits(bits)
    merged, total = sets[0], shares[0]
    for other, weight in zip(sets[1:], shares[1:], strict=True):
        first, second = set(merged), set(other)
        while first != second:
            i, j = _exchange(matroid, first, second)
            if source.randrange(total + weight) < total:
                second = (second - {j}) | {i}
            else:
                first = (first - {i}) | {j}
        merged, total = first, total + weight
    return tuple(sorted(merged))


def _exchange(matroid: Matroid, first: set[int], second: set[int]) -> tuple[int, int]:
    """Return i of base `first` and j of base `second` that may be exchanged.

    Strong exchange states that there are some. Raises InvalidProblemError for no matroid. Up to ``2 r`` tests of
    independence.
    """
    i = min(first - second)
    for j in sorted(second - first):
        if matroid.is_independent((first - {i}) | {j}) and matroid.is_independent(
            (second - {j}) | {i}
        ):
            return i, j
    raise InvalidProblemError("matroid", "the exchange property", "none for two of its bases")


class Rounds(ABC):
    """Bases that are drawn element by element, each draw at the point of the draws before it; their mean is rounded."""

    @abstractmethod
    def scorer(self, objective: Objective, plan: DrawPlan, bits: RandomBits) -> Scorer:
        """Return a function from the count of draws of each element to the scores of the next draw and their unit.

        `plan` has the draws, `objective` the private records. Counts and scores are ``(n_elements,)`` int64; the unit
        is a fraction.
        """

    def choose(
        self,
        objective: Objective,
        matroid: Matroid,
        plan: DrawPlan,
        bits: RandomBits,
        on_draw: Callable[[int], None] | None = None,
    ) -> Chosen:
        """Draw a base in each round, one element after another, then round the bases to one by swaps.

        `on_draw` gets the number of draws so far. Returns pairs of an element and kind 0. Each draw scores all
        elements.

        The other arguments are those of :meth:`GreedyDraws.choose`. The cost is rank times rounds scores, and the
        swaps.
        """
        scores_of = self.scorer(objective, plan, bits)
        counts = np.zeros(matroid.n_elements, dtype=np.int64)
        bases: list[tuple[int, ...]] = []
        for number in range(plan.draws):
            if number % matroid.rank == 0:
                grown = matroid.start()
            candidates = np.flatnonzero(grown.feasible())
            scores, unit = scores_of(counts)
            rate = Fraction(plan.coefficient or 0) * unit
            at = exponential_mechanism(scores[candidates], rate, 1, monotone=True, bits=bits)
            grown.add(int(candidates[at]))
            counts[candidates[at]] += 1
            if len(grown.members) == matroid.rank:
                bases.append(grown.members)
            if on_draw is not None:
                on_draw(number + 1)
        return tuple((e, 0) for e in swap_round(matroid, bases, bits=bits))
