"""Compiled steps of the primal-dual method on arcs that each report has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from discreet.core.jit import disjoint, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.kernels.sizes import StepSizes

_LEAST = np.float32(1e-30)

Numbers: TypeAlias = "NDArray[np.float32]"
"""``(n,)``: one number for each secret."""


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


@disjoint
def _move(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    x: Numbers,
    x0: Numbers,
    s: Numbers,
    w: Numbers,
    g: Numbers,
    y: Numbers,
    z: Numbers,
    sums: NDArray[np.float64],
    changes: Numbers,
    rates: tuple[np.float32, np.float32, np.float32],
) -> None:
    """Take a reflected step of the variables of a report, averaged with the anchor, and clear ``g``.

    Arrays are ``(n,)``: a row of each of :class:`PointArrays`, and ``y``. ``z`` gets the reflected point, unscaled,
    which is added to ``sums``; squares of the step are added to ``changes`` one by one, so that the loop is one pass of
    vector instructions. `rates` are the step tau and the weights of anchor and point.
    """
    tau, rest, weight = rates
    zero, two = np.float32(0.0), np.float32(2.0)
    for i in range(len(x)):
        old = x[i]
        new = max(old - tau * (w[i] + s[i] * (g[i] - y[i])), zero)
        changes[i] += (new - old) * (new - old)
        mirrored = two * new - old
        ahead = s[i] * mirrored
        z[i] = ahead if abs(ahead) > _LEAST else zero
        sums[i] += ahead
        x[i] = rest * x0[i] + weight * mirrored
        g[i] = zero


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
    z, changes = np.empty(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    sums = np.zeros(n)
    dual = 0.0
    for k in range(n_reports):
        row = point.X[k], point.X0[k], point.S[k], point.W[k], point.G[k]
        _move(*row, point.y, z, sums, changes, (tau, rest, weight))
        g = row[4]
        of_k = slice(arcs.first[k], arcs.first[k + 1])
        sources, targets, decays = arcs.source[of_k], arcs.target[of_k], arcs.decay[of_k]
        scales, prices, anchors = arcs.scale[of_k], arcs.L[of_k], arcs.L0[of_k]
        for e in range(len(sources)):
            i, j, a, r = sources[e], targets[e], decays[e], scales[e]
            old = prices[e]
            new = max(old + sigma * (r * (a * z[i] - z[j])), zero)
            dual += (new - old) * (new - old)
            mixed = rest * anchors[e] + weight * (two * new - old)
            prices[e] = mixed
            price = mixed * r
            g[i] += a * price
            g[j] -= price
    moved[0], moved[1] = changes.sum(), dual
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
    n = len(decay)
    for e in range(len(report)):
        z, row, wanted = Z[report[e]], decay[target[e]], required[report[e], target[e]]
        for begin in range(0, n, 64):
            of_z, of_row = z[begin : begin + 64], row[begin : begin + 64]
            hits = 0
            # No exit inside the strip: a count is what the compiler can vectorize.
            for i in range(len(of_z)):
                hits += 1 if of_row[i] * of_z[i] == wanted else 0
            if hits:
                for i in range(len(of_z)):
                    if of_row[i] * of_z[i] == wanted:
                        source[e] = begin + i
                        break
                break
