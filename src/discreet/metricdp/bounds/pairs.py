r"""A bound that needs no search: pairs of neighbors on their own, each solved in closed form.

Leaving out every constraint but that of one pair relaxes the program, and of disjoint pairs the losses add up. For
secrets i and j with costs :math:`\alpha_k` and :math:`\beta_k` and :math:`a = e^{-\epsilon d}`, the two rows of the
bound reach levels u and v if and only if

.. math::

    u + a v \le A = \min_k (\alpha_k + a \beta_k), \qquad a u + v \le B = \min_k (a \alpha_k + \beta_k),

so that the pair loses :math:`u + v = (A + B) / (1 + a)`. A report with :math:`u > \alpha_k` needs the multiplier
:math:`u - \alpha_k` of :math:`z_{ik} \le e^{\epsilon d} z_{jk}`, one with :math:`v > \beta_k` that of the other
direction. The bound is positive wherever some neighbors share no report that is free for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.bounds.bound import Multipliers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part

__all__ = ["pair_prices"]

_NEAREST = 4
"""Neighbors of each secret that it may be paired with, the nearest: others lose less together."""

_TOGETHER = 1 << 20
"""Entries that are looked at together."""

_LESS = 1 - 1e-12
"""Levels are aimed at so much lower, so that roundings of the factors take nothing away."""


def pair_prices(part: Part) -> Multipliers:
    """Match secrets that lose much together, greedily, and state the prices that prove it.

    Parameters
    ----------
    part
        The part.

    Returns
    -------
    Multipliers
        Prices of stated constraints; none where nothing is constrained.

    Complexity
    ----------
    O(n n_reports).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.spaces.adjacency import Adjacency
    >>> from discreet.metricdp.bounds.bound import lower_bound
    >>> from discreet.metricdp.part import Part
    >>> pair = Part((1 - np.eye(2)) / 2, Adjacency(2, [(0, 1)], [1], 0), Fraction(1), None)
    >>> proven = lower_bound(pair.cost, pair.constraints, pair.epsilon, pair_prices(pair))
    >>> bool(0 <= 1 / (1 + np.e) - proven < 1e-9)
    True
    """
    graph = part.constraints
    near = _nearest(graph.pairs, graph.lengths, part.n)
    near = near[graph.lengths[near] > 0]
    pairs, a = graph.pairs[near], np.exp(-part.nats(graph.lengths[near]))
    levels = np.empty((len(near), 2))
    step = max(1, _TOGETHER // part.n_reports)
    for first in range(0, len(near), step):
        some = slice(first, first + step)
        alpha, beta, by = part.cost[pairs[some, 0]], part.cost[pairs[some, 1]], a[some, None]
        levels[some, 0] = (alpha + by * beta).min(axis=1)
        levels[some, 1] = (by * alpha + beta).min(axis=1)
    chosen = _matched(pairs, levels.sum(axis=1) / (1 + a), part.n)
    found = [_prices(part, pairs[e], float(a[e]), levels[e]) for e in chosen]
    return Multipliers.stack(found)


def _nearest(pairs: NDArray[np.int32], lengths: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Choose the edges that are among the shortest of one of their ends."""
    edge = np.tile(np.arange(len(pairs)), 2)
    end = pairs.T.ravel()
    order = np.lexsort((lengths[edge], end))
    starts = np.searchsorted(end[order], np.arange(n))
    rank = np.arange(len(order)) - starts[end[order]]
    return np.unique(edge[order[rank < _NEAREST]])


def _matched(pairs: NDArray[np.int32], value: NDArray[np.float64], n: int) -> list[int]:
    """Take pairs in the order of what they lose, each secret once."""
    free, chosen = [True] * n, []
    order = np.argsort(-value, kind="stable")
    ends = pairs[order].tolist()
    for e, (i, j), worth in zip(order.tolist(), ends, value[order].tolist(), strict=True):
        if worth > 0 and free[i] and free[j]:
            free[i] = free[j] = False
            chosen.append(e)
    return chosen


def _prices(
    part: Part, pair: NDArray[np.int32], a: float, levels: NDArray[np.float64]
) -> Multipliers:
    """State the prices with which both rows reach their levels."""
    i, j = pair.tolist()
    A, B = levels.tolist()
    alone = 1 - a * a
    if alone < 1e-9:
        return Multipliers.none()
    found = []
    for (s, t), level in (((i, j), (A - a * B) / alone), ((j, i), (B - a * A) / alone)):
        # At z_s <= e^d z_t a price is earned by s, and paid e^d times by t.
        price = np.maximum(_LESS * level - part.cost[s], 0.0)
        at = np.flatnonzero(price)
        found.append(Multipliers(at, np.full(len(at), s), np.full(len(at), t), price[at]))
    return Multipliers.stack(found)
