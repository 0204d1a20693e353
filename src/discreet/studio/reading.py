"""Read what was dropped on the page: its format, encoding and delimiter recognized, or a sentence that says what to do.

No message holds a value of the table.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.cli.microdata import Kinds, attributes_of
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import Numeric

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DELIMITERS", "ENCODINGS", "MOST_ROWS", "Column", "Upload", "describe", "read_upload"]

MOST_ROWS = 1_000_000
MOST_COLUMNS = 200

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
_LARGE = (
    f"{MOST_ROWS:,} rows or fewer; a larger one goes through `discreet anonymize FILE -k K --quasi A,B --stream "
    "-o OUT` on the command line"
)
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
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
class Column:
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
    """

    name: str
    numeric: bool
    different: int
    empty: int
    examples: tuple[str, ...]
    free_text: bool


def read_upload(data: bytes, name: str, *, delimiter: str = "", encoding: str = "") -> Upload:
    r"""Read the bytes of a CSV or Parquet file.

    Parameters
    ----------
    data
        The file.
    name
        Its name; ``.parquet`` at its end says what it is.
    delimiter, encoding
        Keys of :data:`DELIMITERS` and :data:`ENCODINGS`; empty to recognize them.

    Raises
    ------
    InvalidProblemError
        With what to do, for a file without rows or with too many, in another encoding or with rows of other lengths.

    Examples
    --------
    >>> read = read_upload(b"age;zip\n30;00100\n40;00100\n", "a.csv")
    >>> read.how, read.table.shape
    ('2 rows and 2 columns, in UTF-8, separated by semicolon.', (2, 2))
    """
    if not data.strip():
        raise InvalidProblemError(_FILE, "a table with a line of names and rows", "an empty file")
    if name.lower().endswith(".parquet") or data[:4] == b"PAR1":
        return _parquet(data)
    text, used = _decoded(data, encoding)
    if text.count("\n") > MOST_ROWS + 1:
        raise InvalidProblemError(_FILE, _LARGE, "a larger one")
    mark = delimiter or _recognized(text)
    if mark not in DELIMITERS:
        raise InvalidProblemError("Delimiter", "one of the list", "another")
    table = _csv(text, mark)
    notices = []
    if table.width == 1:
        notices.append(
            f"Only one column was found with {DELIMITERS[mark]} as the delimiter. If the file has more, choose its "
            "delimiter above and load it again."
        )
    if used not in ("utf-8-sig", "utf-16") and not encoding:
        notices.append(
            f"The file is not in UTF-8; it was read as {ENCODINGS[used]}. If letters look wrong, choose its encoding "
            "above and load it again."
        )
    how = f"{_shape(table)}, in {ENCODINGS[used]}, separated by {DELIMITERS[mark]}."
    return Upload(table, how, tuple(notices))


def describe(table: pl.DataFrame) -> list[Column]:
    """Describe the columns of a table.

    Examples
    --------
    >>> import polars as pl
    >>> describe(pl.DataFrame({"age": ["30", "40", ""]}))[0].numeric
    True
    """
    return [_column(table, name) for name in table.columns]


def _column(table: pl.DataFrame, name: str) -> Column:
    import polars as pl

    series = table[name]
    cells = series.cast(pl.String, strict=False)
    full = cells.drop_nulls()
    full = full.filter(full.str.strip_chars() != "")
    different = full.n_unique()
    numeric = isinstance(attributes_of(table, [name], Kinds())[0], Numeric)
    return Column(
        name,
        numeric,
        different,
        len(cells) - len(full),
        tuple(value[:24] for value in full.head(200).unique(maintain_order=True).head(3).to_list()),
        not numeric and _is_prose(full, different),
    )


def _is_prose(cells: pl.Series, different: int) -> bool:
    """Say whether most cells have three words or more and most values come once."""
    if different < max(4, len(cells) // 2):
        return False
    sample = cells.head(2_000)
    spaces = sample.str.strip_chars().str.count_matches(r"\s+")
    return bool((spaces >= 2).sum() > len(sample) / 2)


def _parquet(data: bytes) -> Upload:
    import polars as pl

    try:
        rows = pl.scan_parquet(io.BytesIO(data)).select(pl.len()).collect().item()
        if rows > MOST_ROWS:
            raise InvalidProblemError(_FILE, _LARGE, "a larger one")
        table = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, OSError):
        expected = "a whole Parquet file, or a CSV file"
        raise InvalidProblemError(_FILE, expected, "one that cannot be read as Parquet") from None
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    if nested:
        expected = "one value in each cell; unpack or drop its nested columns"
        raise InvalidProblemError(_FILE, expected, ", ".join(nested[:5]))
    _check_shape(table)
    return Upload(table, f"{_shape(table)}, Parquet.", ())


def _decoded(data: bytes, encoding: str) -> tuple[str, str]:
    if encoding and encoding not in ENCODINGS:
        raise InvalidProblemError("Encoding", "one of the list", "another")
    tried = (
        [encoding] if encoding else ["utf-16"] if data[:2] in _MARKS else ["utf-8-sig", "cp1252"]
    )
    for one in tried:
        try:
            text = data.decode(one)
        except UnicodeError:
            continue
        if "\0" not in text:
            return text, one
    expected = "text in the encoding that is chosen; choose another one above, or save the table as CSV in UTF-8"
    raise InvalidProblemError(_FILE, expected, "bytes that are no such text")


def _recognized(text: str) -> str:
    """Take the mark that divides the first lines into equally many cells, and into most of them."""
    lines = text[:200_000].splitlines()[:_HEAD]
    best, most = ",", (0.0, 0)
    for mark in ",;\t|":
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=mark) if row]
        except csv.Error:
            continue
        width, times = Counter(widths).most_common(1)[0] if widths else (0, 0)
        score = (times / len(widths) if width > 1 else 0.0, width)
        if score > most:
            best, most = mark, score
    return best


def _csv(text: str, mark: str) -> pl.DataFrame:
    import polars as pl

    try:
        table = pl.read_csv(text.encode(), separator=mark, infer_schema=False)
    except pl.exceptions.NoDataError:
        expected = "a table with a line of names and rows"
        raise InvalidProblemError(_FILE, expected, "one without any") from None
    except pl.exceptions.PolarsError:
        # What the reader says may quote a row.
        expected = (
            f"as many cells in each row as in the first, with {DELIMITERS[mark]} as the delimiter; choose another "
            "delimiter above, or mend the rows"
        )
        raise InvalidProblemError(_FILE, expected, "a row with more") from None
    _check_shape(table)
    return table


def _check_shape(table: pl.DataFrame) -> None:
    if not table.height:
        raise InvalidProblemError(_FILE, "rows below the line of names", "none")
    if table.height > MOST_ROWS:
        raise InvalidProblemError(_FILE, _LARGE, "a larger one")
    if table.width > MOST_COLUMNS:
        expected = f"{MOST_COLUMNS} columns or fewer; drop what is not published"
        raise InvalidProblemError(_FILE, expected, table.width)


def _shape(table: pl.DataFrame) -> str:
    rows = "1 row" if table.height == 1 else f"{table.height:,} rows"
    return f"{rows} and {table.width} column{'' if table.width == 1 else 's'}"
