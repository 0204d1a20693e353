"""The location service as a FastAPI application.

In the sound mode it answers three questions, the same for everybody: is it well, what is the region, what is the
mechanism. It asks nothing. The mode of the paper, which uploads, answers only where it was switched on.
"""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from fastapi import FastAPI, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from discreet.core.errors import InvalidProblemError
from discreet.lrgeo import messages
from discreet.lrgeo.messages import (
    PROTOCOL,
    Accepted,
    CostRequest,
    Health,
    Parameters,
    Place,
    Report,
    Upload,
)
from discreet.service.guard import Guard, refusal
from discreet.service.jobs import Jobs
from discreet.service.limits import Limits
from discreet.service.wire import JSON, MSGPACK, accepted, decode, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from discreet.lrgeo import Mechanism, Region
    from discreet.lrgeo.messages import CostTable

__all__ = ["PaperMode", "create_app"]

Accept = Annotated[str, Header(include_in_schema=False)]
Known = Annotated[str, Header(include_in_schema=False)]


class PaperMode(Protocol):
    """What the published protocol asks of a server; :class:`discreet.service.PaperServer` does it."""

    @property
    def parameters(self) -> Parameters:
        """What is public."""
        ...

    @property
    def n_places(self) -> int:
        """Number of places."""
        ...

    @property
    def solver(self) -> Callable[[Sequence[Upload]], Sequence[NDArray[np.float64]]]:
        """Solves the joint program of some users; goes to another process."""
        ...

    def costs(self, request: CostRequest) -> CostTable:
        """Cut a disc out of the cost table."""
        ...


