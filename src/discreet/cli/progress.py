"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from discreet.cli.output import warn
from discreet.core.jit import clock, compiling
from discreet.core.progress import FINAL_VERIFICATION, Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.core.progress import Progress

    Callback = Callable[[Progress], None]


def _in_lines(pace: Pace, *, seconds: float = 2.0) -> Callback:
    """Return a callback that prints progress where there is no terminal: a line every `seconds`, the first after them.

    A stage of counted steps may be one long step: its beginning is shown in any case, and that of the final
    verification if what came before was long.
    """
    last, stage = time.monotonic(), ""

    def show(step: Progress) -> None:
        nonlocal last, stage
        text, now = pace(step), time.monotonic()
        may_be_long = step.total is not None or (
            step.stage == FINAL_VERIFICATION and (step.elapsed or 0.0) > seconds
        )
        begins = may_be_long and step.stage != stage
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


class Stages:
    """When the stages of a design began: start, search, final verification and writing."""

    def __init__(self) -> None:
        self._begun = {"start": clock()}

    def watch(self, show: Callback | None) -> Callback:
        """Return a callback that notes when search and verification begin, and calls `show`."""

        def note(step: Progress) -> None:
            self._begun.setdefault("search", clock() - (step.elapsed or 0.0))
            if step.stage == FINAL_VERIFICATION:
                self._begun["verification"] = clock()
            if show is not None:
                show(step)

        return note

    def begin(self, stage: str) -> None:
        """Note that a stage begins."""
        self._begun[stage] = clock()

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each stage until now, those that did not begin left out."""
        ends = [*self._begun.values(), clock()][1:]
        return {name: end - at for (name, at), end in zip(self._begun.items(), ends, strict=True)}
