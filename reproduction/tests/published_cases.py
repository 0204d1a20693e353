"""Places for the tests of the published algorithms: square grids with detours, as the specification measured them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients, Prepared, prepare
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
from discreet_reproduction.lrgeo.as_published.instance import Instance, trip_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray


def detours(
    side: int, *, seed: int = 0, targets: int = 20, one_way: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Distances, travel costs and targets of a grid whose streets are 1 to 1.6 times as long as they look."""
    rng = np.random.default_rng(seed)
    count = side * side
    xy = np.array([(c, r) for r in range(side) for c in range(side)], dtype=float)
    apart = np.sqrt(((xy[:, None] - xy[None]) ** 2).sum(axis=2))
    start, stop, length = [], [], []
    for a in range(count):
        for b in (a + 1, a + side):
            if b < count and (b == a + side or a % side != side - 1):
                start.append(a)
                stop.append(b)
                length.append(rng.uniform(1.0, 1.6))
    if one_way:
        back = [stretch * rng.uniform(1.0, 3.0) for stretch in length]
        roads = csr_array((length + back, (start + stop, stop + start)), shape=(count, count))
    else:
        roads = csr_array((length, (start, stop)), shape=(count, count))
    way = dijkstra(roads, directed=one_way)
    return apart, way, rng.permutation(count)[:targets]


def grid(side: int, *, seed: int = 0) -> Instance:
    """The grid of :func:`detours` as an instance."""
    apart, way, targets = detours(side, seed=seed)
    return Instance(apart, trip_cost(way[:, targets]), unit="km")


def line(count: int) -> NDArray[np.float64]:
    """Distances of places in a row, one apart."""
    at = np.arange(float(count))
    apart: NDArray[np.float64] = np.abs(at[:, None] - at[None, :])
    return apart


def batch(
    instance: Instance, users: list[int], *, gamma: float = 1.0, reach: float = 3.0, **how: object
) -> list[Prepared]:
    """Users with the coefficients that the specification's figures are for."""
    graph = GeoIndGraph(instance.distances, gamma)
    settings: dict[str, object] = {"r_obf": 4.0, "centered": "location", "every_column": True}
    return [
        prepare(instance, graph, user, reach=reach, **{**settings, **how})  # type: ignore[arg-type]
        for user in users
    ]


def sent(prepared: list[Prepared]) -> list[Coefficients]:
    """What they upload."""
    return [one.coefficients for one in prepared]
