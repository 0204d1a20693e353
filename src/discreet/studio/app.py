"""The studio as a FastAPI application: forms come in, parts of the page go out, work is done in another process."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse

from discreet.core.dates import FORMATS
from discreet.core.errors import DiscreetError, InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.datasets.clinic import SAMPLE, sample_csv
from discreet.kanonymity.candidate import require_feasible
from discreet.studio.drawn import draw_frontier
from discreet.studio.forms import DEMANDS, ROLES, number_of, read_demands, read_roles, whole_of
from discreet.studio.jobs import refusal
from discreet.studio.parts import events_of, on_file, on_form, render
from discreet.studio.publications import add_publications
from discreet.studio.reading import UploadOptions, describe, read_upload, upload_form
from discreet.studio.tasks import TABLE, WRITTEN, Anonymize, LossBySize
from discreet.studio.uploads import Uploads
from discreet.studio.workspaces import store
from discreet.tables.columns import present_in
from discreet.tables.outlines import group_numbers, list_values, write_outline
from discreet.tables.validate import refuse_unwritable
from discreet.tables.writing import WRITABLE
from discreet.web.gate import HEADERS, Gate
from discreet.web.guard import Guard, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from fractions import Fraction

    from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces

MAX_FILE_BYTES = 512 << 20
"""Bytes of a file."""

MAX_FORM_BYTES = 16 << 20
"""Bytes of all that the page's forms say; a taxonomy is the longest of it."""

LEDGER = Path("discreet-ledger.db")
"""In the folder where the studio was started; the folders of its pages are deleted."""

_LIMITS = Limits(body=MAX_FILE_BYTES, body_seconds=300.0, rate=100.0, burst=400)

_STATIC = {
    "counts.js": "text/javascript",
    "workspace.js": "text/javascript",
    "publish.js": "text/javascript",
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "tables.js": "text/javascript",
}


def create_studio(
    workspaces: OpenWorkspaces,
    *,
    host: str,
    token: str,
    limits: Limits = _LIMITS,
    ledger: Path = LEDGER,
) -> Gate:
    """Return the ASGI application of the studio; making it starts nothing and touches no file.

    Parameters
    ----------
    workspaces
        Where tables lie while a page is open. Closed when the application ends.
    host
        Host and port as they stand in the address of the page.
    token
        What the path of each request begins with; nobody else may know it.
    limits
        Bounds on a request: bytes and seconds of a file, and rates. Forms have at most 16 MiB besides.
    ledger
        The ledger that the pages of counts and tables propose; it is made when a budget is granted.

    Returns
    -------
    Gate
        An ASGI application; :func:`discreet.web.serve` runs it.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(_sweep(workspaces))
        yield
        sweeping.cancel()
        await run_in_threadpool(workspaces.close)

    app = FastAPI(title="discreet studio", openapi_url=None, lifespan=lifespan)
    forms = replace(limits, body=min(limits.body, MAX_FORM_BYTES))
    app.add_middleware(Guard, limits=forms, headers=HEADERS)
    app.add_exception_handler(DiscreetError, _refused)
    _add_page(app, workspaces)
    _add_table(app, workspaces)
    on_form(app, workspaces, "frontier", partial(_start, kind="frontier"))
    on_form(app, workspaces, "run", partial(_start, kind="run"))
    _add_running(app, workspaces)
    _add_results(app, workspaces)
    add_publications(app, workspaces, ledger, MAX_FILE_BYTES)
    return Gate(Uploads(app, workspaces, limits), host, token)


async def _sweep(workspaces: OpenWorkspaces) -> None:
    while True:
        await asyncio.sleep(10)
        await run_in_threadpool(workspaces.sweep)


def _refused(_: Request, error: Exception) -> Response:
    """Return the refusal as JSON with status 400, "message", "code" and "field".

    No detail for errors of other kinds.
    """
    stated = refusal(error) if isinstance(error, DiscreetError) else {"message": "That failed."}
    return JSONResponse(stated, status_code=400)


def _add_page(app: FastAPI, workspaces: OpenWorkspaces) -> None:
    """Add the routes of the page: start, static files, signs of life, and leaving."""

    @app.get("/")
    def page() -> Response:
        return render(
            "page.html",
            workspace=workspaces.open(),
            **upload_form(UploadOptions),
            most=MAX_FILE_BYTES,
        )

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in _STATIC:
            return Response("no such path\n", status_code=404, media_type="text/plain")
        data = files("discreet.studio").joinpath("static", name).read_bytes()
        return Response(data, media_type=f"{_STATIC[name]}; charset=utf-8")

    @app.post("/{workspace}/here")
    def keep_alive(workspace: str) -> Response:
        workspaces.get(workspace)
        return Response(status_code=204)

    @app.post("/{workspace}/leave")
    def leave(workspace: str) -> Response:
        workspaces.leave(workspace)
        return Response(status_code=204)


def _add_table(app: FastAPI, workspaces: OpenWorkspaces) -> None:
    """Add the routes of a table: upload, outline of a taxonomy, risk, and the sample."""
    on_file(app, workspaces, "table", _load)
    on_form(app, workspaces, "outline", _outline)
    on_form(app, workspaces, "risk", _risk)

    @app.post("/{workspace}/sample")
    async def sample(workspace: str) -> Response:
        return await run_in_threadpool(_load_sample, workspaces.get(workspace))


def _load(workspace: OpenWorkspace, path: Path, query: dict[str, str]) -> Response:
    """Replace the workspace's table by the file at `path`, ending its job, and return the page of its columns.

    `query` holds "name" and the options of reading. InvalidProblemError for a file that cannot be read; the workspace
    is then empty.
    """
    with workspace.changing():
        workspace.clear()
        return _show(workspace, path, query)


def _show(workspace: OpenWorkspace, path: Path, query: dict[str, str]) -> Response:
    """Read a file, keep it in the workspace, and return the page of its columns with suggested roles.

    `query` holds "name" (up to 200 letters are kept) and the options of :class:`UploadOptions`.

    `path` is the uploaded file; the caller holds the lock of the workspace.
    """
    name = query.get("name", "table")[:200]
    workspace.upload = read_upload(path, name, UploadOptions.from_form(query))
    workspace.name, workspace.columns = name, describe(workspace.upload.table)
    return render(
        "columns.html",
        name=name,
        upload=workspace.upload,
        columns=workspace.columns,
        roles=ROLES,
        formats=list(FORMATS),
        synthetic=name == SAMPLE,
    )


def _load_sample(workspace: OpenWorkspace) -> Response:
    """Replace the workspace's table by synthetic patients, so that the page can be tried without a file."""
    from discreet.artefact.private_files import write_private

    path = workspace.folder / SAMPLE
    with workspace.changing():
        workspace.clear()
        write_private(path, sample_csv().encode())
        try:
            return _show(workspace, path, {"name": SAMPLE})
        finally:
            path.unlink(missing_ok=True)


