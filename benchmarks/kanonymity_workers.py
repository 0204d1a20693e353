"""A large table on the workers of Dask beside one process, a worker killed in each phase that is named.

The table of ``kanonymity_large.py``: Adult enlarged, nine taxonomies, k = 50. A scheduler and workers are started on
this machine as a user starts them; a worker is killed while the steps of a phase run, and its nanny starts another one.
Asserted: as many classes as in one process to within 1 %, the loss too, ``verify``, and that each worker that was to be
killed was.

    python benchmarks/kanonymity_workers.py ADULT [--rows 2000000] [--workers 2] [--memory 1500MB]
        [--table FOLDER] [--kill survey,sample,route,...] [--folder DIR] [--skip-one-process]
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import polars as pl
import psutil  # type: ignore[import-untyped]
from kanonymity_large import run, write
from run import machine

KINDS = (
    *("survey", "sample", "route", "finish", "atoms", "bound"),
    *("publish", "tally", "count", "total"),
)
"""Phases, in their order."""

OFTEN = 0.02
"""Seconds between two looks at the workers."""


class Watch(threading.Thread):
    """Looks at the workers' memory and seconds by phase, and kills one in each phase that is named.

    It is killed as soon as the first step of its phase is done, or, where there is only one, a second after its begin.
    """

    def __init__(self, nanny: int, room: Path, kill: list[str]) -> None:
        super().__init__(daemon=True)
        self.nanny, self.room, self.kill = psutil.Process(nanny), room, list(kill)
        self.peak: dict[int, int] = {}
        self.peak_in: dict[str, int] = {}
        self.cpu: dict[int, float] = {}
        self.cpu_in: dict[str, float] = {}
        self.killed: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        """Look as often as is said; what a process that is killed used since the last look is not seen."""
        alone = 0.0
        workers: list[psutil.Process] = []
        looked = 0.0
        while not self.over.wait(OFTEN):
            if time.monotonic() - looked > 0.2:
                workers = [one for one in self.nanny.children(recursive=True) if is_worker(one)]
                looked = time.monotonic()
            running = {one.name.split(".")[1] for one in self.room.glob(".discreet-*/running.*")}
            kind = max(running, key=KINDS.index, default="between")
            now: dict[psutil.Process, int] = {}
            for one in workers:
                try:
                    used, times = one.memory_info().rss, one.cpu_times()
                except psutil.NoSuchProcess:
                    continue
                now[one] = used
                self.peak[one.pid] = max(used, self.peak.get(one.pid, 0))
                self.peak_in[kind] = max(used, self.peak_in.get(kind, 0))
                spent = times.user + times.system
                more = spent - self.cpu.get(one.pid, 0.0)
                self.cpu_in[kind] = self.cpu_in.get(kind, 0.0) + more
                self.cpu[one.pid] = spent
            if "bound" not in running:
                alone = time.monotonic()
            for named in self.kill:
                begun = any(self.room.glob(f".discreet-*/{named}-*"))
                if named == "bound":
                    begun = time.monotonic() - alone > 1
                if begun and now:
                    # Where there is one step, the worker that does it has more in memory.
                    max(now, key=now.__getitem__).kill()
                    self.kill.remove(named)
                    self.killed.append(named)
                    looked = 0.0
                    break

    def told(self) -> str:
        """Say what each phase took."""
        peaks = ", ".join(f"{k} {self.peak_in[k] / 1e9:.2f}" for k in KINDS if k in self.peak_in)
        spent = ", ".join(f"{k} {s:.1f}" for k, s in self.cpu_in.items())
        return f"  peak GB of a worker by phase: {peaks}\n  CPU s of all workers {sum(self.cpu.values()):.1f}: {spent}"


def is_worker(process: psutil.Process) -> bool:
    """Tell a worker from what watches over it."""
    try:
        return any("spawn_main" in word for word in process.cmdline())
    except psutil.Error:
        return False


def free_port() -> int:
    """Find a port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def told(name: str, said: dict[str, Any], seconds: float, memory: str) -> None:
    """Print a run."""
    phases = ", ".join(f"{phase} {took:.1f}" for phase, took in said["seconds"].items())
    print(
        f"{name:<14}{said['classes']:>10,} classes  loss {said['mean_loss']:.4f}  gap {said['gap']:.1%}"
        f"  {seconds:.1f} s  {memory}\n  {phases}",
        flush=True,
    )


