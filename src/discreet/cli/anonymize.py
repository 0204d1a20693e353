"""``anonymize``: generalize a table as little as possible, so that each class has k rows or more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.anonymized import told, write_pages
from discreet.cli.anonymizing import COMPILING, AnonymizeOptions, ResultFiles, given_roles
from discreet.cli.columns import (
    Categoricals,
    DateOption,
    Drop,
    Keep,
    Numerics,
    PrefixOption,
    Quasi,
    RoundOption,
    Sensitive,
    ShowColumns,
    Taxonomies,
    Unassigned,
    warn_of_kept,
)
from discreet.cli.files import check_outputs, check_table_names
from discreet.cli.large import run_large
from discreet.cli.microdata import (
    Kinds,
    attributes_of,
    demanded,
    names_of,
    unstated,
    with_orders,
)
from discreet.cli.options import (
    HOW,
    PROMISED,
    Json,
    Memory,
    Quiet,
    Report,
    Scheduler,
    Verbose,
    demand,
)
from discreet.cli.output import Status, emit, warn
from discreet.cli.progress import steps
from discreet.cli.reading_options import (  # noqa: TC001 - Typer reads annotations at run time
    Bins,
    Bottom,
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    Orders,
    Sheet,
    Top,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.models import read_models
from discreet.tables.cells import recognize_missing
from discreet.tables.columns import no_column, refuse_unclear
from discreet.tables.options import ReadingOptions
from discreet.tables.reading import read_rows
from discreet.tables.recoding import Recoding, recode
from discreet.tables.roles import assign_roles, look_of, repeated_persons
from discreet.tables.sizes import refuse_many
from discreet.tables.sources import is_hive_folder
from discreet.tables.validate import refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.core.progress import Progress
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.models import PrivacyModel
    from discreet.tables.roles import AssignedRoles

__all__ = ["anonymize", "register"]

_COLUMNS = "Columns"

MOST_ROWS = 2_000_000
"""Rows that are searched without a time limit."""

_EXAMPLES = """Examples:

