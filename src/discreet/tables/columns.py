"""Columns: how messages call them, which hold numbers, names or free text, and their numbers.

Messages name a column as it was typed, or by its position.

A file whose line of names is missing has cells of a person there. So a name that nobody typed is printed by the
curator's commands alone, and only where ``--show-columns`` asks for it, or as the nearest to one that was typed.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import printed
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.errors import InvalidProblemError

NUMBER = (
    r"^\s*[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[iI]nf(?:inity)?|INF|NaN|nan|NAN)\s*$"
)
"""A number as programs write it; infinite ones are refused where numbers are read, and NaN is a missing value."""

CODE = r"^\s*[+-]?0\d"
"""A zero in front makes it a code such as a postal one, which is no number."""

_MARKED = r"[,'\u2019]|\d\.\d{3}\.\d{3}"
_WITH_MARKS = r"^[+-]?(?:(?:\d+|\d{1,3}(?:[.,'\u2019 \u00a0\u202f]\d{3})+)(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?$"
"""Numbers as people write them, and what no program takes in them."""

DATE_SHAPE = (
    r"^\s*(?:\d{4}[-/.]?\d{1,2}[-/.]?\d{1,2}|\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?(?:\d{4}|\d{2})|\d{4}[-/]\d{1,2}"
    r"|\d{1,2}[. -]?[A-Za-z]{3,9}\.?[ -]?(?:\d{4}|\d{2})|[A-Za-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})"
    r"(?:[T ]\d{1,2}:\d{2}.*)?\s*$"
)
"""The shape of a date; whether it is one is decided where dates are read."""

_UNIT = (
    r"^\s*(?:[$€£¥]\s?[\d.,]+[kKmM]?|[+-]?[\d.,]+\s?(?:%|€|\$|£|¥|°C?|kg|g|mg|lbs?|cm|mm|m|km|ft|in|years?|yrs?|y|months?|mo"
    r"|weeks?|wk|days?|d|hours?|hrs?|h|minutes?|min|seconds?|sec|s|USD|EUR)|\d{1,3}:\d{2}(?::\d{2}(?:\.\d+)?)?"
    r"(?:\s?[AaPp]\.?[Mm]\.?)?|P(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?|\d+ days?,? \d{1,2}:\d{2}:\d{2}.*)\s*$"
)
"""A number with a unit, a time of the day or a duration."""

_PUBLISHED = r"^(?:\[.+, .+[\])]|.*\|.*|[^\s*]*\*+|\d{4}-Q[1-4]|\d{4} to \d{4})$"
"""A published cell: an interval, a set, a prefix, a span of the calendar, or anything."""


def no_column(
    option: str,
    name: str,
    columns: Sequence[str],
    *,
    show: bool | None = None,
    max_compared: int = 10_000,
) -> InvalidProblemError:
    """Return the error for a name that no column has, with the nearest name.

    Parameters
    ----------
    option
        What named it.
    name
        What was typed.
    columns
        The columns of the table. The message has the one nearest to `name`, if one is near.
    show
        Whether the message has all names; ``None`` where the command has no ``--show-columns``.
    max_compared
        Number of the first names that are compared with what was typed.

    Examples
    --------
    >>> str(no_column("--quasi", "aeg", ["age", "sex"]))
    "--quasi: expected columns of the table, whose first line holds their names, got 'aeg'; did you mean 'age'?"
    >>> print(no_column("--quasi", "zip", ["age", "sex"], show=True).got)
    'zip'; the table has 'age', 'sex'
    """
    which = ", whose first line holds their names"
    if len(columns) == 1:
        which = "; only one was found, so separate its cells by commas"
    typed: object = name
    got = repr(name) if isinstance(typed, str) else type(typed).__name__
    if show:
        got += f"; the table has {', '.join(map(repr, columns))}"
    elif isinstance(typed, str):
        near = get_close_matches(name, islice(columns, max_compared), 1)
        got += f"; did you mean {near[0]!r}?" if near else ""
        which += " (--show-columns lists them)" if show is not None else ""
    return refused("column-unknown", option, got, which=which)


def columns_at(names: Iterable[str], columns: Sequence[str], *, show: bool = False) -> str:
    """Format the positions of columns `names` among `columns`, counted from 1, or with `show` their names.

    At most five positions are listed, and all names. Names that are no column are passed over.

    Examples
    --------
    >>> columns_at(["zip"], ["age", "sex", "zip"]), columns_at(["age", "zip"], ["age", "sex", "zip"])
    ('column 3', 'columns 1, 3')
    >>> columns_at(["zip"], ["age", "sex", "zip"], show=True)
    'zip'
    """
    chosen = set(names)
    places = [place for place, name in enumerate(columns, start=1) if name in chosen]
    if show:
        return ", ".join(columns[place - 1] for place in places)
    return f"column{'' if len(places) == 1 else 's'} {printed.first_of(places, 5)}"


def is_prose(cells: pl.Series, *, max_rows: int = 20_000) -> bool:
    """Return whether most cells have three words or more, and at least half as many values differ as there are cells.

    Fewer than four different values are no prose.

    Parameters
    ----------
    cells
        Text; missing and empty cells do not count.
    max_rows
        Number of the first rows that are looked at.

    Examples
    --------
    >>> import polars as pl
    >>> is_prose(pl.Series([f"came in at {hour} with a cough" for hour in range(9)]))
    True
    >>> is_prose(pl.Series(["New York City", "Salt Lake City"] * 9))
    False
    """
    full = cells.head(max_rows).drop_nulls().str.strip_chars()
    full = full.filter(full != "")
    if full.n_unique() < max(4, len(full) // 2):
        return False
    return bool((full.str.count_matches(r"\s+") >= 2).sum() > len(full) / 2)


def holds_numbers(column: pl.Series) -> bool:
    """Return whether a column holds numbers: by its type, or as :func:`text_holds_numbers` tests it.

    Examples
    --------
    >>> import polars as pl
    >>> holds_numbers(pl.Series(["30", "4e1", ""])), holds_numbers(pl.Series(["00100", "1"]))
    (True, False)
    """
    import narwhals as nw

    known = nw.from_native(column, series_only=True)
    return column.dtype.is_numeric() or text_holds_numbers(known)


def text_holds_numbers(series: Any) -> bool:  # noqa: ANN401 - a series of Narwhals
    """Test whether a column of any library is text whose cells that are not empty are numbers; linear.

    Text with a zero in front, such as a postal code, is no number. A column of another type gives False.
    """
    import narwhals as nw

    cells = series.drop_nulls() if series.dtype == nw.String else None
    if cells is None:
        return False
    cells = cells.filter(cells.str.strip_chars() != "")
    numbers = cells.str.contains(NUMBER) & ~cells.str.contains(CODE)
    return bool(numbers.all() and cells.str.contains(r"\d").any())


def present_in(column: pl.Series) -> list[object]:
    """List the different values of a column in the order of their first rows, without missing and blank ones.

    Examples
    --------
    >>> import polars as pl
    >>> present_in(pl.Series(["b", " ", None, "a", "b"]))
    ['b', 'a']
    """
    unique = column.drop_nulls().unique(maintain_order=True)
    return [value for value in unique.to_list() if not isinstance(value, str) or value.strip()]


def has_commas_in_numbers(column: pl.Series) -> bool:
    """Test whether a column is text of which each cell is a number, some with marks that programs do not take.

    Commas for decimals, and commas, points, apostrophes or blanks before three digits for thousands. Blanks alone are
    no such mark, since codes such as 110 001 have them.

    Missing and empty cells do not count; without others the result is False.

    Examples
    --------
    >>> import polars as pl
    >>> [has_commas_in_numbers(pl.Series(cells)) for cells in (["1,85", "2", None], ["1,000,000"], ["1.85", "2"])]
    [True, True, False]
    >>> [has_commas_in_numbers(pl.Series([cell])) for cell in ("1.299,99", "1'299.50", "1.299.000", "110 001", "1.299")]
    [True, True, True, False, False]
    """
    import polars as pl

    if column.dtype != pl.String:
        return False
    cells = column.drop_nulls().str.strip_chars()
    cells = cells.filter(cells != "")
    if not len(cells) or not cells.str.contains(_MARKED).any():
        return False
    return bool(cells.str.contains(_WITH_MARKS).all())


def text_columns(table: Any, names: Sequence[str]) -> Iterator[tuple[str, pl.Series]]:  # noqa: ANN401 - a dataframe of any library
    """Yield the columns of text among `names` as pairs of a name and a series of Polars; others are passed over.

    Each column is converted when it is reached, once.
    """
    import narwhals as nw
    import polars as pl

    frame = nw.from_native(table, eager_only=True)
    for name in dict.fromkeys(names):
        if name in frame.columns and frame[name].dtype == nw.String:
            yield name, pl.Series(frame[name].to_polars())


def plain_names(names: Sequence[str]) -> dict[str, str]:
    """Map each name with blanks at an end to the name without them; empty if two names would become equal or one empty.

    Examples
    --------
    >>> plain_names(["age", " sex "]), plain_names(["a", " a"])
    ({' sex ': 'sex'}, {})
    """
    plain = [name.strip() for name in names]
    if len(set(plain)) < len(plain) or "" in plain:
        return {}
    return {name: new for name, new in zip(names, plain, strict=True) if name != new}


def count_of(number: int, noun: str) -> str:
    """Format a number of things, with a plural s unless there is one.

    Examples
    --------
    >>> count_of(1, "cell"), count_of(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{printed.count(number)} {noun}{'' if number == 1 else 's'}"


def half_numeric(table: Any, names: Sequence[str], field: str) -> Iterator[InvalidProblemError]:  # noqa: ANN401 - a dataframe of any library
    """Yield a refusal for each of the columns of which half the cells or more, but not all, are numbers or dates.

    Such a column would be published as sets of exact values. So would numbers with a unit, durations and times of the
    day. Codes with a zero in front, and cells as they are published, make a column one of text.

    One pass over each column of text among `names`; `field` is the argument in the message.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": ["30", "41", "90+", None], "share": ["10%", "20%", "5%", None]})
    >>> [(each.code, each.got) for each in half_numeric(table, ["age", "share"], "table")]
    [('half-numbers', '1 other cell in age, in row 3'), ('number-units', 'numbers with a unit in share')]
    """
    for name, cells in text_columns(table, names):
        present = (cells.str.strip_chars() != "").fill_null(value=False)
        number = cells.str.contains(NUMBER)
        date = cells.str.contains(DATE_SHAPE)
        fits = ((number | date).fill_null(value=False)) & present
        misfits = present & ~fits
        total, wrong = int(present.sum()), int(misfits.sum())
        if not total or (cells.str.contains(CODE) & number).any():
            continue
        units = cells.str.contains(_UNIT).fill_null(value=False) & present & ~fits
        if 2 * int((units | fits).sum()) >= total and 2 * int(units.sum()) >= total:
            yield refused("number-units", field, f"numbers with a unit in {name}", name=name)
            continue
        if not wrong or 2 * wrong > total or cells.filter(misfits).str.contains(_PUBLISHED).all():
            continue
        rows = (misfits.arg_true().head(printed.MAX_LISTED + 1) + 1).to_list()
        where = f"in row{'' if len(rows) == 1 else 's'} {printed.first_of(rows)}"
        yield refused(
            "half-numbers", field, f"{count_of(wrong, 'other cell')} in {name}, {where}", name=name
        )


def unclear_columns(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    names: Sequence[str],
    field: str = "table",
) -> Iterator[InvalidProblemError]:
    """Yield a refusal for each column of text that no attribute makes clear: prose, odd numbers, numbers among others.

    Prose makes nearly every row different, and a number with a comma would be a value of its own, near to no other. A
    pass over each column of `names`; `field` is the argument in the message.
    """
    for name, cells in text_columns(table, names):
        if is_prose(cells):
            yield refused("free-text", field, f"free text in {name}", name=name)
        elif has_commas_in_numbers(cells):
            commas = cells.str.contains(",", literal=True).any()
            marks = "commas" if commas else "marks for thousands"
            yield refused("number-commas", field, f"numbers with {marks} in {name}", name=name)
        else:
            yield from half_numeric(table, [name], field)


def refuse_unclear(table: Any, names: Sequence[str], field: str) -> None:  # noqa: ANN401 - as above
    """Refuse the first of the columns `names` that is free text, or text of numbers with commas, units or other text.

    These are quasi-identifiers of which nothing was stated; see :func:`unclear_columns`.

    Raises
    ------
    InvalidProblemError
        With the name of the column, and `field` for what named it.
    """
    for each in unclear_columns(table, names, field):
        raise each


def columns_of(table: pl.DataFrame, names: Sequence[str], argument: str) -> NDArray[np.float64]:
    """Return columns `names` of finite numbers, ``(rows, columns)`` float64; at least one name is needed.

    Raises
    ------
    InvalidProblemError
        As for :func:`numbers_of`.
    """
    return np.stack([numbers_of(table, name, argument) for name in names], axis=1)


def numbers_of(table: pl.DataFrame, name: str, argument: str) -> NDArray[np.float64]:
    """Return one column of finite numbers as float64 ``(rows,)``; the file is public, so an error may name the row.

    `argument` names the file in messages. Linear.

    Raises
    ------
    InvalidProblemError
        For an unknown column, one that is not of numbers, or a cell that is missing or not finite.
    """
    import polars as pl

    if name not in table.columns:
        known = ", ".join(table.columns)
        raise refused("column-not-there", argument, repr(name), known=known)
    series = table[name]
    if not series.dtype.is_numeric():
        got = str(series.dtype)
        if series.dtype == pl.String:
            got = "numbers with commas" if has_commas_in_numbers(series) else "text"
        raise refused("numbers-as-text", argument, got, name=name)
    values = np.array(series.cast(float).fill_null(float("nan")).to_list(), dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        row = int(wrong[0])
        shown = series[row]
        got = f"{'an empty cell' if shown is None else shown} in row {row + 1}"
        raise refused("numbers-not-finite", argument, got, name=name)
    return values


def labels_of(table: pl.DataFrame, name: str, argument: str) -> list[str]:
    """Return a column of names as a list of text, one for each row.

    The column must be there. Linear.

    Raises
    ------
    InvalidProblemError
        For a column of another type, or a row without a name.

    Examples
    --------
    >>> import polars as pl
    >>> labels_of(pl.DataFrame({"candidate": [1, 2]}), "candidate", "--candidates")
    ['1', '2']
    """
    import polars as pl

    column = table[name]
    refuse_unnamed(column.dtype, name, argument)
    if column.null_count():
        raise refused("label-missing", argument, "an empty cell", name=name)
    return [str(value) for value in column.cast(pl.String).to_list()]


def refuse_unnamed(kind: pl.DataType, name: str, argument: str) -> None:
    """Refuse a column whose cells are no names: lists, records, bytes, times. `kind` is its type.

    Raises
    ------
    InvalidProblemError
        With the name of its type, without its fields and its zone of time, which would be cells of the file.
    """
    import polars as pl

    if not (kind.is_numeric() or kind in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)):
        # Its fields or its zone of time would be cells of the file.
        got = f"a column of {kind.base_type().__name__}"
        raise refused("label-type", argument, got, name=name)
