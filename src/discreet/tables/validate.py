"""What a table must not hold: nested cells, moments beyond the calendar, values that its output cannot hold.

A column is named by its place, and a row by its position.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.tables.columns import columns_at
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

__all__ = ["refuse_nested", "refuse_times", "refuse_unwritable"]

_DAY = {"d": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""A day in each unit of time."""

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The first day of year 1 and the last of year 9999, counted from 1970."""

_MAX_DURATION_DAYS = 999_999_999
"""Days of the longest duration of Python."""


def refuse_nested(table: pl.DataFrame, argument: str, *, show_columns: bool = False) -> None:
    """Refuse columns of lists or of records, whose cells are no values.

    Raises
    ------
    InvalidProblemError
        With their places, or their names where these may be shown.
    """
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    if nested:
        got = columns_at(nested, table.columns, show=show_columns)
        raise refused("cells-nested", argument, got)


def refuse_times(table: pl.DataFrame | pl.LazyFrame, argument: str) -> None:
    """Refuse dates, times and durations beyond those of Python, at which any further step would break off.

    Raises
    ------
    InvalidProblemError
        With the place of the column.
    """
    import polars as pl

    ranges = {pl.Time: (0, 0), pl.Duration: (-_MAX_DURATION_DAYS, _MAX_DURATION_DAYS)}
    lazy = table.lazy()
    for place, (name, kind) in enumerate(lazy.collect_schema().items(), start=1):
        if not kind.is_temporal():
            continue
        # A time zone may move the first and the last day of the calendar out of it.
        margin = int(getattr(kind, "time_zone", None) is not None)
        calendar = (_FIRST_DAY + margin, _LAST_DAY - margin)
        least, most = ranges.get(kind.base_type(), calendar)
        inside = _days(name, kind).is_between(least, most).all()
        if not lazy.select(inside).collect(engine="streaming").item():
            zones = ", with a time zone not on the first or last day of these" if margin else ""
            raise refused("dates-range", argument, f"others in column {place}", zones=zones)


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
    of more than 64 bits.

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

    text = output is not None and Path(output).suffix.lower() == ".csv"
    for place, (name, kind) in enumerate(table.collect_schema().items(), start=1):
        if name in as_text:
            continue
        base = kind.base_type()
        if base in {pl.Int128, pl.UInt128}:
            raise refused("integers-too-long", "TABLE", f"longer ones in column {place}")
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
            raise refused("csv-dates", argument, f"another in row {at + 1} of column {place}")
