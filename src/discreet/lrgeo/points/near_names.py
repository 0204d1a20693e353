r"""Names for the nodes of a torus, and what they lose, for more places than have a table of costs.

The loss is the distance. A node is named by the place that is nearest to the geometric median of the places near it,
each weighed by how likely a person there leads to the node: no table of places and reports is needed. What the names
lose is added up for each place over the nodes within reach, exactly as it is drawn; the noise beyond counts with the
largest distance between two places, so that the sum is an upper bound.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.spaces.geography import EARTH_RADIUS_KM, ground_factor
from discreet.core.spaces.points import PointLengths
from discreet.lrgeo.points.noise_table import WEIGHT_SUM_BITS
from discreet.lrgeo.points.renaming import Renamed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.lrgeo.points.net import ControlNet
    from discreet.metricdp.costs import ImplicitCosts


class Surroundings(NamedTuple):
    """How far around a node or a place is looked, and how often a median is improved.

    Parameters
    ----------
    median_nats
        Side of the buckets of places whose median is taken, those around a node and its own: names need no proof.
    nats_between_medians
        Nats from one median to the next, between which they are interpolated.
    loss_nats
        Nats on each side of a place within which losses are added up one by one; noise beyond counts with the largest.
    steps
        Steps of Weiszfeld's iteration from the mean.
    places_per_task
        Places of a task of the pool.
    """

    median_nats: float = 7.0
    nats_between_medians: float = 0.25
    loss_nats: float = 16.0
    steps: int = 8
    places_per_task: int = 512


_SURROUNDINGS = Surroundings()


def coordinates_of(costs: ImplicitCosts) -> tuple[NDArray[np.float64], float]:
    """Return coordinates ``(K, d)`` of the places, and the radius of the sphere of their chords, or 0 in a plane.

    Arcs of that sphere are the named loss: great circles, or as many of them as stored distances have.

    `costs` has the places and the name of the loss. ``O(K)``; coordinates are in the loss's unit, on a sphere of
    radius 1.
    """
    space = costs.space
    points = np.asarray(space.points, dtype=np.float64)
    if space.metric != "haversine":
        return points, 0.0
    radius = EARTH_RADIUS_KM
    if costs.utility_loss == "distance":
        radius *= (1000 if space.unit == "m" else 1) * ground_factor(points[:, 0])
    return PointLengths(points, "haversine", 0).embedding()[0], radius


def name_by_medians(
    noise: NDArray[np.int64],
    net: ControlNet,
    places: NDArray[np.float64],
    costs: ImplicitCosts,
    fall: float,
    *,
    threads: int = 1,
) -> Renamed:
    """Assign a place to each node of a torus.

    Parameters
    ----------
    noise
        ``(m, n)``.
    net
        The control points.
    places
        ``(K, 2)`` decimeters, not rounded.
    costs
        How likely people are at each place, and where it is; the loss is the distance.
    fall
        Nats by which the noise falls over a cell.
    threads
        Threads of the loops.

    Returns
    -------
    Renamed
        Names, and an upper bound on what they lose, but for a relative error below 2^-38.

    Complexity
    ----------
    Nodes times the places near them, and places times the nodes within 16 nats.
    """
    from discreet.lrgeo.points.kernels.near_names import add_losses

    named = _nearest_to_medians(noise.shape, net, places, costs.prior, fall, threads=threads)
    first, weights = _taps(net, places)
    coordinates, radius = coordinates_of(costs)
    reach = math.ceil(_SURROUNDINGS.loss_nats / fall)
    window = [min(2 * reach + 3, size) for size in noise.shape]
    near, wrapped = noise, named
    for axis, (size, wide) in enumerate(zip(noise.shape, window, strict=True)):
        near = near.take(np.arange(-2 - reach, wide - reach) % size, axis)
        wrapped = wrapped.take(np.arange(-reach, size + wide - reach) % size, axis)
    # Sums of whole numbers, so that only the last one rounds.
    below = np.pad(near.cumsum(axis=1), ((0, 0), (1, 0))).astype(np.float64)
    last = np.ones(wrapped.shape, dtype=np.bool_)
    np.not_equal(wrapped[:, 1:], wrapped[:, :-1], out=last[:, :-1])
    row, end = np.nonzero(last)
    rows = np.searchsorted(row, np.arange(len(wrapped) + 1))
    sums = np.zeros((len(places), 2))
    at_runs = np.ascontiguousarray(coordinates[wrapped[last]].T)
    shared = (below, first, weights, coordinates, rows, end + 1, at_runs)
    with ThreadPoolExecutor(threads) as pool:
        starts = range(0, len(places), _SURROUNDINGS.places_per_task)
        tasks = [
            pool.submit(add_losses, *shared, at, min(at + starts.step, len(places)), sums)
            for at in starts
        ]
        for task in tasks:
            task.result()
    # No two places are farther apart than twice the distance of one of them from the others.
    chord = 2 * float(np.linalg.norm(coordinates - coordinates[0], axis=1).max())
    farthest = 2 * radius * math.asin(min(1.0, chord / 2)) if radius else chord
    # What a run weighs is a difference, whose error is a share of its whole row, for each of its runs.
    runs = int(np.diff(rows).max())
    outside = 2.0**WEIGHT_SUM_BITS * (1 + 2.0**-40 + runs * 2.0**-48) - sums[:, 0]
    # An arc is the longer beside its chord, the longer it is.
    return Renamed(named, float(costs.prior @ (sums[:, 1] / chord + outside)) * farthest)


def _taps(
    net: ControlNet, places: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the first column and row of control points of each of `places` ``(K, 2)``, and their weights.

    ``(K, 2)`` and ``(K, 2, 3)``, as :meth:`~discreet.lrgeo.points.net.ControlNet.coefficients` for exact places.
    """
    along = np.clip((places - np.array(net.low)) / net.side, 0.0, net.cells)
    first = np.minimum(np.floor(along).astype(np.int64), np.array(net.cells) - 1)
    part = along - first
    weights = np.stack([(1 - part) ** 2 / 2, 0.5 + part - part**2, part**2 / 2], axis=-1)
    return first, weights


