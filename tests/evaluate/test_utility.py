"""Utility: what the mechanisms' own diagnostics say, between the best and the worst, and less for more privacy."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity, MetricDP, PureDP
from discreet.core.outcome import Release
from discreet.core.randomness import SeededBits, UniformSource, as_bits
from discreet.core.spaces.metric import MetricSpace
from discreet.core.tree import Tree
from discreet.datasets import made_patients
from discreet.datasets.microdata import zip_paths
from discreet.evaluate.intervals import Estimate
from discreet.evaluate.utility.channels import channel_utility
from discreet.evaluate.utility.choices import choice_utility, random_choice
from discreet.evaluate.utility.counts import count_utility
from discreet.evaluate.utility.measure import Measure, Point, frontier, least_parameter
from discreet.evaluate.utility.tables import (
    classification_utility,
    information_loss,
    table_utility,
)
from discreet.hierarchy import GroupSizes, RegionCounts, diagnose, release
from discreet.kanonymity import Categorical, Numeric, Problem, Taxonomy
from discreet.metricdp import Exponential, design
from discreet.metricdp import Problem as Statement
from discreet.submodular import Coverage, PartitionMatroid, UniformMatroid
from kanonymity.tables import anonymize_kept as anonymize

QUASI = ("age", "sex", "zip")
ATTRIBUTES = (
    Numeric("age", low=0, high=99, weight=2),
    Categorical("sex"),
    Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
)


def test_a_channel_loses_what_its_design_says() -> None:
    problem = Statement(MetricSpace.grid(2, 3, cell=1, unit="km"), utility_loss="euclidean")
    made = design(problem, MetricDP(1, unit="km"), method=Exponential(), throw=False)
    expected, drawn, most = channel_utility(made.channel, problem, bits=SeededBits(1))
    assert expected.estimate.value == made.upper
    assert drawn.estimate.low <= made.upper <= drawn.estimate.high
    assert (expected.best, expected.kept is not None) == (0.0, True)
    assert expected.worst is not None
    assert 0 < expected.estimate.value < expected.worst
    # The quantile by its definition.
    joint = problem.prior[:, None] * made.channel.probabilities
    assert joint[problem.loss <= most.estimate.value].sum() >= 0.95
    assert joint[problem.loss < most.estimate.value].sum() < 0.95
    with pytest.raises(InvalidProblemError, match="channel"):
        channel_utility(Channel.from_weights([[2**62]]), problem)


@pytest.fixture(scope="module")
def groups() -> GroupSizes:
    tree = Tree.from_paths([(a, b) for a in "xy" for b in "pqr"], root="all")
    counts = np.random.default_rng(2).poisson([40, 8, 1], size=(6, 3))
    return GroupSizes.from_counts(tree, counts, units="private")


def test_counts_lose_what_the_diagnosis_says(groups: GroupSizes) -> None:
    claim = PureDP(1, "add-remove-person")
    made: list[Release[RegionCounts]] = []

    def run(bits: UniformSource | None) -> Release[RegionCounts]:
        made.append(release(groups, claim, bits=bits))
        return made[-1]

    found = {one.name: one for one in count_utility(run, groups, trials=3, bits=SeededBits(3))}
    told = [diagnose(groups, one) for one in made]
    leaves = np.mean([one.l1[2] for one in told]) / (6 * 3)
    assert found["absolute error of a count, level 3"].estimate.value == pytest.approx(leaves)
    moved = np.mean([one.earth_mover[0] for one in told])
    assert found["persons to move in a region, level 1"].estimate.value == pytest.approx(moved)
    relative = found["relative error of counts of 10 to 99"]
    true = groups.node_counts()
    inside = (true >= 10) & (true <= 99)
    off = [np.abs(one.result.counts - true)[inside] / true[inside] for one in made]
    assert relative.estimate.value == pytest.approx(np.mean(off))
    assert relative.worst == 1
    assert "relative error of counts of 1000 or more" not in found
    for one in found.values():
        assert one.best == 0
    with pytest.raises(InvalidProblemError):
        count_utility(run, groups, trials=1)


def test_less_privacy_loses_less(groups: GroupSizes) -> None:
    def lost(epsilon: Fraction) -> Measure:
        claim = PureDP(epsilon, "add-remove-person")
        bits = SeededBits(4)
        return count_utility(lambda _: release(groups, claim, bits=bits), groups, trials=3)[2]

    seen: list[Point] = []
    points = frontier({"default": lost}, [4, "0.1"], on_point=seen.append)
    assert [float(point.parameter) for point in points] == [0.1, 4]
    assert seen == points
    values = [point.measure.estimate.value for point in points]
    assert values[0] > values[1]
    assert points[0].to_dict()["method"] == "default"
    assert least_parameter(points, points[1].measure.estimate.high)["default"] == 4
    assert least_parameter(points, 0.0) == {"default": None}
    share = Measure("share", Estimate(0.5, 0.4, 0.6))
    kept = frontier({"a": lambda _: share}, [3, 1])
    assert least_parameter(kept, 0.4, losses=False) == {"a": 1}
    assert least_parameter(kept, 0.5, losses=False) == {"a": None}
    for wrong in ([], [1, 1]):
        with pytest.raises(InvalidProblemError):
            frontier({"default": lost}, wrong)


@pytest.fixture(scope="module")
def tables() -> tuple[dict[str, list[Any]], dict[str, list[Any]], Any]:
    import polars as pl

    everybody = made_patients(900, seed=3)
    first, rest = (
        {name: column[part] for name, column in everybody.items()}
        for part in (slice(500), slice(500, None))
    )
    made = anonymize(
        pl.DataFrame(first),
        KAnonymity(4, QUASI),
        attributes=ATTRIBUTES,
        suppress=0.02,
        time_limit=1,
    )
    return first, rest, made


def test_cells_lose_what_the_search_says(tables: Any) -> None:
    first, _, made = tables
    found = table_utility(made.table, first, ATTRIBUTES)
    assert found[0].estimate.value == pytest.approx(made.diagnostics.mean_loss)
    problem = Problem.from_columns(first, list(ATTRIBUTES))
    assert information_loss(made.table, problem).sum() == pytest.approx(
        made.diagnostics.information_loss
    )
    assert [one.name for one in found[1:]] == [f"loss of a cell in {name}" for name in QUASI]


def test_cells_that_say_nothing_are_wholly_lost() -> None:
    before = Problem.from_columns({"age": [20, 30, 40]}, [Numeric("age", weight=3)])
    assert information_loss({"age": ["", "old", "*"]}, before).tolist() == [9]
    assert information_loss({"age": ["20", "30", "40"]}, before).tolist() == [0]
    sexes = Problem.from_columns({"sex": ["F", "M"]}, [Categorical("sex")])
    assert information_loss({"sex": ["X", "F|M"]}, sexes).tolist() == [2]
    with pytest.raises(InvalidProblemError, match="rows or fewer"):
        information_loss({"age": ["20"] * 4}, before)
    with pytest.raises(InvalidProblemError, match="positive weight"):
        table_utility({"age": ["20"]}, {"age": [20]}, [Numeric("age", weight=0)])


class Nearest:
    """Answers with the label of the nearest row that it was taught."""

    def fit(self, features: Any, labels: Any) -> None:
        self.features, self.labels = features, labels

    def predict(self, features: Any) -> Any:
        apart = ((features[:, None] - self.features[None]) ** 2).sum(axis=2)
        return self.labels[apart.argmin(axis=1)]


def test_a_model_learns_less_from_generalized_cells(tables: Any) -> None:
    first, rest, made = tables
    found = classification_utility(
        made.table, first, rest, ATTRIBUTES, "disease", model=Nearest(), failure=0.05
    )
    assert found.estimate.trials == 400
    assert found.best is not None
    assert found.worst is not None
    assert found.estimate.low <= found.best
    # Nothing generalized: the model is the one that learned from the original.
    same = classification_utility(first, first, rest, ATTRIBUTES, "disease", model=Nearest())
    assert same.estimate.value == same.best == found.best
    assert same.worst == found.worst


def test_the_forest_of_scikit_learn_learns() -> None:
    ages = np.arange(60)
    before: dict[str, list[Any]] = {
        "age": ages.tolist(),
        "ill": np.where(ages < 30, "a", "b").tolist(),
    }
    after = {**before, "age": [f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in ages]}
    found = classification_utility(after, before, before, [Numeric("age")], "ill")
    assert found.estimate.value == 1
    assert found.worst == 0.5
    odd = {"age": ["[70, 80]", "", "5", "50"], "ill": ["a", "b", "a", "b"]}
    assert classification_utility(odd, before, before, [Numeric("age")], "ill").estimate.value > 0.4


def test_without_scikit_learn_a_model_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    table = {"age": ["20"], "ill": ["a"]}
    with pytest.raises(InvalidProblemError, match="scikit-learn"):
        classification_utility(table, table, table, [Numeric("age")], "ill")


def test_choices_are_worth_a_share_of_the_best() -> None:
    reach = Coverage(np.random.default_rng(5).random((60, 6)) < [0.9, 0.5, 0.4, 0.1, 0.1, 0.1])
    matroid = UniformMatroid(6, 2)

    def worst(bits: UniformSource | None) -> Iterable[tuple[int, int]]:
        return [(3, 0), (4, 0)]

    def blind(bits: UniformSource | None) -> Iterable[tuple[int, int]]:
        return random_choice(matroid, bits)

    poor = choice_utility(worst, reach, matroid, trials=2)
    chance = choice_utility(blind, reach, matroid, trials=200, bits=SeededBits(6))
    assert poor.best is not None
    assert poor.estimate.value < chance.estimate.value < poor.best <= 1
    assert chance.worst is not None
    assert chance.estimate.low <= chance.worst <= chance.estimate.high + 0.05
    with pytest.raises(InvalidProblemError):
        choice_utility(worst, reach, matroid, trials=1)
    with pytest.raises(InvalidProblemError, match="worth much"):
        choice_utility(worst, Coverage([[False] * 6]), matroid, trials=2)


def test_random_choices_are_bases() -> None:
    matroid = PartitionMatroid([0, 0, 1, 1, 1], [1, 2])
    for seed in range(5):
        chosen = [element for element, _ in random_choice(matroid, as_bits(SeededBits(seed)))]
        assert len(chosen) == matroid.rank
        assert matroid.is_independent(chosen)


def test_what_was_kept_is_told_where_both_ends_are_known() -> None:
    assert Measure("a", Estimate.computed(1.0), best=2.0).kept is None
    assert Measure("a", Estimate.computed(1.0), best=0.0, worst=0.0).kept is None
    assert Measure("a", Estimate.computed(3.0), best=0.0, worst=2.0).kept == -0.5
