"""Rows of tables that may be private: open, read text and whole numbers, and name rows by position.

No message holds a value of a row. What a library says about a table that it cannot read may quote one, so its words are
not passed on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Table = nw.DataFrame[Any] | nw.LazyFrame[Any]

__all__ = [
    "BAD",
    "GROUPS",
    "LEAF",
    "LISTED",
    "ROW",
    "SIZE",
    "UNIT",
    "collect",
    "name_rows",
    "open_table",
    "rows_where",
    "text_of",
    "whole_of",
]

ROW, LEAF, UNIT, SIZE, BAD, LISTED, GROUPS = (
    f"discreet {name}" for name in ("row", "leaf", "unit", "size", "bad", "listed", "groups")
)
"""Columns of our own: position, lowest region, name of the unit, size, what is wrong, listed region, how many."""

_SUFFIXES = (".csv", ".tsv", ".txt")
_SEPARATORS = ",;\t|"
_FIRST = 1 << 20
_SHOWN = 10
_DIGITS = r"^\s*-?[0-9]{1,15}(\.0*)?\s*$"
_MOST = 10**15


def open_table(given: Any, argument: str, wanted: Sequence[str]) -> Table:  # noqa: ANN401 - any table or path
    """Open a table lazily where it can be, with the columns that are wanted and the position of each row.

    Parameters
    ----------
    given
        A table of any library that Narwhals knows, or the path of a CSV or Parquet file.
    argument
        What the caller calls it.
    wanted
        The columns.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read or is of another kind, something that is no table, or a missing column.
    """
    table: Any
    if isinstance(given, str | Path):
        table = _scan(Path(given), argument)
    else:
        try:
            table = nw.from_native(given)
        except TypeError:
            raise InvalidProblemError(argument, "a table or a path", type(given).__name__) from None
        if isinstance(table, nw.LazyFrame):
            # Only eager tables have an order of rows that Narwhals can count.
            table = collect(table, argument)
        table = table.with_row_index(ROW)
    try:
        names = table.collect_schema().names()
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise _unreadable(error, argument) from None
    for name in wanted:
        if name not in names:
            expected = f"a column of {argument} ({_known(given, names)})"
            raise InvalidProblemError(name, expected, "none of this name")
    opened: Table = table.select(ROW, *wanted)
    return opened


def _known(given: object, names: Sequence[str]) -> str:
    """Name the columns; of a file say only how many, since without a line of names these are cells of its first row."""
    known = [name for name in names if name != ROW]
    if not isinstance(given, str | Path):
        return ", ".join(known)
    return f"{len(known)} name{'' if len(known) == 1 else 's'} in its first line"


def _scan(path: Path, argument: str) -> nw.LazyFrame[Any]:
    kind = path.suffix.lower()
    if kind != ".parquet" and kind not in _SUFFIXES:
        known = ", ".join([*_SUFFIXES, ".parquet"])
        raise InvalidProblemError(argument, f"a file that ends in {known}", repr(str(path)))
    if not path.is_file():
        raise InvalidProblemError(argument, "a file that is there", repr(str(path)))
    try:
        if kind == ".parquet":
            return nw.scan_parquet(str(path), backend="polars", row_index_name=ROW, glob=False)
        # All is text: a code such as 01001 must not become a number.
        return nw.scan_csv(
            str(path),
            backend="polars",
            separator=_separator(path),
            infer_schema=False,
            row_index_name=ROW,
            glob=False,
        )
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise _unreadable(error, argument) from None


def _separator(path: Path) -> str:
    """Take the mark that comes most often between the names in the first line; a comma where none comes."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        line = file.readline(_FIRST)
    # A mark within quotes separates nothing.
    plain = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=plain.count)


def collect(table: Table, argument: str) -> nw.DataFrame[Any]:
    """Compute a lazy table, in a stream where its library can.

    Raises
    ------
    InvalidProblemError
        When the library cannot; only the kind of its error is told.
    """
    if isinstance(table, nw.DataFrame):
        return table
    options: dict[str, Any] = {"engine": "streaming"} if table.implementation.is_polars() else {}
    try:
        return table.collect(**options)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        raise _unreadable(error, argument) from None


def _unreadable(error: Exception, argument: str) -> InvalidProblemError:
    if isinstance(error, ModuleNotFoundError):
        return InvalidProblemError(
            argument, 'an installed polars: pip install "discreet[tables]"', "none"
        )
    return InvalidProblemError(argument, "a table that can be read", type(error).__name__)


def text_of(table: Table, column: str, shown: str) -> nw.Expr:
    """Read a column as text; what is missing is empty.

    Raises
    ------
    InvalidProblemError
        For a column of another type than text and integers: 1 and 1.0 are one region, but two texts.
    """
    dtype = table.collect_schema()[column]
    if not (dtype.is_integer() or dtype in (nw.String, nw.Categorical, nw.Enum)):
        raise InvalidProblemError(shown, "a column of text or integers", f"one of {dtype}")
    return nw.col(column).cast(nw.String).fill_null("")


def whole_of(table: Table, column: str) -> tuple[nw.Expr, nw.Expr]:
    """Read a column of whole numbers, 0 or more.

    Returns
    -------
    numbers : Expr
        The numbers; 0 where there is none.
    fine : Expr
        Whether there is one.

    Raises
    ------
    InvalidProblemError
        For a column of another type than numbers and text.
    """
    dtype, values = table.collect_schema()[column], nw.col(column)
    if dtype == nw.String:
        fine = values.str.contains(_DIGITS).fill_null(value=False)
        plain = values.str.strip_chars().str.replace(r"\.0*$", "")
        numbers = nw.when(fine).then(plain).otherwise(nw.lit("0")).cast(nw.Int64)
    elif dtype.is_integer() or dtype.is_float():
        # In this order: what is infinite has no remainder, and what has one is no integer.
        fine = (values.abs() < _MOST).fill_null(value=False)
        near = nw.when(fine).then(values).otherwise(nw.lit(0))
        fine = fine & (near % 1 == 0)
        numbers = nw.when(fine).then(values).otherwise(nw.lit(0)).cast(nw.Int64)
    else:
        raise InvalidProblemError(column, "a column of whole numbers", f"one of {dtype}")
    fine = fine & (numbers >= 0)
    return nw.when(fine).then(numbers).otherwise(nw.lit(0)).cast(nw.Int64), fine


def rows_where(table: Table, condition: nw.Expr, argument: str, *more: str) -> nw.DataFrame[Any]:
    """Find the first rows that meet a condition: their positions, and further columns."""
    found = table.filter(condition).select(ROW, *more)
    if isinstance(found, nw.LazyFrame):
        return collect(found.sort(ROW).head(_SHOWN + 1), argument)
    return found.sort(ROW).head(_SHOWN + 1)


def name_rows(rows: Iterable[int], *, private: bool = True) -> str:
    """Say where rows are, counted from 1 without the header, and that this is not for everybody.

    Examples
    --------
    >>> name_rows([0, 6])
    'rows 1, 7 (private: this depends on records)'
    """
    at = [str(row + 1) for row in rows]
    text = f"rows {', '.join(at[:_SHOWN])}" if at else ""
    if len(at) > _SHOWN:
        text += " and more"
    return f"{text} (private: this depends on records)".strip() if private else text
