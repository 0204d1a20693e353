"""Closure of columns in parallel: the least columns above given ones that keep all ratios."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_COLUMNS_PER_STRIP, _STRIPS_PER_PIECE = 8, 4
"""Columns of a strip, which are copied together, and strips of a piece of work."""

ALL_SWEEPS = 1 << 40
"""Number of sweeps that no closure reaches."""

COLUMNS_PER_PASS = 384
"""Columns of one pass over all pairs, about: 128 rows of them fit into the second-level cache. Of 2,000 secrets 192
columns at once took 1.5 times the CPU seconds; November 2026."""


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


def compress_rows(
    pairs: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Return edges `pairs` ``(m, 2)`` of n secrets in compressed rows, each of them from both ends; a sort.

    The first position of each secret ``(n + 1,)``; the other ends and the numbers of the edges, ``(2 m,)`` each.
    """
    i, j = pairs.T
    order = np.argsort(np.concatenate([i, j]), kind="stable")
    start = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(pairs.ravel(), minlength=n), out=start[1:])
    return start, np.concatenate([j, i])[order], order % max(len(pairs), 1)


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

    with thread_pool(threads) as pool:
        run_pieces(pool, threads, -(-strips // _STRIPS_PER_PIECE), close)


def close_over_all_pairs(
    source: NDArray[np.floating],
    factor: NDArray[np.floating],
    closed: NDArray[np.floating],
    *,
    threads: int = 1,
) -> None:
    """Set ``closed`` to the closure of the columns of ``source`` over all pairs: ``max_j factor_ij source_jk``.

    ``O(n^2 n_columns)``; `closed` is overwritten and must not share memory with `source`.

    Parameters
    ----------
    source, closed
        ``(n, n_columns)``, in one precision with `factor`.
    factor
        ``(n, n)``, 1 on the diagonal, with ``factor_ij factor_jk <= factor_ik``.
    threads
        Number of threads; the result does not depend on it.
    """
    from discreet.metricdp.kernels.columns import raise_over_all

    columns = source.shape[1]
    pieces = max(round(columns / COLUMNS_PER_PASS), min(threads, columns))
    width = -(-columns // max(pieces, 1))

    def close(piece: int) -> None:
        first = min(width * piece, columns)
        raise_over_all(first, min(first + width, columns), source, factor, closed)

    with thread_pool(threads) as pool:
        run_pieces(pool, threads, pieces, close)
