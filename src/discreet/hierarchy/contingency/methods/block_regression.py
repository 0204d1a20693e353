r"""Block hierarchical regression, as BlueDown describes it: two passes with one matrix a region, in floats.

[GKKMS26]_ fit all measurements of a tree by generalized least squares. A region's own measurements give an estimate
with a precision matrix; upwards it is combined with the sum of the estimates below by adding precisions, downwards the
difference is handed to the children in proportion to their covariances. Here the matrices are dense and inverted as
they stand, without the symmetries by which the authors compress them: a peer for small domains. It is the same estimate
as ours, which inverts nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.measure import MeasuredTables

__all__ = ["block_regression"]

_MOST_CELLS = 512
"""Cells of a domain, at most: a region has a matrix of as many rows."""


def block_regression(measured: MeasuredTables) -> NDArray[np.float64]:
    """Estimate every cell of every region.

    Parameters
    ----------
    measured
        Noisy marginals; the cells of every lowest region among them.

    Returns
    -------
    ndarray
        ``(n_nodes, n_cells)`` floats, unbiased, of either sign.

    Raises
    ------
    InvalidProblemError
        For more than 512 cells.

    Complexity
    ----------
    ``O(n N^3)`` with n regions and N cells.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from discreet import Tree, ZeroConcentratedDP
    >>> from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame
    >>> from discreet.hierarchy.contingency.measure import measure
    >>> frame = TableFrame(
    ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
    ... )
    >>> kept = measure(CellCounts(frame, np.array([[3, 1], [2, 2]])), ZeroConcentratedDP(10**6, "add-remove-person"))
    >>> block_regression(kept).round(6).tolist()
    [[5.0, 3.0], [3.0, 1.0], [2.0, 2.0]]
    """
    frame = measured.frame
    tree, domain = frame.tree, frame.domain
    size = domain.size
    if size > _MOST_CELLS:
        raise InvalidProblemError("measured", f"at most {_MOST_CELLS} cells", count(size))
    own: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for node in range(tree.n):
        precision, weighted = np.zeros((size, size)), np.zeros(size)
        for q in frame.marginals:
            variance = measured.variance(q, int(frame.strata[node]))
            if variance is None:
                continue
            entries = domain.entries(q)
            precision += (entries[:, None] == entries[None]) / float(variance)
            weighted += measured.values[q][node].astype(np.float64)[entries] / float(variance)
        own.append((precision, weighted))
    means, spreads = np.zeros((tree.n, size)), np.zeros((tree.n, size, size))
    sums, below = np.zeros((tree.n, size)), np.zeros((tree.n, size, size))
    for node in range(tree.n - 1, -1, -1):
        precision, weighted = own[node]
        children = list(tree.children(node))
        if children:
            sums[node], below[node] = means[children].sum(axis=0), spreads[children].sum(axis=0)
            inverse = np.linalg.inv(below[node])
            precision, weighted = precision + inverse, weighted + inverse @ sums[node]
        spreads[node] = np.linalg.inv(precision)
        means[node] = spreads[node] @ weighted
    for node in range(tree.n):
        gap = means[node] - sums[node]
        for child in tree.children(node):
            means[child] += spreads[child] @ np.linalg.solve(below[node], gap)
    return means
