"""The lines of a ledger in one sequence, each with a hash of itself and of the line before.

A grant or a charge is the guarantee as JSON; the charge of a release also has ``release``: its id, command, version and
public parameters. Lines of the other kinds name a release by its ``id`` and change its state.

Trusted: the guarantee rests on this code wherever several releases are bounded together.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from typing import TYPE_CHECKING, NamedTuple

from discreet.ledger.file import APPLICATION_ID, FORMAT_VERSION, damaged

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_OBJECTS = (
    "CREATE TABLE salts (salt TEXT NOT NULL)",
    """CREATE TABLE lines (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    guarantee TEXT NOT NULL,
    made TEXT NOT NULL,
    digest TEXT NOT NULL
)""",
    *(
        f"CREATE TRIGGER {name} BEFORE {change} BEGIN SELECT RAISE(ABORT, '{message}'); END"
        for name, change, message in (
            ("lines_are_fixed", "UPDATE ON lines", "a line is fixed"),
            ("lines_stay", "DELETE ON lines", "nothing is paid back"),
            ("salts_are_fixed", "UPDATE ON salts", "the salt is fixed"),
            ("salts_stay", "DELETE ON salts", "the salt stays"),
        )
    ),
)
"""Tables and triggers, in the words in which SQLite stores them."""

_SET_VERSION = f"PRAGMA user_version = {FORMAT_VERSION}"
_NEW_TABLES = (
    *("DROP TABLE IF EXISTS charges", "DROP TABLE IF EXISTS datasets", *_OBJECTS),
    *(f"PRAGMA application_id = {APPLICATION_ID}", _SET_VERSION),
)

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
    """All lines of a ledger, after their hashes were recomputed, and the hash after each line; the first is the salt.

    A ledger of version 1 has no salt and no such hashes.
    """

    salt: str
    lines: list[LedgerLine]
    digests: list[str]


def read(db: sqlite3.Connection, path: Path) -> Book:
    """Read all lines, and recompute their hashes.

    One hash for each line.

    `db` is the open connection, `path` the file that messages name. A ledger of version 1 gives a book without salt
    and hashes.

    Raises
    ------
    InvalidProblemError
        If a line was changed or is missing; from version 2 on also if a table or a trigger was changed.
    """
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 1:
        return Book("", _read_version_1(db, path), [])
    # Rows are fetched at once: a cursor that an error keeps alive would keep the lock when the connection is closed.
    stored = "SELECT sql FROM sqlite_master WHERE substr(name, 1, 7) != 'sqlite_'"
    if {sql for (sql,) in db.execute(stored).fetchall()} != set(_OBJECTS):
        raise damaged(path, "its tables or triggers were changed")
    salts = db.execute("SELECT salt FROM salts").fetchall()
    if len(salts) != 1 or not (isinstance(salts[0][0], str) and _SALT.fullmatch(salts[0][0])):
        raise damaged(path, "its salt was changed")
    book, names = Book(salts[0][0], [], [salts[0][0]]), set()
    columns = "kind, dataset, guarantee, made, digest"
    for number, (*cells, digest) in enumerate(_numbered(db, path, "lines", columns), start=1):
        line = LedgerLine(*cells)
        is_known = _is_text(line) and line.kind in _KINDS
        is_known = is_known and (line.kind == GRANT) != (line.dataset in names)
        if not is_known or digest != chain(book.digests[-1], line):
            raise damaged(path, f"line {number} was changed")
        names.add(line.dataset)
        book.lines.append(line)
        book.digests.append(digest)
    return book


def _read_version_1(db: sqlite3.Connection, path: Path) -> list[LedgerLine]:
    """Read a ledger of version 1, which had a chain for each dataset: all grants, then all charges.

    A line whose hash does not follow from those before is refused as damage.

    One hash for each line.
    """
    stored = "SELECT name, granted, created, digest FROM datasets ORDER BY rowid"
    grants = db.execute(stored).fetchall()
    charges = _numbered(db, path, "charges", "dataset, guarantee, charged, digest")
    lines: list[LedgerLine] = []
    last: dict[str, str] = {}
    for kind, rows in (("limit", grants), ("charge", charges)):
        for number, (name, text, made, digest) in enumerate(rows, start=1):
            line = LedgerLine(GRANT if kind == "limit" else CHARGE, name, text, made)
            is_known = _is_text(line) and (kind == "limit" or name in last)
            if not is_known or digest != _hash(last.get(name, name), text, made):
                raise damaged(path, f"{kind} {number} was changed")
            last[name] = digest
            lines.append(line)
    return lines


def _numbered(
    db: sqlite3.Connection, path: Path, table: str, columns: str
) -> list[tuple[str, ...]]:
    """Read `columns` of a table whose ids are 1, 2, ... up to the last id that it ever had; refuse one with a gap.

    InvalidProblemError in that case. `table` and `columns` become part of the statement.
    """
    rows = db.execute(f"SELECT id, {columns} FROM {table} ORDER BY id").fetchall()  # noqa: S608 - names of our own
    last = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    numbers = [row[0] for row in rows]
    if [*numbers, last or (0,)] != [*range(1, len(rows) + 1), (len(rows),)]:
        gap = next((at for at, number in enumerate(numbers, 1) if number != at), len(rows) + 1)
        raise damaged(path, f"{table.removesuffix('s')} {gap} is missing")
    return [row[1:] for row in rows]


def rewrite(db: sqlite3.Connection, lines: list[LedgerLine]) -> Book:
    """Replace the tables of an earlier version by those of this one, with a new salt and the same lines.

    The new book is returned. Nothing is committed: the caller's transaction does that.

    `lines` get new hashes; one each.
    """
    for statement in _NEW_TABLES:
        db.execute(statement)
    salt = secrets.token_hex(32)
    db.execute("INSERT INTO salts VALUES (?)", (salt,))
    book = Book(salt, [], [salt])
    for line in lines:
        append(db, book, line)
    return book


def append(db: sqlite3.Connection, book: Book, line: LedgerLine) -> None:
    """Add a line, and its hash, to a ledger of version 2 or later and to `book`, which is changed in place.

    The version of the file becomes the present one. Nothing is committed: the caller's transaction does that.
    """
    digest = chain(book.digests[-1], line)
    # Version 2 had the same tables, and no lines but grants and charges.
    db.execute(_SET_VERSION)
    db.execute(
        "INSERT INTO lines (kind, dataset, guarantee, made, digest) VALUES (?, ?, ?, ?, ?)",
        (*line, digest),
    )
    book.lines.append(line)
    book.digests.append(digest)


def digest_at(book: Book, count: int) -> str:
    """Return the digest of the first `count` lines of a ledger: ``count:`` and 96 hexadecimal digits.

    `count` is at most the number of lines, else IndexError; a book of version 1 has no digests.
    """
    mark = mac(book.salt, "ledger")[:32]
    return f"{count}:{mark}{mac(book.salt, 'lines', count, book.digests[count])}"


def mac(salt: str, *parts: object) -> str:
    """Return the HMAC-SHA-256 of some values under the salt of a ledger: 64 hexadecimal digits."""
    text = json.dumps(["discreet.ledger", *parts]).encode()
    return hmac.new(bytes.fromhex(salt), text, "sha256").hexdigest()


def chain(before: str, line: LedgerLine) -> str:
    """Return the hash of a line together with the hash of the line before, in hexadecimal."""
    return _hash(before, *line)


def _hash(*parts: str) -> str:
    """Return the SHA-256 of texts, kept apart by JSON."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _is_text(line: LedgerLine) -> bool:
    """Return whether all columns of a line are text; a damaged file may have bytes there."""
    return all(isinstance(part, str) for part in line)
