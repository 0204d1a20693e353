r"""Integer noise with exact laws: the discrete Laplace law, one draw or millions.

The law with scale :math:`b` has :math:`\Pr[X = x] \propto e^{-|x| / b}`. A count of sensitivity 1 with noise of scale
:math:`1 / \varepsilon` is :math:`\varepsilon`-differentially private. The scale is a rational number and every
draw is made with integers, so that the law is the stated one and not an approximation to it.

Trusted: the guarantee rests on this code. A test enumerates its law.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.exact import Exact, to_positive
from discreet.core.randomness.bernoulli import bernoulli_exps, coin_exp
from discreet.core.randomness.bits import as_bits
from discreet.core.randomness.inversion import Inversion, exp_bracket

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits, UniformSource

_LARGEST_SCALE = 1 << 50
"""Beyond it, noise would leave 64 bits with a chance above e^-4096."""
_CHUNK = 1 << 15
"""Draws made together; what they need stays in a processor's cache."""


def discrete_laplace(scale: Exact, bits: UniformSource | None = None) -> int:
    r"""Draw one integer :math:`X` with :math:`\Pr[X = x] = \frac{1-q}{1+q} q^{|x|}`, :math:`q = e^{-1/b}`.

    A constant number of coins on average, whatever the scale is.

    Parameters
    ----------
    scale
        The scale :math:`b`, a positive rational number of any size, in units of the result.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    int
        The noise.

    Raises
    ------
    InvalidProblemError
        When the scale is not positive.

    Guarantee
    ---------
    A query to the integers of sensitivity :math:`\Delta`, plus this noise with :math:`b = \Delta / \varepsilon`, is
    :math:`\varepsilon`-differentially private, for the neighbors to which the sensitivity refers. The time that a
    draw takes depends on the noise: do not let it be measured by whom the noise is to protect from.

    References
    ----------
    [CKS20]_, Algorithm 2. [GRS12]_ for the law.

    Examples
    --------
    >>> from discreet.core.randomness import SeededBits
    >>> discrete_laplace("10/3", SeededBits(3)) == discrete_laplace("10/3", SeededBits(3))
    True
    """
    exact = to_positive(scale, "scale")
    t, s = exact.numerator, exact.denominator
    source = as_bits(bits)
    while True:
        # u + t v is geometric with ratio exp(-1/t): a uniform remainder, thinned, and a geometric quotient.
        u = source.randrange(t)
        if not coin_exp(u, t, source):
            continue
        v = 0
        while coin_exp(1, 1, source):
            v += 1
        magnitude = (u + t * v) // s
        negative = source.randrange(2) == 1
        # Zero has one sign only; counted twice it would be twice as likely.
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_laplaces(
    scale: Exact, size: int, bits: UniformSource | None = None
) -> NDArray[np.int64]:
    r"""Draw many independent integers with :math:`\Pr[X = x] = \frac{1-q}{1+q} q^{|x|}`, :math:`q = e^{-1/b}`.

    Write :math:`X = m W + U` for :math:`X \ge 0` and :math:`X = -(m W + U + 1)` for :math:`X < 0`, with a power of two
    :math:`m` and :math:`0 \le U < m`. Then :math:`U` is independent of the sign and of :math:`W`, with
    :math:`\Pr[U = u] \propto q^u`, and the pairs (block, sign) in the order :math:`0^+, 0^-, 1^+, 1^-, \dots` have
    the tail probabilities

    .. math:: T_{2j} = q^{m j}, \qquad T_{2j+1} = q^{m j} \frac{q + q^m}{1 + q}.

    The pair is drawn by exact inversion (:mod:`discreet.core.randomness.inversion`) from a table that ends at
    :math:`T_{2J}`; a draw beyond the end starts anew from there, since :math:`T_{2J+i} = T_{2J} T_i`. No threshold
    is rational, as :math:`q` is transcendental (Lindemann), so that the digits always decide. The remainder
    :math:`U` is uniform and kept with probability :math:`q^U > e^{-1/16}`. For :math:`b < 32`, :math:`m = 1`.

    Parameters
    ----------
    scale
        The scale :math:`b`, a positive rational number up to ``2^50``, in units of the result.
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
        When the scale is not positive or above ``2^50``, or the size is negative.
    LimitReachedError
        When a draw would leave 64 bits, which happens with a chance below ``e^-4096``.

    Guarantee
    ---------
    As :func:`discrete_laplace`, for each entry. Draws come from ``randranges`` alone.

    Complexity
    ----------
    Expected O(size) time, about ``log2(b) + 4`` random bits a draw for ``b < 32`` and at most 8 bytes more above.
    A scale with a numerator above ``2^63`` and above 32 thins its remainders one by one.

    References
    ----------
    [CKS20]_ for exactness by rational parameters; [GRS12]_ for the law. The inversion is proved above.

    Examples
    --------
    >>> from discreet.core.randomness import SeededBits
    >>> discrete_laplaces(2, 5, SeededBits(1)).shape
    (5,)
    """
    exact = to_positive(scale, "scale")
    if exact > _LARGEST_SCALE:
        raise InvalidProblemError("scale", "at most 2^50 for 64-bit noise", exact)
    count = read_size(size)
    block = _block_of(exact)
    source = as_bits(bits)
    noise = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        noise[start:stop] = _draw(exact, block, stop - start, source)
    return noise


