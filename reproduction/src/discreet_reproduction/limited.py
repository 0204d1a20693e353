"""Runs that know no limit of time, in a process that does not outlive it."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.connection import Connection


def each_within(
    seconds: float, function: Callable[..., Iterable[Any]], *arguments: object
) -> Iterator[Any]:
    """Give what a generator gives, one after the other, until one takes too long.

    Parameters
    ----------
    seconds
        Wall-clock time for each but the first, which is not given: it says that the work can begin.
    function
        A generator function of a module, called in a new process. Whatever it needs comes in `arguments`.
    arguments
        What it is called with; must be picklable, like what it gives.

    Yields
    ------
    Any
        What it gave after the first. Fewer than it would have given where the time was up or the process died.

    Examples
    --------
    >>> list(each_within(60, range, 4))
    [1, 2, 3]
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(there, function, arguments), daemon=True)
    process.start()
    there.close()
    try:
        here.recv()
        while here.poll(seconds):
            yield here.recv()
    except EOFError:
        # The other end is closed: there is no more.
        return
    finally:
        process.kill()
        process.join()
        here.close()


def _send(
    there: Connection, function: Callable[..., Iterable[Any]], arguments: tuple[object, ...]
) -> None:
    for given in function(*arguments):
        there.send(given)
    there.close()
