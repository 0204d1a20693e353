"""What a server says to its clients, read strictly and without any dependency: the client's side of the wire.

In the sound mode a client fetches ``health``, ``region`` and ``mechanism``, and uploads nothing; ``report`` is what it
may hand in, and ``refusal`` why it got no answer. The server's side of the same messages are the pydantic models of
:mod:`discreet.service.messages`; one test holds the two to the same catalogue of messages. A key too many, another
version, a text of another form: all are refused, by name, and no refusal repeats a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from discreet.core.errors import InvalidProblemError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from discreet.lrgeo.mechanism import Mechanism
    from discreet.lrgeo.points.published import PublishedPoints

    Field = Callable[[object, str], object]

PROTOCOL_VERSION = 1
"""The version of the messages. It changes whenever one of them does."""

DIGEST = "[0-9a-f]{64}"
"""SHA-256 in hexadecimal."""

TEXT = r"[^\x00-\x1f]{0,500}"
"""A sentence for people, without control characters."""


def check_protocol(version: object) -> None:
    """Refuse another version of the messages than ours, and say which side is the older one.

    Parameters
    ----------
    version
        The version that the other side speaks.

    Raises
    ------
    InvalidProblemError
        For any version but :data:`PROTOCOL_VERSION`.

    Examples
    --------
    >>> check_protocol(0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: protocol: expected version 1 of the messages, got version 0, an older one
    """
    expected = "an integer from 0 to 1000"
    if isinstance(version, bool) or not isinstance(version, int):
        raise InvalidProblemError("protocol", expected, type(version).__name__)
    if not 0 <= version <= 1_000:
        raise InvalidProblemError("protocol", expected, "one outside")
    if version != PROTOCOL_VERSION:
        age = "older" if version < PROTOCOL_VERSION else "later"
        expected = f"version {PROTOCOL_VERSION} of the messages"
        raise InvalidProblemError("protocol", expected, f"version {version}, an {age} one")


def read_message(kind: str, data: object) -> dict[str, Any]:
    """Read a message from a plain mapping, and refuse whatever it does not describe.

    Returns ``"protocol"`` and each field of the kind, by name. Linear in the size of `data`.

    Parameters
    ----------
    kind
        One of :data:`MESSAGES`.
    data
        What was decoded from the wire.

    Returns
    -------
    dict
        The message's fields.

    Raises
    ------
    InvalidProblemError
        For an unknown kind, what is no mapping, a key too few or too many, another version, or a field of another
        form.

    Examples
    --------
    >>> read_message("health", {"protocol": 1, "status": "designing", "mechanism": None})["status"]
    'designing'
    >>> read_message("health", {"protocol": 1, "status": "resting", "mechanism": None})
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: status: expected a text of the form designing|ready|failed, got another
    """
    if kind not in MESSAGES:
        raise unknown_name("kind", kind, MESSAGES)
    if not isinstance(data, dict):
        raise InvalidProblemError(kind, "an object", type(data).__name__)
    # First of all, since another version may well have other keys.
    if "protocol" in data:
        check_protocol(data["protocol"])
    fields = MESSAGES[kind]
    names = ("protocol", *fields)
    missing = [name for name in names if name not in data]
    if missing or len(data) != len(names):
        got = f"none of {', '.join(missing)}" if missing else f"{len(data)} keys"
        raise InvalidProblemError(kind, f"the keys {', '.join(names)}", got)
    return {
        "protocol": PROTOCOL_VERSION,
        **{name: field(data[name], name) for name, field in fields.items()},
    }


def mechanism_from(data: Mapping[str, Any]) -> Mechanism | PublishedPoints:
    """Read a mechanism of any form, for places or for every point, and refuse what was altered.

    `data` is what ``to_dict`` of a mechanism wrote. Linear in its size; nothing is verified.

    Raises
    ------
    InvalidProblemError
        As the ``from_dict`` of the form that it states: that of places, where it states another one.
    """
    from discreet.lrgeo.mechanism import Mechanism
    from discreet.lrgeo.points.client import FORMS, read_published

    if data.get("form") in [*FORMS]:
        return read_published(data)
    return Mechanism.from_dict(data)


def read_mechanism(data: object) -> Mechanism | PublishedPoints:
    """Read the message ``mechanism``: the mechanism, whole, with the digest that the message names.

    `data` is what was decoded from the wire. Linear in its size; the mechanism is not verified.

    Raises
    ------
    InvalidProblemError
        As :func:`read_message` and :func:`mechanism_from`, and for another digest.
    """
    message = read_message("mechanism", data)
    made = mechanism_from(message["mechanism"])
    if made.digest != message["digest"]:
        raise InvalidProblemError("digest", "that of the mechanism", "another")
    return made


def _text(pattern: str) -> Field:
    """Return a reader of texts that match a pattern as a whole; it takes a value and its field, and refuses others."""

    def field(value: object, name: str) -> str:
        if not isinstance(value, str):
            raise InvalidProblemError(name, "a text", type(value).__name__)
        if not re.fullmatch(pattern, value) or not _is_unicode(value):
            raise InvalidProblemError(name, f"a text of the form {pattern}", "another")
        return value

    return field


def _object(value: object, name: str) -> dict[str, Any]:
    """Return a mapping with texts as keys, as it is; InvalidProblemError for anything else.

    Only the outer keys are read.
    """
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidProblemError(name, "an object", type(value).__name__)
    return value


def _or_null(inner: Field) -> Field:
    return lambda value, name: None if value is None else inner(value, name)


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate, which JSON can state and UTF-8 cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


MESSAGES: Mapping[str, Mapping[str, Field]] = {
    "health": {
        "status": _text("designing|ready|failed"),
        "mechanism": _or_null(_text(DIGEST)),
    },
    "region": {"region": _object},
    "mechanism": {"digest": _text(DIGEST), "mechanism": _object},
    "refusal": {"error": _text("[a-z-]{1,20}"), "message": _text(TEXT)},
}
"""Name of each message of the sound mode -> its fields beside ``protocol``."""
