"""Compiled steps of the primal-dual method on arcs that each report has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel
from discreet.metricdp.kernels.primal_dual import move

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.kernels.sizes import StepSizes, TileArrays


class Arcs(NamedTuple):
    """Arcs of some reports, ordered by report: ``decay z_source <= z_target``.

    ``first`` is ``(n_reports + 1,)``: the first arc of each report; all others are ``(m,)``.
    """

    first: NDArray[np.int64]
    source: NDArray[np.uint16]
    target: NDArray[np.uint16]
    decay: NDArray[np.float32]


@kernel
def step_on_arcs(
    tile: TileArrays,
    y: NDArray[np.float32],
    arcs: Arcs,
    sizes: StepSizes,
    moved: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Take one reflected step, averaged with the anchor, in place; return the row sums of the reflected point.

    ``moved`` ``(2,)`` gets the squared lengths of both halves of the step. The cost is ``O(n)`` a report, and ``O(1)``
    an arc.
    """
    tau, sigma, rest, weight = sizes
    n_reports, n = tile.X.shape
    zero = np.float32(0.0)
    z, changes = np.empty(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    sums = np.zeros(n)
    dual = 0.0
    for k in range(n_reports):
        row = tile.X[k], tile.X0[k], tile.S[k], tile.W[k], tile.G[k]
        move(n, *row, y, z, sums, changes, (tau, rest, weight))
        g = row[4]
        of_k = slice(arcs.first[k], arcs.first[k + 1])
        sources, targets, decays = arcs.source[of_k], arcs.target[of_k], arcs.decay[of_k]
        scales, prices, anchors = tile.R[of_k], tile.L[of_k], tile.L0[of_k]
        for e in range(len(sources)):
            i, j, a, r = sources[e], targets[e], decays[e], scales[e]
            old = prices[e]
            new = max(old + sigma * (r * (a * z[i] - z[j])), zero)
            dual += (new - old) * (new - old)
            mixed = rest * anchors[e] + weight * (new + new - old)
            prices[e] = mixed
            price = mixed * r
            g[i] += a * price
            g[j] -= price
    moved[0] = changes.sum()
    moved[1] = dual
    return sums


@kernel
def find_sources(  # noqa: PLR0917 - a compiled kernel takes its arrays one by one
    Z: NDArray[np.float32],
    decay: NDArray[np.float32],
    required: NDArray[np.float32],
    report: NDArray[np.int64],
    target: NDArray[np.int64],
    source: NDArray[np.int64],
) -> None:
    """Find from which source ``required`` comes at some entries: the first i with ``decay_ij Z_ki``, the same product.

    ``Z`` and ``required`` are ``(n_reports, n)``; ``decay`` ``(n, n)`` is symmetric; ``report``, ``target`` and
    ``source``, which is written, are ``(entries,)``. An entry without a source keeps what it has. ``O(n)`` an entry.
    """
    for e in range(len(report)):
        z, row, wanted = Z[report[e]], decay[target[e]], required[report[e], target[e]]
        for i in range(len(z)):
            if row[i] * z[i] == wanted:
                source[e] = i
                break
