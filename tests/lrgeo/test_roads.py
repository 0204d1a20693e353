"""Road networks: the tables people have, one-way streets, the largest part, places on the roads."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.datasets.city import made_city
from discreet.lrgeo import Region, Roads

NODES: dict[str, list[Any]] = {
    "osmid": [1, 2, 3, 4, 5],
    "y": [41.89, 41.90, 41.90, 41.89, 45.0],
    "x": [12.47, 12.47, 12.48, 12.48, 9.0],
}
EDGES: dict[str, list[Any]] = {
    "u": [1, 2, 3, 4, 1, 9],
    "v": [2, 3, 4, 1, 5, 1],
    "oneway": [True, True, True, True, True, False],
    "length": [1200.0, 900.0, 1112.0, 830.0, 5.0, 1.0],
}


def records(table: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


class Frame:
    """What GeoPandas offers of a frame."""

    def __init__(self, features: list[dict[str, Any]]) -> None:
        self.__geo_interface__ = {"type": "FeatureCollection", "features": features}


def test_one_way_streets_make_ways_longer_and_dead_ends_fall_away() -> None:
    region = Region.from_roads(NODES, EDGES, spacing="0.3")
    whole = 1.2 + 0.9 + 1.112 + 0.83
    there_and_back = region.travel + region.travel.T
    apart = ~np.eye(region.K, dtype=bool)
    assert np.allclose(there_and_back[apart], whole, atol=1e-3)
    assert region.coordinates[:, 0].max() < 42


def test_tables_of_osmnx_have_ends_and_names_in_their_index() -> None:
    """As ``osmnx.graph_to_gdfs`` gives them, where ``osmid`` of an edge is that of its street."""
    pd = pytest.importorskip("pandas")

    nodes = pd.DataFrame(NODES).set_index("osmid")
    streets = pd.DataFrame(EDGES | {"key": 0, "osmid": [[7, 8], 9, 9, 10, 11, 12]})
    edges = streets.set_index(["u", "v", "key"])
    expected = Region.from_roads(NODES, EDGES, spacing="0.3")
    assert Region.from_roads(nodes, edges, spacing="0.3").digest == expected.digest
    both = edges.assign(u=EDGES["u"])
    assert Region.from_roads(nodes, both, spacing="0.3").digest == expected.digest
    geopandas = pytest.importorskip("geopandas")
    points = geopandas.points_from_xy(nodes["x"], nodes["y"])
    nodes = geopandas.GeoDataFrame(nodes, geometry=points, crs=4326)
    assert Region.from_roads(nodes, edges, spacing="0.3").digest == expected.digest


def test_roads_across_the_180th_meridian_are_those_of_another_meridian() -> None:
    here = Region.from_roads(NODES, EDGES, spacing="0.3")
    turned = NODES | {"x": [(x + 167.525 + 180) % 360 - 180 for x in NODES["x"]]}
    assert min(turned["x"]) < -179 < 179 < max(turned["x"])
    there = Region.from_roads(turned, EDGES, spacing="0.3")
    assert there.K == here.K
    assert np.allclose(there.travel, here.travel, atol=1e-3)
    mixed = NODES | {"x": [12.47, 12.47, 12.48, -347.52 + 360, 190.0]}
    with pytest.raises(InvalidProblemError, match="longitudes all in"):
        Region.from_roads(mixed | {"x": [*mixed["x"][:2], -12.0, 190.0, 9.0]}, EDGES, spacing="0.3")


def test_the_same_region_whatever_holds_the_tables() -> None:
    import polars as pl

    expected = Region.from_roads(NODES, EDGES, spacing="0.3")
    text = {name: [str(x) for x in column] for name, column in EDGES.items()}
    points = [
        {
            "type": "Feature",
            "properties": {"osmid": name},
            "geometry": {"type": "Point", "coordinates": [x, y]},
        }
        for name, y, x in zip(*NODES.values(), strict=True)
    ]
    for nodes, edges in [
        (records(NODES), records(EDGES)),
        (pl.DataFrame(NODES), pl.DataFrame(EDGES)),
        (NODES, text),
        (Frame(points), records(EDGES)),
    ]:
        assert Region.from_roads(nodes, edges, spacing="0.3").digest == expected.digest


def test_courses_are_followed_and_do_without_nodes() -> None:
    bent = "LINESTRING (12.47 41.89, 12.475 41.893, 12.47 41.90)"
    table = {"u": [1, 2], "v": [2, 1], "oneway": [True, True], "geometry": [bent, ""]}
    region = Region.from_roads(NODES, table, spacing="0.2")
    assert region.coordinates[:, 1].max() > 12.474
    line = {
        "type": "LineString",
        "coordinates": [[12.47, 41.89], [12.475, 41.893], [12.47, 41.90]],
    }
    features = [{"type": "Feature", "properties": {"oneway": False}, "geometry": line}]
    assert Region.from_roads(None, Frame(features), spacing="0.2").K >= 4


def test_a_made_city_keeps_its_ways() -> None:
    """Ways between junctions that are places are those of the city itself."""
    city = made_city(80, seed=3)
    region = Region.from_roads(*city.tables(), spacing="0.3", planar=True)
    assert region.origin is None
    way = city.travel(directed=True)
    junctions = {
        tuple(p): i for i, p in enumerate(np.rint(city.points * 10_000).astype(int).tolist())
    }
    known = [
        (k, junctions[tuple(p)])
        for k, p in enumerate(region.places.tolist())
        if tuple(p) in junctions
    ]
    assert len(known) >= 2
    for i, a in known:
        for k, b in known:
            assert region.travel[i, k] == pytest.approx(way[a, b], abs=2e-3)
    near = np.sort(np.hypot(*(region.points[:, None] - region.points).transpose(2, 0, 1)), axis=1)
    assert near[:, 1].min() >= 0.15 - 1e-3


def test_regions_with_roads_come_back_from_json_and_are_drawn() -> None:
    region = Region.from_roads(NODES, EDGES, spacing="0.3")
    back = Region.from_dict(json.loads(json.dumps(region.to_dict())))
    assert np.allclose(back.travel, region.travel, atol=1e-3)
    kinds = [feature["geometry"]["type"] for feature in region.geojson()["features"]]
    assert kinds == ["Point"] * region.K + ["MultiLineString"] * 2


def test_roads_with_stops_at_other_places_are_refused() -> None:
    stated = Region.from_roads(NODES, EDGES, spacing="0.3").to_dict()
    for stops in (stated["roads"]["stops"][1:], stated["roads"]["stops"][::-1]):
        with pytest.raises(InvalidProblemError, match="roads: expected stops that are the places"):
            Region.from_dict({**stated, "roads": {**stated["roads"], "stops": stops}})


def without(table: dict[str, list[Any]], name: str) -> dict[str, list[Any]]:
    return {key: column for key, column in table.items() if key != name}


@pytest.mark.parametrize(
    ("nodes", "edges", "more"),
    [
        (without(NODES, "x"), EDGES, {}),
        (NODES, without(EDGES, "u"), {}),
        (NODES, {**EDGES, "u": [7] * 6}, {}),
        (NODES, {**EDGES, "length": [-1.0] * 6}, {}),
        (NODES, {**EDGES, "oneway": ["maybe"] * 6}, {}),
        (NODES, {**EDGES, "oneway": ["-1"] * 6}, {}),
        (NODES, {**EDGES, "u": [1]}, {}),
        (NODES, {"u": [1], "v": [2], "oneway": [True]}, {}),
        (NODES, {"u": [1], "v": [1]}, {}),
        (NODES, {**EDGES, "geometry": ["POINT (1 2)"] * 6}, {}),
        (None, without(EDGES, "geometry"), {}),
        (42, EDGES, {}),
        (NODES, EDGES, {"spacing": 50}),
        (NODES, EDGES, {"spacing": "0.0001"}),
        (NODES, EDGES, {"origin": (41.89, 12.47), "planar": True}),
        ({**NODES, "y": [141.0] * 5}, EDGES, {}),
    ],
)
def test_tables_that_are_no_roads_are_refused(nodes: object, edges: object, more: Any) -> None:
    with pytest.raises(InvalidProblemError):
        Region.from_roads(nodes, edges, **{"spacing": "0.3", **more})


def test_roads_that_do_not_fit_together_are_refused() -> None:
    good = Roads(
        np.array([(0, 0), (10, 0)]),
        np.array([(0, 1)]),
        np.array([10.0]),
        np.array([True]),
        np.array([0, 1]),
    )
    with pytest.raises(InvalidProblemError, match="way"):
        good.travel("km")
    for more in [
        {"segments": np.array([(0, 5)])},
        {"lengths": np.array([np.nan])},
        {"one_way": np.array([True, False])},
    ]:
        with pytest.raises(InvalidProblemError):
            Roads(**{**vars(good), **more})
