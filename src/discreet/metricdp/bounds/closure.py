"""Closure of columns in parallel: the least columns above given ones that keep all ratios."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

_COLUMNS_PER_STRIP, _STRIPS_PER_PIECE = 8, 4
"""Columns of a strip, which are copied together, and strips of a piece of work."""

ALL_SWEEPS = 1 << 40
"""Number of sweeps that no closure reaches."""

COLUMNS_PER_PASS = 64
"""Columns of one pass over all pairs: 500 rows of them fit into the second-level cache. All columns of 2,500 secrets in
one pass took 1.8 times the CPU seconds, and 256 at once about as many as 64; November 2026."""


def in_threads(work: Callable[[int], object], pieces: int, threads: int) -> None:
    """Run pieces of work that release the interpreter's lock, each once, in this thread and in others.

    Parameters
    ----------
    work
        Called with each number from 0 to ``pieces - 1``. Its exceptions are raised here.
    pieces
        Number of pieces.
    threads
        Number of threads.

    Examples
    --------
    >>> done = []
    >>> in_threads(done.append, 5, 2)
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """
    from concurrent.futures import ThreadPoolExecutor

    numbers = count()

    def run_pieces() -> None:
        while (piece := next(numbers)) < pieces:
            work(piece)

    workers = min(threads, pieces) - 1
    if workers <= 0:
        run_pieces()
        return
    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(run_pieces) for _ in range(workers)]
        run_pieces()
    for task in tasks:
        task.result()


def close_columns(
    table: NDArray[np.float64],
    start: NDArray[np.int64],
    ends: NDArray[np.int32],
    factor: NDArray[np.float64],
    *,
    threads: int = 1,
    max_sweeps: int = ALL_SWEEPS,
) -> None:
    """Raise each column, in place, to the least one above it with ``z_i >= factor_ij z_j`` on every edge.

    Factors are at most 1. A sweep costs the edges times the columns, or less.

    Parameters
    ----------
    table
        ``(n, n_columns)``.
    start, ends, factor
        Edges in compressed rows: positions ``start[i]`` to ``start[i + 1]`` hold the other ends and the factors of the
        edges of secret i.
    threads
        Number of threads; the result does not depend on it.
    max_sweeps
        Limit on the sweeps over the edges; by default sweeps end when no entry changes.
    """
    from discreet.metricdp.kernels.closure import raise_columns

    strips = -(-table.shape[1] // _COLUMNS_PER_STRIP)

    def close(piece: int) -> None:
        first = _STRIPS_PER_PIECE * piece
        raise_columns(
            first, min(first + _STRIPS_PER_PIECE, strips), table, start, ends, factor, max_sweeps
        )

    in_threads(close, -(-strips // _STRIPS_PER_PIECE), threads)


def close_over_all_pairs(
    source: NDArray[np.float64],
    factor: NDArray[np.float64],
    closed: NDArray[np.float64],
    *,
    threads: int = 1,
) -> None:
    """Set ``closed`` to the closure of the columns of ``source`` over all pairs: ``max_j factor_ij source_jk``.

    ``O(n^2 n_columns)``; `closed` is overwritten and must not share memory with `source`.

    Parameters
    ----------
    source, closed
        ``(n, n_columns)``.
    factor
        ``(n, n)``, 1 on the diagonal, with ``factor_ij factor_jk <= factor_ik``.
    threads
        Number of threads; the result does not depend on it.
    """
    from discreet.metricdp.kernels.columns import raise_over_all

    columns = source.shape[1]

    def close(piece: int) -> None:
        first = COLUMNS_PER_PASS * piece
        last = min(first + COLUMNS_PER_PASS, columns)
        raise_over_all(first, last, source, factor, closed)

    in_threads(close, -(-columns // COLUMNS_PER_PASS), threads)
