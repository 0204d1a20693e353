"""Failures that nobody foresaw, told without their words: what a library says of a value may quote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_PACKAGE = __name__.partition(".")[0]


def place_of(error: BaseException) -> str:
    """Return the class of an exception and the lines that raised it, without its message, which may hold data.

    The text is ``"Kind at module:line, from module:line"``; without a traceback, the kind alone.

    Parameters
    ----------
    error
        The failure.

    Returns
    -------
    str
        Its kind, the last line of this package that it went through, and the line that raised it.

    Examples
    --------
    >>> def divide(secret):
    ...     return 1 / (secret - 4711)
    >>> try:
    ...     divide(4711)
    ... except ZeroDivisionError as error:
    ...     print(place_of(error))  # doctest: +ELLIPSIS
    ZeroDivisionError at ...:2
    >>> place_of(ValueError("4711"))
    'ValueError'
    """
    lines = [(_module(trace), trace.tb_lineno) for trace in _traces(error.__traceback__)]
    if not lines:
        return type(error).__name__
    ours = [line for line in lines if line[0].partition(".")[0] == _PACKAGE][-1:]
    shown = dict.fromkeys((*ours, lines[-1]))
    return (
        f"{type(error).__name__} at {', from '.join(f'{module}:{line}' for module, line in shown)}"
    )


def _traces(first: TracebackType | None) -> Iterator[TracebackType]:
    """Yield a traceback and those it leads to, the innermost last."""
    while first is not None:
        yield first
        first = first.tb_next


def _module(trace: TracebackType) -> str:
    return str(trace.tb_frame.f_globals.get("__name__", "a script"))
