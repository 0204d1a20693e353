"""The master of a decomposition: a model that grows by rows, and remembers what each of them means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.lp.model import Model
from discreet.core.lp.program import SMALLEST_ENTRY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp.angular import Angular, Block, Cut
    from discreet.core.lp.benders_records import Rows

__all__ = ["Master"]


class Master:
    """The master's program, and where each of its rows comes from.

    Parameters
    ----------
    parts
        The program taken apart.
    """

    def __init__(self, parts: Angular) -> None:
        self.parts = parts
        self.model = Model(parts.master())
        self.cuts: list[Cut] = []
        self.origin: list[tuple[str, int]] = [("row", row) for row in parts.rows.tolist()]
        self.scale = [1.0] * len(self.origin)
        self.tags: list[object] = []
        self.separated = 0

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.origin)

    def add(self, rows: Rows) -> int:
        """Append rows of the caller; return how many."""
        from scipy.sparse import csr_array, hstack

        matrix = csr_array(rows.matrix)
        count = int(matrix.shape[0])
        zeros = csr_array((count, len(self.parts.blocks)))
        self.model.add_rows(hstack([matrix, zeros], format="csr"), rows.lower, rows.upper)
        self.origin += [("added", len(self.tags) + i) for i in range(count)]
        self.scale += [1.0] * count
        self.tags += list(rows.tags)
        return count

    def cut(self, block: Block, cut: Cut) -> None:
        """Append a cut; one too steep to be written in numbers that the solver reads is left out."""
        gradient, weight, constant = block.row(cut)
        if 0 < weight <= 10 * SMALLEST_ENTRY:
            return
        row = np.zeros((1, len(gradient) + len(self.parts.blocks)))
        row[0, : len(gradient)] = -gradient
        row[0, len(gradient) + block.number] = weight
        self.model.add_rows(row, constant, math.inf)
        self.origin.append(("cut", len(self.cuts)))
        self.scale.append(block.scale(cut))
        self.cuts.append(cut)

    def sum_of_blocks(self) -> NDArray[np.float64]:
        """Choose multipliers that count every cut once and no other row: while there is one cut for each block."""
        weights = [
            1 / scale if kind == "cut" else 0.0
            for (kind, _), scale in zip(self.origin, self.scale, strict=True)
        ]
        return np.array(weights)

    def unfold(self, duals: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Turn multipliers of the master's rows into those of the whole program's, and of the caller's rows."""
        whole, added = np.zeros(self.parts.program.n_rows), np.zeros(len(self.tags))
        for (kind, index), scale, dual in zip(self.origin, self.scale, duals.tolist(), strict=True):
            if kind == "row":
                whole[index] = dual
            elif kind == "added":
                added[index] = dual
            elif dual > 0:
                cut = self.cuts[index]
                whole[self.parts.blocks[cut.block].rows] += dual * scale * cut.duals
        return whole, added
