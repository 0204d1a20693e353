"""Regions: integers, a plane in which nothing is farther apart than it is, snapping, what comes back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.geography import great_circle
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.plane import PlaneLengths
from discreet.lrgeo import Region, design
from discreet.lrgeo.places.plane import cosine_for, plane_to_sphere, sphere_to_plane
from discreet.lrgeo.points.verify import verify
from meta.canary import leaks

GRID = Region.from_grid(4, 5, cell="0.5", unit="km", origin=(41.88, 12.46))


@settings(max_examples=80)
@given(
    st.floats(-85, 85),
    st.floats(-180, 180),
    st.lists(st.tuples(st.floats(-2, 2), st.floats(-4, 4)), min_size=2, max_size=8, unique=True),
)
def test_nothing_is_farther_apart_in_the_plane_than_on_the_sphere(
    north: float, east: float, away: list[tuple[float, float]]
) -> None:
    sphere = np.array([(north + a, east + b) for a, b in away])
    origin = (north, east)
    cosine = cosine_for(sphere[:, 0], float(np.ptp(sphere[:, 1])))
    plane = sphere_to_plane(sphere, origin, cosine) / 10_000
    straight = np.hypot(*(plane[:, None] - plane[None, :]).transpose(2, 0, 1))
    assert (straight <= great_circle(sphere[:, None], sphere[None, :]) * (1 + 1e-12) + 1e-9).all()
    back = plane_to_sphere(plane * 10_000, origin, cosine)
    assert np.allclose(back, sphere, atol=1e-9)


def test_a_larger_cosine_would_break_that_and_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="cosine"):
        Region(GRID.places, GRID.origin, "km", None, GRID.cosine * 1.001)
    with pytest.raises(InvalidProblemError, match="cosine"):
        Region(GRID.places, None, "km", None, 0.9)


@pytest.mark.parametrize("latitude", [89.2, -90.0, 87.99999])
def test_a_region_at_a_pole_is_refused_with_what_takes_its_places(latitude: float) -> None:
    with pytest.raises(
        InvalidProblemError, match=r"from -88 to 88 .*from_points\(.*got latitudes up to"
    ):
        Region.from_grid(4, 5, cell="0.5", unit="km", origin=(latitude, 0.0))


@pytest.mark.parametrize("origin", [(84.9, 20.0), (-85.1, 179.9), (79.98, -180.0), (0.0, 359.999)])
def test_a_grid_is_laid_anywhere_up_to_85_degrees(origin: tuple[float, float]) -> None:
    region = Region.from_grid(3, 3, cell="0.5", unit="km", origin=origin)
    shown = region.coordinates
    stored = np.ldexp(region.space.distances.astype(float), -region.space.scale_bits)
    assert (stored <= great_circle(shown[:, None], shown[None, :]) + 1e-9).all()
    for index in range(region.K):
        latitude, longitude = region.where(index)
        for turned in (longitude, longitude + 360, longitude - 360):
            if -180 <= turned <= 360:
                assert region.snap((latitude, turned)) == index
    assert Region.from_dict(region.to_dict()).digest == region.digest


def test_points_near_85_degrees_are_served() -> None:
    region = Region.from_grid(3, 3, cell="0.5", unit="km", origin=(84.98, 179.95))
    made = design(region, MetricDP(2, "km"), scope="points", method="noise").published()
    assert verify(made.claimed()).passed
    assert made.find((84.985, -179.98)) == made.find((84.985, 180.02))


def test_stored_distances_are_below_great_circles() -> None:
    shown = GRID.coordinates
    stored = np.ldexp(GRID.space.distances.astype(float), -GRID.space.scale_bits)
    assert (stored <= great_circle(shown[:, None], shown[None, :]) * (1 + 1e-12)).all()


def test_grids_have_lattices_and_other_places_the_plane() -> None:
    assert isinstance(GRID.space.source, LatticeLengths)
    assert GRID.space.distance(0, 2) == 1
    odd = Region(np.array([(0, 0), (1003, 17), (7, 4100)]), None, "m")
    assert isinstance(odd.space.source, PlaneLengths)
    assert float(odd.space.distance(0, 1)) == pytest.approx(np.hypot(100.3, 1.7), rel=1e-6)
    assert np.allclose(odd.travel, np.ldexp(odd.space.distances * 1.0, -odd.space.scale_bits))


def test_a_point_is_snapped_to_its_nearest_place() -> None:
    for index in range(GRID.K):
        assert GRID.snap(GRID.where(index)) == index
    flat = Region.from_grid(2, 3, cell=200, unit="m")
    assert flat.snap((390.0, 10.0)) == 1
    assert flat.where(1) == (300.0, 100.0)
    assert flat.reach == 200
    with pytest.raises(InvalidProblemError):
        flat.where(6)


@pytest.mark.parametrize(
    "point",
    [(817_263_549.0, 1.0), (float("nan"), 0.0), (1.0,), "here", None, (1.0, 2.0, 3.0)],
)
def test_a_point_outside_is_refused_without_a_word_on_it(point: tuple[float, float]) -> None:
    with pytest.raises(InvalidProblemError, match="point"):
        GRID.snap(point)
    assert not leaks(lambda: GRID.snap(point))
    with pytest.raises(InvalidProblemError, match="point"):
        GRID.snap((41.88, 13.46))


def test_regions_come_back_from_json_and_an_altered_one_is_refused() -> None:
    data = json.loads(json.dumps(GRID.to_dict()))
    assert Region.from_dict(data).digest == GRID.digest
    data["places"][0][0] += 1
    with pytest.raises(InvalidProblemError, match="digest"):
        Region.from_dict(data)


@pytest.mark.parametrize(
    "change", [{}, {"places": 3}, {"places": [[1, 2], [3]]}, {"roads": 5}, {"origin": [1]}]
)
def test_plain_values_that_are_no_region_are_refused(change: dict[str, Any]) -> None:
    data = {**GRID.to_dict(), **change} if change else {}
    with pytest.raises(InvalidProblemError, match="^(region|roads): expected a mapping"):
        Region.from_dict(data)


def test_geojson_has_longitudes_first() -> None:
    first = GRID.geojson()["features"][0]
    assert first["geometry"]["coordinates"] == [round(x, 7) for x in GRID.where(0)[::-1]]
    flat = Region.from_grid(1, 2, cell=1, unit="km").geojson()["features"][1]
    assert flat["geometry"]["coordinates"] == [1.5, 0.5]


@pytest.mark.parametrize(
    ("places", "unit"),
    [
        ([(0, 0)], "km"),
        ([(0, 0), (0, 0)], "km"),
        ([(0.5, 0.5), (1.0, 1.0)], "km"),
        ([(0, 0), (2**30, 0)], "km"),
        ([(0, 0), (10, 0)], "mile"),
        ([0, 1], "km"),
    ],
)
def test_places_that_make_no_region_are_refused(places: list[object], unit: str) -> None:
    with pytest.raises(InvalidProblemError):
        Region(np.array(places), None, unit)


@pytest.mark.parametrize("cell", ["0.00033", 0, -1, "0.0001"])
def test_cells_that_are_no_even_decimeters_are_refused(cell: object) -> None:
    with pytest.raises(InvalidProblemError, match="cell"):
        Region.from_grid(2, 2, cell=cell, unit="km")  # type: ignore[arg-type]


def test_too_many_places_have_no_table_of_ways() -> None:
    with pytest.raises(InvalidProblemError, match="5120"):
        _ = Region.from_grid(72, 72, cell=1, unit="km").travel
