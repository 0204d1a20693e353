"""Compiled steps of the primal-dual method with a cone for each node of a control net and each report.

Arrays are laid out as ``[block of 16 reports][control point, or three times node][16]``, both row by row. The
multipliers of a node are p, two for its gradient, and q for its value, with ``|p| <= q``. The state is float32; nothing
that is claimed rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["net_flows", "net_step", "project_nets", "push_nets"]


@kernel
def net_step(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    wide: int,
    tall: int,
    X: NDArray[np.float32],
    X0: NDArray[np.float32],
    L: NDArray[np.float32],
    L0: NDArray[np.float32],
    S: NDArray[np.float32],
    R: NDArray[np.float32],
    W: NDArray[np.float32],
    G: NDArray[np.float32],
    y: NDArray[np.float32],
    rho: np.float32,
    tau: np.float32,
    sigma: np.float32,
    weight: np.float32,
    sums: NDArray[np.float64],
    moved: NDArray[np.float64],
) -> None:
    """Take one reflected step, averaged with the anchor, in the blocks from ``first`` to ``last``.

    ``G`` holds what the multipliers add to reduced costs, and is kept up. ``sums``, a row for each block, gets the row
    sums of the reflected point, ``moved`` the squared lengths of both halves of the step. Stencils are products of one
    in each direction, so that values and slopes along the first are taken once for a line of nodes.
    """
    rows = tall + 2
    n = (wide + 2) * rows
    rest, zero, one = np.float32(1.0) - weight, np.float32(0.0), np.float32(1.0)
    two, half, tiny = np.float32(2.0), np.float32(0.5), np.float32(1e-30)
    Z = np.empty((n, 16), dtype=np.float32)
    value = np.empty((rows, 16), dtype=np.float32)
    slope = np.empty((rows, 16), dtype=np.float32)
    to_value = np.empty((rows, 16), dtype=np.float32)
    to_slope = np.empty((rows, 16), dtype=np.float32)
    at = np.empty((3, 16), dtype=np.float32)
    out = np.empty((3, 16), dtype=np.float32)
    primal = np.empty(16, dtype=np.float32)
    dual = np.empty(16, dtype=np.float32)
    for b in range(first, last):
        x, x0, s, w, g = X[b], X0[b], S[b], W[b], G[b]
        prices, prices0, r = L[b], L0[b], R[b]
        primal[:] = zero
        dual[:] = zero
        for i in range(n):
            level, total = y[i], zero
            for v in range(16):
                old = x[i, v]
                new = max(old - tau * (w[i, v] + s[i, v] * (g[i, v] - level)), zero)
                primal[v] += (new - old) * (new - old)
                mirrored = two * new - old
                ahead = s[i, v] * mirrored
                ahead = ahead if abs(ahead) > tiny else zero
                Z[i, v] = ahead
                total += ahead
                x[i, v] = rest * x0[i, v] + weight * mirrored
                g[i, v] = zero
            sums[b, i] = total
        for column in range(2 * wide + 1):
            a = (column >> 1) * rows
            knot = column & 1 == 0
            for j in range(rows):
                za, zb = Z[a + j], Z[a + rows + j]
                if knot:
                    for v in range(16):
                        value[j, v] = half * (za[v] + zb[v])
                        slope[j, v] = zb[v] - za[v]
                else:
                    zc = Z[a + 2 * rows + j]
                    for v in range(16):
                        value[j, v] = zb[v]
                        slope[j, v] = half * (zc[v] - za[v])
            to_value[:] = zero
            to_slope[:] = zero
            for row in range(2 * tall + 1):
                j = row >> 1
                node = column * (2 * tall + 1) + row
                even = row & 1 == 0
                if even:
                    va, vb, sa, sb = value[j], value[j + 1], slope[j], slope[j + 1]
                    for v in range(16):
                        at[0, v] = half * (sa[v] + sb[v])
                        at[1, v] = vb[v] - va[v]
                        at[2, v] = half * (va[v] + vb[v])
                else:
                    va, vb, vc, sb = value[j], value[j + 1], value[j + 2], slope[j + 1]
                    for v in range(16):
                        at[0, v] = sb[v]
                        at[1, v] = half * (vc[v] - va[v])
                        at[2, v] = vb[v]
                l0, l1, l2, rr = prices[3 * node], prices[3 * node + 1], prices[3 * node + 2], r[node]
                for v in range(16):
                    up = sigma * rr[v]
                    px, py = l0[v] + up * at[0, v], l1[v] + up * at[1, v]
                    q = l2[v] - up * rho * at[2, v]
                    size = np.sqrt(px * px + py * py)
                    q = max(q, max(half * (size + q), zero))
                    kept = min(one, q / max(size, tiny))
                    out[0, v], out[1, v], out[2, v] = kept * px, kept * py, q
                for part in range(3):
                    now, before = prices[3 * node + part], prices0[3 * node + part]
                    for v in range(16):
                        d = out[part, v] - now[v]
                        dual[v] += d * d
                        now[v] = rest * before[v] + weight * (out[part, v] + d)
                ta, tb, ua, ub = to_value[j], to_value[j + 1], to_slope[j], to_slope[j + 1]
                if even:
                    for v in range(16):
                        px, py = half * rr[v] * l0[v], rr[v] * l1[v]
                        q = half * rr[v] * rho * l2[v]
                        ua[v] += px
                        ub[v] += px
                        ta[v] -= py + q
                        tb[v] += py - q
                else:
                    tc = to_value[j + 2]
                    for v in range(16):
                        px, py = rr[v] * l0[v], half * rr[v] * l1[v]
                        ub[v] += px
                        ta[v] -= py
                        tb[v] -= rr[v] * rho * l2[v]
                        tc[v] += py
            for j in range(rows):
                ga, gb, t, u = g[a + j], g[a + rows + j], to_value[j], to_slope[j]
                if knot:
                    for v in range(16):
                        ga[v] += half * t[v] - u[v]
                        gb[v] += half * t[v] + u[v]
                else:
                    gc = g[a + 2 * rows + j]
                    for v in range(16):
                        ga[v] -= half * u[v]
                        gb[v] += t[v]
                        gc[v] += half * u[v]
        moved[b, 0], moved[b, 1] = 0.0, 0.0
        for v in range(16):
            moved[b, 0] += primal[v]
            moved[b, 1] += dual[v]


@kernel
def push_nets(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    kinds: NDArray[np.int64],
    points: NDArray[np.int64],
    weights: NDArray[np.float32],
    rho: np.float32,
    G: NDArray[np.float32],
) -> None:
    """Add up anew what multipliers add to reduced costs, where the anchor moved."""
    G[:] = np.float32(0.0)
    for b in range(len(L)):
        for t in range(len(kinds)):
            stencil = weights[kinds[t]]
            for e in range(6):
                i = points[t, e]
                value, across, along = rho * stencil[0, e], stencil[1, e], stencil[2, e]
                for v in range(16):
                    pushed = across * L[b, 3 * t, v] + along * L[b, 3 * t + 1, v]
                    pushed -= value * L[b, 3 * t + 2, v]
                    G[b, i, v] += R[b, t, v] * pushed


@kernel
def net_flows(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    kinds: NDArray[np.int64],
    points: NDArray[np.int64],
    weights: NDArray[np.float64],
    rho: float,
    F: NDArray[np.float64],
    size: NDArray[np.float64],
) -> None:
    """Add up, in float64, what valid multipliers add to each reduced cost, and the magnitudes of what is added.

    Whatever p is, q is taken as its length, the least that is valid, with a margin for what floats err by.
    """
    n_reports = F.shape[1]
    for b in range(len(L)):
        lanes = min(16, n_reports - 16 * b)
        for t in range(len(kinds)):
            stencil = weights[kinds[t]]
            for v in range(lanes):
                r, k = np.float64(R[b, t, v]), 16 * b + v
                px, py = r * np.float64(L[b, 3 * t, v]), r * np.float64(L[b, 3 * t + 1, v])
                need = np.sqrt(px * px + py * py) * (1 + 1e-13)
                for e in range(6):
                    forth = stencil[1, e] * px + stencil[2, e] * py
                    back = rho * stencil[0, e] * need * (1 + 1e-13)
                    i = points[t, e]
                    F[i, k] += forth - back
                    size[i, k] += abs(stencil[1, e] * px) + abs(stencil[2, e] * py) + back


@kernel
def project_nets(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    Z: NDArray[np.float64],
    kinds: NDArray[np.int64],
    points: NDArray[np.int64],
    weights: NDArray[np.float64],
    rho: float,
    length: float,
) -> None:
    """Move the columns from ``first`` to ``last`` towards the condition, one node after the other, in place.

    A violated node moves ``length`` times as far as its linearized constraint needs, in the metric in which an entry is
    as long as it is large; none loses more than half of itself.
    """
    n = last - first
    parts = np.empty((3, n))
    for t in range(len(kinds)):
        stencil = weights[kinds[t]]
        parts[:] = 0.0
        for e in range(6):
            z = Z[points[t, e]]
            value, across, along = stencil[0, e], stencil[1, e], stencil[2, e]
            for v in range(n):
                parts[0, v] += value * z[first + v]
                parts[1, v] += across * z[first + v]
                parts[2, v] += along * z[first + v]
        for v in range(n):
            gx, gy, right = parts[1, v], parts[2, v], rho * parts[0, v]
            if gx * gx + gy * gy > right * right:
                size = np.sqrt(gx * gx + gy * gy)
                gx, gy = gx / size, gy / size
                whole = 0.0
                for e in range(6):
                    c = gx * stencil[1, e] + gy * stencil[2, e] - rho * stencil[0, e]
                    c *= Z[points[t, e], first + v]
                    whole += c * c
                step = length * (size - right) / whole
                for e in range(6):
                    c = gx * stencil[1, e] + gy * stencil[2, e] - rho * stencil[0, e]
                    z0 = Z[points[t, e], first + v]
                    Z[points[t, e], first + v] = z0 * max(1.0 - step * c * z0, 0.5)
