"""Freeform generalization [DXTK15]_: three baselines of the paper that are *not* k-anonymous.

Each row gets cells of its own, which cover k rows of the original; rows need not have equal cells. That is a weaker
model, so that these lose less; comparisons must say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.methods import UNPROVEN
from discreet_reproduction.kanonymity.as_published.recoded import Recoded, covers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.problem import Problem

MOST_ROWS = 10_000
"""Rows up to which a matrix of all pairs is made; the paper's runs stopped at 5,000."""

_REASON = UNPROVEN["doka-greedy"].why_none


@final
@dataclass(frozen=True)
class DokaGreedy:
    """In each of k - 1 rounds every row, in the order of the table, takes the partner that widens its cells least.

    Examples
    --------
    >>> from discreet_reproduction.kanonymity.as_published.split_carry import reproduce
    >>> from discreet.kanonymity.problem import Numeric, Problem
    >>> problem = Problem.from_columns({"age": [20, 21, 40, 50]}, [Numeric("age")])
    >>> round(reproduce(problem, 2, DokaGreedy()).result.loss, 6)
    0.733333
    """

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return _REASON

    def recode(self, problem: Problem, k: int, limits: SearchLimits) -> Recoded:  # noqa: ARG002 - every method has them
        """Match row after row."""
        return _freeform(problem, k, _greedily)


@final
@dataclass(frozen=True)
class DokaSortGreedy:
    """In each of k - 1 rounds the pairs are taken by what they cost, the cheapest first.

    Examples
    --------
    >>> "not k-anonymity" in DokaSortGreedy().reason
    True
    """

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return _REASON

    def recode(self, problem: Problem, k: int, limits: SearchLimits) -> Recoded:  # noqa: ARG002 - every method has them
        """Match pair after pair."""
        return _freeform(problem, k, _by_cost)


@final
@dataclass(frozen=True)
class DokaHungarian:
    """In each of k - 1 rounds the rows are matched at the least cost of all.

    Examples
    --------
    >>> "not k-anonymity" in DokaHungarian().reason
    True
    """

    @property
    def reason(self) -> str:
        """Why nothing is guaranteed."""
        return _REASON

    def recode(self, problem: Problem, k: int, limits: SearchLimits) -> Recoded:  # noqa: ARG002 - every method has them
        """Match optimally, round after round; the rounds together need not be optimal."""
        return _freeform(problem, k, _assigned)


def _freeform(
    problem: Problem,
    k: int,
    match: Callable[[NDArray[np.float64]], NDArray[np.int64]],
) -> Recoded:
    """Widen each row's cells by a different row in each of k - 1 rounds; every row is used once a round."""
    n = problem.n
    if n > MOST_ROWS:
        raise InvalidProblemError("problem", f"at most {MOST_ROWS} rows", "more")
    codes = problem.codes.astype(np.int64)
    lo, hi = codes.copy(), codes.copy()
    sets = {
        j: np.arange(len(column.domain)) == codes[:, j, None]
        for j, column in enumerate(problem.columns)
        if column.is_set
    }
    used = np.eye(n, dtype=bool)
    rows = np.arange(n)
    for _ in range(k - 1):
        cost = np.zeros((n, n))
        for j, column in enumerate(problem.columns):
            if column.is_set:
                count = sets[j].sum(axis=1)
                new = ~sets[j][:, codes[:, j]]
                cost += column.set_cost(count[:, None] + new) - column.set_cost(count)[:, None]
                continue
            low, high = (
                np.minimum(lo[:, j, None], codes[:, j]),
                np.maximum(hi[:, j, None], codes[:, j]),
            )
            cost += column.span_cost(low, high) - column.span_cost(lo[:, j], hi[:, j])[:, None]
        cost[used] = np.inf
        partner = match(cost)
        used[rows, partner] = True
        lo, hi = np.minimum(lo, codes[partner]), np.maximum(hi, codes[partner])
        for j, marks in sets.items():
            marks[rows, codes[partner, j]] = True
    return covers(problem, lo, hi, sets)


def _greedily(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Match row after row; where none is left for a row, others are asked to change."""
    n = len(cost)
    partner, owner = np.full(n, -1), np.full(n, -1)
    for row in range(n):
        open_to = np.where(owner < 0, cost[row], np.inf)
        best = int(np.argmin(open_to))
        if np.isfinite(open_to[best]):
            partner[row], owner[best] = best, row
        else:
            _augment(cost, row, partner, owner)
    return partner


def _by_cost(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Match pair after pair, the cheapest first; then the rows that are left."""
    n = len(cost)
    partner, owner = np.full(n, -1), np.full(n, -1)
    open_rows = n
    for pair in np.argsort(cost, axis=None, kind="stable"):
        row, other = divmod(int(pair), n)
        if not open_rows or not np.isfinite(cost[row, other]):
            break
        if partner[row] < 0 and owner[other] < 0:
            partner[row], owner[other] = other, row
            open_rows -= 1
    for row in np.flatnonzero(partner < 0).tolist():
        _augment(cost, row, partner, owner)
    return partner


def _augment(
    cost: NDArray[np.float64], row: int, partner: NDArray[np.int64], owner: NDArray[np.int64]
) -> None:
    """Free a partner for a row along an alternating path; there is one, since each row has equally many left."""
    came_from = np.full(len(cost), -1)
    queue = [row]
    for asking in queue:
        for other in np.flatnonzero(np.isfinite(cost[asking]) & (came_from < 0)).tolist():
            came_from[other] = asking
            if owner[other] >= 0:
                queue.append(int(owner[other]))
                continue
            free: int = other
            while free >= 0:
                giver = int(came_from[free])
                before = int(partner[giver])
                partner[giver], owner[free] = free, giver
                free = before
            return


def _assigned(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)
