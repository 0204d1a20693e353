"""Folders of files on their way: nothing is left of them, however a run ends."""

from __future__ import annotations

import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.problem import Numeric
from discreet.streaming import anonymize as large
from discreet.streaming import anonymize_files
from discreet.tables import writing
from discreet.tables.reading import read_rows
from discreet.tables.rooms import PREFIX, private_room, remove_left_behind

ROOT = Path(__file__).parents[1]
TWO = KAnonymity(2, ("age",))
RUN = """
import sys, time
from discreet.streaming import anonymize as large

def hold(files, target, columns):
    print("rows are on the disk", flush=True)
    time.sleep(60)

large.join_files = hold
from discreet.cli import main
main()
"""


def test_a_room_is_for_its_owner_and_is_removed(tmp_path: Path) -> None:
    with private_room(tmp_path) as room:
        assert room.parent == tmp_path
        assert room.stat().st_mode & 0o077 == 0
        (room / "rows.parquet").write_text("private")
        # Another run leaves it alone: its lock is held.
        assert remove_left_behind(tmp_path) == 0
        assert (room / "rows.parquet").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_room_is_removed_when_something_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError), private_room(tmp_path):
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
    monkeypatch.setattr(os, "geteuid", lambda: -5)
    assert remove_left_behind(tmp_path) == 0
    monkeypatch.undo()
    assert remove_left_behind(tmp_path) == 1


def test_without_locks_nothing_is_taken_for_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.core.system.POSIX", False)
    with private_room(tmp_path) as room:
        assert remove_left_behind(tmp_path) == 0
        assert room.exists()


def test_a_room_whose_run_died_before_it_had_a_lock_is_removed_a_day_later(tmp_path: Path) -> None:
    yesterday = time.time() - 25 * 3600
    for name, inside in (("empty", ()), ("begun", ("lock.new",)), ("other", ("rows",))):
        room = tmp_path / f"{PREFIX}{name}"
        room.mkdir()
        for one in inside:
            (room / one).touch()
    assert remove_left_behind(tmp_path) == 0
    for room in tmp_path.iterdir():
        os.utime(room, (yesterday, yesterday))
    assert remove_left_behind(tmp_path) == 2
    # Not ours to judge: no run of ours puts a file there before the lock.
    assert [path.name for path in tmp_path.iterdir()] == [f"{PREFIX}other"]


def test_what_is_written_in_a_room_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Rows on their way: the folder keeps others out, and so does each file."""
    source = tmp_path / "in.csv"
    source.write_text("age\n" + "\n".join(str(20 + i % 9) for i in range(40)))
    modes: list[int] = []

    join = writing.join_files

    def look(files: Sequence[Path], target: Path, columns: Sequence[str]) -> None:
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in target.parent.iterdir())
        join(files, target, columns)
        modes.append(stat.S_IMODE(target.stat().st_mode))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "join_files", look)
        anonymize_files(source, tmp_path / "out.parquet", TWO, attributes=[Numeric("age")])
    assert len(modes) > 2
    assert set(modes) == {0o600}
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.parquet").stat().st_mode) == 0o666 & ~mask


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_run_that_is_ended_leaves_nothing_and_one_that_is_killed_is_cleared_by_the_next(
    tmp_path: Path,
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("age\n" + "\n".join(str(20 + i % 9) for i in range(40)))
    where = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    line = "anonymize -k 2 --quasi age --memory 1GB -o"
    command = [*line.split(), tmp_path / "out.csv", source]

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

    assert stopped_by(signal.SIGTERM) == 130
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}
    assert stopped_by(signal.SIGKILL) == -signal.SIGKILL
    assert len(list(tmp_path.glob(f"{PREFIX}*"))) == 1
    assert remove_left_behind(tmp_path) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"in.csv"}


COPY = """
import sys, time
from discreet.tables.options import FileRequest, ReadingOptions
from discreet.tables.sources import plain_file

with plain_file(sys.argv[1], FileRequest("table", "table", ReadingOptions(), 10**6, "less")):
    print("the copy is on the disk", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_a_private_copy_of_a_killed_reader_is_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, temporary = tmp_path / "people.csv.gz", tmp_path / "temporary"
    temporary.mkdir()
    source.write_bytes(gzip.compress(b"name\nAda\n"))
    where = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", COPY, str(source)], env=where, stdout=subprocess.PIPE
    ) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        reader.kill()
    left = [path.name for path in temporary.glob(f"{PREFIX}*/*")]
    assert "table.csv" in left
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert read_rows(str(source), "table").rows() == [("Ada",)]
    assert list(temporary.iterdir()) == []
