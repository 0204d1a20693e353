"""Compiled steps of the primal-dual method on arcs that each report has of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.jit import disjoint, kernel
from discreet.metricdp.kernels.primal_dual import move
from discreet.metricdp.kernels.sizes import REPORTS_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.kernels.primal_dual import Row
    from discreet.metricdp.kernels.sizes import StepSizes, TileArrays


class Arcs(NamedTuple):
    """Arcs of some reports: ``decay z_source <= z_target``; fans, and then others, ordered by report.

    A *fan* has the arcs between its center and all secrets: its own are ``F n`` for each report, in that order.
    ``centers`` is ``(n_reports, F)``, ``inward`` ``(F,)`` says which fans lead to their center, and ``decay`` ``(n,
    n)``, 0 for pairs without a constraint, has their factors. Of the others ``first`` is ``(n_reports + 1,)``: where
    they begin among all arcs, and all else is ``(m,)``.
    """

    centers: NDArray[np.int64]
    inward: NDArray[np.bool_]
    decay: NDArray[np.float32]
    first: NDArray[np.int64]
    source: NDArray[np.uint16]
    target: NDArray[np.uint16]
    shrink: NDArray[np.float32]


@disjoint
def pull_fan(  # noqa: PLR0917 - a compiled function takes its arrays one by one
    center: np.float32,
    of_center: Row,
    of_others: Row,
    z: Row,
    prices: Row,
    anchors: Row,
    r: Row,
    g: Row,
    earned: Row,
    moved: Row,
    rates: tuple[np.float32, np.float32, np.float32],
) -> None:
    """Take a reflected step of the multipliers of a fan, averaged with the anchor.

    Arc v is violated by ``of_center[v] * center + of_others[v] * z[v]``, ``center`` the value at the center. What the
    new ``prices`` add to reduced costs is added to ``g`` and, for the center, to ``earned``; squares of the step to
    ``moved``. All arrays are ``(n,)``, ``r`` are the scales of ratios, ``rates`` as of
    :func:`~discreet.metricdp.kernels.primal_dual.pull`.
    """
    sigma, rest, weight = rates
    for v in range(len(z)):
        old = prices[v]
        new = old + sigma * (r[v] * (of_center[v] * center + of_others[v] * z[v]))
        new = max(new, np.float32(0.0))
        moved[v] += (new - old) * (new - old)
        mixed = rest * anchors[v] + weight * ((new + new) - old)
        prices[v] = mixed
        g[v] += of_others[v] * (mixed * r[v])
        earned[v] += of_center[v] * (mixed * r[v])


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
    an arc, less in a fan.
    """
    tau, sigma, rest, weight = sizes
    n_reports, n = tile.X.shape
    fans = len(arcs.inward)
    zero = np.float32(0.0)
    z = np.empty(n, dtype=np.float32)
    changes = np.zeros(n, dtype=np.float32)
    steps = np.zeros(n, dtype=np.float32)
    back = np.full(n, np.float32(-1.0), dtype=np.float32)
    earned = np.empty(n, dtype=np.float32)
    lanes = np.empty(REPORTS_PER_BLOCK, dtype=np.float32)
    full = n - n % REPORTS_PER_BLOCK
    sums = np.zeros(n)
    dual = 0.0
    for k in range(n_reports):
        row = tile.X[k], tile.X0[k], tile.S[k], tile.W[k], tile.G[k]
        move(n, *row, y, z, sums, changes, (tau, rest, weight))
        g = row[4]
        for f in range(fans):
            center = arcs.centers[k, f]
            begin = (k * fans + f) * n
            own = slice(begin, begin + n)
            forth = arcs.decay[center]
            of_center, of_others = (back, forth) if arcs.inward[f] else (forth, back)
            of_fan = of_center, of_others, z, tile.L[own], tile.L0[own], tile.R[own]
            earned[:] = zero
            pull_fan(z[center], *of_fan, g, earned, steps, (sigma, rest, weight))
            lanes[:] = zero
            for v in range(0, full, REPORTS_PER_BLOCK):
                for lane in range(REPORTS_PER_BLOCK):
                    lanes[lane] += earned[v + lane]
            total = zero
            for lane in range(REPORTS_PER_BLOCK):
                total += lanes[lane]
            for v in range(full, n):
                total += earned[v]
            g[center] += total
        of_k = slice(arcs.first[k], arcs.first[k + 1])
        sources = arcs.source[of_k]
        targets = arcs.target[of_k]
        decays = arcs.shrink[of_k]
        scales = tile.R[of_k]
        prices = tile.L[of_k]
        anchors = tile.L0[of_k]
        for e in range(len(sources)):
            i = sources[e]
            j = targets[e]
            a = decays[e]
            r = scales[e]
            old = prices[e]
            new = max(old + sigma * (r * (a * z[i] - z[j])), zero)
            dual += (new - old) * (new - old)
            mixed = rest * anchors[e] + weight * (new + new - old)
            prices[e] = mixed
            price = mixed * r
            g[i] += a * price
            g[j] -= price
    moved[0] = changes.sum()
    moved[1] = dual + steps.sum()
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
