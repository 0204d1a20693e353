r"""Mixing a nearly private matrix with a private one that is large where inequalities are broken.

Closing columns and dividing rows by their sums, in turn (:mod:`discreet.metricdp.bounds.repair`), does not end on every
graph: where several roads meet, a row is raised for each of them, and divided by more than its neighbors are, so that
the same inequalities are broken again. What follows takes one pass.

Let w be the lengths to be kept, z a matrix whose rows sum to 1, and :math:`v_{ik}` what :math:`z_{ik}` lacks most,
:math:`\max_j e^{-w_{ij}} z_{jk} - z_{ik}`, or 0. With a part :math:`\beta < 1/2`, let a be the least matrix above
:math:`v_{ik} / (1 - e^{-(1 - 2 \beta) w_i})`, :math:`w_i` the least length at i, whose columns keep the lengths
:math:`\beta w`, :math:`m_i` its row sums, and :math:`\theta` the largest of these in the component. Then

.. math:: \frac{z_{ik} + \theta\, a_{ik} / m_i}{1 + \theta}

has rows that sum to 1 and keeps w. *Proof.* Row sums of a are sums of columns that keep :math:`\beta w`, so that the
columns of :math:`p = a / m` keep :math:`2 \beta w`, and :math:`p_{ik} - e^{-w_{ij}} p_{jk} \ge p_{ik} (1 -
e^{-(1 - 2 \beta) w_{ij}})`. Times :math:`\theta \ge m_i` this is at least :math:`v_{ik}`. ∎ Where nothing is broken in
a component, nothing changes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.bounds.closure import close_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["mixed"]

_BETA = 0.3
"""Part of each length that is kept by what is mixed in: a small part needs less of it, and spreads it farther."""

_SHORTEST = 1e-9
"""Nats below which floats can't tell two rows that have to differ little from two that have to be equal."""

_WIDTH = 64
"""Columns that are looked at together."""


def mixed(
    table: NDArray[np.float64],
    kept: NDArray[np.float64],
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    ids: NDArray[np.int64],
    *,
    labels: NDArray[np.int32],
    threads: int = 1,
) -> NDArray[np.float64] | None:
    """Mix so that lengths are kept; ``None`` where one of them is hardly more than 0: two rows have to be equal then.

    Parameters
    ----------
    table
        ``(n, K)`` positive, or zero in a whole component; its rows sum to 1.
    kept
        ``(m,)`` nats.
    start, ends, ids
        The edges at secret i are those from ``start[i]`` to ``start[i + 1]``, with their other ends and numbers.
    labels
        ``(n,)`` the component of each secret.
    threads
        Among how many threads columns are divided.

    Returns
    -------
    ndarray
        ``(n, K)``. Floats: what they err by is for the caller's slack.

    Complexity
    ----------
    ``m K`` for what is lacking, and a closure.
    """
    if not len(kept) or not kept.min() > _SHORTEST:
        return None
    lengths = kept[ids]
    degree = np.diff(start)
    some = np.flatnonzero(degree > 0)
    least = np.minimum.reduceat(lengths, start[some])
    room = 1 - np.exp(-(1 - 2 * _BETA) * least)
    factor = np.exp(-lengths)[:, None]
    needed = np.zeros_like(table)
    for first in range(0, table.shape[1], _WIDTH):
        columns = slice(first, first + _WIDTH)
        asked = np.maximum.reduceat(factor * table[ends, columns], start[some])
        needed[some, columns] = np.maximum(asked - table[some, columns], 0.0) / room[:, None]
    close_columns(needed, start, ends, np.exp(-_BETA * lengths), threads=threads)
    sums = needed.sum(axis=1)
    share = np.zeros(int(labels.max()) + 1)
    np.maximum.at(share, labels, sums)
    theta = share[labels][:, None]
    added = np.divide(needed, sums[:, None], out=np.zeros_like(needed), where=sums[:, None] > 0)
    result: NDArray[np.float64] = (table + theta * added) / (1 + theta)
    return result
