r"""The linear program on the constraints that are not implied by others.

.. math::

    \min_{z \ge 0} \sum_{ik} p_i c_{ik} z_{ik} \quad\text{subject to}\quad
    z_{ik} \le e^{\epsilon d_{ij}} z_{jk},\qquad \sum_k z_{ik} = 1,

Equations (4) to (7) of [Qiu24]_, each constraint in both directions. The paper states all pairs within its radius;
those that a path of others implies are left out here, which only changes the number of rows.

The solver's answer satisfies the constraints up to tolerances only, which is not private. Proposes; checked by repair
and :func:`~discreet.metricdp.verify`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

from discreet.core.errors import InvalidProblemError, LimitReachedError, SolverError
from discreet.core.jit import clock
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.methods.baselines import exponential_rows
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from discreet.core.lp import LinearProgram, LPSolution
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.metricdp.part import Part, PartLimits

Solver: TypeAlias = Literal["simplex", "ipm"]
"""Method of HiGHS."""

LARGEST_EXPONENT = 20.0
"""Nats beyond which a constraint is left out of the program: the other terms of its rows would be below the solver's
tolerance. Leaving it out relaxes the program, so that prices stay valid; the repair keeps all constraints."""


MAX_ROWS = 2_000_000
"""Rows beyond which a program is not built: HiGHS takes 1,200 bytes a row, and gave no answer for 1.9 million. A fixed
number, so that the same input gives the same design."""


MIN_SECONDS_PER_ROW = 2e-6
"""Seconds for each row below which the program is not built. Building, transfer and HiGHS' presolve, which ignores the
time limit, took 0.9e-6 for 1.9 million rows, after which there was no answer; November 2026."""


@final
@dataclass(frozen=True)
class Direct:
    """The linear program on one part, by HiGHS.

    Parameters
    ----------
    solver
        ``"simplex"``, ``"ipm"`` (interior point, without crossover), or ``"auto"``, which is interior point. The other
        one is tried if it fails.

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
        """Build the linear program of `part` and solve it, within the seconds and threads of `limits`.

        Returns
        -------
        Candidate
            The matrix ``(n, K)`` and the prices of its constraints; neither if the program would have too many rows.

        Raises
        ------
        LimitReachedError
            If time is up, or too short to build the program.
        SolverError
            If HiGHS has no answer by either method.

        Complexity
        ----------
        ``2 m K + n`` rows and ``n K`` variables for n secrets, K reports and m constraints not implied by others.
        """
        edges = priced_edges(part)
        rows = program_rows(part, edges)
        if rows > MAX_ROWS:
            note = f"The linear program of {rows} rows was not built; PrimalDual() needs less."
            return Candidate("direct", None, None, note)
        begun, seconds = clock(), limits.solving
        if seconds is not None and seconds < MIN_SECONDS_PER_ROW * rows:
            raise LimitReachedError(
                f"there is no time left to build the linear program of {rows} rows"
            )
        stop = None if seconds is None else begun + seconds
        # Tolerances are absolute: without scaling a small optimum would vanish in them.
        scale = optimum_scale(part) or 1.0
        program = channel_program(part, edges, scale)
        first: Solver = "ipm" if self.solver == "auto" else self.solver
        solution, solver = solve_by_either(program, first, stop, limits.threads)
        matrix = np.maximum(solution.x, 0.0).reshape(part.cost.shape)
        note = f"The linear program of {rows} rows was solved by {solver} in {solution.iterations} iterations."
        facts = {"solver": solver, "rows": rows, "iterations": solution.iterations}
        dual = ratio_prices(solution) * scale
        return Candidate("direct", matrix, edge_prices(edges, part.n_reports, dual), note, facts)


def channel_program(
    part: Part, edges: Adjacency, scale: float, *, upper: float = math.inf
) -> LinearProgram:
    """Return the program of the whole channel of `part`, with the rows of :func:`constraint_matrix`.

    Its ``n k`` variables are the entries of the channel, row by row, each at most `upper`. Costs are divided by
    `scale`.
    """
    from discreet.core.lp import LinearProgram

    matrix, sides = constraint_matrix(part, edges)
    lower = np.where(sides == 0, -np.inf, 1.0)
    cost = (part.cost / scale).ravel()
    return LinearProgram(cost, matrix, row_lower=lower, row_upper=sides, upper=upper)


