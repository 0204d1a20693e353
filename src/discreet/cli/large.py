"""``anonymize --memory`` and ``--scheduler``: tables larger than memory, or than one machine, from folder to folder."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.anonymizing import given_roles
from discreet.cli.microdata import attributes_of, refuse_prose
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.streaming import COMPILING, PRIVATE
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.models import read_models
from discreet.tables.parsing import reader_errors
from discreet.tables.sizes import refuse_killers
from discreet.tables.validate import refuse_nested, refuse_times, refuse_unwritable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from discreet.artefact.large import FolderDiagnostics
    from discreet.cli.anonymizing import AnonymizeOptions, ResultFiles
    from discreet.cli.microdata import Kinds
    from discreet.core.guarantee import KAnonymity
    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.models import PrivacyModel
    from discreet.tables.roles import Given

__all__ = ["run_large", "size_of"]

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*([KMGT])i?B?", re.IGNORECASE | re.ASCII)
_UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

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
}
"""What the library calls an argument, and what the command does."""


def size_of(text: str, option: str) -> int:
    """Read a size such as ``4GB``, in bytes.

    Examples
    --------
    >>> size_of("4GB", "--memory"), size_of("1.5g", "--memory")
    (4000000000, 1500000000)
    """
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise InvalidProblemError(option, "a size such as 4GB or 800MB", repr(text))
    return int(float(found[1]) * _UNITS[found[2].upper()])


class _Columns:
    """The different values of a table's columns, each read when it is asked for."""

    def __init__(self, lazy: pl.LazyFrame) -> None:
        self.lazy = lazy
        self.columns = lazy.collect_schema().names()

    def __getitem__(self, name: str) -> pl.Series:
        import polars as pl

        return self.lazy.select(pl.col(name).unique()).collect(engine="streaming")[name]


def run_large(
    path: str, guarantee: KAnonymity, options: AnonymizeOptions, files: ResultFiles
) -> Status:
    """Anonymize a file or a folder into a folder."""
    option = "--memory" if options.scheduler is None else "--scheduler"
    if files.output is None:
        raise InvalidProblemError("--output", f"a folder to write, with {option}", "none")
    if not Path(path).exists():
        raise InvalidProblemError("TABLE", "a file or a folder", f"{path}, which is not there")
    for given, refused in (
        (options.gap, "--gap"),
        (options.time_limit, "--time-limit"),
        (options.suppress or None, "--suppress"),
        (options.keep_suppressed or None, "--keep-suppressed"),
        (options.stream or None, "--stream"),
        (options.population, "--population"),
        (options.k_map, "--k-map"),
        (files.report, "--report"),
        (files.curator, "--curator-report"),
    ):
        if given is not None:
            raise InvalidProblemError(refused, f"none with {option}", "one")
    if options.method not in (None, "top-down"):
        raise InvalidProblemError("--method", f"top-down, with {option}", repr(options.method))
    from discreet.artefact.large_engines import connected
    from discreet.core.jit import compiling

    client: Any = None
    memory = None if options.memory is None else size_of(options.memory, "--memory")
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
                memory=memory,
                client=client,
                given=given_roles(options),
                quiet=files.quiet,
            )
    finally:
        if client is not None:
            client.close()
    _tell(made, guarantee, options.loss, files.output, as_json=files.as_json)
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
        raise InvalidProblemError(field, error.expected, error.got) from None
    except reader_errors():
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
    memory: int | None,
    client: object,
    given: Given,
    quiet: bool,
) -> Anonymization[Path, FolderDiagnostics]:
    from discreet.artefact.large import anonymize_folder, pieces_of, scan_pieces
    from discreet.artefact.streams import file_roles

    pieces = pieces_of(path, "TABLE")
    marks = {piece.path: piece.mark for piece in pieces}
    if len(marks) <= _TRIED:
        for file, mark in marks.items():
            refuse_killers(file, mark, "TABLE", whole=False)
    lazy = scan_pieces(pieces, "TABLE")
    columns, head = _Columns(lazy), lazy.head(_SEEN).collect()
    if not head.height:
        raise InvalidProblemError("TABLE", "a table with rows", f"{path} without any")
    refuse_nested(head, "TABLE", show_columns=kinds.show_columns)
    refuse_times(lazy, "TABLE")
    roles = file_roles(lazy, given, options=True, show=kinds.show_columns)
    names = guarantee.quasi_identifiers
    refuse_unwritable(
        lazy.drop(roles.drop), (*names, roles.person or ""), "out.parquet", "--output"
    )
    refuse_prose(head, names, kinds)
    return anonymize_folder(
        path,
        output,
        guarantee,
        attributes=attributes_of(columns, names, kinds),
        loss=loss,
        effort=effort or "fast",
        models=models,
        person=roles.person,
        sensitive=roles.sensitive,
        keep=roles.keep,
        drop=roles.drop,
        memory=memory,
        executor=client,
        on_progress=lambda sentence: warn(sentence, quiet=quiet),
    )


def _tell(
    made: Anonymization[Path, FolderDiagnostics],
    guarantee: KAnonymity,
    loss: str,
    output: str,
    *,
    as_json: bool,
) -> None:
    found = made.diagnostics
    data: dict[str, Any] = {
        "information_loss": found.information_loss,
        "mean_loss": found.mean_loss,
        "classes": found.classes,
        "smallest_class": found.smallest_class,
        "suppressed": 0,
        "rows": found.rows,
        "parts": found.parts,
        "subtrees": found.subtrees,
        "method": "top-down",
        "seconds": dict(found.seconds),
        "loss": loss,
        "private": PRIVATE,
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": output,
    }
    text = facts(
        [
            ("guarantee", guarantee),
            ("information loss", f"{found.information_loss:.6g} ({loss})"),
            ("mean loss", f"{found.mean_loss:.4f} of a cell"),
            ("classes", f"{found.classes}, the smallest of {found.smallest_class} rows"),
            ("rows", f"{found.rows} written in {found.parts} parts, order shuffled"),
            ("method", f"top-down, {found.seconds['all']:.1f} s with reading and writing"),
            ("private", PRIVATE),
        ]
    )
    sentence = made.certificate.sentence
    emit(data, f"{text}\n\n{sentence}\n\n{made.certificate}", as_json=as_json, command="anonymize")
