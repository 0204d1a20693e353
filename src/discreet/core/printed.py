"""Numbers and foreign text as people read them.

Every bound, interval end, share, loss and probability that a page, a command or a ``repr`` prints is formatted here.
A number is converted to a fraction exactly and rounded once, in the direction that the function's name states, so that
what is printed is true of the number itself: an upper bound is never printed below it, a lower bound never above it.
``0 %`` and ``100 %`` are printed of exactly these values only.

A terminal obeys some characters: they move the cursor, change colors, turn the direction of text around. A name with
such characters, or with a line end, could print a verdict of its own: :func:`one_line` escapes them.
"""

from __future__ import annotations

import math
import sys
import unicodedata
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, SupportsIndex

from discreet.core.exact import float_floor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

Number = float | Fraction | None
"""What is printed: a float stands for its exact binary value, ``None`` is printed as "none"."""

_MAX_WHOLE_DIGITS = sys.float_info.dig
"""Digits up to which the integer part of a number is printed in full, without an exponent: those of a float, 15."""

MAX_LISTED = 10
"""Rows, or other items, that a message lists by default: enough to see what they share, on few lines of a terminal."""


def one_line(value: object, most: int = 1_000) -> str:
    r"""Write a value on one line: what a terminal would obey is escaped, and what is longer is cut.

    Parameters
    ----------
    value
        Anything; its text is what counts.
    most
        Characters, escapes included, after which the text is cut; then its length is said.

    Returns
    -------
    str
        The same text where all of it can be printed, escapes such as ``\x1b`` for line ends, controls, marks of
        direction and characters that are none.

    Examples
    --------
    >>> one_line("km\nok\x1b[2J")
    'km\\nok\\x1b[2J'
    >>> one_line("x" * 2000, 10)
    'xxxxxxxxxx... (2000 characters)'
    """
    text = str(value)
    shown = text[: most + 1]
    if not shown.isprintable():
        shown = "".join(one if _is_plain(one) else ascii(one)[1:-1] for one in shown)
    return shown if len(shown) <= most else f"{shown[:most]}... ({len(text)} characters)"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Format names and values in two aligned columns, one line a pair; line breaks in values are escaped.

    `pairs` are names with values, whose text is printed; each is cut after 1,000 characters.

    Examples
    --------
    >>> print(facts([("k", 5), ("rows", 12)]))
    k     5
    rows  12
    """
    return in_columns([(one_line(name), one_line(value)) for name, value in pairs])


def in_columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Format rows of cells in aligned columns, two spaces apart.

    The text has one line a row, without spaces at its end. ValueError for rows of different length.

    Parameters
    ----------
    rows
        Rows of equally many cells, each on one line.
    right
        Columns that are aligned to the right, counted from 0.

    Examples
    --------
    >>> print(in_columns([("name", "n"), ("a", "10")], right=[1]))
    name   n
    a     10
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _is_plain(one: str) -> bool:
    """Whether a terminal prints a character as itself; spaces of other widths count, too."""
    return one.isprintable() or unicodedata.category(one) == "Zs"


def at_least(value: Number, digits: int = 6, unit: str = "") -> str:
    """Format a lower bound, rounded down to `digits` significant digits; the integer part is never rounded away.

    `unit` follows after a space. ``None`` is "none"; infinities and NaN are words.

    Examples
    --------
    >>> at_least(0.9999999), at_least(1234567.8), at_least(Fraction(1, 3), 3, "km"), at_least(None)
    ('0.999999', '1,234,567', '0.333 km', 'none')
    """
    return _significant(value, digits, ROUND_FLOOR, unit)


def at_most(value: Number, digits: int = 6, unit: str = "") -> str:
    """Format an upper bound, rounded up to `digits` significant digits; the integer part is never rounded away.

    `unit` follows after a space. ``None`` is "none"; infinities and NaN are words.

    Examples
    --------
    >>> at_most(0.1234561), at_most(1234567.8), at_most(Fraction(1, 10**7), 3), at_most(math.inf)
    ('0.123457', '1,234,568', '1e-7', 'infinite')
    """
    return _significant(value, digits, ROUND_CEILING, unit)


def estimate(value: Number, digits: int = 6, unit: str = "") -> str:
    """Format a number that bounds nothing, rounded to the nearest at some significant digits; the integer part is kept.

    `digits` is how many; `unit` follows after a space. ``None`` is "none"; infinities and NaN are words.

    Examples
    --------
    >>> estimate(1234567.8), estimate(0.1234567, 3), estimate(12, unit="km")
    ('1,234,568', '0.123', '12 km')
    """
    return _significant(value, digits, ROUND_HALF_EVEN, unit)


def first_of(items: Sequence[object], most: int = MAX_LISTED) -> str:
    """List at most so many of the first items, and say whether there are more.

    Examples
    --------
    >>> first_of([1, 2, 3]), first_of([1, 2, 3], 2)
    ('1, 2, 3', '1, 2 and more')
    """
    return ", ".join(map(str, items[:most])) + (" and more" if len(items) > most else "")


def interval(low: Number, high: Number, digits: int = 6) -> tuple[str, str]:
    """Format both ends of an interval, rounded outward.

    `low` and `high` are formatted as by :func:`at_least` and :func:`at_most`, with `digits` significant digits.

    Examples
    --------
    >>> interval(1234567.2, 1234567.8)
    ('1,234,567', '1,234,568')
    """
    return at_least(low, digits), at_most(high, digits)


def share(value: Number, decimals: int = 2) -> str:
    """Format a share or a probability (1 is 100 %) in percent with `decimals`, rounded to the nearest.

    Only 0 and 1 are printed as 0 % and 100 %; ``None`` is "none".

    Examples
    --------
    >>> share(Fraction(1, 8)), share(1e-9), share(0.99999999), share(0), share(1)
    ('12.5 %', 'below 0.01 %', 'above 99.99 %', '0 %', '100 %')
    """
    return _percent(value, decimals, ROUND_HALF_EVEN)


def share_at_least(value: Number, decimals: int = 2) -> str:
    """Format a lower bound on a share (1 is 100 %) in percent with `decimals`, rounded down; ``None`` is "none".

    Examples
    --------
    >>> share_at_least(Fraction(2, 3)), share_at_least(0.99999999), share_at_least(1e-9)
    ('66.66 %', 'above 99.99 %', 'above 0 %')
    """
    return _percent(value, decimals, ROUND_FLOOR)


def share_at_most(value: Number, decimals: int = 2) -> str:
    """Format an upper bound on a share (1 is 100 %) in percent with `decimals`, rounded up; ``None`` is "none".

    Examples
    --------
    >>> share_at_most(Fraction(2, 3)), share_at_most(0.99999999), share_at_most(1e-9), share_at_most(Fraction(3, 2))
    ('66.67 %', 'below 100 %', 'below 0.01 %', '150 %')
    """
    return _percent(value, decimals, ROUND_CEILING)


def share_or_more(value: Number, decimals: int = 2) -> str:
    """Format a lower bound on a share with the words in front of it.

    `value` 1 is 100 %, with `decimals`. The words are "at least".

    Examples
    --------
    >>> share_or_more(Fraction(19, 20)), share_or_more(0.99999999), share_or_more(1)
    ('at least 95 %', 'above 99.99 %', '100 %')
    """
    return _with_words("at least", share_at_least(value, decimals), 1, value)


def share_or_less(value: Number, decimals: int = 2) -> str:
    """Format an upper bound on a share with the words in front of it.

    `value` 1 is 100 %, with `decimals`. The words are "at most".

    Examples
    --------
    >>> share_or_less(Fraction(1, 20)), share_or_less(1e-9), share_or_less(0)
    ('at most 5 %', 'below 0.01 %', '0 %')
    """
    return _with_words("at most", share_at_most(value, decimals), 0, value)


def _with_words(words: str, shown: str, end: int, value: Number) -> str:
    return shown if value == end or not shown[0].isdigit() else f"{words} {shown}"


def gap(lower: Number, upper: Number, decimals: int = 2) -> str:
    """Format ``(upper - lower) / upper`` in percent, computed exactly and rounded up; 0 % where the bounds meet.

    The text is "none" where a bound is ``None`` or the upper one is not finite.

    `decimals` are those of the percentage.

    Examples
    --------
    >>> gap(0.75, 1.0), gap(0.0, 0.0), gap(None, 1.0)
    ('25 %', '0 %', 'none')
    """
    if lower is None or upper is None or not math.isfinite(upper):
        return "none"
    rest = Fraction(upper) - Fraction(lower)
    return share_at_most(rest / Fraction(upper) if rest > 0 else Fraction(0), decimals)


def bounds(lower: Number, upper: Number) -> str:
    """Format a loss with its lower bound and, where both are known, the gap between them.

    `lower` or `upper` may be ``None``, which is "none".

    Examples
    --------
    >>> bounds(0.75, 1.0), bounds(None, 1.0)
    ('1, lower bound 0.75, gap 25 %', '1, lower bound none')
    """
    stated = f"{at_most(upper)}, lower bound {at_least(lower)}"
    return stated if lower is None or upper is None else f"{stated}, gap {gap(lower, upper)}"


def optimum(lower: Number, upper: Number, tolerance: Fraction = Fraction(1, 10**9)) -> str:
    """Format how near to the optimum a loss is proved to be: "optimal", or within the relative `tolerance`; else "".

    It is "" too where a bound is ``None`` or the upper one is not finite.

    Examples
    --------
    >>> optimum(2, 2), optimum(1.9999999999, 2), optimum(1.9, 2), optimum(1.999999, 2, Fraction(1, 10**6))
    ('optimal', 'optimal within 1e-7 %', '', 'optimal within 0.0001 %')
    """
    if lower is None or upper is None or not math.isfinite(upper):
        return ""
    rest = Fraction(upper) - Fraction(lower)
    if rest <= 0:
        return "optimal"
    near = rest <= tolerance * Fraction(upper)
    return f"optimal within {share_at_most(tolerance, 7)}" if near else ""


def missed_gap(target: float, lower: Number, upper: Number, scope: str = "") -> str:
    """Return the message about a relative gap `target` that was asked for and not reached; `scope` follows its number.

    `lower` and `upper` are the bounds reached; a `target` of 0.01 is 1 %.

    Examples
    --------
    >>> missed_gap(0.01, 0.75, 1.0), missed_gap(1e-6, 0.75, 1.0)
    ('asked for a gap of 1 %, reached 25 %', 'asked for a gap of 0.0001 %, reached 25 %')
    """
    gap_text = f"{estimate(100 * Fraction(target))} %{scope and f' {scope}'}"
    return f"asked for a gap of {gap_text}, reached {gap(lower, upper)}"


def excess(
    lower: float | Fraction | None, upper: float | Fraction | None, decimals: int = 2
) -> str:
    """Format ``upper / lower - 1`` in percent, computed exactly and rounded up; "none" without a positive bound.

    `decimals` are those of the percentage.

    Examples
    --------
    >>> excess(1.0, 1.25), excess(None, 1.0)
    ('25 %', 'none')
    """
    if upper is None or not lower or not math.isfinite(upper):
        return "none"
    return share_at_most(Fraction(upper) / Fraction(lower) - 1, decimals)


def count(value: SupportsIndex) -> str:
    """Format a whole number exactly, with commas.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return f"{value.__index__():,}"


