"""Compiled steps of the primal-dual method: sixteen reports side by side in the inner loop.

Arrays are laid out as ``[block of 16 reports][secret or constraint][16]``, so that an edge is read once for 16 reports
and a value fills one vector register. The pull of a multiplier and its push for the next step are one pass, so that it
is read once a step. The state is float32; nothing that is claimed rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel
from discreet.metricdp.kernels.primal_dual_step import LANES, move, pull, push

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "anchor",
    "anchor_prices",
    "flows",
    "largest_value",
    "list_prices",
    "most_violated",
    "step",
]


@kernel
def step(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    cuts: NDArray[np.int64],
    first: int,
    last: int,
    X: NDArray[np.float32],
    X0: NDArray[np.float32],
    L: NDArray[np.float32],
    L0: NDArray[np.float32],
    S: NDArray[np.float32],
    R: NDArray[np.float32],
    W: NDArray[np.float32],
    G: NDArray[np.float32],
    Z: NDArray[np.float32],
    rows: NDArray[np.float32],
    y: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    tau: np.float32,
    sigma: np.float32,
    weight: np.float32,
    sums: NDArray[np.float64],
    moved: NDArray[np.float64],
) -> None:
    """Take one reflected step, averaged with the anchor, in the chunks of blocks ``first`` to ``last - 1``, in place.

    Chunk c has the blocks ``cuts[c]`` to ``cuts[c + 1] - 1`` of 16 reports. ``X``, ``X0``, ``S``, ``R``, ``W`` and
    ``G`` are ``(blocks, n, 16)``: variables, anchor, scale, scale of ratios, scaled cost, and what the multipliers
    add to reduced costs, which is kept up. ``L`` and ``L0`` are ``(blocks, 2 m, 16)``, two rows a constraint for its
    directions: multipliers and anchor. ``ends`` ``(m, 2)`` and ``shrink`` ``(m,)`` are the constraints and
    ``e^-nats``, ``y`` ``(n,)`` the row multipliers, ``tau`` and ``sigma`` the steps, ``weight`` the share of the new
    point. ``sums`` ``(chunks, n)`` gets the row sums of the reflected point, ``moved`` ``(chunks, 2)`` the squared
    lengths of both halves of the step; ``Z`` and ``rows`` ``(chunks, n, 16)`` are working memory. The cost is ``O(n +
    m)`` a report.
    """
    n, m = X.shape[1], len(shrink)
    rest = np.float32(1.0) - weight
    primal, dual = np.zeros(LANES, dtype=np.float32), np.zeros(LANES, dtype=np.float32)
    for c in range(first, last):
        z, row = Z[c], rows[c]
        row[:] = np.float32(0.0)
        moved[c] = 0.0
        for b in range(cuts[c], cuts[c + 1]):
            x, x0, s, r, w, g, prices, prices0 = X[b], X0[b], S[b], R[b], W[b], G[b], L[b], L0[b]
            primal[:] = np.float32(0.0)
            dual[:] = np.float32(0.0)
            for i in range(n):
                move(x[i], x0[i], s[i], w[i], g[i], z[i], row[i], primal, y[i], (tau, rest, weight))
            for e in range(m):
                # As unsigned numbers, which count from the front without a test.
                p, q = np.uint64(ends[e, 0]), np.uint64(ends[e, 1])
                both = prices[2 * e], prices[2 * e + 1]
                both0 = prices0[2 * e], prices0[2 * e + 1]
                ends_z, ends_r, ends_g = (z[p], z[q]), (r[p], r[q]), (g[p], g[q])
                pull(both, both0, ends_z, ends_r, ends_g, shrink[e], (sigma, rest, weight), dual)
            for v in range(LANES):
                moved[c, 0] += primal[v]
                moved[c, 1] += dual[v]
        for i in range(n):
            sums[c, i] = 0.0
            for v in range(LANES):
                sums[c, i] += row[i, v]


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
            for v in range(LANES):
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
            for v in range(LANES):
                v0[i, v] = sign
        for _ in range(rounds):
            v1[:] = np.float32(0.0)
            for e in range(len(shrink)):
                i, j, a = ends[e, 0], ends[e, 1], shrink[e]
                for v in range(LANES):
                    forth = s[i, v] * r[j, v] * a
                    back = s[j, v] * r[i, v] * a
                    p = forth * v0[i, v] - v0[j, v]
                    q = back * v0[j, v] - v0[i, v]
                    v1[i, v] += forth * p - q
                    v1[j, v] += back * q - p
            size[:] = 0.0
            for i in range(n):
                for v in range(LANES):
                    size[v] += v1[i, v] * v1[i, v]
            for v in range(LANES):
                size[v] = np.sqrt(size[v])
            for i in range(n):
                for v in range(LANES):
                    v0[i, v] = v1[i, v] / np.float32(max(size[v], 1e-30))
        for v in range(LANES):
            most = max(most, size[v])
    return most


@kernel
def flows(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float64],
    F: NDArray[np.float64],
) -> None:
    """Add up, in float64, what the multipliers add to each reduced cost, in the blocks from ``first`` to ``last``.

    Of both directions of a constraint the lesser price is taken off, and ``e^-d`` times it from the other: that leaves
    the bracket of one end as it was, and raises that of the other.

    `F` ``(n, reports)`` gets the sums; the other arrays are as of :func:`step`. ``O(n + m)`` a report.
    """
    n = R.shape[1]
    m, n_reports = len(shrink), F.shape[1]
    g = np.empty((n, 16))
    zero = np.float32(0.0)
    for b in range(first, last):
        g[:] = 0.0
        prices, r = L[b], R[b]
        for e in range(m):
            i, j, a = ends[e, 0], ends[e, 1], shrink[e]
            for v in range(LANES):
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
def list_prices(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float64],
    least: float,
    scale: float,
    secrets: NDArray[np.int64],
    reports: NDArray[np.int64],
    report: NDArray[np.int32],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    price: NDArray[np.float64],
) -> int:
    """List report, source, target and unscaled price of the multipliers above ``least``, as in ``flows``; count them.

    Blocks are those from ``first`` to ``last``, ``secrets`` and ``reports`` the names of rows and columns, prices are
    multiplied by ``scale``. What is found beyond the room that there is, is only counted.

    `L`, `R`, `ends` and `shrink` are as of :func:`step`, the last four ``(room,)``. ``O(m)`` a report.
    """
    found, room = 0, len(price)
    zero = np.float32(0.0)
    for b in range(first, last):
        lanes = min(16, len(reports) - 16 * b)
        for e in range(len(shrink)):
            i, j, a = ends[e, 0], ends[e, 1], shrink[e]
            forth, back, ri, rj = L[b, 2 * e], L[b, 2 * e + 1], R[b, i], R[b, j]
            for v in range(lanes):
                p = max(forth[v], zero) * np.float64(rj[v])
                q = max(back[v], zero) * np.float64(ri[v])
                kept = p - a * q if p >= q else a * p - q
                if a * abs(kept) > least:
                    if found < room:
                        report[found] = reports[16 * b + v]
                        source[found] = secrets[i if kept > 0 else j]
                        target[found] = secrets[j if kept > 0 else i]
                        price[found] = a * abs(kept) * scale
                    found += 1
    return found


@kernel
def most_violated(
    Z: NDArray[np.float32],
    decay: NDArray[np.float32],
    asked: NDArray[np.float32],
    source: NDArray[np.int32],
) -> None:
    """Find what the most violated constraint of each entry asks for: ``asked_iv = max_j decay_ij Z_jv``, and its j.

    ``Z``, ``asked`` and ``source`` are ``(n, 16)``; ``decay`` is symmetric, 0 for pairs that are not constrained and on
    the diagonal. Where nothing is asked the source is -1.
    """
    n = len(Z)
    best = np.empty(16, dtype=np.float32)
    place = np.empty(16, dtype=np.int32)
    for i in range(n):
        best[:] = np.float32(0.0)
        place[:] = np.int32(-1)
        for j in range(n):
            a = decay[i, j]
            if a == np.float32(0.0):
                continue
            row = Z[j]
            for v in range(LANES):
                value = a * row[v]
                more = value > best[v]
                best[v] = value if more else best[v]
                place[v] = np.int32(j) if more else place[v]
        for v in range(LANES):
            asked[i, v] = best[v]
            source[i, v] = place[v]
