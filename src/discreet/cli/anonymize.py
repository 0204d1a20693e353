"""``anonymize``: generalize a table as little as possible, so that each class has k rows or more."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.anonymizing import (
    AnonymizeOptions,
    RecodingSearchOptions,
    SuppressionOptions,
    emit_table_facts,
    write_pages,
)
from discreet.cli.calls import from_options
from discreet.cli.columns import attributes_of, taxonomy_files, unstated, warn_of_kept
from discreet.cli.files import check_outputs
from discreet.cli.large import run_large
from discreet.cli.output import Status, renamed_arguments, warn
from discreet.cli.progress import announcing_compilation, progress
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.models import read_models
from discreet.streaming.row_engine import refuse_in_pieces
from discreet.tables.cells import recognize_missing
from discreet.tables.columns import no_column, refuse_unclear
from discreet.tables.reading import read_labels, read_rows
from discreet.tables.recoding import recode, recorded
from discreet.tables.roles import assign_roles, look_of, repeated_persons
from discreet.tables.sizes import refuse_many
from discreet.tables.sources import is_hive_folder
from discreet.tables.validate import refuse_name, refuse_unwritable

if TYPE_CHECKING:
    import polars as pl

    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.anonymize import AnonymizationDiagnostics
    from discreet.kanonymity.models import PrivacyModel

_EXAMPLES = (
    (
        "discreet anonymize patients.csv -k 5 --quasi birthdate,gender,zip --sensitive disease --drop patient_id,name\n"
        "    --prefix zip -o out.csv --curator-report private.html"
    ),
    (
        "discreet anonymize patients.csv -k 5 --quasi age,sex,zip --sensitive disease --l-diversity 3 --alpha 0.5 "
        "-o out.csv"
    ),
    "discreet anonymize fars.csv -k 3 --quasi AGE,SEX,INJ_SEV,DRINKING --method optimal -o out.csv --json",
    "discreet anonymize big.parquet -k 50 --quasi age,education,sex --memory 4GB -o out/",
    "discreet verify out.csv --against patients.csv",
)


@from_options(
    AnonymizeOptions, examples=_EXAMPLES, first=("sensitive", "drop", "l_diversity", "output")
)
def anonymize(options: AnonymizeOptions) -> Status:
    """Generalize the cells of a table as little as possible, so that each equivalence class has k rows or more.

    Each column needs a role: --quasi, --sensitive, --keep, --drop or --person. Dates are published as spans of the
    calendar, numbers as intervals. Rows are shuffled; sets are printed as sets. Beside it stands
    FILE.discreet.json, which holds the guarantee. What is printed here is computed from the original and is for the
    curator. k-anonymity is no differential privacy: the rows of a class may share a sensitive value, unless
    --l-diversity, --t-closeness, --alpha or --require forbids it.
    """
    from discreet.artefact import save_anonymous
    from discreet.kanonymity import anonymize as anonymize_table
    from discreet.kanonymity.candidate import SearchInterrupted

    guarantee = KAnonymity(options.k, options.quasi)
    METHODS.resolve(options.method, field="--method", optional=True)
    if options.memory is not None or options.scheduler is not None:
        refuse_in_pieces(options.reading)
        return run_large(guarantee, options)
    quiet = options.quiet
    table, notices = _read_table(options)
    models = _read_models(table, options)
    roles = assign_roles(
        table.columns,
        options.roles,
        lambda name: look_of(table, name),
        options=True,
        show=options.show_columns,
    )
    published = table.drop(roles.drop)
    refuse_unclear(published, unstated(options.quasi, options), "--quasi")
    attributes = attributes_of(published, options.quasi, options)
    # A column of persons is not published, and the quasi-identifiers are as text.
    other = (*options.quasi, options.person or "")
    refuse_unwritable(published.lazy(), other, options.output, "--output")
    typed = {*options.keep, *options.sensitive}
    warn_of_kept(published, roles, typed, show=options.show_columns, quiet=quiet)
    labels = read_labels(options.table, options.reading)
    people = options.population and _read_recoded(options.population, "--population", options)
    status = Status.DONE
    try:
        with (
            announcing_compilation(quiet=quiet),
            progress(sys.stderr, quiet=quiet, start="anonymizing") as on_progress,
        ):
            made: Anonymization[pl.DataFrame, AnonymizationDiagnostics] = anonymize_table(
                published,
                guarantee,
                attributes=attributes,
                models=models,
                person=options.person,
                population=people,
                k_map=options.k_map,
                sensitive=roles.sensitive,
                keep=roles.keep,
                on_progress=on_progress,
                throw=False,
                **options.of(RecodingSearchOptions),
                **options.of(SuppressionOptions),
            )
    except SearchInterrupted as interrupt:
        if interrupt.best is None:
            warn("interrupted before anything was found; nothing was written")
            return Status.INTERRUPTED
        made, status = interrupt.best, Status.INTERRUPTED
    made = _stated(made, options, notices)
    if options.output is None:
        warn("nothing was written: no --output", quiet=quiet)
    else:
        with renamed_arguments({"path": "--output"}):
            save_anonymous(made, options.output, attributes, labels)
        _save_key(made, options.output, options)
    write_pages(made, table, roles, attributes, options)
    emit_table_facts(made, options)
    missed = options.method == "optimal" and not made.diagnostics.optimal
    missed |= options.gap is not None and made.diagnostics.gap > options.gap
    if missed and status is Status.DONE:
        warn("the target was missed; what was found is written", quiet=quiet)
        return Status.TARGET_MISSED
    return status


def _read_table(
    options: AnonymizeOptions, *, max_rows: int = 2_000_000
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Check the outputs, read and recode the table, and return it with notices for the curator, which are also printed.

    Notices are about missing values and columns that seem to name persons. InvalidProblemError for a folder without
    ``--memory``, outputs that cannot be written, and more than `max_rows` rows without a time limit.
    """
    path = options.table
    if Path(path).is_dir() and not is_hive_folder(path):
        expected = "a file; a folder of parts takes --memory as well, such as --memory 4GB"
        raise InvalidProblemError("TABLE", expected, f"{path}, which is a folder")
    outputs = {
        "--output": options.output,
        "--report": options.report,
        "--curator-report": options.curator_report,
    }
    check_outputs(outputs, path, options.population, *taxonomy_files(options))
    refuse_name(options.output, "--output")
    table: pl.DataFrame
    table, notices = recognize_missing(_read_recoded(path, "TABLE", options), options.quasi)
    notices += repeated_persons(table, options.person)
    for notice in notices:
        warn(notice, quiet=options.quiet)
    if options.time_limit is None:
        expected = (
            f"{printed.count(max_rows)} rows or fewer at once; a larger table needs --memory 4GB, or a "
            "--time-limit, at which the search ends"
        )
        refuse_many(table.height, max_rows, "TABLE", expected)
    return table, tuple(notices)


