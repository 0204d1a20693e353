"""Rows computed on demand for any number of places: every column falls off from its place on, without a ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.guarantee import MetricDP
from discreet.lrgeo.candidates import LARGEST, Made, nearest, renamed
from discreet.metricdp.bounds.tails import tail_channel

if TYPE_CHECKING:
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp import Problem
    from discreet.metricdp.part import PartLimits


@final
@dataclass(frozen=True)
class Tails:
    """Columns that are tails alone, with anchors for which row totals are nearly equal; equal anchors always will do.

    Parameters
    ----------
    steps
        Radius within which row totals of neighbors are compared before all pairs are verified, in typical distances
        between neighbors.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(1, "km"), method=Tails(), scope="places")
    >>> made.provenance.method
    'tails'
    """

    steps: float = 2.9

    def propose(
        self,
        space: MetricSpace,
        problem: Problem | None,
        guarantee: MetricDP,
        limits: PartLimits,
    ) -> Made | None:
        """Even out the row totals of exponential tails; with a `problem` name each report after the cheapest place.

        Returns the channel, not verified yet, never ``None``. `space` has the places, `guarantee` the epsilon;
        `limits` are not used. Some products with the decay, ``O(K^2)`` each or less on a full grid; names take
        ``O(K^3)``.
        """
        del limits
        near = MetricDP(guarantee.epsilon, guarantee.unit, self.steps * nearest(space))
        made = tail_channel(space, near)
        wide, lift = made.channel, made.channel.lift
        shift = max(0, int(wide.anchors.max()).bit_length() - LARGEST.bit_length())
        channel = AnchoredChannel(space, wide.rate, wide.centers, wide.anchors >> shift, lift=lift)
        best = channel if problem is None else renamed(channel, problem)
        return Made("tails", best, made.totals_share, {"rounds": made.rounds})
