"""Made pick-ups: seeded, within the public region, uneven; what is public does not depend on what is private."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.datasets import made_pickups


def test_a_seed_makes_the_same_pickups_again() -> None:
    one, two, other = made_pickups(200, seed=3), made_pickups(200, seed=3), made_pickups(200)
    assert (one.people == two.people).all()
    assert (one.people != other.people).any()


def test_what_is_public_is_the_same_for_all() -> None:
    small, large = made_pickups(1, seed=5), made_pickups(3_000, seed=6)
    assert (small.places == large.places).all()
    assert (small.districts == large.districts).all()
    assert small.farthest == large.farthest


def test_no_pickup_is_farther_from_a_place_than_is_said() -> None:
    rides = made_pickups(2_000, seed=1)
    apart = np.abs(rides.people[:, None] - rides.places).sum(axis=2)
    assert apart.max() <= rides.farthest + 1e-9
    assert np.median(apart.min(axis=1)) < 0.6
    assert len(rides.people) == 2_000


def test_some_places_are_far_busier_than_others() -> None:
    rides = made_pickups(5_000)
    nearest = np.abs(rides.people[:, None] - rides.places).sum(axis=2).argmin(axis=1)
    shares = np.sort(np.bincount(nearest, minlength=len(rides.places)))[::-1]
    assert shares[:12].sum() > 0.4 * len(rides.people)
    assert (shares > 0).sum() > 80


def test_every_district_has_as_many_places() -> None:
    assert np.bincount(made_pickups(1).districts).tolist() == [12] * 10


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        made_pickups(2).people[0, 0] = 1.0


@pytest.mark.parametrize("n", [0, -1, True, 2.0])
def test_a_number_below_one_is_refused(n: int) -> None:
    with pytest.raises(InvalidProblemError, match="n: expected a positive integer"):
        made_pickups(n)
