"""Private counts of the cells of the lowest regions, and the contrasts of tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.contingency.problem import MOST_PERSONS
from discreet.hierarchy.problem import read_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.problem import Domain, Marginal, TableFrame


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
        counts = read_counts(self.counts, MOST_PERSONS, "records")
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
        """Add up the counts to a marginal of every region: ``(n_nodes, entries)`` int64, a new array; private.

        `marginal` holds places of attributes in the domain, ascending; empty for the total. Linear in the counts.
        """
        part = self.frame.domain.project(self.counts, marginal)
        return np.asarray(self.frame.tree.totals(part), dtype=np.int64)


def centered_along(tables: NDArray[Any], domain: Domain, subset: Marginal) -> NDArray[Any]:
    """Subtract means along every attribute of the last axis, times its number of categories: integers stay integers.

    `tables` are ``(..., entries of subset)``; the result has their shape. Linear in the entries, for each attribute.
    """
    shape = domain.shape_of(subset)
    shaped = tables.reshape(*tables.shape[:-1], *shape)
    for axis, size in enumerate(shape, start=tables.ndim - 1):
        shaped = size * shaped - shaped.sum(axis=axis, keepdims=True)
    return shaped.reshape(tables.shape)
