"""The compiled closure: least majorants of columns, eight of them copied together."""

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

    After ``most`` sweeps they are left as they are. ``Z`` is ``(n, columns)``; node i has the neighbors and factors at
    ``start[i]`` to ``start[i + 1]``. A sweep costs the edges times the columns, or less.

    Columns are those of the strips of eight from ``first`` to ``last``; each strip is copied into the cache. Labels are
    corrected in alternating sweeps over the rows until nothing changes; an edge is looked at again only if its other
    end has changed since. Factors are at most 1, so that a product rounded to a float never exceeds what it came from,
    and the sweeps end; products are monotone, so that where they end does not depend on the order.
    """
    n, n_columns = Z.shape
    touched = np.empty(n, dtype=np.int64)
    x = np.zeros((n, 8))
    for strip in range(first, last):
        left = 8 * strip
        width = min(8, n_columns - left)
        for i in range(n):
            for v in range(width):
                x[i, v] = Z[i, left + v]
            for v in range(width, 8):
                x[i, v] = 0.0
        touched[:] = 0
        sweep = 0
        changed = 1
        while changed and sweep < most:
            changed = 0
            for step in range(n):
                i = step if sweep % 2 == 0 else n - 1 - step
                row = x[i]
                # Eight names and no loop: so they stay in a register over all edges.
                a, b, c, d = row[0], row[1], row[2], row[3]
                e, f, g, h = row[4], row[5], row[6], row[7]
                for at in range(start[i], start[i + 1]):
                    j = ends[at]
                    if touched[j] < sweep - 1:
                        continue
                    other, by = x[j], factor[at]
                    a, b = max(a, by * other[0]), max(b, by * other[1])
                    c, d = max(c, by * other[2]), max(d, by * other[3])
                    e, f = max(e, by * other[4]), max(f, by * other[5])
                    g, h = max(g, by * other[6]), max(h, by * other[7])
                lifted = (a > row[0]) | (b > row[1]) | (c > row[2]) | (d > row[3])
                lifted |= (e > row[4]) | (f > row[5]) | (g > row[6]) | (h > row[7])
                if lifted:
                    row[0], row[1], row[2], row[3] = a, b, c, d
                    row[4], row[5], row[6], row[7] = e, f, g, h
                    touched[i] = sweep
                    changed = 1
            sweep += 1
        for i in range(n):
            for v in range(width):
                Z[i, left + v] = x[i, v]
