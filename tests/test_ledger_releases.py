"""A release in the ledger: charged under an id, freed only before reading began, kept until its outputs are there."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.ledger import Ledger
from discreet.ledger import file as ledger_file
from ledgers import ONE, finish, make, names_in, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STATED = {"command": "counts", "version": "0", "parameters": {"method": "m"}}
ID = "0123456789abcdef0123"


def opened(folder: Path, release_id: str = ID) -> Ledger:
    ledger = make(folder, "10")
    left = ledger.open_release("census", ONE, release_id=release_id, stated=STATED, room=4096)
    assert left == (Fraction(9),)
    return ledger


def spent(ledger: Ledger) -> Fraction:
    return ledger.account("census").spent[0]


def state(ledger: Ledger) -> str:
    return ledger.release(ID)[1].state


def test_a_release_goes_from_reserved_to_done_and_keeps_its_trail(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    assert state(ledger) == "reserved"
    ledger.begin_reading(ID)
    assert state(ledger) == "reading"
    ledger.spool(ID, b"counts")
    (spool,) = tmp_path.glob("*.spool")
    assert stat.S_IMODE(spool.stat().st_mode) == 0o600
    assert ledger.spooled(ID) == b"counts"
    ledger.complete(ID, {"out.csv": "00"})
    dataset, charge = ledger.release(ID)
    assert (dataset, charge.state, charge.outputs) == ("census", "done", {"out.csv": "00"})
    assert (charge.command, charge.version) == ("counts", "0")
    assert charge.parameters == {"method": "m"}
    assert names_in(tmp_path) == ["ledger.db"]
    assert spent(ledger) == 1


def test_a_charge_is_freed_before_reading_and_never_after(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    assert ledger.free(ID)
    assert state(ledger) == "void"
    assert spent(ledger) == 0
    assert not ledger.free(ID)
    with pytest.raises(InvalidProblemError, match="that nobody freed; nothing was read"):
        ledger.begin_reading(ID)
    assert names_in(tmp_path) == ["ledger.db"]
    other = ID[::-1]
    ledger.open_release("census", ONE, release_id=other, stated=STATED, room=0)
    ledger.begin_reading(other)
    assert not ledger.free(other)
    assert spent(ledger) == 1


def test_freeing_and_reading_exclude_each_other_however_they_race(tmp_path: Path) -> None:
    """Of a reader and a freer one wins, in every one of fifty races."""
    ledger = make(tmp_path, "100")
    ids = [f"{number:020x}" for number in range(50)]

    def read(one: str) -> bool:
        try:
            Ledger(tmp_path / "ledger.db").begin_reading(one)
        except InvalidProblemError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        for one in ids:
            ledger.open_release("census", ONE, release_id=one, stated=STATED, room=0)
            began = pool.submit(read, one)
            freed = pool.submit(Ledger(tmp_path / "ledger.db").free, one)
            assert began.result() != freed.result()
    read_from = sum(one.state == "reading" for one in ledger.history("census"))
    assert spent(ledger) == read_from


def test_a_freed_charge_can_be_spent_again_and_no_more(tmp_path: Path) -> None:
    ledger = make(tmp_path, "1")
    ledger.open_release("census", ONE, release_id=ID, stated=STATED, room=0)
    with pytest.raises(BudgetError):
        ledger.reserve("census", ONE)
    assert ledger.free(ID)
    ledger.reserve("census", ONE)
    with pytest.raises(BudgetError):
        ledger.reserve("census", ONE)


def test_a_release_that_is_given_up_stays_charged(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.begin_reading(ID)
    ledger.spool(ID, b"counts")
    ledger.forget(ID)
    assert (state(ledger), ledger.spooled(ID)) == ("forgotten", None)
    assert spent(ledger) == 1
    assert names_in(tmp_path) == ["ledger.db"]


@pytest.mark.parametrize("end", [Ledger.forget, lambda ledger, one: ledger.complete(one, {})])
def test_the_end_of_a_release_that_read_nothing_is_refused_and_its_spool_stays(
    tmp_path: Path, end: Callable[[Ledger, str], None]
) -> None:
    ledger = opened(tmp_path)
    ledger.spool(ID, b"counts")
    with pytest.raises(InvalidProblemError, match="one that began to read, got a reserved release"):
        end(ledger, ID)
    assert (state(ledger), ledger.spooled(ID)) == ("reserved", b"counts")
    with pytest.raises(InvalidProblemError):
        end(ledger, "0" * 20)
    ledger.begin_reading(ID)
    ledger.complete(ID, {"out.csv": "00"})
    end(ledger, ID)
    assert ledger.release(ID)[1].outputs == {"out.csv": "00"}


def test_a_damaged_spool_is_not_recovered(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.spool(ID, b"counts")
    (spool,) = tmp_path.glob("*.spool")
    spool.write_bytes(spool.read_bytes()[:-1])
    with pytest.raises(InvalidProblemError, match="a whole spool, got a damaged one"):
        ledger.spooled(ID)


def test_an_id_that_is_none_names_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="20 hexadecimal digits"):
        make(tmp_path).spooled("../../etc/passwd")


def test_a_plain_charge_has_no_id_and_reads_unknown(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    ledger.reserve("census", ONE)
    (charge,) = ledger.history("census")
    about = (charge.release_id, charge.state, charge.command, charge.version)
    assert about == ("unknown",) * 4


def test_a_clock_that_went_back_refuses_the_charge_and_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(tmp_path)
    noted = ledger.release(ID)[1].charged
    monkeypatch.setattr("discreet.ledger.book._now", lambda: "2001-01-01T00:00:00Z")
    with pytest.raises(InvalidProblemError, match="clock: expected a time after the last line"):
        ledger.reserve("census", ONE)
    ledger.begin_reading(ID)
    ledger.complete(ID, {})
    assert len(ledger.history("census")) == 1
    assert ledger.release(ID)[1].charged == noted


def test_a_disk_without_room_for_the_spool_refuses_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = make(tmp_path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(BudgetError, match="No space left on device; nothing was charged"):
        ledger.open_release("census", ONE, release_id=ID, stated=STATED, room=4096)
    assert ledger.history("census") == ()
    assert names_in(tmp_path) == ["ledger.db"]


KILLED = """
import os, signal, sys
from pathlib import Path
from discreet import PureDP
from discreet.ledger import Ledger, spool

