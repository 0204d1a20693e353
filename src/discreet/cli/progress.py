"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, final

from discreet.cli.output import warn
from discreet.core.jit import compiling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.core.progress import Progress

    Callback = Callable[[Progress], None]

__all__ = ["SECONDS_BETWEEN_LINES", "announcing_compilation", "progress", "steps"]

SECONDS_BETWEEN_LINES = 2.0
"""Seconds between two lines where there is no terminal."""


@final
class _Lines:
    """Says where a computation stands in lines, the first after some seconds and then as rarely."""

    def __init__(self, every: float) -> None:
        self._every, self._last = every, time.monotonic()

    def show(self, step: object) -> None:
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            warn(str(step))


def steps(*, quiet: bool) -> Callable[[object], None] | None:
    """Return a callback that shows the steps of a search: each on a terminal, else one every two seconds."""
    if quiet:
        return None
    return _Lines(0.0 if sys.stderr.isatty() else SECONDS_BETWEEN_LINES).show


@contextmanager
def announcing_compilation(*, quiet: bool) -> Iterator[None]:
    """Report on standard error, once, that kernels are compiled; no time limit counts that."""
    with compiling(lambda: warn("compiling, first run only", quiet=quiet)):
        yield


@contextmanager
def progress(stream: TextIO, *, quiet: bool, start: str = "designing") -> Iterator[Callback | None]:
    """Show the steps of a computation: in one line on a terminal, else in several; not at all if `quiet`."""
    if quiet:
        yield None
        return
    if not stream.isatty():
        yield _Lines(SECONDS_BETWEEN_LINES).show
        return
    from rich.console import Console

    console = Console(file=stream)
    with console.status(start) as line:
        yield lambda step: line.update(str(step))
