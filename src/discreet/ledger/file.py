"""The file of a ledger: opened for one transaction, recognized, and checked to be one file under one name.

Trusted: the guarantee rests on this code wherever several releases are bounded together.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.system import is_foreign, may_be_written_by_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

APPLICATION_ID = int.from_bytes(b"dc_l", "big")
"""Number by which SQLite tells the kind of the file."""

FORMAT_VERSION = 3
"""Version that is written; versions 1 and 2 are read, and become this one with the next line."""


@contextmanager
def transaction(path: Path, *, writing: bool) -> Iterator[sqlite3.Connection]:
    """Open a ledger for one transaction, and raise this library's errors for those of SQLite.

    It is committed at the end, and rolled back on an error. `writing` takes the lock of writers at once, and refuses
    a file of another user. The whole file is checked by SQLite.

    A context manager. `path` is that of the ledger; links are followed.

    Raises
    ------
    BudgetError
        If the disk is full, or another process holds the file for half a minute.
    InvalidProblemError
        If the file is not a ledger, is damaged, or is not one file under one name from beginning to end.
    """
    true = _resolved(path)
    _identity(path, true, writing=writing)
    try:
        with _connect(true) as db:
            _recognize(db, path)
            db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            # Under the lock, and before and after the charge is made: SQLite finds its journal by the name, and a
            # file that leaves its name while it is open is charged in vain.
            file = _identity(path, true, writing=writing)
            yield db
            _refuse_exchange(path, true, file, writing=writing)
            db.execute("COMMIT")
            _refuse_exchange(path, true, file, writing=writing)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR:
            # A missing table or column; other codes are about the disk, or about another process.
            raise damaged(path, str(error)) from None
        raise BudgetError(f"ledger {path}: {error}; nothing may be released") from None
    except sqlite3.DatabaseError as error:
        raise damaged(path, str(error)) from None
    except UnicodeError:
        raise damaged(path, "text that is not Unicode") from None


def fill(path: Path, create_tables: Callable[[sqlite3.Connection], object]) -> None:
    """Create a ledger if the file does not exist or is empty, durably; two processes may do so at the same time.

    `create_tables` is called with the open connection, within the transaction. OSError becomes InvalidProblemError.

    Raises
    ------
    InvalidProblemError
        If the file can't be written, is no database, has several names, or may be written by other users.
    """
    true = _resolved(path)
    try:
        if not os.path.lexists(true):
            true.touch(mode=0o600)
        _identity(path, true, writing=True)
        with _connect(true) as db:
            db.execute("BEGIN IMMEDIATE")
            (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                create_tables(db)
            db.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        got = getattr(error, "strerror", None) or str(error)
        raise _refused(path, "a file that can be written", got) from None


def damaged(path: Path, detail: str) -> InvalidProblemError:
    """Return the error for a file whose content is not that of a ledger.

    `detail` is what is wrong, cut after 200 characters; the error is returned, not raised.
    """
    # SQLite's words may quote the file.
    plain = "".join(letter if letter.isprintable() else " " for letter in detail)
    return _refused(path, "a whole ledger", plain[:200])


def _refuse_exchange(path: Path, true: Path, file: tuple[int, int], *, writing: bool) -> None:
    """Refuse a ledger whose name leads to another file than the one that was opened."""
    if _resolved(path) != true or _identity(path, true, writing=writing) != file:
        expected = "the file that was opened to keep its name; nothing may be released"
        raise _refused(path, expected, "another file now")


def _recognize(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not a ledger, or is damaged.

    Every page of the file is read. The journal's mode is set; InvalidProblemError for another database.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise damaged(path, "no ledger, but another database")
    if version > FORMAT_VERSION:
        raise damaged(path, "one that a newer discreet has written: use that version")
    # A write-ahead log, to which anybody could have switched, is a second file whose loss would not be noticed.
    (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
    (state,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if (mode, state) != ("delete", "ok"):
        raise damaged(path, state if mode == "delete" else f"a journal in mode {mode}")


def _resolved(path: Path) -> Path:
    """Follow all links, so that a ledger is found, locked and journaled under one name; refuse no path."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        raise InvalidProblemError("ledger", "the name of a file", ascii(str(path))[:80]) from None


def _identity(path: Path, true: Path, *, writing: bool) -> tuple[int, int]:
    """Return device and inode of a plain file that has one name and one writer; refuse any other file.

    `true` is the path without links, `path` that in messages; with `writing` it must be the user's own. Raises
    InvalidProblemError.
    """
    # By name, never by opening it: closing any handle of a file gives back the locks that SQLite holds in this process.
    try:
        status = true.lstat()
    except (FileNotFoundError, NotADirectoryError):
        status = None
    except OSError as error:
        raise _refused(path, "a ledger that can be read", error.strerror) from None
    if status is None or not stat.S_ISREG(status.st_mode):
        raise InvalidProblemError("ledger", "a ledger that exists", str(path))
    if status.st_nlink != 1:
        expected = "a file with one name, since SQLite keeps a journal beside each"
        raise _refused(path, expected, f"{status.st_nlink} hard links")
    if may_be_written_by_others(status):
        raise _refused(path, "a file that nobody else may write", "other rights: chmod 600 it")
    if writing and is_foreign(status):
        raise _refused(path, "a file of yours", "another user's")
    return status.st_dev, status.st_ino


def _refused(path: Path, expected: str, got: str | None) -> InvalidProblemError:
    """Return the error for a ledger's file, its name cut if it is very long."""
    name = str(path)
    return InvalidProblemError(
        "ledger", expected, f"{name if len(name) < 300 else name[:80] + '...'}: {got}"
    )


@contextmanager
def _connect(path: Path, *, lock_seconds: float = 30.0) -> Iterator[sqlite3.Connection]:
    """Connect so that transactions are begun by hand and are on the disk when they end.

    Another process's transaction, which takes some milliseconds, is waited for during `lock_seconds`.
    """
    # "rw": a path that was mistyped must not become an empty ledger.
    address = f"{path.absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(address, uri=True, timeout=lock_seconds, isolation_level=None)
    # Bytes that are not text must reach the comparison of hashes, which refuses them.
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        # First of all, before anything is read: a journal that another process left is played back under these.
        db.execute("PRAGMA synchronous = EXTRA")
        yield db
    finally:
        # Closing rolls back what was not committed.
        db.close()
