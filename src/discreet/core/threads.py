"""Pieces of compiled work for the threads of a pool."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def thread_pool(threads: int) -> ThreadPoolExecutor | nullcontext[None]:
    """Return a context with a pool of the other threads, or with ``None`` for one thread."""
    return ThreadPoolExecutor(threads - 1) if threads > 1 else nullcontext()


def run_pieces(
    pool: ThreadPoolExecutor | None, threads: int, pieces: int, work: Callable[[int], object]
) -> None:
    """Call `work` once with each number below `pieces`, in this thread and in those of a pool; errors are raised.

    At most `threads` - 1 threads of the pool help; without a pool all is done here. Returns when all pieces are done.

    Examples
    --------
    >>> done = []
    >>> with thread_pool(2) as pool:
    ...     run_pieces(pool, 2, 5, done.append)
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """
    numbers = count()

    def run_remaining() -> None:
        while (piece := next(numbers)) < pieces:
            work(piece)

    helpers = 0 if pool is None else min(threads, pieces) - 1
    tasks = [pool.submit(run_remaining) for _ in range(helpers) if pool is not None]
    run_remaining()
    for task in tasks:
        task.result()
