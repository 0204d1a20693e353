"""``anonymize --memory`` and ``--scheduler``: tables larger than memory, or than one machine, from folder to folder."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.anonymizing import COMPILING, given_roles
from discreet.cli.files import check_outputs, check_table_names
from discreet.cli.microdata import attributes_of, unstated
from discreet.cli.output import Status, emit, facts, warn
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
from discreet.tables.roles import roles_of_scan
from discreet.tables.sizes import refuse_killers
from discreet.tables.validate import refuse_nested, refuse_times, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from discreet.cli.anonymizing import AnonymizeOptions, ResultFiles
    from discreet.cli.microdata import Kinds
    from discreet.core.guarantee import KAnonymity
    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.models import PrivacyModel
    from discreet.streaming import FileDiagnostics
    from discreet.streaming.pieces import Piece
    from discreet.tables.roles import Given

__all__ = ["run_large"]

_SEEN = 20_000
"""Rows by which free text is recognized."""

_TRIED = 16
"""Files of a folder up to which each is read once by a process of its own, which a bad file ends alone."""

_FIELDS = {
    "source": "TABLE",
    "target": "--output",
    "memory": "--memory",
    "scheduler": "--scheduler",
    "effort": "--effort",
    "suppress": "--suppress",
    "time_limit": "--time-limit",
    "threads": "--threads",
}
"""What the library calls an argument, and what the command does."""


class _Columns:
    """The different values of a table's columns; a column is read by ``columns[name]``, and no other one with it."""

    def __init__(self, lazy: pl.LazyFrame) -> None:
        self.lazy = lazy
        self.columns = lazy.collect_schema().names()

    def __getitem__(self, name: str) -> pl.Series:
        import polars as pl

        return self.lazy.select(pl.col(name).unique()).collect(engine="streaming")[name]


