r"""Exact draws of a base of a uniform, partition or laminar matroid, with probability proportional to its weight.

.. math:: \Pr[B] \propto \prod_{e \in B} e^{c w_e}

In a laminar matroid, independent sets of k elements inside a group have a generating function: the product of those of
the group's parts, cut off at its capacity. Elementary symmetric polynomials are the case of one group of elements. From
the root down, how many elements each part gives is chosen with probabilities that are brackets of such numbers.

Exact draws of a spanning forest with probability proportional to the product of its edges' weights.

Edges are decided one after another. Given what was decided, an edge between u and v of weight W is in the forest with
probability :math:`W / (W + C)`, C being the effective conductance between u and v in the rest: contracted edges are
taken in, refused ones are gone. C is found by eliminating all other nodes, each star becoming a mesh; that takes
sums, products and quotients of positive numbers only, so that brackets stay tight.

Draws of a base of any matroid by the basis-exchange walk: close to the wanted law, not equal to it.

A step drops a uniform element of the base and takes in an element that makes it a base again, with probability
proportional to its weight; the dropped one may come back. The walk has mixed to total variation distance :math:`\tau`
after :math:`r\,(\ln\ln(1/\pi_{\min}) + \ln(1/(2\tau^2)))` steps [CGM19]_. The number of steps must not depend on the
records, so that :math:`\pi_{\min}` is bounded for any scores of 64 bits.

Trusted: the guarantee rests on this code, which draws. A test enumerates its law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.randomness import exponential_mechanism
from discreet.submodular.draws.intervals import (
    ONE,
    ZERO,
    Interval,
    add,
    choose,
    divide,
    exponential,
    multiply,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.core.randomness.bits import RandomBits
    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.matroids.capacities import CapacityMatroid
    from discreet.submodular.matroids.representable import GraphicMatroid

Series = list[Interval]


@final
@dataclass
class _Group:
    """A group: its parts, groups as their numbers and elements as numbers below zero; how many it can give.

    ``before[i]`` is how many elements the first i parts can give.
    """

    parts: list[int]
    capacity: int
    before: list[int] = field(default_factory=list)
    most: int = 0
    tables: dict[int, list[Series]] = field(default_factory=dict)


def draw_nested_base(
    matroid: CapacityMatroid, scores: Sequence[int], rate: Fraction, bits: RandomBits
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
    O(n r) operations on intervals of 96 bits, or more for a close draw, r the rank.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.randomness import SystemBits
    >>> from discreet.submodular import UniformMatroid
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


def _groups(matroid: CapacityMatroid) -> list[_Group]:
    """Return the groups of a uniform, partition or laminar matroid, inner ones first, the complete ground set last."""
    n = matroid.n_elements
    owner: dict[int, int] = {e: -1 - e for e in range(n)}
    groups = []
    for number, (group, capacity) in enumerate([*matroid.limits, (np.arange(n), matroid.rank)]):
        members = group.tolist()
        groups.append(_Group(sorted({owner[e] for e in members}), capacity))
        owner |= dict.fromkeys(members, number)
    return groups


def _count(groups: list[_Group]) -> None:
    """Set how many elements each group can give, in place."""
    for group in groups:
        group.before = [0, *accumulate(_most(groups, part) for part in group.parts)]
        group.most = min(group.capacity, group.before[-1])


def _most(groups: list[_Group], part: int) -> int:
    """How many elements a part of a group can give at most: an inner group's number, and 1 for a single element."""
    return groups[part].most if part >= 0 else 1


def _share(
    groups: list[_Group],
    weights: Sequence[Fraction],
    place: tuple[int, int],
    k: int,
    bits: RandomBits,
) -> int:
    """Draw how many of k elements a part of a group gives, the parts before it giving the rest, exactly.

    `place` is (group, part).

    `weights` has the exponent of each element, at most 0. Series are kept in `groups`, so a draw costs their first
    use.
    """
    g, i = place
    group = groups[g]
    most = _most(groups, group.parts[i])
    options = range(max(k - group.before[i], 0), min(most, k) + 1)
    if len(options) == 1:
        return options[0]

    def weigh(precision: int) -> list[Interval]:
        prefix = _prefixes(groups, weights, g, precision)[i]
        part = _series(groups, weights, group.parts[i], precision)
        return [multiply(prefix[k - give], part[give], precision) for give in options]

    return options[choose(weigh, bits)]


def _series(groups: list[_Group], weights: Sequence[Fraction], part: int, precision: int) -> Series:
    """For each k, the weight of the independent k-sets of a part."""
    if part < 0:
        return [ONE, exponential(weights[-1 - part], precision)]
    return _prefixes(groups, weights, part, precision)[-1]


def _prefixes(
    groups: list[_Group], weights: Sequence[Fraction], g: int, precision: int
) -> list[Series]:
    """Return the series of the first i parts of group g together, for every i.

    A series has the sum of weights of sets by size, as intervals with `precision` bits. ``O(most^2)`` a part; kept.
    """
    group = groups[g]
    if precision in group.tables:
        return group.tables[precision]
    table: list[Series] = [[ONE]]
    for part, so_far in zip(group.parts, group.before[1:], strict=True):
        series = _series(groups, weights, part, precision)
        last = table[-1]
        merged: Series = []
        for k in range(min(so_far, group.most) + 1):
            total = ZERO
            for give in range(max(0, k - len(last) + 1), min(k, len(series) - 1) + 1):
                total = add(total, multiply(last[k - give], series[give], precision), precision)
            merged.append(total)
        table.append(merged)
    group.tables[precision] = table
    return table


