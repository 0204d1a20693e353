r"""From an iterate to integers that keep (*): mending with strictly private columns, and the proved rounding.

**Projection.** An iterate violates (*) a little in many triangles, up and down in turn. One after the other, each
violated triangle is moved to the boundary of its constraint, lowered where it is high and raised where it is low, in a
metric in which an entry is as long as it is large: tails, which no other metric sees, count like the rest. Sweeps over
all triangles, rows divided by their sums in between, leave little to add, and go on until no gradient is too large by
more than some thousandths. (400 reports, 1,521 vertices, half a nat a cell, after 800 steps: the loss was 2.14 without,
1.98 with 30 sweeps, 1.888 with 120 and 1.817 with 400, where the bound was 1.756; November 2026.)

**Mending.** Columns that keep (*) form a convex cone, so that a violation is paid for by adding a column that has slack
where it is. At the corners of a triangle that is violated by u the least such column is about :math:`u / \epsilon`, and
from there it may fall off at any rate below epsilon: the closure of what is needed, at four tenths of epsilon along
edges, has slack everywhere. Division by the row sums turns gradients by little, and two or three rounds end it. (64
reports, 225 vertices, half a nat a cell: 1.5 % were added after 1,000 steps. Tails around the reports' own places, in
place of the closure, added 25 %: far from its place a report's tail is small where a violation may not be.) What is
left after many rounds is paid for by mixing with the reports' mean probabilities, which have no gradient at all.

**Rounding.** Let rows of y sum to 1 and :math:`|\nabla_T y_k| \le (1 - s)\, \epsilon \min_T y_k` for all T and k, with
:math:`0 < s < 1`. Let P be the largest of perimeter over twice the area of the triangles, and
:math:`x = (2^B - K m) y + m` with :math:`m \ge 2 (P / \epsilon + 1) / s + 1`. Then integers w within 2 of x keep (*).
*Proof.* Adding m to all of a column changes no gradient and raises its least value, so that x keeps the inequality
with the same s. A weight moves the gradient by the length of the opposite edge over twice the area times what it is
off, so that :math:`|\nabla w| \le |\nabla x| + 2 P`, and :math:`\min w \ge \min x - 2`. So (*) holds for w where
:math:`2 P + 2 \epsilon \le s\, \epsilon \min x`, which :math:`\min x \ge m` gives. ∎ It does not depend on how small a
probability is, and slivers, which have a large P, cost most. The verifier looks at the integers and uses none of it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.primal_dual.iterate import share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.lrgeo.points.mesh import Mesh

__all__ = ["BITS", "exponential", "mended", "rounded", "slack"]

BITS = 48
"""Of what a row sums to: six bytes a weight, and exact doubles in JavaScript."""

_ROUNDS = 20
_FALL = 0.4
"""Part of epsilon at which what is added falls off."""

_DECAYS = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4)
"""Parts of epsilon at which the exponential mechanism falls off. At a half it keeps epsilon wherever reports lie, but
for what the corners of a mesh add; where row sums hardly change, it may fall off faster."""

_SWEEPS, _LENGTH = 600, 1.6
"""Sweeps over all triangles, at most, and how far a violated one is moved, in units of what its constraint needs."""

_ROUND, _ENOUGH = 40, 2e-3
"""Sweeps from one look at what is left to the next, and the part of epsilon by which gradients may be too large."""

_PIECE = 64
"""Columns that a thread takes at a time."""

_SLACK = 0.4
"""Part of epsilon that is thought to be left in what is added; too high a guess takes another round."""

_FLOOR = 1e-14
"""Entries are raised to this, so that quotients are numbers."""

_BLOCK = 1 << 21
"""Pairs of a triangle and a report that are looked at together."""


def slack(
    mesh: Mesh, table: NDArray[np.float64], epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give for each report the least slack in (*), absolute, and relative to the right side.

    Parameters
    ----------
    mesh
        The triangles.
    table
        ``(V, K)``, positive.
    epsilon
        Nats per decimeter.

    Returns
    -------
    least, relative : ndarray
        ``(K,)`` each: the least of ``epsilon min - |gradient|``, and of that over ``epsilon min``.
    """
    k = table.shape[1]
    least, relative = np.full(k, np.inf), np.full(k, np.inf)
    for gradient, floor in _pieces(mesh, table):
        left = epsilon * floor - gradient
        least = np.minimum(least, left.min(axis=0))
        relative = np.minimum(relative, (left / (epsilon * floor)).min(axis=0))
    return least, relative


