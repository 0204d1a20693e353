"""A table and the file beside it that says what it is: two files, one artefact.

A table stays a CSV or Parquet file that any program reads. ``FILE.discreet.json`` beside it holds the guarantee, the
certificate, the provenance with what was assumed public, and the SHA-256 of the table.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.artefact._format import FORMAT, read_json
from discreet.artefact._write import replace_file
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

__all__ = [
    "is_table",
    "kind_of",
    "read_meta",
    "read_table",
    "sidecar_of",
    "write_beside",
    "write_table",
]

_SUFFIXES = (".csv", ".parquet")

_VERSION = 1
"""Version of the form of the file beside a table."""


def sidecar_of(path: str | os.PathLike[str]) -> Path:
    """Name the file beside a table.

    Examples
    --------
    >>> print(sidecar_of("out.csv"))
    out.csv.discreet.json
    """
    return Path(f"{os.fspath(path)}.discreet.json")


def is_table(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file has one of ours beside it."""
    return sidecar_of(path).is_file()


def kind_of(path: str | os.PathLike[str]) -> str:
    """Read what kind of artefact a table is.

    Raises
    ------
    InvalidProblemError
        When the file beside it is none of ours.
    """
    return str(read_meta(path)["kind"])


def write_table(
    table: pl.DataFrame, path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any]
) -> None:
    """Write a table, and then what it is beside it.

    Parameters
    ----------
    table
        What to write.
    path
        A file that ends in ``.csv`` or ``.parquet``, replaced if it is there.
    kind
        What kind of artefact it is.
    meta
        Plain values that say more.

    Raises
    ------
    InvalidProblemError
        For another ending, or a file that cannot be written. Each file is whole or as it was before; should the second
        one fail, its hash does not fit the first.
    """
    where = Path(path)
    if where.suffix.lower() not in _SUFFIXES:
        raise InvalidProblemError(
            "path", f"a file that ends in {', '.join(_SUFFIXES)}", repr(str(where))
        )
    buffer = io.BytesIO()
    if where.suffix.lower() == ".csv":
        table.write_csv(buffer)
    else:
        table.write_parquet(buffer)
    data = buffer.getvalue()
    columns = {name: str(dtype) for name, dtype in table.schema.items()}
    text = _text(kind, hashlib.sha256(data).hexdigest(), table.height, columns, meta)
    replace_file(where, data)
    replace_file(sidecar_of(where), text)


def write_beside(
    path: str | os.PathLike[str],
    kind: str,
    columns: Mapping[str, str],
    rows: int,
    meta: Mapping[str, Any],
) -> None:
    """Write what a table is beside it, where the table is a file already.

    Parameters
    ----------
    path
        The table.
    kind, meta
        As in :func:`write_table`.
    columns
        Its columns and the names of their types.
    rows
        Number of its rows.
    """
    with Path(path).open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    replace_file(sidecar_of(path), _text(kind, found, rows, columns, meta))


def _text(
    kind: str, sha256: str, rows: int, columns: Mapping[str, str], meta: Mapping[str, Any]
) -> bytes:
    stated = {
        "format": FORMAT,
        "schema_version": _VERSION,
        "kind": kind,
        "table": {"sha256": sha256, "rows": rows, "columns": dict(columns)},
        **meta,
    }
    return json.dumps(stated, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"


def read_table(
    path: str | os.PathLike[str], kind: str, columns: Mapping[str, str]
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a table and what is beside it.

    Parameters
    ----------
    path
        The table.
    kind
        The kind that it has to be.
    columns
        The columns that it has to have, in order, each with the names of the types that it may have.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, is of another kind, was altered, or has other columns or types.
    """
    import polars as pl

    meta = read_meta(path)
    if meta["kind"] != kind:
        raise InvalidProblemError("kind", repr(kind), repr(meta["kind"]))
    where = Path(path)
    try:
        data = where.read_bytes()
    except OSError as error:
        got = f"{path}: {error.strerror}"
        raise InvalidProblemError("path", "a file that can be read", got) from None
    if hashlib.sha256(data).hexdigest() != meta["table"]["sha256"]:
        raise InvalidProblemError(
            "path", "the SHA-256 that stands beside the table", "altered bytes"
        )
    stated = meta["table"]["columns"]
    if sorted(stated) != sorted(columns):
        raise InvalidProblemError("columns", ", ".join(columns), ", ".join(stated))
    wrong = [name for name, types in columns.items() if stated[name] not in types.split()]
    if wrong:
        raise InvalidProblemError(wrong[0], columns[wrong[0]], stated[wrong[0]])
    types = {name: getattr(pl, stated[name]) for name in columns}
    try:
        if where.suffix.lower() == ".csv":
            table = pl.read_csv(io.BytesIO(data), schema_overrides=types)
        else:
            table = pl.read_parquet(io.BytesIO(data))
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise InvalidProblemError("path", "a table that can be read", reason) from None
    if dict(table.schema) != types:
        found = ", ".join(f"{name} {dtype}" for name, dtype in table.schema.items())
        raise InvalidProblemError("columns", "those that stand beside the table", found)
    if meta["table"]["rows"] != table.height:
        raise InvalidProblemError("rows", "as many as stand beside the table", table.height)
    return table, meta


def read_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what stands beside a table.

    Raises
    ------
    InvalidProblemError
        When the file beside it is none of ours.
    """
    beside = sidecar_of(path)
    try:
        meta = read_json(beside.read_text(encoding="utf-8"))
    except OSError as error:
        got = f"{beside}: {error.strerror}"
        raise InvalidProblemError(
            "path", "a table with its .discreet.json beside it", got
        ) from None
    except (ValueError, RecursionError) as error:
        raise InvalidProblemError("path", "a whole .discreet.json", f"{beside}: {error}") from None
    if meta.get("format") != FORMAT or not isinstance(meta.get("kind"), str):
        raise InvalidProblemError("path", "a discreet artefact", str(beside))
    if meta.get("schema_version") != _VERSION:
        expected = f"{_VERSION}; a newer discreet may read it"
        raise InvalidProblemError("schema_version", expected, repr(meta.get("schema_version")))
    return meta
