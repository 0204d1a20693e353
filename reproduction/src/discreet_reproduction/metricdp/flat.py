"""The program of [Qiu24]_ as it stands, without any decomposition, and what a solver's answer to it keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.lp import LinearProgram
from discreet.metricdp.methods.direct import LARGEST_EXPONENT, constraint_matrix
from discreet.metricdp.part import Part
from discreet_reproduction.metricdp.instances import EPSILON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet_reproduction.metricdp.instances import MetricInstance


def flat_program(instance: MetricInstance) -> tuple[LinearProgram, float]:
    """Write the program down with all constraints, also implied ones; give what its costs were divided by."""
    problem, graph = instance.problem, instance.constraints
    part = Part(problem.cost, graph, instance.guarantee().epsilon)
    edges = graph.subgraph(np.flatnonzero(part.nats(graph.lengths) <= LARGEST_EXPONENT))
    matrix, upper = constraint_matrix(part, edges)
    scale = float(problem.cost.max()) or 1.0
    lower = np.where(upper == 0, -np.inf, 1.0)
    costs = (problem.cost / scale).ravel()
    return LinearProgram(costs, matrix, row_lower=lower, row_upper=upper), scale


def excess(matrix: NDArray[np.float64], instance: MetricInstance) -> tuple[float, int]:
    """Measure by how many nats the worst ratio passes its budget, and count the infinite ones.

    Examples
    --------
    >>> from discreet_reproduction.metricdp.instances import make_instance
    >>> excess(np.full((20, 5), 0.2), make_instance("grid", 20, 5))
    (0.0, 0)
    """
    graph, rate = instance.constraints, EPSILON * 2.0**-instance.space.scale_bits
    i, j = np.concatenate([graph.pairs, graph.pairs[:, ::-1]]).T
    budget = np.tile(rate * graph.lengths, 2)[:, None]
    with np.errstate(divide="ignore"):
        nats = np.log(matrix)
    positive = matrix > 0
    infinite = int((positive[i] & ~positive[j]).sum())
    both = positive[i] & positive[j]
    over = np.where(both, np.where(both, nats[i], 0.0) - np.where(both, nats[j], 0.0) - budget, 0.0)
    return (math.inf if infinite else max(0.0, float(over.max(initial=0.0)))), infinite
