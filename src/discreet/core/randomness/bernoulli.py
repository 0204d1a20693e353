"""Coins with exact probabilities: a rational ``p``, and ``exp(-gamma)`` for a rational ``gamma``.

Integers only. A float never takes part, so there is no rounding that an adversary could read.

Trusted: the guarantee rests on this code. A test enumerates its law.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction
from discreet.core.randomness.bits import as_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits, UniformSource

_LARGEST_WORD = 1 << 63


def bernoulli(p: Exact, bits: UniformSource | None = None) -> bool:
    """Toss a coin that is true with probability exactly ``p``.

    One uniform integer below the denominator of `p`.

    Parameters
    ----------
    p
        A rational number from 0 to 1.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    bool
        True with probability ``p``.

    Raises
    ------
    InvalidProblemError
        When ``p`` lies outside ``[0, 1]``.

    Examples
    --------
    >>> bernoulli(1), bernoulli(0)
    (True, False)
    """
    exact = to_fraction(p, "p")
    if not 0 <= exact <= 1:
        raise InvalidProblemError("p", "a probability from 0 to 1", exact)
    return as_bits(bits).randrange(exact.denominator) < exact.numerator


def bernoulli_exp(gamma: Exact, bits: UniformSource | None = None) -> bool:
    r"""Toss a coin that is true with probability exactly :math:`e^{-\gamma}`.

    For :math:`\gamma \le 1` toss coins of probability :math:`\gamma / k`, :math:`k = 1, 2, \dots`, until one
    fails; the number of tosses is odd with probability :math:`\sum_k (-\gamma)^k / k! = e^{-\gamma}`. A larger
    :math:`\gamma` is split into ones and a rest, all of which must succeed.

    Parameters
    ----------
    gamma
        A rational number, at least 0.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    bool
        True with probability ``exp(-gamma)``.

    Raises
    ------
    InvalidProblemError
        When ``gamma`` is negative.

    Complexity
    ----------
    Less than ``e`` tosses expected for each unit that is tried, and less than ``e / (e - 1)`` units.

    References
    ----------
    [CKS20]_, Algorithm 1.

    Examples
    --------
    >>> bernoulli_exp(0)
    True
    """
    exact = to_fraction(gamma, "gamma")
    if exact < 0:
        raise InvalidProblemError("gamma", "a non-negative number", exact)
    return coin_exp(exact.numerator, exact.denominator, as_bits(bits))


def coin_exp(numerator: int, denominator: int, bits: RandomBits) -> bool:
    """Toss the coin of :func:`bernoulli_exp` for ``numerator / denominator``; the integers are not checked.

    `numerator` is at least 0, `denominator` positive. Fewer than five uniform integers on average, whatever they are.
    """
    quotient, remainder = divmod(numerator, denominator)
    # One after another, and not beyond the first that fails: a large gamma costs no more than a small one.
    ones = all(_coin_exp_below_one(1, 1, bits) for _ in range(quotient))
    return ones and _coin_exp_below_one(remainder, denominator, bits)


def _coin_exp_below_one(numerator: int, denominator: int, bits: RandomBits) -> bool:
    """Return true with probability ``exp(-numerator / denominator)``, exactly, for a ratio of at most 1."""
    tosses = 1
    while bits.randrange(denominator * tosses) < numerator:
        tosses += 1
    return tosses % 2 == 1


def bernoullis(
    numerators: NDArray[np.integer] | Sequence[int],
    denominator: int,
    bits: UniformSource | None = None,
) -> NDArray[np.bool_]:
    """Toss one coin for each numerator, of probability ``numerator / denominator``.

    One uniform integer below `denominator` for each coin.

    Parameters
    ----------
    numerators
        Integers from 0 to ``denominator``, shape ``(n,)``.
    denominator
        A positive integer of any size; above ``2^63`` the coins are tossed one by one.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    NDArray[np.bool_]
        Independent coins, shape ``(n,)``.

    Raises
    ------
    InvalidProblemError
        When a probability lies outside ``[0, 1]``, or something is not an integer.

    Examples
    --------
    >>> bernoullis([0, 3, 3], 3).tolist()
    [False, True, True]
    """
    words, large, denominator = _read(numerators, denominator)
    source = as_bits(bits)
    if (large and max(large) > denominator) or (words.size and int(words.max()) > denominator):
        raise InvalidProblemError("numerators", "at most the denominator", "a larger one")
    if large:
        return np.array([source.randrange(denominator) < n for n in large], dtype=np.bool_)
    return source.randranges(denominator, words.size) < words


def bernoulli_exps(
    numerators: NDArray[np.integer] | Sequence[int],
    denominator: int,
    bits: UniformSource | None = None,
) -> NDArray[np.bool_]:
    r"""Toss one coin for each numerator, of probability :math:`e^{-\text{numerator} / \text{denominator}}`.

    The algorithm of :func:`bernoulli_exp`, on all coins at once.

    A few uniform integers for each coin on average, and as many vector operations as the unluckiest coin needs.

    Parameters
    ----------
    numerators
        Non-negative integers, shape ``(n,)``.
    denominator
        A positive integer of any size. Where ``denominator * k`` leaves the machine word, the coin of probability
        ``gamma / k`` is tossed as the product of two; where the numbers themselves do, one by one.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    NDArray[np.bool_]
        Independent coins, shape ``(n,)``.

    Raises
    ------
    InvalidProblemError
        When a numerator is negative, the denominator is not positive, or something is not an integer.

    Examples
    --------
    >>> bernoulli_exps([0, 0], 7).tolist()
    [True, True]
    """
    words, large, denominator = _read(numerators, denominator)
    source = as_bits(bits)
    if large:
        return np.array([coin_exp(n, denominator, source) for n in large], dtype=np.bool_)
    quotients, remainders = np.divmod(words, np.uint64(denominator))
    heads = np.ones(words.size, dtype=np.bool_)
    active = np.flatnonzero(quotients)
    unit = 0
    while active.size:
        unit += 1
        success = _small_exps(np.ones(active.size, dtype=np.uint64), 1, source)
        heads[active[~success]] = False
        active = active[success]
        active = active[quotients[active] > unit]
    active = np.flatnonzero(heads)
    success = _small_exps(remainders[active], denominator, source)
    heads[active[~success]] = False
    return heads


def _read(
    numerators: NDArray[np.integer] | Sequence[int], denominator: int
) -> tuple[NDArray[np.uint64], list[int], int]:
    """Return the numerators as machine words ``(m,)``, or, where they or the denominator do not fit, as a list.

    The parts are the words, the list, and the denominator; one of the first two is empty. Raises InvalidProblemError
    for other types, shapes and signs.
    """
    is_integer_array = isinstance(numerators, np.ndarray) and numerators.dtype.kind in "iu"
    try:
        denominator = operator.index(denominator)
        listed = [] if is_integer_array else [operator.index(n) for n in numerators]
    except TypeError:
        raise InvalidProblemError(
            "numerators and denominator", "integers", "something else"
        ) from None
    if denominator < 1:
        raise InvalidProblemError("denominator", "a positive integer", denominator)
    array = np.asarray(numerators) if is_integer_array else np.array(listed, dtype=object)
    if array.ndim != 1:
        raise InvalidProblemError("numerators", "a vector", f"shape {array.shape}")
    if not array.size:
        return np.zeros(0, dtype=np.uint64), [], 1
    if array.min() < 0:
        raise InvalidProblemError("numerators", "non-negative integers", "a negative one")
    if denominator > _LARGEST_WORD or array.max() > _LARGEST_WORD:
        return np.zeros(0, dtype=np.uint64), array.tolist(), denominator
    return array.astype(np.uint64), [], denominator


def _small_exps(
    numerators: NDArray[np.uint64], denominator: int, bits: RandomBits
) -> NDArray[np.bool_]:
    """Toss coins of probability ``exp(-numerator / denominator)``, exactly: booleans ``(m,)``.

    `numerators` ``(m,)`` are not above the denominator. Less than three integers a coin on average.
    """
    heads = np.empty(numerators.size, dtype=np.bool_)
    active = np.arange(numerators.size)
    tosses = 1
    while active.size:
        below = numerators[active]
        if denominator * tosses <= _LARGEST_WORD:
            success = bits.randranges(denominator * tosses, active.size) < below
        else:
            # The product would leave the word: gamma / k is the chance that two independent coins agree to succeed.
            success = bits.randranges(denominator, active.size) < below
            success &= bits.randranges(tosses, active.size) == 0
        heads[active[~success]] = tosses % 2 == 1
        active = active[success]
        tosses += 1
    return heads
