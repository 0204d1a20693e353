r"""What client and server say to each other: every message once, as a frozen record without any I/O.

A record reads a plain mapping strictly (:func:`read`), writes one (:func:`write`), and states its form
(:func:`schema`), so that the server, the client and the published schema can't disagree. A key too many, a number that
is not finite, a matrix that is no table of distances: all are refused, by name, and no refusal repeats a value.

There are two modes. In the sound one the client only fetches: :class:`Health`, :class:`Place`, :class:`Published`,
:class:`Tile`; it uploads nothing. In the mode of the paper ([QLPSX24]_, Figure 4) it uploads matrices that are a
function of its place: :class:`CostRequest` and :class:`Upload`. That mode is there to be studied.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo._fields import Matrix, Maybe, Number, Object, Text, Whole, Wholes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.lrgeo._fields import Kind

__all__ = [
    "MOST_COLUMNS",
    "MOST_ROWS",
    "PROTOCOL",
    "Accepted",
    "CostRequest",
    "CostTable",
    "Health",
    "Job",
    "Parameters",
    "Place",
    "Published",
    "Refusal",
    "Report",
    "Upload",
    "check_protocol",
    "read",
    "schema",
    "write",
]

PROTOCOL = 1
"""The version of these messages. It changes whenever one of them does."""

MOST_ROWS = 400
MOST_COLUMNS = 2_000
_MOST_CELLS = 200_000
_WIDEST = 5_120
"""Places that a region may have in the published protocol."""

_MOST_PLACES = 1_000_000
_FARTHEST = 1e5
"""Distances and costs, in whatever unit, stay below."""

_SLACK = 1e-6
"""Distances on a sphere come with rounding: the triangle inequality is asked for up to this part of them."""

_DIGEST = Text("[0-9a-f]{64}", 64)
_JOB = Text("[A-Za-z0-9_-]{43}", 43)
_WORDS = Text(r"[^\x00-\x1f]*", 500)

Record = TypeVar("Record")


def _is(kind: Kind) -> dict[str, Kind]:
    return {"kind": kind}


def _take(message: object) -> None:
    """Read each field by its kind when a record is made."""
    for part in fields(message):  # type: ignore[arg-type]
        value = part.metadata["kind"].read(getattr(message, part.name), part.name)
        object.__setattr__(message, part.name, value)
    check_protocol(getattr(message, "protocol", PROTOCOL))


@final
@dataclass(frozen=True, eq=False)
class Health:
    """What the server can do at the moment.

    Parameters
    ----------
    protocol
        Version of the messages.
    status
        ``designing``, ``ready`` or ``failed``.
    mechanism
        Digest of what it publishes, once it is ready.

    Raises
    ------
    InvalidProblemError
        For a field of another form.

    Examples
    --------
    >>> write(Health(1, "designing", None))
    {'protocol': 1, 'status': 'designing', 'mechanism': None}
    """

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    status: str = field(metadata=_is(Text("designing|ready|failed", 9)))
    mechanism: str | None = field(metadata=_is(Maybe(_DIGEST)))

    def __post_init__(self) -> None:
        _take(self)


@final
@dataclass(frozen=True, eq=False)
class Place:
    """The region: all places, for everybody.

    Parameters
    ----------
    protocol
        Version of the messages.
    region
        What :class:`discreet.lrgeo.Region` writes and reads.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    region: dict[str, Any] = field(metadata=_is(Object("a region")))

    def __post_init__(self) -> None:
        _take(self)


@final
@dataclass(frozen=True, eq=False)
class Published:
    """The mechanism: one for everybody, from which a client computes its own row.

    Parameters
    ----------
    protocol
        Version of the messages.
    digest
        SHA-256 that the mechanism must have.
    mechanism
        What :class:`discreet.lrgeo.Mechanism` writes and reads.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    digest: str = field(metadata=_is(_DIGEST))
    mechanism: dict[str, Any] = field(metadata=_is(Object("a mechanism")))

    def __post_init__(self) -> None:
        _take(self)


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

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    epsilon: float = field(metadata=_is(Number(0.0, 1e6)))
    gamma: float | None = field(metadata=_is(Maybe(Number(0.0, _FARTHEST))))
    reach: float = field(metadata=_is(Number(0.0, _FARTHEST)))
    r_obf: float = field(metadata=_is(Number(0.0, _FARTHEST)))
    r_exp: float = field(metadata=_is(Number(0.0, _FARTHEST)))

    def __post_init__(self) -> None:
        _take(self)


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

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    between: NDArray[np.float64] = field(metadata=_is(Matrix(MOST_ROWS, MOST_ROWS, _FARTHEST)))
    away: NDArray[np.float64] = field(metadata=_is(Matrix(MOST_ROWS, MOST_COLUMNS, _FARTHEST)))
    cost: NDArray[np.float64] = field(metadata=_is(Matrix(MOST_ROWS, MOST_COLUMNS, _FARTHEST)))
    columns: NDArray[np.int64] = field(metadata=_is(Wholes(_MOST_PLACES - 1, MOST_COLUMNS)))

    def __post_init__(self) -> None:
        _take(self)
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

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    job: str = field(metadata=_is(_JOB))

    def __post_init__(self) -> None:
        _take(self)


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

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    status: str = field(metadata=_is(Text("waiting|running|done|failed", 7)))
    rows: NDArray[np.float64] | None = field(metadata=_is(Maybe(Matrix(MOST_ROWS, _WIDEST, 1.01))))
    reason: str | None = field(metadata=_is(Maybe(_WORDS)))

    def __post_init__(self) -> None:
        _take(self)
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

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    center: int = field(metadata=_is(Whole(0, _MOST_PLACES - 1)))
    radius: float = field(metadata=_is(Number(0.0, _FARTHEST)))

    def __post_init__(self) -> None:
        _take(self)


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

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    places: NDArray[np.int64] = field(metadata=_is(Wholes(_MOST_PLACES - 1, MOST_COLUMNS)))
    costs: NDArray[np.float64] = field(metadata=_is(Matrix(MOST_COLUMNS, MOST_COLUMNS, _FARTHEST)))

    def __post_init__(self) -> None:
        _take(self)
        if self.costs.shape != (len(self.places),) * 2:
            expected = f"a row and a column for each of {len(self.places)} places"
            raise InvalidProblemError("costs", expected, self.costs.shape)


@final
@dataclass(frozen=True, eq=False)
class Report:
    """A report, as it is handed in: the place that was drawn, never the place where the user is.

    Parameters
    ----------
    protocol
        Version of the messages.
    mechanism
        Digest of the mechanism that it was drawn from.
    epoch
        Number of the public epoch.
    place
        Index of the reported place.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    mechanism: str = field(metadata=_is(_DIGEST))
    epoch: int = field(metadata=_is(Whole(0, 2**53)))
    place: int = field(metadata=_is(Whole(0, _MOST_PLACES - 1)))

    def __post_init__(self) -> None:
        _take(self)


