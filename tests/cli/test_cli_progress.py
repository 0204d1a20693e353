from __future__ import annotations

import io
import math

import pytest

from discreet.cli.progress import progress
from discreet.metricdp._search import Iteration


class Terminal(io.StringIO):
    """A stream that says that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_nothing_moves_where_nobody_watches() -> None:
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with progress(stream, quiet=quiet) as on_iteration:
            assert on_iteration is None
        assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        (Iteration(1.5, "Direct", 0.0, math.inf, 1.0), "1.5 s, Direct, no verified channel yet"),
        (Iteration(2.5, "Kernel", 0.9, 1.0, 0.1), "2.5 s, Kernel, loss 1, gap 10.00%"),
    ],
)
def test_a_terminal_sees_where_the_design_stands(step: Iteration, seen: str) -> None:
    stream = Terminal()
    with progress(stream, quiet=False) as on_iteration:
        assert on_iteration is not None
        on_iteration(step)
    assert seen in stream.getvalue()
