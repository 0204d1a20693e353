r"""Multipliers that overpay no class: a proof by branches of boxes, and a repair for classes not proved.

The root of a class is its row with the largest multiplier. With a slack e the search proves for each root r that no
class of it has a mean above :math:`(1 + e) w + V_r`, where :math:`V_r` is zero for most, or it is cut short and marks
the rows of all classes that it proved nothing of. Then

.. math:: u'_i = \bigl(u_i - V - k \max(0, V_i - V)\bigr) / (1 + e)

overpays no class whose root was proved, whatever V of 0 or more is: the k multipliers of a class with root r have a
sum of at most :math:`k (1 + e) w + k V_r`, from which V is taken k times and the rest of :math:`k V_r` at the root. For
rows that are marked, the least of :math:`u'_i` and of a multiplier :math:`v_i` that was proved before is taken; classes
of which nothing was proved have such rows alone, and a sum of at most that of v. So a search that time ended counts as
far as it came. A slack makes branches end early, and costs a part e / (1 + e) of the bound.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.kanonymity.arrays import BranchLimits, Points
    from discreet.kanonymity.candidate import SearchLimits
    from discreet.kanonymity.kernels.branching import OverpaidClasses


@final
@dataclass(frozen=True, eq=False)
class Separated:
    """Result of one search for overpaid classes.

    Parameters
    ----------
    feasible
        ``(n_points,)`` multipliers that overpay no class.
    points, rows
        ``(n_classes, k)`` int32: points of the classes that the trial point overpays, -1 for none, and the number of
        rows of each.
    """

    feasible: NDArray[np.float64]
    points: NDArray[np.int32]
    rows: NDArray[np.int32]


def separate(  # noqa: PLR0917 - the parts of one search
    points: Points,
    k: int,
    u: NDArray[np.float64],
    feasible: NDArray[np.float64],
    slack: float,
    branch_limits: BranchLimits,
    limits: SearchLimits,
) -> Separated:
    """Find classes that multipliers overpay, and repair the multipliers so that they overpay none.

    Parameters
    ----------
    points, k
        The table, and the least class size.
    u
        ``(n_points,)`` multipliers.
    feasible
        ``(n_points,)`` multipliers that overpay no class; they count where the search is cut short.
    slack
        The e of the module's formula.
    branch_limits
        Limits of the search of one root.
    limits
        When to end, and the number of threads.
    """
    from discreet.kanonymity.kernels.branching import branches

    n, counts = len(u), np.diff(points.first)
    classes, upper = room_for(n, k), np.full(n, np.nan)
    order = np.argsort(-u, kind="stable").astype(np.int32)
    n_roots = int((u > 0).sum())
    upper[order[n_roots:]] = 0.0
    arguments = (points.arrays, counts, u, order, k, slack)
    doubtful = np.zeros(n, dtype=np.bool_)

    def search_root(rank: int, halted: NDArray[np.bool_]) -> None:
        branches(*arguments, branch_limits, rank, classes, upper, doubtful, halted)

    _in_threads(search_root, n_roots, limits)
    # Classes of a root have rows of its rank and behind.
    unsearched = np.flatnonzero(np.isnan(upper[order]))
    doubtful[order[unsearched[0] if len(unsearched) else n :]] = True
    proved = repaired(u, np.where(np.isfinite(upper), upper, 0.0), counts, k, slack)
    proved = np.where(doubtful, np.minimum(feasible, proved), proved)
    root, slot = np.nonzero(classes.excess > branch_limits.min_excess)
    falling = np.argsort(-classes.excess[root, slot], kind="stable")
    root, slot = root[falling], slot[falling]
    return Separated(proved, classes.points[root, slot], classes.rows[root, slot])


def repaired(
    u: NDArray[np.float64],
    upper: NDArray[np.float64],
    counts: NDArray[np.int64],
    k: int,
    slack: float,
) -> NDArray[np.float64]:
    """Take the largest excess of each root off the multipliers: a part V from all rows, the rest from the root.

    `u`, `upper` and `counts` are ``(points,)``: multipliers, upper bounds on the excess of classes rooted there, and
    rows. Returns new multipliers, divided by 1 + `slack`. V is the excess at which the sum over all rows stays
    largest; the sum is linear between the excesses. ``O(n log n)``.
    """
    value = np.append(np.sort(np.unique(np.maximum(upper, 0.0)))[::-1], 0.0)
    order = np.argsort(-upper, kind="stable")
    weight, worst = counts[order], np.maximum(upper[order], 0.0)
    ahead = np.searchsorted(-worst, -value)
    paid, heavy = (np.append(0.0, np.cumsum(part)) for part in (weight * worst, weight))
    rest = paid[ahead] - value * heavy[ahead]
    least = float(value[np.argmin(value * weight.sum() + k * rest)])
    taken_off: NDArray[np.float64] = u - least - k * np.maximum(0.0, upper - least)
    return taken_off / (1.0 + slack)


def room_for(n: int, k: int, n_kept: int = 4) -> OverpaidClasses:
    """Allocate arrays for the `n_kept` most overpaid classes, of up to k points, of each of n points.

    The points ``(n, n_kept, k)`` are int32 filled with -1, the rows int32 zeros of the same shape, and the excess
    ``(n, n_kept)`` float64 zeros.
    """
    from discreet.kanonymity.kernels.branching import OverpaidClasses

    shape = (n, n_kept, k)
    points = np.full(shape, -1, dtype=np.int32)
    return OverpaidClasses(points, np.zeros(shape, dtype=np.int32), np.zeros(shape[:2]))


def _in_threads(
    work: Callable[[int, NDArray[np.bool_]], None], total: int, limits: SearchLimits
) -> None:
    """Call `work` with the numbers of `total` pieces by turns, in their order, until the time is over.

    Each call also gets a boolean ``(1,)`` that becomes true to end the pieces begun. Errors of a piece are raised.
    """
    pieces, halted = count(), np.zeros(1, dtype=np.bool_)

    def by_turns() -> None:
        while not halted[0] and limits.left > 0:
            piece = next(pieces)
            if piece >= total:
                return
            work(piece, halted)

    with ThreadPoolExecutor(limits.threads) as pool:
        working = [pool.submit(by_turns) for _ in range(limits.threads)]
        try:
            while wait(working, timeout=min(1.0, limits.left + 0.01)).not_done:
                halted[0] = limits.left <= 0
        finally:
            halted[0] = True
        for each in working:
            each.result()
