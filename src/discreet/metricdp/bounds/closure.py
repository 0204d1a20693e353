"""Closure of columns in parallel: the least columns above given ones that keep all ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.threads import run_pieces, thread_pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ALL_SWEEPS = int(np.iinfo(np.int64).max)
"""Number of sweeps that no closure reaches."""

COLUMNS_PER_PASS = 384
"""Columns that one thread closes together, about: 128 rows of them fit into the second-level cache. Over all pairs of
2,000 secrets 192 columns at once took 1.5 times the CPU seconds; along edges of 1,000 any number took the same;
November 2026."""


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
    from discreet.metricdp.kernels.columns import raise_columns

    arrays = table, start, ends, factor, max_sweeps
    _divide_columns(table.shape[1], threads, raise_columns, *arrays)


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

    # In single precision twice as many columns fit.
    width = COLUMNS_PER_PASS * np.dtype(float).itemsize // source.itemsize
    arrays = source, factor, closed
    _divide_columns(source.shape[1], threads, raise_over_all, *arrays, columns_per_pass=width)


def _divide_columns(
    columns: int,
    threads: int,
    close: Callable[..., object],
    *arguments: object,
    columns_per_pass: int = COLUMNS_PER_PASS,
) -> None:
    """Call `close` with the first and the last column of each piece and `arguments`, in several threads."""
    pieces = max(round(columns / columns_per_pass), min(threads, columns))
    width = -(-columns // max(pieces, 1))

    def close_piece(piece: int) -> None:
        first = min(width * piece, columns)
        close(first, min(first + width, columns), *arguments)

    with thread_pool(threads) as pool:
        run_pieces(pool, threads, pieces, close_piece)
