"""What a table of any size costs on any number of workers: measured on small tables, and computed by the plan's rules.

Adult enlarged, as in ``kanonymity_large.py``, is anonymized in one thread in several sizes, for two k and in two sizes
of batches, and processor seconds and bytes written are taken down for each phase. The costs of a phase are fitted as
sums of what it does, none of them negative: so much for each step, each row, each meeting of a part of the search with
a published part, and each class that a published part has, of which there are nearly as many as rows in a large table
and few in a small one. Seconds of the search for a bound grow with a power of the rows that it holds. Steps of a phase
are then dealt to workers, each as long as its processor seconds and what it reads and writes at the bandwidth that is
stated; a phase begins when the one before it has ended. In each phase one worker is lost at the end of a step, which is
done again. ``--check`` compares a further table, phase by phase, with what was computed for it.

    python benchmarks/kanonymity_plan.py ADULT [--measure 1000000] [--rows 25000000,1000000000] [--workers 2,16,64]
        [--megabytes 200] [--memory 1.5] [--check 4000000]
"""

from __future__ import annotations

import argparse
import heapq
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from kanonymity_large import write
from run import machine
from scipy.optimize import nnls

from discreet.cli.columns import StatedKinds, attributes_of
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.bounds.merged import ValueMerging
from discreet.kanonymity.bounds.shared import SHARED, AtomPlaces
from discreet.kanonymity.search.top import TOP
from discreet.streaming import anonymize as large
from discreet.streaming.class_counts import NUMBERS, buckets_for
from discreet.streaming.pieces import BYTES, PIECE_ROWS
from discreet.streaming.run import part_memory
from discreet.streaming.steps import perform
from discreet.streaming.workspace import Workspace

K, SMALL_K = 50, 5

SMALL_BATCH = 0.53
"""GB of memory that make batches of some 30,000 rows of nine columns."""

CLASS = 1.3
"""Rows of a class by k, about."""

GROWS: dict[str, tuple[str, ...]] = {
    "survey": ("steps", "rows"),
    "sample": ("steps", "rows"),
    "route": ("steps", "rows"),
    "finish": ("steps", "rows", "meetings"),
    "atoms": ("steps", "rows"),
    "publish": ("steps", "rows", "meetings", "groups"),
    "tally": ("steps", "rows"),
    "count": ("steps", "rows", "groups"),
    "total": ("steps", "looks", "groups"),
    "driver": ("one", "rows", "publish"),
}
"""What seconds of each phase grow with, see :func:`amounts`; the bound has a rule of its own."""

WRITES = {**GROWS, "finish": ("steps", "rows", "meetings", "groups")}
"""What the bytes grow with that a phase leaves."""

READS = {"finish": "route", "atoms": "route", "bound": "atoms", "publish": "finish"}
READS |= {"tally": "publish", "count": "publish", "total": "count"}
"""The phase whose files a phase reads."""


@dataclass
class Measured:
    """What a table took: processor seconds of each phase, the bytes that it left, and what it did."""

    rows: int
    seconds: dict[str, float]
    written: dict[str, int]
    did: dict[str, dict[str, float]]
    batch: int
    words: int
    k: int

    @property
    def total(self) -> float:
        """Processor seconds of all."""
        return sum(self.seconds.values())


class Taking:
    """An engine that does steps in this thread, one after another, and takes down what each phase took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.written: dict[str, int] = {}
        self.steps: dict[str, int] = {}
        self.words = self.batch = 0

    def run(self, space: Workspace, kind: str, count: int) -> None:
        """Do the steps."""
        before, began = size_of(space.folder), time.process_time()
        for number in range(count):
            assert perform(str(space.folder), kind, number), kind
        self.seconds[kind] = time.process_time() - began
        self.written[kind], self.steps[kind] = size_of(space.folder) - before, count
        self.words, self.batch = space.plan().layout.words, space.plan().batch

    def workers(self) -> int:
        """There is one."""
        return 1

    def threads_alone(self) -> int:
        """There is one."""
        return 1

    def look(self, space: Workspace) -> None:
        """There is this process alone."""
        del space

    def close(self, space: Workspace) -> None:
        """Nothing runs on."""
        del space


def size_of(folder: Path) -> int:
    """Give the bytes of all files."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def amounts(steps: dict[str, int], rows: int, classes: float) -> dict[str, dict[str, float]]:
    """Say what each phase does.

    Parameters
    ----------
    steps
        Steps of each phase.
    rows, classes
        Of the table.

    Returns
    -------
    dict
        For each phase its steps and rows; the meetings of parts of the search with published parts; the looks of
        buckets into counted parts; and how many classes all published parts have, each counted by itself: a class lies
        in as many of them as its rows hit at random.
    """
    published = steps["publish"]
    hit = -math.expm1(rows / classes * math.log1p(-1 / published)) if published > 1 else 1.0
    common = {
        "one": 1.0,
        "rows": float(rows),
        "publish": float(published),
        "meetings": float(steps["finish"] * published),
        "looks": float(steps["total"] * published),
        "groups": classes * published * hit,
    }
    return {kind: {**common, "steps": float(count)} for kind, count in steps.items()}


