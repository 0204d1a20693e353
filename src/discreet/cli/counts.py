"""``counts``: publish counts by region and size. Options become a plan; the plan charges, then reads."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.counting import (
    CountsClaim,
    CountsFiles,
    PrivateRows,
    PublicFacts,
    as_options,
    guarantee_of,
    publish_counts,
)
from discreet.cli.files import open_ledger
from discreet.cli.options import (
    HOW,
    PROMISED,
    Dataset,
    Delta,
    Epsilon,
    Json,
    Ledger,
    Memory,
    NoGuarantee,
    Quiet,
    Quotes,
    Report,
    Rho,
    RowThreads,
    Scheduler,
    Verbose,
    read_method,
)
from discreet.cli.reading_options import (  # noqa: TC001 - Typer reads annotations at run time
    Bins,
    Bottom,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    Prefix,
    Rounded,
    Sheet,
    Top,
)
from discreet.cli.tables import (
    By,
    DomainFile,
    ExactTotal,
    Loss,
    Marginals,
    MaxRows,
    PlanCount,
    PlanOnly,
    Shares,
    TablesRequest,
    Workload,
    WorkloadLevels,
    publish_tables,
    refuse_alone,
    refuse_beside,
)
from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.methods import DEFAULT, METHODS
from discreet.streaming.row_engine import RowEngine
from discreet.tables.options import ReadingOptions
from discreet.tables.recoding import Recoding

__all__ = ["counts", "register"]

_DATA = "The data"
_PUBLIC = "What is public"

_COUNTS_EXAMPLES = """Examples:

