"""Arrays of primal-dual steps in blocks of sixteen reports, and the rules of restarts and of the primal weight."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SUFFICIENT_DECAY, _NECESSARY_DECAY, _MAX_SHARE_OF_STEPS = 0.2, 0.8, 0.36
"""Factors of the step length since the last restart that trigger a restart at once, or if steps grow again, and share
of all steps that triggers one: the usual values of restarted first-order methods."""

LEAST_PRICE, LEAST_ENTRY = 1e-12, 1e-18
"""Multipliers, in units of the cost of a row, and variables below which an entry of a new anchor becomes zero. With
1e-32 for both a step of 225 random points took 0.5 ms at first, and 1.4 after 1,000 steps, when 8 % of the multipliers
had squares below the normal floats; November 2026."""

_ROW_BYTES = 4 * REPORTS_PER_BLOCK
"""Size of a row of a block, which is a cache line, and alignment of rows."""


class TileState:
    """Point and anchor of the steps on some reports: variables ``X``, multipliers ``L``, reduced costs ``G``.

    ``S`` has the scales of the variables and ``W`` their scaled costs.
    """

    X: NDArray[np.float32]
    X0: NDArray[np.float32]
    L: NDArray[np.float32]
    L0: NDArray[np.float32]
    G: NDArray[np.float32]
    S: NDArray[np.float32]
    W: NDArray[np.float32]
    cost: NDArray[np.float64]
    best_multipliers: NDArray[np.float32]
    """Those of the best bound, none if they are not needed; how they are stored is up to the tile."""

    def keep(self, factor: float, _least: float) -> None:
        """Store the multipliers, times a factor, as the best ones, negative ones as 0; small ones may be left out.

        Linear.
        """
        self.best_multipliers = np.maximum(self.L, np.float32(0.0))
        self.best_multipliers *= np.float32(factor)

    def drop_best(self) -> None:
        """Free the memory of the best multipliers."""
        self.best_multipliers = np.zeros_like(self.L[:0])

    def drop_point(self) -> None:
        """Free the memory of point, anchor and costs: no more steps can be taken, and the best multipliers stay."""
        none = np.zeros(0, dtype=np.float32)
        self.X = self.X0 = self.G = self.S = self.W = self.L = self.L0 = none
        self.cost = np.zeros((0, 0))

    def reset_to_anchor(self) -> None:
        """Reset the point to the anchor."""
        np.copyto(self.X, self.X0)
        np.copyto(self.L, self.L0)


def aligned_zeros(shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return float32 zeros of a shape, aligned to cache lines, so that a row of 16 floats is in one line.

    Linear; the memory is a part of a slightly larger array.
    """
    size = math.prod(shape)
    room = np.zeros(size + _ROW_BYTES // 4, dtype=np.float32)
    skipped = -(room.ctypes.data // 4) % (_ROW_BYTES // 4)
    return room[skipped : skipped + size].reshape(shape)


def to_blocks(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a table ``(n, k)`` as float32 ``(blocks, n, 16)``, the reports of the last block padded with zeros."""
    n, k = table.shape
    blocks = -(-k // REPORTS_PER_BLOCK)
    padded = np.zeros((n, blocks * REPORTS_PER_BLOCK), dtype=np.float32)
    padded[:, :k] = table
    blocks_of_reports = aligned_zeros((blocks, n, REPORTS_PER_BLOCK))
    blocks_of_reports[:] = padded.reshape(n, blocks, REPORTS_PER_BLOCK).transpose(1, 0, 2)
    return blocks_of_reports


def from_blocks(blocks: NDArray[np.float32], n_reports: int) -> NDArray[np.float64]:
    """Return the table ``(n, n_reports)``, float64, of an array in blocks, ``(blocks, n, 16)``.

    The inverse of to_blocks.
    """
    number, n, lanes = blocks.shape
    table = blocks.transpose(1, 0, 2).reshape(n, number * lanes)[:, :n_reports]
    return table.astype(np.float64)


def unit_changes(change: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return factors of units ``(n, k)`` in blocks, float32 ``(blocks, n, 16)``, 1 in the padding of the last block."""
    changes = to_blocks(change)
    changes[changes == 0] = 1.0
    return changes


def is_restart_due(count: int, age: int, size: float, first: float, last: float) -> bool:
    """Test whether to restart, after `count` steps in all and `age` since the last restart.

    `first`, `last` and `size` are the lengths of the first step since then, of the one before, and of this one.
    """
    shrunk = size < _SUFFICIENT_DECAY * first
    stalled = last < size < _NECESSARY_DECAY * first
    overdue = count > 50 and age > _MAX_SHARE_OF_STEPS * count
    return count > 5 and (shrunk or stalled or overdue)


def balance_weight(
    weight: float,
    primal: float,
    dual: float,
    *,
    first: float,
    power: float = 0.5,
    most: float = 100.0,
) -> float:
    """Return the next primal weight from the residuals of the channel and of the bound, in the same unit.

    It grows if `primal` is larger than `dual`, by their ratio to the `power` and a factor of at most ``1 / power``,
    falls likewise, and stays within a factor of `most` of the `first` one.

    Examples
    --------
    >>> [balance_weight(4.0, *residuals, first=4.0) for residuals in ((0.01, 0.01), (1.0, 0.0), (0.0, 1.0))]
    [4.0, 8.0, 2.0]
    """
    ratio = max(primal, 0.0) / dual if dual > 0 else math.inf
    factor: float = min(max(ratio**power, power), 1 / power)
    at_least = max(weight * factor, first / most)
    return float(min(at_least, first * most))


def follows_distance(
    cost: NDArray[np.float64], away: NDArray[np.float64], *, least: float = 0.3
) -> bool:
    """Test whether losses, in units of each secret's mean, correlate with the distance from home.

    The correlation must exceed `least`: below it variables are better not scaled by the distance. `cost` and `away` are
    ``(n, k)``; ``O(n k)``.
    """
    mean = cost.mean(axis=1, keepdims=True)
    relative = np.divide(cost, mean, out=np.ones_like(cost), where=mean > 0) - 1.0
    far = np.where(mean > 0, away - away.mean(axis=1, keepdims=True), 0.0)
    size = math.sqrt(float((relative**2).sum()) * float((far**2).sum()))
    return float((relative * far).sum()) > least * size
