"""Short links between the components of a graph on a metric space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.lengths import TableLengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.metric import MetricSpace

__all__ = ["links_between", "tree_links"]


def links_between(
    space: MetricSpace, labels: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """List pairs of secrets with different labels, and their lengths, among which are the shortest links.

    With a matrix these are all such pairs; without one, nearest pairs from k-d trees.
    """
    if space.has_matrix or isinstance(space.source, TableLengths):
        pairs = np.argwhere(np.triu(labels[:, None] != labels, 1)).astype(np.int32)
        return pairs, space.distances[pairs[:, 0], pairs[:, 1]]
    pairs = tree_links(*space.source.embedding(), labels)
    return pairs, space.source.between(pairs[:, 0], pairs[:, 1])


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
        found = [np.stack([apart[rows, first], inside, near[rows, first]], axis=1)]
        for label in np.flatnonzero(sizes > 64):
            if label != largest:
                inside, outside = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
                found_there = cKDTree(coordinates[outside]).query(coordinates[inside], p=norm)
                apart, near = np.asarray(found_there[0]), np.asarray(found_there[1])
                at = int(np.argmin(apart))
                found.append(np.array([[apart[at], inside[at], outside[near[at]]]]))
        every = np.concatenate(found)
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
