r"""From an iterate to integers that keep the condition of a net: mending with strictly private columns, and rounding.

**Projection.** An iterate violates the condition a little at many nodes. One after the other, each violated node is
moved to the boundary of its constraint in a metric in which an entry is as long as it is large: tails, which no other
metric sees, count like the rest. Sweeps over all nodes, rows divided by their sums in between, leave little to add.

**Mending.** Columns that keep the condition form a convex cone, so that a violation is paid for by adding a column that
has slack where it is. At the control points of a node that is violated by u the least such column is about
:math:`u / \rho`, and from there it may fall off at any rate below epsilon: the closure of the required additions, at
four tenths of epsilon along steps from a control point to the eight around it, has slack everywhere. Division by the
row sums changes gradients by little, and two or three rounds end it. A violation that remains after many rounds is
removed by mixing with the reports' mean probabilities, which have no gradient at all.

**Rounding.** Let rows of y sum to 1 and :math:`|G(y_k)| \le (1 - s) \rho V(y_k)` at all nodes for all k, with
:math:`0 < s < 1`. Let :math:`x = (2^B - K m) y + m` with :math:`m \ge (6 / \rho + 2) / s + 1`. Then integers w within 2
of x keep the condition. *Proof.* The weights of V at a node are not negative and sum to 1, those of each component of G
sum to 0, their magnitudes to at most 2. So adding m to all of a column raises V by m and changes no G: x keeps the
condition with the same s, and :math:`V(x) \ge m`. From x to w, V changes by at most 2 and each component of G by at
most 4, G by at most :math:`4 \sqrt 2 < 6`. So :math:`|G(w)| \le (1 - s) \rho V(x) + 6 \le \rho (V(x) - 2) \le
\rho V(w)` where :math:`6 + 2 \rho \le s \rho V(x)`, which :math:`V(x) \ge m` gives. ∎ It does not depend on how small a
probability is. The verifier looks at the integers and uses none of it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.threads import run_pieces
from discreet.lrgeo.points.stencils import gradients, slack, stencils
from discreet.metricdp.bounds.closure import close_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

NET_BITS = 48
"""Bits of the sum of a row: six bytes a weight, and exact doubles in JavaScript."""


class _Tuning(NamedTuple):
    """Parameters of the repair."""

    rounds: int = 20
    sweeps: int = 200
    """Limit of the number of sweeps over all nodes."""
    step_length: float = 1.6
    """Step of a violated node, in units of its linearized violation."""
    sweeps_per_check: int = 10
    tolerance: float = 1e-3
    """Share of epsilon by which gradients may be too large after the sweeps."""
    added_decay: float = 0.4
    """Decay of added columns, as a share of epsilon."""
    assumed_slack: float = 0.4
    """Assumed slack of an added column, as a share of epsilon; too high a value takes another round."""
    columns_per_task: int = 64
    min_entry: float = 1e-14
    """Smallest entry, so that quotients are finite."""


_TUNING = _Tuning()


def mend_net(
    cells: tuple[int, int],
    matrix: NDArray[np.float64],
    rho: float,
    *,
    sweeps: int = _TUNING.sweeps,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Repair a table so that rows sum to 1 and columns satisfy the condition.

    Sweeps and rounds cost ``O(nodes K)`` each. If rounds do not end the violations, the table is mixed with its mean
    row.

    Parameters
    ----------
    cells
        Of the net.
    matrix
        ``(V, K)`` non-negative, each row with a positive entry.
    rho
        Nats a cell: that of the guarantee less the share of the rounding.
    sweeps
        Of projections, at most, before anything is added.
    threads
        Among how many threads columns are divided.

    Returns
    -------
    ndarray
        ``(V, K)``. Floats: nothing is claimed, and what is left over is below parts in :math:`10^{12}`.
    """
    table = np.maximum(matrix / matrix.sum(axis=1, keepdims=True), _TUNING.min_entry)
    if sweeps:
        _project(cells, table, rho, sweeps, threads)
    start, ends, lengths = _around(cells)
    factor = np.exp(-_TUNING.added_decay * rho * lengths)
    for _ in range(_TUNING.rounds):
        needed = _needed(cells, table, rho)
        if needed is None:
            return np.asarray(table)
        close_columns(needed, start, ends, factor, threads=threads)
        table += needed
        table /= table.sum(axis=1, keepdims=True)
    return _mixed(cells, table, rho)


