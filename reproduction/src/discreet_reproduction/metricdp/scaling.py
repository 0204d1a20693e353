"""Cost against the number of secrets, on a log-log plot with fitted exponents; no figure of the paper."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import SolverError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Benders, Direct, Problem, design
from discreet_reproduction.drawing import lines_of
from discreet_reproduction.metricdp.records import lumpy_prior
from discreet_reproduction.record import Experiment, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet.metricdp.part import Method
    from discreet_reproduction.record import Cell, Run

_GAP = 0.01
_METHODS: dict[str, Method | None] = {
    "discreet's choice": None,
    "simplex": Direct("simplex"),
    "interior point": Direct("ipm"),
    "Benders, corrected": Benders(),
}


def scaling(run: Run) -> Experiment:
    """Processor seconds to a gap of 1 % against the number of secrets, with fitted exponents (ours)."""
    sides, seconds = (
        ((4, 5, 7, 9, 11, 13), 8.0) if run.quick else ((5, 7, 10, 15, 20, 25, 32), 1800.0)
    )
    seconds = run.limit or seconds
    rows: list[dict[str, Cell]] = []
    _measure(3, None, run.seed, seconds)
    for name, method in _METHODS.items():
        mine: list[dict[str, Cell]] = []
        for side in sides:
            run.say(f"{name}, N = {side**2}")
            mine.append({"method": name, **_measure(side, method, run.seed, seconds)})
            if not mine[-1]["gap reached"]:
                # What is larger would not end either.
                break
        done = [row for row in mine if row["gap reached"]]
        exponent = fit(numbers(done, "N"), numbers(done, "seconds"))
        mine[-1]["exponent"] = None if exponent is None else round(exponent, 2)
        rows += mine
    return Experiment(
        "metricdp/scaling",
        "Processor seconds against the number of secrets",
        columns=("method", "N", "seconds", "loss", "gap", "gap reached", "found by", "exponent"),
        rows=rows,
        notes=(
            (
                "Square grids of unit cells, eight neighbors each, half a nat a cell, a lumpy prior, K = N: far "
                "from what a closed form solves."
            ),
            (
                "The exponent is the slope of log seconds against log N by least squares, over the runs that "
                "reached the gap; a method is left alone after the first that did not."
            ),
            "Every design is repaired, verified and bounded; those seconds count.",
            "This is no figure of the paper, which has one such curve, of another kind (Figure 6).",
        ),
        settings={"gap": _GAP, "seconds at most": seconds, "seed": run.seed},
        panels={"To a proven gap of 1 %": partial(_draw, rows)},
    )


def _measure(side: int, method: Method | None, seed: int, limit: float) -> dict[str, Cell]:
    """Design on a grid, and say what it took."""
    space = MetricSpace.grid(side, side, cell=1, unit="km")
    prior = lumpy_prior(np.asarray(space.points), seed=seed)
    problem = Problem(space, utility_loss="euclidean", prior=prior)
    start = time.process_time()
    row: dict[str, Cell] = {"N": space.n}
    try:
        made = design(
            problem,
            MetricDP("0.5", "km", "1.5"),
            method=method,
            gap=_GAP,
            time_limit=limit,
            throw=False,
        )
    except SolverError as error:
        said = str(error).partition(" (")[0]
        return row | {
            "seconds": time.process_time() - start,
            "gap reached": False,
            "found by": said,
        }
    return row | {
        "seconds": time.process_time() - start,
        "loss": made.upper,
        "gap": made.gap,
        "gap reached": made.gap is not None and made.gap <= _GAP,
        "found by": made.provenance.method,
    }


def fit(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Fit the exponent b of ``seconds = a sizes^b`` by least squares on logarithms; none with fewer than three runs.

    Examples
    --------
    >>> round(fit([10, 20, 40], [3, 12, 48]), 9)
    2.0
    >>> fit([10, 20], [3, 12]) is None
    True
    """
    if len(sizes) < 3:
        return None
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(seconds, 1e-4)), 1)[0])


def _draw(rows: Sequence[dict[str, Cell]], ax: Axes) -> None:
    """Draw a line for each method, with its exponent in the legend."""
    series = {}
    for name in _METHODS:
        mine = [row for row in rows if row["method"] == name and row["gap reached"]]
        across, seconds = numbers(mine, "N"), numbers(mine, "seconds")
        slope = fit(across, seconds)
        series[name if slope is None else f"{name}, N^{slope:.1f}"] = (across, seconds)
    lines_of(series, "secrets", "processor seconds", ax, log="xy")
