"""Read what was dropped on the page: its format, encoding and delimiter recognized, or a sentence that says what to do.

No message holds a value of the table.
"""

from __future__ import annotations

import codecs
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from discreet.artefact.rooms import make_private
from discreet.core import printed
from discreet.core.errors import InvalidProblemError
from discreet.tables.columns import holds_numbers, is_prose
from discreet.tables.dialect import UTF16, first_ragged, foreign, mark_of, names_in, repeated
from discreet.tables.looks import Look
from discreet.tables.parsing import read, reader_errors
from discreet.tables.roles import look_of
from discreet.tables.sizes import (
    in_words,
    parquet_size,
    refuse_killers,
    refuse_large,
    refuse_long_text,
)
from discreet.tables.validate import refuse_nested, refuse_times

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
ENCODINGS = {
    "": "recognize it",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "cp1252": "Windows-1252 (Western)",
    "iso-8859-2": "ISO 8859-2 (Central European)",
    "cp1251": "Windows-1251 (Cyrillic)",
}

_FILE = "The file"
_THIS = "this one"
_LARGE = (
    f"{printed.count(MOST_ROWS)} rows or fewer; a larger one goes through `discreet anonymize FILE -k K --quasi A,B "
    "--memory 4GB -o OUT` on the command line"
)
_FITS = (
    f"a table of at most {in_words(MOST_MEMORY)} once it is read, where a cell of text takes 16 bytes; leave columns "
    "out, or use `discreet anonymize FILE -k K --quasi A,B --memory 4GB -o OUT` on the command line"
)
_PIECE = 1 << 20
_PREVIEWED = 5
_HEAD = 20
"""Lines by which a delimiter is recognized."""


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


def read_upload(path: Path, name: str, *, delimiter: str = "", encoding: str = "") -> Upload:
    r"""Read a CSV or Parquet file.

    Parameters
    ----------
    path
        The file, in a private folder: where it is not in UTF-8, a copy of it that is stands there for a while.
    name
        What it is called; ``.parquet`` at its end says what it is.
    delimiter, encoding
        Keys of :data:`DELIMITERS` and :data:`ENCODINGS`; empty to recognize them.

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
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise InvalidProblemError(_FILE, "a table with a line of names and rows", "an empty file")
    parquet = head.startswith(b"PAR1")
    if parquet or name.lower().endswith(".parquet"):
        return _parquet(path)
    what = foreign(head)
    if what:
        raise InvalidProblemError(_FILE, "a CSV or Parquet file", what)
    copy = path.with_name(f"{path.name}-text")
    try:
        text, used = _decoded(path, copy, encoding)
        return _text(text, used, delimiter, chosen=bool(encoding))
    finally:
        copy.unlink(missing_ok=True)


def _text(path: Path, used: str, delimiter: str, *, chosen: bool) -> Upload:
    with path.open(encoding="utf-8-sig", newline="") as file:
        mark = delimiter or mark_of(file.read(200_000).splitlines()[:_HEAD])
    if mark not in DELIMITERS:
        raise InvalidProblemError("Delimiter", "one of the list", "another")
    table = _csv(path, mark)
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
        tuple((value or "")[:24] for value in cells.head(_PREVIEWED).to_list()),
    )


def _parquet(path: Path) -> Upload:
    # What the file says of itself is read by Arrow; Polars sees it in a child process first.
    size = parquet_size(path)
    if size is not None:
        if size.rows > MOST_ROWS:
            raise InvalidProblemError(_FILE, _LARGE, "a larger one")
        size.refuse_beyond(MOST_MEMORY, _FILE, _FITS)
    refuse_killers(str(path), "", _FILE, unknown=True, shown=_THIS)
    try:
        table = read(path, "")
    except reader_errors(OSError):
        expected = "a whole Parquet file, or a CSV file whose name ends in .csv"
        raise InvalidProblemError(_FILE, expected, "one that cannot be read as Parquet") from None
    refuse_nested(table, _FILE)
    refuse_times(table, _FILE)
    _check_shape(table)
    refuse_long_text(table, MOST_MEMORY, _FILE, _FITS)
    return Upload(table, f"{_shape(table)}, Parquet.", ())


def _decoded(path: Path, copy: Path, encoding: str) -> tuple[Path, str]:
    """Give a file in UTF-8, which may be the one that came, and the encoding of the one that came."""
    if encoding and encoding not in ENCODINGS:
        raise InvalidProblemError("Encoding", "one of the list", "another")
    with path.open("rb") as file:
        marked = file.read(2) in UTF16
    tried = [encoding] if encoding else ["utf-16"] if marked else ["utf-8-sig", "cp1252"]
    for one in tried:
        try:
            _copy_text(path, copy if one != "utf-8-sig" else None, one)
        except UnicodeError:
            continue
        return (path if one == "utf-8-sig" else copy), one
    expected = "text in the encoding that is chosen; choose another one above, or save the table as CSV in UTF-8"
    raise InvalidProblemError(_FILE, expected, "bytes that are no such text")


def _copy_text(path: Path, copy: Path | None, encoding: str) -> None:
    """Decode a file piece by piece, into another one if it is named; refuse what holds no lines, or too many."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = returns = 0
    with (
        path.open("rb") as file,
        nullcontext() if copy is None else make_private(copy).open("wb") as out,
    ):
        while True:
            piece = file.read(_PIECE)
            text = decoder.decode(piece, final=not piece)
            if "\0" in text:
                raise UnicodeError("a zero byte")
            lines, returns = lines + text.count("\n"), returns + text.count("\r")
            if lines > MOST_ROWS + 1:
                raise InvalidProblemError(_FILE, _LARGE, "a larger one")
            if out is not None:
                out.write(text.encode())
            if not piece:
                break
    if returns and not lines:
        expected = "lines that end in a line feed; open it in an editor and save it anew"
        raise InvalidProblemError(_FILE, expected, "carriage returns alone")


