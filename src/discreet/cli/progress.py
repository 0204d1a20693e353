"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from discreet.cli.output import warn
from discreet.core.jit import clock, compiling
from discreet.core.progress import FINAL_VERIFICATION, Pace, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Callback = Callable[[Progress], None]


@contextmanager
def _status_lines(
    put: Callable[[str], None], pace: Pace, start: str, *, least: float, most: float
) -> Iterator[Callback]:
    """Yield a callback that puts a line for a step, `least` seconds after the last line or later.

    After `most` seconds without a line the last step is repeated, with the seconds since; until the first step, `start`
    is. A stage of counted steps may be one long step: its beginning has a line in any case, and that of the final
    verification if the search was long. No step without a time is repeated, as of a differentially private release: the
    number of lines would depend on private data.
    """
    line_at, latest, since = time.monotonic(), Progress(0.0, start), clock()
    lock, end = threading.Lock(), threading.Event()

    def show(step: Progress) -> None:
        nonlocal line_at, latest, since
        with lock:
            may_be_long = step.total is not None or (
                step.stage == FINAL_VERIFICATION and (step.elapsed or 0.0) > least
            )
            begins = may_be_long and step.stage != latest.stage
            latest, since = step, clock()
            text, now = pace(step), time.monotonic()
            if begins or now - line_at >= least:
                line_at = now
                put(text)

    def repeat() -> None:
        nonlocal line_at
        while not end.wait(max(line_at + most - time.monotonic(), 0.01)):
            with lock:
                if time.monotonic() - line_at >= most:
                    line_at = time.monotonic()
                    if latest.elapsed is not None:
                        put(pace(replace(latest, elapsed=latest.elapsed + clock() - since)))

    thread = threading.Thread(target=repeat, daemon=True)
    # Without memory for one more thread nothing is told again.
    with suppress(RuntimeError):
        thread.start()
    try:
        yield show
    finally:
        end.set()
        if thread.ident is not None:
            thread.join()


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
        with _status_lines(warn, pace, start, least=2.0, most=2.0) as show:
            yield show
        return
    from rich.console import Console

    with (
        Console(file=stream).status(start) as line,
        _status_lines(line.update, pace, start, least=0.0, most=1.0) as show,
    ):
        yield show


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