kill = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
ledger = Ledger(Path(sys.argv[1]))
where, release_id = sys.argv[2], sys.argv[3]
one = PureDP(1, neighbors="add-remove-person")
if where == "before the charge":
    true = spool.prepare
    spool.prepare = lambda *given: (true(*given), kill())
ledger.open_release("census", one, release_id=release_id, stated={}, room=4096)
spool.remove = kill
if where == "freed":
    ledger.free(release_id)
ledger.begin_reading(release_id)
if where == "reading":
    kill()
ledger.spool(release_id, b"counts")
if where == "spooled":
    kill()
ledger.complete(release_id, {})
"""


@pytest.mark.parametrize(
    ("where", "suffix", "kept"),
    [
        ("before the charge", "unfinished", False),
        ("freed", "unfinished", False),
        ("done", "spool", False),
        ("reading", "unfinished", True),
        ("spooled", "spool", True),
    ],
)
def test_the_next_release_removes_what_a_killed_one_left(
    tmp_path: Path, where: str, suffix: str, *, kept: bool
) -> None:
    """Files stay while their release is open: it may run, or have a result."""
    ledger, killed = make(tmp_path), "f" * 20
    process = start(KILLED, tmp_path / "ledger.db", where, killed)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    rest = f"ledger.db.{killed}.{suffix}"
    # A transaction that was cut short left its journal.
    assert set(names_in(tmp_path)) - {"ledger.db-journal"} == {"ledger.db", rest}
    other = tmp_path / f"other.db.{killed}.unfinished"
    other.touch()
    ledger.open_release("census", ONE, release_id=ID, stated=STATED, room=4096)
    rests = {rest} if kept else set()
    assert set(names_in(tmp_path)) == {
        "ledger.db",
        f"ledger.db.{ID}.unfinished",
        other.name,
        *rests,
    }


def test_the_spool_of_a_release_that_an_old_copy_lacks_stays(tmp_path: Path) -> None:
    """It may be the only result of a charge that was made."""
    ledger = make(tmp_path)
    rest = tmp_path / f"ledger.db.{'0' * 20}.spool"
    rest.touch()
    ledger.open_release("census", ONE, release_id=ID, stated=STATED, room=0)
    ledger.begin_reading(ID)
    ledger.complete(ID, {})
    assert names_in(tmp_path) == ["ledger.db", rest.name]


def test_a_result_is_kept_though_somebody_cleared_the_folder(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    ledger.begin_reading(ID)
    (room,) = tmp_path.glob("*.unfinished")
    room.unlink()
    ledger.spool(ID, b"counts")
    assert ledger.spooled(ID) == b"counts"
    (kept,) = tmp_path.glob("*.spool")
    assert kept.stat().st_mode & 0o777 == 0o600


def test_an_error_while_lines_are_read_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler of an error frees the charge while the error still holds the frames that it came through."""
    ledger, armed, true = opened(tmp_path), [True], sqlite3.connect

    class Failing(sqlite3.Connection):
        """A connection whose schema can't be read, once."""

        def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
            cursor = super().execute(sql, *given)
            if sql.startswith("SELECT sql") and armed and armed.pop():
                # A function in C, whose frame keeps no cursor.
                cursor.row_factory = int  # type: ignore[assignment] # it fails
            return cursor

    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **named: true(*given, factory=Failing, **named)
    )
    monkeypatch.setattr(ledger_file, "_connect", partial(ledger_file._connect, lock_seconds=0.1))
    with pytest.raises(TypeError) as caught:
        ledger.begin_reading(ID)
    assert ledger.free(ID)
    assert (state(ledger), armed, caught.type) == ("void", [], TypeError)


