r"""How far a sum of independent noises with whole coefficients is from 0 with a given probability, rounded outwards.

With :math:`Z = \sum_j c_j X_j`, integers :math:`c_j` and independent discrete Laplace or Gaussian :math:`X_j`, the
half-width follows from the law of Z (:mod:`discreet.hierarchy.contingency.law`), or from Chernoff's bound
(:mod:`discreet.hierarchy.contingency.intervals`) where that is shorter. It is the least one for standard deviations up
to 60, and at most 1 % longer beyond.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from discreet.hierarchy.contingency.intervals import half_width as chernoff_half_width
from discreet.hierarchy.contingency.law import half_width_by_law
from discreet.hierarchy.measure import variance_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.hierarchy.measure import Noise


class Term(NamedTuple):
    """One kind of noise in a sum.

    Parameters
    ----------
    factor
        The positive integer that the noise is multiplied with; the laws are symmetric, so its sign does not matter.
    scale
        Scale of a discrete Laplace law, variance parameter of a discrete Gaussian one.
    """

    factor: int
    scale: Fraction


def half_width(terms: Mapping[Term, int], noise: Noise, coverage: Fraction) -> int:
    r"""Return a whole `k`, hardly above the least one, with :math:`P(|Z| \le k)` at least the coverage.

    Parameters
    ----------
    terms
        Number of independent noises of each kind.
    noise
        The law of all of them.
    coverage
        Strictly between 0 and 1, which is not checked.

    Returns
    -------
    int
        The half-width; 0 if there is no noise.

    Complexity
    ----------
    4,096 operations for each kind of noise, and for each of 20 steps of bisection.

    Examples
    --------
    >>> half_width({Term(1, Fraction(3)): 1}, "laplace", Fraction(19, 20))
    9
    >>> half_width({Term(1, Fraction(3)): 2}, "laplace", Fraction(19, 20))
    12
    """
    variances = {scale: variance_of(scale, noise) for _, scale in terms}
    groups = [(factor, count, scale, variances[scale]) for (factor, scale), count in terms.items()]
    variance = sum((a * a * n * v for a, n, _, v in groups), Fraction(0))
    steepest = [] if noise == "gaussian" else [(b, Fraction(a)) for a, _, b, _ in groups]
    bound = chernoff_half_width(variance, coverage, steepest)
    if not float(variance) > 0:
        return int(bound)
    plain = tuple((float(a), n, float(b), float(v)) for a, n, b, v in groups)
    by_law = half_width_by_law(plain, 0.0, (), noise, interval=coverage, most=float(bound))
    width = int(bound if by_law is None else min(bound, Fraction(by_law)))
    # Z is a multiple of what all factors are multiples of.
    return width - width % math.gcd(*(factor for factor, _ in terms))
