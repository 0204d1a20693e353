"""A ledger of privacy budgets in one file: charged before data are read, whoever else writes, whenever power fails.

The arithmetic is that of :class:`discreet.core.budget.Account`; this module makes it last. A charge is one SQLite
transaction that is on the disk before :meth:`Ledger.reserve` returns, so that a process killed at any moment may have
paid for a release that it never made, and never made one that it did not pay for.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.core.budget import Account
from discreet.core.errors import BudgetError, DiscreetError, InvalidProblemError
from discreet.core.guarantee import guarantee_from_dict

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from discreet.core.guarantee import Guarantee

__all__ = ["Charge", "Ledger"]

_APPLICATION = 0x64635F6C
_VERSION = 1
_WAIT = 30.0
"""Seconds to wait for another process's transaction; each takes some milliseconds."""

_SCHEMA = f"""
CREATE TABLE datasets (
    name TEXT PRIMARY KEY NOT NULL,
    granted TEXT NOT NULL,
    created TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TABLE charges (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    dataset TEXT NOT NULL REFERENCES datasets (name),
    guarantee TEXT NOT NULL,
    charged TEXT NOT NULL,
    digest TEXT NOT NULL
);
CREATE TRIGGER limits_are_fixed BEFORE UPDATE ON datasets BEGIN SELECT RAISE(ABORT, 'a limit is fixed'); END;
CREATE TRIGGER limits_stay BEFORE DELETE ON datasets BEGIN SELECT RAISE(ABORT, 'a limit stays'); END;
CREATE TRIGGER charges_are_fixed BEFORE UPDATE ON charges BEGIN SELECT RAISE(ABORT, 'a charge is fixed'); END;
CREATE TRIGGER charges_stay BEFORE DELETE ON charges BEGIN SELECT RAISE(ABORT, 'nothing is paid back'); END;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""


@final
@dataclass(frozen=True)
class Charge:
    """One line of a ledger.

    Parameters
    ----------
    guarantee
        What was spent.
    charged
        When, in UTC, to the second.
    """

    guarantee: Guarantee
    charged: str


@final
class Ledger:
    """Budgets of datasets in an SQLite file; an implementation of :class:`discreet.core.budget.Budget`.

    Parameters
    ----------
    path
        A file that :meth:`create` made.

    Raises
    ------
    InvalidProblemError
        When there is no such file or it is no ledger.

    Notes
    -----
    Every call opens the file, works in one transaction begun with ``BEGIN IMMEDIATE`` where it writes, and closes it;
    an object may be shared by threads and the file by processes of one machine. ``synchronous = EXTRA`` is ``FULL``
    and the folder too: with ``FULL`` alone a power failure could bring back the journal of a finished transaction,
    which would take back its charge. The file must be on a local disk, since locks of network file systems are not
    to be relied on.

    Each line holds a SHA-256 of itself and the line before, so that a damaged or edited line is found. An old copy of
    the whole file is not: whoever may replace the file can give himself budget.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from discreet import PureDP
    >>> path = Path(tempfile.mkdtemp()) / "ledger.db"
    >>> ledger = Ledger.create(path, "census-2030", PureDP(4, neighbors="add-remove-person"))
    >>> ledger.reserve("census-2030", PureDP(1, neighbors="add-remove-person"))
    >>> ledger.account("census-2030").left
    (Fraction(3, 1),)
    >>> ledger.reserve("census-2030", PureDP(4, neighbors="add-remove-person"))
    Traceback (most recent call last):
    discreet.core.errors.BudgetError: dataset 'census-2030': epsilon: 4 asked, 3 left
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        with self._open():
            pass

    @classmethod
    def create(cls, path: str | os.PathLike[str], dataset: str, limit: Guarantee) -> Ledger:
        """Grant a dataset a budget, in a new file or in one that is there.

        Parameters
        ----------
        path
            The file.
        dataset
            A name that the ledger does not have yet.
        limit
            The most that all releases together may give away. It fixes the notion of privacy, the neighbors and, for
            metric privacy, the unit; it can't be changed.

        Returns
        -------
        Ledger
            The ledger.

        Raises
        ------
        InvalidProblemError
            For a file that can't be written or is no ledger, an empty name, a dataset that has a budget, or
            k-anonymity.
        """
        Account(limit)
        if not dataset.strip():
            raise InvalidProblemError("dataset", "a name", repr(dataset))
        where = Path(path)
        _make(where)
        ledger = cls(where)
        granted, now = _text(limit), _now()
        digest = _digest(dataset, granted, now)
        with ledger._open(writing=True) as db:
            if db.execute("SELECT 1 FROM datasets WHERE name = ?", (dataset,)).fetchone():
                raise InvalidProblemError(
                    "dataset",
                    "one without a budget; a budget is fixed when it is made",
                    repr(dataset),
                )
            db.execute("INSERT INTO datasets VALUES (?, ?, ?, ?)", (dataset, granted, now, digest))
        return ledger

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that have a budget, sorted."""
        with self._open() as db:
            return tuple(name for (name,) in db.execute("SELECT name FROM datasets ORDER BY name"))

    def account(self, dataset: str) -> Account:
        """State of a dataset: its limit and what was charged.

        Raises
        ------
        BudgetError
            When it has no budget.
        InvalidProblemError
            When a line was damaged.
        """
        with self._open() as db:
            return self._account(db, dataset)[0]

    def history(self, dataset: str) -> tuple[Charge, ...]:
        """List the charges to a dataset, oldest first.

        Raises
        ------
        BudgetError, InvalidProblemError
            As for :meth:`account`.
        """
        with self._open() as db:
            return self._account(db, dataset)[1]

    def reserve(self, dataset: str, guarantee: Guarantee) -> None:
        """Charge a dataset for good, or raise and change nothing.

        Parameters
        ----------
        dataset
            Its name.
        guarantee
            What the release is about to spend.

        Raises
        ------
        BudgetError
            When the dataset has no budget, not enough is left, or the charge could not be written: a full disk, or a
            file that another process holds for half a minute. In the last two cases the charge may stand.
        InvalidProblemError
            When the guarantee can't be added to the limit, or the file was damaged.

        Complexity
        ----------
        All charges to the dataset are read and added up anew.
        """
        with self._open(writing=True) as db:
            account, _, before = self._account(db, dataset)
            try:
                account.charge(guarantee)
            except BudgetError as refusal:
                raise BudgetError(f"dataset {dataset!r}: {refusal}") from None
            spent, now = _text(guarantee), _now()
            db.execute(
                "INSERT INTO charges (dataset, guarantee, charged, digest) VALUES (?, ?, ?, ?)",
                (dataset, spent, now, _digest(before, spent, now)),
            )

    def _account(
        self, db: sqlite3.Connection, dataset: str
    ) -> tuple[Account, tuple[Charge, ...], str]:
        """Read an account, its charges, and the digest of its last line; refuse a line that was changed."""
        row = db.execute(
            "SELECT granted, created, digest FROM datasets WHERE name = ?", (dataset,)
        ).fetchone()
        if row is None:
            raise BudgetError(f"dataset {dataset!r} has no budget")
        granted, created, digest = row
        self._check(digest, _digest(dataset, granted, created), dataset, 0)
        account, charges = Account(_guarantee(granted)), []
        lines = db.execute(
            "SELECT guarantee, charged, digest FROM charges WHERE dataset = ? ORDER BY id",
            (dataset,),
        )
        for number, (spent, charged, stated) in enumerate(lines, start=1):
            self._check(stated, _digest(digest, spent, charged), dataset, number)
            digest = stated
            charges.append(Charge(_guarantee(spent), charged))
            try:
                account = account.charge(charges[-1].guarantee)
            except DiscreetError:
                raise self._damaged(f"line {number} of {dataset!r} exceeds the limit") from None
        return account, tuple(charges), digest

    def _check(self, stated: str, true: str, dataset: str, number: int) -> None:
        if stated != true:
            raise self._damaged(f"line {number} of {dataset!r} was changed")

    def _damaged(self, how: str) -> InvalidProblemError:
        return InvalidProblemError("ledger", "a whole ledger", f"{self._path}: {how}")

    @contextmanager
    def _open(self, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; what SQLite refuses becomes one of our errors."""
        if not self._path.is_file():
            raise InvalidProblemError("ledger", "a ledger that is there", str(self._path))
        try:
            with _connect(self._path) as db:
                self._recognize(db)
                db.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
                yield db
                db.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise BudgetError(f"ledger {self._path}: {error}; nothing may be released") from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from None

    def _recognize(self, db: sqlite3.Connection) -> None:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if (application, version) != (_APPLICATION, _VERSION):
            raise self._damaged("no ledger, or one of another version")
        (state,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if state != "ok":
            raise self._damaged(state)


@contextmanager
def _connect(path: Path) -> Iterator[sqlite3.Connection]:
    """Connect so that transactions are begun by hand and are on the disk when they end."""
    # "rw": a path that was mistyped must not become an empty ledger.
    address = f"{path.absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)
    try:
        # First of all, before anything is read: a journal that another process left is played back under these.
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("PRAGMA foreign_keys = ON")
        yield db
    finally:
        # Closing rolls back what was not committed.
        db.close()


def _make(path: Path) -> None:
    """Make an empty ledger where there is nothing; two processes may do it at once."""
    try:
        path.touch(mode=0o600)
        with _connect(path) as db:
            db.execute("BEGIN IMMEDIATE")
            (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if not tables:
                for statement in _statements(_SCHEMA):
                    db.execute(statement)
            db.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        raise InvalidProblemError(
            "ledger", "a file that can be written", f"{path}: {error}"
        ) from None


def _statements(script: str) -> Iterator[str]:
    """Split a script; ``executescript`` would end the transaction that it stands in."""
    pending = ""
    for line in script.strip().splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _text(guarantee: Guarantee) -> str:
    return json.dumps(guarantee.to_dict(), sort_keys=True)


def _guarantee(text: str) -> Guarantee:
    return guarantee_from_dict(json.loads(text))


def _digest(before: str, what: str, when: str) -> str:
    return hashlib.sha256(json.dumps([before, what, when]).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
