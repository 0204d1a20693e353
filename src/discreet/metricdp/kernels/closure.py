"""The compiled closure: least majorants of columns along edges."""

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
