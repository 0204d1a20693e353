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


WRONG: list[tuple[str, dict[str, Any], float]] = [
    ("nothing", {}, 0),
    ("a row is violated", {"x": [1.5, 3.0]}, 0.5),
    ("a bound is violated", {"x": [-0.25, 3.0]}, 0.25),
    ("no point", {"x": [np.nan, 3.0]}, INF),
    ("an infinite point", {"x": [1.0, INF]}, INF),
]


@pytest.mark.parametrize(("change", "measured"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_answer_is_measured(change: dict[str, Any], measured: float) -> None:
    answer = replace(RIGHT, **change)
    assert answer.primal_residual() == measured
    assert answer.is_feasible() is (measured == 0)


def test_lower_sides_and_upper_bounds_are_measured() -> None:
    program = LinearProgram([1, 1], [[1, 1]], row_lower=3, lower=-INF, upper=[2, INF])
    answer = LPSolution(program, np.array([2.5, 0.0]), None, None, 2.5, -INF)
    assert answer.primal_residual() == 0.5


def test_fractions_violate_integrality() -> None:
    program = LinearProgram([1, 1], [[1, 1]], row_lower=2.25, integrality=[1, 0])
    fractional = LPSolution(program, np.array([1.75, 0.5]), None, None, 2.25, 2.25)
    assert fractional.primal_residual() == 0.25
    assert replace(fractional, x=np.array([2.0, 0.25])).primal_residual() == 0


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
