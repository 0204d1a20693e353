r"""Column generation: a channel as a mixture of columns that are private by construction.

The columns of private channels form the cone :math:`V = \{v \ge 0 : v_i \le e^{\epsilon d_{ij}} v_j\}`, so that

.. math::

    \min \sum_t f_t y_t \quad\text{subject to}\quad \sum_t y_t v^t = 1,\ y \ge 0,\qquad
    v^t \in V \text{ a column of report } k_t,\ f_t = C_{k_t}^\top v^t,

is the whole problem with one row for each secret (Dantzig and Wolfe's decomposition by reports). Given prices
:math:`\lambda` of these rows, each report k asks for its best new column,
:math:`\min\{(C_k - \lambda)^\top v : v \in V,\ v \le 1\}`, a program of n variables. The prices of the constraints in
these small programs are prices for the whole problem, whose bound is at least
:math:`1^\top\lambda + \sum_k \min(0, \mathrm{value}_k)`.

It starts from the columns of the closed form, of its plateaus, and of the exponential mechanism. Where nearest secrets
are a nat apart it ends after three rounds, with programs that are a thousand times smaller than the whole; at half a
nat after some thirty. Far below that, and where there are fewer reports than secrets, the prices swing and it stalls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import (
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.jit import clock
from discreet.core.lp.program import SMALLEST_ENTRY
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.direct import constraint_matrix, priced_edges, ratio_prices
from discreet.metricdp.part import Candidate, Part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.part import PartLimits

__all__ = ["Columns"]


_MOST_FOR_PRESOLVE = 500
"""Secrets from which on the master is solved without presolve, which neither a signal nor a time limit stops: 1,000
points of unit density, radius 2, one nat a kilometer, 22 processor seconds with it, ten of them in presolve, 17 without
(November 2026)."""


_PLAIN = 10
"""Binary orders of magnitude up to which costs are priced as they are."""


@final
@dataclass(frozen=True)
class Columns:
    """Column generation by reports, with HiGHS for the master and for the columns.

    Parameters
    ----------
    rounds
        Rounds after which to give up.

    Examples
    --------
    >>> Columns(rounds=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: rounds: expected at least one round, got 0
    """

    rounds: int = 30

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise InvalidProblemError("rounds", "at least one round", self.rounds)

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Generate columns until the gap between master and bound is less than half of what is asked.

        Returns
        -------
        Candidate or None
            ``None`` where the part has not one report for each secret.

        Complexity
        ----------
        Each round n programs with n variables and two rows for each constraint that no others imply, and a master with
        n rows.
        """
        if part.own is None:
            return None
        stop = None if limits.solving is None else clock() + limits.solving
        pool, pricing = _Pool(part, part.own), _Pricing(part, limits.threads)
        lower, upper, prices = -math.inf, math.inf, Multipliers.none()
        weights, count = np.zeros(0), 0
        while count < self.rounds:
            count += 1
            try:
                left = None if stop is None else max(0.0, stop - clock())
                level, weights, upper = pool.solve(limits.threads, left)
                value, found, columns = pricing.price(level, stop)
            except (LimitReachedError, InfeasibleError, SolverError):
                break
            if value > lower:
                lower, prices = value, found
            if upper - lower <= 0.4 * limits.gap * upper or not pool.add(columns, level):
                break
        if not weights.size:
            return Candidate("columns", None, None, "Time ran out before the first round ended.")
        note = f"{count} rounds of column generation, {len(pool.owner)} columns."
        facts = {"rounds": count, "columns": len(pool.owner)}
        return Candidate("columns", pool.matrix(weights), prices, note, facts)


class _Pool:
    """The columns so far, and the master program over them, solved in its dual form: a column is a row there."""

    def __init__(self, part: Part, own: NDArray[np.int64]) -> None:
        from discreet.core.lp import LinearModel, LinearProgram

        self.part = part
        self.scale = float(part.cost.max()) or 1.0
        self.decay = np.exp(-part.rate * part.paths)
        nearest = part.cost.argmin(axis=1)
        columns = []
        for secret, report in enumerate(own.tolist()):
            columns.append((report, self.decay[:, secret]))
            cell = np.flatnonzero(nearest == report)
            if cell.size:
                columns.append((report, self.decay[:, cell].max(axis=1)))
        constant = int(part.cost.sum(axis=0).argmin())
        columns.append((constant, np.ones(part.n)))
        exponential = np.sqrt(self.decay)
        exponential /= exponential.sum(axis=1, keepdims=True)
        exponential /= exponential.max(axis=0)
        columns += [(report, exponential[:, secret]) for secret, report in enumerate(own.tolist())]
        rows, side = self._rows(columns)
        self.owner = [report for report, _ in columns]
        self.columns = [column for _, column in columns]
        program = LinearProgram(-np.ones(part.n), rows, row_upper=side, lower=-np.inf)
        self.model = LinearModel(program)

    def _rows(
        self, columns: list[tuple[int, NDArray[np.float64]]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table = np.array([column for _, column in columns])
        cost = self.part.cost[:, [report for report, _ in columns]].T
        # What the solver would drop anyway; the columns themselves keep it.
        rows = np.where(table > 10 * SMALLEST_ENTRY, table, 0.0)
        return rows, (table * cost).sum(axis=1) / self.scale

    def solve(
        self, threads: int, seconds: float | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Solve the master; return the prices of its rows, the weights of its columns, and its value."""
        found = self.model.solve(
            threads=threads,
            time_limit=seconds,
            method="simplex",
            tolerance=1e-9,
            presolve=self.part.n < _MOST_FOR_PRESOLVE,
        )
        weights = ratio_prices(found, len(self.owner))
        return found.x * self.scale, weights, -found.objective * self.scale

    def add(
        self, columns: list[tuple[int, NDArray[np.float64]]], level: NDArray[np.float64]
    ) -> bool:
        """Close new columns under the constraints, and keep those that still pay; say whether any did."""
        kept = []
        for report, column in columns:
            seen = column > 1e-6 * column.max()
            closed = (self.decay[:, seen] * column[seen]).max(axis=1)
            closed /= closed.max()
            if (self.part.cost[:, report] - level) @ closed < -1e-12 * self.scale:
                kept.append((report, closed))
        if kept:
            rows, side = self._rows(kept)
            self.model.add_rows(rows, -np.inf, side)
            self.owner += [report for report, _ in kept]
            self.columns += [column for _, column in kept]
        return bool(kept)

    def matrix(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the columns of each report."""
        table = np.zeros_like(self.part.cost)
        for weight, report, column in zip(weights.tolist(), self.owner, self.columns, strict=False):
            if weight > 0:
                table[:, report] += weight * column
        return table


class _Pricing:
    """The small program of all reports in turn: the same constraints, other costs."""

    def __init__(self, part: Part, threads: int) -> None:
        from discreet.core.lp import LinearModel, LinearProgram

        self.part, self.threads = part, threads
        exponent = math.frexp(float(part.cost.max()))[1]
        # Tolerances of the solver are absolute, and 1e20 is infinite to it.
        self.unit = 2.0**exponent if exponent > _PLAIN else 1.0
        self.edges: Adjacency = priced_edges(part)
        alone = Part(np.zeros((part.n, 1)), part.constraints, part.epsilon, None)
        matrix, _ = constraint_matrix(alone, self.edges)
        ratios = matrix[: 2 * len(self.edges)]
        self.model = LinearModel(LinearProgram(np.ones(part.n), ratios, row_upper=0.0, upper=1.0))

    def price(
        self, level: NDArray[np.float64], stop: float | None
    ) -> tuple[float, Multipliers, list[tuple[int, NDArray[np.float64]]]]:
        """Find every report's best column at the given prices; return the bound, its multipliers, and the columns."""
        part, pairs = self.part, self.edges.pairs
        ends = np.concatenate([pairs, pairs[:, ::-1]])
        bound, columns, prices = float(level.sum()), [], []
        for report in range(part.n_reports):
            cost = part.cost[:, report] - level
            if cost.min() >= 0:
                continue
            left = None if stop is None else stop - clock()
            if left is not None and left <= 0:
                raise LimitReachedError("time ran out while columns were priced")
            self.model.set_cost(cost / self.unit)
            found = self.model.solve(
                method="simplex", threads=self.threads, tolerance=1e-9, time_limit=left
            )
            bound += min(0.0, found.objective) * self.unit
            dual = ratio_prices(found, len(ends)) * self.unit
            at = np.flatnonzero(dual)
            prices.append(Multipliers(np.full(len(at), report), ends[at, 0], ends[at, 1], dual[at]))
            if found.objective < 0:
                columns.append((report, np.maximum(found.x, 0.0)))
        return bound, Multipliers.stack(prices), columns
