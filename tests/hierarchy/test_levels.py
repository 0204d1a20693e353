"""The choice of a budget for each level: what it predicts, and that it follows the workload."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy import GroupSizes, diagnose, release
from discreet.hierarchy.levels import choose_levels, expected_error
from discreet.hierarchy.measure import measure, truth
from discreet.hierarchy.problem import Frame
from discreet.hierarchy.treefit import TreeFit

GUARANTEE = PureDP("1/10", "add-remove-person")
PATHS = [(str(i), str(j)) for i in range(4) for j in range(5)]
TREE = Tree.from_paths(PATHS)
FRAME = Frame(TREE, 3, "private")


@pytest.mark.parametrize("guarantee", [GUARANTEE, ZeroConcentratedDP("1/50", "add-remove-person")])
def test_predicted_errors_are_those_of_least_squares(guarantee: Any) -> None:
    """Many sizes are as many draws: the root mean square of each level, within three in a hundred."""
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    data = GroupSizes.from_counts(TREE, np.zeros((20, 3000), dtype=int), units="private")
    measured = measure(data, "survival", guarantee, levels=shares, bits=SeededBits(1))
    fit = TreeFit(TREE, 1 / measured.variances()).solve(measured.values.astype(float))
    errors = np.sqrt(((fit - truth(data, "survival")) ** 2).mean(axis=1))
    found = np.bincount(TREE.levels, weights=errors)
    predicted = expected_error(data.frame, "survival", guarantee, shares)
    np.testing.assert_allclose(found, predicted, rtol=0.03)


@pytest.mark.parametrize("workload", [[1, 0, 0], [0, 0, 1], [1, 1 / 4, 1 / 20], [5, 0, 1]])
def test_no_other_parts_on_a_grid_are_predicted_to_be_better(workload: list[float]) -> None:
    chosen = choose_levels(FRAME, "survival", GUARANTEE, workload)
    assert sum(chosen) == 1
    least = workload @ expected_error(FRAME, "survival", GUARANTEE, chosen)
    for first in range(1, 19):
        for second in range(1, 20 - first):
            parts = [Fraction(first, 20), Fraction(second, 20), Fraction(20 - first - second, 20)]
            assert least <= workload @ expected_error(FRAME, "survival", GUARANTEE, parts) * 1.0001


def test_parts_that_only_another_start_finds() -> None:
    """With Laplace noise the error has several valleys: from equal parts the search ends 0.8 % above this one."""
    tree = Tree.from_paths([(str(i), str(j)) for i in range(9) for j in range(2)])
    frame, workload = Frame(tree, 5, "private"), [0.423, 0.532, 0.045]
    chosen = choose_levels(frame, "survival", GUARANTEE, workload)
    other = [Fraction(1, 25), Fraction(1, 25), Fraction(23, 25)]
    errors = [workload @ expected_error(frame, "survival", GUARANTEE, f) for f in (chosen, other)]
    assert errors[0] <= errors[1]


def test_with_gaussian_noise_the_error_is_convex_in_the_parts() -> None:
    guarantee = ZeroConcentratedDP("1/50", "add-remove-person")
    rng = np.random.default_rng(3)
    for _ in range(40):
        ends = [
            [Fraction(int(x), 1000) for x in rng.multinomial(997, rng.dirichlet([1, 1, 1])) + 1]
            for _ in range(2)
        ]
        middle = [(a + b) / 2 for a, b in zip(*ends, strict=True)]
        one, two, between = (
            expected_error(FRAME, "survival", guarantee, f) for f in (*ends, middle)
        )
        assert (between <= (one + two) / 2 * (1 + 1e-9)).all()


def test_a_workload_is_served_better_than_by_equal_parts() -> None:
    rng = np.random.default_rng(1)
    data = GroupSizes.from_counts(TREE, rng.poisson(2000, (20, 40)), units="private")
    chosen = choose_levels(data.frame, "survival", GUARANTEE, [0, 0, 1])
    errors = [
        np.mean(
            [
                diagnose(data, release(data, GUARANTEE, levels=levels, bits=SeededBits(i))).l1[2]
                for i in range(4)
            ]
        )
        for levels in (None, chosen)
    ]
    assert errors[1] < 0.7 * errors[0]


def test_ragged_trees_and_one_level() -> None:
    ragged = Frame(Tree.from_paths([("a", "x"), ("a", "y"), ("b",)]), 2, "private")
    assert sum(choose_levels(ragged, "direct", GUARANTEE, [1, 1, 1])) == 1
    only = Frame(Tree(("only",), np.array([-1])), 2, "private")
    assert choose_levels(only, "direct", GUARANTEE, [1]) == (Fraction(1),)


@pytest.mark.parametrize("workload", [[1, 1], [1, 1, -1], [0, 0, 0], [1, 1, float("nan")]])
def test_nonsense_is_refused(workload: list[float]) -> None:
    with pytest.raises(InvalidProblemError, match="workload"):
        choose_levels(FRAME, "survival", GUARANTEE, workload)
    with pytest.raises(InvalidProblemError, match="levels"):
        expected_error(FRAME, "survival", GUARANTEE, [Fraction(0), Fraction(0), Fraction(1)])
