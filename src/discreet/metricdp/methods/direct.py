r"""The linear program itself, on the constraints that no others imply.

.. math::

    \min_{z \ge 0} \sum_{ik} p_i c_{ik} z_{ik} \quad\text{subject to}\quad
    z_{ik} \le e^{\epsilon d_{ij}} z_{jk},\qquad \sum_k z_{ik} = 1,

Equations (4) to (7) of [Qiu24]_, each constraint in both directions. The paper states all pairs within its radius;
those that a path of others implies are left out here, which changes nothing but the number of rows.

What the solver returns is private up to tolerances only, which is not private: others repair it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError, SolverError
from discreet.core.jit import clock
from discreet.core.printed import at_most
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from discreet.core.lp import LinearProgram, LPSolution
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.part import Part, PartLimits

__all__ = ["Direct", "constraint_matrix", "priced_edges", "program_rows", "ratio_prices"]

LARGEST_EXPONENT = 20.0
"""Nats beyond which a constraint is left out of the program: its coefficient would drown the others. Leaving it out
relaxes the program, so that its prices stay valid; the repair knows all constraints."""

_STEEP = 3.0
"""Nats between nearest secrets above which the simplex method was faster than the interior-point method."""

_BYTES_PER_ROW = 1200
"""Memory that HiGHS takes for a row of this program with its variables, measured: 2.5 GB for 1.9 million rows."""

_LARGEST_MODEL = 6 * 2**30
"""Bytes beyond which a program is not built; a fixed number, so that the same input gives the same design."""

_SECONDS_A_ROW = 2e-6
"""Seconds for each row below which the program is not built. Building, handing it over and HiGHS' presolve, which does
not look at its limit, took 0.9e-6 for 1.9 million rows, after which there was no answer; November 2026."""


@final
@dataclass(frozen=True)
class Direct:
    """The linear program on one part, by HiGHS.

    Parameters
    ----------
    solver
        ``"simplex"``, ``"ipm"`` (interior point, without crossover), or ``"auto"``: simplex where nearest secrets are
        more than three nats apart, where most of the channel is at its vertices' tails, else interior point.

    Raises
    ------
    InvalidProblemError
        For a solver of another name.

    Examples
    --------
    >>> Direct(solver="dual")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: solver: expected 'auto', 'simplex' or 'ipm', got 'dual'
    """

    solver: Literal["auto", "simplex", "ipm"] = "auto"

    def __post_init__(self) -> None:
        if self.solver not in {"auto", "simplex", "ipm"}:
            raise InvalidProblemError("solver", "'auto', 'simplex' or 'ipm'", repr(self.solver))

    def solve(self, part: Part, limits: PartLimits) -> Candidate:
        """Build the program and solve it.

        Returns
        -------
        Candidate
            Without a matrix where the program would not fit into memory.

        Raises
        ------
        LimitReachedError
            When time runs out, or is too short to build the program.
        SolverError
            When HiGHS finds no answer by either method.

        Complexity
        ----------
        ``2 m K + n`` rows and ``n K`` variables for n secrets, K reports and m constraints that no others imply.
        """
        edges = priced_edges(part)
        rows = program_rows(part, edges)
        if rows * _BYTES_PER_ROW > _LARGEST_MODEL:
            gib = rows * _BYTES_PER_ROW / 2**30
            note = f"The linear program of {rows} rows would take {at_most(gib, 2)} GiB and was not built;"
            note += " PrimalDual() needs less."
            return Candidate("direct", None, None, note)
        begun, seconds = clock(), limits.solving
        if seconds is not None and seconds < _SECONDS_A_ROW * rows:
            raise LimitReachedError(
                f"there is no time left to build the linear program of {rows} rows"
            )
        stop = None if seconds is None else begun + seconds
        program = self._program(part, edges)
        first: Literal["simplex", "ipm"] = self._choose(part)
        second: Literal["simplex", "ipm"] = "simplex" if first == "ipm" else "ipm"
        try:
            found, used = self._run(program, first, limits, stop), first
        except SolverError:
            # Interior points without crossover may end as "unknown", and simplex in numerical trouble.
            found, used = self._run(program, second, limits, stop), second
        matrix = np.maximum(found.x, 0.0).reshape(part.cost.shape)
        note = f"The linear program of {rows} rows was solved by {used} in {found.iterations} iterations."
        facts = {"solver": used, "rows": rows, "iterations": found.iterations}
        return Candidate("direct", matrix, _prices(part, edges, found), note, facts)

    def _program(self, part: Part, edges: Adjacency) -> LinearProgram:
        from discreet.core.lp import LinearProgram

        matrix, upper = constraint_matrix(part, edges)
        lower = np.where(upper == 0, -np.inf, 1.0)
        # Tolerances are absolute: without scaling a small optimum would vanish in them.
        cost = (part.cost / _magnitude(part)).ravel()
        return LinearProgram(cost, matrix, row_lower=lower, row_upper=upper)

    @staticmethod
    def _run(
        program: LinearProgram,
        method: Literal["simplex", "ipm"],
        limits: PartLimits,
        stop: float | None,
    ) -> LPSolution:
        from discreet.core.lp import solve

        return solve(
            program,
            method=method,
            crossover=False,
            time_limit=None if stop is None else max(0.0, stop - clock()),
            threads=limits.threads,
        )

    def _choose(self, part: Part) -> Literal["simplex", "ipm"]:
        if self.solver != "auto":
            return self.solver
        nearest = np.full(part.n, np.iinfo(np.int64).max)
        i, j = part.constraints.pairs.T
        np.minimum.at(nearest, np.concatenate([i, j]), np.tile(part.constraints.lengths, 2))
        return "simplex" if part.rate * float(np.median(nearest)) > _STEEP else "ipm"


def priced_edges(part: Part) -> Adjacency:
    """Return the constraints that no others imply, as far as floats can tell their coefficients from a large number."""
    graph = part.binding
    return graph.subgraph(np.flatnonzero(part.rate * graph.lengths <= LARGEST_EXPONENT))


def program_rows(part: Part, edges: Adjacency) -> int:
    """Count the rows of the program."""
    return 2 * len(edges) * part.n_reports + part.n


def constraint_matrix(part: Part, edges: Adjacency) -> tuple[csr_array, NDArray[np.float64]]:
    """List the rows and their upper sides: ratios first, both directions, then sums.

    Row ``e K + k`` of the first ``m K`` is ``z_ik - e^(epsilon d) z_jk <= 0`` for constraint e = (i, j); the same
    place of the next ``m K`` has i and j exchanged; then one row for each secret.
    """
    from scipy.sparse import csr_array

    n, k = part.cost.shape
    ratio = np.exp(part.rate * edges.lengths)
    column = edges.pairs.astype(np.int64)[:, None, :] * k + np.arange(k)[None, :, None]
    forth = np.broadcast_to(
        np.stack([np.ones_like(ratio), -ratio], axis=1)[:, None, :], column.shape
    )
    indices = np.concatenate([column.ravel(), column.ravel(), np.arange(n * k)])
    data = np.concatenate([forth.ravel(), forth[:, :, ::-1].ravel(), np.ones(n * k)])
    m = 2 * len(edges) * k
    starts = np.concatenate([2 * np.arange(m), 2 * m + k * np.arange(n + 1)])
    upper = np.concatenate([np.zeros(m), np.ones(n)])
    return csr_array((data, indices, starts), shape=(m + n, n * k)), upper


def _magnitude(part: Part) -> float:
    """Guess the size of the optimum: the loss without privacy, and that of a channel that decays at full rate."""
    guess = float(part.cost.min(axis=1).sum())
    if part.own is not None:
        decay = np.exp(-part.rate * part.paths)
        guess += float((part.cost[:, part.own] * decay / decay.sum(axis=1, keepdims=True)).sum())
    largest = float(part.cost.max())
    return max(guess, 1e-9 * largest) or 1.0


def _prices(part: Part, edges: Adjacency, found: LPSolution) -> Multipliers:
    """Read the prices of the constraints from the solver's duals; those of the wrong sign are none."""
    m, k = len(edges), part.n_reports
    dual = ratio_prices(found, 2 * m * k) * _magnitude(part)
    at = np.flatnonzero(dual)
    ends = np.concatenate([edges.pairs, edges.pairs[:, ::-1]])[at // k]
    return Multipliers(at % k, ends[:, 0], ends[:, 1], dual[at])


def ratio_prices(found: LPSolution, count: int) -> NDArray[np.float64]:
    """Read the prices of the first rows, which are all of the form ``<= 0``."""
    if found.row_duals is None:
        raise SolverError("HiGHS", "no multipliers", "of an optimal solution")  # pragma: no cover
    prices: NDArray[np.float64] = np.maximum(-found.row_duals[:count], 0.0)
    return prices
