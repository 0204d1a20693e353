r"""Partitions of the secrets into blocks: the four partitioners of [Qiu24]_.

All four are k-means on the rows of a table ([Qiu24]_, Section 3.4 and Appendix C), without a constraint on block sizes:

``k-m-DV``
    distances to all secrets, neighbors or not; the paper's own choice.
``k-m-rec``
    coordinates.
``k-m-adj``
    rows of the adjacency matrix of the constraints.
``BSC``
    the eigenvectors of the M least eigenvalues of the Laplacian ``degrees - adjacency``: the relaxation of the ratio
    cut, :math:`\sum_l \mathrm{cut}(R_l) / |R_l| = \mathrm{tr}(F^\top L F)` with F the normalized indicators
    ([HK92]_ for two blocks; [NJW01]_ round several eigenvectors by k-means). It is not meaningful if the graph has
    more components than blocks.

The paper writes the objective with norms that are not squared. K-means with means for centers minimizes squared norms,
and these are used here, as in the paper's own code.

A partition depends on public inputs alone, so that its randomness does not matter to privacy: a seed makes it
repeatable.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.core.spaces.metric import MetricSpace

PARTITIONERS = ("k-m-DV", "k-m-rec", "k-m-adj", "BSC")
"""Names of the partitioners, as in the paper."""


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of the secrets into blocks, with the constraints that define its boundary records.

    Parameters
    ----------
    labels
        ``(n,)``: block of each secret, numbered from 0; no block is empty.
    constraints
        The graph. A secret with a neighbor in another block is a boundary record (Definition 3.2).

    Raises
    ------
    InvalidProblemError
        For labels of another length, below 0, or with gaps.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> row = MetricSpace.grid(1, 6, cell=1, unit="km").adjacency(1)
    >>> halves = Partition([0, 0, 0, 1, 1, 1], row)
    >>> halves.boundary.tolist(), halves.internal_sizes.tolist()
    ([False, False, True, True, False, False], [2, 2])
    """

    labels: NDArray[np.int64]
    constraints: Adjacency

    def __init__(self, labels: ArrayLike, constraints: Adjacency) -> None:
        array = np.array(labels)
        n = constraints.n
        if array.shape != (n,) or array.dtype.kind not in "iu":
            raise InvalidProblemError(
                "labels", f"a block for each of {n} secrets", f"{array.dtype}, shape {array.shape}"
            )
        block_numbers = array.astype(int)
        distinct = np.unique(block_numbers)
        if distinct[0] != 0 or distinct[-1] != len(distinct) - 1:
            raise InvalidProblemError("labels", "blocks 0, 1, ... without gaps", distinct.tolist())
        block_numbers.setflags(write=False)
        object.__setattr__(self, "labels", block_numbers)
        object.__setattr__(self, "constraints", constraints)

    @property
    def n_blocks(self) -> int:
        """Number of blocks, M."""
        return int(self.labels.max()) + 1

    @property
    def crossing(self) -> NDArray[np.int64]:
        """Indices of the constraints between different blocks."""
        i, j = self.constraints.pairs.T
        return np.flatnonzero(self.labels[i] != self.labels[j])

    @property
    def boundary(self) -> NDArray[np.bool_]:
        """Mask of the boundary records, ``(n,)``."""
        is_boundary = np.zeros(self.constraints.n, dtype=bool)
        is_boundary[self.constraints.pairs[self.crossing].ravel()] = True
        return is_boundary

    @property
    def internal_sizes(self) -> NDArray[np.int64]:
        """Internal records of each block, ``(M,)``: the paper's size of a subproblem (Table 1)."""
        return np.bincount(self.labels[~self.boundary], minlength=self.n_blocks)


def partitioner_name(name: str) -> str:
    """Return the name of a partitioner as the paper spells it, whatever the case of `name`.

    InvalidProblemError for a name that is not in :data:`PARTITIONERS`.

    Examples
    --------
    >>> partitioner_name("k-m-dv")
    'k-m-DV'
    >>> partitioner_name("metis")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: partitioner: expected one of k-m-DV, k-m-rec, k-m-adj, BSC, got 'metis'
    """
    for known in PARTITIONERS:
        if name.lower() == known.lower():
            return known
    raise InvalidProblemError("partitioner", f"one of {', '.join(PARTITIONERS)}", repr(name))


