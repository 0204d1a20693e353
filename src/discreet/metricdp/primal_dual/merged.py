"""Groups of near reports: a channel of few reports is mended over all pairs in a fraction of the time.

Each group is renamed as the single report that costs least given it, which is no less private.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["MergedReports"]


@final
@dataclass(frozen=True, eq=False)
class MergedReports:
    """Reports in groups.

    Parameters
    ----------
    members
        ``(n_reports,)``: the reports, group by group.
    firsts
        ``(n_groups + 1,)``: where groups begin in it, and where the last ends.
    """

    members: NDArray[np.int64]
    firsts: NDArray[np.int64]

    @staticmethod
    def of(place: NDArray[np.int64], groups: int) -> MergedReports:
        """Put reports together that follow each other in an order, in groups of nearly one size.

        Parameters
        ----------
        place
            ``(n_reports,)``: where each report stands in the order.
        groups
            How many groups.

        Examples
        --------
        >>> MergedReports.of(np.array([2, 0, 3, 1]), 2).members.tolist()
        [1, 3, 0, 2]
        """
        members = np.argsort(place, kind="stable")
        firsts = np.linspace(0, len(place), groups + 1).astype(np.int64)
        return MergedReports(members, firsts)

    @staticmethod
    def renamed(matrix: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rename each group as the single report that costs least given it.

        Parameters
        ----------
        matrix
            ``(n, n_groups)``.
        cost
            ``(n, n_reports)``.

        Returns
        -------
        ndarray
            ``(n, n_reports)``, no less private.
        """
        best = (cost.T @ matrix).argmin(axis=0)
        table: NDArray[np.float64] = np.zeros_like(cost)
        np.add.at(table.T, best, matrix.T)
        return table
