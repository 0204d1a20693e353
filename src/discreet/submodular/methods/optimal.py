r"""The optimal set, with a bound, for functions in which each record has the value of its best chosen element.

.. math:: \max_{x, y}\; \sum_i \sum_l v_{il}\, y_{il}, \qquad
          y_{il} \le \sum_{e:\, s_{ie} = v_{il}} x_e, \qquad \sum_l y_{il} \le 1, \qquad x(A) \le r(A),

with :math:`v_{i1} > v_{i2} > \dots > 0` the different similarities of record i, and x integer. Rank inequalities are
added for sets that the solver chose and the matroid does not allow. All of this reads the records as they are: nothing
here is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.options import positive_seconds, relative_gap
from discreet.submodular.matroids.capacities import CapacityMatroid
from discreet.submodular.methods.baselines import Greedy, fits, heaviest_base

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from discreet.submodular.matroids.base import Matroid
    from discreet.submodular.objectives.objective import Objective

_SOLVER_ERROR = 1e-6
"""Relative and absolute error of the solver's bound: its tolerances, since no proof comes with the bound."""


@final
@dataclass(frozen=True)
class Optimum:
    """A set, its value, and a bound that no set of the matroid exceeds. Private, all of it.

    Parameters
    ----------
    chosen
        Elements, ascending.
    value
        F of it, in units of ``2^-scale_bits``, computed by the function itself.
    upper
        No independent set is worth more: by :func:`upper_bound`, or by the solver's bound, which nobody has proved and
        which is raised by a part in 10^6.
    """

    chosen: tuple[int, ...]
    value: int
    upper: int

    @property
    def gap(self) -> float:
        """``(upper - value) / upper``, 0 when both are 0."""
        return (self.upper - self.value) / self.upper if self.upper else 0.0


def upper_bound(objective: Objective, matroid: Matroid, chosen: Iterable[tuple[int, int]]) -> int:
    r"""Bound the optimum from any set: :math:`F(S) + \max_B \sum_{e \in B} (F(S + e) - F(S))`.

    A monotone submodular function grows by at most the sum of the gains at S, and the base of largest sum is found
    greedily. Exact integers, no solver.

    The gains of all elements after each of `chosen`, and one sort.

    Parameters
    ----------
    objective
        A function of one kind.
    matroid
        What may be chosen.
    chosen
        S, pairs of an element and its kind.

    Returns
    -------
    int
        In units of ``2^-scale_bits``. Private.

    Raises
    ------
    InvalidProblemError
        For a function that is not submodular, or has several kinds.

    Examples
    --------
    >>> from discreet.submodular import Coverage, UniformMatroid
    >>> reach = Coverage([[True, False], [True, True], [False, True]])
    >>> upper_bound(reach, UniformMatroid(2, 1), [(0, 0)])
    3
    """
    fits(objective, matroid)
    if objective.n_kinds != 1 or not objective.submodular:
        raise InvalidProblemError("objective", "a submodular function of one kind", objective)
    state = objective.start()
    for element, kind in objective.pairs(chosen):
        state.add(element, kind)
    gains = state.gains()[:, 0]
    return state.value + int(gains[list(heaviest_base(matroid, gains))].sum())


