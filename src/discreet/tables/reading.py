"""Read tables from files: microdata as text, public tables with types, private files before they are charged for."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import narwhals as nw

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.tables.cells import read_cells
from discreet.tables.columns import plain_names
from discreet.tables.dialect import look, refuse_rows, why_unreadable
from discreet.tables.foreign_files import labels_of
from discreet.tables.options import FileRequest, ReadingOptions
from discreet.tables.parsing import UnquotedFile, read, reader_errors, scan
from discreet.tables.recoding import Recoding, recode
from discreet.tables.refusals import refused
from discreet.tables.sizes import (
    allowed,
    in_words,
    refuse_killers,
    refuse_large,
    refuse_long_text,
)
from discreet.tables.sources import READABLE, STANDARD_INPUT, is_hive_folder, plain_file
from discreet.tables.validate import refuse_nested, refuse_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from discreet.tables.foreign_files import Labels

PUBLIC_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
"""How the names of files of public lists, and of the tables of private releases, may end."""


def read_rows(
    path: str,
    argument: str,
    *,
    options: ReadingOptions | None = None,
    mark: str = "",
    unknown: bool = False,
    nested: bool = False,
    show_columns: bool = False,
    most: int | None = None,
    fits: str = "",
) -> pl.DataFrame:
    """Read microdata from a file of any kind that :data:`discreet.tables.sources.READABLE` lists, cell by cell.

    Returns a table of Polars. CSV is read three times: for zero bytes, for its size, and for its table; once
    more if its last column has missing values.

    Parameters
    ----------
    path
        The file, which may be compressed; ``-`` for standard input; or a folder of folders named ``column=value``.
        Cells of CSV come as text, as they stand there; those of Parquet keep their types.
    argument
        The argument that named it.
    options
        Encoding, decimal mark, sheet and marks of missing values; see :class:`~discreet.tables.options.ReadingOptions`.
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
    options = options or ReadingOptions()
    most, fits = most or allowed(), fits or _fits(most or allowed())
    if is_hive_folder(path):
        read_part = partial(
            read_rows,
            options=options,
            mark=mark,
            unknown=unknown,
            nested=nested,
            show_columns=show_columns,
            fits=fits,
        )
        return _read_hive(Path(path), argument, read_part, most, fits)
    request = FileRequest(argument, path, options, most, fits)
    with plain_file(path, request) as plain, _named(path, plain.path):
        table = plain.frame
        if table is None:
            mark = look(str(plain.path), argument, tuple(READABLE), mark=mark or plain.mark)
            refuse_large(plain.path, mark, most, argument, fits)
            refuse_killers(str(plain.path), mark, argument, unknown=unknown)
            table = _read(str(plain.path), mark, argument)
            if mark and table.width > 1 and table[:, -1].has_nulls():
                # A row that is too short, or empty, reads as one with missing values.
                refuse_rows(str(plain.path), mark, argument)
    if not nested:
        refuse_nested(table, argument, show_columns=show_columns)
    refuse_times(table, argument)
    refuse_long_text(table, most, argument, fits)
    return read_cells(table.rename(plain_names(table.columns)), options)


def read_labels(path: str, options: ReadingOptions) -> Labels:
    """Read the labels of a file of SPSS, Stata or SAS that :func:`read_rows` has read; other files have none.

    Metadata is read anew, in the encoding of `options`. A compressed file counts as one of another kind.
    """
    return labels_of(Path(path), READABLE.get(Path(path).suffix.lower(), ""), options.encoding)


def _fits(most: int) -> str:
    """Return the words for a table of at most `most` bytes."""
    return (
        f"a table of at most {in_words(most, printed.at_least)} once it is read, half of the memory that there is; "
        "leave columns out, or use a larger machine"
    )


@contextmanager
def _named(shown: str, path: Path) -> Iterator[None]:
    """Return a context that replaces the path of a copy in an InvalidProblemError by the path of the original file."""
    shown = "standard input" if shown == STANDARD_INPUT else shown
    try:
        yield
    except InvalidProblemError as error:
        if str(path) == shown:
            raise
        raise error.renamed(error.field, got=str(error.got).replace(str(path), shown)) from None


