"""A folder for private rows on their way: for the owner alone, removed at the end, and after a crash by the next run.

Its file ``lock`` is locked as long as the run lives, and the operating system lets it go when the run dies, however it
dies. So a folder whose lock can be taken was left behind.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["remove_left_behind", "spill_room"]

PREFIX = ".discreet-"

_LOCK = "lock"


@contextmanager
def spill_room(folder: Path) -> Iterator[Path]:
    """Make a folder in another one, and remove it when done; first remove what runs that were killed left there.

    Parameters
    ----------
    folder
        Where it is made.

    Yields
    ------
    Path
        The new folder, readable for the owner alone.
    """
    remove_left_behind(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=PREFIX) as name:
        room = Path(name)
        new = room / f"{_LOCK}.new"
        with new.open("wb") as lock:
            _try_lock(lock)
            # Under its name only once it is locked, so that no other run takes it for one left behind.
            new.rename(room / _LOCK)
            yield room


def remove_left_behind(folder: Path) -> int:
    """Remove rooms in a folder that are this user's and whose runs are dead; give how many.

    A room without a lock has been made a moment ago, or on a system that has no such locks, and is left alone.
    """
    removed = 0
    for room in sorted(folder.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if not room.is_symlink() and _is_ours(room) and _is_free(room / _LOCK):
                shutil.rmtree(room)
                removed += 1
    return removed


def _is_ours(room: Path) -> bool:
    return hasattr(os, "getuid") and room.stat().st_uid == os.getuid()


def _is_free(path: Path) -> bool:
    with path.open("rb") as lock:
        return _try_lock(lock)


def _try_lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; tell whether that was possible."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
