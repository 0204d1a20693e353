"""Ledgers that were damaged or edited, and those of earlier versions."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.core.guarantee import MetricDP, PureDP, Scope
from discreet.ledger import Ledger
from discreet.ledger.file import transaction
from discreet.ledger.lines import append, read, rewrite
from ledgers import PERSON, TWO, by_force, make, reckoned, start

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Scope("here", 9, Fraction(2))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM lines",
        "UPDATE lines SET guarantee = ''",
        "DELETE FROM salts",
        "UPDATE salts SET salt = ''",
    ],
)
def test_nothing_is_paid_back_by_mistake(tmp_path: Path, statement: str) -> None:
    ledger = make(tmp_path, "8")
    ledger.reserve("census", PureDP(3, neighbors=PERSON))
    with (
        closing(sqlite3.connect(tmp_path / "ledger.db")) as db,
        pytest.raises(sqlite3.IntegrityError),
    ):
        db.execute(statement)


@pytest.mark.parametrize(
    ("edit", "found"),
    {
        "a first charge": ("DELETE FROM lines WHERE id = 2", "line 2 is missing"),
        "the last charge": ("DELETE FROM lines WHERE id = 5", "line 5 is missing"),
        "a dataset": ("DELETE FROM lines WHERE dataset = 'walks'", "line 3 is missing"),
        "all": ("DELETE FROM lines", "line 1 is missing"),
        "a time": (
            "UPDATE lines SET made = '1970-01-01T00:00:00Z' WHERE id = 4",
            "line 4 was changed",
        ),
        "a copy": (
            "INSERT INTO lines SELECT 6, kind, dataset, guarantee, made, digest FROM lines WHERE id = 5",
            "line 6 was changed",
        ),
        "bytes": ("UPDATE lines SET guarantee = x'ff00' WHERE id = 4", "line 4 was changed"),
        "no text": ("UPDATE lines SET dataset = CAST(x'ff' AS TEXT)", "line 1 was changed"),
        "a kind": ("UPDATE lines SET kind = 'note' WHERE id = 5", "line 5 was changed"),
        "the salt": ("UPDATE salts SET salt = lower(hex(randomblob(32)))", "line 1 was changed"),
        "half a salt": ("UPDATE salts SET salt = 'ab'", "its salt was changed"),
        "no salt": ("DELETE FROM salts", "its salt was changed"),
        "a trigger": (
            "CREATE TRIGGER spend AFTER INSERT ON lines BEGIN DELETE FROM lines WHERE id = NEW.id; END",
            "its tables or triggers were changed",
        ),
        "a table": (
            "ALTER TABLE lines ADD COLUMN note TEXT",
            "its tables or triggers were changed",
        ),
    }.values(),
)
def test_a_line_that_was_edited_by_force_is_found(tmp_path: Path, edit: str, found: str) -> None:
    """Ids have no gaps over all datasets, grants among them, and the last one is known."""
    ledger, other = make(tmp_path, "8"), PureDP(1, neighbors=PERSON)
    ledger.reserve("census", other)
    Ledger.create(tmp_path / "ledger.db", "walks", other)
    for _ in range(2):
        ledger.reserve("census", other)
    before = ledger.digest()
    by_force(tmp_path / "ledger.db", edit)
    for ask in (
        lambda: ledger.account("census"),
        lambda: ledger.history("census"),
        lambda: ledger.datasets,
        lambda: ledger.reserve("census", other),
        lambda: ledger.check(before),
        ledger.digest,
        lambda: Ledger(tmp_path / "ledger.db"),
    ):
        with pytest.raises(InvalidProblemError, match=f"whole ledger, got .*: {found}"):
            ask()


def test_a_trigger_that_was_dropped_is_missed(tmp_path: Path) -> None:
    ledger = make(tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db, db:
        db.execute("DROP TRIGGER lines_stay")
    with pytest.raises(InvalidProblemError, match="its tables or triggers were changed"):
        ledger.account("census")


def test_charges_beyond_the_limit_are_no_ledger(tmp_path: Path) -> None:
    """A line with a right hash that nobody could have been granted: the file was made by other code."""
    ledger = make(tmp_path, "8")
    ledger.reserve("census", PureDP(3, neighbors=PERSON))
    by_force(tmp_path / "ledger.db", "UPDATE lines SET guarantee = replace(guarantee, '3', '9')")
    reckoned(tmp_path / "ledger.db")
    with pytest.raises(InvalidProblemError, match="line 2 exceeds the limit"):
        ledger.account("census")


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", "7", "{}", '{"kind": "pure"}', "[" * 100_000, '{"epsilon": NaN}']
)
@pytest.mark.parametrize("line", [1, 2])
def test_a_line_that_says_nothing_is_no_ledger(tmp_path: Path, text: str, line: int) -> None:
    """Its hash fits; what stands there is no guarantee."""
    ledger = make(tmp_path, "8")
    ledger.reserve("census", PureDP(3, neighbors=PERSON))
    by_force(tmp_path / "ledger.db", f"UPDATE lines SET guarantee = '{text}' WHERE id = {line}")  # noqa: S608
    reckoned(tmp_path / "ledger.db")
    with pytest.raises(InvalidProblemError, match=f"line {line} of 'census' can't be understood"):
        ledger.account("census")


def test_bytes_that_were_damaged_anywhere_are_refused_or_change_nothing(tmp_path: Path) -> None:
    """Every byte of what the file says is hit somewhere; an error is one of ours, and no sum is ever smaller."""
    ledger = make(tmp_path, "8")
    for _ in range(3):
        ledger.reserve("census", PureDP("1.5", neighbors=PERSON))
    path = tmp_path / "ledger.db"
    whole, chance, refused = path.read_bytes(), random.Random(7), 0  # noqa: S311 - where bytes are hit
    # Half of the hits where something stands: most of a small database is empty.
    used = [at for at, byte in enumerate(whole) if byte]
    for turn in range(300):
        hurt = bytearray(whole)
        for _ in range(chance.choice((1, 1, 4, 40))):
            at = chance.choice(used) if turn % 2 else chance.randrange(len(whole))
            hurt[at] = chance.choice((0, 0x80, 0xFF, chance.randrange(256)))
        path.write_bytes(hurt)
        try:
            found = Ledger(path).account("census")
        except DiscreetError:
            refused += 1
        else:
            assert found.spent == (Fraction(9, 2),), turn
    assert 50 < refused < 300


FROZEN = Path(__file__).parent / "data" / "ledger-1.db"
"""A ledger as version 1 of the format wrote it."""


def thawed(folder: Path) -> Path:
    path = folder / "ledger.db"
    shutil.copyfile(FROZEN, path)
    path.chmod(0o600)
    return path


def test_a_ledger_of_version_1_is_read_as_it_is(tmp_path: Path) -> None:
    path = thawed(tmp_path)
    ledger = Ledger(path)
    assert ledger.datasets == ("bills", "census", "walks")
    assert ledger.account("census").left == (Fraction(8, 3),)
    assert ledger.account("walks").left == (Fraction(3, 2),)
    assert ledger.history("bills") == ()
    assert ledger.check(Ledger.create(tmp_path / "o.db", "o", TWO).digest()) == "other"
    assert path.read_bytes() == FROZEN.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda ledger: ledger.reserve("census", TWO),
        lambda ledger: Ledger.create(ledger._path, "more", TWO),
        Ledger.digest,
    ],
    ids=["charge", "grant", "digest"],
)
def test_a_ledger_of_version_1_gets_the_new_form_with_its_next_line(
    tmp_path: Path, change: Callable[[Ledger], object]
) -> None:
    ledger = Ledger(thawed(tmp_path))
    before = {name: ledger.history(name) for name in ledger.datasets}
    change(ledger)
    with closing(sqlite3.connect(ledger._path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)
    for name, charges in before.items():
        assert ledger.history(name)[: len(charges)] == charges
    noted = ledger.digest()
    ledger.reserve("walks", MetricDP("0.5", unit="km", scope=HERE))
    assert ledger.account("walks").left == (Fraction(1),)
    assert ledger.check(noted) == "extends"


def test_the_book_of_a_ledger_of_version_1_has_the_next_line_too(tmp_path: Path) -> None:
    path = thawed(tmp_path)
    with transaction(path, writing=True) as db:
        before = read(db, path)
        book = rewrite(db, before.lines)
        append(db, book, before.lines[-1])
        assert book == read(db, path)
        assert len(book.lines) == len(book.digests) - 1 == len(before.lines) + 1


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("DELETE FROM charges WHERE id = 3", "charge 3 is missing"),
        ("DELETE FROM charges WHERE id = 2", "charge 2 is missing"),
        ("DELETE FROM charges", "charge 1 is missing"),
        ("DELETE FROM datasets WHERE name = 'walks'", "charge 2 was changed"),
        ("UPDATE datasets SET granted = replace(granted, '4', '9')", "limit 1 was changed"),
        ("UPDATE datasets SET granted = x'ff'", "limit 1 was changed"),
        ("UPDATE charges SET guarantee = x'ff' WHERE id = 2", "charge 2 was changed"),
        ("ALTER TABLE charges RENAME COLUMN charged TO at", "no such column: charged"),
    ],
)
def test_a_ledger_of_version_1_that_was_edited_is_found(
    tmp_path: Path, edit: str, found: str
) -> None:
    path = thawed(tmp_path)
    by_force(path, edit)
    with pytest.raises(InvalidProblemError, match=found):
        Ledger(path)


def test_a_kill_while_a_ledger_gets_the_new_form_leaves_the_old_one(tmp_path: Path) -> None:
    code = (
        "import os, signal, sqlite3, sys\n"
        "from discreet import PureDP\nfrom discreet import ledger\n"
        "true, inserted = sqlite3.connect, []\n"
        "def trace(statement):\n"
        "    inserted.extend([1] * statement.startswith('INSERT INTO lines'))\n"
        "    if len(inserted) == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "def connect(*a, **k):\n"
        "    db = true(*a, **k)\n    db.set_trace_callback(trace)\n    return db\n"
        "sqlite3.connect = connect\n"
        "ledger.Ledger(sys.argv[1]).reserve('census', PureDP(1, neighbors='add-remove-person'))\n"
        "print('released')\n"
    )
    path = thawed(tmp_path)
    assert start(code, path).communicate(timeout=60)[0] == ""
    assert Ledger(path).account("census").left == (Fraction(8, 3),)
    Ledger(path).reserve("census", TWO)
    assert Ledger(path).account("census").left == (Fraction(2, 3),)
