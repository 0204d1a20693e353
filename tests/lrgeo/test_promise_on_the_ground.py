"""Wherever a mechanism's promise is printed, the epsilon stands there that it is by geodesics of WGS 84."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cli.commands import say
from discreet import MetricDP
from discreet.artefact import save_mechanism
from discreet.lrgeo import Mechanism, Region, design
from discreet.lrgeo.points.frame import PER_DEGREE, PointFrame
from discreet.service.operations import _facts
from discreet.service.page import _promise
from earth import geodesic

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "d is at most 1.00562 times the geodesic of WGS 84, by which this is 2.011229 per km"
SHORT = "d is at most the geodesic of WGS 84, by which this is 2 per km"


def places(latitude: float) -> Mechanism:
    region = Region.from_grid(3, 3, cell="0.5", unit="km", origin=(latitude, 103.8))
    return Mechanism.from_design(design(region, MetricDP(2, "km"), gap=0.5, scope="places"))


@pytest.mark.parametrize("latitude", [-0.01, 20.5, -41.9, 48.3, 69.6])
def test_the_law_of_every_two_places_keeps_what_is_stated_by_geodesics(latitude: float) -> None:
    made = places(latitude)
    stretch = made.region.stretch
    assert stretch is not None
    assert 1 <= stretch < Fraction("1.0057")
    sphere = [tuple(one) for one in made.region.coordinates.tolist()]
    weights = [made.channel.row(place).tolist() for place in range(9)]
    chances = [np.array(row) / sum(row) for row in weights]
    for i, j in combinations(range(9), 2):
        nats = float(np.abs(np.log(chances[i] / chances[j])).max())
        apart = geodesic(sphere[i], sphere[j])
        assert nats <= float(2 * stretch) * apart
        assert math.dist(*made.region.points[[i, j]]) <= float(stretch) * apart


def test_a_plane_that_lies_nowhere_has_no_geodesics() -> None:
    region = Region.from_grid(2, 2, cell="0.5", unit="km")
    assert region.stretch is None
    made = design(region, MetricDP(2, "km"), scope="places")
    assert made.promise == str(made.guarantee)
    assert PointFrame.plain("km").stretch(0, 10) is None


def test_commands_pages_and_views_print_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = places(0.0)
    path = tmp_path / "a.mechanism"
    save_mechanism(made, path)
    assert WORDS in say(capsys, "info", path).out
    assert say(capsys, "info", path, "--json").data["guarantee"]["sentence"].endswith(WORDS)
    assert say(capsys, "verify", path, "--report", tmp_path / "v.html").status == 0
    assert WORDS in (tmp_path / "v.html").read_text(encoding="utf-8")
    assert WORDS in _promise(made)
    assert WORDS in _facts(made.region, made, "ready")["promise"]
    shown = design(made.region, MetricDP(2, "km"), gap=0.5, scope="places")
    assert WORDS in shown._repr_html_()


def test_a_mechanism_for_every_point_is_one_of_geodesics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    region = Region.from_grid(3, 3, cell="0.5", unit="km", origin=(0.0, 103.8))
    made = design(region, MetricDP(2, "km"), method="noise").published()
    save_mechanism(made, tmp_path / "p.mechanism")
    assert SHORT in say(capsys, "info", tmp_path / "p.mechanism").out
    assert SHORT in _promise(made)


def test_a_frame_of_before_states_its_factor() -> None:
    """Its plane has great circles, which no ellipsoid shortened."""
    frame = PointFrame("km", ("0", "103.8"), PER_DEGREE, PER_DEGREE)
    stretch = frame.stretch(-100, 100)
    assert stretch is not None
    assert Fraction("1.0056") < stretch < Fraction("1.0057")
