"""How far a solution of a program is from proving itself: residuals of its multipliers, and the gap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.lp.bounds import dual_objective

if TYPE_CHECKING:
    from discreet.core.lp import LPSolution


def dual_residual(solution: LPSolution) -> float:
    """Largest error of ``c - A.T y = d``, and largest multiplier of an infinite side; infinite without multipliers."""
    program, y, d = solution.program, solution.row_duals, solution.reduced_costs
    if y is None or d is None or not (np.isfinite(y).all() and np.isfinite(d).all()):
        return math.inf
    errors = [
        np.abs(program.cost - program.matrix.T @ y - d),
        np.where(np.isneginf(program.row_lower), y, 0.0),
        np.where(np.isposinf(program.row_upper), -y, 0.0),
        np.where(np.isneginf(program.lower), d, 0.0),
        np.where(np.isposinf(program.upper), -d, 0.0),
    ]
    return float(np.concatenate(errors).max(initial=0.0))


def duality_gap(solution: LPSolution) -> float:
    """Distance of the cost from the dual objective, or of a mixed-integer program from its bound."""
    program, bound = solution.program, solution.bound
    if not program.is_mixed_integer:
        if not dual_residual(solution) < math.inf:
            return math.inf
        y, d = solution.row_duals, solution.reduced_costs
        assert y is not None
        assert d is not None
        bound = dual_objective(program, y, d)
    return abs(float(program.cost @ solution.x) - bound)


def is_optimal(solution: LPSolution, tol: float = 1e-6) -> bool:
    """Whether the residuals and the gap are within a tolerance, relative to sides, costs and the objective's terms."""
    program = solution.program
    price = float(np.abs(program.cost).max())
    spent = float(np.abs(program.cost * solution.x).sum())
    proved = program.is_mixed_integer or dual_residual(solution) <= tol * price
    near = duality_gap(solution) <= tol * spent + 1e-15 * price
    return solution.is_feasible(tol) and proved and near
