"""Stored distances against the points: one unit too much is too much."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.exact import float_floor
from discreet.core.spaces.check_distances import distance_checks
from discreet.core.spaces.lengths import TableLengths
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.points import PointLengths

if TYPE_CHECKING:
    from numpy.typing import NDArray


def residuals(space: MetricSpace) -> list[float]:
    return [float(check.residual) for check in distance_checks(space)]


def forged(space: MetricSpace, distances: NDArray[np.int64]) -> MetricSpace:
    """The same space with other distances, its own points or lattice kept."""
    changed = dataclasses.replace(space)
    vars(changed)["distances"] = distances
    return changed


def one_more(space: MetricSpace, i: int, j: int, units: int = 1) -> MetricSpace:
    """One distance longer by a few units, both ways."""
    distances = space.distances.copy()
    distances[i, j] += units
    distances[j, i] += units
    return forged(space, distances)


SPACES = {
    "grid": MetricSpace.grid(3, 4, cell="0.1", unit="km"),
    "unit grid": MetricSpace.grid(2, 5, cell=1, unit="km"),
    "euclidean": MetricSpace.from_points(np.random.default_rng(0).random((12, 3)), unit="km"),
    "exact ties": MetricSpace.from_points([[0, 0], [3, 4], [6, 8], [0, 5]], unit="km"),
    "manhattan": MetricSpace.from_points(
        np.random.default_rng(1).random((9, 2)), metric="manhattan", unit="km"
    ),
    "far from the origin": MetricSpace.from_points(
        [[1e9, 1e-9], [1e9 + 1, 0.0], [1e9, 0.5]], unit="m"
    ),
    "all at one place": MetricSpace.from_points([[1, 1], [1, 1]], unit="km"),
}


@pytest.mark.parametrize("name", SPACES)
def test_what_the_constructors_make_is_right(name: str) -> None:
    assert residuals(SPACES[name]) == [0, 0]


@pytest.mark.parametrize("name", ["grid", "unit grid", "exact ties", "manhattan", "euclidean"])
def test_one_unit_more_is_rejected(name: str) -> None:
    """A floor is within a unit of the truth, and a closed distance of neighbors is one."""
    space = SPACES[name]
    nearest = np.where(space.distances > 0, space.distances, 2**60)
    i, j = np.unravel_index(int(nearest.argmin()), nearest.shape)
    assert residuals(one_more(space, int(i), int(j))) == [0, 1]


def test_distances_scaled_up_are_all_rejected() -> None:
    space = SPACES["euclidean"]
    assert residuals(forged(space, space.distances + space.distances // 10**6)) == [0, 66]


def test_part_of_a_grid_is_compared_with_its_centers() -> None:
    """These are rounded floats, which leaves a tolerance. The check says that it is not exact."""
    space = SPACES["grid"].restrict([0, 1, 5, 11])
    assert residuals(space) == [0, 0]
    assert not distance_checks(space)[1].exact
    extent = int(space.distances.max())
    assert residuals(one_more(space, 0, 1, extent // 10**9)) == [0, 1]


def test_lengths_so_long_that_sums_would_wrap_are_malformed() -> None:
    space = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km")
    assert residuals(one_more(space, 0, 1, 2**52)) == [2]
    assert residuals(dataclasses.replace(space, scale_bits=-1)) == [1]


NO_POINTS = {
    "not numbers": ("haversine", "km", [[np.nan, 0.0], [0.0, 1.0]]),
    "beyond the pole": ("haversine", "km", [[91.0, 0.0], [0.0, 1.0]]),
    "miles": ("haversine", "mi", [[1.0, 0.0], [0.0, 1.0]]),
    "turns": ("angular", "turn", [[1.0, 0.0], [0.0, 1.0]]),
    "no direction": ("angular", "rad", [[0.0, 0.0], [0.0, 1.0]]),
    "outside the ball": ("hyperbolic", "1", [[1.5, 0.0], [0.0, 0.5]]),
    "infinite": ("euclidean", "km", [[np.inf, 0.0], [0.0, 1.0]]),
    "another letter a": ("euclide\N{CYRILLIC SMALL LETTER A}n", "km", [[0.0, 0.0], [0.0, 1.0]]),
    "too few": ("euclidean", "km", [[0.0, 1.0]]),
    "none": ("euclidean", "km", None),
    "a grid of none": ("grid", "km", None),
}


@pytest.mark.parametrize("name", NO_POINTS)
def test_points_that_have_no_such_distances_are_rejected(name: str) -> None:
    """No length is below the distance of what has none: such files once passed, for NaN is not above a limit."""
    metric, unit, points = NO_POINTS[name]
    table = np.array([[0, 1], [1, 0]])
    coordinates = None if points is None else np.array(points)
    space = MetricSpace(unit, metric, 40, TableLengths(table), coordinates)
    assert residuals(space) == [0, 2]


def test_a_lattice_under_another_metric_is_rejected() -> None:
    assert residuals(dataclasses.replace(SPACES["grid"], metric="manhattan")) == [0, 12]


@pytest.mark.parametrize(
    ("metric", "unit", "points"),
    [
        ("haversine", "km", [[41.9, 12.5], [41.9, 12.5001], [-41.9, -167.5], [90, 0]]),
        ("haversine", "m", [[41.9, 12.5], [41.95, 12.5001], [41.9, 12.6]]),
        ("angular", "rad", [[1, 0, 0], [1, 1e-6, 0], [-1, 0, 1e-9], [3, 4, 5]]),
    ],
)
def test_on_the_sphere_floats_leave_a_tolerance(
    metric: str, unit: str, points: list[list[float]]
) -> None:
    """What is made passes; a millionth of the extent more does not. The check says that it is not exact."""
    space = MetricSpace.from_points(points, metric=metric, unit=unit)
    assert residuals(space) == [0, 0]
    assert not distance_checks(space)[1].exact
    extent = int(space.distances.max())
    assert residuals(one_more(space, 0, 1, 7000 * extent // 10**6 + 10**6)) == [0, 1]


def test_in_the_ball_floats_leave_a_tolerance() -> None:
    """Near the sphere too. A billionth more than what is true does not pass."""
    points = [[0.0, 0.0], [0.3, 0.4], [0.3, 0.4 + 1e-9], [1 - 2.0**-50, 0.0], [-0.9999999, 0.0]]
    space = MetricSpace.from_points(points, metric="hyperbolic", unit="1")
    assert residuals(space) == [0, 0]
    assert not distance_checks(space)[1].exact
    for i, j in ((0, 1), (3, 4), (0, 4)):
        length = int(space.distances[i, j])
        assert residuals(one_more(space, i, j, length // 10**9)) == [0, 1]


def test_a_direction_whose_square_is_no_float_is_none() -> None:
    """Its angles would be nan, which is not above anything."""
    space = MetricSpace.from_points([[1.0, 0.0], [0.0, 1.0]], metric="angular", unit="rad")
    longer = forged(space, space.distances * 8)
    assert residuals(longer)[1] == 1
    short = dataclasses.replace(longer, points=np.array([[1e-200, 0.0], [0.0, 1.0]]))
    vars(short)["distances"] = longer.distances
    assert residuals(short)[1] > 0


def test_a_point_so_near_the_sphere_that_floats_cannot_tell_is_outside() -> None:
    """Products of such depths would be 0, distances infinite, and nothing above them."""
    space = MetricSpace.from_points([[0.5] + [0.0] * 24, [0.0] * 25], metric="hyperbolic", unit="h")
    point: list[float] = []
    left = Fraction(1)
    while len(point) < 24:
        # The float below the root of what is left: each takes half of its digits away.
        root = Fraction(math.isqrt(math.floor(left * 4**600)), 2**600)
        value = float_floor(root)
        value = value if Fraction(value) ** 2 < left else math.nextafter(value, 0)
        point.append(value)
        left -= Fraction(value) ** 2
    assert 0 < left < Fraction(1, 2**500)
    near = np.array([[*point, 0.0], [-x for x in (*point, 0.0)]])
    changed = dataclasses.replace(space, points=near)
    vars(changed)["distances"] = space.distances * 2**4
    assert residuals(changed)[1] > 0


def test_what_is_no_metric_is_rejected() -> None:
    """A matrix that is not symmetric, has a diagonal, or is negative."""
    space = MetricSpace.from_matrix([[0, 1, 1], [1, 0, 1], [1, 1, 0]], unit="km")
    assert residuals(space) == [0]
    for i, j, value, count in ((0, 1, 5, 2), (2, 2, 1, 1), (1, 2, -1, 3)):
        wrong = space.distances.copy()
        wrong[i, j] = value
        assert residuals(forged(space, wrong)) == [count]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 2), min_size=2, max_size=5, unique=True),
    st.sampled_from(["euclidean", "manhattan"]),
)
def test_any_points(points: list[tuple[float, float]], metric: str) -> None:
    try:
        space = MetricSpace.from_points(points, metric=metric, unit="km")
    except ValueError:
        return  # so near together that another unit is meant
    assert residuals(space) == [0, 0]


def test_the_check_of_great_circles_names_the_ellipsoid_and_what_exceeds_it() -> None:
    """Older files have great circles that were not shortened; at 60 degrees none is longer than a geodesic."""
    for latitude, older in ((0.3, "up to .56 % above"), (60.0, "not above")):
        points = [(latitude, 36.8), (latitude + 0.01, 36.8), (latitude, 36.83)]
        for unit, per in (("km", 1), ("m", 1000)):
            space = MetricSpace.from_points(points, metric="haversine", unit=unit)
            assert space.points is not None
            before = dataclasses.replace(
                space, source=PointLengths(space.points, "haversine", space.scale_bits, per)
            )
            for one, known in ((space, "not above"), (before, older)):
                check = distance_checks(one)[1]
                assert check.passed
                assert f"great circles, {known} geodesics of WGS 84" in check.detail
