"""A folder for files on their way: for the owner alone, removed at the end, and after a crash by the next run.

Outputs are written in one before they are renamed, streamed runs keep private rows in one, and so does the studio. Its
file ``lock`` is locked as long as the run lives, and the operating system lets it go when the run dies, however it
dies. So a folder whose lock can be taken was left behind.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.core.system import POSIX, is_foreign, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = ".discreet-"
"""How the names of these folders begin."""

_LOCK = "lock"


@contextmanager
def private_room(folder: Path) -> Iterator[Path]:
    """Return a context with a new private folder, removed at the end; folders of killed runs are removed first.

    Raises OSError if the folder cannot be made, or cannot be removed within five seconds.

    Parameters
    ----------
    folder
        Where it is made.

    Yields
    ------
    Path
        The new folder, readable for the owner alone.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with private_room(Path(folder)) as room:
    ...         mode = oct(room.stat().st_mode & 0o777)
    ...     mode, list(Path(folder).iterdir())
    ('0o700', [])
    """
    remove_left_behind(folder)
    room = Path(tempfile.mkdtemp(dir=folder, prefix=PREFIX))
    try:
        with make_private(room / f"{_LOCK}.new").open("wb") as lock:
            try_lock(lock.fileno())
            # Under its name only once it is locked, so that no other run takes it for one left behind.
            Path(lock.name).rename(room / _LOCK)
            yield room
    finally:
        _remove(room)


def _remove(room: Path, *, seconds: float = 5.0) -> None:
    """Remove a folder with all that is in it, also what workers write meanwhile.

    Removal is tried for `seconds`, then OSError is raised.
    """
    until = time.monotonic() + seconds
    while room.exists():
        try:
            shutil.rmtree(room)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def make_private(path: Path) -> Path:
    """Create an empty file that only its owner may read; return its path.

    Raises
    ------
    OSError
        When it is there already, or the system refuses.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     oct(make_private(Path(folder, "rows")).stat().st_mode & 0o777)
    '0o600'
    """
    path.touch(0o600, exist_ok=False)
    return path


def remove_left_behind(folder: Path) -> int:
    """Remove rooms in a folder that are this user's and whose runs are dead; return how many were removed.

    A room without a lock has been made a moment ago, or on a system that has no such locks, and is left alone; so is
    what can't be removed.
    """
    removed = 0
    for room in sorted(folder.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if _is_ours(room) and (_is_free(room / _LOCK) or _was_never_used(room)):
                shutil.rmtree(room)
                removed += 1
    return removed


def _is_ours(room: Path) -> bool:
    # Without owners nobody can tell whose a room is; it is left alone.
    """Return whether a folder is this user's own; false on systems without owners."""
    return POSIX and not room.is_symlink() and room.is_dir() and not is_foreign(room.lstat())


def _is_free(path: Path) -> bool:
    """Test whether a lock file exists and no process holds it; a free one is locked for the moment of the test.

    False too if the system can't tell. Only a missing file is no error.
    """
    try:
        with path.open("rb") as lock:
            return try_lock(lock.fileno())
    except FileNotFoundError:
        return False


def _was_never_used(room: Path, *, hours: float = 24.0) -> bool:
    """Whether the run died before it locked the folder, for which it had hours, and before it wrote anything else."""
    names = {path.name for path in room.iterdir()}
    return names <= {f"{_LOCK}.new"} and time.time() - room.lstat().st_mtime > 3600 * hours