def _outline(workspace: OpenWorkspace, form: dict[str, str]) -> str:
    """Return a taxonomy of one column as an indented outline, by ``how``.

    It comes from a file, from intervals of its numbers, or is the list of its bare values. The `form` holds "column"
    (a number from 0), "how", and "text" (of a file) or "width". Scans the column once. InvalidProblemError for
    another column, or a file that holds no taxonomy.
    """
    from discreet.artefact.private_files import write_private
    from discreet.tables.taxonomies import read_taxonomy

    upload = _upload(workspace)
    at = whole_of(form, "column", "Column", least=0)
    if at >= len(workspace.columns):
        raise InvalidProblemError("Column", "a column of the table", "another column")
    name = workspace.columns[at].name
    if form.get("how") == "file":
        path = workspace.folder / "taxonomy.csv"
        write_private(path, form.get("text", "").encode())
        try:
            return write_outline(read_taxonomy(path))
        except InvalidProblemError as error:
            expected = f"{error.expected}, in a file of a value and what stands for it on each line"
            got = str(error.got).removeprefix(f"{path}: ")
            raise error.renamed(name, expected=expected, got=got) from None
        finally:
            path.unlink(missing_ok=True)
    values = sorted({str(value).strip() for value in present_in(upload.table[name].cast(str))})
    if form.get("how") == "intervals":
        return group_numbers(values, _widths(form.get("width", "")), name)
    return list_values(values, name)


def _widths(text: str) -> list[Fraction]:
    """Return the widths of a text with commas between them, as exact fractions of at most 200 letters in all.

    InvalidProblemError for anything else.
    """
    try:
        return [to_fraction(part.strip(), "Width") for part in text[:200].split(",")]
    except InvalidProblemError:
        raise InvalidProblemError(
            "Width", "numbers such as 10, or 10, 50 for two levels", repr(text[:20])
        ) from None


def _risk(workspace: OpenWorkspace, form: dict[str, str]) -> Response:
    """Return the page of the risk of the loaded table with the roles of the form.

    InvalidProblemError for a wrong form.
    """
    from discreet.kanonymity.risk import risk
    from discreet.kanonymity.uniques import risk_sources
    from discreet.tables.cells import by_meaning
    from discreet.tables.frames import singled_out

    roles = read_roles(form, workspace.columns, _upload(workspace).table)
    table = roles.table
    measured = risk(table, roles.names, sensitive=roles.sensitive, person=roles.person)
    return render(
        "risk.html",
        risk=measured,
        sizes=measured.bands(),
        unique=[
            (name, alone)
            for name in (*roles.kept, *roles.sensitive)
            if (alone := singled_out(table, name))
        ],
        names=roles.names,
        notices=roles.notices,
        causes=risk_sources(by_meaning(table, roles.names), roles.names).in_words(),
        endings=list(WRITABLE),
        ending=_upload(workspace).ending,
        secret=[
            (at, column.name)
            for at, column in enumerate(workspace.columns)
            if column.name in roles.sensitive
        ],
        demands=DEMANDS,
        most_k=table.height,
    )


