"""Places for the experiments: made grids with detours, and roads where they are given."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.randomness import SeededBits
from discreet.core.spaces.metric import MetricSpace
from discreet.lrgeo.places.region import Region
from discreet_reproduction.lrgeo.as_published.coefficients import prepare
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
from discreet_reproduction.lrgeo.as_published.instance import Instance, trip_cost
from discreet_reproduction.lrgeo.as_published.lr_geo import LRGeo
from discreet_reproduction.lrgeo.as_published.released import AsReleased

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet_reproduction.lrgeo.as_published.coefficients import Centered, Prepared

GRID_NOTE = (
    "Made squares whose streets are 1 to 1.6 times as long as they look and 20 targets, in place of the paper's roads "
    "of Rome; with --data, roads of central Rome."
)
ROME_NOTE = (
    "The paper's parameters: cells of its 40 x 40 grid over latitude 41.66 to 42.10 and longitude 12.24 to 12.81, each "
    "1.22 by 1.18 km, here a block of that many cells; epsilon 10 per km, Gamma 20 km, r_obf 4 km. Where the paper is "
    "silent, the released code's: 20 uniform targets, 4 users, r_exp 4 km. Distances are straight and streets between "
    "neighboring cells 1 to 1.6 times as long: the paper's roads are not to be had, since the authors' repository has "
    "those of the central 4 by 4 km only, 2 percent of the grid's costs."
)

EPSILON_PER_KM = 10
"""Section 5.1.3."""
_GAMMA_KM, _EXPONENTIAL_KM, _RANGE_KM = 20.0, 4.0, 4.0
"""Gamma of Section 5.1.3, r_exp of the released code, r_obf of Section 4.3."""
_CELL_KM = (1.2232, 1.1799)
"""Height and width of a cell: 0.44 and 0.57 degrees at latitude 41.88, by 40, at 111.2 km a degree."""


@final
@dataclass(frozen=True, eq=False)
class Places:
    """Places, with what the experiments need of them.

    Parameters
    ----------
    label
        How tables name them.
    space
        As a metric space, in kilometers.
    instance
        As the published algorithms take them.
    travel
        ``(K, K)`` travel costs.
    targets
        Numbers of the places that trips go to.
    spacing
        Distance of neighbors.
    ranges
        Gamma, r_exp and r_obf, km; 3, 2 and 4 spacings by default.
    """

    label: str
    space: MetricSpace
    instance: Instance
    travel: NDArray[np.float64]
    targets: NDArray[np.int64]
    spacing: float
    ranges: tuple[float, float, float] | None = None

    @property
    def radius(self) -> float:
        """Within which places are neighbors, km: a little more than the spacing."""
        return round(self.spacing * 1.001, 6)

    def claim(self, product: float) -> MetricDP:
        """State an epsilon that is ``product`` over the spacing, between neighbors."""
        return MetricDP(str(round(product / self.spacing, 6)), "km", radius=str(self.radius))

    @property
    def published(self) -> LRGeo:
        """The method with these ranges, location-centered."""
        cell = self.spacing
        reach, r_exp, r_obf = self.ranges or (3 * cell, 2 * cell, 4 * cell)
        return LRGeo(reach, r_exp, r_obf, centered="location")

    @property
    def released(self) -> AsReleased:
        """The method as the paper's code has it."""
        cell = self.spacing
        if self.ranges is not None:
            return AsReleased(self.ranges[0], 4.0, 4.5)
        return AsReleased(20.0 * cell, 3.3 * cell, 3.8 * cell)


def grid(side: int, *, seed: int, cell: float = 1.0, one_way: bool = False) -> Places:
    """Make a square of places with detours.

    Parameters
    ----------
    side
        Places on a side.
    seed
        Of the lengths of streets and of the targets.
    cell
        Spacing, km.
    one_way
        Whether the way back has a length of its own.
    """
    bits = SeededBits(seed)
    travel = _travel(side, side, (cell, cell), bits, one_way=one_way)
    targets = _some(side * side, 20, bits)
    space = MetricSpace.grid(side, side, cell=str(cell), unit="km")
    return Places(f"{side} x {side}", space, *_priced(space, travel, targets), cell)