def _project(
    cells: tuple[int, int], table: NDArray[np.float64], rho: float, sweeps: int, threads: int
) -> None:
    """Project the columns of a table ``(V, K)`` on the condition, in place, in at most `sweeps` sweeps over the nodes.

    `rho` is nats a cell; rows are scaled to sum 1 after each sweep. Stops early once nearly no node is violated.
    ``O(nodes K)`` a sweep, on `threads` threads.
    """
    from concurrent.futures import ThreadPoolExecutor

    from discreet.lrgeo.points.kernels.nets import project_nets

    kinds, points, weights = stencils(cells)
    ways = ((kinds, points), (kinds[::-1].copy(), points[::-1].copy()))
    n_reports = table.shape[1]
    pieces = -(-n_reports // _TUNING.columns_per_task)

    def take(way: int, piece: int) -> None:
        first = piece * _TUNING.columns_per_task
        project_nets(
            first,
            min(first + _TUNING.columns_per_task, n_reports),
            table,
            *ways[way],
            weights,
            rho,
            _TUNING.step_length,
        )

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        helpers = pool if threads > 1 else None
        for sweep in range(sweeps):
            run_pieces(helpers, threads, pieces, partial(take, sweep % 2))
            table /= table.sum(axis=1, keepdims=True)
            is_check = sweep % _TUNING.sweeps_per_check == _TUNING.sweeps_per_check - 1
            if is_check and float(slack(cells, table, rho)[1].min()) > -_TUNING.tolerance:
                return


def _around(
    cells: tuple[int, int],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return the steps from each control point to the up to eight around it.

    First step of each, other ends, lengths in cells. ``(V + 1,)``, ``(steps,)``, ``(steps,)``, for V control points
    of a net of `cells`.
    """
    wide, tall = (count + 2 for count in cells)
    i, j = np.divmod(np.arange(wide * tall), tall)
    steps = [(u, v) for u in (-1, 0, 1) for v in (-1, 0, 1) if u or v]
    inside = np.stack(
        [(i + u >= 0) & (i + u < wide) & (j + v >= 0) & (j + v < tall) for u, v in steps], axis=1
    )
    ends = np.stack([(i + u) * tall + j + v for u, v in steps], axis=1)[inside].astype(np.int32)
    lengths = np.broadcast_to([math.hypot(u, v) for u, v in steps], inside.shape)[inside]
    start = np.concatenate([[0], np.cumsum(inside.sum(axis=1))]).astype(np.int64)
    return start, ends, np.asarray(lengths)


def _needed(
    cells: tuple[int, int], table: NDArray[np.float64], rho: float
) -> NDArray[np.float64] | None:
    """Return the additions ``(V, K)`` at control points of violated nodes, 1e-18 elsewhere.

    ``None`` without a violation. Each is the shortfall of the condition at a node, scaled by ``1.02 / (slack rho)``
    with an assumed slack. `table` is ``(V, K)``, `rho` nats a cell. ``O(nodes K)``.
    """
    needed, worst = np.full(table.shape, 1e-18), 0.0
    points = stencils(cells).points
    for nodes, length, value in gradients(cells, table):
        short = np.maximum(length - rho * value, 0.0)
        worst = max(worst, float(short.max()))
        for column in points[nodes].T:
            np.maximum.at(needed, column, short * (1.02 / (_TUNING.assumed_slack * rho)))
    return needed if worst > 0 else None


def _mixed(cells: tuple[int, int], table: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Mix `table` ``(V, K)`` with the mean row, by the share that removes the largest violation; a new table.

    `rho` is nats a cell. ``O(nodes K)``.
    """
    mean = table.mean(axis=0)
    short = np.maximum(-slack(cells, table, rho)[0], 0.0) / (rho * mean)
    theta = float(short.max()) / (1 + float(short.max())) * (1 + 1e-6)
    mixed: NDArray[np.float64] = (1 - theta) * table + theta * mean
    return mixed


def round_net(
    cells: tuple[int, int], table: NDArray[np.float64], rho: float
) -> NDArray[np.int64] | None:
    """Round to weights that keep the condition, by the proof above.

    ``O(nodes K)``, and a sort of each row.

    Parameters
    ----------
    cells
        Of the net.
    table
        ``(V, K)``, rows summing to 1.
    rho
        The guarantee's nats a cell.

    Returns
    -------
    ndarray or None
        ``(V, K)`` rows summing to :math:`2^{48}`; ``None`` where there is too little slack.
    """
    # What floats err by in a slack that is relative to sums of positive terms is far below this.
    spare = float(slack(cells, table, rho)[1].min()) - 1e-9
    if spare <= 0:
        return None
    lift = math.ceil((6 / rho + 2) / min(spare, 0.5)) + 2
    total, k = 1 << NET_BITS, table.shape[1]
    if lift * k > total >> 4:
        return None
    free = total - lift * k
    scaled = table / table.sum(axis=1, keepdims=True) * free
    rounded = np.floor(scaled)
    # Floats of 48 bits err by parts of a unit, their sums by a few units, which the nearest to the next one get.
    left = free - rounded.astype(np.int64).sum(axis=1)
    order = np.argsort(rounded - scaled, axis=1, kind="stable")
    weights = rounded.astype(np.int64) + lift
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(k)[None], axis=1)
    weights += (rank < left[:, None]).astype(np.int64)
    short = (left < 0) | (left > k)
    # Never seen; were it so, the proof would not hold.
    return None if short.any() else weights
