"""The design of a mechanism for a region: one for everybody, published whole, so that nothing is ever uploaded."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.anchored import AnchoredChannel, Ball
from discreet.core.check_anchored import least_lift
from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP, Scope
from discreet.core.outcome import Provenance, PublicInput, digest_array
from discreet.lrgeo.problem import travel_loss
from discreet.lrgeo.verify import verify
from discreet.metricdp import Problem
from discreet.metricdp.anchored import Anchored
from discreet.metricdp.part import Limits, Whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.certificate import Certificate
    from discreet.lrgeo.region import Region

__all__ = ["RegionDesign", "design"]

_SHARE = Fraction(1, 5000)
"""Part of epsilon for the row totals, which the programs make equal up to their tolerance."""

_SLACK = Fraction(1, 5000)
"""Part of the columns' budget that is left to the rounding."""

_BITS = 40
"""Bits of the largest weight: 5 bytes in the file. The uniform reports of the lift then weigh some parts in a million."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class RegionDesign:
    """A mechanism for a region with its certificate, and what it loses.

    Parameters
    ----------
    region, problem
        What it is for: the places, and the cost of each report in each place, all of it public.
    channel
        The channel, whose names are places.
    guarantee
        What holds, bound to the space of the region.
    totals_share
        The part of epsilon that is for the row totals.
    certificate
        What the verifier found.
    lower, upper
        No private channel loses less than `lower`, this one loses `upper`, rounded up; in the unit of the region.
    provenance
        How it was made.
    status
        ``"gap reached"``, or ``"limit reached"``, or ``"no gap asked for"``.
    """

    region: Region
    problem: Problem
    channel: AnchoredChannel
    guarantee: MetricDP
    totals_share: Fraction
    certificate: Certificate
    lower: float | None
    upper: float
    provenance: Provenance
    status: str

    @property
    def gap(self) -> float | None:
        """``(upper - lower) / upper``; ``None`` without a lower bound."""
        if self.lower is None:
            return None
        return 0.0 if self.upper <= self.lower else (self.upper - self.lower) / self.upper

    def __repr__(self) -> str:
        bound = "no lower bound" if self.lower is None else f"at least {self.lower:.4g}"
        return f"RegionDesign({self.region.K} places, loss {self.upper:.4g}, {bound}, certified)"


def design(
    region: Region,
    guarantee: MetricDP,
    *,
    targets: ArrayLike | None = None,
    prior: ArrayLike | None = None,
    method: Anchored | None = None,
    gap: float | None = None,
    time_limit: float | None = None,
    on_iteration: Callable[[str], None] | None = None,
    executor: Executor | None = None,
) -> RegionDesign:
    """Design.

    Examples
    --------
    >>> from discreet.lrgeo import Region
    >>> region = Region.from_grid(5, 5, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(2, "km"))
    >>> made.certificate.passed
    True
    """
    space = region.space
    if targets is None:
        problem = Problem(space, utility_loss="distance", prior=prior)
    else:
        problem = Problem(space, utility_loss=travel_loss(region.travel, targets), prior=prior)
    rate = guarantee.epsilon * (1 - _SHARE) * (1 - _SLACK)
    whole = Whole(problem, space.adjacency(), rate)
    part = whole.parts[0]
    answer = (method or Anchored(radius=2.0)).alternate(part, Limits())
    from discreet.metricdp.unwritten import _integers

    shortest = int(part.constraints.lengths.min())
    slack = (guarantee.epsilon * (1 - _SHARE) - rate) * Fraction(shortest, 2**space.scale_bits)
    channel = _narrow(_integers(problem, rate, answer, least_lift(slack), part.rate))
    certificate = verify(channel, guarantee, totals_share=_SHARE)
    certificate.raise_for_failure()
    bound = MetricDP(
        guarantee.epsilon,
        guarantee.unit,
        guarantee.radius,
        scope=Scope(space.digest, space.n, guarantee.epsilon),
    )
    upper = _loss(channel, problem)
    return RegionDesign(
        region,
        problem,
        channel,
        bound,
        _SHARE,
        certificate,
        None,
        upper,
        Provenance("anchored", {}, problem.assumed_public()),
        "no gap asked for",
    )


def _narrow(channel: AnchoredChannel) -> AnchoredChannel:
    """Drop the low bits of anchors and explicit weights, lifts apart."""
    ball, lift = channel.ball, channel.lift
    largest = max(int(channel.anchors.max()), int(ball.weights.max(initial=1)))
    shift = max(0, largest.bit_length() - _BITS)
    weights = ((ball.weights - lift) >> shift) + lift
    return AnchoredChannel(
        channel.space,
        channel.rate,
        channel.centers,
        channel.anchors >> shift,
        lift=lift,
        ball=Ball(ball.secrets, ball.reports, weights),
        names=channel.names,
    )


def _loss(channel: AnchoredChannel, problem: Problem) -> float:
    """Compute the expected loss, rounded up."""
    total = 0.0
    for place in np.flatnonzero(problem.prior).tolist():
        weights = channel.row(place).astype(np.float64)
        loss = problem.loss[place, channel.names]
        total += problem.prior[place] * float(weights @ loss) / float(weights.sum())
    # Sums of non-negative floats: their relative error is below the number of terms times 2^-52.
    return float(total) * (1 + (channel.n_reports + problem.n_secrets + 16) * 2.0**-52)
