r"""Choices with exact laws: by integer weights, and by the exponential mechanism.

A choice among integer weights is one uniform integer below their sum. The exponential mechanism has weights
:math:`e^{-\gamma_i}`, which no integers are proportional to; it is drawn by inversion with binary digits, against
partial sums that are bracketed by integers and refined when, very rarely, the brackets do not decide.

Trusted: the guarantee rests on this code. A test enumerates its law.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from functools import lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction, to_positive
from discreet.core.randomness.bits import as_bits
from discreet.core.randomness.inversion import WORD_BITS, exp_bracket, scaled_product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits, UniformSource

_LARGEST_TOTAL = 1 << 63
_LARGEST_DEFICIT = (1 << 63) - 1


def categorical(
    weights: NDArray[np.integer] | Sequence[int], bits: UniformSource | None = None
) -> int:
    """Draw an index with probability exactly proportional to its integer weight.

    Parameters
    ----------
    weights
        Non-negative integers of any size, not all zero; shape ``(n,)``.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    int
        An index from 0 to ``n - 1``.

    Raises
    ------
    InvalidProblemError
        When a weight is negative or not an integer, or all are zero.

    Complexity
    ----------
    O(n), and one uniform integer below the sum of the weights.

    Examples
    --------
    >>> categorical([0, 5, 0])
    1
    """
    sums = _partial_sums(weights)
    return bisect_right(sums, as_bits(bits).randrange(sums[-1]))


def categoricals(
    weights: NDArray[np.integer] | Sequence[int], size: int, bits: UniformSource | None = None
) -> NDArray[np.int64]:
    """Draw many independent indices with probability exactly proportional to their integer weights.

    Parameters
    ----------
    weights
        Non-negative integers, not all zero; shape ``(n,)``. Where their sum exceeds ``2^63`` draws are made one by one.
    size
        How many.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    NDArray[np.int64]
        Indices from 0 to ``n - 1``; shape ``(size,)``.

    Raises
    ------
    InvalidProblemError
        When a weight is negative or not an integer, all are zero, or the size is negative.

    Complexity
    ----------
    O(n + size log n), and one uniform integer for each draw.

    Examples
    --------
    >>> categoricals([0, 5, 0], size=3).tolist()
    [1, 1, 1]
    """
    sums = _partial_sums(weights)
    source = as_bits(bits)
    if sums[-1] > _LARGEST_TOTAL:
        if operator.index(size) < 0:
            raise InvalidProblemError("size", "a non-negative integer", size)
        drawn = [bisect_right(sums, source.randrange(sums[-1])) for _ in range(size)]
        return np.array(drawn, dtype=np.int64)
    uniform = source.randranges(sums[-1], size)
    return np.searchsorted(np.array(sums, dtype=np.uint64), uniform, side="right").astype(np.int64)


def _partial_sums(weights: NDArray[np.integer] | Sequence[int]) -> list[int]:
    """Return the partial sums of the weights ``(m,)`` as Python's integers, which cannot wrap around.

    Raises InvalidProblemError for other numbers than non-negative integers with a positive sum.
    """
    listed = weights.tolist() if isinstance(weights, np.ndarray) else weights
    try:
        integers = [operator.index(w) for w in listed]
    except TypeError:
        raise InvalidProblemError("weights", "a vector of integers", "something else") from None
    if min(integers, default=-1) < 0:
        raise InvalidProblemError(
            "weights", "non-negative integers, at least one", "a negative one or none"
        )
    sums = list(accumulate(integers))
    if sums[-1] == 0:
        raise InvalidProblemError("weights", "at least one positive weight", "zeros only")
    return sums


def exponential_mechanism(
    scores: NDArray[np.integer] | Sequence[Exact],
    epsilon: Exact,
    sensitivity: Exact,
    *,
    monotone: bool = False,
    bits: UniformSource | None = None,
) -> int:
    r"""Choose an index with probability exactly proportional to :math:`e^{\varepsilon s_i / (2 \Delta)}`.

    With :math:`\gamma_i = \varepsilon (\max s - s_i) / (2 \Delta)`, partial sums
    :math:`C_i = \sum_{k < i} e^{-\gamma_k}` and :math:`Z = C_n`, the choice is the :math:`i` with
    :math:`C_i \le u Z < C_{i+1}` for uniform :math:`u`. The binary digits of :math:`u` are drawn until the integer
    brackets of :math:`C` and :math:`Z` admit one index only. If the brackets are wider than what the digits leave
    open, they are made anew with twice the bits. Brackets never exclude the real numbers, so that no rounding
    enters the law.

    Parameters
    ----------
    scores
        Integers or rational numbers, higher is better; shape ``(n,)``. Floats are refused, since a rounded score may
        differ between neighbors by more than the real one: round to multiples of a public unit, and allow for it
        in the sensitivity.
    epsilon
        Privacy parameter, positive.
    sensitivity
        :math:`\Delta`, positive, in the units of the scores: how much any one score can differ between neighbors.
    monotone
        When true, use :math:`\varepsilon / \Delta` in place of :math:`\varepsilon / (2 \Delta)`. Sound only where,
        between any two neighbors, no score rises while another falls.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    int
        The chosen index.

    Raises
    ------
    InvalidProblemError
        When there is no score, a score is not an exact number, or a parameter is not positive.

    Guarantee
    ---------
    :math:`\varepsilon`-differentially private for the neighbors to which the sensitivity refers: neighboring datasets
    give scores :math:`|s_i - s'_i| \le \Delta` for each index. The list of indices is assumed to be public.
    Only the index may be released. How long the call takes depends on ``n``, the parameters and the digits drawn, and
    for rational scores on their common denominator and spread; do not let it be measured by whom the choice is
    to protect from. The number of digits is not returned for the same reason.

    Complexity
    ----------
    O(n) vectorised operations for integers of 64 bits, whatever the scores; then about ``log2(n) + 2`` digits, each
    O(log n). The sums are made anew with a chance below ``n^2 2^-54``. There is no rejection, so that one
    score that dominates the others costs no more than equal ones.

    References
    ----------
    [MT07]_, Theorem 6; [DR14]_, Section 3.4.

    Examples
    --------
    >>> exponential_mechanism([0, 1000, 0], epsilon=1, sensitivity=1)
    1
    """
    rate = to_positive(epsilon, "epsilon")
    width = to_positive(sensitivity, "sensitivity")
    deficits, denominator = _deficits(scores)
    rate /= width * denominator * (1 if monotone else 2)
    sums = partial(_bracket_sums, deficits, rate)
    return choose_between(sums, WORD_BITS, as_bits(bits))


def _deficits(
    scores: NDArray[np.integer] | Sequence[Exact],
) -> tuple[NDArray[np.int64] | list[int], int]:
    """Return how far each score lies below the best one, ``(m,)`` integers, and their common denominator.

    An int64 array if they fit, else a list. Floats are refused, and so is no score.
    """
    if isinstance(scores, np.ndarray):
        if scores.ndim != 1 or scores.size == 0 or scores.dtype.kind not in "iu":
            raise InvalidProblemError(
                "scores",
                "a non-empty vector of integers",
                f"{scores.dtype} of shape {scores.shape}",
            )
        best, worst = int(scores.max()), int(scores.min())
        if best <= _LARGEST_DEFICIT and best - worst <= _LARGEST_DEFICIT:
            return best - scores.astype(np.int64), 1
        return [best - score for score in scores.tolist()], 1
    if any(isinstance(score, float | np.floating) for score in scores):
        raise InvalidProblemError("scores", "integers or rational numbers", "a float")
    exact = [to_fraction(score, "scores") for score in scores]
    if not exact:
        raise InvalidProblemError("scores", "at least one score", "none")
    denominator = math.lcm(*(score.denominator for score in exact))
    integers = [int(score * denominator) for score in exact]
    best = max(integers)
    listed = [best - score for score in integers]
    if max(listed) <= _LARGEST_DEFICIT:
        return np.array(listed, dtype=np.int64), denominator
    return listed, denominator


def choose_between(
    sums: Callable[[int], tuple[Sequence[int], Sequence[int]]], precision: int, bits: RandomBits
) -> int:
    """Choose an index by inversion with probability exactly proportional to a weight known between brackets.

    Two bisections for each digit, and about ``log2(n) + 2`` digits; none of the weights is formed.

    Parameters
    ----------
    sums
        For a number of bits, brackets of the partial sums of the weights in units of one size, not all zero; they
        become narrow as bits are added.
    precision
        Bits to begin with; doubled when brackets are wider than what the digits drawn so far leave open.
    bits
        Source of chance: the binary digits of one uniform number, as many as decide.

    Returns
    -------
    int
        The index, as soon as all real numbers inside the brackets, and all continuations of the digits, give the same.

    Examples
    --------
    >>> from discreet.core.randomness import SystemBits
    >>> choose_between(lambda precision: ([0, 1, 1], [0, 1, 1]), 62, SystemBits())
    1
    """
    low, high = sums(precision)
    cell, depth = 0, 0
    while True:
        # u lies in [cell, cell + 1) / 2^depth; how many partial sums are surely at most u Z, and possibly below?
        surely = bisect_right(high, cell * low[-1] >> depth, hi=len(high) - 1)
        possibly = bisect_left(low, -((-(cell + 1) * high[-1]) >> depth), hi=len(low) - 1)
        if surely == possibly:
            return surely
        cell, depth = 2 * cell + bits.randrange(2), depth + 1
        if depth > precision:
            precision *= 2
            low, high = sums(precision)


def _bracket_sums(
    deficits: NDArray[np.int64] | list[int], rate: Fraction, precision: int
) -> tuple[list[int], list[int]]:
    """Bracket the partial sums of ``exp(-rate * deficit)`` in units of ``2^-precision``: lower and upper integers.

    `deficits` are ``(m,)``. Linear, with an exact exponential each beyond the word's precision.
    """
    if precision == WORD_BITS and isinstance(deficits, np.ndarray):
        lower, upper = _exp_words(deficits, rate)
        return list(accumulate(lower.tolist())), list(accumulate(upper.tolist()))
    pairs = [exp_bracket(-rate * int(deficit), precision) for deficit in deficits]
    return list(accumulate(low for low, _ in pairs)), list(accumulate(high for _, high in pairs))


def _exp_words(
    deficits: NDArray[np.int64], rate: Fraction, *, digit_bits: int = 6
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bracket ``2^62 exp(-rate * deficit)``, ``(m,)`` int64 each, digit by digit of the deficit, in machine words.

    A digit has `digit_bits` bits: with six, a table has 64 entries and a deficit eleven digits at most.

    Each product is rounded down for the lower end, and down and up by one for the upper end. Deficits from which
    the weight is below one unit are treated as the first such: that has the lower end 0, and an upper end that is
    too large if anything. How many digits are multiplied depends on the rate alone.
    """
    far = min(math.ceil(WORD_BITS / rate), _LARGEST_DEFICIT)
    near = np.minimum(deficits, far)
    lower = upper = np.full(near.size, 1 << WORD_BITS, dtype=np.int64)
    for position in range(0, far.bit_length(), digit_bits):
        digits = (near >> position) & ((1 << digit_bits) - 1)
        table_low, table_high = _exp_table(rate, position, 1 << digit_bits)
        lower = scaled_product(lower, table_low[digits])
        upper = np.minimum(scaled_product(upper, table_high[digits]) + 1, 1 << WORD_BITS)
    return lower, upper


@lru_cache(maxsize=256)
def _exp_table(rate: Fraction, position: int, digits: int) -> NDArray[np.int64]:
    """Return lower and upper ends of ``exp(-rate digit 2^position)``, in units of ``2^-62``: int64 ``(2, digits)``."""
    pairs = [exp_bracket(-rate * (digit << position), WORD_BITS) for digit in range(digits)]
    return np.array(pairs, dtype=np.int64).T
