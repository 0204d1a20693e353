"""Tables whose rows are recoded one by one: what published algorithms give that do not give a partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True, eq=False)
class Recoded:
    """One generalized cell for each row and column. Computed from private rows, and not k-anonymous as it is.

    Parameters
    ----------
    covered
        For each column ``(n, size)`` booleans: the values that the cell of each row covers.
    loss
        Sum of what the cells cost.
    """

    covered: tuple[NDArray[np.bool_], ...]
    loss: float

    @property
    def smallest_class(self) -> int:
        """The least number of rows with the same cells in all columns: k-anonymity asks for k."""
        cells = np.concatenate([np.packbits(part, axis=1) for part in self.covered], axis=1)
        return int(np.unique(cells, axis=0, return_counts=True)[1].min())

    def fewest_matches(self, problem: Problem) -> int:
        """Give the least number of original rows that the cells of a row cover: freeform anonymity asks for k."""
        fewest = problem.n
        for row in range(problem.n):
            inside = np.ones(problem.n, dtype=bool)
            for part, codes in zip(self.covered, problem.codes.T, strict=True):
                inside &= part[row, codes]
            fewest = min(fewest, int(inside.sum()))
        return fewest


def covers(
    problem: Problem,
    lo: NDArray[np.int64],
    hi: NDArray[np.int64],
    sets: dict[int, NDArray[np.bool_]],
) -> Recoded:
    """Make a record of spans of codes, and of marks of values in columns of sets."""
    covered, loss = [], 0.0
    for j, column in enumerate(problem.columns):
        if column.is_set:
            covered.append(sets[j])
            loss += float(column.set_cost(sets[j].sum(axis=1)).sum())
            continue
        codes = np.arange(len(column.domain))
        covered.append((codes >= lo[:, j, None]) & (codes <= hi[:, j, None]))
        loss += float(column.span_cost(lo[:, j], hi[:, j]).sum())
    return Recoded(tuple(covered), loss)
