"""Logarithmic axes on data without a positive value: every plot is drawn, and no value loses its place."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import discreet
from discreet.evaluate.intervals import Estimate
from discreet.evaluate.utility.measure import Measure, Point
from discreet.plot import plot_frontier
from discreet.plot.frontier import Curve
from discreet.plot.judges import plot_points
from discreet.plot.style import log_scale
from discreet_reproduction.drawing import lines, lines_of
from discreet_reproduction.metricdp.convergence import _boxes, _cloud
from few import each_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

pytest.importorskip("matplotlib")

STRANGE: dict[str, list[float]] = {
    "nothing": [],
    "a zero": [0.0],
    "zeros": [0.0, 0.0, 0.0],
    "below zero": [-1.0, -2.0],
    "no number": [math.nan, math.nan],
    "infinite": [math.inf, math.inf],
    "one positive": [0.0, 0.0, 3.0],
    "both sides": [-5.0, 0.0, 3.0],
    "holes": [1.0, math.nan, math.inf, 0.0],
    "least float": [0.0, 5e-324, 1.0],
    "positive": [1e-3, 1.0, 40.0],
}
SCALES = {"one positive": "symlog", "both sides": "symlog", "holes": "symlog"}
SCALES |= {"least float": "symlog", "positive": "log"}


def axes() -> Axes:
    """Make axes without a window, as experiments have them."""
    from matplotlib.figure import Figure

    made: Axes = Figure(layout="constrained").add_subplot()
    return made


def drawn(ax: Axes) -> Axes:
    """Draw to the end: what a logarithmic axis refuses it refuses when its ticks are placed."""
    figure: Any = ax.figure
    figure.draw_without_rendering()
    return ax


@pytest.mark.parametrize("case", STRANGE)
def test_a_scale_is_logarithmic_as_far_as_the_values_allow(case: str) -> None:
    ax = axes()
    ax.plot(STRANGE[case], STRANGE[case])
    for axis in ("x", "y"):
        assert log_scale(ax, axis, STRANGE[case]) == SCALES.get(case, "linear")
    assert ax.get_xscale() == ax.get_yscale() == SCALES.get(case, "linear")
    drawn(ax)


def test_without_the_helper_zeros_alone_can_not_be_drawn() -> None:
    ax = axes()
    ax.plot([1.0, 2.0], [0.0, 0.0])

    def draw() -> None:
        ax.set_yscale("log")
        drawn(ax)

    # Matplotlib warns first, which is an error in tests, and fails in the end.
    with pytest.raises((ValueError, UserWarning), match=r"log-scaled"):
        draw()


@pytest.mark.parametrize(("case", "log"), each_once(STRANGE, ["x", "y", "xy"]))
def test_lines_of_experiments_are_drawn_whatever_their_values(case: str, log: str) -> None:
    values = STRANGE[case]
    count = [float(at) for at in range(1, len(values) + 1)]
    for series in ((values, count), (count, values), (values, values)):
        ax = axes()
        lines_of({"a": series, "b": ([1.0], [0.0])}, "x", "y", ax, log=log)
        drawn(ax)


def test_a_zero_among_errors_keeps_its_mark() -> None:
    rows: list[dict[str, Any]] = [
        {"epsilon": epsilon, "method": method, "error": error}
        for method, errors in {"exact": (0.0, 0.0), "noisy": (5.0, 0.5)}.items()
        for epsilon, error in zip(("0.1", "1"), errors, strict=True)
    ]
    for row in rows:
        row["epsilon"] = float(row["epsilon"])
    ax = axes()
    lines(rows, "epsilon", "error", "method", ax, log="xy")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "symlog")
    at = {str(line.get_label()): line for line in drawn(ax).lines}
    places = ax.transData.transform([[0.1, 0.0], [1.0, 0.5], [0.1, 5.0]])[:, 1]
    assert list(places) == sorted(places)
    assert all(math.isfinite(place) for place in places)
    assert list(at["exact"].get_ydata()) == [0.0, 0.0]  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [name for name, values in STRANGE.items() if values])
def test_frontiers_are_drawn_whatever_their_values(case: str) -> None:
    values = tuple(STRANGE[case])
    ones = tuple(1.0 for _ in values)
    curves = [Curve("a", values, ones, "bound")]
    if min(values) >= 0 or math.isnan(min(values)):
        curves.append(Curve("a", ones, values))
    for curve in curves:
        drawn(plot_frontier([curve, Curve("b", (1.0,), (0.0,), "optimum")], ax=axes()))


@pytest.mark.parametrize("parameters", [(0, 0), (0, 1), (1, 2)])
@pytest.mark.parametrize("value", [0.0, 1.0, math.inf])
def test_measures_are_drawn_whatever_their_values(
    parameters: tuple[int, int], value: float
) -> None:
    measure = Measure("error", Estimate.computed(value))
    drawn(plot_points([Point("a", Fraction(each), measure) for each in parameters], ax=axes()))


@dataclass
class Timed:
    """Seconds of a run that solved nothing."""

    block_seconds: Sequence[float] = ()
    master_seconds: Sequence[float] = ()


def test_panels_of_runs_that_did_nothing_are_drawn() -> None:
    ax = axes()
    _cloud([], [], [], ax)
    drawn(ax)
    ax = axes()
    _cloud([1, 2], [0, 1], [0, 0], ax)
    drawn(ax)
    ax = axes()
    nothing: Any = [Timed()] * 4
    _boxes(nothing, "block", ax)
    drawn(ax)


def test_nobody_sets_a_logarithmic_scale_but_the_helper() -> None:
    root = Path(discreet.__file__).parent
    found = []
    scaling = re.compile("set_[xy]scale|loglog|semilog")
    sources = [path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))]
    for source in filter(scaling.search, sources):
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", "")
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            given += [
                each.value.value for each in node.keywords if isinstance(each.value, ast.Constant)
            ]
            scales = name in {"set_xscale", "set_yscale"} and "log" in given
            if scales or name in {"loglog", "semilogx", "semilogy"}:
                found.append(ast.unparse(node))
    assert found == []
