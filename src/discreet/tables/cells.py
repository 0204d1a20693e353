"""Cells as they are meant: marks of missing values, numbers in one spelling, and numbers that are hidden in text.

Marks that were typed are missing values wherever they stand, and so for every mechanism. For tables without a budget,
common marks such as NA are recognized besides, in columns whose other cells are numbers or dates; a sentence says so.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.core.printed import plain_digits
from discreet.tables.columns import (
    CODE,
    DATE_SHAPE,
    NUMBER,
    count_of,
    no_column,
    text_columns,
)
from discreet.tables.keys import key_text
from discreet.tables.refusals import warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.tables.options import ReadingOptions

COMMON_MARKS = frozenset(
    [
        "na",
        "n/a",
        "<na>",
        "nan",
        "null",
        "(null)",
        "none",
        "nil",
        "nat",
        "#n/a",
        "#null!",
        "#value!",
        "#div/0!",
        "\\n",
        "-",
        "--",
        "----",
        "?",
        ".",
        "..",
        ":",
        "missing",
        "unknown",
        "unk",
        "n.a.",
        "n.d.",
        "not_available",
    ]
)
"""Marks of missing values that R, Python, SQL, Excel, SAS, Stata and Eurostat write, in lower case."""

_THOUSANDS = {
    ",": (
        r"^\s*[+-]?(?:\d{1,3}(?:[.'\x{2019}\x{a0}\x{202f} ]\d{3})+|\d+)(?:,\d*)?(?:[eE][+-]?\d+)?-?\s*$",
        r"[.'\x{2019}\x{a0}\x{202f}\s]",
    ),
    ".": (
        r"^\s*[+-]?(?:\d{1,3}(?:[,'\x{2019}\x{a0}\x{202f} ]\d{3})+|\d+)(?:\.\d*)?(?:[eE][+-]?\d+)?-?\s*$",
        r"[,'\x{2019}\x{a0}\x{202f}\s]",
    ),
}
"""Decimal mark -> numbers that are written with it, and what separates thousands."""


def read_cells(
    table: pl.DataFrame, options: ReadingOptions, *, row_by_row: bool = False
) -> pl.DataFrame:
    """Apply the decimal mark and the marks of missing values of some options.

    Returns the table with the changed columns; one pass for each column that an option concerns.

    Parameters
    ----------
    table
        Rows as a file has them.
    options
        How they are read.
    row_by_row
        Whether each cell is read by itself, as mechanisms that spend budget need it; otherwise a decimal mark counts
        in columns of numbers alone.

    Raises
    ------
    InvalidProblemError
        For a mark of a column that is not there.

    Examples
    --------
    >>> import polars as pl
    >>> from discreet.tables.options import ReadingOptions
    >>> options = ReadingOptions.of(decimal=",", missing="-9")
    >>> read_cells(pl.DataFrame({"cm": ["1.299,5", "-9.0"], "ill": ["-9", "no"]}), options).rows()
    [('1299.5', None), (None, 'no')]
    """
    import polars as pl

    for name, _ in options.missing_by_column:
        if name not in table.columns:
            raise no_column("missing", name, table.columns)
    made: list[pl.Series] = []
    for series in table:
        marks = {*options.missing, *(m for n, m in options.missing_by_column if n == series.name)}
        column = series
        if marks:
            column = _without(column, marks, options.decimal)
        if options.decimal and column.dtype == pl.String:
            column = _plain_numbers(column, options.decimal, each=row_by_row)
        if column is not series:
            made.append(column)
    return table.with_columns(made) if made else table


def _without(series: pl.Series, marks: set[str], decimal: str) -> pl.Series:
    """Return the series with cells that equal one of `marks`, as text or number, as missing.

    With the mark ``,`` as `decimal`, a comma in a mark is a point, too. Lists, records and bytes stay as they are.
    Linear.
    """
    import polars as pl

    keys = {key_text(mark.strip()) for mark in marks}
    if decimal == ",":
        keys |= {mark.replace(",", ".") for mark in keys}
    if series.dtype.is_nested() or series.dtype == pl.Binary:
        return series
    if series.dtype.is_numeric():
        numbers = [number for mark in keys if (number := _number(mark)) is not None]
        hit = series.cast(pl.Float64).is_in([float(one) for one in numbers])
    else:
        text = series.cast(pl.String).str.strip_chars()
        hit = text.str.replace(r"^(-?\d+)\.0+$", "$1").is_in(sorted({*keys, *marks}))
    return series.zip_with(
        ~hit.fill_null(value=False), pl.Series(series.name, [None], series.dtype)
    )


def _number(text: str) -> Decimal | None:
    """Read a finite decimal number, or ``None``."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _plain_numbers(cells: pl.Series, decimal: str, *, each: bool) -> pl.Series:
    """Return texts with their numbers without thousands marks, a point as decimal mark and the sign in front.

    `decimal` is the mark that the cells have. With `each` all other texts stay as they are; without it, one other
    text leaves the whole column as it is.
    """
    import polars as pl

    written, thousands = _THOUSANDS[decimal]
    fits = cells.str.contains(written)
    present = cells.is_not_null() & (cells.str.strip_chars() != "")
    if not each and not (fits | ~present).fill_null(value=True).all():
        return cells
    plain = cells.str.replace_all(thousands, "").str.replace(decimal, ".", literal=True)
    # Accounts write the sign behind the number.
    plain = plain.str.replace(r"^(.+)-$", "-$1")
    return cells.zip_with(~fits.fill_null(value=False), plain).cast(pl.String)


