"""``anonymize --memory`` and ``--scheduler``: tables larger than memory, or than one machine, from folder to folder."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.anonymizing import SuppressionOptions, emit_facts
from discreet.cli.columns import attributes_of, taxonomy_files, unstated
from discreet.cli.files import check_outputs, check_table_names
from discreet.cli.output import Status, warn
from discreet.cli.progress import announcing_compilation, progress
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.core.options import relative_gap
from discreet.core.outcome import FOR_THE_CURATOR
from discreet.kanonymity.models import read_models
from discreet.kanonymity.risk import homogeneity_in_words, homogeneous_dict
from discreet.streaming.row_engine import bytes_in
from discreet.tables.columns import refuse_unclear
from discreet.tables.dialect import SUFFIXES, look, why_unreadable
from discreet.tables.parsing import reader_errors
from discreet.tables.recoding import CellRules
from discreet.tables.roles import roles_of_scan
from discreet.tables.sizes import refuse_killers
from discreet.tables.validate import refuse_nested, refuse_times, refuse_unwritable
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from discreet.cli.anonymizing import AnonymizeOptions
    from discreet.core.guarantee import KAnonymity
    from discreet.core.outcome import Anonymization
    from discreet.core.progress import Progress
    from discreet.streaming import FileDiagnostics
    from discreet.streaming.pieces import Piece


class _Columns:
    """The different values of a table's columns; a column is read by ``columns[name]``, and no other one with it."""

    def __init__(self, lazy: pl.LazyFrame) -> None:
        self.lazy = lazy
        self.columns = lazy.collect_schema().names()

    def __getitem__(self, name: str) -> pl.Series:
        import polars as pl

        return self.lazy.select(pl.col(name).unique()).collect(engine="streaming")[name]


def run_large(guarantee: KAnonymity, options: AnonymizeOptions) -> Status:
    """Anonymize files, into a folder of parts or a file, print the facts, and return the exit status.

    InvalidProblemError for options that need the table in memory. A few passes over the files; TARGET_MISSED if a gap
    was asked for and not reached.
    """
    from discreet.streaming.engines import connected

    path, output = options.table, _check_options(options)
    client: Any = None
    memory = None if options.memory is None else bytes_in(options.memory, "--memory")
    if options.scheduler is not None:
        client = connected(options.scheduler, "--scheduler")
    try:
        with (
            announcing_compilation(quiet=options.quiet),
            _named(path),
            progress(sys.stderr, quiet=options.quiet, start="anonymizing") as on_progress,
        ):
            made = _anonymize(
                guarantee, options, output, memory=memory, client=client, on_progress=on_progress
            )
    finally:
        if client is not None:
            client.close()
    measured = made.diagnostics
    counted = ("classes", "smallest_class", "rows", "parts", "subtrees")
    data = {
        "optimal": measured.gap == 0,
        **{name: getattr(measured, name) for name in counted},
        "homogeneous": homogeneous_dict(measured.homogeneous),
        "notes": list(measured.notes),
        "method": "top-down",
        "seconds": dict(measured.seconds),
    }
    bounds = printed.bounds(measured.lower, measured.information_loss)
    alike = homogeneity_in_words(measured.rows, measured.homogeneous)
    # A table in files is never claimed to be optimal.
    rows = [
        ("information loss", f"{bounds} ({options.loss})"),
        ("where the bound is that", made.bound_in_words()),
        ("mean loss", f"{printed.at_most(measured.mean_loss, 4)} of a cell"),
        ("classes", f"{measured.classes}, the smallest of {measured.smallest_class} rows"),
        ("rows", f"{measured.rows} kept, {measured.suppressed} suppressed, order shuffled"),
        *(("one value in a class", words) for words in alike),
        ("method", f"top-down, {printed.seconds(measured.seconds['all'])} in all"),
        *(("lower bound", note) for note in measured.notes),
        ("private", FOR_THE_CURATOR),
    ]
    emit_facts(made, options, data, rows)
    if options.gap is not None and measured.gap > options.gap:
        warn("the target was missed; what was found is written", quiet=options.quiet)
        return Status.TARGET_MISSED
    return Status.DONE


