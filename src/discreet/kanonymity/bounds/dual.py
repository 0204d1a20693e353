r"""Multipliers of rows that no class overpays: the dual of set partitioning, by cutting planes.

A partition covers each row once, by classes S of k rows or more that cost :math:`|S|\,w(S)`. For every u with

.. math:: \sum_{i \in S} u_i \le |S|\, w(S) \quad\text{for each such class}

no partition loses less than :math:`\sum_i u_i`; with :math:`u_i` at most the sum of all weights, none with suppressed
rows does either. The mean over a class is at most that over its k largest multipliers, and w does not grow when rows
are left out, so that classes of k rows decide. Equal rows share a multiplier, which is no loss (average two solutions).

A linear program has the classes that were found so far. Its solution overpays others; a point between it and the best
multipliers that overpay none (an in-out trial point) is searched for such classes, which join the program, and made
feasible by the proofs of the search: it is a bound whether or not the program is solved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.arrays import BRANCHES, SET, points_of
from discreet.kanonymity.bound import nearest_rows
from discreet.kanonymity.bounds.branching import separate
from discreet.kanonymity.candidate import SearchLimits, order_of, portions
from discreet.kanonymity.problem import Numeric, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp import LinearModel
    from discreet.kanonymity.arrays import Points


@final
@dataclass(frozen=True)
class MultiplierTuning:
    """Measured limits of the program of multipliers and of its proofs.

    Parameters
    ----------
    max_boxes_untimed
        Boxes of a table up to which the program is solved without a time limit: branches of so few end in about
        a second.
    max_points_of_program
        Different rows up to which the program is set up.
    least_multiplier_share
        Least multiplier, as a part of all weights, of a point whose rows others need.
    max_multiplier_in_costs
        Largest multiplier of a point, in costs of the class that was grown from it; to restrict them is always
        valid.
    weight_of_last_solution
        Weight of the program's last solution in the center that trial points are near to.
    slacks
        Slacks of proofs, one after the other: each takes about twice the time of the one before it.
    proof_share_of_value
        Part of the program's value that a proof has to reach, but for its slack, before the next slack is
        taken.
    untimed_rounds
        Rounds without a time limit.
    unscaled_binary_orders
        Binary orders of magnitude from 1 that costs may be away as they are.
    """

    max_boxes_untimed: float = 2e7
    max_points_of_program: int = 6_000
    least_multiplier_share: float = -0.5
    max_multiplier_in_costs: float = 4.0
    weight_of_last_solution: float = 0.2
    slacks: tuple[float, ...] = (0.1, 0.02, 0.005, 0.0)
    proof_share_of_value: float = 0.97
    untimed_rounds: int = 60
    unscaled_binary_orders: int = 10


MULTIPLIERS = MultiplierTuning()


@final
class DualBound:
    """The bound of one problem, which more time makes better.

    Parameters
    ----------
    problem
        The problem.
    k
        Least class size, 2 or more.
    suppressed
        Whether rows may be suppressed: no multiplier may then be above the sum of all weights.
    """

    def __init__(self, problem: Problem, k: int, *, suppressed: bool) -> None:
        self.k, self.lower, self.done = k, 0.0, False
        self.problem, self.exponent = scaled(costly(problem))
        order = order_of(self.problem, range(self.problem.m))
        self.points = points_of(self.problem, order)
        self.counts = np.diff(self.points.first).astype(np.float64)
        self.weight = self.problem.suppressed_cost
        self.most = self.weight * (1 if suppressed else k)
        self.few_boxes = boxes_of(self.problem, self.points) <= MULTIPLIERS.max_boxes_untimed
        self.slack_at, self.share = 0, 1.0
        self.known: set[bytes] = set()
        self._model: LinearModel | None = None
        self._begun = False
        self.best = self.center = np.zeros(self.points.n)
        self.top = math.inf
        self.done = self.points.n == 1 or self.weight == 0

    def refine(self, limits: SearchLimits, _labels: NDArray[np.int32] | None = None) -> None:
        """Raise the bound until the time is over or the program's value is reached; the value is ``self.lower``.

        Without a time limit a table of many boxes has the multipliers to begin with, and others a number of rounds.
        Each round solves a linear program and prices classes. `_labels` is not used.
        """
        if self.done:
            return
        timed = limits.left < math.inf
        if not self._begun:
            self._look_at_nearest()
        if not timed and not self.few_boxes:
            return
        rounds = 0
        while limits.left > 0 and (timed or rounds < MULTIPLIERS.untimed_rounds):
            rounds += 1
            added = self._round(limits)
            if added is None:
                return
            if self._advance(added):
                return

    def _advance(self, added: int) -> bool:
        """Set share and slack after a round that added `added` classes; return whether the bound is final.

        The share of the center in trial points is at most 1/2 after new classes; without new ones it falls by 1/4.
        The slack stays while there are new classes and the proof is below its part of the program's value. Else the
        next smaller one is taken; the last, 0, only after a round without new classes at share 0. Such a round at
        slack 0 makes the bound final. Linear in the points.
        """
        self.share = min(self.share, 0.5) if added else max(0.0, self.share - 0.25)
        value = float(self.counts @ self.best)
        if (
            added
            and value * (1 + MULTIPLIERS.slacks[self.slack_at])
            < MULTIPLIERS.proof_share_of_value * self.top
        ):
            return False
        last, solved = len(MULTIPLIERS.slacks) - 1, not added and self.share == 0
        self.done = solved and self.slack_at == last
        # A proof without slack may not end: the program is solved with the last one that has some.
        if solved or self.slack_at < last - 1:
            self.slack_at = min(self.slack_at + 1, last)
        return self.done

    def _round(self, limits: SearchLimits) -> int | None:
        """Solve, search a trial point, and give how many classes joined; ``None`` where the time ended it.

        Also raises the lower bound and moves the trial's center. 0 means that the search found no class that the
        program lacks.
        """
        solved = self._solved(limits)
        if solved is None:
            return None
        trial = self.share * self.center + (1 - self.share) * solved
        slack = MULTIPLIERS.slacks[self.slack_at]
        separated = separate(self.points, self.k, trial, self.best, slack, BRANCHES, limits)
        # A mean of solutions of programs may be above what suppressed rows allow by rounding.
        feasible = np.minimum(separated.feasible, self.most)
        if self.counts @ feasible > self.counts @ self.best:
            self.best = feasible
            self.lower = max(self.lower, self._proved())
        self.center += MULTIPLIERS.weight_of_last_solution * (solved - self.center)
        return self._append(separated.points, separated.rows)

    def _proved(self) -> float:
        """Return the dual objective, rounded down by more than the rounding error of its computation.

        Means of k multipliers and sums of the costs of m columns were compared in floating point, each off by less
        than a part ``(k + m + 132) 2^-52`` of the largest multiplier and of all weights, where what a row costs was
        changed up to 64 times; what a repair divides and takes off is rounded a few times more. So much is taken off
        each row.
        """
        slack = rounding(self.best, self.k, self.points.arrays.cap)
        total = math.fsum((self.counts * (self.best - slack)).tolist())
        return math.ldexp(total - 2.0**-50 * abs(total), self.exponent)

    def _solved(self, limits: SearchLimits) -> NDArray[np.float64] | None:
        """Solve the program by the simplex method and lower the bound; return its solution ``(columns,)``.

        ``None`` if the time is over or the solver fails.
        """
        from discreet.core.errors import LimitReachedError, SolverError

        try:
            solution = self.model.solve(method="simplex", time_limit=limits.seconds, threads=1)
        except (LimitReachedError, SolverError):
            return None
        self.top = min(self.top, -solution.objective)
        return solution.x

    @property
    def model(self) -> LinearModel:
        """The program with the classes that were found so far."""
        if self._model is None:
            self._model = self._start()
        return self._model

    def _look_at_nearest(self) -> None:
        """Take as multipliers the distances within which each row has k rows, itself counted: they overpay none.

        Sets the multipliers, the near points and the lower bound; all pairs of points are compared, without a time
        limit.
        """
        near = [
            nearest_rows(self.points, self.k, begin, stop)
            for begin, stop in portions(self.points.n, SearchLimits(), first=64)
        ]
        self.near, self.best = (np.concatenate(part) for part in zip(*near, strict=True))
        self.lower, self._begun = self._proved(), True

    def _start(self) -> LinearModel:
        """Set up the program with the nearest k rows of each point as a class, and `ceiling` and `center`."""
        from scipy import sparse

        from discreet.core.lp import LinearModel, LinearProgram

        n = self.points.n
        points, rows = self._classes_of(np.column_stack([np.arange(n, dtype=np.int32), self.near]))
        costs = self._widths(points)
        cheap = np.full(n, self.weight)
        np.minimum.at(cheap, points[points >= 0], np.repeat(costs, (points >= 0).sum(axis=1)))
        self.ceiling = np.where(
            self.counts >= self.k,
            0.0,
            np.minimum(
                MULTIPLIERS.max_multiplier_in_costs * cheap + 0.1 * self.weight / self.problem.m,
                self.most,
            ),
        )
        # Nearer to the solution than the best multipliers, though some classes are overpaid.
        self.center = np.minimum(cheap, self.ceiling)
        program = LinearProgram(
            -self.counts,
            sparse.csr_array((0, n)),
            lower=np.full(n, MULTIPLIERS.least_multiplier_share * self.weight),
            upper=self.ceiling,
        )
        self._model = LinearModel(program)
        self._append(points, rows)
        return self._model

    def _classes_of(self, points: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return classes of k rows each, from the points of a line in their order.

        Points, -1 for none, and rows of each. `points` and both results are ``(classes, length)``; the last point of
        a class may give some of its rows only.
        """
        counts = np.diff(self.points.first)[points]
        before = np.cumsum(counts, axis=1) - counts
        rows = np.clip(self.k - before, 0, counts).astype(np.int32)
        return np.where(rows > 0, points, -1).astype(np.int32), rows

    def _append(self, points: NDArray[np.int32], rows: NDArray[np.int32]) -> int:
        """Add a row to the program for each new class, points and their rows ``(classes, places)``; return how many.

        Classes that the program has are left out; `points` are padded with -1. A sort of each class.
        """
        from scipy import sparse

        if not len(points):
            return 0
        order = np.argsort(points, axis=1, kind="stable")
        points = np.take_along_axis(points, order, axis=1)
        rows = np.take_along_axis(rows, order, axis=1)
        rows = np.where(points >= 0, rows, 0)
        new = []
        for at in range(len(points)):
            members = points[at] >= 0
            key = points[at][members].tobytes() + rows[at][members].tobytes()
            if key not in self.known:
                self.known.add(key)
                new.append(at)
        if not new:
            return 0
        points, rows = points[new], rows[new]
        where, slot = np.nonzero(points >= 0)
        matrix = sparse.csr_array(
            (rows[where, slot].astype(np.float64), (where, points[where, slot])),
            shape=(len(points), self.points.n),
        )
        self.model.add_rows(matrix, -np.inf, rows.sum(axis=1) * self._widths(points))
        return len(points)

    def _widths(self, points: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the cost per row of each class, ``(classes,)``; `points` is ``(classes, length)``, -1 for no point.

        Linear in `points` for each column, but for a sort where it is a set.
        """
        arrays = self.points.arrays
        member = points >= 0
        total = np.zeros(len(points))
        for a, column in enumerate(self.problem.columns):
            codes = arrays.codes[:, a][points].astype(np.int64)
            if arrays.kind[a] == SET:
                sorted_codes = np.sort(np.where(member, codes, -1), axis=1)
                new = (sorted_codes[:, 1:] != sorted_codes[:, :-1]) & (sorted_codes[:, 1:] >= 0)
                different = new.sum(axis=1) + (sorted_codes[:, 0] >= 0)
                total += column.set_cost(different)
            else:
                low = np.where(member, codes, len(column.domain)).min(axis=1)
                high = np.where(member, codes, -1).max(axis=1)
                total += column.span_cost(low, high)
        return total


def rounding(u: NDArray[np.float64], k: int, weights: NDArray[np.float64]) -> float:
    """Return an upper bound on what rounding adds to the mean multiplier of k rows less the width of their class."""
    size = float(np.abs(u).max(initial=0.0) + weights.sum())
    return (k + len(weights) + 2 * BRANCHES.nodes_between_recounts + 16) * 2.0**-50 * size


def costly(problem: Problem, *, negligible_share: float = 1e-60) -> Problem:
    """Return the problem without columns whose largest cost is negligible; one column is kept if all are.

    A cost is negligible up to `negligible_share` of all weights: the bound has 1e-13 and more taken off for rounding.
    """
    least = negligible_share * problem.suppressed_cost
    costing = [j for j, column in enumerate(problem.columns) if column.place.max() > least] or [0]
    columns = tuple(problem.columns[j] for j in costing)
    return Problem(columns, problem.codes[:, costing], problem.loss)


def scaled(problem: Problem) -> tuple[Problem, int]:
    """Return the problem with costs divided by a power of two, exactly, and its exponent; unchanged, and 0, if near 1.

    Solvers compare with absolute tolerances, and read 1e20 as infinite.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Numeric
    >>> made, exponent = scaled(Problem.from_columns({"age": [20, 60]}, [Numeric("age", weight=6e9)]))
    >>> made.suppressed_cost * 2.0**exponent, exponent
    (6000000000.0, 33)
    """
    exponent = math.frexp(problem.suppressed_cost)[1]
    if abs(exponent) <= MULTIPLIERS.unscaled_binary_orders:
        return problem, 0
    columns = tuple(
        replace(
            column,
            attribute=replace(
                column.attribute, weight=math.ldexp(column.attribute.weight, -exponent)
            ),
            place=np.ldexp(column.place, -exponent),
        )
        for column in problem.columns
    )
    return Problem(columns, problem.codes, problem.loss), exponent


def boxes_of(problem: Problem, points: Points) -> float:
    """Estimate the number of boxes, as a float: the product of the numbers of cells of all columns; a sort for each."""
    total = 1.0
    numbers = []
    for j, column in enumerate(problem.columns):
        d = len(np.unique(points.arrays.codes[:, j]))
        if isinstance(column.attribute, Numeric):
            numbers.append(d)
            total *= d * (d + 1) / 2
        elif column.is_set:
            total *= 2.0 ** min(d, 60)
        else:
            total *= 2 * d
    return total
