"""Laws of linear programs, against another build of HiGHS (SciPy's) and against arithmetic."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize

from discreet.core.errors import InfeasibleError, SolverError
from discreet.core.lp import LinearModel, LinearProgram, infeasibility, lagrangian_bound, solve
from optimality import dual_residual, duality_gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

INF = np.inf
entries = st.integers(-8, 8)
METHODS: list[Literal["simplex", "ipm"]] = ["simplex", "ipm"]
quick = settings(max_examples=60)


@st.composite
def programs(draw: st.DrawFn, *, boxed: bool | None = None) -> LinearProgram:
    """Small programs of integers with every kind of row and variable, feasible or not."""
    m, n = draw(st.integers(0, 5)), draw(st.integers(1, 5))

    def integers(*shape: int) -> NDArray[np.float64]:
        size = int(np.prod(shape))
        drawn = draw(st.lists(entries, min_size=size, max_size=size))
        return np.array(drawn, dtype=np.float64).reshape(shape)

    def coins(size: int) -> NDArray[np.bool_]:
        return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)

    low = integers(m)
    high = low + np.abs(integers(m))
    lower = integers(n)
    upper = lower + np.abs(integers(n))
    if boxed is None:
        lower, upper = np.where(coins(n), lower, -INF), np.where(coins(n), upper, INF)
    return LinearProgram(
        integers(n),
        integers(m, n),
        row_lower=np.where(coins(m), low, -INF),
        row_upper=np.where(coins(m), high, INF),
        lower=lower,
        upper=upper,
    )


def optimum(program: LinearProgram) -> float:
    """Value of a program; infinite where nothing is feasible, minus infinite where it is unbounded."""
    try:
        return solve(program).objective
    except InfeasibleError:
        return INF
    except SolverError as error:
        assert error.status == "Unbounded"  # noqa: PT017 - one status stands for one value here
        return -INF


def by_scipy(program: LinearProgram) -> float:
    matrix, sides = (
        program.matrix.toarray(),
        np.concatenate([program.row_upper, -program.row_lower]),
    )
    finite = np.isfinite(sides)
    # SciPy calls some unbounded programs infeasible; it tells them apart where there is no cost.
    found, point = (
        optimize.linprog(
            cost,
            A_ub=np.vstack([matrix, -matrix])[finite],
            b_ub=sides[finite],
            bounds=list(zip(program.lower.tolist(), program.upper.tolist(), strict=True)),
        )
        for cost in (program.cost, np.zeros(program.n_variables))
    )
    if found.status == 0:
        return float(found.fun or 0.0)
    assert found.status in {2, 3}
    return -INF if point.status == 0 else INF


def test_an_unbounded_program_is_not_called_infeasible() -> None:
    """Found by the law below: the solver's presolve calls it infeasible, though 0 is feasible."""
    row = [[-1.0, 1.0, -1.0], [1.0, -1.0, 1.0]]
    free = np.full(3, INF)
    program = LinearProgram([0, 0, -1], row, row_upper=[0, 1], lower=-free, upper=free)
    assert optimum(program) == -INF


@quick
@given(programs())
def test_scipy_finds_the_same_optimum(program: LinearProgram) -> None:
    assert optimum(program) == pytest.approx(by_scipy(program), rel=1e-7, abs=1e-7)


@quick
@given(programs(), st.sampled_from(METHODS))
def test_an_answer_has_no_residuals(
    program: LinearProgram, method: Literal["simplex", "ipm"]
) -> None:
    assume(math.isfinite(optimum(program)))
    solution = solve(program, method=method)
    assert solution.primal_residual() <= 1e-6
    assert dual_residual(solution) <= 1e-6
    assert duality_gap(solution) <= 1e-6 * (1 + abs(solution.objective))
    assert solution.bound == pytest.approx(solution.objective, rel=1e-6, abs=1e-6)


