from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.geography import (
    EARTH_RADIUS_KM,
    great_circle,
    grid_centers,
    lat_lon,
    to_plane,
)

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def sine(x: Decimal) -> Decimal:
    term = total = x
    n = 1
    while abs(term) > Decimal("1e-75"):
        term = -term * x * x / ((n + 1) * (n + 2))
        total += term
        n += 2
    return total


def true_distance(a: tuple[float, float], b: tuple[float, float]) -> Decimal:
    """The haversine formula in 80 digits, on the exact values of the floats."""
    with localcontext() as context:
        context.prec = 80
        p, q = [Decimal(x) * PI / 180 for x in a], [Decimal(x) * PI / 180 for x in b]
        cosines = sine(PI / 2 - abs(p[0])) * sine(PI / 2 - abs(q[0]))
        h = sine((p[0] - q[0]) / 2) ** 2 + cosines * sine((p[1] - q[1]) / 2) ** 2
        # Antipodes leave a rounding error of either sign.
        g = max(1 - h, Decimal(0))
        # The lesser of the two roots determines the angle well; Newton's method for its arc sine.
        root = min(h, g).sqrt()
        angle = Decimal(float(np.arcsin(float(root))))
        for _ in range(6):
            angle -= (sine(angle) - root) / (1 - sine(angle) ** 2).sqrt()
        half = angle if h <= g else PI / 2 - angle
        return 2 * Decimal("6371.0088") * half


LATITUDES = st.floats(-90, 90) | st.sampled_from([0.0, 90.0, -90.0, 89.9999999, 41.9])
LONGITUDES = st.floats(-180, 360) | st.sampled_from([0.0, 180.0, -180.0, 179.9999999, 360.0])
STEPS = st.sampled_from([0.0, 1e-12, -1e-9, 1e-6, 1e-3, 0.5])


@given(LATITUDES, LONGITUDES, LATITUDES, LONGITUDES)
def test_the_error_of_a_great_circle_is_within_its_bound(
    a: float, b: float, c: float, d: float
) -> None:
    truth = true_distance((a, b), (c, d))
    error = abs(Decimal(float(great_circle((a, b), (c, d)))) - truth)
    assert error <= truth * Decimal(2.0**-46) + Decimal("1e-70")


@given(st.floats(-89, 89), st.floats(-179, 179), STEPS, STEPS, st.booleans())
def test_neighbors_and_antipodes_are_as_accurate(
    latitude: float,
    longitude: float,
    north: float,
    east: float,
    opposite: bool,  # noqa: FBT001 - drawn
) -> None:
    other = (latitude + north, longitude + east)
    if opposite:
        other = (-other[0], other[1] + 180)
    truth = true_distance((latitude, longitude), other)
    error = abs(Decimal(float(great_circle((latitude, longitude), other))) - truth)
    assert error <= truth * Decimal(2.0**-46) + Decimal("1e-70")


def test_the_oracle_knows_a_quarter_of_the_globe() -> None:
    assert true_distance((0.0, 0.0), (0.0, 90.0)) == pytest.approx(
        Decimal("6371.0088") * PI / 2, rel=Decimal("1e-60")
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0, 0), (0, 180), np.pi * EARTH_RADIUS_KM),
        ((90, 12), (90, -77), 0.0),
        ((-90, 0), (90, 0), np.pi * EARTH_RADIUS_KM),
        ((10, -180), (10, 180), 0.0),
        ((10, -180), (10, 360), great_circle((10, 0), (10, 180))),
        ((10, 350), (10, -10), 0.0),
    ],
)
def test_special_places(a: tuple[float, float], b: tuple[float, float], expected: float) -> None:
    assert float(great_circle(a, b)) == pytest.approx(float(expected), rel=2**-45, abs=0)
    assert great_circle(a, b) == great_circle(b, a)


def test_distances_broadcast() -> None:
    points = np.array([[0, 0], [0, 1], [1, 0]])
    table = great_circle(points[:, None], points)
    assert table.shape == (3, 3)
    assert (np.diag(table) == 0).all()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[91.0, 0.0]], "row 0"),
        ([[0.0, 0.0], [0.0, -181.0]], "row 1"),
        ([[0.0, 361.0]], "row 0"),
        ([[float("nan"), 0.0]], "row 0"),
        ([[0.0, float("nan")]], "row 0"),
        ([[1.0, 2.0, 3.0]], "shape"),
        (3.0, "shape"),
    ],
)
def test_places_that_are_none_are_refused(points: object, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        lat_lon(points)  # type: ignore[arg-type]


def test_a_projected_city_has_the_lengths_of_great_circles() -> None:
    rng = np.random.default_rng(1)
    points = np.array([41.9, 12.5]) + rng.uniform(-0.4, 0.4, (50, 2))
    plane = to_plane(points, (41.9, 12.5))
    flat = np.linalg.norm(plane[1:] - plane[0], axis=1)
    assert np.abs(flat / great_circle(points[1:], points[0]) - 1).max() < 0.015


def test_projection_across_the_date_line_is_short() -> None:
    assert abs(to_plane([[0.0, -179.9]], (0.0, 179.9))[0, 0]) < 23


@pytest.mark.parametrize("origin", [(90, 0), [(1, 2), (3, 4)]])
def test_no_plane_at_a_pole_or_at_two_places(origin: object) -> None:
    with pytest.raises(InvalidProblemError, match="origin"):
        to_plane([[0, 0]], origin)  # type: ignore[arg-type]


def test_centers_of_cells_are_numbered_row_by_row() -> None:
    assert grid_centers(2, 3, 0.5)[4].tolist() == [0.75, 0.75]
