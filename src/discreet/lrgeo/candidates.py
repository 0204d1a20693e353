"""What a design tries: candidates in integers that nobody has verified yet, and a lower bound on what all lose."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.channels.check_implicit import least_lift, triangle_defect
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.guarantee import MetricDP
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.bounds.tails import tail_channel
from discreet.metricdp.implicit import integers_of
from discreet.metricdp.methods.anchored import Anchored
from discreet.metricdp.methods.kernel import Kernel
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import SearchLimits, WholeProblem

if TYPE_CHECKING:
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp import Problem
    from discreet.metricdp.part import Candidate

__all__ = ["Made", "balls", "bound_from_below", "closed_form", "expected_loss", "nearest", "tails"]

_SHARE = Fraction(1, 5000)
"""Part of epsilon for the row totals, which the programs make equal up to their tolerance."""

_SLACK = Fraction(1, 5000)
"""Part of the columns' budget that is left to the rounding: it decides the lift."""

_LARGEST = (1 << 40) - 1
"""No anchor is larger: five bytes in the file. What the lift makes uniform then weighs some parts in a million."""

_NEAR = 2.9
"""Typical steps within which tails compare row totals of neighbors before all pairs are verified."""

_LEAST = -1e-12
"""Anchors that are less than so much of the largest below zero are zeros."""


_BOUND_NEAR = 2.3
"""Typical steps within which constraints are kept: on a grid the 16 directions that no others imply."""

_BOUND_WIDER = 1.5
"""How much farther one looks where these do not connect all places."""


@final
@dataclass(frozen=True, eq=False)
class Made:
    """A candidate.

    Parameters
    ----------
    method
        What made it.
    channel
        Integers, not verified.
    totals_share
        The part of epsilon that is for the row totals.
    facts
        Public facts for the provenance.
    """

    method: str
    channel: AnchoredChannel
    totals_share: Fraction
    facts: dict[str, int | float | str]


def closed_form(problem: Problem, guarantee: MetricDP) -> Made | None:
    r"""Solve :math:`T y = 1` with :math:`T_{ik} = e^{-\rho d_{ik}}`: tails alone, with totals all alike.

    Returns
    -------
    Made or None
        ``None`` where an anchor would be negative.
    """
    space = problem.space
    rate = _rate(guarantee)
    decay = np.exp(-float(rate) * np.ldexp(space.distances.astype(np.float64), -space.scale_bits))
    try:
        anchors = np.asarray(np.linalg.solve(decay, np.ones(space.n)), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(anchors).all() and anchors.min() >= _LEAST * anchors.max()):
        return None
    whole = np.floor(np.maximum(anchors, 0) * (_LARGEST / anchors.max())).astype(np.int64)
    channel = AnchoredChannel(
        space, rate, np.arange(space.n), whole, lift=_lift(space, guarantee, rate)
    )
    return Made("closed-form", _renamed(channel, problem), _SHARE, {})


def balls(problem: Problem, guarantee: MetricDP, radius: float, stop: float) -> Made | None:
    """Solve the anchored program with balls of some steps around each place.

    Returns
    -------
    Made or None
        ``None`` where the program would not fit into memory.
    """
    space, rate = problem.space, _rate(guarantee)
    part = WholeProblem(problem, space.adjacency(), rate).parts[0]
    left = None if math.isinf(stop) else max(0.0, stop - time.perf_counter())
    answer = Anchored(radius=radius).alternate(part, SearchLimits(left))
    lift = _lift(space, guarantee, rate)
    channel = integers_of(problem, rate, answer, lift, part.rate, largest_weight=_LARGEST - lift)
    return Made("anchored", channel, _SHARE, {"radius": radius, "iterations": answer.iterations})