def optimum(
    objective: Objective,
    matroid: Matroid,
    *,
    time_limit: float | None = None,
    gap: float | None = None,
) -> Optimum:
    """Find the best set with a mixed-integer program.

    A mixed-integer program over the entries of the table; exponential in the worst case. Other time limits or gaps
    than positive and non-negative numbers are refused, and functions that :func:`upper_bound` refuses.

    Parameters
    ----------
    objective
        Coverage, weighted coverage, facility location, or another function with a table of values by element and
        record.
    matroid
        Any matroid.
    time_limit
        Seconds for each program.
    gap
        Relative gap at which the search may stop; 0 by default.

    Returns
    -------
    Optimum
        Its bound is the lesser of the solver's and of :func:`upper_bound`.

    Raises
    ------
    InvalidProblemError
        For a function without such a table.
    LimitReachedError
        When time ran out; ``best`` is an :class:`Optimum`: the solver's set, or that of the greedy algorithm where that
        is worth more.

    Examples
    --------
    >>> from discreet.submodular import FacilityLocation, UniformMatroid
    >>> places = FacilityLocation([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0], [0.0, 0.5, 1.0]], scale_bits=1)
    >>> optimum(places, UniformMatroid(3, 1))
    Optimum(chosen=(2,), value=4, upper=4)
    """
    from discreet.core.lp import LinearModel, LinearProgram, LPSolution

    fits(objective, matroid)
    positive_seconds(time_limit)
    relative_gap(gap)
    table = objective.served()
    if table is None:
        raise InvalidProblemError(
            "objective", "a function that serves each record by its best element", objective
        )
    first = Greedy().choose(objective, matroid)
    cost, matrix, sides, n = _program(np.asarray(table), matroid)
    integral = np.zeros(len(cost), dtype=np.bool_)
    integral[:n] = True
    model = LinearModel(
        LinearProgram(cost, matrix, row_upper=sides, upper=1.0, integrality=integral)
    )
    upper = upper_bound(objective, matroid, first)
    best = [e for e, _ in first]
    while True:
        stopped: LimitReachedError | None = None
        solution: object
        try:
            solution = model.solve(time_limit=time_limit, gap=gap)
        except LimitReachedError as limit:
            solution, stopped = limit.best, limit
        chosen: list[int] = []
        if isinstance(solution, LPSolution):
            chosen = np.flatnonzero(solution.x[:n] > 0.5).tolist()
            if math.isfinite(solution.bound):
                raised = -solution.bound * (1 + _SOLVER_ERROR) + _SOLVER_ERROR
                upper = min(upper, math.floor(raised))
        allowed = matroid.is_independent(chosen)
        if allowed:
            best = max((best, chosen), key=objective.value)
        if allowed or stopped is not None:
            value = objective.value(best)
            # A bound below a value that was reached is the solver's rounding.
            reached = Optimum(tuple(sorted(best)), value, max(upper, value))
            if stopped is None:
                return reached
            raise LimitReachedError(
                "time_limit: the best set so far has a gap", reached
            ) from stopped
        # The rank of the set, and every element that does not raise it.
        grown = matroid.start().take(chosen)
        row = np.zeros((1, len(cost)))
        row[0, np.flatnonzero(~grown.feasible())] = 1.0
        model.add_rows(row, -np.inf, float(len(grown.members)))


def _program(
    table: NDArray[np.integer], matroid: Matroid
) -> tuple[NDArray[np.float64], csr_array, NDArray[np.float64], int]:
    """Return the program: cost, sparse rows, their upper sides, and how many variables are elements.

    `table` is ``(elements, records)``; equal records are merged. A variable for each different entry of a record.
    """
    from scipy import sparse

    n = matroid.n_elements
    columns, counts = np.unique(table, axis=1, return_counts=True)
    cost = [0.0] * n
    rows: list[int] = []
    places: list[int] = []
    entries: list[float] = []
    sides: list[float] = []

    def row(variables: Iterable[int], weights: Iterable[float], side: float) -> None:
        for variable, weight in zip(variables, weights, strict=True):
            rows.append(len(sides))
            places.append(variable)
            entries.append(weight)
        sides.append(side)

    limits = matroid.limits if isinstance(matroid, CapacityMatroid) else ()
    for group, capacity in ((np.arange(n), matroid.rank), *limits):
        row(group.tolist(), [1.0] * len(group), float(capacity))
    for column, count in zip(columns.T, counts.tolist(), strict=True):
        levels = []
        for level in np.unique(column[column > 0]).tolist():
            serving = np.flatnonzero(column == level).tolist()
            levels.append(len(cost))
            cost.append(-float(level) * count)
            row([levels[-1], *serving], [1.0] + [-1.0] * len(serving), 0.0)
        if len(levels) > 1:
            row(levels, [1.0] * len(levels), 1.0)
    matrix = sparse.csr_array((entries, (rows, places)), shape=(len(sides), len(cost)))
    return np.array(cost), matrix, np.array(sides), n
