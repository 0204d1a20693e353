"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, final

from discreet.cli.output import warn
from discreet.core.jit import compiling
from discreet.core.progress import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.core.progress import Progress

    Callback = Callable[[Progress], None]


@final
class _Lines:
    """Progress in lines, where there is no terminal: one every `seconds`, the first after as many."""

    def __init__(self, pace: Pace, *, seconds: float = 2.0) -> None:
        self._pace, self._last, self._stage = pace, time.monotonic(), ""
        self._seconds = seconds

    def show(self, step: Progress) -> None:
        """Print a step on a line of its own if a counted stage begins or the seconds have passed since the last one."""
        text, now = self._pace(step), time.monotonic()
        # A stage of counted steps may be one long step: its beginning is shown in any case.
        begins = step.total is not None and step.stage != self._stage
        if begins or now - self._last >= self._seconds:
            self._last, self._stage = now, step.stage
            warn(text)


@contextmanager
def announcing_compilation(*, quiet: bool) -> Iterator[None]:
    """Report on standard error, once, if kernels are compiled in the block; no time limit counts that."""
    with compiling(lambda: warn("compiling, first run only", quiet=quiet)):
        yield


@contextmanager
def progress(
    stream: TextIO, *, quiet: bool, start: str = "designing", pace: Pace | None = None
) -> Iterator[Callback | None]:
    """Yield a callback that shows stage, share done and time left of a computation; None if `quiet`.

    On a terminal it keeps one line, which begins with `start`; elsewhere it prints a line every two seconds. `pace`
    estimates the time left.
    """
    if quiet:
        yield None
        return
    pace = pace or Pace()
    if not stream.isatty():
        yield _Lines(pace).show
        return
    from rich.console import Console

    with Console(file=stream).status(start) as line:
        yield lambda step: line.update(pace(step))
