r"""Branch and bound over listed classes, with subset-row cuts; every bound is a formula, evaluated and rounded down.

The linear program covers each row once,

.. math:: \min \sum_S c(S)\, x_S \quad\text{subject to}\quad \sum_{S \ni i} x_S = 1,\qquad x \ge 0,

and is strengthened: there are at most :math:`\lfloor n/k \rfloor` classes, and the subset-row cuts of
:mod:`~discreet.kanonymity.exact.cuts` hold. A fractional solution has two rows that are together in some classes
and apart in others; the two branches demand one and the other [RF81]_. Each is left when the bound for its multipliers
says that it holds nothing better. The solver is requested multipliers alone and not believed: where the program fails,
the branch keeps the bound of its parent.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.exact.columns import TOLERANCES, incidence
from discreet.kanonymity.exact.cuts import CUTS, NO_CUTS, half, rows_of, violated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.core.lp import LinearModel, LPSolution
    from discreet.kanonymity.candidate import SearchLimits

RELATIVE_TOLERANCE = 5 * TOLERANCES.relaxation
"""Relative distance of a bound to the best loss at which a branch is left."""


@final
@dataclass(frozen=True, eq=False)
class Listed:
    """Classes such that every partition at most as bad as the incumbent consists of some of them.

    Parameters
    ----------
    classes
        ``(n_classes, 2k - 1)`` rows, padded with -1.
    costs
        ``(n_classes,)`` what they lose.
    n, k
        Rows of the table, least class size.
    scale
        Sum of all weights: no cell costs more.
    """

    classes: NDArray[np.int32]
    costs: NDArray[np.float64]
    n: int
    k: int
    scale: float


@final
@dataclass(frozen=True, eq=False)
class Settled:
    """What the search of branches gave.

    Parameters
    ----------
    chosen
        Indices of the classes of the best partition; ``None`` where the incumbent stands.
    loss
        What it loses.
    lower
        What no partition of listed classes loses less than; never more than `loss`.
    branches
        Branches looked at.
    cuts
        ``(n_cuts, 3)`` the rows of each cut; they hold for other lists as well.
    """

    chosen: NDArray[np.int64] | None
    loss: float
    lower: float
    branches: int
    cuts: NDArray[np.int32]


@dataclass(order=True)
class _Branch:
    bound: float
    number: int
    admissible: NDArray[np.bool_] = field(compare=False)


def settle(
    listed: Listed,
    upper: float,
    limits: SearchLimits,
    *,
    reach: float = math.inf,
    cuts: NDArray[np.int32] | None = None,
) -> Settled:
    """Find the best partition of listed classes, or prove that none is better than the incumbent.

    A tree of branches, each a few linear programs; exponential in the worst case.

    Parameters
    ----------
    listed
        The classes.
    upper
        What a partition has to lose less than, such as the incumbent's loss.
    limits
        When to stop; the bound is then that of the branches left open.
    reach
        Bound at which to stop: partitions that lose more may have classes that are not listed.
    cuts
        Cuts to start with.
    """
    program = _Program(listed, upper, NO_CUTS if cuts is None else cuts)
    open_ = [_Branch(-math.inf, 0, np.ones(len(listed.costs), dtype=bool))]
    chosen: NDArray[np.int64] | None = None
    closed, number, looked = math.inf, 0, 0
    while open_ and open_[0].bound < min(_cutoff(upper), reach) and limits.left > 0:
        branch = heapq.heappop(open_)
        point = program.relax(branch, upper, limits, rounds=5 if looked else 1000)
        looked += 1
        if point.bound >= _cutoff(upper) or point.x is None:
            # Without a point there were no multipliers or no time; the bound is what is known.
            closed = min(closed, point.bound)
            continue
        pair = program.pair(point)
        if pair is None:
            selected = np.flatnonzero(point.x > 0.5)
            if program.is_partition(selected) and program.loss_of(selected) < upper:
                chosen, upper = program.index[selected], program.loss_of(selected)
                useful = program.forget(upper)
                for other in open_:
                    other.admissible = other.admissible[useful]
            closed = min(closed, point.bound)
            continue
        first, second = (program.holding(row) for row in pair)
        for side in (first == second, ~(first & second)):
            number += 1
            heapq.heappush(open_, _Branch(point.bound, number, point.admissible & side))
    lower = min([closed, upper, *(branch.bound for branch in open_)])
    return Settled(chosen, upper, lower, looked, program.cuts)


def _cutoff(upper: float) -> float:
    return upper - RELATIVE_TOLERANCE * abs(upper)


def _is_fractional(x: ArrayLike) -> NDArray[np.bool_]:
    """Mark the values of a solution that are neither 0 nor 1, in the shape of `x`."""
    values, error = np.asarray(x), TOLERANCES.integrality
    return np.asarray((values > error) & (values < 1 - error))


@final
@dataclass(frozen=True, eq=False)
class _Point:
    bound: float
    admissible: NDArray[np.bool_]
    x: NDArray[np.float64] | None


@final
class _Program:
    """The linear program with its cuts. Each row has a column of its own besides, which costs the incumbent's loss."""

    def __init__(self, listed: Listed, upper: float, cuts: NDArray[np.int32]) -> None:
        self.listed, self.price = listed, max(upper, listed.scale)
        self.index = np.arange(len(listed.costs))
        self.classes, self.costs = listed.classes, listed.costs
        self.cuts = cuts
        self.root = (-math.inf, np.zeros(len(self.costs)))
        self.model = self._built()

    def _built(self) -> LinearModel:
        """Return the program of all listed classes: cover each row, at most so many classes, and the cuts."""
        from scipy import sparse

        from discreet.core.lp import LinearModel, LinearProgram

        n = self.listed.n
        cover = sparse.hstack([incidence(self.classes, n).T, sparse.eye_array(n)])
        all_ = sparse.csr_array(np.append(np.ones(len(self.costs)), np.zeros(n))[None, :])
        rows = sparse.vstack([cover, all_, rows_of(self.cuts, self.classes, n)])
        low = np.concatenate([np.ones(n), np.full(1 + len(self.cuts), -np.inf)])
        high = np.concatenate([np.ones(n), self._most(self.cuts)])
        cost = np.concatenate([self.costs, np.full(n, self.price)])
        return LinearModel(LinearProgram(cost, rows, row_lower=low, row_upper=high))

    def _most(self, cuts: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the right-hand sides of the number of classes and of the cuts."""
        return np.append(self.listed.n // self.listed.k, half(cuts)).astype(np.float64)

    def relax(self, branch: _Branch, upper: float, limits: SearchLimits, rounds: int) -> _Point:
        """Solve a branch, at most `rounds` times, adding violated cuts while the bound rises enough.

        Returns the bound, the classes that may still lose less than `upper`, and the last solution, ``None`` without
        one. A linear program for each round.
        """
        bound, admissible, x = branch.bound, branch.admissible, None
        for _ in range(rounds):
            solution = self._solved(admissible, limits)
            if solution is None or solution.row_duals is None:
                return _Point(bound, admissible, None)
            x = solution.x[: len(self.costs)]
            value, reduced = self._formula(solution.row_duals, admissible)
            if branch.number == 0 and value > self.root[0]:
                self.root = value, reduced
            gained, bound = value - bound, max(bound, value)
            admissible &= value + reduced < _cutoff(upper)
            if bound >= _cutoff(upper):
                break
            if admissible.sum() < 0.7 * len(admissible) and branch.number == 0:
                self._compact(admissible, solution.row_duals)
                admissible, x = np.ones(len(self.costs), dtype=bool), x[admissible]
            fractional = np.flatnonzero(_is_fractional(x))
            new_cuts = violated(self.classes[fractional], x[fractional], self.listed.n)
            if not len(new_cuts) or gained < CUTS.min_gap_closed * (upper - bound):
                break
            self.cuts = np.concatenate([self.cuts, new_cuts])
            self.model.add_rows(
                rows_of(new_cuts, self.classes, self.listed.n),
                -np.inf,
                half(new_cuts).astype(np.float64),
            )
        return _Point(bound, admissible, x)

    def _solved(self, admissible: NDArray[np.bool_], limits: SearchLimits) -> LPSolution | None:
        """Solve the linear program of the admissible classes, ``(classes,)`` booleans; ``None`` if the time is over."""
        from discreet.core.errors import LimitReachedError

        high = np.concatenate([np.where(admissible, np.inf, 0.0), np.full(self.listed.n, np.inf)])
        self.model.set_column_bounds(0.0, high)
        seconds = limits.seconds
        try:
            return self.model.solve(time_limit=seconds, threads=limits.threads, tolerance=1e-9)
        except LimitReachedError:
            return None

    def _formula(
        self, duals: NDArray[np.float64], admissible: NDArray[np.bool_]
    ) -> tuple[float, NDArray[np.float64]]:
        """Bound the branch by multipliers `duals`, those of cuts clipped to 0 at most.

        Also return reduced costs ``(classes,)``. Both are rounded down. `admissible` are the classes of the branch.
        Linear in the matrix, and a sort.
        """
        n, k = self.listed.n, self.listed.k
        y = duals.copy()
        y[n:] = np.minimum(y[n:], 0.0)
        matrix = self.model.program.matrix
        reduced = self.costs - np.asarray(matrix.T @ y)[: len(self.costs)]
        # Sums of at most so many terms, each at most k times a multiplier; 2^-52 is twice the unit of rounding.
        magnitude = k * float(np.abs(y).sum()) + 2 * k * self.listed.scale
        slack = (len(y) + 4 * k) * 2.0**-52 * magnitude
        reduced -= slack
        roots = np.zeros(n)
        np.minimum.at(roots, self.classes[admissible, 0], reduced[admissible])
        least = np.sort(roots)[: n // k]
        paid = np.concatenate([y[:n], y[n:] * self._most(self.cuts)])
        value = math.fsum(paid.tolist()) + math.fsum(least.tolist())
        # Each product and both sums are rounded once.
        return value - 2.0**-51 * (abs(value) + float(np.abs(paid).sum())), reduced

    def _compact(self, admissible: NDArray[np.bool_], duals: NDArray[np.float64]) -> None:
        """Drop the classes that are not `admissible` ``(classes,)``, and cuts whose `duals` do not bind.

        Build the model anew.
        """
        self.index, self.classes = self.index[admissible], self.classes[admissible]
        self.costs = self.costs[admissible]
        self.root = self.root[0], self.root[1][admissible]
        self.cuts = self.cuts[duals[self.listed.n + 1 :] < 0]
        self.model = self._built()

    def forget(self, upper: float) -> NDArray[np.bool_]:
        """Drop classes that the first branch's bound keeps out of every partition that loses less than `upper`.

        Returns which of them, ``(classes,)``, were kept; all of them where few would go.
        """
        value, reduced = self.root
        useful = np.asarray(value + reduced < _cutoff(upper))
        if useful.sum() > 0.8 * len(useful):
            return np.ones(len(useful), dtype=bool)
        self.index, self.classes = self.index[useful], self.classes[useful]
        self.costs, self.root = self.costs[useful], (value, reduced[useful])
        self.model = self._built()
        return useful

    def pair(self, point: _Point) -> tuple[int, int] | None:
        """Choose two rows that share classes by about one half; ``None`` where every class is in or out."""
        split = self._split(point.x)
        return min(split, key=lambda key: (abs(split[key] - 0.5), key), default=None)

    def _split(self, x: NDArray[np.float64] | None) -> dict[tuple[int, int], float]:
        """Return the pairs of rows that share classes fractionally in solution `x` ``(classes,)``, with fractions.

        Keys are (row, row), the smaller first, values strictly between 0 and 1; only classes with a fractional value
        count. Empty for ``None``.
        """
        together: dict[tuple[int, int], float] = {}
        if x is None:
            return together
        for at in np.flatnonzero(_is_fractional(x)):
            rows = [int(row) for row in self.classes[at] if row >= 0]
            for place, row in enumerate(rows):
                for other in rows[:place]:
                    key = (other, row)
                    together[key] = together.get(key, 0.0) + float(x[at])
        return {key: value for key, value in together.items() if _is_fractional(value)}

    def holding(self, row: int) -> NDArray[np.bool_]:
        """Mark the classes that hold a row, ``(classes,)``."""
        return np.asarray((self.classes == row).any(axis=1))

    def is_partition(self, chosen: NDArray[np.int64]) -> bool:
        """Whether classes cover each row once."""
        rows = self.classes[chosen]
        return bool(np.array_equal(np.sort(rows[rows >= 0]), np.arange(self.listed.n)))

    def loss_of(self, chosen: NDArray[np.int64]) -> float:
        """Return the total loss of some classes, by their indices."""
        return math.fsum(self.costs[chosen].tolist())
