"""How much memory a table will take once it is read; and a trial of a file that its reader may not survive.

A small file can hold a large table: a cell that comes a million times is written once, and a page of zeros is packed to
nothing. What a Parquet file says of itself, and the lines of a CSV file, bound the memory that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

from discreet.core import printed
from discreet.core.printed import count
from discreet.tables import parsing
from discreet.tables.dialect import names_in
from discreet.tables.parsing import ReadOutcome, reader_errors, scan
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

    import polars as pl

    from discreet.tables.parquet_footer import ColumnChunk


class BytesInMemory(NamedTuple):
    """Memory that tables take, in bytes."""

    per_cell: int = 16
    """Of a cell of text, beside the text itself, and of a cell of SPSS, Stata or SAS."""

    per_csv_byte: int = 8
    """For one byte of a CSV file, where cells have one character."""

    per_workbook_byte: int = 12
    """For one byte of a workbook's sheets, once they are read."""

    free_per_untried: int = 8
    """A table that may take more than this part of the free memory is read in a child process first."""


BYTES = BytesInMemory()

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8}
"""Bytes of a cell of other kinds, as Parquet calls them."""


@final
@dataclass(frozen=True)
class Decoded:
    """What a table takes in memory.

    Parameters
    ----------
    rows, columns
        Its shape; columns of a nested table count by their innermost ones.
    size
        Bytes, at most.
    """

    rows: int
    columns: int
    size: int

    def __str__(self) -> str:
        """Return rows, columns and size in words.

        Examples
        --------
        >>> print(Decoded(999_999, 150, 2_400_000_000))
        999,999 rows and 150 columns, about 2.2 GiB
        """
        columns = "1 column" if self.columns == 1 else f"{count(self.columns)} columns"
        return f"{count(self.rows)} rows and {columns}, about {in_words(self.size)}"

    def refuse_beyond(self, most: int, field: str, expected: str) -> None:
        """Refuse a table that takes more.

        Raises
        ------
        InvalidProblemError
            With `expected`, which should say what to do, and the shape of the table.
        """
        if self.size > most:
            raise refused("table-too-large", field, str(self), expected=expected)


def refuse_many(number: int, most: int, field: str, expected: str) -> None:
    """Raise InvalidProblemError for more than `most` rows or columns; `expected` says what to do about them."""
    if number > most:
        raise refused("table-too-large", field, printed.count(number), expected=expected)


def in_words(size: int, format_number: Callable[..., str] = printed.estimate) -> str:
    """Format a number of bytes.

    Parameters
    ----------
    size
        Bytes.
    format_number
        Function of :mod:`discreet.core.printed` that rounds: down for a limit, up for a need.

    Examples
    --------
    >>> in_words(3 << 29), in_words(5 << 20), in_words((3 << 29) + 1, printed.at_most), in_words(99)
    ('1.5 GiB', '5 MiB', '1.6 GiB', '99 bytes')
    """
    for unit, bits, digits in (("GiB", 30, 2), ("MiB", 20, 1), ("KiB", 10, 1)):
        if size >= 1 << bits:
            return format_number(Fraction(size, 1 << bits), digits, unit)
    return f"{count(size)} bytes"


def allowed() -> int:
    """Return the most bytes for a table: half of the memory that this process may use."""
    return parsing.all_memory() // 2


def parquet_size(file: Path | io.BytesIO) -> Decoded | None:
    """Bound the memory for a Parquet file by its own metadata, without decoding it.

    Parameters
    ----------
    file
        The file, or its bytes.

    Returns
    -------
    Decoded
        ``None`` for a file whose metadata cannot be read; its reader raises the error.

    Notes
    -----
    A dictionary expands to one cell for each row. A cell of text is a reference and the text stands once, as in the
    file; one of fixed width is copied. What a file says may be false: this is no bound for a reader that believes other
    parts of it.

    Examples
    --------
    >>> import io
    >>> import polars as pl
    >>> written = io.BytesIO()
    >>> pl.DataFrame({"age": [30, 40]}).write_parquet(written)
    >>> found = parquet_size(written)
    >>> found.rows, found.columns, found.size
    (2, 1, 16)
    """
    from discreet.tables.parquet_footer import read_footer

    footer = read_footer(file)
    if footer is None:
        return None
    size = sum(_chunk(column) for column in footer.chunks)
    return Decoded(footer.rows, footer.columns, size)


def _chunk(chunk: ColumnChunk) -> int:
    """Return an upper bound on the bytes in memory of one column of one group of rows, by its type and cells."""
    if chunk.kind == "BYTE_ARRAY":
        return chunk.cells * BYTES.per_cell + chunk.uncompressed
    if chunk.kind == "FIXED_LEN_BYTE_ARRAY":
        return chunk.cells * chunk.width
    return chunk.cells * _WIDTHS[chunk.kind]


