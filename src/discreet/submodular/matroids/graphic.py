"""The graphic matroid: sets of edges without a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import digest_array
from discreet.submodular.matroids.base import IndependentSet, Matroid, count, greedy_rank

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["GraphicMatroid"]


@final
class GraphicMatroid(Matroid):
    """Forests of a graph: each element is an edge, and no chosen edges close a cycle.

    Parameters
    ----------
    n_nodes
        Number of nodes.
    edges
        ``(n_elements, 2)`` the nodes that each edge joins. Parallel edges are allowed; an edge from a node to itself is
        never independent.

    Attributes
    ----------
    edges
        The edges, read-only.

    Raises
    ------
    InvalidProblemError
        For edges that name no nodes.

    Examples
    --------
    >>> triangle = GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]])
    >>> triangle.rank, triangle.is_independent([0, 2]), triangle.is_independent([0, 1, 2])
    (2, True, False)
    """

    def __init__(self, n_nodes: int, edges: ArrayLike) -> None:
        self.n_nodes = count(n_nodes, "n_nodes", 1)
        read = np.array(edges)
        if read.ndim != 2 or read.shape[1:] != (2,) or read.dtype.kind not in "iu" or not len(read):
            raise InvalidProblemError(
                "edges", "a table of two nodes each", f"{read.dtype} {read.shape}"
            )
        if read.min() < 0 or read.max() >= self.n_nodes:
            raise InvalidProblemError("edges", f"nodes 0 to {self.n_nodes - 1}", "another node")
        self.edges: NDArray[np.int64] = read.astype(np.int64)
        self.edges.setflags(write=False)
        self.n_elements = len(read)
        self.rank = greedy_rank(self)

    def start(self) -> IndependentSet:
        """Start with the empty set."""
        return _Forest(self)

    def _facts(self) -> str:
        return f"{self.n_nodes} {digest_array(self.edges)}"


class _Forest(IndependentSet):
    def __init__(self, matroid: GraphicMatroid) -> None:
        super().__init__(matroid)
        self._edges = matroid.edges
        self._tree = np.arange(matroid.n_nodes)

    def feasible(self) -> NDArray[np.bool_]:
        ends = self._tree[self._edges]
        return np.asarray(ends[:, 0] != ends[:, 1])

    def _add(self, element: int) -> None:
        u, v = self._tree[self._edges[element]]
        self._tree[self._tree == v] = u
