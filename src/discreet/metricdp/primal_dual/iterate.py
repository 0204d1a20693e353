"""Arrays of primal-dual steps in blocks of sixteen reports, and the rules of restarts and of the primal weight."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

__all__ = [
    "LANES",
    "LEAST_ENTRY",
    "LEAST_PRICE",
    "ROW_WEIGHT",
    "aligned",
    "balanced",
    "blocked",
    "follows",
    "lanes_changed",
    "restart_due",
    "share",
    "unblocked",
]

LANES = 16
"""Reports side by side: one vector register of floats."""

_LEAST_CORRELATION = 0.3
"""Correlation with the distance above which losses are scaled by it."""

ROW_WEIGHT = 0.15
"""Squared weight of the rows' sums beside the ratios, in units of the largest of either: random points, 225 secrets of
3 to 25 neighbors, needed 15 to 25 % fewer steps to the same bound than with one weight for all, November 2026."""

_BALANCED_WEIGHT_LIMITS = 0.02, 100.0
"""Limits on the primal weight once it is balanced."""

_MAX_WEIGHT_CHANGE_POWER = 0.5
"""Power of the ratio of the two residuals by which the weight changes, and the least factor of a change; the largest
is its inverse."""

_SUFFICIENT_DECAY, _NECESSARY_DECAY, _MAX_SHARE_OF_STEPS = 0.2, 0.8, 0.36
"""Decay of the steps since the last restart that is enough for another, or enough once they grow again, and share of
all steps after which one is due: the usual factors of restarted first-order methods."""

LEAST_PRICE, LEAST_ENTRY = 1e-12, 1e-18
"""Multipliers, in units of what a row costs, and variables that become zero where the anchor moves. With 1e-32 for both
a step of 225 random points took 0.5 ms at first, and 1.4 after 1,000 steps, when 8 % of the multipliers had squares
below the normal floats; November 2026."""

_CACHE_LINE_BYTES = 64
"""Rows of 16 floats start at a line of the cache."""


def aligned(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return an array of zeros that begins at a line of the cache, so that no row of 16 floats lies in two."""
    size = math.prod(shape)
    room = np.zeros(size + _CACHE_LINE_BYTES // 4, dtype=np.float32)
    skipped = -(room.ctypes.data // 4) % (_CACHE_LINE_BYTES // 4)
    return room[skipped : skipped + size].reshape(shape)


def blocked(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a table of (secret, report) in blocks of 16 reports, the last filled up with zeros."""
    n, k = table.shape
    blocks = -(-k // LANES)
    padded = np.zeros((n, blocks * LANES), dtype=np.float32)
    padded[:, :k] = table
    laid = aligned((blocks, n, LANES))
    laid[:] = padded.reshape(n, blocks, LANES).transpose(1, 0, 2)
    return laid


def unblocked(blocks: NDArray[np.float32], n_reports: int) -> NDArray[np.float64]:
    """Return the table of (secret, report) of an array in blocks."""
    number, n, lanes = blocks.shape
    table = blocks.transpose(1, 0, 2).reshape(n, number * lanes)[:, :n_reports]
    return table.astype(np.float64)


def share(
    pool: ThreadPoolExecutor | None, threads: int, pieces: int, work: Callable[[int], object]
) -> None:
    """Run each piece of work once, in this thread and in those of the pool."""
    following = count()

    def take() -> None:
        while (piece := next(following)) < pieces:
            work(piece)

    others = [] if pool is None else [pool.submit(take) for _ in range(min(threads, pieces) - 1)]
    take()
    for other in others:
        other.result()


def lanes_changed(change: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return changes of units in blocks, 1 in the lanes that fill up the last block."""
    laid = blocked(change)
    laid[laid == 0] = 1.0
    return laid


def restart_due(count: int, age: int, size: float, first: float, last: float) -> bool:
    """Return whether to restart, from the steps in all and since the last restart and from their lengths.

    Examples
    --------
    >>> restart_due(100, 9, 0.1, 1.0, 0.2), restart_due(100, 9, 0.5, 1.0, 0.6)
    (True, False)
    """
    enough = size < _SUFFICIENT_DECAY * first
    stalled = last < size < _NECESSARY_DECAY * first
    old = count > 50 and age > _MAX_SHARE_OF_STEPS * count
    return count > 5 and (enough or stalled or old)


def balanced(weight: float, primal: float, dual: float) -> float:
    """Return the next primal weight from the residuals of the channel and of the bound, in the same unit.

    Examples
    --------
    >>> balanced(4.0, 0.01, 0.01), balanced(4.0, 1.0, 0.0), balanced(4.0, 0.0, 1.0)
    (4.0, 8.0, 2.0)
    """
    ratio = max(primal, 0.0) / dual if dual > 0 else math.inf
    low, high = _BALANCED_WEIGHT_LIMITS
    factor: float = min(
        max(ratio**_MAX_WEIGHT_CHANGE_POWER, _MAX_WEIGHT_CHANGE_POWER), 1 / _MAX_WEIGHT_CHANGE_POWER
    )
    return float(min(max(weight * factor, low), high))


def follows(cost: NDArray[np.float64], away: NDArray[np.float64]) -> bool:
    """Return whether losses correlate with the distance from home, each secret's in its own unit."""
    mean = cost.mean(axis=1, keepdims=True)
    relative = np.divide(cost, mean, out=np.ones_like(cost), where=mean > 0) - 1.0
    far = np.where(mean > 0, away - away.mean(axis=1, keepdims=True), 0.0)
    size = math.sqrt(float((relative**2).sum()) * float((far**2).sum()))
    return float((relative * far).sum()) > _LEAST_CORRELATION * size
