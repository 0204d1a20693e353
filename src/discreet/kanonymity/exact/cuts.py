r"""Subset-row cuts [JPS08]_ of three, five and seven rows, by multipliers of one half.

For an odd set C of rows a class takes :math:`\lfloor |S \cap C| / 2 \rfloor`, and a partition no more than
:math:`\lfloor |C| / 2 \rfloor`: half of what its classes have of C, rounded down. They hold for every list of classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.kanonymity.exact.columns import incidence

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

__all__ = ["NO_CUTS", "half", "rows_of", "violated"]

SIZES = (5, 7)
"""Rows of cuts besides three."""

NO_CUTS = np.empty((0, max(SIZES)), dtype=np.int32)

CUTS_PER_ROUND = 60
"""Cuts of a size that are added at a time."""

MIN_VIOLATION = 0.02
"""By how much a cut has to be violated."""

FEW_TRIPLES = 20
"""Violated cuts of three rows below which larger ones are looked for."""


def half(cuts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return half the number of rows of each cut, rounded down."""
    return np.asarray((cuts >= 0).sum(axis=1) // 2)


def _chosen(rows: NDArray[np.int32], value: NDArray[np.float64]) -> NDArray[np.int32]:
    """Take different cuts, the most violated first, padded with -1."""
    best = np.argsort(-value, kind="stable")
    sorted_ = np.sort(rows[best], axis=1)
    first = np.sort(np.unique(sorted_, axis=0, return_index=True)[1])[:CUTS_PER_ROUND]
    cuts = np.full((len(first), NO_CUTS.shape[1]), -1, dtype=np.int32)
    cuts[:, : rows.shape[1]] = sorted_[first]
    return cuts


def rows_of(
    cuts: NDArray[np.int32], classes: NDArray[np.int32], n: int
) -> sparse.csr_array[np.float64]:
    """Return half the rows that each class shares with each cut, rounded down; n empty columns follow."""
    from scipy import sparse

    width = len(classes) + n
    counts = (incidence(cuts, n) @ incidence(classes, n).T).tocsr()
    counts.data = np.floor(counts.data / 2)
    counts.eliminate_zeros()
    return sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=(len(cuts), width))


def violated(classes: NDArray[np.int32], shares: NDArray[np.float64], n: int) -> NDArray[np.int32]:
    """Choose cuts that a fractional solution violates: of three rows, and of more where few of these are left.

    Parameters
    ----------
    classes
        The classes that are in it in part.
    shares
        By how much.
    n
        Rows of the table.
    """
    from discreet.kanonymity.kernels.pricing import odd_sets, triples

    room, value = np.empty((20 * CUTS_PER_ROUND, 3), dtype=np.int32), np.empty(20 * CUTS_PER_ROUND)
    n_found = triples(classes, shares, n, MIN_VIOLATION, room, value)
    cuts = [_chosen(room[:n_found], value[:n_found])]
    if n_found < FEW_TRIPLES:
        for size in SIZES:
            room = np.empty((20 * CUTS_PER_ROUND, size), dtype=np.int32)
            n_found = odd_sets(classes, shares, n, size, MIN_VIOLATION, room, value)
            cuts.append(_chosen(room[:n_found], value[:n_found]))
    return np.concatenate(cuts)
