"""``select``: choose a set that is worth much to private records."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.choosing import Asked, Promised, run_select
from discreet.cli.options import (
    PROMISED,
    Dataset,
    Epsilon,
    Json,
    Ledger,
    NoGuarantee,
    Quiet,
    Report,
    Rho,
)

__all__ = ["register", "select"]

_DATA = "The data"
_PUBLIC = "What is public"
_HOW = "How"

_EXAMPLES = """Examples:

```
discreet select --similarity sim.npy --matroid uniform:20 --epsilon 1 --neighbors add-remove-one --json

discreet select --coverage edges.parquet --candidates candidates.csv --matroid partition:groups.csv
    --epsilon 0.5 --neighbors replace-one --json
```
"""


def select(
    *,
    similarity: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.npy",
            help="Clients x candidates, values in [0, 1]: each client is served by the chosen candidate most similar "
            "to it. The columns are the public ground set.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    coverage: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="CSV or Parquet file with the columns client, candidate: a client counts once some candidate of its "
            "is chosen. Other candidates than the public ones do not count.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The candidates, by the column candidate or the first one. Needed with --coverage, unless the "
            "matroid's file names them.",
            rich_help_panel=_PUBLIC,
        ),
    ] = None,
    matroid: Annotated[
        str,
        typer.Option(
            help="What may be chosen: uniform:R, or partition:FILE (candidate, group, capacity), laminar:FILE (the "
            "same, a row for each group of a candidate), graphic:FILE (candidate, u, v), transversal:FILE "
            "(candidate, slot). A capacity is 1 unless told.",
            rich_help_panel=_PUBLIC,
        ),
    ],
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help="Slack in probability, for approximate privacy.", rich_help_panel=PROMISED
        ),
    ] = None,
    rho: Rho = None,
    neighbors: Annotated[
        str | None,
        typer.Option(
            help="add-remove-one or replace-one; one row of the matrix, or one client, is one record. Needed with a "
            "budget.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    ledger: Ledger = None,
    dataset: Dataset = None,
    accept_no_guarantee: NoGuarantee = False,
    method: Annotated[
        str | None,
        typer.Option(
            help="Name of the method; chosen from public facts unless told.", rich_help_panel=_HOW
        ),
    ] = None,
    diagnostics: Annotated[
        bool,
        typer.Option(
            "--diagnostics",
            help="Value, evaluations and seconds on standard error: private, for the curator.",
            rich_help_panel=_HOW,
        ),
    ] = False,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Choose a set of candidates that is worth much to private records, differentially privately.

    Nothing is printed but the chosen candidates, the guarantee, what each rule of the accountant proves, and how the
    method was chosen.
    """
    asked = Asked(similarity, coverage, candidates, matroid, method)
    promised = Promised(epsilon, delta, rho, neighbors, ledger, dataset, accept_no_guarantee)
    return run_select(
        asked, promised, diagnostics=diagnostics, as_json=as_json, quiet=quiet, report=report
    )


def register(app: typer.Typer) -> None:
    """Add the command of this group."""
    app.command(epilog=_EXAMPLES)(select)
