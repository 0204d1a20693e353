r"""Swap rounding: a random base from a convex combination of bases, losing nothing in expectation.

Two bases with weights b and c are merged: while they differ, take i from one and j from the other such that both
exchanges give bases; with probability :math:`b/(b+c)` the second takes i for j, else the first takes j for i. Merging
all bases in turn gives S with :math:`\Pr[e \in S] = x_e` and :math:`E[F(S)] \ge f(x)` for monotone submodular F.

It looks at the bases alone, never at the function, and so costs no privacy. To round several times and keep the best
would: that choice reads the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import as_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.randomness.bits import UniformSource
    from discreet.submodular.matroids.base import Matroid

__all__ = ["swap_round"]


def swap_round(
    matroid: Matroid,
    bases: Sequence[Sequence[int]],
    weights: Sequence[int] | None = None,
    *,
    bits: UniformSource | None = None,
) -> tuple[int, ...]:
    """Round a convex combination of bases to one base.

    Parameters
    ----------
    matroid
        What may be chosen.
    bases
        Bases of it.
    weights
        Positive integers, one for each base; equal by default.
    bits
        Source of chance; the operating system's by default.

    Returns
    -------
    tuple of int
        A base, ascending. An element is in it with exactly the total weight of the bases that hold it, divided by the
        sum of the weights.

    Raises
    ------
    InvalidProblemError
        For sets that are no bases, or weights that are not positive.

    Guarantee
    ---------
    Expectation only: the value may be below f(x) with any probability short of 1, whatever Remark 3.2 of [RY20]_ says.

    References
    ----------
    [CVZ10]_, Section 3.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> swap_round(UniformMatroid(3, 2), [[0, 1], [1, 0]])
    (0, 1)
    """
    shares = [1] * len(bases) if weights is None else [int(weight) for weight in weights]
    if not bases or len(shares) != len(bases) or min(shares) < 1:
        raise InvalidProblemError("weights", "a positive integer for each base", repr(weights))
    sets = [set(base) for base in bases]
    for base in sets:
        if len(base) != matroid.rank or not matroid.is_independent(base):
            raise InvalidProblemError("bases", f"bases of {matroid!r}", sorted(base))
    source = as_bits(bits)
    merged, total = sets[0], shares[0]
    for other, weight in zip(sets[1:], shares[1:], strict=True):
        first, second = set(merged), set(other)
        while first != second:
            i, j = _exchange(matroid, first, second)
            if source.randrange(total + weight) < total:
                second = (second - {j}) | {i}
            else:
                first = (first - {i}) | {j}
        merged, total = first, total + weight
    return tuple(sorted(merged))


def _exchange(matroid: Matroid, first: set[int], second: set[int]) -> tuple[int, int]:
    """Find i and j that each base may take from the other for its own; strong exchange says that there are some."""
    i = min(first - second)
    for j in sorted(second - first):
        if matroid.is_independent((first - {i}) | {j}) and matroid.is_independent(
            (second - {j}) | {i}
        ):
            return i, j
    raise InvalidProblemError("matroid", "the exchange property", "none for two of its bases")
