"""Classes that grow from each point, each time by the near point that widens it least: the dual begins with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.problem import CodedColumn

__all__ = ["Growing"]


@final
class _Cells:
    """The cells of one column for some classes that grow."""

    def __init__(self, column: CodedColumn, codes: NDArray[np.int32]) -> None:
        self.column, n = column, len(codes)
        self.low, self.high = codes.copy(), codes.copy()
        if column.is_set:
            self.there = np.zeros((n, len(column.domain)), dtype=np.bool_)
            self.there[np.arange(n), codes] = True

    def width(self, classes: NDArray[np.int64], codes: NDArray[np.int32]) -> NDArray[np.float64]:
        """Give what the cells of some classes cost with each of some codes, ``(n_classes, n_codes)``."""
        if self.column.is_set:
            there = self.there[classes]
            new = ~np.take_along_axis(there, codes.astype(np.int64), axis=1)
            return self.column.set_cost(there.sum(axis=1)[:, None] + new)
        low = np.minimum(self.low[classes, None], codes)
        return self.column.span_cost(low, np.maximum(self.high[classes, None], codes))

    def add(self, classes: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
        """Add one code to each of some classes."""
        self.low[classes] = np.minimum(self.low[classes], codes)
        self.high[classes] = np.maximum(self.high[classes], codes)
        if self.column.is_set:
            self.there[classes, codes] = True


@final
@dataclass(frozen=True, eq=False)
class Growing:
    """What classes grow from.

    Parameters
    ----------
    columns
        The columns.
    codes
        ``(n_points, m)`` different rows.
    counts
        ``(n_points,)`` rows of each.
    k
        Least class size.
    """

    columns: Sequence[CodedColumn]
    codes: NDArray[np.int32]
    counts: NDArray[np.float64]
    k: int

    def grow(
        self,
        points: NDArray[np.int32],
        rows: NDArray[np.int32],
        nearest: NDArray[np.int32],
        limits: SearchLimits,
    ) -> None:
        """Grow some classes until they have k rows or the time is over.

        Parameters
        ----------
        points, rows
            ``(n_classes, k)`` the points of each, and how many rows it has of them: the first is there, and the others
            are written.
        nearest
            ``(n_classes, n_near)`` points that may join.
        limits
            When to end.
        """
        k, codes = self.k, self.codes
        taken = np.zeros(nearest.shape, dtype=bool)
        classes = [_Cells(column, codes[points[:, 0], a]) for a, column in enumerate(self.columns)]
        for step in range(1, k):
            open_ = np.flatnonzero(rows.sum(axis=1) < k)
            if not len(open_) or limits.left <= 0:
                break
            close = nearest[open_]
            width = np.zeros(close.shape)
            for a, cells in enumerate(classes):
                width += cells.width(open_, codes[close, a])
            best = np.argmin(np.where(taken[open_], np.inf, width), axis=1)
            taken[open_, best] = True
            points[open_, step] = close[np.arange(len(open_)), best]
            for a, cells in enumerate(classes):
                cells.add(open_, codes[points[open_, step], a])
            left = k - rows[open_].sum(axis=1)
            rows[open_, step] = np.minimum(self.counts[points[open_, step]], left)
