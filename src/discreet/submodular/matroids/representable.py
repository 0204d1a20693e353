r"""The graphic matroid: sets of edges without a cycle.

The linear matroid over the field of two elements: sets of independent vectors of bits.

The transversal matroid: sets that can be matched to slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import array_of
from discreet.core.outcome import digest_array
from discreet.submodular.matroids.base import IndependentSet, Matroid, count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
        read = array_of(edges, "edges", "pairs of nodes")
        if read.ndim != 2 or read.shape[1:] != (2,) or read.dtype.kind not in "iu" or not len(read):
            raise InvalidProblemError(
                "edges", "a table of two nodes each", f"{read.dtype} {read.shape}"
            )
        if read.min() < 0 or read.max() >= self.n_nodes:
            raise InvalidProblemError("edges", f"nodes 0 to {self.n_nodes - 1}", "another node")
        self.edges: NDArray[np.int64] = read.astype(np.int64)
        self.edges.setflags(write=False)
        self.n_elements = len(read)
        self.rank = len(self.start().take(range(self.n_elements)).members)

    def start(self) -> IndependentSet:
        """Return a new independent set without edges; ``O(n_nodes)``, and its mask takes ``O(n_elements)``."""
        return _Forest(self)

    def _facts(self) -> str:
        return f"{self.n_nodes} {digest_array(self.edges)}"


class _Forest(IndependentSet):
    def __init__(self, matroid: GraphicMatroid) -> None:
        super().__init__(matroid)
        self._edges = matroid.edges
        self._tree = np.arange(matroid.n_nodes)

    def feasible(self) -> NDArray[np.bool_]:
        """Return ``(n,)``: whether an edge joins two trees of the forest."""
        ends = self._tree[self._edges]
        return np.asarray(ends[:, 0] != ends[:, 1])

    def _add(self, element: int) -> None:
        """Unite the trees of both ends, in ``O(nodes)``."""
        u, v = self._tree[self._edges[element]]
        self._tree[self._tree == v] = u


@final
class LinearMatroid(Matroid):
    """Sets of vectors over GF(2) none of which is a sum of others.

    Parameters
    ----------
    vectors
        ``(n_elements, dimensions)`` booleans, a vector for each element.

    Attributes
    ----------
    vectors
        The vectors, read-only.

    Raises
    ------
    InvalidProblemError
        For anything but a table of booleans.

    Examples
    --------
    >>> matroid = LinearMatroid([[True, False], [False, True], [True, True]])
    >>> matroid.rank, matroid.is_independent([1, 2]), matroid.is_independent([0, 1, 2])
    (2, True, False)
    """

    def __init__(self, vectors: ArrayLike) -> None:
        self.vectors = _read_booleans(vectors, "vectors")
        self.n_elements = len(self.vectors)
        self.rank = len(self.start().take(range(self.n_elements)).members)

    def start(self) -> IndependentSet:
        """Return a new independent set without elements.

        It copies the vectors, and an addition takes one pass over them.
        """
        return _Reduced(self)

    def _facts(self) -> str:
        return digest_array(self.vectors)


class _Reduced(IndependentSet):
    """Every vector minus its part in the span of the chosen ones: those that vanish do not fit."""

    def __init__(self, matroid: LinearMatroid) -> None:
        super().__init__(matroid)
        self._rest = matroid.vectors.copy()

    def feasible(self) -> NDArray[np.bool_]:
        return np.asarray(self._rest.any(axis=1))

    def _add(self, element: int) -> None:
        """Eliminate the element's vector from all others, over two elements, in ``O(n rows)``."""
        vector = self._rest[element].copy()
        pivot = int(np.argmax(vector))
        self._rest[self._rest[:, pivot]] ^= vector


@final
class TransversalMatroid(Matroid):
    """Sets whose elements can all be given different slots that suit them.

    Parameters
    ----------
    suits
        ``(n_elements, n_slots)`` booleans: which slots suit an element.

    Attributes
    ----------
    suits
        The table, read-only.

    Raises
    ------
    InvalidProblemError
        For anything but a table of booleans.

    Examples
    --------
    >>> matroid = TransversalMatroid([[True, False], [True, False], [True, True]])
    >>> matroid.rank, matroid.is_independent([0, 2]), matroid.is_independent([0, 1])
    (2, True, False)
    """

    def __init__(self, suits: ArrayLike) -> None:
        self.suits = _read_booleans(suits, "suits")
        self.n_elements = len(self.suits)
        self.rank = len(self.start().take(range(self.n_elements)).members)

    def start(self) -> IndependentSet:
        """Return a new independent set without elements.

        An addition or a mask takes up to ``n_elements * n_slots`` steps.
        """
        return _Matched(self)

    def _facts(self) -> str:
        return digest_array(self.suits)


class _Matched(IndependentSet):
    """A matching, and for each slot the next one on a way to a free slot.

    An element fits if some slot that suits it is free, or can be freed by moving what holds it along such a way.
    """

    def __init__(self, matroid: TransversalMatroid) -> None:
        super().__init__(matroid)
        self._suits = matroid.suits
        self._holder = np.full(matroid.suits.shape[1], -1)
        self._matched = np.zeros(matroid.n_elements, dtype=np.bool_)
        self._trace()

    def _trace(self) -> None:
        """Search breadth-first, from the free slots, the next slot of each slot's holder on a path to a free one."""
        free = np.flatnonzero(self._holder < 0).tolist()
        self._next = dict.fromkeys(free, -1)
        busy = np.flatnonzero(self._holder >= 0)
        queue = list(free)
        for slot in queue:
            movable = busy[self._suits[self._holder[busy], slot]] if len(busy) else busy
            for other in movable.tolist():
                if other not in self._next:
                    self._next[other] = slot
                    queue.append(other)

    def feasible(self) -> NDArray[np.bool_]:
        """Return ``(n,)``: whether a path leads from an element's slots to a free one."""
        reach = self._suits[:, sorted(self._next)].any(axis=1)
        return np.asarray(reach & ~self._matched)

    def _add(self, element: int) -> None:
        """Match the element to a slot, moving holders along the path to a free slot, and trace the paths anew."""
        slot = next(s for s in sorted(self._next) if self._suits[element, s])
        moving = element
        while slot >= 0:
            moving, self._holder[slot] = int(self._holder[slot]), moving
            slot = self._next[slot]
        self._matched[element] = True
        self._trace()


def _read_booleans(values: ArrayLike, field: str) -> NDArray[np.bool_]:
    """Return a table of booleans ``(elements, columns)``, read-only; raise InvalidProblemError for any other array."""
    read = array_of(values, field, "a table of booleans")
    if read.ndim != 2 or read.dtype != np.bool_ or not len(read):
        raise InvalidProblemError(field, "a table of booleans", f"{read.dtype} {read.shape}")
    table: NDArray[np.bool_] = read
    table.setflags(write=False)
    return table
