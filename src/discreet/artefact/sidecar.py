"""A table and the file beside it that says what it is: two files, one artefact.

A table stays a CSV, Parquet or .xlsx file that other programs read. ``FILE.discreet.json`` beside it holds the
guarantee, the certificate, the provenance with what was assumed public, and the SHA-256 of the table.

Two files can't be renamed at once. So the new record comes first, and holds the former one, with the SHA-256 of its
table, under ``unfinished``; then the table; then the record without that. Whenever a run is killed, the bytes of the
table say which of the two records is about it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from discreet.artefact.layout import FORMAT, check_version, expect, head, read_file, read_json
from discreet.artefact.placing import (
    beside,
    fill,
    put_file,
    put_in_place,
    uninterrupted,
    unwritable,
)
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import stored_file
from discreet.tables.foreign_files import read_written_workbook
from discreet.tables.options import FileRequest, ReadingOptions
from discreet.tables.parsing import read, reader_errors
from discreet.tables.sizes import allowed, in_words, refuse_large
from discreet.tables.validate import refuse_name
from discreet.tables.writing import bytes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from discreet.tables.foreign_files import Labels

_UNFINISHED = "unfinished"
"""What a record holds until its table is in place: the SHA-256 of the file that is replaced, and the record of that."""


def sidecar_of(path: str | os.PathLike[str]) -> Path:
    """Return the path of the record beside a table.

    Examples
    --------
    >>> print(sidecar_of("out.csv"))
    out.csv.discreet.json
    """
    return Path(f"{os.fspath(path)}.discreet.json")


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether a table has a record of ours beside it."""
    # Unlike the method of a path, this says no of a name that no file can have: longer than the system allows.
    return os.path.isfile(sidecar_of(path))  # noqa: PTH113 - see above


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind that the record beside a table states, such as ``"anonymous-table"``.

    Raises
    ------
    InvalidProblemError
        When the file beside it is none of ours, or there is none.
    """
    return str(read_meta(path)["kind"])


@final
@dataclass(frozen=True)
class FileContent:
    """Content of a file, and of its record if it is a table.

    Parameters
    ----------
    data
        Bytes of the file.
    record
        Record of a table; empty for other files.
    """

    data: bytes
    record: Mapping[str, Any] = field(default_factory=dict)

    def place(self, path: Path, new: Path) -> None:
        """Write the content to the empty file `new` on the disk of `path`, and put it in its place.

        Raises
        ------
        OSError
            As :func:`place_table`.
        """
        fill(new, self.data)
        if self.record:
            _place(new, path, self.record)
        else:
            put_in_place(new, path)


def table_content(
    table: pl.DataFrame,
    suffix: str,
    kind: str,
    meta: Mapping[str, Any],
    labels: Labels | None = None,
) -> FileContent:
    """Render a table as a file of the kind of its ending `suffix`, with its record.

    `kind`, what kind of artefact it is, and the plain values `meta` go into the record; `labels` are those of a file
    of SPSS. The rendered table is in memory; linear in the cells. Raises InvalidProblemError for an ending that is
    none of :data:`discreet.tables.writing.WRITABLE`.
    """
    refuse_name(f"table{suffix}", "path")
    columns = {name: str(dtype) for name, dtype in table.schema.items()}
    data = bytes_of(table, suffix, labels=labels)
    digest = hashlib.sha256(data).hexdigest()
    return FileContent(data, _record(digest, kind, meta, columns, table.height))


def write_content(content: FileContent, path: str | os.PathLike[str]) -> None:
    """Write a file, and its record if it is a table, whole or not at all.

    A file that is there is replaced; linear in the bytes.

    Raises
    ------
    InvalidProblemError
        When the system refuses.
    """
    where = Path(path)
    try:
        with beside(where) as new:
            content.place(where, new)
    except OSError as error:
        raise unwritable(where, error) from None


def place_table(
    new: Path,
    path: Path,
    kind: str,
    meta: Mapping[str, Any],
    *,
    columns: Mapping[str, str],
    rows: int,
) -> None:
    """Move a written table to its path, together with its record.

    Reads the table once, for its hash.

    Parameters
    ----------
    new
        The table, on the same disk.
    path
        Where it goes.
    kind, meta
        As in :func:`table_content`.
    columns
        Its columns and the names of their types.
    rows
        Number of its rows.

    Raises
    ------
    OSError
        When the system refuses. Then both files are as they were before, or :func:`interruption_of` says what they are.
    """
    _place(new, path, _record(digest_of(new), kind, meta, columns, rows))


def _record(
    digest: str, kind: str, meta: Mapping[str, Any], columns: Mapping[str, str], rows: int
) -> dict[str, Any]:
    """Return the record of a table as plain values: format, kind, hash, rows, columns, and `meta`."""
    return {
        **head(kind),
        "table": {"sha256": digest, "rows": rows, "columns": dict(columns)},
        **meta,
    }


def _place(new: Path, path: Path, stated: Mapping[str, Any]) -> None:
    """Write the record `stated`, rename table `new` to `path`, and write the record again without the old state.

    An interruption leaves a record that tells how far it came. Raises OSError, with the old state restored.
    """
    record, former = sidecar_of(path), _former(path)
    with uninterrupted():
        put_file(record, encoded({**stated, _UNFINISHED: former}))
        try:
            put_in_place(new, path)
        except OSError:
            # A renaming that was reported as failed may have been made.
            if _digest_or_none(path) != stated["table"]["sha256"]:
                _restore(record, former["record"])
            raise
        put_file(record, encoded(stated))


def _restore(record: Path, text: str | None) -> None:
    """Write a record's text in its place, or remove the record for ``None``."""
    if text is None:
        record.unlink()
    else:
        put_file(record, text.encode())


