"""Road networks: from tables of nodes and edges as OSMnx writes them to places on the roads, and the ways between them.

Everything is laid out in decimeters in the plane. Vertices are integers, and equal integers are the same vertex: the
ends of edges, the bends of their courses, and the places, so that travel distances are shortest paths of one graph.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, refuse_malformed
from discreet.core.exact import Exact, to_fraction
from discreet.core.spaces.geography import lat_lon, unify_longitudes
from discreet.lrgeo.places.network import Edges, read_edges, read_nodes
from discreet.lrgeo.places.plane import cosine_for, sphere_to_plane
from discreet.lrgeo.places.space import per_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy.sparse import csr_array


@final
@dataclass(frozen=True, eq=False)
class Roads:
    """A strongly connected road network with places on it.

    Parameters
    ----------
    vertices
        ``(n, 2)`` decimeters east and north of the region's origin.
    segments
        ``(m, 2)`` straight pieces of road, from a vertex to another.
    lengths
        ``(m,)`` decimeters driven.
    one_way
        ``(m,)`` whether a piece may be driven only from its first vertex to its second.
    stops
        ``(K,)`` the vertex of each place.
    """

    vertices: NDArray[np.int64]
    segments: NDArray[np.int64]
    lengths: NDArray[np.float64]
    one_way: NDArray[np.bool_]
    stops: NDArray[np.int64]

    def __post_init__(self) -> None:
        n, m = len(self.vertices), len(self.segments)
        if self.segments.shape != (m, 2) or not len(self.lengths) == len(self.one_way) == m:
            raise InvalidProblemError("segments", "a length and a direction for each", m)
        indices = np.concatenate([self.segments.ravel(), self.stops])
        if not indices.size or indices.min() < 0 or indices.max() >= n:
            raise InvalidProblemError("segments and stops", f"vertices 0 to {n - 1}", "others")
        if not (np.isfinite(self.lengths) & (self.lengths >= 0)).all():
            raise InvalidProblemError("lengths", "finite, not negative", "others")
        for part in fields(self):
            array = np.array(getattr(self, part.name))
            array.setflags(write=False)
            object.__setattr__(self, part.name, array)

    def travel(self, unit: str) -> NDArray[np.float64]:
        """Return the driving distances from place to place, ``(K, K)``, in the unit; not symmetric with one-way roads.

        Raises
        ------
        InvalidProblemError
            If a place can't be reached from another.

        Complexity
        ----------
        A search by Dijkstra for each place: ``O(K m log n)``.
        """
        from scipy.sparse.csgraph import dijkstra

        distances = dijkstra(self.graph(), directed=True, indices=self.stops)[:, self.stops]
        if not np.isfinite(distances).all():
            raise InvalidProblemError("roads", "a way from each place to each other", "none")
        travel: NDArray[np.float64] = distances / per_unit(unit)
        return travel

    def graph(self) -> csr_array:
        """Return the directed graph of lengths in decimeters, sparse ``(n, n)``; of parallel roads the shortest.

        A piece that is not one-way has an entry each way; lengths of 0 become ``1e-9``. A sort of the pieces.
        """
        from scipy.sparse import csr_array

        both = ~self.one_way
        start = np.concatenate([self.segments[:, 0], self.segments[both, 1]])
        stop = np.concatenate([self.segments[:, 1], self.segments[both, 0]])
        # A zero would be no edge at all.
        length = np.maximum(np.concatenate([self.lengths, self.lengths[both]]), 1e-9)
        order = np.lexsort((length, stop, start))
        start, stop, length = start[order], stop[order], length[order]
        first = np.ones(len(order), dtype=bool)
        first[1:] = (start[1:] != start[:-1]) | (stop[1:] != stop[:-1])
        shape = (len(self.vertices), len(self.vertices))
        return csr_array((length[first], (start[first], stop[first])), shape=shape)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: lists of vertices, segments, lengths in decimeters, directions and stops. Linear.

        Keys are the parameters' names; lengths are rounded to a tenth, directions are 0 or 1.
        """
        return {
            "vertices": self.vertices.tolist(),
            "segments": self.segments.tolist(),
            "lengths": self.lengths.round(1).tolist(),
            "one_way": self.one_way.astype(int).tolist(),
            "stops": self.stops.tolist(),
        }

    @classmethod
    @refuse_malformed("roads")
    def from_dict(cls, data: Mapping[str, Any]) -> Roads:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidProblemError
            If an entry is missing or has another type, for parts that do not fit each other, or a negative length.
        """
        return cls(
            np.array(data["vertices"], dtype=np.int64).reshape(-1, 2),
            np.array(data["segments"], dtype=np.int64).reshape(-1, 2),
            np.array(data["lengths"], dtype=np.float64),
            np.array(data["one_way"], dtype=np.int64) == 1,
            np.array(data["stops"], dtype=np.int64),
        )


@final
@dataclass(frozen=True, eq=False)
class Placed:
    """Roads with places on them, and how they are laid out.

    Parameters
    ----------
    roads
        The roads; their stops are the places.
    origin
        Latitude and longitude of ``(0, 0)``; ``None`` for a plane without geographic coordinates.
    cosine
        The factor by which degrees of longitude are shorter than degrees of latitude on the map.
    """

    roads: Roads
    origin: tuple[float, float] | None
    cosine: float


def place_on_roads(
    nodes: object,
    edges: object,
    *,
    spacing: Exact,
    unit: str = "km",
    origin: tuple[float, float] | None = None,
    planar: bool = False,
    max_places: int = 20_000,
) -> Placed:
    """Choose places on a road network; :meth:`discreet.lrgeo.Region.from_roads` makes their region.

    The cost is a sort of the points of all roads, an eighth of the spacing apart, and quadratic in the places.

    Parameters
    ----------
    nodes
        A table with the columns ``osmid``, ``y`` (latitude) and ``x`` (longitude): a mapping of columns, a list of
        mappings, a dataframe, or anything with ``__geo_interface__``. ``None`` where edges have their own courses.
    edges
        A table with ``u`` and ``v`` (osmid of the ends) and, where known, ``length`` in meters, ``oneway``, and
        ``geometry`` (WKT or coordinates). Edges of which an end is not among the nodes are left out.
    spacing
        About how far apart places are, in the unit.
    unit
        ``"km"`` or ``"m"``.
    origin
        Latitude and longitude of ``(0, 0)``; by default the southwest corner.
    planar
        That ``x``, ``y`` and ``length`` are in the unit, in a plane without geographic coordinates.
    max_places
        Number of places beyond which the spacing is taken for a mistake.

    Returns
    -------
    Placed
        Of the largest part in which every vertex can be reached from every other. The plane is laid out in squares of
        the spacing; each has the point of the roads in it that is nearest to its middle as a place, unless it is less
        than half of the spacing from another.

    Raises
    ------
    InvalidProblemError
        For tables without these columns, no roads, fewer than two places, or too many.

    Examples
    --------
    >>> from discreet.datasets.city import made_city
    >>> city = made_city(60, seed=1)
    >>> len(place_on_roads(*city.tables(), spacing="0.8", planar=True).roads.stops)
    41
    """
    step = float(to_fraction(spacing, "spacing") * per_unit(unit))
    if step < 10:
        raise InvalidProblemError("spacing", "a meter or more", spacing)
    named = None if nodes is None else read_nodes(nodes)
    table = read_edges(edges, named)
    courses, place, cosine = table.courses, origin, 1.0
    if planar:
        if origin is not None:
            raise InvalidProblemError("origin", "none in a plane that lies nowhere", "one")
        plane = np.concatenate(courses) * per_unit(unit)
    else:
        sphere = unify_longitudes(lat_lon(np.concatenate(courses)[:, ::-1], "nodes"), "nodes")
        corner = sphere.min(axis=0)
        place = (float(corner[0]), float(corner[1])) if origin is None else origin
        cosine = cosine_for(sphere[:, 0], float(np.ptp(sphere[:, 1])), unrounded=True)
        plane = sphere_to_plane(sphere, place, cosine)
    scale = per_unit(unit) if planar else 10.0
    roads = _largest(*_segments(plane, table, scale))
    chosen = _choose(roads, step)
    if not 2 <= len(chosen) <= max_places:
        expected = f"one that gives 2 to {max_places} places"
        raise InvalidProblemError("spacing", expected, f"{len(chosen)} of them")
    return Placed(_split(roads, chosen), place, cosine)


def _segments(
    plane: NDArray[np.float64], table: Edges, scale: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Split courses into straight pieces between integer vertices; of equal pieces keep the shortest.

    `plane` ``(points, 2)`` are all courses' points in decimeters, `scale` decimeters in a unit of stated lengths.
    Returns vertices ``(n, 2)``, pieces ``(m, 2)``, lengths and whether they are one way ``(m,)``. A sort.
    """
    rounded = np.rint(plane).astype(np.int64)
    vertices, number = np.unique(rounded, axis=0, return_inverse=True)
    number = number.ravel()
    sizes = np.array([len(course) for course in table.courses])
    last = np.cumsum(sizes) - 1
    inner = np.ones(len(plane), dtype=bool)
    inner[last] = False
    at = np.flatnonzero(inner)
    edge = np.repeat(np.arange(len(sizes)), sizes)[at]
    straight = np.hypot(*(plane[at + 1] - plane[at]).T)
    drawn = np.bincount(edge, straight, minlength=len(sizes))
    stated = np.where(np.isnan(table.lengths), drawn, table.lengths * scale)
    factor = np.where(drawn > 0, stated / np.where(drawn > 0, drawn, 1), 1.0)
    pieces = np.stack([number[at], number[at + 1]], axis=1)
    lengths, one_way = straight * factor[edge], table.one_way[edge]
    is_piece = pieces[:, 0] != pieces[:, 1]
    pieces, lengths, one_way = pieces[is_piece], lengths[is_piece], one_way[is_piece]
    is_reversed = ~one_way & (pieces[:, 0] > pieces[:, 1])
    pieces[is_reversed] = pieces[is_reversed][:, ::-1]
    order = np.lexsort((lengths, one_way, pieces[:, 1], pieces[:, 0]))
    pieces, lengths, one_way = pieces[order], lengths[order], one_way[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (pieces[1:] != pieces[:-1]).any(axis=1) | (one_way[1:] != one_way[:-1])
    return vertices, pieces[first], lengths[first], one_way[first]


def _largest(
    vertices: NDArray[np.int64],
    pieces: NDArray[np.int64],
    lengths: NDArray[np.float64],
    one_way: NDArray[np.bool_],
) -> Roads:
    """Keep the largest part in which each vertex can be reached from each other; refuse roads without one.

    `vertices` is ``(V, 2)``, `pieces` ``(P, 2)`` ends, `lengths` and `one_way` ``(P,)``. The cost is linear.
    """
    from scipy.sparse.csgraph import connected_components

    if not len(pieces):
        raise InvalidProblemError("edges", "roads between different nodes", "none")
    every = Roads(vertices, pieces, lengths, one_way, np.zeros(1, dtype=np.int64))
    _, label = connected_components(every.graph(), directed=True, connection="strong")
    inside = label == np.bincount(label).argmax()
    number = np.cumsum(inside) - 1
    is_inside = inside[pieces].all(axis=1)
    if not is_inside.any():
        raise InvalidProblemError("edges", "roads on which one can drive in a circle", "none")
    return Roads(
        vertices[inside],
        number[pieces[is_inside]],
        lengths[is_inside],
        one_way[is_inside],
        np.zeros(1, dtype=np.int64),
    )


def _choose(roads: Roads, step: float) -> list[tuple[int, float]]:
    """Choose points of the roads as places, about `step` decimeters apart.

    A piece and the share along it, 0 to 1, of each. In each square of side `step` the point nearest to its middle, of
    points an eighth of a step apart; of two within half a step one is dropped. A sort of these points.
    """
    from scipy.spatial import KDTree

    ends = roads.vertices[roads.segments].astype(np.float64)
    straight = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
    # Points close enough together that a square hardly misses the road through it.
    parts = np.maximum(np.ceil(straight / (step / 8)), 1).astype(np.int64)
    piece = np.repeat(np.arange(len(parts)), parts + 1)
    first = np.repeat(np.cumsum(parts + 1) - parts - 1, parts + 1)
    along = (np.arange(len(piece)) - first) / parts[piece]
    points = np.rint(ends[piece, 0] + along[:, None] * (ends[piece, 1] - ends[piece, 0]))
    cell = np.floor((points - points.min(axis=0)) / step)
    middle = points.min(axis=0) + (cell + 0.5) * step
    away = np.hypot(*(points - middle).T)
    order = np.lexsort((piece, away, cell[:, 0], cell[:, 1]))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(cell[order], axis=0) != 0).any(axis=1)
    best = order[fresh]
    close = KDTree(points[best]).query_pairs(step / 2, output_type="ndarray")
    dropped: set[int] = set()
    for i, j in sorted(map(tuple, close.tolist())):
        # Of two that are too close the later goes, unless the earlier went before.
        if i not in dropped:
            dropped.add(j)
    return [
        (int(piece[index]), float(along[index]))
        for number, index in enumerate(best.tolist())
        if number not in dropped
    ]


