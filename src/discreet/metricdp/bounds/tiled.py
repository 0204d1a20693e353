"""The bound of tiles as a method of design: for tables whose whole multipliers take too much memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.metricdp.bounds.local import local_prices
from discreet.metricdp.part import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.spaces.metric import MetricSpace
    from discreet.metricdp.part import Part, PartLimits

__all__ = ["Tiled"]

_GAP = 0.01
"""How near the bound should come to what the steps think that the least loss is."""


@final
@dataclass(frozen=True)
class _PartCosts:
    """The costs of a part that has a space and says where its reports stand."""

    part: Part
    space: MetricSpace
    homes: NDArray[np.int64]

    def block(self, secrets: NDArray[np.int64], reports: NDArray[np.int64]) -> NDArray[np.float64]:
        return self.part.cost[np.ix_(secrets, reports)]


@final
@dataclass(frozen=True)
class Tiled:
    """The bound of :func:`~discreet.metricdp.bounds.local.local_bound`, and no channel.

    Parameters
    ----------
    share
        Part of the time left that steps may take: what is evaluated after them, and a channel, need the rest.

    Examples
    --------
    >>> Tiled(share=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: share: expected a part of the time, above 0 and at most 1, got 0
    """

    share: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidProblemError(
                "share", "a part of the time, above 0 and at most 1", self.share
            )

    def solve(self, part: Part, limits: PartLimits) -> Candidate | None:
        """Price constraints near each report.

        Returns
        -------
        Candidate or None
            Without a matrix; ``None`` for a part that was made by hand, or has nothing to constrain.

        Complexity
        ----------
        That of :func:`~discreet.metricdp.bounds.local.local_bound`.
        """
        if part.space is None or part.home is None or not len(part.constraints):
            return None
        costs = _PartCosts(part, part.space, np.asarray(part.home, dtype=np.int64))
        prices, found = local_prices(
            costs,
            part.binding,
            part.epsilon,
            gap=min(_GAP, limits.gap),
            time_limit=None if limits.seconds is None else self.share * limits.seconds,
            threads=limits.threads,
        )
        note = f"{found.steps} primal-dual steps on {found.tiles} tiles of {found.reach:g} nats bound the whole."
        return Candidate("tiles", None, prices, note)
