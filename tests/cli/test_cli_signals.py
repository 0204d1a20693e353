"""SIGTERM and a closed terminal end commands as Ctrl-C does: what was found is written, nothing private is left."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from cli.commands import say
from cli.test_cli_process import start
from discreet.cli import signals
from discreet.cli.app import run
from discreet.cli.output import Status
from discreet.tables.rooms import PREFIX
from warm import WHERE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

ENDS = [signal.SIGTERM, signal.SIGHUP]
ANONYMIZE = ["anonymize", "rows.csv", "-k", "2", "--quasi", "age"]

HOLD = """
import os, sys, time
from discreet.cli import main

def hold(number):
    print("on its way", flush=True)
    time.sleep(60)

os.fsync = hold
main()
"""
"""Waits where the first output is written, before it is in place."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [20 + i % 9 for i in range(40)]}).write_csv("rows.csv")


def held(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a command, and give it where it says that it waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=WHERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "on its way\n"
    return process


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_run_that_is_ended_while_it_writes_leaves_nothing(number: signal.Signals) -> None:
    """Twice, as a shell that is closed does: the second must not break off what the first removes."""
    with held(HOLD, *ANONYMIZE, "-o", "out.csv", "--json") as process:
        (room,) = Path.cwd().glob(f"{PREFIX}*")
        assert rights(room) == 0o700
        assert {rights(path) for path in room.iterdir()} == {0o600}
        process.send_signal(number)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == Status.INTERRUPTED
    assert out == ""
    # Before it stands that the run is stopping.
    assert json.loads(err.splitlines()[-1])["error"]["status"] == Status.INTERRUPTED
    assert [path.name for path in Path.cwd().iterdir()] == ["rows.csv"]


def test_what_a_killed_run_left_is_removed_by_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    with held(HOLD, *ANONYMIZE, "-o", "out.csv") as process:
        process.kill()
    assert len(list(Path.cwd().glob(f"{PREFIX}*"))) == 1
    assert say(capsys, "risk", "rows.csv", "--quasi", "age", "--report", "risk.html").status == 0
    assert {path.name for path in Path.cwd().iterdir()} == {"rows.csv", "risk.html"}


PRESS = """
import contextlib, os, signal
from discreet.cli import design, main

@contextlib.contextmanager
def press(stream, *, quiet, **_):
    yield lambda step: os.kill(os.getpid(), signal.{name})

design.progress = press
{before}
main()
"""
DESIGN = (
    "design --grid 6x6 --cell 1 --unit km --epsilon 1 --radius 2 --gap 1e-9 -o c.channel --json"
)


@pytest.mark.parametrize(
    ("name", "before"),
    [
        pytest.param("SIGTERM", "", marks=pytest.mark.slow),
        ("SIGHUP", ""),
        # As a script does for what it runs in the background.
        ("SIGTERM", "signal.signal(signal.SIGINT, signal.SIG_IGN)"),
    ],
)
def test_the_best_verified_design_is_written(name: str, before: str) -> None:
    press = PRESS.format(name=name, before=before)
    done = start(*DESIGN.split(), code=(sys.executable, "-c", press))
    assert done.returncode == Status.INTERRUPTED, done.stderr
    assert json.loads(done.stdout)["interrupted"] is True
    assert run(["verify", "c.channel", "--json"]) == Status.DONE


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """``nohup discreet design ...`` goes on when the terminal is closed."""
    press = PRESS.format(name="SIGHUP", before="signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    line = DESIGN.replace("1e-9", "0.5")
    done = start(*line.split(), code=(sys.executable, "-c", press))
    assert done.returncode == Status.DONE, done.stderr
    assert json.loads(done.stdout)["interrupted"] is False


def test_handlers_are_put_back_and_only_the_main_thread_has_some() -> None:
    numbers = [signal.SIGINT, *ENDS]
    before = [signal.getsignal(number) for number in numbers]
    with signals.ended_in_order():
        assert [signal.getsignal(number) for number in ENDS] != before[1:]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert [signal.getsignal(number) for number in numbers] == before
    heard: list[object] = []

    def other() -> None:
        with signals.ended_in_order():
            heard.extend(signal.getsignal(number) for number in numbers)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert heard == before


def test_a_process_that_ends_keeps_its_status_whatever_else_is_sent() -> None:
    """Python takes its time to end, with the system's handlers."""
    before = [signal.getsignal(number) for number in ENDS]
    with signals.ended_in_order(to_the_end=True):
        pass
    assert [signal.getsignal(number) for number in ENDS] == before
    try:
        with pytest.raises(KeyboardInterrupt), signals.ended_in_order(to_the_end=True):
            os.kill(os.getpid(), signal.SIGTERM)
        assert [signal.getsignal(number) for number in ENDS] == [signal.SIG_IGN] * 2
    finally:
        for number, was in zip(ENDS, before, strict=True):
            signal.signal(number, was)


def test_only_the_first_signal_counts_until_what_it_raised_was_lost() -> None:
    heard = []
    with signals.ended_in_order():
        for number in (signal.SIGTERM, *ENDS):
            try:
                os.kill(os.getpid(), number)
            except KeyboardInterrupt:
                heard.append(number)
        assert heard == [signal.SIGTERM]
        with pytest.raises(KeyboardInterrupt):
            signals.press_again()
        former = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with pytest.raises(KeyboardInterrupt):
                signals.press_again()
        finally:
            signal.signal(signal.SIGINT, former)


@pytest.mark.parametrize(
    ("command", "private"),
    [
        (["risk", "rows.csv", "--quasi", "age"], True),
        ([*ANONYMIZE, "-o", "out.csv"], True),
        (["verify", "out.csv", "-k", "30", "--against", "rows.csv"], True),
        (["verify", "out.csv"], False),
        (["attack", "out.csv", "--against", "rows.csv"], True),
        (["design", "--grid", "2x3", "--unit", "km", "--epsilon", "1", "-q"], False),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_pages_with_private_numbers_are_for_their_owner_alone(
    capsys: pytest.CaptureFixture[str], command: list[str], *, private: bool
) -> None:
    """Also where they replace a page that others could read; other pages keep its permissions."""
    say(capsys, *ANONYMIZE, "-o", "out.csv")
    page = Path("page.html")
    page.write_text("before", encoding="utf-8")
    page.chmod(0o644)
    said = say(capsys, *command, "--report", page)
    assert said.status in (Status.DONE, Status.CHECK_FAILED), said.err
    assert rights(page) == (0o600 if private else 0o644)
    mask = os.umask(0)
    os.umask(mask)
    assert rights(Path("out.csv")) == 0o666 & ~mask
