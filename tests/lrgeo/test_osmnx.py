"""Street networks as OSMnx gives them: a stand-in with the interface of networkx."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import InvalidProblemError
from discreet.datasets.city import made_city
from discreet.lrgeo import Region
from discreet.lrgeo.places.osmnx import street_tables


class Graph:
    """As ``networkx.MultiDiGraph``: nodes, edges with data, a dictionary of the graph, and whether it is directed."""

    def __init__(
        self, nodes: dict[int, dict[str, Any]], edges: list[tuple[int, int, dict[str, Any]]]
    ) -> None:
        self.held, self.drawn = nodes, edges
        self.graph: dict[str, Any] = {"crs": "EPSG:4326"}
        self.directed = True

    def is_directed(self) -> bool:
        return self.directed

    def nodes(self, *, data: bool) -> list[tuple[int, dict[str, Any]]]:
        assert data
        return list(self.held.items())

    def edges(self, *, data: bool) -> list[tuple[int, int, dict[str, Any]]]:
        assert data
        return self.drawn


CORNERS = {1: {"y": 41.89, "x": 12.47}, 2: {"y": 41.90, "x": 12.47}, 3: {"y": 41.90, "x": 12.48}}


def square() -> Graph:
    """Make three corners: one street both ways, two one-way."""
    streets: list[tuple[int, int, dict[str, Any]]] = [
        (1, 2, {"length": 1112.0, "oneway": False}),
        (2, 1, {"length": 1112.0, "oneway": False, "reversed": True}),
        (2, 3, {"length": 828.0, "oneway": True}),
        (3, 1, {"length": 1386.0, "oneway": [True, False]}),
    ]
    return Graph(CORNERS, streets)


def test_a_street_is_open_both_ways_where_the_graph_has_an_edge_each_way() -> None:
    nodes, edges = street_tables(square())
    assert [node["osmid"] for node in nodes] == [1, 2, 3]
    assert [edge["oneway"] for edge in edges] == [False, False, True, True]


def test_the_region_is_that_of_the_tables() -> None:
    made = Region.from_osmnx(square(), spacing="0.4")
    streets = {
        "u": [1, 2, 3],
        "v": [2, 3, 1],
        "length": [1112, 828, 1386],
        "oneway": [False, True, True],
    }
    corners = {"osmid": [1, 2, 3], "y": [41.89, 41.90, 41.90], "x": [12.47, 12.47, 12.48]}
    assert made.digest == Region.from_roads(corners, streets, spacing="0.4").digest
    assert (
        made.travel.tolist() == Region.from_roads(corners, streets, spacing="0.4").travel.tolist()
    )


def test_directions_of_different_length_are_two_streets() -> None:
    graph = square()
    graph.drawn[1][2]["length"] = 1500.0
    assert [edge["oneway"] for edge in street_tables(graph)[1]] == [True, True, True, True]


def test_an_undirected_graph_has_no_one_way_streets() -> None:
    graph = square()
    graph.directed = False
    assert not any(edge["oneway"] for edge in street_tables(graph)[1])


def test_a_region_goes_back_as_features() -> None:
    made = Region.from_osmnx(square(), spacing="0.4")
    assert made.__geo_interface__ == made.geojson()
    assert made.__geo_interface__["features"][0]["geometry"]["type"] == "Point"


@pytest.mark.parametrize(
    ("crs", "said"),
    [
        (None, r"type graph\.graph\['crs'\] = 'EPSG:4326'"),
        (
            type(
                "UTM",
                (),
                {
                    "is_geographic": False,
                    "is_projected": True,
                    "axis_info": [type("Axis", (), {"unit_conversion_factor": 1.0})()],
                },
            )(),
            r"osmnx\.project_graph\(graph, to_crs='EPSG:4326'\)",
        ),
    ],
)
def test_a_graph_in_meters_or_in_nothing_is_told_what_to_type(crs: object, said: str) -> None:
    graph = square()
    graph.graph["crs"] = crs
    with pytest.raises(InvalidProblemError, match=said):
        Region.from_osmnx(graph, spacing="0.4")


def test_something_else_is_no_graph() -> None:
    with pytest.raises(InvalidProblemError, match="graph_from_place.*got list"):
        Region.from_osmnx(list(made_city(60, seed=1).tables()), spacing="0.4")
