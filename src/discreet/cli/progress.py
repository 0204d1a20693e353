"""What is said while a command runs: on a terminal where it stands, and anywhere that kernels are compiled."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from discreet.cli.output import warn
from discreet.core.jit import compiling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.core.progress import Progress

    Callback = Callable[[Progress], None]

__all__ = ["announcing_compilation", "progress"]


@contextmanager
def announcing_compilation(*, quiet: bool) -> Iterator[None]:
    """Say on standard error that kernels are compiled, once and only when they are; no time limit counts that."""
    with compiling(lambda: warn("compiling, first run only", quiet=quiet)):
        yield


@contextmanager
def progress(stream: TextIO, *, quiet: bool, start: str = "designing") -> Iterator[Callback | None]:
    """Show where a computation stands; give the callback that moves the line, or none where nobody watches."""
    if quiet or not stream.isatty():
        yield None
        return
    from rich.console import Console

    console = Console(file=stream)
    with console.status(start) as line:
        yield lambda step: line.update(str(step))
