"""A table larger than memory would like: Parquet in, an anonymized file out, beside Mondrian on the same codes.

Made people of a census with eight numeric columns. A million rows by default; ``--rows 10000000`` is the case that
docs/reproduction/kanonymity.md reports. As many threads as there are cores. Asserted: the
certificate of the published file, every row published, and a loss below Mondrian's.

    python benchmarks/kanonymity_streaming.py [--rows 1000000] [-k 10] [--folder DIR]
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import polars as pl
from run import machine

from discreet.artefact import anonymize_file
from discreet.core.guarantee import KAnonymity
from discreet.datasets.microdata import made_people
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.problem import Numeric, Problem

CHUNK = 1_000_000


def write(path: Path, rows: int) -> list[str]:
    """Write made people, a file for each million of them, and give their columns."""
    path.mkdir()
    for at, first in enumerate(range(0, rows, CHUNK)):
        part = made_people(min(CHUNK, rows - first), seed=at)
        pl.DataFrame(part).write_parquet(path / f"{at:04d}.parquet")
    whole = path.with_suffix(".parquet")
    pl.scan_parquet(path / "*.parquet").sink_parquet(whole)
    return list(part)


def peak() -> float:
    """Give the peak memory of this process and of the largest of its children together, in GB."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1e6


def main() -> None:
    """Make the table, anonymize it, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=CHUNK)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--folder", help="where the files go while it runs")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        where = Path(folder)
        names = write(where / "people", options.rows)
        source, target = where / "people.parquet", where / "out.parquet"
        attributes = [Numeric(name) for name in names]
        began, used = time.monotonic(), sum(os.times()[:4])
        workers = os.cpu_count() or 1
        promise = KAnonymity(options.k, tuple(names))
        made = anonymize_file(source, target, promise, attributes=attributes, threads=workers)
        wall, cpu = time.monotonic() - began, sum(os.times()[:4]) - used
        memory = peak()
        found = made.diagnostics
        assert made.certificate.passed
        assert found.rows == options.rows
        print(
            f"{options.rows} rows x {len(names)}, k = {options.k}: loss {found.information_loss:.0f},"
            f" smallest class {found.smallest_class}, {wall:.0f} s wall, {cpu:.0f} s CPU,"
            f" {workers} threads, {memory:.1f} GB at the peak"
        )
        columns = pl.read_parquet(source).to_dict(as_series=False)
        problem = Problem.from_columns(columns, attributes)
        rival = problem.loss_of(Mondrian().solve(problem, options.k, SearchLimits()).labels)
        print(
            f"Mondrian, in memory: loss {rival:.0f}, {rival / found.information_loss - 1:.1%} more"
        )
        assert found.information_loss < rival


if __name__ == "__main__":
    main()
