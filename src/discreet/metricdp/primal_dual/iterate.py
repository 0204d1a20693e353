"""Arrays of primal-dual steps in blocks of sixteen reports, and the rules of restarts, primal weight and units."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK, TileArrays

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

_STEPS_BEFORE_NEW_UNITS = (50.0, 150.0)
"""Steps after which variables get new units, for 1,000 secrets and as the root of their number for others. Twelve
families of 225 secrets, half a nat to two, 1 %, entries of a ten-thousandth or more: fewer steps on each than without;
a third time after 450 steps, or sooner after 300, helped some and set others back; November 2026."""

_LEAST_SHARE_OF_COLUMN, _NEW_UNIT_SHARE = 1e-3, 0.5
"""Least share of its column's largest entry that an entry counts as in new units, and weight of the new units in the
geometric mean with the old ones: 144 random points, one nat, new units after 150 steps, had a gap of 1.3 % after
600 with losses that do not follow the distance, 1.4 % with weight 1, and 4.2 % with the units of the start;
with losses that do, 0.6, 0.3 and 1.4 %; without a least share neither converged. These are with shares of 1e-4; steps
to 1 % of instances with a bumpy prior and half a nat a unit, without new units, with shares of 1e-4, 1e-3 and 1e-2: 400
random points 1,396, 2,121, 1,605 and 1,845, a grid of 1,000 1,107, 1,463, 838 and -, 225 random points 1,383, 3,684,
1,383 and 1,830; at one nat 225 random points 1,045, 518, 686 and 908; November 2026."""


@dataclass(eq=False)
class TileState:
    """Some reports and secrets, with point and anchor of their steps: variables, multipliers, reduced costs.

    Parameters
    ----------
    secrets
        ``(n,)``: secrets, ascending.
    reports
        ``(k,)``: reports.
    cost
        ``(n, k)``: costs, in the unit of the loss.
    units
        ``(n, k)``: units of the variables, without the factors of the secrets' degrees.
    local
        ``(n,)``: mean contribution of each secret and its neighbors to the loss, in units of the mean.
    start
        ``(n, k)``: starting point of the steps.
    """

    secrets: NDArray[np.int64]
    reports: NDArray[np.int64]
    cost: NDArray[np.float64]
    units: NDArray[np.float64]
    local: NDArray[np.float64]
    start: NDArray[np.float64]

    X: NDArray[np.float32] = field(init=False)
    X0: NDArray[np.float32] = field(init=False)
    L: NDArray[np.float32] = field(init=False)
    L0: NDArray[np.float32] = field(init=False)
    R: NDArray[np.float32] = field(init=False)
    best_multipliers: NDArray[np.float32] = field(init=False)
    """Those of the best bound, as a table like ``L``; empty if they are not needed."""
    best_scales: NDArray[np.float32] = field(init=False)
    """The scales that they have: later ones would round them."""

    @property
    def arrays(self) -> TileArrays:
        """The arrays that kernels of steps share."""
        return TileArrays(*(getattr(self, name) for name in TileArrays._fields))

    def keep(self, factor: float) -> None:
        """Store the multipliers, times a factor, as the best ones. Linear."""
        self.best_multipliers, self.best_scales = self.L * np.float32(factor), self.R

    def drop_best(self) -> None:
        """Free the memory of the best multipliers."""
        self.best_multipliers, self.best_scales = np.zeros_like(self.L[:0]), self.R

    def drop_point(self) -> None:
        """Free the memory of all that steps need; the best multipliers and their scales stay."""
        for name in set(TileArrays._fields) - {"R"}:
            setattr(self, name, np.zeros(0, dtype=np.float32))
        self.cost = np.zeros((0, 0))

    def copy_point(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return a copy of the variables and of the multipliers."""
        return self.X.copy(), self.L.copy()

    def move_to(self, X: NDArray[np.float32], L: NDArray[np.float32]) -> None:
        """Move the point, in place; call :meth:`set_anchor` afterwards."""
        np.copyto(self.X, X)
        np.copyto(self.L, L)

    def set_anchor(self) -> None:
        """Make the point the new anchor; its negative and tiny variables, and its tiny multipliers, become 0.

        What multipliers add to reduced costs is summed anew. Linear in the variables and multipliers.
        """
        self.X[self.X <= LEAST_ENTRY] = 0.0
        self.L[np.abs(self.L) <= LEAST_PRICE] = 0.0
        np.copyto(self.X0, self.X)
        np.copyto(self.L0, self.L)
        self.sum_prices()

    def sum_prices(self) -> None:
        """Sum anew what multipliers add to reduced costs."""
        raise NotImplementedError


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


