"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from discreet.cli.output import warn
from discreet.core.jit import clock, compiling
from discreet.core.progress import FINAL_VERIFICATION, Pace, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Callback = Callable[[Progress], None]


@contextmanager
def _telling(
    tell: Callable[[str], None], pace: Pace, start: str, *, least: float, most: float
) -> Iterator[Callback]:
    """Yield a callback that tells steps `least` seconds apart; after `most` seconds without one the last is told again.

    A stage of counted steps may be one long step: its beginning is told in any case, and that of the final verification
    if what came before was long. Before the first step `start` is told. A step without a time, as of a differentially
    private release, is not told again: the number of lines would depend on private data.
    """
    told, latest, since = time.monotonic(), Progress(0.0, start), clock()
    lock, ended = threading.Lock(), threading.Event()

    def show(step: Progress) -> None:
        nonlocal told, latest, since
        with lock:
            may_be_long = step.total is not None or (
                step.stage == FINAL_VERIFICATION and (step.elapsed or 0.0) > least
            )
            begins = may_be_long and step.stage != latest.stage
            latest, since = step, clock()
            text, now = pace(step), time.monotonic()
            if begins or now - told >= least:
                told = now
                tell(text)

    def repeat() -> None:
        nonlocal told
        while not ended.wait(max(told + most - time.monotonic(), 0.01)):
            with lock:
                if time.monotonic() - told >= most:
                    told = time.monotonic()
                    if latest.elapsed is not None:
                        tell(pace(replace(latest, elapsed=latest.elapsed + clock() - since)))

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
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
        with _telling(warn, pace, start, least=2.0, most=2.0) as show:
            yield show
        return
    from rich.console import Console

    with (
        Console(file=stream).status(start) as line,
        _telling(line.update, pace, start, least=0.0, most=1.0) as show,
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