def _former(path: Path) -> dict[str, str | None]:
    """Return the state of a place before it is replaced.

    ``"sha256"`` of the table and ``"record"``, the text of its record. ``None`` stands for a file that is not there
    or cannot be read. Reads the table once.
    """
    text = None
    with suppress(OSError, ValueError):
        text = stored_file(sidecar_of(path)).read_bytes().decode()
    with suppress(InvalidProblemError):
        stated = _parsed(path, text or "")
        if _UNFINISHED in stated:
            text = _state_of(path, stated).record
    return {"sha256": _digest_or_none(path), "record": text}


def digest_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, in hexadecimal; reads it once, in pieces. Raises OSError if it cannot be read."""
    with stored_file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_or_none(path: Path) -> str | None:
    """Return the SHA-256 of a file, or ``None`` if it cannot be read."""
    try:
        return digest_of(path)
    except OSError:
        return None


def encoded(stated: Mapping[str, Any]) -> bytes:
    """Render a record as JSON."""
    return json.dumps(stated, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"


def read_table(
    path: str | os.PathLike[str], meta: Mapping[str, Any], columns: Mapping[str, str]
) -> pl.DataFrame:
    """Read a table that has a record.

    Linear in the file, whose bytes are in memory, too; a table of more than half of the memory is refused.

    Parameters
    ----------
    path
        The table.
    meta
        The metadata of its record.
    columns
        The columns that it has to have, in order, each with the names of the types that it may have.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, was altered, or has other columns or types.
    """
    import polars as pl

    where, data = Path(path), read_file(path)
    if hashlib.sha256(data).hexdigest() != meta["table"]["sha256"]:
        raise InvalidProblemError(
            "path", "the SHA-256 that stands beside the table", "altered bytes"
        )
    stated = meta["table"]["columns"]
    expect(sorted(stated) == sorted(columns), "columns", ", ".join(columns), ", ".join(stated))
    wrong = [name for name, types in columns.items() if stated[name] not in types.split()]
    if wrong:
        raise InvalidProblemError(wrong[0], columns[wrong[0]], stated[wrong[0]])
    types = {name: getattr(pl, stated[name]) for name in columns}
    most, csv = allowed(), where.suffix.lower() == ".csv"
    expected = (
        f"a table of at most {in_words(most, printed.at_least)} once it is read, half of the memory that there "
        "is"
    )
    # It may have come from anywhere.
    try:
        if where.suffix.lower() == ".xlsx":
            request = FileRequest("path", str(path), ReadingOptions(), most, expected)
            table = read_written_workbook(data, types, request)
        else:
            refuse_large(where, "," if csv else "", most, "path", expected, data=io.BytesIO(data))
            table = read(io.BytesIO(data), "," if csv else "", types=types)
    except reader_errors():
        # What the reader says may quote a cell.
        raise InvalidProblemError("path", "a table that can be read", str(path)) from None
    expect(dict(table.schema) == types, "columns", "those that stand beside the table")
    if meta["table"]["rows"] != table.height:
        raise InvalidProblemError("rows", "as many as stand beside the table", table.height)
    return table


def read_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what stands beside a table; of a record that was not finished, the one that is about the table's bytes.

    Returns the record as plain values, with the keys ``"format"``, ``"schema_version"``, ``"kind"`` and more by the
    kind. Reads the table only after an interrupted run.

    Raises
    ------
    InvalidProblemError
        When the file beside it is none of ours, or its run ended before there was a table that it could be about.
    """
    stated = _parsed(path, _read(path))
    if _UNFINISHED not in stated:
        return stated
    state = _state_of(path, stated)
    if state.sentence and state.record is None:
        expected = "a table with its record; run the command that writes it again"
        raise InvalidProblemError("path", expected, f"{path}: {state.sentence}")
    return stated if state.record is None else _parsed(path, state.record)


