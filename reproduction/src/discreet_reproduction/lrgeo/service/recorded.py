"""A server of the published protocol with real clients in one process, and what their recorded traffic contains."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.service.recorded import TrafficRecorder
from discreet.service.wire import decode
from discreet.web import Limits
from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients
from discreet_reproduction.lrgeo.attack_messages import CostPart, PublishedSession
from discreet_reproduction.lrgeo.service.published import (
    CostTableMessage,
    DiscMessage,
    JobMessage,
    PaperClient,
    PaperServer,
    UploadMessage,
    create_published_app,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastapi import FastAPI
    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.lrgeo import Mechanism, Region
    from discreet_reproduction.lrgeo.service.published import ParametersMessage


def read_session(recorder: TrafficRecorder, place: int) -> PublishedSession:
    """Read the messages of the published protocol in the traffic of one client.

    Parameters
    ----------
    recorder
        Requests and answers of the client.
    place
        Index of the place of the client.
    """
    uploads, centers, tables = [], [], []
    matrices: list[NDArray[np.float64]] = []
    for request, answer in zip(recorder.requests, recorder.answers, strict=True):
        path = request.line.partition(" ")[2]
        sent = decode(request.body, _media_type(request.head)) if request.body else None
        received = None
        if answer.status_code == 200:
            received = decode(answer.content, answer.headers["content-type"])
        if path == "/v1/cost-table":
            centers.append(DiscMessage.read(sent).center)
        if path == "/v1/jobs":
            upload = UploadMessage.read(sent)
            parts = upload.between, upload.away, upload.cost, upload.columns
            uploads.append(Coefficients(*parts))
        if received is not None and path == "/v1/cost-table":
            table = CostTableMessage.read(received)
            tables.append(CostPart(table.places, table.costs))
        if received is not None and path.startswith("/v1/jobs/"):
            matrix = JobMessage.read(received).rows
            if matrix is not None:
                matrices.append(matrix)
    return PublishedSession(
        place,
        tuple(recorder.requests),
        tuple(uploads),
        tuple(centers),
        tuple(tables),
        tuple(matrices),
    )


def _media_type(head: bytes) -> str:
    """Return the media type in the headers of a request."""
    lines = (line.partition(b": ") for line in head.splitlines())
    return next((value.decode() for name, _, value in lines if name.lower() == b"content-type"), "")


@final
class RecordedProtocol:
    """A server of the published protocol, and clients each of which is recorded apart.

    Parameters
    ----------
    app
        The application.
    region
        Its places.
    """

    def __init__(self, app: FastAPI, region: Region) -> None:
        self._app, self._region = app, region

    def ask(self, place: int, bits: RandomBits) -> PublishedSession:
        """Run the protocol once, from the parameters to the report."""
        recorder = TrafficRecorder(self._app)
        client = PaperClient(recorder.server())
        client.report(self._region.where(place), bits=bits)
        client.close()
        return read_session(recorder, place)

    def prepare(self, place: int, times: int, bits: RandomBits) -> PublishedSession:
        """Run steps 3 to 5 of the protocol several times, each with a disc."""
        recorder = TrafficRecorder(self._app)
        client = PaperClient(recorder.server())
        for _ in range(times):
            client.prepare(place, bits=bits)
        client.close()
        return read_session(recorder, place)


@contextmanager
def record_published(
    mechanism: Mechanism, region: Region, parameters: ParametersMessage, targets: Sequence[int]
) -> Iterator[RecordedProtocol]:
    """Run a server of the published protocol in this process, and end it.

    Parameters
    ----------
    mechanism, region
        Mechanism and region that the server publishes beside it.
    parameters
        Public parameters of the protocol.
    targets
        Indices of the places where trips end.

    Yields
    ------
    RecordedProtocol
        With clients whose traffic is recorded.
    """
    server = PaperServer(region, parameters, targets=np.array(targets))
    limits = Limits(rate=1e6, burst=10**6)
    app = create_published_app(mechanism, region, server, limits=limits)
    try:
        yield RecordedProtocol(app, region)
    finally:
        # Ends the queue of jobs.
        asyncio.run(_end(app))


async def _end(app: FastAPI) -> None:
    async with app.router.lifespan_context(app):
        pass
