"""Utility: what the mechanisms' own diagnostics say, between the best and the worst, and less for more privacy."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity, PureDP
from discreet.core.outcome import Release
from discreet.core.randomness import SeededBits, UniformSource, as_bits
from discreet.core.tree import Tree
from discreet.datasets import made_patients
from discreet.datasets.microdata import zip_paths
from discreet.evaluate.intervals import Estimate
from discreet.evaluate.utility.choices import choice_utility
from discreet.evaluate.utility.counts import count_utility
from discreet.evaluate.utility.measure import Measure, frontier
from discreet.hierarchy import GroupSizes, RegionCounts, diagnose, release
from discreet.kanonymity import Categorical, Numeric, Problem, Taxonomy
from discreet.kanonymity.problem.column import CodedColumn
from discreet.kanonymity.problem.published import Cells
from discreet.kanonymity.verify import cells
from discreet.submodular import Coverage, UniformMatroid
from discreet.submodular.methods.baselines import RandomBase
from kanonymity.tables import anonymize_kept as anonymize

QUASI = ("age", "sex", "zip")
ATTRIBUTES = (
    Numeric("age", low=0, high=99, weight=2),
    Categorical("sex"),
    Taxonomy("zip", Tree.from_paths(zip_paths(), root="*")),
)


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

    points = frontier({"default": lost}, [4, "0.1"])
    assert [float(point.parameter) for point in points] == [0.1, 4]
    values = [point.measure.estimate.value for point in points]
    assert values[0] > values[1]
    assert points[0].to_dict()["method"] == "default"
    for wrong in ([], [1, 1]):
        with pytest.raises(InvalidProblemError):
            frontier({"default": lost}, wrong)


def information_loss(published: Any, problem: Problem) -> NDArray[np.float64]:
    """Add up what the published cells of each column lost, suppressed rows included: ``(n_columns,)``."""
    losses = np.empty(len(problem.columns))
    for at, column in enumerate(problem.columns):
        texts = cells(published, column.name)
        missing = problem.n - len(texts)
        losses[at] = _costs(column, texts).sum() + missing * column.attribute.weight
    return losses


def _costs(column: CodedColumn, texts: list[str]) -> NDArray[np.float64]:
    """Return the cost of each published cell; one that covers nothing is wholly lost."""
    read = Cells.of(column, texts)
    nothing = read.hi < read.lo
    if column.is_set and read.marks is not None:
        priced = column.set_cost(np.maximum(read.marks.sum(axis=1), 1))
    else:
        lo = np.minimum(read.lo, len(column.domain) - 1)
        priced = column.span_cost(lo, np.maximum(read.hi, lo))
    return np.where(nothing, column.attribute.weight, priced)


@pytest.fixture(scope="module")
def tables() -> tuple[dict[str, list[Any]], Any]:
    import polars as pl

    first = {name: column[:500] for name, column in made_patients(900, seed=3).items()}
    made = anonymize(
        pl.DataFrame(first),
        KAnonymity(4, QUASI),
        attributes=ATTRIBUTES,
        suppress=0.02,
        time_limit=1,
    )
    return first, made


def test_cells_lose_what_the_search_says(tables: Any) -> None:
    first, made = tables
    problem = Problem.from_columns(first, list(ATTRIBUTES))
    lost, weights = information_loss(made.table, problem).sum(), [2, 1, 1]
    assert lost == pytest.approx(made.diagnostics.information_loss)
    assert lost / (500 * sum(weights)) == pytest.approx(made.diagnostics.mean_loss)


def test_cells_that_say_nothing_are_wholly_lost() -> None:
    before = Problem.from_columns({"age": [20, 30, 40]}, [Numeric("age", weight=3)])
    assert information_loss({"age": ["", "old", "*"]}, before).tolist() == [9]
    assert information_loss({"age": ["20", "30", "40"]}, before).tolist() == [0]
    sexes = Problem.from_columns({"sex": ["F", "M"]}, [Categorical("sex")])
    assert information_loss({"sex": ["X", "F|M"]}, sexes).tolist() == [2]


def test_choices_are_worth_a_share_of_the_best() -> None:
    reach = Coverage(np.random.default_rng(5).random((60, 6)) < [0.9, 0.5, 0.4, 0.1, 0.1, 0.1])
    matroid = UniformMatroid(6, 2)

    def worst(bits: UniformSource | None) -> Iterable[tuple[int, int]]:
        return [(3, 0), (4, 0)]

    def blind(bits: UniformSource | None) -> Iterable[tuple[int, int]]:
        return RandomBase().choose(reach, matroid, bits=as_bits(bits))

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


def test_what_was_kept_is_told_where_both_ends_are_known() -> None:
    assert Measure("a", Estimate.computed(1.0), best=2.0).kept is None
    assert Measure("a", Estimate.computed(1.0), best=0.0, worst=0.0).kept is None
    assert Measure("a", Estimate.computed(3.0), best=0.0, worst=2.0).kept == -0.5
