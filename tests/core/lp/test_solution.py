from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.lp import LinearProgram, LPSolution

INF = np.inf
PROGRAM = LinearProgram([-1, -2], [[1, 1], [0, 1]], row_upper=[4, 3])
"""The optimum is -7 at (1, 3), with duals (-1, -1)."""

RIGHT = LPSolution(
    PROGRAM,
    x=np.array([1.0, 3.0]),
    row_duals=np.array([-1.0, -1.0]),
    reduced_costs=np.zeros(2),
    objective=-7.0,
    bound=-7.0,
)


def test_the_right_answer_has_no_residual() -> None:
    assert (RIGHT.primal_residual(), RIGHT.dual_residual(), RIGHT.duality_gap()) == (0, 0, 0)
    assert RIGHT.is_optimal(tol=0)


WRONG: list[tuple[str, dict[str, Any], tuple[float, float, float]]] = [
    ("a row is violated", {"x": [1.5, 3.0]}, (0.5, 0, 0.5)),
    ("a bound is violated", {"x": [-0.25, 3.0]}, (0.25, 0, 1.25)),
    ("feasible, not optimal", {"x": [0.0, 3.0]}, (0, 0, 1)),
    ("nothing proves it", {"row_duals": [0.0, 0.0]}, (0, 2, 7)),
    ("duals of the wrong sign", {"row_duals": [1.0, -1.0]}, (0, 2, 4)),
    ("reduced costs of the wrong sign", {"reduced_costs": [0.0, -3.0]}, (0, 3, 0)),
    ("reduced costs that do not fit", {"reduced_costs": [0.5, 0.0]}, (0, 0.5, 0)),
    ("no row duals", {"row_duals": None}, (0, INF, INF)),
    ("no reduced costs", {"reduced_costs": None}, (0, INF, INF)),
    ("duals that are no numbers", {"row_duals": [np.nan, -1.0]}, (0, INF, INF)),
    ("infinite reduced costs", {"reduced_costs": [INF, -INF]}, (0, INF, INF)),
    ("no point", {"x": [np.nan, 3.0]}, (INF, 0, INF)),
    ("an infinite point", {"x": [1.0, INF]}, (INF, 0, INF)),
]


@pytest.mark.parametrize(("change", "measured"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_answer_is_measured_and_is_not_optimal(
    change: dict[str, Any], measured: tuple[float, float, float]
) -> None:
    wrong = replace(RIGHT, **change)
    assert (wrong.primal_residual(), wrong.dual_residual(), wrong.duality_gap()) == measured
    assert not wrong.is_optimal()


def test_lower_sides_and_upper_bounds_are_measured() -> None:
    program = LinearProgram([1, 1], [[1, 1]], row_lower=3, lower=-INF, upper=[2, INF])
    answer = LPSolution(
        program, np.array([2.5, 0.0]), np.array([-1.0]), np.array([0.5, 1.5]), 2.5, -INF
    )
    assert answer.primal_residual() == 0.5
    assert answer.dual_residual() == 1.5


def test_fractions_violate_integrality() -> None:
    program = LinearProgram([1, 1], [[1, 1]], row_lower=2.25, integrality=[1, 0])
    fractional = LPSolution(program, np.array([1.75, 0.5]), None, None, 2.25, 2.25)
    assert fractional.primal_residual() == 0.25
    whole = replace(fractional, x=np.array([2.0, 0.25]))
    assert whole.primal_residual() == whole.duality_gap() == 0
    assert whole.is_optimal()
    assert not replace(whole, bound=2.0).is_optimal()
    assert replace(whole, bound=-INF).duality_gap() == INF


def test_a_small_optimum_is_judged_by_its_own_size() -> None:
    """Multipliers of zero do not prove an optimum of 1e-9, however large the other costs."""
    program = LinearProgram([1, 1], [[1, 0]], row_lower=1e-9)
    right = LPSolution(program, np.array([1e-9, 0]), np.ones(1), np.array([0.0, 1.0]), 1e-9, 1e-9)
    assert right.is_optimal()
    assert not replace(right, row_duals=np.zeros(1), reduced_costs=np.ones(2)).is_optimal()


def test_arrays_are_copied_and_read_only() -> None:
    x = np.array([1.0, 3.0])
    answer = replace(RIGHT, x=x)
    x[0] = 9
    assert answer.x.tolist() == [1, 3]
    assert not answer.x.flags.writeable


@pytest.mark.parametrize(
    "change", [{"x": [1.0]}, {"x": None}, {"row_duals": [1.0]}, {"reduced_costs": [[0.0, 0.0]]}]
)
def test_wrong_shapes_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match=next(iter(change))):
        replace(RIGHT, **change)
