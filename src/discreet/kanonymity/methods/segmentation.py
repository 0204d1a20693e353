"""Contiguous segmentation: the best cuts of an order of rows, by dynamic programming, over several orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.jit import clock
from discreet.kanonymity.arrays import points_of
from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchLimits,
    labels_of,
    portions,
    require_feasible,
)
from discreet.kanonymity.methods.initial import initial_sizes
from discreet.kanonymity.search.orders import several_orders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


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
        How many orders to try at most; see :func:`~discreet.kanonymity.search.orders.several_orders`.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> Segmentation().solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    orders: int = 1000

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Partition one order after another while the time suffices for the next, at least one.

        Where it does not suffice for the first, its last rows are cut into runs of k.

        Complexity
        ----------
        ``O(n k m)`` for each order, and sorting.
        """
        require_feasible(problem.n, k)
        best, labels = np.inf, np.zeros(problem.n, dtype=np.int32)
        slowest, began = 0.0, clock()
        for tried, order in enumerate(several_orders(problem), start=1):
            candidate = segmented(problem, order, k, limits)
            loss = problem.loss_of(candidate)
            if loss < best:
                best, labels = loss, candidate
            now = clock()
            slowest, began = max(slowest, now - began), now
            # An order that cannot be cut to its end is of little use.
            if tried >= self.orders or limits.left <= slowest:
                break
        return CandidateClasses("segmentation", labels)


def segmented(
    problem: Problem, order: NDArray[np.int64], k: int, limits: SearchLimits | None = None
) -> NDArray[np.int32]:
    """Label the runs of an order that cost least together: int32 ``(n,)``. ``O(n k m)``.

    `order` ``(n,)`` are all rows. Rows that the time does not suffice for are cut by k.
    """
    from discreet.kanonymity.kernels.runs import cut_rows, runs_of, start_cuts

    points = points_of(problem, order)
    codes = points.arrays.codes.astype(np.int64)
    cuts = start_cuts(points.arrays, points.first)
    reached = 0
    for begin, stop in portions(problem.n + 1 - k, limits or SearchLimits(), first=1000):
        cut_rows(points.arrays, codes, cuts, k, k + begin, k + stop)
        reached = k + stop - 1
    if reached == problem.n:
        return labels_of(order, np.diff(runs_of(cuts, reached)))
    end = min(reached, problem.n - k)
    # Fewer than k rows are no run.
    end = end if end >= k else 0
    rest = initial_sizes(problem.n - end, k)
    return labels_of(order, np.concatenate([np.diff(runs_of(cuts, end)), rest]))
