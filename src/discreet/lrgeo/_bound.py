"""What no private mechanism can do better: prices of constraints between near places, by metricdp's engine.

Leaving out the constraints between far places relaxes the program, so that the bound is valid for all pairs.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from discreet.lrgeo._candidates import nearest
from discreet.metricdp.bound import lower_bound
from discreet.metricdp.kernel import Kernel
from discreet.metricdp.part import Limits, Whole
from discreet.metricdp.primaldual import PrimalDual

if TYPE_CHECKING:
    from discreet.core.adjacency import Adjacency
    from discreet.core.guarantee import MetricDP
    from discreet.core.metric import MetricSpace
    from discreet.metricdp import Problem
    from discreet.metricdp.part import Candidate

__all__ = ["bound_from_below"]

_NEAR = 2.3
"""Typical steps within which constraints are kept: on a grid the 16 directions that no others imply."""

_WIDER = 1.5
"""How much farther one looks where these do not connect all places."""


def bound_from_below(
    problem: Problem,
    guarantee: MetricDP,
    enough: float,
    *,
    gap: float,
    stop: float = math.inf,
) -> float:
    """Prove a lower bound on the loss of every mechanism that is private for all pairs.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        What every such mechanism keeps.
    enough
        The bound with which one stops.
    gap
        The relative gap that is asked for, which decides how the engine goes about it.
    stop
        When time is up, by ``time.perf_counter``.

    Returns
    -------
    float
        The bound, 0 at least.
    """
    part = Whole(problem, _near(problem.space, guarantee), guarantee.epsilon).parts[0]
    best = 0.0

    def take(found: Candidate) -> bool:
        nonlocal best
        if found.multipliers is not None:
            proved = lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)
            best = max(best, proved)
        return best >= enough

    for method in (Kernel(), PrimalDual(persistent=False)):
        left = None if math.isinf(stop) else max(0.0, stop - time.perf_counter())
        found = method.solve(part, Limits(left, gap=gap, offer=take))
        if found is not None and take(found):
            break
    return best


def _near(space: MetricSpace, guarantee: MetricDP) -> Adjacency:
    """List bound pairs of near places, so many that they connect all."""
    if guarantee.radius is not None:
        return space.adjacency(guarantee.radius)
    radius = _NEAR * nearest(space)
    near = space.adjacency(radius)
    while int(near.components.max()) > 0:
        radius *= _WIDER
        near = space.adjacency(radius)
    return near
