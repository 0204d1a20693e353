"""The application with real clients in one process, and their traffic recorded at its door, for attacks and audits."""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import httpx

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.location import Request, Session
from discreet.lrgeo import Epochs, State, locate
from discreet.lrgeo.messages import PROTOCOL_VERSION
from discreet.service.app import create_app
from discreet.service.asking import Server
from discreet.service.client import Client
from discreet.web import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi import FastAPI

    from discreet.core.randomness import RandomBits
    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints

_HOPS = {b"host", b"content-length"}
_UNPACKED = {*_HOPS, b"content-encoding"}
"""Headers of an answer that no longer hold where its body was unpacked."""


@final
class TrafficRecorder(httpx.BaseTransport):
    """Transport that passes requests to an application in this process and records them and the answers.

    Parameters
    ----------
    app
        The application; nothing in it depends on the record.

    Attributes
    ----------
    requests
        Requests, byte for byte.
    answers
        The answer to each request.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self.requests: list[Request] = []
        self.answers: list[httpx.Response] = []

    def server(self) -> Server:
        """Return a `Server` whose requests go through this recorder; its patience is 60 seconds."""
        return Server("http://127.0.0.1:1", transport=self, patience=60.0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Run the application in this process, return its response, decompressed, and keep the request and the answer.

        Uses asyncio.run: RuntimeError from a running event loop.
        """
        body, path = request.read(), request.url.raw_path.decode()
        head = b"".join(name + b": " + value + b"\n" for name, value in request.headers.raw)
        self.requests.append(Request(f"{request.method} {path}", head, body))
        answer = asyncio.run(self._answer(request, path, body))
        self.answers.append(answer)
        headers = [(k, v) for k, v in answer.headers.raw if k.lower() not in _UNPACKED]
        return httpx.Response(answer.status_code, headers=headers, content=answer.content)

    async def _answer(self, request: httpx.Request, path: str, body: bytes) -> httpx.Response:
        """Run the application on a request with `body`, and return its response."""
        headers = [(k, v) for k, v in request.headers.raw if k.lower() not in _HOPS]
        door = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=door, base_url="http://127.0.0.1") as client:
            return await client.request(request.method, path, headers=headers, content=body)

    def session(self, place: int) -> Session:
        """Return all requests recorded so far as the session of a client that was at `place`, an index of the region.

        Raises
        ------
        InvalidProblemError
            If nothing was recorded.
        """
        if not self.requests:
            raise InvalidProblemError("session", f"requests of protocol {PROTOCOL_VERSION}", "none")
        return Session(place, tuple(self.requests))


@contextmanager
def _new_client(server: Server, now: float = 1_800_000_000.0) -> Iterator[Client]:
    """Yield a client with an empty ledger and cache in a temporary folder, whose clock stands at `now`, Unix seconds.

    It accepts mechanisms for places too. The connections are the server's, and stay open.
    """
    with tempfile.TemporaryDirectory() as folder:
        state, cache = Path(folder, "state.json"), Path(folder, "cache")
        yield Client(server, state=state, cache=cache, scope="places", now=lambda: now)


@final
@dataclass(frozen=True, eq=False)
class Visited:
    """A user: the server, and where the user is.

    Parameters
    ----------
    server
        The server as a client sees it.
    point
        Where the user is, in the coordinates of the region.
    """

    server: Server
    point: tuple[float, float]

    def report_once(self, bits: RandomBits) -> tuple[float, float]:
        """Return the report, two coordinates, of a new client.

        It fetches the mechanism, verifies it, and draws once with `bits`. Ledger and cache are temporary files.
        Fetching and verifying take seconds.
        """
        with _new_client(self.server) as client:
            return client.locate(self.point, bits=bits).report

    def report_many(self, size: int, bits: RandomBits) -> list[tuple[float, float]]:
        """Return the reports, pairs of coordinates, of `size` users at one place, drawn with `bits`.

        The mechanism is fetched and verified once, which takes seconds; each user's ledger is empty.
        """
        with _new_client(self.server) as client:
            # At any time: the ledger is empty.
            prepared, epochs, now = client.prepared(), Epochs(), time.time()
            return [
                locate(prepared, State(), self.point, now, epochs=epochs, bits=bits)[0]
                for _ in range(size)
            ]


@final
class RecordedApplication:
    """An application, and clients each of which is recorded apart.

    Parameters
    ----------
    app
        The application.
    region
        Its places.
    """

    def __init__(self, app: FastAPI, region: Region) -> None:
        self._app, self._region = app, region
        self._server = TrafficRecorder(app).server()

    def close(self) -> None:
        """Close the connections of the users."""
        self._server.close()

    def user(self, place: int) -> Visited:
        """Return a user at place number `place` of the region; users share connections, and are not recorded apart."""
        return Visited(self._server, self._region.where(place))

    def fetched(self) -> Mechanism | PublishedPoints:
        """Return the mechanism that a new client fetches and verifies, which takes seconds.

        It belongs to no session.
        """
        with _new_client(self._server) as client:
            return client.mechanism

    def locate(self, place: int, times: int, now: float, bits: RandomBits) -> Session:
        """Act as a new client at `place`.

        It fetches the mechanism, verifies it, and locates `times` times at `now`, Unix seconds. `place` is an index
        of the region; `times` at least 1; `bits` the source of randomness. Returns its requests as a session. As
        `now` is the same, the first call charges and the others repeat its report. Takes seconds.
        """
        recorder = TrafficRecorder(self._app)
        with _new_client(recorder.server(), now) as client, client:
            for _ in range(times):
                client.locate(self._region.where(place), bits=bits)
        return recorder.session(place)


@contextmanager
def record(mechanism: Mechanism | PublishedPoints, region: Region) -> Iterator[RecordedApplication]:
    """Run the application in this process, and end it.

    A context manager. Its limit is a million requests a second of one address, so that attacks are not slowed.

    Parameters
    ----------
    mechanism, region
        Mechanism and region that it publishes.

    Yields
    ------
    RecordedApplication
        With clients whose traffic is recorded.
    """
    app = create_app(mechanism, region, limits=Limits(rate=1e6, burst=10**6))
    application = RecordedApplication(app, region)
    try:
        yield application
    finally:
        application.close()
