"""Tables 1 and 2, Figures 5, 12 and 13 to 16 of [Qiu24]_: what the partitions of a data set look like."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from discreet.metricdp.blocks import PARTITIONERS, Partition, partition
from discreet_reproduction.drawing import lines_of
from discreet_reproduction.metricdp.instances import NOTES, RADIUS, make_instance
from discreet_reproduction.record import Experiment, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from discreet_reproduction.metricdp.instances import MetricInstance
    from discreet_reproduction.record import Cell, Panel, Run

_N, _K, _M = 500, 100, 25
_SHOWN = ("average", "largest")
_KINDS = {"road": "Road", "grid": "Grid", "strip": "Grid", "text": "Text", "synthetic": "Syn"}

# Mean and spread of the average, then of the largest: [Qiu24]_, Tables 1 and 2, columns as PARTITIONERS.
TABLE_1 = {
    "Road": ("9.5±1.2 10.1±0.8 17.7±1.3 15.4±0.8", "18.6±8.9 16.1±10.1 34.6±12.5 32.1±15.3"),
    "Grid": ("4.7±3.0 3.7±6.9 14.9±1.7 3.0±4.7", "11.3±5.5 10.2±7.6 28.3±11.0 17.2±10.3"),
    "Text": ("12.6±2.6 4.9±6.9 44.7±13.4 33.0±16.3", "31.8±6.4 42.7±16.4 103.2±30.4 62.4±38.4"),
    "Syn": ("9.6±1.9 10.2±1.9 8.5±1.2 8.4±5.2", "17.9±2.9 19.8±5.1 90.0±24.6 90.2±56.6"),
}
_TABLE_2 = {
    "Road": (
        "11.3±6.0 37.9±24.7 40.4±34.3 64.7±14.5",
        "42.5±46.8 98.75±44.4 117.8±59.2 121.1±79.1",
    ),
    "Grid": ("3.6±2.9 8.8±4.3 9.0±60.9 18.6±3.3", "22.1±3.4 10.3±5.1 99.5±95.1 27.1±4.2"),
    "Text": ("8.0±4.4 9.7±9.2 8.8±84.2 11.4±16.2", "36.0±15.4 53.2±25.4 112.7±85.4 79.2±34.2"),
    "Syn": ("10.9±4.3 12.4±8.7 17.9±9.0 18.3±9.2", "35.9±45.5 46.3±48.5 41.3±32.4 63.6±41.0"),
}


def table1(run: Run) -> Experiment:
    """Sizes of subproblems: internal records of the blocks of the four partitioners (Table 1)."""

    def measure(split: Partition) -> dict[str, float]:
        sizes = split.internal_sizes
        return {
            "average": float(sizes.mean()),
            "largest": float(sizes.max()),
            "on the boundary": float(split.boundary.sum()),
            "blocks without inside": float((sizes == 0).sum()),
        }

    notes = (
        *NOTES.values(),
        "Over all blocks the average is at most N / M = 20: 44.7 and 33.0 for text leave empty ones out (E9).",
        "Nothing balances the blocks.",
        "Ten maps of one geometry give one set of constraints: spread there is that of the seeds of k-means.",
        "Isolated records have no neighbor, hence no protection in the paper's program (E14).",
    )
    title = "Internal records of the blocks"
    return _table(run, "metricdp/table1", title, measure=measure, paper=TABLE_1, notes=notes)


def table2(run: Run) -> Experiment:
    """Sizes of the components of the master's constraints, of the four partitioners (Table 2)."""

    def measure(split: Partition) -> dict[str, float]:
        across = component_sizes(split, crossing_only=True)
        every = component_sizes(split)
        return {
            "average": float(across.mean()) if len(across) else 0.0,
            "largest": float(across.max(initial=0)),
            "average, Eq. 36": float(every.mean()) if len(every) else 0.0,
            "largest, Eq. 36": float(every.max(initial=0)),
        }

    notes = (
        *NOTES.values(),
        (
            "The paper's figures agree with components of the constraints between blocks alone, not with its Equation "
            "(36), which has those within blocks too; both stand here."
        ),
        "That each component could be solved alone holds only before the first cut.",
        "The paper's grid of 20 x 25 cells gives one component of nearly all boundary records (E5).",
    )
    title = "Records in the components of the master"
    return _table(run, "metricdp/table2", title, measure=measure, paper=_TABLE_2, notes=notes)


def _table(
    run: Run,
    name: str,
    title: str,
    *,
    measure: Callable[[Partition], dict[str, float]],
    paper: dict[str, tuple[str, str]],
    notes: tuple[str, ...],
) -> Experiment:
    """Measure every data set and partitioner on several instances."""
    repeats = 3 if run.quick else 10
    rows: list[dict[str, Cell]] = []
    for dataset, kind in _KINDS.items():
        run.say(f"{dataset}: {repeats} instances")
        seeds = range(run.seed, run.seed + repeats)
        made = [make_instance(dataset, _N, _K, seed=seed, data=run.data) for seed in seeds]
        isolated = float(np.mean([len(one.constraints.isolated) for one in made]))
        for at, partitioner in enumerate(PARTITIONERS):
            found = [
                measure(split_of(one, partitioner, _M, seed))
                for one, seed in zip(made, seeds, strict=True)
            ]
            row: dict[str, Cell] = {"data": made[0].label, "partitioner": partitioner}
            for column in found[0]:
                values = np.array([one[column] for one in found])
                row[column] = round(float(values.mean()), 2)
                if column in _SHOWN:
                    row[f"{column} ±"] = round(1.96 * float(values.std(ddof=1)), 2)
                    printed = paper[kind][_SHOWN.index(column)]
                    row[f"{column} (paper)"] = printed.split()[at]
            rows.append(row | {"isolated": round(isolated, 1)})
    return Experiment(
        name,
        title,
        rows,
        notes=notes,
        settings={"N": _N, "M": _M, "radius": RADIUS, "instances": repeats, "seed": run.seed},
    )


