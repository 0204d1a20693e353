"""One ledger is one file: links, second names, rights, and files that are exchanged meanwhile."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet.ledger.book as ledger_module
from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.ledger import Ledger
from ledgers import TWO, make, names_in


def test_a_ledger_with_a_second_name_is_refused_under_both(tmp_path: Path) -> None:
    ledger, other = make(tmp_path), tmp_path / "other.db"
    other.hardlink_to(tmp_path / "ledger.db")
    for ask in (
        lambda: ledger.reserve("census", TWO),
        lambda: Ledger(other),
        lambda: Ledger.create(other, "more", TWO),
    ):
        with pytest.raises(InvalidProblemError, match="one name, .* got .*: 2 hard links"):
            ask()
    other.unlink()
    ledger.reserve("census", TWO)


def test_a_link_to_a_ledger_is_that_ledger(tmp_path: Path) -> None:
    """The file, or a folder above it, by another name: one ledger, whose journal lies beside the file."""
    (tmp_path / "true").mkdir()
    ledger = make(tmp_path / "true")
    (tmp_path / "link.db").symlink_to(tmp_path / "true" / "ledger.db")
    (tmp_path / "folder").symlink_to(tmp_path / "true")
    said: list[list[str]] = []
    now = ledger_module._now

    def look() -> str:
        said.append(names_in(tmp_path))
        return now()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_module, "_now", look)
        for path in (tmp_path / "link.db", tmp_path / "folder" / "ledger.db"):
            Ledger(path).reserve("census", TWO)
    assert ledger.account("census").spent == (Fraction(4),)
    # Nothing lies beside the link while a transaction is open.
    assert said == [["folder", "link.db", "true"]] * 2
    assert (tmp_path / "link.db").is_symlink()
    made = Ledger.create(tmp_path / "link.db", "more", TWO)
    assert made.datasets == ledger.datasets == ("census", "more")


def test_a_link_that_leads_nowhere_is_filled_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "ledger.db")
    with pytest.raises(InvalidProblemError, match="a ledger that exists"):
        Ledger(tmp_path / "link.db")
    Ledger.create(tmp_path / "link.db", "census", TWO)
    assert Ledger(tmp_path / "ledger.db").datasets == ("census",)
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(InvalidProblemError, match="ledger: expected"):
        Ledger.create(tmp_path / "round", "census", TWO)


@pytest.mark.parametrize("mode", [0o666, 0o660, 0o602])
def test_a_ledger_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    ledger = make(tmp_path)
    (tmp_path / "ledger.db").chmod(mode)
    for ask in (lambda: ledger.account("census"), lambda: ledger.reserve("census", TWO)):
        with pytest.raises(InvalidProblemError, match="nobody else may write.*chmod 600"):
            ask()
    (tmp_path / "ledger.db").chmod(0o644)
    ledger.reserve("census", TWO)


def test_a_ledger_of_somebody_else_is_read_and_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who keeps the digest is to compare it with a ledger that is not his."""
    ledger = make(tmp_path)
    noted = ledger.digest()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert ledger.check(noted) == "extends"
    with pytest.raises(InvalidProblemError, match="a file of yours"):
        ledger.reserve("census", TWO)
    monkeypatch.undo()
    assert ledger.history("census") == ()


@pytest.mark.parametrize("moment", ["SELECT id", "INSERT INTO lines", "COMMIT"])
@pytest.mark.parametrize("how", ["replaced", "moved", "linked"])
def test_a_file_that_is_exchanged_while_it_is_charged_refuses_the_release(
    tmp_path: Path, moment: str, how: str
) -> None:
    """Whatever SQLite had opened, no release may follow where the name leads to another file by then."""
    ledger, path = make(tmp_path), tmp_path / "ledger.db"
    shutil.copyfile(path, tmp_path / "copy.db")
    (tmp_path / "copy.db").chmod(0o600)

    def exchange(statement: str) -> None:
        if statement.startswith(moment) and (tmp_path / "copy.db").exists():
            if how == "replaced":
                (tmp_path / "copy.db").rename(path)
            elif how == "moved":
                path.rename(tmp_path / "moved.db")
            else:
                (tmp_path / "linked.db").hardlink_to(path)

    true = sqlite3.connect

    def connect(*given: Any, **named: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = true(*given, **named)
        db.set_trace_callback(exchange)
        return db

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect)
        with pytest.raises(DiscreetError):
            ledger.reserve("census", TWO)


def test_a_link_that_is_turned_while_the_ledger_is_charged_refuses_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        make(tmp_path / name)
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "a" / "ledger.db")
    ledger = Ledger(link)

    def turn() -> str:
        link.unlink()
        link.symlink_to(tmp_path / "b" / "ledger.db")
        return "2099-04-01T00:00:00Z"

    monkeypatch.setattr(ledger_module, "_now", turn)
    with pytest.raises(InvalidProblemError, match="to keep its name; nothing may be released"):
        ledger.reserve("census", TWO)
    assert Ledger(tmp_path / "a" / "ledger.db").history("census") == ()


def test_a_ledger_has_no_write_ahead_log(tmp_path: Path) -> None:
    """Its loss would be the loss of charges, and nobody would notice."""
    ledger, path = make(tmp_path), tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    ledger.reserve("census", TWO)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert names_in(tmp_path) == ["ledger.db"]
    assert ledger.account("census").spent == (Fraction(2),)


def test_what_can_be_no_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (
        "x" * 5000,
        "y/" * 3000,
        "nul\0",
        tmp_path / "folder",
        tmp_path / "pipe",
        os.devnull,
    ):
        for ask in (Ledger, lambda path: Ledger.create(path, "census", TWO)):
            with pytest.raises(InvalidProblemError, match="ledger: expected") as refused:
                ask(path)
            assert len(str(refused.value)) < 500
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
