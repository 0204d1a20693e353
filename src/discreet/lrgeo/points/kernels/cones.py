"""Compiled steps of the primal-dual method with a cone for each triangle and report, sixteen reports side by side.

Arrays are laid out as ``[block of 16 reports][vertex, or five times triangle][16]``. The multipliers of a triangle are
two for its gradient, p, and one for each corner, q, with ``|p| <= q_0 + q_1 + q_2`` and ``q >= 0``. The state is
float32; nothing that is claimed rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cone_flows", "cone_step", "project_columns", "push_cones"]


@kernel
def cone_step(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
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
    y: NDArray[np.float32],
    corners: NDArray[np.int32],
    slopes: NDArray[np.float32],
    rates: NDArray[np.float32],
    tau: np.float32,
    sigma: np.float32,
    weight: np.float32,
    sums: NDArray[np.float64],
    moved: NDArray[np.float64],
) -> None:
    """Take one reflected step, averaged with the anchor, in the blocks from ``first`` to ``last``.

    ``G`` holds what the multipliers add to reduced costs, and is kept up. ``sums``, a row for each block, gets the row
    sums of the reflected point, ``moved`` the squared lengths of both halves of the step. A pair is projected to its
    cone by shifting q up and shrinking p by the same length, the least of four candidates.
    """
    n, m = X.shape[1], len(rates)
    rest, zero, one = np.float32(1.0) - weight, np.float32(0.0), np.float32(1.0)
    two, half = np.float32(2.0), np.float32(0.5)
    third, quarter = np.float32(1 / 3), np.float32(0.25)
    tiny = np.float32(1e-30)
    Z = np.empty((n, 16), dtype=np.float32)
    out = np.empty((5, 16), dtype=np.float32)
    add = np.empty((3, 16), dtype=np.float32)
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
        for t in range(m):
            i, j, k = corners[t, 0], corners[t, 1], corners[t, 2]
            xi, xj, xk = slopes[t, 0], slopes[t, 1], slopes[t, 2]
            yi, yj, yk = slopes[t, 3], slopes[t, 4], slopes[t, 5]
            rate, at = rates[t], 5 * t
            za, zb, zc, rr = Z[i], Z[j], Z[k], r[t]
            l0, l1, l2, l3, l4 = (
                prices[at],
                prices[at + 1],
                prices[at + 2],
                prices[at + 3],
                prices[at + 4],
            )
            for v in range(16):
                up = sigma * rr[v]
                a, c, d = za[v], zb[v], zc[v]
                px = l0[v] + up * (xi * a + xj * c + xk * d)
                py = l1[v] + up * (yi * a + yj * c + yk * d)
                qa, qb, qc = (
                    l2[v] - up * rate * a,
                    l3[v] - up * rate * c,
                    l4[v] - up * rate * d,
                )
                size = np.sqrt(px * px + py * py)
                most, least = max(qa, qb, qc), min(qa, qb, qc)
                whole = qa + qb + qc
                shift = min(
                    size,
                    half * (size - most),
                    third * (size - (whole - least)),
                    quarter * (size - whole),
                )
                shift = max(shift, zero)
                kept = one - shift / max(size, tiny)
                px, py = kept * px, kept * py
                qa, qb, qc = max(qa + shift, zero), max(qb + shift, zero), max(qc + shift, zero)
                out[0, v], out[1, v] = px, py
                out[2, v], out[3, v], out[4, v] = qa, qb, qc
            for part in range(5):
                now, before = prices[at + part], prices0[at + part]
                for v in range(16):
                    d = out[part, v] - now[v]
                    dual[v] += d * d
                    now[v] = rest * before[v] + weight * (out[part, v] + d)
            for v in range(16):
                up = rr[v]
                px, py, e = up * l0[v], up * l1[v], up * rate
                add[0, v] = xi * px + yi * py - e * l2[v]
                add[1, v] = xj * px + yj * py - e * l3[v]
                add[2, v] = xk * px + yk * py - e * l4[v]
            for v in range(16):
                g[i, v] += add[0, v]
            for v in range(16):
                g[j, v] += add[1, v]
            for v in range(16):
                g[k, v] += add[2, v]
        moved[b, 0], moved[b, 1] = 0.0, 0.0
        for v in range(16):
            moved[b, 0] += primal[v]
            moved[b, 1] += dual[v]


@kernel
def push_cones(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    corners: NDArray[np.int32],
    slopes: NDArray[np.float32],
    rates: NDArray[np.float32],
    G: NDArray[np.float32],
) -> None:
    """Add up anew what multipliers add to reduced costs, where the anchor moved."""
    G[:] = np.float32(0.0)
    for b in range(len(L)):
        for t in range(len(rates)):
            for c in range(3):
                i = corners[t, c]
                for v in range(16):
                    pushed = slopes[t, c] * L[b, 5 * t, v] + slopes[t, 3 + c] * L[b, 5 * t + 1, v]
                    pushed -= rates[t] * L[b, 5 * t + 2 + c, v]
                    G[b, i, v] += R[b, t, v] * pushed


@kernel
def cone_flows(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    R: NDArray[np.float32],
    corners: NDArray[np.int32],
    slopes: NDArray[np.float64],
    rates: NDArray[np.float64],
    F: NDArray[np.float64],
    size: NDArray[np.float64],
) -> None:
    """Add up, in float64, what valid multipliers add to each reduced cost, and the magnitudes of what is added.

    Whatever p is, q is cut at zero and raised until it covers ``|p|``, with a margin for what floats err by.
    """
    n_reports = F.shape[1]
    for b in range(len(L)):
        lanes = min(16, n_reports - 16 * b)
        for t in range(len(rates)):
            for v in range(lanes):
                r, k = np.float64(R[b, t, v]), 16 * b + v
                px, py = np.float64(L[b, 5 * t, v]), np.float64(L[b, 5 * t + 1, v])
                qa = max(np.float64(L[b, 5 * t + 2, v]), 0.0)
                qb = max(np.float64(L[b, 5 * t + 3, v]), 0.0)
                qc = max(np.float64(L[b, 5 * t + 4, v]), 0.0)
                need, have = np.sqrt(px * px + py * py) * (1 + 1e-13), qa + qb + qc
                if have > 0.0:
                    # What is more than needed is given back to all three alike.
                    qa, qb, qc = qa * (need / have), qb * (need / have), qc * (need / have)
                else:
                    qa = qb = qc = need / 3
                for c in range(3):
                    q = qa if c == 0 else (qb if c == 1 else qc)
                    forth = r * (slopes[t, c] * px + slopes[t, 3 + c] * py)
                    back = r * rates[t] * q * (1 + 1e-13)
                    F[corners[t, c], k] += forth - back
                    size[corners[t, c], k] += abs(forth) + back


@kernel
def project_columns(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    Z: NDArray[np.float64],
    corners: NDArray[np.int64],
    slopes: NDArray[np.float64],
    epsilon: float,
    length: float,
) -> None:
    """Move the columns from ``first`` to ``last`` towards (*), one triangle after the other, in place.

    A violated triangle moves ``length`` times as far as its linearized constraint needs, in the metric in which an
    entry is as long as it is large; none loses more than half of itself.
    """
    for t in range(len(corners)):
        a0, a1, a2 = slopes[t, 0], slopes[t, 1], slopes[t, 2]
        b0, b1, b2 = slopes[t, 3], slopes[t, 4], slopes[t, 5]
        zi, zj, zk = Z[corners[t, 0]], Z[corners[t, 1]], Z[corners[t, 2]]
        for v in range(first, last):
            x, y, w = zi[v], zj[v], zk[v]
            gx, gy = a0 * x + a1 * y + a2 * w, b0 * x + b1 * y + b2 * w
            size = np.sqrt(gx * gx + gy * gy)
            least = min(x, y, w)
            short = size - epsilon * least
            if short > 0.0:
                gx, gy = gx / size, gy / size
                cx, cy, cw = gx * a0 + gy * b0, gx * a1 + gy * b1, gx * a2 + gy * b2
                if x == least:
                    cx -= epsilon
                elif y == least:
                    cy -= epsilon
                else:
                    cw -= epsilon
                cx, cy, cw = cx * x, cy * y, cw * w
                step = length * short / (cx * cx + cy * cy + cw * cw)
                zi[v] = x * max(1.0 - step * cx, 0.5)
                zj[v] = y * max(1.0 - step * cy, 0.5)
                zk[v] = w * max(1.0 - step * cw, 0.5)