def create_app(
    mechanism: Mechanism | Future[Mechanism],
    region: Region,
    *,
    paper: PaperMode | None = None,
    on_report: Callable[[Report], None] | None = None,
    limits: Limits | None = None,
) -> FastAPI:
    """Make the application that serves a mechanism.

    Parameters
    ----------
    mechanism
        What is published; or its future, and then the service says that it is designing until it is there.
    region
        The places.
    paper
        The published protocol. ``None`` leaves it switched off.
    on_report
        Called with each report that is handed in. ``None`` takes none: what a client does with its report is its own
        affair.
    limits
        Bounds on what clients can make it do.

    Returns
    -------
    FastAPI
        An ASGI application; :func:`discreet.service.serve` runs it.

    Notes
    -----
    No request's body is logged, by nobody and at no level, and uvicorn's log of requests stays off in ``serve``.

    Examples
    --------
    >>> import discreet as dc
    >>> region = dc.lrgeo.Region.from_grid(3, 3, cell=1, unit="km")
    >>> made = dc.lrgeo.design(region, dc.MetricDP(1, unit="km"))
    >>> app = create_app(dc.lrgeo.Mechanism.from_design(made, region), region)
    >>> sorted(app.openapi()["paths"])
    ['/v1/healthz', '/v1/mechanism', '/v1/region']
    """
    bounds = limits or Limits()
    jobs = None if paper is None else Jobs(paper.solver, bounds)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        if jobs is not None:
            await run_in_threadpool(jobs.close)

    app = FastAPI(
        title="discreet location service",
        version=str(PROTOCOL),
        description="Publishes one mechanism for all. Clients compute and sample by themselves.",
        # The pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.add_middleware(Guard, limits=bounds)
    app.add_exception_handler(InvalidProblemError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    _add_public(app, mechanism, region)
    if on_report is not None:
        _add_reports(app, on_report)
    if paper is not None and jobs is not None:
        _add_paper(app, paper, jobs)
    return app


def _add_public(app: FastAPI, mechanism: Mechanism | Future[Mechanism], region: Region) -> None:
    """Add what everybody may ask, and what is the same for everybody."""
    made: dict[str, bytes] = {}

    def ready() -> Mechanism | None:
        if not isinstance(mechanism, Future):
            return mechanism
        return mechanism.result() if mechanism.done() and not mechanism.exception() else None

    def written(part: str, media: str, message: Callable[[], object]) -> bytes:
        """Write a message once for each media type; it never changes."""
        key = f"{part} {media}"
        if key not in made:
            made[key] = encode(messages.write(message()), media)
        return made[key]

    @app.get("/v1/healthz", responses=_answers(Health), summary="Is it well?")
    @app.get("/healthz", include_in_schema=False)
    async def healthz(accept: Accept = "") -> Response:
        found = ready()
        failed = isinstance(mechanism, Future) and mechanism.done() and found is None
        status = "ready" if found else "failed" if failed else "designing"
        health = Health(PROTOCOL, status, found.digest if found else None)
        return _say(health, accept, status=503 if failed else 200)

    @app.get("/v1/region", responses=_answers(Place), summary="All places.")
    async def get_region(accept: Accept = "", if_none_match: Known = "") -> Response:
        media = accepted(accept)
        body = await run_in_threadpool(
            written, "region", media, lambda: Place(PROTOCOL, region.to_dict())
        )
        return _kept(body, media, region.digest, if_none_match)

    @app.get(
        "/v1/mechanism",
        responses={**_answers(messages.Published), **_refusals(503)},
        summary="The mechanism, whole: the same for everybody, wherever they are.",
    )
    async def get_mechanism(accept: Accept = "", if_none_match: Known = "") -> Response:
        found, media = ready(), accepted(accept)
        if found is None:
            return _refuse(503, "not-ready", "the mechanism is being designed; ask again later")
        body = await run_in_threadpool(
            written,
            "mechanism",
            media,
            lambda: messages.Published(PROTOCOL, found.digest, found.to_dict()),
        )
        return _kept(body, media, found.digest, if_none_match)


def _add_reports(app: FastAPI, on_report: Callable[[Report], None]) -> None:
    @app.post(
        "/v1/reports",
        status_code=204,
        responses=_refusals(400, 413, 415),
        openapi_extra=_takes(Report),
        summary="Hand in a report: a place that was drawn.",
    )
    async def post_report(request: Request) -> Response:
        report = await _read(request, Report)
        await run_in_threadpool(on_report, report)
        return Response(status_code=204)


def _add_paper(app: FastAPI, paper: PaperMode, jobs: Jobs) -> None:
    """Add the published protocol, which reveals the places of those who use it."""

    @app.get(
        "/v1/parameters",
        responses=_answers(Parameters),
        summary="Published protocol, step 1.",
    )
    async def get_parameters(accept: Accept = "") -> Response:
        return _say(paper.parameters, accept)

    @app.post(
        "/v1/cost-table",
        responses={**_answers(messages.CostTable), **_refusals(400, 413, 415)},
        openapi_extra=_takes(CostRequest),
        summary="Published protocol, step 4. The disc that is asked for is disclosed.",
    )
    async def post_costs(request: Request, accept: Accept = "") -> Response:
        asked = await _read(request, CostRequest)
        return _say(await run_in_threadpool(paper.costs, asked), accept)

    @app.post(
        "/v1/jobs",
        status_code=202,
        responses={**_answers(Accepted, 202), **_refusals(400, 413, 415, 429)},
        openapi_extra=_takes(Upload),
        summary="Published protocol, step 6. The upload is a function of the user's place.",
    )
    async def post_job(request: Request, accept: Accept = "") -> Response:
        upload = await _read(request, Upload)
        if int(upload.columns.max()) >= paper.n_places:
            expected = f"places from 0 to {paper.n_places - 1}"
            raise InvalidProblemError("columns", expected, "another")
        name = jobs.submit(upload)
        if name is None:
            return _refuse(429, "too-many", "as many jobs wait as may; ask again later")
        return _say(Accepted(PROTOCOL, name), accept, status=202)

    @app.get(
        "/v1/jobs/{job}",
        responses={**_answers(messages.Job), **_refusals(404)},
        summary="Published protocol, step 7.",
    )
    async def get_job(job: str, accept: Accept = "") -> Response:
        found = jobs.get(job)
        if found is None:
            return _refuse(
                404, "not-found", "no such job; it may have been forgotten: send it again"
            )
        return await run_in_threadpool(_say, found, accept)


async def _read(request: Request, record: type[Any]) -> Any:  # noqa: ANN401 - the record that was asked for
    """Read the body as a message, off the loop, for a large one takes a while."""
    body = await request.body()
    media = request.headers.get("content-type", "")
    return await run_in_threadpool(lambda: messages.read(record, decode(body, media)))


def _say(message: object, accept: str, *, status: int = 200) -> Response:
    media = accepted(accept)
    headers = {"cache-control": "no-store", "vary": "accept"}
    body = encode(messages.write(message), media)
    return Response(body, status_code=status, media_type=media, headers=headers)


def _kept(body: bytes, media: str, digest: str, known: str) -> Response:
    """Answer with what never changes, or say that the client has it."""
    etag = f'"{digest}.{media.rpartition("/")[2]}"'
    headers = {"etag": etag, "cache-control": "public, no-cache", "vary": "accept"}
    if etag in {part.strip().removeprefix("W/") for part in known.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media, headers=headers)


def _refuse(status: int, error: str, message: str) -> Response:
    headers = {"cache-control": "no-store"}
    if status in {429, 503}:
        headers["retry-after"] = "1"
    return Response(refusal(error, message), status_code=status, media_type=JSON, headers=headers)


def _invalid(_: Request, error: Exception) -> Response:
    """Say which field is wrong. The messages' own refusals hold no values."""
    field = getattr(error, "field", "")
    if field == "Content-Type":
        return _refuse(415, "media-type", f"a body is {JSON} or {MSGPACK}")
    return _refuse(400, "protocol" if field == "protocol" else "invalid", str(error)[:500])


def _http(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    name = {404: "not-found", 405: "method"}.get(status, "invalid")
    answer = _refuse(
        status, name, {404: "no such path", 405: "no such method here"}.get(status, "no")
    )
    for key, value in (getattr(error, "headers", None) or {}).items():
        answer.headers[key] = value
    return answer


def _answers(record: type[object], status: int = 200) -> dict[int | str, dict[str, Any]]:
    form = messages.schema(record)
    content = {media: {"schema": form} for media in (JSON, MSGPACK)}
    return {status: {"description": (record.__doc__ or "").partition("\n")[0], "content": content}}


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    content = {JSON: {"schema": messages.schema(messages.Refusal)}}
    return {status: {"description": "Refused.", "content": content} for status in statuses}


def _takes(record: type[object]) -> dict[str, Any]:
    form = messages.schema(record)
    content = {media: {"schema": form} for media in (JSON, MSGPACK)}
    return {"requestBody": {"required": True, "content": content}}
