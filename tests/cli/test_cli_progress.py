from __future__ import annotations

import io
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest
from numba.core import event

from discreet.cli.progress import _status_lines, announcing_compilation, progress
from discreet.cli.signals import said_while_running
from discreet.core.jit import kernel
from discreet.core.progress import Pace, Progress

if TYPE_CHECKING:
    from pathlib import Path


class Terminal(io.StringIO):
    """A stream that says that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_nothing_is_said_where_it_is_to_be_quiet() -> None:
    for stream in (io.StringIO(), Terminal()):
        with progress(stream, quiet=True) as on_progress:
            assert on_progress is None
        assert stream.getvalue() == ""


def test_without_a_terminal_there_are_lines_and_few(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("discreet.cli.progress.time.monotonic", lambda: now[0])
    with progress(io.StringIO(), quiet=False) as on_progress:
        assert on_progress is not None
        for second in (0.5, 2.5, 3.0, 4.75):
            now[0] = second
            on_progress(Progress(second, "Direct"))
    assert capsys.readouterr().err == "discreet: 2.5 s, Direct\ndiscreet: 4.75 s, Direct\n"


def test_a_long_step_is_told_again_unless_it_has_no_time() -> None:
    told: list[str] = []

    def wait(lines: int) -> None:
        for _ in range(6_000):
            if len(told) >= lines:
                return
            time.sleep(0.01)

    with _status_lines(told.append, Pace(), "designing", least=60, most=0.02) as show:
        wait(2)
        show(Progress(70.0, "Kernel", upper=1.0))
        wait(5)
        # The number of lines of a release would depend on its time, and that on private data.
        show(Progress(None, "draws"))
        before = len(told)
        time.sleep(0.1)
        assert len(told) == before
    seconds = [float(line.split(" ", maxsplit=1)[0]) for line in told]
    assert seconds == sorted(seconds)
    assert seconds[0] < 60
    assert told[0].endswith("s, designing")
    assert seconds[-1] >= 70
    assert told[-1].endswith("s, Kernel, loss 1")


def test_lines_name_the_share_done_and_the_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("discreet.cli.progress.time.monotonic", lambda: now[0])
    with progress(io.StringIO(), quiet=False) as on_progress:
        assert on_progress is not None
        for second, stage, done in (
            (1, "rows", 0),
            (5, "rows", 2),
            (7, "parts", 1),
            (9, "parts", 2),
        ):
            now[0] = second
            on_progress(Progress(second, stage, done=done, total=4))
        # A release has no time, so that no time is left; what is done has none left either.
        on_progress(Progress(None, "draws", done=3, total=4))
        now[0] = 20
        on_progress(Progress(None, "draws", done=3, total=4))
        now[0] = 30
        on_progress(Progress(30, "draws", done=4, total=4))
    assert capsys.readouterr().err.splitlines() == [
        "discreet: 1 s, rows, 0 of 4",
        "discreet: 5 s, rows, 2 of 4, 50 %, about 4 s left",
        "discreet: 7 s, parts, 1 of 4, 25 %",
        "discreet: 9 s, parts, 2 of 4, 50 %, about 4 s left",
        "discreet: draws, 3 of 4, 75 %",
        "discreet: draws, 3 of 4, 75 %",
        "discreet: 30 s, draws, 4 of 4",
    ]


def test_a_command_that_takes_long_says_so_once_and_nothing_else(tmp_path: Path) -> None:
    with (
        (tmp_path / "err").open("w", encoding="utf-8") as stream,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stderr", stream)
        for arguments, lines in (
            (["counts", "people.csv"], 1),
            (["counts", "-q"], 1),
            (["serve"], 1),
            (["a b"], 2),
        ):
            with said_while_running(arguments, after=0.01):
                time.sleep(0.1)
                # A timer starts late where the machine is busy.
                for _ in range(6_000):
                    if len((tmp_path / "err").read_text(encoding="utf-8").splitlines()) >= lines:
                        break
                    time.sleep(0.01)
        with said_while_running(["risk"], after=600):
            time.sleep(0.01)
    stages = "plan, charge, count, add noise, make consistent, verify, write"
    compiles = "the first run on a machine also compiles, which takes half a minute or more"
    assert (tmp_path / "err").read_text(encoding="utf-8").splitlines() == [
        f"discreet: counts is running: {stages} ({compiles}); Ctrl-C ends it",
        "discreet: the command is running; Ctrl-C ends it",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_answered_at_once(tmp_path: Path) -> None:
    with (
        (tmp_path / "err").open("w", encoding="utf-8") as stream,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stderr", stream)
        with pytest.raises(KeyboardInterrupt), said_while_running(["design"], after=60):
            signal.raise_signal(signal.SIGINT)
    assert (tmp_path / "err").read_text(encoding="utf-8") == "discreet: stopping\n"


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        (Progress(1.5, "Direct", lower=0.5), "1.5 s, Direct, loss at least 0.5"),
        (Progress(2.5, "Kernel", lower=0.9, upper=1.0), "2.5 s, Kernel, loss 1, gap 10 %"),
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
