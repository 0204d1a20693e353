"""The messages of the service as pydantic models: strict, bounded, shown by OpenAPI, and silent about input.

:meth:`Message.read` is the only entry from the wire. A refusal names the field and the allowed values, and repeats no
value and no key of the input. The client without I/O reads the messages of the sound mode without
pydantic, by :mod:`discreet.lrgeo.messages`; a test holds the two readers to one catalogue.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.messages import (
    DIGEST,
    PROTOCOL_VERSION,
    TEXT,
    check_protocol,
)

Digest = Annotated[str, Field(pattern=f"^{DIGEST}$", max_length=64)]
Sentence = Annotated[str, Field(pattern=f"^{TEXT}$", max_length=500)]


class Message(BaseModel):
    """A message: its fields and no others, of exactly their types, finite and bounded."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
    )

    protocol: Annotated[int, Field(ge=PROTOCOL_VERSION, le=PROTOCOL_VERSION)]

    @classmethod
    def read(cls, data: object) -> Self:
        """Read a message from what was decoded from the wire.

        `data` is the decoded body, a mapping from keys to plain values; returns a message of this class.

        Raises
        ------
        InvalidProblemError
            For what is no mapping, a key too few or too many, another version, or a field of another form. It names the
            field and what is allowed, never what came.

        Examples
        --------
        >>> HealthMessage.read({"protocol": 1, "status": "ready", "mechanism": None}).status
        'ready'
        >>> HealthMessage.read({"protocol": 1, "status": "well", "mechanism": None})
        Traceback (most recent call last):
        discreet.core.errors.InvalidProblemError: status: expected 'designing', 'ready' or 'failed', got another value
        """
        title, names = cls.title(), list(cls.model_fields)
        if not isinstance(data, dict):
            raise InvalidProblemError(title, "an object", type(data).__name__)
        # First of all, since another version may well have other keys.
        if "protocol" in data:
            check_protocol(data["protocol"])
        missing = [name for name in names if name not in data]
        # Counted here, so that a million keys too many make one error.
        if missing or len(data) != len(names):
            got = f"none of {', '.join(missing)}" if missing else f"{len(data)} keys"
            raise InvalidProblemError(title, f"the keys {', '.join(names)}", got)
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            refused = cls._refused(error)
        # Outside of the handler: an error keeps what it was raised in, and that one holds what came.
        raise refused

    @classmethod
    def title(cls) -> str:
        """Return the name of the message in refusals: ``health`` for :class:`HealthMessage`."""
        return cls.__name__.removesuffix("Message").lower()

    def write(self) -> dict[str, Any]:
        """Write the message as a plain mapping: numbers, texts, lists and mappings only."""
        return self.model_dump()

    @classmethod
    def _refused(cls, error: ValidationError) -> InvalidProblemError:
        """Return the refusal of the first error.

        It states the field and the allowed form, without any key or value of the input.
        """
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = str(first["loc"][0]) if first["loc"] else cls.title()
        expected = first["msg"].removeprefix("Input should be ")
        return InvalidProblemError(field, expected, "another value")


class HealthMessage(Message):
    """What the server can do at the moment: ``mechanism`` is the digest of the published mechanism."""

    status: Literal["designing", "ready", "failed"]
    mechanism: Digest | None


class RegionMessage(Message):
    """The region: all places, for everybody, as :class:`discreet.lrgeo.Region` writes and reads them."""

    region: dict[str, Any]


class MechanismMessage(Message):
    """The mechanism: one for everybody, from which a client computes its own row, and the SHA-256 that it must have."""

    digest: Digest
    mechanism: dict[str, Any]


class RefusalMessage(Message):
    """Why the server refused a request: ``error`` is one word for programs, ``message`` a sentence for people."""

    error: Annotated[str, Field(pattern="^[a-z-]{1,20}$", max_length=20)]
    message: Sentence