def read_size(size: object) -> int:
    """Read `size`, a number of draws, as an integer of at least 0.

    Raises
    ------
    InvalidProblemError
        For a negative number, or anything that is not an integer.
    """
    try:
        count = operator.index(size)  # type: ignore[arg-type] # what has no index is refused
    except TypeError:
        raise InvalidProblemError("size", "an integer", type(size).__name__) from None
    if count < 0:
        raise InvalidProblemError("size", "a non-negative integer", count)
    return count


def _block_of(scale: Fraction, *, max_scale: int = 32) -> int:
    """Return a power of two for blocks, such that `scale` is at most `max_scale` of them.

    The law of the blocks is tabulated: 32 keep its table within a few hundred entries.
    """
    ratio = scale.numerator // (scale.denominator * max_scale // 2)
    return 1 << max(0, ratio.bit_length() - 1)


def _draw(scale: Fraction, block: int, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw `size` times from the discrete Laplace law of `scale`, exactly: int64 ``(size,)``.

    Magnitudes are drawn in blocks of `block` integers, with a remainder.
    """
    pairs = _draw_pairs(scale, block, size, bits)
    negative = pairs & 1
    magnitude = (pairs >> 1) * block + negative
    if block > 1:
        magnitude += _draw_remainders(scale, block, size, bits)
    return np.where(negative == 1, -magnitude, magnitude)


def _draw_pairs(scale: Fraction, block: int, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw `size` numbers of discrete Laplace noise as int64 ``(size,)``.

    Twice the block, plus one for a negative number. `scale` is the noise's, `block` the values of one block. Raises
    LimitReachedError beyond 64 bits.
    """
    law, end = _pair_law(scale, block)
    # The law counts from the far end of the table; its 0 stands for everything beyond.
    drawn = law.draw(size, bits)
    pairs = end - drawn
    beyond = np.flatnonzero(drawn == 0)
    while beyond.size:
        if (int(pairs[beyond[0]]) >> 1) * block > 1 << 62:
            raise LimitReachedError(
                "discrete Laplace noise left 64 bits; the chance of this is below e^-4096"
            )
        drawn = law.draw(beyond.size, bits)
        pairs[beyond] += end - drawn
        beyond = beyond[drawn == 0]
    return pairs


def _draw_remainders(scale: Fraction, block: int, size: int, bits: RandomBits) -> NDArray[np.int64]:
    """Draw from ``0, ..., block - 1`` with probability proportional to ``exp(-u / scale)``, exactly: int64 ``(size,)``.

    `block` is at most ``scale / 16``, not checked: a larger one may overflow, or be rejected nearly always. By
    rejection of uniform numbers: each is accepted with probability ``exp(-1 / 16)`` or more, so that a few rounds are
    expected.
    """
    t, s = scale.numerator, scale.denominator
    remainders = np.empty(size, dtype=np.int64)
    active = np.arange(size)
    while active.size:
        proposed = bits.randranges(block, active.size)
        # block * s <= t / 16, so that the product fits whenever t does; else Python's integers take over.
        exponents = proposed * np.uint64(s) if t < 1 << 63 else proposed.astype(object) * s
        accepted = bernoulli_exps(exponents, t, bits)
        remainders[active[accepted]] = proposed[accepted]
        active = active[~accepted]
    return remainders


@lru_cache(maxsize=64)
def _pair_law(scale: Fraction, block: int) -> tuple[Inversion, int]:
    """The law of a pair (block, sign), and the number that stands for all beyond the table."""
    # The rest of mass e^-6 makes the table short and is rarely reached.
    blocks = max(1, math.ceil(6 * scale / block))
    brackets = partial(_pair_brackets, -1 / scale, block, blocks)
    # Nothing can be decided until a cell is shorter than the likeliest outcome, which comes last here.
    likeliest = (1 << 64) - brackets(64)[-1][0]
    return Inversion(brackets, 65 - min(64, likeliest.bit_length())), 2 * blocks


def _pair_brackets(rate: Fraction, block: int, blocks: int, bits: int) -> list[tuple[int, int]]:
    """Bracket the tail probabilities ``T_i``, ``i = 2 blocks, ..., 1``, in units of ``2^-bits``: pairs of integers.

    `rate` is 1 / scale, `block` the values of a block. Two exact exponentials for each block.
    """
    one = 1 << bits
    q_low, q_high = exp_bracket(rate, bits)
    qm_low, qm_high = exp_bracket(rate * block, bits)
    odd_low = ((q_low + qm_low) << bits) // (one + q_high)
    odd_high = -((-(q_high + qm_high) << bits) // (one + q_low))
    tails = []
    for j in range(blocks, 0, -1):
        tails.append(exp_bracket(rate * block * j, bits))
        low, high = exp_bracket(rate * block * (j - 1), bits)
        tails.append((low * odd_low >> bits, -((-high * odd_high) >> bits)))
    return tails
