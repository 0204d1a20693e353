r"""Draws of a base of any matroid by the basis-exchange walk: close to the wanted law, not equal to it.

A step drops a uniform element of the base and takes in an element that makes it a base again, with probability
proportional to its weight; the dropped one may come back. The walk has mixed to total variation distance :math:`\tau`
after :math:`r\,(\ln\ln(1/\pi_{\min}) + \ln(1/(2\tau^2)))` steps [CGM19]_. The number of steps must not depend on the
records, so that :math:`\pi_{\min}` is bounded for any scores of 64 bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.randomness import exponential_mechanism

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid

__all__ = ["TV_BITS", "walk_base", "walk_steps"]

TV_BITS = 60
"""The walk's law is within ``2^-60`` of the wanted one in total variation."""


def walk_steps(matroid: Matroid, rate: Fraction) -> int:
    r"""How many steps are enough whatever the scores are; a function of public facts.

    With scores of 63 bits, :math:`\ln(1/\pi_{\min}) \le r \cdot rate \cdot 2^{64} + r \ln n`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.submodular import UniformMatroid
    >>> walk_steps(UniformMatroid(10, 3), Fraction(1, 100))
    372
    """
    r = matroid.rank
    log = r * (float(rate) * 2.0**64 + math.log(matroid.n_elements)) + 3
    return math.ceil(r * (math.log(log) + (2 * TV_BITS - 1) * math.log(2))) + 1


def walk_base(
    matroid: Matroid, scores: Sequence[int], rate: Fraction, bits: RandomBits
) -> tuple[int, ...]:
    """Draw a base within total variation ``2^-60`` of the law proportional to exp(rate times its sum of scores).

    Parameters
    ----------
    matroid
        Any matroid.
    scores
        ``(n_elements,)`` integers of at most 63 bits.
    rate
        The coefficient, in units of the scores.
    bits
        Source of chance.

    Returns
    -------
    tuple of int
        The base, ascending.

    Guarantee
    ---------
    Not pure: where the wanted law is epsilon-DP, this one is ``(epsilon, (1 + e^epsilon) 2^-60)``-DP.

    References
    ----------
    [CGM19]_, Theorem 1 and its corollary for the basis-exchange walk; the law is strongly log-concave.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.randomness import SeededBits
    >>> from discreet.submodular import UniformMatroid
    >>> walk_base(UniformMatroid(4, 2), [900, 0, 0, 900], Fraction(1), SeededBits(1))
    (0, 3)
    """
    grown = matroid.start()
    for element in range(matroid.n_elements):
        if grown.feasible()[element]:
            grown.add(element)
    base = list(grown.members)
    values = np.asarray(scores, dtype=np.int64)
    for _ in range(walk_steps(matroid, rate)):
        del base[bits.randrange(len(base))]
        rest = matroid.start()
        for element in base:
            rest.add(element)
        back = np.flatnonzero(rest.feasible())
        at = exponential_mechanism(values[back], rate, 1, monotone=True, bits=bits)
        base.append(int(back[at]))
    return tuple(sorted(base))
