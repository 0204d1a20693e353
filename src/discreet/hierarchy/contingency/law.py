r"""Half-widths from the law of the whole noise of an answer: its characteristic function, and Selberg's polynomials.

The noise of an answer is :math:`Z = \sum_j a_j X_j` with known coefficients, of which many are equal. The
characteristic functions of discrete Laplace and Gaussian noise are closed forms, and that of Z is their product.

Selberg's polynomial of degree N is nowhere above the indicator of an interval on a circle, and loses only
:math:`1 / (N + 1)` of its length ([Mon94]_, chapter 1). With L for the length of the circle and :math:`u = h / L`,

.. math:: P(|Z| \le h) + P(|Z| \ge L - h) \ge 2u - \frac{1}{N + 1} - \frac{2}{N + 1}
          \sum_{n=1}^N \Bigl[ f\bigl(\tfrac{n}{N + 1}\bigr) \sin 2 \pi n u
          + \bigl(1 - \tfrac{n}{N + 1}\bigr) \cos 2 \pi n u \Bigr] \varphi_Z(2 \pi n / L),

:math:`f(v) = -(1 - v) \cot \pi v - 1 / \pi`. The sum is finite: nothing is cut off and nothing is integrated. Noises
that are too many to be looked at have, with V for their variance, or for Gaussian noise the sum of its parameters,
:math:`e^{-V s^2 / 2} \le \varphi(s) \le 1`; what that leaves open is added to the probability, as are what floats err
by and what lies beyond the circle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from discreet.hierarchy.contingency.intervals import excess

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Noise

    Group = tuple[float, int, float, float]


class _Limits(NamedTuple):
    """Ranges of the sum of noises, and bounds on the errors of its computation."""

    degrees: tuple[int, ...] = (1 << 12, 1 << 10, 1 << 8)
    """Degrees of the polynomials: with the first a half-width is 1/256 of a deviation longer than it has to be."""
    circle_deviations: int = 32
    """Length of the circle in standard deviations."""
    tail_deviations: int = 24
    """Standard deviations beyond which the noise is bounded by Chernoff."""
    coefficient_error: float = 1e-9
    """Relative error of a coefficient, at most."""
    product_error: float = 1e-12
    """Bound of the change of the product by rounding the logarithm of one characteristic function: a relative error
    of some units in the last place, and an angle that is off by at most 2^-50 times 4,096 / 32 turns."""
    min_product: float = 1e-17
    """Frequencies where the product is below this are left out, and counted as errors."""


_LIMITS = _Limits()


@lru_cache(maxsize=4096)
def half_width_by_law(
    groups: tuple[Group, ...],
    rest: float,
    scales: tuple[float, ...],
    noise: Noise,
    *,
    interval: Fraction,
    most: float,
) -> float | None:
    """Find an h with at most the stated probability outside, below ``most``; ``None`` where there is none.

    Parameters
    ----------
    groups
        For each group its coefficient, up to a relative ``1e-9``, how many independent noises it has, their scale, and
        the variance of one of them; for Gaussian noise its parameter.
    rest
        Variance of the rest of the noise together, not rounded down.
    scales
        Scales of the noises that may be in the rest.
    noise
        The law of all of them.
    interval
        The probability with which an interval has to cover.
    most
        A half-width that is known to be enough.

    Complexity
    ----------
    4,096 operations for each group, and for each of 20 steps of bisection.

    Examples
    --------
    >>> from fractions import Fraction
    >>> one = (1.0, 1, 100.0, 100.0)
    >>> found = half_width_by_law((one,), 0.0, (), "gaussian", interval=Fraction(19, 20), most=27.2)
    >>> 19.5 < found < 20.1
    True
    """
    deviation = math.sqrt(sum(a * a * n * v for a, n, _, v in groups) + rest)
    if not deviation:
        return None
    length = _LIMITS.circle_deviations * deviation
    steps = np.arange(1, _LIMITS.degrees[0] + 1)
    logs = np.zeros(_LIMITS.degrees[0])
    left = np.arange(_LIMITS.degrees[0])
    for coefficient, count, scale, _ in groups:
        # In turns, so that nothing is lost where an angle is many of them.
        turns = np.asarray(coefficient / length * steps[left], dtype=np.float64)
        logs[left] += count * log_characteristic(turns, scale, noise)
        left = left[logs[left] > math.log(_LIMITS.min_product)]
    error = 2 * _tail(groups, rest, scales, noise, deviation)
    floats = (len(groups) + 2) * _LIMITS.product_error + _LIMITS.min_product
    # Coefficients that are off move the noise by a small multiple of noise no larger than itself.
    moved = _LIMITS.tail_deviations * _LIMITS.coefficient_error * deviation
    alpha = float(1 - interval) * (1 - 1e-12) - error
    best = None
    high = min(most, (_LIMITS.circle_deviations - _LIMITS.tail_deviations) * deviation)
    # Where a rest is not known, few frequencies may say more than many.
    for degree in _LIMITS.degrees if rest else _LIMITS.degrees[:1]:
        some = left[left < degree]
        unknown = -np.expm1(-rest * (2 * math.pi / length * steps[some]) ** 2 / 2)
        polynomial = _Minorant(degree, steps[some], np.exp(logs[some]), unknown, floats)
        half = _least(polynomial, moved, length, high, alpha)
        if half is not None:
            best = high = half
    return None if best is None else best * (1 + 1e-9)


@final
@dataclass(frozen=True, eq=False)
class _Minorant:
    """Selberg's polynomial below an interval, times a characteristic function.

    Parameters
    ----------
    degree
        The degree.
    steps
        The frequencies that matter, multiples of that of the circle.
    product
        At each of them an upper bound of the characteristic function.
    unknown
        The part of it that is not sure.
    floats
        Error of each product, and of the products that are left out.
    """

    degree: int
    steps: NDArray[np.int64]
    product: NDArray[np.float64]
    unknown: NDArray[np.float64]
    floats: float

    def outside(self, part: float) -> float:
        """Bound the probability of all but the middle part of the circle, up to ``part`` of it on each side."""
        every = self.degree + 1
        place = self.steps / every
        slope = -(1 - place) / np.tan(math.pi * place) - 1 / math.pi
        angle = 2 * math.pi * part * self.steps
        wave = slope * np.sin(angle) + (1 - place) * np.cos(angle)
        least = self.product * (1 - self.unknown)
        inside = float(wave @ least + np.maximum(wave, 0) @ (self.product * self.unknown))
        # The weights add up to less than this.
        errors = self.floats * every * (2 + math.log(every))
        return 1 - 2 * part + (1 + 2 * (inside + errors)) / every


def _least(
    polynomial: _Minorant, moved: float, length: float, most: float, alpha: float
) -> float | None:
    """Find a half-width, in records, with a probability of at most `alpha` outside, by bisection up to `most`.

    ``None`` where `most` is not enough. `moved` is a part of the half-width spent on rounding, and `length` the
    period by which widths are divided. About 20 evaluations of the polynomial.
    """

    def is_wide_enough(h: float) -> bool:
        return polynomial.outside((h - moved) / length) <= alpha

    if not is_wide_enough(most):
        return None
    low, high = 0.0, most
    while high - low > most * 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if is_wide_enough(middle) else (middle, high)
    return high


def log_characteristic(
    turns: NDArray[np.float64], scale: float, noise: Noise
) -> NDArray[np.float64]:
    r"""Return the logarithm of the characteristic function of a noise, which is positive, at angles in turns.

    For Laplace noise with :math:`q = e^{-1/b}` it is :math:`(1-q)^2 / (1 - 2q \cos s + q^2)`; for Gaussian noise by
    Poisson's summation :math:`\sum_m e^{-\sigma^2 (s + 2 \pi m)^2 / 2}` divided by its value at 0.

    `turns` ``(n,)`` are the angles s over 2 pi; `scale` is b, or the variance of Gaussian noise. Returns ``(n,)``
    floats, at most 0. ``O(n)``.

    Examples
    --------
    >>> log_characteristic(np.array([0.5, 1.0]), 3.0, "laplace").round(3).tolist()
    [-3.602, -0.0]
    """
    angle = 2 * math.pi * (turns - np.rint(turns))
    if noise == "laplace":
        gone = -math.expm1(-1 / scale)
        logs = -np.log1p(4 * math.exp(-1 / scale) * (np.sin(angle / 2) / gone) ** 2)
        return np.asarray(logs, dtype=np.float64)
    if scale < 1 / 2:
        # Three terms on each side are all that matter; cosines of halves, so that nothing cancels near 0.
        k = np.arange(1, 9)
        weights = 2 * np.exp(-(k**2) / (2 * scale))
        lost = 2 * np.sin(angle[:, None] * k / 2) ** 2 @ weights
        return np.asarray(np.log1p(-lost / (1 + weights.sum())), dtype=np.float64)
    more = np.zeros_like(angle)
    at_zero = 0.0
    for m in (1, 2, 3):
        base = 2 * math.pi * m
        for side in (base, -base):
            more += np.exp(-scale * base**2 / 2 - scale * side * angle)
        at_zero += 2 * math.exp(-scale * base**2 / 2)
    logs = -scale * angle**2 / 2 + np.log1p(more) - math.log1p(at_zero)
    return np.asarray(np.minimum(logs, 0), dtype=np.float64)


def _tail(
    groups: Iterable[Group], rest: float, scales: Iterable[float], noise: Noise, deviation: float
) -> float:
    """Bound by Chernoff the probability that noise, or noise with smaller coefficients, is far beyond its deviation.

    `groups` are (coefficient, number, scale, variance) of listed noises; `rest` is the variance of the others, whose
    scales are `scales`. Eight rates are tried, each a pass over the groups.
    """
    if noise == "gaussian":
        return 2 * math.exp(-(_LIMITS.tail_deviations**2) / 2 * (1 - 1e-9))
    # Noise whose variance is no float is 0 but for a chance that is none either.
    kinds = [(b, v) for b in scales if rest and (v := _spread(b))]
    best = 0.0
    for rate in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.3):
        t = rate / deviation
        # A noise of the rest has at most all of its variance.
        worst = max((excess(b, t * math.sqrt(rest / v) * 1.01) for b, v in kinds), default=1.0)
        moment = worst * rest * t * t / 2 if rest else 0.0
        for a, n, scale, v in groups:
            moment += n * v * (a * t) ** 2 / 2 * excess(scale, a * t * 1.01) * 1.03
        best = min(best, moment * (1 + 1e-9) - rate * _LIMITS.tail_deviations)
    return 2 * math.exp(best)


def _spread(b: float) -> float:
    """Return the variance of discrete Laplace noise."""
    return 2 * math.exp(-1 / b) / math.expm1(-1 / b) ** 2
