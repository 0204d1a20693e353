r"""Entropies of counts, in integers, with a proven change for one record.

Write :math:`f(c) = c \log_2 c` for the count of a cell. Records in cells have :math:`n H = f(n) - \sum_j f(c_j)`. Here
f is replaced by sums of integer increments, :math:`f(c) = \sum_{j \le c} d_j` with :math:`d_j` proportional to
:math:`f(j) - f(j - 1)`, rounded, non-decreasing, and constant from a public number of records on, where it is
:math:`2^{30}`. A record that joins a cell of c records changes :math:`f(n) - \sum_j f(c_j)` by :math:`d_{n+1} -
d_{c+1}`, which lies in :math:`[0, 2^{30}]` whatever n is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.submodular.concave import TABLE_BITS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["increments", "read_values", "refined", "spread"]


def increments(n: int, most_records: object) -> NDArray[np.int64]:
    """Tabulate f at 0, ..., n; one unit of 1 is its largest increment."""
    if not isinstance(most_records, int) or isinstance(most_records, bool) or most_records < 2:
        raise InvalidProblemError("most_records", "an integer of at least 2", repr(most_records))
    counts = np.arange(1, n + 1, dtype=np.float64)
    rise = np.minimum(_rise(counts) / _rise(np.array([float(most_records)])), 1.0)
    steps = np.floor(2.0**TABLE_BITS * rise).astype(np.int64)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.maximum.accumulate(steps))])


def _rise(c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ``c log2 c - (c - 1) log2(c - 1)``, with ``0 log 0 = 0``."""
    before = np.maximum(c - 1, 1.0)
    return np.asarray(np.log2(c) + (c - 1) * np.log2(c / before))


def spread(codes: NDArray[np.int64], f: NDArray[np.int64]) -> int:
    """Sum f over the counts of the cells that records are in."""
    return int(f[np.bincount(codes)].sum()) if len(codes) else 0


def refined(cells: NDArray[np.int64], codes: NDArray[np.int64], n_values: int) -> NDArray[np.int64]:
    """Split cells by a further column, and number the new ones from 0."""
    numbers = np.unique(cells * n_values + codes, return_inverse=True)[1]
    return np.asarray(numbers.reshape(-1), dtype=np.int64)


def read_values(values: ArrayLike, n_values: object, field: str, dims: int) -> NDArray[np.int64]:
    """Read discrete readings, clipped to the public range 0, ..., n_values - 1."""
    if not isinstance(n_values, int) or isinstance(n_values, bool) or n_values < 2:
        raise InvalidProblemError("n_values", "an integer of at least 2", repr(n_values))
    read = np.asarray(values)
    if read.ndim != dims or read.dtype.kind not in "iub":
        raise InvalidProblemError(field, f"a table of integers in {dims} dimensions", read.dtype)
    return np.clip(read.astype(np.int64), 0, n_values - 1)
