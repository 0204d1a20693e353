"""The exact optimum of small tables: dynamic programming over subsets of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import CandidateClasses, SearchLimits, require_feasible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class SubsetProgram:
    """The optimum of a small table.

    Classes of k to 2k - 1 rows suffice, since a class of 2k rows can be split without a loss.

    Parameters
    ----------
    max_rows
        Rows of the largest table: 17 have 131,072 subsets, which take about a second, and each row more doubles them.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> round(SubsetProgram().solve(problem, 2, SearchLimits()).lower, 9)
    1.55
    """

    max_rows: int = 17

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:  # noqa: ARG002 - every method has them
        """Find the optimum by dynamic programming over subsets, exponential in the rows; `limits` are not used.

        Raises
        ------
        InvalidProblemError
            For more than `max_rows` rows.
        InfeasibleError
            For fewer than k rows.
        """
        require_feasible(problem.n, k)
        if problem.n > self.max_rows:
            raise InvalidProblemError("problem", f"at most {self.max_rows} rows", "more")
        labels, loss = optimum_of(problem, np.arange(problem.n), k)
        # Sums of some hundred terms: below this, whatever the order of rounding.
        lower = max(0.0, loss * (1 - 1e-12) - 1e-12)
        return CandidateClasses("subset-program", labels, lower)


def optimum_of(
    problem: Problem, rows: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int32], float]:
    """Partition a few rows at the least cost; return int32 labels from 0, in the order of `rows`, and the total cost.

    `rows` ``(r,)`` are indices, at most 17, which is not checked. Time and memory ``O(2^r)`` and more.
    """
    from discreet.kanonymity.kernels.subsets import best_partition, room_for

    n, m = len(rows), problem.m
    part, local = np.empty(n, dtype=np.int64), np.empty((n, m), dtype=np.int64)
    table = np.zeros((m, n, n))
    for j, column in enumerate(problem.columns):
        values, local[:, j] = np.unique(problem.codes[rows, j], return_inverse=True)
        d = len(values)
        if column.is_set:
            table[j, 0, :d] = column.set_cost(1 + np.arange(d))
        else:
            low, high = np.triu_indices(d)
            table[j, low, high] = column.span_cost(values[low], values[high])
    is_set = np.array([column.is_set for column in problem.columns])
    loss = best_partition(local, table, is_set, part, room_for(n, m, k))
    return part.astype(np.int32), float(loss)
