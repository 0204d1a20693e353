r"""The law of a sum of independent noises, and how far from 0 it is with a given probability; rounded outwards.

With :math:`Z = \sum_j c_j X_j`, integers :math:`c_j` and independent discrete Laplace or Gaussian :math:`X_j`, the law
of :math:`Z` is the convolution of those of its terms. It is computed by fast Fourier transforms on a grid that is long
enough for all but a tiny part of the mass. Everything that is left out or rounded is bounded and taken off the
probability: the interval covers with at least the stated probability.

- Mass beyond the ends of the grid: Chernoff's bound, with the moment generating function
  :math:`(1-q)^2 / ((1-q e^\lambda)(1-q e^{-\lambda}))`, :math:`q = e^{-1/b}`, of the discrete Laplace law, and
  :math:`e^{\lambda^2 \sigma^2/2}`, which is above that of the discrete Gaussian one ([CKS20]_).
- Floats: a transform of length :math:`n` has a relative error of at most :math:`7 u \log_2 n` in the Euclidean norm,
  with :math:`u = 2^{-53}`; twice that is allowed for, for each of the terms.
- A grid coarser than 1, used only where the standard deviation is above some ten thousands: each term moves by half a
  step at most, and the interval grows by as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import float_ceil
from discreet.core.printed import at_least

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Noise

__all__ = ["Term", "half_width", "noise_law"]

_LONGEST = 1 << 20
"""Points of the grid; a transform of this length takes some milliseconds."""

_REACH = 12
"""Standard deviations from 0 to the ends of the grid, at least."""


@final
@dataclass(frozen=True)
class Term:
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
    r"""Find a `k`, the least up to rounding, with :math:`P(|Z| \le k)` at least the coverage.

    Parameters
    ----------
    terms
        How many independent noises of each kind are added.
    noise
        The law of all of them.
    coverage
        Strictly between 0 and 1.

    Returns
    -------
    int
        The half-width; 0 where there is no noise.

    Raises
    ------
    InvalidProblemError
        For a coverage so near 1 that the errors of the computation are not negligible beside what is left.

    Complexity
    ----------
    One transform for each kind of term, of length ``2^20`` at most.

    Examples
    --------
    >>> from fractions import Fraction
    >>> half_width({Term(1, Fraction(3)): 1}, "laplace", Fraction(19, 20))
    9
    >>> half_width({Term(1, Fraction(3)): 2}, "laplace", Fraction(19, 20))
    12
    """
    if not terms:
        return 0
    scales = {term: float(term.scale) for term in terms}
    deviation = math.sqrt(
        sum(
            count * term.factor**2 * (2 * scales[term] ** 2 if noise == "laplace" else scales[term])
            for term, count in terms.items()
        )
    )
    # A single wide noise has a heavier tail than its share of the variance.
    widest = max(term.factor * _spread(scales[term], noise) for term in terms)
    reach = math.ceil(_REACH * deviation + 30 * widest) + 1
    step = -(-2 * reach // _LONGEST)
    length = 1 << (2 * reach // step + 1).bit_length()
    transform = np.ones(length // 2 + 1)
    moved, rounded, drift = 0, 0.0, 0.0
    for term, count in terms.items():
        law = noise_law(term.factor, scales[term], noise, step, length)
        wave = np.fft.rfft(law)
        # The laws are symmetric, hence their transforms real; what is not is error.
        transform *= wave.real**count
        norm = math.sqrt(length) * float(np.linalg.norm(law))
        rounded += count * 14 * _UNIT * math.log2(length) * norm
        drift += count * _LAW_ERROR
        if step > 1:
            moved += count * step
    masses = np.fft.irfft(transform, length)
    rounded += 14 * _UNIT * math.log2(length) * math.sqrt(length) * float(np.linalg.norm(masses))
    beyond = _beyond(terms, scales, noise, step * (length // 2) - moved)
    half = length // 2
    inside = np.concatenate([masses[:1], masses[1:half] + masses[:half:-1]])
    covered = np.cumsum(inside) - beyond - drift - rounded * (2 * np.arange(half) + 1)
    enough = np.flatnonzero(covered >= float_ceil(coverage))
    if not enough.size:
        expected = f"a probability of at most {at_least(float(covered.max()), 9)}"
        raise InvalidProblemError("interval", expected, str(float(coverage)))
    return int(enough[0]) * step + (moved + 1) // 2


_UNIT = 2.0**-53
_LAW_ERROR = 1e-12
"""Bound on the total variation between a law and its floats: exponents below 800, some operations each."""


def _spread(scale: float, noise: Noise) -> float:
    return scale if noise == "laplace" else math.sqrt(scale) / 8


def noise_law(
    factor: int, scale: float, noise: Noise, step: int, length: int
) -> NDArray[np.float64]:
    """Give the law of one noise times its factor, rounded to the grid, with the negative half at the end."""
    if noise == "laplace":
        most = math.ceil(40 * scale) + 1
        weights = np.exp(-np.arange(most + 1) / scale)
    else:
        most = math.ceil(10 * math.sqrt(scale)) + 1
        weights = np.exp(-(np.arange(most + 1.0) ** 2) / (2 * scale))
    weights /= weights[0] + 2 * weights[1:].sum()
    # To the nearest point of the grid, symmetrically; what lies beyond its ends is left out.
    places = (2 * factor * np.arange(most + 1) + step) // (2 * step)
    kept = places < length // 2
    law = np.zeros(length)
    np.add.at(law, places[kept], weights[kept])
    np.add.at(law, -places[1:][kept[1:]], weights[1:][kept[1:]])
    return law


def _beyond(
    terms: Mapping[Term, int], scales: Mapping[Term, float], noise: Noise, reach: float
) -> float:
    """Bound the probability that the sum is farther out than the grid reaches."""
    best = 0.0
    if noise == "laplace":
        limit = min(1 / (term.factor * scales[term]) for term in terms)
        rates = np.linspace(0.05, 0.95, 19) * limit
    else:
        whole = sum(count * term.factor**2 * scales[term] for term, count in terms.items())
        rates = np.array([reach / whole])
    for rate in rates.tolist():
        exponent = -rate * reach
        for term, count in terms.items():
            turn = rate * term.factor
            moment = turn**2 * scales[term] / 2
            if noise == "laplace":
                away = 1 / scales[term]
                up, down = math.exp(turn - away), math.exp(-turn - away)
                moment = 2 * math.log1p(-math.exp(-away)) - math.log1p(-up) - math.log1p(-down)
            exponent += count * moment
        best = min(best, exponent)
    return 2 * math.exp(best) * (1 + 1e-9)
