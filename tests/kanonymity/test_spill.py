"""Folders of private rows on their way: nothing is left of them, however a run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from discreet.artefact._spill import PREFIX, remove_left_behind, spill_room
from discreet.cli import streaming

ROOT = Path(__file__).parents[2]
RUN = """
import sys, time
from discreet.artefact import _streams

def hold(files, target):
    print("rows are on the disk", flush=True)
    time.sleep(60)

_streams._join = hold
from discreet.cli import main
main()
"""


def test_a_room_is_for_its_owner_and_is_removed(tmp_path: Path) -> None:
    with spill_room(tmp_path) as room:
        assert room.parent == tmp_path
        assert room.stat().st_mode & 0o077 == 0
        (room / "rows.parquet").write_text("private")
        # Another run leaves it alone: its lock is held.
        assert remove_left_behind(tmp_path) == 0
        assert (room / "rows.parquet").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_room_is_removed_when_something_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError), spill_room(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_lock_or_is_no_folder_of_ours_stays(tmp_path: Path) -> None:
    young = tmp_path / f"{PREFIX}young"
    young.mkdir()
    (tmp_path / f"{PREFIX}file").write_text("a file")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    assert remove_left_behind(tmp_path) == 0
    assert young.exists()
    assert elsewhere.exists()


def test_rooms_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / f"{PREFIX}theirs"
    room.mkdir()
    (room / "lock").touch()
    monkeypatch.setattr(os, "getuid", lambda: -5)
    assert remove_left_behind(tmp_path) == 0
    monkeypatch.undo()
    assert remove_left_behind(tmp_path) == 1


def test_without_locks_nothing_is_taken_for_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with spill_room(tmp_path) as room:
        assert remove_left_behind(tmp_path) == 0
        assert room.exists()


def test_a_signal_to_end_is_heard_in_the_main_thread_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended, streaming._removing():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    heard = []

    def other() -> None:
        with streaming._removing():
            heard.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert heard == [before]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_run_that_is_ended_leaves_nothing_and_one_that_is_killed_is_cleared_by_the_next(
    tmp_path: Path,
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("age\n" + "\n".join(str(20 + i % 9) for i in range(40)))
    where = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [
        "anonymize",
        source,
        "-k",
        2,
        "--quasi",
        "age",
        "--stream",
        "-o",
        tmp_path / "out.csv",
    ]

    def stopped_by(number: int) -> int:
        with subprocess.Popen(
            [sys.executable, "-c", RUN, *map(str, command)],
            env=where,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"rows are on the disk\n"
            assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
            process.send_signal(number)
            return process.wait(30)

    assert stopped_by(signal.SIGTERM) == 128 + signal.SIGTERM
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}
    assert stopped_by(signal.SIGKILL) == -signal.SIGKILL
    assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
    assert remove_left_behind(tmp_path) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}
