"""Contiguous segmentation: the best cuts of an order of rows, by dynamic programming, over several orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity._arrays import points_of
from discreet.kanonymity.candidate import Candidate, Limits, labels_of, require_feasible
from discreet.kanonymity.orders import several_orders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem

__all__ = ["Segmentation", "segmented"]


@final
@dataclass(frozen=True)
class Segmentation:
    r"""The best partition into runs of an order of rows, for several orders.

    .. math:: f(e) = \min_{k \le s < 2k} f(e - s) + s \sum_j w_j c_j(\text{rows } e-s, \ldots, e-1)

    It is never worse than any other way to cut the same order, such as the paper's initial feasible solution. With few
    columns it was better than every published heuristic. It is no optimum over all partitions, not even for one column
    of numbers in sorted order: 0 and 10 around three rows of 5 are better one class than cut apart.

    Parameters
    ----------
    orders
        How many orders to try at most; see :func:`~discreet.kanonymity.orders.several_orders`.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> Segmentation().solve(problem, 2, Limits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    orders: int = 1000

    def solve(self, problem: Problem, k: int, limits: Limits) -> Candidate:
        """Cut one order after another until the time is over, at least one.

        Complexity
        ----------
        ``O(n k m)`` for each order, and sorting.
        """
        require_feasible(problem, k)
        best, labels = np.inf, np.zeros(problem.n, dtype=np.int32)
        for tried, (_, order) in enumerate(several_orders(problem)):
            if tried >= self.orders or (tried and limits.left <= 0):
                break
            found = segmented(problem, order, k)
            loss = problem.loss_of(found)
            if loss < best:
                best, labels = loss, found
        return Candidate("segmentation", labels, note="Orders of rows were cut at the least cost.")


def segmented(problem: Problem, order: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """Label the runs of an order that cost least together."""
    from discreet.kanonymity._kernels import segment

    points = points_of(problem, order)
    cuts = segment(points.arrays, points.first, k)
    return labels_of(order, np.diff(cuts))
