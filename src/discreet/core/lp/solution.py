"""The solution that measures itself: a point, its multipliers, and how far the point is from feasible.

A solver is never believed. Each residual is computed anew from the program, and what is undefined is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.lp.program import LinearProgram


@dataclass(frozen=True, eq=False)
class LPSolution:
    r"""A point of a program, with the multipliers that show how good it is.

    With y the row duals and d the reduced costs, an optimal solution of a linear program has

    .. math::

        c - A^\top y = d, \qquad
        c^\top x = \sum_i y_i \begin{cases} r_i & y_i > 0 \\ R_i & y_i < 0 \end{cases}
                 + \sum_j d_j \begin{cases} l_j & d_j > 0 \\ u_j & d_j < 0. \end{cases}

    Parameters
    ----------
    program
        What was solved.
    x
        The point, shape (n,). Integer variables hold integers.
    row_duals
        y, shape (m,): the rise of the optimum for a rise of the binding side of a row by one. The program
        minimizes, so y is nonnegative at a binding lower side (``>=``), nonpositive at a binding upper side
        (``<=``), free for an equality, and zero where the row is slack. ``None`` for a mixed-integer program, and
        where a limit ended the search.
    reduced_costs
        d, shape (n,), with the same signs for ``lower`` and ``upper``. ``None`` like ``row_duals``.
    objective
        The cost of ``x``.
    bound
        No point costs less, in the solver's floating-point arithmetic: the dual objective of a linear program, the
        best bound of a mixed-integer one, minus infinity where a limit came first. For a bound that is rounded
        outward see :func:`~discreet.core.lp.lagrangian_bound`.
    iterations
        Iterations of the simplex and interior-point methods and of crossover, in all linear programs solved.
    seconds
        Wall-clock time of the solver.

    Examples
    --------
    >>> from discreet.core.lp import LinearProgram, solve
    >>> solution = solve(LinearProgram([-1, -2], [[1, 1], [0, 1]], row_upper=[4, 3]))
    >>> solution.x.tolist(), solution.row_duals.tolist(), solution.objective
    ([1.0, 3.0], [-1.0, -1.0], -7.0)
    >>> solution.primal_residual(), solution.is_feasible()
    (0.0, True)
    """

    program: LinearProgram
    x: NDArray[np.float64]
    row_duals: NDArray[np.float64] | None
    reduced_costs: NDArray[np.float64] | None
    objective: float
    bound: float
    iterations: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        n, m = self.program.n_variables, self.program.n_rows
        for name, size in (("x", n), ("row_duals", m), ("reduced_costs", n)):
            values = getattr(self, name)
            if values is None and name != "x":
                continue
            vector = np.array(values, dtype=np.float64)
            if vector.shape != (size,):
                raise InvalidProblemError(name, f"shape ({size},)", f"shape {vector.shape}")
            vector.setflags(write=False)
            object.__setattr__(self, name, vector)

    def primal_residual(self) -> float:
        """Largest violation of a row, a bound or integrality at ``x``, in the units of that constraint.

        One pass over the entries of the matrix.

        Returns
        -------
        float
            Zero for a feasible point; infinite where the point is not finite.
        """
        program = self.program
        if not np.isfinite(self.x).all():
            return np.inf
        activity = program.matrix @ self.x
        violations = [
            program.row_lower - activity,
            activity - program.row_upper,
            program.lower - self.x,
            self.x - program.upper,
        ]
        if program.integrality is not None:
            integers = self.x[program.integrality]
            violations.append(np.abs(integers - np.rint(integers)))
        return _worst(violations)

    def is_feasible(self, tol: float = 1e-6) -> bool:
        """Whether the primal residual is within a tolerance.

        One pass over the entries of the matrix.

        Parameters
        ----------
        tol
            Relative to the largest finite side of a row, or to 1 where that is larger.

        Returns
        -------
        bool
            True when :meth:`primal_residual` is at most that.
        """
        sides = np.concatenate([self.program.row_lower, self.program.row_upper])
        return self.primal_residual() <= tol * float(
            np.abs(sides[np.isfinite(sides)]).max(initial=1.0)
        )


def _worst(violations: list[NDArray[np.float64]]) -> float:
    """Largest positive entry, or zero; infinity stands for anything that is not a number."""
    largest = float(np.concatenate(violations).max(initial=0.0))
    # Adding zero makes a negative zero positive.
    return np.inf if np.isnan(largest) else largest + 0.0
