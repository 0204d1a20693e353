"""New units of variables and multipliers during the steps: variables that will be small get small units."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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

    `L` is ``(blocks, 2 m, 16)``, `change` ``(blocks, n, 16)`` the factors, `ends` ``(m, 2)``. Linear in `L`.
    """
    i, j = ends.T
    for prices, factor in zip(L, change, strict=True):
        prices[0::2] *= factor[j]
        prices[1::2] *= factor[i]