def _add_running(app: FastAPI, workspaces: OpenWorkspaces) -> None:
    """Add the routes of a running job: stop with the best so far, cancel, and events.

    ``events`` is refused with 400 without a job; the others then do nothing.
    """

    @app.post("/{workspace}/stop")
    def stop(workspace: str) -> Response:
        job = workspaces.get(workspace).job
        if job is not None:
            job.stop()
        return Response(status_code=204)

    @app.post("/{workspace}/cancel")
    def cancel(workspace: str) -> Response:
        job = workspaces.get(workspace).job
        if job is not None:
            job.end()
        return Response(status_code=204)

    @app.get("/{workspace}/events")
    async def events(workspace: str) -> Response:
        job = workspaces.get(workspace).job
        if job is None:
            raise InvalidProblemError("job", "a job that was started here", "no job")
        return StreamingResponse(events_of(job), media_type="text/event-stream")


def _add_results(app: FastAPI, workspaces: OpenWorkspaces) -> None:
    """Add the routes of results: the result of a job, the frontier so far, and downloads.

    Refused with 400 without a result or a file; ``frontier`` answers 204 while there is nothing to draw.
    """

    @app.get("/{workspace}/result")
    def result(workspace: str) -> Response:
        job = workspaces.get(workspace).job
        if job is None or job.result is None:
            raise InvalidProblemError("job", "a job that is finished", "no such job")
        return render("frontier.html" if job.kind == "frontier" else "result.html", **job.result)

    @app.get("/{workspace}/frontier")
    def frontier(workspace: str) -> Response:
        """What is known by now of the cost of each k; the search goes on."""
        job = workspaces.get(workspace).job
        events = [] if job is None or job.kind != "frontier" else job.events
        event = next((event for event in reversed(events) if "rows" in event), None)
        if event is None:
            # Another job took its place: what is drawn may stay.
            return Response(status_code=204)
        rows = event["rows"]
        panels = draw_frontier(rows)
        return render("frontier.html", rows=rows, panels=panels, searching=event["text"])

    @app.get("/{workspace}/download/{part}")
    def download(workspace: str, part: str) -> Response:
        at = workspaces.get(workspace)
        names = [f"{name}{_PARTS[part]}" for name in WRITTEN if part in _PARTS]
        path = next((at.folder / name for name in names if (at.folder / name).is_file()), None)
        if path is None:
            raise InvalidProblemError("download", "a result that was made here", "no result")
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")


_PARTS = {"table": "", "certificate": ".discreet.json", "persons": ".persons.private.csv"}
"""What can be downloaded -> end of the name of its file."""


def _start(workspace: OpenWorkspace, form: dict[str, str], kind: str) -> None:
    """Start the task of `kind`, "frontier" or "run", in another process; files of an earlier one are removed.

    A form that is sent again while its job runs starts nothing. InvalidProblemError for a form that makes no sense.
    """
    stale = [f"{name}{end}" for name in WRITTEN for end in _PARTS.values()]
    workspace.begin(kind, form, lambda: _task(workspace, form, kind), stale=stale)


def _task(
    workspace: OpenWorkspace, form: dict[str, str], kind: str, *, max_seconds: float = 3_600.0
) -> LossBySize | Anonymize:
    """Store the table with the roles of the form, and return the task.

    For `kind` "frontier" it computes the losses by k, else it anonymizes, in at most `max_seconds`. InvalidProblemError
    for a form that makes no sense, a k that the table cannot have, or a table that its file cannot hold.
    """
    upload = _upload(workspace)
    roles = read_roles(form, workspace.columns, upload.table)
    table = roles.table
    task: LossBySize | Anonymize
    if kind == "frontier":
        task = LossBySize(str(workspace.folder), roles.attributes)
    else:
        written = f"anonymized{form.get('ending', '') or '.csv'}"
        if written not in WRITTEN:
            raise InvalidProblemError("File", "a kind of file from the list", "another kind")
        as_text = (*roles.names, roles.person or "")
        refuse_unwritable(table.drop(roles.dropped).lazy(), as_text, written, "The table")
        k = whole_of(form, "k", "k", least=2)
        require_feasible(table.height, k)
        models, require = read_demands(form, workspace.columns, roles.sensitive)
        share = number_of(form, "suppress", "Left out", default=0.0, most=100.0) / 100
        task = Anonymize(
            str(workspace.folder),
            roles.attributes,
            roles.sensitive,
            roles.dropped,
            roles.kept,
            k,
            models,
            require,
            number_of(form, "seconds", "Seconds", default=30.0, most=max_seconds),
            share,
            person=roles.person,
            written=written,
            labels=upload.labels,
            recorded={
                "reading": upload.reading.to_dict(),
                "recoding": upload.recoding.to_dict(),
                "models": list(require),
            },
        )
    store(table, workspace.folder / TABLE)
    return task


def _upload(workspace: OpenWorkspace) -> Any:  # noqa: ANN401 - an Upload
    """Return the Upload of the workspace; InvalidProblemError if no table is loaded."""
    if workspace.upload is None:
        raise InvalidProblemError("File", "a table; choose a file first", "no table")
    return workspace.upload
