"""Accidents of a ledger in real processes: one sentence, the documented status, and no charge that is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import warm
from discreet.core.guarantee import PureDP
from discreet.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = [
    pytest.mark.jit,
    pytest.mark.skipif(sys.platform != "linux", reason="file systems and users of Linux"),
]

COMMAND = "from discreet.cli import main; main()"
_CHOOSE = (
    "select --coverage edges.csv --candidates candidates.csv --matroid uniform:1 --epsilon 1 "
    "--neighbors add-remove-one --dataset d -o out.choice --ledger"
)
CHOOSE = _CHOOSE.split()

EARLIER = """
import datetime
class Earlier(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2001, 1, 1, tzinfo=tz)
datetime.datetime = Earlier
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the inputs of a choice, and an account without rights can enter it."""
    (tmp_path / "edges.csv").write_text("client,candidate\n1,n\n2,s\n", encoding="utf-8")
    (tmp_path / "candidates.csv").write_text("candidate\nn\ns\n", encoding="utf-8")
    return tmp_path


def made(folder: Path, name: str = "l.db") -> Path:
    Ledger.create(folder / name, "d", PureDP(9, "add-remove-one"))
    return folder / name


def run(
    folder: Path,
    *arguments: str,
    code: str = COMMAND,
    before: Sequence[str] = (),
    umask: int = -1,
    **places: str | None,
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, as a fork where that is the same; a place of `None` is not set."""
    if code == COMMAND and not before and not places:
        masked = f"import os; os.umask({umask}); {COMMAND}" if umask >= 0 else COMMAND
        return warm.run(*arguments, code=masked, cwd=folder)
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1", **places}
    return subprocess.run(
        [*before, sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={name: value for name, value in given.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
        umask=umask,
        timeout=300,
    )


def sentence(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the one line of an error; a progress line may stand before it."""
    lines = [line for line in ended.stderr.splitlines() if " is running" not in line]
    assert len(lines) == 1, ended.stderr
    assert "Traceback" not in lines[0]
    assert ended.stdout == ""
    return lines[0]


def spent(ledger: Path) -> int:
    return int(Ledger(ledger).account("d").spent[0])


def mount(command: str, *arguments: str) -> int:
    """Run a command of the system; return its status, or 1 if there is none of this name."""
    path = shutil.which(command)
    if path is None:
        return 1
    return subprocess.run([path, *arguments], check=False, capture_output=True).returncode


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 4 MiB; only the superuser can."""
    place = tmp_path / "disk"
    place.mkdir()
    if mount("mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(place)):
        pytest.skip("no file system can be mounted")
    yield place
    assert mount("umount", "-l", str(place)) == 0


def fill_up(disk: Path) -> None:
    """Write until no byte more is taken."""
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_a_full_disk_under_the_ledger_refuses_and_charges_nothing(folder: Path, disk: Path) -> None:
    ledger = made(disk)
    fill_up(disk)
    ended = run(folder, *CHOOSE, str(ledger))
    assert ended.returncode == 5
    assert "no room for the result beside the ledger" in sentence(ended)
    assert not (folder / "out.choice").exists()
    (disk / "filler").unlink()
    assert (spent(ledger), [path.name for path in disk.iterdir()]) == (0, ["l.db"])
    assert run(folder, *CHOOSE, str(ledger)).returncode == 0
    assert spent(ledger) == 1


def test_a_full_disk_under_the_output_refuses_and_charges_nothing(folder: Path, disk: Path) -> None:
    ledger = made(folder)
    fill_up(disk)
    words = [str(disk / "out.choice") if word == "out.choice" else word for word in CHOOSE]
    ended = run(folder, *words, str(ledger))
    assert ended.returncode == 2
    assert "on a disk with room for it" in sentence(ended)
    assert spent(ledger) == 0
    assert [path.name for path in disk.iterdir()] == ["filler"]


def test_a_read_only_disk_refuses_and_charges_nothing(folder: Path, disk: Path) -> None:
    ledger = made(disk)
    assert mount("mount", "-o", "remount,ro", str(disk)) == 0
    ended = run(folder, *CHOOSE, str(ledger))
    assert ended.returncode == 5
    assert "Read-only file system; nothing was charged" in sentence(ended)
    assert spent(ledger) == 0
    assert not (folder / "out.choice").exists()


def test_a_limit_of_the_size_of_files_refuses_and_charges_nothing(folder: Path) -> None:
    """What `ulimit -f` allows is too little for the result; the signal that comes with it ends nothing."""
    ledger = made(folder)
    ended = run(folder, *CHOOSE, str(ledger), before=["prlimit", "--fsize=20480"])
    assert ended.returncode in {2, 5}
    assert "File too large" in sentence(ended)
    assert spent(ledger) == 0
    assert not (folder / "out.choice").exists()


HOLDER = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
db.execute("PRAGMA user_version = 7")
db.execute("PRAGMA cache_flush")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lock_and_a_journal_of_a_dead_process_hold_nobody_up(folder: Path) -> None:
    ledger = made(folder)
    assert run(folder, str(ledger), code=HOLDER).returncode == -9
    assert run(folder, *CHOOSE, str(ledger)).returncode == 0
    assert spent(ledger) == 1


def test_a_clock_that_went_back_refuses_and_charges_nothing(folder: Path) -> None:
    ledger = made(folder)
    ended = run(folder, *CHOOSE, str(ledger), code=EARLIER + COMMAND)
    assert ended.returncode == 2
    assert "set the clock of this machine, got 2001-01-01T00:00:00Z" in sentence(ended)
    assert spent(ledger) == 0
    assert not (folder / "out.choice").exists()
    assert [path.name for path in folder.iterdir() if "l.db" in path.name] == ["l.db"]


def test_no_umask_opens_the_ledger_to_others(folder: Path) -> None:
    """With umask 000 a ledger and a spool are made for their owner alone, and a charge goes through."""
    grant = "budget create l.db --dataset d --epsilon 9 --neighbors add-remove-one"
    assert run(folder, *grant.split(), umask=0).returncode == 0
    ledger = folder / "l.db"
    assert ledger.stat().st_mode & 0o777 == 0o600
    assert run(folder, *CHOOSE, str(ledger), umask=0).returncode == 0
    assert (spent(ledger), ledger.stat().st_mode & 0o777) == (1, 0o600)
    ledger.chmod(0o666)
    ended = run(folder, *CHOOSE, str(ledger), umask=0)
    assert ended.returncode == 2
    assert "chmod 600 it" in sentence(ended)
    ledger.chmod(0o600)
    assert spent(ledger) == 1


def test_an_account_without_a_home_is_charged_for_what_it_gets(folder: Path) -> None:
    ledger = made(folder)
    missing: dict[str, Any] = {
        "HOME": "/nonexistent",
        "XDG_CACHE_HOME": None,
        "NUMBA_CACHE_DIR": None,
    }
    ended = run(folder, *CHOOSE, str(ledger), "--json", **missing)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["charge"].startswith("release ")
    assert (folder / "out.choice").exists()
    assert spent(ledger) == 1