Graph = dict[int, dict[int, Interval]]


def draw_forest(
    matroid: GraphicMatroid, scores: Sequence[int], rate: Fraction, bits: RandomBits
) -> tuple[int, ...]:
    """Draw a base of a graphic matroid with probability exactly proportional to exp(rate times its sum of scores).

    Parameters
    ----------
    matroid
        The graph.
    scores
        ``(n_elements,)`` integers, one for each edge.
    rate
        The coefficient, in units of the scores.
    bits
        Source of chance.

    Returns
    -------
    tuple of int
        The edges of the forest, ascending.

    Complexity
    ----------
    O(nodes^3) operations for each edge: for graphs of some tens of nodes.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.randomness import SystemBits
    >>> from discreet.submodular.matroids.representable import GraphicMatroid
    >>> draw_forest(GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]]), [900, 0, 900], Fraction(1), SystemBits())
    (0, 2)
    """
    best = max(int(score) for score in scores)
    weights = [rate * (int(score) - best) for score in scores]
    ends: list[tuple[int, int]] = [(int(u), int(v)) for u, v in matroid.edges.tolist()]
    left = [e for e in range(len(ends)) if ends[e][0] != ends[e][1]]
    tree = list(range(matroid.n_nodes))
    chosen = []
    while left:
        edge = left.pop(0)
        u, v = tree[ends[edge][0]], tree[ends[edge][1]]
        if u == v:
            continue

        open_edges = [(tree[ends[e][0]], tree[ends[e][1]], weights[e]) for e in left]
        if choose(partial(_in_or_out, (u, v, weights[edge]), open_edges), bits) == 0:
            chosen.append(edge)
            tree = [u if node == v else node for node in tree]
    return tuple(chosen)


def _in_or_out(
    edge: tuple[int, int, Fraction], others: Sequence[tuple[int, int, Fraction]], precision: int
) -> list[Interval]:
    """Return two weights, as intervals: that of `edge` in the forest, and that of the forest without it.

    Edges are (u, v, x) of weight ``e^x``; `others` are still undecided. ``O(nodes^3)`` operations with `precision`
    bits.
    """
    u, v, weight = edge
    graph = _graph(others, precision)
    return [exponential(weight, precision), _conductance(graph, u, v, precision)]


def _graph(edges: Sequence[tuple[int, int, Fraction]], precision: int) -> Graph:
    """Return the graph of edges (u, v, x) of weight ``e^x``, as intervals with `precision` bits, parallel ones added.

    Edges from a node to itself, within a contracted node, are left out. Linear in the edges.
    """
    graph: Graph = {node: {} for u, v, _ in edges for node in (u, v)}
    for u, v, exponent in edges:
        if u != v:
            _join(graph, u, v, exponential(exponent, precision), precision)
    return graph


def _join(graph: Graph, u: int, v: int, weight: Interval, precision: int) -> None:
    """Add a weight to the edge between u and v, in place."""
    total = add(graph[u].get(v, ZERO), weight, precision)
    graph[u][v] = graph[v][u] = total


def _conductance(graph: Graph, u: int, v: int, precision: int) -> Interval:
    """Return the effective conductance between nodes u and v as an interval; zero where no path joins them.

    Nodes are eliminated from `graph`, which is changed. At most ``O(n^3)`` operations, with `precision` bits.
    """
    # Nodes with few neighbors first: their meshes are small.
    for node in sorted(graph, key=lambda node: len(graph[node])):
        if node in (u, v):
            continue
        star = graph.pop(node)
        for other in star:
            del graph[other][node]
        total = ZERO
        for weight in star.values():
            total = add(total, weight, precision)
        around = list(star.items())
        for i, (a, weight_a) in enumerate(around):
            share = divide(weight_a, total, precision)
            for b, weight_b in around[i + 1 :]:
                _join(graph, a, b, multiply(share, weight_b, precision), precision)
    return graph.get(u, {}).get(v, ZERO)


TV_BITS = 60
"""The walk's law is within ``2^-60`` of the wanted one in total variation."""


def walk_steps(matroid: Matroid, rate: Fraction) -> int:
    r"""How many steps are enough whatever the scores are; a function of public facts.

    With scores of 63 bits, :math:`\ln(1/\pi_{\min}) \le r \cdot rate \cdot 2^{64} + r \ln n`.

    `rate` is the coefficient in units of the scores, at least 0.

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

    The walk takes :func:`walk_steps` steps, each of r additions to an independent set and a draw among all elements
    that fit. The rank must be at least 1.

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
    base = list(matroid.start().take(range(matroid.n_elements)).members)
    values = np.asarray(scores, dtype=np.int64)
    for _ in range(walk_steps(matroid, rate)):
        del base[bits.randrange(len(base))]
        back = np.flatnonzero(matroid.start().take(base).feasible())
        at = exponential_mechanism(values[back], rate, 1, monotone=True, bits=bits)
        base.append(int(back[at]))
    return tuple(sorted(base))
