"""The decomposition as printed and as released: what is wrong with both, shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Unproven
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Benders, Direct, Problem, design
from discreet_reproduction.metricdp.as_published.decomposition import as_published, as_released
from few import few_of

WITHIN = MetricDP(1, unit="km", radius="1.6")


def road(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.uniform(0, 6, (40, 2)), unit="km")
    return Problem(space, utility_loss="euclidean", reports=rng.choice(40, 10, replace=False))


@pytest.mark.parametrize("seed", few_of(1, [0, 1]))
def test_the_printed_lower_bound_passes_the_optimum_and_even_its_own_upper_bound(seed: int) -> None:
    """E1: the boundary's cost counts twice, the search stops early, and its answer is worse than the optimum."""
    problem = road(seed)
    best = design(problem, WITHIN, method=Direct(), gap=1e-4, allow_unprotected=True)
    printed = as_published(problem, WITHIN, blocks=4)
    assert isinstance(printed, Unproven)
    assert "second time" in printed.reason
    assert printed.provenance.method == "as published"
    assert printed.result.claimed_lower > 1.1 * best.upper
    assert printed.result.claimed_lower > printed.result.upper
    assert printed.result.upper > 1.02 * best.upper
    assert printed.result.status == "gap reached"
    # The same decomposition with the right cut stays below.
    sound = design(problem, WITHIN, method=Benders(4), gap=1e-3, allow_unprotected=True)
    assert sound.lower is not None
    assert sound.lower <= best.upper
    assert sound.upper == pytest.approx(best.upper, rel=2e-3)


def test_without_initial_cuts_it_takes_more_iterations() -> None:
    """E7: the paper's H_0 helps, although it has more rows than the whole program."""
    problem = road(0)
    with_cuts, without = (
        as_published(problem, WITHIN, blocks=4, initial_cuts=cuts).result for cuts in (True, False)
    )
    assert with_cuts.iterations < without.iterations


@pytest.mark.parametrize("epsilon", [1, 2])
def test_the_released_constants_break_the_budget(epsilon: int) -> None:
    """E15: ratios exceed the budget by a large part of it, so that the loss may be less than any private channel's."""
    problem = Problem(MetricSpace.grid(5, 5, cell=1, unit="km"), utility_loss="euclidean")
    guarantee = MetricDP(epsilon, unit="km", radius=2)
    best = design(problem, guarantee, gap=1e-3)
    released = as_released(problem, guarantee, blocks=3)
    assert isinstance(released, Unproven)
    assert "relaxes every ratio constraint" in released.reason
    assert best.lower is not None
    assert (released.result.upper < best.lower) == (epsilon == 1)
    assert released.result.excess > 0.25
    assert released.result.exceeding > 100
    assert released.result.infinite == 0
    assert released.result.matrix.min() == pytest.approx(0.001, abs=1e-6)


def test_a_solvers_vertex_has_infinite_ratios() -> None:
    """E15: probability zero beside a positive one, within every tolerance."""
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    found = as_published(problem, MetricDP(10, unit="km", radius=1), blocks=1).result
    assert found.infinite > 0
    assert found.excess == np.inf
    assert found.exceeding >= found.infinite


def test_components_and_isolated_secrets_are_left_apart() -> None:
    points = np.array([0.0, 1, 2, 3, 20, 21, 50, 0])[:, None]
    space = MetricSpace.from_points(points, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    guarantee = MetricDP(1, unit="km", radius=1)
    found = as_published(problem, guarantee, blocks=4).result
    assert found.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert found.matrix[6].tolist() == [0, 0, 0, 0, 0, 0, 1, 0]
    assert (found.matrix[7] == found.matrix[0]).all()
    whole = design(problem, guarantee, gap=1e-3, allow_unprotected=True)
    assert found.upper >= whole.upper * (1 - 2e-3)


@pytest.mark.parametrize(
    ("variant", "options", "match"),
    [
        (as_published, {"blocks": 0}, "blocks: "),
        (as_published, {"partitioner": "metis"}, "partitioner: "),
        (as_released, {"blocks": 0}, "blocks: "),
    ],
)
def test_options_that_make_no_sense_are_refused(
    variant: Any, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        variant(road(0), WITHIN, **options)


def test_another_unit_and_too_many_reports_are_refused() -> None:
    problem = Problem(MetricSpace.grid(2, 2, cell=1, unit="m"), utility_loss="euclidean")
    with pytest.raises(InvalidProblemError, match="guarantee: "):
        as_published(problem, WITHIN)
    space = MetricSpace.grid(1, 2, cell=1, unit="km")
    wide = Problem(space, utility_loss=np.ones((2, 1001)))
    with pytest.raises(InvalidProblemError, match="at most 1000 reports"):
        as_released(wide, WITHIN)


def test_a_limit_before_any_point() -> None:
    with pytest.raises(LimitReachedError, match="iteration limit before"):
        as_published(road(0), WITHIN, blocks=4, iterations=1, initial_cuts=False)
