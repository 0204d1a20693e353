"""End on SIGTERM, and when the terminal is closed, as on Ctrl-C: keep what was found, remove what was begun."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

_heard: set[int] = set()
"""The first signal of this run that asked it to end."""


_SERVERS = ("serve", "studio", "locate")
"""Commands that say themselves that they run, until they are ended."""

_STAGES = {
    "counts": "plan, charge, count, add noise, make consistent, verify, write",
    "select": "plan, charge, choose, verify, write",
}
"""Stages of private releases, which are the same whatever the data are: they are said at once, never one by one."""

_COMPILES = "the first run on a machine also compiles, which takes half a minute or more"
"""Said of releases in any case: whether and when they compile may depend on the data."""


@contextmanager
def said_while_running(arguments: Sequence[str], *, after: float = 1.5) -> Iterator[None]:
    """Report once that a command runs, if it takes long, and "stopping" at Ctrl-C.

    Of a private release the names of its stages are said, all at once: how far it came, and when, would tell of its
    data. ``--quiet`` says nothing, and neither does ``--json``, whose streams are for programs.

    Parameters
    ----------
    arguments
        Those of the process.
    after
        Seconds after which a command says that it runs.
    """
    name = next((one for one in arguments if not one.startswith("-")), "")
    if not name or name in _SERVERS or {"-q", "--quiet", "--help", "--json"} & set(arguments):
        yield
        return
    stream = sys.stderr
    stages = f": {_STAGES[name]} ({_COMPILES})" if name in _STAGES else ""
    text = f"discreet: {one_word(name)} is running{stages}; Ctrl-C ends it"
    timer = threading.Timer(after, _say, (stream, text))
    timer.daemon = True
    timer.start()
    former = signal.getsignal(signal.SIGINT)
    pressed = threading.current_thread() is threading.main_thread() and callable(former)

    def press(number: int, frame: FrameType | None) -> None:
        timer.cancel()
        _say(stream, "discreet: stopping")
        if callable(former):
            former(number, frame)

    if pressed:
        signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        timer.cancel()
        if pressed:
            signal.signal(signal.SIGINT, former)


def one_word(text: str) -> str:
    """Repeat a command's name, and nothing that could be another line.

    Examples
    --------
    >>> one_word("design"), one_word("a b")
    ('design', 'the command')
    """
    return text if text.isalpha() and len(text) < 20 else "the command"


def _say(stream: TextIO, text: str) -> None:
    """Write past the buffer of a stream, in which a signal may have fallen."""
    with suppress(OSError, ValueError):
        os.write(stream.fileno(), f"{text}\n".encode())


@contextmanager
def ended_in_order(*, to_the_end: bool = False) -> Iterator[None]:
    """Hear SIGTERM and SIGHUP as Ctrl-C, but for one that the parent process had it ignore, as ``nohup`` does.

    Only the first counts. A terminal that is closed sends SIGHUP twice, by the system and by the shell, and the second
    must not break off what the first began to remove. Ctrl-C always counts.

    Parameters
    ----------
    to_the_end
        Whether the process ends with the block. Where a signal was heard, later ones are then ignored: one that
        arrived while the interpreter shut down would replace the exit status.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former = {number: signal.getsignal(number) for number in numbers}
    former = {number: was for number, was in former.items() if was is not signal.SIG_IGN}
    _heard.clear()
    for number in former:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number, was in former.items():
            signal.signal(number, signal.SIG_IGN if to_the_end and _heard else was)


def press_again() -> None:
    """Raise KeyboardInterrupt once more in the main thread, where one was lost, or the SIGTERM that stood for it."""
    if callable(signal.getsignal(signal.SIGINT)):
        _thread.interrupt_main()
    else:
        # Ctrl-C is ignored, as in the background of a script; it was another signal.
        _heard.clear()
        _thread.interrupt_main(signal.SIGTERM)


def _end(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does, at the first of SIGTERM and SIGHUP, and pass it on to the workers; later ones do nothing."""
    if _heard:
        return
    _heard.add(number)
    _tell_workers()
    press = signal.getsignal(signal.SIGINT)
    if not callable(press):
        raise KeyboardInterrupt
    press(signal.SIGINT, frame)


def _tell_workers() -> None:
    """Send SIGINT to the worker processes, to which a terminal would have sent Ctrl-C itself."""
    processes = sys.modules.get("multiprocessing")
    for worker in processes.active_children() if processes is not None else ():
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGINT)
