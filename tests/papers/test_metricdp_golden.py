"""Optima of small instances of [Qiu24]_'s grid experiment, computed once by two solvers and kept.

Square grids of 1 km cells, uniform prior, Euclidean loss in km, every secret may be reported; constraints within 2 km,
or between all pairs. The optima were found with HiGHS' simplex and interior-point methods on the unpruned program and
agree to the digits given. The larger ones stand in ``benchmarks/metricdp_golden.py``.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, Problem, design, verify
from discreet.metricdp.bounds.bound import lower_bound
from discreet.metricdp.part import PartLimits, WholeProblem
from few import few_of

GOLDEN: list[tuple[int, str, int | None, float]] = [
    (5, "0.5", 2, 1.607659124),
    (5, "0.5", None, 1.619532155),
    (5, "1", 2, 1.189651592),
    (5, "1", None, 1.228677266),
    (5, "1.5", 2, 0.770245236386),
    (5, "2", 2, 0.493484464504),
    (5, "2", None, 0.510698543363),
    (5, "10", 2, 1.47878725081e-4),
    (7, "0.5", 2, 2.039195544),
    (7, "1", 2, 1.348579672),
    (7, "1.5", 2, 0.851831188583),
    (7, "2", 2, 0.540620094693),
    (7, "10", 2, 1.58641102554e-4),
]
HARDER: list[tuple[int, str, int | None, float]] = [
    (7, "2", None, 0.562578751687),
    (7, "0.5", None, 2.080578191),
    (7, "1", None, 1.394617469),
]
"""All pairs of 49 secrets: 70,000 rows, some seconds each as one program."""


def grid(side: int) -> Problem:
    return Problem(MetricSpace.grid(side, side, cell=1, unit="km"), utility_loss="euclidean")


@pytest.mark.parametrize(("side", "epsilon", "radius", "optimum"), GOLDEN)
def test_the_linear_program_has_the_known_optimum_and_proves_it(
    side: int, epsilon: str, radius: int | None, optimum: float
) -> None:
    """The value within 1e-6, and by its prices a bound within 1e-6 (O11)."""
    problem = grid(side)
    part = WholeProblem(problem, problem.space.adjacency(radius), Fraction(epsilon)).parts[0]
    found = Direct().solve(part, PartLimits())
    assert found.matrix is not None
    assert found.multipliers is not None
    assert float((part.cost * found.matrix).sum()) == pytest.approx(optimum, rel=1e-6)
    bound = lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)
    assert bound == pytest.approx(optimum, rel=1e-6)
    assert bound <= optimum * (1 + 1e-9)


@pytest.mark.parametrize(("side", "epsilon", "radius", "optimum"), few_of(14, GOLDEN + HARDER))
def test_a_design_brackets_the_known_optimum(
    side: int, epsilon: str, radius: int | None, optimum: float
) -> None:
    """Lower bound, golden value and verified loss in this order, the loss within 1e-4 after repair and rounding."""
    # Steps to so narrow a gap take longer than the program where all pairs are constrained.
    method = Direct() if radius is None else None
    made = design(grid(side), MetricDP(epsilon, "km", radius), gap=1e-4, method=method)
    assert made.lower is not None
    assert made.lower <= optimum * (1 + 1e-9)
    assert made.upper >= optimum * (1 - 1e-9)
    assert made.upper == pytest.approx(optimum, rel=1e-4)
    assert verify(made, optimality=True).passed
