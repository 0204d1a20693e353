"""Compiled steps of the primal-dual method on arcs that each report has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.kernels.sizes import StepSizes

_LEAST = np.float32(1e-30)


class ArcArrays(NamedTuple):
    """Arcs of some reports, ordered by report: ``decay z_source <= z_target``.

    ``first`` is ``(n_reports + 1,)``: the first arc of each report; all others are ``(m,)``. ``scale`` is the unit of
    each arc's row, ``L`` and ``L0`` are its multiplier and the anchor.
    """

    first: NDArray[np.int64]
    source: NDArray[np.uint16]
    target: NDArray[np.uint16]
    decay: NDArray[np.float32]
    scale: NDArray[np.float32]
    L: NDArray[np.float32]
    L0: NDArray[np.float32]


class PointArrays(NamedTuple):
    """Variables, anchor, scale, scaled cost, and what the multipliers add to reduced costs: ``(n_reports, n)`` each.

    ``y`` ``(n,)`` are the row multipliers.
    """

    X: NDArray[np.float32]
    X0: NDArray[np.float32]
    S: NDArray[np.float32]
    W: NDArray[np.float32]
    G: NDArray[np.float32]
    y: NDArray[np.float32]


@kernel
def step_on_arcs(
    arcs: ArcArrays,
    point: PointArrays,
    sizes: StepSizes,
    moved: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Take one reflected step, averaged with the anchor, in place; return the row sums of the reflected point.

    ``moved`` ``(2,)`` gets the squared lengths of both halves of the step. The cost is ``O(n)`` a report, and ``O(1)``
    an arc.
    """
    tau, sigma, rest, weight = sizes
    n_reports, n = point.X.shape
    zero, two = np.float32(0.0), np.float32(2.0)
    z = np.empty(n, dtype=np.float32)
    sums = np.zeros(n)
    primal, dual = 0.0, 0.0
    for k in range(n_reports):
        x, x0, s, w, g = point.X[k], point.X0[k], point.S[k], point.W[k], point.G[k]
        for i in range(n):
            old = x[i]
            new = max(old - tau * (w[i] + s[i] * (g[i] - point.y[i])), zero)
            primal += (new - old) * (new - old)
            mirrored = two * new - old
            ahead = s[i] * mirrored
            z[i] = ahead if abs(ahead) > _LEAST else zero
            sums[i] += ahead
            x[i] = rest * x0[i] + weight * mirrored
            g[i] = zero
        for e in range(arcs.first[k], arcs.first[k + 1]):
            i, j, a, r = arcs.source[e], arcs.target[e], arcs.decay[e], arcs.scale[e]
            old = arcs.L[e]
            new = max(old + sigma * (r * (a * z[i] - z[j])), zero)
            dual += (new - old) * (new - old)
            mixed = rest * arcs.L0[e] + weight * (two * new - old)
            arcs.L[e] = mixed
            price = mixed * r
            g[i] += a * price
            g[j] -= price
    moved[0], moved[1] = primal, dual
    return sums


@kernel
def most_violated(
    Z: NDArray[np.float32],
    decay: NDArray[np.float32],
    required: NDArray[np.float32],
    source: NDArray[np.int32],
) -> None:
    """Find what the most violated arc of each entry requires: ``max_i decay_ij Z_ki``, and its source i.

    ``Z``, ``required`` and ``source`` are ``(n_reports, n)``; ``decay`` is symmetric, 0 for pairs that are not
    constrained and on the diagonal. The source is -1 where nothing is required. The cost is ``O(n_reports n^2)``.
    """
    n_reports, n = Z.shape
    required[:] = np.float32(0.0)
    source[:] = np.int32(-1)
    for i in range(n):
        row = decay[i]
        for k in range(n_reports):
            z, largest, place = Z[k, i], required[k], source[k]
            if z > _LEAST:
                for j in range(n):
                    value = row[j] * z
                    more = value > largest[j]
                    largest[j] = value if more else largest[j]
                    place[j] = np.int32(i) if more else place[j]