def _read_hive(
    folder: Path, argument: str, read_part: Callable[..., pl.DataFrame], most: int, fits: str
) -> pl.DataFrame:
    """Read a folder of folders named ``column=value``, whose names are cells of its files.

    All files together may take `most` bytes: each may take what those before it leave. Other folders, and files of
    different columns, are refused.

    `read_part` reads a file, `fits` is a text of the message.
    """
    import polars as pl

    tables: list[pl.DataFrame] = []
    taken = 0
    for file in sorted(one for one in folder.rglob("*") if one.is_file()):
        inside = file.relative_to(folder).parts
        if any(part.startswith(("_", ".")) for part in inside):
            # As Spark and Hive do, which write such files beside their tables.
            continue
        cells = [part.partition("=") for part in inside[:-1]]
        if not all(equals for _, equals, _ in cells):
            expected = f"{folder}, with other folders"
            raise refused("folder-hive", argument, expected)
        columns = [
            pl.lit(None if value == _NO_VALUE else unquote(value), pl.String).alias(unquote(name))
            for name, _, value in cells
        ]
        try:
            # At least 1, because 0 stands for the default.
            part = read_part(str(file), argument, most=max(1, most - taken))
        except InvalidProblemError as error:
            if error.code != "table-too-large" or not taken:
                raise
            got = f"{error.got} in one file, and {in_words(taken)} in those before it"
            raise error.renamed(error.field, got=got) from None
        tables.append(part.with_columns(columns))
        taken += int(part.estimated_size())
    try:
        table = pl.concat(tables)
    except (pl.exceptions.PolarsError, ValueError):
        raise refused("folder-hive", argument, f"{folder}, with other columns") from None
    refuse_long_text(table, most, argument, fits)
    return table


_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def as_quoted(
    path: str | os.PathLike[str], quotes: str, argument: str = "quotes"
) -> str | os.PathLike[str]:
    """Return the path of a private CSV file as it is quoted: "doubled" (RFC 4180), or "none" for no quoting.

    The file is not looked at.

    Raises
    ------
    InvalidProblemError
        For another word.
    """
    if quotes not in {"doubled", "none"}:
        raise refused("quotes-word", argument, repr(quotes))
    return path if quotes == "doubled" else UnquotedFile(path)


def read_row_by_row(
    path: str,
    argument: str,
    *,
    mark: str = "",
    most: int | None = None,
    fits: str = "",
    options: ReadingOptions | None = None,
    unknown: bool = True,
    quoted: bool = True,
) -> pl.DataFrame:
    r"""Read a private table by the rule of :mod:`discreet.tables.keys`, for a mechanism that spends budget.

    CSV is read three times: for its size, for its quotes, and for its table.

    Parameters
    ----------
    path, argument, mark, most, fits, options, unknown
        As for :func:`read_rows`. Only marks that `options` state stand for missing values.
    quoted
        Whether the file quotes cells; see :class:`~discreet.tables.parsing.UnquotedFile`.

    Raises
    ------
    InvalidProblemError
        As for :func:`refuse_unreadable`, and for a table that takes too much memory. No value of a row is a reason.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.csv"
    ...     _ = file.write_bytes("town;sex\nK\xf6ln;F\n".encode("cp1252"))
    ...     read_row_by_row(str(file), "people", options=ReadingOptions(encoding="cp1252")).rows()
    [('Köln', 'F')]
    """
    import polars as pl

    options = options or ReadingOptions()
    most, fits = most or allowed(), fits or _fits(most or allowed())
    if is_hive_folder(path):
        read_part = partial(
            read_row_by_row, options=options, mark=mark, unknown=unknown, quoted=quoted, fits=fits
        )
        return _read_hive(Path(path), argument, read_part, most, fits)
    request = FileRequest(argument, path, options, most, fits, row_by_row=True)
    with plain_file(path, request) as plain, _named(path, plain.path):
        table = plain.frame
        if table is None:
            place = str(plain.path)
            mark = look(place, argument, tuple(READABLE), whole=False, mark=mark or plain.mark)
            refuse_large(plain.path, mark, most, argument, fits)
            refuse_killers(place, mark, argument, unknown=unknown)
            if mark and quoted:
                refuse_rows(place, mark, argument, row_by_row=True)
            table = _scanned(
                place if quoted else UnquotedFile(place), mark, argument, pl.all(), row_by_row=True
            )
    refuse_long_text(table, most, argument, fits)
    table = table.rename(plain_names(table.columns))
    return read_cells(table, options, row_by_row=True)