def _split(roads: Roads, chosen: list[tuple[int, float]]) -> Roads:
    """Insert the places, (piece, share of its length), as vertices, and split the pieces that they lie on.

    A place at a known vertex takes it, and two at one spot are one stop. Returns new roads, stops in the order of the
    places. Linear in the roads, but quadratic in the places.
    """
    vertices = roads.vertices.tolist()
    known = {tuple(vertex): number for number, vertex in enumerate(vertices)}
    cuts: dict[int, list[tuple[float, int]]] = {}
    stops: list[int] = []
    for piece, along in chosen:
        start, stop = roads.vertices[roads.segments[piece]].astype(np.float64)
        east, north = np.rint(start + along * (stop - start)).astype(np.int64).tolist()
        if (east, north) not in known:
            known[east, north] = len(vertices)
            vertices.append([east, north])
            cuts.setdefault(piece, []).append((along, known[east, north]))
        if known[east, north] not in stops:
            stops.append(known[east, north])
    is_uncut = np.array([piece not in cuts for piece in range(len(roads.segments))])
    segments, lengths, one_way = [], [], []
    for piece, inner in cuts.items():
        first, last = roads.segments[piece].tolist()
        ways = [(0.0, first), *sorted(inner), (1.0, last)]
        for (a, start_at), (b, stop_at) in pairwise(ways):
            segments.append((start_at, stop_at))
            lengths.append((b - a) * float(roads.lengths[piece]))
            one_way.append(bool(roads.one_way[piece]))
    return Roads(
        np.array(vertices, dtype=np.int64),
        np.concatenate(
            [roads.segments[is_uncut], np.array(segments, dtype=np.int64).reshape(-1, 2)]
        ),
        np.concatenate([roads.lengths[is_uncut], np.array(lengths, dtype=np.float64)]),
        np.concatenate([roads.one_way[is_uncut], np.array(one_way, dtype=bool)]),
        np.array(stops, dtype=np.int64),
    )