def solve_by_either(
    program: LinearProgram, first: Solver, stop: float | None, threads: int
) -> tuple[LPSolution, Solver]:
    """Solve a program by one method, or by the other where that fails; return the solution and its method.

    Interior points without crossover may end as "unknown", and simplex in numerical trouble. `stop` is in seconds of
    the clock, ``None`` for no limit. LimitReachedError if time is up, SolverError without an answer.
    """
    from discreet.core.lp import solve

    def run(method: Solver) -> LPSolution:
        left = None if stop is None else max(0.0, stop - clock())
        return solve(program, method=method, crossover=False, time_limit=left, threads=threads)

    try:
        return run(first), first
    except SolverError:
        second: Solver = "simplex" if first == "ipm" else "ipm"
        return run(second), second


def priced_edges(part: Part) -> Adjacency:
    """Return the constraints not implied by others whose coefficients are within the solver's precision.

    Longer than 20 nats is left out. Up to ``O(n^3)`` for the first access to the part's binding constraints.
    """
    graph = part.binding
    return graph.subgraph(np.flatnonzero(part.rate * graph.lengths <= LARGEST_EXPONENT))


def program_rows(part: Part, edges: Adjacency) -> int:
    """Count the rows of the program."""
    return 2 * len(edges) * part.n_reports + part.n


def constraint_matrix(part: Part, edges: Adjacency) -> tuple[csr_array, NDArray[np.float64]]:
    """Return the rows and their upper bounds: ratios first, both directions, then sums.

    Row ``e K + k`` of the first ``m K`` is ``z_ik - e^(epsilon d) z_jk <= 0`` for constraint e = (i, j); the same
    place of the next ``m K`` has i and j exchanged; then one row for each secret.

    ``4 m K + n K`` nonzeros.

    Columns are the entries of the channel, row by row; `part` gives n, K and epsilon. Upper bounds are 0, then 1 for
    sums.
    """
    from scipy.sparse import csr_array

    n, k = part.cost.shape
    ratio = np.exp(part.rate * edges.lengths)
    column = edges.pairs.astype(int)[:, None, :] * k + np.arange(k)[None, :, None]
    forth = np.broadcast_to(
        np.stack([np.ones_like(ratio), -ratio], axis=1)[:, None, :], column.shape
    )
    indices = np.concatenate([column.ravel(), column.ravel(), np.arange(n * k)])
    data = np.concatenate([forth.ravel(), forth[:, :, ::-1].ravel(), np.ones(n * k)])
    m = 2 * len(edges) * k
    starts = np.concatenate([2 * np.arange(m), 2 * m + k * np.arange(n + 1)])
    upper = np.concatenate([np.zeros(m), np.ones(n)])
    return csr_array((data, indices, starts), shape=(m + n, n * k)), upper


def optimum_scale(part: Part) -> float:
    """Estimate the size of the optimum by the loss of exponential decay at full rate, which is not private.

    At least ``1e-9`` times the largest cost. ``O(n k)``, and all shortest paths.
    """
    decay = exponential_rows(-part.rate * part.paths[:, part.homes])
    return max(float((part.cost * decay).sum()), 1e-9 * float(part.cost.max()))


def edge_prices(edges: Adjacency, n_reports: int, dual: NDArray[np.float64]) -> Multipliers:
    """Return the positive ones of prices of the rows of :func:`constraint_matrix`; those of the sums are left out.

    `dual` has one price for each row, or for each ratio only. Linear in edges times reports.
    """
    priced = np.flatnonzero(dual[: 2 * len(edges) * n_reports])
    ends = np.concatenate([edges.pairs, edges.pairs[:, ::-1]])[priced // n_reports]
    return Multipliers(priced % n_reports, ends[:, 0], ends[:, 1], dual[priced])


def ratio_prices(solution: LPSolution) -> NDArray[np.float64]:
    """Return the prices of all rows, which are right for rows of the form ``<= 0``; none negative.

    In the scale of the program. SolverError if `solution` has no duals. Linear.
    """
    if solution.row_duals is None:
        raise SolverError("HiGHS", "no multipliers", "of an optimal solution")  # pragma: no cover
    return np.maximum(-solution.row_duals, 0.0)
