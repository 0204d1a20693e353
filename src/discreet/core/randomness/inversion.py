r"""Exact inversion: draws from a law whose distribution function is only known between brackets.

A law on ``0, ..., n`` is cut by thresholds :math:`c_1 \le \dots \le c_n` in ``[0, 1]``; a uniform :math:`u` falls
into one of the pieces. The binary digits of :math:`u` are drawn one after another. After :math:`d` digits
:math:`u` lies in a cell :math:`[j, j+1) / 2^d`; as soon as no threshold lies inside that cell, the outcome is
known and no further digit is drawn. Nothing is rounded: the digits yet to come would not have changed the outcome.

All that is asked of the thresholds is :math:`\lfloor 2^d c_k \rfloor`, for the few :math:`d` that are reached.
Integer brackets around :math:`2^P c_k` give it when both ends agree after a shift; when they do not, ``P`` is
doubled. Irrational thresholds, such as those of discrete Laplace noise, always agree in the end.

The digits are drawn one at a time beyond the first few on purpose. It is what a test that replays all draws can
enumerate: the outcomes decided at depth ``d`` are few, and the mass left undecided halves with each digit.

Trusted: the guarantee rests on this code. A test enumerates its law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.exact import exp_ceil, exp_floor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

WORD_BITS = 62
"""Fractional bits of a number from 0 to 1 in a machine word: sums of products of halves fit 64 bits, signed
or not."""


@final
class Inversion:
    """A law on ``0, ..., n``, drawn by inversion, with tables made when first reached.

    Parameters
    ----------
    brackets
        For a number of bits ``P``, the pairs ``(lower, upper)`` of integers around ``2^P c_k``, for irrational
        ``c_1 < ... < c_n`` strictly between 0 and 1, in this order. The width in units of ``2^-P`` must stay bounded
        as ``P`` grows.
    first
        How many digits to draw at once at the start, at least 1. It changes the speed, not the law.

    Notes
    -----
    The table of depth ``d`` maps an undecided cell and a digit to an undecided cell of depth ``d + 1`` (its number)
    or to an outcome (its complement, negative). It is a function of the thresholds alone, hence safe to be made
    by two threads at once.
    """

    def __init__(self, brackets: Callable[[int], Sequence[tuple[int, int]]], first: int) -> None:
        self._brackets = brackets
        self._first = first
        self._tables: dict[int, NDArray[np.int32]] = {}
        self._known: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, size: int, bits: RandomBits) -> NDArray[np.int64]:
        """Draw outcomes, all independent.

        Parameters
        ----------
        size
            How many.
        bits
            Source of chance.

        Returns
        -------
        NDArray[np.int64]
            Outcomes from 0 to ``n``; shape ``(size,)``.

        Complexity
        ----------
        Fewer than ``H + 2`` digits expected beyond the first ones, ``H`` the entropy of the law in bits.
        """
        digits = bits.randranges(1 << self._first, size).view(np.int64)
        cells = self._table(0).take(digits)
        outcomes = (~cells).astype(np.int64)
        active = np.flatnonzero(cells >= 0)
        cells = cells[active]
        step = 0
        while active.size:
            step += 1
            digits = bits.randranges(2, active.size).view(np.int64)
            cells = self._table(step).take(2 * cells + digits)
            # Undecided entries are overwritten later.
            outcomes[active] = ~cells
            undecided = np.flatnonzero(cells >= 0)
            active, cells = active[undecided], cells[undecided]
        return outcomes

    def _table(self, step: int) -> NDArray[np.int32]:
        """Return the table of one step of bits, made once."""
        if step not in self._tables:
            self._tables[step] = self._make_table(step)
        return self._tables[step]

    def _make_table(self, step: int) -> NDArray[np.int32]:
        """Return the int32 table of one step of bits.

        The next cell by cell and digit, or ``~value`` if it is decided.

        `step` 0 reads the first digits at once, later ones a single bit. Linear in the cells and thresholds.
        """
        depth = self._first + step
        fan = 1 << self._first if step == 0 else 2
        parents = [0] if step == 0 else list(dict.fromkeys(self._floors(depth - 1)))
        floors = self._floors(depth)
        number = {cell: i for i, cell in enumerate(dict.fromkeys(floors))}
        table, passed = [], 0
        for cell in (fan * parent + digit for parent in parents for digit in range(fan)):
            while passed < len(floors) and floors[passed] < cell:
                passed += 1
            table.append(number.get(cell, ~passed))
        return np.array(table, dtype=np.int32)

    def _floors(self, depth: int, *, guard_bits: int = 40) -> list[int]:
        """The cells of this depth that hold a threshold, ascending, one entry for each threshold.

        The first brackets have `guard_bits` more bits than `depth`, so that they seldom disagree. ``O(n)`` exact
        brackets, made again with more bits while they do not decide.
        """
        precision = -(-(depth + guard_bits) // 64) * 64
        while True:
            shift = precision - depth
            lower, upper = self._bracket(precision)
            floors = [low >> shift for low in lower]
            if floors == [high >> shift for high in upper]:
                return floors
            precision *= 2

    def _bracket(self, precision: int) -> tuple[list[int], list[int]]:
        """Return lower and upper ends of the thresholds in units of ``2^-precision``, computed once."""
        if precision not in self._known:
            pairs = self._brackets(precision)
            self._known[precision] = [low for low, _ in pairs], [high for _, high in pairs]
        return self._known[precision]


def exp_bracket(x: Fraction, bits: int) -> tuple[int, int]:
    """Bracket ``2^bits e^x`` for ``x <= 0`` between two integers.

    At most 3 apart. The cost is that of :func:`discreet.core.exact.exp_floor`.
    """
    if -x >= bits:
        # e^-bits < 2^-bits; this spares numbers of as many bits as -x has units.
        return 0, 1
    return exp_floor(x, bits), exp_ceil(x, bits)


def scaled_product(p: NDArray[np.int64], q: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute ``floor(p q / 2^62)`` exactly, entry by entry, for int64 from 0 to 2^62 of one shape; ``O(1)`` each.

    Larger or negative numbers are not refused, and give wrong results.

    Notes
    -----
    With ``p = p1 2^31 + p0`` and ``q`` alike, ``p q = p1 q1 2^62 + M 2^31 + p0 q0`` and ``M = p1 q0 + p0 q1``. If
    ``p1 = 2^31``, then ``p0 = 0``, so that ``M`` is at most ``2^63 - 2^32``, and ``M`` with the upper half of ``p0 q0``
    below 2^63: nothing overflows.

    Examples
    --------
    >>> import numpy as np
    >>> scaled_product(np.array([2**62, 2**61 + 1]), np.array([5, 2**61])).tolist()
    [5, 1152921504606846976]
    """
    half, mask = WORD_BITS // 2, (1 << WORD_BITS // 2) - 1
    p1, p0, q1, q0 = p >> half, p & mask, q >> half, q & mask
    middle = p1 * q0 + p0 * q1 + ((p0 * q0) >> half)
    result: NDArray[np.int64] = p1 * q1 + (middle >> half)
    return result
