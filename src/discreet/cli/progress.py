"""One line that moves while a design runs, on a terminal and nowhere else."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.metricdp._search import Iteration

    Callback = Callable[[Iteration], None]

__all__ = ["progress"]


@contextmanager
def progress(stream: TextIO, *, quiet: bool) -> Iterator[Callback | None]:
    """Show where a design stands; give the callback that moves the line, or none where nobody watches."""
    if quiet or not stream.isatty():
        yield None
        return
    from rich.console import Console

    console = Console(file=stream)
    with console.status("designing") as line:

        def on_iteration(step: Iteration) -> None:
            stands = "no verified channel yet"
            if math.isfinite(step.upper):
                stands = f"loss {step.upper:.6g}, gap {step.gap:.2%}"
            line.update(f"{step.elapsed:.1f} s, {step.method}, {stands}")

        yield on_iteration