def _csv(path: Path, mark: str) -> pl.DataFrame:
    with path.open(encoding="utf-8-sig") as file:
        first = file.readline(_PIECE)
    if not first.strip():
        raise InvalidProblemError(_FILE, "the names of the columns in its first line", "none")
    again = repeated(names_in(path, mark))
    refuse_large(path, mark, MOST_MEMORY, _FILE, _FITS)
    refuse_killers(str(path), mark, _FILE, shown=_THIS)
    try:
        table = read(path, mark)
    except reader_errors():
        # What the reader says may quote a row.
        raise _ragged(first_ragged(path, mark), mark) from None
    if again:
        raise InvalidProblemError(_FILE, "different names in its first line; rename one", again)
    _check_shape(table)
    if table.width > 1 and table[:, -1].has_nulls():
        # A row that is too short, or empty, reads as one with missing values.
        found = first_ragged(path, mark)
        if found:
            raise _ragged(found, mark)
    return table


def _ragged(found: str, mark: str) -> InvalidProblemError:
    expected = (
        f"as many cells in each row as in the first line, with {DELIMITERS[mark]} as the delimiter; choose another "
        "delimiter above, or mend the row: close each quote, and double one within a cell"
    )
    return InvalidProblemError(_FILE, expected, found or "a row that cannot be divided into cells")


def _check_shape(table: pl.DataFrame) -> None:
    if not table.height:
        raise InvalidProblemError(_FILE, "rows below the line of names", "none")
    if table.height > MOST_ROWS:
        raise InvalidProblemError(_FILE, _LARGE, "a larger one")
    if table.width > MOST_COLUMNS:
        expected = f"{MOST_COLUMNS} columns or fewer; drop what is not published"
        raise InvalidProblemError(_FILE, expected, table.width)


def _shape(table: pl.DataFrame) -> str:
    rows = "1 row" if table.height == 1 else f"{printed.count(table.height)} rows"
    return f"{rows} and {table.width} column{'' if table.width == 1 else 's'}"
