"""What stands before the application, run on ASGI messages alone."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.service.wire import JSON, MSGPACK, accepted, decode, encode
from discreet.web.guard import Guard, Limits, Rates
from meta.canary import SENTINEL


class Behind:
    """An application that answers with the body that it got, or does what it is told."""

    def __init__(self, fails: BaseException | None = None, *, begun: bool = False) -> None:
        self.bodies: list[bytes] = []
        self.scopes: list[str] = []
        self.fails = fails
        self.begun = begun

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope["type"])
        if scope["type"] != "http":
            return
        self.bodies.append((await receive())["body"])
        if self.begun or self.fails is None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        if self.fails is not None:
            raise self.fails
        await send({"type": "http.response.body", "body": b""})


def ask(
    guard: Guard,
    *parts: bytes,
    method: str = "POST",
    headers: dict[str, str] | None = None,
    pause: float = 0,
    cut: bool = False,
    kind: str = "http",
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Send a request in parts; give status, body and headers."""
    sent: list[dict[str, Any]] = []
    left = list(parts)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if cut and not left:
            return {"type": "http.disconnect"}
        body = left.pop(0) if left else b""
        return {"type": "http.request", "body": body, "more_body": bool(left) or cut}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    scope = {
        "type": kind,
        "method": method,
        "path": "/v1/x",
        "client": ("192.0.2.1", 5),
        "headers": [(k.encode(), v.encode()) for k, v in (headers or {}).items()],
    }
    asyncio.run(guard(scope, receive, send))
    if not sent:
        return 0, {}, {}
    status = int(sent[0].get("status") or sent[0]["code"])
    body = b"".join(message.get("body", b"") for message in sent[1:])
    named = {k.decode(): v.decode() for k, v in sent[0].get("headers", [])}
    return status, json.loads(body) if body else {}, named


def test_a_body_comes_through_whole_whatever_its_parts() -> None:
    behind = Behind()
    status, _, headers = ask(Guard(behind, Limits()), b"one ", b"", b"two")
    assert (status, behind.bodies) == (200, [b"one two"])
    assert headers["discreet-protocol"] == "1"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("parts", "headers"),
    [((b"x" * 11,), {}), ((b"x" * 6, b"x" * 6), {}), ((), {"content-length": "11"})],
)
def test_a_body_that_is_too_large_never_reaches_the_application(
    parts: tuple[bytes, ...], headers: dict[str, str]
) -> None:
    behind = Behind()
    status, said, answered = ask(Guard(behind, Limits(body=10)), *parts, headers=headers)
    assert (status, said["error"], behind.bodies) == (413, "too-large", [])
    assert answered["connection"] == "close"


def test_a_length_that_is_no_number_is_refused() -> None:
    assert ask(Guard(Behind(), Limits()), headers={"content-length": "-1"})[0] == 413


def test_a_body_of_just_the_size_is_taken() -> None:
    behind = Behind()
    assert (
        ask(Guard(behind, Limits(body=10)), b"x" * 10, headers={"content-length": "10"})[0] == 200
    )


def test_the_body_of_a_question_is_not_read() -> None:
    behind = Behind()
    assert ask(Guard(behind, Limits()), b"ignored", method="GET")[0] == 200
    assert behind.bodies == [b""]


def test_a_body_that_comes_too_slowly_is_given_up() -> None:
    status, said, _ = ask(Guard(Behind(), Limits(body_seconds=0.05)), b"a", b"b", pause=0.04)
    assert (status, said["error"]) == (408, "too-slow")
    assert "within 0.05 seconds" in said["message"]


def test_a_body_that_is_cut_off_is_refused() -> None:
    behind = Behind()
    status, said, _ = ask(Guard(behind, Limits()), b"half", cut=True)
    assert (status, said["error"], behind.bodies) == (400, "invalid", [])


@pytest.mark.parametrize("version", ["0", "2", "", "1.0"])
def test_another_protocol_is_refused(version: str) -> None:
    behind = Behind()
    guard = Guard(behind, Limits())
    status, said, _ = ask(guard, headers={"discreet-protocol": version})
    assert (status, said["error"], behind.bodies) == (400, "protocol", [])
    assert ask(guard, headers={"discreet-protocol": "1"})[0] == 200


def test_requests_beyond_the_rate_wait() -> None:
    guard = Guard(Behind(), Limits(rate=0.001, burst=2))
    answers = [ask(guard, method="GET") for _ in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 429]
    assert answers[2][2]["retry-after"] == "1"


