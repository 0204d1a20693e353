"""Regions: the public places among which a location service works, and how one travels between them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError, refuse_malformed
from discreet.core.exact import Exact, to_fraction
from discreet.core.options import array_of
from discreet.core.printed import count, estimate, positions
from discreet.core.spaces.geography import ground_factor, lat_lon
from discreet.core.spaces.inputs import positive_count
from discreet.lrgeo.places.osmnx import street_tables
from discreet.lrgeo.places.plane import (
    DEGREE,
    cosine_for,
    plane_to_sphere,
    sphere_to_plane,
)
from discreet.lrgeo.places.roads import Roads, place_on_roads
from discreet.lrgeo.places.space import per_unit, space_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from discreet.core.spaces.metric import MetricSpace

_LARGEST = 1 << 30
"""Decimeters east or north of the origin, at most."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Region:
    r"""A finite set of public places in the plane, as integers that client and server share.

    Parameters
    ----------
    places
        Array ``(K, 2)``: decimeters east and north of the origin, no two alike.
    origin
        Latitude and longitude of ``(0, 0)`` in degrees; ``None`` for a plane without geographic coordinates.
    unit
        ``"km"`` or ``"m"``: that of distances, and of ``1 / epsilon``.
    roads
        The road network, where travel does not follow straight lines.
    cosine
        The factor by which degrees of longitude are shorter than degrees of latitude on the map; see
        :mod:`discreet.lrgeo.places.plane`. 1 without an origin.

    Raises
    ------
    InvalidProblemError
        For fewer than two places, two at the same spot, an unknown unit, roads with stops at other places, or a cosine
        for which places would be farther apart in the plane than on the sphere.

    Notes
    -----
    A point is *snapped* to its nearest place before anything else happens. What is promised is promised for places:
    two points a meter apart on different sides of a border are a whole spacing apart for the mechanism.

    Examples
    --------
    >>> region = Region.from_grid(4, 5, cell="0.5", unit="km", origin=(41.88, 12.46))
    >>> region
    Region(20 places, km, 2 by 1.5 km)
    >>> region.snap((41.8856, 12.4701)), [round(x, 4) for x in region.where(6)]
    (6, [41.8867, 12.4691])
    """

    places: NDArray[np.int64]
    origin: tuple[float, float] | None
    unit: str
    roads: Roads | None = None
    cosine: float = 1.0

    def __post_init__(self) -> None:
        places = np.asarray(self.places)
        if places.ndim != 2 or places.shape[1:] != (2,) or len(places) < 2:
            raise InvalidProblemError("places", "two places or more, (K, 2)", places.shape)
        if not np.issubdtype(places.dtype, np.integer) or np.abs(places).max() >= _LARGEST:
            raise InvalidProblemError("places", "whole decimeters within 2^30", "others")
        places = places.astype(np.int64)
        if len(np.unique(places, axis=0)) < len(places):
            raise InvalidProblemError("places", "different places", "one of them twice")
        if self.roads and not np.array_equal(self.roads.vertices[self.roads.stops], places):
            raise InvalidProblemError("roads", "stops that are the places, in this order", "others")
        places.setflags(write=False)
        per_unit(self.unit)
        object.__setattr__(self, "places", places)
        if self.origin is None:
            if self.cosine != 1:
                raise InvalidProblemError("cosine", "1 without an origin", self.cosine)
            return
        origin = lat_lon(self.origin, "origin")
        if origin.shape != (2,):
            raise InvalidProblemError("origin", "one latitude and longitude", origin.shape)
        object.__setattr__(self, "origin", (float(origin[0]), float(origin[1])))
        if not 0 < self.cosine <= self._safe_cosine() * (1 + 2.0**-32):
            expected = "one by which nothing is farther apart in the plane than on the sphere"
            raise InvalidProblemError("cosine", expected, self.cosine)

    def _safe_cosine(self) -> float:
        """The cosine of :func:`cosine_for` for these places: none are farther apart in the plane than on the sphere."""
        sphere = self.coordinates
        return cosine_for(sphere[:, 0], float(np.ptp(sphere[:, 1])))

    @classmethod
    def from_grid(
        cls,
        rows: int,
        columns: int,
        *,
        cell: Exact,
        unit: str,
        origin: tuple[float, float] | None = None,
    ) -> Region:
        """Return the region of the cells of a grid; the cell in row r and column c is place ``r * columns + c``.

        ``O(rows columns)``. With an origin the grid is on the globe, its cells at least as large as stated on the
        sphere.

        Parameters
        ----------
        rows, columns
            Numbers of cells northwards and eastwards.
        cell
            Side of a cell in the unit, read exactly: an even number of decimeters.
        unit
            ``"km"`` or ``"m"``.
        origin
            Latitude and longitude of the corner in the southwest; ``None`` for a plane.

        Raises
        ------
        InvalidProblemError
            For a single cell, a side that is no even number of decimeters or too large, or an `origin` that is no pair.

        Examples
        --------
        >>> Region.from_grid(2, 2, cell=200, unit="m").places.tolist()
        [[1000, 1000], [3000, 1000], [1000, 3000], [3000, 3000]]
        """
        rows, columns = positive_count(rows, "rows"), positive_count(columns, "columns")
        side = to_fraction(cell, "cell") * per_unit(unit)
        if side <= 0 or side.denominator != 1 or side.numerator % 2 or side > _LARGEST:
            expected = f"an even number of decimeters, at most {count(_LARGEST)}"
            raise InvalidProblemError("cell", expected, cell)
        row, column = np.divmod(np.arange(rows * columns), columns)
        step = side.numerator
        places = np.stack([column * step + step // 2, row * step + step // 2], axis=-1)
        if origin is None:
            return cls(places, None, unit)
        if np.shape(array_of(origin, "origin", "one latitude and longitude", np.float64)) != (2,):
            raise InvalidProblemError("origin", "one latitude and longitude", type(origin).__name__)
        north = float(origin[0]) + np.array([0.0, rows * step / DEGREE])
        # The cosine decides how wide the grid is, which decides the cosine: wide enough at once.
        width = columns * step / (DEGREE * cosine_for(north, 0.0)) * 1.01
        if origin[1] + width > 360:
            origin = (origin[0], origin[1] - 360)
        return cls(places, origin, unit, None, cosine_for(north, width, unrounded=True))

    @classmethod
    def from_roads(
        cls,
        nodes: object,
        edges: object,
        *,
        spacing: Exact,
        unit: str = "km",
        origin: tuple[float, float] | None = None,
        planar: bool = False,
    ) -> Region:
        """Return the region of a road network: places on its roads, about `spacing` apart, in the unit.

        See :func:`discreet.lrgeo.places.roads.place_on_roads` for the tables that it reads, its errors and its cost.

        `nodes` and `edges` are the two tables, `origin` the latitude and longitude of ``(0, 0)``, and `planar` tells
        that coordinates are east and north in the unit.

        Examples
        --------
        >>> corners = {"osmid": [1, 2, 3], "y": [41.89, 41.90, 41.90], "x": [12.47, 12.47, 12.48]}
        >>> streets = {"u": [1, 2, 3], "v": [2, 3, 1], "oneway": [True, True, True]}
        >>> region = Region.from_roads(corners, streets, spacing="0.4")
        >>> region.K, bool((region.travel > 0).sum() == region.K * (region.K - 1))
        (6, True)
        """
        placed = place_on_roads(
            nodes, edges, spacing=spacing, unit=unit, origin=origin, planar=planar
        )
        roads = placed.roads
        return cls(roads.vertices[roads.stops], placed.origin, unit, roads, placed.cosine)

    @classmethod
    def from_osmnx(cls, graph: Any, *, spacing: Exact, unit: str = "km") -> Region:  # noqa: ANN401 - of networkx
        """Return the region of a street network in the form of OSMnx [Boe17]_.

        Parameters
        ----------
        graph
            A graph of OSMnx, such as ``osmnx.graph_from_place("Rome, Italy", network_type="drive")``: of networkx, with
            ``x`` and ``y`` of each node in degrees. It is public.
        spacing
            About how far apart places are, in the unit.
        unit
            ``"km"`` or ``"m"``.

        Returns
        -------
        Region
            As :meth:`from_roads`. A street is open both ways where the graph has an edge each way.

        Raises
        ------
        InvalidProblemError
            For another kind of graph, or one that is projected or has no coordinate system.

        Examples
        --------
        >>> from discreet.datasets.city import made_city
        >>> nodes, edges = made_city(60, seed=1).tables()
        >>> Region.from_osmnx([nodes, edges], spacing="0.4")
        Traceback (most recent call last):
        discreet.core.errors.InvalidProblemError: graph: expected a graph of OSMnx, such as ..., got list
        """
        return cls.from_roads(*street_tables(graph), spacing=spacing, unit=unit)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """As :meth:`geojson`: ``geopandas.GeoDataFrame.from_features(region, crs="EPSG:4326")`` makes a frame of it."""
        return self.geojson()

    def __repr__(self) -> str:
        wide, high = np.ptp(self.places, axis=0) / per_unit(self.unit)
        return f"Region({self.K} places, {self.unit}, {estimate(wide, 3)} by {estimate(high, 3)} {self.unit})"

    @property
    def K(self) -> int:  # noqa: N802 - the paper's letter, in the contract of this class
        """Number of places."""
        return len(self.places)

    @cached_property
    def space(self) -> MetricSpace:
        """The places as secrets: distances in the plane, in integers; see :func:`space_of`."""
        return space_of(self.places, self.unit)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """Array ``(K, 2)``: the places in the unit, east and north of the origin; read-only."""
        points = self.places / per_unit(self.unit)
        points.setflags(write=False)
        return points

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """Coordinates of reports, ``(K, 2)`` float64, read-only.

        Latitude and longitude, or east and north in the unit.
        """
        shown = self._where(self.places.astype(np.float64))
        shown.setflags(write=False)
        return shown

    def _where(self, plane: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert points of the plane, ``(..., 2)`` decimeters, to the coordinates of reports."""
        if self.origin is None:
            return plane / per_unit(self.unit)
        return plane_to_sphere(plane, self.origin, self.cosine)

    @cached_property
    def stretch(self) -> Fraction | None:
        """Upper bound on the ratio of a distance in the plane to the geodesic of WGS 84; ``None`` without an origin."""
        if self.origin is None:
            return None
        return 1 / Fraction(ground_factor(self.coordinates[:, 0]))

    @cached_property
    def travel(self) -> NDArray[np.float64]:
        """Array ``(K, K)`` of travel distances in the unit, row to column: along roads if there are any, else straight.

        One-way roads make it asymmetric. Along roads, one search by Dijkstra for each place, at the first access.

        Raises
        ------
        InvalidProblemError
            For more than 5120 places.
        """
        if not self.space.has_matrix:
            raise InvalidProblemError("places", "at most 5120 for all travel distances", self.K)
        if self.roads is not None:
            travel = self.roads.travel(self.unit)
        else:
            travel = np.hypot(*(self.points[:, None] - self.points).transpose(2, 0, 1))
        travel.setflags(write=False)
        return travel

    @cached_property
    def reach(self) -> float:
        """How far from its nearest place a point may be to lie in the region, in the unit.

        It is the largest distance between a place and the one nearest to it, in a straight line also with roads: a
        public number. ``O(K log K)`` at the first access, then kept.
        """
        from scipy.spatial import KDTree

        near = np.asarray(KDTree(self.points).query(self.points, k=2)[0])
        return float(near[:, 1].max())

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hexadecimal, of places, origin and unit: of all that a mechanism needs to know of the region.

        Roads are not in it: a region with roads and the mechanism on its places have equal digests. ``O(K)``.
        """
        head = {
            "cosine": repr(self.cosine),
            "origin": None if self.origin is None else [repr(x) for x in self.origin],
            "unit": self.unit,
        }
        text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
        body = self.places.astype("<i8").tobytes()
        return hashlib.sha256(b"discreet.region/1 " + text + b"\n" + body).hexdigest()

    def snap(self, point: tuple[float, float] | ArrayLike) -> int:
        """Return the place nearest to a point, the lowest-numbered one among equally near ones.

        ``O(K)``: the distance to every place.

        Parameters
        ----------
        point
            Latitude and longitude where there is an origin, else east and north in the unit.

        Raises
        ------
        InvalidProblemError
            For a point outside the region, or no point at all; the message does not repeat it.
        """
        position = _point(point)
        if self.origin is not None:
            if abs(position[0]) > 90 or not -180 <= position[1] <= 360:
                raise InvalidProblemError("point", "a latitude and a longitude", "something else")
            position = sphere_to_plane(position, self.origin, self.cosine)
        else:
            position = position * per_unit(self.unit)
        away = np.hypot(*(self.places - position).T)
        nearest = int(away.argmin())
        if not away[nearest] <= self.reach * per_unit(self.unit) * (1 + 1e-9):
            # Nothing of the point may come to light, not even on which side it lies.
            order = "" if self.origin is None else ", latitude first and longitude second"
            raise InvalidProblemError("point", f"a point in the region{order}", "a point outside")
        return nearest

    def where(self, index: int) -> tuple[float, float]:
        """Return the coordinates of a place: latitude and longitude, or east and north in the unit.

        A pair of floats. All coordinates are computed at the first call, ``O(K)``.

        Raises
        ------
        InvalidProblemError
            If `index` is not from 0 to ``K - 1``.
        """
        if not 0 <= index < self.K:
            raise InvalidProblemError("index", f"a place from 0 to {self.K - 1}", "another")
        first, second = self.coordinates[index].tolist()
        return first, second

    def geojson(self) -> dict[str, Any]:
        """Return places and roads as a GeoJSON feature collection, longitude first.

        A point with the property ``"place"``, its number, for each place, and with roads two MultiLineStrings with
        ``"one_way"``. Without an origin the coordinates are those of the plane, in the unit, which GeoJSON does not
        foresee.

        ``O(K + m)`` for K places and m pieces of road.
        """
        features = [
            _feature("Point", [x, y], {"place": index})
            for index, (y, x) in enumerate(self._shown(self.coordinates))
        ]
        if self.roads is not None:
            features += [self._lines(self.roads, one_way) for one_way in (False, True)]
        return {"type": "FeatureCollection", "features": features}

    def _lines(self, roads: Roads, one_way: bool) -> dict[str, Any]:  # noqa: FBT001 - which of two kinds
        """Return the roads of one or of two directions as one feature of GeoJSON, a MultiLineString of straight pieces.

        Its property ``"one_way"`` is that of the argument; the coordinates are as in :meth:`geojson`.
        """
        ends = roads.vertices[roads.segments[roads.one_way == one_way]].astype(np.float64)
        shown = self._where(ends)
        lines = [[[x, y] for y, x in self._shown(line)] for line in shown]
        return _feature("MultiLineString", lines, {"one_way": one_way})

    def _shown(self, coordinates: NDArray[np.float64]) -> list[list[float]]:
        """Return coordinates of reports ``(n, 2)`` as pairs north first, in decimals finer than a decimeter."""
        order = coordinates if self.origin is not None else coordinates[:, ::-1]
        shown: list[list[float]] = positions(order, 7 if self.origin is not None else 4).tolist()
        return shown

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: places in decimeters, origin, unit, roads and digest."""
        return {
            "places": self.places.tolist(),
            "origin": None if self.origin is None else list(self.origin),
            "unit": self.unit,
            "cosine": self.cosine,
            "roads": None if self.roads is None else self.roads.to_dict(),
            "digest": self.digest,
        }

    @classmethod
    @refuse_malformed("region")
    def from_dict(cls, data: Mapping[str, Any]) -> Region:
        """Read what :meth:`to_dict` wrote, a mapping, and check that its digest is the same. Linear in its size.

        The digest does not cover the roads: a mechanism has the region's places, and not its roads.

        Raises
        ------
        InvalidProblemError
            If an entry is missing or has another type, the digest differs, or the constructor refuses a part.
        """
        origin, roads = data["origin"], data["roads"]
        region = cls(
            np.array(data["places"], dtype=np.int64).reshape(-1, 2),
            None if origin is None else (float(origin[0]), float(origin[1])),
            str(data["unit"]),
            None if roads is None else Roads.from_dict(roads),
            float(data["cosine"]),
        )
        if region.digest != data["digest"]:
            raise InvalidProblemError("digest", "that of the region", "another")
        return region


def _point(point: object) -> NDArray[np.float64]:
    """Read two finite numbers as ``(2,)`` floats; the refusal of anything else does not repeat them."""
    try:
        position = np.array(point, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InvalidProblemError("point", "two numbers", "something else") from None
    if position.shape != (2,) or not np.isfinite(position).all():
        raise InvalidProblemError("point", "two finite numbers", "something else")
    return position


def _feature(kind: str, coordinates: list[Any], properties: dict[str, Any]) -> dict[str, Any]:
    """Return a feature of GeoJSON."""
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}
