"""Private counts of the cells of the lowest regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import array_of
from discreet.hierarchy.contingency.problem import MOST_PERSONS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.hierarchy.contingency.problem import Marginal, TableFrame

__all__ = ["CellCounts"]


@final
@dataclass(frozen=True, eq=False, repr=False)
class CellCounts:
    """Private data: how many records each lowest region has in each cell.

    Parameters
    ----------
    frame
        The public facts.
    counts
        ``(n_leaves, n_cells)`` in the order of ``frame.tree.leaves`` and of the domain, the last attribute fastest.

    Raises
    ------
    InvalidProblemError
        For counts of another shape, that are no integers or negative, or in structural zeros. Values are not said.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.contingency.problem import Domain, TableFrame
    >>> domain = Domain.read({"sex": ["F", "M"]})
    >>> frame = TableFrame(Tree.from_paths([("GA",), ("NY",)]), domain, {(0,): (Fraction(1, 2),) * 2})
    >>> CellCounts(frame, np.array([[3, 1], [2, 2]])).of_regions((0,)).tolist()
    [[5, 3], [3, 1], [2, 2]]
    """

    frame: TableFrame
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        counts = _read_counts(self.counts)
        frame = self.frame
        expected = (len(frame.tree.leaves), frame.domain.size)
        if counts.shape != expected:
            raise InvalidProblemError("counts", f"shape {expected}", f"shape {counts.shape}")
        if counts[:, ~frame.domain.possible].any():
            got = "some (private: this depends on records)"
            raise InvalidProblemError("counts", "no records in structural zeros", got)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        return f"CellCounts({repr(self.frame)[11:-1]}; counts are private)"

    def of_regions(self, marginal: Marginal) -> NDArray[np.int64]:
        """Add up to ``(n_nodes, entries)``: a marginal of every region."""
        part = self.frame.domain.project(self.counts, marginal)
        return np.asarray(self.frame.tree.totals(part), dtype=np.int64)


def _read_counts(counts: ArrayLike) -> NDArray[np.int64]:
    """Read a copy of private counts; say nothing of their values."""
    given = array_of(counts, "counts", "integers")
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidProblemError("counts", "integers", given.dtype)
    whole = given.astype(np.int64)
    if whole.size and int(whole.min()) < 0:
        raise InvalidProblemError("counts", "non-negative integers", "a negative one")
    if float(whole.sum(dtype=np.float64)) > MOST_PERSONS:
        raise InvalidProblemError("counts", f"at most {MOST_PERSONS} records", "more")
    return whole
