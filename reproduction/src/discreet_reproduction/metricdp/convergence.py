"""Figures 8 to 11 and 17 to 20 of [Qiu24]_: how the decomposition converges, and what its solves take.

The paper shows boxes, clouds and curves without numbers, besides four coefficients of correlation and two means. All
come from the same runs, which are made once in a process.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.blocks import PARTITIONERS
from discreet_reproduction.drawing import lines_of
from discreet_reproduction.metricdp.instances import NOTES
from discreet_reproduction.metricdp.tracing import Size, trace
from discreet_reproduction.record import Experiment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from discreet_reproduction.metricdp.tracing import Trace
    from discreet_reproduction.record import Cell, Panel, Run

_DATA = ("road", "grid", "strip", "text", "synthetic")
_QUICK = Size(60, 10, 5, iterations=200, seconds=2)
_FULL = Size(500, 100, 25, iterations=500, seconds=1800)

_CORRELATION = {"road": 0.712, "grid": 0.6264, "strip": 0.6264, "text": 0.1302, "synthetic": 0.6072}
"""[Qiu24]_, Section D.2: of the size of a subproblem with the iterations until it is feasible."""

_MASTER_SECONDS, _BLOCK_SECONDS = 1.505, 1.194
"""[Qiu24]_, Section D.3: means with k-m-DV."""

_PRINTED = (
    (
        "As printed: the cut that counts the boundary twice (E1), literal H_0 for pairs at most 20 nats apart (E7), no "
        "inner point."
    ),
    "One component, the largest: the paper assumes that there is one (E14).",
)


def figures8to9(run: Run) -> Experiment:
    """Iterations until a block is feasible, against its size and its boundary, k-m-DV (Figures 8 and 9)."""
    size, repeats = (_QUICK, 4) if run.quick else (_FULL, 10)
    size = size.within(run.limit)
    rows: list[dict[str, Cell]] = []
    panels: dict[str, Panel] = {}
    for dataset in _DATA:
        run.say(f"{dataset}: {repeats} instances")
        seen = [
            trace(dataset, size, "k-m-DV", printed=True, seed=run.seed + r, data=run.data)
            for r in range(repeats)
        ]
        internal = [n for one in seen for n in one.internal]
        boundary = [n for one in seen for n in one.boundary]
        first = [n for one in seen for n in one.feasible_from]
        never = sum(
            at > len({step for step, _, _ in one.steps}) for one in seen for at in one.feasible_from
        )
        rows.append(
            {
                "data": seen[0].label,
                "blocks": len(first),
                "never feasible": never,
                "correlation with internal records": _correlation(internal, first),
                "correlation (paper)": _CORRELATION[dataset],
                "correlation with boundary records": _correlation(boundary, first),
            }
        )
        panels[seen[0].label] = partial(_cloud, internal, boundary, first)
    return Experiment(
        "metricdp/figures8-9",
        "Iterations until a block is feasible, against its size",
        rows=rows,
        notes=(
            *_PRINTED,
            "A block that was never feasible counts as feasible after the last iteration.",
            *NOTES.values(),
        ),
        settings=size.settings(run.seed) | {"instances": repeats},
        panels=panels,
    )


def figures10to11(run: Run) -> Experiment:
    """Seconds of a solve of a block and of the master, four partitioners (Figures 10 and 11)."""
    size = (_QUICK if run.quick else _FULL).within(run.limit)
    rows: list[dict[str, Cell]] = []
    panels: dict[str, Panel] = {}
    for dataset in _DATA:
        run.say(dataset)
        seen = [
            trace(dataset, size, partitioner, printed=True, seed=run.seed, data=run.data)
            for partitioner in PARTITIONERS
        ]
        for partitioner, one in zip(PARTITIONERS, seen, strict=True):
            ours = partitioner == "k-m-DV"
            rows.append(
                {
                    "data": one.label,
                    "partitioner": partitioner,
                    "block, mean (s)": _mean(one.block_seconds),
                    "block, largest (s)": max(one.block_seconds, default=None),
                    "block, mean (paper)": _BLOCK_SECONDS if ours else None,
                    "master, mean (s)": _mean(one.master_seconds),
                    "master, largest (s)": max(one.master_seconds, default=None),
                    "master, mean (paper)": _MASTER_SECONDS if ours else None,
                }
            )
        for kind in ("block", "master"):
            panels[f"{seen[0].label}, {kind}"] = partial(_boxes, seen, kind)
    return Experiment(
        "metricdp/figures10-11",
        "Processor seconds of one solve",
        rows=rows,
        notes=(
            *_PRINTED,
            "The paper's two means add to twice the seconds of an iteration by its Tables 3 and 4 (E10).",
            "The master's seconds hold the handling of its cuts.",
            *NOTES.values(),
        ),
        settings=size.settings(run.seed),
        panels=panels,
    )


def figures17to20(run: Run) -> Experiment:
    """Bounds against iterations, as printed and corrected, four partitioners (Figures 17 to 20)."""
    size = (_QUICK if run.quick else _FULL).within(run.limit)
    rows: list[dict[str, Cell]] = []
    panels: dict[str, Panel] = {}
    for dataset in _DATA:
        for partitioner in PARTITIONERS:
            run.say(f"{dataset}: {partitioner}")
            printed, sound = (
                trace(dataset, size, partitioner, printed=both, seed=run.seed, data=run.data)
                for both in (True, False)
            )
            for name, one in (("as printed", printed), ("corrected", sound)):
                rows.append(_bounds_row(name, partitioner, one, sound))
            panels[f"{sound.label}, {partitioner}"] = partial(_curves, printed, sound)
    return Experiment(
        "metricdp/figures17-20",
        "Bounds against iterations",
        rows=rows,
        notes=(
            *_PRINTED,
            "Corrected: in-out separation from the exponential mechanism, and the implied cuts that matter.",
            "A lower bound as printed that is above a loss that was reached is no bound (E1).",
            "The paper plots a subproblem without a solution as the value 9; here there is no upper bound then.",
            *NOTES.values(),
        ),
        settings=size.settings(run.seed),
        panels=panels,
    )


def _bounds_row(name: str, partitioner: str, one: Trace, sound: Trace) -> dict[str, Cell]:
    last = one.steps[-1] if one.steps else None
    reached = min((upper for _, _, upper in sound.steps), default=np.inf)
    return {
        "data": one.label,
        "partitioner": partitioner,
        "variant": name,
        "iterations": None if last is None else last[0],
        "lower": None if last is None else last[1],
        "upper": None if last is None else last[2],
        "lower is above a loss reached": last is not None and last[1] > reached * (1 + 1e-9),
        "ended": one.status,
    }


def _correlation(x: Sequence[int], y: Sequence[int]) -> float | None:
    """Pearson's coefficient; none where one of the two never changes.

    Examples
    --------
    >>> _correlation([1, 2, 3], [2, 4, 6]), _correlation([1, 2], [5, 5])
    (1.0, None)
    """
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return round(float(np.corrcoef(x, y)[0, 1]), 4)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _cloud(
    internal: Sequence[int], boundary: Sequence[int], first: Sequence[int], ax: Axes
) -> None:
    from discreet.plot.style import log_scale

    ax.plot(internal, first, "o", ms=4, label="internal records")
    ax.plot(boundary, first, "s", ms=4, mfc="none", label="boundary records")
    ax.set_xlabel("records of a block")
    ax.set_ylabel("iterations until feasible")
    log_scale(ax, "y", first)
    ax.legend(frameon=False)


def _boxes(seen: Sequence[Trace], kind: str, ax: Axes) -> None:
    values = [one.block_seconds if kind == "block" else one.master_seconds for one in seen]
    shown = [at for at, mine in enumerate(values) if mine]
    ax.boxplot([values[at] for at in shown], showfliers=False)
    ax.set_xticks(range(1, len(shown) + 1), [PARTITIONERS[at] for at in shown])
    ax.set_ylabel("seconds of a solve")
    ax.set_ylim(bottom=0)


def _curves(printed: Trace, sound: Trace, ax: Axes) -> None:
    series = {}
    for name, one in (("as printed", printed), ("corrected", sound)):
        steps = [at for at, _, _ in one.steps]
        series[f"{name}, lower"] = (steps, [low for _, low, _ in one.steps])
        series[f"{name}, upper"] = (steps, [high for _, _, high in one.steps])
    lines_of(series, "iterations", "loss", ax, log="x")