def measure(adult: Path, rows: int, folder: Path, memory: int, k: int = K) -> Measured:
    """Anonymize a table in one thread."""
    source = folder / f"in-{rows}"
    if not source.exists():
        write(adult, source, rows)
    first = pl.read_parquet(min(source.iterdir()))
    names = first.columns
    trees = [f"{name}={adult / f'adult_hierarchy_{name}.csv'}" for name in names]
    attributes = attributes_of(first, names, StatedKinds(taxonomy=tuple(trees)))
    del first
    taken, plain, began = Taking(), vars(large)["engine_of"], time.process_time()
    vars(large)["engine_of"] = lambda *_: taken
    try:
        with tempfile.TemporaryDirectory(dir=folder) as out:
            made = large.anonymize_files(
                source,
                Path(out) / "made",
                KAnonymity(k, tuple(names)),
                attributes=attributes,
                memory=memory,
            )
    finally:
        vars(large)["engine_of"] = plain
    whole = time.process_time() - began
    did = amounts({**taken.steps, "driver": 1}, rows, made.diagnostics.classes)
    seconds = {**taken.seconds, "driver": whole - sum(taken.seconds.values())}
    return Measured(rows, seconds, {**taken.written, "driver": 0}, did, taken.batch, taken.words, k)


@dataclass
class Fitted:
    """Costs of each phase, for each thing that it does: processor seconds, and bytes; and the rule of the bound.

    Seconds of a search over `searched` different rows are `search`, and grow with a power of them. `batch` is that of
    the first table.
    """

    seconds: dict[str, dict[str, float]]
    written: dict[str, dict[str, float]]
    searched: int
    search: float
    power: float
    batch: int
    words: int


def fitted(tables: list[Measured]) -> Fitted:
    """Fit what the phases of all tables took, each table's error by what it took.

    To split down to a smaller k takes longer: what splitting takes is fitted to the tables of `K` alone.
    """
    found: list[dict[str, dict[str, float]]] = []
    for taken, grows in (("seconds", GROWS), ("written", WRITES)):
        costs = {}
        for kind, names in grows.items():
            split = kind == "finish" and taken == "seconds"
            used = [one for one in tables if one.k == K or not split]
            given = np.array([[one.did[kind][name] for name in names] for one in used])
            took = np.array([float(vars(one)[taken][kind]) for one in used])
            by = 1 / np.maximum(took, max(1e-9, took.max() / 20))
            scale = given.max(axis=0)
            part, _ = nnls(given / scale * by[:, None], took * by)
            costs[kind] = dict(zip(names, (part / scale).tolist(), strict=True))
        found.append(costs)
    # With as much memory as the first one, so that as many different rows are held.
    first, *others = (one for one in tables if one.k == K and one.batch == tables[0].batch)
    last = others[-1]
    ratio = last.seconds["bound"] / first.seconds["bound"]
    power = min(1.0, math.log(ratio) / math.log(last.rows / first.rows))
    search = last.seconds["bound"]
    return Fitted(found[0], found[1], last.rows, search, power, first.batch, first.words)


@dataclass
class Work:
    """The steps of a phase: how many, processor seconds of each, and bytes that each reads and writes."""

    steps: int
    seconds: float
    moved: float
    written: float


