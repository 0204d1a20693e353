"""The location service as a FastAPI application.

In the sound mode it answers three questions, the same for everybody: is it well, what is the region, what is the
mechanism. Pages and metrics for operators are in :mod:`discreet.service.operations`.
"""

from __future__ import annotations

import gzip
from concurrent.futures import Future
from threading import Event
from typing import TYPE_CHECKING, Literal

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.messages import PROTOCOL
from discreet.service.messages import HealthMessage, MechanismMessage, RegionMessage, ReportMessage
from discreet.service.operations import Metrics, Observed, add_operations
from discreet.service.routes import (
    answer,
    answers,
    cacheable_answer,
    invalid,
    no_route,
    read_body,
    refusals,
    refuse,
    takes,
)
from discreet.service.wire import accepted, accepts_gzip, encode
from discreet.web.clients import networks
from discreet.web.guard import Guard, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.service.messages import Message
    from discreet.service.operations import Shown

    Published = Mechanism | PublishedPoints
    Awaited = Future[Mechanism] | Future[PublishedPoints] | Future[Published]

__all__ = ["create_app"]

_LEVEL = 6
"""Level of gzip: 9 makes a mechanism for 144 places .4 % smaller."""


def create_app(
    mechanism: Published | Awaited,
    region: Region | None,
    *,
    on_report: Callable[[ReportMessage], None] | None = None,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
    show_metrics: Shown = "loopback",
    trusted_proxies: Sequence[str] = (),
    stopping: Event | None = None,
) -> FastAPI:
    """Create the application that serves a mechanism.

    Parameters
    ----------
    mechanism
        What is published, for places or for every point; or its future, and then the service says that it is designing
        until it is there.
    region
        The places; ``None`` for a mechanism for every point that was read from a file, which does not hold them: then
        the route of the region is refused.
    on_report
        Called with each report that is handed in. ``None`` takes none: what a client does with its report is its own
        affair.
    limits
        Bounds on what clients can make it do.
    metrics
        What is counted; ``None`` makes it anew.
    show_metrics
        Who sees ``/metrics``: ``"loopback"``, this machine and no proxy on it; ``"any"``; or ``"off"``.
    trusted_proxies
        Addresses or networks of proxies whose ``X-Forwarded-For`` says for whom they ask; it counts for rates alone.
    stopping
        Set when the server is to stop, by :func:`discreet.web.serve` with the same event: ``/readyz`` then says 503 and
        every answer ends its connection.

    Returns
    -------
    FastAPI
        An ASGI application; :func:`discreet.web.serve` runs it.

    Raises
    ------
    InvalidProblemError
        For a proxy that is neither an address nor a network, and for another word in ``show_metrics``.

    Notes
    -----
    No request's body is logged, by nobody and at no level, and uvicorn's log of requests stays off in ``serve``.

    Examples
    --------
    >>> import discreet as dc
    >>> region = dc.lrgeo.Region.from_grid(3, 3, cell=1, unit="km")
    >>> made = dc.lrgeo.design(region, dc.MetricDP(1, unit="km"), scope="places")
    >>> app = create_app(dc.lrgeo.Mechanism.from_design(made, region), region)
    >>> sorted(app.openapi()["paths"])
    ['/v1/healthz', '/v1/mechanism', '/v1/region']
    """
    bounds = limits or Limits()
    app = FastAPI(
        title="discreet location service",
        version=str(PROTOCOL),
        description="Publishes one mechanism for all. Clients compute and sample by themselves.",
        # The pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    ending, counted = stopping or Event(), metrics or Metrics()
    app.add_middleware(Guard, limits=bounds, trusted=networks(trusted_proxies), stopping=ending)
    # Outermost, since it was added last: what the guard refuses is counted too.
    app.add_middleware(Observed, metrics=counted)
    app.add_exception_handler(InvalidProblemError, invalid)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, no_route)
    _add_public(app, mechanism, region)
    add_operations(
        app,
        region,
        metrics=counted,
        ready=lambda: _made(mechanism),
        failed=lambda: (
            isinstance(mechanism, Future) and mechanism.done() and _made(mechanism) is None
        ),
        stopping=ending,
        shown=show_metrics,
    )
    if on_report is not None:
        _add_reports(app, on_report)
    return app


