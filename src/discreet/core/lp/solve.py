"""Solve one program, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from discreet.core.lp.highs import Options, load, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.lp.program import LinearProgram
    from discreet.core.lp.solution import LPSolution


def solve(
    program: LinearProgram,
    *,
    method: Literal["auto", "simplex", "ipm"] = "auto",
    time_limit: float | None = None,
    gap: float | None = None,
    threads: int = 1,
    iteration_limit: int | None = None,
    tolerance: float | None = None,
    crossover: bool = True,
    log: Callable[[str], None] | None = None,
) -> LPSolution:
    """Solve a linear or mixed-integer program with HiGHS.

    Only the status *optimal* is an answer; each other status is an error of its own kind. The answer is optimal up
    to tolerances. Where a solution must satisfy its constraints exactly,
    as a privacy mechanism must, it is repaired by the caller.

    The simplex method and a mixed-integer search may take exponential time; interior points take few steps, each a
    factorization of a sparse matrix.

    Parameters
    ----------
    program
        The program.
    method
        ``"simplex"`` ends at a vertex; ``"ipm"`` is an interior-point method; ``"auto"`` leaves the choice to HiGHS,
        and is the only one for a mixed-integer program.
    time_limit
        Seconds of wall-clock time.
    gap
        Relative gap ``(objective - bound) / abs(objective)`` at which a mixed-integer search may stop. ``None`` is 0.
    threads
        Threads of the solver. Same program and threads, same answer.
    iteration_limit
        Iterations of the simplex or interior-point method; of a mixed-integer search, nodes of its tree.
    tolerance
        Largest violation that counts as none, from 1e-10 up: absolute for rows, bounds and integrality, and for
        reduced costs relative to the largest cost or 1, whichever is smaller. ``None`` is 1e-7, and 1e-8 for the
        optimality of the interior-point method.
    crossover
        Whether the interior-point method ends at a vertex. Without it the point lies inside the optimal face, and
        there is no basis.
    log
        Called with each line of the solver's log.

    Returns
    -------
    LPSolution
        The optimal point, with multipliers and bound.

    Raises
    ------
    InfeasibleError
        When no point is feasible, up to the tolerance.
    LimitReachedError
        When a limit ended the search. ``best`` is the last point as an ``LPSolution`` with its bound, where that
        point was measured to be feasible, else ``None``.
    SolverError
        For everything else: an unbounded program, numerical failure, a model that HiGHS would not read as written.
    InvalidProblemError
        When an option is out of its range.
    KeyboardInterrupt
        On Ctrl-C, once the solver has stopped: at its next iteration.

    Notes
    -----
    HiGHS has absolute tolerances, and a cost below 1e-7 counts as zero for it. Costs whose largest is below 1 are
    therefore multiplied by a power of two on the way in, and multipliers divided by it on the way out, both exact.
    Costs far below the largest are still lost.

    References
    ----------
    [HH18]_, the dual simplex method that ``"auto"`` runs on a linear program.

    Examples
    --------
    The channel that reports one of two secrets wrongly as rarely as metric privacy at distance ln 3 allows:

    >>> from discreet.core.lp import LinearProgram
    >>> ratios = [[1, 0, -3, 0], [-3, 0, 1, 0], [0, 1, 0, -3], [0, -3, 0, 1]]
    >>> rows_sum = [[1, 1, 0, 0], [0, 0, 1, 1]]
    >>> program = LinearProgram(
    ...     [0, 1, 1, 0], ratios + rows_sum, row_lower=[-float("inf")] * 4 + [1, 1], row_upper=[0] * 4 + [1, 1]
    ... )
    >>> solution = solve(program)
    >>> round(solution.objective, 9), solution.is_feasible()
    (0.5, True)
    >>> solve(LinearProgram([1], [[1], [1]], row_lower=[2, -1], row_upper=[3, 1]))
    Traceback (most recent call last):
    discreet.core.errors.InfeasibleError: HiGHS finds no feasible point of LinearProgram(1 variables, 2 rows, 2 \
nonzeros)
    """
    options = Options(method, time_limit, gap, threads, iteration_limit, tolerance, crossover, log)
    return run(load(program), program, options)
