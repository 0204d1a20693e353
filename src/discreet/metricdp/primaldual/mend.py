r"""Mending: from an iterate of the primal-dual method to a matrix that is as good as private.

Let :math:`U z` be the least column above z that keeps the ratios, and :math:`\Lambda z` the greatest below. The repair
alternates U with division by the row sums. From an iterate that ends in a cycle: a secret whose row is held up by its
neighbors on all sides is divided, raised and divided again, and only a large delta helps. Logarithms of private columns
form a convex set, so that :math:`\sqrt{Uz \cdot \Lambda z}` is private too and moves both sides of a broken ratio half
the way. Rounds of that converge. But they move more than needed while the iterate is far from private, so that some
rounds of U alone come first: on a grid of 225 secrets with a skewed prior the loss after 2200 steps was 1.7 % above
that of the iterate with U alone, 0.16 % with the middle, 0.11 % with both.

Nothing is claimed: the repair looks at what comes out, and finds enough slack or makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.adjacency import Adjacency

__all__ = ["mend"]

_ABOVE, _MIDDLE = 20, 80
"""Rounds of U, and most rounds of the geometric mean."""

_FLOOR = 1e-100
"""Stands for a zero that U will raise; its inverse is a float."""

_WIDTH = 64
"""Columns that are closed at once."""


def mend(
    matrix: NDArray[np.float64], edges: Adjacency, nats: NDArray[np.float64], delta: float
) -> NDArray[np.float64]:
    """Make rows sum to 1 and columns keep ratios, but for a part of about ``delta`` of the nats.

    Parameters
    ----------
    matrix
        ``(n, n_reports)`` non-negative, with a positive entry in each row.
    edges, nats
        The constraints and their lengths.
    delta
        Part of the nats that is left for the rows' sums to differ by.

    Returns
    -------
    ndarray
        Of the same shape.
    """
    from discreet.metricdp._kernels import raise_columns

    n = edges.n
    i, j = edges.pairs.T
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(edges.pairs.ravel(), minlength=n), out=start[1:])
    ends = np.concatenate([j, i])[order]
    factor = np.exp(-(1 - delta) * np.concatenate([nats, nats])[order])
    table: NDArray[np.float64] = np.maximum(matrix / matrix.sum(axis=1, keepdims=True), _FLOOR)
    for number in range(_ABOVE + _MIDDLE):
        above = table.copy()
        raise_columns(above, start, ends, factor, _WIDTH)
        if number < _ABOVE:
            table = above
        else:
            below = 1.0 / table
            raise_columns(below, start, ends, factor, _WIDTH)
            table = np.sqrt(above / below)
        sums = table.sum(axis=1)
        logs = np.log(sums)
        table /= sums[:, None]
        if (np.abs(logs[i] - logs[j]) <= 0.9 * delta * nats).all():
            break
    return table
