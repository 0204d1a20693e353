"""``counts`` and ``query``: publish counts by region and size, and ask the measurements that were kept."""

from __future__ import annotations

from typing import Annotated

import typer

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
from discreet.cli.querying import Question, run_query
from discreet.cli.releasing import Claim, Places, Tables, Written, run_counts

__all__ = ["counts", "query", "register"]

_DATA = "The data"
_PUBLIC = "What is public"
_HOW = "How"

_COUNTS_EXAMPLES = """Examples:

```
discreet counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 1000
    --epsilon 1 --neighbors add-remove-person -o out.parquet

discreet counts --units units.csv --public-units units.csv --size size --regions state,county --max-size 1000
    --epsilon 0.1 --neighbors add-remove-person --measurements nm.parquet -o out.csv
```
"""


def counts(
    people: Annotated[
        str | None,
        typer.Argument(metavar="PEOPLE", help="CSV or Parquet file, one row for each person."),
    ] = None,
    *,
    unit: Annotated[
        str | None,
        typer.Option(help="Column of the unit, such as a household.", rich_help_panel=_DATA),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="One row for each unit instead of PEOPLE.", rich_help_panel=_DATA
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Column of the size in --units.", rich_help_panel=_DATA),
    ] = None,
    regions: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="Columns of the region path, from the top down.",
            rich_help_panel=_DATA,
        ),
    ],
    quantity: Annotated[
        str | None,
        typer.Option(help="Column of what each person adds to the size.", rich_help_panel=_DATA),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column of the person: two rows of one person are refused.", rich_help_panel=_DATA
        ),
    ] = None,
    region_list: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The regions that exist, one row for each lowest one. Public; needed unless --public-units is given.",
            rich_help_panel=_PUBLIC,
        ),
    ] = None,
    public_units: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The units that exist, with their regions. How many there are in each region is then published as it "
            "is; without this, units stay private.",
            rich_help_panel=_PUBLIC,
        ),
    ] = None,
    max_size: Annotated[
        int,
        typer.Option(
            help="Larger units count as of this size. Choose it without looking at the data.",
            rich_help_panel=_PUBLIC,
        ),
    ],
    max_quantity: Annotated[
        int,
        typer.Option(
            help="Larger quantities of a person count as this one.", rich_help_panel=_PUBLIC
        ),
    ] = 1,
    root: Annotated[
        str, typer.Option(help="Name of the region that holds all.", rich_help_panel=_PUBLIC)
    ] = "all",
    epsilon: Epsilon = None,
    rho: Rho = None,
    neighbors: Annotated[
        str,
        typer.Option(
            help="add-remove-person or replace-person. It has no default.", rich_help_panel=PROMISED
        ),
    ],
    ledger: Ledger = None,
    dataset: Dataset = None,
    method: Annotated[
        str | None,
        typer.Option(help="Name of the method; m_c_dp_weighted unless told.", rich_help_panel=_HOW),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="laplace (with --epsilon) or gaussian (with --rho).", rich_help_panel=_HOW
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Part of the budget of each level, the root first, with the sum 1; equal parts unless told.",
            rich_help_panel=_HOW,
        ),
    ] = None,
    leaves_inherit: Annotated[
        bool,
        typer.Option(
            help="Whether regions that end above the deepest level have the parts of the levels below them, too.",
            rich_help_panel=_HOW,
        ),
    ] = True,
    accept_no_guarantee: NoGuarantee = False,
    diagnostics: Annotated[
        bool,
        typer.Option(
            "--diagnostics",
            help="Say on standard error how far the counts are from the true ones. Private.",
            rich_help_panel=_HOW,
        ),
    ] = False,
    measurements: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep the noisy counts too, for `discreet query`; covered by the same guarantee.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where the table goes: .csv or .parquet."
        ),
    ] = None,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Publish how many units of each size every region has: whole numbers that add up, differentially private.

    The table has the columns level, region, size and count; level 1 is the root. FILE.discreet.json beside it says what
    is guaranteed. Errors about rows of PEOPLE or --units name columns and positions, and are for the curator's eyes.
    """
    data = Tables(people, units, unit, size, quantity, person)
    where = Places(regions, region_list, public_units, max_size, max_quantity, root)
    claim = Claim(epsilon, rho, neighbors, noise, ledger, dataset, accept_no_guarantee)
    written = Written(output, measurements, report, diagnostics, as_json, quiet)
    return run_counts(
        data, where, claim, written, method=method, levels=levels, leaves_inherit=leaves_inherit
    )


def query(
    measurements: Annotated[
        str,
        typer.Argument(metavar="MEASUREMENTS", help="A file that `counts --measurements` wrote."),
    ],
    *,
    level: Annotated[
        int | None, typer.Option(help="Answer for all regions of this level; the root's is 1.")
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="Answer for this region, such as GA/Fulton; may be given again."
        ),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(metavar="1-7,10", help="Count units of these sizes; all unless told."),
    ] = "all",
    people: Annotated[
        bool,
        typer.Option(
            "--people", help="Add up sizes instead of units; the largest size stands for itself."
        ),
    ] = False,
    interval: Annotated[
        str, typer.Option(help="Probability with which each interval holds the true value.")
    ] = "0.95",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE.csv", help="Write the answers there."),
    ] = None,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Answer a question about sizes from kept measurements: without bias, and with an interval.

    Answers come from the noisy counts, not from the published ones, which are biased where counts are small. They may
    be negative. Asking costs nothing.
    """
    asked = Question(measurements, level, tuple(region or ()), sizes, people, interval)
    run_query(asked, output, report=report, as_json=as_json)


def register(app: typer.Typer) -> None:
    """Add the commands of this group."""
    app.command(epilog=_COUNTS_EXAMPLES)(counts)
    app.command(
        epilog="Example:\n\n```\ndiscreet query nm.parquet --level 2 --sizes 1-7 --interval 0.95\n```"
    )(query)