def interruption_of(path: str | os.PathLike[str]) -> str:
    """Describe the table at a place where a run was interrupted while it wrote a table and its record.

    Parameters
    ----------
    path
        The table.

    Returns
    -------
    str
        A sentence; empty where no run was interrupted so, or no record stands beside the table.

    Examples
    --------
    >>> interruption_of("no-such-table.csv")
    ''
    """
    try:
        stated = _parsed(path, _read(path))
        return _state_of(path, stated).sentence if _UNFINISHED in stated else ""
    except InvalidProblemError:
        return ""


@final
@dataclass(frozen=True)
class _State:
    """What a run left that did not finish: a sentence, and the record that is about the table, if there is one."""

    sentence: str
    record: str | None


def _state_of(path: str | os.PathLike[str], stated: Mapping[str, Any]) -> _State:
    """Return what an interrupted run left, as a sentence, and the record that then holds, by the SHA-256 of the table.

    A record without the hashes before and after is refused. Reads the table once.
    """
    try:
        new, former = stated["table"]["sha256"], stated[_UNFINISHED]
        before, record = former["sha256"], former["record"]
    except (LookupError, TypeError):
        raise _not_whole(path, "it does not say what was there before") from None
    if not all(value is None or isinstance(value, str) for value in (before, record)):
        raise _not_whole(path, "it does not say what was there before")
    digest = _digest_or_none(Path(path))
    finished = {name: value for name, value in stated.items() if name != _UNFINISHED}
    if digest == new:
        sentence = (
            "the run that wrote it was interrupted after its table was in place; both are whole"
        )
        return _State(sentence, encoded(finished).decode())
    if digest is None:
        return _State("the run that was to write it was interrupted before it was there", None)
    if digest != before:
        # Judged by the record of the new table, which then says that its bytes are others.
        sentence = "a run that was to replace it was interrupted, and it is neither the table before nor the new one"
        return _State(sentence, encoded(finished).decode())
    sentence = (
        "a run that was to replace it was interrupted before it did; it is the table from before"
    )
    if record is None:
        return _State(f"{sentence}, which had no record", None)
    return _State(f"{sentence}, with its own record", record)


def _read(path: str | os.PathLike[str]) -> str:
    """Return the text of the record beside a table; raise InvalidProblemError without one."""
    record = sidecar_of(path)
    try:
        return stored_file(record).read_text(encoding="utf-8")
    except OSError as error:
        got = f"{record}: {error.strerror}"
        raise InvalidProblemError(
            "path", "a table with its .discreet.json beside it", got
        ) from None
    except ValueError as error:
        raise _not_whole(path, str(error)) from None


def _parsed(path: str | os.PathLike[str], text: str) -> dict[str, Any]:
    """Return a record's text as plain values; raise InvalidProblemError for another format or version."""
    try:
        meta = read_json(text)
    except (ValueError, RecursionError) as error:
        raise _not_whole(path, str(error)) from None
    if meta.get("format") != FORMAT or not isinstance(meta.get("kind"), str):
        raise InvalidProblemError("path", "a discreet artefact", str(sidecar_of(path)))
    check_version(meta)
    return meta


def _not_whole(path: str | os.PathLike[str], what: str) -> InvalidProblemError:
    """Return the error for a record that is not whole."""
    return InvalidProblemError("path", "a whole .discreet.json", f"{sidecar_of(path)}: {what}")
