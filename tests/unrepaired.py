"""Matrices of methods as they are before the repair, for laws that their integers keep only nearly."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError
from discreet.metricdp import Problem
from discreet.metricdp.part import PartLimits, WholeProblem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp.part import Method


def matrix_of(
    method: Method, space: MetricSpace, epsilon: str, *, reports: list[int] | None = None
) -> NDArray[np.float64]:
    """Return the matrix of a method that loses distance, with constraints of all pairs."""
    problem = Problem(space, utility_loss="distance", reports=reports)
    return baseline_matrix(method, problem, space.adjacency(), Fraction(epsilon))


def baseline_matrix(
    method: Method, problem: Problem, constraints: Adjacency, epsilon: Fraction
) -> NDArray[np.float64]:
    """Return the matrix of a method, a row for each secret of the problem; refuse one that does not apply."""
    whole = WholeProblem(problem, constraints, epsilon)
    matrices = []
    for part in whole.parts:
        found = method.solve(part, PartLimits())
        if found is None or found.matrix is None:
            raise InvalidProblemError("method", "one that applies", type(method).__name__)
        matrices.append(found.matrix)
    return whole.assemble(matrices)[whole.labels]
