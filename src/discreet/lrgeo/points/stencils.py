r"""What is looked at of a table on a control net: values and gradients at the nodes of its Bernstein form, in floats.

On a cell of the net a report's probability is a biquadratic polynomial of the point, and so is each component of its
gradient once its degree is raised. Their coefficients are at 3 x 3 *nodes* a cell, shared with the cells beside it: in
each direction a *knot*, between two cells, or a *middle* of one. With c the control points along an axis, and slopes
per side of a cell,

===========  ===============================  =================================
             value                            slope
===========  ===============================  =================================
knot a       :math:`(c_a + c_{a+1}) / 2`      :math:`c_{a+1} - c_a`
middle a     :math:`c_{a+1}`                  :math:`(c_{a+2} - c_a) / 2`
===========  ===============================  =================================

and at a node of the plane V is the value of the values, :math:`G = (G_x, G_y)` the slope in one direction of the values
in the other. **Condition**: :math:`|G| \le \rho V` at all nodes, where :math:`\rho` is epsilon times the side of a
cell. It keeps the promise between any two points, since Bernstein polynomials are not negative and sum to one; the
verifier looks at the integers and shares no code with this file.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_POINTS_PER_NODE = 6
"""Control points that a node looks at, at most: two times three."""

_BLOCK = 1 << 21
"""Pairs of a node and a report that are looked at together."""


class Stencils(NamedTuple):
    """Which control points each node looks at, and with which weights.

    Parameters
    ----------
    kinds
        ``(N,)``: 0 for a knot in both directions, 1 for a middle in the second, 2 in the first, 3 in both.
    points
        ``(N, 6)`` control points, numbered row by row; the last one is repeated, with weight zero, where fewer are.
    weights
        ``(4, 3, 6)``: for each kind those of V and of both components of G.
    """

    kinds: NDArray[np.int64]
    points: NDArray[np.int64]
    weights: NDArray[np.float64]


_VALUE = (((0, 0.5), (1, 0.5)), ((1, 1.0),))
_SLOPE = (((0, -1.0), (1, 1.0)), ((0, -0.5), (2, 0.5)))


@lru_cache(maxsize=4)
def stencils(cells: tuple[int, int]) -> Stencils:
    """List the nodes of a net, row by row, knots and middles in turn.

    Value and slopes at a node are sums of the entries at its points times the weights. Linear in the nodes.

    Parameters
    ----------
    cells
        Of the net, in both directions; there are two more control points in each.

    Examples
    --------
    >>> made = stencils((1, 1))
    >>> len(made.kinds), int(made.points.max())
    (9, 8)
    """
    wide, tall = cells
    columns, rows = np.divmod(np.arange((2 * wide + 1) * (2 * tall + 1)), 2 * tall + 1)
    kinds = 2 * (columns % 2) + rows % 2
    points = np.zeros((len(kinds), _POINTS_PER_NODE), dtype=np.int64)
    weights = np.zeros((4, 3, _POINTS_PER_NODE))
    for kind in range(4):
        first, second = divmod(kind, 2)
        offsets: dict[tuple[int, int], list[float]] = {}
        parts = (
            (_VALUE[first], _VALUE[second]),
            (_SLOPE[first], _VALUE[second]),
            (_VALUE[first], _SLOPE[second]),
        )
        for part, (across, along) in enumerate(parts):
            for i, u in across:
                for j, v in along:
                    offsets.setdefault((i, j), [0.0, 0.0, 0.0])[part] += u * v
        own = kinds == kind
        corner = (columns[own] // 2) * (tall + 2) + rows[own] // 2
        steps = [i * (tall + 2) + j for i, j in offsets]
        steps += [steps[-1]] * (_POINTS_PER_NODE - len(steps))
        points[own] = corner[:, None] + np.array(steps)
        weights[kind, :, : len(offsets)] = np.array(list(offsets.values())).T
    for array in (kinds, points, weights):
        array.setflags(write=False)
    return Stencils(kinds, points, weights)


def gradients(
    cells: tuple[int, int], table: NDArray[np.float64]
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield lengths of gradients and values at nodes, some nodes at a time.

    ``O(nodes K)`` in all; slopes are per side of a cell.

    Parameters
    ----------
    cells
        Of the net.
    table
        ``(V, K)``, a row for each control point.

    Yields
    ------
    nodes : slice
        Which ones.
    length, value : ndarray
        ``(n, K)`` each: :math:`|G|` and :math:`V`.
    """
    made = stencils(cells)
    each = max(1, _BLOCK // table.shape[1])
    for first in range(0, len(made.kinds), each):
        nodes = slice(first, first + each)
        weights = made.weights[made.kinds[nodes]]
        parts = np.zeros((3, len(weights), table.shape[1]))
        for place in range(_POINTS_PER_NODE):
            at = table[made.points[nodes, place]]
            for part in range(3):
                parts[part] += weights[:, part, place, None] * at
        yield nodes, np.hypot(parts[1], parts[2]), parts[0]


def slack(
    cells: tuple[int, int], table: NDArray[np.float64], rho: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return for each report the smallest slack in the condition, absolute, and relative to the right side.

    ``O(nodes K)``. Negative where a report violates the condition.

    Parameters
    ----------
    cells
        Of the net.
    table
        ``(V, K)``, positive.
    rho
        Nats a cell.

    Returns
    -------
    least, relative : ndarray
        ``(K,)`` each: the least of :math:`\rho V - |G|`, and of that over :math:`\rho V`.
    """
    k = table.shape[1]
    least, relative = np.full(k, np.inf), np.full(k, np.inf)
    for _, length, value in gradients(cells, table):
        left = rho * value - length
        least = np.minimum(least, left.min(axis=0))
        relative = np.minimum(relative, (left / (rho * value)).min(axis=0))
    return least, relative