@final
@dataclass(frozen=True, eq=False)
class Refusal:
    """Why the server did not do what was asked; it names fields and sizes, and repeats no value.

    Parameters
    ----------
    protocol
        Version of the messages.
    error
        One word for programs: ``invalid``, ``protocol``, ``too-large``, ``too-many``, ``not-found``, ``not-ready``,
        ``switched-off``, ``method``, ``media-type`` or ``internal``.
    message
        A sentence for people.

    Raises
    ------
    InvalidProblemError
        For a field of another form.
    """

    protocol: int = field(metadata=_is(Whole(0, 1_000)))
    error: str = field(metadata=_is(Text("[a-z-]{1,20}", 20)))
    message: str = field(metadata=_is(_WORDS))

    def __post_init__(self) -> None:
        _take(self)


def check_protocol(said: int) -> None:
    """Refuse another version of the messages than ours, and say which side is the older one.

    Parameters
    ----------
    said
        The version that the other side speaks.

    Raises
    ------
    InvalidProblemError
        For any version but :data:`PROTOCOL`.

    Examples
    --------
    >>> check_protocol(0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: protocol: expected version 1 of the messages, got version 0, an older one
    """
    if said != PROTOCOL:
        age = "older" if said < PROTOCOL else "later"
        expected = f"version {PROTOCOL} of the messages"
        raise InvalidProblemError("protocol", expected, f"version {said}, an {age} one")


def read(record: type[Record], data: object) -> Record:
    """Read a message from a plain mapping, and refuse whatever it does not describe.

    Parameters
    ----------
    record
        The class of the message.
    data
        What was decoded from the wire.

    Returns
    -------
    record
        The message.

    Raises
    ------
    InvalidProblemError
        For what is no mapping, a key too few or too many, another version, or a field of another form.

    Examples
    --------
    >>> read(CostRequest, {"protocol": 1, "center": 3, "radius": 2.5}).radius
    2.5
    >>> read(CostRequest, {"protocol": 1, "center": 3, "radius": float("nan")})
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: radius: expected a finite number from 0 to 100000, got another
    """
    if not isinstance(data, dict):
        raise InvalidProblemError(record.__name__, "an object", type(data).__name__)
    # First of all, since another version may well have other keys.
    if "protocol" in data:
        check_protocol(Whole(0, 1_000).read(data["protocol"], "protocol"))
    names = [part.name for part in fields(record)]  # type: ignore[arg-type]
    missing = [name for name in names if name not in data]
    if missing or len(data) != len(names):
        got = f"none of {', '.join(missing)}" if missing else f"{len(data)} keys"
        raise InvalidProblemError(record.__name__, f"the keys {', '.join(names)}", got)
    return record(**data)


def write(message: object) -> dict[str, Any]:
    """Write a message as a plain mapping: numbers, texts, lists and mappings only.

    Parameters
    ----------
    message
        Any record of this module.

    Examples
    --------
    >>> write(Report(1, "0" * 64, 480_000, 17))["place"]
    17
    """
    parts = fields(message)  # type: ignore[arg-type]
    return {part.name: part.metadata["kind"].write(getattr(message, part.name)) for part in parts}


def schema(record: type[object]) -> Mapping[str, Any]:
    """State the form of a message as JSON schema.

    Parameters
    ----------
    record
        The class of the message.

    Examples
    --------
    >>> schema(CostRequest)["required"]
    ['protocol', 'center', 'radius']
    """
    parts = fields(record)  # type: ignore[arg-type]
    kinds = {part.name: part.metadata["kind"].schema() for part in parts}
    kinds["protocol"] = {"type": "integer", "const": PROTOCOL}
    return {
        "title": record.__name__,
        "type": "object",
        "properties": kinds,
        "required": list(kinds),
        "additionalProperties": False,
    }
