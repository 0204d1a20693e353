"""What stands before the application: bounded bodies, a rate for each address, one protocol, and silent failures.

It is plain ASGI, so that a body is counted while it comes and never written anywhere. A failure inside is logged by
its kind and its place in the code; a message or a traceback might repeat what was sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, final

from discreet.core.errors import InvalidProblemError
from discreet.core.faults import place_of
from discreet.core.printed import estimate
from discreet.lrgeo.messages import PROTOCOL_VERSION
from discreet.web.asgi import send_answer
from discreet.web.clients import HEADERS, client_of, is_trusted, named_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Event

    from discreet.web.asgi import Application, Headers, Message, Receive, Send
    from discreet.web.clients import Network

_LOG = logging.getLogger("discreet.service")

_PROTOCOL = b"discreet-protocol"


def refusal(error: str, message: str) -> bytes:
    """Return a refusal as a JSON body: `error` is one word for programs, `message` a sentence for people.

    Examples
    --------
    >>> refusal("not-found", "no such job")
    b'{"protocol":1,"error":"not-found","message":"no such job"}'
    """
    envelope = {"protocol": PROTOCOL_VERSION, "error": error, "message": message}
    return json.dumps(envelope, separators=(",", ":")).encode()


@final
@dataclass(frozen=True)
class Limits:
    """Bounds on what clients can make a server do.

    Parameters
    ----------
    body
        Bytes of a request's body.
    body_seconds
        Seconds within which a body must have come.
    rate
        Requests each second from one address, on average.
    burst
        Requests at once from one address.
    addresses
        Addresses that are remembered for the rate; the one that was silent longest is forgotten first.
    connections
        Connections at once, or fewer where the process may not open so many files. More wait until one ends.
    connections_per_address
        Connections at once from one address that is no trusted proxy. More are refused.

    Raises
    ------
    InvalidProblemError
        For a bound that is not positive and finite.

    Examples
    --------
    >>> Limits(burst=4).burst
    4
    >>> Limits(rate=0)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: rate: expected a positive number that is finite, got 0
    """

    body: int = 8 << 20
    body_seconds: float = 30.0
    rate: float = 50.0
    burst: int = 200
    addresses: int = 10_000
    connections: int = 4096
    connections_per_address: int = 256

    def __post_init__(self) -> None:
        for part in fields(self):
            value = getattr(self, part.name)
            if not (math.isfinite(value) and value > 0):
                raise InvalidProblemError(part.name, "a positive number that is finite", value)


@final
class Rates:
    """A bucket of tokens for each address; it is filled at a rate, and each request takes a token.

    Parameters
    ----------
    limits
        Rate, burst, and how many addresses are remembered.
    clock
        Returns seconds that never go back.

    Examples
    --------
    >>> now = [0.0]
    >>> rates = Rates(Limits(rate=1, burst=2), lambda: now[0])
    >>> [rates.take("a") for _ in range(3)]
    [True, True, False]
    >>> now[0] = 1.0
    >>> rates.take("a"), rates.take("a"), rates.take("b")
    (True, False, True)
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str) -> bool:
        """Take a token of an address and return ``True``, or return ``False`` if it has less than one.

        A new address has a full bucket; the address that was silent longest is forgotten beyond the limit. ``O(1)``.
        """
        now, full = self._clock(), float(self._limits.burst)
        left, then = self._buckets.pop(address, (full, now))
        left = min(full, left + (now - then) * self._limits.rate)
        allowed = left >= 1
        self._buckets[address] = (left - allowed, now)
        if len(self._buckets) > self._limits.addresses:
            self._buckets.popitem(last=False)
        return allowed


