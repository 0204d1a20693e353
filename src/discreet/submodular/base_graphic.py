r"""Exact draws of a spanning forest with probability proportional to the product of its edges' weights.

Edges are decided one after another. Given what was decided, an edge between u and v of weight W is in the forest with
probability :math:`W / (W + C)`, C being the effective conductance between u and v in the rest: contracted edges are
taken in, refused ones are gone. C is found by eliminating all other nodes, each star becoming a mesh; that takes
sums, products and quotients of positive numbers only, so that brackets stay tight.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from discreet.submodular._intervals import (
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
    from discreet.submodular.matroids.graphic import GraphicMatroid

__all__ = ["draw_forest"]

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
    >>> from discreet.submodular.matroids.graphic import GraphicMatroid
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

        others = [(tree[ends[e][0]], tree[ends[e][1]], weights[e]) for e in left]
        if choose(partial(_in_or_out, (u, v, weights[edge]), others), bits) == 0:
            chosen.append(edge)
            tree = [u if node == v else node for node in tree]
    return tuple(chosen)


def _in_or_out(
    edge: tuple[int, int, Fraction], others: Sequence[tuple[int, int, Fraction]], precision: int
) -> list[Interval]:
    """Weigh an edge in the forest against it left out."""
    u, v, weight = edge
    graph = _graph(others, precision)
    return [exponential(weight, precision), _conductance(graph, u, v, precision)]


def _graph(edges: Sequence[tuple[int, int, Fraction]], precision: int) -> Graph:
    """Add up parallel edges; those within a contracted node are gone."""
    graph: Graph = {node: {} for u, v, _ in edges for node in (u, v)}
    for u, v, exponent in edges:
        if u != v:
            _join(graph, u, v, exponential(exponent, precision), precision)
    return graph


def _join(graph: Graph, u: int, v: int, weight: Interval, precision: int) -> None:
    total = add(graph[u].get(v, ZERO), weight, precision)
    graph[u][v] = graph[v][u] = total


def _conductance(graph: Graph, u: int, v: int, precision: int) -> Interval:
    """Effective conductance between two nodes; zero where no path joins them."""
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
