"""Compiled loops over regions and coefficients: the passes of the tree fit, with weights by interaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.jit import kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@kernel
def up(
    children: NDArray[np.int64],
    means: NDArray[np.float64],
    theta: NDArray[np.float64],
    subset: NDArray[np.int64],
) -> None:
    """Replace the mean of each inner region by its best mix with the sum of the regions below it, in place.

    ``means[v] = theta means[v] + (1 - theta) sum of means below``, from the last node up. Node v has the children
    ``children[v]`` to ``children[v + 1]``; ``means`` is ``(nodes, coefficients)``, ``theta`` ``(interactions, nodes)``,
    ``subset`` ``(coefficients,)`` the interaction of each. Linear cost.
    """
    n, size = means.shape
    for node in range(n - 1, -1, -1):
        first, stop = children[node], children[node + 1]
        if first == stop:
            continue
        sums = means[first].copy()
        for child in range(first + 1, stop):
            for k in range(size):
                sums[k] += means[child, k]
        for k in range(size):
            part = theta[subset[k], node]
            means[node, k] = part * means[node, k] + (1.0 - part) * sums[k]


@kernel
def down(
    children: NDArray[np.int64],
    means: NDArray[np.float64],
    beta: NDArray[np.float64],
    subset: NDArray[np.int64],
) -> None:
    """Add to the children what their parent has more than their sum, in place, by their shares ``beta``.

    `children` ``(nodes + 1,)`` has the first child of each, `means` is ``(nodes, cells)``, `beta` ``(interactions,
    nodes)``, and `subset` ``(cells,)`` the interaction of each coefficient. Linear cost.
    """
    n, size = means.shape
    for node in range(n):
        first, stop = children[node], children[node + 1]
        if first == stop:
            continue
        gap = means[node].copy()
        for child in range(first, stop):
            for k in range(size):
                gap[k] -= means[child, k]
        for child in range(first, stop):
            for k in range(size):
                means[child, k] += beta[subset[k], child] * gap[k]
