"""The linear program: its rows, its optimum against another solver, its prices, and how it gives up."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import discreet.core.lp
from discreet.core.errors import InvalidProblemError, LimitReachedError, SolverError
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, Kernel, Problem
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.methods import direct
from discreet.metricdp.methods.direct import constraint_matrix, priced_edges
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMITS = PartLimits()


def solved(part: Part, solver: Any = "auto") -> Candidate:
    found = Direct(solver).solve(part, LIMITS)
    assert found.matrix is not None
    return found


def value(part: Part, solver: Any = "auto") -> float:
    found = solved(part, solver)
    assert found.matrix is not None
    return float((part.cost * found.matrix).sum())


def proven(part: Part) -> float:
    found = solved(part)
    assert found.multipliers is not None
    return lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)


def rows_by_hand(part: Part, graph: Adjacency) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n, k = part.cost.shape
    ratios = []
    for (i, j), length in zip(graph.pairs.tolist(), graph.lengths.tolist(), strict=True):
        for a, b in ((i, j), (j, i)):
            for report in range(k):
                row = np.zeros((n, k))
                row[a, report] = 1.0
                row[b, report] = -np.exp(part.rate * length)
                ratios.append(row.ravel())
    sums = np.asarray(np.kron(np.eye(n), np.ones(k)), dtype=np.float64)
    return np.array(ratios).reshape(-1, n * k), sums


def oracle(part: Part) -> float:
    """Solve the program on all stated constraints, nothing pruned, by another interface."""
    ratios, sums = rows_by_hand(part, part.constraints)
    some = {"A_ub": ratios, "b_ub": np.zeros(len(ratios))} if len(ratios) else {}
    found: Any = linprog
    return float(found(part.cost.ravel(), A_eq=sums, b_eq=np.ones(part.n), **some).fun)


def random_part(seed: int, n: int = 6, k: int = 4) -> Part:
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.uniform(0, 2, (n, 2)), unit="km")
    prior = rng.dirichlet(np.ones(n))
    prior[0] = 0.0
    problem = Problem(space, utility_loss=rng.uniform(0, 3, (n, k)), prior=prior / prior.sum())
    return WholeProblem(problem, space.adjacency(1).join(space)[0], Fraction(3, 2)).parts[0]


def test_rows_are_those_of_the_definition() -> None:
    part = random_part(1, 4, 3)
    matrix, upper = constraint_matrix(part, part.constraints)
    ratios, sums = rows_by_hand(part, part.constraints)
    built = matrix.toarray()
    m = len(ratios)
    assert sorted(built[:m].tolist()) == sorted(ratios.tolist())
    assert (built[m:] == sums).all()
    assert upper.tolist() == [0.0] * m + [1.0] * 4


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 5))
@settings(max_examples=15)
def test_optimum_and_bound_agree_with_another_solver_on_unpruned_rows(
    seed: int, n: int, k: int
) -> None:
    """O4 and O11: pruning changes nothing, and prices prove the optimum."""
    part = random_part(seed, n, k)
    expected = oracle(part)
    assert value(part) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert proven(part) <= expected * (1 + 1e-9) + 1e-12
    assert proven(part) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_both_solvers_agree() -> None:
    part = random_part(3)
    losses = [value(part, solver) for solver in ("simplex", "ipm")]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert [solved(part, solver).parameters["solver"] for solver in ("simplex", "ipm")] == [
        "simplex",
        "ipm",
    ]


@pytest.mark.parametrize("epsilon", [10, 1])
def test_interior_points_come_first(epsilon: int) -> None:
    space = MetricSpace.grid(5, 5, cell=1, unit="km")
    part = WholeProblem(
        Problem(space, utility_loss="euclidean"), space.adjacency(2), Fraction(epsilon)
    ).parts[0]
    assert solved(part).parameters["solver"] == "ipm"


def test_small_optima_do_not_vanish_in_tolerances() -> None:
    """At 14 nats between secrets the optimum is below 1e-6, ten times the solver's tolerance."""
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    part = WholeProblem(
        Problem(space, utility_loss="euclidean"), space.adjacency(1), Fraction(14)
    ).parts[0]
    q = np.exp(-14.0)
    assert value(part) == pytest.approx(24 / 9 * q, rel=1e-3)
    assert proven(part) == pytest.approx(value(part), rel=1e-4)


