"""``anonymize --stream``: a table that need not fit into memory."""

from __future__ import annotations

import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from discreet.cli.microdata import attributes_of, names_of, refuse_nested, refuse_prose
from discreet.cli.output import Status, emit, facts, warn
from discreet.cli.table_files import look, why_unreadable
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import text_floor
from discreet.core.guarantee import KAnonymity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Executor
    from contextlib import AbstractContextManager
    from pathlib import Path

    import polars as pl

    from discreet.artefact._streams import FileDiagnostics
    from discreet.cli.curating import Asked, Curated
    from discreet.core.outcome import Anonymization

__all__ = ["run_stream"]


_SEEN = 20_000
"""Rows by which free text is recognized."""


class _Columns:
    """The different values of a file's columns, each read when it is asked for."""

    def __init__(self, path: str, separator: str) -> None:
        import polars as pl

        self._lazy = (
            pl.scan_csv(path, separator=separator, infer_schema=False, glob=False)
            if separator
            else pl.scan_parquet(path, glob=False)
        )
        self.columns = self._lazy.collect_schema().names()

    def head(self) -> pl.DataFrame:
        """Give the first rows."""
        return self._lazy.head(_SEEN).collect()

    def __getitem__(self, name: str) -> pl.Series:
        import polars as pl

        return self._lazy.select(pl.col(name).unique()).collect(engine="streaming")[name]


def run_stream(path: str, asked: Asked, curated: Curated, *, private: str) -> Status:
    """Anonymize a file part by part, and return the exit status."""
    import polars as pl

    if curated.output is None:
        raise InvalidProblemError("--output", "a file to write, with --stream", "none")
    for given, option in (
        (asked.gap, "--gap"),
        (asked.suppress or None, "--suppress"),
        (asked.keep_suppressed or None, "--keep-suppressed"),
        (asked.require or None, "--require"),
        (asked.person, "--person"),
        (asked.sensitive or None, "--sensitive"),
        (curated.report, "--report"),
    ):
        if given is not None:
            raise InvalidProblemError(option, "none with --stream", "one")
    if asked.method == "optimal":
        raise InvalidProblemError("--method", "a method for parts, with --stream", "'optimal'")
    guarantee = KAnonymity(asked.k, tuple(names_of(asked.quasi)))
    mark = look(path, "TABLE")
    try:
        made = _made(path, mark, asked, curated, guarantee)
    except InvalidProblemError as error:
        # Rows are counted off once, where the file is anonymized.
        raise why_unreadable(path, mark, "TABLE") if error.field == "source" else error from None
    except pl.exceptions.PolarsError:
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
        "method": "parts",
        "seconds": found.seconds,
        "loss": asked.loss,
        "private": private,
        "guarantee": {**guarantee.to_dict(), "sentence": str(guarantee)},
        "certificate": made.certificate.to_dict(),
        "order": "shuffled",
        "output": curated.output,
    }
    text = facts(
        [
            ("guarantee", guarantee),
            (
                "information loss",
                f"{found.information_loss:.6g} ({asked.loss}), at least {text_floor(found.lower)}",
            ),
            ("mean loss", f"{found.mean_loss:.4f} of a cell"),
            ("classes", f"{found.classes}, the smallest of {found.smallest_class} rows"),
            ("rows", f"{found.rows} written, order shuffled"),
            ("method", f"parts, {found.seconds:.1f} s"),
            ("private", private),
        ]
    )
    emit(data, f"{text}\n\n{made.certificate}", as_json=curated.as_json, command="anonymize")
    return Status.DONE


def _made(
    path: str, mark: str, asked: Asked, curated: Curated, guarantee: KAnonymity
) -> Anonymization[Path, FileDiagnostics]:
    from discreet.artefact import anonymize_file
    from discreet.cli.curating import method_of

    columns = _Columns(path, mark)
    head = columns.head()
    if not head.height:
        raise InvalidProblemError("TABLE", "a table with rows", f"{path} without any")
    refuse_nested(head, "TABLE")
    refuse_prose(head, guarantee.quasi_identifiers, asked.kinds)
    attributes = attributes_of(columns, guarantee.quasi_identifiers, asked.kinds)
    quiet = curated.quiet or not sys.stderr.isatty()
    with _removing(), _executor(asked.threads) as executor:
        return anonymize_file(
            path,
            curated.output or "",
            guarantee,
            attributes=attributes,
            loss=asked.loss,
            inner=method_of(asked.method),
            executor=executor,
            time_limit=asked.time_limit,
            separator=mark or ",",
            on_progress=lambda sentence: warn(sentence, quiet=quiet),
        )


@contextmanager
def _removing() -> Iterator[None]:
    """End on SIGTERM as on Ctrl-C, so that private rows on their way are removed."""

    def end(number: int, frame: object) -> None:
        del frame
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _executor(workers: int) -> AbstractContextManager[Executor | None]:
    """Start processes, or none for one worker."""
    if workers == 1:
        return nullcontext()
    return ProcessPoolExecutor(workers, get_context("spawn"))
