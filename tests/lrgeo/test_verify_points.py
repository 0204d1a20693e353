"""The claims that the verifiers of both forms of mechanisms for every point check alike, and the forms they verify."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lattices
import noises
from discreet.artefact import load_points
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, Scope
from discreet.lrgeo import Region, design
from discreet.lrgeo.mechanism import canonical
from discreet.lrgeo.points.noise import NoiseMechanism
from discreet.lrgeo.points.table import LatticeMechanism
from discreet.lrgeo.points.verify import verify
from discreet.lrgeo.points.verify_noise import ClaimedNoise

if TYPE_CHECKING:
    from pathlib import Path

KM = 10_000 << 20
"""The factor of a plane whose unit is the kilometer: its decimeters, times 2^20."""

NORTH = 1_165_964_924_509
"""Decimeters in a degree of latitude, times 2^20, rounded down."""


def cell(**changes: Any) -> ClaimedNoise:
    """Noise on one cell of 250 m, at 1 per km; the region that its guarantee names follows from the changes."""
    small = noises.Small((1, 1), (3, 4), Fraction(1), **changes)
    made: ClaimedNoise = NoiseMechanism.from_dict(
        json.loads(noises.sealed(small.parts()))
    ).claimed()
    return made


def failed(claim: ClaimedNoise) -> set[str]:
    return {check.name for check in verify(claim).checks if not check.passed}


def test_what_the_claim_says_besides_is_compared() -> None:
    right = cell()
    assert not failed(right)
    assert failed(replace(right, guarantee=MetricDP(1, "km"))) == {"another region than stated"}
    of_places = MetricDP(1, "km", scope=Scope("0" * 64, 4, None, 1))
    assert "another region than stated" in failed(replace(right, guarantee=of_places))
    assert "another region than stated" in failed(replace(right, reach=101))
    near = MetricDP(1, "km", radius=1)
    assert "facts misstated in the claim" in failed(replace(right, guarantee=near))
    # The same number per meter is a weaker promise, and another one than the file's unit says.
    assert "facts misstated in the claim" in failed(replace(right, guarantee=MetricDP(1, "m")))
    assert "distances longer in the plane" in failed(replace(right, factors=(KM, KM + 1)))


@pytest.mark.parametrize(
    ("origin", "east", "flat"),
    [
        (("0", "0"), NORTH - (1 << 22), True),
        (("0", "0"), NORTH, False),
        (("60", "10"), NORTH // 2 - (1 << 28), True),
        (("60", "10"), NORTH // 2, False),
        (("71", "10"), NORTH // 4, True),
        (("71", "10"), NORTH // 3, False),
        (("88.1", "10"), NORTH // 99, False),
        (("0", "0"), 200, False),
    ],
)
def test_the_plane_is_nowhere_longer_than_the_sphere(
    origin: tuple[str, str], east: int, *, flat: bool
) -> None:
    """A degree of longitude is narrower by the cosine of the latitude: half as wide at 60 degrees, and less above."""
    found = failed(cell(origin=origin, east=east, reach=100))
    assert found == (set() if flat else {"distances longer in the plane"})


def test_a_degree_of_latitude_is_not_longer_than_the_sphere_has_it() -> None:
    right = cell(origin=("60", "10"), east=NORTH // 2 - (1 << 28), reach=100)
    longer = replace(right, factors=(right.factors[0], NORTH + 1))
    assert "distances longer in the plane" in failed(longer)


def test_a_region_on_the_sphere_keeps_great_circles_longer() -> None:
    region = Region.from_grid(3, 3, cell="2", unit="km", origin=(62.0, 179.98))
    made = design(region, MetricDP("0.5", "km"), method="noise", spacing="1")
    frame, reach = made.frame, made.net.reach
    rng, radius = np.random.default_rng(1), 63_710_088.0
    low, high = made.net.box
    assert verify(made.claimed()).passed
    wider = replace(made.claimed(), factors=(frame.east + 10**9, frame.north))
    assert "distances longer in the plane" in {
        check.name for check in verify(wider).checks if not check.passed
    }
    ends = []
    for _ in range(400):
        plane = rng.uniform(np.array(low) - reach, np.array(high) + reach)
        lat = 62.0 + plane[1] * 2**20 / frame.north
        lon = (179.98 + plane[0] * 2**20 / frame.east + 180) % 360 - 180
        ends.append((repr(float(lat)), repr(float(lon))))
    for p, q in itertools.pairwise(ends):
        (x, y), (u, v) = (tuple(map(float, frame.plane(point))) for point in (p, q))
        (a, b), (c, d) = (tuple(math.radians(float(one)) for one in point) for point in (p, q))
        half = math.sin((a - c) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((b - d) / 2) ** 2
        sphere = 2 * radius * math.asin(math.sqrt(half))
        assert math.hypot(x - u, y - v) <= sphere * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["noise", "table"])
def test_forms_on_a_lattice_have_verifiers_of_their_own(kind: str) -> None:
    small = noises.Small((1, 1), (3, 4), Fraction(1))
    small_table = lattices.Small(small)
    files = {"noise": noises.sealed(small.parts()), "table": noises.sealed(small_table.parts())}
    forms: dict[str, Any] = {"noise": NoiseMechanism, "table": LatticeMechanism}
    claimed = forms[kind].from_dict(json.loads(files[kind])).claimed()
    assert verify(claimed).passed
    less = replace(claimed.guarantee, epsilon=Fraction(1, 100))
    assert not verify(replace(claimed, guarantee=less)).passed


@pytest.mark.parametrize("form", ["discreet.lrgeo.points", "discreet.lrgeo.roads"])
def test_a_form_that_was_never_released_is_refused_with_what_to_do(
    form: str, tmp_path: Path
) -> None:
    path = tmp_path / "old.mechanism"
    path.write_bytes(canonical({"form": form, "version": 1}) + b"\n")
    with pytest.raises(InvalidProblemError, match="never released: design it anew"):
        load_points(path)
