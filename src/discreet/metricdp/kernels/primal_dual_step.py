"""Half steps of one secret and of one constraint, for the sixteen reports of a block at once.

Arrays of 16 numbers are rows of the tables of :mod:`~discreet.metricdp.kernels.primal_dual`. They are passed as rows
that share no memory, so that each loop becomes one pass of vector instructions. Additions and products are done one by
one and in the order written, so that results are the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.core.jit import disjoint
from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST_NORMAL_PRODUCT = np.float32(1e-30)
"""Magnitude below which a value is taken for 0: its products would be subnormal, which take a hundred times as long."""

Row: TypeAlias = "NDArray[np.float32]"
"""``(16,)``: one number for each report of a block."""

Rows: TypeAlias = "tuple[Row, Row]"
"""The rows of the two secrets i and j of a constraint, or of its two directions, i to j first."""


@disjoint
def push(prices: Rows, r: Rows, g: Rows, a: np.float32) -> None:
    """Add to the reduced costs ``g`` of both secrets what the multipliers of their constraint add to them.

    ``prices`` are the multipliers of the two directions, ``r`` the scales of ratios, ``a`` the factor ``e^-nats``.
    """
    for v in range(REPORTS_PER_BLOCK):
        forth, back = prices[0][v] * r[1][v], prices[1][v] * r[0][v]
        g[0][v] += a * forth - back
        g[1][v] += a * back - forth


@disjoint
def pull(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    prices: Rows,
    anchors: Rows,
    z: Rows,
    r: Rows,
    g: Rows,
    a: np.float32,
    rates: tuple[np.float32, np.float32, np.float32],
    moved: Row,
) -> None:
    """Take a reflected step of the multipliers of a constraint, averaged with the anchor, and push them.

    ``rates`` are the step sigma and the weights of anchor and point, which add up to 1. Other arguments are as of
    :func:`push`; ``z`` are the reflected points. Squares of the step are added to ``moved``.
    """
    sigma, rest, weight = rates
    for v in range(REPORTS_PER_BLOCK):
        forth, back = prices[0][v], prices[1][v]
        new_forth = forth + sigma * (r[1][v] * (a * z[0][v] - z[1][v]))
        new_back = back + sigma * (r[0][v] * (a * z[1][v] - z[0][v]))
        new_forth = max(new_forth, np.float32(0.0))
        new_back = max(new_back, np.float32(0.0))
        step_forth, step_back = new_forth - forth, new_back - back
        moved[v] = (moved[v] + step_forth * step_forth) + step_back * step_back
        forth = rest * anchors[0][v] + weight * ((new_forth + new_forth) - forth)
        back = rest * anchors[1][v] + weight * ((new_back + new_back) - back)
        prices[0][v], prices[1][v] = forth, back
        forth, back = forth * r[1][v], back * r[0][v]
        g[0][v] += a * forth - back
        g[1][v] += a * back - forth


@disjoint
def move(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    x: Row,
    x0: Row,
    s: Row,
    w: Row,
    g: Row,
    z: Row,
    rows: Row,
    moved: Row,
    level: np.float32,
    rates: tuple[np.float32, np.float32, np.float32],
) -> None:
    """Take a reflected step of the variables ``x`` of a secret, averaged with the anchor ``x0``, and clear its ``g``.

    ``s`` is the scale, ``w`` the scaled cost, ``level`` the multiplier of the secret's row, ``rates`` are the step tau
    and the weights of anchor and point. ``z`` gets the reflected point, unscaled, with 0 for what is below
    :data:`_SMALLEST_NORMAL_PRODUCT`; the point is added to ``rows``, and squares of the step to ``moved``.
    """
    tau, rest, weight = rates
    for v in range(REPORTS_PER_BLOCK):
        old = x[v]
        new = old - tau * (w[v] + s[v] * (g[v] - level))
        new = max(new, np.float32(0.0))
        moved[v] += (new - old) * (new - old)
        mirrored = (new + new) - old
        ahead = s[v] * mirrored
        large = (ahead > _SMALLEST_NORMAL_PRODUCT) | (ahead < -_SMALLEST_NORMAL_PRODUCT)
        z[v] = ahead if large else np.float32(0.0)
        rows[v] += ahead
        x[v] = rest * x0[v] + weight * mirrored
        g[v] = np.float32(0.0)
