r"""Subset-row cuts [JPS08]_ of three rows, by multipliers of one half.

For a set C of three rows a class takes :math:`\lfloor |S \cap C| / 2 \rfloor`, and a partition no more than
:math:`\lfloor |C| / 2 \rfloor`: half of the rows of C, rounded down. They hold for every list of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.exact.columns import incidence

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

NO_CUTS = np.empty((0, 3), dtype=np.int32)


@final
@dataclass(frozen=True)
class CutTuning:
    """Measured limits of the cuts of one round.

    Parameters
    ----------
    max_cuts_per_round
        Cuts that are added at a time, the most violated ones.
    min_violation
        By how much a cut has to be violated.
    min_gap_closed
        Part of the gap that a round of cuts has to close for another to follow.
    """

    max_cuts_per_round: int = 60
    min_violation: float = 0.02
    min_gap_closed: float = 0.003


CUTS = CutTuning()


MAX_TRIPLES_FOUND = 20 * CUTS.max_cuts_per_round
"""Violated cuts that are listed in one round, of which the most violated are taken."""


def half(cuts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return half the number of rows of each cut, rounded down: ``(cuts,)`` int64."""
    return np.asarray((cuts >= 0).sum(axis=1) // 2)


def rows_of(
    cuts: NDArray[np.int32], classes: NDArray[np.int32], n: int
) -> sparse.csr_array[np.float64]:
    """Return half the rows that each class shares with each cut, rounded down: sparse ``(cuts, classes + n)``.

    `cuts` and `classes` hold row numbers, padded with -1; the last n columns are empty. A sparse product.
    """
    from scipy import sparse

    width = len(classes) + n
    counts = (incidence(cuts, n) @ incidence(classes, n).T).tocsr()
    counts.data = np.floor(counts.data / 2)
    counts.eliminate_zeros()
    return sparse.csr_array((counts.data, counts.indices, counts.indptr), shape=(len(cuts), width))


def violated(classes: NDArray[np.int32], shares: NDArray[np.float64], n: int) -> NDArray[np.int32]:
    """Return ``(n_cuts, 3)`` rows of the cuts that a fractional solution violates most.

    Parameters
    ----------
    classes
        ``(n_classes, 2k - 1)`` classes that the solution has in part, padded with -1.
    shares
        ``(n_classes,)`` the part of each.
    n
        Rows of the table.
    """
    from discreet.kanonymity.kernels.pricing import triples

    room, value = np.empty((MAX_TRIPLES_FOUND, 3), dtype=np.int32), np.empty(MAX_TRIPLES_FOUND)
    n_found = triples(classes, shares, n, CUTS.min_violation, room, value)
    most_violated = np.argsort(-value[:n_found], kind="stable")[: CUTS.max_cuts_per_round]
    return np.sort(room[most_violated], axis=1)
