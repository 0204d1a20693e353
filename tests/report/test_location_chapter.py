"""The chapter of a location service."""

from __future__ import annotations

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Mechanism, Region, design
from discreet.report import make_chapter


@pytest.fixture(scope="module")
def mechanism() -> Mechanism:
    region = Region.from_grid(4, 4, cell="0.5", unit="km")
    return Mechanism.from_design(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))


def test_it_says_what_is_promised_and_what_the_server_gets(mechanism: Mechanism) -> None:
    made = make_chapter("lrgeo", mechanism, place=5, size=4200, artefact="x/city.mechanism")
    assert "at most 74 times in 100" in made.body
    assert "4.2 kB" in made.body
    assert "discreet verify x/city.mechanism" in made.body
    assert mechanism.digest[:16] in made.body
    assert "Attacked" not in made.body


def test_a_place_that_is_none_is_refused(mechanism: Mechanism) -> None:
    with pytest.raises(InvalidProblemError, match="^place: "):
        make_chapter("lrgeo", mechanism, place=16)


def test_it_states_the_factor_between_the_plane_and_the_ellipsoid() -> None:
    """At the equator a degree of latitude is .56 % shorter than on the sphere of the plane."""
    region = Region.from_grid(3, 3, cell="0.5", unit="km", origin=(0.0, 103.8))
    made = Mechanism.from_design(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))
    body = make_chapter("lrgeo", made, place=4).body
    words = "d is at most 1.00562 times the geodesic of WGS 84, by which this is 2.011229 per km"
    assert words in body
    assert made.promise.endswith(words)
