"""The counts page: a private table and public ones come in, a ledger is charged, counts go out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy import plan
from discreet.studio.arriving import arrived
from discreet.studio.asked import whole_of
from discreet.studio.counts_forms import (
    DEPTH,
    KINDS,
    NEIGHBORS,
    PUBLIC,
    method_names,
    read_limit,
    read_promise,
    read_table_form,
)
from discreet.studio.counts_ledger import book_of, grant, look, proposed, refuse_beyond
from discreet.studio.counts_release import (
    AMOUNTS,
    DOWNLOADS,
    FILES,
    PRIVATE,
    Costs,
    Publish,
    plan_of,
)
from discreet.studio.desks import store
from discreet.studio.jobs import Job
from discreet.studio.parts import read_form, render
from discreet.studio.reading import DELIMITERS, ENCODINGS, read_upload
from discreet.studio.released import add_released
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.studio.counts_forms import TableForm
    from discreet.studio.desks import Desk, Desks
    from discreet.studio.reading import Upload

__all__ = ["add_counts"]

_PUBLISHING, _COMPARING = "counts", "counts-costs"

RELEASED = "discreet-released"
"""The folder of releases, beside the ledger that is proposed."""


def add_counts(app: FastAPI, desks: Desks, ledger: Path, most: int) -> None:
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

    @app.get("/counts")
    def counts() -> Response:
        return render(
            "counts.html",
            desk=desks.open(),
            kinds=KINDS,
            delimiters=DELIMITERS,
            encodings=ENCODINGS,
            most=most,
        )

    _add_tables(app, desks, ledger)
    _add_budget(app, desks)
    kept = ledger.absolute().with_name(RELEASED)
    _add_release(app, desks, kept)
    add_released(app, kept, DOWNLOADS)


def _add_tables(app: FastAPI, desks: Desks, ledger: Path) -> None:
    @app.post("/{desk}/counts/table")
    async def table(desk: str, request: Request) -> Response:
        at, path, query = desks.get(desk), arrived(request), request.query_params
        return await run_in_threadpool(_load, at, path, dict(query))

    @app.post("/{desk}/counts/list")
    async def listed(desk: str, request: Request) -> Response:
        at, path, query = desks.get(desk), arrived(request), request.query_params
        text = await run_in_threadpool(_load_public, at, path, dict(query))
        return Response(text, media_type="text/plain; charset=utf-8")

    @app.post("/{desk}/counts/public")
    async def public(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        return await run_in_threadpool(_public, at, form, ledger)


def _add_budget(app: FastAPI, desks: Desks) -> None:
    @app.post("/{desk}/counts/budget")
    async def budget(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        path, dataset = book_of(form, at.folder)
        return render("counts_book.html", book=await run_in_threadpool(look, path, dataset))

    @app.post("/{desk}/counts/grant")
    async def granted(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        return await run_in_threadpool(_grant, at, form)


def _add_release(app: FastAPI, desks: Desks, kept: Path) -> None:
    @app.post("/{desk}/counts/costs")
    async def costs(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        await run_in_threadpool(_compare, at, form)
        return Response(status_code=202)

    @app.post("/{desk}/counts/run")
    async def run(desk: str, request: Request) -> Response:
        at, form = desks.get(desk), await read_form(request)
        await run_in_threadpool(_publish, at, form, kept)
        return Response(status_code=202)

    @app.get("/{desk}/counts/result")
    def result(desk: str) -> Response:
        job = desks.get(desk).job
        if job is None or job.result is None or job.kind not in (_PUBLISHING, _COMPARING):
            raise InvalidProblemError("job", "one that is done", "none")
        name = "counts_result.html" if job.kind == _PUBLISHING else "counts_costs.html"
        return render(name, desk=desk, **job.result)


def _load(desk: Desk, file: Path, query: Mapping[str, str]) -> Response:
    """Take the private table, and show no more of it than how it is written and what its columns are called."""
    name = query.get("name", "table")[:200]
    kind = query.get("kind", "")
    if kind not in KINDS:
        raise InvalidProblemError("Rows", "a choice of what one stands for", "none")
    _not_while_publishing(desk)
    desk.clear()
    upload = _read(file, query)
    store(upload.table, desk.folder / PRIVATE)
    return render(
        "counts_columns.html",
        name=name,
        how=upload.how.partition(", ")[2],
        notices=upload.notices,
        columns=upload.table.columns,
        kind=kind,
        depth=DEPTH,
        public=PUBLIC,
        neighbors=NEIGHBORS,
    )


def _load_public(desk: Desk, file: Path, query: Mapping[str, str]) -> str:
    """Take a public table; say what was read."""
    which = query.get("which", "")
    if which not in FILES:
        raise InvalidProblemError("What is public", "a list or a register", "another")
    _columns(desk)
    upload = _read(file, query)
    store(upload.table, desk.folder / FILES[which])
    return " ".join([upload.how, *upload.notices, f"Columns: {', '.join(upload.table.columns)}."])


def _read(file: Path, query: Mapping[str, str]) -> Upload:
    delimiter, encoding = query.get("delimiter", ""), query.get("encoding", "")
    try:
        return read_upload(file, query.get("name", ""), delimiter=delimiter, encoding=encoding)
    except InvalidProblemError as error:
        # A table that is too large here is for another command than the other page's.
        expected = re.sub(r"`discreet anonymize[^`]*`", "`discreet counts`", error.expected)
        raise InvalidProblemError(error.field, expected, error.got) from None


def _public(desk: Desk, form: Mapping[str, str], ledger: Path) -> Response:
    layout = _layout(desk, form)
    frame = plan_of(desk.folder, layout).frame
    dataset = Path(form.get("name", "")).stem
    return render(
        "counts_budget.html",
        frame=frame,
        public=layout.public,
        ledger=str(ledger.absolute()),
        dataset=dataset,
        book=proposed(ledger, dataset),
        neighbors=NEIGHBORS[layout.neighbors],
        methods=method_names(),
        levels=frame.tree.depth + 1,
    )


def _grant(desk: Desk, form: Mapping[str, str]) -> Response:
    path, dataset = book_of(form, desk.folder)
    limit = read_limit(form, _layout(desk, form).neighbors)
    return render("counts_book.html", book=grant(path, dataset, limit))


def _compare(desk: Desk, form: Mapping[str, str]) -> None:
    layout = _layout(desk, form)
    _not_while_publishing(desk)
    notion = form.get("notion", "")
    if notion not in AMOUNTS:
        raise InvalidProblemError("Privacy", "a choice of epsilon or rho", "none")
    promise = read_promise({**form, "amount": AMOUNTS[notion][0]}, layout.neighbors)
    planned = plan_of(desk.folder, layout, promise)
    each = (
        1
        if planned.frame.units == "public"
        else whole_of(form, "each", "Units in a lowest region", least=1)
    )
    # From the public facts alone: no table goes to the other process.
    bare = plan(planned.frame, promise.guarantee, method=promise.method, levels=promise.levels)
    _start(desk, Job(Costs(bare, notion, each), _COMPARING))


def _publish(desk: Desk, form: Mapping[str, str], kept: Path) -> None:
    layout = _layout(desk, form)
    _not_while_publishing(desk)
    promise = read_promise(form, layout.neighbors)
    path, dataset = book_of(form, desk.folder)
    plan_of(desk.folder, layout, promise)
    refuse_beyond(path, dataset, promise.guarantee)
    for name in DOWNLOADS:
        (desk.folder / name).unlink(missing_ok=True)
    task = Publish(str(desk.folder), layout, promise, str(path), dataset, str(kept))
    _start(desk, Job(task, _PUBLISHING, paid=True))


def _start(desk: Desk, job: Job) -> None:
    if desk.job is not None:
        desk.job.end()
    desk.job = job


def _not_while_publishing(desk: Desk) -> None:
    """Keep a release that is paid for from being ended by another job."""
    if desk.job is not None and desk.job.kind == _PUBLISHING and not desk.job.over:
        expected = "nothing else while counts are published; wait, or cancel that"
        raise InvalidProblemError("The studio", expected, "another job")


def _layout(desk: Desk, form: Mapping[str, str]) -> TableForm:
    return read_table_form(form, _columns(desk))


def _columns(desk: Desk) -> list[str]:
    path = desk.folder / PRIVATE
    if not path.is_file():
        raise InvalidProblemError("File", "one that is loaded", "none")
    return names_in(path, "")
