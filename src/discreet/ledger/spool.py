"""The spool of a ledger: rendered outputs of a release, in a file beside it until all of them are written.

Trusted: the guarantee rests on this code, since a kept result must not be drawn a second time.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.system import is_foreign, sync_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

_ID = re.compile("[0-9a-f]{20}")

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

_DIGEST_BYTES = hashlib.sha256().digest_size


def prepare(ledger: Path, release_id: str, room: int) -> None:
    """Create the file of a spool under its unfinished name, and reserve space where the system can.

    `room` is in bytes. InvalidProblemError for another id than 20 hexadecimal digits; an unfinished file that is
    there already is removed, and BudgetError raised.

    `ledger` is the path of the ledger, beside whose true file the spool lies.

    Raises
    ------
    BudgetError
        If the file can't be created, or the disk has no room for it.
    """
    _, unfinished = _paths(ledger, release_id)
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if hasattr(os, "posix_fallocate") and room:
                os.posix_fallocate(handle, 0, room)
        finally:
            os.close(handle)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        detail = f"no room for the result beside the ledger: {error.strerror}"
        raise BudgetError(f"ledger {ledger}: {detail}; nothing was charged") from None


def write(ledger: Path, release_id: str, packed: bytes) -> None:
    """Write a spool durably, completely or not at all; an earlier one of the same release is replaced.

    InvalidProblemError for another id than 20 hexadecimal digits. A folder that can't be synced is no error.

    `ledger` is the ledger's path, `packed` the rendered outputs; linear in them.

    Raises
    ------
    OSError
        If the system refuses.
    """
    final, unfinished = _paths(ledger, release_id)
    # Made anew if it is missing, so that a folder that was cleared does not cost the result.
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | _NO_LINK, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(hashlib.sha256(packed).digest())
        file.write(packed)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(final)
    # The result can be recovered from here on, unless power fails before the system writes the folder itself.
    with suppress(OSError):
        sync_folder(str(final.parent))


def read(ledger: Path, release_id: str) -> bytes | None:
    """Read a spool, or return ``None`` if there is none.

    InvalidProblemError also for another id than 20 hexadecimal digits. Linear in the bytes.

    The result is what :func:`write` was given for `release_id` beside `ledger`.

    Raises
    ------
    InvalidProblemError
        If it is damaged, can't be read, or is another user's.
    """
    final, _ = _paths(ledger, release_id)
    try:
        handle = os.open(final, os.O_RDONLY | _NO_LINK)
        with os.fdopen(handle, "rb") as file:
            if is_foreign(os.fstat(file.fileno())):
                raise InvalidProblemError("release", "a spool of yours", "another user's")
            digest, packed = file.read(_DIGEST_BYTES), file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        got = error.strerror or type(error).__name__
        raise InvalidProblemError("release", "a spool that can be read", got) from None
    if hashlib.sha256(packed).digest() != digest:
        raise InvalidProblemError("release", "a whole spool", "a damaged one")
    return packed


def remove(ledger: Path, release_id: str, *, unfinished_only: bool = False) -> None:
    """Remove the spool of a release, or its unfinished file only, if the system allows it; no error otherwise.

    A file that can't be removed stays, readable for its owner alone.

    InvalidProblemError only for another id than 20 hexadecimal digits.
    """
    final, unfinished = _paths(ledger, release_id)
    for path in (unfinished,) if unfinished_only else (unfinished, final):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def remove_stale(ledger: Path, releases: Mapping[str, bool]) -> None:
    """Remove files that a killed process left: those of closed releases, and unfinished ones of unknown releases.

    One pass over the names in the ledger's folder; errors of the system are ignored.

    Parameters
    ----------
    ledger
        Path of the ledger, which is locked: under the lock the unfinished file of a new release does not exist yet.
    releases
        Whether each release of the ledger is open, by release id.
    """
    true = Path(os.path.realpath(ledger))
    name = re.compile(rf"{re.escape(true.name)}\.({_ID.pattern})\.(spool|unfinished)")
    with suppress(OSError):
        for path in true.parent.iterdir():
            if (match := name.fullmatch(path.name)) is None or releases.get(match[1]):
                continue
            # The spool of an unknown release may be its only result: the ledger may be an old copy.
            if match[1] in releases or match[2] == "unfinished":
                path.unlink(missing_ok=True)


def _paths(ledger: Path, release_id: str) -> tuple[Path, Path]:
    """Return the paths of a complete spool and of a spool that is being written; refuse no release id."""
    if not _ID.fullmatch(release_id):
        raise InvalidProblemError(
            "release", "a release id: 20 hexadecimal digits", "something else"
        )
    true = os.path.realpath(ledger)
    return Path(f"{true}.{release_id}.spool"), Path(f"{true}.{release_id}.unfinished")
