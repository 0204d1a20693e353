"""The whole campaign: so many mutants of every kind, in a worker that is replaced when it hangs; it can be continued.

``python tests/forger/campaign.py --folder FOLDER --mutants 20000 --seconds 400`` goes on where the last run stopped,
prints the counts by kind, and ends with 1 where there is a hole, with 3 where there is more to do.
"""
# ruff: noqa: E402 - run as a script, it names its own folder first

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path[:0] = [str(Path(__file__).parents[1])]

from forger.engine import Hole, Looked, Tally
from forger.limits import MOST_OF_A_COMMAND, MOST_OF_A_MUTANT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PORTION = 200
PATIENCE = 40.0
"""Seconds without a word after which a worker is replaced: a command has thirty, the rest is the machine."""

START = 180.0
"""Seconds in which a worker has to make its originals."""

KINDS = (
    "anchored",
    "anonymous-table",
    "channel",
    "choice",
    "ledger",
    "lattice-mechanism",
    "measurements",
    "mechanism",
    "noise-mechanism",
    "region-counts",
    "region-tables",
    "state",
    "table-measurements",
)
"""All of ``kinds.FORGED``, which takes seconds to import."""


def _memory(process: int) -> float:
    """Tell how many bytes of memory a process has; none where the system does not say."""
    try:
        stated = Path(f"/proc/{process}/statm").read_text(encoding="ascii")
        return int(stated.split()[1]) * 4096
    except (OSError, IndexError):
        return 0.0


DOORS = "doors"
"""Not a kind of file, but runs of commands."""

KEPT = 1 << 30
"""Bytes that a worker may keep in caches before another one takes its place."""


class Worker:
    """A worker of one kind, started on first use and replaced when it was killed.

    Parameters
    ----------
    command
        What is run.
    most
        Bytes that it may take beyond what it had at its last line. It says itself what was taken and given back; here
        the process is ended that does not stop.
    """

    def __init__(self, command: Sequence[str], most: float) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._most = most
        self._ready = 0.0

    def lines(self, request: str, patience: float) -> Iterator[str]:
        """Send a line, and yield what comes back; nothing more after a silence or an end."""
        process = self._started()
        if process is None or process.stdin is None:
            return
        process.stdin.write(f"{request}\n".encode())
        process.stdin.flush()
        while (line := self._line(patience, self._most)) is not None:
            yield line

    def _started(self) -> subprocess.Popen[bytes] | None:
        if self._process is None:
            self._rest = b""
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if self._line(START, float("inf")) != "ready":
                self.stop()
            else:
                self._ready = _memory(self._process.pid)
        return self._process

    def _line(self, patience: float, most: float) -> str | None:
        process = self._process
        if process is None or process.stdout is None:
            return None
        until, full = time.monotonic() + patience, _memory(process.pid) + most
        while b"\n" not in self._rest:
            ready, _, _ = select.select([process.stdout], [], [], 0.1)
            part = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            ended = bool(ready) and not part
            if ended or time.monotonic() > until or _memory(process.pid) > full:
                return None
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def renew(self) -> None:
        """End a process that keeps too much of what it saw."""
        if self._process is not None and _memory(self._process.pid) > self._ready + KEPT:
            self.stop()

    def stop(self) -> None:
        """End the process; the next request starts another one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def run(
    name: str,
    kept: Path,
    mutants: int,
    until: float,
    *,
    on_progress: Callable[[str, Tally], None],
    command: Sequence[str] = (),
) -> Tally:
    """Look at mutants of a kind until there are so many, or until a time; go on from what is kept."""
    tally, number = read(kept)
    worker = _worker(name, command)
    failures = 0
    try:
        while tally.mutants < mutants and time.monotonic() < until:
            last = number + PORTION
            for line in worker.lines(f"{number} {last}", PATIENCE):
                at, outcome, hole = json.loads(line)
                found = None if hole is None else Hole(at, tuple(hole[0]), hole[1])
                tally.add(Looked(at, outcome, found))
                number, failures = at + 1, 0
                if number == last:
                    break
            if number < last:
                # It hung, or died of what it took: the mutant that it was at is a hole.
                worker.stop()
                failures += 1
                if failures > 3:
                    raise RuntimeError(f"no worker of {name} starts")
                why = "the process hung, ended, or took more memory than it may"
                tally.add(Looked(number, "hole", Hole(number, ("see its number",), why)))
                number += 1
            else:
                worker.renew()
            write(kept, tally, number)
            on_progress(name, tally)
    finally:
        worker.stop()
    return tally


def _worker(name: str, command: Sequence[str]) -> Worker:
    script = Path(__file__).with_name("door_worker.py" if name == DOORS else "worker.py")
    most = MOST_OF_A_COMMAND if name == DOORS else MOST_OF_A_MUTANT
    return Worker(command or [sys.executable, str(script), name], most)


def again(name: str, kept: Path, *, command: Sequence[str] = ()) -> Tally:
    """Look at every hole that is kept once more, since what was wrong may have been mended."""
    tally, number = read(kept)
    fresh = Tally(Counter(tally.counts))
    fresh.counts["hole"] -= len(tally.holes)
    worker = _worker(name, command)
    try:
        for hole in tally.holes:
            found = next(worker.lines(f"{hole.number} {hole.number + 1}", PATIENCE), None)
            if found is None:
                worker.stop()
                fresh.add(Looked(hole.number, "hole", hole))
                continue
            at, outcome, told = json.loads(found)
            fresh.add(Looked(at, outcome, told and Hole(at, tuple(told[0]), told[1])))
    finally:
        worker.stop()
    fresh.counts += Counter()
    write(kept, fresh, number)
    return fresh


def read(kept: Path) -> tuple[Tally, int]:
    """Read what was counted before, and the number of the next mutant."""
    if not kept.exists():
        return Tally(), 0
    data: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    holes = [Hole(number, tuple(changes), why) for number, changes, why in data["holes"]]
    return Tally(Counter(data["counts"]), holes), data["next"]


def write(kept: Path, tally: Tally, number: int) -> None:
    """Keep the counts, whole or not at all."""
    holes = [[hole.number, hole.changes, hole.why] for hole in tally.holes]
    data = {"next": number, "counts": dict(tally.counts), "holes": holes}
    new = kept.with_suffix(".new")
    new.write_text(json.dumps(data, indent=1), encoding="utf-8")
    new.replace(kept)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all kinds in turn; print counts and holes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("build/forger"))
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--again", action="store_true", help="look at holes that are kept first")
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    until, shown, holes, left = time.monotonic() + given.seconds, 0.0, 0, False

    def progress(name: str, tally: Tally) -> None:
        nonlocal shown
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            sys.stderr.write(
                f"{name}: {tally.mutants} of {given.mutants}, {len(tally.holes)} holes\n"
            )

    for name in given.kinds:
        if given.again:
            again(name, given.folder / f"{name}.json")
        tally = run(name, given.folder / f"{name}.json", given.mutants, until, on_progress=progress)
        sys.stdout.write(f"{name}: {tally}\n")
        for hole in tally.holes:
            sys.stdout.write(f"  {name} {hole.number}: {hole.why}\n    {'; '.join(hole.changes)}\n")
        sys.stdout.flush()
        holes += len(tally.holes)
        left |= tally.mutants < given.mutants
    return 1 if holes else 3 if left else 0


if __name__ == "__main__":
    sys.exit(main())