def mended(
    mesh: Mesh,
    matrix: NDArray[np.float64],
    epsilon: float,
    *,
    sweeps: int = _SWEEPS,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Make rows sum to 1 and columns keep (*).

    Parameters
    ----------
    mesh
        The triangles.
    matrix
        ``(V, K)`` non-negative, each row with a positive entry.
    epsilon
        Nats per decimeter: less than the guarantee's by what the rounding needs.
    sweeps
        Of projections, at most, before anything is added.
    threads
        Among how many threads columns are divided.

    Returns
    -------
    ndarray
        ``(V, K)``. Floats: nothing is claimed, and what is left over is below parts in :math:`10^{12}`.
    """
    from discreet.metricdp.bounds.closure import close_columns

    table = np.maximum(matrix / matrix.sum(axis=1, keepdims=True), _FLOOR)
    if sweeps:
        _project(mesh, table, epsilon, sweeps, threads)
    start, ends, lengths = _edges(mesh)
    factor = np.exp(-_FALL * epsilon * lengths)
    for _ in range(_ROUNDS):
        needed = _needed(mesh, table, epsilon)
        if needed is None:
            return np.asarray(table)
        close_columns(needed, start, ends, factor, threads=threads)
        table += needed
        table /= table.sum(axis=1, keepdims=True)
    return _mixed(mesh, table, epsilon)


def exponential(
    mesh: Mesh, away: NDArray[np.float64], cost: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """Give the exponential mechanism on a mesh, each report renamed as the one that costs least given it.

    A column that is added to another one keeps (*) with it, since gradients add up to no more and least values to no
    less. Where (*) does not hold, the reports' mean probabilities are mixed in.

    Parameters
    ----------
    mesh
        The triangles.
    away
        ``(V, K)`` distances of vertices from reports, in decimeters.
    cost
        ``(V, K)`` what a report costs at a vertex, times the probability to be there.
    epsilon
        Nats per decimeter.

    Returns
    -------
    ndarray
        ``(V, K)``, rows summing to 1: the one that costs least among several decays.

    Complexity
    ----------
    ``V K^2`` for each decay.
    """
    best, least = np.zeros_like(cost), math.inf
    for part in _DECAYS:
        table = np.exp(-part * epsilon * (away - away.min(axis=1, keepdims=True)))
        table = np.maximum(table / table.sum(axis=1, keepdims=True), _FLOOR)
        table = _mixed(mesh, table / table.sum(axis=1, keepdims=True), epsilon)
        costs = table.T @ cost
        name = costs.argmin(axis=1)
        found = float(costs[np.arange(len(name)), name].sum())
        if found < least:
            least, best = found, np.zeros_like(table)
            np.add.at(best.T, name, table.T)
    # A constant has no gradient, and a column of nothing no slack.
    best += _FLOOR
    best /= 1 + _FLOOR * best.shape[1]
    return best


def _project(
    mesh: Mesh, table: NDArray[np.float64], epsilon: float, sweeps: int, threads: int
) -> None:
    """Sweep over the triangles to and fro, in place."""
    from concurrent.futures import ThreadPoolExecutor

    from discreet.lrgeo.points.kernels.cones import project_columns

    corners, slopes = mesh.triangles, mesh.gradients.reshape(-1, 6)
    ways = ((corners, slopes), (corners[::-1].copy(), slopes[::-1].copy()))
    n_reports = table.shape[1]
    pieces = -(-n_reports // _PIECE)

    def take(way: int, piece: int) -> None:
        first = piece * _PIECE
        last = min(first + _PIECE, n_reports)
        project_columns(first, last, table, *ways[way], epsilon, _LENGTH)

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        helpers = pool if threads > 1 else None
        for sweep in range(sweeps):
            share(helpers, threads, pieces, partial(take, sweep % 2))
            table /= table.sum(axis=1, keepdims=True)
            looks = sweep % _ROUND == _ROUND - 1
            if looks and float(slack(mesh, table, epsilon)[1].min()) > -_ENOUGH:
                return


def _edges(mesh: Mesh) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """List the edges at each vertex: where they start, their other ends, their lengths."""
    corners, n = mesh.triangles, len(mesh.vertices)
    each = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    each = np.unique(np.concatenate([each, each[:, ::-1]]), axis=0)
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(each[:, 0], minlength=n), out=start[1:])
    across = mesh.vertices[each[:, 0]] - mesh.vertices[each[:, 1]]
    return start, each[:, 1].astype(np.int32), np.hypot(across[:, 0], across[:, 1])


def _needed(mesh: Mesh, table: NDArray[np.float64], epsilon: float) -> NDArray[np.float64] | None:
    """Give what has to be added at the corners of violated triangles; nothing where none is."""
    needed, first, worst = np.full(table.shape, 1e-18), 0, 0.0
    for gradient, floor in _pieces(mesh, table):
        corners = mesh.triangles[first : first + len(floor)]
        first += len(floor)
        short = np.maximum(gradient - epsilon * floor, 0.0)
        worst = max(worst, float(short.max()))
        for corner in corners.T:
            np.maximum.at(needed, corner, short * (1.02 / (_SLACK * epsilon)))
    return needed if worst > 0 else None


def _mixed(mesh: Mesh, table: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Mix with the reports' mean probabilities, as much as is left over."""
    mean = table.mean(axis=0)
    short = np.maximum(-slack(mesh, table, epsilon)[0], 0.0) / (epsilon * mean)
    theta = float(short.max()) / (1 + float(short.max())) * (1 + 1e-6)
    mixed: NDArray[np.float64] = (1 - theta) * table + theta * mean
    return mixed


def rounded(mesh: Mesh, table: NDArray[np.float64], epsilon: float) -> NDArray[np.int64] | None:
    """Round to weights that keep (*), by the proof above.

    Parameters
    ----------
    mesh
        The triangles.
    table
        ``(V, K)``, rows summing to 1.
    epsilon
        The guarantee's, in nats per decimeter.

    Returns
    -------
    ndarray or None
        ``(V, K)`` rows summing to :math:`2^{48}`; ``None`` where there is too little slack.
    """
    spare = float(slack(mesh, table, epsilon)[1].min()) - 1e-9
    if spare <= 0:
        return None
    turned = float((mesh.perimeters / mesh.twice_areas).max()) / epsilon
    lift = math.ceil(2 * (turned + 1) / min(spare, 0.5)) + 1
    total, k = 1 << BITS, table.shape[1]
    if lift * k > total >> 4:
        return None
    free = total - lift * k
    scaled = table / table.sum(axis=1, keepdims=True) * free
    whole = np.floor(scaled)
    # Floats of 48 bits err by parts of a unit, their sums by a few units, which the nearest to the next one get.
    left = free - whole.astype(np.int64).sum(axis=1)
    order = np.argsort(whole - scaled, axis=1, kind="stable")
    weights = whole.astype(np.int64) + lift
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(k)[None], axis=1)
    weights += (rank < left[:, None]).astype(np.int64)
    short = (left < 0) | (left > k)
    # Never seen; were it so, the proof would not hold.
    return None if short.any() else weights


def _pieces(
    mesh: Mesh, table: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield gradients and least values, some triangles at a time."""
    each = max(1, _BLOCK // table.shape[1])
    for first in range(0, len(mesh.triangles), each):
        at = table[mesh.triangles[first : first + each]]
        slopes = mesh.gradients[first : first + each]
        gx = np.einsum("tc,tck->tk", slopes[:, 0], at)
        gy = np.einsum("tc,tck->tk", slopes[:, 1], at)
        yield np.hypot(gx, gy), at.min(axis=1)