def test_constraints_of_more_than_twenty_nats_are_left_out_and_the_bound_stays_valid() -> None:
    graph = Adjacency(3, [(0, 1), (1, 2)], [2, 30], 0)  # type: ignore[arg-type]
    part = Part(1.0 - np.eye(3), graph, Fraction(1))
    assert priced_edges(part).pairs.tolist() == [[0, 1]]
    closed = Kernel().solve(part, LIMITS)
    assert closed is not None
    assert closed.matrix is not None
    assert 0.2 < proven(part) <= (part.cost * closed.matrix).sum()
    # Nothing left at all: the bound is the loss without privacy.
    far = Part(1.0 - np.eye(3), graph, Fraction(100))
    assert not len(priced_edges(far))
    assert abs(proven(far)) < 1e-300


def test_tighter_guarantees_cost_more() -> None:
    """O2: between floor and best constant, falling in epsilon, rising in the radius and in the set of pairs."""
    space = MetricSpace.grid(3, 4, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")

    def at(epsilon: str, radius: int | None) -> float:
        return value(WholeProblem(problem, space.adjacency(radius), Fraction(epsilon)).parts[0])

    constant = float(problem.cost.sum(axis=0).min())
    losses = [at(epsilon, 2) for epsilon in ("0.001", "0.5", "1", "2", "8")]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(constant, rel=1e-2)
    assert losses[-1] < 0.01
    assert at("1", 1) <= at("1", 2) * (1 + 1e-7) <= at("1", None) * (1 + 2e-7)


def test_a_spanner_brackets_the_optimum() -> None:
    """O5: fewer edges relax; on the same edges at epsilon over the stretch all pairs hold."""
    space = MetricSpace.grid(3, 4, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    every, sparse = space.adjacency(), space.adjacency(1)
    stretch = sparse.stretch(space)
    assert stretch is not None
    epsilon = Fraction(1)
    below = value(WholeProblem(problem, sparse, epsilon).parts[0])
    above = value(WholeProblem(problem, sparse, epsilon / stretch).parts[0])
    assert (
        below
        <= value(WholeProblem(problem, every, epsilon).parts[0]) * (1 + 1e-7)
        <= above * (1 + 2e-7)
    )


def test_feasible_points_keep_every_connected_pair() -> None:
    """P3.2: what holds on edges holds along paths."""
    part = random_part(8)
    matrix = solved(part).matrix
    assert matrix is not None
    for i, j in itertools.permutations(range(part.n), 2):
        assert (matrix[i] <= np.exp(part.rate * part.paths[i, j]) * matrix[j] + 1e-6).all()


def test_a_program_that_does_not_fit_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "MAX_ROWS", 10)
    found = Direct().solve(random_part(1), LIMITS)
    assert found.matrix is None
    assert "was not built" in found.note


def test_time_runs_out() -> None:
    with pytest.raises(LimitReachedError, match="no time left to build"):
        Direct("simplex").solve(random_part(2, 30, 30), PartLimits(seconds=1e-6))


def test_the_other_solver_gets_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = discreet.core.lp.solve, []

    def fails_first(program: Any, *, method: Any, **options: Any) -> Any:
        asked.append(method)
        if len(asked) == 1:
            raise SolverError("HiGHS", "Unknown")
        return real(program, method=method, **options)

    monkeypatch.setattr(discreet.core.lp, "solve", fails_first)
    assert solved(random_part(4)).parameters["solver"] == asked[1]
    assert sorted(asked) == ["ipm", "simplex"]


def test_an_unknown_solver_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="solver: .*got 'pdlp'"):
        Direct("pdlp")  # type: ignore[arg-type]
