r"""Mixture of a nearly private matrix with a private one that is large where constraints are violated.

Closing columns and dividing rows by their sums, in turn (:mod:`discreet.metricdp.bounds.repair`), does not converge on
every graph: at a junction of several roads a row is raised for each of them, and divided by more than its neighbors
are, so that the same constraints are violated again. The mixture takes one pass.

Let w be the lengths to keep, z a matrix whose rows sum to 1, and :math:`v_{ik}` the largest violation at entry (i, k),
:math:`\max_j e^{-w_{ij}} z_{jk} - z_{ik}`, or 0. With a share :math:`\beta < 1/2`, let a be the least matrix above
:math:`v_{ik} / (1 - e^{-(1 - 2 \beta) w_i})`, :math:`w_i` the least length at i, whose columns keep the lengths
:math:`\beta w`, :math:`m_i` its row sums, and :math:`\theta` the largest of these in the component. Then

.. math:: \frac{z_{ik} + \theta\, a_{ik} / m_i}{1 + \theta}

has rows that sum to 1 and keeps w. *Proof.* Row sums of a are sums of columns that keep :math:`\beta w`, so that the
columns of :math:`p = a / m` keep :math:`2 \beta w`, and :math:`p_{ik} - e^{-w_{ij}} p_{jk} \ge p_{ik} (1 -
e^{-(1 - 2 \beta) w_{ij}})`. Times :math:`\theta \ge m_i` this is at least :math:`v_{ik}`. ∎ A component without
violations does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.bounds.closure import COLUMNS_PER_PASS, close_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mix_with_private(
    table: NDArray[np.float64],
    nats: NDArray[np.float64],
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    ids: NDArray[np.int64],
    *,
    labels: NDArray[np.int32],
    beta: float = 0.3,
    min_nats: float = 1e-9,
    threads: int = 1,
) -> NDArray[np.float64] | None:
    """Return a mixture that keeps the lengths, or ``None`` if a length is nearly 0, which makes two rows equal.

    Parameters
    ----------
    table
        ``(n, K)`` positive, or zero in a whole component; its rows sum to 1.
    nats
        ``(m,)``: lengths to keep, in nats.
    start, ends, ids
        Edges in compressed rows: positions ``start[i]`` to ``start[i + 1]`` hold the other ends and the numbers of the
        edges of secret i.
    labels
        ``(n,)``: component of each secret.
    beta
        Share of each length that the added columns keep: a small one adds less mass, and spreads it farther.
    min_nats
        Length below which floats can't separate two rows that may differ a little from two equal ones.
    threads
        Number of threads.

    Returns
    -------
    ndarray
        ``(n, K)`` floats; the caller's slack has to cover their rounding errors.

    Complexity
    ----------
    ``m K`` for the violations, and a closure.
    """
    if not len(nats) or not nats.min() > min_nats:
        return None
    lengths = nats[ids]
    degree = np.diff(start)
    with_edges = np.flatnonzero(degree > 0)
    shortest = np.minimum.reduceat(lengths, start[with_edges])
    room = 1 - np.exp(-(1 - 2 * beta) * shortest)
    factor = np.exp(-lengths)[:, None]
    needed = np.zeros_like(table)
    for first in range(0, table.shape[1], COLUMNS_PER_PASS):
        columns = slice(first, first + COLUMNS_PER_PASS)
        required = np.maximum.reduceat(factor * table[ends, columns], start[with_edges])
        needed[with_edges, columns] = (
            np.maximum(required - table[with_edges, columns], 0.0) / room[:, None]
        )
    close_columns(needed, start, ends, np.exp(-beta * lengths), threads=threads)
    sums = needed.sum(axis=1)
    share = np.zeros(int(labels.max()) + 1)
    np.maximum.at(share, labels, sums)
    theta = share[labels][:, None]
    added = np.divide(needed, sums[:, None], out=np.zeros_like(needed), where=sums[:, None] > 0)
    result: NDArray[np.float64] = (table + theta * added) / (1 + theta)
    return result
