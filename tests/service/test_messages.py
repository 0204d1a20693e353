"""Two readers of one wire: the server's models, and the reader of the client, which needs no dependency."""

from __future__ import annotations

import math
from typing import Any

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.messages import MESSAGES, read_message
from discreet.service.messages import (
    HealthMessage,
    MechanismMessage,
    Message,
    RefusalMessage,
    RegionMessage,
)
from service.message_laws import LAWS, Law

DIGEST = "0123456789abcdef" * 4
SOUND: dict[type[Message], dict[str, Any]] = {
    HealthMessage: {"protocol": 1, "status": "ready", "mechanism": DIGEST},
    RegionMessage: {"protocol": 1, "region": {"unit": "km"}},
    MechanismMessage: {"protocol": 1, "digest": DIGEST, "mechanism": {"rate": "1"}},
    RefusalMessage: {"protocol": 1, "error": "not-found", "message": "no such job"},
}
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    1.0,
    -1,
    2.5,
    2**53,
    2**53 + 1,
    999_999,
    1_000_000,
    10**400,
    -(10**400),
    math.nan,
    math.inf,
    "",
    "ready",
    "designing\n",
    "readyready",
    DIGEST,
    DIGEST.upper(),
    DIGEST + "\n",
    DIGEST + "0",
    "not-found",
    "x" * 20,
    "x" * 21,
    "x" * 500,
    "x" * 501,
    "\x00",
    "\ud800",
    "é\u2028",
    b"bytes",
    [],
    [1],
    {},
    {"a": 1},
    {1: "a"},
    {"\ud800": 1},
]
"""What any field may hold on somebody's wire."""


def catalogue() -> list[tuple[type[Message], object]]:
    """List messages of the sound mode, valid and invalid: each field with each odd value, and other shapes."""
    listed: list[tuple[type[Message], object]] = []
    for model, good in SOUND.items():
        listed.append((model, good))
        listed += [(model, good | {name: value}) for name in good for value in ODD]
        listed += [(model, {k: v for k, v in good.items() if k != name}) for name in good]
        listed += [(model, good | {"place_of_the_user": 3})]
        listed += [(model, other) for other in (None, [], "text", 3, b"bytes", [good])]
    return listed


def test_both_readers_take_and_refuse_the_same_messages() -> None:
    taken = refused = 0
    for model, data in catalogue():
        try:
            mine: object = read_message(model.title(), data)
        except InvalidProblemError as error:
            mine = error.field
        try:
            theirs: object = model.read(data).write()
        except InvalidProblemError as error:
            theirs = error.field
        assert mine == theirs, (model, ascii(data)[:200])
        taken += isinstance(mine, dict)
        refused += isinstance(mine, str)
    assert taken > 20
    assert refused > 400


def test_both_readers_know_the_same_messages_and_fields() -> None:
    models = {model.title(): list(model.model_fields) for model in SOUND}
    assert models == {name: ["protocol", *fields] for name, fields in MESSAGES.items()}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("model", list(SOUND), ids=lambda model: model.__name__)
def test_every_message_keeps_every_law(model: type[Message], law: Law) -> None:
    law(model, SOUND[model])


def test_the_schema_says_what_is_read() -> None:
    form = HealthMessage.model_json_schema()
    assert form["additionalProperties"] is False
    assert form["required"] == list(SOUND[HealthMessage])
    assert form["properties"]["protocol"]["minimum"] == form["properties"]["protocol"]["maximum"]
    assert form["properties"]["mechanism"]["anyOf"][1] == {"type": "null"}


def test_a_kind_of_message_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="kind: expected one of health.* 'healthz'"):
        read_message("healthz", SOUND[HealthMessage])
