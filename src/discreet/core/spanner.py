"""The greedy spanner: few pairs that stand for all, at the price of a stated factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import Exact, to_fraction

if TYPE_CHECKING:
    from discreet.core.adjacency import Adjacency
    from discreet.core.metric import MetricSpace

__all__ = ["greedy_spanner"]


def greedy_spanner(space: MetricSpace, dilation: Exact) -> Adjacency:
    """Keep few pairs whose paths stretch no distance by more than a factor.

    Pairs are taken by length, ties by number; a pair is kept when the graph so far is longer than its limit
    ``floor(dilation * distance)``. A channel that keeps ``epsilon / dilation`` on the result keeps ``epsilon`` for all.

    Parameters
    ----------
    space
        A metric space of at most 5120 secrets.
    dilation
        The factor, at least 1, read exactly.

    Returns
    -------
    Adjacency
        A connected graph with ``stretch(space) <= dilation``, exactly.

    Raises
    ------
    InvalidProblemError
        For a dilation below 1, or a space without a matrix.

    Complexity
    ----------
    ``O(n^2)`` for each edge kept, of which there are ``O(n)`` in a plane [BCP14]_.

    Examples
    --------
    >>> from discreet.core.metric import MetricSpace
    >>> space = MetricSpace.grid(5, 5, cell=1, unit="km")
    >>> graph = greedy_spanner(space, "1.5")
    >>> len(graph), graph.stretch(space) <= 1.5
    (40, True)
    """
    from discreet.core._kernels import spanner

    factor = to_fraction(dilation, "dilation")
    if factor < 1:
        raise InvalidProblemError("dilation", "at least 1", dilation)
    everything = space.adjacency()
    order = np.argsort(everything.lengths, kind="stable")
    lengths = everything.lengths[order]
    limits = lengths.astype(object) * factor.numerator // factor.denominator
    kept = spanner(
        space.n,
        everything.pairs[order],
        lengths.astype(np.float64),
        # A limit is only compared: beyond 2^53 every path is within it.
        np.minimum(limits, 2.0**53).astype(np.float64),
    )
    return everything.subgraph(order[kept])
