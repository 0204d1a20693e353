"""Compiled steps of the primal-dual method with a cone for each node of a control net and each report.

The state of a control point is ``P[block of reports, point, part, report of the block]``; its parts are the variable,
its anchor, the scale, the scaled cost, and what multipliers add to it. That of a node is ``D[block, node, part,
report]``; its parts are the multipliers, which are p, two for the gradient, and q for the value, with ``|p| <= q``,
their anchors, and the scale. All parts of a row lie in one array, so that the compiler sees that they do not overlap,
and blocks are so wide that its vector code runs at all: a node took 86 nanoseconds for sixteen reports in blocks of 64,
170 in blocks of 16, and 240 with an array for each part; November 2026. The state is float32; nothing that is claimed
rests on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import inlined, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

REPORTS_PER_BLOCK = 64
"""Reports of a block, side by side in memory: a loop over them has a length that the compiler knows."""


@inlined
def _reflect(  # noqa: PLR0917 - numbers of one node and report
    d: NDArray[np.float32],
    v: int,
    px: np.float32,
    py: np.float32,
    q: np.float32,
    weight: np.float32,
) -> np.float32:
    """Replace the multipliers ``d[:3, v]`` by the nearest point of the cone ``|p| <= q`` to p and q.

    The step is reflected, and averaged with the anchor by ``weight``. Returns its squared length. Small multipliers
    become zero: their squares would be subnormal, and take twice as long.
    """
    rest = np.float32(1.0) - weight
    size = np.sqrt(px * px + py * py)
    q = max(q, np.float32(0.5) * (size + q))
    q = q if q > np.float32(1e-13) else np.float32(0.0)
    kept = min(np.float32(1.0), q / max(size, np.float32(1e-30)))
    px, py = kept * px, kept * py
    ex, ey, eq = px - d[0, v], py - d[1, v], q - d[2, v]
    d[0, v] = rest * d[3, v] + weight * (px + ex)
    d[1, v] = rest * d[4, v] + weight * (py + ey)
    d[2, v] = rest * d[5, v] + weight * (q + eq)
    return np.float32(ex * ex + ey * ey + eq * eq)


@kernel
def net_step(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    tall: int,
    P: NDArray[np.float32],
    D: NDArray[np.float32],
    y: NDArray[np.float32],
    rho: np.float32,
    tau: np.float32,
    sigma: np.float32,
    weight: np.float32,
    sums: NDArray[np.float64],
    moved: NDArray[np.float64],
) -> None:
    """Take one reflected step, averaged with the anchor, in the blocks from ``first`` to ``last``, in place.

    A net of ``wide`` times ``tall`` cells has ``(wide + 2) (tall + 2)`` control points and
    ``(2 wide + 1) (2 tall + 1)`` nodes; ``P`` and ``D`` are as above, ``y`` has each control point's row multiplier,
    ``rho`` is in nats a cell, ``tau`` and ``sigma`` are the primal and the dual step, and ``weight`` is the share of
    the new point. What the multipliers add to reduced costs is kept up. ``sums``, a row for each block, gets the row
    sums of the reflected point, ``moved`` ``(blocks, 2)`` the squared lengths of both halves of the step. Stencils are
    products of one in each direction; the first is applied once for a line of nodes. Cost: ``O(nodes)`` a report.
    """
    rows, lanes = tall + 2, REPORTS_PER_BLOCK
    wide = P.shape[1] // rows - 2
    rest, zero = np.float32(1.0) - weight, np.float32(0.0)
    two, half, tiny = np.float32(2.0), np.float32(0.5), np.float32(1e-30)
    Z = np.empty(((wide + 2) * rows, lanes), dtype=np.float32)
    # Of a line of nodes, for each row of control points: value, slope, and what comes back to either.
    T = np.empty((rows, 4, lanes), dtype=np.float32)
    lengths = np.empty((2, lanes), dtype=np.float32)
    for b in range(first, last):
        lengths[:] = zero
        for i in range(len(Z)):
            p, z, level = P[b, i], Z[i], y[i]
            for v in range(lanes):
                old = p[0, v]
                new = max(old - tau * (p[3, v] + p[2, v] * (p[4, v] - level)), zero)
                lengths[0, v] += (new - old) * (new - old)
                mirrored = two * new - old
                ahead = p[2, v] * mirrored
                z[v] = ahead if abs(ahead) > tiny else zero
                p[0, v] = rest * p[1, v] + weight * mirrored
                p[4, v] = zero
            sums[b, i] = z.sum()
        for column in range(2 * wide + 1):
            a = (column >> 1) * rows
            T[:, 2:] = zero
            for j in range(rows):
                t, za, zb = T[j], Z[a + j], Z[a + rows + j]
                if column & 1 == 0:
                    for v in range(lanes):
                        t[0, v], t[1, v] = half * (za[v] + zb[v]), zb[v] - za[v]
                else:
                    zc = Z[a + 2 * rows + j]
                    for v in range(lanes):
                        t[0, v], t[1, v] = zb[v], half * (zc[v] - za[v])
            for row in range(2 * tall + 1):
                j = row >> 1
                d = D[b, column * (2 * tall + 1) + row]
                if row & 1 == 0:
                    t = T[j : j + 2]
                    for v in range(lanes):
                        up = sigma * d[6, v]
                        px = d[0, v] + up * (half * (t[0, 1, v] + t[1, 1, v]))
                        py = d[1, v] + up * (t[1, 0, v] - t[0, 0, v])
                        q = d[2, v] - up * rho * (half * (t[0, 0, v] + t[1, 0, v]))
                        lengths[1, v] += _reflect(d, v, px, py, q, weight)
                        r = d[6, v]
                        px, py, q = half * r * d[0, v], r * d[1, v], half * r * rho * d[2, v]
                        t[0, 3, v] += px
                        t[1, 3, v] += px
                        t[0, 2, v] -= py + q
                        t[1, 2, v] += py - q
                else:
                    t = T[j : j + 3]
                    for v in range(lanes):
                        up = sigma * d[6, v]
                        px = d[0, v] + up * t[1, 1, v]
                        py = d[1, v] + up * (half * (t[2, 0, v] - t[0, 0, v]))
                        q = d[2, v] - up * rho * t[1, 0, v]
                        lengths[1, v] += _reflect(d, v, px, py, q, weight)
                        t[1, 3, v] += d[6, v] * d[0, v]
                        t[1, 2, v] -= d[6, v] * rho * d[2, v]
                        py = half * d[6, v] * d[1, v]
                        t[0, 2, v] -= py
                        t[2, 2, v] += py
            for j in range(rows):
                t, ga, gb = T[j], P[b, a + j, 4], P[b, a + rows + j, 4]
                if column & 1 == 0:
                    for v in range(lanes):
                        ga[v] += half * t[2, v] - t[3, v]
                        gb[v] += half * t[2, v] + t[3, v]
                else:
                    gc = P[b, a + 2 * rows + j, 4]
                    for v in range(lanes):
                        ga[v] -= half * t[3, v]
                        gb[v] += t[2, v]
                        gc[v] += half * t[3, v]
        for half_step in range(2):
            moved[b, half_step] = lengths[half_step].astype(np.float64).sum()


@kernel
def push_nets(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    P: NDArray[np.float32],
    D: NDArray[np.float32],
    kinds: NDArray[np.int64],
    points: NDArray[np.int64],
    weights: NDArray[np.float32],
    rho: np.float32,
) -> None:
    """Compute anew, in ``P[:, :, 4]``, what multipliers ``D`` add to reduced costs, where the anchor moved.

    ``kinds``, ``points``, ``weights`` and ``rho`` are as of :func:`project_nets`. The cost is ``O(nodes)`` a report.
    """
    P[:, :, 4] = np.float32(0.0)
    for b in range(len(P)):
        for t in range(len(kinds)):
            stencil, d = weights[kinds[t]], D[b, t]
            for e in range(6):
                g = P[b, points[t, e], 4]
                value, across, along = rho * stencil[0, e], stencil[1, e], stencil[2, e]
                for v in range(REPORTS_PER_BLOCK):
                    pushed = across * d[0, v] + along * d[1, v] - value * d[2, v]
                    g[v] += d[6, v] * pushed


@kernel
def net_flows(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    L: NDArray[np.float32],
    D: NDArray[np.float32],
    kinds: NDArray[np.int64],
    points: NDArray[np.int64],
    weights: NDArray[np.float64],
    rho: float,
    F: NDArray[np.float64],
    size: NDArray[np.float64],
) -> None:
    """Add to ``F`` what valid multipliers add to each reduced cost, and to ``size`` the terms' magnitudes.

    Both are float64 ``(control points, reports)`` and start at 0. ``L`` holds the multipliers p in the layout of
    ``D``. Whatever p is, q is taken as its length, the least that is valid, with a margin for what floats err by. The
    other arrays are as of :func:`project_nets`; the cost is ``O(nodes)`` a report.

    `kinds` ``(nodes,)``, `points` ``(nodes, 6)`` and `weights` ``(kinds, 3, 6)`` are the stencils, `rho` nats a cell.
    """
    n_reports = F.shape[1]
    for b in range(len(L)):
        lanes = min(REPORTS_PER_BLOCK, n_reports - REPORTS_PER_BLOCK * b)
        for t in range(len(kinds)):
            stencil = weights[kinds[t]]
            for v in range(lanes):
                r, k = np.float64(D[b, t, 6, v]), REPORTS_PER_BLOCK * b + v
                px, py = r * np.float64(L[b, t, 0, v]), r * np.float64(L[b, t, 1, v])
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

    ``Z`` ``(control points, columns)`` has the weights, ``kinds`` ``(nodes,)`` the stencil of each node, ``points``
    ``(nodes, 6)`` its control points, ``weights`` ``(stencils, 3, 6)`` value and both slopes; ``rho`` is in nats a
    cell. The condition is ``|slopes| <= rho value``. A violated node moves ``length`` times as far as its linearized
    constraint needs, in the metric in which an entry is as long as it is large; none loses more than half of itself.
    The cost is ``O(nodes (last - first))``.
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