```
discreet counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 1000
    --epsilon 1 --neighbors add-remove-person -o out.parquet

discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band --domain domain.json
    --marginals total,sex,age_band,sex:age_band --rho 1 --neighbors add-remove-person --measurements kept.parquet
    -o tables.parquet

discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band --domain domain.json
    --workload "sex, age_band, sex:age_band; cells=0.2" --workload-levels 1,2,2 --rho 1 --neighbors add-remove-person
    --plan

discreet counts people/ --unit household --regions state,county --region-list regions.csv --max-size 100 --epsilon 1
    --neighbors add-remove-person --scheduler tcp://127.0.0.1:8786 -o counts.parquet

discreet counts --units units.csv --public-units units.csv --size size --regions state,county --max-size 1000
    --epsilon 0.1 --neighbors add-remove-person --measurements nm.parquet -o out.csv
```
"""


def counts(
    people: Annotated[
        str | None,
        typer.Argument(
            metavar="PEOPLE",
            help="CSV or Parquet file, or a folder of them, one row for each person.",
        ),
    ] = None,
    *,
    unit: Annotated[
        str | None,
        typer.Option(help="Column of the unit, such as a household.", rich_help_panel=_DATA),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="One row for each unit instead of PEOPLE; a file or a folder.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(help="Column of the size in --units.", rich_help_panel=_DATA),
    ] = None,
    regions: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of the region path, from the top down. With --by, none counts all records together.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    quantity: Annotated[
        str | None,
        typer.Option(help="Column of what each person adds to the size.", rich_help_panel=_DATA),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            help="Column of the person, of whom one row counts, or --max-rows.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    refuse_rows: Annotated[
        bool,
        typer.Option(
            "--refuse-rows",
            help="Refuse rows that do not count, after the charge. Outside of the guarantee: it tells tables that "
            "differ in one person apart. Default: leave them out, and write their number to standard error alone.",
            rich_help_panel=_DATA,
        ),
    ] = False,
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
        int | None,
        typer.Option(
            help="Larger units count as of this size; needed without --by. Choose it without looking at the data.",
            rich_help_panel=_PUBLIC,
        ),
    ] = None,
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
    delta: Delta = None,
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
        typer.Option(help=f"{', '.join(METHODS)}; default: {DEFAULT}.", rich_help_panel=HOW),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="laplace (with --epsilon) or gaussian (with --rho).", rich_help_panel=HOW
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Part of the budget of each level, the root first, with the sum 1; default: equal parts.",
            rich_help_panel=HOW,
        ),
    ] = None,
    leaves_inherit: Annotated[
        bool,
        typer.Option(
            help="Whether regions that end above the deepest level have the parts of the levels below them, too.",
            rich_help_panel=HOW,
        ),
    ] = True,
    accept_no_guarantee: NoGuarantee = False,
    diagnostics: Annotated[
        bool,
        typer.Option(
            "--diagnostics",
            help="Say on standard error how far the counts are from the true ones. Private.",
            rich_help_panel=HOW,
        ),
    ] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    missing: Missing = None,
    bins: Bins = None,
    top: Top = None,
    bottom: Bottom = None,
    rounded: Rounded = None,
    prefix: Prefix = None,
    memory: Memory = None,
    threads: RowThreads = 1,
    scheduler: Scheduler = None,
    quotes: Quotes = "doubled",
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
    verbose: Verbose = False,
    by: By = None,
    domain: DomainFile = None,
    marginals: Marginals = None,
    shares: Shares = None,
    workload: Workload = None,
    workload_levels: WorkloadLevels = None,
    loss: Loss = None,
    plan: PlanOnly = False,
    plan_count: PlanCount = None,
    max_rows: MaxRows = 1,
    exact_total: ExactTotal = None,
) -> int:
    """Publish how many units of each size every region has: whole numbers that add up, differentially private.

    The table has the columns level, region, size and count; level 1 is the root. FILE.discreet.json beside it says what
    is guaranteed. With --by it publishes how many people of each category every region has instead, for several
    marginals at once, and columns are level, region, marginal, the attributes and count. With --memory or --scheduler
    rows are counted piece by piece, and the noise is drawn here, once. No value of a row of PEOPLE or
    --units is refused: rows outside of the public lists are left out, and standard error has their number.
    """
    wanted = CountsFiles(output, measurements, report, diagnostics, as_json, quiet, verbose)
    engine = RowEngine(
        memory,
        threads,
        scheduler,
        ReadingOptions.of(
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            sheet=sheet,
            missing=missing or (),
        ),
        Recoding.of(
            bins=bins or (),
            top=top or (),
            bottom=bottom or (),
            rounded=rounded or (),
            prefix=prefix or (),
        ),
        quotes=quotes,
    )
    if by is not None:
        refuse_beside(
            {
                "--unit": unit,
                "--units": units,
                "--size": size,
                "--quantity": quantity,
                "--public-units": public_units,
                "--max-size": max_size,
                "--method": method,
                "--diagnostics": diagnostics or None,
                "--accept-no-guarantee": accept_no_guarantee or None,
                "--no-leaves-inherit": None if leaves_inherit else "given",
            }
        )
        request = TablesRequest(
            people,
            regions,
            region_list,
            person,
            by,
            domain,
            marginals,
            shares,
            workload,
            workload_levels,
            loss,
            levels,
            max_rows,
            exact_total,
            root,
            ledger,
            delta,
            engine,
            refuse_rows,
            plan,
            plan_count,
        )
        claim = CountsClaim(
            epsilon, rho, delta, neighbors, noise, ledger, dataset, accept_no_guarantee=False
        )
        with as_options():
            return publish_tables(
                request,
                guarantee_of(claim),
                wanted,
                open_ledger(ledger, dataset),
                dataset,
            )
    refuse_alone(
        {
            "--domain": domain,
            "--marginals": marginals,
            "--shares": shares,
            "--workload": workload,
            "--workload-levels": workload_levels,
            "--loss": loss,
            "--plan": plan or None,
            "--plan-count": plan_count,
            "--max-rows": None if max_rows == 1 else max_rows,
            "--exact-total": exact_total,
        }
    )
    if max_size is None:
        raise InvalidProblemError(
            "--max-size", "the largest size that has a count of its own", "none"
        )
    if regions is None:
        raise InvalidProblemError("--regions", "the columns of the region path", "none")
    rows = PrivateRows(people, units, unit, size, quantity, person, engine, refuse_rows)
    public = PublicFacts(
        regions.split(","), region_list, public_units, max_size, max_quantity, root
    )
    claim = CountsClaim(epsilon, rho, delta, neighbors, noise, ledger, dataset, accept_no_guarantee)
    with as_options():
        return publish_counts(
            rows,
            public,
            claim,
            wanted,
            method=read_method(METHODS, method, accept_no_guarantee=accept_no_guarantee),
            levels=None if levels is None else levels.split(","),
            leaves_inherit=leaves_inherit,
        )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_COUNTS_EXAMPLES)(counts)