@quick
@given(programs(boxed=True), st.data())
def test_weak_duality_for_any_multipliers(program: LinearProgram, data: st.DataObject) -> None:
    """No multipliers bound the optimum from above it; those of the solver reach it."""
    value = optimum(program)
    assume(math.isfinite(value))
    size = program.n_rows
    y = data.draw(st.lists(st.floats(-9, 9), min_size=size, max_size=size))
    assert lagrangian_bound(program, y) <= value + 1e-9 * (1 + abs(value))
    duals = solve(program).row_duals
    assert duals is not None
    assert lagrangian_bound(program, duals) == pytest.approx(value, rel=1e-7, abs=1e-7)


@quick
@given(programs(), st.data())
def test_rows_may_be_scaled_and_everything_permuted(
    program: LinearProgram, data: st.DataObject
) -> None:
    m, n = program.n_rows, program.n_variables
    rows = np.array(data.draw(st.permutations(range(m))), dtype=int)
    columns = np.array(data.draw(st.permutations(range(n))), dtype=int)
    exponents = data.draw(st.lists(st.integers(-4, 4), min_size=m, max_size=m))
    scale = 2.0 ** np.array(exponents, dtype=float)
    changed = LinearProgram(
        program.cost[columns],
        scale[:, None] * program.matrix.toarray()[rows][:, columns],
        row_lower=scale * program.row_lower[rows],
        row_upper=scale * program.row_upper[rows],
        lower=program.lower[columns],
        upper=program.upper[columns],
    )
    assert optimum(changed) == pytest.approx(optimum(program), rel=1e-7, abs=1e-7)


@quick
@given(programs())
def test_an_infeasible_program_has_a_ray_and_a_feasible_one_has_none(
    program: LinearProgram,
) -> None:
    model = LinearModel(program)
    try:
        model.solve()
    except InfeasibleError:
        ray = model.farkas_ray()
        assert infeasibility(program, ray, tolerance=1e-9) > 0
        assert np.abs(ray).max() == 1
    except SolverError as error:
        assert error.status == "Unbounded"  # noqa: PT017 - nothing else may come
    else:
        with pytest.raises(SolverError, match="no verified ray"):
            model.farkas_ray()


@quick
@given(programs(boxed=True), st.data())
def test_a_model_solves_what_a_new_program_would(
    program: LinearProgram, data: st.DataObject
) -> None:
    """Split the rows, add the second part after a solve."""
    first = data.draw(st.integers(0, program.n_rows))
    matrix = program.matrix.toarray()
    model = LinearModel(
        LinearProgram(
            program.cost,
            matrix[:first],
            row_lower=program.row_lower[:first],
            row_upper=program.row_upper[:first],
            lower=program.lower,
            upper=program.upper,
        )
    )
    try:
        model.solve()
        model.add_rows(matrix[first:], program.row_lower[first:], program.row_upper[first:])
        value = model.solve().objective
    except InfeasibleError:
        value = INF
    assert value == pytest.approx(optimum(program), rel=1e-7, abs=1e-7)


@settings(max_examples=40)
@given(programs(boxed=True))
def test_a_mixed_integer_optimum_is_that_of_enumeration(program: LinearProgram) -> None:
    assume(np.prod(program.upper - program.lower + 1) <= 2000)
    ranges = (
        range(int(low), int(high) + 1)
        for low, high in zip(program.lower, program.upper, strict=True)
    )
    points = np.array(list(itertools.product(*ranges)), dtype=float)
    activity = points @ program.matrix.T.toarray()
    feasible = ((activity >= program.row_lower) & (activity <= program.row_upper)).all(axis=1)
    values = points[feasible] @ program.cost
    integer = LinearProgram(
        program.cost,
        program.matrix,
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        lower=program.lower,
        upper=program.upper,
        integrality=np.ones(program.n_variables, bool),
    )
    if values.size:
        solution = solve(integer)
        assert solution.objective == values.min()
        assert solution.is_feasible(1e-9)
        assert solution.bound == pytest.approx(values.min(), abs=1e-6)
    else:
        with pytest.raises(InfeasibleError):
            solve(integer)
