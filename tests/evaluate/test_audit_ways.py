"""The judge of pairs of points along roads: against laws in fractions, and mechanisms that break their promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import roadways
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.evaluate.audit.borders import audit_laws_of_points
from discreet.evaluate.audit.points import count_broken, exceeds
from discreet.evaluate.audit.request import AuditRequest
from discreet.evaluate.audit.ways import (
    RoadLaws,
    RoadPairs,
    near_road_pairs,
    random_road_pairs,
)
from discreet.evaluate.simulate.borders import audit_points

CLAIM = MetricDP(3, "km")


@cache
def laws(name: str = "a square with an arm") -> RoadLaws:
    small = roadways.KINDS[name]
    segments, lengths, parts = map(np.array, (small.segments, small.lengths, small.parts))
    weights = np.array(small.weights()).reshape(-1, len(small.reports))
    per = {"km": 10_000, "m": 10}[small.unit]
    return RoadLaws(small.vertices, segments, lengths, parts, weights, small.epsilon / per)


def slowly(tried: RoadLaws, pairs: RoadPairs) -> int:
    """Count by laws in fractions alone."""
    broken = 0
    for at in range(len(pairs)):
        (law, (x, _)), (other, (u, _)) = tried.exactly(pairs, at)
        squared = tried.epsilon**2 * (x - u) ** 2
        ratios = [max(a, b) / min(a, b) for a, b in zip(law, other, strict=True)]
        broken += any(ratio > 1 and (not squared or exceeds(ratio, squared)) for ratio in ratios)
    return broken


@pytest.mark.parametrize("name", roadways.KINDS)
def test_ways_are_those_of_floyd_and_warshall(name: str) -> None:
    way, tried = roadways.KINDS[name].ways(), laws(name)
    n = tried.vertices
    found = np.where(tried.ways < 1 << 42, tried.ways, np.inf)
    assert (found == np.array(way)[:n, :n]).all()
    # From a node to a node, and within a part, as ways between nodes say.
    marks = tried.marks.tolist()
    at = [(part, end) for part in range(len(marks)) for end in (0, 1)]
    both = [(one, other) for one in at for other in at]
    columns = [np.array([pair[i][j] for pair in both]) for i in (0, 1) for j in (0, 1)]
    pairs = RoadPairs(columns[0], columns[1], columns[2], columns[3], 0, "ends of parts")
    apart = tried.apart(pairs, slice(None)).tolist()
    for ((part, end), (other, stop)), far in zip(both, apart, strict=True):
        expected = way[marks[part][3 + end]][marks[other][3 + stop]]
        assert far == expected or (far >= 1 << 42 and expected == np.inf)


@pytest.mark.parametrize("name", roadways.KINDS)
def test_sound_rows_pass_everywhere(name: str) -> None:
    tried = laws(name)
    for pairs in (random_road_pairs(tried, 2_000), near_road_pairs(tried, 500)):
        found = count_broken(tried, pairs)
        assert (found.pairs, found.violated) == (len(pairs), 0)
        assert 0.3 < found.worst <= 1 or name == "one report"


def test_what_is_counted_is_what_fractions_count() -> None:
    """With a lower epsilon some pairs break the promise, and others do not."""
    tried = laws()
    worst = count_broken(tried, random_road_pairs(tried, 2_000)).worst
    less = replace(tried, epsilon=tried.epsilon * Fraction(worst) * Fraction(8, 10))
    for pairs in (random_road_pairs(less, 120, seed=4), near_road_pairs(less, 120, seed=5)):
        assert 0 < count_broken(less, pairs).violated == slowly(less, pairs) < 120


def test_one_weight_that_is_moved_is_found_by_pairs() -> None:
    weights = laws().weights.copy()
    moved = int(weights[7, 0]) // 2
    weights[7, 0] -= moved
    weights[7, 1] += moved
    broken = replace(laws(), weights=weights)
    assert count_broken(broken, random_road_pairs(broken, 1_000)).violated
    assert count_broken(broken, near_road_pairs(broken, 1_000)).violated


def test_roads_that_no_way_joins_are_not_compared() -> None:
    """One network gives one report, the other another one: nothing is promised between them."""
    weights = np.array([[16, 0], [16, 0], [0, 16], [0, 16], [16, 0], [0, 16]])
    apart = replace(laws("two networks"), weights=weights)
    assert count_broken(apart, random_road_pairs(apart, 300)).violated == 0
    weights[1] = [15, 1]
    assert count_broken(replace(apart, weights=weights), random_road_pairs(apart, 300)).violated


def test_an_audit_rejects_a_stronger_claim_and_says_where() -> None:
    assert not audit_laws_of_points(laws(), CLAIM, 2_000).rejected
    less = replace(laws(), epsilon=laws().epsilon / 3)
    rejected = audit_laws_of_points(less, MetricDP(1, "km"), 2_000)
    assert rejected.rejected
    assert "(decimeters, piece)" in str(rejected)


def test_what_cannot_be_judged_is_refused() -> None:
    tried = laws()
    wrong: tuple[tuple[str, Any], ...] = (
        ("vertices", 4),
        ("vertices", 6000),
        ("segments", tried.segments[:, :1]),
        ("lengths", tried.lengths - 901),
        ("lengths", tried.lengths * 2**40),
        ("parts", tried.parts - 1),
        ("weights", -tried.weights),
        ("weights", tried.weights[:-1]),
        ("weights", tried.weights + np.eye(9, 3, dtype=np.int64)),
    )
    for name, value in wrong:
        changed: dict[str, Any] = {name: value}
        with pytest.raises(InvalidProblemError):
            replace(tried, **changed)


def test_the_design_for_roads_is_audited_by_name() -> None:
    found = audit_points(AuditRequest("along-roads", points=400))
    assert not found.rejected
    assert "the way along them" in str(found.guarantee)
    assert found.lower > 1.8
