"""The page for a person: served by the client's own process, on loopback, for one person and one run.

The place stays in the browser, which computes rows and draws by itself. The process serves files, makes charges, and
keeps a report that was drawn; it sees no place. A page of another site can't read it or make it spend: the token in the
path is not known elsewhere, a request must name this host (which a name that was bound to 127.0.0.1 does not), and one
that changes something must come from this page.
"""

from __future__ import annotations

import re
import secrets
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, final

import httpx
import numpy as np

from discreet.core import printed
from discreet.core.errors import BudgetError, DiscreetError, InvalidProblemError
from discreet.lrgeo.points.published import PublishedPoints
from discreet.service.wire import JSON, decode, encode
from discreet.web.asgi import PLAIN, send_answer
from discreet.web.gate import HEADERS, refused

if TYPE_CHECKING:
    from discreet.lrgeo import Mechanism, Region
    from discreet.service.client import Client, Reserved
    from discreet.web.asgi import Message, Receive, Send

_FILES = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "client.js": ("client.js", "text/javascript; charset=utf-8"),
}

_SHOWN_HEADERS = re.compile(
    "accept.*|connection|content-(length|type)|discreet-protocol|host|if-none-match|user-agent|transfer-encoding"
)
"""Headers whose values are shown; none of them authenticates a user."""


@final
class RequestLog(httpx.BaseTransport):
    """Sends requests over the network and keeps them as text to be shown, without credentials.

    The values of headers that a client of this package sends are kept; of any other header the name alone is kept,
    since it may authenticate the user.

    Examples
    --------
    >>> RequestLog().requests
    []
    """

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport(trust_env=False)
        self.requests: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request over the network and return the response; append the request to `requests` as text.

        The text has method and path, one line a header (of one that may authenticate, the name alone) and the size of
        the body, not the body itself. httpx.TransportError where the server is not reached; the request stays in the
        list.
        """
        lines = [f"{request.method} {request.url.raw_path.decode('ascii')}"]
        for name, value in request.headers.items():
            lines.append(f"{name}: {value if _SHOWN_HEADERS.fullmatch(name) else '(not kept)'}")
        lines.append(f"({len(request.read())} bytes of body)")
        self.requests.append("\n".join(lines))
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


@final
class Page:
    """An ASGI application that serves the page to who knows its token.

    Parameters
    ----------
    client
        The client, whose mechanism was fetched.
    host
        Host and port as they stand in the address of the page.
    url
        The location server, to be shown.
    requests
        What it was sent, to be shown.
    region
        Places with their roads, to be drawn; ``None`` draws places alone.
    token
        The secret part of the path; drawn by default.

    Attributes
    ----------
    max_body_bytes
        Bytes of a request's body, at most: two coordinates are all that the page sends.
    """

    max_body_bytes = 1_000

    def __init__(
        self,
        client: Client,
        host: str,
        *,
        url: str = "",
        requests: list[str] | None = None,
        region: Region | None = None,
        token: str | None = None,
    ) -> None:
        self._client = client
        self._host = host
        self._url = url
        self._requests = [] if requests is None else requests
        self._region = region
        self._reserved: Reserved | None = None
        self.token = token or secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """Where the page is, with its token: anybody who knows it may use it."""
        return f"http://{self._host}/{self.token}/"

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request of the page (ASGI).

        Paths are its files, ``data.json``, ``mechanism.json``, and for POST ``take`` and ``keep``. Requests without
        the token or for another host are refused (404, 421, 403, 405); web sockets are closed.
        """
        if scope["type"] == "lifespan":
            while True:
                kind = (await receive())["type"]
                await send({"type": f"{kind}.complete"})
                if kind == "lifespan.shutdown":
                    return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        from starlette.concurrency import run_in_threadpool

        why = refused(scope, self._host, self.token)
        if why is not None:
            status, media, body = _plain_answer(*why)
        else:
            request_body = await _body(receive, self.max_body_bytes)
            status, media, body = await run_in_threadpool(self._answer, scope, request_body)
        await send_answer(send, status, media, body, HEADERS)

    def _answer(self, scope: Message, body: bytes | None) -> tuple[int, str, bytes]:
        """Return status, media type and body for a path of the page; a request too large has ``None`` as `body`.

        A spent budget is answered 200 with "refused"; other errors of this package 400, an unknown path 404.
        """
        name = scope["path"][len(self.token) + 2 :]
        if scope["method"] == "GET":
            if name in _FILES:
                path, media = _FILES[name]
                return 200, media, files("discreet.service").joinpath("static", path).read_bytes()
            made = {"data.json": self._data, "mechanism.json": self._mechanism}.get(name)
            return _plain_answer(404, "no such path") if made is None else (200, JSON, made())
        if body is None:
            return _plain_answer(413, f"a body may have {self.max_body_bytes} bytes")
        try:
            if name == "take":
                return 200, JSON, self._take()
            if name == "keep":
                return 200, JSON, self._keep(body)
        except BudgetError as error:
            return 200, JSON, encode({"refused": f"{str(error).capitalize()}."}, JSON)
        except DiscreetError as error:
            return _plain_answer(400, str(error))
        return _plain_answer(404, "no such path")

    def _mechanism(self) -> bytes:
        return encode(self._client.mechanism.to_dict(), JSON)

    def _data(self) -> bytes:
        """Return what the page shows, as JSON: mechanism, promise, cost, loss, requests, roads and state."""
        mechanism = self._client.mechanism
        return encode(
            {
                "digest": mechanism.digest,
                "promise": _promise(mechanism),
                "seconds": self._client.seconds,
                "cost": printed.decimal_up(self._client.prepared().cost),
                "mean": printed.at_most(mechanism.upper, 3, mechanism.guarantee.unit),
                "url": self._url,
                "requests": self._requests,
                "roads": self._roads,
                "state": self._state(),
            },
            JSON,
        )

    @cached_property
    def _roads(self) -> dict[str, list[int]]:
        """Return vertices and segments of the region's roads as flat lists, each piece once; empty without roads."""
        roads = None if self._region is None else self._region.roads
        if roads is None:
            return {"vertices": [], "segments": []}
        # Each piece once: a road of two directions would be drawn twice.
        pieces = np.unique(np.sort(roads.segments, axis=1), axis=0)
        return {"vertices": roads.vertices.ravel().tolist(), "segments": pieces.ravel().tolist()}

    def _state(self, *, any_epoch: bool = False) -> dict[str, Any]:
        """Return the mapping of "report" (two numbers, or None), "spent_today" and "spent_in_all" (texts, rounded up).

        The report is that of this epoch only, unless `any_epoch`.
        """
        state, today, current = self._client.last()
        shown = state.report if current or any_epoch else None
        return {
            "report": None if shown is None else list(shown),
            # Rounded up: a ledger that shows less than was spent is none.
            "spent_today": printed.decimal_up(today),
            "spent_in_all": printed.decimal_up(state.spent_in_all),
        }

    def _take(self) -> bytes:
        """Charge for a report before the page draws it, as JSON with "state" and "pinned" (pairs of place and report).

        Where the last report is to be repeated nothing is charged and "pinned" is empty. BudgetError if neither is
        possible.
        """
        self._reserved = self._client.reserve()
        if self._reserved is None:
            return encode({"state": self._state(any_epoch=True), "pinned": []}, JSON)
        pinned = [[place, list(shown)] for place, shown in self._reserved.pinned.items()]
        return encode({"state": self._state(), "pinned": pinned}, JSON)

    def _keep(self, body: bytes) -> bytes:
        """Keep the report in `body`, drawn for the charge reserved before, which is thereby used up.

        Return the state as JSON. InvalidProblemError without a charge, for another form, and for a pair that the
        mechanism does not name.
        """
        reserved, self._reserved = self._reserved, None
        if reserved is None:
            raise InvalidProblemError("report", "one that was charged", "another")
        self._client.keep(reserved, _report(decode(body, JSON)))
        return encode({"state": self._state(any_epoch=True)}, JSON)


