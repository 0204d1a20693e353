"""The page of tables: a private table and a public list come in, a plan is seen, a ledger is charged, tables go out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse

from discreet.core.errors import InvalidProblemError
from discreet.studio.arriving import arrived
from discreet.studio.counts_forms import DEPTH, NEIGHBORS, read_guarantee, read_limit
from discreet.studio.counts_ledger import book_of, grant, look, proposed, refuse_beyond
from discreet.studio.counts_release import FILES, PRIVATE
from discreet.studio.desks import store
from discreet.studio.jobs import Job
from discreet.studio.parts import read_form, render
from discreet.studio.reading import DELIMITERS, ENCODINGS, read_upload
from discreet.studio.tables_forms import read_tables_form
from discreet.studio.tables_release import DOWNLOADS, PublishTables, describe_plan, plan_of
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.studio.desks import Desk, Desks
    from discreet.studio.reading import Upload
    from discreet.studio.tables_forms import TablesForm

__all__ = ["add_tables"]

_PUBLISHING = "tables"


def add_tables(app: FastAPI, desks: Desks, ledger: Path, most: int) -> None:
    """Add the page and its requests.

    Parameters
    ----------
    app
        The studio.
    desks
        Where tables lie while a page is open.
    ledger
        The ledger that the page proposes.
    most
        Bytes of a file.
    """

    @app.get("/tables")
    def tables() -> Response:
        return render(
            "tables.html",
            desk=desks.open(),
            delimiters=DELIMITERS,
            encodings=ENCODINGS,
            most=most,
        )

    _add_files(app, desks)
    _add_budget(app, desks, ledger)
    _add_release(app, desks)


def _add_files(app: FastAPI, desks: Desks) -> None:
    @app.post("/{desk}/tables/table")
    async def table(desk: str, request: Request) -> Response:
        at, path, query = desks.get(desk), arrived(request), request.query_params
        return await run_in_threadpool(_load, at, path, dict(query))

    @app.post("/{desk}/tables/list")
    async def listed(desk: str, request: Request) -> Response:
        at, path, query = desks.get(desk), arrived(request), request.query_params
        text = await run_in_threadpool(_load_list, at, path, dict(query))
        return Response(text, media_type="text/plain; charset=utf-8")


def _add_budget(app: FastAPI, desks: Desks, ledger: Path) -> None:
    @app.post("/{desk}/tables/public")
    async def public(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        return await run_in_threadpool(_public, at, form, ledger)

    @app.post("/{desk}/tables/plan")
    async def planned(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        return await run_in_threadpool(_plan, at, form)

    @app.post("/{desk}/tables/budget")
    async def budget(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        path, dataset = book_of(form, at.folder)
        return render("counts_book.html", book=await run_in_threadpool(look, path, dataset))

    @app.post("/{desk}/tables/grant")
    async def granted(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        return await run_in_threadpool(_grant, at, form)


def _add_release(app: FastAPI, desks: Desks) -> None:
    @app.post("/{desk}/tables/run")
    async def run(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        await run_in_threadpool(_publish, at, form)
        return Response(status_code=202)

    @app.get("/{desk}/tables/result")
    def result(desk: str) -> Response:
        job = desks.get(desk).job
        if job is None or job.result is None or job.kind != _PUBLISHING:
            raise InvalidProblemError("job", "one that is done", "none")
        return render("tables_result.html", desk=desk, **job.result)

    @app.get("/{desk}/tables/download/{name}")
    def download(desk: str, name: str) -> Response:
        path = desks.get(desk).folder / (name if name in DOWNLOADS else "none")
        if not path.is_file():
            raise InvalidProblemError("download", "a result that is there", "none")
        return FileResponse(path, filename=name, media_type="application/octet-stream")


def _load(desk: Desk, file: Path, query: Mapping[str, str]) -> Response:
    """Take the private table, and show no more of it than how it is written and what its columns are called."""
    _not_while_publishing(desk)
    desk.clear()
    upload = _read(file, query)
    store(upload.table, desk.folder / PRIVATE)
    return render(
        "tables_columns.html",
        name=query.get("name", "table")[:200],
        how=upload.how.partition(", ")[2],
        notices=upload.notices,
        columns=upload.table.columns,
        depth=DEPTH,
        neighbors=NEIGHBORS,
    )


def _load_list(desk: Desk, file: Path, query: Mapping[str, str]) -> str:
    """Take the public list of regions; say what was read."""
    _columns(desk)
    upload = _read(file, query)
    store(upload.table, desk.folder / FILES["list"])
    return " ".join([upload.how, *upload.notices, f"Columns: {', '.join(upload.table.columns)}."])


def _read(file: Path, query: Mapping[str, str]) -> Upload:
    delimiter, encoding = query.get("delimiter", ""), query.get("encoding", "")
    return read_upload(file, query.get("name", ""), delimiter=delimiter, encoding=encoding)


def _public(desk: Desk, form: Mapping[str, str], ledger: Path) -> Response:
    read = _form(desk, form)
    dataset = Path(form.get("name", "")).stem
    return render(
        "tables_budget.html",
        frame=plan_of(desk.folder, read).frame,
        ledger=str(ledger.absolute()),
        dataset=dataset,
        book=proposed(ledger, dataset),
        neighbors=NEIGHBORS[read.neighbors],
    )


def _plan(desk: Desk, form: Mapping[str, str]) -> Response:
    read = _form(desk, form)
    planned = plan_of(desk.folder, read, read_guarantee(form, read.neighbors))
    return render("tables_plan.html", **describe_plan(planned))


def _grant(desk: Desk, form: Mapping[str, str]) -> Response:
    path, dataset = book_of(form, desk.folder)
    limit = read_limit(form, _form(desk, form).neighbors)
    return render("counts_book.html", book=grant(path, dataset, limit))


def _publish(desk: Desk, form: Mapping[str, str]) -> None:
    read = _form(desk, form)
    _not_while_publishing(desk)
    guarantee = read_guarantee(form, read.neighbors)
    path, dataset = book_of(form, desk.folder)
    plan_of(desk.folder, read, guarantee)
    refuse_beyond(path, dataset, guarantee)
    for name in DOWNLOADS:
        (desk.folder / name).unlink(missing_ok=True)
    if desk.job is not None:
        desk.job.end()
    task = PublishTables(str(desk.folder), read, guarantee, str(path), dataset)
    desk.job = Job(task, _PUBLISHING)


def _not_while_publishing(desk: Desk) -> None:
    """Keep a release that is paid for from being ended by another job."""
    if desk.job is not None and desk.job.kind == _PUBLISHING and not desk.job.over:
        expected = "nothing else while tables are published; wait, or cancel that"
        raise InvalidProblemError("The studio", expected, "another job")


def _form(desk: Desk, form: Mapping[str, str]) -> TablesForm:
    return read_tables_form(form, _columns(desk))


def _columns(desk: Desk) -> list[str]:
    path = desk.folder / PRIVATE
    if not path.is_file():
        raise InvalidProblemError("File", "one that is loaded", "none")
    return names_in(path, "")