def tails(space: MetricSpace, guarantee: MetricDP, problem: Problem | None) -> Made:
    """Make tails alone for any number of places: anchors such that row totals are nearly equal, or equal anchors."""
    near = MetricDP(guarantee.epsilon, guarantee.unit, _NEAR * nearest(space))
    made = tail_channel(space, near)
    wide, lift = made.channel, made.channel.lift
    shift = max(0, int(wide.anchors.max()).bit_length() - _LARGEST.bit_length())
    channel = AnchoredChannel(space, wide.rate, wide.centers, wide.anchors >> shift, lift=lift)
    facts: dict[str, int | float | str] = {"rounds": made.rounds}
    kept = channel if problem is None else _renamed(channel, problem)
    return Made("tails", kept, made.totals_share, facts)


def nearest(space: MetricSpace) -> float:
    """Give the median distance between a place and the one nearest to it."""
    from scipy.spatial import cKDTree

    points = np.asarray(space.points)
    near = np.asarray(cKDTree(points).query(points, k=2)[0])
    return float(np.median(near[:, 1]))


def expected_loss(channel: AnchoredChannel, problem: Problem) -> float:
    """Compute the expected loss, rounded up."""
    total = 0.0
    for place in np.flatnonzero(problem.prior).tolist():
        weights = channel.row(place).astype(np.float64)
        loss = problem.loss[place, channel.names]
        total += problem.prior[place] * float(weights @ loss) / float(weights.sum())
    # Sums of non-negative floats: their relative error is below the number of terms times 2^-52.
    return float(total) * (1 + (channel.n_reports + problem.n_secrets + 16) * 2.0**-52)


def _rate(guarantee: MetricDP) -> Fraction:
    return guarantee.epsilon * (1 - _SHARE) * (1 - _SLACK)


def _lift(space: MetricSpace, guarantee: MetricDP, rate: Fraction) -> int:
    """Give the lift that the theorem on tails asks for."""
    everything = space.distances[np.triu_indices(space.n, 1)]
    shortest = int(everything.min())
    column = guarantee.epsilon * (1 - _SHARE)
    spare = column * shortest - rate * (shortest + triangle_defect(space))
    return least_lift(spare / 2**space.scale_bits)


def _renamed(channel: AnchoredChannel, problem: Problem) -> AnchoredChannel:
    """Name each report after the place that costs least, given that it was drawn: post-processing [CEP17]_."""
    weights = np.stack([channel.row(place) for place in range(channel.n_secrets)])
    shares = weights / weights.sum(axis=1, keepdims=True)
    names = (shares.T @ problem.cost).argmin(axis=1)
    return AnchoredChannel(
        channel.space,
        channel.rate,
        channel.centers,
        channel.anchors,
        lift=channel.lift,
        ball=channel.ball,
        names=names,
    )


def bound_from_below(
    problem: Problem,
    guarantee: MetricDP,
    enough: float,
    *,
    gap: float,
    stop: float = math.inf,
) -> float:
    """Prove a lower bound on the loss of every mechanism that is private for all pairs.

    Its multipliers are for constraints between near places. Leaving out those between far places relaxes the program,
    so that the bound is valid for all pairs.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        What every such mechanism keeps.
    enough
        The bound with which one stops.
    gap
        The requested relative gap, which decides how the engine goes about it.
    stop
        When time is up, by ``time.perf_counter``.

    Returns
    -------
    float
        The bound, 0 at least.
    """
    part = WholeProblem(problem, _near_pairs(problem.space, guarantee), guarantee.epsilon).parts[0]
    best = 0.0

    def take(found: Candidate) -> bool:
        nonlocal best
        if found.multipliers is not None:
            proved = lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)
            best = max(best, proved)
        return best >= enough

    for method in (Kernel(), PrimalDual(persistent=False)):
        left = None if math.isinf(stop) else max(0.0, stop - time.perf_counter())
        found = method.solve(part, SearchLimits(left, gap=gap, offer=take))
        if found is not None and take(found):
            break
    return best


def _near_pairs(space: MetricSpace, guarantee: MetricDP) -> Adjacency:
    """List bound pairs of near places, so many that they connect all."""
    if guarantee.radius is not None:
        return space.adjacency(guarantee.radius)
    radius = _BOUND_NEAR * nearest(space)
    near = space.adjacency(radius)
    while int(near.components.max()) > 0:
        radius *= _BOUND_WIDER
        near = space.adjacency(radius)
    return near