def csv_size(path: Path, columns: int) -> Decoded:
    r"""Bound what a CSV file takes in memory, its cells as text.

    Lines are counted as rows, also those within quotes. Reads the file once.

    Parameters
    ----------
    path
        The file.
    columns
        Names in its first line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("age,sex\n30,F\n40,M\n")
    ...     csv_size(path, 2)
    Decoded(rows=2, columns=2, size=82)
    """
    lines, last = 0, b""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            lines, last = lines + piece.count(b"\n"), piece[-1:]
    # The first line holds the names; the last one may have no end.
    rows = max(0, lines - (last == b"\n"))
    return Decoded(rows, columns, rows * columns * BYTES.per_cell + path.stat().st_size)


def refuse_large(
    path: Path,
    mark: str,
    most: int,
    field: str,
    expected: str,
    *,
    data: io.BytesIO | None = None,
) -> None:
    """Refuse a file before it is read where its table would take too much memory.

    Raises InvalidProblemError for a larger table; a Parquet file whose metadata cannot be read passes. A CSV file is
    read once, of Parquet the metadata.

    Parameters
    ----------
    path
        The file.
    mark
        What separates the cells of CSV; empty for Parquet.
    most
        Bytes that the table may take.
    field, expected
        As of :meth:`Decoded.refuse_beyond`.
    data
        The bytes of a Parquet file that was read already.
    """
    size = csv_size(path, len(names_in(path, mark))) if mark else parquet_size(data or path)
    if size is not None:
        size.refuse_beyond(most, field, expected)


def refuse_long_text(table: pl.DataFrame, most: int, field: str, expected: str) -> None:
    """Refuse a table whose texts and bytes add up to more than `most` bytes, such as one long cell in many rows.

    Raises
    ------
    InvalidProblemError
        As :meth:`Decoded.refuse_beyond`.
    """
    import polars as pl

    long = table.select(
        (pl.col(pl.String).str.len_bytes().cast(pl.UInt64)).sum().name.prefix("s"),
        (pl.col(pl.Binary).bin.size().cast(pl.UInt64)).sum().name.prefix("b"),
    )
    size = sum(sum(row) for row in long.rows())
    Decoded(table.height, table.width, size).refuse_beyond(most, field, expected)


def refuse_killers(
    path: str,
    mark: str,
    argument: str,
    *,
    unknown: bool = False,
    whole: bool = True,
) -> None:
    """Refuse a file that its reader would not survive, having tried it in a child process where that may be.

    Parameters
    ----------
    path
        The file.
    mark
        What separates the cells of a CSV file; empty for Parquet.
    argument
        The argument that named it.
    unknown
        Whether its origin is unknown. Then a Parquet file is tried, however small it is; otherwise what may take
        more than an eighth of the free memory, and all where the process has a limit of memory. A trial takes
        about 0.25 s, and the time to read the file once more.
    whole
        Whether it will be held in memory at once.

    Raises
    ------
    InvalidProblemError
        When the child ran out of memory, died, panicked or took too long, and when it could not be started.
    """
    tried = (unknown and not mark) or parsing.is_limited()
    if not tried and _bytes_of(path, mark) <= parsing.free_memory() // BYTES.free_per_untried:
        return
    try:
        verdict = parsing.try_reading(path, mark, whole=whole)
    except OSError as error:
        raise refused("reader-process", argument, error.strerror or "none") from None
    if verdict is ReadOutcome.READ:
        return
    most = in_words(parsing.share_of_memory(), printed.at_least)
    if verdict is ReadOutcome.DIED:
        raise refused("reader-died", argument, f"{path}, on which the reader crashed")
    if verdict is ReadOutcome.LATE:
        raise refused("reader-late", argument, f"{path}, which takes longer")
    if verdict is ReadOutcome.NOT_STARTED:
        raise refused("reader-memory", argument, f"at most {most}")
    raise refused("memory-exceeded", argument, f"{path}, which takes more", most=most)


def _bytes_of(path: str, mark: str) -> int:
    """Return a rough estimate of the bytes of a table in memory, not a bound.

    CSV by the file's size; Parquet by that and the cells that its metadata states.
    """
    size = Path(path).stat().st_size
    if mark:
        return BYTES.per_csv_byte * size
    import polars as pl

    try:
        table = scan(path, "")
        cells = int(table.select(pl.len()).collect().item()) * len(table.collect_schema())
    except reader_errors(OSError):
        # Its reader says so in words.
        return size
    return max(BYTES.per_cell * cells, size)
