"""Integer lengths: each distance rounded down to a whole number of ``2^-s`` units, by a proof and not by luck.

A source of lengths knows how its distances come about: from coordinates (``points.py``), from a regular grid
(``lattice.py``), or from a matrix that is already integer and closed (:class:`TableLengths`, here). A length is never
above the true distance. Lengths of pairs may break the triangle inequality by a unit; ``dense`` returns them closed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

LENGTHS_AT_ONCE = 1 << 20
"""Pairs times coordinates that are measured at once, to bound memory."""

TOTAL_BITS = 46
"""Bits of the largest distance: sums of 128 such lengths are exact in float64."""

MAX_SCALE_BITS = 300
"""Largest scale of a space: its longest distance is then 2^-254, and a rate for each stored unit is still a float."""

DENSE_LIMIT = 5120
"""Most secrets whose distances are kept as a matrix: 200 MiB, and 40 s of one core to close it."""


class Lengths(Protocol):
    """What a metric space asks of the source of its distances; all lengths in the space's units."""

    @property
    def n(self) -> int:
        """Number of secrets."""
        ...

    def dense(self) -> NDArray[np.int64]:
        """All lengths ``(n, n)`` int64, closed under the triangle inequality; ``O(n^3)`` unless they always are."""
        ...

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Lengths of the pairs ``(i[t], j[t])``: int64 in units of ``2^-scale_bits``, each rounded down, not closed."""
        ...

    def near(self, limit: int) -> NDArray[np.int32]:
        """Pairs ``(m, 2)``, ``i < j``, that include all of length at most `limit`, in units, and perhaps others."""
        ...

    def take(self, indices: NDArray[np.int64]) -> Lengths:
        """Return the same lengths among the secrets at the given indices, in that order."""
        ...


def scale_for(extent: float, bits: int) -> int:
    """Choose ``s`` such that an extent fills ``bits`` bits in units of ``2^-s``.

    `extent` is the largest length in the space's unit; 0 gives `bits`. The result is from 0 to 300.

    Raises
    ------
    InvalidProblemError
        When distances are so large or so small that another unit is meant.

    Examples
    --------
    >>> scale_for(31.0, 46)
    41
    """
    if extent == 0:
        return bits
    scale = bits - math.frexp(extent)[1]
    if not 0 <= scale <= MAX_SCALE_BITS:
        raise InvalidProblemError(
            "unit",
            "one in which distances lie between 1e-76 and 1e10",
            f"about {estimate(extent, 3)}",
        )
    return scale


def closure(lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Close a symmetric matrix of integer lengths under the triangle inequality: all shortest path lengths.

    Parameters
    ----------
    lengths
        Array ``(n, n)`` of integers below 2^46 as floats, symmetric, zero diagonal; overwritten. Infinite where
        there is no edge.

    Returns
    -------
    ndarray
        The closed lengths; -1 where there is no path.

    Complexity
    ----------
    n^3 additions: 0.3 s for n = 1000 and 2.3 s for n = 2000 on one core.
    """
    from discreet.core.kernels.distances import close

    close(lengths)
    lengths[np.isinf(lengths)] = -1
    return lengths.astype(np.int64)


def dense(source: Lengths) -> NDArray[np.int64]:
    """Compute the lengths ``(n, n)`` int64 of all pairs, and close them under the triangle inequality.

    Complexity
    ----------
    ``O(n^3)`` additions, see :func:`closure`.
    """
    n = source.n
    lengths = np.zeros((n, n))
    for i in range(n - 1):
        after = np.arange(i + 1, n)
        lengths[i, i + 1 :] = lengths[i + 1 :, i] = source.between(np.full(len(after), i), after)
    return closure(lengths)


