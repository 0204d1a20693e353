r"""Integer noise with the exact discrete Gaussian law, one draw or millions.

The law with parameter :math:`\sigma^2` has :math:`\Pr[X = x] \propto e^{-x^2 / (2 \sigma^2)}` on the integers. Integer
answers of squared :math:`\ell_2` sensitivity :math:`\Delta_2^2`, each with such noise, are
:math:`\rho`-zero-concentrated differentially private for :math:`\sigma^2 = \Delta_2^2 / (2 \rho)`. The parameter is a
rational number and every draw is made with integers.

Both functions propose discrete Laplace noise :math:`Y` of scale :math:`t = \lfloor \sigma \rfloor + 1` and keep it with
probability :math:`e^{-\gamma}`,

.. math:: \gamma = \frac{(|Y| - \sigma^2 / t)^2}{2 \sigma^2} = \frac{(|Y| t d - n)^2}{2 n d t^2},
          \qquad \sigma^2 = n / d ,

since :math:`\frac{|y|}{t} + \gamma(y) = \frac{y^2}{2 \sigma^2} + \frac{\sigma^2}{2 t^2}`, where the last term does not
depend on :math:`y`. Rejection is used and not inversion: whether a threshold of this law is a dyadic number is not
known, so that an inversion could not be proved to end.

Trusted: the guarantee rests on this code. A test enumerates its law.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_positive
from discreet.core.randomness.bernoulli import bernoulli_exps, coin_exp
from discreet.core.randomness.bits import as_bits
from discreet.core.randomness.noise import discrete_laplace, discrete_laplaces, read_size

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits, UniformSource

_LARGEST_VARIANCE = 1 << 98
"""Beyond it, noise proposed by the discrete Laplace law would leave 64 bits."""
_CHUNK = 1 << 15
"""Draws made together; what they need stays in a processor's cache."""
_WORD = 1 << 63


def discrete_gaussian(variance: Exact, bits: UniformSource | None = None) -> int:
    r"""Draw one integer :math:`X` with :math:`\Pr[X = x] \propto e^{-x^2 / (2 \sigma^2)}`.

    About 1.5 proposals on average for a large :math:`\sigma`, each one draw of :func:`discrete_laplace` and one coin.

    Parameters
    ----------
    variance
        The parameter :math:`\sigma^2`, a positive rational number of any size. The variance of :math:`X` is at most
        this.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    int
        The noise.

    Raises
    ------
    InvalidProblemError
        When the parameter is not positive.

    Guarantee
    ---------
    A vector of integers of squared :math:`\ell_2` sensitivity :math:`\Delta_2^2`, plus this noise in each entry with
    :math:`\sigma^2 = \Delta_2^2 / (2 \rho)`, is :math:`\rho`-zero-concentrated differentially private ([CKS20]_,
    Theorem 14). The time that a draw takes depends on the noise.

    References
    ----------
    [CKS20]_, Algorithm 3.

    Examples
    --------
    >>> from discreet.core.randomness import SeededBits
    >>> discrete_gaussian("10/3", SeededBits(3)) == discrete_gaussian("10/3", SeededBits(3))
    True
    """
    exact, t = _check_variance(variance)
    n, d = exact.numerator, exact.denominator
    source = as_bits(bits)
    while True:
        proposed = discrete_laplace(t, source)
        if coin_exp((abs(proposed) * t * d - n) ** 2, 2 * n * d * t**2, source):
            return proposed


def discrete_gaussians(
    variance: Exact, size: int, bits: UniformSource | None = None
) -> NDArray[np.int64]:
    r"""Draw many independent integers with :math:`\Pr[X = x] \propto e^{-x^2 / (2 \sigma^2)}`.

    Parameters
    ----------
    variance
        The parameter :math:`\sigma^2`, a positive rational number below ``2^98``.
    size
        How many.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    NDArray[np.int64]
        The noise; shape ``(size,)``.

    Raises
    ------
    InvalidProblemError
        When the parameter is not positive or too large, or the size is negative.

    Guarantee
    ---------
    As :func:`discrete_gaussian`, for each entry. Draws come from ``randranges`` alone.

    Complexity
    ----------
    Expected O(size) time, with about 1.5 proposals a draw for a large :math:`\sigma`. A parameter whose numerator and
    denominator are so large that the exponents leave 64 bits thins its proposals one by one.

    References
    ----------
    [CKS20]_, Algorithm 3, on all entries at once.

    Examples
    --------
    >>> from discreet.core.randomness import SeededBits
    >>> discrete_gaussians(2, 5, SeededBits(1)).shape
    (5,)
    """
    exact, t = _check_variance(variance)
    if exact >= _LARGEST_VARIANCE:
        raise InvalidProblemError("variance", "below 2^98 for 64-bit noise", exact)
    count = read_size(size)
    source = as_bits(bits)
    noise = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        active = np.arange(start, min(start + _CHUNK, count))
        while active.size:
            proposed = discrete_laplaces(t, active.size, source)
            accepted = _keep(proposed, exact, t, source)
            noise[active[accepted]] = proposed[accepted]
            active = active[~accepted]
    return noise


def _check_variance(variance: Exact) -> tuple[Fraction, int]:
    """Return a positive variance as a fraction, and ``t``, the floor of its root plus 1; refuse others."""
    exact = to_positive(variance, "variance")
    return exact, math.isqrt(exact.numerator // exact.denominator) + 1


def _keep(
    proposed: NDArray[np.int64], variance: Fraction, t: int, bits: RandomBits
) -> NDArray[np.bool_]:
    """Accept each proposal ``(m,)`` with probability ``e^-gamma`` of this module's docstring, exactly.

    Booleans ``(m,)``. `t` is its t, `variance` exact.
    """
    n, d = variance.numerator, variance.denominator
    sizes = np.abs(proposed)
    denominator = 2 * n * d * t**2
    if (int(sizes.max()) * t * d + n) ** 2 < _WORD and denominator < _WORD:
        return bernoulli_exps((sizes * (t * d) - n) ** 2, denominator, bits)
    exponents = [(size * t * d - n) ** 2 for size in sizes.tolist()]
    return bernoulli_exps(exponents, denominator, bits)
