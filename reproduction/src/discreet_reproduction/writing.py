"""An experiment as files: a table, a drawing, a page, and everything in JSON."""

from __future__ import annotations

import csv
import json
import math
import os
import platform
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.outcome import versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from discreet_reproduction.record import Cell, Experiment

_WIDTH, _HEIGHT = 5.6, 3.8
"""Inches of a panel."""


def write_experiment(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    *,
    run: Mapping[str, Cell] | None = None,
) -> tuple[Path, ...]:
    """Write an experiment into a folder, which is made where there is none.

    Parameters
    ----------
    experiment
        What was found.
    folder
        Where the files go. They are named ``paper-item`` and replace what is there.
    run
        Command, status, detail and processor seconds of the run; the file in JSON has them with the digest of the
        table.

    Returns
    -------
    tuple of Path
        ``.csv``, ``.json``, ``.png`` and ``.svg`` where there is something to draw, ``.html``.

    Raises
    ------
    OSError
        When a file cannot be written.

    Notes
    -----
    The table in CSV has all digits, and "infinite" where a number is infinite. The page stands for itself and loads
    nothing.

    Examples
    --------
    >>> import tempfile
    >>> from discreet_reproduction.record import Experiment
    >>> found = Experiment("metricdp/table9", "Seconds", rows=[{"s": 1.5}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_experiment(found, folder)]
    ['metricdp-table9.csv', 'metricdp-table9.json', 'metricdp-table9.html']
    """
    from discreet.report import write_report
    from discreet_reproduction.chapter import chapter

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    stem = target / experiment.name.replace("/", "-")
    table = _csv(experiment, stem)
    record = None if run is None else {**run, "digest": sha256(table.read_bytes()).hexdigest()}
    paths = [table, _json(experiment, stem, record)]
    if experiment.panels:
        drawn = draw(experiment)
        for ending in (".png", ".svg"):
            path = stem.parent / f"{stem.name}{ending}"
            drawn.savefig(path, dpi=144, metadata={"Date": None} if ending == ".svg" else None)
            paths.append(path)
    page = stem.parent / f"{stem.name}.html"
    title = f"{experiment.paper}: {experiment.item}"
    lead = ("Computed anew, with the figures that the paper prints beside ours.",)
    about = {} if run is None else {name: str(value) for name, value in run.items() if value}
    shown = chapter(experiment, machine={**about, **machine()})
    paths.append(write_report([shown], page, title=title, lead=lead))
    return tuple(paths)


def draw(experiment: Experiment) -> Figure:
    """Draw all panels on one figure, two beside each other."""
    from matplotlib.figure import Figure

    n = len(experiment.panels)
    across = 1 if n == 1 else 2
    down = math.ceil(n / across)
    figure = Figure(figsize=(_WIDTH * across, _HEIGHT * down), layout="constrained")
    for at, (caption, panel) in enumerate(experiment.panels.items(), start=1):
        axes = figure.add_subplot(down, across, at)
        panel(axes)
        axes.set_title(caption, fontsize="medium", loc="left")
    return figure


def machine() -> dict[str, str]:
    """Describe what computes: processor, cores, versions.

    Examples
    --------
    >>> sorted(machine())[:3]
    ['cores', 'discreet', 'highspy']
    """
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        name = models[0] if models else name
    return {"processor": name, "cores": str(os.cpu_count()), **versions()}


def _csv(experiment: Experiment, stem: Path) -> Path:
    path = stem.parent / f"{stem.name}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        written = csv.DictWriter(file, experiment.columns, restval="", lineterminator="\n")
        written.writeheader()
        written.writerows(experiment.to_dict()["rows"])
    return path


def _json(experiment: Experiment, stem: Path, record: Mapping[str, Cell] | None) -> Path:
    path = stem.parent / f"{stem.name}.json"
    data = {**experiment.to_dict(), "machine": machine()}
    if record is not None:
        data["run"] = dict(record)
    path.write_text(json.dumps(data, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return path
