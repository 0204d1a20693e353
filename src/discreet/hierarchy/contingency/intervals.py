r"""Intervals that always cover, from what is known of the noise: half-widths, rounded up.

The noise of an answer is :math:`Z = \sum_j a_j X_j` with known :math:`a_j`. By Chernoff
:math:`P(|Z| \ge h) \le 2 \exp(-t h + \sum_j \ln M_j(t a_j))` for every :math:`t > 0`.

**Gaussian.** :math:`\ln M(\lambda) \le \lambda^2 \sigma^2 / 2` ([CKS20]_), so that
:math:`h = \sqrt{2 V \ln(2 / \alpha)}` with :math:`V = \sum_j a_j^2 \sigma_j^2` is enough: 2.72 standard deviations at
95 %.

**Laplace.** With :math:`q = e^{-1/b}` and :math:`\kappa = 2q / (1-q)^2`,
:math:`\ln M(\lambda) = -\ln(1 - \kappa (\cosh \lambda - 1))` is a power series in :math:`\lambda^2` without negative
coefficients, hence :math:`\ln M(\lambda) / \lambda^2` rises with :math:`|\lambda|`. Where :math:`|a_j| \le A_g` for all
noises of a kind g, they contribute at most :math:`V_g\, t^2 / 2` times
:math:`F_g(t) = \ln M_g(t A_g) / (t^2 A_g^2 \sigma_g^2 / 2)`, and all kinds together at most :math:`\max_g F_g(t)` times
:math:`V t^2 / 2`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.exact import log_ceil, root_above

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_ARGUMENT = 1023 * math.log(2)
"""Beyond it hyperbolic functions leave the floats; a bound there is of no use."""

ROUND_UP = 1 + 1e-9
"""Sums of at most 2^30 positive terms and a few operations more, in floats, are right up to this factor."""


def half_width(
    variance: Fraction,
    interval: Fraction,
    steepest: Iterable[tuple[Fraction, Fraction]] = (),
) -> Fraction:
    r"""Find an h with :math:`P(|Z| < h)` at least the given probability, or more.

    Parameters
    ----------
    variance
        :math:`V`, the variance of the noise or, for Gaussian noise, the sum of its parameters; not rounded down.
    interval
        The probability.
    steepest
        For Laplace noise, for each kind of noise its scale b and a bound of its coefficients; nothing for Gaussian
        noise.

    Returns
    -------
    Fraction
        The half-width; 0 where there is no noise.

    Examples
    --------
    >>> float(half_width(Fraction(1), Fraction("0.95")))
    2.716...
    >>> float(half_width(Fraction(2), Fraction("0.95"), [(Fraction(1), Fraction(1))]))
    5.9...
    """
    if not variance:
        return Fraction(0)
    # ln(2 / alpha), rounded up.
    bits = 60
    tail = Fraction(log_ceil(2 / (1 - interval), bits), 1 << bits)
    kinds = [(float(b), float(top) * ROUND_UP) for b, top in steepest if top]
    if not kinds:
        return root_above(2 * variance * tail)
    v, level = float(variance) * ROUND_UP, float(tail) * ROUND_UP
    limit = min(min(1 / b, _MAX_ARGUMENT) / top for b, top in kinds)
    ideal = math.sqrt(2 * level / v)
    best = math.inf
    for step in range(1, 200):
        t = min(ideal, limit) * step / 200
        worst = max(excess(b, t * top) for b, top in kinds)
        best = min(best, (level + worst * v * t * t / 2) / t)
    return Fraction(best * ROUND_UP)


def excess(b: float, turn: float) -> float:
    """Divide the log-moment of a discrete Laplace noise by that of a Gaussian one of its variance, rounded up.

    `b` is the scale, `turn` the argument of both, a rate times a coefficient. At least 1; infinite where the moment
    is.
    """
    if turn > _MAX_ARGUMENT:
        return math.inf
    # 1 - q from below: kappa and the variance, which is kappa, from above. expm1 keeps its digits for large scales.
    gone = -math.expm1(-1 / b)
    kappa = 2 * math.exp(-1 / b) / gone**2 * ROUND_UP
    # cosh(x) - 1 without cancellation.
    inside = kappa * 2 * math.sinh(turn / 2) ** 2
    if inside >= 1:
        return math.inf
    if not inside:
        return 1.0
    return max(1.0, -math.log1p(-inside) / (turn * turn * kappa / 2) * ROUND_UP * ROUND_UP)
