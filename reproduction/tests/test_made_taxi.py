"""The synthetic taxis are what they say, at any scale, and the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet_reproduction.hierarchy.taxi import made_taxi


def test_taxis_are_counted_in_two_ways() -> None:
    small: dict[str, Any] = {"taxis": 400, "pickups": 60_000, "zones": (3, 5, 1)}
    taxis, pairs = made_taxi(**small), made_taxi(group="taxi-zone", **small)
    assert taxis.groups == 400
    assert taxis.counts.shape == (9, 400)
    assert taxis.groups < pairs.groups <= 9 * 400
    people = [
        int(one.counts.sum(axis=0) @ np.arange(1, one.counts.shape[1] + 1))
        for one in (taxis, pairs)
    ]
    assert abs(people[1] - 60_000) <= 400
    assert people[0] <= people[1]


def test_large_taxis_are_counted_as_of_the_largest_size() -> None:
    made = made_taxi(taxis=100, pickups=10_000, zones=(2, 2), max_size=50)
    assert made.groups == 100
    assert made.counts[:, -1].sum() > 50


def test_the_taxis_of_the_paper_have_their_numbers() -> None:
    made = made_taxi()
    assert made.tree.n == 1 + 6 + 263
    assert made.groups == 13_282
    assert made.counts.shape == (263, 13_282)


def test_equal_seeds_make_equal_counts_and_others_do_not() -> None:
    small: dict[str, Any] = {"taxis": 60, "pickups": 900, "zones": (2, 3)}
    first, again, other = (made_taxi(seed=seed, **small) for seed in (1, 1, 2))
    assert np.array_equal(first.counts, again.counts)
    assert first.tree == again.tree
    assert not np.array_equal(first.counts, other.counts)
    with pytest.raises(ValueError, match="read-only"):
        first.counts[0, 0] = 1


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"taxis": 0}, "taxis"),
        ({"pickups": 0}, "pickups"),
        ({"zones": ()}, "zones"),
        ({"zones": (3, 0)}, "zones"),
        ({"max_size": 0}, "max_size"),
        ({"group": "driver"}, "group"),
        ({"seed": -1}, "seed"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        made_taxi(**arguments)