def _made(mechanism: Published | Awaited) -> Published | None:
    """Return the mechanism, or ``None`` while it is designed and if the design failed."""
    if not isinstance(mechanism, Future):
        return mechanism
    return mechanism.result() if mechanism.done() and not mechanism.exception() else None


class _Written:
    """Messages that never change, each written once for each media type, plain and compressed."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, bool], bytes] = {}

    async def answer(
        self, request: Request, part: str, digest: str, message: Callable[[], Message]
    ) -> Response:
        """Answer with a message, compressed where the client accepts that."""
        media = accepted(request.headers.get("accept", ""))
        is_packed = accepts_gzip(request.headers.get("accept-encoding", ""))
        body = self._made.get((part, media, is_packed)) or await run_in_threadpool(
            self._write, part, media, is_packed, message
        )
        return cacheable_answer(request, body, media, digest, is_packed=is_packed)

    def _write(
        self,
        part: str,
        media: str,
        is_packed: bool,  # noqa: FBT001 - a thread takes no names
        message: Callable[[], Message],
    ) -> bytes:
        whole = self._made.get((part, media, False))
        if whole is None:
            whole = self._made[part, media, False] = encode(message().write(), media)
        if is_packed:
            return self._made.setdefault((part, media, True), gzip.compress(whole, _LEVEL, mtime=0))
        return whole


def _add_public(app: FastAPI, mechanism: Published | Awaited, region: Region | None) -> None:
    """Add what everybody may ask, and what is the same for everybody."""
    written = _Written()

    @app.get("/v1/healthz", responses=answers(HealthMessage), summary="Is it well?")
    @app.get("/healthz", include_in_schema=False)
    async def healthz(request: Request) -> Response:
        published = _made(mechanism)
        failed = isinstance(mechanism, Future) and mechanism.done() and published is None
        status: Literal["ready", "failed", "designing"] = (
            "ready" if published else "failed" if failed else "designing"
        )
        digest = published.digest if published else None
        health = HealthMessage(protocol=PROTOCOL, status=status, mechanism=digest)
        return answer(request, health, status=503 if failed else 200)

    @app.get(
        "/v1/region",
        responses={**answers(RegionMessage), **(refusals(404) if region is None else {})},
        summary="All places.",
    )
    async def get_region(request: Request) -> Response:
        if region is None:
            return refuse(404, "not-found", "only the mechanism for every point is known here")
        return await written.answer(
            request,
            "region",
            region.digest,
            lambda: RegionMessage(protocol=PROTOCOL, region=region.to_dict()),
        )

    @app.get(
        "/v1/mechanism",
        responses={**answers(MechanismMessage), **refusals(503)},
        summary="The mechanism, whole: the same for everybody, wherever they are.",
    )
    async def get_mechanism(request: Request) -> Response:
        published = _made(mechanism)
        if published is None:
            return refuse(503, "not-ready", "the mechanism is being designed; ask again later")
        return await written.answer(
            request,
            "mechanism",
            published.digest,
            lambda: MechanismMessage(
                protocol=PROTOCOL, digest=published.digest, mechanism=published.to_dict()
            ),
        )


def _add_reports(app: FastAPI, on_report: Callable[[ReportMessage], None]) -> None:
    @app.post(
        "/v1/reports",
        status_code=204,
        responses=refusals(400, 413, 415, 422),
        openapi_extra=takes(ReportMessage),
        summary="Hand in a report: a place that was drawn.",
    )
    async def post_report(request: Request) -> Response:
        report = await read_body(request, ReportMessage)
        await run_in_threadpool(on_report, report)
        return Response(status_code=204)