```
discreet anonymize patients.csv -k 5 --quasi birthdate,gender,zip --sensitive disease --drop patient_id,name
    --prefix zip -o out.csv --curator-report private.html

discreet anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease --l-diversity 3 --alpha 0.5 -o out.csv

discreet anonymize fars.csv -k 3 --quasi AGE,SEX,INJ_SEV,DRINKING --method optimal -o out.csv --json

discreet anonymize big.parquet -k 50 --quasi age,education,sex --memory 4GB -o out/

discreet verify out.csv --against patients.csv
```
"""


def anonymize(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="CSV or Parquet file, or a folder of them, one row for each person.",
        ),
    ],
    *,
    k: Annotated[
        int,
        typer.Option(
            "-k",
            "--k",
            help="Least size of an equivalence class, 2 or more. No default.",
            rich_help_panel=PROMISED,
        ),
    ],
    quasi: Quasi,
    sensitive: Sensitive = None,
    keep: Keep = None,
    drop: Drop = None,
    unassigned: Unassigned = None,
    suppress: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Most rows that may be left out, as a share.",
            rich_help_panel=PROMISED,
        ),
    ] = 0.0,
    keep_suppressed: Annotated[
        bool,
        typer.Option(
            "--keep-suppressed",
            help="Write suppressed rows as * in all of --quasi, if there are k of them or more.",
            rich_help_panel=PROMISED,
        ),
    ] = False,
    l_diversity: Annotated[int | None, demand("--l-diversity", PROMISED)] = None,
    t_closeness: Annotated[str | None, demand("--t-closeness", PROMISED)] = None,
    alpha: Annotated[str | None, demand("--alpha", PROMISED)] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODEL",
            help="What each class must hold in a column: distinct:L, entropy:L, recursive:C,L, closeness:T, "
            "ordered-closeness:T or alpha:A. Again for each.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Tells persons apart: each class then has k persons. The column is not written.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Public table of all people, of whom some are in TABLE; with --k-map.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    k_map: Annotated[
        int | None,
        typer.Option(
            "--k-map",
            metavar="K",
            help="People of --population whom the cells of each class must cover, besides k rows.",
            rich_help_panel=PROMISED,
        ),
    ] = None,
    taxonomy: Taxonomies = None,
    prefix: PrefixOption = None,
    date: DateOption = None,
    rounded: RoundOption = None,
    numeric: Numerics = None,
    categorical: Categoricals = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=W",
            help="What a wholly generalized cell costs. Default: 1.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Range of a numeric column. Default: that of the table.",
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    missing: Missing = None,
    bins: Bins = None,
    top: Top = None,
    bottom: Bottom = None,
    order: Orders = None,
    show_columns: ShowColumns = False,
    loss: Annotated[
        str,
        typer.Option(
            help="What is made small: ncp, taxonomy, range, ncp-printed, arx-loss or one-hot.",
            rich_help_panel=HOW,
        ),
    ] = "ncp",
    method: Annotated[
        str | None,
        typer.Option(
            help=f"One of {', '.join(sorted(METHODS.proven))}; `optimal` must be proved. Default: several in turn.",
            rich_help_panel=HOW,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop the search then.", rich_help_panel=HOW),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Relative gap to prove, or status 4.", rich_help_panel=HOW),
    ] = None,
    threads: Annotated[
        int, typer.Option(help="Threads of the search.", max=1_024, rich_help_panel=HOW)
    ] = 1,
    effort: Annotated[
        str | None,
        typer.Option(
            metavar="fast|strong",
            help="How much is tried. Default: strong up to 200,000 rows. Without a time limit, fast ends by itself.",
            rich_help_panel=HOW,
        ),
    ] = None,
    memory: Memory = None,
    scheduler: Scheduler = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="CSV or Parquet file to write; with --memory or --scheduler, a folder of parts or such a file.",
        ),
    ] = None,
    report: Report = None,
    curator_report: Annotated[
        str | None,
        typer.Option(
            "--curator-report",
            metavar="FILE",
            help="HTML page for the curator alone: risk before and after, what became of columns, what was lost.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Generalize the cells of a table as little as possible, so that each equivalence class has k rows or more.

    Each column needs a role: --quasi, --sensitive, --keep, --drop or --person. Dates are published as spans of the
    calendar, numbers as intervals. Rows are shuffled; sets are printed as sets. Beside it stands
    FILE.discreet.json, which holds the guarantee. What is printed here is computed from the original and is for the
    curator. k-anonymity is no differential privacy: the rows of a class may share a sensitive value, unless
    --l-diversity, --t-closeness, --alpha or --require forbids it.
    """
    kinds = Kinds(
        numeric or (),
        categorical or (),
        taxonomy or (),
        weight or (),
        bounds or (),
        show_columns,
        prefix or (),
        date or (),
        rounded or (),
    )
    options = AnonymizeOptions(
        k,
        quasi,
        sensitive or (),
        kinds,
        loss,
        method,
        time_limit,
        gap,
        suppress,
        keep_suppressed,
        threads,
        effort,
        memory,
        scheduler,
        (
            *demanded(sensitive, distinct=l_diversity, closeness=t_closeness, alpha=alpha),
            *with_orders(require or (), order or ()),
        ),
        person,
        keep or (),
        drop or (),
        unassigned,
        population,
        k_map,
        ReadingOptions.of(
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            sheet=sheet,
            missing=missing or (),
        ),
        Recoding.of(bins=bins or (), top=top or (), bottom=bottom or ()),
    )
    return _run(
        table, options, ResultFiles(output, report, as_json, quiet, curator_report, verbose)
    )


def _refuse_options_of_files(options: AnonymizeOptions) -> None:
    """Refuse options of reading and recoding for a table in pieces, which is read as it stands."""
    if options.reading != ReadingOptions() or options.recoding.columns:
        option = "--memory" if options.memory is not None else "--scheduler"
        expected = "a table as it stands, without options of reading and recoding"
        raise InvalidProblemError(option, expected, "one of these")


