"""Which constraints steps begin with where very many bind: a sparse spanner, or the stars of the reports' homes.

Any set of constraints gives a valid lower bound, since leaving others out relaxes the program. A greedy spanner stands
for all constraints up to its dilation; on maps, lines and roads one of 1.1 has few edges for each secret. Among words
it keeps nearly every pair. There the constraints between the home of a report and every other secret come first, and
those that the channel violates are added (:meth:`~discreet.metricdp.bounds.local.Plan.grow`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency

__all__ = [
    "MAX_EDGES_PER_SECRET",
    "has_near_structure",
    "is_dense",
    "seconds_for_spanner",
    "spanner_for_steps",
]

MAX_EDGES_PER_SECRET = 6
"""Edges for each secret up to which a spanner is sparse: 1.1-spanners of points in the plane have 3.5 to 5."""

_MIN_DENSE_DEGREE = 18
"""Constraints for each secret beyond which some have to stand for the others."""

_DILATION = 1.1
"""How much longer than a constraint its path in the spanner may be. On 2,000 junctions the bound from this spanner was
within 2 % of the best known one."""

_FINE_DILATIONS = (1.002, 1.005, 1.01, 1.02, 1.04, 1.08)
"""Dilations of which the first is taken that leaves few enough edges."""

_MAX_FINE_EDGES_PER_SECRET = 20
"""Edges for each secret of a fine spanner."""

_SECRETS_FOR_SPARSE = 1200
"""Secrets from which on a spanner of dilation 1.1 is taken: 2,000 junctions had a gap of 32 % after 60 s by steps on a
finer one."""

_SECONDS_PER_CONSTRAINT = 4e-6
"""Of a spanner: 9 s for the pairs of 2,000 junctions."""

_SAMPLE = 150
"""Secrets by whose pairs the near structure is judged: few, since a spanner of a space without one takes long."""


def is_dense(edges: Adjacency) -> bool:
    """Whether so many constraints bind that steps on all of them are slow."""
    return len(edges) > _MIN_DENSE_DEGREE * edges.n


def has_near_structure(lengths: NDArray[np.int64]) -> bool:
    """Whether a sparse spanner stands for all pairs, judged by a sample of the secrets.

    Parameters
    ----------
    lengths
        ``(n, n)`` lengths of shortest paths.

    Examples
    --------
    >>> line = np.arange(40)
    >>> has_near_structure(np.abs(line[:, None] - line))
    True
    >>> has_near_structure(np.full((40, 40), 5) - 5 * np.eye(40, dtype=int))
    False
    """
    n = len(lengths)
    some = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))
    within = lengths[np.ix_(some, some)]
    i, j = np.triu_indices(len(some), 1)
    pairs = np.stack([i, j], axis=1).astype(np.int32)
    kept = _greedy(len(some), pairs, within[i, j])
    return bool(kept.sum() <= MAX_EDGES_PER_SECRET * len(some))


def spanner_for_steps(edges: Adjacency) -> tuple[Adjacency, bool]:
    """Return a greedy spanner of some constraints, and whether it is a fine one.

    Up to 1,200 secrets it is that of least dilation with at most 20 edges for each secret, beyond that that of dilation
    1.1.

    Complexity
    ----------
    For each dilation a pass over the sorted constraints, and O(n^2) at most for each edge that is kept; distances of
    all pairs in memory.
    """
    if edges.n < _SECRETS_FOR_SPARSE:
        for dilation in _FINE_DILATIONS:
            kept = _greedy(edges.n, edges.pairs, edges.lengths, dilation)
            if kept.sum() <= _MAX_FINE_EDGES_PER_SECRET * edges.n:
                return edges.subgraph(np.flatnonzero(kept)), True
    kept = _greedy(edges.n, edges.pairs, edges.lengths)
    return edges.subgraph(np.flatnonzero(kept)), False


def seconds_for_spanner(edges: Adjacency) -> float:
    """Estimate the seconds that choosing from some constraints takes."""
    return _SECONDS_PER_CONSTRAINT * len(edges) if is_dense(edges) else 0.0


def _greedy(
    n: int, pairs: NDArray[np.int32], lengths: NDArray[np.int64], dilation: float = _DILATION
) -> NDArray[np.bool_]:
    from discreet.core.kernels.distances import spanner

    order = np.argsort(lengths, kind="stable")
    long = lengths[order].astype(np.float64)
    kept = np.zeros(len(pairs), dtype=bool)
    kept[order] = spanner(n, np.ascontiguousarray(pairs[order]), long, dilation * long)
    return kept
