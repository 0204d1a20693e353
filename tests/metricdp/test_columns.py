"""Column generation: the same optimum by other means, columns that are private by construction, and giving up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError, LimitReachedError, SolverError
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Columns, Direct, Problem
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.methods import columns
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem

TIGHT = PartLimits(gap=1e-6)


def grid_part(side: int, epsilon: str, radius: int | None = 2) -> Part:
    space = MetricSpace.grid(side, side, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    return WholeProblem(problem, space.adjacency(radius), Fraction(epsilon)).parts[0]


def loss(part: Part, found: Candidate | None) -> float:
    assert found is not None
    assert found.matrix is not None
    return float((part.cost * found.matrix).sum())


def proven(part: Part, found: Candidate | None) -> float:
    assert found is not None
    assert found.multipliers is not None
    return lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)


@pytest.mark.parametrize(("epsilon", "radius"), [("1", 2), ("1", None), ("0.5", 2), ("10", 2)])
def test_it_meets_the_linear_program(epsilon: str, radius: int | None) -> None:
    part = grid_part(4, epsilon, radius)
    found = Columns().solve(part, TIGHT)
    expected = loss(part, Direct().solve(part, TIGHT))
    assert loss(part, found) == pytest.approx(expected, rel=1e-5)
    assert proven(part, found) <= expected * (1 + 1e-7)
    assert proven(part, found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("unit", [1e12, 1e25, 1e290])
def test_losses_in_a_small_unit_are_priced_as_others(unit: float) -> None:
    """HiGHS reads 1e20 as infinite: a design with such losses ended in words of the solver."""
    space = MetricSpace.grid(4, 4, cell=1, unit="km")
    near = np.hypot(*(np.subtract.outer(x, x) for x in np.asarray(space.points).T))
    found = []
    for factor in (1.0, unit):
        problem = Problem(space, utility_loss=near * factor)
        part = WholeProblem(problem, space.adjacency(2), Fraction(1)).parts[0]
        given = Columns().solve(part, TIGHT)
        found.append((loss(part, given) / factor, proven(part, given) / factor))
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def test_a_skewed_prior_and_secrets_that_are_never_drawn() -> None:
    rng = np.random.default_rng(4)
    space = MetricSpace.from_points(rng.uniform(0, 3, (12, 2)), unit="km")
    prior = rng.dirichlet(np.full(12, 0.3))
    prior[3] = 0.0
    problem = Problem(space, utility_loss="euclidean", prior=prior / prior.sum())
    part = WholeProblem(problem, space.adjacency(), Fraction(1)).parts[0]
    found = Columns(rounds=60).solve(part, PartLimits(gap=1e-4))
    expected = loss(part, Direct().solve(part, TIGHT))
    assert loss(part, found) == pytest.approx(expected, rel=1e-3)
    assert proven(part, found) <= expected * (1 + 1e-7)


def test_columns_are_private_before_any_repair() -> None:
    part = grid_part(4, "1")
    found = Columns().solve(part, TIGHT)
    assert found is not None
    assert found.matrix is not None
    i, j = part.constraints.pairs.T
    grown = np.exp(part.rate * part.constraints.lengths)[:, None] * (1 + 1e-9)
    assert (found.matrix[i] <= grown * found.matrix[j]).all()
    assert (found.matrix[j] <= grown * found.matrix[i]).all()
    assert found.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-6)


def test_without_a_report_for_each_secret_it_does_not_apply() -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", reports=[0, 4])
    assert (
        Columns().solve(WholeProblem(problem, space.adjacency(), Fraction(1)).parts[0], TIGHT)
        is None
    )


def test_no_time_at_all() -> None:
    found = Columns().solve(grid_part(4, "1"), PartLimits(seconds=0.0, gap=1e-6))
    assert found is not None
    assert found.matrix is None
    assert found.multipliers is None


def test_time_or_the_solver_gives_up_after_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    part, real, asked = grid_part(4, "0.5"), columns._Pricing.price, []

    def price(pricing: Any, *given: Any) -> Any:
        asked.append(given)
        if len(asked) == 3:
            raise SolverError("HiGHS", "Unknown")
        return real(pricing, *given)

    monkeypatch.setattr(columns._Pricing, "price", price)
    found = Columns().solve(part, TIGHT)
    assert len(asked) == 3
    assert proven(part, found) <= loss(part, found)


def test_time_runs_out_between_two_programs() -> None:
    part = grid_part(4, "1")
    pricing = columns._Pricing(part, 1)
    with pytest.raises(LimitReachedError, match="time ran out"):
        pricing.price(np.ones(part.n), 0.0)


def test_rounds_are_counted() -> None:
    found = Columns(rounds=1).solve(grid_part(4, "0.5"), TIGHT)
    assert found is not None
    assert found.parameters["rounds"] == 1
    with pytest.raises(InvalidProblemError, match="rounds: "):
        Columns(rounds=0)
