"""Options of ``counts``, and what both kinds of counts share: checks before a charge, the release, and its outputs."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from discreet.cli.files import (
    check_outputs,
    check_table_names,
    open_ledger,
    page_content,
    release_files,
)
from discreet.cli.options import (
    HOW,
    PROMISED,
    BudgetOptions,
    HelpAllOption,
    PlanOptions,
    QuietResultOptions,
    RowEngineOptions,
    VerboseOption,
    names,
    output_file,
    read_guarantee,
)
from discreet.cli.output import outcome_facts, rendered
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import REQUIRED, OptionGroup, argument, option
from discreet.core.outcome import public_facts
from discreet.core.printed import facts
from discreet.hierarchy.contingency.workload import LOSSES, SHRINKS
from discreet.hierarchy.methods import DEFAULT, METHODS
from discreet.streaming.row_engine import RowEngine
from discreet.tables.dialect import look
from discreet.tables.option_groups import FileReadingOptions, QuotesOption, RecodingOptions
from discreet.tables.reading import PUBLIC_SUFFIXES, as_quoted, refuse_unreadable
from discreet.tables.recoding import ReadRows, recorded
from discreet.tables.sources import is_plain
from discreet.tables.validate import refuse_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from fractions import Fraction

    from discreet.artefact import ReleaseFiles
    from discreet.artefact.sidecar import FileContent
    from discreet.core.guarantee import PureDP, ZeroConcentratedDP
    from discreet.core.outcome import Release, Unproven

NO_FILES: Mapping[str, Any] = MappingProxyType({})
"""No outputs besides those that all counts have."""

_TITLES = {
    "hierarchy": "Counts by region and size, with their proof",
    "tables": "Tables by region, with their proof",
}


class PrivateRowOptions(OptionGroup, panel="The data"):
    """The private rows, and the columns that are read."""

    unit: str | None = option("Column of the unit, such as a household.")
    units: str | None = option(
        "One row for each unit instead of PEOPLE; a file or a folder.", "FILE"
    )
    size: str | None = option("Column of the size in --units.")
    regions: tuple[str, ...] = names(
        "Columns of the region path, from the top down, in parentheses those that only --region-list has: "
        '"(state),county". With --by, none counts all records together.'
    )
    quantity: str | None = option("Column of the number that each person adds to the size.")
    person: str | None = option(
        "Column of the person, of whom one row counts, or --max-rows, drawn at random."
    )
    refuse_rows: bool = option(
        "Refuse rows that do not count, after the charge. Outside of the guarantee: it tells tables that "
        "differ in one person apart. Default: leave them out, and write their number to standard error alone.",
        default=False,
    )


class PublicOptions(OptionGroup, panel="What is public"):
    """The public facts."""

    region_list: str | None = option(
        "The regions that exist, one row for each lowest one, with (other) for all that are not listed. Public; "
        "needed unless --public-units is given.",
        "FILE",
    )
    public_units: str | None = option(
        "The units that exist, with their regions. How many there are in each region is then published as it "
        "is; without this, units stay private.",
        "FILE",
    )
    max_size: int | None = option(
        "Larger units count as of this size; needed without --by. Choose it without looking at the data."
    )
    max_quantity: int = option("Larger quantities of a person count as this one.", default=1)
    root: str = option("Name of the region that holds all.", default="all")


class CountsGuarantee(BudgetOptions, panel=PROMISED):
    """The guarantee of counts."""

    neighbors: str = option(
        "add-remove-person or replace-person. It has no default.", default=REQUIRED
    )
    delta: str | None = option(
        "With --rho: charge an (epsilon, delta) budget this delta, and the epsilon that follows."
    )


class MethodOptions(RowEngineOptions, panel=HOW):
    """How counts are made."""

    method: str | None = option(f"{', '.join(METHODS)}; default: {DEFAULT}.")
    noise: str | None = option("laplace (with --epsilon) or gaussian (with --rho).")
    levels: str | None = option(
        "Part of the budget of each level, the root first, with the sum 1; default: equal parts.",
        "A,B,...",
    )
    leaves_inherit: bool = option(
        "Whether regions that end above the deepest level have the parts of the levels below them, too.",
        None,
        "--leaves-inherit/--no-leaves-inherit",
        default=True,
    )
    diagnostics: bool = option(
        "Say on standard error how far the counts are from the true ones. Private.", default=False
    )
    threads: int = option(
        "Pieces of a folder, or with --memory, that are read at a time.", default=1
    )


class TableOptions(OptionGroup, panel="Tables of attributes"):
    """Tables of attributes instead of counts by size."""

    by: str | None = option(
        "Attributes: publish people by their categories instead of units by size.", "A,B,..."
    )
    domain: str | None = option(
        'All categories of each attribute, public, "" for blank cells and "(other)" for all that are not listed; or '
        "these under attributes, and structural zeros under zeros.",
        "FILE.json",
    )
    marginals: str | None = option(
        "Marginals that are measured: total, an attribute, several with colons, cells. Another list for each "
        "level after a semicolon. Default: cells.",
        "A,A:B,...",
    )
    shares: str | None = option(
        "Part of each level's budget that each marginal has, with the sum 1; lists for levels after semicolons. "
        "Default: what is best for the workload, or for all marginals alike.",
        "X,Y,...",
    )
    workload: str | None = option(
        "Tables that are asked for, in place of --marginals, each with a weight: the noise is made for them.",
        "A,A:B=2,...",
    )
    workload_levels: str | None = option(
        "Weight of each level, the root first; regions below the last level with a weight aren't counted.",
        "X,Y,...",
    )
    loss: str | None = option(
        "What is small. Default: deviations, and no asked entry noisier than with independent noise, but for a "
        "thousandth for cells and for rounding.",
        "|".join(LOSSES),
    )
    groups: int | None = option(
        "Count groups of sibling regions, too, as levels of their own: up to so many cuts by the number of lowest "
        "regions. With --rho, and the losses worst and against-naive, which they lower where regions differ.",
        "N",
    )
    shrink: str | None = option(
        "Whether published tables are drawn to the shape of the region above, or made of shrunk estimates (with --rho, "
        "and without intervals); answers of `discreet query` never are. Default: parent.",
        "|".join(SHRINKS),
    )
    microdata: str | None = option(
        "Write rows there whose tables are exactly the published ones: no row is a person.", "FILE"
    )
    reliability: str | None = option(
        "Write the table there with each count's standard error and its class of reliability.",
        "FILE",
    )
    max_rows: int = option(
        "The most rows of one person; public. With --person so many of them count, drawn at random.",
        default=1,
    )
    exact_total: int | None = option(
        "The number of all records, where it is public; with replace-person alone."
    )


@final
class CountsOptions(
    PrivateRowOptions,
    PublicOptions,
    CountsGuarantee,
    MethodOptions,
    PlanOptions,
    TableOptions,
    FileReadingOptions,
    RecodingOptions,
    QuotesOption,
    QuietResultOptions,
    VerboseOption,
    HelpAllOption,
):
    """All options of ``counts``."""

    people: str | None = argument(
        "CSV or Parquet file, or a folder of them, one row for each person.", "PEOPLE", default=None
    )
    measurements: str | None = option(
        "Keep the noisy counts too, for `discreet query`; covered by the same guarantee.", "FILE"
    )
    output: str | None = output_file("Where the table goes: .csv, .parquet or .xlsx.")

    @property
    def file(self) -> str:
        """The private table."""
        return self.people or self.units or ""

    @property
    def engine(self) -> RowEngine:
        """How rows are read."""
        return RowEngine(
            self.memory, self.threads, self.scheduler, self.reading, self.recoding, self.quotes
        )


def guarantee_of(options: CountsOptions) -> PureDP | ZeroConcentratedDP:
    """Return the guarantee of the options: pure epsilon, or rho; the noise follows from it.

    InvalidProblemError for both or neither, another noise than follows, or a delta without ``--rho`` and
    ``--ledger``.
    """
    guarantee = read_guarantee(options.epsilon, options.rho, options.neighbors)
    noise = "laplace" if options.rho is None else "gaussian"
    if options.noise not in (None, noise):
        option = "--epsilon" if options.rho is None else "--rho"
        raise InvalidProblemError("--noise", f"{noise} with {option}", repr(options.noise))
    if options.delta is not None and (options.rho is None or options.ledger is None):
        expected = "none but with --rho and --ledger, whose budget it is a part of"
        raise InvalidProblemError("--delta", expected, repr(options.delta))
    return guarantee


def check_files(options: CountsOptions) -> None:
    """Raise InvalidProblemError for files that cannot be read and outputs that cannot be written, before any charge.

    Of a private file only what no row decides is looked at; public ones are scanned once. Outputs within a folder
    that is read are refused.
    """
    rows = None if options.engine.is_large(options.file) else options.file
    for path, name in (
        (rows, "PEOPLE" if options.people else "--units"),
        (options.region_list, "--region-list"),
        (options.public_units, "--public-units"),
    ):
        private = name in {"PEOPLE", "--units"}
        # The library reads another file whole before the charge, and refuses it then.
        if path is not None and is_plain(path, options.reading if private else None):
            mark = look(path, name, PUBLIC_SUFFIXES, whole=not private)
            file = as_quoted(path, options.quotes, "--quotes") if private else path
            refuse_unreadable(file, mark, name, row_by_row=private)
    tables = {
        "--output": options.output,
        "--measurements": options.measurements,
        "--microdata": options.microdata,
        "--reliability": options.reliability,
    }
    check_outputs(
        {**tables, "--report": options.report},
        None if Path(options.file).is_dir() else options.file,
        *(options.region_list, options.public_units, options.domain, options.ledger),
    )
    check_table_names({"--output": options.output}, (".csv", ".parquet", ".xlsx"))
    refuse_name(options.output, "--output")
    check_table_names({**tables, "--output": None})
    for name, path in tables.items():
        if path is not None and Path(path).absolute().parent == Path(options.file).absolute():
            raise InvalidProblemError(name, "a file outside the folder that is read", path)


def open_rows(options: CountsOptions) -> AbstractContextManager[Any]:
    """Return a context manager that gives the private rows, for :func:`release_counts`; nothing is read yet.

    Counts of pieces are kept in the folder of the output until it is written.
    """
    output = options.output
    folder = None if output is None else Path(output).absolute().parent
    return options.engine.source(options.file, folder)


def shared_arguments(options: CountsOptions) -> dict[str, Any]:
    """Return the arguments that all plans take: columns, levels (texts), person, root and refuse_rows.

    One that is not typed is None, `refuse_rows` False.
    """
    return {
        "columns": options.regions or None,
        "levels": None if options.levels is None else options.levels.split(","),
        "person": options.person,
        "root": options.root,
        "refuse_rows": options.refuse_rows,
    }


def release_counts(
    source: object,
    options: CountsOptions,
    arguments: Mapping[str, Any],
    outputs: Callable[[Any], ReleaseFiles],
) -> Release[Any]:
    """Plan, charge the ledger, release and write, by :func:`discreet.counts`; return the release.

    `source` is from :func:`open_rows`; `arguments` are those of one kind of counts; `outputs` makes the files from
    the plan. InvalidProblemError and BudgetError before the charge, ChargedError after it.
    """
    import discreet

    read_as = recorded(options.reading, options.recoding)
    if options.quotes != "doubled":
        read_as["quotes"] = options.quotes
    return discreet.counts(
        ReadRows(source, read_as),
        guarantee_of(options),
        regions=options.region_list,
        budget=open_ledger(options.ledger, options.dataset),
        dataset=options.dataset,
        budget_delta=options.delta,
        # The report draws intervals.
        keep_measurements=(options.measurements or options.report) is not None,
        outputs=outputs,
        **shared_arguments(options),
        **arguments,
    )


def bytes_of_rows(rows: int, attributes: int = 0, *, row_bytes: int = 24) -> int:
    """Return about how many bytes a file of counts has: `row_bytes` a row, and 8 more for each of the attributes."""
    return rows * (row_bytes + 8 * attributes)


def release_outputs(
    options: CountsOptions,
    chapter: str,
    size: int,
    more: Callable[[Release[Any]], dict[str, Any]],
    *,
    frame: Any,  # noqa: ANN401 - the public facts of either kind of counts
    extra_files: Mapping[
        str, tuple[str | None, Callable[[Release[Any]], FileContent], int]
    ] = NO_FILES,
) -> ReleaseFiles:
    """Return the files of a release: the table and its measurements, of `size` bytes about, extra ones, and the page.

    `chapter` is "hierarchy" or "tables"; `more` returns the facts of this kind of counts for JSON; `extra_files` maps
    an option to its path (None: no file), its renderer and its size in bytes. InvalidProblemError if a workbook
    cannot hold the table of `frame`, before anything is charged.
    """
    from discreet.artefact.counts import check_workbook, counts_content, measurements_content

    endings = [Path(path or "").suffix for path in (options.output, options.measurements)]
    if endings[0].lower() == ".xlsx":
        check_workbook(frame, "--output")

    def measured(made: Release[Any]) -> FileContent:
        return measurements_content(made.result.measurements, endings[1], made.provenance.charge)

    def page(made: Release[Any]) -> FileContent:
        return page_content(chapter, made, title=_TITLES[chapter])

    return release_files(
        "counts",
        {
            "--output": (options.output, lambda made: counts_content(made, endings[0]), size),
            "--measurements": (options.measurements, measured, size),
            **extra_files,
            "--report": (options.report, page, None),
        },
        lambda made, left: render_counts(made, options, left, more(made)),
    )


def render_counts(
    outcome: Release[Any] | Unproven[Any],
    options: CountsOptions,
    left: tuple[Fraction, ...] | None,
    more: Mapping[str, Any],
) -> str:
    """Render a release, or an outcome without a guarantee, as text or JSON: public facts alone, no running time.

    `left` is the budget left in the ledger. `more` are facts for JSON; text shows only its ``"microdata"``.
    """
    tree = outcome.result.frame.tree
    data = outcome_facts(
        outcome,
        regions=tree.n,
        levels=tree.depth + 1,
        **more,
        output=options.output,
        measurements=options.measurements,
        left=None if left is None else [str(amount) for amount in left],
    )
    notes = [("microdata", more["microdata"])] if more.get("microdata") else []
    text = facts([*public_facts(outcome, left), *notes])
    return rendered("counts", options, data, text, getattr(outcome, "certificate", None))
