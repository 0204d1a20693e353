"""What a table of any size costs on any number of workers: measured on a small table, and computed by the plan's rules.

Adult enlarged, as in ``kanonymity_large.py``, is anonymized in one thread, and processor seconds and bytes written are
taken down for each step of each phase. A larger table has more steps of the same kinds: pieces of a million rows,
published parts of a batch, as many parts of the search as the small table has, buckets of classes. Steps of a phase are
then dealt to workers, each as long as its processor seconds and what it reads and writes at the bandwidth that is
stated; a phase begins when the one before it has ended. In each phase one worker is lost at the end of a step, which is
done again. ``--check`` compares a second table that is run with what was computed for it.

    python benchmarks/kanonymity_plan.py ADULT [--measure 1000000] [--rows 25000000,1000000000] [--workers 2,16,64]
        [--megabytes 200] [--memory 1.5] [--check 2000000]
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

from discreet.artefact import large
from discreet.artefact.large_counts import buckets_for
from discreet.artefact.large_run import BASE, KEY, part_memory
from discreet.artefact.large_steps import perform
from discreet.artefact.pieces import PIECE
from discreet.artefact.workspace import Workspace
from discreet.cli.microdata import Kinds, attributes_of
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.bounds.merged import ValueMerging
from discreet.kanonymity.bounds.shared import MOST_ROWS, AtomPlaces
from discreet.kanonymity.search.top import PARTS

K = 50

CLASS = 1.4
"""Rows of a class by k, about."""


@dataclass
class Phase:
    """What the steps of one kind took: processor seconds of each, and the bytes that all of them left."""

    seconds: list[float]
    written: int


@dataclass
class Measured:
    """What a table took."""

    rows: int
    batch: int
    words: int
    phases: dict[str, Phase]
    driver: float
    """Processor seconds between the phases."""

    @property
    def total(self) -> float:
        """Processor seconds of all."""
        return self.driver + sum(sum(one.seconds) for one in self.phases.values())


class Taking:
    """An engine that does steps in this thread, one after another, and takes down what each took."""

    def __init__(self) -> None:
        self.phases: dict[str, Phase] = {}
        self.words = self.batch = 0

    def run(self, space: Workspace, kind: str, count: int) -> None:
        """Do the steps."""
        before, seconds = size_of(space.folder), []
        for number in range(count):
            began = time.process_time()
            assert perform(str(space.folder), kind, number), kind
            seconds.append(time.process_time() - began)
        self.phases[kind] = Phase(seconds, size_of(space.folder) - before)
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


def measure(adult: Path, rows: int, folder: Path, memory: int) -> Measured:
    """Anonymize a table after a small one, which compiles."""
    names = write(adult, folder / f"in-{rows}", rows)
    table = pl.scan_parquet(folder / f"in-{rows}" / "*.parquet").collect()
    trees = [f"{name}={adult / f'adult_hierarchy_{name}.csv'}" for name in names]
    attributes = attributes_of(table, names, Kinds((), (), trees, show_columns=False))
    table.head(220_000).write_parquet(folder / f"small-{rows}.parquet")
    del table
    taken = Taking()
    for source in (folder / f"small-{rows}.parquet", folder / f"in-{rows}"):
        taken = Taking()
        plain = vars(large)["engine_of"]
        vars(large)["engine_of"] = lambda *_, it=taken: it
        began = time.process_time()
        try:
            large.anonymize_files(
                source,
                folder / f"{source.name}-out",
                KAnonymity(K, tuple(names)),
                attributes=attributes,
                memory=memory,
            )
        finally:
            vars(large)["engine_of"] = plain
        whole = time.process_time() - began
    driver = whole - sum(sum(one.seconds) for one in taken.phases.values())
    return Measured(rows, taken.batch, taken.words, taken.phases, driver)


@dataclass
class Work:
    """The steps of a phase: how many, processor seconds of each, and bytes that each reads and writes."""

    steps: int
    seconds: float
    moved: float
    written: float


def work(taken: Measured, rows: int, memory: int) -> dict[str, Work]:
    """Say what each phase of a larger table has to do, by what the rows of the small one took.

    Parameters
    ----------
    taken
        What the small table took.
    rows
        Of the larger one.
    memory
        Bytes of a worker, which hold the different rows of the lower bound.
    """
    by, pieces = rows / taken.rows, math.ceil(rows / PIECE)
    parts = len(taken.phases["finish"].seconds)
    depth, depth_then = (math.log2(max(2.0, n / parts / (CLASS * K))) for n in (rows, taken.rows))
    steps = {
        "survey": pieces,
        "sample": pieces,
        "route": pieces,
        "finish": parts,
        "atoms": pieces,
        "bound": 1,
        "publish": math.ceil(rows / taken.batch),
        "count": math.ceil(rows / taken.batch),
        "total": buckets_for(rows, taken.batch),
    }
    keys = min(MOST_ROWS, (memory - BASE) // KEY)
    looks = min(rows, keys) / min(taken.rows, keys)
    read = {"finish": "route", "bound": "atoms", "publish": "finish", "total": "count"}
    found = {}
    for kind, count in steps.items():
        one = taken.phases[kind]
        grown = {"finish": by * depth / depth_then, "bound": looks}.get(kind, by)
        taken_in = taken.phases[read[kind]].written if kind in read else 0
        if kind == "atoms":
            taken_in = taken.phases["route"].written
        written, moved = one.written * by, (one.written + taken_in) * by
        seconds = sum(one.seconds) * grown
        if kind == "bound":
            # Each piece of different rows is joined with those that are held.
            seconds += pieces * joining(min(rows, keys))
        found[kind] = Work(count, seconds / count, moved / count, written)
    return found


def joining(keys: int) -> float:
    """Give the processor seconds in which different rows of a piece are joined with so many others."""
    rng = np.random.default_rng(1)
    merging = ValueMerging(AtomPlaces((), 1.0), keys + PIECE)
    for n in (keys, PIECE):
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


def tell(taken: Measured, rows: int, memory: int, many: list[int], bandwidth: float) -> None:
    """Print the plan of a table."""
    planned = work(taken, rows, memory)
    shuffled = sum(planned[kind].written for kind in ("route", "finish", "count"))
    need = part_memory(rows // PARTS, taken.words)
    print(f"\n{rows:,} rows: {shuffled / 1e9:.1f} GB between steps, part {need / 1e9:.2f} GB")
    print(f"{'phase':<9}{'steps':>7}{'CPU s':>10}{'GB':>8}" + "".join(f"{w:>8} w" for w in many))
    ends = dict.fromkeys(many, 0.0)
    for kind, one in planned.items():
        took = {w: simulated(one, w, bandwidth) for w in many}
        ends = {w: ends[w] + took[w] for w in many}
        line = f"{kind:<9}{one.steps:>7}{one.steps * one.seconds:>10.0f}{one.written / 1e9:>8.1f}"
        print(line + "".join(f"{took[w]:>10.0f}" for w in many))
    driver = taken.driver * rows / taken.rows
    cpu = driver + sum(one.steps * one.seconds for one in planned.values())
    print(f"{'driver':<9}{'':>7}{driver:>10.0f}{'':>8}" + f"{driver:>10.0f}" * len(many))
    whole = "".join(f"{ends[w] + driver:>10.0f}" for w in many)
    print(f"{'all':<9}{'':>7}{cpu:>10.0f}{'':>8}{whole}", flush=True)


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
    options = parser.parse_args()
    print(machine(), flush=True)
    many, memory = list(map(int, options.workers.split(","))), int(options.memory * 1e9)
    with tempfile.TemporaryDirectory() as folder:
        taken = measure(options.adult, options.measure, Path(folder), memory)
        print(f"{taken.rows:,} rows took {taken.total:.1f} processor seconds, in one thread")
        if options.check:
            seen = measure(options.adult, options.check, Path(folder), memory)
            planned = work(taken, options.check, memory)
            thought = sum(one.steps * one.seconds for one in planned.values())
            thought += taken.driver * options.check / taken.rows
            print(f"{seen.rows:,} rows: {thought:.1f} computed, {seen.total:.1f} taken")
            assert 0.6 * seen.total <= thought <= 1.6 * seen.total
    for rows in map(int, options.rows.split(",")):
        tell(taken, rows, memory, many, options.megabytes * 1e6)


if __name__ == "__main__":
    main()
