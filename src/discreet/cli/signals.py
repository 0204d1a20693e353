"""End on SIGTERM, and when the terminal is closed, as on Ctrl-C: keep what was found, remove what was begun."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["ended_in_order", "press_again"]

_heard: set[int] = set()
"""The first signal of this run that asked it to end."""


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Hear SIGTERM and SIGHUP as Ctrl-C, but for one that the parent process had it ignore, as ``nohup`` does.

    Only the first counts. A terminal that is closed sends SIGHUP twice, by the system and by the shell, and the second
    must not break off what the first began to remove. Ctrl-C always counts.
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
            signal.signal(number, was)


def press_again() -> None:
    """Raise once more what was lost where it was raised."""
    if callable(signal.getsignal(signal.SIGINT)):
        _thread.interrupt_main()
    else:
        # Ctrl-C is ignored, as in the background of a script; it was another signal.
        _heard.clear()
        _thread.interrupt_main(signal.SIGTERM)


def _end(number: int, frame: FrameType | None) -> None:
    if _heard:
        return
    _heard.add(number)
    _tell_workers()
    press = signal.getsignal(signal.SIGINT)
    if not callable(press):
        raise KeyboardInterrupt
    press(signal.SIGINT, frame)


def _tell_workers() -> None:
    """Pass it on to worker processes, to which a terminal would have sent Ctrl-C itself."""
    processes = sys.modules.get("multiprocessing")
    for worker in processes.active_children() if processes is not None else ():
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGINT)
