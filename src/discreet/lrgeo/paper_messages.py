"""Messages of the published protocol ([QLPSX24]_, Figure 4): what its clients upload, and what they get."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo._fields import Matrix, Maybe, Number, Text, Whole, Wholes
from discreet.lrgeo._messages import FARTHEST, MOST_PLACES, WORDS, kind, take

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MOST_COLUMNS",
    "MOST_ROWS",
    "Accepted",
    "CostRequest",
    "CostTable",
    "Job",
    "Parameters",
    "Upload",
]

MOST_ROWS = 400
MOST_COLUMNS = 2_000
_MOST_CELLS = 200_000
_WIDEST = 5_120
"""Places that a region may have in the published protocol."""

_SLACK = 1e-6
"""Distances on a sphere come with rounding: the triangle inequality is asked for up to this part of them."""

_JOB = Text("[A-Za-z0-9_-]{43}", 43)


@final
@dataclass(frozen=True, eq=False)
class Parameters:
    """The public parameters of the published protocol ([QLPSX24]_, Figure 4, step 1).

    Parameters
    ----------
    protocol
        Version of the messages.
    epsilon
        Nats per unit of distance.
    gamma
        Places at most this far apart are neighbors; ``None`` for all.
    reach
        Radius of the location set, the paper's capital gamma.
    r_obf
        Radius of the obfuscation range.
    r_exp
        Beyond this radius entries have the exponential form.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    epsilon: float = field(metadata=kind(Number(0.0, 1e6)))
    gamma: float | None = field(metadata=kind(Maybe(Number(0.0, FARTHEST))))
    reach: float = field(metadata=kind(Number(0.0, FARTHEST)))
    r_obf: float = field(metadata=kind(Number(0.0, FARTHEST)))
    r_exp: float = field(metadata=kind(Number(0.0, FARTHEST)))

    def __post_init__(self) -> None:
        take(self)


@final
@dataclass(frozen=True, eq=False)
class Upload:
    r"""What a user of the published protocol uploads ([QLPSX24]_, Figure 4, step 6), and a job for the server.

    The matrices are a deterministic function of the user's place on public data: whoever reads them finds the place by
    enumeration. ``discreet attack lrgeo --mode published`` does.

    Parameters
    ----------
    protocol
        Version of the messages.
    between
        ``(N, N)`` among the places of the location set, symmetric, zero on the diagonal, a metric.
    away
        ``(N, O)`` from the location set to the obfuscation range.
    cost
        ``(N, O)`` estimated costs of the entries.
    columns
        ``(O,)`` which places the columns are: without them the server can't know which scales users share.

    Raises
    ------
    InvalidProblemError
        For sizes that do not fit, more than the server takes, or distances that are none.

    Examples
    --------
    >>> far = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0]]
    >>> Upload(1, [[0.0, 1.0], [1.0, 0.0]], far, far, [4, 7, 2]).columns.tolist()
    [4, 7, 2]
    >>> Upload(1, [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0, 9.0], [1.0, 0.0, 2.0]], far, [4, 7, 2])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: away: expected distances that keep the triangle inequality, got others
    """

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    between: NDArray[np.float64] = field(metadata=kind(Matrix(MOST_ROWS, MOST_ROWS, FARTHEST)))
    away: NDArray[np.float64] = field(metadata=kind(Matrix(MOST_ROWS, MOST_COLUMNS, FARTHEST)))
    cost: NDArray[np.float64] = field(metadata=kind(Matrix(MOST_ROWS, MOST_COLUMNS, FARTHEST)))
    columns: NDArray[np.int64] = field(metadata=kind(Wholes(MOST_PLACES - 1, MOST_COLUMNS)))

    def __post_init__(self) -> None:
        take(self)
        near, far = self.between, self.away
        n, wide = far.shape
        for name, matrix, shape in (("between", near, (n, n)), ("cost", self.cost, far.shape)):
            if matrix.shape != shape:
                raise InvalidProblemError(name, f"shape {shape}", matrix.shape)
        if len(self.columns) != wide:
            raise InvalidProblemError("columns", f"{wide} places", len(self.columns))
        if n * wide > _MOST_CELLS:
            raise InvalidProblemError("away", f"at most {_MOST_CELLS} entries", n * wide)
        slack = _SLACK * max(float(near.max()), float(far.max()), 1e-9)
        if np.diagonal(near).any() or (np.abs(near - near.T) > slack).any():
            expected = "a symmetric matrix with zeros on its diagonal"
            raise InvalidProblemError("between", expected, "another")
        for name, matrix in (("between", near), ("away", far)):
            # |d_ik - d_jk| <= d_ij for all k, one row at a time, so that memory stays small.
            if any(
                (np.abs(matrix[i] - matrix).max(axis=1) > near[i] + slack).any() for i in range(n)
            ):
                expected = "distances that keep the triangle inequality"
                raise InvalidProblemError(name, expected, "others")


@final
@dataclass(frozen=True, eq=False)
class Accepted:
    """A job was taken.

    Parameters
    ----------
    protocol
        Version of the messages.
    job
        Its name, which nobody can guess: 256 random bits.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    job: str = field(metadata=kind(_JOB))

    def __post_init__(self) -> None:
        take(self)


@final
@dataclass(frozen=True, eq=False)
class Job:
    """Where a job stands, and its result when it is done.

    Parameters
    ----------
    protocol
        Version of the messages.
    status
        ``waiting``, ``running``, ``done`` or ``failed``.
    rows
        ``(N, K)`` the obfuscation matrix over all places, when it is done.
    reason
        Why it failed, when it did.

    Raises
    ------
    InvalidProblemError
        For a field of another form, or rows without being done.
    """

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    status: str = field(metadata=kind(Text("waiting|running|done|failed", 7)))
    rows: NDArray[np.float64] | None = field(metadata=kind(Maybe(Matrix(MOST_ROWS, _WIDEST, 1.01))))
    reason: str | None = field(metadata=kind(Maybe(WORDS)))

    def __post_init__(self) -> None:
        take(self)
        if (self.rows is not None) != (self.status == "done"):
            raise InvalidProblemError("rows", "a matrix exactly when the job is done", "otherwise")


@final
@dataclass(frozen=True, eq=False)
class CostRequest:
    """Ask for the part of the cost table within a disc ([QLPSX24]_, Figure 4, step 4). It discloses the disc.

    Parameters
    ----------
    protocol
        Version of the messages.
    center
        Index of the place in the middle, drawn by the client from its location set.
    radius
        In the region's unit.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    center: int = field(metadata=kind(Whole(0, MOST_PLACES - 1)))
    radius: float = field(metadata=kind(Number(0.0, FARTHEST)))

    def __post_init__(self) -> None:
        take(self)


@final
@dataclass(frozen=True, eq=False)
class CostTable:
    """The part of the cost table that was asked for.

    Parameters
    ----------
    protocol
        Version of the messages.
    places
        Indices of the places in the disc.
    costs
        ``(n, n)`` expected cost of reporting the second when being at the first.

    Raises
    ------
    InvalidProblemError
        For a field of another form, or sizes that do not fit.
    """

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    places: NDArray[np.int64] = field(metadata=kind(Wholes(MOST_PLACES - 1, MOST_COLUMNS)))
    costs: NDArray[np.float64] = field(metadata=kind(Matrix(MOST_COLUMNS, MOST_COLUMNS, FARTHEST)))

    def __post_init__(self) -> None:
        take(self)
        if self.costs.shape != (len(self.places),) * 2:
            expected = f"a row and a column for each of {len(self.places)} places"
            raise InvalidProblemError("costs", expected, self.costs.shape)
