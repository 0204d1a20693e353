"""A ledger of privacy budgets in one file: charged before data are read, by many processes, and safe when power fails.

The arithmetic is that of :class:`discreet.core.budget.Account`; this module makes it last. A charge is one SQLite
transaction that is on the disk before :meth:`Ledger.reserve` returns, so that a process killed at any moment may have
paid for a release that it never made, and never made one that it did not pay for.

Grants and charges of all datasets are the lines of one sequence, numbered without gaps, each with a hash of itself and
of the line before. Anyone who may write the file can write all of that anew; what he can't do is keep the hash that
was noted elsewhere, which is what :meth:`Ledger.digest` is for.

Trusted: the guarantee rests on this code wherever several releases are bounded together.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

from discreet.core.budget import Account
from discreet.core.errors import BudgetError, DiscreetError, InvalidProblemError
from discreet.core.guarantee import guarantee_from_dict
from discreet.ledger import lines, spool
from discreet.ledger.file import damaged, fill, transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from discreet.core.guarantee import Guarantee
    from discreet.ledger.lines import Book

    Accounts = dict[str, tuple[Account, tuple["Charge", ...]]]

_DIGEST = re.compile("(0|[1-9][0-9]{0,14}):([0-9a-f]{32})([0-9a-f]{64})")

_TIME = "%Y-%m-%dT%H:%M:%SZ"

_CLOCK_TOLERANCE = timedelta(minutes=5)
"""By how much a clock may be behind the last line, as after an adjustment; such a line gets the time of the last."""


@final
@dataclass(frozen=True)
class Charge:
    """One charge in a ledger, and the state of its release; "unknown" for what an earlier version did not record.

    Parameters
    ----------
    guarantee
        Amount spent, with its notion of privacy.
    charged
        Time of the charge, in UTC, to the second.
    release_id
        20 hexadecimal digits.
    state
        ``"reserved"`` before private data are read, ``"reading"`` until all outputs are in place, ``"done"`` then;
        ``"void"`` for a charge that was freed, ``"forgotten"`` for a release that was given up.
    command, version
        Entrance, and version of discreet, that made the release.
    parameters
        Public parameters of the release.
    outputs
        SHA-256 of each output, by path.
    """

    guarantee: Guarantee
    charged: str
    release_id: str = "unknown"
    state: str = "unknown"
    command: str = "unknown"
    version: str = "unknown"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)


@final
class Ledger:
    """Budgets of datasets in an SQLite file; an implementation of :class:`discreet.core.budget.Budget`.

    Parameters
    ----------
    path
        A file that :meth:`create` made. A symbolic link stands for the file that it leads to.

    Raises
    ------
    InvalidProblemError
        When there is no such file, it is no ledger or a damaged one, others may write it, or it has a second name (a
        hard link): journals lie beside a name, so that the two names would be two ledgers.

    Notes
    -----
    Every call opens the file, works in one transaction begun with ``BEGIN IMMEDIATE`` where it writes, and closes it;
    an object may be shared by threads and the file by processes of one machine. ``synchronous = EXTRA`` is ``FULL``
    and the folder too: with ``FULL`` alone a power failure could bring back the journal of a finished transaction,
    which would take back its charge. The file must be on a local disk, since locks of network file systems are not
    to be relied on.

    Lines are numbered without gaps over all datasets, and each holds a SHA-256 of itself and the line before, so that
    a line that was damaged, edited or removed by accident is found. A writer of the file can compute all of that
    anew, or put an old copy in its place, and give himself budget: :meth:`check` finds both, by a digest that was
    noted elsewhere. A ledger of an earlier version is read, and gets the form of this one with its next line.

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
        self._path = _path_of(path)
        with self._open():
            pass

    @classmethod
    def create(cls, path: str | os.PathLike[str], dataset: str, limit: Guarantee) -> Ledger:
        """Grant a dataset a budget, in a new ledger or in an existing one.

        The dataset's grant is on the disk when this returns. BudgetError when the disk is full, or another process
        holds the file for half a minute. All lines are read.

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
        name: object = dataset
        # A name from a command line may hold bytes that are not Unicode.
        is_text = isinstance(name, str) and name.encode(errors="ignore").decode() == name
        if not is_text or not dataset.strip():
            raise InvalidProblemError("dataset", "a name, in Unicode", repr(name))
        where = _path_of(path)
        fill(where, lambda db: lines.rewrite(db, []))
        ledger = cls(where)
        with ledger._open(writing=True) as (db, book):
            if dataset in ledger._accounts(book):
                expected = "one without a budget; a budget is fixed when it is made"
                raise InvalidProblemError("dataset", expected, repr(dataset))
            _append(db, book, lines.GRANT, dataset, limit.to_dict())
        return ledger

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets that have a budget, sorted; the file is read anew."""
        return tuple(sorted(self._read()))

    def account(self, dataset: str) -> Account:
        """Return the account of a dataset: its limit, and the charges that were not freed.

        All lines are read and added up.

        Raises
        ------
        BudgetError
            When it has no budget, or another process holds the file for half a minute.
        InvalidProblemError
            When a line was damaged.
        """
        return _of(self._read(), dataset)[0]

    def history(self, dataset: str) -> tuple[Charge, ...]:
        """List the charges to a dataset, oldest first; those that were freed are included, with the state ``"void"``.

        Cost and errors are those of :meth:`account`.
        """
        return _of(self._read(), dataset)[1]

    def reserve(self, dataset: str, guarantee: Guarantee) -> None:
        """Charge a dataset for good: the charge is on the disk when this returns.

        An error means that nothing may be released.

        Parameters
        ----------
        dataset
            Its name.
        guarantee
            Amount that the release is about to spend.

        Raises
        ------
        BudgetError
            When the dataset has no budget, not enough is left, or the charge could not be written: a full disk, or a
            file that another process holds for half a minute. In the last two cases the charge may stand.
        InvalidProblemError
            When the guarantee can't be added to the limit, the file was damaged, is another user's, or was moved or
            replaced meanwhile.

        Complexity
        ----------
        All lines are read, and the charges to the dataset added up anew.
        """
        self._charge(dataset, guarantee, None, 0)

    def open_release(
        self,
        dataset: str,
        guarantee: Guarantee,
        *,
        release_id: str,
        stated: Mapping[str, Any],
        room: int,
    ) -> tuple[Fraction, ...]:
        """Charge a dataset under a release id; the charge can be freed until :meth:`begin_reading`.

        The cost is that of :meth:`reserve`, and a look at the files beside the ledger.

        Parameters
        ----------
        dataset, guarantee
            As for :meth:`reserve`.
        release_id
            Id that no release of this ledger has.
        stated
            ``command``, ``version`` and public ``parameters``.
        room
            Bytes to reserve for the spool, where the system can.

        Returns
        -------
        tuple of Fraction
            What the dataset has left.

        Raises
        ------
        BudgetError, InvalidProblemError
            As for :meth:`reserve`, and if there is no room for the spool.

        Notes
        -----
        What a killed process left beside the ledger is removed: the files of a release that is closed, and the room
        that was reserved for one that was never charged.
        """
        return self._charge(dataset, guarantee, {"release_id": release_id, **stated}, room)

    def begin_reading(self, release_id: str) -> None:
        """Record durably that private data are about to be read; the charge can't be freed afterwards.

        All lines are read.

        Raises
        ------
        BudgetError
            If the record could not be written; it may stand.
        InvalidProblemError
            If the release is unknown, was freed, or began to read before; or as for :meth:`reserve`, for the file.
        """
        if not self._move(release_id, lines.READING):
            expected = "a release that nobody freed; nothing was read"
            raise InvalidProblemError("release", expected, release_id)

    def free(self, release_id: str) -> bool:
        """Free the charge of a release if no reading began; return whether it was freed. All lines are read.

        False for an unknown release too; the unfinished file of its spool is removed all the same. BudgetError and
        InvalidProblemError as for :meth:`reserve`, where the file can't be read or written.
        """
        freed = self._move(release_id, lines.VOID)
        spool.remove(self._path, release_id, unfinished_only=not freed)
        return freed

    def spool(self, release_id: str, packed: bytes) -> None:
        """Store the rendered outputs of a release durably beside the ledger, for its owner alone.

        `release_id` is what the charge returned, `packed` the bytes that :meth:`ReleaseOutputs.pack` rendered. Linear
        in them. An earlier spool of the release is replaced. OSError if the system refuses, InvalidProblemError for
        another id than 20 hexadecimal digits; that the release exists is not checked.
        """
        spool.write(self._path, release_id, packed)

    def spooled(self, release_id: str) -> bytes | None:
        """Return the rendered outputs of release `release_id`, or ``None`` if none are stored or the id is unknown.

        Raises
        ------
        InvalidProblemError
            If the spool is damaged, can't be read or is another user's, or the id is not 20 hexadecimal digits.
        """
        return spool.read(self._path, release_id)

    def complete(self, release_id: str, digests: Mapping[str, str]) -> None:
        """Record the SHA-256 of each output of a release, and remove its spool. Errors are those of :meth:`free`.

        `release_id` is what the charge returned; `digests` maps paths to SHA-256 in hexadecimal. A release that has an
        end keeps it. InvalidProblemError for an unknown or freed release or one that read nothing: its spool stays.
        """
        self._close(release_id, lines.DONE, outputs=dict(digests))

    def forget(self, release_id: str) -> None:
        """Close a release without a result: its spool is removed, its charge stays. Otherwise as :meth:`complete`."""
        self._close(release_id, lines.FORGOTTEN)

    def recovery(self, release_id: str) -> str:
        """Return the shell command that recovers the result of `release_id` from its spool; nothing is looked up."""
        return f"discreet budget recover {shlex.quote(str(self._path))} {release_id} -o FILE"

    def release(self, release_id: str) -> tuple[str, Charge]:
        """Return the name of the dataset and the charge of the release with the id `release_id`.

        Charges without an id, as of :meth:`reserve`, are not found. All lines are read.

        Raises
        ------
        InvalidProblemError
            If no release has this id, or a line was damaged.
        """
        releases = _releases(self._read())
        if release_id not in releases:
            raise InvalidProblemError("release", "an id that `budget list` shows", repr(release_id))
        return releases[release_id]

    def digest(self) -> str:
        """Compute a digest of all lines, which are read, to be stored where a writer of the ledger can't write.

        Returns
        -------
        str
            ``count:digest``: how many lines the ledger has, and 96 hexadecimal digits. The first 32 of them are the
            same for all digests of one ledger, the others sum up its lines.

        Raises
        ------
        BudgetError
            When a ledger of an earlier version can't be given the form of this one, which holds a salt.
        InvalidProblemError
            When a line was damaged.

        Notes
        -----
        The digest is an HMAC-SHA-256, whose key is a salt of 256 random bits that the ledger keeps. Names of datasets,
        epsilons and times are easy to guess; without a salt, readers of digests could try guesses. With it they tell
        how many lines there are, and which digests are of one ledger. The key also stands between two digests of one
        ledger: from a bare chain of hashes, the line between them could be guessed. The salt does not protect the
        lines, since all who may write the ledger can read it: that is what keeping the digest elsewhere is for.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from discreet import PureDP
        >>> one = PureDP(1, neighbors="replace-one")
        >>> ledger = Ledger.create(Path(tempfile.mkdtemp()) / "ledger.db", "census", one)
        >>> noted = ledger.digest()
        >>> noted.partition(":")[0], ledger.check(noted)
        ('1', 'extends')
        >>> ledger.reserve("census", one)
        >>> ledger.check(noted)
        'extends'
        """
        with self._open() as (_, book):
            self._accounts(book)
        if not book.salt:
            with self._open(writing=True) as (_, book):
                pass
        return lines.digest_at(book, len(book.lines))

    def check(self, digest: str) -> Literal["extends", "older", "other"]:
        """Compare the ledger, all of whose lines are read, with an earlier digest of it that was stored elsewhere.

        Parameters
        ----------
        digest
            Result of :meth:`digest`.

        Returns
        -------
        str
            ``extends`` if all lines of the digest are there unchanged, in their order; further lines may follow.
            ``older`` if the ledger has the same salt and fewer lines: an old copy, or one with the end cut off.
            ``other`` if a line of the digest was changed or replaced, or the salt differs: the ledger was written
            anew, or is another ledger.

        Raises
        ------
        InvalidProblemError
            If `digest` is not a digest, or a line was damaged.
        """
        text: object = digest
        parts = _DIGEST.fullmatch(text.strip()) if isinstance(text, str) else None
        if parts is None:
            expected = (
                "what `budget show --digest` printed: a number, a colon and 96 hexadecimal digits"
            )
            raise InvalidProblemError("digest", expected, "something else")
        count, mark = int(parts[1]), parts[2]
        with self._open() as (_, book):
            self._accounts(book)
        if not book.salt or lines.mac(book.salt, "ledger")[:32] != mark:
            return "other"
        if count > len(book.lines):
            return "older"
        return "extends" if lines.digest_at(book, count) == parts[0] else "other"

    def _charge(
        self, dataset: str, guarantee: Guarantee, release: Mapping[str, Any] | None, room: int
    ) -> tuple[Fraction, ...]:
        """Append a charge, and reserve `room` bytes for the result of its release; return what the dataset has left.

        `release` has ``release_id`` and the stated facts; ``None`` for a charge without a release, for which nothing
        is reserved. BudgetError if the budget does not cover it or there is none. All lines are read.
        """
        with self._open(writing=True) as (db, book):
            accounts = self._accounts(book)
            account, _ = _of(accounts, dataset)
            try:
                account = account.charge(guarantee)
            except BudgetError as refusal:
                raise BudgetError(f"dataset {dataset!r}: {refusal}") from None
            stated = {} if release is None else {"release": release}
            if release is not None:
                # Under the lock, so that an unfinished file of an unknown release was left by a killed process.
                spool.remove_stale(self._path, _open_states(accounts))
                spool.prepare(self._path, release["release_id"], room)
            _append(db, book, lines.CHARGE, dataset, guarantee.to_dict() | stated)
        return account.left

    def _move(self, release_id: str, kind: str, **stated: object) -> bool:
        """Append a change of the state of a release, if its state allows it; return whether it did."""
        with self._open(writing=True) as (db, book):
            accounts = self._accounts(book)
            spool.remove_stale(self._path, _open_states(accounts))
            dataset, charge = _releases(accounts).get(release_id, ("", None))
            if charge is None or kind not in lines.NEXT_STATES.get(charge.state, ()):
                return False
            _append(db, book, kind, dataset, {"id": release_id, **stated})
        return True

    def _close(self, release_id: str, kind: str, **stated: object) -> None:
        """Append the end of a release, unless it has one, and remove its spool; refuse a release that read nothing."""
        if not self._move(release_id, kind, **stated):
            state = self.release(release_id)[1].state
            if state not in {lines.DONE, lines.FORGOTTEN}:
                raise InvalidProblemError("release", "one that began to read", f"a {state} release")
        spool.remove(self._path, release_id)

    def _read(self) -> Accounts:
        """Read the account and the charges of each dataset."""
        with self._open() as (_, book):
            return self._accounts(book)

    def _accounts(self, book: Book) -> Accounts:
        """Read all charges, each with its last state; add up the ones of each dataset that were not freed.

        Linear in lines. Raises InvalidProblemError, as damage, for a line that cannot be understood, or exceeds its
        limit.
        """
        accounts: dict[str, Account] = {}
        charges: dict[str, dict[int, Charge]] = {}
        places: dict[tuple[str, str], int] = {}
        number, dataset = 0, ""
        try:
            for number, (kind, dataset, text, made) in enumerate(book.lines, start=1):
                stated, own = json.loads(text), charges.setdefault(dataset, {})
                if kind == lines.GRANT:
                    accounts[dataset] = Account(guarantee_from_dict(stated))
                elif kind == lines.CHARGE:
                    own[number] = _charge_from(stated, made)
                    places[dataset, own[number].release_id] = number
                else:
                    at = places[dataset, stated["id"]]
                    own[at] = _moved(own[at], kind, stated)
            for dataset, own in charges.items():
                for number, charge in own.items():  # noqa: B007 - the error below names it
                    if charge.state != lines.VOID:
                        accounts[dataset] = accounts[dataset].charge(charge.guarantee)
        except BudgetError:
            raise damaged(self._path, f"line {number} exceeds the limit of {dataset!r}") from None
        except (DiscreetError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
            # The hashes match, so that the line is undamaged: other code wrote it.
            detail = f"line {number} of {dataset!r} can't be understood"
            raise damaged(self._path, detail) from None
        return {
            name: (account, tuple(charges[name].values())) for name, account in accounts.items()
        }

    @contextmanager
    def _open(self, *, writing: bool = False) -> Iterator[tuple[sqlite3.Connection, Book]]:
        """Open the file for one transaction, and read all lines; writing gives it the form of this version."""
        with transaction(self._path, writing=writing) as db:
            book = lines.read(db, self._path)
            yield db, lines.rewrite(db, book.lines) if writing and not book.salt else book


def _of(found: Accounts, dataset: str) -> tuple[Account, tuple[Charge, ...]]:
    """Return the account and the charges of a dataset; raise BudgetError without a budget."""
    if dataset not in found:
        near = "".join(f"; {one!r} has one" for one in get_close_matches(dataset, found, 1))
        raise BudgetError(f"dataset {dataset!r} has no budget{near}")
    return found[dataset]


def _releases(found: Accounts) -> dict[str, tuple[str, Charge]]:
    """Return the dataset and the charge of each release, by release id."""
    return {
        charge.release_id: (dataset, charge)
        for dataset, (_, charges) in found.items()
        for charge in charges
        if charge.state != "unknown"
    }


def _open_states(found: Accounts) -> dict[str, bool]:
    """Return whether each release is open, so that its files are in use or may be recovered."""
    return {one: charge.state in lines.NEXT_STATES for one, (_, charge) in _releases(found).items()}


def _path_of(path: object) -> Path:
    """Return a path; refuse anything else."""
    if isinstance(path, str | os.PathLike):
        return Path(os.fsdecode(path))
    raise InvalidProblemError("ledger", "the path of a file", type(path).__name__)


def _charge_from(stated: dict[str, Any], made: str) -> Charge:
    """Read a charge; a charge without a release has none of its fields."""
    release = stated.pop("release", {})
    state = "reserved" if release else "unknown"
    return Charge(guarantee_from_dict(stated), made, state=state, **release)


def _moved(charge: Charge, kind: str, stated: Mapping[str, Any]) -> Charge:
    """Change the state of a release, or refuse a change that the order of a release does not have."""
    if kind not in lines.NEXT_STATES[charge.state]:
        raise ValueError(kind)
    return replace(charge, state=kind, outputs=stated.get("outputs", {}))


def _append(
    db: sqlite3.Connection, book: Book, kind: str, dataset: str, stated: Mapping[str, Any]
) -> None:
    """Append a line of a `kind` for `dataset` to the open database and to `book`, in place; the caller commits.

    The line has the time of now, or of the last line if that is later, and the facts `stated` as JSON. A grant or a
    charge more than the tolerance before the last line is refused with InvalidProblemError; the end of a release
    never is. Looks at the times of all lines.
    """
    # A release that was charged is brought to its end, whatever the clock does meanwhile.
    made = _next_time(book, clock_may_be_behind=kind not in {lines.GRANT, lines.CHARGE})
    text = json.dumps(stated, sort_keys=True)
    lines.append(db, book, lines.LedgerLine(kind, dataset, text, made))


def _now() -> str:
    """Return the time now, in UTC, as the ledger writes it."""
    return datetime.now(UTC).strftime(_TIME)


def _next_time(book: Book, *, clock_may_be_behind: bool = False) -> str:
    """Return the time of the next line, UTC to the second as text, never before that of the last one.

    Raise InvalidProblemError if far before it.
    """
    now, last = _now(), max((line.made for line in book.lines), default="")
    latest = datetime.strptime(now, _TIME).replace(tzinfo=UTC) + _CLOCK_TOLERANCE
    if latest.strftime(_TIME) < last and not clock_may_be_behind:
        expected = (
            f"a time after the last line of the ledger, {last}; set the clock of this machine"
        )
        raise InvalidProblemError("clock", expected, now)
    return max(now, last)
