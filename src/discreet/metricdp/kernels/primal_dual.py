"""Compiled steps of the primal-dual method: sixteen reports side by side in the inner loop.

Arrays are laid out as ``[block of 16 reports][secret or constraint][16]``, so that an edge is read once for 16 reports
and a value fills one vector register. The pull of a multiplier and its push for the next step are one pass, so that it
is read once a step. The state is float32; nothing that is claimed rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel
from discreet.metricdp.kernels.primal_dual_step import move, pull, push
from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.kernels.sizes import StepSizes


class BlockArrays(NamedTuple):
    """Variables, multipliers and scales of a tile in blocks of 16 reports.

    ``X``, ``X0``, ``S``, ``W`` and ``G`` are ``(blocks, n, 16)``: variables, anchor, scale, scaled cost, and what the
    multipliers add to reduced costs, which is kept up; ``R`` has the scales of ratios, ``L`` and ``L0`` two rows a
    constraint, for its directions.
    """

    X: NDArray[np.float32]
    X0: NDArray[np.float32]
    L: NDArray[np.float32]
    L0: NDArray[np.float32]
    S: NDArray[np.float32]
    R: NDArray[np.float32]
    W: NDArray[np.float32]
    G: NDArray[np.float32]


class Constraints(NamedTuple):
    """Ends ``(m, 2)`` and ``e^-nats`` ``(m,)`` of the constraints."""

    ends: NDArray[np.int32]
    shrink: NDArray[np.float32]


@kernel
def step(
    tile: BlockArrays,
    y: NDArray[np.float32],
    constraints: Constraints,
    sizes: StepSizes,
    moved: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Take one reflected step, averaged with the anchor, in place; return the row sums of the reflected point.

    ``y`` ``(n,)`` are the row multipliers. ``moved`` ``(2,)`` gets the squared lengths of both halves of the step. The
    cost is ``O(n + m)`` a report.
    """
    ends, shrink = constraints
    tau, sigma, rest, weight = sizes
    blocks, n, _ = tile.X.shape
    primal = np.zeros(REPORTS_PER_BLOCK, dtype=np.float32)
    dual = np.zeros(REPORTS_PER_BLOCK, dtype=np.float32)
    z, rows = (
        np.zeros((n, REPORTS_PER_BLOCK), dtype=np.float32),
        np.zeros((n, REPORTS_PER_BLOCK), dtype=np.float32),
    )
    moved[:] = 0.0
    for b in range(blocks):
        x, x0, s, r, w, g = tile.X[b], tile.X0[b], tile.S[b], tile.R[b], tile.W[b], tile.G[b]
        prices, prices0 = tile.L[b], tile.L0[b]
        primal[:] = np.float32(0.0)
        dual[:] = np.float32(0.0)
        for i in range(n):
            move(x[i], x0[i], s[i], w[i], g[i], z[i], rows[i], primal, y[i], (tau, rest, weight))
        for e in range(len(shrink)):
            # As unsigned numbers, which count from the front without a test.
            p, q = np.uint64(ends[e, 0]), np.uint64(ends[e, 1])
            both, both0 = (prices[2 * e], prices[2 * e + 1]), (prices0[2 * e], prices0[2 * e + 1])
            ends_z, ends_r, ends_g = (z[p], z[q]), (r[p], r[q]), (g[p], g[q])
            pull(both, both0, ends_z, ends_r, ends_g, shrink[e], (sigma, rest, weight), dual)
        for v in range(REPORTS_PER_BLOCK):
            moved[0] += primal[v]
            moved[1] += dual[v]
    sums = np.zeros(n)
    for i in range(n):
        for v in range(REPORTS_PER_BLOCK):
            sums[i] += rows[i, v]
    return sums


@kernel
def anchor(table: NDArray[np.float32], before: NDArray[np.float32], least: float) -> float:
    """Make the point the new anchor, negative entries clipped; return the squared distance from the old one.

    What is below ``least`` becomes zero: where squares and products leave the normal floats, they take a hundred times
    as long.

    Both are ``(blocks, rows, 16)``, changed in place. Linear.
    """
    total = 0.0
    for b in range(len(table)):
        new, old = table[b], before[b]
        for i in range(len(new)):
            for v in range(REPORTS_PER_BLOCK):
                d = new[i, v] - old[i, v]
                total += d * d
                kept = new[i, v] if new[i, v] > least else np.float32(0.0)
                new[i, v] = kept
                old[i, v] = kept
    return total


@kernel
def anchor_prices(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    L0: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    G: NDArray[np.float32],
    least: float,
) -> float:
    """Make the multipliers the new anchor, as :func:`anchor`, and add up anew what they do to reduced costs.

    Arrays are as of :func:`step`. ``O(m)`` a report.
    """
    total = anchor(L, L0, least)
    G[:] = np.float32(0.0)
    for b in range(len(L)):
        prices, r, g = L[b], R[b], G[b]
        for e in range(len(shrink)):
            i, j = ends[e, 0], ends[e, 1]
            push((prices[2 * e], prices[2 * e + 1]), (r[i], r[j]), (g[i], g[j]), shrink[e])
    return total


