"""Places of geographic libraries: stand-ins with the attributes that GeoPandas, Shapely and pyproj have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from discreet import InvalidProblemError, MetricSpace
from discreet.core.spaces.features import has_features, in_degrees, read_features

ROME = [(12.4769, 41.8986), (12.4964, 41.9028), (12.4534, 41.9039)]


@dataclass
class Axis:
    """As of pyproj."""

    unit_conversion_factor: float = 1.0


@dataclass
class CRS:
    """As of pyproj."""

    name: str = "WGS 84"
    is_geographic: bool = True
    is_projected: bool = False
    axis_info: list[Axis] = field(default_factory=lambda: [Axis(0.0174), Axis(0.0174)])


UTM = CRS("UTM 33N", is_geographic=False, is_projected=True, axis_info=[Axis(), Axis()])
_FOOT = Axis(0.3048006096)
FEET = CRS("US feet", is_geographic=False, is_projected=True, axis_info=[_FOOT, _FOOT])


@dataclass
class Frame:
    """As a GeoDataFrame: the interface has a feature for each row, and the system stands beside it."""

    points: list[Any]
    crs: Any = None
    kind: str = "Point"

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        rows = [
            {"type": "Feature", "geometry": {"type": self.kind, "coordinates": p} if p else None}
            for p in self.points
        ]
        return {"type": "FeatureCollection", "features": rows}


class Bare:
    """As a Shapely geometry: coordinates, and no word of what they are."""

    def __init__(self) -> None:
        self.__geo_interface__ = {"type": "MultiPoint", "coordinates": ROME}


def same(source: object, **options: Any) -> bool:
    """Whether a source gives the space of the same points as an array."""
    plain = [(y, x) for x, y in ROME]
    expected = MetricSpace.from_points(plain, metric="haversine", unit="km")
    return MetricSpace.from_points(source, unit="km", **options) == expected


def test_longitude_and_latitude_are_great_circles_in_the_right_order() -> None:
    assert same(Frame(ROME, CRS()))
    assert same(Frame(ROME, CRS()), metric="haversine")
    assert same(Frame(ROME, "EPSG:4326"))
    assert not same(Frame([(y, x) for x, y in ROME], CRS()))


@pytest.mark.parametrize(
    "source",
    [
        {"type": "MultiPoint", "coordinates": ROME},
        {"type": "Feature", "geometry": {"type": "MultiPoint", "coordinates": ROME}},
        {**Frame(ROME).__geo_interface__},
        {
            **Frame(ROME).__geo_interface__,
            "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
        },
    ],
)
def test_geojson_is_longitude_and_latitude(source: dict[str, Any]) -> None:
    assert same(source)


@pytest.mark.parametrize(("crs", "meters"), [(UTM, 1.0), (FEET, 0.3048006096)])
def test_projected_coordinates_are_read_in_the_unit_that_is_named(crs: CRS, meters: float) -> None:
    frame = Frame([(0, 0), (3000, 4000)], crs)
    for unit, factor in (("km", 1000), ("m", 1)):
        space = MetricSpace.from_points(frame, unit=unit)
        assert float(space.distance(0, 1)) == pytest.approx(5000 * meters / factor, rel=1e-9)
    assert float(
        MetricSpace.from_points(frame, metric="manhattan", unit="m").distance(0, 1)
    ) == pytest.approx(7000 * meters)


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        (Frame(ROME), {}, r"frame\.set_crs\('EPSG:4326'\)"),
        (Bare(), {}, r"frame\.set_crs\('EPSG:4326'\)"),
        (Frame(ROME, CRS()), {"metric": "euclidean"}, r"to_crs\(frame\.estimate_utm_crs\(\)\)"),
        (Frame(ROME, UTM), {"metric": "haversine"}, r"to_crs\('EPSG:4326'\)"),
        (Frame(ROME, UTM), {"unit": "miles"}, "'km' or 'm'"),
        (Frame(ROME, CRS("odd", is_geographic=False)), {}, "a projected system in meters"),
        (Frame([*ROME, None], CRS()), {}, "got no geometry in row 3"),
        (Frame(ROME, CRS(), "MultiPoint"), {}, "an empty point in row 0"),
        (Frame([ROME], CRS(), "LineString"), {}, r"representative_point\(\).*LineString in row 0"),
        (Frame([ROME], CRS(), "MultiPoint"), {}, "got 3 points in row 0"),
        (Frame([(1.0,)], CRS()), {}, "an empty point in row 0"),
        (Frame([(12.0, 95.0), (12.0, 41.0)], CRS()), {}, "in row 0"),
        ({"type": "Point", "coordinates": (1, 2), "crs": {"properties": {}}}, {}, "set_crs"),
    ],
)
def test_what_does_not_fit_is_told_with_what_to_type(
    source: object, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        MetricSpace.from_points(source, **{"unit": "km", **options})


def test_a_name_that_only_pyproj_knows_is_told_how_to_say_it() -> None:
    with pytest.raises(InvalidProblemError, match=r"pyproj\.CRS\('EPSG:32633'\), got 'EPSG:32633'"):
        in_degrees("EPSG:32633")


def test_arrays_are_no_features() -> None:
    assert not has_features(ROME)
    assert not has_features({"x": [1, 2]})
    with pytest.raises(InvalidProblemError, match="a mapping from __geo_interface__"):
        read_features(type("Odd", (), {"__geo_interface__": 3})(), metric=None, unit="km")