def plain_digits(value: Decimal) -> str:
    """Write a decimal in digits, without an exponent and without zeros that mean nothing.

    Examples
    --------
    >>> plain_digits(Decimal("1e3")), plain_digits(Decimal("0.50"))
    ('1000', '0.5')
    """
    return f"{value.normalize():f}"


def seconds(value: Number) -> str:
    """Format a running time in seconds, rounded to 3 significant digits.

    Examples
    --------
    >>> seconds(12.345), seconds(0.0)
    ('12.3 s', '0 s')
    """
    return estimate(value, 3, "s")


def seconds_left(value: float) -> str:
    """Format an estimate of the time left in whole seconds, rounded up, 0 at least.

    Examples
    --------
    >>> seconds_left(2.934), seconds_left(0.02), seconds_left(-170.0)
    ('3 s', '1 s', '0 s')
    """
    return f"{count(max(0, math.ceil(value)))} s"


def position(value: float | Fraction, decimals: int = 1) -> str:
    """Format a coordinate of a drawing, which no reader sees as a number.

    `value` is in pixels or another unit of the drawing, rounded to `decimals`; ".0" is left out.

    Examples
    --------
    >>> position(12.349), position(3.0)
    ('12.3', '3')
    """
    return str(round(float(value), decimals)).removesuffix(".0")


