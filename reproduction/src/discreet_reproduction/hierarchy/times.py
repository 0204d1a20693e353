"""Processor seconds: against the number of sizes (Figure 7), by method (Figure 8), and what the windows cost."""

from __future__ import annotations

import time
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import DiscreetError
from discreet.core.guarantee import PureDP
from discreet.core.randomness import SeededBits
from discreet.datasets.census import made_census
from discreet.hierarchy.cost_tables import widths
from discreet.hierarchy.laminar import objective
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.methods.m_dp_op import MDPOP
from discreet.hierarchy.methods.m_h import MH
from discreet.hierarchy.methods.m_h_dp import MHDP
from discreet_reproduction.drawing import lines
from discreet_reproduction.hierarchy.errors import EPSILONS
from discreet_reproduction.hierarchy.running import counted
from discreet_reproduction.hierarchy.taxi import made_taxi
from discreet_reproduction.limited import each_within
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import GroupSizes
    from discreet_reproduction.record import Cell, Panel, Run

_ENDLESS = frozenset({"m-h, as a program", "m-dp-op", "m-h-dp", "m-c", "m-c-r"})
"""Methods whose runs may take hours, and know no limit."""


def figure7(run: Run) -> Experiment:
    """Seconds against the number of sizes N, made taxis cut off at N (Figure 7)."""
    sizes = (5, 10, 20) if run.quick else (5, 10, 20, 30, 40, 50)
    seconds = run.seconds(10.0, 1800.0)
    zones = (3, 4, 1) if run.quick else (43, 61, 1, 69, 69, 20)
    methods: dict[str, Any] = {
        "m-h, as a program": MH("milp"),
        "m-dp-op": MDPOP(64 if run.quick else None),
        "m-h-dp": MHDP(),
        "m-h, the engine": MH(),
        "m-h-r": METHODS["m-h-r"].make(),
        "m-c": METHODS["m-c"].make(),
        "m-c-r": METHODS["m-c-r"].make(),
        "m-c-dp": METHODS["m-c-dp"].make(),
        "m-c-ch": METHODS["m-c-ch"].make(),
        "top-down-a": METHODS["top-down-a"].make(),
    }
    rows: list[dict[str, Cell]] = []
    for name, method in methods.items():
        run.say(name)
        work = (method, tuple(sizes), zones, run.seed)
        # A process costs seconds to start, which is nothing beside those that may never end.
        ended = (
            each_within(seconds, _by_size, *work)
            if name in _ENDLESS
            else islice(_by_size(*work), 1, None)
        )
        rows += [
            {"method": name, "N": size, **found} for size, found in zip(sizes, ended, strict=False)
        ]
        left = [size for size in sizes if (name, size) not in {(r["method"], r["N"]) for r in rows}]
        if left:
            # What is larger would take longer.
            said = f"not ended in {seconds:g} s"
            rows.append({"method": name, "N": left[0], "seconds": None, "error": said})
    return Experiment(
        "hierarchy/figure7",
        "Processor seconds against the number of sizes",
        rows=rows,
        notes=(
            (
                "The paper gives this figure as a drawing; its claims are that the exact programs and M_dp^OP do not "
                "end in time, and that the dynamic programs do."
            ),
            (
                "Epsilon 1, noise apart. A run is ended at the limit, in wall-clock time, and larger ones are not "
                "tried then."
            ),
            "In the small form M_dp^OP looks only 64 counts to either side: the windows of the footnote take minutes.",
        ),
        settings={"seconds at most": seconds, "seed": run.seed, "zones": sum(zones)},
        panels={"Made taxis": _panel(rows, "N")},
    )


def _by_size(
    method: Any,  # noqa: ANN401 - a Method
    sizes: Sequence[int],
    zones: tuple[int, ...],
    seed: int,
) -> Iterator[dict[str, Cell]]:
    """Measure a method on more and more sizes, after a first run that is not told: compilation is not compared."""
    warm = made_taxi(taxis=20, pickups=60, zones=(2,), max_size=3, seed=seed)
    yield _seconds(counted(warm), method, "10", seed)
    for size in sizes:
        made = made_taxi(taxis=300, pickups=60 * size, zones=zones, max_size=size, seed=seed)
        yield _seconds(counted(made), method, "1", seed)


