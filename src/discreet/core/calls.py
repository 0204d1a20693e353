"""A call that does not fit is answered with one that does.

Python says of a call only which argument is one too many. A verb and a guarantee say what a right call looks like; the
error is the one for input that makes no sense.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def explained(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function: arguments that do not fit its signature raise an error that shows a call.

    The error is InvalidProblemError and names the function. A TypeError from inside the function passes through.

    Parameters
    ----------
    example
        A call that fits.

    Returns
    -------
    Callable
        The decorator. What the function itself raises passes through.

    Examples
    --------
    >>> @explained("double(3)")
    ... def double(number):
    ...     return 2 * number
    >>> double(3)
    6
    >>> double(twice=3)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: double: expected a call such as double(3), got an unexpected ...
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                # A call with wrong arguments raises in the frame of its caller, here; otherwise the function had begun.
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise
                name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
                words = str(error).rpartition("() ")[2].removeprefix("got ")
                got = f"one that is {words}" if words.startswith("missing") else words
                raise InvalidProblemError(name, f"a call such as {example}", got) from None

        return call

    return decorate


def explained_record(example: str) -> Callable[[type[T]], type[T]]:
    """Decorate a dataclass: as :func:`explained`, for making one.

    The class's ``__init__`` is replaced in place.

    Parameters
    ----------
    example
        A call that fits.

    Returns
    -------
    Callable
        The decorator, which gives the class back.
    """

    def decorate(record: type[T]) -> type[T]:
        record.__init__ = explained(example)(record.__init__)  # type: ignore[method-assign]
        return record

    return decorate
