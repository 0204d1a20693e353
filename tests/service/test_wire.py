"""Bodies: JSON and MessagePack are read under the same rules."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.service.wire import JSON, MSGPACK, decode, encode

NAN, INFINITY = float("nan"), float("inf")

TWICE = b"\x82\xa1a\x01\xa1a\x02"
"""A mapping of MessagePack with one name twice."""


@pytest.mark.parametrize(
    "body",
    [
        TWICE,
        b"\x81\xa1b" + TWICE,
        b"\x91" + TWICE,
        *(msgpack.packb(data) for data in (NAN, [1.0, INFINITY], {"a": -INFINITY}, {"a": [[NAN]]})),
    ],
)
def test_messagepack_has_each_name_once_and_finite_numbers(body: bytes) -> None:
    with pytest.raises(InvalidProblemError, match="MessagePack that can be read"):
        decode(body, MSGPACK)


@pytest.mark.parametrize(
    "body", ["1e999", "[-1e400]", '{"a": 1e309}', "NaN", '{"a": Infinity}', '{"a": 1, "a": 1}']
)
def test_json_has_each_name_once_and_finite_numbers(body: str) -> None:
    with pytest.raises(InvalidProblemError, match="JSON that can be read"):
        decode(body.encode(), JSON)


@pytest.mark.parametrize("media", [JSON, MSGPACK])
@pytest.mark.parametrize(
    "data", [{}, {"a": [1.5, -0.0, 1e308, 5e-324, True, None, "NaN"], "b": {"a": [[2**60]]}}]
)
def test_what_is_written_is_read(data: dict[str, Any], media: str) -> None:
    assert decode(encode(data, media), media) == data
