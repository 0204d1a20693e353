"""Compiled steps of the primal-dual method: sixteen reports side by side in the inner loop.

Arrays are laid out as ``[block of 16 reports][secret or constraint][16]``, so that an edge is read once for 16 reports
and a value fills one vector register. The pull of a multiplier and its push for the next step are one pass, so that it
is read once a step. The state is float32; nothing that is claimed rests on it.

Half steps of one secret and of one constraint get rows of 16 numbers that share no memory, so that each loop becomes
one pass of vector instructions. Additions and products are done one by one and in the order written, so that results
are the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from discreet.core.jit import disjoint, kernel
from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.kernels.sizes import StepSizes, TileArrays

_SMALLEST_NORMAL_PRODUCT = np.float32(1e-30)
"""Magnitude below which a value is taken for 0: its products would be subnormal, which take a hundred times as long."""

Row: TypeAlias = "NDArray[np.float32]"
"""``(16,)``: one number for each report of a block; with arcs ``(n,)``, one for each secret."""

Rows: TypeAlias = "tuple[Row, Row]"
"""The rows of the two secrets i and j of a constraint."""


@disjoint
def push(prices: Row, r: Rows, g: Rows, a: np.floating) -> None:
    """Add to the reduced costs ``g`` of both secrets what the multipliers of their constraint add to them.

    ``prices`` are its multipliers, positive ones of ``a z_i <= z_j`` and negative ones of ``a z_j <= z_i``; ``r`` are
    the scales of ratios, ``a`` is the factor ``e^-nats``.
    """
    zero = np.float32(0.0)
    for v in range(REPORTS_PER_BLOCK):
        forth, back = max(prices[v], zero) * r[1][v], min(prices[v], zero) * r[0][v]
        g[0][v] += a * forth + back
        g[1][v] -= a * back + forth


@disjoint
def pull(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    prices: Row,
    anchors: Row,
    z: Rows,
    r: Rows,
    g: Rows,
    a: np.float32,
    rates: tuple[np.float32, np.float32, np.float32],
    moved: Row,
) -> None:
    """Take a reflected step of the multipliers of a constraint, averaged with the anchor, and push them.

    ``rates`` are the step sigma and the weights of anchor and point, which add up to 1. Other arguments are as of
    :func:`push`; ``z`` are the reflected points, which violate at most one direction where they are not negative.
    Squares of the step are added to ``moved``.
    """
    sigma, rest, weight = rates
    zero = np.float32(0.0)
    for v in range(REPORTS_PER_BLOCK):
        old = prices[v]
        forth = old + sigma * (r[1][v] * (a * z[0][v] - z[1][v]))
        back = old - sigma * (r[0][v] * (a * z[1][v] - z[0][v]))
        new = max(forth, zero) + min(back, zero)
        moved[v] += (new - old) * (new - old)
        prices[v] = rest * anchors[v] + weight * ((new + new) - old)
    push(prices, r, g, a)


@disjoint
def move(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    lanes: int,
    x: Row,
    x0: Row,
    s: Row,
    w: Row,
    g: Row,
    y: Row,
    z: Row,
    sums: NDArray[np.floating],
    moved: Row,
    rates: tuple[np.float32, np.float32, np.float32],
) -> None:
    """Take a reflected step of the variables ``x``, averaged with the anchor ``x0``, and clear their ``g``.

    The variables are those of a secret and 16 reports, or of a report and all secrets: the first ``lanes`` entries of
    each array. ``s`` is the scale, ``w`` the scaled cost, ``y`` the multiplier of the row of each variable, ``rates``
    are the step tau and the weights of anchor and point. ``z`` gets the reflected point, unscaled, with 0 for what is
    below :data:`_SMALLEST_NORMAL_PRODUCT`; the point is added to ``sums``, and squares of the step to ``moved``.
    """
    tau, rest, weight = rates
    for v in range(lanes):
        old = x[v]
        new = old - tau * (w[v] + s[v] * (g[v] - y[v]))
        new = max(new, np.float32(0.0))
        moved[v] += (new - old) * (new - old)
        mirrored = (new + new) - old
        ahead = s[v] * mirrored
        large = (ahead > _SMALLEST_NORMAL_PRODUCT) | (ahead < -_SMALLEST_NORMAL_PRODUCT)
        z[v] = ahead if large else np.float32(0.0)
        sums[v] += ahead
        x[v] = rest * x0[v] + weight * mirrored
        g[v] = np.float32(0.0)


@kernel
def step(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    tile: TileArrays,
    y: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    sizes: StepSizes,
    moved: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Take one reflected step, averaged with the anchor, in place; return the row sums of the reflected point.

    ``y`` ``(n,)`` are the row multipliers, ``ends`` ``(m, 2)`` and ``shrink`` ``(m,)`` the constraints and their
    ``e^-nats``. ``moved`` ``(2,)`` gets the squared lengths of both halves of the step. The cost is ``O(n + m)`` a
    report.
    """
    tau, sigma, rest, weight = sizes
    blocks, n, _ = tile.X.shape
    primal = np.zeros(REPORTS_PER_BLOCK, dtype=np.float32)
    dual = np.zeros(REPORTS_PER_BLOCK, dtype=np.float32)
    levels = np.zeros(REPORTS_PER_BLOCK, dtype=np.float32)
    z = np.zeros((n, REPORTS_PER_BLOCK), dtype=np.float32)
    rows = np.zeros((n, REPORTS_PER_BLOCK), dtype=np.float32)
    moved[:] = 0.0
    for b in range(blocks):
        x, x0, s, r, w, g = tile.X[b], tile.X0[b], tile.S[b], tile.R[b], tile.W[b], tile.G[b]
        prices, prices0 = tile.L[b], tile.L0[b]
        primal[:] = np.float32(0.0)
        dual[:] = np.float32(0.0)
        for i in range(n):
            levels[:] = y[i]
            points = x[i], x0[i], s[i], w[i], g[i], levels, z[i]
            move(REPORTS_PER_BLOCK, *points, rows[i], primal, (tau, rest, weight))
        for e in range(len(shrink)):
            # As unsigned numbers, which count from the front without a test.
            p, q = np.uint64(ends[e, 0]), np.uint64(ends[e, 1])
            of_ends = (z[p], z[q]), (r[p], r[q]), (g[p], g[q])
            pull(prices[e], prices0[e], *of_ends, shrink[e], (sigma, rest, weight), dual)
        for v in range(REPORTS_PER_BLOCK):
            moved[0] += primal[v]
            moved[1] += dual[v]
    sums = np.zeros(n)
    for i in range(n):
        for v in range(REPORTS_PER_BLOCK):
            sums[i] += rows[i, v]
    return sums


