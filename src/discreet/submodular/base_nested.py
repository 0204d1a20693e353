r"""Exact draws of a base of a uniform, partition or laminar matroid, with probability proportional to its weight.

.. math:: \Pr[B] \propto \prod_{e \in B} e^{c w_e}

In a laminar matroid, independent sets of k elements inside a group have a generating function: the product of those of
the group's parts, cut off at its capacity. Elementary symmetric polynomials are the case of one group of elements. From
the root down, how many elements each part gives is chosen with probabilities that are brackets of such numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.submodular._intervals import ONE, Interval, add, choose, exponential, multiply
from discreet.submodular.matroids.laminar import LaminarMatroid
from discreet.submodular.matroids.partition import PartitionMatroid
from discreet.submodular.matroids.uniform import UniformMatroid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid

__all__ = ["NESTED", "draw_nested_base"]

NESTED = (UniformMatroid, PartitionMatroid, LaminarMatroid)
"""Matroids whose bases this module draws."""

Series = list[Interval | None]


@final
@dataclass
class _Group:
    """A group: its parts, groups as their numbers and elements as numbers below zero; how many it can give."""

    parts: list[int]
    capacity: int
    most: int = 0
    need: tuple[int, int] = (0, 0)
    tables: dict[int, list[Series]] = field(default_factory=dict)


def draw_nested_base(
    matroid: Matroid, scores: Sequence[int], rate: Fraction, bits: RandomBits
) -> tuple[int, ...]:
    """Draw a base with probability exactly proportional to exp(rate times the sum of its scores).

    Parameters
    ----------
    matroid
        Uniform, partition or laminar.
    scores
        ``(n_elements,)`` integers.
    rate
        The coefficient, in units of the scores.
    bits
        Source of chance.

    Returns
    -------
    tuple of int
        The base, ascending.

    Complexity
    ----------
    O(n r) operations on numbers of 96 bits, r the largest capacity of a group that is more than the sum of its parts
    needs.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.randomness import SystemBits
    >>> draw_nested_base(UniformMatroid(3, 2), [900, 0, 900], Fraction(1), SystemBits())
    (0, 2)
    """
    groups = _groups(matroid)
    best = max(scores)
    weights = [rate * (int(score) - best) for score in scores]
    _count(groups)
    chosen: list[int] = []
    wanted = {len(groups) - 1: groups[-1].most}
    for g in range(len(groups) - 1, -1, -1):
        k = wanted[g]
        for i in range(len(groups[g].parts) - 1, -1, -1):
            part = groups[g].parts[i]
            give = _share(groups, weights, (g, i), k, bits)
            k -= give
            if part >= 0:
                wanted[part] = give
            elif give:
                chosen.append(-1 - part)
    return tuple(sorted(chosen))


def _groups(matroid: Matroid) -> list[_Group]:
    """List the groups, inner ones first, the whole ground set last."""
    n = matroid.n_elements
    if isinstance(matroid, LaminarMatroid):
        listed = [(g.tolist(), c) for g, c in zip(matroid.groups, matroid.capacities, strict=True)]
    elif isinstance(matroid, PartitionMatroid):
        listed = [
            (np.flatnonzero(matroid.labels == p).tolist(), int(c))
            for p, c in enumerate(matroid.capacities)
        ]
    else:
        listed = []
    owner: dict[int, int] = {e: -1 - e for e in range(n)}
    groups = []
    for number, (members, capacity) in enumerate([*listed, (list(range(n)), matroid.rank)]):
        groups.append(_Group(sorted({owner[e] for e in members}), capacity))
        owner |= dict.fromkeys(members, number)
    return groups


def _count(groups: list[_Group]) -> None:
    """Find how many elements each group can give, then how many it may be asked for."""
    for group in groups:
        group.most = min(group.capacity, sum(_most(groups, part) for part in group.parts))
    groups[-1].need = (groups[-1].most, groups[-1].most)
    for group in reversed(groups):
        whole = sum(_most(groups, part) for part in group.parts)
        for part in group.parts:
            if part >= 0:
                most = groups[part].most
                least = max(0, group.need[0] - (whole - most))
                groups[part].need = (least, min(most, group.need[1]))


def _most(groups: list[_Group], part: int) -> int:
    return groups[part].most if part >= 0 else 1


def _need(groups: list[_Group], part: int) -> tuple[int, int]:
    return groups[part].need if part >= 0 else (0, 1)


def _share(
    groups: list[_Group],
    weights: Sequence[Fraction],
    place: tuple[int, int],
    k: int,
    bits: RandomBits,
) -> int:
    """Choose how many of k elements a part of a group gives, the parts before it giving the rest."""
    g, i = place
    group = groups[g]
    before = sum(_most(groups, part) for part in group.parts[:i])
    least, most = _need(groups, group.parts[i])
    options = range(max(least, k - before, 0), min(most, k) + 1)
    if len(options) == 1:
        return options[0]

    def weigh(precision: int) -> list[Interval]:
        prefix = _prefixes(groups, weights, g, precision)[i]
        part = _series(groups, weights, group.parts[i], precision)
        return [
            multiply(_known(prefix[k - give]), _known(part[give]), precision) for give in options
        ]

    return options[choose(weigh, bits)]


def _known(value: Interval | None) -> Interval:
    if value is None:  # pragma: no cover - the ranges of need and of options are the same numbers
        raise AssertionError
    return value


def _series(groups: list[_Group], weights: Sequence[Fraction], part: int, precision: int) -> Series:
    """For each k that is needed, the weight of the independent k-sets of a part."""
    if part < 0:
        return [ONE, exponential(weights[-1 - part], precision)]
    return _prefixes(groups, weights, part, precision)[-1]


def _prefixes(
    groups: list[_Group], weights: Sequence[Fraction], g: int, precision: int
) -> list[Series]:
    """The series of the first i parts of a group together, for every i; ``None`` where a base never needs it."""
    group = groups[g]
    if precision in group.tables:
        return group.tables[precision]
    after = sum(_most(groups, part) for part in group.parts)
    so_far = 0
    table: list[Series] = [[ONE]]
    for part in group.parts:
        most = _most(groups, part)
        after -= most
        so_far += most
        series = _series(groups, weights, part, precision)
        last = table[-1]
        top = min(so_far, group.need[1], group.most)
        merged: Series = [None] * (top + 1)
        for k in range(max(0, group.need[0] - after), top + 1):
            total: Interval | None = None
            for give in range(max(0, k - len(last) + 1), min(k, len(series) - 1) + 1):
                one, other = last[k - give], series[give]
                if one is not None and other is not None:
                    term = multiply(one, other, precision)
                    total = term if total is None else add(total, term, precision)
            merged[k] = total
        table.append(merged)
    group.tables[precision] = table
    return table
