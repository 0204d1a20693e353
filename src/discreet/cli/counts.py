"""``counts``: publish counts by region and size. Options become a plan; the plan charges, then reads."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from discreet.cli.files import check_outputs, check_table_names, write_page
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
    Verbose,
    read_method,
)
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.tables import (
    By,
    DomainFile,
    ExactTotal,
    Marginals,
    MaxRows,
    Shares,
    TablesRequest,
    Written,
    publish_tables,
    refuse_alone,
    refuse_beside,
)
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import PureDP, ZeroConcentratedDP
from discreet.hierarchy.methods import DEFAULT, METHODS
from discreet.tables.dialect import look
from discreet.tables.parsing import free_memory
from discreet.tables.reading import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet import ledger as ledgers
    from discreet.core.outcome import Release, Unproven
    from discreet.hierarchy import Plan, RegionCounts
    from discreet.hierarchy.methods import Method

    Outcome = Release[RegionCounts] | Unproven[RegionCounts]

__all__ = ["counts", "register"]

_BYTES = 24
"""Bytes of memory for each region and size, at least: the true count, the noisy one and the published one."""

_OPTIONS = {"columns": "--regions", "regions": "--region-list", "total": "--exact-total"}
"""Arguments of the library -> options, where the names differ."""

_DATA = "The data"
_PUBLIC = "What is public"
_HOW = "How"

_COUNTS_EXAMPLES = """Examples:

