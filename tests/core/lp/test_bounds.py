from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.lp import LinearProgram, infeasibility, lagrangian_bound
from discreet.core.lp.bounds import dual_objective

if TYPE_CHECKING:
    from numpy.typing import NDArray

INF = np.inf
COVER = LinearProgram([1, 2], [[1, 1], [0, 1]], row_lower=[4, 1])


def exact_bound(program: LinearProgram, row_duals: NDArray[np.float64]) -> Fraction | float:
    """Evaluate the Lagrangian in rational arithmetic: slow, and written without NumPy's sums."""
    total = Fraction(0)
    y = [Fraction(v) for v in row_duals]
    for i in range(program.n_rows):
        side = program.row_lower[i] if y[i] > 0 else program.row_upper[i]
        if math.isinf(side):
            y[i] = Fraction(0)
        else:
            total += y[i] * Fraction(side)
    dense = program.matrix.toarray()
    for j in range(program.n_variables):
        reduced = Fraction(program.cost[j]) - sum(
            Fraction(dense[i, j]) * y[i] for i in range(program.n_rows)
        )
        side = program.lower[j] if reduced > 0 else program.upper[j]
        if reduced != 0 and math.isinf(side):
            return -math.inf
        total += 0 if reduced == 0 else reduced * Fraction(side)
    return total


numbers = st.floats(-100, 100, allow_subnormal=False).map(lambda v: 0.0 if abs(v) < 1e-6 else v)
sides = st.one_of(numbers, st.just(INF))


@st.composite
def programs_with_multipliers(draw: st.DrawFn) -> tuple[LinearProgram, NDArray[np.float64]]:
    """Any program, with infinite sides, and any multipliers at all."""
    m, n = draw(st.integers(0, 3)), draw(st.integers(1, 3))

    def vector(elements: st.SearchStrategy[float], size: int) -> NDArray[np.float64]:
        return np.array(draw(st.lists(elements, min_size=size, max_size=size)), dtype=np.float64)

    row_sides = np.sort([-vector(sides, m), vector(sides, m)], axis=0)
    box = np.sort([-vector(sides, n), vector(sides, n)], axis=0)
    for low, high in (row_sides, box):
        low[np.isposinf(low)] = 0
        high[np.isneginf(high)] = 0
    program = LinearProgram(
        vector(numbers, n),
        vector(numbers, m * n).reshape(m, n),
        row_lower=row_sides[0],
        row_upper=row_sides[1],
        lower=box[0],
        upper=box[1],
    )
    return program, vector(numbers, m)


@given(programs_with_multipliers())
def test_the_bound_is_never_above_the_exact_lagrangian(
    case: tuple[LinearProgram, NDArray[np.float64]],
) -> None:
    program, y = case
    bound, exact = lagrangian_bound(program, y), exact_bound(program, y)
    assert bound <= exact
    if math.isinf(bound):
        assert bound == exact
    else:
        assert float(Fraction(exact) - Fraction(bound)) <= 1e-8 * (1 + abs(bound))


def test_the_optimal_multipliers_give_the_optimum() -> None:
    """Integer data: the signs on the infinite sides are found exactly, and the bound is tight to rounding."""
    assert 5 - 1e-12 <= lagrangian_bound(COVER, [1, 1]) <= 5


def test_multipliers_of_infinite_sides_count_as_zero() -> None:
    assert lagrangian_bound(COVER, [-3, -1]) == pytest.approx(0, abs=1e-12)


def test_a_negative_reduced_cost_without_a_bound_proves_nothing() -> None:
    assert lagrangian_bound(COVER, [1.5, 0]) == -INF
    assert infeasibility(COVER, [1, 0]) == -INF


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_tolerance_forgives_rounding_on_infinite_sides_only(mirrored: bool) -> None:  # noqa: FBT001 - a parameter
    """Mirroring the variable moves the infinite side below."""
    sign = -1 if mirrored else 1
    box = {"lower": -INF, "upper": 0.0} if mirrored else {"lower": 0.0, "upper": INF}
    program = LinearProgram([sign], [[sign * 3.0]], row_lower=1.0, **box)
    third = np.nextafter(1 / 3, 1)
    assert lagrangian_bound(program, [third]) == -INF
    assert lagrangian_bound(program, [third], tolerance=1e-12) == pytest.approx(1 / 3)
    assert lagrangian_bound(program, [0.34], tolerance=1e-12) == -INF


def test_a_free_variable_needs_an_exact_zero() -> None:
    program = LinearProgram([1.0], [[1.0]], row_lower=2.0, lower=-INF)
    assert lagrangian_bound(program, [1.0]) == pytest.approx(2)
    assert lagrangian_bound(program, [np.nextafter(1, 2)]) == -INF
    assert lagrangian_bound(program, [np.nextafter(1, 0)]) == -INF


def test_a_proof_of_infeasibility_has_a_positive_value() -> None:
    """Rows x + y >= 3 and x + y <= 1: their difference."""
    program = LinearProgram([0, 0], [[1, 1], [1, 1]], row_lower=[3, -INF], row_upper=[INF, 1])
    assert infeasibility(program, [1, -1]) == pytest.approx(2)
    assert infeasibility(program, [2, -2]) == pytest.approx(4)
    assert infeasibility(program, [1, -4]) <= 0


def test_no_multipliers_prove_a_feasible_program_infeasible() -> None:
    rng = np.random.default_rng(0)
    box = LinearProgram([0, 0], [[1, 1], [2, 1]], row_lower=[1, 2], row_upper=[2, 3], upper=2)
    values = [infeasibility(box, y) for y in rng.normal(size=(200, 2))]
    assert max(values) <= 0
    assert min(values) > -INF


@pytest.mark.parametrize("duals", [[1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 1.0]], [1.0, 1e155]])
def test_senseless_multipliers_are_refused(duals: object) -> None:
    with pytest.raises(InvalidProblemError, match="row_duals"):
        lagrangian_bound(COVER, duals)  # type: ignore[arg-type]


def test_the_dual_objective_leaves_wrong_signs_to_the_residual() -> None:
    right = dual_objective(COVER, np.array([1.0, 1.0]), np.zeros(2))
    wrong = dual_objective(COVER, np.array([1.0, -9.0]), np.array([0.0, -1.0]))
    assert (right, wrong) == (5, 4)


def test_a_program_without_rows_is_bounded_by_its_box() -> None:
    program = LinearProgram([1, -2], np.zeros((0, 2)), upper=3)
    assert lagrangian_bound(program, []) == pytest.approx(-6)