def work(costs: Fitted, rows: int, memory: int) -> dict[str, Work]:
    """Say what each phase of a table has to do, on workers of so many bytes."""
    pieces, batch = math.ceil(rows / PIECE_ROWS), costs.batch
    steps = {
        "survey": pieces,
        "sample": pieces,
        "route": pieces,
        "finish": max(1, min(2 * TOP.target_parts, rows // (2 * K))),
        "atoms": pieces,
        "bound": 1,
        "publish": math.ceil(rows / batch),
        "tally": math.ceil(rows / batch),
        "count": math.ceil(rows / batch),
        "total": buckets_for(rows, batch, NUMBERS),
        "driver": 1,
    }
    does = amounts(steps, rows, rows / (CLASS * K))
    keys = min(rows, SHARED.max_packed_rows, (memory - BYTES.process) // BYTES.key)
    found: dict[str, Work] = {}
    for kind, count in steps.items():
        if kind == "bound":
            # Each piece of different rows is joined with those that are held.
            seconds = costs.search * (keys / costs.searched) ** costs.power
            seconds += pieces * joining(keys) if rows > PIECE_ROWS else 0.0
            written = 0.0
        else:
            seconds, written = (
                sum(cost * does[kind][name] for name, cost in each[kind].items())
                for each in (costs.seconds, costs.written)
            )
        read = found[READS[kind]].written if kind in READS else 0.0
        found[kind] = Work(count, seconds / count, (written + read) / count, written)
    return found


def joining(keys: int) -> float:
    """Give the processor seconds in which different rows of a piece are joined with so many others."""
    rng = np.random.default_rng(1)
    merging = ValueMerging(AtomPlaces((), 1.0), keys + PIECE_ROWS)
    for n in (keys, PIECE_ROWS):
        rows, counts = np.unique(rng.integers(0, 2**40, n), return_counts=True)
        began = time.process_time()
        merging.add(rows, counts)
    return time.process_time() - began


def simulated(work: Work, workers: int, bandwidth: float) -> float:
    """Deal the steps of a phase to workers, and do the last one of the first worker again, which was lost."""
    each = work.seconds + work.moved / bandwidth
    free = [0.0] * workers
    for _ in range(work.steps + 1):
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def tell(costs: Fitted, rows: int, memory: int, many: list[int], bandwidth: float) -> None:
    """Print the plan of a table."""
    planned = work(costs, rows, memory)
    driver = planned.pop("driver").seconds
    shuffled = sum(planned[kind].written for kind in ("route", "finish", "count"))
    need = part_memory(rows // TOP.target_parts, costs.words)
    print(f"\n{rows:,} rows: {shuffled / 1e9:.1f} GB between steps, part {need / 1e9:.2f} GB")
    print(f"{'phase':<9}{'steps':>7}{'CPU s':>10}{'GB':>8}" + "".join(f"{w:>8} w" for w in many))
    ends = dict.fromkeys(many, 0.0)
    for kind, one in planned.items():
        took = {w: simulated(one, w, bandwidth) for w in many}
        ends = {w: ends[w] + took[w] for w in many}
        line = f"{kind:<9}{one.steps:>7}{one.steps * one.seconds:>10.0f}{one.written / 1e9:>8.1f}"
        print(line + "".join(f"{took[w]:>10.0f}" for w in many))
    cpu = driver + sum(one.steps * one.seconds for one in planned.values())
    print(f"{'driver':<9}{'':>7}{driver:>10.0f}{'':>8}" + f"{driver:>10.0f}" * len(many))
    whole = "".join(f"{ends[w] + driver:>10.0f}" for w in many)
    print(f"{'all':<9}{'':>7}{cpu:>10.0f}{'':>8}{whole}", flush=True)


def compare(costs: Fitted, seen: Measured, memory: int) -> None:
    """Print what was computed for each phase beside what it took; refuse a sum that is far off."""
    planned = work(costs, seen.rows, memory)
    thought = {kind: one.steps * one.seconds for kind, one in planned.items()}
    each = ", ".join(f"{kind} {thought[kind]:.1f} ({seen.seconds[kind]:.1f})" for kind in thought)
    whole = sum(thought.values())
    print(f"{seen.rows:,} rows: {whole:.1f} computed, {seen.total:.1f} taken; {each}", flush=True)
    assert 0.6 * seen.total <= whole <= 1.6 * seen.total


def main() -> None:
    """Measure, compute and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adult", type=Path)
    parser.add_argument("--measure", type=int, default=1_000_000)
    parser.add_argument("--rows", default="25000000,85000000,1000000000")
    parser.add_argument("--workers", default="2,16,64")
    parser.add_argument("--megabytes", type=float, default=200, help="a second, for each worker")
    parser.add_argument("--memory", type=float, default=1.5, help="GB of each worker")
    parser.add_argument("--check", type=int)
    parser.add_argument("--folder", help="where the files go while it runs")
    options = parser.parse_args()
    print(machine(), flush=True)
    many, memory = list(map(int, options.workers.split(","))), int(options.memory * 1e9)
    n, few = options.measure, int(SMALL_BATCH * 1e9)
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        # The first run compiles.
        measure(options.adult, n // 4, folder, memory)
        tables = [
            measure(options.adult, rows, folder, size, k)
            for rows, size, k in (
                (n // 4, memory, K),
                (n // 4, few, SMALL_K),
                (n, memory, K),
                (n, memory, SMALL_K),
                (n, few, K),
                (n, few, SMALL_K),
            )
        ]
        taken = ", ".join(f"{one.total:.1f}" for one in tables)
        print(f"tables of {n // 4:,} and {n:,} rows took {taken} processor seconds, in one thread")
        costs = fitted(tables)
        if options.check:
            compare(costs, measure(options.adult, options.check, folder, memory), memory)
    for rows in map(int, options.rows.split(",")):
        tell(costs, rows, memory, many, options.megabytes * 1e6)


if __name__ == "__main__":
    main()