def run_large(
    path: str, guarantee: KAnonymity, options: AnonymizeOptions, files: ResultFiles
) -> Status:
    """Anonymize files, into a folder of parts or a file."""
    option = "--memory" if options.scheduler is None else "--scheduler"
    if files.output is None:
        raise InvalidProblemError("--output", f"a folder or file to write, with {option}", "none")
    if not Path(path).exists():
        raise InvalidProblemError("TABLE", "a file or a folder", f"{path}, which is not there")
    for given, refused, reason in (
        (options.population, "--population", "the people are compared with all classes in memory"),
        (options.k_map, "--k-map", "the people are compared with all classes in memory"),
        (files.report, "--report", "the page is made from the table in memory"),
        (files.curator, "--curator-report", "the page is made from the table in memory"),
    ):
        if given is not None:
            raise InvalidProblemError(refused, f"none with {option}, since {reason}", "one")
    if options.method not in (None, "top-down"):
        expected = f"top-down, with {option}: other methods need all rows in memory"
        raise InvalidProblemError("--method", expected, repr(options.method))
    relative_gap(options.gap)
    if Path(files.output).suffix.lower() in SUFFIXES:
        source = path if Path(path).is_file() else None
        check_outputs({"--output": files.output}, source, *options.kinds.read)
        check_table_names({"--output": files.output})
    from discreet.core.jit import compiling
    from discreet.streaming.engines import connected

    client: Any = None
    memory = None if options.memory is None else bytes_in(options.memory, "--memory")
    if options.scheduler is not None:
        client = connected(options.scheduler, "--scheduler")
    try:
        with compiling(lambda: warn(COMPILING, quiet=files.quiet)), _named(path):
            made = _made(
                path,
                guarantee,
                options.kinds,
                output=files.output,
                loss=options.loss,
                effort=options.effort,
                models=read_models(options.require, field="--require"),
                suppress=options.suppress,
                keep_suppressed=options.keep_suppressed,
                time_limit=options.time_limit,
                threads=options.threads,
                memory=memory,
                client=client,
                given=given_roles(options),
                quiet=files.quiet,
            )
    finally:
        if client is not None:
            client.close()
    _tell(made, guarantee, options.loss, files.output, as_json=files.as_json, verbose=files.verbose)
    if options.gap is not None and made.diagnostics.gap > options.gap:
        warn("the target was missed; what was found is written", quiet=files.quiet)
        return Status.TARGET_MISSED
    return Status.DONE


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name arguments as the command does; what a reader says may quote a row."""
    try:
        yield
    except InvalidProblemError as error:
        field = _FIELDS.get(error.field)
        if field is None:
            raise
        unread = error.field == "source" and error.code != "rows-none"
        if unread and Path(path).is_file():
            raise why_unreadable(path, look(path, "TABLE"), "TABLE") from None
        raise error.renamed(field) from None
    except reader_errors():
        if Path(path).is_file():
            raise why_unreadable(path, look(path, "TABLE"), "TABLE") from None
        raise InvalidProblemError("TABLE", "files that can be read", path) from None


def _made(
    path: str,
    guarantee: KAnonymity,
    kinds: Kinds,
    *,
    output: str,
    loss: str,
    effort: str | None,
    models: Mapping[str, Sequence[PrivacyModel]],
    suppress: float,
    keep_suppressed: bool,
    time_limit: float | None,
    threads: int,
    memory: int | None,
    client: object,
    given: Given,
    quiet: bool,
) -> Anonymization[Path, FileDiagnostics]:
    from discreet.artefact.folders import parts_of
    from discreet.streaming import anonymize_files
    from discreet.streaming.pieces import pieces_of, scan_pieces

    found = parts_of(path, "TABLE") if Path(path).is_dir() else (Path(path),)
    if len(found) <= _TRIED:
        for file in map(str, found):
            refuse_killers(file, look(file, "TABLE"), "TABLE", whole=False)
    pieces = pieces_of(path, "source")
    lazy = scan_pieces(pieces, "source")
    columns, head = _Columns(lazy), lazy.head(_SEEN).collect()
    if not head.height:
        raise InvalidProblemError("TABLE", "a table with rows", f"{path} without any")
    refuse_nested(head, "TABLE", show_columns=kinds.show_columns)
    refuse_times(lazy, "TABLE")
    roles = roles_of_scan(lazy, given, options=True, show=kinds.show_columns)
    names = guarantee.quasi_identifiers
    refuse_unwritable(
        lazy.drop(roles.drop), (*names, roles.person or ""), _written(output, pieces), "--output"
    )
    refuse_unclear(head, unstated(names, kinds), "--quasi")
    return anonymize_files(
        path,
        output,
        guarantee,
        attributes=attributes_of(columns, names, kinds),
        loss=loss,
        effort=effort or "fast",
        models=models,
        person=roles.person,
        suppress=suppress,
        keep_suppressed=keep_suppressed,
        time_limit=time_limit,
        threads=threads,
        sensitive=roles.sensitive,
        keep=roles.keep,
        drop=roles.drop,
        memory=memory,
        executor=client,
        suffix=Path(_written(output, pieces)).suffix,
        on_progress=lambda sentence: warn(sentence, quiet=quiet),
    )


def _written(output: str, pieces: Sequence[Piece]) -> str:
    """Name a file of the kind that is written: parts of a folder are as those that are read."""
    if Path(output).suffix.lower() in SUFFIXES:
        return output
    return "part.csv" if pieces[0].mark else "part.parquet"


def _tell(
    made: Anonymization[Path, FileDiagnostics],
    guarantee: KAnonymity,
    loss: str,
    output: str,
    *,
    as_json: bool,
    verbose: bool,
) -> None:
    found = made.diagnostics
    alike = homogeneity_in_words(found.rows, found.homogeneous)
    data: dict[str, Any] = {
        "information_loss": found.information_loss,
        "mean_loss": found.mean_loss,
        "lower": found.lower,
        "gap": found.gap,
        "optimal": found.gap == 0,
        "classes": found.classes,
        "smallest_class": found.smallest_class,
        "suppressed": found.suppressed,
        "rows": found.rows,
        "homogeneous": homogeneous_dict(found.homogeneous),
        "parts": found.parts,
        "subtrees": found.subtrees,
        "method": "top-down",
        "seconds": dict(found.seconds),
        "loss": loss,
        "private": FOR_THE_CURATOR,
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": output,
    }
    text = facts(
        [
            ("guarantee", guarantee),
            ("information loss", f"{printed.bounds(found.lower, found.information_loss)} ({loss})"),
            ("where the bound is that", made.bound_in_words()),
            ("mean loss", f"{printed.at_most(found.mean_loss, 4)} of a cell"),
            ("classes", f"{found.classes}, the smallest of {found.smallest_class} rows"),
            ("rows", f"{found.rows} written, {found.suppressed} suppressed, order shuffled"),
            *(("one value in a class", words) for words in alike),
            ("method", f"top-down, {printed.seconds(found.seconds['all'])} in all"),
            ("private", FOR_THE_CURATOR),
        ]
    )
    emit(
        data,
        text,
        as_json=as_json,
        command="anonymize",
        certificate=made.certificate,
        verbose=verbose,
    )
