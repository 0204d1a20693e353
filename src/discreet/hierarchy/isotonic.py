r"""Isotonic regression of many rows at once: exact whole numbers by pooling, for squares and for absolute deviations.

For one row :math:`y` with weights :math:`w`,

.. math:: \min \sum_i w_i (x_i - y_i)^2, \;\; x_1 \le x_2 \le \dots, \;\; \ell \le x_i \le u, \;\; x_i \in \mathbb{Z}.

Neighbors that are out of order are pooled into a block with their mean, until the means ascend. Bounds are
obeyed by clipping afterwards, and whole numbers by rounding each block's mean half up: for each threshold
:math:`k - 1/2` the best choice of which :math:`x_i` lie above it does not depend on the other thresholds, so that the
integer problem falls apart into these choices, and the continuous solution makes all of them. No float takes part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MAX_WEIGHT_SUM = 1 << 31
_MAX_SUM = 1 << 62


def isotonic_int(
    values: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    decreasing: bool = False,
) -> NDArray[np.int64]:
    """Fit each row by a monotone row of integers, with the least sum of squares.

    Parameters
    ----------
    values
        Integers, ``(n,)`` or ``(rows, n)``.
    low, high
        Bounds, one for all or one a row; none where ``None``.
    decreasing
        Fit rows that never increase, in place of rows that never decrease.

    Returns
    -------
    ndarray
        The fit; of two that cost the same, the larger.

    Raises
    ------
    InvalidProblemError
        For values that are no integers, bounds out of order, or numbers so large that sums would leave 64 bits.

    Complexity
    ----------
    O(n) a row.

    Examples
    --------
    >>> isotonic_int([3, 1, 2, 5], 0, 4).tolist()
    [2, 2, 2, 4]
    """
    rows, shape = _rows(values)
    if decreasing:
        rows = rows[:, ::-1]
    fit = isotonic_sums(rows, np.ones_like(rows))
    return _clipped(fit[:, ::-1] if decreasing else fit, low, high).reshape(shape)


def isotonic_sums(sums: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fit rows that never decrease to points that stand for several: their sums, and how many they are.

    Weights are positive, and with a sum below 2^31 a row; the sums of absolute values below 2^62. Means are rounded
    half up. New int64 rows; linear.

    Parameters
    ----------
    sums, weights
        ``(rows, n)`` integers; the value of a point is their quotient, whole or not.

    Returns
    -------
    ndarray
        ``(rows, n)``, of the least weighted sum of squares, without bounds.

    Raises
    ------
    InvalidProblemError
        For sums that would leave 64 bits.
    """
    from discreet.hierarchy.kernels.isotonic import pool_integers

    fit, heavy = np.array(sums, order="C"), np.array(weights, order="C")
    if fit.size:
        largest = np.abs(fit.astype(np.float64)).sum(axis=1).max()
        if largest >= _MAX_SUM or heavy.sum(axis=1, dtype=np.float64).max() >= _MAX_WEIGHT_SUM:
            raise InvalidProblemError("values", "weighted sums below 2^62", "larger ones")
    pool_integers(fit, heavy)
    return fit


def isotonic_l1(
    values: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    decreasing: bool = False,
) -> NDArray[np.int64]:
    """Fit each row by a monotone row of integers, with the least sum of absolute deviations.

    InvalidProblemError for values that are no integers, or bounds of another shape or out of order.

    Parameters
    ----------
    values, low, high, decreasing
        As for :func:`isotonic_int`.

    Returns
    -------
    ndarray
        The fit. Absolute deviations leave many fits that cost the same: this is the smallest of them.

    Complexity
    ----------
    O(n log n) a row, by keeping the slopes of the cost of the rows so far in a heap.

    Examples
    --------
    >>> isotonic_l1([3, 1, 1, 5]).tolist()
    [1, 1, 1, 5]
    """
    from discreet.hierarchy.kernels.isotonic import pool_medians

    rows, shape = _rows(values)
    # A row that never increases is one that never decreases, read from its end.
    work = np.ascontiguousarray(rows[:, ::-1]) if decreasing else rows
    pool_medians(work)
    fit = work[:, ::-1] if decreasing else work
    return _clipped(fit, low, high).reshape(shape)


def isotonic_float(values: NDArray[np.float64], *, decreasing: bool = False) -> NDArray[np.float64]:
    """Fit each row of `values` ``(rows, n)`` by a monotone row of floats with the least sum of squares; a new array.

    Rows do not fall, or with `decreasing` do not rise. Linear in the number of entries.
    """
    from discreet.hierarchy.kernels.isotonic import pool_floats

    work = np.array(values[:, ::-1] if decreasing else values, dtype=np.float64, order="C")
    pool_floats(work)
    return work[:, ::-1] if decreasing else work


def _rows(values: ArrayLike) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Read integers ``(n,)`` or ``(rows, n)`` as a new int64 table of rows; also return the shape that was given.

    Raises InvalidProblemError for other arrays.
    """
    array = np.asarray(values)
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise InvalidProblemError(
            "values", "one or two dimensions of integers", f"{array.dtype} {array.shape}"
        )
    return np.array(np.atleast_2d(array), dtype=np.int64, order="C"), array.shape


def _clipped(
    fit: NDArray[np.int64], low: ArrayLike | None, high: ArrayLike | None
) -> NDArray[np.int64]:
    """Return rows `fit` ``(rows, n)`` clipped to bounds, one for all or ``(rows,)``, as a new int64 array.

    Raises InvalidProblemError for bounds of another shape or out of order.
    """
    for name, bound in (("low", low), ("high", high)):
        if bound is not None and np.shape(bound) not in ((), (len(fit),)):
            raise InvalidProblemError(name, f"one bound or {len(fit)}", np.shape(bound))
    least, most = (None if b is None else np.reshape(b, (-1, 1)) for b in (low, high))
    if least is not None and most is not None and (least > most).any():
        raise InvalidProblemError("low, high", "bounds in order", "others")
    clipped = fit if least is None else np.maximum(fit, least)
    clipped = clipped if most is None else np.minimum(clipped, most)
    return np.ascontiguousarray(clipped, dtype=np.int64)
