"""A synthetic city: a planar road network with a dense core, a river with few bridges, and a lumpy demand.

No map of a real place ships with this library. This one has what makes real ones hard: junctions that lie close
together downtown and far apart outside, neighbors across the water that are a long drive away, and an uneven prior.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

_RADIUS_PER_ROOT = 0.36
"""Radius of the city in km for each root of the number of junctions: about 2.5 junctions in a square kilometer."""

_MIN_JUNCTIONS = 30
"""Junctions of the smallest city: enough for a core, a river and bridges."""


def freeze_arrays(record: Any) -> None:  # noqa: ANN401 - a frozen dataclass of any fields
    """Replace the arrays of a frozen dataclass by copies that nobody can write to, as ``__post_init__`` does.

    Parameters
    ----------
    record
        The instance, which is changed in place; fields of other types are left alone.
    """
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            frozen = value.copy()
            frozen.setflags(write=False)
            object.__setattr__(record, field.name, frozen)


@final
@dataclass(frozen=True, eq=False)
class City:
    """A connected, planar road network in the plane, as arrays.

    Parameters
    ----------
    points
        Junctions ``(n, 2)``: kilometers east and north of the center.
    edges
        Roads ``(m, 2)``: junctions, the lesser first, in lexicographic order. Drawn straight, no two cross.
    lengths
        ``(m,)`` kilometers driven, 1.0 to 1.4 times the straight line.
    one_way
        ``(m,)`` whether a road may be driven only from its first junction to its second. Every junction can still be
        reached from every other.
    bridges
        Rows of `edges` that cross the river.
    river
        The river's course ``(p, 2)``, west to east.
    prior
        ``(n,)`` share of the demand at each junction; sums to one.

    Examples
    --------
    >>> city = made_city(60, seed=1)
    >>> city.n, city.edges.shape[1]
    (60, 2)
    """

    points: NDArray[np.float64]
    edges: NDArray[np.int64]
    lengths: NDArray[np.float64]
    one_way: NDArray[np.bool_]
    bridges: NDArray[np.int64]
    river: NDArray[np.float64]
    prior: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n(self) -> int:
        """Number of junctions."""
        return len(self.points)

    def travel(self, *, directed: bool = False) -> NDArray[np.float64]:
        """Return the driving distances between all pairs of junctions, in kilometers.

        n searches by Dijkstra, ``O(n m log n)`` for n junctions and m roads.

        Parameters
        ----------
        directed
            Keep to the one-way roads; by default every road is open both ways.

        Returns
        -------
        ndarray
            ``(n, n)`` from row to column, all finite, 0 on the diagonal; symmetric unless `directed`.

        Examples
        --------
        >>> city = made_city(40, seed=1)
        >>> way = city.travel(directed=True)
        >>> bool((way >= city.travel() - 1e-12).all()), bool(np.isfinite(way).all())
        (True, True)
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        forth, back = (self.edges.T, self.edges.T[::-1])
        open_back = ~self.one_way if directed else np.ones(len(self.edges), dtype=bool)
        start = np.concatenate([forth[0], back[0][open_back]])
        stop = np.concatenate([forth[1], back[1][open_back]])
        length = np.concatenate([self.lengths, self.lengths[open_back]])
        graph = coo_array((length, (start, stop)), shape=(self.n, self.n)).tocsr()
        distance: NDArray[np.float64] = dijkstra(graph, directed=True)
        return distance

    def tables(self) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        """Return junctions and roads as columns of a road network.

        Returns
        -------
        nodes, edges : dict
            Lists of equal lengths: ``osmid`` (0 to n - 1), ``x`` and ``y`` in kilometers; ``u`` and ``v`` (values of
            ``osmid``), ``length`` in kilometers, and ``oneway`` (0 or 1).

        Examples
        --------
        >>> nodes, edges = made_city(40, seed=1).tables()
        >>> sorted(nodes), sorted(edges)
        (['osmid', 'x', 'y'], ['length', 'oneway', 'u', 'v'])
        """
        x, y = self.points.T.tolist()
        u, v = self.edges.T.tolist()
        nodes = {"osmid": list(range(self.n)), "x": x, "y": y}
        lengths, one_way = self.lengths.tolist(), self.one_way.astype(int).tolist()
        return nodes, {"u": u, "v": v, "length": lengths, "oneway": one_way}


