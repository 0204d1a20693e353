"""Files that only their owner may read, written whole or not at all, and changed by one process at a time."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["default_folder", "locked", "read_private", "write_private"]

_OWNER = stat.S_IRUSR | stat.S_IWUSR


def default_folder(kind: str) -> Path:
    """Where this user's files of a kind are kept: ``cache`` or ``state``, as the XDG base directories say.

    Parameters
    ----------
    kind
        ``cache`` for what can be fetched again, ``state`` for what can't.
    """
    fallback = {"cache": ".cache", "state": ".local/state"}[kind]
    named = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    base = Path(named) if Path(named).is_absolute() else Path.home() / fallback
    return base / "discreet"


def write_private(path: Path, data: bytes) -> None:
    """Replace a file, mode 0600, on the disk before this returns; a reader sees the old one or the new one.

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
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync(path.parent)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidProblemError(
            "file", f"{path.name} in a folder that can be written", reason
        ) from None


def read_private(path: Path, *, most: int) -> bytes | None:
    """Read a file that only its owner may have written, or nothing when there is none.

    Parameters
    ----------
    path
        The file.
    most
        Bytes that it may have.

    Raises
    ------
    InvalidProblemError
        When it belongs to somebody else, others may write it, it is too large, or it can't be read.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            # Windows has no owners of this kind; there the folder's own rights decide.
            if sys.platform != "win32" and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                expected = f"{path.name} to be yours, and writable by nobody else"
                raise InvalidProblemError("file", expected, "other rights")
            data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidProblemError("file", f"{path.name} to be readable", reason) from None
    if len(data) > most:
        raise InvalidProblemError("file", f"{path.name} of at most {most} bytes", "a larger one")
    return data


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file: whoever else asks waits. It falls when the process ends, however it ends.

    Parameters
    ----------
    path
        The file; the lock is a file beside it, for the file itself is replaced.

    Raises
    ------
    InvalidProblemError
        When the lock can't be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, _OWNER)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidProblemError(
            "file", f"{path.name} in a folder that can be written", reason
        ) from None
    try:
        _lock(handle)
        yield
    finally:
        # Closing gives the lock back.
        os.close(handle)


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)


def _sync(folder: Path) -> None:
    """Make a renaming last; where folders can't be opened the system does it in its own time."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
