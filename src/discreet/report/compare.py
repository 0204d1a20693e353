"""What other mechanisms lose under the same guarantee: each repaired, rounded and verified like the design itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.guarantee import MetricDP
from discreet.metricdp import design
from discreet.metricdp.methods.baselines import (
    BestConstant,
    Exponential,
    PlanarLaplace,
    bayes_remap,
)

if TYPE_CHECKING:
    from discreet.metricdp.part import Method
    from discreet.metricdp.problem import Problem

__all__ = ["compare"]

_WORTH_SAYING = 0.999
"""Share of its loss below which renaming the reports of a mechanism gets a line of its own."""


def compare(problem: Problem, guarantee: MetricDP) -> list[tuple[str, float]]:
    """Give the expected losses of published mechanisms.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        What is promised; a scope, where there is one, says whether separate groups are joined.

    Returns
    -------
    list of (str, float)
        Name and certified loss: the exponential mechanism, planar Laplace noise where the secrets lie in a plane, each
        also with its reports renamed for the prior (Bayes remap) where that helps, and the best constant report.

    Raises
    ------
    InvalidProblemError
        When the guarantee does not fit the problem.

    Complexity
    ----------
    A verification each: O(constrained pairs n_reports).

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> from discreet.metricdp import Problem
    >>> line = Problem(MetricSpace.grid(1, 4, cell=1, unit="km"), utility_loss="euclidean")
    >>> [(name, round(loss, 3)) for name, loss in compare(line, MetricDP(1, unit="km"))][-1]
    ('always the same report', 1.0)
    """
    target = MetricDP(guarantee.epsilon, guarantee.unit, guarantee.radius)
    scope = guarantee.space_scope
    apart = scope is not None and scope.components > 1
    methods: list[tuple[str, Method]] = [("exponential mechanism", Exponential())]
    points = problem.space.points
    in_plane = (
        points is not None
        and points.shape[1] == 2
        and problem.space.metric in {"euclidean", "grid"}
    )
    if in_plane and problem.reports is not None:
        methods.append(("planar Laplace", PlanarLaplace()))
    found = []
    for name, method in methods:
        made = design(problem, target, method=method, allow_unprotected=apart, throw=False)
        found.append((name, made.upper))
        renamed = bayes_remap(made.channel, problem.cost).expected_loss(problem.cost)
        if renamed < _WORTH_SAYING * made.upper:
            found.append((f"{name}, remapped", renamed))
    constant = design(problem, target, method=BestConstant(), allow_unprotected=apart, throw=False)
    return [*found, ("always the same report", constant.upper)]
