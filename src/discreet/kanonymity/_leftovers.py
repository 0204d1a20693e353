"""Rows that are left over once all classes have k: each goes where it costs least, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem

__all__ = ["assign_leftovers"]


def assign_leftovers(
    problem: Problem, labels: NDArray[np.int32], rows: Iterable[int], *, rule: str
) -> NDArray[np.int32]:
    """Add rows to classes that are there.

    Parameters
    ----------
    problem
        The problem.
    labels
        Classes; -1 for the rows that are left over.
    rows
        Those, in the order in which they choose.
    rule
        ``"range"``: the class whose cells are least wide with the row in it, as in Table 7 and the released code of
        [LS20]_. ``"increase"``: the class whose loss grows least, as its text says. Ties go to the first class.

    Returns
    -------
    ndarray
        Labels without -1 for these rows.
    """
    labels = labels.copy()
    kept = labels >= 0
    boxes = problem.boxes(np.where(kept, labels, -1))
    sizes, lo, hi = boxes.sizes.copy(), boxes.lo.copy(), boxes.hi.copy()
    counts, costs = boxes.counts.copy(), boxes.costs.copy()
    for row in rows:
        codes = problem.codes[row]
        wide = np.empty_like(costs)
        has = np.ones(costs.shape, dtype=bool)
        for j, column in enumerate(problem.columns):
            if column.is_set:
                has[:, j] = False
                has[labels[(problem.codes[:, j] == codes[j]) & (labels >= 0)], j] = True
                wide[:, j] = column.set_cost(counts[:, j] + ~has[:, j])
            else:
                low, high = np.minimum(lo[:, j], codes[j]), np.maximum(hi[:, j], codes[j])
                wide[:, j] = column.span_cost(low, high)
        widths = wide.sum(axis=1)
        score = widths if rule == "range" else (sizes + 1) * widths - sizes * costs.sum(axis=1)
        best = int(np.argmin(score))
        labels[row] = best
        sizes[best] += 1
        costs[best], counts[best] = wide[best], counts[best] + ~has[best]
        lo[best], hi[best] = np.minimum(lo[best], codes), np.maximum(hi[best], codes)
    return labels
