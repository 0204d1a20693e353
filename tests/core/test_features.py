"""Places of geographic libraries: stand-ins with attributes of GeoPandas, Shapely and pyproj, and GeoPandas itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from crs_frames import CRS, FEET, GRADS, MERCATOR, SITE, UTM, Converting, Frame
from discreet import InvalidProblemError, MetricSpace
from discreet.core.spaces.features import (
    check_names,
    coordinate_columns,
    has_features,
    in_degrees,
    read_features,
)
from earth import geodesic, to_mercator

ROME = [(12.4769, 41.8986), (12.4964, 41.9028), (12.4534, 41.9039)]


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


def test_a_projected_frame_is_measured_on_the_ground() -> None:
    """Mercator doubles distances in Lofoten and nearly triples them in Svalbard."""
    for latitude in (0.3, 41.9, 68.2, 78.2):
        globe = [(15.6, latitude), (15.7, latitude), (15.6, latitude + 0.03)]
        frame = Converting([to_mercator(*p) for p in globe], MERCATOR)
        space = MetricSpace.from_points(frame, unit="m")
        assert space.metric == "haversine"
        for i, j in ((0, 1), (0, 2), (1, 2)):
            ground = 1000 * geodesic(globe[i][::-1], globe[j][::-1])
            assert float(space.distance(i, j)) == pytest.approx(ground, rel=0.01)


def test_grads_are_no_degrees() -> None:
    globe = [(2.35, 48.85), (2.40, 48.90), (2.30, 48.80)]
    frame = Converting([(x / 0.9, y / 0.9) for x, y in globe], GRADS)
    expected = MetricSpace.from_points(Frame(globe, CRS()), unit="km")
    space = MetricSpace.from_points(frame, unit="km")
    assert float(space.distance(0, 1)) == pytest.approx(float(expected.distance(0, 1)), rel=1e-9)
    with pytest.raises(InvalidProblemError, match=r"in degrees; type frame\.to_crs"):
        MetricSpace.from_points(Frame(globe, GRADS), unit="km")


@pytest.mark.parametrize("factor", [0.99, 1.0, 1.0009])
@pytest.mark.parametrize("metric", [None, "manhattan"])
def test_a_plane_that_is_kept_is_never_longer_than_the_ground(
    factor: float, metric: str | None
) -> None:
    """At the equator the scale of Mercator is 1 eastwards and 1.0067 northwards, so that places lie on a line."""
    globe = [(36.8, 0.0), (36.81, 0.0), (36.95, 0.0), (37.3, 0.0)]
    plane = [(factor * x, factor * y) for x, y in (to_mercator(*p) for p in globe)]
    frame = Converting(plane, MERCATOR, factor=factor)
    space = MetricSpace.from_points(frame, unit="km", metric=metric, plane=True)
    assert space.metric == (metric or "euclidean")
    for i in range(4):
        for j in range(i):
            ground = geodesic(globe[i][::-1], globe[j][::-1])
            assert (1 - 1e-7) * ground < float(space.distance(i, j)) <= ground


def test_a_plane_that_is_longer_than_the_ground_is_refused() -> None:
    frame = Converting([to_mercator(24.94, 60.17), to_mercator(24.95, 60.17)], MERCATOR)
    with pytest.raises(
        InvalidProblemError, match=r"at most 1\.001 times .*estimate_utm_crs.*up to 2\."
    ) as said:
        MetricSpace.from_points(frame, unit="km", plane=True)
    assert "2.01" not in str(said.value)  # Rounded up: 2.0038.
    many = Converting([(float(x), 0.0) for x in range(5121)], MERCATOR)
    with pytest.raises(InvalidProblemError, match="at most 5120 points"):
        MetricSpace.from_points(many, unit="km", plane=True)


def test_frames_of_geopandas_are_measured_on_the_ground() -> None:
    geopandas = pytest.importorskip("geopandas")
    globe = [(-122.42, 37.77), (-122.40, 37.79), (-122.45, 37.75), (-122.40, 37.80)]
    frame = geopandas.GeoDataFrame(
        geometry=geopandas.points_from_xy(*zip(*globe, strict=True)), crs=4326
    )
    pairs = [(i, j) for i in range(4) for j in range(i)]
    ground = [geodesic(globe[i][::-1], globe[j][::-1]) for i, j in pairs]
    for crs in (3857, 3395, 4087, 32610, 2227, 3035, 4269, 4807, "ESRI:54030"):
        space = MetricSpace.from_points(frame.to_crs(crs), unit="km")
        ratios = [float(space.distance(*pair)) / d for pair, d in zip(pairs, ground, strict=True)]
        assert 0.99 < min(ratios) <= max(ratios) < 1.001, crs
    kept = MetricSpace.from_points(frame.to_crs(32610), unit="km", plane=True)
    ratios = [float(kept.distance(*pair)) / d for pair, d in zip(pairs, ground, strict=True)]
    assert 0.9999 < min(ratios) <= max(ratios) <= 1
    site = 'LOCAL_CS["site",UNIT["metre",1]]'
    with pytest.raises(InvalidProblemError, match="that pyproj converts"):
        MetricSpace.from_points(frame.set_crs(site, allow_override=True), unit="km")
    with pytest.raises(InvalidProblemError, match=r"the area of the coordinate system .* in row 1"):
        MetricSpace.from_points(
            geopandas.GeoSeries.from_xy([0, 1e30], [0, 1e30], crs=32633), unit="km"
        )


def test_columns_named_like_degrees_are_no_lengths_in_any_frame() -> None:
    data = {"stop_lat": [45.50, 45.51, 45.53], "stop_lon": [-73.57, -73.56, -73.60]}
    expected = MetricSpace.from_points(
        list(zip(*data.values(), strict=True)), metric="haversine", unit="km"
    )
    for frame in (pl.DataFrame(data), pa.table(data)):
        for metric in (None, "euclidean", "manhattan"):
            with pytest.raises(InvalidProblemError, match=r"metric='haversine'.*plane=True"):
                MetricSpace.from_points(frame, metric=metric, unit="km")
        assert MetricSpace.from_points(frame, metric="haversine", unit="km") == expected
        turned = frame.select(list(data)[::-1])
        with pytest.raises(InvalidProblemError, match="the latitude before the longitude"):
            MetricSpace.from_points(turned, metric="haversine", unit="km")
        flat = MetricSpace.from_points(frame, unit="km", plane=True)
        assert flat.metric == "euclidean"
        assert MetricSpace.from_points(frame, unit="degrees") != flat


@pytest.mark.parametrize(
    "names",
    [
        ("lat", "lng"),
        ("LATITUDE", "LONGITUDE"),
        ("startLat", "startLon"),
        ("y_lat", "x_long"),
        ("pickuplatitude", "pickuplongitude"),
        ("latitudine", "longitudine"),
        ("Breitengrad", "Längengrad"),
    ],
)
def test_names_of_degrees_are_found_by_their_words(names: tuple[str, str]) -> None:
    assert coordinate_columns(["id", *names]) == ([names[1]], [names[0]])
    with pytest.raises(InvalidProblemError, match="haversine for the degrees"):
        check_names(names, metric=None, unit="km", plane=False)


def test_other_names_are_no_degrees() -> None:
    for names in (("x", "y"), ("flat", "along"), ("lat", "y"), ("belong", "plateau"), ()):
        check_names(names, metric=None, unit="km", plane=False)


def test_longitudes_of_two_conventions_are_refused_and_each_one_is_taken() -> None:
    """Suva to Taveuni, across the 180th meridian."""
    one = [(-18.1, 178.4), (-16.8, -179.97)]
    two = [(-18.1, 178.4), (-16.8, 180.03)]
    spaces = [MetricSpace.from_points(p, metric="haversine", unit="km") for p in (one, two)]
    assert float(spaces[0].distance(0, 1)) == pytest.approx(float(spaces[1].distance(0, 1)))
    assert float(spaces[0].distance(0, 1)) == pytest.approx(geodesic(*one), rel=0.01)
    with pytest.raises(
        InvalidProblemError,
        match=r"type longitude % 360, got -179\.97 in row 1 and 180\.03 in row 2",
    ):
        MetricSpace.from_points([*one, two[1]], metric="haversine", unit="km")


def test_poles_are_one_place_each() -> None:
    points = [(90.0, 0.0), (90.0, 120.0), (-90.0, 7.0), (89.0, 50.0)]
    space = MetricSpace.from_points(points, metric="haversine", unit="km")
    assert space.distance(0, 1) == 0
    assert space.distance(0, 3) == space.distance(1, 3)
    assert np.isfinite(space.distances).all()


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        (Frame(ROME), {}, r"frame\.set_crs\('EPSG:4326'\)"),
        (Bare(), {}, r"frame\.set_crs\('EPSG:4326'\)"),
        (Frame(ROME, CRS()), {"metric": "euclidean"}, r"to_crs\(frame\.estimate_utm_crs\(\)\)"),
        (Frame(ROME, UTM), {"metric": "haversine"}, r"to_crs\('EPSG:4326'\)"),
        (
            Frame(ROME, FEET),
            {},
            r"or a GeoDataFrame; type frame\.to_crs\('EPSG:4326'\), got US feet",
        ),
        (Frame(ROME, UTM), {"unit": "miles"}, "'km' or 'm'"),
        (Frame(ROME, CRS("odd", is_geographic=False)), {}, r"in degrees; type .*, got odd"),
        (Converting(ROME, SITE), {}, r"that pyproj converts .*allow_override=True\).*got site"),
        (Converting(ROME, CRS("odd", is_geographic=False)), {}, "that pyproj converts"),
        (Converting(ROME), {}, r"frame\.set_crs\('EPSG:4326'\)"),
        (Converting([(math.inf, math.inf)], MERCATOR), {}, "the area of .* one outside in row 0"),
        (Frame(ROME, CRS()), {"plane": True}, r"projected coordinates; type .*estimate_utm_crs"),
        (
            Converting(ROME, MERCATOR),
            {"metric": "haversine", "plane": True},
            "plane: expected False",
        ),
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
