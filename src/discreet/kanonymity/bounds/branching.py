r"""Multipliers of many values: classes found by swaps, and a proof by branches that none is overpaid by more than a slack.

The program is solved with classes that are grown and swapped, which takes seconds; what is left is to prove that those
that were not found exceed it by little. With a slack e the search looks at each root r, the row of a class with the
largest multiplier, and proves that no class of it has a mean above :math:`(1 + e) w`, or marks the rows of all that may.
For multipliers v that overpay none, those that were proved before, then

.. math:: u'_i = u_i / (1 + e), \quad u'_i = \min\{v_i, u_i / (1 + e)\} \text{ for the rows that are marked}

overpay none either: a class of a root that was proved has a sum of :math:`u'` of at most that of
:math:`u / (1 + e)`, and one that may exceed it has marked rows alone, and at most the sum of v. So a search that time
ended counts as far as it came. A slack makes branches end early, and costs a part e / (1 + e) of the bound, so that it
falls from search to search.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.kanonymity.bounds.sweeping import Searched, listed, room_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Points
    from discreet.kanonymity.candidate import SearchLimits

__all__ = ["Branching"]

SLACKS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Slacks, one after the other: each takes about twice the time of the one before it."""

REWARDS = (0.0, 0.15, 0.3)
"""What a class that grows gets for multipliers; each finds other ones."""

CLOSE = 1e-4
"""Relative progress of the program's value in a round below which its solution is searched for a proof."""

LIMIT, EXTRA = 20_000, 100
"""Nodes of one root's search at first, and after its first class."""

MOST_NODES = 100_000
"""Nodes of one root's search, at most: a second."""

AT_ONCE = 4
"""Roots between two looks at the clock."""


@final
class Branching:
    """Search a trial point by swaps, and prove one by branches once swaps find little."""

    def __init__(self, points: Points, k: int) -> None:
        self.points, self.k, self.counts = points, k, np.diff(points.first)
        self.at, self.nodes = 0, LIMIT
        self.proves, self.share = False, 0.5
        self.last_top = math.inf
        self.near = np.empty((points.n, 0), dtype=np.int32)

    @property
    def slack(self) -> float:
        """The present e."""
        return SLACKS[self.at]

    def search(
        self, u: NDArray[np.float64], known: NDArray[np.float64], /, limits: SearchLimits
    ) -> Searched | None:
        """Search multipliers of points, given some that overpay no class; ``None`` where the time ended it."""
        return self._proved(u, known, limits) if self.proves else self._swapped(u, known, limits)

    def _swapped(
        self, u: NDArray[np.float64], known: NDArray[np.float64], limits: SearchLimits
    ) -> Searched | None:
        """Find classes that are overpaid; nothing is proved."""
        from discreet.kanonymity.kernels.swapping import swapped

        found = room_for(len(u), self.k)

        def some(begin: int, stop: int) -> None:
            for slot, reward in enumerate(REWARDS):
                given = (self.points.arrays, self.counts, u, self.near, self.k, reward, slot)
                swapped(*given, begin, stop, 1, found)

        _in_threads(some, len(u), limits)
        return Searched(known, *listed(found))

    def _proved(
        self, u: NDArray[np.float64], known: NDArray[np.float64], limits: SearchLimits
    ) -> Searched:
        """Prove as much as there is time for."""
        from discreet.kanonymity.kernels.branching import branches

        n = len(u)
        found, upper = room_for(n, self.k), np.full(n, np.inf)
        doubtful = np.zeros(n, dtype=np.bool_)
        order = np.argsort(-u, kind="stable").astype(np.int32)
        roots = int((u > 0).sum())
        upper[order[roots:]] = 0.0
        given = (self.points.arrays, self.counts, u, order, self.k, self.slack, self.nodes, EXTRA)

        def some(begin: int, stop: int) -> None:
            branches(*given, begin, stop, found, upper, doubtful)

        _in_threads(some, roots, limits)
        self.left_open = int((upper > 0).sum())
        # Classes of a root have rows of its rank and behind.
        unseen = np.flatnonzero(np.isinf(upper[order]))
        doubtful[order[unseen[0] if len(unseen) else n :]] = True
        feasible = u / (1.0 + self.slack)
        mended = np.where(doubtful, np.minimum(known, feasible), feasible)
        if not len(unseen):
            alike = self._repaired(u, upper)
            if self.counts @ alike > self.counts @ mended:
                mended = alike
        return Searched(mended, *listed(found))

    def _repaired(self, u: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Take off what a class may be overpaid by: from all rows alike, the rest from its root.

        Where no class of root r has a mean above :math:`(1 + e) w + V_r`, with any V of 0 or more

        .. math:: \bigl(u_i - V - k \max(0, V_i - V)\bigr) / (1 + e)

        overpay none: the k multipliers of a class with root r have a sum of at most :math:`k (1 + e) w + k V_r`, from
        which V is taken k times and the rest of :math:`k V_r` at the root.
        """
        # The best V is one of those of the roots: the sum is linear between them.
        value = np.append(np.sort(np.unique(np.maximum(upper, 0.0)))[::-1], 0.0)
        order = np.argsort(-upper, kind="stable")
        weight, worst = self.counts[order], np.maximum(upper[order], 0.0)
        ahead = np.searchsorted(-worst, -value)
        paid, heavy = (np.append(0.0, np.cumsum(part)) for part in (weight * worst, weight))
        rest = paid[ahead] - value * heavy[ahead]
        least = float(value[np.argmin(value * weight.sum() + self.k * rest)])
        repaired: NDArray[np.float64] = u - least - self.k * np.maximum(0.0, upper - least)
        return repaired / (1.0 + self.slack)

    def refine(self, value: float, top: float, added: int) -> bool:
        """Look for a proof once swaps find little, and lower the slack from proof to proof; False at the end."""
        if not self.proves:
            if not added:
                self.share = max(0.0, self.share - 0.2)
            self.proves = not added or top > (1 - CLOSE) * self.last_top
            self.last_top = top
            return True
        self.proves = False
        last = self.at + 1 == len(SLACKS)
        if value * (1 + self.slack) < 0.97 * top:
            if added:
                return True
            if self.nodes < MOST_NODES and self.left_open:
                self.nodes *= 3
                self.proves = True
                return True
        self.at = min(self.at + 1, len(SLACKS) - 1)
        return not last


def _in_threads(some: Callable[[int, int], None], total: int, limits: SearchLimits) -> None:
    """Do pieces of work by turns, in the order that they have, until all are done or the time is over."""
    begins, ended = count(0, AT_ONCE), [False]

    def work() -> None:
        while not ended[0] and limits.left > 0:
            begin = next(begins)
            if begin >= total:
                return
            some(begin, min(total, begin + AT_ONCE))

    with ThreadPoolExecutor(limits.threads) as pool:
        working = [pool.submit(work) for _ in range(limits.threads)]
        try:
            for each in working:
                each.result()
        finally:
            ended[0] = True
