"""Read tables from files: microdata as text, public tables with types, private files before they are charged for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.tables.dialect import look, refuse_rows, why_unreadable
from discreet.tables.parsing import UnquotedFile, read, reader_errors, scan
from discreet.tables.refusals import refused
from discreet.tables.sizes import (
    allowed,
    in_words,
    refuse_killers,
    refuse_large,
    refuse_long_text,
)
from discreet.tables.validate import refuse_nested, refuse_times

if TYPE_CHECKING:
    import os

    import polars as pl

__all__ = [
    "PUBLIC_SUFFIXES",
    "as_quoted",
    "read_row_by_row",
    "read_rows",
    "read_table",
    "refuse_unreadable",
]

PUBLIC_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
"""How the names of files of public lists, and of the tables of private releases, may end."""


def read_rows(
    path: str,
    argument: str,
    *,
    mark: str = "",
    unknown: bool = False,
    nested: bool = False,
    show_columns: bool = False,
    most: int | None = None,
    fits: str = "",
) -> pl.DataFrame:
    """Read microdata: a CSV file as text, cell by cell as it stands there, or a Parquet file.

    Parameters
    ----------
    path
        The file. CSV may be separated by commas, semicolons, tabs or bars, and start with a byte-order mark.
    argument
        The argument that named it.
    mark
        What separates the cells of a CSV file; recognized by default.
    unknown
        Whether its origin is unknown, see :func:`~discreet.tables.sizes.refuse_killers`.
    nested
        Whether columns of lists and records are read; those that a release needs are refused by its plan.
    show_columns
        Whether a message may name columns that nobody typed.
    most, fits
        Bytes that the table may take, and the words that say so; half of the memory by default.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, of another kind or encoding, without rows, with rows of other lengths, that
        takes more memory than that, or with dates that are none. The message says what to do, and holds nothing
        of the rows.
    """
    mark = look(path, argument, mark=mark)
    most = most or allowed()
    fits = fits or (
        f"a table of at most {in_words(most)} once it is read, half of the memory that there is; leave columns out, or "
        "use a larger machine"
    )
    refuse_large(Path(path), mark, most, argument, fits)
    refuse_killers(path, mark, argument, unknown=unknown)
    table = _read(path, mark, argument)
    if mark and table.width > 1 and table[:, -1].has_nulls():
        # A row that is too short, or empty, reads as one with missing values.
        refuse_rows(path, mark, argument)
    if not nested:
        refuse_nested(table, argument, show_columns=show_columns)
    refuse_times(table, argument)
    refuse_long_text(table, most, argument, fits)
    return table


def as_quoted(
    path: str | os.PathLike[str], quotes: str, argument: str = "quotes"
) -> str | os.PathLike[str]:
    """Return the path of a private CSV file as it is quoted: "doubled" (RFC 4180), or "none" for no quoting.

    Raises
    ------
    InvalidProblemError
        For another word.
    """
    if quotes not in {"doubled", "none"}:
        raise refused("quotes-word", argument, repr(quotes))
    return path if quotes == "doubled" else UnquotedFile(path)


def read_row_by_row(
    path: str, argument: str, *, mark: str, most: int, fits: str, quoted: bool = True
) -> pl.DataFrame:
    """Read a private table of unknown origin by the rule of :mod:`discreet.tables.keys`, for a mechanism with a budget.

    Parameters
    ----------
    path, argument, mark, most, fits
        As for :func:`read_rows`.
    quoted
        Whether the file quotes cells; see :class:`~discreet.tables.parsing.UnquotedFile`.

    Raises
    ------
    InvalidProblemError
        As for :func:`refuse_unreadable`, and for a table that takes too much memory. No value of a row is a reason.
    """
    import polars as pl

    mark = look(path, argument, mark=mark, whole=False)
    refuse_large(Path(path), mark, most, argument, fits)
    refuse_killers(path, mark, argument, unknown=True)
    if mark and quoted:
        refuse_rows(path, mark, argument, row_by_row=True)
    table = _scanned(
        path if quoted else UnquotedFile(path), mark, argument, pl.all(), row_by_row=True
    )
    refuse_long_text(table, most, argument, fits)
    return table


def read_table(path: str, argument: str) -> pl.DataFrame:
    """Read a public CSV or Parquet file with a line of names, each column of CSV with the type that all its cells show.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, of another kind, or without rows.
    """
    mark = look(path, argument, PUBLIC_SUFFIXES)
    refuse_killers(path, mark, argument)
    return _read(path, mark, argument, infer=True)


def _read(path: str, mark: str, argument: str, *, infer: bool = False) -> pl.DataFrame:
    import polars as pl

    try:
        table = read(path, mark, infer=infer)
    except pl.exceptions.NoDataError:
        raise refused("rows-none", argument, f"{path} without any") from None
    except reader_errors(OSError):
        # What the reader says may quote a row.
        raise why_unreadable(path, mark, argument) from None
    if not table.height:
        raise refused("rows-none", argument, f"{path} without any")
    return table


def refuse_unreadable(
    path: str | os.PathLike[str], mark: str, argument: str, *, row_by_row: bool = False
) -> None:
    """Refuse a file that cannot be read to its end, and keep nothing of it: before anything is charged for reading it.

    Parameters
    ----------
    path
        The file.
    mark
        What :func:`~discreet.tables.dialect.look` gave.
    argument
        The argument that named it.
    row_by_row
        Whether the rows are those of a mechanism that spends budget: then no row is refused for what it holds; see
        :func:`~discreet.tables.parsing.scan`.

    Raises
    ------
    InvalidProblemError
        As :func:`~discreet.tables.dialect.why_unreadable` says.
    """
    import polars as pl

    refuse_killers(str(path), mark, argument, whole=False)
    if mark and not isinstance(path, UnquotedFile):
        refuse_rows(str(path), mark, argument, row_by_row=row_by_row)
    _scanned(path, mark, argument, pl.all().null_count(), row_by_row=row_by_row)


def _scanned(
    path: str | os.PathLike[str], mark: str, argument: str, wanted: pl.Expr, *, row_by_row: bool
) -> pl.DataFrame:
    import polars as pl

    try:
        lazy = scan(path, mark, row_by_row=row_by_row)
        return lazy.select(wanted).collect(engine="streaming")
    except pl.exceptions.NoDataError:
        raise refused("rows-none", argument, f"{path} without any") from None
    except reader_errors(OSError):
        raise why_unreadable(str(path), mark, argument, row_by_row=row_by_row) from None
