"""Traffic of location clients with the real application, recorded at its door."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, final

import httpx

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.location import Request, Session
from discreet.lrgeo.messages import PROTOCOL, CostRequest, CostTable, Job, Upload, read
from discreet.service.asking import Server
from discreet.service.wire import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI

__all__ = ["Recorder"]

_HOPS = {b"host", b"content-length"}


@final
class Recorder(httpx.BaseTransport):
    """Hands the requests of a client to an application in this process, and keeps their bytes.

    Parameters
    ----------
    app
        The application, whole: nothing in it knows that it is recorded.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._requests: list[Request] = []
        self._sent: list[object] = []
        self._told: list[object] = []

    def server(self) -> Server:
        """Give the server as a client sees it."""
        return Server("http://127.0.0.1:1", transport=self, patience=60.0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer as the application does."""
        body, path = request.read(), request.url.raw_path.decode()
        head = b"".join(name + b": " + value + b"\n" for name, value in request.headers.raw)
        self._requests.append(Request(f"{request.method} {path}", head, body))
        answer = asyncio.run(self._answer(request, path, body))
        self._note(path, body, request.headers, answer)
        kept = [(k, v) for k, v in answer.headers.raw if k.lower() not in _HOPS]
        return httpx.Response(answer.status_code, headers=kept, content=answer.content)

    async def _answer(self, request: httpx.Request, path: str, body: bytes) -> httpx.Response:
        headers = [(k, v) for k, v in request.headers.raw if k.lower() not in _HOPS]
        door = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=door, base_url="http://127.0.0.1") as client:
            return await client.request(request.method, path, headers=headers, content=body)

    def _note(self, path: str, body: bytes, headers: httpx.Headers, answer: httpx.Response) -> None:
        """Read what the published protocol has in it."""
        records: dict[str, type[object]] = {"/v1/cost-table": CostRequest, "/v1/jobs": Upload}
        if path in records:
            self._sent.append(read(records[path], decode(body, headers["content-type"])))
        if answer.status_code == 200 and (path == "/v1/cost-table" or path.startswith("/v1/jobs/")):
            record: type[object] = CostTable if path == "/v1/cost-table" else Job
            self._told.append(read(record, decode(answer.content, answer.headers["content-type"])))

    def session(self, place: int, reports: Sequence[tuple[int, int]] = ()) -> Session:
        """Close the record of a client that was at a place.

        Raises
        ------
        InvalidProblemError
            When nothing was recorded.
        """
        if not self._requests:
            raise InvalidProblemError("session", f"requests of protocol {PROTOCOL}", "none")
        parts = tuple(self._requests), tuple(self._sent), tuple(self._told)
        return Session(place, *parts, tuple(reports))
