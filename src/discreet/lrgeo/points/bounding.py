"""The bound for all mechanisms with given reports: on whatever mesh or net, or none."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.guarantee import MetricDP
from discreet.lrgeo.candidates import bound_from_below
from discreet.lrgeo.places.space import space_of
from discreet.metricdp import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SAME_PLACE", "bound_for_all"]

SAME_PLACE = "no bound for all mechanisms: two places lie at one decimeter."

_WIDER = 1 + Fraction(1, 10**9)
"""By what epsilon grows for the bound: more than stored distances were rounded down by."""


def bound_for_all(
    places: NDArray[np.int64],
    loss: NDArray[np.float64],
    prior: NDArray[np.float64],
    guarantee: MetricDP,
    upper: float,
    *,
    gap: float,
    stop: float,
    threads: int,
) -> float | None:
    """Prove what no mechanism with these reports can do better that keeps the promise at the places.

    Parameters
    ----------
    places
        ``(n, 2)`` decimeters.
    loss
        ``(n, K)``.
    prior
        ``(n,)``.
    guarantee
        Epsilon per unit.
    upper
        What a mechanism loses.
    gap
        Relative gap that is enough.
    stop
        When to stop, by ``time.perf_counter``.
    threads
        Of a solver.

    Returns
    -------
    float or None
        ``None`` where two places lie at one decimeter, so that they make no metric space.
    """
    if len(places) != len(np.unique(places, axis=0)):
        return None
    space = space_of(places, guarantee.unit)
    problem = Problem(space, utility_loss=loss, prior=prior)
    wider = MetricDP(guarantee.epsilon * _WIDER, guarantee.unit)
    enough = (1 - gap) * upper
    found = bound_from_below(problem, wider, enough, gap=gap, stop=stop, threads=threads)
    return max(0.0, min(found, upper))
