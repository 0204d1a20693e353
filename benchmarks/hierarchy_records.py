"""Records to counts where memory is short: processor seconds and the most memory, from Parquet files of persons.

    python benchmarks/hierarchy_records.py [--rows 10000000] [--threads 1] [--text] [--keep FOLDER] [--way files]

Writes a folder of parts with one row for each synthetic person (a household's number or name, a state and a county as
text; rows in no order, so that households lie scattered over all parts), then counts households by county and size in a
process of its own. ``files`` is :class:`discreet.streaming.RecordFiles`, ``lazy`` a lazy frame of Polars, ``risk`` the
re-identification risk of state and county. Asserted: every household is counted, once, in its county and with its size.
At 10^8 rows: at most 2 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

STATES, COUNTIES, MAX_SIZE, PART = 50, 3_000, 100, 2_000_000
MOST_GB = 2.0


def paths() -> list[tuple[str, str]]:
    """Name the counties."""
    return [(f"state {c % STATES:02d}", f"county {c:04d}") for c in range(COUNTIES)]


def write(folder: Path, rows: int, *, text: bool) -> None:
    """Write parts, and the true counts beside them."""
    import polars as pl

    rng = np.random.default_rng(1)
    sizes = np.minimum(rng.geometric(0.4, rows), MAX_SIZE)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), rows) + 1]
    sizes[-1] -= int(sizes.sum()) - rows
    county = (COUNTIES * rng.random(len(sizes)) ** 2).astype(np.int16)
    truth = np.zeros((COUNTIES, MAX_SIZE), np.int64)
    np.add.at(truth, (county, sizes - 1), 1)
    np.save(folder / "truth.npy", truth)
    home = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    rng.shuffle(home)
    names = pl.Series([name for _, name in paths()])
    states = pl.Series([name for name, _ in paths()])
    (folder / "people").mkdir()
    for at, first in enumerate(range(0, rows, PART)):
        mine = home[first : first + PART]
        places = county[mine].astype(np.uint32)
        keys = pl.Series("home", mine.astype(np.int64))
        made = pl.DataFrame({"home": keys, "state": states[places], "county": names[places]})
        if text:
            made = made.with_columns(pl.format("household {}", "home").alias("home"))
        made.write_parquet(folder / "people" / f"part-{at:04d}.parquet")


def count(folder: Path, way: str, threads: int) -> dict[str, Any]:
    """Count, compare with the truth, and measure this process."""
    import polars as pl

    from discreet.hierarchy import from_records
    from discreet.kanonymity.risk import risk
    from discreet.streaming import RecordFiles

    people, truth = folder / "people", np.load(folder / "truth.npy")
    began, clock = time.process_time(), time.perf_counter()
    if way == "risk":
        found = risk(pl.scan_parquet(people / "*.parquet"), ["state", "county"])
        persons = (truth * np.arange(1, MAX_SIZE + 1)).sum(axis=1)
        assert (found.rows, found.classes) == (persons.sum(), (persons > 0).sum())
        assert found.k == persons[persons > 0].min()
    else:
        source: Any = RecordFiles(people, folder=folder, threads=threads)
        if way == "lazy":
            source = pl.scan_parquet(people / "*.parquet")
        counted = from_records(
            source, unit="home", columns=["state", "county"], regions=paths(), max_size=MAX_SIZE
        )
        tree = counted.frame.tree
        places = {tree.path(leaf): at for at, leaf in enumerate(tree.leaves.tolist())}
        assert (counted.counts[[places[path] for path in paths()]] == truth).all()
    return {
        "way": way,
        "rows": int((truth * np.arange(1, MAX_SIZE + 1)).sum()),
        "cpu_seconds": round(time.process_time() - began, 2),
        "seconds": round(time.perf_counter() - clock, 2),
        "GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    """Write the records, and count them in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--text", action="store_true", help="households have names, not numbers")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the records there, or use them")
    parser.add_argument("--way", action="append", choices=["files", "lazy", "risk"])
    parser.add_argument("--count", metavar="FOLDER", help="only count what is there")
    chosen = parser.parse_args()
    ways = chosen.way or ["files", "risk"]
    if chosen.count:
        print(json.dumps(count(Path(chosen.count), ways[0], chosen.threads)), flush=True)
        return
    with TemporaryDirectory() as made:
        folder = Path(chosen.keep or made)
        folder.mkdir(exist_ok=True)
        if not (folder / "truth.npy").exists():
            write(folder, chosen.rows, text=chosen.text)
        for way in ways:
            command = [sys.executable, __file__, "--count", str(folder), "--way", way]
            command += ["--threads", str(chosen.threads)]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            print(told, end="", flush=True)
            if way == "files":
                assert json.loads(told)["GB"] <= MOST_GB


if __name__ == "__main__":
    main()
