"""A net over roads: it covers every point of them, and nothing that is far away."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.datasets.city import made_city
from discreet.lrgeo import Region, design
from discreet.lrgeo.points.verify import verify
from earth import geodesic


def city() -> Region:
    """Roads of a made city on the sphere, with places on them."""
    made = made_city(40, seed=3)
    east, north = made.points.T
    nodes = {
        "osmid": list(range(len(east))),
        "y": (41.8 + north / 111.2).tolist(),
        "x": (12.4 + east / 83.0).tolist(),
    }
    streets = {"u": made.edges[:, 0].tolist(), "v": made.edges[:, 1].tolist()}
    return Region.from_roads(nodes, streets, spacing="0.4", unit="km")


def test_a_net_over_roads_takes_every_point_of_every_road() -> None:
    region = city()
    assert region.roads is not None
    made = design(region, MetricDP(2, "km"), method="noise").published()
    assert verify(made.claimed()).passed
    ends = region.roads.vertices[region.roads.segments]
    along = np.linspace(0, 1, 5)[:, None, None]
    points = (ends[:, 0] + along * (ends[:, 1] - ends[:, 0])).reshape(-1, 2)
    sphere = region._where(points.astype(np.float64))
    for latitude, longitude in sphere.tolist():
        spot = made.find((latitude, longitude))
        assert 0 <= spot.column < made.net.cells[0]
        assert 0 <= spot.row < made.net.cells[1]
    # Roads do not lie where none is: a point two kilometers away is refused.
    beyond = sphere.max(axis=0) + 0.05
    with pytest.raises(InvalidProblemError, match="outside"):
        made.find(tuple(beyond.tolist()))


@pytest.mark.parametrize(
    ("cell", "unit", "origin", "epsilon"),
    [
        ("60", "km", (-61.0, 178.0), "0.02"),
        ("120", "km", (44.0, -100.0), "0.01"),
        (3000, "m", (69.6, 18.9), "0.0004"),
        ("20", "km", (-0.2, -78.5), "0.05"),
    ],
)
def test_the_bound_is_never_above_what_a_design_for_places_reaches(
    cell: str | int, unit: str, origin: tuple[float, float], epsilon: str
) -> None:
    """Such a design keeps the promise at distances that are no longer than those on the ground."""
    region = Region.from_grid(2, 5, cell=cell, unit=unit, origin=origin)
    promise = MetricDP(epsilon, unit)
    everywhere = design(region, promise, scope="points", gap=0.5, method="noise", throw=False)
    places = design(region, promise, scope="places", gap=0.01, throw=False)
    assert places.certificate.passed
    assert everywhere.lower is not None
    assert places.upper is not None
    assert 0.9 * places.upper < everywhere.lower <= places.upper


@pytest.mark.parametrize("latitude", [-33.0, -0.01, 1.3, 41.9, 69.6])
def test_no_two_points_are_farther_apart_in_the_plane_than_on_the_ground(latitude: float) -> None:
    """At the equator a degree of latitude is .56 % shorter than on a sphere of the mean radius."""
    region = Region.from_grid(4, 3, cell="0.8", unit="km", origin=(latitude, 179.99))
    made = design(region, MetricDP(2, "km"), scope="points", method="noise").published()
    assert verify(made.claimed()).passed
    rng = np.random.default_rng(4)
    points = region.coordinates[:1] + rng.uniform(-0.005, 0.03, (30, 2))
    plane = [[float(x) / 10_000 for x in made.frame.plane(p)] for p in points.tolist()]
    ratios = [
        math.dist(plane[i], plane[j]) / geodesic(*(tuple(p) for p in points[[i, j]].tolist()))
        for i in range(30)
        for j in range(i)
    ]
    assert 0.99 < max(ratios) <= 1