def recognize_missing(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    names: Sequence[str],
) -> tuple[Any, list[str]]:
    """Read common marks of missing values as missing in columns whose other cells are numbers or dates.

    One pass for each column of text among `names`; other columns stay as they are. Marks are compared without case.

    Parameters
    ----------
    table
        A dataframe.
    names
        Columns that are looked at.

    Returns
    -------
    table
        The dataframe, of the same kind.
    notices : list of str
        Sentences for the curator: marks that were read as missing, and marks in columns of text, which count as values.

    Examples
    --------
    >>> import polars as pl
    >>> table, notices = recognize_missing(pl.DataFrame({"age": ["30", "NA"], "sex": ["F", "NA"]}), ["age", "sex"])
    >>> table.rows()
    [('30', 'F'), (None, 'NA')]
    >>> notices[0]
    '1 cell of age that says NA is read as missing [missing-read]'
    """
    import polars as pl

    frame = nw.from_native(table, eager_only=True)
    notices, made = [], {}
    for name, cells in text_columns(table, names):
        plain = cells.str.strip_chars()
        marked = plain.str.to_lowercase().is_in(COMMON_MARKS).fill_null(value=False)
        if not marked.any():
            continue
        labels = sorted(plain.filter(marked).unique().to_list())
        words = {
            "cells": count_of(int(marked.sum()), "cell"),
            "name": name,
            "marks": " or ".join(labels),
        }
        rest = plain.filter(~marked & plain.is_not_null() & (plain != ""))
        if len(rest) and (rest.str.contains(NUMBER) | rest.str.contains(DATE_SHAPE)).all():
            says = "that says" if int(marked.sum()) == 1 else "that say"
            verb = "is" if int(marked.sum()) == 1 else "are"
            notices.append(warning("missing-read", **words, says=says, verb=verb))
            made[name] = cells.zip_with(~marked, pl.Series([None], dtype=pl.String))
        else:
            notices.append(warning("missing-unread", **words))
    return (replaced(frame, made) if made else table), notices


def replaced(frame: Any, made: dict[str, pl.Series]) -> Any:  # noqa: ANN401 - a frame of Narwhals
    """Return a frame of the same library with some columns replaced, each with the type of its new series.

    Rows get positions from 0 in pandas: its index is dropped.

    `made` are the new columns by name; linear in their cells, which pass through a list.
    """
    backend = frame.implementation
    types = {name: nw.from_native(cells, series_only=True).dtype for name, cells in made.items()}
    plain = nw.maybe_reset_index(frame)
    return plain.with_columns(
        nw.new_series(name, cells.to_list(), types[name], backend=backend)
        for name, cells in made.items()
    ).to_native()


def by_meaning(table: Any, names: Sequence[str]) -> Any:  # noqa: ANN401 - a dataframe of any library, or a lazy frame of Polars
    """Return the table with equal numbers of columns `names` written alike, and cells that are blank or NaN as missing.

    The result is of the library of `table`; a lazy frame of Polars stays lazy. Each cell by itself; text with a zero
    in front is a code, and no number. Names of no column are passed over. Linear.
    """
    import polars as pl

    frame = nw.from_native(table)
    kinds = frame.collect_schema()
    floats = [name for name in names if name in kinds and kinds[name].is_float()]
    if floats:
        # Polars takes x + 0.0 for x, and so does not make 0.0 of -0.0.
        frame = frame.with_columns(
            nw.when(nw.col(name) == 0)
            .then(nw.lit(0.0))
            .otherwise(nw.col(name).fill_nan(None))
            .alias(name)
            for name in floats
        )
    if isinstance(frame, nw.LazyFrame):
        texts = [name for name in names if name in kinds and kinds[name] == nw.String]
        alike = [pl.col(name).map_batches(_alike, pl.String, is_elementwise=True) for name in texts]
        return frame.to_native().with_columns(alike)
    made = {name: _alike(cells) for name, cells in text_columns(frame.to_native(), names)}
    return replaced(frame, made) if made else frame.to_native()


def _alike(cells: pl.Series) -> pl.Series:
    """Return texts in which equal numbers have one spelling, and blank cells are null; by distinct values."""
    import polars as pl

    values = cells.drop_nulls().unique()
    numbers = values.str.contains(NUMBER) & ~values.str.contains(CODE) & values.str.contains(r"\d")
    listed = values.to_list()
    plain = [
        _canonical(value) if number else (value if value.strip() else None)
        for value, number in zip(listed, numbers.to_list(), strict=True)
    ]
    if plain == listed:
        return cells
    return cells.replace_strict(values, plain, default=None, return_dtype=pl.String)


def _canonical(text: str, *, max_digits: int = 40) -> str:
    """Write a number in digits, without a plus, an exponent or needless zeros; other text is stripped of blanks.

    A number beyond `max_digits` digits before or after the point keeps an exponent.
    """
    number = _number(text)
    if number is None:
        return text.strip()
    if abs(number.adjusted()) > max_digits:
        return str(number.normalize())
    plain = plain_digits(number)
    return "0" if plain in {"-0", "0"} else plain
