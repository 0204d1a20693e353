"""The made census is what it says, at any scale, and the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.datasets import made_census
from discreet.hierarchy.problem import GroupSizes

SMALL: dict[str, Any] = {"states": 6, "counties": 40, "groups": 50_000, "max_size": 80}


def test_the_census_of_the_paper_has_its_numbers() -> None:
    made = made_census()
    assert made.tree.n == 1 + 52 + 3144
    assert made.groups == 117_630_445
    assert made.counts.shape == (3144, 1000)
    people = made.counts.sum(axis=0) @ np.arange(1, 1001)
    assert people / made.groups == pytest.approx(2.57, abs=0.05)
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


def test_equal_seeds_make_equal_counts_and_others_do_not() -> None:
    first, again, other = (made_census(seed=seed, **SMALL) for seed in (1, 1, 2))
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
    ("arguments", "field"),
    [
        ({"states": 0}, "states"),
        ({"states": 9, "counties": 8}, "counties"),
        ({"groups": 0}, "groups"),
        ({"max_size": 9}, "max_size"),
        ({"variant": "c"}, "variant"),
        ({"outliers": -1}, "outliers"),
        ({"groups": 5, "states": 1, "counties": 1, "outliers": 6}, "outliers"),
        ({"seed": -1}, "seed"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        made_census(**arguments)
