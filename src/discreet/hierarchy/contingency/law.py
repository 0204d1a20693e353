r"""Half-widths from the exact law of a region's own noise, with a bound for the noise of all other regions.

Most of the noise of an answer is of the region itself, and comes in few kinds: all entries of a marginal that the
question treats alike have one coefficient. Such a group is :math:`a \sum_{i \le n} X_i`, whose law is a power of that
of one noise, on whole numbers; the groups are convolved on a common grid. With G for all groups together and R for the
rest, independent and symmetric,

.. math:: P(|G + R| \ge h) \le 2 \sum_g P(G = g)\, B(h - g), \qquad
          B(x) = 1 \text{ for } x \le 0, \quad B(x) = \min_t e^{-tx} E e^{tR} \text{ else},

where the moment of R is bounded as in :mod:`discreet.hierarchy.contingency.intervals`. Everything that is rounded or
left out is added to the probability, or to the half-width: half a step of the grid for each group, what transforms err
by, and mass beyond the ends.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.hierarchy.contingency.intervals import excess
from discreet.hierarchy.noise_sum import noise_law

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Noise

    Group = tuple[float, int, Fraction, float]

__all__ = ["half_width_by_law"]

_GRID = 1 << 15
"""Points of the common grid."""

_REACH = 12
"""Standard deviations from 0 to the ends of a grid."""

_LONGEST = 1 << 17
"""Points of the grid of one group, at most; wider noise has no law here."""

_UNIT = 2.0**-53
_LAW_ERROR = 1e-12
"""Bound on the total variation between the law of a noise and its floats, as in the sums of noises."""


@lru_cache(maxsize=1024)
def half_width_by_law(
    groups: tuple[Group, ...],
    rest: float,
    noise: Noise,
    kinds: tuple[tuple[float, float], ...],
    *,
    interval: Fraction,
    most: float,
) -> float | None:
    """Find an h with at most the stated probability outside, below ``most``; ``None`` where there is none.

    Parameters
    ----------
    groups
        For each group its coefficient, how many noises it has, their scale, and the variance of one of them. A
        coefficient may be off by a relative ``1e-7``.
    rest
        Variance of the noise of the rest, not rounded down.
    noise
        The law of all of them.
    kinds
        For Laplace noise the scale of each kind in the rest and a bound of its coefficients; nothing for Gaussian
        noise.
    interval
        The probability with which an interval has to cover.
    most
        A half-width that is known to be enough.

    Examples
    --------
    >>> from fractions import Fraction
    >>> one = (1.0, 1, Fraction(100), 100.0)
    >>> found = half_width_by_law((one,), 0.0, "gaussian", (), interval=Fraction(19, 20), most=27.2)
    >>> 19.6 < found < 21
    True
    """
    deviation = math.sqrt(sum(a * a * n * v for a, n, _, v in groups) + rest)
    step = 2 * _REACH * deviation / _GRID
    transform = np.ones(_GRID // 2 + 1)
    # InteractionBasis that are off by 1e-7 move the sum by a millionth of a deviation but for a chance of e^-50.
    error, rounded, moved = 1e-20, 0.0, deviation * 1e-6
    growth = 14 * _UNIT * math.log2(_GRID) * math.sqrt(_GRID)
    for coefficient, count, scale, variance in groups:
        known = _group_law(count, scale, noise, variance)
        if known is None:
            return None
        law, lost = known
        half = len(law) // 2
        places = np.rint(coefficient / step * np.arange(-half, half)).astype(np.int64)
        kept = np.abs(places) < _GRID // 2
        grid = np.zeros(_GRID)
        np.add.at(grid, places[kept], law[kept])
        error += lost + float(law[~kept].sum())
        transform *= np.fft.rfft(grid).real
        rounded += growth * float(np.linalg.norm(grid))
        moved += step / 2
    masses = np.fft.irfft(transform, _GRID)
    error += _GRID * (rounded + growth * float(np.linalg.norm(masses)))
    # What leaves the grid comes back at its other end.
    reach = _REACH * deviation - moved
    error += _beyond(reach, deviation**2, [(float(s), a) for a, _, s, _ in groups], noise)
    masses = np.maximum(masses, 0)
    values = np.fft.fftfreq(_GRID, 1 / _GRID) * step
    alpha = float(1 - interval) * (1 - 1e-12) - error
    rates = _rates(rest, kinds)

    def outside(h: float) -> float:
        reached = np.asarray(h - moved - values, dtype=np.float64)
        return 2 * float(np.dot(masses, _tail(reached, rest, rates))) * (1 + 1e-9)

    if outside(most) > alpha:
        return None
    low, high = 0.0, most
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if outside(middle) <= alpha else (middle, high)
    return high * (1 + 1e-9)


@lru_cache(maxsize=256)
def _group_law(
    count: int, scale: Fraction, noise: Noise, variance: float
) -> tuple[NDArray[np.float64], float] | None:
    """Give the law of a sum of equal noises on whole numbers, from below 0 up, and what it may be off by."""
    deviation = math.sqrt(count * variance)
    widest = float(scale) if noise == "laplace" else math.sqrt(float(scale)) / 8
    reach = math.ceil(_REACH * deviation + 30 * widest) + 1
    length = 1 << (2 * reach + 1).bit_length()
    if length > _LONGEST:
        return None
    base = noise_law(1, float(scale), noise, 1, length)
    growth = 14 * _UNIT * math.log2(length) * math.sqrt(length)
    masses = np.fft.irfft(np.fft.rfft(base).real ** count, length)
    lost = length * growth * (count * float(np.linalg.norm(base)) + float(np.linalg.norm(masses)))
    lost += count * _LAW_ERROR
    lost += _beyond(length // 2, count * variance, [(float(scale), 1.0)], noise)
    return np.fft.fftshift(np.maximum(masses, 0)), lost


def _rates(variance: float, kinds: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """List rates t at which the tail of Laplace noise is bounded, each with the exponent of its moment."""
    known = [(b, top) for b, top in kinds if top]
    if not known or not variance:
        return []
    limit = min(1 / (b * top) for b, top in known)
    found = []
    for step in range(1, 20):
        t = min(8 / math.sqrt(variance), limit) * step / 20
        worst = max(excess(b, t * top) for b, top in known)
        if worst < math.inf:
            found.append((t, worst * variance * t * t / 2))
    return found


def _tail(
    x: NDArray[np.float64], variance: float, rates: list[tuple[float, float]]
) -> NDArray[np.float64]:
    """Bound the probability that the rest is at least x."""
    far = np.maximum(x, 0)
    if not variance:
        return (x <= 0).astype(np.float64)
    if not rates:
        return np.exp(-far * far / (2 * variance))
    best = np.zeros_like(far)
    for t, moment in rates:
        best = np.minimum(best, moment - t * far)
    return np.exp(best)


def _beyond(
    reach: float, variance: float, kinds: Sequence[tuple[float, float]], noise: Noise
) -> float:
    """Bound the probability that noise is farther from 0 than the reach."""
    rates = _rates(variance, kinds) if noise == "laplace" else []
    return 2 * float(_tail(np.array([reach]), variance, rates)[0])
