r"""Coverings of a matroid polytope by a grid, exact marginals, and pipage rounding: for ground sets of a few elements.

The points of :math:`\frac1q \mathbb Z^n` inside :math:`P(M) = \{x \ge 0 : x(S) \le r(S)\}` are a
:math:`\rho`-covering once :math:`\sqrt n / q \le \rho`, since rounding a point down stays inside. Their number grows
like :math:`q^n`, and with the radius that the paper's theorem no such set can be listed beyond toys.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective


def ranks(matroid: Matroid, *, max_elements: int = 8) -> list[int]:
    """Return the rank of every subset: entry ``mask`` is that of the elements whose bits are set; ``2^n`` entries.

    ``2^n`` tests of independence of `matroid`.

    Raises
    ------
    InvalidProblemError
        For more than `max_elements` elements.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> ranks(UniformMatroid(2, 1))
    [0, 1, 1, 1]
    """
    n = matroid.n_elements
    if n > max_elements:
        raise InvalidProblemError("matroid", f"at most {max_elements} elements for a covering", n)
    rank_of = [0] * (1 << n)
    for mask in range(1, 1 << n):
        members = [e for e in range(n) if mask >> e & 1]
        if matroid.is_independent(members):
            rank_of[mask] = len(members)
        else:
            rank_of[mask] = max(rank_of[mask & ~(1 << e)] for e in members)
    return rank_of


def covering(
    matroid: Matroid, rho: Fraction, *, max_points: int = 200_000
) -> tuple[NDArray[np.int64], int]:
    """List the grid points of a matroid polytope that cover it with a radius.

    More than 8 elements are refused too. Up to ``(q + 1)^n`` points are listed, and each is tested against ``2^n``
    sets.

    Parameters
    ----------
    matroid
        On at most 8 elements.
    rho
        The radius, positive.
    max_points
        Points of the largest covering: each is tested against all subsets.

    Returns
    -------
    points : ndarray
        ``(m, n_elements)`` numerators.
    parts : int
        q, their denominator.

    Raises
    ------
    InvalidProblemError
        When there are too many points.

    Examples
    --------
    >>> from discreet.submodular import UniformMatroid
    >>> points, parts = covering(UniformMatroid(2, 1), Fraction(1))
    >>> parts, len(points)
    (2, 6)
    """
    n, table = matroid.n_elements, ranks(matroid)
    parts = math.isqrt(math.floor(n / rho**2))
    parts += parts**2 * rho**2 < n
    expected = f"a radius with at most {max_points} points"
    if (parts + 1) ** n > 5 * max_points:
        raise InvalidProblemError("rho", expected, estimate(rho))
    singles = [range(parts * table[1 << e] + 1) for e in range(n)]
    points = np.array(list(product(*singles)), dtype=np.int64)
    for mask in range(1, 1 << n):
        members = [e for e in range(n) if mask >> e & 1]
        points = points[points[:, members].sum(axis=1) <= parts * table[mask]]
    if len(points) > max_points:
        raise InvalidProblemError("rho", expected, estimate(rho))
    return points, parts


def set_values(objective: Objective) -> list[int]:
    """Return F of every subset as integers, by bit mask: ``2^n`` evaluations. Private."""
    n = objective.n_elements
    return [objective.value([e for e in range(n) if mask >> e & 1]) for mask in range(1 << n)]


def exact_marginals(values: Sequence[int], x: Sequence[Fraction]) -> list[Fraction]:
    r"""Return :math:`w_e = (1 - x_e)\, \partial f / \partial x_e` at x ``(n,)`` from values of all subsets.

    `values` has ``2^n`` entries by bit mask, as of :func:`set_values`, and the result is in their unit, one fraction
    an element. ``O(n 2^n)``.

    Examples
    --------
    >>> exact_marginals([0, 2, 3, 4], [Fraction(1, 2), Fraction(0)])
    [Fraction(1, 1), Fraction(5, 2)]
    """
    n = len(x)
    chance = [Fraction(1)]
    for share in x:
        chance = [p * (1 - share) for p in chance] + [p * share for p in chance]
    # Element e is bit e: the list above doubles once for each element, the last one being the highest bit.
    return [
        sum(
            (
                chance[mask] * (values[mask | 1 << e] - values[mask])
                for mask in range(1 << n)
                if not mask >> e & 1
            ),
            Fraction(0),
        )
        for e in range(n)
    ]


def pipage(table: Sequence[int], x: Sequence[int], parts: int, bits: RandomBits) -> tuple[int, ...]:
    """Round a point of a matroid polytope to a base, each element with at least its share.

    At most 8 elements, since each step looks at all ``2^n`` sets. A point outside the polytope is not
    detected.

    Parameters
    ----------
    table
        Rank of every subset, from :func:`ranks`.
    x
        ``(n_elements,)`` numerators of a point of the polytope.
    parts
        Their denominator.
    bits
        Source of chance.

    Returns
    -------
    tuple of int
        A base. The value is at least f(x) in expectation, for monotone submodular functions.

    References
    ----------
    [CCPV11]_, Section 3, with the random choice of direction of [CVZ10]_. The point is first raised to a base of the
    polytope, which a monotone function does not mind.

    Examples
    --------
    >>> from discreet.core.randomness import SystemBits
    >>> from discreet.submodular import UniformMatroid
    >>> len(pipage(ranks(UniformMatroid(3, 2)), [1, 1, 1], 2, SystemBits()))
    2
    """
    n, y = len(x), [int(value) for value in x]
    sets = range(1 << n)

    def slack(mask: int) -> int:
        return parts * table[mask] - sum(y[e] for e in range(n) if mask >> e & 1)

    for e in range(n):
        y[e] += min(slack(mask) for mask in sets if mask >> e & 1)
    while any(value % parts for value in y):
        open_ = [e for e in range(n) if y[e] % parts]
        inside = (
            [e for e in open_ if mask >> e & 1]
            for mask in sorted(sets, key=int.bit_count)
            if slack(mask) == 0
        )
        i, j = next(tight[:2] for tight in inside if len(tight) > 1)
        up = min(y[j], *(slack(mask) for mask in sets if mask >> i & 1 and not mask >> j & 1))
        down = min(y[i], *(slack(mask) for mask in sets if mask >> j & 1 and not mask >> i & 1))
        step = up if bits.randrange(up + down) < down else -down
        y[i] += step
        y[j] -= step
    return tuple(e for e in range(n) if y[e])
