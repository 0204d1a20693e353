"""The canary: a value planted as private input must be found in nothing that a program shows when it fails.

:data:`SENTINEL` is the value. :func:`leaks` runs an action and searches what a user, a log or a crash report would see.
"""

from __future__ import annotations

import contextlib
import io
import logging
import pickle
import traceback
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SENTINEL = 817_263_549
"""Large enough to be no index, and unlike any number that a message would hold by chance."""


def leaks(action: Callable[[], object], sentinel: object = SENTINEL) -> list[str]:
    """Run an action and name the places where the sentinel comes to light.

    Parameters
    ----------
    action
        What handles the private value. It may raise or return.
    sentinel
        The private value; its text is what is searched for.

    Returns
    -------
    list of str
        Where it was seen: in an exception (message, attributes, causes, its pickle), the printed output, a log
        record, a warning, or the ``repr`` and ``str`` of what came back. Empty when it was not.
    """
    log = Log()
    out, err = io.StringIO(), io.StringIO()
    logging.getLogger().addHandler(log)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    shown: list[tuple[str, str]] = []
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            try:
                result = action()
                shown += [("result", repr(result)), ("result", str(result))]
            except Exception as error:  # noqa: BLE001 - whatever it raises is searched
                shown += said(error)
    finally:
        logging.getLogger().removeHandler(log)
        logging.getLogger().setLevel(level)
    shown += [("output", out.getvalue()), ("error output", err.getvalue())]
    shown += [("log", text) for text in log.texts]
    shown += [("warning", str(warning.message)) for warning in warned]
    text = str(sentinel)
    return sorted(
        {place for place, words in shown if text in words.replace(",", "").replace("_", "")}
    )


class Log(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def said(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield every text that an exception carries, its causes included."""
    link: BaseException | None = error
    while link is not None:
        yield "message", "".join(traceback.format_exception_only(link))
        yield "arguments", repr(link.args)
        yield "attributes", repr(vars(link))
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    with contextlib.suppress(Exception):
        # Workers send exceptions home as pickles; an error that can't be pickled goes no further.
        yield "pickle", pickle.dumps(error, protocol=0).decode("latin-1")
