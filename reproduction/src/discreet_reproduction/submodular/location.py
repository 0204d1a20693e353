"""The location experiments of [CNZ21]_: waiting places for cars among few candidates, and one where greedy loses.

Chaturvedi, Nguyen and Zakynthinou chose places in Manhattan for pick-ups of Uber's, by facility location with the
Manhattan distance between coordinates in degrees, divided by a diameter. Their candidates, boxes and parameters are
those of the code that they published; the figures beside ours are those that they report.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import ApproxDP, PureDP
from discreet.core.randomness import SeededBits
from discreet.datasets import made_pickups
from discreet.submodular import (
    BadanidiyuruVondrak,
    FacilityLocation,
    PartitionMatroid,
    UniformMatroid,
)
from discreet.submodular.methods.baselines import Greedy, RandomBase
from discreet.submodular.methods.gupta import Gupta
from discreet.submodular.methods.mitrovic import Mitrovic
from discreet.submodular.methods.subsampled import Subsampled
from discreet_reproduction.drawing import lines_of
from discreet_reproduction.record import Experiment, numbers
from discreet_reproduction.submodular.running import mean_value

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet.core.guarantee import DPGuarantee
    from discreet.submodular import Matroid
    from discreet_reproduction.record import Cell, Run

_FILE = "uber-data-small.csv"
_EPSILON = "0.1"

_RANKS = {
    10: ("76.2 ± 0.5", "88.9 ± 0.0", "76.2 ± 0.6", "72.3 ± 0.7"),
    13: ("79.8 ± 0.4", "88.9 ± 0.0", "78.5 ± 0.5", "76.7 ± 0.6"),
    16: ("81.6 ± 0.3", "88.9 ± 0.0", "80.0 ± 0.5", "79.8 ± 0.5"),
    19: ("82.9 ± 0.3", "88.8 ± 0.0", "81.6 ± 0.4", "81.3 ± 0.4"),
    22: ("84.1 ± 0.2", "89.0 ± 0.0", "83.6 ± 0.3", "82.8 ± 0.4"),
    25: ("84.8 ± 0.2", "89.0 ± 0.0", "84.9 ± 0.2", "84.2 ± 0.3"),
}
"""Reported means of 400 runs, with standard errors: continuous, greedy, private greedy, random."""

_SIZES = {
    1_000: ("798.4 ± 1.5", "769.5 ± 0.2", "795.8 ± 1.5", "799.5 ± 1.5"),
    5_000: ("4013.3 ± 7.0", "3858.3 ± 0.5", "3957.5 ± 6.7", "4000.8 ± 7.0"),
    10_000: ("7999.4 ± 14.2", "7712.2 ± 0.3", "7841.7 ± 11.9", "7990.6 ± 14.2"),
}
"""The same for the second experiment."""

_COLUMNS = ("continuous", "greedy", "private greedy", "random")
_DRAWN = ("greedy", "subsampled", "private greedy", "continuous", "random")
_NOTES = (
    "Guarantees are for adding or removing one pick-up, at epsilon 0.1, with delta n^-1.5; the subsample has no delta.",
    "The authors draw from floats, we draw exactly.",
    "Their continuous method is one of their own; ours draws bases element by element.",
    "Budgets are divided by other rules than theirs, so that figures differ where noise dominates.",
    "What is reported for a random choice of few places is below what random sets of the published candidates reach.",
)
_MADE = (
    "The pick-ups are made: the authors' figures are for others, and only orders may be compared."
)


def pickups(data: Path | None, n: int, seed: int) -> NDArray[np.float64]:
    """Read pick-ups, latitude and longitude, or make them where there is no folder.

    Raises
    ------
    InvalidProblemError
        When the folder has no such file, or too few lines.
    """
    if data is not None:
        path = data / _FILE
        if not path.is_file():
            raise InvalidProblemError("data", f"a folder with {_FILE}", data)
        read = np.loadtxt(path, delimiter=",")
        if read.ndim != 2 or read.shape[1] != 2 or len(read) < n:
            raise InvalidProblemError("data", f"{n} lines of latitude, longitude", read.shape)
        order = np.argsort(SeededBits(seed).randranges(1 << 62, len(read)), kind="stable")
        return np.asarray(read[order[:n]])
    made = made_pickups(n, seed=seed).people
    # Kilometers around the middle of Manhattan, as degrees.
    return np.stack([40.762 + made[:, 1] / 111.2, -73.977 + made[:, 0] / 84.3], axis=1)


def cardinality(run: Run) -> Experiment:
    """Places for 100 pick-ups among 20 places and 80 copies of a poor one, at several ranks."""
    runs = 10 if run.quick else 100
    north, south = np.array([40.82, -73.96]), np.array([40.7, -73.99197])
    east, west = np.array([40.8, -73.93]), np.array([40.71315, -74.03])
    farthest = float(np.abs(east - west).sum())
    row, column = np.divmod(np.arange(20), 5)
    good = south + np.outer(row / 19, west - south) + np.outer(column / 4, east - south)
    places = np.concatenate([good, np.tile(north, (80, 1))])
    rows: list[dict[str, Cell]] = []
    for rank, reported in _RANKS.items():
        run.say(f"{rank} of 100 places")
        f = FacilityLocation.from_points(
            pickups(run.data, 100, run.seed), places, farthest=farthest
        )
        rows.append(
            {
                "rank": rank,
                **_measured(f, UniformMatroid(100, rank), 100, runs, run.seed),
                **_printed(reported),
            }
        )
    return _experiment(
        "submodular/location", "Value of places for 100 pick-ups", rows, run.data, runs
    )


def two_parts(run: Run) -> Experiment:
    """Three places in two parts, of which the best one is a trap for greedy choice."""
    runs = 20 if run.quick else 400
    places = np.array([[40.75, -74.0025], [40.7525, -73.9975], [40.7825, -73.9575]])
    farthest = 74.003862 - 73.931548 + 40.814381 - 40.743775
    rows: list[dict[str, Cell]] = []
    for n, reported in _SIZES.items():
        run.say(f"{n} pick-ups")
        f = FacilityLocation.from_points(pickups(run.data, n, run.seed), places, farthest=farthest)
        rows.append(
            {
                "pick-ups": n,
                **_measured(f, PartitionMatroid([0, 1, 1], 1), n, runs, run.seed),
                **_printed(reported),
            }
        )
    return _experiment("submodular/two-parts", "Value of two of three places", rows, run.data, runs)


def _measured(
    f: FacilityLocation, matroid: Matroid, n: int, runs: int, seed: int
) -> dict[str, Cell]:
    """Run every method."""
    approximate = ApproxDP(_EPSILON, f"{n**-1.5:.9f}", "add-remove-one")
    pure = PureDP(_EPSILON, "add-remove-one")
    # The continuous method takes a hundred times as long.
    few = max(2, runs // 5)
    methods: dict[str, tuple[Any, DPGuarantee | None, int]] = {
        "continuous": (BadanidiyuruVondrak(), approximate, few),
        "greedy": (Greedy(), None, 1),
        "private greedy": (Mitrovic(), approximate, runs),
        "Gupta et al.": (Gupta(), approximate, runs),
        "subsampled": (Subsampled(), pure, runs),
        "random": (RandomBase(), pure, runs),
    }
    return {
        name: str(mean_value(f, matroid, method, guarantee, runs=times, seed=seed))
        for name, (method, guarantee, times) in methods.items()
    }


def _printed(reported: Sequence[str]) -> dict[str, Cell]:
    return {f"{name} (paper)": text for name, text in zip(_COLUMNS, reported, strict=True)}


def _experiment(
    name: str, title: str, rows: Sequence[dict[str, Cell]], data: Path | None, runs: int
) -> Experiment:
    first = next(iter(rows[0]))
    return Experiment(
        name,
        title,
        rows=rows,
        published=tuple(f"{column} (paper)" for column in _COLUMNS),
        notes=_NOTES if data is not None else (*_NOTES, _MADE),
        settings={
            "epsilon": float(_EPSILON),
            "runs": runs,
            "data": "made" if data is None else _FILE,
        },
        panels={
            "Ours": partial(_against, list(rows), first, ""),
            "As reported": partial(_against, list(rows), first, " (paper)"),
        },
    )


def _against(rows: Sequence[dict[str, Cell]], first: str, said: str, ax: Axes) -> None:
    """Draw ours, or what is reported."""
    across = numbers(rows, first)
    # What is not reported has no line, and leaves the others their colors.
    series = {name: (across, _means(rows, f"{name}{said}")) for name in _DRAWN}
    lines_of(series, first, "value", ax)


def _means(rows: Sequence[dict[str, Cell]], name: str) -> list[float]:
    return [float(str(row.get(name, "nan")).split(" ", maxsplit=1)[0]) for row in rows]
