r"""The exponential as an integer, bit for bit the same on every machine.

:class:`Decay` maps an integer length L to an integer :math:`E(L)` just below :math:`2^{62} e^{-\rho L}`, in 64-bit
integer arithmetic alone, so that millions of weights that are never stored can be computed where they are needed, and
so that what a verifier looked at is what a sampler uses.

**Specification.** Write :math:`L = \sum_j g_j 256^j` with seven digits. Let
:math:`t_j(g)` be ``exp_floor(-rho g 256^j, 62)``. Then :math:`E = t_0(g_0)`, and for ``j = 1, ..., 6`` in this order
:math:`E \leftarrow \lfloor E\, t_j(g_j) / 2^{62} \rfloor`.

**Error.** :math:`2^{62} e^{-\rho L} - 20 < E(L) \le 2^{62} e^{-\rho L}`.

*Proof.* ``exp_floor`` is at most the number that it stands for, and less than 2 below it; every operation is rounded
down, so that E is never above. If :math:`E = p - \alpha` and :math:`t = q - \beta` with :math:`p, q \le 2^{62}` the
exact numbers, then :math:`E t / 2^{62} \ge pq/2^{62} - \alpha - \beta`, and the floor takes off less than 1. So the
error grows by less than 3 for each of six products, from less than 2. ∎

Trusted: the guarantee rests on this code, which computes weights of implicit channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor
from discreet.core.randomness.inversion import WORD_BITS, scaled_product

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

_LENGTH_LIMIT = 1 << 52
"""Lengths of a space are below it."""

DECAY_DIGITS = -(-(_LENGTH_LIMIT - 1).bit_length() // 8)
"""Digits to base 256 of a length: 7."""


@final
@dataclass(frozen=True)
class Decay:
    r"""Integers just below :math:`2^{62} e^{-\rho L}` for integer lengths L.

    Parameters
    ----------
    rate
        :math:`\rho`, nats for each unit of length, exact and positive.

    Raises
    ------
    InvalidProblemError
        When the rate is not positive.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> (Decay(Fraction(1, 1000))(np.array([0, 1000, 62_000])) / 2**62).tolist()
    [1.0, 0.36787944117144233, 0.0]
    """

    rate: Fraction

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise InvalidProblemError("rate", "a positive number", self.rate)

    @cached_property
    def tables(self) -> NDArray[np.int64]:
        """The factors ``t_j(g)``: ``(7, 256)`` int64, read-only, in units of ``2^-62`` and rounded down."""
        rows = [
            [exp_floor(-self.rate * (digit << 8 * place), WORD_BITS) for digit in range(256)]
            for place in range(DECAY_DIGITS)
        ]
        tables = np.array(rows, dtype=np.int64)
        tables.setflags(write=False)
        return tables

    def __call__(self, lengths: NDArray[np.integer]) -> NDArray[np.int64]:
        """Compute E for each length.

        Raises
        ------
        InvalidProblemError
            For lengths that are negative or 2^52 and more.

        Complexity
        ----------
        Six products for each length, fewer where all are short: 60 nanoseconds on one core.
        """
        if lengths.size and not 0 <= int(lengths.min()) <= int(lengths.max()) < _LENGTH_LIMIT:
            raise InvalidProblemError("lengths", "integers in [0, 2^52)", "others")
        values: NDArray[np.int64] = self.tables[0][lengths & 255]
        # The factor for a digit of zero is 2^62, which changes nothing.
        for place in range(1, -(-int(lengths.max(initial=0)).bit_length() // 8)):
            values = scaled_product(values, self.tables[place][(lengths >> 8 * place) & 255])
        return values
