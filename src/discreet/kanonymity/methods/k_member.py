"""K-Member clustering [BKBL07]_, a baseline of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.arrays import points_of
from discreet.kanonymity.candidate import (
    CandidateClasses,
    SearchLimits,
    assign_leftovers,
    order_of,
    require_feasible,
)
from discreet.kanonymity.methods.greedy_search import grown

if TYPE_CHECKING:
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class KMember:
    """Start each class at the row farthest from the one added last, and add the row that loses least.

    Parameters
    ----------
    start
        The row from which the first class starts; the paper draws it at random.

    Notes
    -----
    Distances are those of the problem's loss, weights included. Rows left over join the class whose loss grows least.
    The first class starts at `start` itself, not at the row farthest from it.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> KMember(start=1).solve(problem, 2, SearchLimits()).labels.tolist()
    [1, 0, 1, 0, 1]
    """

    start: int = 0

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Grow class after class; rows that are left when the time is over are cut along an order.

        Raises
        ------
        InvalidProblemError
            If `start` is not a row of the table.

        Complexity
        ----------
        ``O(p n)`` looks at m columns, for p different rows.
        """
        require_feasible(problem.n, k)
        if not 0 <= self.start < problem.n:
            raise InvalidProblemError("start", "a row of the table", self.start)
        order = order_of(problem, range(problem.m))
        seed = int(points_of(problem, order).of_row[self.start])
        labels = grown(problem, order, k, limits, seed=seed)
        labels = assign_leftovers(
            problem, labels, np.flatnonzero(labels < 0).tolist(), rule="increase"
        )
        return CandidateClasses("k-member", labels)