def _check_options(options: AnonymizeOptions) -> str:
    """Return the path of the output, after all checks.

    InvalidProblemError for options that need the table in memory, or a file that cannot be written.
    """
    path, output = options.table, options.output
    option = "--memory" if options.scheduler is None else "--scheduler"
    if output is None:
        raise InvalidProblemError("--output", f"a folder or file to write, with {option}", "none")
    if not Path(path).exists():
        raise InvalidProblemError("TABLE", "a file or a folder", f"{path}, which is not there")
    compared = "the people are compared with all classes in memory"
    options.refuse(("population", "k_map"), f"none with {option}, since {compared}", "one")
    page = "the page is made from the table in memory"
    options.refuse(("report", "curator_report"), f"none with {option}, since {page}", "one")
    if options.method not in (None, "top-down"):
        expected = f"top-down, with {option}: other methods need all rows in memory"
        raise InvalidProblemError("--method", expected, repr(options.method))
    relative_gap(options.gap)
    if Path(output).suffix.lower() in {*SUFFIXES, *WRITABLE}:
        source = path if Path(path).is_file() else None
        check_outputs({"--output": output}, source, *taxonomy_files(options))
        check_table_names({"--output": output})
    return output


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Rename arguments of the library in errors, and replace errors of a reader, which may quote a row of `path`.

    In errors of the library "source" becomes TABLE and "target" ``--output``; a file that cannot be read is looked at
    again for the reason. All errors are InvalidProblemError.
    """
    try:
        yield
    except InvalidProblemError as error:
        unread = error.field == "source" and error.code not in {"rows-none", "column-unknown"}
        if unread and Path(path).is_file():
            raise why_unreadable(path, look(path, "TABLE"), "TABLE") from None
        arguments = {"source": "TABLE", "target": "--output"}
        raise error.renamed(arguments.get(error.field, error.field)) from None
    except reader_errors():
        if Path(path).is_file():
            raise why_unreadable(path, look(path, "TABLE"), "TABLE") from None
        raise InvalidProblemError("TABLE", "files that can be read", path) from None


def _anonymize(
    guarantee: KAnonymity,
    options: AnonymizeOptions,
    output: str,
    *,
    memory: int | None,
    client: object,
    on_progress: Callable[[Progress], None] | None,
    max_files_tried: int = 16,
    head_rows: int = 20_000,
) -> Anonymization[Path, FileDiagnostics]:
    """Check the columns by the first `head_rows` and by scans, and anonymize piece by piece; return the outcome.

    `output` is a folder of parts or a file; `memory` is in bytes, None for no limit; `client` is a scheduler's, or
    None. A few passes over the files. InvalidProblemError for columns that are unclear or cannot be written.

    `guarantee` is k-anonymity; `on_progress` is called with each step. Each of up to `max_files_tried` files is first
    read once by a process of its own, which a bad file ends alone.
    """
    from discreet.artefact.folders import parts_of
    from discreet.streaming import anonymize_files
    from discreet.streaming.pieces import pieces_of, scan_pieces

    path = options.table
    parts = parts_of(path, "TABLE") if Path(path).is_dir() else (Path(path),)
    if len(parts) <= max_files_tried:
        for file in map(str, parts):
            refuse_killers(file, look(file, "TABLE"), "TABLE", whole=False)
    rules = CellRules(options.reading, options.recoding)
    pieces = pieces_of(path, "source", rules=rules)
    lazy = scan_pieces(pieces, "source")
    columns, head = _Columns(lazy), lazy.head(head_rows).collect()
    if not head.height:
        raise InvalidProblemError("TABLE", "a table with rows", f"{path} without rows")
    refuse_nested(head, "TABLE", show_columns=options.show_columns)
    refuse_times(lazy, "TABLE")
    roles = roles_of_scan(lazy, options.roles, options=True, show=options.show_columns)
    written = _written(output, pieces)
    refuse_unwritable(
        lazy.drop(roles.drop), (*options.quasi, roles.person or ""), written, "--output"
    )
    refuse_unclear(head, unstated(options.quasi, options), "--quasi")
    return anonymize_files(
        path,
        output,
        guarantee,
        attributes=attributes_of(columns, options.quasi, options),
        loss=options.loss,
        effort=options.effort or "fast",
        models=read_models(options.demands, field="--require"),
        person=roles.person,
        time_limit=options.time_limit,
        threads=options.threads,
        sensitive=roles.sensitive,
        keep=roles.keep,
        drop=roles.drop,
        memory=memory,
        executor=client,
        suffix=Path(written).suffix,
        rules=rules,
        on_progress=on_progress,
        **options.of(SuppressionOptions),
    )


def _written(output: str, pieces: Sequence[Piece]) -> str:
    """Return a file name with the ending of the output; parts of a folder have that of the parts that are read."""
    if Path(output).suffix.lower() in SUFFIXES:
        return output
    return "part.csv" if pieces[0].mark else "part.parquet"
