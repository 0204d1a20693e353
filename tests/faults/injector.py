"""Faults at numbered system calls of this process: opens for writing, writes, syncs, renames and ledger statements.

Every call of these kinds is an event with a number. At one of them a fault is injected: an error of the system before
the call is made, an error after it was made, or a SIGKILL before or after it.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FAULTS = ("ENOSPC", "EIO", "EACCES", "kill before", "kill after", "EIO after")

_WRITING = os.O_WRONLY | os.O_RDWR


class Injector:
    """Number the events of this process, and inject one fault at one of them.

    Parameters
    ----------
    at
        Number of the event; -1 injects nothing.
    fault
        One of :data:`FAULTS`.
    """

    def __init__(self, at: int = -1, fault: str = "") -> None:
        self.at, self.fault = at, fault
        self.events: list[str] = []

    def install(self) -> None:
        """Replace the functions of the modules; meant for a process that ends after it."""
        true_open, true_io = os.open, io.open

        def opened(path: Any, flags: int, *more: Any, **named: Any) -> Any:
            if not flags & _WRITING:
                return true_open(path, flags, *more, **named)
            return self._run(f"open {_name(path)}", true_open, path, flags, *more, **named)

        injector = self

        class Raw(io.FileIO):
            """A file whose writes are events."""

            def write(self, data: Any, /) -> Any:
                return injector._run(f"write {_name(self.name)}", super().write, data)

        def open_file(file: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
            writes = "b" in mode and set(mode) & set("wax+")
            if not writes or "opener" in named or str(file) == os.devnull:
                return true_io(file, mode, *more, **named)
            raw = self._run(f"open {_name(file)}", Raw, file, mode.replace("b", ""))
            return io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)

        os.open, io.open = opened, open_file
        for name in ("fsync", "replace", "rename", "posix_fallocate"):
            true = getattr(os, name)

            def event(*given: Any, name: str = name, true: Any = true, **named: Any) -> Any:
                where = "" if isinstance(given[0], int) else f" {_name(given[-1])}"
                return self._run(f"{name}{where}", true, *given, **named)

            setattr(os, name, event)

        class Connection(sqlite3.Connection):
            """A connection whose statements are events."""

            def execute(self, sql: str, *more: Any) -> Any:
                return injector._run(f"sql {sql} {more}", super().execute, sql, *more)

        true_connect = sqlite3.connect
        sqlite3.connect = lambda *given, **named: true_connect(  # type: ignore[assignment]
            *given, factory=Connection, **named
        )

    def _run(self, name: str, true: Callable[..., Any], *given: Any, **named: Any) -> Any:
        number, fault = len(self.events), self.fault
        self.events.append(name)
        if number != self.at:
            return true(*given, **named)
        if fault == "kill before":
            os.kill(os.getpid(), signal.SIGKILL)
        if not fault.endswith("after"):
            raise _error(name, fault)
        result = true(*given, **named)
        if fault == "kill after":
            os.kill(os.getpid(), signal.SIGKILL)
        if name.startswith("open "):
            return result
        # A call that fails returns nothing; a cursor that this frame kept would keep the lock of its connection.
        del result
        raise _error(name, "EIO")


def _error(name: str, fault: str) -> Exception:
    """Return the error that the system reports."""
    if not name.startswith("sql "):
        number = getattr(errno, fault)
        return OSError(number, os.strerror(number))
    codes = {"ENOSPC": sqlite3.SQLITE_FULL, "EACCES": sqlite3.SQLITE_READONLY}
    error = sqlite3.OperationalError("database or disk is full" if fault == "ENOSPC" else fault)
    error.sqlite_errorcode = codes.get(fault, sqlite3.SQLITE_IOERR)
    return error


def _name(path: Any) -> str:
    return path if isinstance(path, str) and "/" not in path else Path(str(path)).name