def partition(
    space: MetricSpace, constraints: Adjacency, n_blocks: int, partitioner: str, *, seed: int = 0
) -> NDArray[np.int64]:
    """Partition the secrets into at most `n_blocks` blocks.

    Parameters
    ----------
    space
        Metric space of the secrets; only ``k-m-rec`` uses coordinates.
    constraints
        The stated constraints; ``k-m-adj`` and ``BSC`` use their graph.
    n_blocks
        M, the largest number of blocks.
    partitioner
        One of :data:`PARTITIONERS`, in any case.
    seed
        Seed of the starting centers of k-means.

    Returns
    -------
    ndarray
        ``(n,)`` labels from 0 up, without gaps, numbered by their first secrets. Fewer than M blocks if rows of the
        table coincide.

    Raises
    ------
    InvalidProblemError
        For an unknown partitioner, ``k-m-rec`` without coordinates, or a number of blocks outside 1 to n.

    Complexity
    ----------
    Some tens of sweeps of ``O(n^2 M)`` for k-m-DV and k-m-adj; ``O(n^3)`` for the eigenvectors of BSC.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> space = MetricSpace.from_points([[0], [1], [2], [9], [10], [11]], unit="km")
    >>> partition(space, space.adjacency(1), 2, "k-m-DV").tolist()
    [0, 0, 0, 1, 1, 1]
    """
    name = partitioner_name(partitioner)
    n = constraints.n
    if not 1 <= n_blocks <= n:
        raise InvalidProblemError("blocks", f"a number from 1 to {n}", n_blocks)
    return k_means(_feature_rows(space, constraints, n_blocks, name), n_blocks, seed=seed)


def _feature_rows(
    space: MetricSpace, constraints: Adjacency, n_blocks: int, name: str
) -> NDArray[np.float64]:
    """Return the rows that k-means groups, ``(n, dimensions)``: distances, points, adjacency or Laplacian vectors.

    `name` is that of a partitioner as in :data:`PARTITIONERS`; only BSC uses `n_blocks`, the number of eigenvectors.
    InvalidProblemError for k-m-rec in a space without coordinates. Eigenvectors cost ``O(n^3)``, tables ``O(n^2)``.
    """
    if name == "k-m-DV":
        return np.asarray(space.distances * 2.0**-space.scale_bits, dtype=float)
    if name == "k-m-rec":
        if space.points is None:
            raise InvalidProblemError(
                "partitioner", "a space with coordinates for k-m-rec", "one without"
            )
        return np.asarray(space.points, dtype=float)
    adjacency = np.zeros((constraints.n, constraints.n))
    i, j = constraints.pairs.T
    adjacency[i, j] = adjacency[j, i] = 1.0
    if name == "k-m-adj":
        return adjacency
    from scipy.linalg import eigh

    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    return eigh(laplacian, subset_by_index=[0, n_blocks - 1])[1]


def k_means(
    rows: NDArray[np.float64], k: int, *, seed: int = 0, max_sweeps: int = 100
) -> NDArray[np.int64]:
    """Group rows by k-means++ and Lloyd's algorithm; an empty group takes the row farthest from its center.

    ``O(n k dimensions)`` a sweep. Fewer than `k` groups come out where rows coincide; after `max_sweeps` the labels
    of the last sweep are returned, converged or not.

    Parameters
    ----------
    rows
        ``(n, dimensions)``.
    k
        Largest number of groups, from 1 to n.
    seed
        Seed of the starting centers.
    max_sweeps
        Limit on the sweeps of Lloyd's algorithm: MATLAB's default; most runs converge within a few tens.

    Returns
    -------
    ndarray
        ``(n,)`` labels without gaps, numbered by their first rows.

    Examples
    --------
    >>> k_means(np.array([[0.0], [0.1], [5.0], [5.1]]), 2).tolist()
    [0, 0, 1, 1]
    """
    from scipy.spatial.distance import cdist

    centers = _draw_centers(rows, k, seed)
    labels = np.full(len(rows), -1)
    for _ in range(max_sweeps):
        squared = cdist(rows, centers, "sqeuclidean")
        nearest = squared.argmin(axis=1)
        to_center = squared[np.arange(len(rows)), nearest]
        for empty in np.setdiff1d(np.arange(len(centers)), nearest).tolist():
            far = int(to_center.argmax())
            if to_center[far] > 0:
                nearest[far], to_center[far] = empty, 0.0
        if (nearest == labels).all():
            break
        labels = nearest
        sums = np.zeros_like(centers)
        np.add.at(sums, labels, rows)
        counts = np.bincount(labels, minlength=len(centers))
        used = counts > 0
        centers[used] = sums[used] / counts[used, None]
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    return first.argsort().argsort()[place]


def _draw_centers(rows: NDArray[np.float64], k: int, seed: int) -> NDArray[np.float64]:
    """Draw k starting centers with probability proportional to the squared distance to the nearest earlier one.

    `rows` ``(n, dimensions)`` are points; returns at most k of them, fewer where points coincide. ``O(n k
    dimensions)``.
    """
    from scipy.spatial.distance import cdist

    rng = random.Random(seed)  # noqa: S311 - a design on public inputs, which is to be repeatable
    chosen = [rng.randrange(len(rows))]
    squared = cdist(rows, rows[chosen], "sqeuclidean")[:, 0]
    while len(chosen) < k and squared.max() > 0:
        pick = rng.choices(range(len(rows)), squared.tolist())[0]
        chosen.append(pick)
        squared = np.minimum(squared, cdist(rows, rows[[pick]], "sqeuclidean")[:, 0])
    return rows[chosen].copy()
