r"""What client and server say to each other: every message once, as a frozen record without any I/O.

A record reads a plain mapping strictly (:func:`read`), writes one (:func:`write`), and states its form
(:func:`schema`), so that the server, the client and the published schema can't disagree. A key too many, a number that
is not finite, a matrix that is no table of distances: all are refused, by name, and no refusal repeats a value.

There are two modes. In the sound one the client only fetches :class:`Health`, :class:`Place` and :class:`Published`;
it uploads nothing. In the mode of the paper ([QLPSX24]_, Figure 4) it uploads matrices that are a function of its
place: :class:`CostRequest` and :class:`Upload`. That mode is there to be studied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from discreet.lrgeo._fields import Maybe, Object, Text, Whole
from discreet.lrgeo._messages import (
    DIGEST,
    MOST_PLACES,
    PROTOCOL,
    WORDS,
    check_protocol,
    kind,
    read,
    schema,
    take,
    write,
)
from discreet.lrgeo.paper_messages import (
    MOST_COLUMNS,
    MOST_ROWS,
    Accepted,
    CostRequest,
    CostTable,
    Job,
    Parameters,
    Upload,
)

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

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    status: str = field(metadata=kind(Text("designing|ready|failed", 9)))
    mechanism: str | None = field(metadata=kind(Maybe(DIGEST)))

    def __post_init__(self) -> None:
        take(self)


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

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    region: dict[str, Any] = field(metadata=kind(Object("a region")))

    def __post_init__(self) -> None:
        take(self)


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

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    digest: str = field(metadata=kind(DIGEST))
    mechanism: dict[str, Any] = field(metadata=kind(Object("a mechanism")))

    def __post_init__(self) -> None:
        take(self)


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

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    mechanism: str = field(metadata=kind(DIGEST))
    epoch: int = field(metadata=kind(Whole(0, 2**53)))
    place: int = field(metadata=kind(Whole(0, MOST_PLACES - 1)))

    def __post_init__(self) -> None:
        take(self)


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

    protocol: int = field(metadata=kind(Whole(0, 1_000)))
    error: str = field(metadata=kind(Text("[a-z-]{1,20}", 20)))
    message: str = field(metadata=kind(WORDS))

    def __post_init__(self) -> None:
        take(self)
