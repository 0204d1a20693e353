"""Marginals of the multilinear extension as integers, so that a record moves them by a known number of units."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.randomness import bernoullis
from discreet.submodular.objective import MARGINAL_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.objective import Objective

__all__ = ["marginals", "sampled_marginals"]


def marginals(
    objective: Objective, x: NDArray[np.int64], parts: int, samples: int, bits: RandomBits
) -> tuple[NDArray[np.int64], Fraction]:
    r"""Compute :math:`w_e = E[F(R + e)] - E[F(R)]` at a public point, in units of a known size.

    One record moves a score by at most its sensitivity divided by the unit.

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
        unit = Fraction(1, 1 << MARGINAL_BITS)
        return np.rint(np.ldexp(exact, MARGINAL_BITS)).astype(np.int64), unit
    scores = sampled_marginals(objective, x, parts, samples, bits)
    return scores, Fraction(1, samples << objective.scale_bits)


def sampled_marginals(
    objective: Objective, x: NDArray[np.int64], parts: int, samples: int, bits: RandomBits
) -> NDArray[np.int64]:
    """Add up the gains of every element over some random sets, in units of the objective."""
    total = np.zeros(objective.n_elements, dtype=np.int64)
    possible = np.flatnonzero(x)
    for _ in range(samples):
        state = objective.start()
        for element in possible[bernoullis(x[possible], parts, bits)].tolist():
            state.add(element)
        total += state.gains()[:, 0]
    return total
