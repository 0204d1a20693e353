"""The location service as a FastAPI application.

In the sound mode it answers three questions, the same for everybody: is it well, what is the region, what is the
mechanism. Pages and metrics for operators are in :mod:`discreet.service.operations`.
"""

from __future__ import annotations

import gzip
import re
import zlib
from concurrent.futures import Future
from threading import Event
from typing import TYPE_CHECKING, Literal

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.mechanism import CertifiedChannel, Mechanism
from discreet.lrgeo.messages import PROTOCOL_VERSION
from discreet.lrgeo.points.published import EveryPoint
from discreet.service.messages import HealthMessage, MechanismMessage, RegionMessage
from discreet.service.operations import Metrics, Observed, add_operations
from discreet.service.routes import (
    answer,
    answers,
    cacheable_answer,
    invalid,
    no_route,
    refusals,
    refuse,
)
from discreet.service.wire import accepted, accepts_gzip, encode
from discreet.web.clients import networks
from discreet.web.guard import Guard, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.lrgeo import LatticeDesign, NoiseDesign, Region, RegionDesign
    from discreet.lrgeo.points.published import PublishedPoints
    from discreet.service.messages import Message
    from discreet.service.operations import Shown

    Published = Mechanism | PublishedPoints
    Designed = RegionDesign | NoiseDesign | LatticeDesign
    Awaited = Future[Mechanism] | Future[PublishedPoints] | Future[Published]

_ORIGIN = re.compile(r"https?://(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?")


def create_app(
    mechanism: Published | Designed | Awaited,
    region: Region | None = None,
    *,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
    show_metrics: Shown = "loopback",
    trusted_proxies: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
    stopping: Event | None = None,
) -> FastAPI:
    """Create the application that serves a mechanism.

    Parameters
    ----------
    mechanism
        A design of :func:`discreet.lrgeo.design`, or what is published of one, for places or for every point; or the
        future of either: until it is there the service answers that it is designing.
    region
        The places. ``None`` takes those of a mechanism for places; one for every point does not hold them, and then the
        route of the region is refused.
    limits
        Bounds on bodies, rates and connections; those of ``Limits()`` by default.
    metrics
        Counters to write to; new ones by default.
    show_metrics
        Who sees ``/metrics``: ``"loopback"``, this machine and no proxy on it; ``"any"``; or ``"off"``.
    trusted_proxies
        Addresses or networks of proxies whose ``X-Forwarded-For`` or ``Forwarded`` names the client; it counts for
        rates alone.
    allow_origins
        Origins of pages that may read the answers in a browser, such as ``"https://app.example.org"``, or ``"*"`` for
        all: what is published is the same for everybody.
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
        For an object that is neither a design nor a mechanism, a region that is not that of the mechanism, a proxy that
        is neither an address nor a network, an origin of another form, and another word in ``show_metrics``.

    Notes
    -----
    No request's body is logged, by nobody and at no level, and uvicorn's log of requests stays off in ``serve``.

    Examples
    --------
    >>> import discreet as dc
    >>> region = dc.lrgeo.Region.from_grid(3, 3, cell=1, unit="km")
    >>> made = dc.lrgeo.design(region, dc.MetricDP(1, unit="km"), scope="places")
    >>> app = create_app(made, allow_origins=["https://app.example.org"])
    >>> sorted(app.openapi()["paths"])
    ['/v1/healthz', '/v1/mechanism', '/v1/region']
    """
    served = _awaited(mechanism) if isinstance(mechanism, Future) else _published(mechanism)
    if isinstance(served, Mechanism):
        if region is not None and region.digest != served.region.digest:
            raise InvalidProblemError("region", "that of the mechanism", "another")
        region = served.region
    app = FastAPI(
        title="discreet location service",
        version=str(PROTOCOL_VERSION),
        description="Publishes one mechanism for all. Clients compute and sample by themselves.",
        # The pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    ending, counted = stopping or Event(), metrics or Metrics()
    app.add_middleware(
        Guard, limits=limits or Limits(), trusted=networks(trusted_proxies), stopping=ending
    )
    if origins := _origins(allow_origins):
        _allow_pages(app, origins)
    # Outermost, since it was added last: what the guard refuses is counted too.
    app.add_middleware(Observed, metrics=counted)
    _add_errors(app)
    _add_public(app, served, region)
    add_operations(
        app,
        region,
        metrics=counted,
        ready=lambda: _made(served),
        failed=lambda: isinstance(served, Future) and served.done() and _made(served) is None,
        stopping=ending,
        shown=show_metrics,
    )
    return app


def _add_errors(app: FastAPI) -> None:
    """Register the answers to invalid requests and to unknown paths."""
    app.add_exception_handler(InvalidProblemError, invalid)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, no_route)


