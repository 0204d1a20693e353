r"""The mixed-integer program of the paper (Equations 21 to 28 of [LS20]_).

Binary :math:`v_{il}` say that rows i and l are equal; :math:`y_{ij} \le x_{ij} \le z_{ij}` are the ends of cells:

.. math::

    \min \sum_{ij} w_j \frac{z_{ij} - y_{ij}}{U_j - L_j},\qquad
    |y_{ij} - y_{lj}| \le M (1 - v_{il}),\quad |z_{ij} - z_{lj}| \le M' (1 - v_{il}),\qquad
    \sum_{l \ne i} v_{il} \ge k - 1.

Deviations: the bounds :math:`L_j \le y_{ij} \le x_{ij} \le z_{ij} \le U_j` are not printed, and without them the least
value is :math:`-n \sum_j w_j`. Ends are continuous, since the best ones are values of the table. Columns are in units
of cost, position times weight over range. Cells come from the classes that v joins, never from the solver's y and z.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InfeasibleError, InvalidProblemError, LimitReachedError
from discreet.kanonymity.candidate import CandidateClasses, SearchLimits, require_feasible
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearProgram
    from discreet.kanonymity.problem import Problem


@final
@dataclass(frozen=True)
class PairProgram:
    r"""The paper's program, solved by HiGHS.

    Its relaxation is weak: 40 % of the optimum for the twenty rows of the paper, 12 % for 100 rows of eight columns.
    :class:`~discreet.kanonymity.methods.partitioning.SetPartitioning` proves what this program cannot.

    Parameters
    ----------
    exactly
        ``= k - 1`` in place of ``>= k - 1``, Equation 8 and the released code. It is infeasible where n and k - 1 are
        odd, and forbids classes of odd size above k for even k; what it finds is k-anonymous all the same.
    max_rows
        Rows of the largest table: 200 of eight columns make 640,000 constraints.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [50, 20, 40, 21, 60]}, [Numeric("age")])
    >>> PairProgram().solve(problem, 2, SearchLimits()).labels.tolist()
    [0, 1, 0, 1, 0]
    """

    exactly: bool = False
    max_rows: int = 200

    def solve(self, problem: Problem, k: int, limits: SearchLimits) -> CandidateClasses:
        """Solve the program; where the time is over without a solution, give the initial one.

        Raises
        ------
        InvalidProblemError
            For columns that are not numeric, missing values, or more than `max_rows` rows.
        InfeasibleError
            With `exactly`, where no graph on n rows has all degrees k - 1, or none was found.
        """
        from discreet.core.lp import LPSolution, solve

        require_feasible(problem.n, k)
        program = self.program(problem, k)
        try:
            x = solve(program, time_limit=limits.seconds, threads=limits.threads, gap=limits.gap).x
        except InfeasibleError as error:
            message = f"no {k - 1}-regular graph on {problem.n} rows: the program has no solution"
            raise InfeasibleError(message) from error
        except LimitReachedError as limit:
            best = limit.best
            if not isinstance(best, LPSolution):
                labels = Initial().solve(problem, k, limits).labels
                return CandidateClasses("milp", labels)
            x = best.x
        labels = _components(problem.n, x > 0.5)
        # The solver's bound is floating-point and not proved; it is not passed on.
        return CandidateClasses("milp", labels)

    def program(self, problem: Problem, k: int) -> LinearProgram:
        """Return the program: first the v of pairs (0, 1), (0, 2), ..., then y, then z, row after row.

        ``n (n - 1) / 2 + 2 n m`` variables and about ``2 n^2 m`` rows, with the constants of Equations 29 to 32.
        """
        from scipy import sparse

        from discreet.core.lp import LinearProgram

        if problem.n > self.max_rows:
            raise InvalidProblemError("problem", f"at most {self.max_rows} rows", "more")
        x, top = _positions(problem)
        n, m = x.shape
        pairs = list(combinations(range(n), 2))
        at = {pair: place for place, pair in enumerate(pairs)}
        y0, z0 = len(pairs), len(pairs) + n * m
        width = len(pairs) + 2 * n * m
        rows: list[dict[int, float]] = []
        upper: list[float] = []
        for (i, e), v in at.items():
            for j in range(m):
                constants = max(x[i, j], x[e, j]), top[j] - min(x[i, j], x[e, j])
                for side, big in zip((y0, z0), constants, strict=True):
                    for first, second in ((i, e), (e, i)):
                        # The first is above the second by at most this, and not at all where v is 1.
                        rows.append(
                            {side + first * m + j: 1.0, side + second * m + j: -1.0, v: big}
                        )
                        upper.append(float(big))
        lower = [-np.inf] * len(rows)
        for i in range(n):
            rows.append({at[min(i, e), max(i, e)]: 1.0 for e in range(n) if e != i})
            lower.append(k - 1)
            upper.append(k - 1 if self.exactly else np.inf)
        where = np.array([(r, c) for r, row in enumerate(rows) for c in row], dtype=np.int64)
        entries = np.array([value for row in rows for value in row.values()])
        matrix = sparse.csr_array((entries, where.reshape(-1, 2).T), shape=(len(rows), width))
        cost = np.concatenate([np.zeros(y0), -np.ones(n * m), np.ones(n * m)])
        ends = np.tile(top, n)
        least = np.concatenate([np.zeros(y0 + n * m), x.ravel()])
        most = np.concatenate([np.ones(y0), x.ravel(), np.maximum(ends, x.ravel())])
        integral = np.arange(width) < y0
        return LinearProgram(
            cost,
            matrix,
            row_lower=lower,
            row_upper=upper,
            lower=least,
            upper=most,
            integrality=integral if y0 else None,
        )


def _positions(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values ``(n, columns)`` in units of cost, from 0 on, and the largest of each column.

    Raises InvalidProblemError for a column that is not numeric or has missing values.
    """
    values, tops = [], []
    for column, codes in zip(problem.columns, problem.codes.T, strict=True):
        if not isinstance(column.attribute, Numeric) or None in column.domain:
            raise InvalidProblemError(column.name, "a numeric column without missing values", "not")
        least = column.place.min()
        values.append(column.place[codes] - least)
        tops.append(column.place.max() - least)
    return np.stack(values, axis=1), np.array(tops)


def _components(n: int, joined: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Label `n` rows ``(n,)`` int32 that pairs join, directly or by others.

    `joined` is by pair, in the order (0, 1), (0, 2), ..., (1, 2), ...; entries behind the pairs are not read. Labels
    are from 0, by the least row of each component.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    first, second = np.triu_indices(n, 1)
    pairs = np.flatnonzero(joined[: len(first)])
    graph = sparse.coo_array((np.ones(len(pairs)), (first[pairs], second[pairs])), shape=(n, n))
    labels: NDArray[np.int32] = connected_components(graph, directed=False)[1].astype(np.int32)
    return labels
