"""Read what was dropped on the page: its format, encoding and delimiter recognized, or a sentence that says what to do.

No message holds a value of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, final

from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.tables.columns import holds_numbers, is_prose
from discreet.tables.decoding import ENCODINGS, copy_as_utf8
from discreet.tables.dialect import foreign, look
from discreet.tables.looks import Look
from discreet.tables.reading import read_row_by_row, read_rows
from discreet.tables.refusals import refused
from discreet.tables.roles import look_of
from discreet.tables.rooms import make_private
from discreet.tables.sizes import in_words, parquet_size, refuse_many

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = [
    "DELIMITERS",
    "ENCODINGS",
    "MOST_ROWS",
    "ColumnSummary",
    "Upload",
    "describe",
    "read_upload",
]

MOST_ROWS = 1_000_000
MOST_COLUMNS = 200
MOST_MEMORY = 1 << 30
"""Bytes of a table that was read."""

DELIMITERS = {"": "recognize it", ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}

_FILE = "The file"
_LARGE = (
    f"{printed.count(MOST_ROWS)} rows or fewer; a larger one goes through `discreet anonymize FILE -k K --quasi A,B "
    "--memory 4GB -o OUT` on the command line"
)
_FITS = (
    f"a table of at most {in_words(MOST_MEMORY)} once it is read, where a cell of text takes 16 bytes; leave columns "
    "out, or use `discreet anonymize FILE -k K --quasi A,B --memory 4GB -o OUT` on the command line"
)
_PIECE = 1 << 20
_PREVIEW_ROWS = 5


@final
@dataclass(frozen=True, eq=False)
class Upload:
    """A table that was read.

    Parameters
    ----------
    table
        The table; cells of a CSV file are text as it stands there.
    how
        How it was read, a sentence.
    notices
        What a person should look at.
    """

    table: pl.DataFrame
    how: str
    notices: tuple[str, ...]


@final
@dataclass(frozen=True)
class ColumnSummary:
    """What a column holds. For the curator alone.

    Parameters
    ----------
    name
        Its name.
    numeric
        Whether its cells are numbers.
    different, empty
        Counts of different values and of empty cells.
    examples
        Some of its values.
    free_text
        Whether its cells look like sentences, nearly each another one.
    look
        What it looks like, and so the role and the form that are suggested.
    cells
        Its first cells.
    """

    name: str
    numeric: bool
    different: int
    empty: int
    examples: tuple[str, ...]
    free_text: bool
    look: Look = field(default_factory=Look)
    cells: tuple[str, ...] = ()


def read_upload(
    path: Path,
    name: str,
    *,
    delimiter: str = "",
    encoding: str = "",
    nested: bool = False,
    row_by_row: bool = False,
    quoted: bool = True,
) -> Upload:
    r"""Read a CSV or Parquet file.

    Parameters
    ----------
    path
        The file, in a private folder: where it is not in UTF-8, a copy of it that is stands there for a while.
    name
        What it is called; ``.parquet`` at its end says what it is.
    delimiter, encoding
        Keys of :data:`DELIMITERS` and :data:`ENCODINGS`; empty to recognize them.
    nested
        Whether columns of lists and records are read; see :func:`~discreet.tables.reading.read_rows`.
    row_by_row
        Whether the rows are those of a mechanism that spends budget: then none is refused for what it holds, nor
        changes how others are read; see :func:`~discreet.tables.reading.read_row_by_row`.
    quoted
        Whether such a file quotes cells; without quoting, a quote is a letter.

    Raises
    ------
    InvalidProblemError
        With what to do, for a file without rows or with too many, in another encoding or with rows of other lengths.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a")
    ...     _ = path.write_bytes(b"age;zip\n30;00100\n40;00100\n")
    ...     read = read_upload(path, "a.csv")
    >>> read.how, read.table.shape
    ('2 rows and 2 columns, in UTF-8, separated by semicolon.', (2, 2))
    """
    with path.open("rb") as file:
        head = file.read(_PIECE)
    parquet = head.startswith(b"PAR1") or name.lower().endswith(".parquet")
    if not parquet and (what := foreign(head)):
        raise refused("csv-none", _FILE, f"{name}, {what}")
    if delimiter not in DELIMITERS:
        raise InvalidProblemError("Delimiter", "one of the list", "another")
    # The library goes by the ending of a name.
    place = path.with_name(f"{path.name}-table{'.parquet' if parquet else '.csv'}")
    try:
        used = ""
        if parquet:
            place.hardlink_to(path)
            size = parquet_size(place)
            refuse_many(0 if size is None else size.rows, MOST_ROWS, _FILE, _LARGE)
        else:
            with make_private(place).open("r+b") as copy:
                used = copy_as_utf8(
                    path,
                    copy,
                    _FILE,
                    encoding,
                    most=MOST_ROWS,
                    advice=_LARGE,
                    row_by_row=row_by_row,
                )
        by_row = partial(read_row_by_row, quoted=quoted)
        read = by_row if row_by_row else partial(read_rows, unknown=True, nested=nested)
        try:
            table = read(str(place), _FILE, mark=delimiter, most=MOST_MEMORY, fits=_FITS)
        except InvalidProblemError as error:
            got = str(error.got).replace(str(place), name)
            raise error.renamed(error.field, got=got) from None
        refuse_many(table.height, MOST_ROWS, _FILE, _LARGE)
        few = f"{MOST_COLUMNS} columns or fewer; drop what is not published"
        refuse_many(table.width, MOST_COLUMNS, _FILE, few)
        if parquet:
            return Upload(table, f"{_shape(table)}, Parquet.", ())
        mark = look(str(place), _FILE, mark=delimiter, whole=False)
        return _text(table, used, mark, chosen=bool(encoding), row_by_row=row_by_row)
    finally:
        place.unlink(missing_ok=True)


def _text(table: pl.DataFrame, used: str, mark: str, *, chosen: bool, row_by_row: bool) -> Upload:
    notices = []
    if table.width == 1:
        notices.append(
            f"Only one column was found with {DELIMITERS[mark]} as the delimiter. If the file has more, choose its "
            "delimiter above and load it again."
        )
    if used not in ("utf-8-sig", "utf-16") and not chosen:
        notices.append(
            f"The file is not in UTF-8; it was read as {ENCODINGS[used]}. If letters look wrong, choose its encoding "
            "above and load it again."
        )
    if row_by_row and used == "utf-8-sig" and not chosen:
        # Always, since whether a byte of a row is no UTF-8 is private.
        notices.append(
            "Cells are read as UTF-8, whatever their bytes are. If the file was saved in another encoding, such as "
            "Windows-1252, choose it above and load the file again: rows with other letters would be left out."
        )
    how = f"{_shape(table)}, in {ENCODINGS[used]}, separated by {DELIMITERS[mark]}."
    return Upload(table, how, tuple(notices))


def describe(table: pl.DataFrame) -> list[ColumnSummary]:
    """Describe the columns of a table.

    Examples
    --------
    >>> import polars as pl
    >>> describe(pl.DataFrame({"age": ["30", "40", ""]}))[0].numeric
    True
    """
    return [_column(table, name) for name in table.columns]


def _column(table: pl.DataFrame, name: str) -> ColumnSummary:
    import polars as pl

    series = table[name]
    cells = series.cast(pl.String, strict=False)
    full = cells.drop_nulls()
    full = full.filter(full.str.strip_chars() != "")
    different = full.n_unique()
    numeric = holds_numbers(series)
    return ColumnSummary(
        name,
        numeric,
        different,
        len(cells) - len(full),
        tuple(value[:24] for value in full.head(200).unique(maintain_order=True).head(3).to_list()),
        not numeric and is_prose(full),
        look_of(table, name),
        tuple((value or "")[:24] for value in cells.head(_PREVIEW_ROWS).to_list()),
    )


def _shape(table: pl.DataFrame) -> str:
    rows = "1 row" if table.height == 1 else f"{printed.count(table.height)} rows"
    return f"{rows} and {table.width} column{'' if table.width == 1 else 's'}"
