"""Places as geographic libraries give them: anything with ``__geo_interface__``, and its coordinate system.

Nothing of these libraries is imported. A GeoDataFrame, a GeoSeries, a Shapely geometry and GeoJSON [BDD16]_ all speak
the interface. A coordinate system is one of pyproj's, whose attributes are read, or a name; a frame converts itself, by
its method ``to_crs``. Coordinates are x and y in this order there, hence longitude and latitude.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.lengths import DENSE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_DEGREES = frozenset(
    {"EPSG:4326", "EPSG:4258", "EPSG:4269", "OGC:CRS84", "CRS84", "WGS84", "URN:OGC:DEF:CRS:OGC:1.3:CRS84"}
    | {"URN:OGC:DEF:CRS:EPSG::4326", "URN:OGC:DEF:CRS:OGC::CRS84"}
)  # fmt: skip
"""Names of systems in longitude and latitude that are known without pyproj."""

_LONGITUDES = frozenset({"lon", "lng", "long"}), ("longitud", "längengrad", "laengengrad")
_LATITUDES = frozenset({"lat"}), ("latitud", "breitengrad")
"""Words, and parts, of the names of columns that hold degrees; distances between degrees are no lengths."""

_FACTORS = {"km": 1000.0, "m": 1.0}
"""Meters in a unit."""

_SAY_CRS = (
    "a coordinate reference system; type frame.set_crs('EPSG:4326') for longitude and latitude, "
    "or that of your map"
)
_TO_DEGREES = "frame.to_crs('EPSG:4326')"
_TO_METERS = "frame.to_crs(frame.estimate_utm_crs())"


def has_features(source: object) -> bool:
    """Test whether an object has ``__geo_interface__``, or is a mapping with a text under ``"type"``.

    Which type the text names is not checked, nor whether the geometry is valid.

    Constant time; the attribute is looked up.

    Examples
    --------
    >>> has_features({"type": "Point", "coordinates": (12.5, 41.9)}), has_features([(12.5, 41.9)])
    (True, False)
    """
    if hasattr(source, "__geo_interface__"):
        return True
    return isinstance(source, Mapping) and isinstance(source.get("type"), str)


def in_degrees(crs: object, field: str = "crs") -> float | None:
    """Read a coordinate system: ``None`` for longitude and latitude, else how many meters its unit has.

    Names are read without their case. A system that is neither, such as one in radians, is refused too.

    Parameters
    ----------
    crs
        A ``pyproj.CRS``, or a name such as ``"EPSG:4326"``.
    field
        The name of the argument, for the error message.

    Raises
    ------
    InvalidProblemError
        Where there is none, or one that can't be read.

    Examples
    --------
    >>> in_degrees("EPSG:4326")
    >>> in_degrees(None)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: crs: expected a coordinate reference system; type frame.set_crs(...
    """
    if crs is None or (isinstance(crs, str) and not crs.strip()):
        raise InvalidProblemError(field, _SAY_CRS, "none")
    if isinstance(crs, str):
        if crs.strip().upper() in _DEGREES:
            return None
        expected = f"EPSG:4326, or a system of pyproj such as pyproj.CRS({crs.strip()!r})"
        raise InvalidProblemError(field, expected, repr(crs.strip()))
    axes = list(getattr(crs, "axis_info", None) or ())
    factor = float(getattr(axes[0], "unit_conversion_factor", 0) or 0) if axes else 0.0
    if getattr(crs, "is_geographic", False) and abs(factor - math.radians(1)) < 1e-9:
        return None
    if not getattr(crs, "is_projected", False) or not 0 < factor < np.inf:
        expected = f"longitude and latitude in degrees; type {_TO_DEGREES}"
        raise InvalidProblemError(field, expected, _name_of(crs))
    return factor


def _name_of(crs: object) -> str:
    return str(getattr(crs, "name", None) or type(crs).__name__)


def coordinate_columns(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """List the names of columns of longitudes, then of latitudes, by the words in the names; either may be empty.

    Examples
    --------
    >>> coordinate_columns(["id", "centroid_lon", "pickupLatitude", "flat"])
    (['centroid_lon'], ['pickupLatitude'])
    >>> coordinate_columns(["startlongitude", "LATITUDINE", "along", "plateau"])
    (['startlongitude'], ['LATITUDINE'])
    """
    words = {
        name: {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)} for name in names
    }
    longitudes, latitudes = (
        [name for name in words if words[name] & short or any(p in name.lower() for p in parts)]
        for short, parts in (_LONGITUDES, _LATITUDES)
    )
    return longitudes, latitudes


def check_names(names: Sequence[str], *, metric: str | None, unit: str, plane: bool) -> None:
    """Refuse columns of degrees in place of lengths, and longitudes in place of latitudes, by the names of the columns.

    Parameters
    ----------
    names
        The columns of coordinates, in their order.
    metric, unit
        As of :meth:`~discreet.core.spaces.metric.MetricSpace.from_points`.
    plane
        The caller's statement that the columns are coordinates in a plane.

    Raises
    ------
    InvalidProblemError
        With what to type.

    Examples
    --------
    >>> check_names(["x", "y"], metric=None, unit="km", plane=False)
    >>> check_names(["lon", "lat"], metric=None, unit="km", plane=False)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: metric: expected haversine for the degrees in 'lon' and 'lat'; type ...
    """
    longitudes, latitudes = coordinate_columns(names)
    if plane or not (longitudes and latitudes):
        return
    shown = f"{longitudes[0]!r} and {latitudes[0]!r}"
    if metric in {None, "euclidean", "manhattan"} and not unit.startswith("deg"):
        expected = (
            f"haversine for the degrees in {shown}; type metric='haversine' (--metric haversine), "
            "or plane=True (--plane) for coordinates in a plane"
        )
        raise InvalidProblemError("metric", expected, metric or "none")
    if metric == "haversine" and list(names) == [longitudes[0], latitudes[0]]:
        raise InvalidProblemError(
            "points",
            "the latitude before the longitude, which a command reads from --y and --x",
            f"{shown} in this order",
        )


def read_features(
    source: object, *, metric: str | None, unit: str, plane: bool = False, max_ratio: float = 1.001
) -> tuple[NDArray[np.float64], str]:
    """Read points, one for each feature, and the metric that fits their coordinates.

    Linear in the features; with `plane`, a geodesic for each pair of points.

    Parameters
    ----------
    source
        Anything for which :func:`has_features` is true.
    metric
        ``None`` or ``"haversine"``; with `plane` also ``"euclidean"`` or ``"manhattan"``.
    unit
        ``"km"`` or ``"m"``.
    plane
        Keep the coordinates of a projected frame of at most 5120 points, shortened such that no two points are
        farther apart in the plane than on the ground.
    max_ratio
        Largest ratio of a distance in the plane to the one on the ground: shortening costs a thousandth at most.

    Returns
    -------
    points : ndarray
        ``(n, 2)``: latitude and longitude in degrees, or x and y in `unit`.
    metric : str
        ``"haversine"``, or the metric of the plane.

    Raises
    ------
    InvalidProblemError
        For features that are no points (the message names the first), a coordinate system that is missing or can't be
        converted, a metric that does not fit it, or a plane with distances above 1.001 times those on the ground.

    Examples
    --------
    >>> places = {"type": "MultiPoint", "coordinates": [(12.4769, 41.8986), (12.4964, 41.9028)]}
    >>> read_features({"type": "Feature", "geometry": places}, metric=None, unit="km")[1]
    'haversine'
    """
    geo = getattr(source, "__geo_interface__", source)
    if not isinstance(geo, Mapping):
        raise InvalidProblemError("points", "a mapping from __geo_interface__", type(geo).__name__)
    stored = _array(geo)
    if unit not in _FACTORS:
        raise InvalidProblemError("unit", "'km' or 'm' for coordinates on a map", repr(unit))
    crs = _system(source, geo)
    converted = _converted(source, crs) if hasattr(source, "to_crs") and crs is not None else source
    if converted is source and in_degrees(crs) is not None:
        expected = f"longitude and latitude, or a GeoDataFrame; type {_TO_DEGREES}"
        raise InvalidProblemError("crs", expected, _name_of(crs))
    degrees = stored if converted is source else _array(getattr(converted, "__geo_interface__"))  # noqa: B009 - a frame of GeoPandas
    if converted is not source and not np.isfinite(degrees).all():
        row = int(np.argmin(np.isfinite(degrees).all(axis=1)))
        expected = f"points within the area of the coordinate system {_name_of(crs)}"
        raise InvalidProblemError("points", expected, f"one outside in row {row}")
    if not plane:
        if metric not in {None, "haversine"}:
            expected = f"'haversine', or plane=True with coordinates in meters: {_TO_METERS}"
            raise InvalidProblemError("metric", expected, repr(metric))
        return degrees[:, ::-1].copy(), "haversine"
    if metric == "haversine":
        raise InvalidProblemError("plane", "False with metric='haversine'", "True")
    factor = in_degrees(crs)
    if factor is None:
        raise InvalidProblemError("plane", f"projected coordinates; type {_TO_METERS}", "degrees")
    meters = stored * factor
    stretch = _largest_stretch(meters, degrees, converted)
    if stretch > max_ratio:
        expected = (
            f"distances of at most {max_ratio} times those on the ground; type {_TO_METERS}, "
            "or leave plane=True out"
        )
        raise InvalidProblemError("plane", expected, f"up to {printed.at_most(stretch, 4)} times")
    return meters / (stretch * _FACTORS[unit]), metric or "euclidean"


def _array(geo: Mapping[str, Any]) -> NDArray[np.float64]:
    return np.array(list(_points(geo)), dtype=np.float64).reshape(-1, 2)


def _converted(frame: Any, crs: object) -> Any:  # noqa: ANN401 - a GeoDataFrame or a GeoSeries
    """Convert a frame to longitude and latitude of WGS 84; refuse a system that pyproj does not convert.

    InvalidProblemError in the latter case; `crs` is the frame's system.
    """
    # Without a height, which frames of two coordinates lack, a geocentric point is another place.
    if any(getattr(crs, name, False) for name in ("is_geographic", "is_projected")):
        # pyproj raises RuntimeError: for the system of a building site, say.
        with suppress(RuntimeError, ValueError):
            return frame.to_crs("EPSG:4326")
    expected = (
        "a coordinate system that pyproj converts to longitude and latitude; type "
        "frame.set_crs('EPSG:...', allow_override=True) with the system of your map"
    )
    raise InvalidProblemError("crs", expected, _name_of(crs))


def _largest_stretch(
    meters: NDArray[np.float64],
    degrees: NDArray[np.float64],
    frame: Any,  # noqa: ANN401 - a GeoDataFrame or a GeoSeries
) -> float:
    """Compute an upper bound on the ratio of a distance in the plane to the one on the ground, over all pairs.

    `meters` and `degrees` are ``(n, 2)``. Geodesics of WGS 84 are PROJ's [Kar13]_: a microsecond for each pair. More
    than 5120 points are refused.

    `frame` is a GeoDataFrame, whose ellipsoid is used. The ratio is rounded up; 1 for a single point.
    """
    if len(meters) > DENSE_LIMIT:
        expected = f"at most {DENSE_LIMIT} points; leave plane=True out"
        raise InvalidProblemError("plane", expected, len(meters))
    geodesic, largest = frame.crs.get_geod(), 0.0
    for i in range(len(meters) - 1):
        start = np.broadcast_to(degrees[i], degrees[i + 1 :].shape)
        ground = geodesic.inv(*start.T.copy(), *degrees[i + 1 :].T.copy())[2]
        apart = np.hypot(*(meters[i + 1 :] - meters[i]).T)
        # Where points are on the ground is what the conversion says: shifts between datums are known to meters alone.
        # Projections and geodesics err by nanometers, coordinates below 1e8 meters as floats by 15 of them.
        least = np.maximum(np.asarray(ground) - 2e-6, 1e-300)
        largest = max(largest, float((apart / least).max()))
    # One point has no distance; the roundings of a distance and of a quotient are below 2^-40.
    return largest * (1 + 2.0**-40) or 1.0


def _system(source: object, geo: Mapping[str, Any]) -> object:
    """Find the coordinate system: the object's own; GeoJSON's member; and the standard's where features say nothing.

    The result is an object of the frame's library, a name, or ``None`` where it is not known.
    """
    if hasattr(source, "crs"):
        return source.crs
    stated = geo.get("crs")
    if isinstance(stated, Mapping):
        return str((stated.get("properties") or {}).get("name", ""))
    # [BDD16]_, section 4: GeoJSON is in longitude and latitude. A bare geometry of a library need not be.
    standard = geo.get("type") in {"Feature", "FeatureCollection"} or geo is source
    return "OGC:CRS84" if standard else None


def _points(geo: Mapping[str, Any], row: int = 0) -> Iterable[tuple[float, float]]:
    """Yield longitude and latitude of each point of GeoJSON; refuse another geometry, naming the row.

    `geo` is a mapping of GeoJSON, `row` the number of its feature. Each feature of a collection has exactly one
    point; InvalidProblemError otherwise.
    """
    kind = geo.get("type")
    if kind == "FeatureCollection":
        for number, feature in enumerate(geo.get("features") or ()):
            points = list(_points(feature, number))
            if len(points) != 1:
                raise _no_point(number, f"{len(points)} points")
            yield from points
    elif kind == "Feature":
        inner = geo.get("geometry")
        if not isinstance(inner, Mapping):
            raise _no_point(row, "no geometry")
        yield from _points(inner, row)
    elif kind in {"Point", "MultiPoint"}:
        coordinates = geo.get("coordinates") or ()
        for point in (coordinates,) if kind == "Point" else coordinates:
            if not isinstance(point, Sequence) or len(point) < 2:
                raise _no_point(row, "an empty point")
            yield float(point[0]), float(point[1])
    else:
        raise _no_point(row, str(kind)[:40])


def _no_point(row: int, got: str) -> InvalidProblemError:
    """Return the error for a feature that is not one point."""
    expected = "one point for each feature; type frame.representative_point() for areas and lines"
    return InvalidProblemError("points", expected, f"{got} in row {row}")
