"""Requests that are let through: with the token of this run, to this host by its address, and changes from this page.

A name that was bound to 127.0.0.1 does not name this host, so a page of another site cannot read anything; nor does it
know the token, nor is its origin this one, so it cannot change anything.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, final

from discreet.web.asgi import PLAIN, send_answer

if TYPE_CHECKING:
    from discreet.web.asgi import Application, Message, Receive, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every answer: nothing is fetched from elsewhere, kept, or shown inside another page."""


@final
class Gate:
    """ASGI middleware that lets the page's own requests through and takes the token off their paths.

    Parameters
    ----------
    app
        The ASGI application behind it.
    host
        Host and port as they stand in the address of the page.
    token
        What the path of each request begins with.
    """

    def __init__(self, app: Application, host: str, token: str) -> None:
        self._app = app
        self._host = host
        self._token = token

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass a request on without the token in its path, or refuse it, as :func:`refused` says.

        Web sockets are closed.
        """
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "http":
            why = refused(scope, self._host, self._token)
            if why is not None:
                status, text = why
                # What is left of a body is not read.
                headers = ((b"connection", b"close"), *HEADERS)
                await send_answer(send, status, PLAIN, f"{text}\n".encode(), headers)
                return
            path = scope["path"][len(self._token) + 1 :]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)


def refused(scope: Message, host: str, token: str) -> tuple[int, str] | None:
    """Return the status and the reason for which a request is refused, or ``None`` if it is accepted.

    421 for another or no single Host, 404 for another token, 403 for a POST from another origin, 405 for other
    methods than GET and POST. The token is compared in constant time.

    Parameters
    ----------
    scope
        ASGI scope of an HTTP request: its ``headers``, ``path`` and ``method`` are read.
    host
        Host and port as they stand in the address of the page.
    token
        What the path of each request begins with.

    Examples
    --------
    >>> asked = {"headers": [(b"host", b"127.0.0.1:80")], "path": "/secret/page.js", "method": "GET"}
    >>> refused(asked, "127.0.0.1:80", "secret"), refused(asked, "127.0.0.1:80", "guess")
    (None, (404, 'no such path'))
    """
    named = [value for name, value in scope["headers"] if name == b"host"]
    if named != [host.encode()]:
        return 421, "this is another host"
    start = f"/{token}/".encode()
    if not secrets.compare_digest(scope["path"].encode()[: len(start)], start):
        return 404, "no such path"
    if scope["method"] == "POST":
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        if origins != [f"http://{host}".encode()]:
            return 403, "this is for the page alone"
    elif scope["method"] != "GET":
        return 405, "no such method here"
    return None
