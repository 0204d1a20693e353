"""The data sets of [Qiu24]_, Section 4.1: roads, grids, words and vectors of numbers, with losses and outputs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.datasets.city import made_city
from discreet.metricdp.part import WholeProblem
from discreet.metricdp.problem import Problem
from discreet_reproduction.metricdp.records import gaussian_records, sample, word_records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.core.spaces.adjacency import Adjacency

EPSILON, RADIUS = 10, 2
"""The paper's defaults, per kilometer or per unit of distance."""

_POOL = 4
"""Records of which the secrets are a sample, for each secret: the paper has 2,000 for its 500."""

_DESTINATIONS = 100
_NEIGHBORS = 5
"""Neighbors of a word on average: one in a hundred pairs of 500."""

_BOX = (41.66, 42.10, 12.24, 12.81)
"""Rome as the paper bounds it: latitudes, longitudes."""

NOTES = {
    "prior": "The prior is uniform, which the paper does not say; losses are means over secrets.",
    "destinations": "Equation (67) with 100 random destinations, all equally likely; on grids along streets.",
    "grid": "The paper states 20 x 25 cells of 1 km; its released code has a strip of 10 x 50 of 1.5 km (E5).",
    "road": "Road: without --data, a sample of a made city of the density that agrees with Table 1 (E5).",
    "text": "Text: made vectors in 60 topics, scaled to five neighbors each; the paper's words are not named.",
    "synthetic": "Synthetic: N(0, 16 I); the paper gives no covariance, and N(0, I) leaves no block inside (E5).",
}
"""What holds wherever these instances are used."""


@final
@dataclass(frozen=True, eq=False)
class MetricInstance:
    """A problem of the paper's kind.

    Parameters
    ----------
    label
        The data set, as it stands in tables.
    problem
        Secrets, outputs, losses; the prior is uniform.
    points
        ``(n, 2)`` for pictures: the plane, or the two directions in which the records vary most.
    """

    label: str
    problem: Problem
    points: NDArray[np.float64]

    @property
    def space(self) -> MetricSpace:
        """The secrets."""
        return self.problem.space

    @property
    def constraints(self) -> Adjacency:
        """Pairs within the radius, as the paper states them: nothing is joined."""
        return self.space.adjacency(RADIUS)

    def guarantee(self, epsilon: int | str = EPSILON) -> MetricDP:
        """State what is promised: epsilon within the paper's radius."""
        return MetricDP(epsilon, self.space.unit, RADIUS)

    def whole(self, epsilon: int | str = EPSILON) -> WholeProblem:
        """Take the problem apart into its components."""
        return WholeProblem(self.problem, self.constraints, self.guarantee(epsilon).epsilon)


def make_instance(
    name: str, n: int, k: int, *, seed: int = 0, data: Path | None = None
) -> MetricInstance:
    """Make an instance of a data set.

    Parameters
    ----------
    name
        A key of :data:`DATASETS`.
    n, k
        Numbers of secrets and of random outputs; k is at most n. Grids have the nearest number of cells below n.
    seed
        What makes it.
    data
        A folder with ``nodes.csv`` (``osmid,y,x``) and ``edges.csv`` (``u,v,length`` in meters) of the roads of Rome.

    Raises
    ------
    InvalidProblemError
        For another name, or files that are not of this form.

    Examples
    --------
    >>> small = make_instance("grid", 20, 5)
    >>> small.problem, small.guarantee().epsilon
    (Problem(20 secrets, 5 reports, km), Fraction(10, 1))
    """
    if name not in DATASETS:
        raise InvalidProblemError("name", f"one of {', '.join(DATASETS)}", repr(name))
    return DATASETS[name](n, k, seed, data)


def _roads(n: int, k: int, seed: int, data: Path | None) -> MetricInstance:
    """Sample junctions; ways go along the roads, distances do not."""
    if data is None:
        city = made_city(_POOL * n, seed=seed)
        plane, roads, lengths = city.points, city.edges, city.lengths
        chosen = sample(len(plane), n, seed=seed)
        space = MetricSpace.from_points(plane[chosen], unit="km")
        label = "road (made city)"
    else:
        degrees, roads, lengths = _read_roads(data)
        pool = sample(len(degrees), min(_POOL * 500, len(degrees)), seed=0)
        chosen = pool[sample(len(pool), n, seed=seed)]
        space = MetricSpace.from_points(degrees[chosen], metric="haversine", unit="km")
        plane = degrees[:, ::-1] * [np.cos(np.radians(degrees[:, 0].mean())), 1.0]
        label = "road (Rome)"
    to = sample(len(plane), min(_DESTINATIONS, len(plane)), seed=seed + 1)
    ways = _ways(len(plane), roads, lengths, to)[:, chosen]
    return _finish(label, space, plane[chosen], k=k, seed=seed, ways=ways)


