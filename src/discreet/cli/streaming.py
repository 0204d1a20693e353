"""``anonymize --stream``: a table that need not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.cli.microdata import attributes_of, refuse_prose
from discreet.cli.output import Status, emit, facts, warn
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_floor
from discreet.core.guarantee import KAnonymity
from discreet.tables.dialect import look, why_unreadable
from discreet.tables.parsing import reader_errors, scan
from discreet.tables.sizes import refuse_killers
from discreet.tables.validate import refuse_nested, refuse_times, refuse_unwritable

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from discreet.artefact.streams import FileDiagnostics
    from discreet.cli.microdata import Kinds
    from discreet.core.guarantee import KAnonymity
    from discreet.core.outcome import Anonymization
    from discreet.kanonymity.candidate import Method
    from discreet.tables.roles import Given

__all__ = ["COMPILING", "PRIVATE", "run_stream"]

COMPILING = "compiling, first run only"

PRIVATE = "computed from the original: for the curator, not for publication"


_SEEN = 20_000
"""Rows by which free text is recognized."""


class _Columns:
    """The different values of a file's columns, each read when it is asked for."""

    def __init__(self, path: str, separator: str) -> None:
        self.lazy = scan(path, separator)
        self.columns = self.lazy.collect_schema().names()

    def head(self) -> pl.DataFrame:
        """Give the first rows."""
        return self.lazy.head(_SEEN).collect()

    def __getitem__(self, name: str) -> pl.Series:
        import polars as pl

        return self.lazy.select(pl.col(name).unique()).collect(engine="streaming")[name]


def run_stream(
    path: str,
    guarantee: KAnonymity,
    kinds: Kinds,
    *,
    output: str,
    loss: str,
    method: Method | None,
    effort: str | None,
    time_limit: float | None,
    threads: int,
    given: Given,
    as_json: bool,
    quiet: bool,
) -> Status:
    """Anonymize a file in two passes over its rows, and return the exit status."""
    from discreet.kanonymity.candidate import SearchInterrupted

    mark = look(path, "TABLE")
    status = Status.DONE
    refuse_killers(path, mark, "TABLE", whole=False)
    try:
        made = _made(
            path,
            mark,
            guarantee,
            kinds,
            output=output,
            loss=loss,
            method=method,
            effort=effort,
            time_limit=time_limit,
            threads=threads,
            given=given,
            quiet=quiet,
        )
    except SearchInterrupted as interrupt:
        made, status = interrupt.best, Status.INTERRUPTED
    except InvalidProblemError as error:
        # Rows are counted off once, where the file is anonymized.
        raise why_unreadable(path, mark, "TABLE") if error.field == "source" else error from None
    except reader_errors():
        # What the reader says may quote a row.
        raise why_unreadable(path, mark, "TABLE") from None
    found = made.diagnostics
    data: dict[str, Any] = {
        "information_loss": found.information_loss,
        "mean_loss": found.mean_loss,
        "lower": found.lower,
        "gap": found.gap,
        "optimal": found.gap == 0,
        "classes": found.classes,
        "smallest_class": found.smallest_class,
        "suppressed": 0,
        "rows": found.rows,
        "method": found.method,
        "seconds": found.search_seconds,
        "seconds_after": found.seconds - found.search_seconds,
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
            (
                "information loss",
                f"{found.information_loss:.6g} ({loss}), at least {text_floor(found.lower)}",
            ),
            ("mean loss", f"{found.mean_loss:.4f} of a cell"),
            ("classes", f"{found.classes}, the smallest of {found.smallest_class} rows"),
            ("rows", f"{found.rows} written, order shuffled"),
            (
                "method",
                f"{found.method}, {found.search_seconds:.1f} s; with reading and writing {found.seconds:.1f} s",
            ),
            ("private", PRIVATE),
        ]
    )
    emit(
        data,
        f"{text}\n\n{made.certificate.sentence}\n\n{made.certificate}",
        as_json=as_json,
        command="anonymize",
    )
    return status


def _made(
    path: str,
    mark: str,
    guarantee: KAnonymity,
    kinds: Kinds,
    *,
    output: str,
    loss: str,
    method: Method | None,
    effort: str | None,
    time_limit: float | None,
    threads: int,
    given: Given,
    quiet: bool,
) -> Anonymization[Path, FileDiagnostics]:
    from discreet.artefact import anonymize_file
    from discreet.artefact.streams import file_roles
    from discreet.core.jit import compiling

    columns = _Columns(path, mark)
    head = columns.head()
    if not head.height:
        raise InvalidProblemError("TABLE", "a table with rows", f"{path} without any")
    refuse_nested(head, "TABLE", show_columns=kinds.show_columns)
    refuse_times(columns.lazy, "TABLE")
    roles = file_roles(columns.lazy, given, options=True, show=kinds.show_columns)
    refuse_unwritable(
        columns.lazy.drop(roles.drop), guarantee.quasi_identifiers, output, "--output"
    )
    refuse_prose(head, guarantee.quasi_identifiers, kinds)
    attributes = attributes_of(columns, guarantee.quasi_identifiers, kinds)
    told = compiling(lambda: warn(COMPILING, quiet=quiet))
    with told:
        return anonymize_file(
            path,
            output,
            guarantee,
            attributes=attributes,
            loss=loss,
            method=method,
            effort=effort,
            threads=threads,
            time_limit=time_limit,
            separator=mark or ",",
            sensitive=roles.sensitive,
            keep=roles.keep,
            drop=roles.drop,
            on_progress=lambda sentence: warn(sentence, quiet=quiet),
        )
