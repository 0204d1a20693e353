"""The lines of a ledger in one sequence, each with a hash of itself and of the line before.

A grant or a charge is the guarantee as JSON; the charge of a release also has ``release``: its id, command, version and
public parameters. Lines of the other kinds name a release by its ``id`` and change its state.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from discreet.ledger.file import APPLICATION, VERSION, damaged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "CHARGE",
    "DONE",
    "FORGOTTEN",
    "GRANT",
    "NEXT_STATES",
    "READING",
    "VOID",
    "Book",
    "LedgerLine",
    "append",
    "chain",
    "granted",
    "mac",
    "noted",
    "read",
    "rewrite",
]

_SCHEMA = f"""
CREATE TABLE salts (salt TEXT NOT NULL);
CREATE TABLE lines (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    made TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TRIGGER lines_are_fixed BEFORE UPDATE ON lines BEGIN SELECT RAISE(ABORT, 'a line is fixed'); END;
CREATE TRIGGER lines_stay BEFORE DELETE ON lines BEGIN SELECT RAISE(ABORT, 'nothing is paid back'); END;
CREATE TRIGGER salts_are_fixed BEFORE UPDATE ON salts BEGIN SELECT RAISE(ABORT, 'the salt is fixed'); END;
CREATE TRIGGER salts_stay BEFORE DELETE ON salts BEGIN SELECT RAISE(ABORT, 'the salt stays'); END;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""

GRANT, CHARGE = "grant", "charge"
READING, VOID, DONE, FORGOTTEN = "reading", "void", "done", "forgotten"
NEXT_STATES = {"reserved": {READING, VOID}, READING: {DONE, FORGOTTEN}}
"""State of a release -> kinds of lines that may follow; a charge is freed only if no reading began."""

_KINDS = {GRANT, CHARGE, READING, VOID, DONE, FORGOTTEN}
_SALT = re.compile("[0-9a-f]{64}")


class LedgerLine(NamedTuple):
    """A line as it is stored; `guarantee` is the guarantee, or the release whose state changes, as JSON."""

    kind: str
    dataset: str
    guarantee: str
    made: str


class Book(NamedTuple):
    """All that a ledger holds, after its hashes were recomputed: lines, and the hash after each, the salt first."""

    salt: str
    lines: list[LedgerLine]
    digests: list[str]


def read(db: sqlite3.Connection, path: Path) -> Book:
    """Read all lines; refuse what was changed, and what is missing."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 1:
        return Book("", _read_1(db, path), [])
    shape = db.execute("SELECT sql FROM sqlite_master WHERE substr(name, 1, 7) != 'sqlite_'")
    if {sql for (sql,) in shape} != set(_objects()):
        raise damaged(path, "its tables or triggers were changed")
    salts = db.execute("SELECT salt FROM salts").fetchall()
    if len(salts) != 1 or not (isinstance(salts[0][0], str) and _SALT.fullmatch(salts[0][0])):
        raise damaged(path, "its salt was changed")
    rows = db.execute(
        "SELECT id, kind, dataset, guarantee, made, digest FROM lines ORDER BY id"
    ).fetchall()
    _refuse_gaps(path, [row[0] for row in rows], _last(db, "lines"), "line")
    lines, digests, names = [], [salts[0][0]], set()
    for number, row in enumerate(rows, start=1):
        line = LedgerLine(*row[1:5])
        digest = chain(digests[-1], line) if _are_texts(line) else ""
        granted = (line.kind == GRANT) != (line.dataset in names)
        known = bool(digest) and line.kind in _KINDS and granted
        if not known or row[5] != digest:
            raise damaged(path, f"line {number} was changed")
        names.add(line.dataset)
        lines.append(line)
        digests.append(digest)
    return Book(salts[0][0], lines, digests)


def _read_1(db: sqlite3.Connection, path: Path) -> list[LedgerLine]:
    """Read a ledger of version 1, which had a chain for each dataset: all grants, then all charges."""
    lines: list[LedgerLine] = []
    last: dict[str, str] = {}
    grants = db.execute("SELECT name, granted, created, digest FROM datasets ORDER BY rowid")
    for number, (name, granted, created, digest) in enumerate(grants, start=1):
        lines.append(LedgerLine(GRANT, name, granted, created))
        if not _are_texts(lines[-1]) or digest != _digest_1(name, granted, created):
            raise damaged(path, f"limit {number} was changed")
        last[name] = digest
    charges = db.execute(
        "SELECT id, dataset, guarantee, charged, digest FROM charges ORDER BY id"
    ).fetchall()
    _refuse_gaps(path, [row[0] for row in charges], _last(db, "charges"), "charge")
    for number, name, spent, charged, digest in charges:
        lines.append(LedgerLine(CHARGE, name, spent, charged))
        known = _are_texts(lines[-1]) and name in last
        if not known or digest != _digest_1(last[name], spent, charged):
            raise damaged(path, f"charge {number} was changed")
        last[name] = digest
    return lines


def _refuse_gaps(path: Path, numbers: list[object], last: object, what: str) -> None:
    """Refuse numbers that are not 1, 2, ... to the last one that was ever given."""
    for wanted, number in enumerate(numbers, start=1):
        if number != wanted:
            raise damaged(path, f"{what} {wanted} is missing")
    if last != len(numbers):
        raise damaged(path, f"{what} {len(numbers) + 1} is missing")


def rewrite(db: sqlite3.Connection, lines: list[LedgerLine]) -> Book:
    """Make the tables of this version, with a new salt, and put the lines of an earlier one into them."""
    for name in ("charges", "datasets"):
        db.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _statements():
        db.execute(statement)
    salt = secrets.token_hex(32)
    db.execute("INSERT INTO salts VALUES (?)", (salt,))
    book = Book(salt, [], [salt])
    for line in lines:
        append(db, book, line)
    return book


def append(db: sqlite3.Connection, book: Book, line: LedgerLine) -> Book:
    """Add a line to the file and to the book; return the book, which is a new one if the file was of version 1."""
    if not book.salt:
        book = rewrite(db, book.lines)
    digest = chain(book.digests[-1], line)
    # Version 2 had the same tables, and no lines but grants and charges.
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute(
        "INSERT INTO lines (kind, dataset, guarantee, made, digest) VALUES (?, ?, ?, ?, ?)",
        (*line, digest),
    )
    book.lines.append(line)
    book.digests.append(digest)
    return book


def _statements() -> Iterator[str]:
    """Split the schema; ``executescript`` would end the transaction that it stands in."""
    pending = ""
    for line in _SCHEMA.strip().splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _objects() -> Iterator[str]:
    """Give tables and triggers in the words in which SQLite keeps them."""
    return (text.strip(";\n") for text in _statements() if text.startswith("CREATE"))


def _last(db: sqlite3.Connection, table: str) -> object:
    """Give the largest number that a table ever gave, also to lines that were deleted since."""
    rows = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchall()
    return rows[0][0] if rows else 0


def granted(book: Book) -> set[str]:
    """Name the datasets that have a grant."""
    return {line.dataset for line in book.lines if line.kind == GRANT}


def noted(book: Book, count: int) -> str:
    """Sum up the first lines of a ledger."""
    mark = mac(book.salt, "ledger")[:32]
    return f"{count}:{mark}{mac(book.salt, 'lines', count, book.digests[count])}"


def mac(salt: str, *parts: object) -> str:
    """Authenticate values with the salt of a ledger."""
    text = json.dumps(["discreet.ledger", *parts]).encode()
    return hmac.new(bytes.fromhex(salt), text, "sha256").hexdigest()


def _are_texts(line: LedgerLine) -> bool:
    """Tell whether a line holds what this code writes; the columns of a damaged file may hold bytes."""
    return all(isinstance(part, str) for part in line)


def chain(before: str, line: LedgerLine) -> str:
    """Hash a line together with the hash of the one before."""
    return hashlib.sha256(json.dumps([before, *line]).encode()).hexdigest()


def _digest_1(before: str, what: str, when: str) -> str:
    return hashlib.sha256(json.dumps([before, what, when]).encode()).hexdigest()
