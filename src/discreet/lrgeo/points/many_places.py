"""Noise for more places than have a table of distances, with a lower bound on what any mechanism loses.

The noise is that of :mod:`~discreet.lrgeo.points.noise_design`: its file grows with the region and not with the square
of the number of places, and its promise is about any two points, so about all pairs of places. The bound is a sum over
parts of the prior: :mod:`discreet.metricdp.bounds.parts`.

Proposes; checked by `discreet.lrgeo.points.verify_noise.verify_noise`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.jit import clock
from discreet.core.progress import Reporter
from discreet.core.spaces.metric import MetricSpace
from discreet.core.verified import mark_verified
from discreet.lrgeo.points.layout import region_of
from discreet.lrgeo.points.near_names import coordinates_of
from discreet.lrgeo.points.noise_design import NoiseDesign, design_noise
from discreet.metricdp.bounds.parts import bound_by_parts
from discreet.metricdp.costs import ImplicitCosts

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.core.guarantee import MetricDP
    from discreet.core.progress import Progress
    from discreet.lrgeo.places.region import Region

_GROUND_FACTOR = Fraction(10045, 10000)
"""Upper bound on the ratio of a geodesic of WGS 84 to the great circle: the largest radius of curvature to the mean."""

WIDER = 1 + Fraction(1, 10**9)
"""Factor of epsilon for the bound: larger than the relative rounding of stored distances."""

_DISTANCES = {
    "haversine": {"distance", "haversine"},
    "euclidean": {"distance", "euclidean"},
    "grid": {"distance", "euclidean"},
}
"""Names of the losses that are the distance of a metric."""


def has_noise(space: MetricSpace, utility_loss: str) -> bool:
    """Return whether there is a design for the places: of a plane or a sphere, in km or m, with their distance as loss.

    Examples
    --------
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> has_noise(MetricSpace.from_points([(0, 0), (1, 2)], unit="km"), "euclidean")
    True
    """
    is_flat = space.points is not None and space.points.shape[1] == 2
    is_distance = utility_loss in _DISTANCES.get(space.metric, ())
    # Great circles as a loss are in kilometers, whatever the unit.
    units = {"km"} if utility_loss == "haversine" else {"km", "m"}
    return is_flat and is_distance and space.unit in units


def costs_of_region(region: Region) -> ImplicitCosts:
    """Return the distances between the places of a region as costs, on the ground if the region lies on the globe.

    In the region's unit, great circles on the globe, with a uniform prior. No table is made.
    """
    if region.origin is None:
        return ImplicitCosts(region.space, "distance")
    space = MetricSpace.from_points(region.coordinates, metric="haversine", unit=region.unit)
    return ImplicitCosts(space, "distance")


def _to_ground(region: Region) -> Fraction:
    """Return an upper bound on the ratio of distances on the ground to the stored ones, and to those of the plane."""
    return WIDER if region.stretch is None else _GROUND_FACTOR * region.stretch


def design_many_places(
    costs: ImplicitCosts,
    guarantee: MetricDP,
    *,
    region: Region | None = None,
    time_limit: float | None = None,
    gap: float | None = 0.01,
    on_progress: Callable[[Progress], None] | None = None,
    threads: int = 1,
    seconds_per_place: float = 0.015,
    max_seconds: float = 480.0,
) -> NoiseDesign:
    """Design noise for any number of places whose reports are the places, with a lower bound.

    The cost is that of the noise and its names, and of the bound, which is by parts.

    Parameters
    ----------
    costs
        Places, prior and loss, as :func:`has_noise` takes them.
    guarantee
        Epsilon per unit, without a radius.
    region
        The places as a region, in the same order; by default made of the space.
    time_limit
        Seconds for the design and its bound; only the bound is cut short, since the design has no search.
    gap
        Relative gap that counts as reached; ``None`` for no bound.
    on_progress
        Called after noise and names, and after each part of the bound.
    threads
        Threads of the loops.
    seconds_per_place, max_seconds
        Seconds for the bound without a time limit, for each place and in all: the channel does not depend on it.

    Raises
    ------
    InvalidProblemError
        For a radius, places on one line, or a region too large for the noise.

    Guarantee
    ---------
    That of the design, by :func:`discreet.lrgeo.points.verify.verify`: between any two points of the region. `lower`
    is for all mechanisms that keep it between places, and whose reports are these places: by the distances that are
    stored, or with a region on the globe by those on the ground.

    Examples
    --------
    >>> from discreet.core.guarantee import MetricDP
    >>> from discreet.core.spaces.metric import MetricSpace
    >>> costs = ImplicitCosts(MetricSpace.grid(6, 6, cell=1, unit="km"), "euclidean")
    >>> made = design_many_places(costs, MetricDP(1, "km"))
    >>> made.certificate.passed, 1.2 < made.lower < made.upper < 1.5
    (True, True)
    """
    if guarantee.radius is not None:
        raise InvalidProblemError(
            "radius", "none for noise, which keeps all pairs", guarantee.radius
        )
    start, tell, apart = clock(), Reporter(on_progress), 0.0
    radius, wider = coordinates_of(costs)[1], WIDER
    if region is None:
        region, labels, moved = region_of(costs.space)
        if costs.space.n > region.K:
            apart = moved * float(_to_ground(region))
            first = np.unique(labels, return_index=True)[1]
            prior = np.bincount(labels, costs.prior)
            costs = ImplicitCosts(costs.space.restrict(first), costs.utility_loss, prior)
    else:
        wider = _to_ground(region)
    made = design_noise(
        region, guarantee, costs, moved=apart, on_progress=on_progress, threads=threads
    )
    if gap is None:
        return made
    seconds = min(seconds_per_place * costs.n, max_seconds)
    if time_limit is not None:
        seconds = max(time_limit - (clock() - start), 1e-3)
    lower = bound_by_parts(
        costs.space,
        coordinates_of(costs)[0],
        radius,
        costs.prior,
        guarantee.epsilon * wider,
        time_limit=seconds,
        threads=threads,
        on_progress=on_progress,
    )
    # Rows of secrets at one decimeter differ by the promise, and their losses by two moves, on the ground.
    lower = max(0.0, lower * math.exp(-float(guarantee.epsilon) * apart) - 3 * apart)
    tell("bound", lower=lower, upper=made.upper)
    upper = made.upper or 0.0
    reached = upper - lower <= gap * upper
    return mark_verified(
        replace(made, lower=lower, status="gap reached" if reached else "limit reached")
    )
