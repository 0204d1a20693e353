"""Graphs of adjacent secrets: which pairs a guarantee binds, and what that says about all the others.

If a channel keeps ``z_i <= e^(epsilon l_ij) z_j`` on the edges of a graph, it keeps ``z_i <= e^(epsilon D_ij) z_j`` for
every pair, ``D`` the shortest path lengths: multiply along a path. So edges that a path implies may be left out, pairs
without a path have no protection from each other, and ``max D/d`` turns the epsilon of edges into one for all pairs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError, first_unfit
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.lengths import closure

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_MAX_EXACT_LENGTH = 2**sys.float_info.mant_dig
"""Sums of integers in float64 are exact below it."""


class Distances(Protocol):
    """What a graph needs to know of the space of its secrets; a :class:`discreet.MetricSpace` knows it."""

    @property
    def n(self) -> int:
        """Number of secrets."""
        ...

    @property
    def scale_bits(self) -> int:
        """Distances are in units of ``2^-scale_bits``."""
        ...

    @property
    def distances(self) -> NDArray[np.int64]:
        """``(n, n)`` all distances."""
        ...

    def links(self, labels: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return pairs ``(m, 2)`` of secrets with different labels, and their lengths; the shortest are among them."""
        ...


@final
@dataclass(frozen=True, eq=False)
class Adjacency:
    """An undirected graph on secrets with integer lengths.

    Parameters
    ----------
    n
        Number of secrets.
    pairs
        Array ``(m, 2)`` of adjacent secrets, in any order; stored with ``i < j``, in lexicographic order.
    lengths
        Array ``(m,)`` of lengths in units of ``2^-scale_bits``, at least 0 and below 2^52.
    scale_bits
        The scale, that of the metric space.

    Raises
    ------
    InvalidProblemError
        For arrays that do not match, secrets outside ``0 .. n - 1``, loops, pairs given twice, lengths out of range.

    Examples
    --------
    >>> path = Adjacency(4, [(1, 0), (1, 2), (0, 2)], [3, 4, 7], scale_bits=0)
    >>> path
    Adjacency(n=4, edges=3, components=2, isolated=1)
    >>> path.prune().pairs.tolist()
    [[0, 1], [1, 2]]
    """

    n: int
    pairs: NDArray[np.int32]
    lengths: NDArray[np.int64]
    scale_bits: int

    def __post_init__(self) -> None:
        pairs = np.asarray(self.pairs, dtype=np.int64).reshape(-1, 2)
        lengths = np.asarray(self.lengths, dtype=np.int64)
        if self.n < 1:
            raise InvalidProblemError("n", "at least one secret", self.n)
        if lengths.shape != (len(pairs),):
            raise InvalidProblemError(
                "lengths", f"one for each of {len(pairs)} pairs", lengths.shape
            )
        if len(pairs) and not (pairs.min() >= 0 and pairs.max() < self.n):
            raise InvalidProblemError(
                "pairs",
                f"secrets 0 to {self.n - 1}",
                first_unfit(pairs, (pairs >= 0) & (pairs < self.n)),
            )
        if len(pairs) and not (lengths.min() >= 0 and lengths.max() < 2**52):
            raise InvalidProblemError(
                "lengths",
                "integers in [0, 2^52)",
                first_unfit(lengths, (lengths >= 0) & (lengths < 2**52)),
            )
        low, high = np.minimum(*pairs.T), np.maximum(*pairs.T)
        if (low == high).any():
            raise InvalidProblemError("pairs", "two different secrets each", "a loop")
        place = low * self.n + high
        pairs = np.stack([low, high], axis=1).astype(np.int32)
        lengths = lengths.copy()
        if not (place[1:] > place[:-1]).all():
            order = np.argsort(place, kind="stable")
            place, pairs, lengths = place[order], pairs[order], lengths[order]
        if (place[1:] == place[:-1]).any():
            raise InvalidProblemError("pairs", "each pair once", "a pair given twice")
        pairs.setflags(write=False)
        lengths.setflags(write=False)
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "lengths", lengths)

    def __len__(self) -> int:
        """Count the edges."""
        return len(self.pairs)

    def __repr__(self) -> str:
        parts = int(self.components.max()) + 1
        return (
            f"Adjacency(n={self.n}, edges={len(self)}, components={parts},"
            f" isolated={len(self.isolated)})"
        )

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """Array ``(n,)`` int32: label of each secret's connected component, numbered from 0 by their first secrets."""
        return _components(self.n, self.pairs)

    @cached_property
    def nearest(self) -> float:
        """Mean over secrets of the length of the shortest edge, in stored units: 0 without edges of positive length."""
        nearest, is_apart = np.full(self.n, np.inf), self.lengths > 0
        for side in self.pairs[is_apart].T:
            np.minimum.at(nearest, side, self.lengths[is_apart])
        known = nearest[np.isfinite(nearest)]
        # The mean, so that near duplicates, even if most secrets are, do not determine the scale of the others.
        return float(known.mean()) if known.size else 0.0

    @cached_property
    def isolated(self) -> NDArray[np.int64]:
        """Array of the secrets without an edge, ascending: nothing binds what is reported for them."""
        degree = np.bincount(self.pairs.ravel(), minlength=self.n)
        return np.flatnonzero(degree == 0)

    def prune(self) -> Adjacency:
        r"""Drop every edge that another path implies; shortest paths stay what they are.

        Returns
        -------
        Adjacency
            The unique least subgraph with the same shortest path lengths, where no length is zero.

        Complexity
        ----------
        Dense graphs ``O(n^3)``; others a Dijkstra search within each secret's longest edge.

        Notes
        -----
        Let all lengths be positive and :math:`\delta` the shortest path lengths. Drop, all at once, the set ``P`` of
        edges with a third secret ``k`` such that :math:`\delta_{ik} + \delta_{kj} \le l_{ij}`. *Every edge of length*
        ``l`` *keeps a path of length at most* ``l``, by induction on ``l``: if it is in ``P``, shortest paths from
        ``i`` to ``k`` and ``k`` to ``j`` have edges shorter than ``l``, because both parts are positive, and each of
        these keeps a path. *Nothing else may go*: an edge with another path of length at most ``l`` has an inner
        secret ``k`` of that path, and is in ``P``. So ties need no order.

        Edges of length zero join secrets that no channel may tell apart. They form clusters; a spanning forest of them
        is kept, of the edges between two clusters the shortest (the first of equals), and the argument above holds for
        the clusters.

        Examples
        --------
        >>> from discreet.core.spaces.metric import MetricSpace
        >>> near = MetricSpace.grid(20, 25, cell=1, unit="km").adjacency(2)
        >>> len(near), len(near.prune())
        (2777, 1867)
        """
        from discreet.core.kernels.distances import spanning_forest

        zero = np.flatnonzero(self.lengths == 0)
        if not len(zero):
            return self.subgraph(np.flatnonzero(~_implied(self)))
        bridges = zero[spanning_forest(self.n, self.pairs[zero])]
        reduced, shortest = self.merge(_components(self.n, self.pairs[zero]))
        return self.subgraph(np.concatenate([bridges, shortest[~_implied(reduced)]]))

    def merge(self, labels: NDArray[np.integer]) -> tuple[Adjacency, NDArray[np.int64]]:
        """Merge secrets with the same label: return the graph of classes, and the edge that each of its edges was.

        Parameters
        ----------
        labels
            ``(n,)``: class of each secret, numbered from 0 by their first secrets.

        Returns
        -------
        adjacency : Adjacency
            The shortest edge between each two classes; this graph if each secret is a class.
        shortest : ndarray
            ``(edges,)``: the row of ``pairs`` of each, the first of equals.

        Complexity
        ----------
        A sort.

        Examples
        --------
        >>> square = Adjacency(4, [(0, 1), (1, 2), (2, 3), (0, 3)], [0, 3, 4, 2], 0)
        >>> merged, shortest = square.merge(np.array([0, 0, 1, 2]))
        >>> merged.pairs.tolist(), shortest.tolist()
        ([[0, 1], [0, 2], [1, 2]], [2, 1, 3])
        """
        n = int(labels.max()) + 1
        if n == self.n:
            return self, np.arange(len(self))
        ends = np.sort(labels[self.pairs], axis=1).astype(np.int32)
        order = np.lexsort((self.lengths, ends[:, 1], ends[:, 0]))
        order = order[ends[order, 0] != ends[order, 1]]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (ends[order[1:]] != ends[order[:-1]]).any(axis=1)
        shortest = order[first]
        return Adjacency(n, ends[shortest], self.lengths[shortest], self.scale_bits), shortest

    def join(self, space: Distances) -> tuple[Adjacency, NDArray[np.int32]]:
        """Add the shortest links between components until all secrets are connected.

        Parameters
        ----------
        space
            The metric space of the secrets.

        Returns
        -------
        adjacency : Adjacency
            The connected graph; this one when it is connected.
        added : ndarray
            Array ``(components - 1, 2)`` of the links: a minimum spanning tree of the components, the first of equals.

        Raises
        ------
        InvalidProblemError
            When the space has another size or scale.

        Complexity
        ----------
        ``O(n^2 log n)``. Beyond the size at which a space has a matrix, nearest links come from k-d trees, shortest up
        to the rounding of floats; their lengths are rounded down as always.

        Examples
        --------
        >>> from discreet.core.spaces.metric import MetricSpace
        >>> space = MetricSpace.from_points([[0], [1], [5], [6]], unit="km")
        >>> space.adjacency(1).join(space)[1].tolist()
        [[1, 2]]
        """
        from discreet.core.kernels.distances import spanning_forest

        self._same(space.n, space.scale_bits, "space")
        links, lengths = space.links(self.components)
        order = np.lexsort((links[:, 1], links[:, 0], lengths))
        links, lengths = links[order], lengths[order]
        joins = spanning_forest(self.n, np.concatenate([self.pairs, links]))[len(self) :]
        if not joins.any():
            return self, links[:0]
        joined = Adjacency(
            self.n,
            np.concatenate([self.pairs, links[joins]]),
            np.concatenate([self.lengths, lengths[joins]]),
            self.scale_bits,
        )
        return joined, links[joins]

    def shortest_paths(self) -> NDArray[np.int64]:
        """Compute all shortest path lengths, exactly.

        Returns
        -------
        ndarray
            Array ``(n, n)``, read-only and kept; -1 where there is no path.

        Raises
        ------
        InvalidProblemError
            For more than 5120 secrets, or paths of 2^53 units and more, where float sums would no longer be exact.

        Complexity
        ----------
        Dijkstra's ``O(n m log n)``, or ``O(n^3)`` additions of the closure for dense graphs.

        Examples
        --------
        >>> Adjacency(3, [(0, 1), (1, 2)], [3, 4], 0).shortest_paths().tolist()
        [[0, 3, 7], [3, 0, 4], [7, 4, 0]]
        """
        return self._paths

    @property
    def paths_known(self) -> bool:
        """Whether all shortest paths were computed before, so that :meth:`shortest_paths` takes no time."""
        return "_paths" in self.__dict__

    @cached_property
    def _paths(self) -> NDArray[np.int64]:
        """Shortest path lengths ``(n, n)`` in stored units, -1 without a path: ``O(n^3)``, or Dijkstra's search.

        Raises
        ------
        InvalidProblemError
            Beyond 5120 secrets, or for paths of 2^53 units or more.
        """
        from scipy.sparse.csgraph import dijkstra

        most = measures.DENSE_LIMIT
        if self.n > most:
            raise InvalidProblemError("n", f"at most {most} secrets for all paths", self.n)
        if self.is_dense:
            paths = closure(self._matrix())
        else:
            far = dijkstra(self._graph(), directed=False)
            far[np.isinf(far)] = -1
            paths = far.astype(np.int64)
        if paths.max() >= _MAX_EXACT_LENGTH:
            raise InvalidProblemError("lengths", "paths below 2^53 units", "longer ones")
        paths.setflags(write=False)
        return paths

    def stretch(self, space: Distances) -> Fraction | None:
        """Find the largest ratio of shortest path length to distance.

        A channel that keeps ``epsilon`` on these edges keeps ``epsilon * stretch`` for all pairs.

        The cost is that of :meth:`shortest_paths`, and ``O(n^2)``.

        Parameters
        ----------
        space
            The metric space of the secrets.

        Returns
        -------
        Fraction or None
            Exactly; 1 where there is one secret; ``None`` when some pair has no path, or a longer one than distance 0.

        Raises
        ------
        InvalidProblemError
            When the space has another size or scale, or as :meth:`shortest_paths`.

        Examples
        --------
        >>> from discreet.core.spaces.metric import MetricSpace
        >>> space = MetricSpace.grid(20, 25, cell=1, unit="km")
        >>> round(float(space.adjacency(2).stretch(space)), 6)
        1.08239
        """
        self._same(space.n, space.scale_bits, "space")
        upper = np.triu_indices(self.n, 1)
        paths, distances = self.shortest_paths()[upper], space.distances[upper]
        if (paths < 0).any() or (paths[distances == 0] > 0).any():
            return None
        paths, distances = paths[distances > 0], distances[distances > 0]
        ratios = paths / distances
        # A quotient errs by 2^-53 of itself, so that the true largest is among these.
        close = ratios >= ratios.max(initial=0.0) * (1 - 2.0**-51)
        best = np.unique(np.stack([paths[close], distances[close]]), axis=1).T.tolist()
        return max((Fraction(path, distance) for path, distance in best), default=Fraction(1))

    @property
    def is_dense(self) -> bool:
        """Whether all pairs of secrets are worth a matrix: at least a quarter of them are adjacent."""
        return self.n <= measures.DENSE_LIMIT and 8 * len(self) > self.n**2

    def find(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the index of each pair ``(i[t], j[t])``, in either direction, ``(m,)``; -1 if it is no edge.

        A bisection for each pair.
        """
        low, high = np.minimum(i, j).astype(np.int64), np.maximum(i, j)
        keys = np.append(self.pairs[:, 0].astype(np.int64) * self.n + self.pairs[:, 1], -1)
        wanted = low * self.n + high
        place = np.searchsorted(keys[:-1], wanted)
        return np.where(keys[place] == wanted, place, -1)

    def subgraph(self, edges: NDArray[np.integer]) -> Adjacency:
        """Return a graph on all secrets with the edges at the given rows of ``pairs``, in the order given.

        `edges` is ``(m,)``; lengths are copied.
        """
        return Adjacency(self.n, self.pairs[edges], self.lengths[edges], self.scale_bits)

    def _same(self, n: int, scale_bits: int, field: str) -> None:
        """Raise InvalidProblemError, naming `field`, unless `n` and `scale_bits` are the ones of this graph."""
        if (n, scale_bits) != (self.n, self.scale_bits):
            raise InvalidProblemError(
                field,
                f"{self.n} secrets in units of 2^-{self.scale_bits}",
                f"{n} in units of 2^-{scale_bits}",
            )

    def _matrix(self) -> NDArray[np.float64]:
        """Return the lengths of the pairs as a symmetric matrix ``(n, n)``, 0 on its diagonal, infinite elsewhere.

        Floats, ``8 n^2`` bytes; a new array at each call.
        """
        matrix = np.full((self.n, self.n), np.inf)
        np.fill_diagonal(matrix, 0.0)
        i, j = self.pairs.T
        matrix[i, j] = matrix[j, i] = self.lengths
        return matrix

    def _graph(self) -> csr_array:
        """Symmetric sparse matrix ``(n, n)`` of the pairs' lengths, as floats."""
        from scipy.sparse import csr_array

        i, j = self.pairs.T
        ends = (np.concatenate([i, j]), np.concatenate([j, i]))
        lengths = np.concatenate([self.lengths, self.lengths]).astype(np.float64)
        return csr_array((lengths, ends), shape=(self.n, self.n))


def _components(n: int, pairs: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the component of each of n nodes, ``(n,)``, from pairs ``(m, 2)``; read-only.

    Labels are int32, numbered from 0. Linear.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    labels.setflags(write=False)
    return labels


def _implied(graph: Adjacency) -> NDArray[np.bool_]:
    """Mark each edge ``(m,)`` that another path replaces at no greater length; all lengths are positive.

    ``O(n^3)`` for a dense graph, else a short search from each node.
    """
    from discreet.core.kernels.distances import implied_dense, implied_sparse

    if graph.is_dense:
        paths = graph.shortest_paths().astype(np.float64)
        paths[paths < 0] = np.inf
        np.fill_diagonal(paths, np.inf)
        return implied_dense(paths, graph.pairs, graph.lengths.astype(np.float64))
    start, ends, ids = compress_rows(graph.pairs, graph.n)
    return implied_sparse(start, ends, graph.lengths[ids], ids, len(graph))


def compress_rows(
    pairs: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return edges `pairs` ``(m, 2)`` of n secrets in compressed rows, each of them from both ends; a sort.

    The first position of each secret ``(n + 1,)``; the other ends and the numbers of the edges, ``(2 m,)`` each.
    """
    i, j = pairs.T
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs.ravel(), minlength=n), out=start[1:])
    return start, np.concatenate([j, i])[order], order % max(len(pairs), 1)