@kernel
def sum_prices(
    L: NDArray[np.float32],
    R: NDArray[np.floating],
    ends: NDArray[np.int32],
    shrink: NDArray[np.floating],
    G: NDArray[np.floating],
) -> None:
    """Add up anew what the multipliers do to reduced costs; arrays are as of :func:`step`. ``O(m)`` a report.

    In the precision of `R`, `shrink` and `G`, which is overwritten.
    """
    G[:] = 0.0
    for b in range(len(L)):
        prices, r, g = L[b], R[b], G[b]
        for e in range(len(shrink)):
            i, j = ends[e, 0], ends[e, 1]
            push(prices[e], (r[i], r[j]), (g[i], g[j]), shrink[e])


@kernel
def largest_value(
    S: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    rounds: int,
) -> float:
    """Estimate the largest squared singular value of the scaled ratios of the reports of a block, by the power method.

    `S` and `R` are ``(n, 16)``, other arrays as of :func:`step`. ``O(rounds m)`` a report.
    """
    most = 0.0
    before, after = np.empty((2, len(S)), dtype=np.float32)
    for v in range(REPORTS_PER_BLOCK):
        s, r = S[:, v].copy(), R[:, v].copy()
        for i in range(len(s)):
            # Signs that alternate without a pattern start near the eigenvector.
            before[i] = np.float32(1.0 if (i * 7919 + i * i * 31) % 13 < 6 else -1.0)
        size = 0.0
        for _ in range(rounds):
            after[:] = np.float32(0.0)
            for e in range(len(shrink)):
                i, j, a = ends[e, 0], ends[e, 1], shrink[e]
                p = r[j] * (a * s[i] * before[i] - s[j] * before[j])
                q = r[i] * (a * s[j] * before[j] - s[i] * before[i])
                after[i] += s[i] * (a * r[j] * p - r[i] * q)
                after[j] += s[j] * (a * r[i] * q - r[j] * p)
            size = 0.0
            for i in range(len(s)):
                size += after[i] * after[i]
            size = np.sqrt(size)
            for i in range(len(s)):
                before[i] = after[i] / np.float32(max(size, 1e-30))
        most = max(most, size)
    return most