def made_city(n: int = 150, *, seed: int = 7) -> City:
    """Generate a city.

    Junctions are thrown at random, two in five around the center (normal), the others over the whole disc (uniform),
    and kept when they are not too close to others or to the river. Of their Delaunay triangulation the Gabriel edges
    [GS69]_ are kept, which is a planar graph; edges that cross the river are dropped but for a few bridges; then some
    edges at random, never one of the minimum spanning tree.

    Parameters
    ----------
    n
        Number of junctions, 30 or more. The area grows with it: about 2.5 junctions in a square kilometer.
    seed
        Any non-negative integer; equal seeds make equal cities.

    Returns
    -------
    City
        Read-only arrays.

    Raises
    ------
    InvalidProblemError
        For fewer than 30 junctions or a negative seed.

    Complexity
    ----------
    O(n^2) time and memory: each of O(n) candidate roads is compared with all junctions. Throwing compares each of the
    refused points, too, with all that were kept.

    Examples
    --------
    >>> city = made_city(80, seed=3)
    >>> city.points.shape, round(float(city.prior.sum()), 12), city.river.shape[1]
    ((80, 2), 1.0, 2)
    """
    if n < _MIN_JUNCTIONS:
        raise InvalidProblemError("n", f"{_MIN_JUNCTIONS} junctions or more", n)
    if seed < 0:
        raise InvalidProblemError("seed", "a non-negative integer", seed)
    generator = np.random.default_rng(seed)
    radius = _RADIUS_PER_ROOT * float(np.sqrt(n))
    river = _river(generator, radius)
    points = _throw(generator, n, radius, river)
    edges, wet = _roads(generator, points, river, radius)
    straight = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    lengths = straight * (1 + 0.4 * generator.random(len(edges)) ** 2)
    return City(
        points=points,
        edges=edges,
        lengths=lengths,
        one_way=_one_way(generator, points, edges, lengths, wet),
        bridges=np.flatnonzero(wet),
        river=river,
        prior=_prior(generator, points, radius),
    )


def _river(generator: Generator, radius: float) -> NDArray[np.float64]:
    """Return the river's course ``(49, 2)`` in kilometers, west to east, just south of the center; `radius` in km."""
    x = np.linspace(-1.35, 1.35, 49)
    phase = generator.uniform(0, 2 * np.pi)
    bend = 0.13 * np.sin(2.1 * x + phase) + 0.05 * np.sin(5.3 * x + 2 * phase)
    middle = 0.13 * np.sin(phase) + 0.05 * np.sin(2 * phase)
    return radius * np.stack([x, bend - middle - 0.2 + 0.1 * x], axis=1)


