"""The requests of each page that publishes: a private table and public ones come in, a ledger is charged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from discreet.core.errors import InvalidProblemError
from discreet.studio.ledgers import book_of, grant, look, proposed, refuse_beyond
from discreet.studio.parts import read_form, render
from discreet.studio.publish_forms import MAX_REGION_COLUMNS, NEIGHBORS, read_limit
from discreet.studio.publishing import PRIVATE, Publish
from discreet.studio.reading import DELIMITERS, read_upload
from discreet.studio.released import new_name
from discreet.studio.uploads import uploaded
from discreet.studio.workspaces import store
from discreet.tables.decoding import ENCODINGS
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.studio.publish_forms import Layout
    from discreet.studio.publishing import Publication
    from discreet.studio.reading import Upload
    from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces

__all__ = ["add_publication", "job_of", "layout_of"]


def add_publication(
    app: FastAPI,
    workspaces: OpenWorkspaces,
    publication: Publication,
    *,
    ledger: Path,
    kept: Path,
    most: int,
) -> None:
    """Add a page that publishes, and its requests.

    Parameters
    ----------
    app
        The studio.
    workspaces
        Where tables lie while a page is open.
    publication
        What is published.
    ledger
        The ledger that the page proposes.
    kept
        The folder where releases are kept.
    most
        Bytes of a file.
    """

    @app.get(f"/{publication.name}")
    def page() -> Response:
        return render(
            f"{publication.name}.html",
            workspace=workspaces.open(),
            delimiters=DELIMITERS,
            encodings=ENCODINGS,
            most=most,
            **publication.first,
        )

    _add_files(app, workspaces, publication)
    _add_budget(app, workspaces, publication, ledger)
    _add_release(app, workspaces, publication, kept)


def _add_files(app: FastAPI, workspaces: OpenWorkspaces, publication: Publication) -> None:
    @app.post(f"/{{workspace}}/{publication.name}/table")
    async def table(workspace: str, request: Request) -> Response:
        at, path, query = workspaces.get(workspace), uploaded(request), request.query_params
        return await run_in_threadpool(_load, at, path, dict(query), publication)

    @app.post(f"/{{workspace}}/{publication.name}/list")
    async def listed(workspace: str, request: Request) -> Response:
        at, path, query = workspaces.get(workspace), uploaded(request), request.query_params
        text = await run_in_threadpool(_load_public, at, path, dict(query), publication)
        return Response(text, media_type="text/plain; charset=utf-8")


def _add_budget(
    app: FastAPI, workspaces: OpenWorkspaces, publication: Publication, ledger: Path
) -> None:
    @app.post(f"/{{workspace}}/{publication.name}/public")
    async def public(workspace: str, request: Request) -> Response:
        at, form = workspaces.get(workspace), await read_form(request)
        return await run_in_threadpool(_public, at, form, publication, ledger)

    @app.post(f"/{{workspace}}/{publication.name}/budget")
    async def budget(workspace: str, request: Request) -> Response:
        at, form = workspaces.get(workspace), await read_form(request)
        path, dataset = book_of(form, at.folder)
        return render("ledger.html", book=await run_in_threadpool(look, path, dataset))

    @app.post(f"/{{workspace}}/{publication.name}/grant")
    async def granted(workspace: str, request: Request) -> Response:
        at, form = workspaces.get(workspace), await read_form(request)
        return await run_in_threadpool(_grant, at, form, publication)


def _add_release(
    app: FastAPI, workspaces: OpenWorkspaces, publication: Publication, kept: Path
) -> None:
    @app.post(f"/{{workspace}}/{publication.name}/run")
    async def run(workspace: str, request: Request) -> Response:
        at, form = workspaces.get(workspace), await read_form(request)
        release = await run_in_threadpool(_publish, at, form, publication, kept)
        return JSONResponse({"release": release}, status_code=202)

    @app.get(f"/{{workspace}}/{publication.name}/result")
    def result(workspace: str) -> Response:
        shown = job_of(workspaces.get(workspace), publication.name)
        return render(f"{publication.name}_result.html", workspace=workspace, **shown)


def job_of(workspace: OpenWorkspace, kind: str) -> dict[str, Any]:
    """Give what a job of one kind has made.

    Raises
    ------
    InvalidProblemError
        When there is no such job, or it is not done.
    """
    if workspace.job is None or workspace.job.result is None or workspace.job.kind != kind:
        raise InvalidProblemError("job", "one that is done", "none")
    return workspace.job.result


def layout_of(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication
) -> Layout:
    """Read the form of columns of the table that is loaded."""
    return publication.read_layout(form, _columns(workspace))


def _load(
    workspace: OpenWorkspace, file: Path, query: Mapping[str, str], publication: Publication
) -> Response:
    """Take the private table, and show no more of it than how it is written and what its columns are called."""
    columns = publication.columns(query)
    with workspace.changing():
        workspace.clear()
        upload = _read(file, query, publication, private=True)
        store(upload.table, workspace.folder / PRIVATE)
    return render(
        f"{publication.name}_columns.html",
        name=query.get("name", "table")[:200],
        how=upload.how.partition(", ")[2],
        notices=upload.notices,
        columns=upload.table.columns,
        depth=MAX_REGION_COLUMNS,
        neighbors=NEIGHBORS,
        **columns,
    )


def _load_public(
    workspace: OpenWorkspace, file: Path, query: Mapping[str, str], publication: Publication
) -> str:
    """Take a public table; say what was read."""
    which = query.get("which", "")
    if which not in publication.public:
        raise InvalidProblemError("What is public", "a file that the page takes", "another")
    _columns(workspace)
    upload = _read(file, query, publication)
    with workspace.changing():
        store(upload.table, workspace.folder / publication.public[which][0])
    return " ".join([upload.how, *upload.notices, f"Columns: {', '.join(upload.table.columns)}."])


def _read(
    file: Path, query: Mapping[str, str], publication: Publication, *, private: bool = False
) -> Upload:
    delimiter, encoding = query.get("delimiter", ""), query.get("encoding", "")
    try:
        return read_upload(
            file,
            query.get("name", ""),
            delimiter=delimiter,
            encoding=encoding,
            nested=True,
            row_by_row=private,
        )
    except InvalidProblemError as error:
        # A table that is too large here is for another command than the page of anonymous tables names.
        expected = re.sub(r"`discreet anonymize[^`]*`", f"`{publication.command}`", error.expected)
        raise error.renamed(error.field, expected=expected) from None


def _public(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication, ledger: Path
) -> Response:
    layout = layout_of(workspace, form, publication)
    planned = publication.plan(workspace.folder, layout)
    dataset = Path(form.get("name", "")).stem
    return render(
        f"{publication.name}_budget.html",
        frame=planned.frame,
        ledger=str(ledger.absolute()),
        dataset=dataset,
        book=proposed(ledger, dataset),
        neighbors=NEIGHBORS[layout.neighbors],
        form=new_name(),
        **publication.budget(planned, layout),
    )


def _grant(workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication) -> Response:
    path, dataset = book_of(form, workspace.folder)
    limit = read_limit(form, layout_of(workspace, form, publication).neighbors)
    return render("ledger.html", book=grant(path, dataset, limit))


def _publish(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication, kept: Path
) -> str:
    """Start the release of a form, and return its name; a form that comes again has the same release."""
    release, folder = new_name(), workspace.folder

    def prepare() -> Publish:
        layout = layout_of(workspace, form, publication)
        promise = publication.read_promise(form, layout.neighbors)
        path, dataset = book_of(form, folder)
        delta = form.get("budget-delta", "").strip() or None
        planned = publication.plan(folder, layout, promise)
        refuse_beyond(path, dataset, planned.guarantee, delta)
        return Publish(
            *(publication, str(folder), layout, promise),
            *(str(path), dataset, str(kept)),
            budget_delta=delta,
            release=release,
        )

    stale = publication.downloads
    return workspace.begin(publication.name, form, prepare, stale=stale, release=release).release


def _columns(workspace: OpenWorkspace) -> list[str]:
    path = workspace.folder / PRIVATE
    if not path.is_file():
        raise InvalidProblemError("File", "one that is loaded", "none")
    return names_in(path, "")
