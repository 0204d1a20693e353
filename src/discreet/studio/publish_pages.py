"""The requests of each page that publishes: a private table and public ones come in, a ledger is charged."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Response  # noqa: TC002 - FastAPI reads annotations at run time
from fastapi.responses import JSONResponse

from discreet.core.errors import InvalidProblemError
from discreet.studio.ledgers import book_of, grant, look, proposed, refuse_beyond
from discreet.studio.parts import on_file, on_form, render
from discreet.studio.publish_forms import MAX_REGION_COLUMNS, NEIGHBORS, read_limit
from discreet.studio.publishing import PRIVATE, Publish
from discreet.studio.reading import (
    ENDINGS,
    PrivateUploadOptions,
    UploadOptions,
    read_upload,
    upload_form,
)
from discreet.studio.released import new_name
from discreet.studio.workspaces import store
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.studio.publish_forms import TableLayout
    from discreet.studio.publishing import Publication
    from discreet.studio.reading import Upload
    from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces

__all__ = ["add_publication", "job_of", "layout_of", "read_public"]


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
            **upload_form(PrivateUploadOptions),
            most=most,
            **publication.first,
        )

    _add_requests(app, workspaces, publication, ledger, kept)


def _add_requests(
    app: FastAPI, workspaces: OpenWorkspaces, publication: Publication, ledger: Path, kept: Path
) -> None:
    """Add the routes of a publication's page: its table and list, its forms, budget, run and result.

    `ledger` is the file that is charged, `kept` the folder of kept outputs.
    """
    name = publication.name
    on_file(app, workspaces, f"{name}/table", partial(_load, publication=publication))
    on_file(app, workspaces, f"{name}/list", partial(_load_public, publication=publication))
    public = partial(_public, publication=publication, ledger=ledger)
    on_form(app, workspaces, f"{name}/public", public)
    on_form(app, workspaces, f"{name}/budget", _budget)
    on_form(app, workspaces, f"{name}/grant", partial(_grant, publication=publication))
    on_form(app, workspaces, f"{name}/run", partial(_publish, publication=publication, kept=kept))

    @app.get(f"/{{workspace}}/{name}/result")
    def result(workspace: str) -> Response:
        shown = job_of(workspaces.get(workspace), name)
        return render(f"{name}_result.html", workspace=workspace, **shown)


def job_of(workspace: OpenWorkspace, kind: str) -> dict[str, Any]:
    """Return the result of a job of one kind.

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
) -> TableLayout:
    """Read the form of columns of the table that is loaded."""
    return publication.read_layout(form, _columns(workspace))


def _load(
    workspace: OpenWorkspace, file: Path, query: Mapping[str, str], publication: Publication
) -> Response:
    """Store the private table, and render how it is written and what its columns are called, no more of it."""
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
        endings=ENDINGS,
        depth=MAX_REGION_COLUMNS,
        neighbors=NEIGHBORS,
        **columns,
    )


def _load_public(
    workspace: OpenWorkspace, file: Path, query: Mapping[str, str], publication: Publication
) -> str:
    """Store a public table, and return a sentence on what was read."""
    which = query.get("which", "")
    if which not in publication.public:
        raise InvalidProblemError("What is public", "a file that the page takes", "another")
    _columns(workspace)
    upload = read_public(file, query, publication)
    with workspace.changing():
        store(upload.table, workspace.folder / publication.public[which][0])
    return " ".join([upload.how, *upload.notices, f"Columns: {', '.join(upload.table.columns)}."])


def read_public(file: Path, query: Mapping[str, str], publication: Publication) -> Upload:
    """Read a public file of any kind that is read."""
    return _read(file, query, publication)


def _read(
    file: Path, query: Mapping[str, str], publication: Publication, *, private: bool = False
) -> Upload:
    """Read an uploaded table with the options of the form; refusals name this publication's command."""
    try:
        options = (PrivateUploadOptions if private else UploadOptions).from_form(query)
        return read_upload(file, query.get("name", ""), options, nested=True)
    except InvalidProblemError as error:
        # A table that is too large here is for another command than the page of anonymous tables names.
        expected = re.sub(r"`discreet anonymize[^`]*`", f"`{publication.command}`", error.expected)
        raise error.renamed(error.field, expected=expected) from None


def _public(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication, ledger: Path
) -> Response:
    """Return the page of the budget, once the public part of a form makes a plan."""
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


def _budget(workspace: OpenWorkspace, form: Mapping[str, str]) -> Response:
    """Return the page of a ledger."""
    return render("ledger.html", book=look(*book_of(form, workspace.folder)))


def _grant(workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication) -> Response:
    """Grant a limit to a dataset, and return the page of its ledger."""
    path, dataset = book_of(form, workspace.folder)
    limit = read_limit(form, layout_of(workspace, form, publication).neighbors)
    return render("ledger.html", book=grant(path, dataset, limit))


def _publish(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication, kept: Path
) -> Response:
    """Start the release of a form, and return its name; a form that is sent again has the same release.

    Refused before the start if the ledger would refuse the charge.
    """
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
    job = workspace.begin(publication.name, form, prepare, stale=stale, release=release)
    return JSONResponse({"release": job.release}, status_code=202)


def _columns(workspace: OpenWorkspace) -> list[str]:
    """Return the column names of the private table; refuse a workspace without one."""
    path = workspace.folder / PRIVATE
    if not path.is_file():
        raise InvalidProblemError("File", "one that is loaded", "none")
    return names_in(path, "")
