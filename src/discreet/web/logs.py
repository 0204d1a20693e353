"""Logs that cannot fill a disk: each message at most once a minute, with the number of those that were left out."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from discreet.core.faults import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@final
class Repetitions(logging.Filter):
    """Filter that lets a message through once in some seconds, whatever its values, with the number of those between.

    Parameters
    ----------
    clock
        Returns seconds that never go back.
    seconds
        Seconds between two lines of one message.

    Examples
    --------
    >>> repetitions = Repetitions(lambda: 0.0)
    >>> record = logging.LogRecord("web", logging.WARNING, "a.py", 1, "no room for %s", (5,), None)
    >>> repetitions.filter(record), repetitions.filter(record)
    (True, False)
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, seconds: float = 60.0
    ) -> None:
        super().__init__()
        self._clock, self._seconds = clock, seconds
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is written.

        Written are the first record of each line and message in those seconds, and all failures of a server. The number
        of those left out is appended to the record, which is changed in place.
        """
        if record.levelno >= logging.ERROR and record.name == "discreet.service":
            # A failure has a number of its own, by which it is looked up.
            return True
        key, now = (record.name, record.lineno, str(record.msg)), self._clock()
        then, left_out = self._seen.get(key, (-self._seconds, 0))
        if now - then < self._seconds:
            self._seen[key] = (then, left_out + 1)
            return False
        self._seen[key] = (now, 0)
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} more before)", ()
        return True


@contextmanager
def logged_by(write: Callable[[str, str], None]) -> Iterator[None]:
    """Hand on what a server, its libraries and Python's warnings log, from WARNING on, one line each, while inside.

    Messages that repeat often are held back; see :class:`Repetitions`.

    Parameters
    ----------
    write
        Takes a level in small letters and a message. A traceback is replaced by the kind of the failure and its place
        in the code, since its words may repeat what was sent.
    """
    handler = logging.Handler(logging.WARNING)
    handler.addFilter(Repetitions())

    def emit(record: logging.LogRecord) -> None:
        message = " ".join(record.getMessage().split())
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            message = f"{record.name}: {place_of(error)}"
        write(record.levelname.lower(), message)

    handler.emit = emit  # type: ignore[method-assign] # a handler is one function
    root = logging.getLogger()
    logging.captureWarnings(capture=True)
    root.addHandler(handler)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
