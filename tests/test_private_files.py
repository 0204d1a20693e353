"""Files of one user, whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.artefact.private_files import (
    default_folder,
    locked,
    locked_file,
    read_private,
    write_private,
)
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

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
        "from discreet.artefact.private_files import locked\n"
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


@POSIX
def test_a_link_is_never_replaced_and_one_lock_is_for_all_names(tmp_path: Path) -> None:
    """The file by its name, by a link, and by a link to its folder."""
    (tmp_path / "true").mkdir()
    true = tmp_path / "true" / "state.json"
    (tmp_path / "link").symlink_to(true)
    (tmp_path / "folder").symlink_to("true")
    names = [true, tmp_path / "link", tmp_path / "folder" / "state.json"]
    for turn, name in enumerate(names * 2):
        with locked_file(name, most=100) as file:
            assert file.data == (None if turn == 0 else b"x" * turn)
            file.replace(b"x" * (turn + 1))
    assert (tmp_path / "link").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "true"]
    assert sorted(path.name for path in true.parent.iterdir()) == [".state.json.lock", "state.json"]


ADDER = """
import sys
from pathlib import Path
from discreet.artefact.private_files import locked_file
for _ in range(int(sys.argv[2])):
    with locked_file(Path(sys.argv[1]), most=100) as file:
        file.replace(str(int(file.data or 0) + 1).encode())
"""


@POSIX
def test_processes_that_use_several_names_lose_no_change(tmp_path: Path) -> None:
    (tmp_path / "true").mkdir()
    (tmp_path / "link").symlink_to("true/state.json")
    (tmp_path / "folder").symlink_to("true")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ADDER, str(tmp_path / name), "30"],
            env=environment,
            stderr=subprocess.PIPE,
        )
        for name in ("true/state.json", "link", "folder/state.json")
    ]
    for process in started:
        assert process.communicate(timeout=120)[1] == b""
    assert (tmp_path / "true" / "state.json").read_bytes() == b"90"


@POSIX
def test_a_file_with_a_second_name_is_refused_under_both(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"x")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    for name in "ab":
        with (
            pytest.raises(InvalidProblemError, match="to have one name, .* got 2 hard links"),
            locked_file(tmp_path / name, most=10),
        ):
            pass


def turned(path: Path) -> None:
    path.unlink()
    path.symlink_to("other")


@POSIX
@pytest.mark.parametrize(
    ("change", "complaint"),
    {
        "another file": (lambda path: write_private(path, b"old"), "to stay the file"),
        "removed": (lambda path: path.unlink(), "to stay the file"),
        "linked": (lambda path: path.with_name("b").hardlink_to(path), "to have one name"),
        "a link now": (turned, "to stay the file"),
        "no lock": (lambda path: path.with_name(".a.lock").unlink(), "to stay the file"),
        "a new lock": (
            lambda path: write_private(path.with_name(".a.lock"), b""),
            "to stay the file",
        ),
        "no folder": (lambda path: path.parent.rename(path.parent.with_name("gone")), "to stay"),
    }.values(),
)
def test_a_file_that_is_exchanged_under_the_lock_is_not_replaced(
    tmp_path: Path, change: Callable[[Path], object], complaint: str
) -> None:
    folder = tmp_path / "folder"
    path = folder / "a"
    write_private(path, b"spent 2")
    with locked_file(path, most=100) as file:
        change(path)
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(InvalidProblemError, match=complaint):
            file.replace(b"spent 4")
    assert (path.read_bytes() if path.is_file() else None) == before


@POSIX
def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with locked_file(path, most=100) as file:
        assert file.data is None
        path.write_bytes(b"spent 2")
        with pytest.raises(InvalidProblemError, match="to stay the file"):
            file.replace(b"spent 0")
    assert path.read_bytes() == b"spent 2"


@POSIX
def test_a_link_that_is_turned_under_the_lock_is_not_followed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_private(tmp_path / name, name.encode())
    link = tmp_path / "link"
    link.symlink_to("a")
    with locked_file(link, most=10) as file:
        link.unlink()
        link.symlink_to("b")
        with pytest.raises(InvalidProblemError, match="to stay the file"):
            file.replace(b"new")
    assert (tmp_path / "a").read_bytes() == b"a"


@POSIX
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "round").symlink_to("round")
    for path in (tmp_path / "pipe", tmp_path, Path(os.devnull), tmp_path / "round", Path("/")):
        with pytest.raises(InvalidProblemError, match="file: expected"), locked_file(path, most=10):
            pass


def test_names_that_no_file_can_have_are_refused_in_a_sentence(tmp_path: Path) -> None:
    for name in ("x" * 5000, "y/" * 3000 + "a", "nul\0"):
        with (
            pytest.raises(InvalidProblemError, match="file: expected") as refused,
            locked_file(tmp_path / name, most=10) as file,
        ):
            file.replace(b"x")
        assert len(str(refused.value)) < 400


def test_a_lock_that_is_removed_each_time_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "discreet.artefact.private_files.lock", lambda _: (tmp_path / ".a.lock").unlink()
    )
    with pytest.raises(InvalidProblemError, match="a lock that stays"), locked(tmp_path / "a"):
        pass


def test_who_waited_for_a_lock_that_was_removed_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[int] = []

    def once(handle: int) -> None:
        if not removed:
            (tmp_path / ".a.lock").unlink()
        removed.append(handle)

    monkeypatch.setattr("discreet.artefact.private_files.lock", once)
    with locked(tmp_path / "a") as has_lock:
        assert has_lock()
        assert len(removed) == 2


@pytest.mark.parametrize("home", ["here", None])
def test_without_a_home_there_is_no_ledger_of_whatever_folder_one_is_in(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)

    def nowhere() -> Path:
        if home is None:
            raise RuntimeError
        return Path(home)

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(InvalidProblemError, match="--state: expected a name here, or HOME"):
        default_folder("state")
