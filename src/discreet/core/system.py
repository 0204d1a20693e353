"""What differs between systems, in one place: owners and rights of files, locks, and renamings that last.

POSIX has owners, rights, locks of whole files and folders that can be synchronized. Windows has none of the first two
in this form: there a folder's own rights decide who reads and writes a file, its locks are of single bytes, and it
makes a renaming last in its own time. Nothing else in the library looks at which system it runs on.
"""

from __future__ import annotations

import ctypes
import os
import stat
from contextlib import suppress

POSIX = os.name == "posix"
"""Whether files have owners and rights."""


def is_foreign(status: os.stat_result) -> bool:
    """Whether another user owns a file; false on systems without POSIX owners.

    Parameters
    ----------
    status
        Of the file.
    """
    return POSIX and status.st_uid != os.geteuid()


def may_be_written_by_others(status: os.stat_result) -> bool:
    """Whether users besides the owner may write a file; false on systems without POSIX rights.

    Parameters
    ----------
    status
        Of the file.
    """
    return POSIX and bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def creation_rights() -> int:
    """Return the permission bits, such as 0o644, of files that this process creates.

    Notes
    -----
    POSIX has no way to look but to set; a file that another thread makes meanwhile is a private one.

    Examples
    --------
    >>> 0 <= creation_rights() <= 0o666
    True
    """
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def return_freed_blocks(least: int = 1 << 22) -> None:
    """Return memory of `least` bytes or more to the system as soon as it is freed, in this process.

    Nothing happens where the C library has no such option. By default glibc keeps freed blocks of up to 32 MiB for
    later ones: designs for 2,000 secrets, whose tables are that large, took 1.38 GB, and 1.19 with this, November 2026.
    """
    if POSIX:
        with suppress(AttributeError, OSError):
            # M_MMAP_THRESHOLD of malloc.h.
            ctypes.CDLL(None).mallopt(-3, least)


def lock(handle: int) -> None:
    """Wait until a file is locked for this process alone; it is so until it is closed.

    Parameters
    ----------
    handle
        Of a file that was opened for writing.

    Raises
    ------
    OSError
        Where the system has no lock for it, or after ten seconds on Windows.
    """
    if POSIX:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX)
    else:
        import msvcrt

        # One byte stands for all: each lock of the file is one of it.
        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]


def try_lock(handle: int) -> bool:
    """Lock a file until it is closed; tell whether that was possible at once.

    POSIX alone; elsewhere it is always False.

    Parameters
    ----------
    handle
        Of an open file.

    Returns
    -------
    bool
        False where another process holds it, and where it can't be known.
    """
    if not POSIX:
        # A file that is open for reading can't be locked there: that it is free is not known.
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def sync_folder(folder: str) -> None:
    """Write a folder's renamings to disk; systems that cannot open folders do so in their own time.

    Parameters
    ----------
    folder
        Its path.

    Raises
    ------
    OSError
        Where the disk refuses.
    """
    if not POSIX:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
