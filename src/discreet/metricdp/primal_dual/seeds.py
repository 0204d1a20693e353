"""Initial constraints of the steps if very many bind: a sparse spanner, or the constraints at the reports' homes.

Any set of constraints gives a valid lower bound, since leaving others out relaxes the program. A greedy spanner implies
all constraints up to its dilation; on maps, lines and roads one of 1.1 has few edges for each secret. Among words it
has nearly every pair. Steps then begin with the constraints between the home of a report and every other secret, and
violated ones are added (:mod:`~discreet.metricdp.primal_dual.arcs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency


class _Tuning(NamedTuple):
    """Limits on the edges of spanners, and their time."""

    sparse_dilation: float = 1.1
    """Dilation of a sparse spanner. On 2,000 junctions the bound from this spanner was within 2 % of the best known
    one."""

    sparse_edges_per_secret: int = 6
    """Edges for each secret up to which a spanner is sparse: 1.1-spanners of points in the plane have 3.5 to 5."""

    edges_per_secret: int = 20
    edges_of_spanner: int = 20_000
    """Constraints for each secret beyond which steps use a subset of them; limits on the edges of a spanner. Of 2,000
    junctions, two per km, the bound after 1,477 steps was .831 with 8,400 edges, .840 with 12,300 and .845 with 19,000,
    in 34, 39 and 46 CPU seconds; November 2026."""

    share_for_finer: float = 0.75
    """Share of the limit on edges from which no finer spanner is tried: half the excess of the dilation took 1.4 times
    as many edges of 2,000 junctions, and a pass 2 CPU seconds."""

    seconds_per_constraint: float = 1e-6
    """Seconds of a spanner for each constraint: 1 to 2 s for the pairs of 2,000 junctions."""

    sample_size: int = 150
    """Secrets whose pairs decide whether there is a sparse spanner: few, since a dense spanner takes long."""


_TUNING = _Tuning()


_FINE_DILATIONS = (1.002, 1.005, 1.01, 1.02, 1.04, 1.08)
"""Candidate dilations of a spanner; the least with few enough edges is used, or else that of a sparse spanner."""


def is_dense(edges: Adjacency) -> bool:
    """Return whether so many constraints bind that steps on all of them are slow."""
    return len(edges) > _TUNING.edges_per_secret * edges.n


def has_sparse_spanner(lengths: NDArray[np.int64]) -> bool:
    """Return whether a sample of the secrets has a sparse spanner.

    Parameters
    ----------
    lengths
        ``(n, n)`` lengths of shortest paths.

    Examples
    --------
    >>> line = np.arange(40)
    >>> has_sparse_spanner(np.abs(line[:, None] - line))
    True
    >>> has_sparse_spanner(np.full((40, 40), 5) - 5 * np.eye(40, dtype=int))
    False
    """
    n = len(lengths)
    sample = np.unique(np.linspace(0, n - 1, min(n, _TUNING.sample_size)).astype(int))
    within = lengths[np.ix_(sample, sample)]
    i, j = np.triu_indices(len(sample), 1)
    pairs = np.stack([i, j], axis=1).astype(np.int32)
    limit = _TUNING.sparse_edges_per_secret * len(sample)
    in_spanner = _greedy_spanners(len(sample), pairs, within[i, j])(_TUNING.sparse_dilation, limit)
    return bool(in_spanner.sum() <= limit)


def spanner_for_steps(edges: Adjacency, *, finer: bool = False) -> Adjacency:
    """Return the greedy spanner of least dilation with at most 20 edges for each secret and 20,000 in all, or of 1.1.

    `finer` allows 40 edges for each secret.

    Complexity
    ----------
    One to four passes over the sorted constraints, each with ``O(n^2)`` for an added edge at most; distances of all
    pairs in memory.
    """
    limit = min(_TUNING.edges_per_secret * edges.n * (1 + finer), _TUNING.edges_of_spanner)
    mark = _greedy_spanners(edges.n, edges.pairs, edges.lengths)
    at = middle = len(_FINE_DILATIONS) // 2
    chosen = mark(_FINE_DILATIONS[at], limit)
    while chosen.sum() > limit and at + 1 < len(_FINE_DILATIONS):
        at += 1
        chosen = mark(_FINE_DILATIONS[at], limit)
    while 0 < at <= middle and chosen.sum() < _TUNING.share_for_finer * limit:
        at -= 1
        shorter = mark(_FINE_DILATIONS[at], limit)
        if shorter.sum() > limit:
            break
        chosen = shorter
    if chosen.sum() > limit:
        chosen = mark(_TUNING.sparse_dilation, len(edges))
    return edges.subgraph(np.flatnonzero(chosen))


def seconds_for_spanner(edges: Adjacency) -> float:
    """Estimate the seconds for a spanner of constraints; 0 if no spanner is needed."""
    return _TUNING.seconds_per_constraint * len(edges) if is_dense(edges) else 0.0


def _greedy_spanners(
    n: int, pairs: NDArray[np.int32], lengths: NDArray[np.int64]
) -> Callable[[float, int], NDArray[np.bool_]]:
    """Return a function that marks the pairs of a greedy spanner, in which paths are at most `dilation` times longer.

    `pairs` is ``(m, 2)``, `lengths` ``(m,)``, as is a result; after `max_edges` edges a spanner stops. Pairs are sorted
    once; then a search for each pair.
    """
    from discreet.core.kernels.distances import spanner

    order = np.argsort(lengths, kind="stable")
    sorted_pairs, sorted_lengths = pairs[order], lengths[order].astype(float)

    def mark(dilation: float, max_edges: int) -> NDArray[np.bool_]:
        in_spanner = np.zeros(len(pairs), dtype=bool)
        limits = dilation * sorted_lengths
        in_spanner[order] = spanner(n, sorted_pairs, sorted_lengths, limits, max_edges)
        return in_spanner

    return mark
