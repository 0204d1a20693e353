"""The canary at the door, in small: runs of commands on broken files, and what would be noticed.

``make test-canary`` makes twenty thousand runs; this is what every ``make test`` sees.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from discreet.cli.commands import OWN
from forger import campaign, doors

SOME = 12


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    doors.prepared(tmp_path)
    return tmp_path


def test_every_command_is_run() -> None:
    """A command that is registered and has no line here fails: nothing new escapes by not being known."""
    known = {name for panel in OWN.values() for name in panel}
    budget = {"create", "show", "history", "check"}
    assert {line[0] for line in doors.COMMANDS.values()} >= known - {"budget"}
    assert {line[1] for line in doors.COMMANDS.values() if line[0] == "budget"} == budget


def test_no_run_shows_what_is_private(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen = [doors.tried(number) for number in range(SOME)]
    assert [one.hole for one in seen if one.hole] == []
    assert sum(one.outcome.startswith("past") for one in seen) > 2


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (f"a cell: {doors.BIRD}", "a canary"),
        ("Traceback (most recent call last):", "a trace"),
        ("thread 'main' panicked at", "a trace"),
    ],
)
def test_what_comes_out_is_looked_at(
    told: str, why: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """On both streams; a canary also on the descriptor that Python does not know of."""

    def loud(_: Any) -> int:
        if why == "a canary":
            os.write(2, told.encode())
        else:
            sys.stderr.write(told)
        return 0

    with patch.object(doors, "run", loud):
        hole = doors.tried(3).hole
    assert hole is not None
    assert why in hole.why


@pytest.mark.parametrize("status", [70, 130, 9, -1])
def test_an_end_that_is_not_documented_is_a_hole(status: int, folder: Path) -> None:
    with patch.object(doors, "run", lambda _: status):
        hole = doors.tried(3).hole
    assert hole is not None
    assert f"status {status}" in hole.why


def test_a_command_that_takes_too_long_is_a_hole(folder: Path) -> None:
    def slow(_: Any) -> int:
        time.sleep(0.1)
        return 0

    with patch.object(doors, "run", slow), patch.object(doors, "MOST_SECONDS", 0.05):
        hole = doors.tried(3).hole
    assert hole is not None
    assert "seconds" in hole.why


@pytest.mark.canary
@pytest.mark.timeout(0)
def test_twenty_thousand_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """At least a third of them get past the reader; ``FORGER_SECONDS`` in portions."""
    seconds = os.environ.get("FORGER_SECONDS", "inf")
    with capsys.disabled():
        status = campaign.main(["--seconds", seconds, "doors"])
    assert status in ({0} if seconds == "inf" else {0, 3})
    tally, _ = campaign.read(Path("build/forger/doors.json"))
    past = sum(count for name, count in tally.counts.items() if name.startswith("past"))
    assert 3 * past >= tally.mutants
