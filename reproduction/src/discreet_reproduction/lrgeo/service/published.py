"""The published protocol over HTTP ([QLPSX24]_, Figure 4), whole: its messages, its server and its client.

It is here to be measured and attacked, and is loaded only where it is switched on. What users upload identifies their
places, and what they sample from is not private across users: see docs/theory/errata-lrgeo.md. So what comes back is
:class:`discreet.Unproven`.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, final

import numpy as np
from fastapi import Request, Response  # noqa: TC002 - FastAPI reads annotations at run time
from fastapi.concurrency import run_in_threadpool
from numpy.typing import NDArray  # noqa: TC002 - pydantic reads annotations at run time
from pydantic import Field, GetPydanticSchema, model_validator
from pydantic_core import PydanticCustomError, core_schema

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.outcome import Provenance, PublicInput, Unproven
from discreet.core.randomness import SystemBits, categorical
from discreet.lrgeo.messages import PROTOCOL_VERSION, read_message
from discreet.lrgeo.places.region import Region
from discreet.service.app import create_app
from discreet.service.asking import Server
from discreet.service.messages import Message, Sentence
from discreet.service.routes import answer, answers, content_of, refusals, refuse
from discreet.service.wire import decode
from discreet_reproduction.lrgeo.as_published.clr_geo import clr_geo
from discreet_reproduction.lrgeo.as_published.coefficients import Coefficients, prepare
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph, within
from discreet_reproduction.lrgeo.as_published.instance import Instance
from discreet_reproduction.lrgeo.service.jobs import JobLimits, Jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from fastapi import FastAPI
    from numpy.typing import ArrayLike

    from discreet.core.randomness import RandomBits
    from discreet.lrgeo import Mechanism
    from discreet.web.guard import Limits
    from discreet_reproduction.lrgeo.as_published.coefficients import Prepared

M = TypeVar("M", bound=Message)

MAX_ROWS = 400
MAX_COLUMNS = 2_000
MAX_CELLS = 200_000
MAX_DISTANCE = 1e5
"""Distances and costs, in whatever unit, stay below."""

_MAX_PLACES = 1_000_000
"""Places of a region in a message, at most; the streets of Rome have 43,160 nodes."""

_WIDEST = 5_120
"""Places that a region may have in the published protocol."""

_PAUSE = 0.05
_UNITS = 2.0**53

_REASON = (
    "the upload is a function of the place on public data, and rows of different users' programs"
    " do not keep each other's ratios"
)

Length = Annotated[float, Field(ge=0, le=MAX_DISTANCE)]
PlaceIndex = Annotated[int, Field(ge=0, le=_MAX_PLACES - 1)]


def array_of(items: Any, dtype: type[np.generic]) -> GetPydanticSchema:  # noqa: ANN401 - an annotated type
    """Annotate an array that crosses the wire as nested lists: read whole, copied, and kept read-only.

    Parameters
    ----------
    items
        The annotated type of the lists, with their bounds.
    dtype
        What the array holds.
    """

    def frozen(listed: list[Any]) -> np.ndarray[Any, Any]:
        if len({len(row) for row in listed if isinstance(row, list)}) > 1:
            raise PydanticCustomError("ragged", "rows of equal length")
        made = np.array(listed, dtype=dtype)
        made.setflags(write=False)
        return made

    def schema(_source: Any, handler: Any) -> core_schema.CoreSchema:  # noqa: ANN401 - pydantic's own
        return core_schema.no_info_before_validator_function(
            lambda value: value.tolist() if isinstance(value, np.ndarray) else value,
            core_schema.no_info_after_validator_function(
                frozen,
                handler.generate_schema(items),
                serialization=core_schema.plain_serializer_function_ser_schema(np.ndarray.tolist),
            ),
        )

    return GetPydanticSchema(schema)


def _rows(rows: int, columns: int, high: float) -> Any:  # noqa: ANN401 - an annotated type
    number = Annotated[float, Field(ge=0, le=high)]
    row = Annotated[list[number], Field(min_length=1, max_length=columns, fail_fast=True)]
    listed = Annotated[list[row], Field(min_length=1, max_length=rows, fail_fast=True)]
    return array_of(listed, np.float64)


_SQUARE = _rows(MAX_ROWS, MAX_ROWS, MAX_DISTANCE)
_WIDE = _rows(MAX_ROWS, MAX_COLUMNS, MAX_DISTANCE)
_PLACES = array_of(
    Annotated[
        list[PlaceIndex],
        Field(
            min_length=1,
            max_length=MAX_COLUMNS,
            fail_fast=True,
            json_schema_extra={"uniqueItems": True},
        ),
    ],
    np.int64,
)


class ParametersMessage(Message):
    """The public parameters of the published protocol ([QLPSX24]_, Figure 4, step 1).

    Parameters
    ----------
    protocol
        Version of the messages.
    epsilon
        Nats per unit of distance.
    gamma
        Places at most this far apart are neighbors; ``None`` for all.
    reach
        Radius of the location set, the paper's capital gamma.
    r_obf
        Radius of the obfuscation range.
    r_exp
        Beyond this radius entries have the exponential form.
    """

    epsilon: Annotated[float, Field(ge=0, le=1e6)]
    gamma: Length | None
    reach: Length
    r_obf: Length
    r_exp: Length


class UploadMessage(Message):
    """What a user of the published protocol uploads ([QLPSX24]_, Figure 4, step 6), and a job for the server.

    The matrices are a deterministic function of the user's place on public data: reading them finds the place by
    enumeration. ``discreet attack lrgeo --mode published`` does.

    Parameters
    ----------
    protocol
        Version of the messages.
    between
        ``(N, N)`` among the places of the location set, symmetric, zero on the diagonal, a metric.
    away
        ``(N, O)`` from the location set to the obfuscation range.
    cost
        ``(N, O)`` estimated costs of the entries.
    columns
        ``(O,)`` which places the columns are: without them the server can't know which scales users share.
    """

    between: Annotated[NDArray[np.float64], _SQUARE]
    away: Annotated[NDArray[np.float64], _WIDE]
    cost: Annotated[NDArray[np.float64], _WIDE]
    columns: Annotated[NDArray[np.int64], _PLACES]

    @model_validator(mode="after")
    def _is_a_problem(self) -> Self:
        near, far = self.between, self.away
        n, wide = far.shape
        if near.shape != (n, n) or self.cost.shape != far.shape or len(self.columns) != wide:
            raise _wrong("between, away, cost and columns of shapes that fit")
        if n * wide > MAX_CELLS:
            raise _wrong(f"away of at most {MAX_CELLS} entries")
        if len(np.unique(self.columns)) != wide:
            raise _wrong("columns that are all different")
        return self


class AcceptedMessage(Message):
    """A job was taken; its name, which nobody can guess, is 256 random bits."""

    job: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{43}$", max_length=43)]


class JobMessage(Message):
    """Where a job stands: the obfuscation matrix ``(N, K)`` over all places when it is done, or why it failed."""

    status: Literal["waiting", "running", "done", "failed"]
    rows: Annotated[NDArray[np.float64], _rows(MAX_ROWS, _WIDEST, 1.01)] | None
    reason: Sentence | None

    @model_validator(mode="after")
    def _is_done_with_rows(self) -> Self:
        if (self.rows is not None) != (self.status == "done"):
            raise _wrong("rows exactly when the job is done")
        return self


class DiscMessage(Message):
    """Ask for the part of the cost table within a disc ([QLPSX24]_, Figure 4, step 4). It discloses the disc.

    ``center`` is a place that the client drew from its location set, ``radius`` is in the region's unit.
    """

    center: PlaceIndex
    radius: Length


class CostTableMessage(Message):
    """The part of the cost table within a disc: the expected cost of reporting the second when being at the first."""

    places: Annotated[NDArray[np.int64], _PLACES]
    costs: Annotated[NDArray[np.float64], _rows(MAX_COLUMNS, MAX_COLUMNS, MAX_DISTANCE)]

    @model_validator(mode="after")
    def _is_square(self) -> Self:
        if self.costs.shape != (len(self.places),) * 2:
            raise _wrong("costs with a row and a column for each place")
        if len(np.unique(self.places)) != len(self.places):
            raise _wrong("places that are all different")
        return self


def _wrong(expected: str) -> PydanticCustomError:
    return PydanticCustomError("form", expected)


@final
@dataclass(frozen=True)
class _Solver:
    """The joint program of a batch of users, with a time limit."""

    parameters: ParametersMessage
    n_places: int
    seconds: float

    def __call__(self, uploads: Sequence[UploadMessage]) -> list[NDArray[np.float64]]:
        """Solve the joint program of a batch of users."""
        said = self.parameters
        form = ExponentialForm(said.epsilon, r_exp=said.r_exp, r_obf=said.r_obf)
        users = [Coefficients(one.between, one.away, one.cost, one.columns) for one in uploads]
        found = clr_geo(
            users,
            form,
            gamma=math.inf if said.gamma is None else said.gamma,
            n_places=self.n_places,
            time_limit=self.seconds,
        )
        return list(found.matrices)


@final
class PaperServer:
    """Answers as the published protocol has it.

    Parameters
    ----------
    region
        The places, 5120 at most.
    parameters
        What is public.
    targets
        Indices of the places where trips end; all of them by default.
    seconds
        Time limit of the solver for one batch.
    solver
        Another solver of the joint program.

    Raises
    ------
    InvalidProblemError
        For targets that are no places, or radii that do not fit.

    Examples
    --------
    >>> from discreet.lrgeo import Region
    >>> region = Region.from_grid(4, 4, cell=1, unit="km")
    >>> server = PaperServer(region, ParametersMessage(protocol=1, epsilon=1, gamma=1.5, reach=2, r_obf=2, r_exp=1))
    >>> server.costs(DiscMessage(protocol=1, center=5, radius=1)).places.tolist()
    [1, 4, 5, 6, 9]
    """

    def __init__(
        self,
        region: Region,
        parameters: ParametersMessage,
        *,
        targets: ArrayLike | None = None,
        seconds: float = 30.0,
        solver: Callable[[Sequence[UploadMessage]], Sequence[NDArray[np.float64]]] | None = None,
    ) -> None:
        # Refuses radii that do not fit, before anybody uploads anything.
        ExponentialForm(parameters.epsilon, r_exp=parameters.r_exp, r_obf=parameters.r_obf)
        self._instance = Instance.from_region(region, targets=targets)
        self.parameters = parameters
        self.n_places = region.K
        self._solver = solver or _Solver(parameters, region.K, seconds)

    def costs(self, request: DiscMessage) -> CostTableMessage:
        """Cut a disc out of the cost table.

        Raises
        ------
        InvalidProblemError
            For a center that is no place, or a disc with too many places.
        """
        center = self._instance.place(request.center, "center")
        inside = np.flatnonzero(within(self._instance.distances[center], request.radius))
        if len(inside) > MAX_COLUMNS:
            raise InvalidProblemError("radius", f"a disc of {MAX_COLUMNS} places", "a larger one")
        table = self._instance.beta[np.ix_(inside, inside)]
        return CostTableMessage(protocol=PROTOCOL_VERSION, places=inside, costs=table)

    def add_to(self, app: FastAPI, limits: JobLimits | None = None) -> Callable[[], None]:
        """Add the routes to an application; return the function that ends the queue of jobs."""
        jobs = Jobs(self._solver, limits or JobLimits())

        @app.get(
            "/v1/parameters",
            responses=answers(ParametersMessage),
            summary="Published protocol, step 1.",
        )
        async def get_parameters(request: Request) -> Response:
            return answer(request, self.parameters)

        @app.post(
            "/v1/cost-table",
            responses={**answers(CostTableMessage), **refusals(400, 413, 415, 422)},
            openapi_extra=_takes(DiscMessage),
            summary="Published protocol, step 4. The disc is disclosed.",
        )
        async def post_costs(request: Request) -> Response:
            disc = await _read_body(request, DiscMessage)
            return answer(request, await run_in_threadpool(self.costs, disc))

        @app.post(
            "/v1/jobs",
            status_code=202,
            responses={**answers(AcceptedMessage, 202), **refusals(400, 413, 415, 422, 429)},
            openapi_extra=_takes(UploadMessage),
            summary="Published protocol, step 6. The upload is a function of the user's place.",
        )
        async def post_job(request: Request) -> Response:
            upload = await _read_body(request, UploadMessage)
            if int(upload.columns.max()) >= self.n_places:
                expected = f"places from 0 to {self.n_places - 1}"
                raise InvalidProblemError("columns", expected, "another")
            name = jobs.submit(upload)
            if name is None:
                return refuse(429, "too-many", "as many jobs wait as may; ask again later")
            return answer(request, AcceptedMessage(protocol=PROTOCOL_VERSION, job=name), status=202)

        @app.get(
            "/v1/jobs/{job}",
            responses={**answers(JobMessage), **refusals(404, 422)},
            summary="Published protocol, step 7.",
        )
        async def get_job(request: Request, job: str) -> Response:
            found = jobs.get(job)
            if found is None:
                message = "no such job; it may have been forgotten: send it again"
                return refuse(404, "not-found", message)
            state = JobMessage(
                protocol=PROTOCOL_VERSION,
                status=found.status,
                rows=found.result,
                reason=found.reason,
            )
            return await run_in_threadpool(answer, request, state)

        return jobs.close


async def _read_body(request: Request, model: type[M]) -> M:
    """Return the body as a message of class `model`, decoded by its Content-Type in a thread.

    Raises
    ------
    InvalidProblemError
        For another media type, a body that cannot be decoded, or one that is no such message.
    """
    body = await request.body()
    media = request.headers.get("content-type", "")
    return await run_in_threadpool(lambda: model.read(decode(body, media)))


def _takes(model: type[Message]) -> dict[str, Any]:
    """Return the OpenAPI entry "requestBody" of a body that must be a message of class `model`, in both media types."""
    return {"requestBody": {"required": True, **content_of(model)}}


def create_published_app(
    mechanism: Mechanism,
    region: Region,
    server: PaperServer,
    *,
    limits: Limits | None = None,
    jobs: JobLimits | None = None,
    **options: Any,  # noqa: ANN401 - those of `discreet.service.create_app`
) -> FastAPI:
    """Create an application that serves a mechanism and, beside it, the published protocol.

    Parameters
    ----------
    mechanism, region, limits, options
        As for :func:`discreet.service.create_app`.
    server
        The published protocol.
    jobs
        Bounds on its queue of jobs.
    """
    app = create_app(mechanism, region, limits=limits, **options)
    close = server.add_to(app, jobs)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(close)

    app.router.lifespan_context = lifespan
    return app


@final
class PaperClient:
    """A user of the published protocol.

    Parameters
    ----------
    server
        The server, which has the protocol switched on; or its address.
    patience
        Seconds to wait for a job.
    sleep
        How to wait.

    Raises
    ------
    InvalidProblemError
        When the server has the protocol switched off.
    """

    def __init__(
        self,
        server: Server | str,
        *,
        patience: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._server = Server(server) if isinstance(server, str) else server
        self._patience = patience
        self._sleep = sleep
        # Step 1: what is public.
        public = self._server.get("/v1/parameters", ParametersMessage.read)
        place = self._server.get("/v1/region", lambda data: read_message("region", data))
        if public is None or place is None:
            raise InvalidProblemError("server", "its region and parameters", "nothing")
        self.region = Region.from_dict(place["region"])
        self.parameters = public
        space = self.region.space
        distances = np.ldexp(space.distances.astype(np.float64), -space.scale_bits)
        # What reports cost is the server's to know; the client fetches what it needs of it.
        self._instance = Instance(distances, np.zeros_like(distances), unit=space.unit)
        gamma = math.inf if public.gamma is None else public.gamma
        self._graph = GeoIndGraph(distances, gamma)

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def report(
        self, point: tuple[float, float], *, bits: RandomBits | None = None
    ) -> Unproven[tuple[float, float]]:
        """Go through the protocol once and draw a report.

        Parameters
        ----------
        point
            Where one is. It stays here; what is sent says as much.
        bits
            Source of randomness; the operating system's by default.

        Returns
        -------
        Unproven
            The reported place, and why it is not private.

        Raises
        ------
        InvalidProblemError
            For a point outside the region, or when the server refuses.
        LimitReachedError
            When no result came in time.
        """
        source = bits or SystemBits()
        mine = self.prepare(self.region.snap(point), bits=source)
        sent = mine.coefficients
        upload = UploadMessage(
            protocol=PROTOCOL_VERSION,
            between=sent.between,
            away=sent.away,
            cost=sent.cost,
            columns=sent.columns,
        )
        row = self._solve(upload)[mine.own]
        weights = np.floor(np.maximum(row, 0.0) * _UNITS).astype(np.int64)
        where = self.region.where(categorical(weights, source))
        digest = PublicInput("region", self.region.digest, f"{self.region.K} places")
        return Unproven(where, _REASON, Provenance("lr-geo as published", {}, (digest,)))

    def prepare(self, place: int, *, bits: RandomBits | None = None) -> Prepared:
        """Do steps 3 to 5: location set, range, and coefficients from the part of the cost table that is fetched."""
        said, source = self.parameters, bits or SystemBits()
        reach, r_obf = said.reach, said.r_obf
        first = prepare(self._instance, self._graph, place, reach=reach, r_obf=r_obf)
        # Step 4: a center drawn anew each time, as published; Proposition 4.4 with the radius that covers both sets.
        center = int(first.rows[source.randrange(len(first.rows))])
        radius = max(2 * reach, reach + r_obf) * (1 + 1e-6)
        disc = DiscMessage(protocol=PROTOCOL_VERSION, center=center, radius=radius)
        table = self._server.post("/v1/cost-table", disc.write(), CostTableMessage.read)
        cost = np.zeros_like(self._instance.distances)
        cost[np.ix_(table.places, table.places)] = table.costs
        return prepare(self._instance, self._graph, place, reach=reach, r_obf=r_obf, cost=cost)

    def _solve(self, upload: UploadMessage) -> NDArray[np.float64]:
        """Do steps 6 and 7. A server that was restarted knows no jobs: the same upload is sent again."""
        end = time.monotonic() + self._patience
        sent = upload.write()
        name = self._server.post("/v1/jobs", sent, AcceptedMessage.read).job
        while time.monotonic() < end:
            try:
                job = self._server.get(f"/v1/jobs/{name}", JobMessage.read)
            except InvalidProblemError as error:
                if not str(error.got).startswith("404"):
                    raise
                name = self._server.post("/v1/jobs", sent, AcceptedMessage.read).job
                continue
            if job is not None and job.status == "failed":
                raise InvalidProblemError("job", "a solution", job.reason)
            if job is not None and job.rows is not None:
                return job.rows
            self._sleep(_PAUSE)
        raise LimitReachedError(f"no result within {self._patience} seconds")