def _read_roads(
    folder: Path,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Read the largest connected network inside the paper's box: degrees, roads, kilometers."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    try:
        with (folder / "nodes.csv").open(encoding="utf-8", newline="") as file:
            rows = [
                (row["osmid"], float(row["y"]), float(row["x"])) for row in csv.DictReader(file)
            ]
        with (folder / "edges.csv").open(encoding="utf-8", newline="") as file:
            ends = [(row["u"], row["v"], float(row["length"])) for row in csv.DictReader(file)]
    except (OSError, KeyError, ValueError) as error:
        expected = "a folder with nodes.csv (osmid,y,x) and edges.csv (u,v,length)"
        raise InvalidProblemError("--data", expected, f"{folder}: {error}") from None
    south, north, west, east = _BOX
    inside = [row for row in rows if south <= row[1] <= north and west <= row[2] <= east]
    place = {name: at for at, (name, _, _) in enumerate(inside)}
    kept = [(place[u], place[v], m / 1000) for u, v, m in ends if u in place and v in place]
    if not kept:
        raise InvalidProblemError("--data", "roads inside the paper's box", f"none in {folder}")
    roads = np.array([[u, v] for u, v, _ in kept], dtype=np.int64)
    lengths = np.array([length for _, _, length in kept])
    n = len(inside)
    parts = connected_components(coo_array((lengths, roads.T), shape=(n, n)), directed=False)[1]
    main = parts == np.bincount(parts).argmax()
    number = np.cumsum(main) - 1
    joined = main[roads[:, 0]]
    degrees = np.array([[y, x] for _, y, x in inside])[main]
    return degrees, number[roads[joined]], lengths[joined]


def _ways(
    n: int, roads: NDArray[np.int64], lengths: NDArray[np.float64], to: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Kilometers along roads from every place to some; every road is open both ways."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    order = np.lexsort((lengths, roads.max(axis=1), roads.min(axis=1)))
    low, high = roads[order].min(axis=1), roads[order].max(axis=1)
    # Of two roads between the same places the shorter counts; a sparse matrix would add them up.
    first = np.unique(low * n + high, return_index=True)[1]
    graph = csr_array((lengths[order][first], (low[first], high[first])), shape=(n, n))
    ways: NDArray[np.float64] = dijkstra(graph, directed=False, indices=to)
    return ways


def _grid(n: int, k: int, seed: int, _data: Path | None) -> MetricInstance:
    rows = max(1, round((n / 1.25) ** 0.5))
    return _cells(rows, n // rows, "1", k, seed)


def _strip(n: int, k: int, seed: int, _data: Path | None) -> MetricInstance:
    rows = max(1, round((n / 5) ** 0.5))
    return _cells(rows, n // rows, "1.5", k, seed)


def _cells(rows: int, columns: int, cell: str, k: int, seed: int) -> MetricInstance:
    label = f"grid {rows}x{columns}, {cell} km"
    space = MetricSpace.grid(rows, columns, cell=cell, unit="km")
    points = np.asarray(space.points, dtype=np.float64)
    to = sample(space.n, min(_DESTINATIONS, space.n), seed=seed + 1)
    ways = np.abs(points[to][:, None, :] - points[None]).sum(axis=2)
    return _finish(label, space, points, k=k, seed=seed, ways=ways)


def _words(n: int, k: int, seed: int, _data: Path | None) -> MetricInstance:
    from scipy.spatial.distance import pdist

    vectors = word_records(_POOL * n, seed=0)[sample(_POOL * n, n, seed=seed)]
    wanted = min(1.0, _NEIGHBORS / max(1, n - 1))
    vectors = vectors * (RADIUS / float(np.quantile(pdist(vectors), wanted)))
    space = MetricSpace.from_points(vectors, unit="embedding-unit")
    return _finish("text (made)", space, _flat(vectors), k=k, seed=seed)


def _vectors(n: int, k: int, seed: int, _data: Path | None) -> MetricInstance:
    # Fewer vectors of the same density lie in a smaller cloud.
    sigma = 4.0 * (n / 500) ** (1 / 3)
    vectors = gaussian_records(_POOL * n, sigma=sigma, seed=0)[sample(_POOL * n, n, seed=seed)]
    space = MetricSpace.from_points(vectors, unit="unit")
    return _finish("synthetic N(0, 16 I)", space, _flat(vectors), k=k, seed=seed)


def _flat(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project on the two directions of most variance."""
    centered = vectors - vectors.mean(axis=0)
    plane: NDArray[np.float64] = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    return plane


def _finish(
    label: str,
    space: MetricSpace,
    points: NDArray[np.float64],
    *,
    k: int,
    seed: int,
    ways: NDArray[np.float64] | None = None,
) -> MetricInstance:
    """Draw the outputs; the loss is Equation (67) where there are ways, else the distance."""
    outputs = sample(space.n, min(k, space.n), seed=seed + 2)
    loss: NDArray[np.float64] | str = "distance"
    if ways is not None:
        loss = np.abs(ways[:, :, None] - ways[:, None, outputs]).mean(axis=0)
    return MetricInstance(label, Problem(space, utility_loss=loss, reports=outputs), points)


DATASETS: Mapping[str, Callable[[int, int, int, Path | None], MetricInstance]] = {
    "road": _roads,
    "grid": _grid,
    "strip": _strip,
    "text": _words,
    "synthetic": _vectors,
}
"""The data sets; the paper's grid is there as it is stated and as it is in the released code."""
