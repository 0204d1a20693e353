"""Ask a server over HTTP: fixed headers, bounded answers, and patience while it is away.

Nothing here knows a place. A request depends on the server's address and on earlier answers alone, so two users at
different places send the same bytes.
"""

from __future__ import annotations

import ipaddress
import time
import zlib
from typing import TYPE_CHECKING, TypeVar, final

import httpx

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.lrgeo.messages import PROTOCOL_VERSION, read_message
from discreet.service.wire import JSON, MSGPACK, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

Read = TypeVar("Read")

_MOST = 64 << 20
"""Bytes of an answer; more is given up while it comes."""

_GZIP = 16 + zlib.MAX_WBITS
"""How zlib is asked for the format of gzip."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0

_HEADERS = {
    "accept": MSGPACK,
    "accept-encoding": "gzip",
    "discreet-protocol": str(PROTOCOL_VERSION),
    "user-agent": "discreet",
}


@final
class Server:
    """A server as its clients see it.

    Parameters
    ----------
    url
        Its address, such as ``https://places.example.org``. Another machine needs HTTPS, unless `allow_plain`.
    patience
        Seconds for which a server that does not answer, or is still designing, is asked again.
    allow_plain
        Ask another machine over plain HTTP: anybody on the way may then read and change what it says.
    transport
        Another way to reach it, for tests.
    sleep, clock
        How to wait, and seconds that never go back.

    Raises
    ------
    InvalidProblemError
        For an invalid address, or one that needs HTTPS.

    Examples
    --------
    >>> Server("http://192.0.2.7:8080")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: server: expected https for another machine, ...
    """

    def __init__(
        self,
        url: str,
        *,
        patience: float = 30.0,
        allow_plain: bool = False,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = _checked(url, allow_plain=allow_plain)
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        # The environment's proxies and passwords are none of a location client's business.
        self._http = httpx.Client(
            base_url=self.url,
            headers=_HEADERS,
            timeout=30.0,
            trust_env=False,
            follow_redirects=False,
            transport=transport,
        )

    @property
    def is_exposed(self) -> bool:
        """Whether anybody on the way may change what it says: another machine, over plain HTTP."""
        parts = httpx.URL(self.url)
        return parts.scheme == "http" and not _is_here(parts.host)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(
        self, path: str, reader: Callable[[object], Read], *, known: str | None = None
    ) -> Read | None:
        """Fetch a message.

        Parameters
        ----------
        path
            Path below the server's address, such as ``/v1/mechanism``.
        reader
            Reads the message from a plain mapping, or refuses it.
        known
            Digest of the message that the client has, 64 hexadecimal digits; it is asked only for another one.

        Returns
        -------
        object or None
            What `reader` returned; ``None`` when the server still has the message of the digest `known`.

        Raises
        ------
        InvalidProblemError
            When the server refuses, or says what can't be understood.
        LimitReachedError
            When it could not be reached, or answered 429 or 503, for the seconds of patience.
        """
        headers = {} if known is None else {"if-none-match": f'"{known}.msgpack"'}
        status, media, body = self._ask("GET", path, headers, None)
        return None if status == 304 else _understood(status, media, body, reader)

    def post(self, path: str, message: Mapping[str, Any], reader: Callable[[object], Read]) -> Read:
        """Send a message as MessagePack to a path and return what `reader` makes of the answer.

        The request is repeated as in :meth:`get`.

        Raises
        ------
        InvalidProblemError
            When the server refuses, or its answer is no message of the protocol.
        LimitReachedError
            When it did not answer within the patience.
        """
        body = encode(message, MSGPACK)
        return _understood(*self._ask("POST", path, {"content-type": MSGPACK}, body), reader)

    def _ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, str, bytes]:
        """Send a request until the status is neither 429 nor 503 (`body` None: no body).

        Return status, media type and body. Pauses between tries double from 0.1 to 2 seconds. LimitReachedError when
        the patience, in seconds, is over; InvalidProblemError as in `_once`.

        `path` is below the server's address; `headers` are added to the fixed ones.
        """
        end, pause = self._clock() + self._patience, _FIRST_PAUSE
        while True:
            try:
                status, media, answer = self._once(method, path, headers, body)
            except httpx.TransportError as error:
                why = f"it can't be reached ({type(error).__name__})"
            else:
                if status not in {429, 503}:
                    return status, media, answer
                why = _reason_of(media, answer)
            if self._clock() + pause > end:
                raise LimitReachedError(f"{self.url}: {why}, for {self._patience} seconds")
            self._sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, str, bytes]:
        """Send a request once; return status, media type ("" if not stated) and body, decompressed, of at most 64 MiB.

        InvalidProblemError for another coding than gzip, and for an answer too large or cut off; httpx.TransportError
        where the server is not reached.
        """
        with self._http.stream(method, path, headers=headers, content=body) as response:
            coding = response.headers.get("content-encoding", "identity")
            if coding not in {"identity", "gzip"}:
                expected = "an answer as it is, or compressed by gzip"
                raise InvalidProblemError("server", expected, "another one")
            unpack = None if coding == "identity" else zlib.decompressobj(_GZIP)
            parts, size = [], 0
            # What is unpacked is bounded while it is: a small answer could grow without end.
            for raw in response.iter_bytes() if unpack is None else response.iter_raw():
                part = raw if unpack is None else _unpacked(unpack, raw, _MOST + 1 - size)
                size += len(part)
                if size > _MOST:
                    raise InvalidProblemError(
                        "server", f"an answer of {_MOST} bytes", "a larger one"
                    )
                parts.append(part)
            if unpack is not None and not unpack.eof:
                raise InvalidProblemError("server", "a whole answer", "one that was cut off")
            return response.status_code, response.headers.get("content-type", ""), b"".join(parts)


def _unpacked(unpack: zlib._Decompress, raw: bytes, most: int) -> bytes:
    """Return at most `most` bytes more of a gzip stream from its next compressed bytes.

    InvalidProblemError for no gzip.
    """
    try:
        return unpack.decompress(raw, most)
    except zlib.error:
        raise InvalidProblemError("server", "an answer compressed by gzip", "another") from None


def _checked(url: str, *, allow_plain: bool) -> str:
    """Return an address without its last slash; `allow_plain` permits HTTP to another machine.

    InvalidProblemError for other schemes, for an address with a user or query, and for HTTP that is not permitted.

    `url` is such as ``https://places.example.org``.
    """
    try:
        parts = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        parts = httpx.URL("")
    if parts.scheme not in {"http", "https"} or not parts.host or parts.userinfo or parts.query:
        raise InvalidProblemError("server", "an address such as http://127.0.0.1:8080", "another")
    if parts.scheme == "http" and not allow_plain and not _is_here(parts.host):
        expected = "https for another machine, or plain HTTP allowed"
        raise InvalidProblemError("server", expected, "http")
    return str(parts).rstrip("/")


def _is_here(host: str) -> bool:
    """Return whether a host is this machine, by its address or as ``localhost``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _understood(status: int, media: str, body: bytes, reader: Callable[[object], Read]) -> Read:
    """Return what `reader` makes of a decoded body of media type `media`.

    InvalidProblemError, its field "server", for another status than 200 and 202, and for a body that is no such
    message.
    """
    if status not in {200, 202}:
        raise InvalidProblemError("server", "an answer", f"{status}: {_reason_of(media, body)}")
    try:
        return reader(decode(body, media))
    except InvalidProblemError as error:
        detail = f"{error.field}: expected {error.expected}, got {error.got}"
        raise InvalidProblemError("server", "a message of the protocol", detail) from None


def _reason_of(media: str, body: bytes) -> str:
    """Return the sentence of a refusal, or one for a refusal without any.

    `body` is its body, `media` its media type, "" for JSON.
    """
    try:
        message: str = read_message("refusal", decode(body, media or JSON))["message"]
    except InvalidProblemError:
        return "a refusal without a reason"
    return message
