"""The requests of the pages of counts and of tables: a private table and public ones come in, a ledger is charged."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Response  # noqa: TC002 - FastAPI reads annotations at run time
from fastapi.responses import JSONResponse

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy import plan
from discreet.studio.counts import AMOUNTS, COUNTS, Costs, read_promise
from discreet.studio.forms import NEIGHBORS, REGION_FIELDS, count_of, read_limit, whole_of
from discreet.studio.ledgers import book_of, grant, look, proposed, refuse_beyond
from discreet.studio.parts import on_file, on_form, render
from discreet.studio.publishing import PRIVATE, Publish
from discreet.studio.reading import (
    ENDINGS,
    PrivateUploadOptions,
    UploadOptions,
    read_upload,
    upload_form,
)
from discreet.studio.released import add_released, new_name
from discreet.studio.tables import TABLES, describe_plan, write_categories
from discreet.studio.workspaces import store
from discreet.tables.dialect import names_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.studio.forms import TableLayout
    from discreet.studio.publishing import Publication
    from discreet.studio.reading import Upload
    from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces


def _add_publication(
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
        shown = _job_of(workspaces.get(workspace), name)
        return render(f"{name}_result.html", workspace=workspace, **shown)


def _job_of(workspace: OpenWorkspace, kind: str) -> dict[str, Any]:
    """Return the result of a job of one kind.

    Raises
    ------
    InvalidProblemError
        When there is no such job, or it is not done.
    """
    if workspace.job is None or workspace.job.result is None or workspace.job.kind != kind:
        raise InvalidProblemError("job", "a job that is finished", "no such job")
    return workspace.job.result


def _layout_of(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication
) -> TableLayout:
    """Return the layout that the form of columns states for the loaded private table.

    InvalidProblemError without one.
    """
    return publication.read_layout(form, _columns(workspace))


def _load(
    workspace: OpenWorkspace, file: Path, query: Mapping[str, str], publication: Publication
) -> Response:
    """Store the private table, and render how it is written and what its columns are called, no more of it.

    `query` holds "name" and the options of reading. What the workspace held is deleted first. InvalidProblemError for
    a file that cannot be read.
    """
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
        depth=len(REGION_FIELDS),
        neighbors=NEIGHBORS,
        **columns,
    )


def _load_public(
    workspace: OpenWorkspace, file: Path, query: Mapping[str, str], publication: Publication
) -> str:
    """Store a public table, and return a sentence on what was read; "which" of the query names it.

    InvalidProblemError for a file that this publication does not take, or if no private table is loaded.
    """
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
    """Return the upload of a file with the options of the query; refusals name this publication's command.

    A `private` file is read row by row, so that no row changes how others are read.
    """
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
    """Return the page of the budget, if the public part of the form makes a plan; else InvalidProblemError.

    `ledger` is the one that is proposed; its data set is called like the table's file. Charges nothing.
    """
    layout = _layout_of(workspace, form, publication)
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
    """Grant the limit of the form to its data set, for ever, and return the page of its ledger."""
    path, dataset = book_of(form, workspace.folder)
    limit = read_limit(form, _layout_of(workspace, form, publication).neighbors)
    return render("ledger.html", book=grant(path, dataset, limit))


def _publish(
    workspace: OpenWorkspace, form: Mapping[str, str], publication: Publication, kept: Path
) -> Response:
    """Start the release of a form in another process; return 202 and its name, "release". `kept`: folder of releases.

    A form that is sent again gets the same release. InvalidProblemError or BudgetError before the start for a form
    that makes no sense, or if the ledger would refuse the charge.

    `form` holds that of the columns, the promise, "ledger", "dataset" and "budget-delta"; charges happen in the
    process.
    """
    release, folder = new_name(), workspace.folder

    def prepare() -> Publish:
        layout = _layout_of(workspace, form, publication)
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
        raise InvalidProblemError("File", "a table; choose a file first", "no table")
    return names_in(path, "")


_COMPARING = "counts-costs"

RELEASED = "discreet-released"
"""The folder of releases, beside the ledger that is proposed."""


def add_publications(app: FastAPI, workspaces: OpenWorkspaces, ledger: Path, most: int) -> None:
    """Add both pages, what they show before a charge, and the list of releases.

    Parameters
    ----------
    app
        The studio.
    workspaces
        Where tables lie while a page is open.
    ledger
        The ledger that the pages propose.
    most
        Bytes of a file.
    """
    kept, known = ledger.absolute().with_name(RELEASED), (COUNTS, TABLES)
    for publication in known:
        _add_publication(app, workspaces, publication, ledger=ledger, kept=kept, most=most)
    add_released(app, kept, {one.name: one.downloads for one in known})

    on_form(app, workspaces, "counts/costs", _compare)
    on_form(app, workspaces, "tables/plan", _plan)
    on_file(app, workspaces, "tables/categories", _categories)

    @app.get("/{workspace}/counts/costs")
    def compared(workspace: str) -> Response:
        return render("counts_costs.html", **_job_of(workspaces.get(workspace), _COMPARING))


def _compare(workspace: OpenWorkspace, form: Mapping[str, str]) -> None:
    """Start the comparison of budgets in another process."""
    workspace.begin(_COMPARING, form, lambda: _costs(workspace, form))


def _costs(workspace: OpenWorkspace, form: Mapping[str, str]) -> Costs:
    """Return the task that compares budgets, from public facts alone.

    InvalidProblemError for a form that makes no sense. The form holds that of the columns, "notion", "method",
    "levels" and, where the number of units is not public, "each".
    """
    layout = _layout_of(workspace, form, COUNTS)
    notion = form.get("notion", "")
    if notion not in AMOUNTS:
        raise InvalidProblemError("Privacy", "a choice of epsilon or rho", "none")
    promise = read_promise({**form, "amount": AMOUNTS[notion][0]}, layout.neighbors)
    planned = COUNTS.plan(workspace.folder, layout, promise)
    each = 1
    if planned.frame.units != "public":
        each = whole_of(form, "each", "Units in a lowest region", least=1)
    # From the public facts alone: no table goes to the other process.
    bare = plan(planned.frame, promise.guarantee, **promise.arguments)
    return Costs(bare, notion, each)


def _categories(_workspace: OpenWorkspace, file: Path, query: Mapping[str, str]) -> str:
    """Return the categories of a public table as JSON."""
    return write_categories(_read(file, query, TABLES).table)


def _plan(workspace: OpenWorkspace, form: Mapping[str, str]) -> Response:
    """Return the page that describes a planned release of tables, without a charge.

    "plan_count" of the form is optional.
    """
    layout = _layout_of(workspace, form, TABLES)
    planned = TABLES.plan(workspace.folder, layout, TABLES.read_promise(form, layout.neighbors))
    count = count_of(form, "plan_count", "Count")
    return render("tables_plan.html", **describe_plan(planned, count))
