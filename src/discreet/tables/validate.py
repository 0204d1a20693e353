"""What a table must not hold: nested cells, moments beyond the calendar, values that its output cannot hold.

A column is named by its place, and a row by its position.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from discreet.core import printed
from discreet.core.extras import require
from discreet.tables.columns import columns_at
from discreet.tables.refusals import refused
from discreet.tables.writing import WRITABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.core.errors import InvalidProblemError

_DAY = {"d": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""A day in each unit of time."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The first day of year 1 and the last of year 9999, counted from 1970."""


def refuse_nested(table: pl.DataFrame, argument: str, *, show_columns: bool = False) -> None:
    """Refuse a table with columns of lists or of records, which a file of cells does not hold.

    Only types are looked at.

    Raises
    ------
    InvalidProblemError
        With their places, or their names with `show_columns`.
    """
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    if nested:
        got = columns_at(nested, table.columns, show=show_columns)
        raise refused("cells-nested", argument, got)


def refuse_times(table: pl.DataFrame | pl.LazyFrame, argument: str) -> None:
    """Refuse dates outside the years 1 to 9999, with a time zone a day less, or times and durations beyond Python's.

    One pass for each column of such a type; missing cells pass, the last nanosecond of 64 bits does not.

    Raises
    ------
    InvalidProblemError
        With the place of the column.
    """
    import polars as pl

    ranges = {pl.Time: (0, 0), pl.Duration: (-dt.timedelta.max.days, dt.timedelta.max.days)}
    lazy = table.lazy()
    for place, (name, kind) in enumerate(lazy.collect_schema().items(), start=1):
        if not kind.is_temporal():
            continue
        # A time zone may move the first and the last day of the calendar out of it.
        margin = int(getattr(kind, "time_zone", None) is not None)
        calendar = (_FIRST_DAY + margin, _LAST_DAY - margin)
        least, most = ranges.get(kind.base_type(), calendar)
        inside = _days(name, kind).is_between(least, most)
        if getattr(kind, "time_unit", "") == "ns":
            # A reader of Spark's INT96 gives the last nanosecond of 64 bits for every later moment.
            inside &= pl.col(name).to_physical() < pl.Int64.max()
        if not lazy.select(inside.all()).collect(engine="streaming").item():
            zones = ", with a time zone not on the first or last day of these" if margin else ""
            raise refused("dates-range", argument, f"other values in column {place}", zones=zones)


def _days(name: str, kind: pl.DataType) -> pl.Expr:
    """Return the day of each moment, counted from 1970, or the whole days of a duration; no unit overflows."""
    import polars as pl

    units: dict[type[pl.DataType], str] = {pl.Date: "d", pl.Time: "ns"}
    unit = units.get(kind.base_type()) or str(getattr(kind, "time_unit", ""))
    return pl.col(name).to_physical().cast(pl.Int64).floordiv(_DAY[unit])


def refuse_unwritable(
    table: pl.LazyFrame, as_text: Sequence[str], output: str | None, argument: str
) -> None:
    """Refuse columns that an output cannot hold.

    A CSV file holds no durations, no bytes, and no moments outside of the years 1 to 9999; no file holds whole numbers
    of more than 64 bits. A workbook and a file of SPSS hold finite numbers of 53 bits, moments of whole milliseconds
    or seconds without a time zone, later dates, and so many rows; SPSS has a rule for names.

    Without `output` or for other endings, integers of 128 bits alone are refused. One pass for each column of dates,
    or for a workbook and SPSS for each column.

    Parameters
    ----------
    table
        The table.
    as_text
        Columns that are written as text, or not at all.
    output
        The file to write, if any.
    argument
        The argument that names it.

    Raises
    ------
    InvalidProblemError
        With the place of the column, and that of a row whose moment is outside.
    """
    import polars as pl

    suffix = "" if output is None else Path(output).suffix.lower()
    if suffix in _FOREIGN:
        _refuse_foreign(table, as_text, _FOREIGN[suffix], argument)
    text = suffix == ".csv"
    for place, (name, kind) in enumerate(table.collect_schema().items(), start=1):
        if name in as_text:
            continue
        base = kind.base_type()
        if base in {pl.Int128, pl.UInt128}:
            raise refused("integers-too-long", "TABLE", f"longer numbers in column {place}")
        if not text:
            continue
        if base in {pl.Duration, pl.Binary, pl.Object}:
            raise refused("csv-type", argument, f"{base.__name__.lower()} in column {place}")
        if base not in {pl.Date, pl.Datetime}:
            continue
        inside = _days(name, kind).is_between(_FIRST_DAY, _LAST_DAY).fill_null(value=True)
        first_outside = table.select(inside.arg_min(), inside.min().alias("all")).collect(
            engine="streaming"
        )
        at, every = first_outside.row(0)
        if every is False:
            raise refused("csv-dates", argument, f"another date in row {at + 1} of column {place}")