def _promise(mechanism: Mechanism | PublishedPoints) -> str:
    """Return the guarantee as sentences for the page."""
    points = "A point counts as the place nearest to it."
    if isinstance(mechanism, PublishedPoints):
        points = (
            "No point is rounded or moved to a place; one a little outside of the region counts as the nearest point "
            "of it."
        )
    promise = mechanism.promise
    return f"{promise[:1].upper()}{promise[1:]}. This was verified on your machine. {points}"


def _report(data: object) -> tuple[float, float]:
    """Return x and y of the mapping ``{"report": [x, y]}`` as floats; InvalidProblemError for anything else.

    Whether the mechanism has such a report is not checked here.
    """
    pair = data.get("report") if isinstance(data, dict) and len(data) == 1 else None
    numbers = pair if isinstance(pair, list) and len(pair) == 2 else [None]
    coordinates = [
        float(x) for x in numbers if isinstance(x, int | float) and not isinstance(x, bool)
    ]
    if len(coordinates) != 2:
        raise InvalidProblemError("report", "two numbers", "something else")
    return coordinates[0], coordinates[1]


async def _body(receive: Receive, max_bytes: int) -> bytes | None:
    """Return a request's body of at most `max_bytes`, or None if it is longer or cut off, as soon as that is known."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > max_bytes or message["type"] == "http.disconnect":
            return None
    return body


def _plain_answer(status: int, text: str) -> tuple[int, str, bytes]:
    return status, PLAIN, f"{text}\n".encode()