def _nearest_to_medians(
    shape: tuple[int, ...],
    net: ControlNet,
    places: NDArray[np.float64],
    prior: NDArray[np.float64],
    fall: float,
    *,
    threads: int,
) -> NDArray[np.int64]:
    """Return the place nearest to the median of the places around each node of the torus, int64 of `shape`.

    `places` is ``(K, 2)`` decimeters, `net` their net, `prior` ``(K,)``, of which places of 0 are not weighed, `fall`
    nats a cell. A search a node, and steps over near places for some nodes, between which medians are interpolated,
    on `threads` threads.
    """
    from scipy.interpolate import RegularGridInterpolator
    from scipy.spatial import KDTree

    from discreet.lrgeo.points.kernels.near_names import find_medians

    side = _SURROUNDINGS.median_nats / fall
    # A place whose node is on the edge may lie half a decimeter before it.
    at = np.maximum((places - np.array(net.low)) / net.side, 0.0)
    peopled = np.flatnonzero(prior > 0)
    buckets = np.floor(at[peopled] / side).astype(np.int64)
    tall = int(buckets[:, 1].max()) + 1
    number = buckets @ np.array([tall, 1])
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(
        number[order], np.arange((int(buckets[:, 0].max()) + 1) * tall + 1)
    ).astype(np.int64)
    near = peopled[order]
    # A control point lies half a cell before its index, and the far half of the margin before the first.
    axes = [
        np.where(np.arange(size) < (count + size) / 2 + 1, np.arange(size), np.arange(size) - size)
        - 0.5
        for size, count in zip(shape, net.cells, strict=True)
    ]
    step = max(1, math.floor(_SURROUNDINGS.nats_between_medians / fall))
    knots = [np.linspace(a.min(), a.max(), max(2, -(-len(a) // step))) for a in axes]
    medians = np.stack(np.meshgrid(*knots, indexing="ij"), axis=-1).reshape(-1, 2)
    shared = (at[near], prior[near], starts, tall, side, fall, _SURROUNDINGS.steps)
    with ThreadPoolExecutor(threads) as pool:
        parts = np.array_split(medians, 64)
        for task in [pool.submit(find_medians, part, *shared) for part in parts]:
            task.result()
    between = RegularGridInterpolator(knots, medians.reshape(len(knots[0]), len(knots[1]), 2))
    nodes = between(tuple(np.meshgrid(*axes, indexing="ij")))
    nearest = KDTree(at).query(nodes, workers=threads)[1]
    return np.asarray(nearest, dtype=np.int64)
