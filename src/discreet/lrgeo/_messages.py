"""Records that are read strictly, written plainly, and that state their form: the machinery of the messages."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo._fields import Text, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.lrgeo._fields import Kind

__all__ = [
    "DIGEST",
    "FARTHEST",
    "MOST_PLACES",
    "PROTOCOL",
    "WORDS",
    "check_protocol",
    "kind",
    "read",
    "schema",
    "take",
    "write",
]

PROTOCOL = 1
"""The version of the messages. It changes whenever one of them does."""

MOST_PLACES = 1_000_000
FARTHEST = 1e5
"""Distances and costs, in whatever unit, stay below."""

DIGEST = Text("[0-9a-f]{64}", 64)
WORDS = Text(r"[^\x00-\x1f]*", 500)

Record = TypeVar("Record")


def kind(of: Kind) -> dict[str, Kind]:
    """Give the metadata of a field that holds something of a kind."""
    return {"kind": of}


def take(message: object) -> None:
    """Read each field by its kind when a record is made."""
    for part in fields(message):  # type: ignore[arg-type]
        value = part.metadata["kind"].read(getattr(message, part.name), part.name)
        object.__setattr__(message, part.name, value)
    check_protocol(getattr(message, "protocol", PROTOCOL))


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
    >>> from discreet.lrgeo.messages import CostRequest
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
    >>> from discreet.lrgeo.messages import Report
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
    >>> from discreet.lrgeo.messages import CostRequest
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
