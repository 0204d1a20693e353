"""The pages of counts and of tables, and what each shows before a charge: what budgets cost, and a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI, Response  # noqa: TC002 - FastAPI reads annotations at run time

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy import plan
from discreet.studio.counts_forms import read_promise
from discreet.studio.counts_release import AMOUNTS, COUNTS, Costs
from discreet.studio.forms import whole_of
from discreet.studio.parts import on_file, on_form, render
from discreet.studio.publish_pages import add_publication, job_of, layout_of, read_public
from discreet.studio.released import add_released
from discreet.studio.tables_forms import write_categories
from discreet.studio.tables_release import TABLES, describe_plan

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from discreet.studio.workspaces import OpenWorkspace, OpenWorkspaces

__all__ = ["add_publications"]

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
        add_publication(app, workspaces, publication, ledger=ledger, kept=kept, most=most)
    add_released(app, kept, {one.name: one.downloads for one in known})

    on_form(app, workspaces, "counts/costs", _compare)
    on_form(app, workspaces, "tables/plan", _plan)
    on_file(app, workspaces, "tables/categories", _categories)

    @app.get("/{workspace}/counts/costs")
    def compared(workspace: str) -> Response:
        return render("counts_costs.html", **job_of(workspaces.get(workspace), _COMPARING))


def _compare(workspace: OpenWorkspace, form: Mapping[str, str]) -> None:
    """Start the comparison of budgets in another process."""
    workspace.begin(_COMPARING, form, lambda: _costs(workspace, form))


def _costs(workspace: OpenWorkspace, form: Mapping[str, str]) -> Costs:
    """Return the task that compares budgets, from public facts alone; refuse a form that makes no sense."""
    layout = layout_of(workspace, form, COUNTS)
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
    return write_categories(read_public(file, query, TABLES).table)


def _plan(workspace: OpenWorkspace, form: Mapping[str, str]) -> Response:
    """Return the page that describes a planned release of tables."""
    layout = layout_of(workspace, form, TABLES)
    planned = TABLES.plan(workspace.folder, layout, TABLES.read_promise(form, layout.neighbors))
    text = form.get("plan_count", "").strip()
    count = whole_of(form, "plan_count", "Count", least=1) if text else None
    return render("tables_plan.html", **describe_plan(planned, count))
