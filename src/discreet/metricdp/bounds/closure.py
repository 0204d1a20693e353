"""Closing columns side by side: strips of eight, divided among threads."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ALL_SWEEPS", "close_columns", "in_threads"]

_STRIP, _STRIPS = 8, 4
"""Columns that are copied together, and strips that a thread takes at a time."""

ALL_SWEEPS = 1 << 40
"""More sweeps than a closure can take."""


def in_threads(work: Callable[[int], object], pieces: int, threads: int) -> None:
    """Do pieces of work that release the interpreter's lock, each once; this thread is one of them.

    Parameters
    ----------
    work
        Called with each number from 0 to ``pieces - 1``. What it raises is raised here.
    pieces
        How many there are.
    threads
        Among how many threads they are divided.

    Examples
    --------
    >>> done = []
    >>> in_threads(done.append, 5, 2)
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """
    from concurrent.futures import ThreadPoolExecutor

    following = count()

    def take() -> None:
        while (piece := next(following)) < pieces:
            work(piece)

    others = min(threads, pieces) - 1
    if others <= 0:
        take()
        return
    with ThreadPoolExecutor(others) as pool:
        waiting = [pool.submit(take) for _ in range(others)]
        take()
    for one in waiting:
        one.result()


def close_columns(
    table: NDArray[np.float64],
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    factor: NDArray[np.float64],
    *,
    threads: int = 1,
    most: int = ALL_SWEEPS,
) -> None:
    """Raise each column, in place, to the least one above it with ``z_i >= factor_ij z_j`` on every edge.

    Parameters
    ----------
    table
        ``(n, n_columns)``.
    start, ends, factor
        The edges at secret i are those from ``start[i]`` to ``start[i + 1]``, with their other ends and factors.
    threads
        Among how many threads columns are divided; the result does not depend on it.
    most
        Sweeps over the edges after which columns are left as they are; by default as many as it takes.
    """
    from discreet.metricdp.kernels.closure import raise_columns

    strips = -(-table.shape[1] // _STRIP)

    def close(piece: int) -> None:
        first = _STRIPS * piece
        raise_columns(first, min(first + _STRIPS, strips), table, start, ends, factor, most)

    in_threads(close, -(-strips // _STRIPS), threads)