def refuse_name(output: str | None, argument: str) -> None:
    """Refuse the name of an output whose ending is no kind of file, or whose kind needs an extra that is not installed.

    ``None`` passes.

    Raises
    ------
    InvalidProblemError
        With the endings that are there.
    """
    suffix = "" if output is None else Path(output).suffix.lower()
    if output is not None and suffix not in WRITABLE:
        *first, last = WRITABLE
        suffixes = f"{', '.join(first)} or {last}"
        raise refused("output-name", argument, repr(output), suffixes=suffixes)
    if suffix in _FOREIGN:
        require("files", argument)


@final
@dataclass(frozen=True)
class _Limits:
    """What a kind of file holds besides what Parquet does."""

    kind: str
    first_day: int
    dates: str
    moment: str
    text: str
    names: str
    name_bytes: int
    rule: str
    ignores_case: bool
    rows: int
    columns: int


_FOREIGN = {
    # Excel takes 1900 for a leap year: only from March on its days are those of the calendar.
    ".xlsx": _Limits(
        "a workbook",
        first_day=-25_508,
        dates="dates from March 1900 on, in whole milliseconds",
        moment="1ms",
        text=r"[\x00-\x08\x0b-\x1f\x{fffe}\x{ffff}]|_x[0-9A-Fa-f]{4}_",
        names=r"[^\x00-\x1f]+",
        name_bytes=255,
        rule="names of columns of at most 255 bytes without control characters",
        ignores_case=False,
        rows=1_048_575,
        columns=16_384,
    ),
    # The calendar of SPSS begins in October 1582.
    ".sav": _Limits(
        "a file of SPSS",
        first_day=-141_427,
        dates="dates from 15 October 1582 on, in whole seconds",
        moment="1s",
        text=r"\x00",
        names=r"(?!(?i:all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with)$)[^\W\d_][\w.$#@]*",
        name_bytes=64,
        rule="names of columns of at most 64 letters, digits and underscores, a letter first, that differ in more than "
        "case",
        ignores_case=True,
        rows=2**31 - 1,
        columns=32_767,
    ),
}


def _refuse_foreign(
    table: pl.LazyFrame, as_text: Sequence[str], limits: _Limits, argument: str
) -> None:
    """Raise InvalidProblemError for a table that a file of another program cannot hold, or would hold otherwise.

    Types, names and sizes are compared with `limits`; columns `as_text` are written as text. One pass for each
    column.
    """
    import polars as pl

    def wrong(form: str, got: str, cure: str = "convert or drop the column") -> InvalidProblemError:
        return refused("file-holds", argument, got, kind=limits.kind, form=form, cure=cure)

    schema = table.collect_schema()
    rows = table.select(pl.len()).collect(engine="streaming").item()
    if rows > limits.rows or len(schema) > limits.columns:
        most = f"{printed.count(limits.rows)} rows and {printed.count(limits.columns)} columns"
        raise wrong(f"at most {most}", "more", "leave some out")
    lower = [name.lower() for name in schema]
    for place, (name, kind) in enumerate(schema.items(), start=1):
        fits = re.fullmatch(limits.names, name) and len(name.encode()) <= limits.name_bytes
        if not fits or (limits.ignores_case and lower.count(name.lower()) > 1):
            raise wrong(limits.rule, f"another in column {place}", "rename the column")
        is_text = kind.base_type() in {pl.String, pl.Categorical, pl.Enum}
        if name in as_text and not is_text:
            continue
        form, odd = _not_held(name, kind, limits)
        if odd is None:
            raise wrong(form, f"{kind.base_type().__name__.lower()} in column {place}")
        if table.select(odd.fill_null(value=False).any()).collect(engine="streaming").item():
            raise wrong(form, f"other values in column {place}")


def _not_held(name: str, kind: pl.DataType, limits: _Limits) -> tuple[str, pl.Expr | None]:
    """Return the form that cells of a column must have in a file, and an expression for cells of another form.

    ``None`` in its place means that no cell of this type can be held. `limits` are those of the kind of file.
    """
    import polars as pl

    base, column = kind.base_type(), pl.col(name)
    if base in {pl.String, pl.Categorical, pl.Enum}:
        odd = column.cast(pl.String).str.contains(limits.text)
        return "text without control characters", odd
    if base in {pl.Duration, pl.Binary, pl.Object} or getattr(kind, "time_zone", None):
        return "no bytes, no durations and no time zones", None
    if kind.is_integer():
        return "whole numbers of at most 53 bits", column.cast(pl.Int128).abs() >= 2**53
    if kind.is_float():
        return "finite numbers", column.is_infinite()
    if base not in {pl.Date, pl.Datetime}:
        return "", pl.lit(value=False)
    odd = _days(name, kind) < limits.first_day
    if base == pl.Datetime:
        odd |= column.dt.truncate(limits.moment) != column
    return limits.dates, odd
