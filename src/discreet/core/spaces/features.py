"""Places as geographic libraries give them: anything with ``__geo_interface__``, and its coordinate system.

Nothing of these libraries is imported. A GeoDataFrame, a GeoSeries, a Shapely geometry and GeoJSON [BDD16]_ all speak
the interface. A coordinate system is one of pyproj's, whose attributes are read, or a name. Coordinates are x and y in
this order there, hence longitude and latitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["has_features", "in_degrees", "read_features"]

_DEGREES = frozenset(
    {"EPSG:4326", "EPSG:4258", "EPSG:4269", "OGC:CRS84", "CRS84", "WGS84", "URN:OGC:DEF:CRS:OGC:1.3:CRS84"}
    | {"URN:OGC:DEF:CRS:EPSG::4326", "URN:OGC:DEF:CRS:OGC::CRS84"}
)  # fmt: skip
"""Names of systems in longitude and latitude that are known without pyproj."""

_FACTORS = {"km": 1000.0, "m": 1.0}
"""Meters in a unit."""

_SAY_CRS = (
    "a coordinate reference system; type frame.set_crs('EPSG:4326') for longitude and latitude, "
    "or that of your map"
)
_TO_METERS = "frame.to_crs(frame.estimate_utm_crs())"


def has_features(source: object) -> bool:
    """Tell whether something speaks the interface, or is GeoJSON.

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
    if getattr(crs, "is_geographic", False):
        return None
    axes = list(getattr(crs, "axis_info", None) or ())
    factor = float(getattr(axes[0], "unit_conversion_factor", 0) or 0) if axes else 0.0
    if not getattr(crs, "is_projected", False) or not 0 < factor < np.inf:
        expected = f"longitude and latitude, or a projected system in meters or feet: {_TO_METERS}"
        raise InvalidProblemError(field, expected, _name_of(crs))
    return factor


def _name_of(crs: object) -> str:
    return str(getattr(crs, "name", None) or type(crs).__name__)


def read_features(
    source: object, *, metric: str | None, unit: str
) -> tuple[NDArray[np.float64], str]:
    """Read points, one for each feature, and the metric that fits their coordinates.

    Parameters
    ----------
    source
        Anything for which :func:`has_features` is true.
    metric
        What the caller wants, or ``None``: great circles for longitude and latitude, else the plane.
    unit
        ``"km"`` or ``"m"``.

    Returns
    -------
    points : ndarray
        ``(n, 2)``: latitude and longitude in degrees, or x and y in `unit`.
    metric : str
        ``"haversine"``, or the metric of the plane.

    Raises
    ------
    InvalidProblemError
        For features that are no points (naming the first), a coordinate system that is missing, or a metric that does
        not fit it.

    Examples
    --------
    >>> places = {"type": "MultiPoint", "coordinates": [(12.4769, 41.8986), (12.4964, 41.9028)]}
    >>> read_features({"type": "Feature", "geometry": places}, metric=None, unit="km")[1]
    'haversine'
    """
    geo = getattr(source, "__geo_interface__", source)
    if not isinstance(geo, Mapping):
        raise InvalidProblemError("points", "a mapping from __geo_interface__", type(geo).__name__)
    points = np.array(list(_points(geo)), dtype=np.float64).reshape(-1, 2)
    factor = in_degrees(_system(source, geo))
    if factor is None:
        if metric not in {None, "haversine"}:
            expected = (
                f"'haversine' for longitude and latitude, or coordinates in meters: {_TO_METERS}"
            )
            raise InvalidProblemError("metric", expected, repr(metric))
        return points[:, ::-1].copy(), "haversine"
    if metric == "haversine":
        expected = "'euclidean' for projected coordinates, or frame.to_crs('EPSG:4326')"
        raise InvalidProblemError("metric", expected, repr(metric))
    if unit not in _FACTORS:
        raise InvalidProblemError("unit", "'km' or 'm' for coordinates on a map", repr(unit))
    return points * (factor / _FACTORS[unit]), metric or "euclidean"


def _system(source: object, geo: Mapping[str, Any]) -> object:
    """Find the coordinate system: the object's own; GeoJSON's member; and the standard's where features say nothing."""
    if hasattr(source, "crs"):
        return source.crs
    stated = geo.get("crs")
    if isinstance(stated, Mapping):
        return str((stated.get("properties") or {}).get("name", ""))
    # [BDD16]_, section 4: GeoJSON is in longitude and latitude. A bare geometry of a library need not be.
    standard = geo.get("type") in {"Feature", "FeatureCollection"} or geo is source
    return "OGC:CRS84" if standard else None


def _points(geo: Mapping[str, Any], row: int = 0) -> Iterable[tuple[float, float]]:
    kind = geo.get("type")
    if kind == "FeatureCollection":
        for number, feature in enumerate(geo.get("features") or ()):
            found = list(_points(feature, number))
            if len(found) != 1:
                raise _no_point(number, f"{len(found)} points")
            yield from found
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
    expected = "one point for each feature; type frame.representative_point() for areas and lines"
    return InvalidProblemError("points", expected, f"{got} in row {row}")
