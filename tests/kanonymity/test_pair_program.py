"""The paper's mixed-integer program against brute force, and where Equation 8 fails."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.lp import LinearProgram, solve
from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods.milp import PairProgram
from discreet.kanonymity.methods.subsets import optimum_of
from kanonymity.tables import fars, mixed, numeric


def relaxed(program: LinearProgram) -> float:
    whole = LinearProgram(
        program.cost,
        program.matrix,
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=program.lower,
        upper=program.upper,
    )
    return solve(whole).objective


@settings(max_examples=12, deadline=None)
@given(st.integers(3, 7), st.integers(2, 3), st.integers(0, 10**6))
def test_it_finds_the_optimum_of_brute_force(n: int, k: int, seed: int) -> None:
    problem = numeric(np.random.default_rng(seed).integers(0, 6, (n, 2)).astype(float))
    found = PairProgram().solve(problem, k, SearchLimits())
    _, best = optimum_of(problem, np.arange(n), k)
    assert audit(found.labels, k).passed
    assert problem.loss_of(found.labels) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 4)])
def test_equal_rows_without_a_regular_graph_are_infeasible_in_equation_8(n: int, k: int) -> None:
    """Degrees k - 1 on n vertices need an even sum."""
    problem = numeric(np.zeros((n, 1)))
    with pytest.raises(InfeasibleError, match="regular"):
        PairProgram(exactly=True).solve(problem, k, SearchLimits())
    found = PairProgram().solve(problem, k, SearchLimits())
    assert problem.loss_of(found.labels) == 0


def test_equation_8_forbids_two_triples_for_even_k() -> None:
    problem = numeric(np.array([[0.0]] * 3 + [[1.0]] * 3))
    exact = PairProgram(exactly=True).solve(problem, 2, SearchLimits())
    assert problem.loss_of(exact.labels) == pytest.approx(2.0)
    assert problem.loss_of(PairProgram().solve(problem, 2, SearchLimits()).labels) == 0


def test_the_relaxation_of_the_twenty_rows_is_the_one_measured() -> None:
    assert relaxed(PairProgram().program(fars(), 3)) == pytest.approx(7.695467, abs=1e-5)


def test_without_bounds_the_program_promises_less_than_nothing() -> None:
    """As printed, ends may cross: y at the greatest value and z at the least."""
    problem = numeric(np.array([[0.0], [1.0], [3.0]]))
    program = PairProgram().program(problem, 3)
    width = program.n_variables
    y = slice(width - 6, width - 3)
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[y.start :], upper[y.start :] = 0, 1
    loose = LinearProgram(
        program.cost,
        program.matrix,
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=lower,
        upper=upper,
        integrality=program.integrality,
    )
    assert solve(loose).objective == pytest.approx(-3.0)
    assert solve(program).objective == pytest.approx(3.0)


def test_out_of_time_the_initial_solution_stands() -> None:
    found = PairProgram().solve(fars(), 3, SearchLimits.within(1e-9))
    assert audit(found.labels, 3).passed


def test_what_the_program_cannot_say_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="numeric"):
        PairProgram().solve(mixed(5, 0), 2, SearchLimits())
    with pytest.raises(InvalidProblemError, match="missing"):
        PairProgram().solve(numeric(np.array([[1.0], [np.nan], [2.0]])), 2, SearchLimits())
    with pytest.raises(InvalidProblemError, match="rows"):
        PairProgram(max_rows=4).solve(numeric(np.zeros((5, 1))), 2, SearchLimits())
