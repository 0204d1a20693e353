"""Reliability of noisy counts by their coefficient of variation, and answers rounded to what their intervals support.

Both are functions of published numbers and public variances. The coefficient of variation is the standard error over
the absolute value of the number. Its limits are those that users of the Canadian Community Health Survey quote from
Statistics Canada's guidelines: up to 16.5 % without restriction, up to 33.3 % with a warning, not beyond.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CLASSES = ("reliable", "use with caution", "unreliable")
"""Classes of reliability, the best first."""

MAX_COEFFICIENTS_OF_VARIATION = (Fraction("0.165"), Fraction("0.333"))
"""Largest coefficient of variation of the first two classes."""

MAX_ROUNDING_UNIT_PER_INTERVAL_LENGTH = Fraction(1, 10)
"""A rounded answer then moves by at most a twentieth of its interval's length."""


def reliability_in_words() -> str:
    """Return the classes of reliability in a sentence.

    Examples
    --------
    >>> reliability_in_words()
    'Reliable: the standard error is at most 16.5 % of the number; to be used with caution: at most 33.3 %; ...'
    """
    reliable, caution = map(printed.share, MAX_COEFFICIENTS_OF_VARIATION)
    return (
        f"Reliable: the standard error is at most {reliable} of the number; to be used with caution: at most "
        f"{caution}; unreliable: more."
    )


def mark_reliability(value: Fraction | int, variance: Fraction | int) -> str:
    """Return the class of a number by its coefficient of variation; a number without noise is reliable.

    A value may be negative; 0 with noise is unreliable, and without noise reliable.

    Parameters
    ----------
    value
        The number.
    variance
        An upper bound on the variance of its noise.

    Examples
    --------
    >>> [mark_reliability(value, 100) for value in (61, 60, 30, -30, 0)]
    ['reliable', 'use with caution', 'unreliable', 'unreliable', 'unreliable']
    """
    for name, limit in zip(CLASSES, MAX_COEFFICIENTS_OF_VARIATION, strict=False):
        if variance <= limit**2 * value * value:
            return name
    return CLASSES[-1]


def classify_counts(counts: NDArray[np.int64], errors: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the index in :data:`CLASSES` of each count by its standard error; 0 is the most reliable.

    `counts` ``(n,)`` are 0 or more, `errors` ``(n,)`` their standard errors; a count whose error is NaN is
    unreliable. Returns int64 ``(n,)``. Linear.

    Examples
    --------
    >>> classify_counts(np.array([61, 60, 30, 0, 0]), np.array([10.0, 10.0, 10.0, 0.0, np.nan])).tolist()
    [0, 1, 2, 0, 2]
    """
    # What is not a number is in no better class.
    within = [errors <= float(limit) * counts for limit in MAX_COEFFICIENTS_OF_VARIATION]
    return np.asarray(len(within) - np.sum(within, axis=0), dtype=np.int64)


def round_within(value: Fraction | int, low: int, high: int) -> int:
    """Round an answer to the largest power of ten that is at most a tenth of its interval's length, or to ones.

    Ends are used if the rounded answer lies beyond them. Halves go to the even multiple.

    Parameters
    ----------
    value
        The answer, in the middle of its interval but for rounding.
    low, high
        The ends of the interval; the result lies between them.

    Examples
    --------
    >>> round_within(Fraction(98765, 10), 9500, 10253), round_within(Fraction(98765, 10), 9870, 9883)
    (9880, 9876)
    """
    unit = 1
    while 10 * unit <= (high - low) * MAX_ROUNDING_UNIT_PER_INTERVAL_LENGTH:
        unit *= 10
    return min(max(unit * round(value * Fraction(1, unit)), low), high)


def error_in_words(row: Mapping[str, Any], count: int | None) -> str:
    """Describe the standard error of a row, beside naive noise and with the coefficient of variation of a count.

    `row` has ``standard_error``, which may be ``None``, and ``naive``, perhaps ``largest`` and
    ``coefficient_of_variation``; `count` is the size of that count, or ``None``.
    """
    error = row["standard_error"]
    words = "not stated for what this method measures"
    if error is not None:
        words = f"standard error {printed.at_most(error, 3)}"
        if row.get("largest", error) > error * (1 + 1e-6):
            words += f", in one region {printed.at_most(row['largest'], 3)}"
    words += f" (naive: {printed.estimate(row['naive'], 3)})"
    if "coefficient_of_variation" in row and count is not None:
        part = printed.share_at_most(row["coefficient_of_variation"], 1)
        words += f"; coefficient of variation at a count of {printed.count(count)}: {part}"
    return words