def _allow_pages(app: FastAPI, origins: Sequence[str]) -> None:
    """Add the CORS headers by which pages of `origins`, such as ``https://app.example.org`` or ``*``, read answers."""
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "HEAD"],
        allow_headers=["content-type", "discreet-protocol", "if-none-match"],
        expose_headers=["etag", "request-id", "retry-after"],
    )


def _published(mechanism: object) -> Published:
    """Return what is published of a design or a mechanism; InvalidProblemError for another object."""
    if isinstance(mechanism, EveryPoint):
        return mechanism.published()
    if isinstance(mechanism, Mechanism):
        return mechanism
    if isinstance(mechanism, CertifiedChannel):
        return Mechanism.from_design(mechanism)
    expected = "a design of discreet.lrgeo.design, or a mechanism that was read from a file"
    raise InvalidProblemError("mechanism", expected, type(mechanism).__name__)


def _awaited(future: Awaited) -> Future[Published]:
    """Return a future of the published mechanism; an object of another kind makes it fail."""
    made: Future[Published] = Future()

    def convert(done: Awaited) -> None:
        try:
            made.set_result(_published(done.result()))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the service has failed
            made.set_exception(error)

    future.add_done_callback(convert)
    return made


def _origins(texts: Sequence[str]) -> list[str]:
    """Return the allowed origins as a list: each is ``*``, or a scheme and a host without a path.

    Raises
    ------
    InvalidProblemError
        For one text in place of a list, or another form.
    """
    if isinstance(texts, str):
        raise InvalidProblemError("allow_origins", "a list of origins", "a text")
    for text in texts:
        if text != "*" and not _ORIGIN.fullmatch(text):
            expected = "origins such as https://app.example.org, without a path, or *"
            raise InvalidProblemError("allow_origins", expected, repr(text))
    return list(texts)


def _made(mechanism: Published | Future[Published]) -> Published | None:
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
        """Answer with a message's part, compressed and in the media type that the client accepts.

        `part` is the key, "region" or "mechanism"; `message` makes the message and is called at the first request
        only; `digest` is its entity tag. Each form is encoded once, in a thread, and kept. 304 where the client has
        the digest.
        """
        media = accepted(request.headers.get("accept", ""))
        is_packed = accepts_gzip(request.headers.get("accept-encoding", ""))
        body = self._made.get((part, media, is_packed))
        if body is None:
            body = await run_in_threadpool(self._write, part, media, is_packed, message)
        return cacheable_answer(request, body, media, digest, is_packed=is_packed)

    def _write(
        self,
        part: str,
        media: str,
        is_packed: bool,  # noqa: FBT001 - a thread takes no names
        message: Callable[[], Message],
    ) -> bytes:
        """Return the body of a part in a media type, made once, with gzip if `is_packed`.

        `message` makes the message and is called only if no form of this `part` in this media type was written yet.
        Compressing a large mechanism takes a while; it runs in a thread.
        """
        body = self._made.get((part, media, False))
        if body is None:
            body = self._made[part, media, False] = encode(message().write(), media)
        if is_packed:
            packed = gzip.compress(body, zlib.Z_DEFAULT_COMPRESSION, mtime=0)
            return self._made.setdefault((part, media, True), packed)
        return body


def _add_public(
    app: FastAPI, mechanism: Published | Future[Published], region: Region | None
) -> None:
    """Add the GET routes ``/v1/healthz``, ``/healthz``, ``/v1/region`` and ``/v1/mechanism``, the same answers for all.

    `mechanism` may be a future: until it is done, health says "designing" and the mechanism is refused with 503;
    health is answered with 503 if it failed. Without a `region` that route is refused with 404.
    """
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
        health = HealthMessage(protocol=PROTOCOL_VERSION, status=status, mechanism=digest)
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
            lambda: RegionMessage(protocol=PROTOCOL_VERSION, region=region.to_dict()),
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
                protocol=PROTOCOL_VERSION, digest=published.digest, mechanism=published.to_dict()
            ),
        )
