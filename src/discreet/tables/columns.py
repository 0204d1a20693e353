"""Columns: how messages call them, which hold numbers, names or free text, and their numbers.

Messages call a column by what was typed, or by its place.

A file whose line of names is missing has cells of a person there. So a name that nobody typed is printed by the
curator's commands alone, and only where ``--show-columns`` asks for it, or as the nearest to one that was typed.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from discreet.core.errors import InvalidProblemError

__all__ = [
    "columns_at",
    "columns_of",
    "has_commas_in_numbers",
    "holds_numbers",
    "is_prose",
    "labels_of",
    "no_column",
    "numbers_of",
    "present_in",
    "refuse_unclear",
    "refuse_unnamed",
    "text_holds_numbers",
    "unclear_columns",
]

_NUMBER = (
    r"^\s*[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[iI]nf(?:inity)?|INF|NaN|nan|NAN)\s*$"
)
"""A number as programs write it; infinite ones are refused where numbers are read, and NaN is a missing value."""

_CODE = r"^\s*[+-]?0\d"
"""A zero in front makes it a code such as a postal one, which is no number."""

_MARKED = r"[,'\u2019]|\d\.\d{3}\.\d{3}"
_WITH_MARKS = r"^[+-]?(?:(?:\d+|\d{1,3}(?:[.,'\u2019 \u00a0\u202f]\d{3})+)(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?$"
"""Numbers as people write them, and what no program takes in them."""

_SENTENCES = 20_000
"""Rows by which free text is recognized."""

_COMPARED = 10_000
"""Names that are compared with what was typed, at most."""

_NEAR = 0.6
"""Likeness from which on one name may be a slip for another."""

_LISTED = 5


def no_column(
    option: str, name: str, columns: Sequence[str], *, show: bool | None = None
) -> InvalidProblemError:
    """Say that a table has no column of a name, and what may be the cause.

    Parameters
    ----------
    option
        What named it.
    name
        What was typed.
    columns
        The names that there are. Of these the nearest to `name` is told, if one is near.
    show
        Whether all are told; ``None`` where the command has no ``--show-columns``.

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
    given: object = name
    got = repr(name) if isinstance(given, str) else type(given).__name__
    if show:
        got += f"; the table has {', '.join(map(repr, columns))}"
    elif isinstance(given, str):
        near = get_close_matches(name, islice(columns, _COMPARED), 1, _NEAR)
        got += f"; did you mean {near[0]!r}?" if near else ""
        which += " (--show-columns lists them)" if show is not None else ""
    return refused("column-unknown", option, got, which=which)


def columns_at(names: Iterable[str], columns: Sequence[str], *, show: bool = False) -> str:
    """Call columns by their places, counted from 1, or by their names where these may be shown.

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
    listed = ", ".join(map(str, places[:_LISTED]))
    more = " and more" if len(places) > _LISTED else ""
    return f"column{'' if len(places) == 1 else 's'} {listed}{more}"


def is_prose(cells: pl.Series) -> bool:
    """Say whether most cells have three words or more and most values come once.

    Parameters
    ----------
    cells
        Text; missing and empty cells do not count.

    Examples
    --------
    >>> import polars as pl
    >>> is_prose(pl.Series([f"came in at {hour} with a cough" for hour in range(9)]))
    True
    >>> is_prose(pl.Series(["New York City", "Salt Lake City"] * 9))
    False
    """
    full = cells.head(_SENTENCES).drop_nulls().str.strip_chars()
    full = full.filter(full != "")
    if full.n_unique() < max(4, len(full) // 2):
        return False
    return bool((full.str.count_matches(r"\s+") >= 2).sum() > len(full) / 2)


def holds_numbers(column: pl.Series) -> bool:
    """Say whether a column holds numbers: by its type, or as text of which each cell that is not empty is one.

    Text with a zero in front, such as a postal code, is no number.

    Examples
    --------
    >>> import polars as pl
    >>> holds_numbers(pl.Series(["30", "4e1", ""])), holds_numbers(pl.Series(["00100", "1"]))
    (True, False)
    """
    import polars as pl

    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    cells = column.drop_nulls()
    cells = cells.filter(cells.str.strip_chars() != "")
    if not len(cells):
        return False
    numbers = cells.str.contains(_NUMBER).all() and not cells.str.contains(_CODE).any()
    return bool(numbers and cells.str.contains(r"\d").any())


def text_holds_numbers(series: Any) -> bool:  # noqa: ANN401 - a series of Narwhals
    """Test whether a column of text of any library holds numbers, as :func:`holds_numbers` does."""
    import narwhals as nw

    cells = series.drop_nulls() if series.dtype == nw.String else None
    if cells is None:
        return False
    cells = cells.filter(cells.str.strip_chars() != "")
    numbers = cells.str.contains(_NUMBER) & ~cells.str.contains(_CODE)
    return bool(numbers.all() and cells.str.contains(r"\d").any())


def present_in(column: pl.Series) -> list[object]:
    """List the different values of a column without missing and blank ones.

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