def _look(path: str) -> None:
    """See whether a file may hold a table; a folder takes an option more."""
    if Path(path).is_dir() and not is_hive_folder(path):
        expected = "a file; a folder of parts takes --memory as well, such as --memory 4GB"
        raise InvalidProblemError("TABLE", expected, f"{path}, which is a folder")


def _run(path: str, options: AnonymizeOptions, files: ResultFiles) -> Status:
    """Anonymize a file, and return the exit status."""
    from discreet.artefact import save_anonymous
    from discreet.core.jit import compiling
    from discreet.kanonymity import anonymize
    from discreet.kanonymity.candidate import SearchInterrupted

    guarantee = KAnonymity(options.k, tuple(names_of(options.quasi)))
    method = METHODS.resolve(options.method, field="--method", optional=True)
    if options.memory is not None or options.scheduler is not None:
        _refuse_options_of_files(options)
        return run_large(path, guarantee, options, files)
    _look(path)
    outputs = {
        "--output": files.output,
        "--report": files.report,
        "--curator-report": files.curator,
    }
    check_outputs(outputs, path, options.population, *options.kinds.read)
    check_table_names({"--output": files.output})
    table, notices = _recognized(path, options, guarantee, quiet=files.quiet)
    _check_rows(table, options)
    models = _models(table, options, guarantee)
    roles = _roles(table, options)
    whole, table = table, table.drop(roles.drop)
    refuse_unclear(table, unstated(guarantee.quasi_identifiers, options.kinds), "--quasi")
    attributes = attributes_of(table, guarantee.quasi_identifiers, options.kinds)
    _check_others(table, {"--sensitive": names_of(options.sensitive)}, options, guarantee)
    # A column of persons is not published, and the quasi-identifiers are as text.
    other = (*guarantee.quasi_identifiers, options.person or "")
    refuse_unwritable(table.lazy(), other, files.output, "--output")
    typed = {*names_of(options.keep), *names_of(options.sensitive)}
    show = options.kinds.show_columns
    warn_of_kept(table, roles, typed, show=show, quiet=files.quiet)
    status = Status.DONE
    try:
        with compiling(lambda: warn(COMPILING, quiet=files.quiet)):
            made: Anonymization[pl.DataFrame, AnonymizationDiagnostics] = anonymize(
                table,
                guarantee,
                attributes=attributes,
                loss=options.loss,
                method=method,
                time_limit=options.time_limit,
                gap=options.gap,
                suppress=options.suppress,
                keep_suppressed=options.keep_suppressed,
                models=models,
                person=options.person,
                population=_people(options),
                k_map=options.k_map,
                sensitive=roles.sensitive,
                keep=roles.keep,
                effort=options.effort,
                threads=options.threads,
                on_progress=_progress(quiet=files.quiet),
                throw=False,
            )
    except SearchInterrupted as interrupt:
        if interrupt.best is None:
            warn("interrupted before anything was found; nothing was written")
            return Status.INTERRUPTED
        made, status = interrupt.best, Status.INTERRUPTED
    made = _stated(made, options, notices)
    if files.output is None:
        warn("nothing was written: no --output", quiet=files.quiet)
    else:
        save_anonymous(made, files.output, attributes)
        _save_key(made, files.output, options.person, quiet=files.quiet)
    write_pages(made, whole, roles, attributes, files)
    data, text = told(made, loss=options.loss, output=files.output)
    emit(
        data,
        text,
        as_json=files.as_json,
        command="anonymize",
        certificate=made.certificate,
        verbose=files.verbose,
    )
    missed = options.method == "optimal" and not made.diagnostics.optimal
    missed |= options.gap is not None and made.diagnostics.gap > options.gap
    if missed and status is Status.DONE:
        warn("the target was missed; what was found is written", quiet=files.quiet)
        return Status.TARGET_MISSED
    return status


def _table(path: str, argument: str, options: AnonymizeOptions) -> pl.DataFrame:
    """Read a table and recode it as the options state."""
    show = options.kinds.show_columns
    table = read_rows(path, argument, options=options.reading, show_columns=show)
    recoded: pl.DataFrame = recode(table, options.recoding, argument)
    return recoded


