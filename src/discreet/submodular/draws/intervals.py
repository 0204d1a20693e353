r"""Positive numbers between two integers times a power of two, and choices that no rounding can change.

A number is ``(low, high, exponent)`` with :math:`low \cdot 2^e \le x \le high \cdot 2^e`. Sums, products and
quotients of positive numbers keep their relative precision, so that weights like :math:`e^{-5000}` need no more bits
than others.

Trusted: the guarantee rests on this code, which decides draws between bounds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.core.exact import exp_ceil, exp_floor, log_ceil, log_floor
from discreet.core.randomness.choice import choose_between

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.core.randomness.bits import RandomBits

Interval = tuple[int, int, int]

ZERO: Interval = (0, 0, 0)
ONE: Interval = (1, 1, 0)


def multiply(a: Interval, b: Interval, precision: int) -> Interval:
    """Bracket the product of two non-negative intervals ``(low, high, exponent)``: integers times ``2^exponent``.

    `precision` is in bits: ends that have more are shortened, low rounded down and high rounded up.

    Examples
    --------
    >>> multiply((3, 3, 0), (5, 5, -2), 96)
    (15, 15, -2)
    """
    return _trim(a[0] * b[0], a[1] * b[1], a[2] + b[2], precision)


def add(a: Interval, b: Interval, precision: int) -> Interval:
    """Bracket the sum of two non-negative intervals, shortened to `precision` bits as in :func:`multiply`.

    Examples
    --------
    >>> add((3, 3, 0), (1, 1, 2), 96)
    (7, 7, 0)
    """
    if not a[1] or not b[1]:
        return a if a[1] else b
    if a[2] < b[2]:
        a, b = b, a
    gap = a[2] - b[2]
    if gap > 4 * precision and gap + a[1].bit_length() > b[1].bit_length() + 4 * precision:
        # What is so much smaller than the other is less than one unit far below its last digit.
        finer = 2 * precision
        return _trim(a[0] << finer, (a[1] << finer) + 1, a[2] - finer, precision)
    return _trim((a[0] << gap) + b[0], (a[1] << gap) + b[1], b[2], precision)


def divide(a: Interval, b: Interval, precision: int) -> Interval:
    """Bracket the quotient of a non-negative and a positive interval, shortened to `precision` bits.

    `b` must have a positive lower end; otherwise ZeroDivisionError.

    Examples
    --------
    >>> low, high, exponent = divide(ONE, (3, 3, 0), 20)
    >>> Fraction(low) * Fraction(2) ** exponent <= Fraction(1, 3) <= Fraction(high) * Fraction(2) ** exponent
    True
    """
    if not a[1]:
        return ZERO
    shift = 2 * precision + b[1].bit_length()
    return _trim(
        (a[0] << shift) // b[1], -((-a[1] << shift) // b[0]), a[2] - b[2] - shift, precision
    )


def _trim(low: int, high: int, exponent: int, precision: int) -> Interval:
    """Return interval ``[low, high] 2^exponent`` rounded outwards to `precision` bits of `high`."""
    shift = high.bit_length() - precision
    if shift <= 0:
        return low, high, exponent
    return low >> shift, -(-high >> shift), exponent + shift


@lru_cache(maxsize=65_536)
def exponential(x: Fraction, precision: int) -> Interval:
    r"""Bracket :math:`e^x` with a relative width of about ``2^-precision``.

    By :math:`e^x = 2^k e^{x - k \ln 2}` with :math:`k = \lfloor x / \ln 2 \rceil` and a bracket of ln 2 that is fine
    enough.

    Examples
    --------
    >>> low, high, exponent = exponential(Fraction(-5000), 96)
    >>> round((exponent + low.bit_length()) * 0.6931471805599453), high - low < 8
    (-5000, True)
    """
    if not x:
        return ONE
    fine = precision + 16 + abs(x.numerator // x.denominator).bit_length()
    low_two, high_two = log_floor(Fraction(2), fine), log_ceil(Fraction(2), fine)
    k = math.floor(x * (1 << fine) / low_two)
    ends = (x - Fraction(k * low_two, 1 << fine), x - Fraction(k * high_two, 1 << fine))
    # Rounded outwards to short fractions, which make the series quick.
    low = Fraction(math.floor(min(ends) * (1 << fine)), 1 << fine)
    high = Fraction(math.ceil(max(ends) * (1 << fine)), 1 << fine)
    return _trim(
        exp_floor(low, precision + 8), exp_ceil(high, precision + 8), k - precision - 8, precision
    )


def choose(
    weigh: Callable[[int], Sequence[Interval]], bits: RandomBits, *, first_precision: int = 96
) -> int:
    """Choose an index with probability exactly proportional to weights that are known between brackets.

    Parameters
    ----------
    weigh
        For a number of bits, brackets of the weights, not all zero, with relative widths that vanish as bits are
        added.
    bits
        Source of chance; see :func:`~discreet.core.randomness.choice.choose_between`.
    first_precision
        Bits of the first attempt: at 96 a choice is undecided with a probability of about ``2^-80``.

    Returns
    -------
    int
        The index.

    Examples
    --------
    >>> from discreet.core.randomness import SystemBits
    >>> choose(lambda precision: [ZERO, ONE, ZERO], SystemBits())
    1
    """
    return choose_between(lambda bound: _sums(weigh(bound), bound), first_precision, bits)


def _sums(weights: Sequence[Interval], precision: int) -> tuple[list[int], list[int]]:
    """Return lower and upper cumulative sums of the weights as integers, rounded outwards to one exponent; linear."""
    top = max(e + high.bit_length() for _, high, e in weights if high)
    unit = top - precision
    low = accumulate(_shift(low, e - unit, up=False) for low, _, e in weights)
    high = accumulate(_shift(high, e - unit, up=True) for _, high, e in weights)
    return list(low), list(high)


def _shift(value: int, by: int, *, up: bool) -> int:
    """Return ``value * 2^by``, rounded up or down to an integer."""
    if by >= 0 or not value:
        return value << max(by, 0)
    return -(-value >> -by) if up else value >> -by
