r"""Exponential tails with the best heights, and one more column with the rest of each row.

.. math:: z_{ik} = a_k e^{-\rho d_{ik}}, \qquad r = 1 - \sum_k z_{\cdot k} \ge 0

The heights solve the linear programs of :mod:`discreet.metricdp.methods.hub`. Every column keeps the ratios, so that a
few integers for each place are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import LimitReachedError, SolverError
from discreet.lrgeo.candidates import (
    LARGEST,
    SHARE,
    Made,
    column_rate,
    least_weight,
    need_problem,
)
from discreet.metricdp.methods.hub import best_heights, shrink_heights

if TYPE_CHECKING:
    from discreet.core.guarantee import MetricDP
    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp import Problem
    from discreet.metricdp.part import PartLimits


@final
@dataclass(frozen=True)
class Hub:
    """Tails from all places with the best heights; the rest of each row is reported as one place, the hub.

    Parameters
    ----------
    most_places
        Where there are more, nothing is proposed: at 900 places the program took 20 CPU seconds, and :class:`Tails
        <discreet.lrgeo.methods.tails.Tails>` lost less.

    Examples
    --------
    >>> from discreet import MetricDP
    >>> from discreet.lrgeo import Region, design
    >>> region = Region.from_grid(4, 4, cell="0.5", unit="km")
    >>> made = design(region, MetricDP(1, "km"), method=Hub(), scope="places")
    >>> made.provenance.method
    'tails-and-hub'
    """

    most_places: int = 500

    def propose(
        self,
        space: MetricSpace,
        problem: Problem | None,
        guarantee: MetricDP,
        limits: PartLimits,
    ) -> Made | None:
        """Solve for the heights, and round them to integers; the rest of each row gets the name of least cost.

        Returns the channel, not verified yet; ``None`` for too many places, some 400 without a time limit, or where
        the first program is not solved. Raises InvalidProblemError where `problem` is ``None``, as beyond 5120 places.

        `space` has the places, `guarantee` the epsilon; `limits` has the seconds. The cost is that of
        :func:`~discreet.metricdp.methods.hub.best_heights`, and ``O(K^3)`` for the names.
        """
        stated, rate = need_problem(problem, "tails-and-hub"), column_rate(guarantee)
        if space.n > self.most_places:
            return None
        decay = np.exp(-float(rate) * np.ldexp(space.distances, -space.scale_bits))
        # The best name of a tail does not depend on its height.
        names = (decay @ stated.cost).argmin(axis=1)
        hub = int(stated.cost.sum(axis=0).argmin())
        cost = stated.cost[:, names], stated.cost[:, hub]
        try:
            answer = best_heights(decay, np.arange(space.n), *cost, limits)
        except (LimitReachedError, SolverError):
            return None
        if answer is None:
            return None
        heights = shrink_heights(answer[0], decay, decay)
        rest = np.maximum(1.0 - decay @ heights, 0.0)
        used = np.flatnonzero(heights)
        lift = least_weight(space, guarantee, rate)
        scale = (LARGEST - lift) / max(heights.max(), rest.max())
        every, last = np.arange(space.n), np.full(space.n, len(used))
        channel = AnchoredChannel(
            space,
            rate,
            np.append(used, hub),
            np.floor(np.append(heights[used], 0.0) * scale).astype(np.int64),
            lift=lift,
            ball=Ball(every, last, np.floor(rest * scale).astype(np.int64) + lift),
            names=np.append(names[used], (rest @ stated.cost).argmin()),
        )
        return Made("tails-and-hub", channel, SHARE, {"tails": len(used)})
