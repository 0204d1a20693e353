"""Frontiers: bounds at budgets where nothing was designed, against designs made there."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, Exponential, Problem, design, frontier

EPSILONS = ["0.3", "0.5", "0.7", "1", "1.4", "2", "2.8", "4"]


def skewed(rows: int, columns: int, seed: int = 1) -> Problem:
    prior = np.random.default_rng(seed).dirichlet(np.ones(rows * columns))
    space = MetricSpace.grid(rows, columns, cell=1, unit="km")
    return Problem(space, utility_loss="euclidean", prior=prior)


def optimum(problem: Problem, epsilon: str, radius: int | None = None) -> tuple[float, float]:
    asked = MetricDP(epsilon, problem.space.unit, radius)
    made = design(problem, asked, method=Direct(), gap=1e-6, throw=False)
    assert made.lower is not None
    return made.lower, made.upper


@pytest.mark.parametrize("radius", [None, 1])
def test_the_optimum_lies_between_the_bounds_everywhere(radius: int | None) -> None:
    problem = skewed(3, 4)
    found = frontier(problem, EPSILONS, radius=radius, most_designs=3, gap=1e-3)
    assert len(found.designs) == 3
    for i, epsilon in enumerate(EPSILONS):
        lower, upper = optimum(problem, epsilon, radius)
        assert found.lower[i] <= upper
        assert found.upper[i] >= lower
    assert (np.diff(found.lower) <= 0).all()
    assert (np.diff(found.upper) <= 0).all()


def test_prices_say_more_between_designs_than_the_next_bound() -> None:
    """Between 1 and 2, monotonicity alone gives the bound at 2 and the loss at 1."""
    found = frontier(skewed(3, 4), ["1", "1.4", "2"], most_designs=2, gap=1e-3)
    assert [float(made.guarantee.epsilon) for made in found.designs] == [1, 2]
    assert found.lower[1] > 1.05 * found.lower[2]
    assert found.upper[1] < 0.95 * found.upper[0]


def test_designs_at_every_budget_close_every_gap() -> None:
    found = frontier(skewed(2, 3), EPSILONS, most_designs=8, gap=1e-3)
    assert found.gap.max() <= 1e-3
    assert {made.certificate.passed for made in found.designs} == {True}


def test_it_stops_when_the_gap_is_reached() -> None:
    found = frontier(skewed(2, 2), ["1", "1.001", "1.002"], most_designs=3, gap=0.05)
    assert len(found.designs) == 2
    assert found.gap.max() <= 0.05


def test_one_design_bounds_what_is_weaker_from_above() -> None:
    found = frontier(skewed(2, 3), ["2", "1"], most_designs=1, gap=1e-3)
    assert found.epsilon.tolist() == [1, 2]
    assert found.upper[1] <= found.upper[0] < np.inf
    assert found.lower[0] > 0
    assert found.gap[0] <= 1e-3


def test_without_prices_only_what_needs_none_is_claimed() -> None:
    found = frontier(skewed(2, 3), ["1", "2", "3"], most_designs=2, method=Exponential())
    assert found.lower.tolist() == [0, 0, 0]
    assert found.gap.tolist() == [1, 1, 1]
    assert np.isfinite(found.upper).all()


def test_components_and_duplicates_are_no_obstacle() -> None:
    """Channels are carried over there, too, part by part."""
    space = MetricSpace.from_points([[0.0], [1.0], [1.0], [9.0], [10.0]], unit="km")
    problem = Problem(space, utility_loss="distance")
    found = frontier(
        problem, ["1", "1.5", "2"], radius=2, most_designs=2, gap=1e-3, allow_unprotected=True
    )
    asked = MetricDP("1.5", "km", 2)
    made = design(problem, asked, gap=1e-6, allow_unprotected=True)
    assert found.lower[1] <= made.upper
    assert found.upper[0] > found.upper[1] >= made.lower
    assert found.upper[1] <= 1.2 * made.upper


def test_a_lossless_problem_has_no_gap() -> None:
    space = MetricSpace.grid(1, 3, cell=1, unit="km")
    found = frontier(Problem(space, utility_loss=np.zeros((3, 2))), ["1", "2", "3"])
    assert found.gap.tolist() == [0, 0, 0]
    assert len(found.designs) == 2


def test_arrays_are_frozen() -> None:
    found = frontier(skewed(1, 2), ["1"])
    for array in (found.epsilon, found.lower, found.upper):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("epsilons", "most", "complaint"),
    [
        ([], 2, "epsilons: expected different budgets"),
        (["1", Fraction(1)], 2, "epsilons: expected different budgets"),
        (["1", "0"], 2, "epsilon: expected"),
        (["1"], 0, "most_designs: expected at least one"),
    ],
)
def test_nonsense_is_refused(epsilons: list[str], most: int, complaint: str) -> None:
    with pytest.raises(InvalidProblemError, match=complaint):
        frontier(skewed(1, 2), epsilons, most_designs=most)


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), between=st.floats(0.3, 2.9))
def test_bounds_hold_for_any_prior_and_budget(seed: int, between: float) -> None:
    problem = skewed(2, 3, seed)
    found = frontier(problem, ["0.25", between, "3"], most_designs=2, gap=1e-3)
    lower, upper = optimum(problem, str(between))
    at = found.epsilon.tolist().index(between)
    assert found.lower[at] <= upper
    assert found.upper[at] >= lower