@kernel
def largest_value(
    S: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    rounds: int,
) -> float:
    """Estimate the largest squared singular value of the scaled ratios of any report, by the power method.

    Arrays are as of :func:`step`. ``O(rounds m)`` a report.
    """
    blocks, n, _ = S.shape
    most = 0.0
    v0 = np.empty((n, 16), dtype=np.float32)
    v1 = np.empty((n, 16), dtype=np.float32)
    size = np.empty(16)
    for b in range(blocks):
        s, r = S[b], R[b]
        for i in range(n):
            # Signs that alternate without a pattern start near the eigenvector.
            sign = np.float32(1.0 if (i * 7919 + i * i * 31) % 13 < 6 else -1.0)
            for v in range(REPORTS_PER_BLOCK):
                v0[i, v] = sign
        for _ in range(rounds):
            v1[:] = np.float32(0.0)
            for e in range(len(shrink)):
                i, j, a = ends[e, 0], ends[e, 1], shrink[e]
                for v in range(REPORTS_PER_BLOCK):
                    forth = s[i, v] * r[j, v] * a
                    back = s[j, v] * r[i, v] * a
                    p = forth * v0[i, v] - v0[j, v]
                    q = back * v0[j, v] - v0[i, v]
                    v1[i, v] += forth * p - q
                    v1[j, v] += back * q - p
            size[:] = 0.0
            for i in range(n):
                for v in range(REPORTS_PER_BLOCK):
                    size[v] += v1[i, v] * v1[i, v]
            for v in range(REPORTS_PER_BLOCK):
                size[v] = np.sqrt(size[v])
            for i in range(n):
                for v in range(REPORTS_PER_BLOCK):
                    v0[i, v] = v1[i, v] / np.float32(max(size[v], 1e-30))
        for v in range(REPORTS_PER_BLOCK):
            most = max(most, size[v])
    return most


@kernel
def flows(
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float64],
    F: NDArray[np.float64],
) -> None:
    """Add up, in float64, what the multipliers add to each reduced cost.

    Of both directions of a constraint the lesser price is taken off, and ``e^-d`` times it from the other: that
    leaves the bracket of one end as it was, and raises that of the other.

    `F` ``(n, reports)`` is overwritten with the sums; `L` ``(blocks, 2 m, 16)`` and the other arrays are as of
    :func:`step`. ``O(n + m)`` a report.
    """
    n = R.shape[1]
    m, n_reports = len(shrink), F.shape[1]
    g = np.empty((n, 16))
    zero = np.float32(0.0)
    for b in range(len(L)):
        g[:] = 0.0
        prices, r = L[b], R[b]
        for e in range(m):
            i, j, a = ends[e, 0], ends[e, 1], shrink[e]
            for v in range(REPORTS_PER_BLOCK):
                p = max(prices[2 * e, v], zero) * np.float64(r[j, v])
                q = max(prices[2 * e + 1, v], zero) * np.float64(r[i, v])
                kept = p - a * q if p >= q else a * p - q
                forth, back = max(kept, 0.0), max(-kept, 0.0)
                g[i, v] += a * forth - back
                g[j, v] += a * back - forth
        for i in range(n):
            for v in range(min(16, n_reports - 16 * b)):
                F[i, 16 * b + v] = g[i, v]


@kernel
def mark_prices(
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    least: np.float32,
    marks: NDArray[np.uint16],
) -> int:
    """Mark the multipliers whose prices are above `least`, and return their number.

    ``marks`` ``(blocks, 2 m)`` gets a bit for each report, the first one lowest; other arrays are as of :func:`step`.
    ``O(m)`` a report.
    """
    count = np.int64(0)
    for b in range(len(L)):
        for e in range(len(ends)):
            for direction in range(2):
                row, unit = L[b, 2 * e + direction], R[b, ends[e, 1 - direction]]
                bits = np.uint32(0)
                for v in range(REPORTS_PER_BLOCK):
                    above = np.uint32(row[v] * unit[v] > least)
                    bits |= above << np.uint32(v)
                    count += np.int64(above)
                marks[b, 2 * e + direction] = bits
    return int(count)


@kernel
def take_marked(
    L: NDArray[np.float32],
    marks: NDArray[np.uint16],
    factor: np.float32,
    taken: NDArray[np.float32],
) -> None:
    """Write the marked multipliers, times a factor, one after another to ``taken``; arrays as of :func:`mark_prices`.

    Linear in the marks.
    """
    at = 0
    for b in range(len(L)):
        for row in range(L.shape[1]):
            bits = np.uint32(marks[b, row])
            v = 0
            while bits:
                if bits & np.uint32(1):
                    taken[at] = L[b, row, v] * factor
                    at += 1
                bits >>= np.uint32(1)
                v += 1


@kernel
def list_prices(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float64],
    least: float,
    scale: float,
    n_reports: int,
    report: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    price: NDArray[np.float64],
) -> int:
    """List report, source, target and price of the multipliers above `least`, as in :func:`flows`; return their number.

    Prices are compared in the scale of the program and stored times `scale`. `report`, `source`, `target` and `price`
    are written, and have room for each positive multiplier; other arrays are as of :func:`step`. ``O(m)`` a report.
    """
    found = 0
    zero = np.float32(0.0)
    for b in range(len(L)):
        lanes = min(16, n_reports - 16 * b)
        for e in range(len(shrink)):
            i, j, a = ends[e, 0], ends[e, 1], shrink[e]
            forth, back, ri, rj = L[b, 2 * e], L[b, 2 * e + 1], R[b, i], R[b, j]
            for v in range(lanes):
                p = max(forth[v], zero) * np.float64(rj[v])
                q = max(back[v], zero) * np.float64(ri[v])
                kept = p - a * q if p >= q else a * p - q
                if a * abs(kept) > least:
                    report[found] = 16 * b + v
                    source[found] = i if kept > 0 else j
                    target[found] = j if kept > 0 else i
                    price[found] = a * abs(kept) * scale
                    found += 1
    return found
