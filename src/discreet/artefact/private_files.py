"""Files that only their owner may read, written whole or not at all, and changed by one process at a time."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.artefact.placing import OWNER_RIGHTS, put_file
from discreet.core.errors import InvalidProblemError
from discreet.core.system import is_foreign, lock, may_be_written_by_others

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Windows has none of the three; there a link needs a right of its own to be made.
_NO_LINK, _NO_WAIT, _NO_CHILD = (
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")
)


def default_folder(kind: str) -> Path:
    """Return the folder of this user's files of a kind, by the XDG base directories; it is not created.

    Parameters
    ----------
    kind
        ``cache`` for what can be fetched again, ``state`` for what can't.

    Raises
    ------
    InvalidProblemError
        Where this user has no home: a ledger in whatever folder one happens to be in would be another each time.
    """
    fallback = {"cache": ".cache", "state": ".local/state"}[kind]
    named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    if Path(named).is_absolute():
        return Path(named) / "discreet"
    try:
        home = Path.home()
    except RuntimeError:
        home = Path()
    if not home.is_absolute():
        raise InvalidProblemError(f"--{kind}", "a name here, or HOME with a whole path", "neither")
    return home / fallback / "discreet"


def write_private(path: Path, data: bytes) -> None:
    """Replace a file, mode 0600, on the disk before this returns; a reader sees the old one or the new one.

    Linear in the bytes; no lock is taken.

    Parameters
    ----------
    path
        The file. Its folder is made, mode 0700, when it is not there.
    data
        What it is to hold.

    Raises
    ------
    InvalidProblemError
        When it can't be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_private(Path(folder, "new", "a"), b"one")
    ...     read_private(Path(folder, "new", "a"), most=10)
    b'one'
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        put_file(path, data, private=True)
    except OSError as error:
        raise _unwritable(path, error) from None


def read_private(path: Path, *, most: int) -> bytes | None:
    """Read a file that only its owner may write, or return ``None`` if there is no file.

    Parameters
    ----------
    path
        The file.
    most
        Bytes that it may have.

    Raises
    ------
    InvalidProblemError
        When it belongs to another user, others may write it, it is too large, no regular file, or can't be read.
    """
    contents = _read(path, most, flags=0)
    return None if contents is None else contents[0]


@final
class Held:
    """A locked file and its contents; see :func:`locked_file`."""

    def __init__(self, path: Path, most: int, has_lock: Callable[[], bool]) -> None:
        self._path = path
        self._true = _resolved(path)
        self._has_lock = has_lock
        self.data: bytes | None = None
        self._file: tuple[int, int] | None = None
        contents = _read(self._true, most, flags=_NO_LINK, alone=True)
        if contents is not None:
            self.data, self._file = contents

    def replace(self, data: bytes) -> None:
        """Write the file anew, if it still is the one that was read.

        Raises
        ------
        InvalidProblemError
            When it was exchanged or got a second name, a link leads elsewhere, the lock was removed, or it can't be
            written.
        """
        same = self._identity() == self._file and _resolved(self._path) == self._true
        if not same or not self._has_lock():
            expected = f"{_name(self._path)} to stay the file that was opened; nothing is reported"
            raise InvalidProblemError("file", expected, "another one, or another lock, by now")
        write_private(self._true, data)
        self.data, self._file = data, self._identity()

    def _identity(self) -> tuple[int, int] | None:
        """Return device and inode of the file that has the name now, or ``None``; refuse one with a second name."""
        try:
            status = self._true.lstat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unwritable(self._path, error) from None
        _refuse_names(self._true, status)
        return status.st_dev, status.st_ino


