"""Compiled steps of the primal-dual method: thirty-two reports side by side in the inner loop.

Arrays are laid out as ``[block of 32 reports][secret or constraint][32]``, so that an edge is read once for
32 reports and the compiler turns the inner loops into vector instructions; with 16 of them, what it checks before each
loop took as long as the loop. The state is float32; nothing that is
claimed rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel
from discreet.metricdp.kernels.primal_dual_step import pull, push

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_up", "anchor", "flows", "largest_value", "list_prices", "step"]


@kernel
def step(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    X: NDArray[np.float32],
    X0: NDArray[np.float32],
    L: NDArray[np.float32],
    L0: NDArray[np.float32],
    S: NDArray[np.float32],
    R: NDArray[np.float32],
    W: NDArray[np.float32],
    y: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    tau: np.float32,
    sigma: np.float32,
    weight: np.float32,
    sums: NDArray[np.float64],
    moved: NDArray[np.float64],
) -> None:
    """Take one reflected step, averaged with the anchor, in the blocks from ``first`` to ``last``.

    ``sums`` receives the row sums of the reflected point, ``moved`` the squared lengths of both halves of the step.
    """
    n, m = X.shape[1], len(shrink)
    zero, two, least = np.float32(0.0), np.float32(2.0), np.float32(1e-30)
    rest = np.float32(1.0) - weight
    g = np.empty((n, 32), dtype=np.float32)
    z = np.empty((n, 32), dtype=np.float32)
    rows = np.zeros((n, 32), dtype=np.float32)
    primal = np.zeros(32, dtype=np.float32)
    dual = np.zeros((1, 32), dtype=np.float32)
    moved[:] = 0.0
    for b in range(first, last):
        x, x0, s, r, w, prices, prices0 = X[b], X0[b], S[b], R[b], W[b], L[b], L0[b]
        g[:] = zero
        for e in range(m):
            push(g, r, prices, e, ends[e, 0], ends[e, 1], shrink[e])
        primal[:] = zero
        for i in range(n):
            level = y[i]
            for v in range(32):
                old = x[i, v]
                new = max(old - tau * (w[i, v] + s[i, v] * (g[i, v] - level)), zero)
                d = new - old
                primal[v] += d * d
                mirrored = two * new - old
                ahead = s[i, v] * mirrored
                # Products with what is smaller would leave the normal floats.
                z[i, v] = ahead if abs(ahead) > least else zero
                rows[i, v] += ahead
                x[i, v] = rest * x0[i, v] + weight * mirrored
        dual[:] = zero
        for e in range(m):
            pull(
                z,
                r,
                prices,
                prices0,
                dual,
                e,
                ends[e, 0],
                ends[e, 1],
                shrink[e],
                sigma,
                rest,
                weight,
            )
        for v in range(32):
            moved[0] += primal[v]
            moved[1] += dual[0, v]
    for i in range(n):
        sums[i] = 0.0
        for v in range(32):
            sums[i] += rows[i, v]


@kernel
def anchor(table: NDArray[np.float32], before: NDArray[np.float32]) -> float:
    """Make the point the new anchor, negative entries clipped; return the squared distance from the old one.

    What is so small that its products would leave the normal floats, which take a hundred times as long, becomes zero.
    """
    least = np.float32(1e-32)
    total = 0.0
    for b in range(len(table)):
        new, old = table[b], before[b]
        for i in range(len(new)):
            for v in range(32):
                d = new[i, v] - old[i, v]
                total += d * d
                kept = new[i, v] if new[i, v] > least else np.float32(0.0)
                new[i, v] = kept
                old[i, v] = kept
    return total


@kernel
def add_up(table: NDArray[np.float32], total: NDArray[np.float32]) -> None:
    """Add the positive part of a table to a running total."""
    zero = np.float32(0.0)
    for b in range(len(table)):
        for i in range(table.shape[1]):
            for v in range(32):
                total[b, i, v] += max(table[b, i, v], zero)


@kernel
def largest_value(
    S: NDArray[np.float32],
    R: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float32],
    rounds: int,
) -> float:
    """Estimate the largest squared singular value of the scaled ratios of any report, by the power method."""
    blocks, n, _ = S.shape
    most = 0.0
    v0 = np.empty((n, 32), dtype=np.float32)
    v1 = np.empty((n, 32), dtype=np.float32)
    size = np.empty(32)
    for b in range(blocks):
        s, r = S[b], R[b]
        for i in range(n):
            # Signs that alternate without a pattern start near the eigenvector.
            sign = np.float32(1.0 if (i * 7919 + i * i * 31) % 13 < 6 else -1.0)
            for v in range(32):
                v0[i, v] = sign
        for _ in range(rounds):
            v1[:] = np.float32(0.0)
            for e in range(len(shrink)):
                i, j, a = ends[e, 0], ends[e, 1], shrink[e]
                for v in range(32):
                    forth = s[i, v] * r[j, v] * a
                    back = s[j, v] * r[i, v] * a
                    p = forth * v0[i, v] - v0[j, v]
                    q = back * v0[j, v] - v0[i, v]
                    v1[i, v] += forth * p - q
                    v1[j, v] += back * q - p
            size[:] = 0.0
            for i in range(n):
                for v in range(32):
                    size[v] += v1[i, v] * v1[i, v]
            for v in range(32):
                size[v] = np.sqrt(size[v])
            for i in range(n):
                for v in range(32):
                    v0[i, v] = v1[i, v] / np.float32(max(size[v], 1e-30))
        for v in range(32):
            most = max(most, size[v])
    return most


@kernel
def flows(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    L: NDArray[np.float32],
    S: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float64],
    F: NDArray[np.float64],
) -> None:
    """Add up, in float64, what the multipliers add to each reduced cost, in the blocks from ``first`` to ``last``.

    Of both directions of a constraint the lesser price is taken off, and ``e^-d`` times it from the other: that leaves
    the bracket of one end as it was, and raises that of the other.
    """
    n = S.shape[1]
    m, n_reports = len(shrink), F.shape[1]
    g = np.empty((n, 32))
    for b in range(first, last):
        g[:] = 0.0
        prices, s = L[b], S[b]
        for e in range(m):
            i, j, a = ends[e, 0], ends[e, 1], shrink[e]
            for v in range(32):
                p = max(prices[2 * e, v], np.float32(0.0)) / max(s[j, v], np.float32(1e-37))
                q = max(prices[2 * e + 1, v], np.float32(0.0)) / max(s[i, v], np.float32(1e-37))
                kept = p - a * q if p >= q else a * p - q
                forth, back = max(kept, 0.0), max(-kept, 0.0)
                g[i, v] += a * forth - back
                g[j, v] += a * back - forth
        for i in range(n):
            for v in range(min(32, n_reports - 32 * b)):
                F[i, 32 * b + v] = g[i, v]


@kernel
def list_prices(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    S: NDArray[np.float32],
    ends: NDArray[np.int32],
    shrink: NDArray[np.float64],
    least: float,
    columns: NDArray[np.int32],
    prices: NDArray[np.float64],
) -> int:
    """List report, source, target and unscaled price of the multipliers above ``least``, as in ``flows``; count them.

    ``columns`` and ``prices`` receive as many as they have room for.
    """
    found, room = 0, len(prices)
    tiny = np.float32(1e-37)
    for b in range(len(L)):
        for e in range(len(shrink)):
            i, j, a = ends[e, 0], ends[e, 1], shrink[e]
            forth, back, si, sj = L[b, 2 * e], L[b, 2 * e + 1], S[b, i], S[b, j]
            for v in range(32):
                p = max(forth[v], np.float32(0.0)) / max(sj[v], tiny)
                q = max(back[v], np.float32(0.0)) / max(si[v], tiny)
                kept = p - a * q if p >= q else a * p - q
                if a * abs(kept) > least:
                    if found < room:
                        columns[0, found] = 32 * b + v
                        columns[1, found] = i if kept > 0 else j
                        columns[2, found] = j if kept > 0 else i
                        prices[found] = a * abs(kept)
                    found += 1
    return found
