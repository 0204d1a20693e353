"""What the methods of a design share: candidates in integers, not verified yet, and a lower bound on any loss."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from discreet.core.channels.check_implicit import least_lift, triangle_defect
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.outcome import PublicInput
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.methods.kernel import Kernel
from discreet.metricdp.methods.primal_dual import PrimalDual
from discreet.metricdp.part import PartLimits, WholeProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.adjacency import Adjacency
    from discreet.core.spaces.metric import MetricSpace
    from discreet.lrgeo.places.region import Region
    from discreet.metricdp import Problem
    from discreet.metricdp.costs import ImplicitCosts
    from discreet.metricdp.part import Candidate

SHARE = Fraction(1, 5000)
"""Part of epsilon for the row totals, which the programs make equal up to their tolerance."""

_SLACK = Fraction(1, 5000)
"""Part of the columns' budget that is left to the rounding: it decides the lift."""

LARGEST = (1 << 40) - 1
"""No anchor is larger: five bytes in the file. What the lift makes uniform then weighs some parts in a million."""


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
    facts: Mapping[str, int | float | str]


class Method(Protocol):
    """A frozen record of parameters that proposes a mechanism; the verifier decides."""

    def propose(
        self,
        space: MetricSpace,
        problem: Problem | None,
        guarantee: MetricDP,
        limits: PartLimits,
    ) -> Made | None:
        """Return a candidate, or ``None`` if the method has none.

        Parameters
        ----------
        space
            The places.
        problem
            The cost of each report at each place; ``None`` where there is no matrix for it.
        guarantee
            What all mechanisms have to keep.
        limits
            Seconds that are left, and threads.

        Raises
        ------
        InvalidProblemError
            Without a problem, where the method needs one.
        """
        ...


def need_problem(problem: Problem | None, name: str) -> Problem:
    """Return the problem; raise InvalidProblemError if there is none, as beyond 5120 places. `name` is the method's."""
    if problem is None:
        raise InvalidProblemError("method", "'tails' beyond 5120 places", repr(name))
    return problem


def public_inputs(
    region: Region, problem: Problem | ImplicitCosts | None
) -> tuple[PublicInput, ...]:
    """Return what a design takes to be public: the region, and the cost and prior of a problem, if there is one."""
    places = PublicInput("region", region.digest, f"{region.K} places, in {region.unit}")
    return (places, *(() if problem is None else problem.assumed_public()))


def seconds_left(stop: float) -> float | None:
    """Return the seconds until `stop`, a time of ``time.perf_counter``, 0 at least; ``None`` if it is infinite."""
    return None if math.isinf(stop) else max(0.0, stop - time.perf_counter())


def nearest(space: MetricSpace) -> float:
    """Return the median, over places, of the distance to the nearest other place, in the space's unit.

    The space needs points, two or more; distances are straight lines between them. ``O(K log K)``.
    """
    from scipy.spatial import cKDTree

    points = np.asarray(space.points)
    near = np.asarray(cKDTree(points).query(points, k=2)[0])
    return float(np.median(near[:, 1]))


def expected_loss(channel: AnchoredChannel, problem: Problem) -> float:
    """Compute the expected utility loss under the prior, in the problem's unit, rounded up.

    ``O(K^2)``, one row at a time. The channel's names are reports of the problem. Places of probability 0 are
    skipped.
    """
    total = 0.0
    for place in np.flatnonzero(problem.prior).tolist():
        weights = channel.row(place).astype(np.float64)
        loss = problem.loss[place, channel.names]
        total += problem.prior[place] * float(weights @ loss) / float(weights.sum())
    # Sums of non-negative floats: their relative error is below the number of terms times 2^-52.
    return float(total) * (1 + (channel.n_reports + problem.n_secrets + 16) * 2.0**-52)


def column_rate(guarantee: MetricDP) -> Fraction:
    """Return the decay rate of columns, exact nats per unit of distance.

    Epsilon less the shares of row totals and rounding.
    """
    return guarantee.epsilon * (1 - SHARE) * (1 - _SLACK)


def least_weight(space: MetricSpace, guarantee: MetricDP, rate: Fraction) -> int:
    """Return the least lift, in integer units of weight, by the theorem on tails, for tails that decay at `rate`.

    Parameters
    ----------
    space
        From 2 to 5,120 places. All distances are read: ``O(n^2)``, and three of them for the defect of triangles.
    guarantee
        The guarantee of the channel.
    rate
        Nats per unit of distance, below epsilon, as :func:`column_rate` returns it.

    Raises
    ------
    InvalidProblemError
        If nothing of epsilon is left to the lift.
    """
    everything = space.distances[np.triu_indices(space.n, 1)]
    shortest = int(everything.min())
    column = guarantee.epsilon * (1 - SHARE)
    spare = column * shortest - rate * (shortest + triangle_defect(space))
    if spare <= 0:
        expected = "distances that keep the triangle inequality up to a small part of the shortest"
        raise InvalidProblemError("places", expected, "others")
    return least_lift(spare / 2**space.scale_bits)


def renamed(channel: AnchoredChannel, problem: Problem) -> AnchoredChannel:
    """Return a channel that names each report by the place of least expected loss given it: post-processing [CEP17]_.

    A dense table of all weights is computed: ``O(K^3)`` for K places and reports.

    `problem` has the cost of each place as a report of each. Names are places; weights are not changed.
    """
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
    target: float,
    *,
    gap: float,
    stop: float = math.inf,
    threads: int = 1,
) -> float:
    """Prove a lower bound on the loss of every mechanism that is private for all pairs.

    Its multipliers are for constraints between near places. Leaving out those between far places relaxes the program,
    so that the bound is valid for all pairs.

    In the unit of the problem's loss. The cost is that of the methods :class:`~discreet.metricdp.Kernel` and
    :class:`~discreet.metricdp.PrimalDual`; the second is not run if the first reaches `target`.

    Parameters
    ----------
    problem
        The problem.
    guarantee
        What every such mechanism keeps.
    target
        Stop as soon as the bound is so large.
    gap
        The requested relative gap, by which the engine chooses its methods.
    stop
        When time is up, by ``time.perf_counter``.
    threads
        Threads of the engine.

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
        return best >= target

    for method in (Kernel(), PrimalDual()):
        limits = PartLimits(seconds_left(stop), threads, gap=gap, offer=take)
        candidate = method.solve(part, limits)
        if candidate is not None and take(candidate):
            break
    return best


def _near_pairs(
    space: MetricSpace, guarantee: MetricDP, *, steps: float = 2.3, growth: float = 1.5
) -> Adjacency:
    """List constrained pairs of near places, so many that they connect all.

    All pairs within the radius if there is one. Without a radius they lie within `steps` typical steps, on a grid the
    16 directions that no others imply; while these do not connect all places, the radius is multiplied by `growth`.
    """
    if guarantee.radius is not None:
        return space.adjacency(guarantee.radius)
    radius = steps * nearest(space)
    near = space.adjacency(radius)
    while int(near.components.max()) > 0:
        radius *= growth
        near = space.adjacency(radius)
    return near