@contextlib.contextmanager
def locked_file(path: Path, *, most: int) -> Iterator[Held]:
    """Lock a file and read it, so that it can be replaced; a link stands for its target.

    Parameters
    ----------
    path
        The file, which need not be there. It is resolved with all folders above it: were a link replaced, it and what
        its target would be two files from then on, each with a part of the spent budget.
    most
        Bytes that it may have.

    Raises
    ------
    InvalidProblemError
        As for :func:`read_private`, and when it has a second name (a hard link), which would keep what the first had.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked_file(Path(folder, "a"), most=10) as file:
    ...     file.data
    ...     file.replace(b"one")
    ...     file.data
    b'one'
    """
    with locked(_resolved(path)) as has_lock:
        yield Held(path, most, has_lock)


@contextlib.contextmanager
def locked(path: Path, *, max_tries: int = 100) -> Iterator[Callable[[], bool]]:
    """Lock a file: other processes wait. The system releases the lock when the process ends, however it ends.

    Parameters
    ----------
    path
        The file; the lock is a file beside it, for the file itself is replaced.
    max_tries
        Locks that are made where each is removed before it is held: only a program at fault removes so many.

    Yields
    ------
    callable
        Returns whether this lock still excludes others: false once its file was removed.

    Raises
    ------
    InvalidProblemError
        When the lock can't be made.
    """
    beside = path.with_name(f".{path.name}.lock") if path.name else path
    with contextlib.ExitStack() as stack:
        for _ in range(max_tries):
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | _NO_LINK | _NO_CHILD
                handle = os.open(beside, flags, OWNER_RIGHTS)
            except OSError as error:
                raise _unwritable(path, error) from None
            # Closing gives the lock back.
            stack.callback(os.close, handle)
            lock(handle)
            # Who had waited for a file that was removed meanwhile holds nothing.
            if _is_same(handle, beside):
                break
            stack.close()
        else:
            expected = f"{_name(path)} beside a lock that stays"
            raise InvalidProblemError("file", expected, "one that is removed again and again")
        yield lambda: _is_same(handle, beside)


def _is_same(handle: int, path: Path) -> bool:
    """Return whether an open file still is the one at a path; false if there is none."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


def _resolved(path: Path) -> Path:
    """Follow all links: of a file that is not there too, and of the folders above it; refuse no path."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        raise InvalidProblemError("file", "the name of a file", ascii(str(path))[:80]) from None


def _read(
    path: Path, most: int, *, flags: int, alone: bool = False
) -> tuple[bytes, tuple[int, int]] | None:
    """Read a file of at most `most` bytes; return them with its device and inode, or ``None`` when there is none.

    `flags` are more flags for opening it. Raises InvalidProblemError for a larger file, no regular one, or one that
    others own or may write; with `alone`, for one that has a second name.
    """
    try:
        # Without waiting: a pipe would, for a writer.
        handle = os.open(path, os.O_RDONLY | _NO_WAIT | _NO_CHILD | flags)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidProblemError("file", f"{_name(path)} to be readable", "no file")
            # Windows has no owners of this kind; there the folder's own rights decide.
            if is_foreign(status) or may_be_written_by_others(status):
                expected = f"{_name(path)} to be yours, and writable by nobody else"
                raise InvalidProblemError("file", expected, "other rights")
            if alone:
                _refuse_names(path, status)
            data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidProblemError("file", f"{_name(path)} to be readable", reason) from None
    if len(data) > most:
        raise InvalidProblemError("file", f"{_name(path)} of at most {most} bytes", "a larger one")
    return data, (status.st_dev, status.st_ino)


def _refuse_names(path: Path, status: os.stat_result) -> None:
    """Raise InvalidProblemError for a file with several hard links."""
    if status.st_nlink != 1:
        expected = f"{_name(path)} to have one name, since another would keep what was spent before"
        raise InvalidProblemError("file", expected, f"{status.st_nlink} hard links")


def _unwritable(path: Path, error: OSError) -> InvalidProblemError:
    """Return the error for a file that cannot be written, with the system's reason."""
    reason = error.strerror or type(error).__name__
    return InvalidProblemError("file", f"{_name(path)} in a folder that can be written", reason)


def _name(path: Path) -> str:
    """Return a file's name for messages, at most 100 letters."""
    return path.name if len(path.name) <= 100 else f"{path.name[:100]}..."