class Cluster:
    """A scheduler and workers on this machine, started as a user starts them; their files go to a folder."""

    def __init__(self, workers: int, folder: Path) -> None:
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        dask = str(Path(sys.executable).with_name("dask"))
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        serve = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        work = ["worker", self.address, "--nworkers", str(workers), "--nthreads", "1"]
        work += ["--no-dashboard", "--local-directory", str(folder)]
        self.scheduler = subprocess.Popen([dask, *serve], **quiet)
        time.sleep(3)
        self.workers = subprocess.Popen([dask, *work], **quiet)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in (self.workers, self.scheduler):
            process.terminate()
            process.wait(30)


def options_of() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("adult", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--table", type=Path, help="the table, where it was written before")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1500MB")
    parser.add_argument("--kill", default="survey,sample,route,finish,atoms,bound,publish,count")
    parser.add_argument("--time-limit")
    parser.add_argument("--folder", help="where the files go while it runs")
    parser.add_argument("--skip-one-process", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Make the table, anonymize it in one process and on workers, and verify what these wrote."""
    options = options_of()
    kill = [kind for kind in options.kill.split(",") if kind]
    assert set(kill) <= set(KINDS)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        where, table = Path(folder), options.table or Path(folder) / "in"
        if options.table is None:
            write(options.adult, table, options.rows)
        parts = sorted(table.iterdir())
        rows = sum(pl.scan_parquet(part).select(pl.len()).collect().item() for part in parts)
        names = list(pl.read_parquet_schema(parts[0]))
        line = ["-k", "50", "--quasi", ",".join(names), "--memory", options.memory, "--json"]
        for name in names:
            line += ["--taxonomy", f"{name}={options.adult / f'adult_hierarchy_{name}.csv'}"]
        line += ["--time-limit", options.time_limit] if options.time_limit else []
        small = where / "small.parquet"
        pl.read_parquet(parts[0]).head(300_000).write_parquet(small)
        run("anonymize", str(small), *line, "-o", str(where / "warm"))
        one = None
        if not options.skip_one_process:
            (where / "one").mkdir()
            out = str(where / "one" / "out")
            one, seconds, cpu, peak = run("anonymize", str(table), *line, "-o", out)
            told("one process", one, seconds, f"{cpu:.1f} CPU s, {peak:.2f} GB")
        room = where / "many"
        room.mkdir()
        with Cluster(options.workers, where / "dask") as cluster:
            watch = Watch(cluster.workers.pid, room, kill)
            watch.start()
            more = ["--scheduler", cluster.address, "-o", str(room / "out")]
            try:
                said, seconds, cpu, peak = run("anonymize", str(table), *line, *more)
            finally:
                watch.over.set()
                watch.join()
        peaks = ", ".join(f"{used / 1e9:.2f}" for used in sorted(watch.peak.values()))
        seen = f"killed in {', '.join(watch.killed) or 'none'}; peak GB of each process: {peaks}"
        told(
            f"{options.workers} workers",
            said,
            seconds,
            f"driver {cpu:.1f} CPU s, {peak:.2f} GB; {seen}",
        )
        print(watch.told(), flush=True)
        found, judged, *_ = run("verify", str(room / "out"), "--json")
        print(f"verify {judged:.1f} s")
        assert found["passed"]
        assert (found["rows"], found["classes"]) == (rows, said["classes"])
        assert set(watch.killed) == set(kill)
        if one is not None:
            for name in ("classes", "mean_loss"):
                assert abs(said[name] / one[name] - 1) <= 0.01, name


if __name__ == "__main__":
    main()