def rome(rows: int, columns: int, *, seed: int) -> Places:
    """Block of cells of the paper's grid over Rome, with streets of random lengths and the paper's ranges.

    Parameters
    ----------
    rows, columns
        Cells from south to north and from west to east, at most 40.
    seed
        Of the lengths of streets and of the targets.
    """
    bits = SeededBits(seed)
    down, across = _CELL_KM
    travel = _travel(rows, columns, _CELL_KM, bits)
    targets = _some(rows * columns, 20, bits)
    at = [[column * across, row * down] for row in range(rows) for column in range(columns)]
    space = MetricSpace.from_points(at, unit="km", plane=True)
    priced = _priced(space, travel, targets)
    ranges = (_GAMMA_KM, _EXPONENTIAL_KM, _RANGE_KM)
    return Places(f"Rome's grid, {rows} x {columns}", space, *priced, down, ranges)


def _priced(
    space: MetricSpace, travel: NDArray[np.float64], targets: NDArray[np.int64]
) -> tuple[Instance, NDArray[np.float64], NDArray[np.int64]]:
    apart = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
    return Instance(apart, trip_cost(travel[:, targets]), unit="km"), travel, targets


def _travel(
    rows: int,
    columns: int,
    cell: tuple[float, float],
    bits: SeededBits,
    *,
    one_way: bool = False,
) -> NDArray[np.float64]:
    """Return the lengths of shortest ways along streets 1 to 1.6 times as long as the cells."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    number = np.arange(rows * columns).reshape(rows, columns)
    start = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    stop = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    straight = np.repeat([cell[1], cell[0]], [rows * (columns - 1), (rows - 1) * columns])
    lengths = straight * _between(1.0, 1.6, len(start), bits)
    back = lengths * (_between(1.0, 3.0, len(start), bits) if one_way else 1.0)
    ends = (np.concatenate([start, stop]), np.concatenate([stop, start]))
    roads = csr_array((np.concatenate([lengths, back]), ends), shape=(number.size, number.size))
    ways: NDArray[np.float64] = dijkstra(roads)
    return ways


def places(side: int, *, seed: int, data: Path | None) -> Places:
    """Give a made grid, or with data a part of its roads with about as many places.

    Parameters
    ----------
    side
        Root of the number of places.
    seed
        Of what is made.
    data
        A folder with ``nodes_rome.csv`` and ``roma_edges.csv`` as OSMnx writes them.

    Raises
    ------
    InvalidProblemError
        For a folder without them.
    """
    if data is None:
        return grid(side, seed=seed)
    tables = road_tables(data)
    # The center of Rome is 4 km wide: the spacing that gives about so many places.
    spacing = round(4.0 / side, 2)
    region = Region.from_roads(*tables, spacing=str(spacing), unit="km")
    targets = _some(region.K, 20, SeededBits(seed))
    instance = Instance.from_region(region, targets=targets)
    label = f"Rome, {region.K} places"
    return Places(label, region.space, instance, region.travel, targets, spacing)


def road_tables(data: Path) -> list[dict[str, list[str]]]:
    """Read the junctions and roads of a folder as columns.

    Raises
    ------
    InvalidProblemError
        For a folder without ``nodes_rome.csv`` and ``roma_edges.csv``.
    """
    tables: list[dict[str, list[str]]] = []
    for name in ("nodes_rome.csv", "roma_edges.csv"):
        try:
            with (data / name).open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
        except OSError:
            expected = "a folder with nodes_rome.csv and roma_edges.csv"
            raise InvalidProblemError("--data", expected, f"none: {name}") from None
        tables.append({key: [row[key] for row in rows] for key in rows[0]})
    return tables


def users_of(size: int, count: int, *, seed: int) -> list[int]:
    """Draw places of users, all different."""
    return [int(user) for user in _some(size, count, SeededBits(seed + 1))]


def _between(low: float, high: float, count: int, bits: SeededBits) -> NDArray[np.float64]:
    steps = np.array([bits.randrange(1 << 20) for _ in range(count)])
    return low + (high - low) * steps / (1 << 20)


def _some(size: int, count: int, bits: SeededBits) -> NDArray[np.int64]:
    """Draw different numbers."""
    order = np.array([bits.randrange(1 << 40) for _ in range(size)])
    return np.argsort(order, kind="stable")[:count]


def batch(
    instance: Instance,
    users: list[int],
    *,
    gamma: float,
    reach: float,
    r_obf: float,
    centered: Centered,
) -> list[Prepared]:
    """Prepare users with all columns priced."""
    graph = GeoIndGraph(instance.distances, gamma)
    return [
        prepare(instance, graph, at, reach=reach, r_obf=r_obf, centered=centered, every_column=True)
        for at in users
    ]