def _throw(
    generator: Generator, n: int, radius: float, river: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Draw n junctions ``(n, 2)`` in a disc of `radius` km, each only where it is not too close to others and water.

    The spacing shrinks with each refusal, so that it ends. ``O(n)`` for each point that is tried.
    """
    joined: list[NDArray[np.float64]] = []
    crowded = 0
    while len(joined) < n:
        if generator.random() < 0.4:
            place = generator.normal(0, 0.28 * radius, 2)
        else:
            place = radius * np.sqrt(generator.random()) * _direction(generator)
        from_center = float(np.hypot(*place)) / radius
        # A crowd of refusals shrinks the spacing, so that every n is reached.
        spacing = (0.25 + 0.42 * from_center**1.2) * 0.99 ** (crowded / 20)
        dry = np.hypot(*(river - place).T).min() > 0.05 * radius
        apart = not joined or np.hypot(*(np.array(joined) - place).T).min() > spacing
        if from_center <= 1 and dry and apart:
            joined.append(place)
        else:
            crowded += 1
    return np.array(joined)


def _direction(generator: Generator) -> NDArray[np.float64]:
    """Return a unit vector ``(2,)`` of random direction."""
    angle = generator.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)])


def _roads(
    generator: Generator, points: NDArray[np.float64], river: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the roads ``(m, 2)``, lesser junction first, sorted, and a mask ``(m,)`` of those over `river` ``(p, 2)``.

    `radius` in km. ``O(n m + m p)``; the graph is connected and planar.
    """
    edges = _gabriel(points)
    middle = points[edges].mean(axis=1)
    length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    ends = points[edges[:, 0]], points[edges[:, 1]]
    wet = np.asarray(_cross(*ends, river[:-1], river[1:]).any(axis=1))
    # Bridges where the city wants them: more of them toward the center.
    bridge = np.zeros(len(edges), dtype=bool)
    for share in (-0.62, -0.2, 0.16, 0.6):
        away = np.where(wet, np.abs(middle[:, 0] - share * radius) + length, np.inf)
        bridge[np.argmin(away)] |= bool(wet.any())
    # Water costs the tree so much that it crosses only by a bridge, or where a bank would be cut off.
    needed = _in_tree(edges, length + np.where(wet & ~bridge, 1e3 * radius, 0.0))
    bridges = needed | bridge | (~wet & (generator.random(len(edges)) > 0.28))
    return np.asarray(edges[bridges]), np.asarray(wet[bridges])


def _gabriel(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the Delaunay edges ``(m, 2)`` whose circle, with the edge as its diameter, is empty [GS69]_.

    `points` is ``(n, 2)``. ``O(n m)``.
    """
    from scipy.spatial import Delaunay

    triangles = Delaunay(points).simplices
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [0, 2]]])
    edges = np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)
    a, b = points[edges[:, 0], None, :], points[edges[:, 1], None, :]
    # A point sees the diameter under more than a right angle exactly when it lies inside the circle.
    inside = ((a - points) * (b - points)).sum(axis=2) < -1e-12
    gabriel: NDArray[np.int64] = edges[~inside.any(axis=1)]
    return gabriel


def _in_tree(edges: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask ``(m,)`` of the edges ``(m, 2)`` of the minimum spanning tree by positive `weights` ``(m,)``.

    Edges have the lesser node first, none comes twice. ``O(m log m)``.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    n = int(edges.max()) + 1
    tree = minimum_spanning_tree(coo_array((weights, tuple(edges.T)), shape=(n, n))).tocoo()
    return np.isin(edges[:, 0] * n + edges[:, 1], tree.row.astype(np.int64) * n + tree.col)


def _cross(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    c: NDArray[np.float64],
    d: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return ``(m, p)`` booleans: whether segment i of ``a b`` ``(m, 2)`` and j of ``c d`` ``(p, 2)`` cross or touch.

    Segments on one line count as crossing, even where they are apart.
    """

    def side(
        p: NDArray[np.float64], q: NDArray[np.float64], r: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        turn: NDArray[np.float64] = (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (
            q[..., 1] - p[..., 1]
        ) * (r[..., 0] - p[..., 0])
        return turn

    a, b, c, d = a[:, None], b[:, None], c[None], d[None]
    crossed: NDArray[np.bool_] = (side(a, b, c) * side(a, b, d) <= 0) & (
        side(c, d, a) * side(c, d, b) <= 0
    )
    return crossed


def _one_way(
    generator: Generator,
    points: NDArray[np.float64],
    edges: NDArray[np.int64],
    lengths: NDArray[np.float64],
    wet: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return a mask ``(m,)`` of one-way roads, about half of those downtown and a tenth elsewhere, drawn at random.

    Roads of the minimum spanning tree by `lengths`, and the bridges, which `wet` marks, stay open both ways, so that
    junctions stay connected.
    """
    spare = ~_in_tree(edges, lengths)
    downtown = np.hypot(*points[edges].mean(axis=1).T) < np.median(np.hypot(*points.T))
    drawn: NDArray[np.bool_] = generator.random(len(edges)) < np.where(downtown, 0.5, 0.1)
    return spare & ~wet & drawn


def _prior(generator: Generator, points: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the demand at each of points ``(n, 2)``, which sums to 1.

    The demand is heaped on the center and three other places, with noise. `radius` is that of the city, in km.
    """
    heaps = [(np.zeros(2), 1.0, 0.28)]
    heaps += [
        (generator.uniform(0.35, 0.8) * radius * _direction(generator), w, 0.13)
        for w in (0.8, 0.6, 0.5)
    ]
    demand = np.full(len(points), 0.12)
    for place, height, width in heaps:
        away = np.hypot(*(points - place).T) / (width * radius)
        demand += height * np.exp(-(away**2) / 2)
    demand *= generator.lognormal(0, 0.35, len(points))
    share: NDArray[np.float64] = demand / demand.sum()
    return share
