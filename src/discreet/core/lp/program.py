"""The sparse linear or mixed-integer program as a frozen record that refuses nonsense at birth.

It decides what a program is and which numbers HiGHS reads as they are written. It solves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import estimate, interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array


class HighsDefaults(NamedTuple):
    """Thresholds of HiGHS, the defaults of its options, which mean what is written here."""

    small_matrix_value: float = 1e-9
    """HiGHS deletes matrix entries of this magnitude or below, and goes on."""

    large_matrix_value: float = 1e15
    """HiGHS refuses matrix entries of this magnitude or above, and then reports an objective of zero."""

    infinite_bound: float = 1e20
    """HiGHS reads a bound or a cost of this magnitude or above as infinite."""

    tolerance: float = 1e-7
    """Largest violation of a row or of the sign of a reduced cost, absolute."""


HIGHS = HighsDefaults()


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LinearProgram:
    r"""A sparse linear program, or a mixed-integer one.

    .. math::

        \min_x\; c^\top x \quad\text{subject to}\quad
        r \le A x \le R,\qquad l \le x \le u,\qquad x_j \in \mathbb{Z}\ \text{for}\ j \in J.

    Parameters
    ----------
    cost
        c, shape (n,), magnitudes below 1e20.
    matrix
        A, shape (m, n), dense or sparse. Duplicate entries are added up and zeros are dropped. Every entry that is
        left has a magnitude strictly between 1e-9 and 1e15; see Notes.
    row_lower, row_upper
        r and R, shape (m,) or one number for all rows. Minus or plus infinity where a row has no such side, equal
        for an equality.
    lower, upper
        l and u, shape (n,) or one number for all variables. The default is a nonnegative variable.
    integrality
        Mask of J, shape (n,), booleans or the codes 0 and 1. ``None`` for a linear program, which is also what an
        empty J becomes.

    Raises
    ------
    InvalidProblemError
        For shapes that disagree, NaN, infinite entries, crossed bounds, costs and finite bounds of 1e20 or more, and
        entries that HiGHS would not read as they are written.

    Notes
    -----
    HiGHS deletes entries of 1e-9 or below and then reports *optimal* for the program without them; it rejects
    entries of 1e15 or above. Neither may happen to a privacy constraint, so both are refused here. A ratio
    constraint is written :math:`z_i - e^{\epsilon d} z_j \le 0`, never with the small coefficient
    :math:`e^{-\epsilon d}`, and pairs with :math:`\epsilon d > 34` are left to the chain of shorter ones.

    Examples
    --------
    >>> program = LinearProgram([1, 2], [[1, 1], [0, 1]], row_lower=[4, 1])
    >>> program
    LinearProgram(2 variables, 2 rows, 3 nonzeros)
    >>> LinearProgram([0, 1], [[1e-10, -1]], row_upper=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: matrix: expected every nonzero entry to have ...
    """

    cost: NDArray[np.float64]
    matrix: csr_array[np.float64]
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integrality: NDArray[np.bool_] | None

    def __init__(
        self,
        cost: ArrayLike,
        matrix: object,
        *,
        row_lower: ArrayLike = -np.inf,
        row_upper: ArrayLike = np.inf,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integrality: ArrayLike | None = None,
    ) -> None:
        prices = read_cost(cost)
        n = prices.size
        entries = read_matrix(matrix, n, "matrix")
        row_box = read_box(row_lower, row_upper, entries.shape[0], ("row_lower", "row_upper"))
        box = read_box(lower, upper, n, ("lower", "upper"))
        self._fill(
            {
                "cost": prices,
                "matrix": entries,
                "row_lower": row_box[0],
                "row_upper": row_box[1],
                "lower": box[0],
                "upper": box[1],
                "integrality": None if integrality is None else _read_integrality(integrality, n),
            }
        )

    def _fill(self, parts: Mapping[str, Any]) -> None:
        """Set the fields of the frozen program."""
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def _with(self, **parts: object) -> LinearProgram:
        """Exchange parts that went through the readers of this module already; share the others."""
        other = object.__new__(LinearProgram)
        other._fill({**vars(self), **parts})
        return other

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return self.cost.size

    @property
    def n_rows(self) -> int:
        """Number of rows, m."""
        return self.row_lower.size

    @property
    def is_mixed_integer(self) -> bool:
        """Whether some variable must be an integer."""
        return self.integrality is not None

    def __repr__(self) -> str:
        parts = f"{self.n_variables} variables, {self.n_rows} rows, {self.matrix.nnz} nonzeros"
        if self.integrality is not None:
            parts += f", {int(self.integrality.sum())} integer"
        return f"LinearProgram({parts})"


def read_cost(cost: ArrayLike) -> NDArray[np.float64]:
    """Return a read-only float64 copy ``(n,)`` of a cost vector.

    Raise InvalidProblemError if it is empty or not finite.
    """
    vector = _floats(cost, "cost")
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidProblemError(
            "cost", "one number for each variable, at least one", f"shape {vector.shape}"
        )
    unusable = ~(np.abs(vector) < HIGHS.infinite_bound)
    if unusable.any():
        raise InvalidProblemError(
            "cost", f"magnitudes below {estimate(HIGHS.infinite_bound)}", _first(unusable, vector)
        )
    vector.setflags(write=False)
    return vector


def read_box(
    lower: ArrayLike, upper: ArrayLike, size: int, fields: tuple[str, str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Copy a pair of bounds as float64 ``(size,)``: broadcast, in order, none of a magnitude that means infinity.

    `lower` and `upper` are one number or ``(size,)`` each; `fields` their names in messages. Both results are
    read-only.

    Raises
    ------
    InvalidProblemError
        If a lower bound is above its upper bound, is infinity, or the upper one is minus infinity.
    """
    low, high = (
        _bound(side, size, field) for side, field in zip((lower, upper), fields, strict=True)
    )
    crossed = low > high
    if crossed.any():
        raise InvalidProblemError(
            fields[0], f"at most {fields[1]}", f"more at {np.argmax(crossed)}"
        )
    for side, field, senseless in ((low, fields[0], np.inf), (high, fields[1], -np.inf)):
        if (side == senseless).any():
            raise InvalidProblemError(field, f"no {senseless}", _first(side == senseless, side))
    return low, high


def read_matrix(matrix: object, columns: int, field: str) -> csr_array[np.float64]:
    """Copy a matrix ``(rows, columns)`` into read-only compressed rows with 32-bit indices, equal entries added.

    Raises InvalidProblemError, naming `field`, for another shape, or entries that HiGHS would change. Linear in the
    entries.

    `matrix` is dense or sparse, of real numbers; zeros are dropped. The result is a ``csr_array`` of float64.
    """
    from scipy import sparse

    stored: Any = matrix if sparse.issparse(matrix) else _floats(matrix, field)
    if stored.dtype.kind not in "biuf":
        raise InvalidProblemError(field, "real numbers", f"dtype {stored.dtype}")
    if stored.ndim != 2 or stored.shape[1] != columns:
        raise InvalidProblemError(field, f"shape (rows, {columns})", f"shape {stored.shape}")
    rows = sparse.csr_array(stored, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        raise InvalidProblemError(
            field, "finite entries", _first(~np.isfinite(rows.data), rows.data)
        )
    size = np.abs(rows.data)
    if size.size and (
        size.min() <= HIGHS.small_matrix_value or size.max() >= HIGHS.large_matrix_value
    ):
        least, most = estimate(HIGHS.small_matrix_value), estimate(HIGHS.large_matrix_value)
        low, high = interval(float(size.min()), float(size.max()))
        raise InvalidProblemError(
            field,
            f"every nonzero entry to have a magnitude above {least} and below {most}, where HiGHS keeps it (rescale "
            "the row, or drop a constraint that others imply)",
            f"entries from {low} to {high}",
        )
    # HiGHS counts in 32 bits, and SciPy may hand over 64.
    rows.indptr, rows.indices = rows.indptr.astype(np.int32), rows.indices.astype(np.int32)
    for array in (rows.data, rows.indices, rows.indptr):
        array.setflags(write=False)
    return rows


def _bound(values: ArrayLike, size: int, field: str) -> NDArray[np.float64]:
    """Read bounds, one number or ``(size,)``, as a read-only vector.

    NaN and finite values that HiGHS reads as infinite are refused.
    """
    number = _floats(values, field)
    if number.shape not in {(), (size,)}:
        raise InvalidProblemError(field, f"one number or shape ({size},)", f"shape {number.shape}")
    vector = np.full(size, number) if number.ndim == 0 else number
    if np.isnan(vector).any():
        raise InvalidProblemError(field, "numbers or infinities", _first(np.isnan(vector), vector))
    huge = np.isfinite(vector) & (np.abs(vector) >= HIGHS.infinite_bound)
    if huge.any():
        raise InvalidProblemError(
            field,
            f"magnitudes below {estimate(HIGHS.infinite_bound)}, which HiGHS reads as infinite, or inf",
            _first(huge, vector),
        )
    vector.setflags(write=False)
    return vector


def _read_integrality(mask: ArrayLike, size: int) -> NDArray[np.bool_] | None:
    """Read a mask ``(size,)`` of booleans or of 0 and 1, read-only; ``None`` if no variable is an integer."""
    codes = np.asarray(mask)
    if codes.shape != (size,) or codes.dtype.kind not in "biu" or not np.isin(codes, (0, 1)).all():
        raise InvalidProblemError(
            "integrality",
            f"booleans or the codes 0 and 1, shape ({size},)",
            f"{codes.dtype}, shape {codes.shape}",
        )
    if not codes.any():
        return None
    integers = codes.astype(np.bool_)
    integers.setflags(write=False)
    return integers


def _floats(values: object, field: str) -> NDArray[np.float64]:
    """Return numbers as a new float64 array.

    Raise InvalidProblemError, naming `field`, for ragged ones or other types.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidProblemError(field, "a rectangular array", "a ragged one") from None
    if array.dtype.kind not in "biuf":
        raise InvalidProblemError(field, "real numbers", f"dtype {array.dtype}")
    return array.astype(np.float64)


def _first(where: NDArray[np.bool_], values: NDArray[np.float64]) -> str:
    """Return the first value at which a mask is true, and its place, as text."""
    i = int(np.argmax(where))
    return f"{values[i]} at {i}"
