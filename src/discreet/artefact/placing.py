"""Put a file in its place, whole or not at all: written beside it, for the owner alone, and renamed."""

from __future__ import annotations

import os
import signal
import stat
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError
from discreet.core.system import creation_rights, sync_folder
from discreet.tables.rooms import make_private, private_room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OWNER_RIGHTS = stat.S_IRUSR | stat.S_IWUSR
"""Permissions of a file that its owner alone may read."""


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of the file at `path` by `data`.

    Written beside it and renamed, so that no reader sees half of it.

    Raises
    ------
    InvalidProblemError
        When the system refuses; nothing is left behind.
    """
    try:
        put_file(path, data)
    except OSError as error:
        raise unwritable(path, error) from None


def put_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write as :func:`replace_file` does, for callers with words of their own for what the system refuses.

    A file that is replaced keeps its permissions: who had made it private finds it private.

    Parameters
    ----------
    path
        The file.
    data
        What it is to hold.
    private
        Make it readable for its owner alone, whatever it was.

    Raises
    ------
    OSError
        When the system refuses; nothing is left behind.
    """
    with beside(path) as new:
        fill(new, data)
        put_in_place(new, path, private=private)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yield an empty file on the same disk as another one, readable for its owner alone until it is in place.

    If the process is killed, the next run that writes to the folder removes the file.

    A context; the file is removed at its end unless it was renamed.

    Raises
    ------
    OSError
        When the system refuses.
    """
    with private_room(path.absolute().parent) as room:
        yield make_private(room / f"new{path.suffix}")


def fill(new: Path, data: bytes) -> None:
    """Replace the content of the existing file `new`, and return once the data is on the disk; raises OSError."""
    # In place, for its space may be reserved.
    with new.open("r+b") as file:
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def keep(new: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with new.open("r+b") as file:
        os.fsync(file.fileno())


def put_in_place(new: Path, path: Path, *, private: bool = False) -> None:
    """Rename file `new` of :func:`beside` to `path`, and only then let others read it who may read what it replaces.

    With `private` its owner alone may read it.

    Raises
    ------
    OSError
        When the system refuses; then nothing was renamed.
    """
    mode = OWNER_RIGHTS if private else _mode_of(path)
    new.replace(path)
    if mode != OWNER_RIGHTS:
        # Some disks know no permissions; there nobody could have been kept out.
        with suppress(PermissionError):
            path.chmod(mode)
    sync_folder(str(path.absolute().parent))


def _mode_of(path: Path) -> int:
    """Return the permissions of a file, or the default ones of this process for a file that does not exist."""
    if path.is_file():
        return stat.S_IMODE(path.stat().st_mode)
    return creation_rights()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer those of Ctrl-C, SIGTERM and SIGHUP that have a Python handler until a few renames are done.

    The handler of the first one runs at the end, also if the block raises; later ones are dropped. A signal with the
    system's own action, such as SIGTERM by default, is not deferred, and outside of the main thread none is.
    """
    waiting: list[tuple[int, Any]] = []
    former: dict[int, Callable[[int, Any], Any]] = {}
    if threading.current_thread() is threading.main_thread():
        names = ("SIGINT", "SIGTERM", "SIGHUP")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        heard = {number: signal.getsignal(number) for number in numbers}
        former = {number: handler for number, handler in heard.items() if callable(handler)}
    for number in former:
        signal.signal(number, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if waiting:
            former[waiting[0][0]](*waiting[0])


def unwritable(path: Path, error: OSError) -> InvalidProblemError:
    """Return the error for a file that the system refuses to write."""
    return InvalidProblemError("path", "a file that can be written", f"{path}: {error.strerror}")