def figure8(run: Run) -> Experiment:
    """Seconds of each method by epsilon, on the synthetic census and on synthetic taxis (Figure 8)."""
    made = (
        {
            "census": made_census(
                states=8, counties=150, groups=3_000_000, max_size=100, seed=run.seed
            ),
            "taxi": made_taxi(taxis=1000, pickups=400_000, zones=(6, 9, 1, 10), max_size=1000),
        }
        if run.quick
        else {"census": made_census(), "taxi": made_taxi()}
    )
    names = ("m-h-r", "m-h", "m-c-r", "m-c-dp", "m-c-dp-weighted", "m-c-ch", "top-down-a")
    rows: list[dict[str, Cell]] = []
    for dataset, counts in made.items():
        groups = counted(counts)
        for name in names:
            method = METHODS[name].make()
            if name != "m-c-r":
                # Compilation is not what is compared; this method has none.
                _seconds(groups, method, "1", run.seed)
            for epsilon in EPSILONS:
                run.say(f"{dataset}, {name}, epsilon {epsilon}")
                solve = partial(_seconds, groups, method, epsilon, run.seed)
                result = run.once(f"{dataset}, {name}, {epsilon}", solve)
                rows.append({"data": dataset, "method": name, "epsilon": float(epsilon), **result})
    return Experiment(
        "hierarchy/figure8",
        "Processor seconds by method and epsilon",
        columns=("data", "method", "epsilon", "seconds", "error"),
        rows=rows,
        notes=(
            (
                "The paper gives this figure as a drawing. It says that M_H^dp is up to 10 times as fast as "
                "M_H^r, and M_c^dp up to 100 times as fast as M_c^r, all solved by a commercial solver; that the "
                "dynamic programs grow faster with epsilon, since windows shrink."
            ),
            "The engine has no windows to shrink: its time does not depend on epsilon. Warm, noise apart.",
        ),
        settings={"seed": run.seed, "quick": run.quick},
        panels={
            dataset: _panel([row for row in rows if row["data"] == dataset], "epsilon")
            for dataset in made
        },
    )


def windows(run: Run) -> Experiment:
    """The window of the paper's footnote beside one that proves itself: cells, seconds, cost, and what is missed."""
    many = 3 if run.quick else 12
    groups = counted(made_census(states=many, counties=10 * many, groups=40_000, max_size=12))
    # Compilation is not what is compared.
    _timed(MH(weights="equal"), _measured(groups, "direct", "10", run.seed))
    rows: list[dict[str, Cell]] = []
    for epsilon in ("0.5", "1", "2", "10"):
        measured = _measured(groups, "direct", epsilon, run.seed)
        run.say(f"epsilon {epsilon}")
        best, seconds = _timed(MH(weights="equal"), measured)
        least = objective(groups.frame, best, measured.values)
        exact: dict[str, Cell] = {
            "epsilon": float(epsilon),
            "window": "proves itself",
            "seconds": seconds,
        }
        rows.append({**exact, "cost": str(least), "above the least": 0})
        reach = int(widths(measured, None)[0])
        for delta in (2, 8, reach):
            row: dict[str, Cell] = {
                "epsilon": float(epsilon),
                "window": f"{delta}, the footnote's" if delta == reach else str(delta),
                "cells": (2 * delta + 1) * measured.values.size,
            }
            try:
                found, row["seconds"] = _timed(MHDP(delta), measured)
                cost = objective(groups.frame, found, measured.values)
                row |= {"cost": str(cost), "above the least": str(cost - least)}
            except DiscreetError as error:
                row["above the least"] = f"nothing found: {type(error).__name__}"
            rows.append(row)
    return Experiment(
        "hierarchy/windows",
        "Windows of the dynamic program",
        columns=("epsilon", "window", "cells", "seconds", "cost", "above the least"),
        rows=rows,
        notes=(
            (
                "The footnote takes three times the variance of the noise, rounded up, for the distance to which "
                "counts are sought: a length compared with the square of one. At epsilon 0.1 and three levels "
                "that is 21,600 to either side, where three standard deviations are 255."
            ),
            (
                "A window that proves itself is as small as three counts: the solution in it is checked by an "
                "exact test of all exchanges, and the window is moved and widened only where the test fails."
            ),
        ),
        settings={"regions": groups.frame.tree.n, "sizes": groups.frame.n_sizes, "seed": run.seed},
    )


def _measured(groups: GroupSizes, kind: Any, epsilon: str, seed: int) -> Measured:  # noqa: ANN401 - a Kind
    guarantee = PureDP(epsilon, neighbors="add-remove-person")
    return measure(groups, kind, guarantee, bits=SeededBits(seed))


def _seconds(groups: GroupSizes, method: Any, epsilon: str, seed: int) -> dict[str, Cell]:  # noqa: ANN401 - a Method
    measured = _measured(groups, method.kind, epsilon, seed)
    try:
        return {"seconds": _timed(method, measured)[1], "error": ""}
    except DiscreetError as error:
        return {"seconds": 0.0, "error": type(error).__name__}


def _timed(method: Any, measured: Measured) -> tuple[Any, float]:  # noqa: ANN401 - a Method
    start = time.process_time()
    found = method.solve(measured)
    return np.asarray(found), round(time.process_time() - start, 4)


def _panel(rows: list[dict[str, Cell]], across: str) -> Panel:
    """Draw the seconds of the runs that ended."""
    ended = [row for row in rows if not row["error"]]
    return partial(lines, ended, across, "seconds", "method", log="xy")