def component_sizes(split: Partition, *, crossing_only: bool = False) -> NDArray[np.int64]:
    """Return the sizes of the components of the graph on the boundary records, largest first (Table 2).

    ``(components,)``, empty without boundary records. With `crossing_only` constraints between blocks alone count, as
    the paper's figures suggest; its Equation (36) has those within a block too.
    """
    boundary, graph = split.boundary, split.constraints
    edges = split.crossing
    if not crossing_only:
        edges = np.flatnonzero(boundary[graph.pairs].all(axis=1))
    labels = graph.subgraph(edges).components[boundary]
    sizes = np.unique(labels, return_counts=True)[1]
    return np.sort(sizes.astype(np.int64))[::-1]


def split_of(instance: MetricInstance, partitioner: str, blocks: int, seed: int) -> Partition:
    """Partition an instance on all its constraints."""
    constraints = instance.constraints
    return Partition(
        partition(instance.space, constraints, blocks, partitioner, seed=seed), constraints
    )


def figure5(run: Run) -> Experiment:
    """Components of the master on a map of roads (Figure 5)."""
    run.say("road")
    instance = make_instance("road", _N // 2 if run.quick else _N, _K, seed=run.seed, data=run.data)
    split = split_of(instance, "k-m-DV", _M, run.seed)
    sizes = component_sizes(split, crossing_only=True)
    counts = np.unique(sizes, return_counts=True)
    rows = [
        {"records in a component": int(size), "components": int(count)}
        for size, count in zip(*counts, strict=True)
    ]
    labels = split.constraints.subgraph(split.crossing).components
    shown = np.where(split.boundary, labels, -1)
    title = "Components of the master, by constraints between blocks"
    return Experiment(
        "metricdp/figure5",
        title,
        rows=rows,
        notes=(NOTES["road"], "Grey records are internal; a color is a component."),
        settings={"N": instance.space.n, "M": split.n_blocks, "seed": run.seed},
        panels={instance.label: partial(_dots, instance.points, shown)},
    )


def figure12(run: Run) -> Experiment:
    """Sizes of subproblems and of components of the master against the number of blocks, k-m-DV (Figure 12)."""
    counts = range(25, 35, 3 if run.quick else 1)
    rows: list[dict[str, Cell]] = []
    panels: dict[str, Panel] = {}
    for dataset in _KINDS:
        run.say(dataset)
        instance = make_instance(dataset, _N, _K, seed=run.seed, data=run.data)
        mine: list[dict[str, Cell]] = []
        for count in counts:
            split = split_of(instance, "k-m-DV", count, run.seed)
            across, every = component_sizes(split, crossing_only=True), component_sizes(split)
            mine.append(
                {
                    "data": instance.label,
                    "blocks": count,
                    "internal records": float(split.internal_sizes.mean()),
                    "component": float(across.mean()) if len(across) else 0.0,
                    "component, Eq. 36": float(every.mean()) if len(every) else 0.0,
                }
            )
        rows += mine
        panels[instance.label] = partial(_lines, mine)
    return Experiment(
        "metricdp/figure12",
        "Sizes against the number of blocks",
        rows=rows,
        notes=(
            *NOTES.values(),
            "The paper prints curves without numbers: internal records fall with M, components need not.",
        ),
        settings={"N": _N, "seed": run.seed},
        panels=panels,
    )


def figures13to16(run: Run) -> Experiment:
    """Pictures of the partitions of the four data sets by the four partitioners (Figures 13 to 16)."""
    n = _N // 2 if run.quick else _N
    rows: list[dict[str, Cell]] = []
    panels: dict[str, Panel] = {}
    for dataset in _KINDS:
        run.say(dataset)
        instance = make_instance(dataset, n, _K, seed=run.seed, data=run.data)
        for partitioner in PARTITIONERS:
            split = split_of(instance, partitioner, _M, run.seed)
            whole = np.bincount(split.labels)
            rows.append(
                {
                    "data": instance.label,
                    "partitioner": partitioner,
                    "blocks": split.n_blocks,
                    "smallest block": int(whole.min()),
                    "largest block": int(whole.max()),
                    "on the boundary": int(split.boundary.sum()),
                }
            )
            panels[f"{instance.label}, {partitioner}"] = partial(
                _dots, instance.points, split.labels
            )
    return Experiment(
        "metricdp/figures13-16",
        "Partitions of the data sets",
        rows=rows,
        notes=(
            *NOTES.values(),
            "Records of more than two dimensions are shown in the two directions in which they vary most.",
            "Where the graph has more components than blocks, BSC returns one block of nearly all records.",
        ),
        settings={"N": n, "M": _M, "seed": run.seed},
        panels=panels,
    )


def _dots(points: NDArray[np.float64], labels: NDArray[np.int64], ax: Axes) -> None:
    """Draw records, colored by a label; those without one are small and grey."""
    known = labels >= 0
    x, y = points.T
    ax.scatter(x[~known], y[~known], s=4, color="#c9ced4")
    ax.scatter(x[known], y[known], s=12, c=labels[known] * 7 % 20, cmap="tab20", linewidths=0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])


def _lines(rows: Sequence[dict[str, Cell]], ax: Axes) -> None:
    blocks = numbers(rows, "blocks")
    shown = ("internal records", "component")
    lines_of({name: (blocks, numbers(rows, name)) for name in shown}, "blocks", "records", ax)
    ax.set_ylim(bottom=0)
