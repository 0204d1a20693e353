from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from discreet.core.errors import (
    InfeasibleError,
    InvalidProblemError,
    LimitReachedError,
    SolverError,
)
from discreet.core.lp import LinearModel, LinearProgram, infeasibility, solve
from discreet.core.lp.highs import run
from optimality import is_optimal

if TYPE_CHECKING:
    from collections.abc import Callable

INF = np.inf


def packing(rows: int, columns: int, seed: int) -> LinearProgram:
    rng = np.random.default_rng(seed)
    return LinearProgram(
        -rng.random(columns), rng.random((rows, columns)), row_upper=columns / 8, upper=1
    )


def test_added_rows_are_solved_from_the_last_basis_in_fewer_iterations() -> None:
    """The dual simplex goes on where it stopped, and reaches what a new solve reaches."""
    model = LinearModel(packing(60, 80, 0))
    first = model.solve()
    rng = np.random.default_rng(1)
    rows = rng.random((3, 80)) * (rng.random((3, 80)) < 0.3)
    model.add_rows(sparse.csc_array(rows), -INF, rows @ first.x - 0.05)
    warm = model.solve()
    cold = solve(model.program)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    assert warm.objective > first.objective
    assert is_optimal(warm)
    assert 0 < warm.iterations < cold.iterations / 2
    assert model.program.n_rows == 63
    assert (warm.program is model.program, first.program.n_rows) == (True, 60)


def test_the_program_of_a_model_is_what_one_would_have_built() -> None:
    model = LinearModel(packing(4, 5, 0))
    extra = np.array([[1.0, 0, 2, 0, 0], [0, 0, 0, 0, 3]])
    model.add_rows(extra, [-INF, 0.5], [1, 1])
    model.add_rows(np.zeros((0, 5)), 0, 0)
    model.set_row_bounds(-INF, 2)
    model.set_column_bounds([0.5, 0, 0, 0, 0], [0.5, 2, 2, 2, 2])
    rebuilt = LinearProgram(
        packing(4, 5, 0).cost,
        np.vstack([packing(4, 5, 0).matrix.toarray(), extra]),
        row_upper=2,
        lower=[0.5, 0, 0, 0, 0],
        upper=[0.5, 2, 2, 2, 2],
    )
    program = model.program
    for name in ("cost", "row_lower", "row_upper", "lower", "upper"):
        assert getattr(program, name).tolist() == getattr(rebuilt, name).tolist()
        assert not getattr(program, name).flags.writeable
    assert program.matrix.has_canonical_format
    assert program.matrix.indices.dtype == program.matrix.indptr.dtype == np.int32
    assert abs(program.matrix - rebuilt.matrix).max() == 0
    assert not any(a.flags.writeable for a in (program.matrix.data, program.matrix.indptr))
    assert model.solve().objective == pytest.approx(solve(rebuilt).objective)


def test_changed_sides_keep_the_basis_and_change_the_optimum_by_the_duals() -> None:
    """As in a Benders subproblem: only right-hand sides change."""
    model = LinearModel(packing(20, 30, 2))
    first = model.solve()
    assert first.row_duals is not None
    sides = np.full(20, 30 / 8) + 1e-4
    model.set_row_bounds(-INF, sides)
    second = model.solve()
    assert second.iterations == 0
    assert second.objective - first.objective == pytest.approx(
        first.row_duals.sum() * 1e-4, rel=1e-6
    )


def test_the_clock_of_a_limit_starts_with_each_solve() -> None:
    """HiGHS never sets its clock back: fifty solves would run into the limit of the last."""
    model = LinearModel(packing(60, 80, 4))
    spent = 0.0
    for seed in range(50):
        model.set_row_bounds(-INF, 5 + 10 * np.random.default_rng(seed).random(60))
        spent += model.solve().seconds
    model.set_row_bounds(-INF, 10)
    # One solve may take as long as twenty-five where the machine stands still for a moment, but not time after time.
    in_time = 0
    for _ in range(20):
        with suppress(LimitReachedError):
            in_time += is_optimal(model.solve(time_limit=max(0.02, spent / 2)))
            break
        model.set_row_bounds(-INF, 10)
    assert in_time == 1
    model.set_row_bounds(-INF, 5)
    with pytest.raises(LimitReachedError):
        model.solve(time_limit=0)


def test_a_model_goes_on_after_a_limit_and_after_infeasibility() -> None:
    model = LinearModel(LinearProgram([1, 1], [[1, 2], [1, -1]], row_lower=[4, 0]))
    assert model.solve().objective == pytest.approx(8 / 3)
    model.set_row_bounds(-INF, [-1, 0])
    with pytest.raises(InfeasibleError):
        model.solve()
    model.set_row_bounds([4, 0], INF)
    assert model.solve().objective == pytest.approx(8 / 3)


def test_a_mixed_integer_model() -> None:
    program = LinearProgram([-1, -1], [[2, 2]], row_upper=3, integrality=[1, 1])
    model = LinearModel(program)
    assert model.solve().objective == -1
    model.add_rows([[1, 1]], -INF, 0)
    assert model.solve().objective == 0
    with pytest.raises(InvalidProblemError, match="linear program"):
        model.farkas_ray()


CHANGES: list[tuple[str, Callable[[LinearModel], Any], str]] = [
    ("a row of another width", lambda m: m.add_rows([[1, 1, 1]], 0, 1), "matrix"),
    ("a tiny entry", lambda m: m.add_rows([[1, 1e-12]], 0, 1), "matrix"),
    ("sides of other rows", lambda m: m.add_rows([[1, 1]], [0, 0], 1), "lower"),
    ("sides that cross", lambda m: m.set_row_bounds(1, 0), "lower"),
    ("bounds that are no numbers", lambda m: m.set_column_bounds(0, np.nan), "upper"),
    ("sides that are no numbers", lambda m: m.set_row_bounds(0, np.nan), "upper"),
]


