"""Compiled loops over the entries of a channel: least majorants, along edges or over all pairs, and row distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def raise_columns(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    Z: NDArray[np.float64],
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    factor: NDArray[np.float64],
    most: int,
) -> None:
    """Raise columns, in place, to the least ones above them with ``z_i >= factor_ij z_j`` on every edge.

    After ``most`` sweeps they are left as they are. ``Z`` is ``(n, columns)``, of which those from ``first`` to
    ``last`` are raised; node i has the neighbors and factors at ``start[i]`` to ``start[i + 1]``. A sweep costs the
    edges times the columns, or less.

    Labels are corrected in alternating sweeps over the rows until nothing changes; an edge is looked at again only if
    its other end has changed since. Factors are at most 1, so that a product rounded to a float never exceeds what it
    came from, and the sweeps end; products are monotone, so that where they end does not depend on the order.
    """
    n = len(Z)
    touched = np.zeros(n, dtype=np.int64)
    sweep = 0
    changed = True
    while changed and sweep < most:
        changed = False
        for step in range(n):
            i = step if sweep % 2 == 0 else n - 1 - step
            row = Z[i, first:last]
            lifted = False
            for at in range(start[i], start[i + 1]):
                j = ends[at]
                if touched[j] < sweep - 1:
                    continue
                other, by = Z[j, first:last], factor[at]
                for k in range(len(row)):
                    required = by * other[k]
                    lifted |= required > row[k]
                    row[k] = max(row[k], required)
            if lifted:
                touched[i] = sweep
                changed = True
        sweep += 1


@kernel
def raise_over_all(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    first: int,
    last: int,
    Z: NDArray[np.floating],
    factor: NDArray[np.floating],
    raised: NDArray[np.floating],
    rows_in_cache: int = 128,
) -> None:
    """Set ``raised_ik`` to the largest ``factor_ij Z_jk``, in one pass over all pairs; factors of a secret are 1.

    Columns are those from ``first`` to ``last`` of ``Z`` and ``raised`` ``(n, columns)``; ``factor`` is ``(n, n)``. The
    cost is ``O(n^2 (last - first))``. ``rows_in_cache`` rows of ``Z`` are read again before others: 2,000 rows of 384
    columns took 0.23 CPU seconds with 128, 0.32 with 64, and 0.40 in one pass; November 2026.

    Where factors are closed, ``factor_ij factor_jk <= factor_ik``, these are the least columns above that keep all
    ratios.
    """
    n = len(Z)
    raised[:, first:last] = Z[:, first:last]
    # So many rows of Z stay in the second-level cache for all i. Indices begin at 0, or else loops are not vectorized.
    for begin in range(0, n, rows_in_cache):
        end = min(begin + rows_in_cache, n)
        whole = end - (end - begin) % 8
        for i in range(n):
            row = raised[i, first:last]
            f = factor[i]
            # One load and one store of the row serve eight others.
            for j in range(begin, whole, 8):
                f0, f1, f2, f3 = f[j], f[j + 1], f[j + 2], f[j + 3]
                f4, f5, f6, f7 = f[j + 4], f[j + 5], f[j + 6], f[j + 7]
                r0, r1, r2 = Z[j, first:last], Z[j + 1, first:last], Z[j + 2, first:last]
                r3, r4, r5 = Z[j + 3, first:last], Z[j + 4, first:last], Z[j + 5, first:last]
                r6, r7 = Z[j + 6, first:last], Z[j + 7, first:last]
                for k in range(len(row)):
                    a = max(f0 * r0[k], f1 * r1[k])
                    b = max(f2 * r2[k], f3 * r3[k])
                    c = max(f4 * r4[k], f5 * r5[k])
                    d = max(f6 * r6[k], f7 * r7[k])
                    a, c = max(a, b), max(c, d)
                    best = max(a, c)
                    row[k] = max(row[k], best)
            for j in range(whole, end):
                f0, r0 = f[j], Z[j, first:last]
                for k in range(len(row)):
                    lifted = f0 * r0[k]
                    row[k] = max(row[k], lifted)


@kernel
def farthest_apart(L: NDArray[np.float64], pairs: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return ``max_k |L_ik - L_jk|`` for each pair of rows, ``(pairs,)``, in ``O(pairs columns)``.

    `L` is ``(n, columns)``, `pairs` ``(pairs, 2)``.
    """
    n_columns = L.shape[1]
    whole = n_columns - n_columns % 16
    farthest = np.empty(len(pairs))
    lane = np.zeros(16)
    for e in range(len(pairs)):
        a = L[pairs[e, 0]]
        b = L[pairs[e, 1]]
        lane[:] = 0.0
        for first in range(0, whole, 16):
            # Sixteen independent maxima, since the compiler will not reorder one.
            for k in range(16):
                lane[k] = max(lane[k], abs(a[first + k] - b[first + k]))
        for k in range(whole, n_columns):
            lane[0] = max(lane[0], abs(a[k] - b[k]))
        farthest[e] = lane.max()
    return farthest


MOST_NATS, PIECE_IN_NATS, SHARE_OF_DISTANCE = 100.0, 1.4, 0.15
"""Nats beyond which noise has less mass than the least weight of a channel with two limbs; longest piece of a segment
for which six nodes are enough, in nats and as a share of its distance."""


@kernel
def add_swept_tails(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    masses: NDArray[np.float64],
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    offsets: NDArray[np.float64],
    spans: NDArray[np.float64],
    sides: NDArray[np.integer],
    epsilon: float,
    nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Integrate ``(1 + epsilon r) e^(-epsilon r)`` over the angle under which each segment is seen from each point.

    A segment lies on the line ``normal . x = offset``; its ``span`` is from where to where along the normal turned
    left. Angles count as positive on the side that the normal points away from. At t along the line an angle is
    ``h dt / r^2``, h the distance of the line: smooth on the scale of r, so that pieces are longer farther away.

    `points` is ``(n, 2)``, `normals` ``(segments, 2)``, `offsets` ``(segments,)``, `spans` ``(segments, 2)``; the
    nodes and weights are those of Gauss's rule on [0, 1]. The integral of a segment is subtracted from the first of its
    two `sides` ``(segments, 2)`` in a row of `masses` ``(n, cells)``, and added to the second. A few pieces for each
    point and segment.
    """
    most = MOST_NATS / epsilon
    for i in range(len(points)):
        x, y = points[i]
        for e in range(len(normals)):
            height = offsets[e] - normals[e, 0] * x - normals[e, 1] * y
            along = normals[e, 0] * y - normals[e, 1] * x
            t, last = max(spans[e, 0] - along, -most), min(spans[e, 1] - along, most)
            h = max(abs(height), 1e-30)
            swept, square = 0.0, h * h
            while h < most and t < last:
                length = min(SHARE_OF_DISTANCE * np.sqrt(square + t * t), PIECE_IN_NATS / epsilon)
                length = min(length, last - t)
                for k in range(len(nodes)):
                    at = t + length * nodes[k]
                    distance = square + at * at
                    s = epsilon * np.sqrt(distance)
                    swept += length * weights[k] * (1.0 + s) * np.exp(-s) / distance
                t += length
            swept *= h if height >= 0 else -h
            masses[i, sides[e, 0]] -= swept
            masses[i, sides[e, 1]] += swept