def tree_pairs(coordinates: NDArray[np.float64], radius: float, norm: float) -> NDArray[np.int32]:
    """List the pairs ``i < j`` of points within a radius of each other: ``(m, 2)`` int32, in no order.

    `coordinates` are ``(n, d)``, `norm` is the exponent of their norm. ``O(n log n)`` and the pairs found.
    """
    from scipy.spatial import cKDTree

    pairs = cKDTree(coordinates).query_pairs(radius, p=norm, output_type="ndarray")
    return np.sort(pairs, axis=1).astype(np.int32)


def tree_links(
    coordinates: NDArray[np.float64], norm: float, labels: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Link components of points by nearest pairs until all are connected (Boruvka's rounds, with k-d trees).

    Parameters
    ----------
    coordinates, norm
        Points, and the exponent of their norm.
    labels
        Component of each point, numbered from 0.

    Returns
    -------
    ndarray
        Array ``(m, 2)`` with ``i < j``: links that connect everything, a few more than needed where lengths tie.

    Complexity
    ----------
    ``O(n log^2 n)`` and, in each round, ``O(n log n)`` for each component of more than 64 points.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    tree = cKDTree(coordinates)
    links = [np.zeros((0, 2), dtype=np.int32)]
    while labels.max() > 0:
        sizes = np.bincount(labels)
        largest = int(np.argmax(sizes))
        # Among 65 nearest of a point in a component of at most 64, one is foreign.
        inside = np.flatnonzero((sizes[labels] <= 64) & (labels != largest))
        found_here = tree.query(coordinates[inside], k=min(len(labels), 65), p=norm)
        apart, near = np.asarray(found_here[0]), np.asarray(found_here[1])
        first = np.argmax(labels[near] != labels[inside, None], axis=1)
        rows = np.arange(len(inside))
        candidates = [np.stack([apart[rows, first], inside, near[rows, first]], axis=1)]
        for label in np.flatnonzero(sizes > 64):
            if label != largest:
                inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
                found_there = cKDTree(coordinates[outside]).query(coordinates[inside], p=norm)
                apart, near = np.asarray(found_there[0]), np.asarray(found_there[1])
                at = int(np.argmin(apart))
                candidates.append(np.array([[apart[at], inside[at], outside[near[at]]]]))
        every = np.concatenate(candidates)
        ends = every[:, 1:].astype(np.int32)
        order = np.lexsort((ends[:, 1], ends[:, 0], every[:, 0], labels[ends[:, 0]]))
        _, best = np.unique(labels[ends[order, 0]], return_index=True)
        chosen = ends[order[best]]
        links.append(np.sort(chosen, axis=1))
        merged = coo_array(
            (np.ones(len(chosen)), (labels[chosen[:, 0]], labels[chosen[:, 1]])),
            shape=(len(sizes), len(sizes)),
        )
        labels = connected_components(merged, directed=False)[1][labels]
    return np.unique(np.concatenate(links), axis=0)


@final
@dataclass(frozen=True, eq=False)
class TableLengths:
    """Lengths that are a closed table of integers already.

    Parameters
    ----------
    table
        Array ``(n, n)``.
    """

    table: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of secrets."""
        return len(self.table)

    def dense(self) -> NDArray[np.int64]:
        """Return all lengths ``(n, n)``."""
        return self.table

    def between(self, i: NDArray[np.integer], j: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the lengths ``(m,)`` of the pairs ``(i[t], j[t])`` in stored units."""
        lengths: NDArray[np.int64] = self.table[i, j]
        return lengths

    def near(self, limit: int) -> NDArray[np.int32]:
        """Return exactly the pairs ``(m, 2)`` whose length is at most ``limit``, in lexicographic order; ``O(n^2)``."""
        return np.argwhere(np.triu(self.table <= limit, 1)).astype(np.int32)

    def take(self, indices: NDArray[np.int64]) -> TableLengths:
        """Return the table among the secrets at the given indices, in that order.

        `indices` are ``(m,)``; ``m^2`` lengths are copied.
        """
        return TableLengths(self.table[np.ix_(indices, indices)])