def _read_recoded(path: str, argument: str, options: AnonymizeOptions) -> pl.DataFrame:
    """Read the table at `path` into memory and recode it as the options state; refusals name `argument`."""
    table = read_rows(path, argument, options=options.reading, show_columns=options.show_columns)
    recoded: pl.DataFrame = recode(table, options.recoding, argument)
    return recoded


def _stated(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    options: AnonymizeOptions,
    notices: tuple[str, ...],
) -> Anonymization[pl.DataFrame, AnonymizationDiagnostics]:
    """Return the anonymization with the typed options in its record, and the notices in the curator's diagnostics.

    `made` is what was found; `notices` are sentences about the columns. Nothing is read.
    """
    stated = {**made.provenance.parameters, "method": options.method}
    stated |= recorded(options.reading, options.recoding)
    if options.demands:
        # As typed, which can be read back.
        stated["models"] = list(options.demands)
    provenance = replace(made.provenance, parameters=stated)
    return replace(
        made, provenance=provenance, diagnostics=replace(made.diagnostics, notices=notices)
    )


def _save_key(
    made: Anonymization[pl.DataFrame, AnonymizationDiagnostics],
    output: str,
    options: AnonymizeOptions,
) -> None:
    """Write the key by which the curator verifies that classes have k persons beside the output; print its path.

    Nothing happens without ``--person``.

    The file holds the number of the person of each row, in the order of the published rows, and is private.
    """
    from discreet.artefact.anonymous import save_persons

    if options.person is not None:
        key = save_persons(output, options.person, made.diagnostics.persons)
        note = f"{key} is private: by it, `discreet verify --person` counts persons"
        warn(note, quiet=options.quiet)


def _read_models(table: pl.DataFrame, options: AnonymizeOptions) -> dict[str, list[PrivacyModel]]:
    """Return the privacy models that each class must meet, lists by sensitive column, as ``--require`` states them.

    InvalidProblemError for a column that is not in the table or is a quasi-identifier, for ``--person`` too.
    """
    models = read_models(options.demands, field="--require")
    named = [("--require", name) for name in models]
    if options.person:
        named.append(("--person", options.person))
    for option, name in named:
        if name in options.quasi:
            raise InvalidProblemError(option, "other columns than those of --quasi", repr(name))
        if name not in table.columns:
            raise no_column(option, name, table.columns, show=options.show_columns)
    return models