def unclear_columns(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    names: Sequence[str],
    field: str = "table",
) -> Iterator[InvalidProblemError]:
    """Yield a refusal for each column of text that no attribute makes clear.

    Prose makes nearly every row different, and a number with a comma would be a value of its own, near to no other.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"note": [f"came in at {hour} with a cough" for hour in range(9)], "cm": ["1,5"] * 9})
    >>> [(each.code, each.got) for each in unclear_columns(table, ["note", "cm"])]
    [('free-text', 'free text in note'), ('number-commas', 'numbers with commas in cm')]
    """
    import narwhals as nw
    import polars as pl

    frame = nw.from_native(table, eager_only=True)
    for name in names:
        if name not in frame.columns or frame[name].dtype != nw.String:
            continue
        cells = pl.Series(frame[name].to_polars())
        if is_prose(cells):
            yield refused("free-text", field, f"free text in {name}", name=name)
        elif has_commas_in_numbers(cells):
            commas = cells.str.contains(",", literal=True).any()
            marks = "commas" if commas else "marks for thousands"
            yield refused("number-commas", field, f"numbers with {marks} in {name}", name=name)


def refuse_unclear(table: Any, names: Sequence[str], field: str) -> None:  # noqa: ANN401 - as above
    """Refuse free text and commas in numbers among quasi-identifiers of which nothing was stated.

    Raises
    ------
    InvalidProblemError
        With the name of the column, and `field` for what named it.
    """
    for each in unclear_columns(table, names, field):
        raise each


def columns_of(table: pl.DataFrame, names: Sequence[str], argument: str) -> NDArray[np.float64]:
    """Take columns of finite numbers, ``(rows, columns)``."""
    return np.stack([numbers_of(table, name, argument) for name in names], axis=1)


def numbers_of(table: pl.DataFrame, name: str, argument: str) -> NDArray[np.float64]:
    """Take one column of finite numbers; the file is public, so the row may be named."""
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
        got = f"{'nothing' if shown is None else shown} in row {row + 1}"
        raise refused("numbers-not-finite", argument, got, name=name)
    return values


def labels_of(table: pl.DataFrame, name: str, argument: str) -> list[str]:
    """Take a column of names as text, one in each row.

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
        raise refused("label-missing", argument, "none in one", name=name)
    return [str(value) for value in column.cast(pl.String).to_list()]


def refuse_unnamed(kind: pl.DataType, name: str, argument: str) -> None:
    """Refuse a column whose cells are no names: lists, records, bytes, times.

    Raises
    ------
    InvalidProblemError
        With the name of its type, without its fields and its zone of time, which would be cells of the file.
    """
    import polars as pl

    if not (kind.is_numeric() or kind in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)):
        # Its fields or its zone of time would be cells of the file.
        got = f"one of {kind.base_type().__name__}"
        raise refused("label-type", argument, got, name=name)