def test_addresses_that_were_silent_longest_are_forgotten_first() -> None:
    rates = Rates(Limits(rate=0.001, burst=1, addresses=2), lambda: 0.0)
    assert [rates.take(address) for address in "aab"] == [True, False, True]
    assert not rates.take("a")
    assert rates.take("c")  # b is forgotten now
    assert not rates.take("a")
    assert rates.take("b")


@given(st.lists(st.floats(0, 3), max_size=30), st.integers(1, 5), st.floats(0.1, 5))
def test_no_more_is_let_through_than_burst_and_rate_allow(
    pauses: list[float], burst: int, rate: float
) -> None:
    now = [0.0]
    rates = Rates(Limits(rate=rate, burst=burst), lambda: now[0])
    taken = 0
    for pause in pauses:
        now[0] += pause
        taken += rates.take("a")
        assert taken <= burst + rate * now[0] + 1e-6


@pytest.mark.parametrize("begun", [False, True])
def test_a_failure_is_logged_by_its_kind_and_place_alone(
    caplog: pytest.LogCaptureFixture, *, begun: bool
) -> None:
    caplog.set_level(logging.DEBUG)
    behind = Behind(ValueError(f"the body was {SENTINEL}"), begun=begun)
    status, said, _ = ask(Guard(behind, Limits()), str(SENTINEL).encode())
    assert status == (200 if begun else 500)
    assert begun or said["error"] == "internal"
    assert [record.message for record in caplog.records if record.name == "discreet.service"] == [
        caplog.records[-1].message
    ]
    assert re.search(r"ValueError at .*test_guard:\d+", caplog.text)
    assert str(SENTINEL) not in caplog.text


class Panic(BaseException):
    """What a library in Rust raises is no ``Exception``."""


def test_a_panic_behind_does_not_end_the_server(caplog: pytest.LogCaptureFixture) -> None:
    status, said, _ = ask(Guard(Behind(Panic(f"at {SENTINEL}")), Limits()), b"1")
    assert (status, said["error"]) == (500, "internal")
    assert "Panic at " in caplog.text
    assert str(SENTINEL) not in caplog.text
    with pytest.raises(KeyboardInterrupt):
        ask(Guard(Behind(KeyboardInterrupt()), Limits()), b"1")


def test_other_connections_are_closed_or_passed() -> None:
    behind = Behind()
    guard = Guard(behind, Limits())
    assert ask(guard, kind="websocket")[0] == 1008
    assert ask(guard, kind="lifespan")[0] == 0
    assert behind.scopes == ["lifespan"]


@pytest.mark.parametrize("name", ["body", "rate", "body_seconds", "burst"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_limits_are_positive_and_finite(name: str, value: float) -> None:
    with pytest.raises(InvalidProblemError, match=f"{name}: expected a positive number"):
        Limits(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("media", [JSON, MSGPACK])
def test_what_is_encoded_is_decoded(media: str) -> None:
    data = {"a": [1, 2.5, None, True], "b": {"c": "d"}, "large": 2**62}
    assert decode(encode(data, media), media) == data
    assert decode(encode(data, media), f"{media.upper()}; charset=utf-8") == data


@pytest.mark.parametrize("media", ["", "text/plain", "application/x-pickle", "json"])
def test_another_media_type_is_refused(media: str) -> None:
    with pytest.raises(InvalidProblemError, match="Content-Type"):
        decode(b"{}", media)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        b"\xff\xfe",
        b"1" * 5000,
    ],
)
def test_json_that_is_not_strict_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidProblemError, match="JSON that can be read"):
        decode(body, JSON)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x81",
        b"\x81\x01\x02",
        b"\xc1",
        b"\x93" * 5000,
        b"\xdd\x7f\xff\xff\xff",
        b"\xd4\x01\x00",
        b"\xa1\xff",
        b"\x01\x02",
    ],
)
def test_messagepack_that_is_not_strict_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidProblemError, match="MessagePack that can be read"):
        decode(body, MSGPACK)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_readers(body: bytes) -> None:
    for media in (JSON, MSGPACK):
        try:
            decode(body, media)
        except InvalidProblemError as error:
            assert error.field == "body"  # noqa: PT017 - most bytes are refused, not all


def test_json_is_the_default_answer() -> None:
    assert accepted("") == accepted("text/html, application/json") == JSON
    assert accepted("Application/MsgPack") == MSGPACK