@final
class Guard:
    """ASGI middleware that admits a request or refuses it.

    Parameters
    ----------
    app
        The ASGI application behind it.
    limits
        Bounds on bodies and rates; connections are bounded by :func:`discreet.web.serve`.
    headers
        Put on every answer of the application that has not set them. Default: those for answers that are no pages.
    trusted
        Networks of proxies, from :func:`discreet.web.clients.networks`. A request from one counts for the last address
        in its ``X-Forwarded-For`` or ``Forwarded`` that is no such proxy; the headers of any other are not read.
    stopping
        Once it is set, every answer ends its connection.
    """

    def __init__(
        self,
        app: Application,
        limits: Limits,
        headers: Headers | None = None,
        trusted: Sequence[Network] = (),
        stopping: Event | None = None,
    ) -> None:
        self._app = app
        self._limits = limits
        self._headers = _HEADERS if headers is None else headers
        self._rates = Rates(limits)
        self._trusted = tuple(trusted)
        self._stopping = stopping
        self._warned: set[str] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on once its body is read, or answer it with a refusal (400, 408, 413 or 429).

        Web sockets are closed. 500 where the application fails before it answers. Other scopes are passed on
        unchanged.
        """
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refuse(scope)
        body = b""
        if refused is None and scope["method"] not in {"GET", "HEAD"}:
            read = await self._body(receive)
            if isinstance(read, bytes):
                body = read
            else:
                refused = read
        if refused is not None:
            await _answer(send, *refused)
            return
        await self._pass(scope, body, receive, send)

    def _refuse(self, scope: Message) -> tuple[int, str, str] | None:
        """Return status, code and reason of a refusal, or ``None``.

        Refused are another protocol, too many requests of an address, and too large a body.
        """
        headers = dict(scope["headers"])
        stated = headers.get(_PROTOCOL)
        if stated is not None and stated != str(PROTOCOL_VERSION).encode():
            return 400, "protocol", f"this server speaks version {PROTOCOL_VERSION} of the messages"
        if not self._rates.take(self._client(scope)):
            return 429, "too-many", "too many requests from this address; wait a second"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.body:
            return 413, "too-large", f"a body may have {self._limits.body} bytes"
        return None

    def _client(self, scope: Message) -> str:
        """Return the name that a request counts for.

        It is that of the client of the connection, or of the one that a trusted proxy names. Headers from others, and
        a proxy that names none or two, are warned of once and not used.
        """
        peer = str((scope.get("client") or ("unknown", 0))[0])
        headers = [each for each in scope["headers"] if each[0] in HEADERS]
        if not headers:
            return client_of(peer)
        if not is_trusted(peer, self._trusted):
            name = headers[0][0].decode("latin-1").title()
            self._warn(f"{name} came from an address that is no trusted proxy; it is not read")
            return client_of(peer)
        named = named_client(headers, self._trusted)
        if named is None:
            self._warn("a trusted proxy named no client, or two; requests count for its address")
        return client_of(named or peer)

    def _warn(self, message: str) -> None:
        """Log a message that every request could cause once."""
        if message not in self._warned:
            self._warned.add(message)
            _LOG.warning(message)

    async def _body(self, receive: Receive) -> bytes | tuple[int, str, str]:
        """Return the body of a request, or status, code and reason of a refusal.

        400 if it is cut off, 413 if it is larger than the limit, 408 if it has not come in `body_seconds`. It is held
        in memory.
        """
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return 400, "invalid", "the body was cut off"
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._limits.body:
                        return 413, "too-large", f"a body may have {self._limits.body} bytes"
                    more = message.get("more_body", False)
        except TimeoutError:
            within = f"within {estimate(self._limits.body_seconds)} seconds"
            return 408, "too-slow", f"a body must come {within}"
        return b"".join(parts)

    async def _pass(self, scope: Message, body: bytes, receive: Receive, send: Send) -> None:
        """Pass the request on, with the `body` that was read; answer 500 if the application fails before it begins to.

        A failure is logged by its place and not raised; headers are added that the application has not set.
        """
        is_cut, begun = False, False

        async def replay() -> Message:
            nonlocal is_cut
            if is_cut:
                return await receive()
            is_cut = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def watch(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                set_already = {name.lower() for name, _ in message.get("headers", [])}
                more = [each for each in self._headers if each[0] not in set_already]
                if self._stopping is not None and self._stopping.is_set():
                    more.append((b"connection", b"close"))
                message["headers"] = [*message.get("headers", []), *more]
            await _send_in_parts(send, message)

        try:
            await self._app(scope, replay, watch)
        except (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - no failure may leave by its own words, no panic either
            _LOG.error(
                "%s, request %s", place_of(error), scope.get("discreet.request", "unnumbered")
            )
            if not begun:
                await _answer(send, 500, "internal", "the server failed; its log says where")


_PART = 64 << 10
"""Bytes of an answer that are handed on at once: a client that reads slowly holds no more of it in memory."""


async def _send_in_parts(send: Send, message: Message) -> None:
    """Send an ASGI message; a body beyond 64 KiB in parts, each when the client has taken the one before."""
    body = message.get("body", b"")
    for start in range(0, len(body) - _PART, _PART):
        part = body[start : start + _PART]
        await send({"type": message["type"], "body": part, "more_body": True})
    if len(body) > _PART:
        message = {**message, "body": body[(len(body) - 1) // _PART * _PART :]}
    await send(message)


_HEADERS = (
    (_PROTOCOL, str(PROTOCOL_VERSION).encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'"),
    (b"referrer-policy", b"no-referrer"),
)


async def _answer(send: Send, status: int, error: str, message: str) -> None:
    """Send a refusal as JSON: `status`, `error` in one word for programs, and `message`, a sentence for people.

    413 and 408 end the connection, since the rest of the body is not read; with 429 the client may retry after a
    second.
    """
    headers = [(b"cache-control", b"no-store"), *_HEADERS]
    if status in {408, 413}:
        # What is left of the body is not read.
        headers.append((b"connection", b"close"))
    if status == 429:
        headers.append((b"retry-after", b"1"))
    body = refusal(error, message)
    await send_answer(send, status, "application/json", body, tuple(headers))
