r"""Multipliers of many values: classes found by swaps, and a proof by branches that none is overpaid by much.

The program is solved with classes that are grown and swapped, which takes seconds; what is left is to prove that those
that were not found exceed it by little. A root is the row of a class with the largest multiplier. With a slack e the
search proves for each root r that no class of it has a mean above :math:`(1 + e) w + V_r`, where :math:`V_r` is zero
for most, or it is cut short and marks the rows of all classes that it proved nothing of. Then

.. math:: u'_i = \bigl(u_i - V - k \max(0, V_i - V)\bigr) / (1 + e)

overpays no class whose root was proved, whatever V of 0 or more is: the k multipliers of a class with root r have a
sum of at most :math:`k (1 + e) w + k V_r`, from which V is taken k times and the rest of :math:`k V_r` at the root. For
rows that are marked, the least of :math:`u'_i` and of a multiplier :math:`v_i` that was proved before is taken; classes
of which nothing was proved have such rows alone, and a sum of at most that of v. So a search that time ended counts as
far as it came. A slack makes branches end early, and costs a part e / (1 + e) of the bound, so that it falls from
search to search.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.jit import clock
from discreet.kanonymity.bounds.sweeping import Searched, listed, room_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import Points
    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.kernels.dearest import FoundBoxes

__all__ = ["Branching"]

SLACKS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""Slacks, one after the other: each takes about twice the time of the one before it."""

MAX_CLASSES_PER_SCARCE_POINT = 10
"""Classes of one round that may share a scarce point."""

REWARDS = (0.0, 0.15, 0.3)
"""What a class that grows gets for multipliers; each finds other ones."""

SLOW_PROGRESS = 1e-4
"""Relative progress of the program's value in a round below which its solution is searched for a proof."""

LIMIT, MOST_NODES = 20_000, 500_000
"""Nodes of one root's search, and of one that needs more: some hundredths of a second, and a second."""

MAX_SCALING_ROUNDS = 6
"""Rounds in which multipliers of classes that swaps find are scaled before a proof."""

PROOF_AFTER_SHARE_OF_TIME = 0.5
"""Part of the time that is left after which a proof begins whether or not swaps still find classes."""

PROOF_SHARE_OF_VALUE = 0.97
"""Part of the program's value that a proof has to come to, but for its slack, before the next one has a smaller one."""

MIN_EXCESS = 1e-9
"""Least amount by which a class counts as overpaid."""

MAX_SWAPS_PER_CLASS = 30
"""Swaps of one class."""

POINTS_PER_TASK = 32
"""Points from which classes are grown and swapped between two looks at the clock."""


