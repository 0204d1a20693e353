"""Ledgers to be hurt: made, edited by force, and charged by other processes."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Literal

from discreet.core.guarantee import PureDP
from discreet.ledger import Ledger
from discreet.ledger.lines import LedgerLine, chain
from warm import WHERE, command

ROOT = Path(__file__).parents[1]
PERSON: Literal["add-remove-person"] = "add-remove-person"
ONE, TWO = PureDP(1, neighbors=PERSON), PureDP(2, neighbors=PERSON)


def make(folder: Path, limit: str = "1000") -> Ledger:
    return Ledger.create(folder / "ledger.db", "census", PureDP(limit, neighbors=PERSON))


def grown(folder: Path, charges: int = 3) -> Ledger:
    ledger = make(folder, "8")
    for _ in range(charges):
        ledger.reserve("census", PureDP(1, neighbors=PERSON))
    return ledger


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    line = [*command(code), *(str(argument) for argument in arguments)]
    return subprocess.Popen(
        line, env=WHERE, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def by_force(path: Path, *edits: str) -> None:
    """Edit a ledger as somebody who drops the triggers first, and puts them back."""
    with closing(sqlite3.connect(path)) as db, db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        kept = triggers.fetchall()
        for name, _ in kept:
            db.execute(f"DROP TRIGGER {name}")
        for edit in edits:
            db.execute(edit)
        for _, text in kept:
            db.execute(text)


def reckoned(path: Path) -> None:
    """Compute all hashes of a ledger anew, as an adversary does who knows this library."""
    with closing(sqlite3.connect(path)) as db:
        ((before,),) = db.execute("SELECT salt FROM salts").fetchall()
        lines = db.execute("SELECT id, kind, dataset, guarantee, made FROM lines ORDER BY id")
        edits = []
        for number, *line in lines.fetchall():
            before = chain(before, LedgerLine(*line))
            edits.append(f"UPDATE lines SET digest = '{before}' WHERE id = {number}")  # noqa: S608
    by_force(path, *edits)