def _save_key(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    output: str,
    person: str | None,
    *,
    quiet: bool,
) -> None:
    """Write the key by which the curator verifies that classes have k persons."""
    from discreet.artefact.anonymous import save_persons

    if person is not None:
        key = save_persons(output, person, made.diagnostics.persons)
        warn(f"{key} is private: by it, `discreet verify --person` counts persons", quiet=quiet)


def _recorded(options: AnonymizeOptions) -> dict[str, Any]:
    """State for the record how the original was read and recoded."""
    return {"reading": options.reading.to_dict(), "recoding": options.recoding.to_dict()}


def _recognized(
    path: str, options: AnonymizeOptions, guarantee: KAnonymity, *, quiet: bool
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Read a table; return it and what the curator is told of missing values and of columns that name persons."""
    table: pl.DataFrame
    table, notices = recognize_missing(_table(path, "TABLE", options), guarantee.quasi_identifiers)
    notices += repeated_persons(table, options.person)
    for notice in notices:
        warn(notice, quiet=quiet)
    return table, tuple(notices)


def _stated(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    options: AnonymizeOptions,
    notices: tuple[str, ...],
) -> Anonymization[pl.DataFrame, AnonymizationDiagnostics]:
    """State in the record what was typed, and for the curator what was noticed."""
    stated = {**made.provenance.parameters, "method": options.method, "rows": "shuffled"}
    stated |= {name: record for name, record in _recorded(options).items() if record}
    if options.require:
        # As text that can be read back, so that the table is verified by it.
        stated["models"] = list(options.require)
    provenance = replace(made.provenance, parameters=stated)
    return replace(
        made, provenance=provenance, diagnostics=replace(made.diagnostics, notices=notices)
    )


def _people(options: AnonymizeOptions) -> pl.DataFrame | None:
    """Read the population; its columns are as public as it is."""
    if (options.population is None) != (options.k_map is None):
        lacking = "--k-map" if options.k_map is None else "--population"
        raise InvalidProblemError(lacking, "both --population and --k-map, or neither", "one")
    if options.population is None:
        return None
    people = _table(options.population, "--population", options)
    for name in names_of(options.quasi):
        if name not in people.columns:
            raise no_column("--population", name, people.columns)
    return people


def _check_rows(table: pl.DataFrame, options: AnonymizeOptions) -> None:
    if options.time_limit is None:
        expected = (
            f"{printed.count(MOST_ROWS)} rows or fewer at once; a larger table goes with --memory 4GB, or as far as it "
            "comes with --time-limit"
        )
        refuse_many(table.height, MOST_ROWS, "TABLE", expected)


def _check_others(
    table: pl.DataFrame,
    named: Mapping[str, Sequence[str]],
    options: AnonymizeOptions,
    guarantee: KAnonymity,
) -> None:
    """Refuse names, by their options, that are no columns or are quasi-identifiers."""
    for option, names in named.items():
        for name in names:
            if name in guarantee.quasi_identifiers:
                raise InvalidProblemError(option, "other columns than those of --quasi", repr(name))
            if name not in table.columns:
                raise no_column(option, name, table.columns, show=options.kinds.show_columns)


def _models(
    table: pl.DataFrame, options: AnonymizeOptions, guarantee: KAnonymity
) -> dict[str, list[PrivacyModel]]:
    """Read what each class must hold, and see that its columns are there."""
    models = read_models(options.require, field="--require")
    named = {"--require": list(models), "--person": [options.person] if options.person else []}
    _check_others(table, named, options, guarantee)
    return models


def _roles(table: pl.DataFrame, options: AnonymizeOptions) -> AssignedRoles:
    """Decide on the role of each column, or refuse."""
    return assign_roles(
        table.columns,
        given_roles(options),
        lambda name: look_of(table, name),
        options=True,
        show=options.kinds.show_columns,
    )


def _progress(*, quiet: bool) -> Callable[[Progress], None] | None:
    return steps(quiet=quiet)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EXAMPLES)(anonymize)
