"""The made census and the made taxis are what they say, at any scale, and the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.datasets import made_census, made_taxi
from discreet.hierarchy.problem import GroupSizes

SMALL: dict[str, Any] = {"states": 6, "counties": 40, "groups": 50_000, "max_size": 80}


def test_the_census_of_the_paper_has_its_numbers() -> None:
    made = made_census()
    assert made.tree.n == 1 + 52 + 3144
    assert made.groups == 117_630_445
    assert made.counts.shape == (3144, 1000)
    assert made.people / made.groups == pytest.approx(2.57, abs=0.05)
    assert made.counts.sum(axis=1).min() >= 30
    assert 21_000 < (made.counts > 0).sum() < 23_000


def test_the_second_census_has_a_tail() -> None:
    cut, tail = (made_census(variant=variant, **SMALL) for variant in ("b", "a"))
    assert cut.groups == tail.groups == 50_000
    assert cut.counts[:, 7:].sum() <= 50
    assert tail.counts[:, 7:12].sum() > 300
    assert (tail.counts > 0).sum() > 1.2 * (cut.counts > 0).sum()


def test_each_outlier_takes_the_place_of_a_group() -> None:
    without, made = made_census(outliers=0, **SMALL), made_census(outliers=30, **SMALL)
    assert without.groups == made.groups
    assert without.counts[:, 9:].sum() == 0
    assert made.counts[:, 9:].sum() == 30
    assert np.abs(without.counts - made.counts).sum() <= 60


def test_states_have_many_counties_or_few() -> None:
    made = made_census(**SMALL)
    within = np.diff(made.tree.child_start)[1:7]
    assert within.sum() == 40
    assert within.min() >= 1
    assert within.max() > within.min()
    assert made.tree.path(int(made.tree.leaves[0])) == ("S01", "S01-C001")


def test_taxis_are_counted_in_two_ways() -> None:
    small: dict[str, Any] = {"taxis": 400, "pickups": 60_000, "zones": (3, 5, 1)}
    taxis, pairs = made_taxi(**small), made_taxi(group="taxi-zone", **small)
    assert taxis.groups == 400
    assert taxis.counts.shape == (9, 400)
    assert taxis.groups < pairs.groups <= 9 * 400
    assert abs(pairs.people - 60_000) <= 400
    assert taxis.people <= pairs.people


def test_large_taxis_are_counted_as_of_the_largest_size() -> None:
    made = made_taxi(taxis=100, pickups=10_000, zones=(2, 2), max_size=50)
    assert made.groups == 100
    assert made.counts[:, -1].sum() > 50


def test_the_taxis_of_the_paper_have_their_numbers() -> None:
    made = made_taxi()
    assert made.tree.n == 1 + 6 + 263
    assert made.groups == 13_282
    assert made.counts.shape == (263, 13_282)


@pytest.mark.parametrize("make", [made_census, made_taxi])
def test_equal_seeds_make_equal_counts_and_others_do_not(make: Any) -> None:
    small = SMALL if make is made_census else {"taxis": 60, "pickups": 900, "zones": (2, 3)}
    first, again, other = make(seed=1, **small), make(seed=1, **small), make(seed=2, **small)
    assert np.array_equal(first.counts, again.counts)
    assert first.tree == again.tree
    assert not np.array_equal(first.counts, other.counts)
    with pytest.raises(ValueError, match="read-only"):
        first.counts[0, 0] = 1


def test_made_counts_can_be_released_with_public_units_or_private_ones() -> None:
    made = made_census(**SMALL)
    public = GroupSizes.from_counts(made.tree, made.with_size_zero(), units="public")
    private = GroupSizes.from_counts(made.tree, made.counts, units="private")
    assert public.frame.total == made.groups
    assert np.array_equal(public.survival(), private.survival())
    assert public.frame.max_size == private.frame.max_size == 80


@pytest.mark.parametrize(
    ("make", "arguments", "field"),
    [
        (made_census, {"states": 0}, "states"),
        (made_census, {"states": 9, "counties": 8}, "counties"),
        (made_census, {"groups": 0}, "groups"),
        (made_census, {"max_size": 9}, "max_size"),
        (made_census, {"variant": "c"}, "variant"),
        (made_census, {"outliers": -1}, "outliers"),
        (made_census, {"groups": 5, "states": 1, "counties": 1, "outliers": 6}, "outliers"),
        (made_census, {"seed": -1}, "seed"),
        (made_taxi, {"taxis": 0}, "taxis"),
        (made_taxi, {"pickups": 0}, "pickups"),
        (made_taxi, {"zones": ()}, "zones"),
        (made_taxi, {"zones": (3, 0)}, "zones"),
        (made_taxi, {"max_size": 0}, "max_size"),
        (made_taxi, {"group": "driver"}, "group"),
        (made_taxi, {"seed": -1}, "seed"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    make: Any, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        make(**arguments)
