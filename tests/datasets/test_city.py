"""The made city is what it says: planar, connected, dry but for its bridges, and the same each time."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.datasets import City, made_city
from discreet.datasets.city import _cross

SEEDS = (0, 1, 4, 9)


@pytest.fixture(scope="module", params=SEEDS)
def city(request: pytest.FixtureRequest) -> City:
    return made_city(70, seed=request.param)


def turn(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> int:
    """Give the sign of the turn from pq to pr, exactly."""
    (px, py), (qx, qy), (rx, ry) = ([Fraction(x) for x in point.tolist()] for point in (p, q, r))
    area = (qx - px) * (ry - py) - (qy - py) * (rx - px)
    return (area > 0) - (area < 0)


def crossing(segments: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[int, int]]:
    """List the pairs of segments that share a point which is not an end of both."""
    found = []
    for (e, (a, b)), (f, (c, d)) in combinations(enumerate(segments), 2):
        shared = {tuple(a), tuple(b)} & {tuple(c), tuple(d)}
        if not shared and turn(a, b, c) * turn(a, b, d) <= 0 and turn(c, d, a) * turn(c, d, b) <= 0:
            found.append((e, f))
    return found


def test_no_two_roads_cross(city: City) -> None:
    assert crossing([(city.points[i], city.points[j]) for i, j in city.edges]) == []


def test_a_crossing_would_be_found() -> None:
    corners = np.array([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (2.0, 2.0)])
    segments = [(corners[i], corners[j]) for i, j in ((0, 1), (2, 3), (1, 4))]
    assert crossing(segments) == [(0, 1)]


def test_every_junction_can_be_reached_also_along_the_one_way_roads(city: City) -> None:
    forth: dict[int, set[int]] = {i: set() for i in range(city.n)}
    for (i, j), one_way in zip(city.edges.tolist(), city.one_way.tolist(), strict=True):
        forth[i].add(j)
        if not one_way:
            forth[j].add(i)
    for start in range(0, city.n, 10):
        seen, todo = {start}, [start]
        while todo:
            new = forth[todo.pop()] - seen
            seen |= new
            todo += new
        assert len(seen) == city.n
    assert city.one_way.any()
    assert 2.5 < 2 * len(city.edges) / city.n < 4.5


def test_roads_cross_the_river_only_at_bridges(city: City) -> None:
    a, b = city.points[city.edges[:, 0]], city.points[city.edges[:, 1]]
    wet = [
        e
        for e in range(len(a))
        if any(
            turn(a[e], b[e], c) * turn(a[e], b[e], d) <= 0
            and turn(c, d, a[e]) * turn(c, d, b[e]) <= 0
            for c, d in zip(city.river[:-1], city.river[1:], strict=True)
        )
    ]
    assert wet == city.bridges.tolist()
    assert 1 <= len(wet) <= 8
    assert not city.one_way[city.bridges].any()


def test_a_road_is_at_least_as_long_as_its_line_and_travel_is_at_least_as_long_as_the_crow_flies(
    city: City,
) -> None:
    straight = np.linalg.norm(city.points[city.edges[:, 0]] - city.points[city.edges[:, 1]], axis=1)
    detour = city.lengths / straight
    assert detour.min() >= 1
    assert detour.max() <= 1.4
    crow = np.linalg.norm(city.points[:, None] - city.points[None], axis=2)
    assert (city.travel() >= crow - 1e-9).all()
    assert city.travel()[city.edges[:, 0], city.edges[:, 1]].max() <= city.lengths.max()


def test_the_core_is_dense_and_the_prior_is_lumpy() -> None:
    city = made_city(150, seed=4)
    away = np.hypot(*city.points.T)
    apart = np.linalg.norm(city.points[:, None] - city.points[None], axis=2) + 1e9 * np.eye(city.n)
    near = apart.min(axis=1)
    inner = away < np.median(away)
    assert np.median(near[~inner]) > 1.35 * np.median(near[inner])
    assert city.prior.sum() == pytest.approx(1, abs=1e-12)
    assert city.prior.min() > 0
    assert city.prior.max() > 3 / city.n


def test_equal_seeds_make_equal_cities_and_others_do_not() -> None:
    first, again, other = made_city(50, seed=2), made_city(50, seed=2), made_city(50, seed=3)
    for name in ("points", "edges", "lengths", "one_way", "bridges", "river", "prior"):
        assert (getattr(first, name) == getattr(again, name)).all()
    assert not np.array_equal(first.points, other.points)


def test_arrays_are_read_only_and_edges_sorted() -> None:
    city = made_city(40, seed=1)
    with pytest.raises(ValueError, match="read-only"):
        city.points[0, 0] = 1
    assert (city.edges[:, 0] < city.edges[:, 1]).all()
    assert [tuple(edge) for edge in city.edges.tolist()] == sorted(map(tuple, city.edges.tolist()))


@pytest.mark.parametrize(("n", "seed", "field"), [(29, 1, "n"), (40, -1, "seed")])
def test_nonsense_is_refused(n: int, seed: int, field: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        made_city(n, seed=seed)


def test_segments_that_touch_cross() -> None:
    a, b = np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]])
    c = np.array([[1.0, -1.0], [1.0, 0.0], [3.0, -1.0]])
    d = np.array([[1.0, 1.0], [1.0, 1.0], [3.0, 1.0]])
    assert _cross(a, b, c, d).tolist() == [[True, True, False]]
