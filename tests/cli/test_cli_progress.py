from __future__ import annotations

import io

import pytest
from numba.core import event

from discreet.cli.progress import announcing_compilation, progress
from discreet.core.jit import kernel
from discreet.core.progress import Progress


class Terminal(io.StringIO):
    """A stream that says that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_nothing_moves_where_nobody_watches() -> None:
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with progress(stream, quiet=quiet) as on_progress:
            assert on_progress is None
        assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        (Progress(1.5, "Direct", lower=0.5), "1.5 s, Direct, loss at least 0.5"),
        (Progress(2.5, "Kernel", lower=0.9, upper=1.0), "2.5 s, Kernel, loss 1, gap 10.00%"),
    ],
)
def test_a_terminal_sees_where_the_design_stands(step: Progress, seen: str) -> None:
    stream = Terminal()
    with progress(stream, quiet=False) as on_progress:
        assert on_progress is not None
        on_progress(step)
    assert seen in stream.getvalue()


@pytest.mark.parametrize(
    ("quiet", "said"), [(False, "discreet: compiling, first run only\n"), (True, "")]
)
def test_a_first_run_says_once_that_it_compiles(
    capsys: pytest.CaptureFixture[str], *, quiet: bool, said: str
) -> None:
    kernel(lambda: None)
    with announcing_compilation(quiet=quiet):
        assert capsys.readouterr().err == ""
        for _ in range(2):
            with event.trigger_event("numba:compile"):
                pass
    assert capsys.readouterr() == ("", said)