```
discreet counts people.csv --unit household --regions state,county --region-list regions.csv --max-size 1000
    --epsilon 1 --neighbors add-remove-person -o out.parquet

discreet counts people.csv --regions state,county --region-list regions.csv --by sex,age_band --domain domain.json
    --marginals total,sex,age_band,sex:age_band --rho 1 --neighbors add-remove-person --measurements kept.parquet
    -o tables.parquet

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
        typer.Option(help=f"{', '.join(METHODS)}; default: {DEFAULT}.", rich_help_panel=_HOW),
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
            help="Part of the budget of each level, the root first, with the sum 1; default: equal parts.",
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
    verbose: Verbose = False,
    by: By = None,
    domain: DomainFile = None,
    marginals: Marginals = None,
    shares: Shares = None,
    max_rows: MaxRows = 1,
    exact_total: ExactTotal = None,
) -> int:
    """Publish how many units of each size every region has: whole numbers that add up, differentially private.

    The table has the columns level, region, size and count; level 1 is the root. FILE.discreet.json beside it says what
    is guaranteed. With --by it publishes how many people of each category every region has instead, for several
    marginals at once, and columns are level, region, marginal, the attributes and count. Errors about rows of PEOPLE or
    --units name columns and positions, and are for the curator's eyes.
    """
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
            levels,
            max_rows,
            exact_total,
            root,
            ledger,
        )
        claim = _Claim(epsilon, rho, neighbors, noise, ledger, dataset, accept_no_guarantee=False)
        with _as_options():
            return publish_tables(
                request,
                _guarantee(claim),
                Written(output, measurements, report, as_json, quiet, verbose),
                _open_ledger(claim, refuse=False),
                dataset,
            )
    refuse_alone(
        {
            "--domain": domain,
            "--marginals": marginals,
            "--shares": shares,
            "--max-rows": None if max_rows == 1 else max_rows,
            "--exact-total": exact_total,
        }
    )
    if max_size is None:
        raise InvalidProblemError(
            "--max-size", "the largest size that has a count of its own", "none"
        )
    rows = _Rows(people, units, unit, size, quantity, person)
    public = _Public(regions.split(","), region_list, public_units, max_size, max_quantity, root)
    claim = _Claim(epsilon, rho, neighbors, noise, ledger, dataset, accept_no_guarantee)
    wanted = _Wanted(output, measurements, report, diagnostics, as_json, quiet, verbose)
    with _as_options():
        return _publish(
            rows,
            public,
            claim,
            wanted,
            method=read_method(METHODS, method, accept_no_guarantee=accept_no_guarantee),
            levels=None if levels is None else levels.split(","),
            leaves_inherit=leaves_inherit,
        )


@final
@dataclass(frozen=True)
class _Rows:
    """Where the private rows are, and which columns are what, as typed."""

    people: str | None
    units: str | None
    unit: str | None
    size: str | None
    quantity: str | None
    person: str | None

    @property
    def file(self) -> str:
        """The private table."""
        return self.people or self.units or ""

    def columns(self) -> dict[str, Any]:
        """Columns by the names of the library's arguments."""
        persons = {"quantity": self.quantity, "person": self.person}
        return {"unit": self.unit, **(persons if self.people else {"size": self.size})}


@final
@dataclass(frozen=True)
class _Public:
    """What is public, as typed."""

    columns: list[str]
    region_list: str | None
    public_units: str | None
    max_size: int
    max_quantity: int
    root: str

    def arguments(self) -> dict[str, Any]:
        """By the names of the library's arguments."""
        return {
            "columns": self.columns,
            "public_units": self.public_units,
            "max_size": self.max_size,
            "max_quantity": self.max_quantity,
            "root": self.root,
        }


@final
@dataclass(frozen=True)
class _Claim:
    """What is promised and what is charged, as typed."""

    epsilon: str | None
    rho: str | None
    neighbors: str
    noise: str | None
    ledger: str | None
    dataset: str | None
    accept_no_guarantee: bool


@final
@dataclass(frozen=True)
class _Wanted:
    """Where results go."""

    output: str | None
    measurements: str | None
    report: str | None
    diagnostics: bool
    as_json: bool
    quiet: bool
    verbose: bool


@contextmanager
def _as_options() -> Iterator[None]:
    """Let errors name options where the library names its arguments."""
    try:
        yield
    except InvalidProblemError as error:
        field = _OPTIONS.get(error.field, error.field)
        raise InvalidProblemError(field, error.expected, error.got) from None


def _publish(
    rows: _Rows,
    public: _Public,
    claim: _Claim,
    wanted: _Wanted,
    *,
    method: Method | None,
    levels: Sequence[str] | None,
    leaves_inherit: bool,
) -> Status:
    """Check files and options, plan, release and write; the plan charges the ledger before it reads a value."""
    from discreet import hierarchy

    guarantee = _guarantee(claim)
    _check_files(rows, public)
    tables = {"--output": wanted.output, "--measurements": wanted.measurements}
    check_outputs(
        {**tables, "--report": wanted.report},
        rows.people,
        rows.units,
        public.region_list,
        public.public_units,
        claim.ledger,
    )
    check_table_names(tables)
    if claim.accept_no_guarantee and (wanted.measurements or wanted.report):
        expected = "none for what has no guarantee"
        raise InvalidProblemError("--measurements, --report", expected, "one")
    ledger = _open_ledger(claim, refuse=claim.accept_no_guarantee)
    parts: dict[str, Any] = {"levels": levels, "leaves_inherit": leaves_inherit}
    outcome: Outcome
    if claim.accept_no_guarantee:
        given = {**public.arguments(), **rows.columns(), "regions": public.region_list}
        read = hierarchy.from_records if rows.people else hierarchy.from_units
        counted = read(rows.file, **given)
        outcome = hierarchy.reproduce(counted, guarantee, method=method or "m-c-dp", **parts)
        warn(f"NOT PRIVATE, must not be published: {outcome.reason}")
        diagnosed = hierarchy.diagnose(counted, outcome).to_dict() if wanted.diagnostics else None
    else:
        planned = hierarchy.plan(
            public.region_list,
            guarantee,
            method=method,
            **parts,
            **public.arguments(),
            **rows.columns(),
        )
        _check_size(planned)
        if planned.method.kind == "sorted" and wanted.measurements is not None:
            named = METHODS.name_of(planned.method)
            raise InvalidProblemError("--measurements", "a method that measures counts", named)
        outcome = planned.release(
            rows.file,
            budget=ledger,
            dataset=claim.dataset,
            keep_measurements=wanted.measurements is not None,
        )
        diagnosed = planned.diagnose(rows.file, outcome).to_dict() if wanted.diagnostics else None
    _write(outcome, wanted)
    if diagnosed is not None:
        told = ", ".join(f"{name} {value}" for name, value in diagnosed.items())
        warn(f"PRIVATE, for the curator only: {told}")
    data, text = _describe(outcome, wanted, claim, ledger)
    emit(
        data,
        text,
        as_json=wanted.as_json,
        command="counts",
        certificate=getattr(outcome, "certificate", None),
        verbose=wanted.verbose,
    )
    return Status.DONE


def _guarantee(claim: _Claim) -> PureDP | ZeroConcentratedDP:
    """Read what is promised; the noise follows from it, and may be named to be sure."""
    neighbors: Any = claim.neighbors
    if (claim.epsilon is None) == (claim.rho is None):
        got = "neither" if claim.rho is None else "both"
        raise InvalidProblemError("--epsilon", "a budget here, or with --rho", got)
    noise = "laplace" if claim.rho is None else "gaussian"
    if claim.noise not in (None, noise):
        option = "--epsilon" if claim.rho is None else "--rho"
        raise InvalidProblemError("--noise", f"{noise} with {option}", repr(claim.noise))
    if claim.rho is None:
        return PureDP(claim.epsilon or "", neighbors)
    return ZeroConcentratedDP(claim.rho, neighbors)


def _check_files(rows: _Rows, public: _Public) -> None:
    if (rows.people is None) == (rows.units is None):
        got = "neither" if rows.units is None else "both"
        raise InvalidProblemError("PEOPLE", "a file here, or with --units", got)
    if rows.people is not None and rows.unit is None:
        raise InvalidProblemError("--unit", "the column of the unit of each person", "none")
    if rows.units is not None and rows.size is None:
        raise InvalidProblemError("--size", "the column of sizes in --units", "none")
    for given, option, fits in (
        (rows.size, "--size", rows.units),
        (rows.quantity, "--quantity", rows.people),
        (rows.person, "--person", rows.people),
    ):
        if given is not None and fits is None:
            raise InvalidProblemError(option, "no such column with this kind of table", repr(given))
    # Before anything is charged for a file that cannot be read.
    for path, option in (
        (rows.people, "PEOPLE"),
        (rows.units, "--units"),
        (public.region_list, "--region-list"),
        (public.public_units, "--public-units"),
    ):
        if path is not None:
            mark = look(path, option, (".csv", ".tsv", ".txt", ".parquet"))
            refuse_unreadable(path, mark, option)


def _open_ledger(claim: _Claim, *, refuse: bool) -> ledgers.Ledger | None:
    if (claim.ledger is None) != (claim.dataset is None):
        missing = "--ledger" if claim.ledger is None else "--dataset"
        raise InvalidProblemError(missing, "both --ledger and --dataset, or none", "one of them")
    if claim.ledger is None:
        return None
    if refuse:
        raise InvalidProblemError("--ledger", "no ledger for what has no guarantee", claim.ledger)
    from discreet.ledger import Ledger as Book

    return Book(claim.ledger)


def _check_size(planned: Plan) -> None:
    """Refuse more counts than the memory holds, before they are charged."""
    regions, max_size = planned.frame.tree.n, planned.frame.max_size
    most = free_memory() // (_BYTES * regions) - 1
    if max_size > most:
        expected = f"at most {most:,} for {regions:,} regions, in the memory that is free"
        raise InvalidProblemError("--max-size", expected, f"{max_size:,}")


def _write(outcome: Outcome, wanted: _Wanted) -> None:
    """Write the files that are wanted; what has no guarantee gets no record beside it."""
    from discreet.artefact import save_counts, save_measurements
    from discreet.core.outcome import Release

    if wanted.output is None and wanted.report is None:
        warn("nothing was written: no --output", quiet=wanted.quiet)
    kept = outcome.result.measurements
    if not isinstance(outcome, Release):
        if wanted.output is not None:
            _write_bare(outcome.result, wanted.output)
        return
    if wanted.output is not None:
        save_counts(outcome, wanted.output)
    if wanted.measurements is not None and kept is not None:
        save_measurements(kept, wanted.measurements)
    if wanted.report is not None:
        from discreet.report import make_chapter

        title = "Counts by region and size, with their proof"
        write_page([make_chapter("hierarchy", outcome)], wanted.report, title=title)


def _write_bare(counts: RegionCounts, path: str) -> None:
    from discreet.artefact.placing import replace_file
    from discreet.tables.writing import bytes_of

    table = counts.to_frame("polars")
    replace_file(Path(path), bytes_of(table, Path(path).suffix.lower()))


def _describe(
    outcome: Outcome, wanted: _Wanted, claim: _Claim, ledger: ledgers.Ledger | None
) -> tuple[dict[str, Any], str]:
    """Lay out what may be published, and nothing else: no time, which depends on the records."""
    frame, provenance = outcome.result.frame, outcome.provenance
    guarantee, certificate = outcome.guarantee, getattr(outcome, "certificate", None)
    left = None
    if ledger is not None and claim.dataset is not None:
        left = [str(amount) for amount in ledger.account(claim.dataset).left]
    data = {
        "guarantee": None
        if guarantee is None
        else {**guarantee.to_dict(), "sentence": str(guarantee)},
        "method": provenance.method,
        "regions": frame.tree.n,
        "levels": frame.tree.depth + 1,
        "sizes": [frame.first_size, frame.max_size],
        "units": frame.units,
        "parameters": dict(provenance.parameters),
        "assumed_public": provenance.to_dict()["assumed_public"],
        "certificate": None if certificate is None else certificate.to_dict(),
        "output": wanted.output,
        "measurements": wanted.measurements,
        "left": left,
    }
    reason = getattr(outcome, "reason", "")
    if reason:
        data["reason"] = reason
    rows: list[tuple[str, object]] = [
        ("guarantee", guarantee or f"none: {reason}"),
        ("method", provenance.method),
        ("regions", f"{frame.tree.n} on {frame.tree.depth + 1} levels"),
        ("sizes", f"{frame.first_size} to {frame.max_size}, larger ones counted as the largest"),
    ]
    rows += [("assumed public", f"{p.name}: {p.description}") for p in provenance.assumed_public]
    if left is not None:
        rows.append(("budget left", ", ".join(left)))
    return data, facts(rows)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_COUNTS_EXAMPLES)(counts)