def positions(points: NDArray[np.float64], decimals: int = 1) -> NDArray[np.float64]:
    """Return rounded coordinates of a drawing or a map, in an array of the same shape; see :func:`position`.

    Examples
    --------
    >>> import numpy as np
    >>> positions(np.array([12.349, 3.0])).tolist()
    [12.3, 3.0]
    """
    return points.round(decimals)


def decimal(value: Fraction) -> str:
    """Format a fraction exactly: as a decimal if 12 significant digits hold it, such as "0.25", else as a quotient."""
    shown = f"{float_floor(value):.12g}"
    return shown if Fraction(shown) == value else str(value)


def decimal_up(value: Fraction) -> str:
    """Format a budget exactly, as a decimal or a quotient, if that has at most 12 characters.

    A longer one is rounded up to 7 significant digits, which is the weaker and so still true claim.
    """
    return _exact_or(at_most, value)


def decimal_down(value: Fraction) -> str:
    """Format the remaining budget exactly, as a decimal or a quotient, if that has at most 12 characters.

    A longer one is rounded down to 7 significant digits, with commas between thousands; the integer part stays whole.
    """
    return _exact_or(at_least, value)


def _exact_or(rounded: Callable[[Fraction, int], str], value: Fraction, *, most: int = 12) -> str:
    """Format a budget exactly if that has at most `most` characters, else as `rounded` to 7 significant digits does."""
    exact = decimal(value)
    return exact if len(exact) <= most else rounded(value, 7)


