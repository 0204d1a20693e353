r"""Columns that are tails alone, with equal row totals: :math:`T y = 1` with :math:`T_{ik} = e^{-\rho d_{ik}}`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.channels.implicit import AnchoredChannel
from discreet.lrgeo.candidates import (
    LARGEST,
    SHARE,
    Made,
    column_rate,
    least_weight,
    need_problem,
    renamed,
)

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp import Problem
    from discreet.metricdp.part import PartLimits


@final
@dataclass(frozen=True)
class ClosedForm:
    """The kernel mechanism of a region; it does not exist where an anchor would be negative.

    Complexity
    ----------
    ``O(K^3)`` operations.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(4, "km"), method=ClosedForm(), scope="places")
    >>> made.provenance.method
    'closed-form'
    """

    def propose(
        self,
        space: MetricSpace,
        problem: Problem | None,
        guarantee: MetricDP,
        limits: PartLimits,
    ) -> Made | None:
        """Solve the system of anchors with equal row totals, and name each report after the cheapest place: ``O(K^3)``.

        Returns the channel, not verified yet; ``None`` if an anchor would be negative or the system is singular.
        Raises InvalidProblemError where `problem` is ``None``, as beyond 5120 places. `limits` are not used.

        `space` has the places, `guarantee` the epsilon.
        """
        del limits
        stated = need_problem(problem, "closed-form")
        rate = column_rate(guarantee)
        apart = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
        try:
            solved = np.linalg.solve(np.exp(-float(rate) * apart), np.ones(space.n))
        except np.linalg.LinAlgError:
            return None
        anchors = np.asarray(solved, dtype=np.float64)
        # An anchor that is less than a unit below zero becomes zero.
        if not (np.isfinite(anchors).all() and anchors.min() * LARGEST >= -anchors.max()):
            return None
        weights = np.floor(np.maximum(anchors, 0) * (LARGEST / anchors.max())).astype(np.int64)
        lift = least_weight(space, guarantee, rate)
        channel = AnchoredChannel(space, rate, np.arange(space.n), weights, lift=lift)
        return Made("closed-form", renamed(channel, stated), SHARE, {})
