"""The azimuthal equidistant projection: lengths from the middle are true, others no shorter than on the sphere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.spaces.geography import EARTH_RADIUS_KM, azimuthal

NEAR = st.tuples(st.floats(-2, 2), st.floats(-2, 2))


def on_the_sphere(one: np.ndarray, other: np.ndarray) -> float:
    """Return the great-circle distance, from the angle between two directions."""
    ends = []
    for latitude, longitude in np.radians([one, other]):
        level = np.cos(latitude)
        ends.append([level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)])
    across = np.linalg.norm(np.cross(ends[0], ends[1]))
    return float(EARTH_RADIUS_KM * np.arctan2(across, np.dot(ends[0], ends[1])))


@pytest.mark.parametrize("middle", [(41.9, 12.5), (0.0, 180.0), (90.0, 0.0), (-88.0, 40.0)])
@given(st.lists(NEAR, min_size=2, max_size=5))
def test_no_length_is_shorter_than_on_the_sphere(
    middle: tuple[float, float], offsets: list[tuple[float, float]]
) -> None:
    points = np.array(middle) + np.array(offsets)
    points[:, 0] = np.clip(points[:, 0], -90, 90)
    points[:, 1] = (points[:, 1] + 180) % 360 - 180
    plane = azimuthal(points)
    for one in range(len(points)):
        for other in range(one):
            length = float(np.linalg.norm(plane[one] - plane[other]))
            sphere = on_the_sphere(points[one], points[other])
            assert sphere * (1 - 1e-9) - 1e-6 <= length <= 1.01 * sphere + 1e-6


def test_lengths_from_the_middle_are_true() -> None:
    plane = azimuthal([[89.0, 0.0], [89.0, 90.0], [89.0, 180.0], [89.0, -90.0]])
    assert np.linalg.norm(plane, axis=1) == pytest.approx(EARTH_RADIUS_KM * np.pi / 180)


def test_places_around_the_whole_sphere_are_projected_from_the_first() -> None:
    plane = azimuthal([[0.0, 0.0], [0.0, 90.0], [0.0, 180.0], [0.0, -90.0]])
    assert plane[0].tolist() == [0.0, 0.0]
    assert np.linalg.norm(plane[1]) == pytest.approx(EARTH_RADIUS_KM * np.pi / 2)