@pytest.mark.parametrize(("change", "field"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_nonsense_changes_nothing(change: Callable[[LinearModel], Any], field: str) -> None:
    model = LinearModel(LinearProgram([1, 2], [[1, 1]], row_lower=1))
    before = model.program
    with pytest.raises(InvalidProblemError, match=field):
        change(model)
    assert model.program is before
    assert model.solve().objective == pytest.approx(1)


INFEASIBLE: list[tuple[str, LinearProgram, list[float]]] = [
    (
        "two rows against each other",
        LinearProgram([0, 0], [[1, 1], [1, 1]], row_lower=[3, -INF], row_upper=[INF, 1]),
        [1, -1],
    ),
    ("a row against the box", LinearProgram([0, 0], [[1, 1]], row_lower=5, upper=1), [1]),
    ("a row against the signs", LinearProgram([1, 1], [[1, 1]], row_upper=-1), [-1]),
    ("a row without entries", LinearProgram([1], [[0]], row_lower=1), [1]),
    (
        "an equality between free variables",
        LinearProgram([0], [[1], [2]], row_lower=[1, 3], row_upper=[1, 3], lower=-INF),
        [-1, 0.5],
    ),
    (
        "a far entry",
        LinearProgram(
            [0, 0],
            [[1, -np.exp(20)], [0, 1]],
            row_lower=[1, -INF],
            row_upper=[INF, 0],
            upper=[0.5, 1],
        ),
        [1, -1],
    ),
]


@pytest.mark.parametrize("solved", [True, False])
@pytest.mark.parametrize(
    ("program", "ray"), [i[1:] for i in INFEASIBLE], ids=[i[0] for i in INFEASIBLE]
)
def test_a_ray_proves_infeasibility(program: LinearProgram, ray: list[float], solved: bool) -> None:  # noqa: FBT001 - a parameter
    """After a solve the ray is HiGHS' own, before it the elastic program's; either passes the check."""
    model = LinearModel(program)
    if solved:
        with pytest.raises(InfeasibleError):
            model.solve()
    y = model.farkas_ray()
    assert infeasibility(program, y, tolerance=1e-9) > 1e-9
    assert np.abs(y).max() == 1
    if len(ray) == 1:
        assert y.tolist() == ray
    assert (np.sign(y) == np.sign(ray)).sum() >= 1


def test_a_wrong_ray_of_the_solver_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rays that prove nothing, in each way that one can, are passed over for the elastic program."""
    program = INFEASIBLE[0][1]
    for ray in ([1.0, 0.0], [-1.0, 1.0], [0.0, 0.0], [np.nan, 1.0], [INF, -1.0], None):
        model = LinearModel(program)
        with pytest.raises(InfeasibleError):
            model.solve()
        wrong = WrongRay(model._highs, ray)
        monkeypatch.setattr(model, "_highs", wrong)
        assert model.farkas_ray().tolist() == [1, -1]
        assert wrong.asked


class WrongRay:
    """A solver whose rays are wrong."""

    def __init__(self, highs: Any, ray: list[float] | None) -> None:
        self.highs, self.ray, self.asked = highs, ray, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.highs, name)

    def getDualRay(self) -> tuple[None, bool, list[float] | None]:  # noqa: N802 - HiGHS' name
        self.asked = True
        return None, self.ray is not None, self.ray


def test_multipliers_of_infinite_sides_are_cleared_from_a_ray() -> None:
    """The check ignores them; a cut that is made from the ray must not see them either."""
    program = LinearProgram([0], [[1], [1], [1]], row_lower=[2, -INF, 0], row_upper=[INF, 1, INF])
    model = LinearModel(program)
    y = model._verified(np.array([2.0, -2.0, -1.0]), 1e-9)
    assert y is not None
    assert y.tolist() == [1, -1, 0]


def test_a_ray_is_not_sought_beyond_its_time() -> None:
    """The elastic program is as large as the program: a decomposition with a limit may not wait for it."""
    matrix = np.random.default_rng(0).random((80, 60))
    program = LinearProgram(np.ones(60), matrix, row_lower=1, row_upper=1)
    with pytest.raises(LimitReachedError):
        LinearModel(program).farkas_ray(time_limit=0)
    y = LinearModel(program).farkas_ray(time_limit=600)
    assert infeasibility(program, y, tolerance=1e-9) > 1e-9


def test_a_feasible_program_has_no_ray() -> None:
    model = LinearModel(LinearProgram([1, 1], [[1, 1]], row_lower=1))
    with pytest.raises(SolverError, match="no verified ray.*violation of 0"):
        model.farkas_ray()
    nearly = LinearProgram([0], [[1], [1]], row_lower=[1 + 1e-12, -INF], row_upper=[INF, 1])
    with pytest.raises(SolverError, match="no verified ray"):
        LinearModel(nearly).farkas_ray()


def test_a_feasible_program_without_rows_has_no_ray() -> None:
    with pytest.raises(SolverError, match="no verified ray"):
        LinearModel(LinearProgram([1], np.zeros((0, 1)))).farkas_ray()


def test_an_elastic_answer_without_multipliers_is_no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.core.lp.model.run", lambda *a: replace(run(*a), row_duals=None))
    with pytest.raises(SolverError, match="no verified ray"):
        LinearModel(INFEASIBLE[0][1]).farkas_ray()
