r"""Names for the nodes of a torus: at each the report that costs least, given how likely each place leads there.

.. math:: \min_k \sum_p \pi_p f_z(p) \ell(p, k)

at the node z, where :math:`\pi_p f_z(p)` is the probability that a person is at the place p and the draw ends at z. No
privacy depends on names: whatever is done with a node once it is drawn is done without the point.

On small tori all reports are compared at all nodes. On large ones all are compared at every fourth node of every
fourth row, and at the nodes between those the few that were best around there. What the names lose is added up over all
nodes and all places in either case.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Tuning(NamedTuple):
    """Limits of the comparison of reports."""

    block_side: int = 4
    """Nodes between those at which all reports are compared; tori that are not small are multiples of it."""
    candidates_per_node: int = 3
    """Reports that are kept from each of the four nodes around."""
    most_compared: int = 1_500_000_000
    """Nodes times places times reports up to which all are compared everywhere: half a second (2026-11)."""
    most_held: int = 1 << 23
    """Nodes times places whose probabilities are held at once."""


RENAMING = _Tuning()


class Renamed(NamedTuple):
    """Names, and what they lose.

    Parameters
    ----------
    names
        ``(m, n)`` reports.
    loss
        Expected, in the noise's integers: to be divided by their sum. Its relative error is below 2^-38.
    """

    names: NDArray[np.int64]
    loss: float


def renamed(
    noise: NDArray[np.int64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    cost: NDArray[np.float64],
    *,
    threads: int = 1,
) -> Renamed:
    """Assign a report to each node of a torus.

    Parameters
    ----------
    noise
        ``(m, n)``.
    first
        ``(P, 2)``: the first column and row of the control points of each place.
    weights
        ``(P, 2, 3)``: how likely each place draws each of three columns and of three rows.
    cost
        ``(P, K)``: what each report costs at each place, times how likely people are there.
    threads
        On large tori.

    Complexity
    ----------
    Nodes times places times reports on small tori, a sixteenth of it on large ones.

    Examples
    --------
    >>> noise = np.full((4, 4), 1)
    >>> made = renamed(noise, np.array([[0, 0]]), np.full((1, 2, 3), 1 / 3), np.array([[2.0, 1.0]]))
    >>> made.names.max(), made.names.min(), made.loss
    (np.int64(1), np.int64(1), 16.0)
    """
    table = noise.astype(np.float64)
    if len(weights) and (weights == weights[0]).all():
        # All places lie alike in their cells, as those of a grid do: they draw the columns and rows for all of them.
        table, weights = _blurred(table, weights[0]), np.ones((len(weights), 2, 1))
    compared = noise.size * cost.size
    step = RENAMING.block_side
    uneven = any(side % step or side < 2 * step for side in noise.shape)
    if uneven or compared <= RENAMING.most_compared:
        return _everywhere(table, first, weights, cost)
    return _around(table, first, weights, cost, threads)


def _blurred(table: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability ``(m, n)`` of each step of a point to a node: noise, and the step to a control point.

    `table` is the noise, `weights` ``(2, taps)`` the steps along each axis, which wrap around. ``O(m n taps)``.
    """
    for axis, parts in enumerate(weights):
        table = sum(
            (part * np.roll(table, step, axis) for step, part in enumerate(parts)),
            np.zeros_like(table),
        )
    return table


def _everywhere(
    table: NDArray[np.float64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    cost: NDArray[np.float64],
) -> Renamed:
    """Compare all reports at all nodes, some rows of the torus at a time: names and loss. ``O(m n P K)``.

    `table` ``(m, n)`` is the noise, `first` ``(P, 2)`` and `weights` ``(P, 2, taps)`` the steps of places, `cost`
    ``(P, K)``.
    """
    m, n = table.shape
    places = np.arange(len(first))
    rows = max(1, RENAMING.most_held // (n * max(len(first), 1)))
    names, least = np.zeros((m, n), dtype=np.int64), np.zeros((m, n))
    for start in range(0, m, rows):
        across = np.arange(start, min(start + rows, m))
        likely = np.zeros((len(places), len(across), n))
        for place in places.tolist():
            column, row = first[place].tolist()
            band = np.zeros((len(across), n))
            for step, part in enumerate(weights[place, 0].tolist()):
                if part:
                    band += part * table[(across - column - step) % m]
            for step, part in enumerate(weights[place, 1].tolist()):
                if part:
                    likely[place] += part * np.roll(band, row + step, 1)
        costs = likely.reshape(len(places), -1).T @ cost
        best = costs.argmin(axis=1)
        names[across] = best.reshape(-1, n)
        least[across] = costs[np.arange(len(best)), best].reshape(-1, n)
    return Renamed(names, float(least.sum()))


def _around(
    table: NDArray[np.float64],
    first: NDArray[np.int64],
    weights: NDArray[np.float64],
    cost: NDArray[np.float64],
    threads: int,
) -> Renamed:
    """Compare all reports at every fourth node of every fourth row, then the best of these at the nodes between.

    `table` ``(m, n)`` is the noise, `first` ``(P, 2)`` and `weights` ``(P, 2, taps)`` the steps of places, `cost`
    ``(P, K)``. Returns names and loss, not always the least; m and n must be multiples of four. ``O(m n P K / 16)``.
    """
    from discreet.lrgeo.points.kernels.renaming import likely_at, name_blocks

    m, n = table.shape
    wide, tall = m // RENAMING.block_side, n // RENAMING.block_side
    shared = (table, first, weights)
    candidates = np.empty((wide, tall, RENAMING.candidates_per_node), dtype=np.int64)
    low = cost.astype(np.float32)
    for column in range(wide):
        likely = np.zeros((tall, len(first)), dtype=np.float32)
        likely_at(*shared, column * RENAMING.block_side, RENAMING.block_side, likely)
        costs = likely @ low
        few = min(RENAMING.candidates_per_node, costs.shape[1])
        candidates[column, :, :few] = np.argpartition(costs, few - 1, axis=1)[:, :few]
        candidates[column, :, few:] = candidates[column, :, :1]
    names, least = np.zeros((m, n), dtype=np.int64), np.zeros((m, n))
    cost_rows = np.ascontiguousarray(cost.T)
    with ThreadPoolExecutor(threads) as pool:
        parts = np.array_split(np.arange(wide), threads)
        tasks = [
            pool.submit(
                name_blocks,
                *shared,
                cost_rows,
                candidates,
                int(part[0]),
                int(part[-1]) + 1,
                names,
                least,
            )
            for part in parts
            if len(part)
        ]
        for task in tasks:
            task.result()
    return Renamed(names, float(least.sum()))