def _significant(value: Number, digits: int, rounding: str, unit: str = "") -> str:
    """Format a number to some significant digits with a decimal rounding mode, if huge or tiny with an exponent.

    `rounding` is a mode of :mod:`decimal`, `digits` at least that many if the integer part is longer; `unit` follows
    after a space. ``None``, infinities and NaN are words.
    """
    if value is None:
        return "none"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "infinite", -math.inf: "-infinite"}.get(value, "not a number")
    number = Fraction(value)
    integer_digits = min(_size(number) + 1, _MAX_WHOLE_DIGITS)
    context = Context(max(digits, integer_digits, 1), rounding)
    shown = context.normalize(_divided(number, context))
    fixed = not number or -5 < shown.adjusted() <= _MAX_WHOLE_DIGITS
    return f"{shown:,f} {unit}".rstrip() if fixed else f"{shown:e} {unit}".rstrip()


def _percent(value: Number, decimals: int, rounding: str) -> str:
    """Format a share as a percentage with some decimals, never as 0 or 100 % unless it is that.

    `value` 1 is 100 %; `rounding` is a mode of :mod:`decimal`. ``None`` is "none"; close to 0 or 100 the text is
    "below" or "above" with the nearest number.
    """
    if value is None:
        return "none"
    percent = 100 * Fraction(value)
    least = Fraction(1, 10**decimals)
    if 0 < percent < least:
        return (
            "above 0 %"
            if rounding == ROUND_FLOOR
            else f"below {_significant(least, 9, rounding)} %"
        )
    if 100 - least < percent < 100:
        return (
            "below 100 %"
            if rounding == ROUND_CEILING
            else f"above {_significant(100 - least, 9, rounding)} %"
        )
    return f"{_significant(percent, _size(percent) + 1 + decimals, rounding)} %"


def _size(number: Fraction) -> int:
    """Return the power of ten of the first digit: the floor of the decimal logarithm."""
    return _divided(number, Context(1, ROUND_DOWN)).adjusted() if number else 0


def _divided(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(int(number.numerator)), Decimal(int(number.denominator)))
