"""A release that is broken off anywhere is charged once at most, and never charged in vain but in one window.

The window is between the marker "reading" and the spool: a failure there may depend on the data.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from faults.injector import FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ZYGOTE = Path(__file__).with_name("zygote.py")
COMMANDS = ("sizes", "categories", "select")
FILES = {"sizes": 2, "categories": 2, "select": 1}
POINTS = {"sizes": 168, "categories": 166, "select": 166}
IN_EVERY_RUN, PARTS, CROWDS = 10, 8, 6


class Forks:
    """A process that has loaded everything, and forks for each point."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._traces: dict[str, tuple[str, ...]] = {}

    def trace(self, name: str) -> tuple[str, ...]:
        """List the events of a run without a fault."""
        if name not in self._traces:
            (found,) = self.broken(name, [(-1, "none")])
            assert found["status"] == 0, found
            assert found["whole"] == found["there"]
            assert len(found["whole"]) == FILES[name]
            self._traces[name] = tuple(found["events"])
        return self._traces[name]

    def broken(self, name: str, points: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
        """Break a command off at each point."""
        return self._answers([f"{name} {number} {fault}" for number, fault in points])

    def crowd(self, points: Sequence[tuple[str, int, str]]) -> dict[str, Any]:
        """Break commands off that run at once on one ledger."""
        (found,) = self._answers(["crowd " + ";".join(" ".join(map(str, one)) for one in points)])
        return found

    def _answers(self, lines: Sequence[str]) -> list[dict[str, Any]]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.writelines(f"{line}\n" for line in lines)
        self._process.stdin.flush()
        answers = [self._process.stdout.readline() for _ in lines]
        assert all(answers), "the process ended; its error stands above"
        return [json.loads(answer) for answer in answers]


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    command = [sys.executable, str(ZYGOTE), str(tmp_path_factory.mktemp("faults"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        # Its end of input ends it.
        yield Forks(process)


def window_of(events: tuple[str, ...]) -> tuple[int, int]:
    """Return the first and the last event between the marker "reading" and the spool."""
    last = next(at for at, event in enumerate(events) if event.endswith(".spool"))
    first = max(at for at in range(last) if events[at].startswith("sql COMMIT"))
    return first, last


def points_of(events: tuple[str, ...], count: int) -> list[tuple[int, str]]:
    """Spread points over all events and faults, the same ones each time."""
    every = [
        (at, FAULTS[(at + turn) % len(FAULTS)])
        for turn in range(len(FAULTS))
        for at in range(len(events))
    ]
    return [every[len(every) * number // count] for number in range(count)]


def judge(
    name: str, events: tuple[str, ...], point: tuple[int, str], found: dict[str, Any]
) -> None:
    """Hold what a broken run left to the laws."""
    at, fault = point
    first, last = window_of(events)
    about = (point, events[at], found)
    killed, inside = fault.startswith("kill"), first <= at <= last
    assert "crashed" not in found, about
    assert found["status"] == -9 if killed else found["status"] in {0, 2, 5, 70}, about
    states = [state for _, state in found["before"]]
    ends = [state for _, state in found["after"]]
    # Charged once at most, and what is charged is what the ledger adds up.
    assert len(states) <= 1, about
    assert int(found["spent"]) == sum(state != "void" for state in ends), about
    # No output without a charge, and no half output under its final name.
    if not states or states[0] in {"void", "reserved"}:
        assert found["there"] == [], about
    assert found["there"] == found["whole"], about
    assert set(found["spool modes"]) <= {"0o600"}, about
    # The next release finds no room that a killed one reserved, unless that one was lost after reading.
    assert len(found["rest"]) <= ends.count("reading"), about
    # Charged, then recovered, freed, or in the window.
    for end in ends:
        assert end in {"done", "void"} or (end == "reading" and inside), about
        if end == "done":
            assert len(found["whole after"]) == FILES[name], about
            assert found["digests fit"], about
            assert found["rest"] == [], about
        if end == "void":
            assert not inside or at == first, about
    if not killed:
        said = found["err"]
        if found["kept"] and at > last + 1:
            assert found["status"] == 70, about
            assert "charged; the result is safe: `discreet budget recover l.db" in said, about
        if states == ["reading"] and inside and at > first:
            assert "The budget stays charged" in said, about
        if found["status"] in {2, 5} and not inside:
            assert "charged;" not in said, about
            assert not ends or ends == ["void"], about


@pytest.mark.parametrize("name", COMMANDS)
def test_ten_points_of_each_command_keep_the_laws(name: str, forks: Forks) -> None:
    check(name, forks, IN_EVERY_RUN)


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", COMMANDS)
def test_five_hundred_points_keep_the_laws(name: str, part: int, forks: Forks) -> None:
    check(name, forks, POINTS[name], part)


@pytest.mark.faults
@pytest.mark.parametrize("seed", range(CROWDS))
def test_sixteen_releases_at_once_cost_what_their_outputs_promise(seed: int, forks: Forks) -> None:
    """Faults hit them anywhere: after `budget recover` each charge has its outputs, or was lost in the window."""
    chance = random.Random(seed)  # noqa: S311 - it spreads faults
    points = []
    for _ in range(16):
        name = chance.choice(("sizes", "categories"))
        points.append((name, chance.randrange(len(forks.trace(name))), chance.choice(FAULTS)))
    # Some are not broken at all.
    points[:4] = [(name, -1, "none") for name, _, _ in points[:4]]
    found = forks.crowd(points)
    assert "crashed" not in found, found
    in_window = 0
    for name, at, _ in points:
        first, last = window_of(forks.trace(name))
        in_window += first <= at <= last
    ends = found["after"]
    lost = sum(state == "reading" for state in ends)
    assert set(ends) <= {"done", "void", "reading"}, found
    assert lost <= in_window, found
    assert found["there"] == found["whole"], found
    assert int(found["spent"]) == sum(found["whole"]) + lost == len(ends) - ends.count("void"), (
        found
    )
    # An error that another process brings about leaves the result safe, too.
    for status, said in zip(found["statuses"][:4], found["err"][:4], strict=True):
        assert status == 0 or "the result is safe" in said, (status, said)
    # A release that was lost after reading leaves the room that it reserved, until it is forgotten.
    assert all(name.endswith(".unfinished") for name in found["rest"]), found
    assert len(found["rest"]) <= lost, found


def check(name: str, forks: Forks, count: int, part: int | None = None) -> None:
    events = forks.trace(name)
    points = points_of(events, count)
    assert len(set(points)) == count
    points = points if part is None else points[part::PARTS]
    found = forks.broken(name, points)
    assert len(found) == len(points)
    for point, one in zip(points, found, strict=True):
        judge(name, events, point, one)
    # The faults hit: some runs were killed, some were refused, and some had to be recovered.
    assert {one["status"] for one in found} >= {-9, 70}
    assert any(one["recoveries"] for one in found)
