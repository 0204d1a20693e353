r"""The noise of a mechanism for every point: integers on a torus that fall off as fast as its condition allows.

With :math:`\rho = \epsilon h` the condition on one axis is met with equality by :math:`e^{-a |s|}`,
:math:`a = \operatorname{asinh} \rho`: its slope in the middle of a cell is :math:`\sinh a` of its value. In the plane
so is :math:`e^{-a |s|}` but for the coefficients where four cells meet, diagonally around the origin, by half a
percent or so. The tip is rounded for these, :math:`e^{-a \sqrt{|s|^2 + c^2}}`, with the least c that does: it takes
next to nothing, since little of the noise is there.

Rounded to integers, far values would be off by too large a part of themselves. So each is raised by one constant, which
changes no slope, and which is large beside what rounding may change: parts in :math:`10^{11}` of all noise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.lrgeo.points.verify_claims import MOST_BITS

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

WEIGHT_SUM_BITS = MOST_BITS
"""Bits of the sum of the noise: as many as its verifier allows."""


class _Tuning(NamedTuple):
    """Parameters of the search for the rounding of the tip of the noise."""

    window_nodes: int = 48
    """Side of the window around the origin that is checked; beyond it the curvature is too small to matter."""
    bisections: int = 30
    max_rounding_nodes: float = 4.0
    """Largest rounding c that is tried."""


_TUNING = _Tuning()


def noise_table(rho: Fraction, shape: tuple[int, int], *, shaved: float = 0.0) -> NDArray[np.int64]:
    """Return integer weights of the noise on a torus, of sum ``2**53``.

    Linear in the nodes. The condition is likely to hold, but is proven by the verifier alone.

    Parameters
    ----------
    rho
        Epsilon times the side of a cell.
    shape
        Of the torus.
    shaved
        Part by which it falls off less fast than it may.

    Returns
    -------
    ndarray
        ``shape``, integers that sum to :math:`2^{53}`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> made = noise_table(Fraction(1, 4), (40, 40))
    >>> int(made.sum()) == 1 << WEIGHT_SUM_BITS, int(made.argmax())
    (True, 0)
    """
    rate = float(rho)
    fall = math.asinh(rate) * (1 - shaved)
    m, n = (min(size, _TUNING.window_nodes) for size in shape)
    low, high = 0.0, _TUNING.max_rounding_nodes
    if _steepest(_decay((m, n), fall, low)) > rate:
        for _ in range(_TUNING.bisections):
            middle = (low + high) / 2
            if _steepest(_decay((m, n), fall, middle)) > rate:
                low = middle
            else:
                high = middle
    else:
        high = 0.0
    table = _decay(shape, fall, high)
    # Rounding, and what makes the sum right, change an entry by one, slopes by eight and values by four: see (**).
    raised = 4 / rate + 2
    free = (1 << WEIGHT_SUM_BITS) - table.size
    made: NDArray[np.int64] = np.rint(
        table * ((free - raised * table.size) / table.sum()) + raised
    ).astype(np.int64)
    missing = (1 << WEIGHT_SUM_BITS) - int(made.sum())
    each, rest = divmod(missing, table.size)
    made += each
    made.ravel()[:rest] += 1
    return made


def _decay(shape: tuple[int, int], fall: float, tip: float) -> NDArray[np.float64]:
    """Return the values of the noise on a torus of `shape`, not scaled: ``e^(-fall sqrt(steps^2 + tip^2))``, float64.

    `steps` are those to node (0, 0), around the torus if that is shorter; `fall` is nats a cell, `tip` in cells.
    """
    away = [np.minimum(np.arange(size), size - np.arange(size)) for size in shape]
    square = away[0][:, None] ** 2 + away[1][None] ** 2 + tip**2
    values: NDArray[np.float64] = np.exp(-fall * np.sqrt(square))
    return values


def _steepest(table: NDArray[np.float64]) -> float:
    """Return the largest slope, a cell, relative to the value at the corners of four cells; elsewhere it is smaller.

    `table` is the noise ``(m, n)``, which wraps around; linear.
    """
    following = np.roll(table, -1, 0)
    both, across = table + following, following - table
    value = both + np.roll(both, -1, 1)
    east = 2 * (across + np.roll(across, -1, 1))
    north = 2 * (np.roll(both, -1, 1) - both)
    return float((np.hypot(east, north) / value).max())
