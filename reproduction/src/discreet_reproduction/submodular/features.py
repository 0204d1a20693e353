"""Feature selection by mutual information: bundled tables of scikit-learn where it is installed, else a made one."""

from __future__ import annotations

import importlib
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.guarantee import ApproxDP
from discreet.submodular import Algorithm3, MutualInformation, UniformMatroid
from discreet.submodular.methods.baselines import Greedy, RandomBase
from discreet_reproduction.drawing import lines_of
from discreet_reproduction.record import Experiment, numbers
from discreet_reproduction.submodular.leanings import made_features
from discreet_reproduction.submodular.running import mean_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet_reproduction.record import Cell, Run

_CHOSEN = 4
_DELTA = "1e-5"
_EPSILONS = (1.0, 4.0, 16.0, 64.0)


def split_in_two(table: NDArray[np.float64], cuts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn numbers into bits: above the cut or not. Cuts must be public; medians of the records are not."""
    return np.asarray(table > cuts).astype(np.int64)


def features(run: Run) -> Experiment:
    """What four features tell about a label, chosen privately, against epsilon."""
    runs = 5 if run.quick else 50
    sources = {"made": made_features(2_000 if run.quick else 20_000, 30, seed=run.seed)}
    if find_spec("sklearn") is not None:
        sources |= _bundled()
    rows: list[dict[str, Cell]] = []
    for name, (table, label) in sources.items():
        f = MutualInformation(table, label, n_values=int(label.max()) + 1, most_records=len(table))
        matroid = UniformMatroid(table.shape[1], min(_CHOSEN, table.shape[1]))
        best = mean_value(f, matroid, Greedy(), None, runs=1, seed=run.seed).value
        for epsilon in _EPSILONS:
            run.say(f"{name}: epsilon {epsilon:g}")
            guarantee = ApproxDP(epsilon, _DELTA, "replace-one")
            row: dict[str, Cell] = {"table": name, "records": len(table), "epsilon": epsilon}
            methods: dict[str, Any] = {"private greedy": Algorithm3(), "random": RandomBase()}
            for column, method in methods.items():
                mean = mean_value(f, matroid, method, guarantee, runs=runs, seed=run.seed)
                row[column] = round(mean.value / best, 4)
                row[f"{column}, error"] = round(mean.error / best, 4)
            rows.append(row)
    return Experiment(
        "submodular/features",
        "Information of four features about a label, as a share of greedy choice without noise",
        rows=rows,
        notes=(
            "The paper proposes feature selection (Example 1.1) and runs none.",
            "Mutual information is no sum over records: no subsample helps. The number of records is public.",
            "Numbers of the bundled tables are cut at their means. Those would have to be public.",
        ),
        settings={"chosen": _CHOSEN, "delta": float(_DELTA), "runs": runs, "seed": run.seed},
        panels={
            name: partial(_against, [r for r in rows if r["table"] == name]) for name in sources
        },
    )


def _bundled() -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Load tables that come with scikit-learn; nothing is downloaded."""
    bundled = importlib.import_module("sklearn.datasets")
    found = {}
    for name in ("breast_cancer", "wine"):
        table, label = getattr(bundled, f"load_{name}")(return_X_y=True)
        found[name] = (split_in_two(table, table.mean(axis=0)), np.asarray(label, dtype=np.int64))
    return found


def _against(rows: Sequence[dict[str, Cell]], ax: Axes) -> None:
    across = numbers(rows, "epsilon")
    series = {name: (across, numbers(rows, name)) for name in ("private greedy", "random")}
    lines_of(series, "epsilon", "share of the information", ax, log="x")