def from_blocks(blocks: NDArray[np.floating], n_reports: int) -> NDArray[np.float64]:
    """Return the table ``(n, n_reports)``, float64, of an array in blocks, ``(blocks, n, 16)``.

    The inverse of to_blocks.
    """
    number, n, lanes = blocks.shape
    table = blocks.transpose(1, 0, 2).reshape(n, number * lanes)[:, :n_reports]
    return table.astype(float)


def is_restart_due(count: int, age: int, size: float, first: float, last: float) -> bool:
    """Test whether to restart, after `count` steps in all and `age` since the last restart.

    `first`, `last` and `size` are the lengths of the first step since then, of the one before, and of this one.
    """
    shrunk = size < _SUFFICIENT_DECAY * first
    stalled = last < size < _NECESSARY_DECAY * first
    overdue = count > 50 and age > _MAX_SHARE_OF_STEPS * count
    return count > 5 and (shrunk or stalled or overdue)


class PrimalWeight(NamedTuple):
    """First primal weight, in units of its estimate, and largest factor between it and later ones."""

    first: float
    most: float


WEIGHT_ON_TILES, WEIGHT_ON_ARCS = PrimalWeight(3.0, 100.0), PrimalWeight(0.03, 4.0)
"""Of tiles 1,000 junctions of Rome had a bound of .809 after 127 steps with 3, and of .775 with 1. On arcs the residual
of the channel tells little, so that weights hardly follow it: 1,000 words by their angles, half a nat, after 40 CPU
seconds, 1.083 with .03 and 4, 1.023 with 3 and 100; 400 words 1 % after 12 and 15 CPU seconds. November 2026."""


def balance_weight(
    weight: float,
    primal: float,
    dual: float,
    *,
    first: float,
    power: float = 0.5,
    most: float = WEIGHT_ON_TILES.most,
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


def steps_before_new_units(n: int) -> list[int]:
    """Return the numbers of steps after which variables of ``n`` secrets get new units.

    Examples
    --------
    >>> steps_before_new_units(1000), steps_before_new_units(250)
    ([50, 150], [25, 75])
    """
    return [int(steps * math.sqrt(n / 1000)) for steps in _STEPS_BEFORE_NEW_UNITS]


def new_units(
    units: NDArray[np.float64], matrix: NDArray[np.float64], local: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the geometric mean of the previous units of variables and of those derived from a positive matrix.

    All are ``(n, k)`` but `local`, ``(n,)`` scales of the secrets. ``O(n k)``.
    """
    share = np.maximum(matrix / matrix.max(axis=0), _LEAST_SHARE_OF_COLUMN)
    chosen: NDArray[np.float64] = units ** (1 - _NEW_UNIT_SHARE) * (share / local[:, None]) ** (
        0.5 * _NEW_UNIT_SHARE
    )
    return chosen


def convert_multipliers(
    L: NDArray[np.float32], change: NDArray[np.float32], ends: NDArray[np.int32]
) -> None:
    """Convert multipliers to other units, in place: each to the unit of the secret with the bounding row.

    `L` is ``(blocks, m, 16)``, `change` ``(blocks, n, 16)`` the factors, `ends` ``(m, 2)``. Linear in `L`.
    """
    i, j = ends.T
    for block, factor in zip(L, change, strict=True):
        np.multiply(block, np.where(block > 0, factor[j], factor[i]), out=block)
