"""Exact numbers: fractions read from what people type, and exp and log rounded in a named direction.

A privacy claim is decided by integers. This module turns a parameter into the fraction that was meant
and brackets the transcendental numbers that appear in guarantees, ``e^x`` and ``ln x``, between integers
in units of ``2^-bits``, or between fractions. The brackets are rigorous; how tight they are is stated for each.

Trusted: the guarantee rests on this code. Verifiers and samplers compare with these bounds.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core.errors import InvalidProblemError

Exact = int | float | str | Decimal | Fraction
"""What a caller may write for an exact parameter."""

_LARGEST_FLOAT = Fraction(sys.float_info.max)

FRACTIONAL_BITS = 128
"""Fractional bits of a bound that is a fraction, and of comparisons that decide where floats do not: far more than any
page prints, so that callers choose none."""

_GUARD_BITS = 24
"""Bits kept beyond those asked for; each squaring and each series term loses less than one unit of them."""


def to_fraction(value: Exact, field: str) -> Fraction:
    """Read a number exactly; a float stands for its shortest decimal.

    Parameters
    ----------
    value
        An integer, a fraction, a decimal, a string such as ``"0.1"`` or ``"1/3"``, or a float.
    field
        The name of the argument, for the error message.

    Returns
    -------
    Fraction
        The number that was meant.

    Raises
    ------
    InvalidProblemError
        For booleans, NaN, infinities, anything that is not a number, and text of more than 1,000 characters or with a
        power of ten beyond 1,000: every number that comes from a file or from the network is read here.

    Examples
    --------
    >>> to_fraction(0.1, "epsilon"), to_fraction("1/3", "epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    """
    anything: Any = value
    if isinstance(anything, bool):
        raise InvalidProblemError(field, "a number", "a boolean")
    try:
        if isinstance(anything, Fraction | int):
            return Fraction(anything)
        if isinstance(anything, Decimal):
            return _from_text(str(anything))
        if isinstance(anything, float):
            return Fraction(repr(float(anything)))
        if isinstance(anything, str):
            return _from_text(anything.strip())
        # NumPy scalars and the like say what they are through item().
        return Fraction(repr(anything.item()))
    except (
        ValueError,
        OverflowError,
        ZeroDivisionError,
        InvalidOperation,
        AttributeError,
        TypeError,
    ):
        raise InvalidProblemError(field, "a finite number", _shown(anything)) from None


def to_positive(value: Exact, field: str) -> Fraction:
    """Read a number as :func:`to_fraction` does, and refuse one that is not positive.

    Returns a fraction. InvalidProblemError, naming the argument `field`, for zero, negative numbers, and whatever
    that function refuses.
    """
    number = to_fraction(value, field)
    if number <= 0:
        raise InvalidProblemError(field, "a positive number", value)
    return number


def to_measure(value: Exact, field: str, *, power: int = 300) -> Fraction:
    """Read `value`, a budget or a distance, as an exact fraction between 1e-300 and 1e300.

    Its power of ten is at most `power`: the number and its inverse are then floats, for pages and filters.

    Raises
    ------
    InvalidProblemError
        For any other number, or anything that is not an exact number; `field` names the argument.
    """
    number = to_positive(value, field)
    if not Fraction(1, 10**power) <= number <= 10**power:
        raise InvalidProblemError(field, f"a number between 1e-{power} and 1e{power}", "one beyond")
    return number


def _shown(anything: object, *, max_characters: int = 40) -> str:
    """Return what came in place of a number as a message repeats it, within quotes."""
    shown = anything if isinstance(anything, str | float | Decimal) else type(anything).__name__
    return repr(shown)[: max_characters + 2]


def _from_text(text: str, *, max_digits: int = 1_000) -> Fraction:
    """Read text that may come from anybody: its length first, then its power of ten, then the number.

    Neither the length nor the power exceeds `max_digits`, whose integer takes 400 bytes.

    Raises OverflowError if one of the first two is too large, ValueError for no number.
    """
    if len(text) > max_digits or abs(int(text.lower().partition("e")[2] or 0)) > max_digits:
        # 1e999999999 is short, and its integer would fill the memory.
        raise OverflowError
    return Fraction(text)


@lru_cache(maxsize=65_536)
def exp_floor(x: Fraction, bits: int) -> int:
    """Largest integer that we can prove to be at most ``2^bits e^x``.

    Parameters
    ----------
    x
        The exponent, any rational number.
    bits
        Fractional bits of the result.

    Returns
    -------
    int
        ``m`` with ``m <= 2^bits e^x``, and ``2^bits e^x - m < 2`` for ``x <= 0``; for positive ``x`` the relative
        error is below ``2^-bits``.

    Notes
    -----
    Series on ``|x| / 2^m < 1/2`` in fixed point, every operation rounded down, then ``m`` squarings, each rounded
    down. For negative ``x`` the reciprocal of the upper bracket, rounded down. Cost: O(bits) multiplications of
    integers of about ``bits + 1.45 |x|`` bits.

    Examples
    --------
    >>> exp_floor(Fraction(0), 10), exp_floor(Fraction(1), 20) / 2**20
    (1024, 2.7182817459106445)
    """
    if -x >= bits:
        # e^-bits < 2^-bits; and no integer of as many bits as -x has units is formed.
        return 0 if x < 0 else 1
    if x < 0:
        work = bits + _GUARD_BITS + _magnitude(-x)
        return (1 << (work + bits)) // _exp_positive(-x, work, up=True)
    work = bits + _GUARD_BITS + x.numerator.bit_length()
    return _exp_positive(x, work, up=False) >> (work - bits)


@lru_cache(maxsize=65_536)
def exp_ceil(x: Fraction, bits: int) -> int:
    """Smallest integer that we can prove to be at least ``2^bits e^x``.

    For ``x <= 0`` it is above that by less than 2, for positive x by a part of ``2^(1 - bits)`` at most. Arguments and
    cost are those of :func:`exp_floor`.

    The mirror image of :func:`exp_floor`; see there.

    Examples
    --------
    >>> exp_ceil(Fraction(-1), 20) - exp_floor(Fraction(-1), 20)
    1
    """
    if -x >= bits:
        return 1
    if x < 0:
        work = bits + _GUARD_BITS + _magnitude(-x)
        return -(-(1 << (work + bits)) // _exp_positive(-x, work, up=False))
    work = bits + _GUARD_BITS + x.numerator.bit_length()
    return -(-_exp_positive(x, work, up=True) >> (work - bits))


def _magnitude(x: Fraction) -> int:
    """Bits that ``e^x`` may need before the point, for ``x >= 0``: at least ``x log2(e)``."""
    return math.ceil(x * Fraction(3, 2)) + 1


def _exp_positive(x: Fraction, work: int, *, up: bool) -> int:
    """Bound ``2^work e^x`` for ``x >= 0`` by an integer: from above with `up`, else from below.

    A Taylor series after halvings, each term rounded that way: about `work` terms at most.
    """
    if x == 0:
        return 1 << work
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    # Squaring doubles the relative error, hence the extra bits; the result is shifted back at the end.
    fine = work + 2 * halvings + 8
    scaled = Fraction(x.numerator << fine, x.denominator << halvings)
    step = math.ceil(scaled) if up else math.floor(scaled)
    total = term = 1 << fine
    n = 1
    while term:
        product = term * step
        # Rounded up, a term never vanishes: stop it at one unit and let the remainder stand for the tail.
        term = -(-product // (n << fine)) if up else product // (n << fine)
        total += term
        n += 1
        if up and term <= 1:
            # Terms shrink by at least one half from here, so that the tail is at most the last term.
            total += 1
            break
    for _ in range(halvings):
        total = -((-total * total) >> fine) if up else (total * total) >> fine
    shift = fine - work
    return -(-total >> shift) if up else total >> shift


@lru_cache(maxsize=65_536)
def log_floor(x: Fraction, bits: int) -> int:
    """Largest integer that we can prove to be at most ``2^bits ln x``.

    Parameters
    ----------
    x
        A positive rational number.
    bits
        Fractional bits of the result.

    Returns
    -------
    int
        ``m`` with ``m <= 2^bits ln x < m + 3``.

    Raises
    ------
    InvalidProblemError
        When ``x`` is not positive.

    Notes
    -----
    ``ln x = k ln 2 + 2 artanh((y - 1)/(y + 1))`` with ``x = 2^k y``, ``2/3 <= y < 4/3``; both series are summed
    in fixed point with directed rounding.

    Examples
    --------
    >>> log_floor(Fraction(2), 20) / 2**20
    0.6931467056274414
    """
    return _log(x, bits, up=False)


@lru_cache(maxsize=65_536)
def log_ceil(x: Fraction, bits: int) -> int:
    """Smallest integer that we can prove to be at least ``2^bits ln x``; less than 3 above it.

    Arguments are those of :func:`log_floor`. InvalidProblemError when x is not positive. ``O(bits)`` terms.

    Examples
    --------
    >>> log_ceil(Fraction(2), 20) - log_floor(Fraction(2), 20)
    1
    """
    return _log(x, bits, up=True)


def _log(x: Fraction, bits: int, *, up: bool) -> int:
    """Return ``2^bits ln x``, rounded down or `up` to an integer: at most about one unit off. `x` must be positive."""
    if x <= 0:
        raise InvalidProblemError("x", "a positive number", x)
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    y = x / (Fraction(2) ** shift)
    if y >= Fraction(4, 3):
        y, shift = y / 2, shift + 1
    elif y < Fraction(2, 3):
        y, shift = y * 2, shift - 1
    work = bits + _GUARD_BITS + abs(shift).bit_length()
    t = (y - 1) / (y + 1)
    mantissa = _twice_artanh(abs(t), work, up=up if t >= 0 else not up)
    mantissa = mantissa if t >= 0 else -mantissa
    two = _twice_artanh(Fraction(1, 3), work, up=up if shift >= 0 else not up)
    total = mantissa + shift * two
    return -(-total >> (work - bits)) if up else total >> (work - bits)


def _twice_artanh(t: Fraction, work: int, *, up: bool) -> int:
    """Bound ``2^work * 2 artanh(t)`` for ``0 <= t <= 1/3`` by an integer: from above with `up`, else from below.

    A series with each term rounded that way: about ``work / 3`` terms.
    """
    square = t * t
    scaled = 2 * t * (1 << work)
    power = math.ceil(scaled) if up else math.floor(scaled)
    total = 0
    n = 1
    while power:
        total += -(-power // n) if up else power // n
        product = power * square
        power = math.ceil(product) if up else math.floor(product)
        n += 2
        if up and power <= 1:
            # What is left is below power (1 + 1/9 + ...) / n, which two units cover.
            total += 2
            break
    return total


def exp_below(x: Fraction) -> Fraction:
    """Return a fraction that is at most ``e^x``, by at most ``2^-127``, or relatively for positive ``x``.

    The error for positive x is a part of ``2^-127`` or less. x is any fraction.

    Examples
    --------
    >>> exp_below(Fraction(1)) < exp_above(Fraction(1)) < exp_below(Fraction(1)) + Fraction(1, 10**30)
    True
    """
    return Fraction(exp_floor(x, FRACTIONAL_BITS), 1 << FRACTIONAL_BITS)


def exp_above(x: Fraction) -> Fraction:
    """Return a fraction that is at least ``e^x``, by at most ``2^-127``, or relatively for positive ``x``."""
    return Fraction(exp_ceil(x, FRACTIONAL_BITS), 1 << FRACTIONAL_BITS)


def log_below(x: Fraction) -> Fraction:
    """Return a fraction that is at most ``ln x``, by at most ``2^-126``.

    InvalidProblemError when x is not positive.

    Examples
    --------
    >>> log_below(Fraction(2)) < log_above(Fraction(2)) < log_below(Fraction(2)) + Fraction(1, 10**30)
    True
    """
    return Fraction(log_floor(x, FRACTIONAL_BITS), 1 << FRACTIONAL_BITS)


def log_above(x: Fraction) -> Fraction:
    """Return a fraction that is at least ``ln x``, by at most ``2^-126``.

    InvalidProblemError when x is not positive.
    """
    return Fraction(log_ceil(x, FRACTIONAL_BITS), 1 << FRACTIONAL_BITS)


def root_below(x: Fraction) -> Fraction:
    """Largest multiple of ``2^-60`` that is at most the square root of ``x``, which is not negative.

    Examples
    --------
    >>> root_below(Fraction(2)) ** 2 <= 2 < root_above(Fraction(2)) ** 2
    True
    """
    return Fraction(math.isqrt(math.floor(x * (1 << 120))), 1 << 60)


def root_above(x: Fraction) -> Fraction:
    """Smallest multiple of ``2^-60`` that exceeds the square root of ``x``, which is not negative."""
    return root_below(x) + Fraction(1, 1 << 60)


def float_floor(x: Fraction) -> float:
    """Largest float that is at most ``x``; minus infinity below the range of floats, the largest float above it.

    Examples
    --------
    >>> Fraction(float_floor(Fraction(1, 3))) <= Fraction(1, 3)
    True
    """
    if abs(x) > _LARGEST_FLOAT:
        return float(_LARGEST_FLOAT) if x > 0 else -math.inf
    nearest = float(x)
    return nearest if Fraction(nearest) <= x else math.nextafter(nearest, -math.inf)


def float_ceil(x: Fraction) -> float:
    """Smallest float that is at least ``x``; infinity above the range of floats, the lowest finite float below it.

    Examples
    --------
    >>> Fraction(float_ceil(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    # Subtracted from zero, and not negated: the ceiling of 0 would be printed as -0.
    return 0.0 - float_floor(-x)
