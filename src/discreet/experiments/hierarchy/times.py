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
from discreet.datasets.taxi import made_taxi
from discreet.experiments.drawing import lines
from discreet.experiments.hierarchy.errors import EPSILONS
from discreet.experiments.hierarchy.running import counted
from discreet.experiments.limited import each_within
from discreet.experiments.record import Experiment
from discreet.hierarchy._cost_tables import widths
from discreet.hierarchy.laminar import objective
from discreet.hierarchy.m_dp_op import MDPOP
from discreet.hierarchy.m_h import MH
from discreet.hierarchy.m_h_dp import MHDP
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods import method_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from discreet.experiments.record import Cell, Panel, Progress
    from discreet.hierarchy.measure import Measured
    from discreet.hierarchy.problem import GroupSizes

__all__ = ["figure7", "figure8", "windows"]

_ENDLESS = frozenset({"m_h, as a program", "m_dp_op", "m_h_dp", "m_c_r"})
"""Methods whose runs may take hours, and know no limit."""


def figure7(
    *,
    quick: bool,
    seed: int,
    data: Path | None,
    on_progress: Progress,
    limit: float | None = None,
) -> Experiment:
    """Seconds against the number of sizes N, made taxis cut off at N (Figure 7)."""
    del data
    sizes = (5, 10, 20) if quick else (5, 10, 20, 30, 40, 50)
    seconds = limit or (10.0 if quick else 1800.0)
    zones = (3, 4, 1) if quick else (43, 61, 1, 69, 69, 20)
    methods: dict[str, Any] = {
        "m_h, as a program": MH("milp"),
        "m_dp_op": MDPOP(64 if quick else None),
        "m_h_dp": MHDP(),
        "m_h, the engine": MH(),
        "m_c_r": method_named("m_c_r"),
        "m_c_dp": method_named("m_c_dp"),
        "m_c_ch": method_named("m_c_ch"),
        "top_down_a": method_named("top_down_a"),
    }
    rows: list[dict[str, Cell]] = []
    for name, method in methods.items():
        on_progress(name)
        work = (method, tuple(sizes), zones, seed)
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
        columns=("method", "N", "seconds", "error"),
        rows=tuple(rows),
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
        settings={"seconds at most": seconds, "seed": seed, "zones": sum(zones)},
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


def figure8(*, quick: bool, seed: int, data: Path | None, on_progress: Progress) -> Experiment:
    """Seconds of each method by epsilon, on the made census (Figure 8)."""
    del data
    made = (
        made_census(states=8, counties=150, groups=3_000_000, max_size=100, seed=seed)
        if quick
        else made_census()
    )
    groups = counted(made)
    names = ("m_h_r", "m_h", "m_c_dp", "m_c_dp_weighted", "m_c_ch", "top_down_a", "top_down_b")
    rows: list[dict[str, Cell]] = []
    for name in names:
        method = method_named(name)
        # Compilation is not what is compared.
        _seconds(groups, method, "1", seed)
        for epsilon in EPSILONS:
            on_progress(f"{name}, epsilon {epsilon}")
            found = _seconds(groups, method, epsilon, seed)
            rows.append({"method": name, "epsilon": float(epsilon), **found})
    return Experiment(
        "hierarchy/figure8",
        "Processor seconds by method and epsilon",
        columns=("method", "epsilon", "seconds", "error"),
        rows=tuple(rows),
        notes=(
            (
                "The paper gives this figure as a drawing. It says that M_H^dp is up to 10 times as fast as "
                "M_H^r, and M_c^dp up to 100 times as fast as M_c^r, all solved by a commercial solver; that the "
                "dynamic programs grow faster with epsilon, since windows shrink."
            ),
            "The engine has no windows to shrink: its time does not depend on epsilon. Warm, noise apart.",
        ),
        settings={"regions": groups.frame.tree.n, "sizes": groups.frame.n_sizes, "seed": seed},
        panels={"Made census": _panel(rows, "epsilon")},
    )


def windows(*, quick: bool, seed: int, data: Path | None, on_progress: Progress) -> Experiment:
    """The window of the paper's footnote beside one that proves itself: cells, seconds, cost, and what is missed."""
    del data
    many = 3 if quick else 12
    groups = counted(made_census(states=many, counties=10 * many, groups=40_000, max_size=12))
    # Compilation is not what is compared.
    _timed(MH(weights="equal"), _measured(groups, "direct", "10", seed))
    rows: list[dict[str, Cell]] = []
    for epsilon in ("0.5", "1", "2", "10"):
        measured = _measured(groups, "direct", epsilon, seed)
        on_progress(f"epsilon {epsilon}")
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
        rows=tuple(rows),
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
        settings={"regions": groups.frame.tree.n, "sizes": groups.frame.n_sizes, "seed": seed},
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
