"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from discreet.cli.output import warn
from discreet.core.jit import compiling
from discreet.core.progress import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.core.progress import Progress

    Callback = Callable[[Progress], None]


def _in_lines(pace: Pace, *, seconds: float = 2.0) -> Callback:
    """Return a callback that prints progress where there is no terminal: a line every `seconds`, the first after them.

    A stage of counted steps may be one long step: its beginning is shown in any case.
    """
    last, stage = time.monotonic(), ""

    def show(step: Progress) -> None:
        nonlocal last, stage
        text, now = pace(step), time.monotonic()
        begins = step.total is not None and step.stage != stage
        if begins or now - last >= seconds:
            last, stage = now, step.stage
            warn(text)

    return show


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
        yield _in_lines(pace)
        return
    from rich.console import Console

    with Console(file=stream).status(start) as line:
        yield lambda step: line.update(pace(step))
