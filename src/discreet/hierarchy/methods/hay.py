r"""The two estimators of Hay, Rastogi, Miklau and Suciu [HRMS10]_: consistent trees and sorted sequences.

(a) Noisy counts of all nodes of a tree are replaced by the nearest ones that add up (their Theorem 3), one pass up and
one down. (b) The sizes of all groups, sorted, are measured and fitted by a monotone sequence (their Theorem 1). Neither
knows that counts are whole and not negative, and (b) knows nothing of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.isotonic import isotonic_int, isotonic_l1
from discreet.hierarchy.survival import Need, Tell, check_kind, node_weights
from discreet.hierarchy.treefit import TreeFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.sensitivity import Kind


@final
@dataclass(frozen=True)
class HayTree:
    """Direct counts, made to add up by least squares (``hay-tree``): fractional, some negative.

    Notes
    -----
    Any tree and any shares of the budget, weighted by the precision of the noise; the paper has equal branches and
    equal shares. The number of groups is not used.
    """

    kind: ClassVar[Kind] = "direct"
    promises: ClassVar[tuple[str, ...]] = ("consistent",)

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.float64]:  # noqa: ARG002 - the signature of all methods
        """Solve the least squares problem of each size; return ``(nodes, sizes)`` floats that add up. Linear time."""
        check_kind(measured, "direct", everywhere=False)
        weights = node_weights(measured, "inverse-variance").astype(np.float64)
        return TreeFit(measured.frame.tree, weights).solve(measured.values.astype(np.float64))


@final
@dataclass(frozen=True)
class HaySorted:
    """Sorted sizes of each region, made monotone (``hay-sorted``): whole, but they do not add up. Public units only.

    Parameters
    ----------
    loss
        What the regression minimizes: squares, as published, or absolute deviations.
    """

    loss: Literal["l2", "l1"] = "l2"

    kind: ClassVar[Kind] = "sorted"
    needs: ClassVar[tuple[Need, ...]] = ("every level", "public units")
    promises: ClassVar[tuple[str, ...]] = ("integral", "nonnegative", "faithful")

    def solve(self, measured: Measured, *, on_progress: Tell | None = None) -> NDArray[np.int64]:  # noqa: ARG002 - the signature of all methods
        """Fit the noisy sizes of each region by sorted ones and count them; return int64 ``(nodes, sizes)``.

        Counts need not add up. Linear in the groups for "l2". Raises InvalidProblemError for another kind of
        measurement, a level without noise, or another loss.
        """
        check_kind(measured, "sorted")
        return sorted_histograms(measured, self.loss)


def sorted_histograms(measured: Measured, loss: Literal["l2", "l1"]) -> NDArray[np.int64]:
    """Fit the sorted sizes of each region by ones that never rise, from 0 to N, and count each size.

    Returns int64 ``(nodes, sizes)``; `measured` has the sorted sizes of all regions in a row. Linear in the groups
    for "l2".

    Raises
    ------
    InvalidProblemError
        For another loss than "l2" and "l1", or private units.
    """
    if loss not in ("l2", "l1"):
        raise InvalidProblemError("loss", "'l2' or 'l1'", repr(loss))
    fit = isotonic_int if loss == "l2" else isotonic_l1
    frame = measured.frame
    totals = frame.group_totals
    if totals is None:
        raise InvalidProblemError("units", "public", "private")
    ends = np.cumsum(totals)
    rows = []
    for end, size in zip(ends.tolist(), totals.tolist(), strict=True):
        noisy = measured.values[end - size : end]
        sizes = fit(noisy, 0, frame.max_size, decreasing=True) if size else noisy
        rows.append(np.bincount(sizes, minlength=frame.n_sizes))
    return np.array(rows, dtype=np.int64)
