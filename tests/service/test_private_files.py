"""Files of one user, whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.service.private_files import default_folder, locked, read_private, write_private

ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name == "nt", reason="rights as POSIX has them")


@POSIX
def test_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    before = os.umask(0)
    try:
        write_private(path, b"one")
        write_private(path, b"two")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert read_private(path, most=3) == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["state.json"]


def test_no_file_is_nothing(tmp_path: Path) -> None:
    assert read_private(tmp_path / "missing", most=10) is None


@POSIX
def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_private(path, b"x")
    path.chmod(0o620)
    with pytest.raises(InvalidProblemError, match="writable by nobody else"):
        read_private(path, most=10)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"four")
    with pytest.raises(InvalidProblemError, match="a of at most 3 bytes"):
        read_private(tmp_path / "a", most=3)


def test_a_folder_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(InvalidProblemError, match="to be readable"):
        read_private(tmp_path / "a", most=3)
    with pytest.raises(InvalidProblemError, match="can be written"):
        write_private(tmp_path / "a", b"x")
    (tmp_path / "b").write_bytes(b"")
    with pytest.raises(InvalidProblemError, match="can be written"):
        write_private(tmp_path / "b" / "c", b"x")
    with pytest.raises(InvalidProblemError, match="can be written"), locked(tmp_path / "b" / "c"):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    write_private(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(InvalidProblemError, match="No space left"):
            write_private(path, b"new")
    assert read_private(path, most=10) == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_the_folders_are_those_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_folder("state") == tmp_path / "discreet"
    # A relative one is to be ignored, says the specification.
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder("cache") == tmp_path / ".cache" / "discreet"


def test_a_lock_falls_when_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from discreet.service.private_files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=environment
    )
    waiter = None
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        waiter = subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env=environment
        )
        with pytest.raises(subprocess.TimeoutExpired):
            waiter.wait(0.7)
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
        assert waiter.stdout is not None
        assert waiter.stdout.readline().strip() == b"held"
    finally:
        for process in (holder, waiter):
            if process is not None:
                process.kill()
                process.wait(10)
                assert process.stdout is not None
                process.stdout.close()
