r"""The Geo-Ind graph: which places' reports must resemble each other, and how far resemblance reaches.

Definition 3.1 of [QLPSX24]_: places are joined when they are at most gamma apart, with their distance as the length of
the edge. Theorem 3.2: with the ratio constraints on the edges alone,

.. math:: z_{ik} \le e^{\epsilon D_{ij}}\, z_{jk} \quad\text{for all connected}\ i, j,

D the length of a shortest path. *Proof.* Multiply the constraints along the path. ∎

D is at least the distance, and in general more: a channel that keeps the edges keeps the metric D, and not the
distances (:doc:`A7 of the errata </theory/errata-lrgeo>`). Between places without a path nothing is promised.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

_TIES = 1e-9
"""Part by which a threshold is lengthened, so that what stands at it exactly is within whatever the rounding."""


def within(distances: NDArray[np.float64], radius: float) -> NDArray[np.bool_]:
    """Compare with a threshold, ties included."""
    return distances <= radius * (1 + _TIES)


@final
@dataclass(frozen=True, eq=False)
class GeoIndGraph:
    """Definition 3.1: places, joined within gamma.

    Parameters
    ----------
    distances
        ``(K, K)``: a metric.
    gamma
        Places at most this far apart are joined. Infinite for all: the graph of LR-Geo-F.

    Raises
    ------
    InvalidProblemError
        For a gamma that is not positive, or distances of another shape.

    Complexity
    ----------
    ``O(K^2)`` for the edges; a shortest path tree with a limit touches what is within the limit.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> graph = GeoIndGraph(line, 1.0)
    >>> graph.n_edges, graph.components
    (3, 1)
    >>> graph.paths([0])[0].tolist()
    [0.0, 1.0, 2.0, 3.0]
    >>> GeoIndGraph(line, 0.5).components
    4
    """

    distances: NDArray[np.float64]
    gamma: float

    def __post_init__(self) -> None:
        shape = np.shape(self.distances)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise InvalidProblemError("distances", "shape (K, K)", f"shape {shape}")
        if not self.gamma > 0:
            raise InvalidProblemError("gamma", "a positive distance, or inf", self.gamma)

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """``(K, K)``: whether two places are joined."""
        mask = within(self.distances, self.gamma)
        np.fill_diagonal(mask, val=False)
        return mask

    @cached_property
    def edges(self) -> csr_array:
        """Lengths of the edges, both ways."""
        from scipy.sparse import csr_array

        i, j = np.nonzero(self.joined)
        return csr_array((self.distances[i, j], (i, j)), shape=self.distances.shape)

    @property
    def n_edges(self) -> int:
        """Number of edges, each counted once."""
        return int(self.joined.sum()) // 2

    @property
    def components(self) -> int:
        """Number of connected components; between two of them nothing is promised."""
        from scipy.sparse.csgraph import connected_components

        return int(connected_components(self.edges, directed=False)[0])

    def paths(self, sources: ArrayLike, *, limit: float = np.inf) -> NDArray[np.float64]:
        """Give the lengths of shortest paths, by Dijkstra's algorithm.

        Parameters
        ----------
        sources
            Numbers of places.
        limit
            Longer paths are given as infinite.

        Returns
        -------
        ndarray
            ``(sources, K)``; infinite where there is no path.
        """
        from scipy.sparse.csgraph import dijkstra

        roots = np.asarray(sources, dtype=np.int64)
        if np.isinf(self.gamma):
            # Of a complete graph of a metric the edges are the shortest paths.
            table = self.distances[roots]
            return np.where(within(table, limit), table, np.inf)
        found: NDArray[np.float64] = dijkstra(self.edges, indices=roots, limit=limit * (1 + _TIES))
        return found


def lr_set(graph: GeoIndGraph, user: int, reach: float) -> NDArray[np.int64]:
    r"""Give the locally relevant places of a user: Definition 4.1 and Equation (11) of [QLPSX24]_.

    .. math:: \mathcal{N}_m = \{\, v_j \in V : D_{mj} \le \Gamma \,\} \qquad (11)

    Parameters
    ----------
    graph
        The Geo-Ind graph.
    user
        The user's place.
    reach
        :math:`\Gamma`, a length of paths.

    Returns
    -------
    ndarray
        Numbers of places, ascending; the user's is among them.

    Raises
    ------
    InvalidProblemError
        For a negative reach.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> lr_set(GeoIndGraph(line, 1.0), 1, 2.0).tolist()
    [0, 1, 2, 3]
    """
    if not reach >= 0:
        raise InvalidProblemError("reach", "a length of at least 0", reach)
    return np.flatnonzero(within(graph.paths([user], limit=reach)[0], reach))
