"""Mechanisms for every point of a road network: the promise along roads, its verifier, the draw, and files."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import MetricDP, compose, implies
from discreet.core.errors import CertificateError, InvalidProblemError, LimitReachedError
from discreet.core.guarantee import PointScope, RoadScope, guarantee_from_dict
from discreet.core.randomness import SeededBits
from discreet.datasets.city import made_city
from discreet.lrgeo import Region, RoadDesign, RoadMechanism, design
from discreet.lrgeo.along_roads.network import CutRoads
from discreet.lrgeo.along_roads.verify import verify


@pytest.fixture(scope="module")
def region() -> Region:
    nodes, edges = made_city(30, seed=1).tables()
    return Region.from_roads(nodes, edges, spacing="0.8", unit="km", planar=True)


@pytest.fixture(scope="module")
def made(region: Region) -> RoadDesign:
    return design(region, MetricDP(2, "km"), scope="roads", gap=0.05)


def law(made: RoadDesign, segment: int, along: Fraction) -> list[Fraction]:
    """Give the chances of all reports from a point, exactly."""
    spot = made.network.find(segment, along)
    total = sum(spot.weights) << made.bits
    rows = [made.weights[node].tolist() for node in spot.nodes]
    return [
        Fraction(spot.weights[0] * a + spot.weights[1] * b, total)
        for a, b in zip(*rows, strict=True)
    ]


def ways(network: CutRoads) -> np.ndarray:
    """Give the shortest way between any two vertices in decimeters, by Floyd and Warshall."""
    n = len(network.vertices)
    way = np.full((n, n), np.inf)
    np.fill_diagonal(way, 0)
    for (a, b), length in zip(network.segments.tolist(), network.lengths.tolist(), strict=True):
        way[a, b] = way[b, a] = min(way[a, b], length)
    for middle in range(n):
        way = np.minimum(way, way[:, [middle]] + way[[middle]])
    return way


def test_no_two_points_of_the_roads_are_told_apart_by_more_than_the_way_between_them(
    made: RoadDesign,
) -> None:
    network, rng = made.network, np.random.default_rng(4)
    way = ways(network)
    closest = 0.0
    for _ in range(1500):
        (s, t), shares = rng.integers(len(network.segments), size=2).tolist(), rng.random(2)
        if rng.random() < 0.3:
            t = s
        at = [
            Fraction(int(share * int(network.lengths[one]) * 1000), 10_000_000)
            for one, share in zip((s, t), shares.tolist(), strict=True)
        ]
        ends = []
        for one, along in zip((s, t), at, strict=True):
            offset, length = along * 10_000, int(network.lengths[one])
            a, b = network.segments[one].tolist()
            ends.append(((a, offset), (b, length - offset)))
        apart = min(
            first + second + Fraction(int(way[a, b]))
            for a, first in ends[0]
            for b, second in ends[1]
        )
        if s == t:
            apart = min(apart, abs(at[0] - at[1]) * 10_000)
        limit = float(2 * apart / 10_000)
        for p, q in zip(law(made, s, at[0]), law(made, t, at[1]), strict=True):
            ratio = abs(math.log(p) - math.log(q))
            assert ratio <= limit + 1e-12
            closest = max(closest, ratio / limit if limit > 1e-6 else 0.0)
    assert closest > 0.8


def test_what_was_designed_passes_and_says_along_the_roads(made: RoadDesign) -> None:
    assert verify(made.claimed()).passed
    assert dc.verify(made).passed
    assert dc.verify(RoadMechanism.from_design(made)).passed
    assert made.status == "gap reached"
    assert made.gap is not None
    assert made.gap <= 0.05
    assert "the way along them" in str(made.guarantee)


@pytest.mark.parametrize("change", [1, -1])
def test_one_weight_that_is_too_large_is_refused(made: RoadDesign, change: int) -> None:
    weights = made.weights.copy()
    row = int(made.network.pieces[0, 0])
    part = int(weights[row].max()) // 2
    weights[row, 0] += change * part
    weights[row, 1] -= change * part
    broken = replace(made.claimed(), weights=np.abs(weights))
    assert not verify(broken).passed


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("guarantee", MetricDP(1, "km", scope=RoadScope("0" * 64))),
        ("guarantee", MetricDP(2, "km", scope=PointScope("0" * 64))),
        ("guarantee", MetricDP(2, "km")),
        ("bits", 61),
        ("unit", "m"),
        ("n_vertices", 3),
    ],
)
def test_other_claims_are_refused(made: RoadDesign, field: str, value: object) -> None:
    changed: dict[str, Any] = {field: value}
    assert not verify(replace(made.claimed(), **changed)).passed


def test_longer_roads_and_a_smaller_epsilon_are_refused(made: RoadDesign) -> None:
    claimed = made.claimed()
    scope = claimed.guarantee.scope
    less = MetricDP("1.5", "km", scope=scope)
    assert not verify(replace(claimed, guarantee=less)).passed
    shorter = np.maximum(claimed.lengths * 2 // 3, claimed.parts)
    assert not verify(replace(claimed, lengths=shorter)).passed


@given(st.integers(1, 5000), st.integers(1, 40), st.fractions(0, 1))
@settings(max_examples=200, deadline=None)
def test_a_point_lies_between_its_nodes_where_it_should(
    length: int, parts: int, share: Fraction
) -> None:
    parts = min(parts, length)
    road = CutRoads(
        "m",
        np.array([[0, 0], [length, 0]]),
        np.array([[0, 1]]),
        np.array([length]),
        np.array([parts]),
    )
    offsets = {0: 0, 1: length}
    cuts = [i * length // parts for i in range(1, parts)]
    offsets |= {2 + number: cut for number, cut in enumerate(cuts)}
    spot = road.find(0, share * length / 10)
    a, b = spot.weights
    found = Fraction(a * offsets[spot.nodes[0]] + b * offsets[spot.nodes[1]], a + b)
    assert found == share * length
    assert math.gcd(a, b) == 1
    assert road.piece_lengths.sum() == length


def test_points_that_are_none_are_refused_in_words_that_do_not_repeat_them(
    made: RoadDesign,
) -> None:
    for segment, along in ((-1, "0"), (10**6, "0"), (0, "-0.1"), (0, "4711x"), (True, "0")):
        with pytest.raises(InvalidProblemError) as caught:
            made.network.find(segment, along)
        assert "4711" not in str(caught.value)


def test_draws_follow_the_law(made: RoadDesign) -> None:
    mechanism, bits = RoadMechanism.from_design(made), SeededBits(5)
    drawn = np.bincount([mechanism.draw(3, "0.1", bits) for _ in range(20_000)], minlength=made.K)
    wanted = np.array([float(p) for p in law(made, 3, Fraction(1, 10))])
    assert np.abs(drawn / 20_000 - wanted).max() < 0.02
    first, second = mechanism.where(0)
    assert (round(first * 10_000), round(second * 10_000)) == tuple(made.region.places[0])


def test_a_mechanism_survives_its_file_and_refuses_changes(made: RoadDesign) -> None:
    mechanism = RoadMechanism.from_design(made)
    plain = mechanism.to_dict()
    assert RoadMechanism.from_dict(plain).digest == mechanism.digest
    for name, value in (("unit", "m"), ("bits", 53), ("upper", "0.0"), ("version", 2)):
        with pytest.raises(InvalidProblemError):
            RoadMechanism.from_dict({**plain, name: value})


def test_the_promise_is_another_one_than_that_about_points(made: RoadDesign) -> None:
    guarantee = made.guarantee
    assert guarantee_from_dict(guarantee.to_dict()) == guarantee
    assert compose(guarantee, guarantee).epsilon == 4
    elsewhere = MetricDP(2, "km", scope=PointScope("0" * 64))
    with pytest.raises(InvalidProblemError):
        compose(guarantee, elsewhere)
    assert implies(guarantee, MetricDP(3, "km", scope=guarantee.scope))
    # Distances are shorter than ways: nothing follows about them, nor from them for roads of other lengths.
    assert not implies(guarantee, MetricDP(2, "km"))
    assert not implies(elsewhere, guarantee)
    assert not implies(guarantee, elsewhere)


def test_what_makes_no_sense_along_roads_is_refused(region: Region) -> None:
    grid = Region.from_grid(3, 3, cell="0.5", unit="km")
    with pytest.raises(InvalidProblemError, match="roads"):
        design(grid, MetricDP(2, "km"), scope="roads")
    wrong: tuple[dict[str, Any], ...] = ({"spacing": "0.1"}, {"method": "tails"})
    for options in wrong:
        with pytest.raises(InvalidProblemError, match="along roads"):
            design(region, MetricDP(2, "km"), scope="roads", **options)
    with pytest.raises(InvalidProblemError, match="radius"):
        design(region, MetricDP(2, "km", radius=1), scope="roads")


def test_a_gap_that_is_not_reached_is_said_with_the_design(region: Region) -> None:
    with pytest.raises(LimitReachedError) as caught:
        design(region, MetricDP(2, "km"), scope="roads", gap=1e-12, time_limit=0.5)
    best: Any = caught.value.best
    assert verify(best.claimed()).passed


def test_a_certificate_that_failed_is_no_mechanism(made: RoadDesign) -> None:
    weights = made.weights.copy()
    weights[0] = 0
    weights[0, 0] = 1 << made.bits
    failed = verify(replace(made.claimed(), weights=weights))
    with pytest.raises(CertificateError):
        failed.raise_for_failure()
    with pytest.raises(InvalidProblemError):
        RoadMechanism.from_design(replace(made, certificate=failed))