@final
class Branching:
    """Search a trial point by swaps, and prove one by branches: the first one, and others once swaps find little."""

    covered = MAX_CLASSES_PER_SCARCE_POINT

    def __init__(self, points: Points, k: int) -> None:
        self.points, self.k, self.counts = points, k, np.diff(points.first)
        self.at, self.limits = 0, (LIMIT, MOST_NODES)
        self.proves, self.share = True, 1.0
        self.last_top = math.inf
        self.prove_by = self.ends = math.inf
        self.near = np.empty((points.n, 0), dtype=np.int32)

    @property
    def slack(self) -> float:
        """The present e."""
        return SLACKS[self.at]

    def search(
        self, u: NDArray[np.float64], known: NDArray[np.float64], /, limits: SearchLimits
    ) -> Searched:
        """Search multipliers of points, given some that overpay no class."""
        if self.proves:
            return self._proved(self._scaled(u, limits), known, limits)
        return Searched(known, *listed(self._swapped(u, limits)))

    def _swapped(self, u: NDArray[np.float64], limits: SearchLimits) -> FoundBoxes:
        """Find classes that are overpaid; nothing is proved."""
        from discreet.kanonymity.kernels.swapping import swapped

        classes = room_for(len(u), self.k)

        def some(piece: int, _halted: NDArray[np.bool_]) -> None:
            begin, stop = POINTS_PER_TASK * piece, min(len(u), POINTS_PER_TASK * (piece + 1))
            for slot, reward in enumerate(REWARDS):
                arguments = (
                    self.points.arrays,
                    self.counts,
                    u,
                    self.near,
                    self.k,
                    reward,
                    MAX_SWAPS_PER_CLASS,
                    slot,
                )
                swapped(*arguments, begin, stop, classes)

        _in_threads(some, -(-len(u) // POINTS_PER_TASK), limits)
        return classes

    def _scaled(self, u: NDArray[np.float64], limits: SearchLimits) -> NDArray[np.float64]:
        """Divide multipliers by how many times their classes are overpaid, until swaps find no such class."""
        for _ in range(MAX_SCALING_ROUNDS):
            classes = self._swapped(u, limits)
            over = classes.excess > MIN_EXCESS
            if not over.any():
                break
            points, rows = classes.points[over], classes.rows[over]
            mean = (u[points] * rows).sum(axis=1) / self.k
            times = mean / np.maximum(mean - classes.excess[over], MIN_EXCESS)
            ratio = np.ones(len(u) + 1)
            np.maximum.at(ratio, points, times[:, None])
            u = np.where(u > 0, u / ratio[:-1], u)
        return u

    def _proved(
        self, u: NDArray[np.float64], known: NDArray[np.float64], limits: SearchLimits
    ) -> Searched:
        """Branch on the roots until the time is over, and repair the multipliers of unproved roots."""
        from discreet.kanonymity.kernels.branching import branches

        n = len(u)
        classes, upper = room_for(n, self.k), np.full(n, np.nan)
        order = np.argsort(-u, kind="stable").astype(np.int32)
        ranks = np.arange(int((u > 0).sum()))
        upper[order[len(ranks) :]] = 0.0
        arguments = (self.points.arrays, self.counts, u, order, self.k, self.slack)
        doubtful = before = np.zeros(n, dtype=np.bool_)
        for limit in self.limits:
            doubtful, before = np.zeros(n, dtype=np.bool_), doubtful
            again = ranks

            def some(
                piece: int,
                halted: NDArray[np.bool_],
                again: NDArray[np.int64] = again,
                limit: int = limit,
                doubtful: NDArray[np.bool_] = doubtful,
            ) -> None:
                rank = again[piece]
                branches(*arguments, limit, rank, rank + 1, classes, upper, doubtful, halted)

            reached = _in_threads(some, len(again), limits)
            if not reached:
                doubtful |= before
            ranks = np.flatnonzero(np.isinf(upper[order]))
            if not (reached and len(ranks)):
                break
        # Classes of a root have rows of its rank and behind.
        unseen = np.flatnonzero(np.isnan(upper[order]))
        doubtful[order[unseen[0] if len(unseen) else n :]] = True
        repaired = self._repaired(u, np.where(np.isfinite(upper), upper, 0.0))
        feasible = np.where(doubtful, np.minimum(known, repaired), repaired)
        return Searched(feasible, *listed(classes))

    def _repaired(self, u: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take off what a class may be overpaid by: from all rows alike, the rest from its root."""
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
        """Schedule a proof once swaps add few classes, and lower the slack after a proof; return False at the end."""
        if not self.proves:
            slow = not added or top > (1 - SLOW_PROGRESS) * self.last_top
            self.last_top = top
            self.proves = (slow and self.share == 0) or self.prove_by < clock()
            if slow:
                self.share = max(0.0, self.share - 0.25)
            return True
        self.proves, self.share = False, min(self.share, 0.5)
        self.prove_by = clock() + PROOF_AFTER_SHARE_OF_TIME * max(0.0, self.ends - clock())
        last = self.at + 1 == len(SLACKS)
        if value * (1 + self.slack) < PROOF_SHARE_OF_VALUE * top and added:
            return True
        self.at = min(self.at + 1, len(SLACKS) - 1)
        return added > 0 or not last

    def begin(self, limits: SearchLimits) -> None:
        """Learn how much time there is: a proof begins in any case when a part of it is over."""
        self.ends = limits.deadline
        self.prove_by = clock() + PROOF_AFTER_SHARE_OF_TIME * limits.left


def _in_threads(
    some: Callable[[int, NDArray[np.bool_]], None], total: int, limits: SearchLimits
) -> bool:
    """Do pieces of work by turns, in the order that they have; whether all were done before the time was over.

    What is halted ends at once, and is not done.
    """
    pieces, halted = count(), np.zeros(1, dtype=np.bool_)

    def work() -> bool:
        while not halted[0] and limits.left > 0:
            piece = next(pieces)
            if piece >= total:
                return True
            some(piece, halted)
        return False

    with ThreadPoolExecutor(limits.threads) as pool:
        working = [pool.submit(work) for _ in range(limits.threads)]
        try:
            while wait(working, timeout=min(1.0, limits.left + 0.01)).not_done:
                halted[0] = limits.left <= 0
        finally:
            halted[0] = True
        return all(each.result() for each in working)
