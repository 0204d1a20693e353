"""What differs between systems, here as it is and as it would be without owners, rights and locks of whole files."""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from discreet.core import system
from discreet.core.system import (
    creation_rights,
    is_foreign,
    lock,
    may_be_written_by_others,
    return_freed_blocks,
    sync_folder,
    try_lock,
)

HELD_AFTER = """
import sys
from pathlib import Path
from discreet.core.system import return_freed_blocks
if sys.argv[1] == "returned":
    return_freed_blocks()
def held():
    return int(Path("/proc/self/statm").read_text().split()[1])
bytearray(31 << 20)
before = held()
blocks = [(bytearray(16 << 20), bytearray(100_000)) for _ in range(8)]
for block, _ in blocks:
    block[::4096] = bytes(len(range(0, len(block), 4096)))
pins = [pin for _, pin in blocks]
del blocks, block, _
print(held() - before)
"""
"""Pages that are still held after eight blocks of 16 MiB, each below a small one that stays, were freed."""

SOURCES = Path(__file__).parents[2] / "src" / "discreet"
posix = pytest.mark.skipif(not system.POSIX, reason="owners, rights and locks are those of POSIX")


def status(*, mode: int, user: int) -> os.stat_result:
    """Make what a system says of a file."""
    return os.stat_result((stat.S_IFREG | mode, 1, 1, 1, user, 0, 0, 0, 0, 0))


@posix
@pytest.mark.parametrize(
    ("mode", "others"), [(0o600, False), (0o644, False), (0o620, True), (0o602, True)]
)
def test_rights_are_those_of_group_and_others(mode: int, others: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert may_be_written_by_others(status(mode=mode, user=os.geteuid())) is others


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="an option of glibc")
def test_freed_blocks_are_returned() -> None:
    pages = {}
    for how in ("kept", "returned"):
        ran = subprocess.run(
            [sys.executable, "-c", HELD_AFTER, how], capture_output=True, text=True, check=True
        )
        pages[how] = int(ran.stdout)
    assert pages["returned"] < 1024 < pages["kept"]


def test_a_library_without_the_option_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    glibc = SimpleNamespace(mallopt=lambda *option: asked.append(option))
    for library in (glibc, SimpleNamespace()):
        monkeypatch.setattr("ctypes.CDLL", lambda _, library=library: library)
        return_freed_blocks(1 << 20)
    monkeypatch.setattr(system, "POSIX", False)
    return_freed_blocks()
    assert asked == [(-3, 1 << 20)]


@posix
def test_a_file_of_another_user_is_foreign() -> None:
    assert is_foreign(status(mode=0o600, user=os.geteuid() + 1))
    assert not is_foreign(status(mode=0o600, user=os.geteuid()))


def test_without_owners_and_rights_the_folder_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "POSIX", False)
    assert not is_foreign(status(mode=0o666, user=12345))
    assert not may_be_written_by_others(status(mode=0o666, user=12345))
    with (tmp_path / "lock").open("w") as file:
        # Nobody can tell, so nothing that a lock would free is removed.
        assert not try_lock(file.fileno())
    sync_folder(str(tmp_path / "is not looked at"))


@posix
def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open() as two:
        assert try_lock(one.fileno())
        assert not try_lock(two.fileno())
        one.close()
        assert try_lock(two.fileno())


@posix
def test_to_wait_for_a_lock_is_to_have_it(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open() as two:
        lock(one.fileno())
        assert not try_lock(two.fileno())


def test_without_locks_of_files_a_byte_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[int, int, int]] = []
    module = SimpleNamespace(LK_LOCK=1, locking=lambda *given: called.append(given))
    monkeypatch.setattr(system, "POSIX", False)
    monkeypatch.setitem(sys.modules, "msvcrt", module)
    lock(7)
    assert called == [(7, 1, 1)]


@posix
def test_new_files_get_the_rights_that_are_said(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("", encoding="utf-8")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == creation_rights()
    sync_folder(str(tmp_path))


def test_nothing_else_looks_at_the_system() -> None:
    pattern = re.compile(r"sys\.platform|os\.name\b|\bfcntl\b|\bmsvcrt\b|gete?uid|st_uid")
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"core/system.py"}
