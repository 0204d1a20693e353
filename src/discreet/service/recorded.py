"""The application with real clients in one process, and their traffic recorded at its door, for attacks and audits."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import httpx
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.attack.location import CostPart, Request, Session
from discreet.lrgeo import Epochs, State, locate
from discreet.lrgeo.messages import PROTOCOL
from discreet.service.app import create_app
from discreet.service.asking import Server
from discreet.service.client import Client
from discreet.service.wire import decode
from discreet.web import Limits
from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
from discreet_reproduction.lrgeo.service.published import (
    CostTableMessage,
    DiscMessage,
    JobMessage,
    PaperClient,
    PaperServer,
    ParametersMessage,
    UploadMessage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastapi import FastAPI
    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.evaluate.simulate.location import PublishedParameters
    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints

__all__ = ["RecordedApplication", "TrafficRecorder", "Visited", "record"]

_HOPS = {b"host", b"content-length"}
_NOW = 1_800_000_000.0


@final
class TrafficRecorder(httpx.BaseTransport):
    """Hands the requests of a client to an application in this process, and keeps their bytes.

    Parameters
    ----------
    app
        The application, whole: nothing in it knows that it is recorded.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._requests: list[Request] = []
        self._uploads: list[Coefficients] = []
        self._centers: list[int] = []
        self._tables: list[CostPart] = []
        self._matrices: list[NDArray[np.float64]] = []

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
        sent = decode(body, headers["content-type"]) if body else None
        told = None
        if answer.status_code == 200:
            told = decode(answer.content, answer.headers["content-type"])
        if path == "/v1/cost-table":
            self._centers.append(DiscMessage.read(sent).center)
        if path == "/v1/jobs":
            upload = UploadMessage.read(sent)
            parts = upload.between, upload.away, upload.cost, upload.columns
            self._uploads.append(Coefficients(*parts))
        if told is not None and path == "/v1/cost-table":
            table = CostTableMessage.read(told)
            self._tables.append(CostPart(table.places, table.costs))
        if told is not None and path.startswith("/v1/jobs/"):
            matrix = JobMessage.read(told).rows
            if matrix is not None:
                self._matrices.append(matrix)

    def session(self, place: int, reports: Sequence[tuple[int, int]] = ()) -> Session:
        """Close the record of a client that was at a place.

        Raises
        ------
        InvalidProblemError
            When nothing was recorded.
        """
        if not self._requests:
            raise InvalidProblemError("session", f"requests of protocol {PROTOCOL}", "none")
        return Session(
            place,
            tuple(self._requests),
            tuple(self._uploads),
            tuple(self._centers),
            tuple(self._tables),
            tuple(self._matrices),
            tuple(reports),
        )


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
        """Begin from nothing: fetch the mechanism, verify it, and report once, with a ledger on the disk."""
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder)
            # The connections are the server's, which others use too: it is not closed here.
            client = Client(
                self.server, state=files / "state", cache=files, scope="places", now=lambda: _NOW
            )
            return client.locate(self.point, bits=bits).report

    def report_many(self, size: int, bits: RandomBits) -> list[tuple[float, float]]:
        """Report as many users would who are at one place: a client fetches and verifies once, each ledger is empty."""
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder)
            client = Client(
                self.server, state=files / "state", cache=files, scope="places", now=lambda: _NOW
            )
            prepared, clock = client.prepared(), Epochs()
            return [
                locate(prepared, State(), self.point, _NOW, epochs=clock, bits=bits)[0]
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
        """Give a user who is at a place; users share connections, and are not recorded apart."""
        return Visited(self._server, self._region.where(place))

    def fetched(self) -> Mechanism | PublishedPoints:
        """Be a new client that fetches the mechanism and verifies it: give what its reports are drawn from."""
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder)
            client = Client(
                self._server, state=files / "state", cache=files, scope="places", now=lambda: _NOW
            )
            return client.mechanism

    def locate(self, place: int, times: int, now: float, bits: RandomBits) -> Session:
        """Be a client of the sound mode: fetch the mechanism, verify it, and locate so often at one time."""
        recorder = TrafficRecorder(self._app)
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder)
            with Client(
                recorder.server(),
                state=files / "state.json",
                cache=files / "cache",
                scope="places",
                now=lambda: now,
            ) as client:
                for _ in range(times):
                    client.locate(self._region.where(place), bits=bits)
        return recorder.session(place)

    def ask(self, place: int, bits: RandomBits) -> Session:
        """Go through the published protocol once."""
        recorder = TrafficRecorder(self._app)
        client = PaperClient(recorder.server())
        client.report(self._region.where(place), bits=bits)
        client.close()
        return recorder.session(place)

    def prepare(self, place: int, times: int, bits: RandomBits) -> Session:
        """Begin the published protocol so often, each time with a disc."""
        recorder = TrafficRecorder(self._app)
        client = PaperClient(recorder.server())
        for _ in range(times):
            client.prepare(place, bits=bits)
        client.close()
        return recorder.session(place)


@contextmanager
def record(
    mechanism: Mechanism | PublishedPoints,
    region: Region,
    *,
    published: PublishedParameters | None = None,
    targets: Sequence[int] = (),
) -> Iterator[RecordedApplication]:
    """Run the application in this process, and end it.

    Parameters
    ----------
    mechanism, region
        What it publishes.
    published
        Public parameters of the published protocol, which is served too where they are given.
    targets
        Where the users of the published protocol go.

    Yields
    ------
    RecordedApplication
        With clients whose traffic is recorded.
    """
    limits = Limits(rate=1e6, burst=10**6)
    paper = None
    if published is not None:
        public = ParametersMessage(protocol=PROTOCOL, **published._asdict())
        paper = PaperServer(region, public, targets=np.array(targets))
    app = create_app(mechanism, region, paper=paper, limits=limits)
    running = RecordedApplication(app, region)
    try:
        yield running
    finally:
        running.close()
        if paper is not None:
            # Ends the process in which programs are solved.
            asyncio.run(_end(app))


async def _end(app: FastAPI) -> None:
    async with app.router.lifespan_context(app):
        pass