HOLDER = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lock_of_a_dead_process_holds_nobody_up(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    out, _ = start(HOLDER, tmp_path / "ledger.db").communicate(timeout=60)
    assert out == "held\n"
    ledger.reserve("census", ONE)
    assert spent(ledger) == 1


SPENDER = """
import random, sys
from discreet import PureDP
from discreet.ledger import Ledger

ledger = Ledger(sys.argv[1])
STATED = {"command": "counts", "version": "0", "parameters": {}}
chance = random.Random(int(sys.argv[2]))
one = PureDP(1, neighbors="add-remove-person")
for number in range(4):
    name = f"{int(sys.argv[2]):010x}{number:010x}"
    ledger.open_release("census", one, release_id=name, stated=STATED, room=0)
    if chance.random() < 0.3:
        continue
    ledger.begin_reading(name)
    ledger.spool(name, b"x")
    if chance.random() < 0.5:
        ledger.complete(name, {"x": "00"})
"""


def test_sixteen_processes_charge_what_their_outputs_cost(tmp_path: Path) -> None:
    """Some break off before reading, some after the spool; once all are brought to their ends the sums agree."""
    ledger = make(tmp_path)
    writers = [start(SPENDER, tmp_path / "ledger.db", number) for number in range(16)]
    for writer in writers:
        finish(writer)
    history = ledger.history("census")
    assert len(history) == 64
    outputs = 0
    for charge in history:
        if charge.state == "reserved":
            assert ledger.free(charge.release_id)
            continue
        if charge.state == "reading":
            assert ledger.spooled(charge.release_id) == b"x"
            ledger.complete(charge.release_id, {"x": "00"})
        outputs += 1
    assert {"reserved", "reading", "done"} <= {charge.state for charge in history}
    assert spent(ledger) == outputs
    assert names_in(tmp_path) == ["ledger.db"]
