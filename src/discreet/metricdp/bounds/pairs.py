r"""A lower bound without a search: disjoint pairs of neighbors, each solved in closed form.

Leaving out all constraints but those of disjoint pairs relaxes the program, and the losses of the pairs add up. For
secrets i and j with costs :math:`\alpha_k` and :math:`\beta_k` and :math:`a = e^{-\epsilon d}`, the two rows of the
bound reach levels u and v if and only if

.. math::

    u + a v \le A = \min_k (\alpha_k + a \beta_k), \qquad a u + v \le B = \min_k (a \alpha_k + \beta_k),

so that the pair loses :math:`u + v = (A + B) / (1 + a)`. A report with :math:`u > \alpha_k` needs the multiplier
:math:`u - \alpha_k` of :math:`z_{ik} \le e^{\epsilon d} z_{jk}`, one with :math:`v > \beta_k` that of the other
direction. The bound is positive if two neighbors have no report in common that costs both nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.spaces.lengths import LENGTHS_AT_ONCE
from discreet.metricdp.bounds.bound import PRICE_SHARE, Multipliers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part


def pair_prices(part: Part) -> Multipliers:
    """Match secrets greedily by the loss of their pair, and return the prices that prove the sum.

    Parameters
    ----------
    part
        The part.

    Returns
    -------
    Multipliers
        Prices of stated constraints; empty if there are no constraints.

    Complexity
    ----------
    O(n n_reports), and a sort of the constraints.

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
    near = _nearest_edges(graph.pairs, graph.lengths, part.n)
    near = near[graph.lengths[near] > 0]
    pairs, a = graph.pairs[near], np.exp(-part.nats(graph.lengths[near]))
    levels = np.empty((len(near), 2))
    step = max(1, LENGTHS_AT_ONCE // part.n_reports)
    for first in range(0, len(near), step):
        rows = slice(first, first + step)
        alpha, beta, shrink = part.cost[pairs[rows, 0]], part.cost[pairs[rows, 1]], a[rows, None]
        levels[rows, 0] = (alpha + shrink * beta).min(axis=1)
        levels[rows, 1] = (shrink * alpha + beta).min(axis=1)
    determinant = 1 - a * a
    # Secrets that are too near have no prices.
    worth = np.where(determinant >= 1e-9, levels.sum(axis=1) / (1 + a), 0.0)
    chosen = _match_pairs(pairs, worth, part.n)
    i, j = pairs[chosen].T
    A, B = levels[chosen].T
    a = a[chosen]
    determinant = determinant[chosen]
    prices = []
    for s, t, level in ((i, j, (A - a * B) / determinant), (j, i, (B - a * A) / determinant)):
        # The price of z_s <= e^d z_t is added at s, and e^d times it subtracted at t.
        price = np.maximum(PRICE_SHARE * level[:, None] - part.cost[s], 0.0)
        at, report = np.nonzero(price)
        prices.append(Multipliers(report, s[at], t[at], price[at, report]))
    return Multipliers.stack(prices)


def _nearest_edges(
    pairs: NDArray[np.int32], lengths: NDArray[np.int64], n: int, *, shortest: int = 4
) -> NDArray[np.int64]:
    """Return the indices of the edges that are among the `shortest` of one end, ascending: others give less.

    `pairs` ``(m, 2)`` are the edges of `n` secrets, `lengths` ``(m,)``. A sort.
    """
    by_length = np.argsort(lengths, kind="stable")
    # Numbers of 16 bits are sorted in linear time.
    ends = pairs[by_length].ravel().astype(np.uint16 if n <= 1 << 16 else np.int32)
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(n))
    rank = np.arange(len(order)) - starts[ends[order]]
    return np.unique(by_length[order[rank < shortest] // 2])


def _match_pairs(pairs: NDArray[np.int32], value: NDArray[np.float64], n: int) -> list[int]:
    """Return the indices of the edges of a greedy matching, in descending order of `value` ``(m,)``; a sort.

    `pairs` is ``(m, 2)``, with ends below `n`; edges whose value is not positive are left out.
    """
    free, chosen = [True] * n, []
    order = np.argsort(-value, kind="stable")
    ends = pairs[order].tolist()
    for e, (i, j), worth in zip(order.tolist(), ends, value[order].tolist(), strict=True):
        if worth > 0 and free[i] and free[j]:
            free[i] = free[j] = False
            chosen.append(e)
    return chosen