def read_whole(path: str | os.PathLike[str], argument: str) -> pl.DataFrame:
    """Read a private file that cannot be scanned as it is, row by row; an ``UnquotedFile`` without quoting.

    Raises
    ------
    InvalidProblemError
        As for :func:`read_row_by_row`, and for standard input: a plan reads its source twice.
    """
    if os.fspath(path) == STANDARD_INPUT:
        raise refused(
            "file-unreadable",
            argument,
            "standard input, which is read once: read it into a frame first",
        )
    return read_row_by_row(os.fspath(path), argument, quoted=not isinstance(path, UnquotedFile))


def read_private(source: Any, argument: str, options: ReadingOptions, recoding: Recoding) -> Any:  # noqa: ANN401 - a path or a frame
    """Read a private file row by row where options say how; give anything else as it is, to be read after the charge.

    Parameters
    ----------
    source
        A path, or any other source of rows.
    argument
        Name of the table in messages.
    options, recoding
        How it is read and recoded: public rules for one cell at a time.

    Raises
    ------
    InvalidProblemError
        As for :func:`read_row_by_row`, for a column that is not there, and for options beside another source.
    """
    plain = options == ReadingOptions() and not recoding.columns
    # Standard input can be read once, and a plan looks at its source before the charge and after it.
    if plain and not (isinstance(source, str) and source == STANDARD_INPUT):
        return source
    if isinstance(source, str | os.PathLike):
        quoted = not isinstance(source, UnquotedFile)
        table = read_row_by_row(os.fspath(source), argument, options=options, quoted=quoted)
    else:
        frame: Any = nw.from_native(source, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            raise refused("options-of-files", argument, type(source).__name__)
        table = read_cells(frame.to_polars(), options, row_by_row=True)
    return recode(table, recoding, argument)


def read_table(path: str, argument: str) -> pl.DataFrame:
    """Read a public file of any kind with a line of names, each column of CSV with the type that all its cells show.

    The table is in memory; no cell counts as a mark of missing values, and numbers with a decimal comma are text.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, of another kind, or without rows.
    """
    most = allowed()
    request = FileRequest(argument, path, ReadingOptions(), most, _fits(most))
    with plain_file(path, request) as plain, _named(path, plain.path):
        if plain.frame is not None:
            return plain.frame
        mark = look(str(plain.path), argument, tuple(READABLE), mark=plain.mark)
        refuse_killers(str(plain.path), mark, argument)
        return _read(str(plain.path), mark, argument, infer=True)


def _read(path: str, mark: str, argument: str, *, infer: bool = False) -> pl.DataFrame:
    """Read a plain file whole; raise InvalidProblemError without rows, or if it cannot be read.

    With `infer` the columns of CSV have the types of their cells, else text.
    """
    import polars as pl

    try:
        table = read(path, mark, infer=infer)
    except pl.exceptions.NoDataError:
        raise refused("rows-none", argument, f"{path} without rows") from None
    except reader_errors(OSError):
        # What the reader says may quote a row.
        raise why_unreadable(path, mark, argument) from None
    if not table.height:
        raise refused("rows-none", argument, f"{path} without rows")
    return table


def refuse_unreadable(
    path: str | os.PathLike[str], mark: str, argument: str, *, row_by_row: bool = False
) -> None:
    """Refuse a file that cannot be read to its end, and keep nothing of it: before anything is charged for reading it.

    CSV is read twice, Parquet once, and once more in a child process if :func:`refuse_killers` tries it.

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
    """Compute an expression over a plain file in batches; return the result as a table.

    Raises InvalidProblemError if the file cannot be read, or for CSV without a line of names.
    """
    import polars as pl

    try:
        lazy = scan(path, mark, row_by_row=row_by_row)
        return lazy.select(wanted).collect(engine="streaming")
    except pl.exceptions.NoDataError:
        raise refused("rows-none", argument, f"{path} without rows") from None
    except reader_errors(OSError):
        raise why_unreadable(str(path), mark, argument, row_by_row=row_by_row) from None
