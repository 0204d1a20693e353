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
    np.positive(Z[:, first:last], raised[:, first:last])
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


@kernel
def swept_tails(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
    offsets: NDArray[np.float64],
    spans: NDArray[np.float64],
    epsilon: float,
    nodes: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Integrate ``(1 + epsilon r) e^(-epsilon r)`` over the angle under which each segment is seen from each point.

    A segment lies on the line ``normal . x = offset``; its ``span`` is from where to where along the normal turned
    left. Angles count as positive on the side that the normal points away from. With ``t = h sinh u`` along the line, h
    its distance, an angle is ``du / cosh u`` and ``r = h cosh u``: smooth on the scale of 1, whatever h is.

    `points` is ``(n, 2)``, `normals` ``(segments, 2)``, `offsets` ``(segments,)``, `spans` ``(segments, 2)``; the
    nodes and weights are those of Gauss's rule on [-1, 1]. Returns ``(n, segments)``, in as many integrals.
    """
    swept = np.zeros((len(points), len(normals)))
    for i in range(len(points)):
        x, y = points[i]
        for e in range(len(normals)):
            height = offsets[e] - normals[e, 0] * x - normals[e, 1] * y
            along = normals[e, 0] * y - normals[e, 1] * x
            h = max(abs(height), 1e-30)
            first = max(-45.0, min(45.0, np.arcsinh((spans[e, 0] - along) / h)))
            last = max(-45.0, min(45.0, np.arcsinh((spans[e, 1] - along) / h)))
            # Beyond 745 the exponential is no float.
            if epsilon * h > 745.0 or last <= first:
                continue
            most = np.arccosh(745.0 / (epsilon * h))
            first, last = max(first, -most), min(last, most)
            if last <= first:
                continue
            panels = int(np.ceil(last - first))
            half = (last - first) / (2 * panels)
            total = 0.0
            for panel in range(panels):
                middle = first + (2 * panel + 1) * half
                for k in range(len(nodes)):
                    c = np.cosh(middle + half * nodes[k])
                    s = epsilon * h * c
                    total += weights[k] * (1.0 + s) * np.exp(-s) / c
            swept[i, e] = half * total if height >= 0 else -half * total
    return swept
