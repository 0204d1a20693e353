"""Questions to measurements: unbiased, as wide as the noise is, and refused where there is no answer."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.core.tree import Tree
from discreet.hierarchy.measure import measure
from discreet.hierarchy.noise_sum import Term, half_width
from discreet.hierarchy.problem import MOST_GROUPS, GroupSizes
from discreet.hierarchy.query import query

if TYPE_CHECKING:
    from discreet.hierarchy.sensitivity import Kind

TREE = Tree.from_paths([("GA", "Fulton"), ("GA", "Cobb"), ("DC",)], root="US")
PRIVATE = GroupSizes.from_counts(TREE, [[5, 0, 1], [2, 3, 0], [0, 1, 4]], units="private")
PUBLIC = GroupSizes.from_counts(TREE, [[9, 0, 1], [2, 3, 0], [0, 1, 4]], units="public")
SHARP = PureDP(10_000, neighbors="add-remove-person")
ONE = PureDP(1, neighbors="add-remove-person")
COVERAGE = Fraction("0.95")


def half_widths(answers: Any) -> Any:
    return answers.high - answers.values


@pytest.mark.parametrize("data", [PRIVATE, PUBLIC], ids=["private", "public"])
@pytest.mark.parametrize("kind", ["survival", "direct"])
@pytest.mark.parametrize(
    "weights",
    [{1: 1}, {1: 1, 2: 1}, {2: 1}, {1: 1, 2: 2}, {1: -3, 2: 7}, {2: 0, 1: 5}],
    ids=str,
)
def test_with_hardly_any_noise_the_answer_is_the_truth(
    data: GroupSizes, kind: Kind, weights: dict[int, int]
) -> None:
    kept = measure(data, kind, SHARP)
    truth = sum(
        weight * data.node_counts()[:, size - data.frame.first_size]
        for size, weight in weights.items()
    )
    for level in (1, 2, 3):
        said = query(kept, level=level, sizes=weights)
        assert said.values.tolist() == np.asarray(truth)[TREE.select(level=level)].tolist()
        assert set(half_widths(said).tolist()) == {0}


def test_the_public_number_of_groups_answers_for_size_zero() -> None:
    kept = measure(PUBLIC, "survival", SHARP)
    assert query(kept, level=1, sizes=[0]).values.tolist() == [11]
    everything = query(measure(PUBLIC, "survival", ONE), level=3, sizes=range(3))
    assert everything.values.tolist() == [10, 5, 5]
    assert half_widths(everything).tolist() == [0, 0, 0]


def test_leaves_above_a_level_count_as_well() -> None:
    said = query(measure(PRIVATE, "survival", SHARP), level=3, sizes=[3]).to_frame("dict")
    assert said["region"] == ["DC", "GA/Fulton", "GA/Cobb"]
    assert said["value"] == [1, 0, 4]


def test_regions_may_be_named() -> None:
    kept = measure(PRIVATE, "survival", SHARP)
    said = query(kept, regions=[("GA", "Cobb"), ()], sizes=[1]).to_frame("dict")
    assert (said["region"], said["value"]) == (["GA/Cobb", "US"], [0, 7])


def test_one_size_of_survival_counts_is_the_difference_of_two_noises() -> None:
    said = query(measure(PRIVATE, "survival", ONE), level=1, sizes=[1], interval=COVERAGE)
    assert half_widths(said).tolist() == [
        half_width({Term(1, Fraction(3)): 2}, "laplace", COVERAGE)
    ]
    last = query(measure(PRIVATE, "survival", ONE), level=1, sizes=[3])
    assert half_widths(last).tolist() == [
        half_width({Term(1, Fraction(3)): 1}, "laplace", COVERAGE)
    ]


def test_a_range_of_survival_counts_has_no_more_noise_than_one_size() -> None:
    kept = measure(PRIVATE, "survival", ONE)
    assert (
        half_widths(query(kept, level=1, sizes=[1, 2])).tolist()
        == half_widths(query(kept, level=1, sizes=[1])).tolist()
    )
    direct = measure(PRIVATE, "direct", ONE)
    wide, narrow = (half_widths(query(direct, level=1, sizes=s))[0] for s in ([1, 2], [1]))
    assert wide > narrow


def test_a_level_that_was_not_measured_is_the_sum_of_those_below() -> None:
    kept = measure(PRIVATE, "survival", ONE, levels=[0, 0, 1])
    said = query(kept, level=1, sizes=[3], interval=COVERAGE)
    assert said.values[0] == kept.values[TREE.leaves, 2].sum()
    terms = {Term(1, Fraction(1)): 3}
    assert half_widths(said).tolist() == [half_width(terms, "laplace", COVERAGE)]


def test_the_less_noisy_of_two_ways_is_taken() -> None:
    kept = measure(PRIVATE, "survival", ONE, levels=["1/100", "1/100", "98/100"])
    said = query(kept, level=1, sizes=[3])
    assert said.values[0] == kept.values[TREE.leaves, 2].sum()


def test_regions_without_any_measurement_are_refused() -> None:
    kept = measure(PRIVATE, "survival", ONE, levels=[1, 0, 0], leaves_inherit=False)
    assert len(query(kept, level=1, sizes=[1]).values) == 1
    with pytest.raises(InvalidProblemError, match="regions that were measured"):
        query(kept, level=3, sizes=[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"level": 0}, "a level from 1 to 3"),
        ({"level": 4}, "a level from 1 to 3"),
        ({"level": None}, "one of the two"),
        ({"regions": [("GA",)]}, "one of the two"),
        ({"level": None, "regions": [("NY",)]}, "labels of a node"),
        ({"sizes": [0]}, "sizes from 1 to 3"),
        ({"sizes": [4]}, "sizes from 1 to 3"),
        ({"sizes": []}, "a size that counts"),
        ({"sizes": {1: 0}}, "a size that counts"),
        ({"sizes": {1: 0.5}}, "whole-number weights"),
        ({"sizes": {1: 10**7}}, "whole-number weights"),
        ({"interval": 0}, "between 0 and 1"),
        ({"interval": 1}, "between 0 and 1"),
        ({"interval": "many"}, "interval"),
    ],
    ids=str,
)
def test_questions_without_sense_are_refused(change: dict[str, Any], message: str) -> None:
    kept = measure(PRIVATE, "survival", ONE)
    with pytest.raises(InvalidProblemError, match=message):
        query(kept, **{"level": 1, "sizes": [1], **change})


@pytest.mark.parametrize("kind", ["sorted", "chain"])
def test_measurements_of_another_kind_have_no_answer(kind: Kind) -> None:
    with pytest.raises(InvalidProblemError, match="survival or direct counts"):
        query(measure(PUBLIC, kind, ONE, leaves_inherit=False), level=1, sizes=[1])


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="polars, pandas, pyarrow, dict"):
        query(measure(PRIVATE, "direct", ONE), level=1, sizes=[1]).to_frame("xls")  # type: ignore[arg-type]


def test_answers_come_as_a_table() -> None:
    table = query(measure(PRIVATE, "direct", SHARP), level=2, sizes=[1]).to_frame()
    assert table.columns == ["level", "region", "value", "low", "high", "reliability"]
    assert table["value"].to_list() == [2, 5]


def coverage(kind: Kind, guarantee: Any, draws: int) -> tuple[float, float]:
    """Answer many times; give the part of intervals that hold the truth, and the mean error by its standard error."""
    rng = np.random.default_rng(20300401)
    counts = rng.integers(0, 3, size=(3, 6))
    data = GroupSizes.from_counts(TREE, counts, units="private")
    truth = data.node_counts()[:, 1:5].sum(axis=1)
    bits, held, errors = SeededBits(20300401), [], []
    for _ in range(draws):
        kept = measure(data, kind, guarantee, bits=bits)
        for level in (1, 3):
            said = query(kept, level=level, sizes=range(2, 6), interval="0.9")
            error = said.values - truth[TREE.select(level=level)]
            held.extend((abs(error) <= half_widths(said)).tolist())
            errors.append(error[0])
    off = float(np.mean(errors)) / (float(np.std(errors)) / len(errors) ** 0.5)
    return float(np.mean(held)), off


CALIBRATED = [
    ("survival", ONE),
    ("direct", ONE),
    ("survival", ZeroConcentratedDP("0.5", neighbors="add-remove-person")),
]


def check_coverage(kind: Kind, guarantee: Any, draws: int) -> None:
    found, off = coverage(kind, guarantee, draws)
    spread = (0.1 * 0.9 / (4 * draws)) ** 0.5
    # At least what is stated; more only by the step of whole numbers.
    assert 0.9 - 5 * spread <= found <= 0.93 + 5 * spread
    assert abs(off) < 5


@pytest.mark.parametrize(("kind", "guarantee"), CALIBRATED)
def test_intervals_hold_the_truth_as_often_as_they_say(kind: Kind, guarantee: Any) -> None:
    check_coverage(kind, guarantee, 150)


@pytest.mark.statistical
@pytest.mark.parametrize(("kind", "guarantee"), CALIBRATED)
def test_many_intervals_hold_the_truth_as_often_as_they_say(kind: Kind, guarantee: Any) -> None:
    check_coverage(kind, guarantee, 2000)


def test_intervals_of_half_the_noise_would_be_found_out() -> None:
    """The simulation rejects what it should: intervals made for half the scale hold the truth too seldom."""
    bits, held = SeededBits(20300401), []
    narrow = half_width({Term(1, Fraction(3, 2)): 2}, "laplace", Fraction("0.9"))
    truth = int(PRIVATE.node_counts()[0, 0])
    for _ in range(600):
        said = query(measure(PRIVATE, "survival", ONE, bits=bits), level=1, sizes=[1])
        held.append(abs(int(said.values[0]) - truth) <= narrow)
    assert np.mean(held) < 0.9 - 5 * (0.09 / 600) ** 0.5


@pytest.mark.parametrize("kind", ["survival", "direct"])
@pytest.mark.parametrize(
    ("units", "size"), [("private", 1), ("private", 2), ("public", 0), ("public", 2)]
)
def test_large_weights_on_the_most_groups_give_the_answer_or_none(
    units: Any, kind: Kind, size: int
) -> None:
    """A million times 2^45 is more than 64 bits hold, and was once a negative number."""
    row = [0, 0, 0]
    row[size] = MOST_GROUPS
    tree = Tree.from_paths([("GA",), ("NY",)])
    rows = np.array([row, [0, 0, 0]])[:, 0 if units == "public" else 1 :]
    kept = measure(GroupSizes.from_counts(tree, rows, units=units), kind, SHARP)
    for weight in (1, 10**5, -(10**5), 262143):
        for level in (1, 2):
            said = query(kept, level=level, sizes={size: weight})
            assert said.values.dtype == np.int64
            assert said.values.tolist()[0] == weight * MOST_GROUPS
            assert said.to_frame("dict")["high"][0] == weight * MOST_GROUPS
    for weight in (262144, 10**6, -(10**6)):
        with pytest.raises(InvalidProblemError, match="sizes: expected weights so small that each"):
            query(kept, level=1, sizes={size: weight})
        assert query(kept, regions=[("NY",)], sizes={size: weight}).values.tolist() == [0]


def test_sums_that_only_pass_through_large_numbers_are_exact() -> None:
    """Halves of the most groups, weighted against each other: the answer is small, and so is each region's."""
    tree = Tree.from_paths([("GA",), ("NY",)])
    rows = [[MOST_GROUPS // 2, 0], [0, MOST_GROUPS // 2]]
    kept = measure(
        GroupSizes.from_counts(tree, rows, units="private"), "direct", SHARP, levels=[0, 1]
    )
    weights = {1: 10**6, 2: -(10**6)}
    assert query(kept, level=1, sizes=weights).values.tolist() == [0]
    with pytest.raises(InvalidProblemError, match="sizes: expected weights so small"):
        query(kept, level=2, sizes=weights)
