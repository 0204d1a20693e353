"""Read microdata, and what people say about its columns. No message holds a value: columns and positions only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

from discreet.cli.table_files import look, refuse_rows, why_unreadable
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from discreet.core.tree import Tree

__all__ = [
    "Columns",
    "Kinds",
    "attributes_of",
    "is_prose",
    "names_of",
    "no_column",
    "pairs_of",
    "prose_among",
    "read_rows",
    "refuse_nested",
    "refuse_prose",
]

_NUMBER = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
_CODE = r"^\s*[+-]?0\d"
"""A zero in front makes it a code such as a postal one, which is no number."""

_BOUNDS = re.compile(r"([^:]*):([^:]*)")


@final
@dataclass(frozen=True)
class Kinds:
    """What was typed about columns."""

    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()
    taxonomies: Sequence[str] = ()
    weights: Sequence[str] = ()
    bounds: Sequence[str] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """Files that are read."""
        return tuple(pairs_of(self.taxonomies, "--taxonomy").values())


def names_of(given: Sequence[str] | str | None) -> list[str]:
    """Split names at commas; an option may be given again.

    Examples
    --------
    >>> names_of(["age,sex", "zip"])
    ['age', 'sex', 'zip']
    """
    listed = [given] if isinstance(given, str) else list(given or ())
    return [name.strip() for text in listed for name in text.split(",") if name.strip()]


def pairs_of(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Split ``NAME=VALUE``.

    Examples
    --------
    >>> pairs_of(["age=2"], "--weight")
    {'age': '2'}
    """
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip() or name.strip() in found:
            raise InvalidProblemError(option, "NAME=VALUE, each name once", repr(text))
        found[name.strip()] = value.strip()
    return found


def read_rows(path: str, argument: str) -> pl.DataFrame:
    """Read microdata: a CSV file as text, cell by cell as it stands there, or a Parquet file.

    Parameters
    ----------
    path
        The file. CSV may be separated by commas, semicolons, tabs or bars, and start with a byte-order mark.
    argument
        The argument that named it.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, of another kind or encoding, without rows, or with rows of other lengths. The
        message says what to do, and holds nothing of the rows.
    """
    import polars as pl

    mark = look(path, argument)
    try:
        if mark:
            table = pl.read_csv(path, separator=mark, infer_schema=False, glob=False)
        else:
            table = pl.read_parquet(path, glob=False)
    except pl.exceptions.NoDataError:
        raise InvalidProblemError(argument, "a table with rows", f"{path} without any") from None
    except (pl.exceptions.PolarsError, OSError):
        # What the reader says may quote a row.
        raise why_unreadable(path, mark, argument) from None
    if not table.height:
        raise InvalidProblemError(argument, "a table with rows", f"{path} without any")
    if mark and table.width > 1 and table[:, -1].has_nulls():
        # A row that is too short, or empty, reads as one with missing values.
        refuse_rows(path, mark, argument)
    refuse_nested(table, argument)
    return table


def refuse_nested(table: pl.DataFrame, argument: str) -> None:
    """Refuse columns of lists or of records, whose cells are no values.

    Raises
    ------
    InvalidProblemError
        With their names.
    """
    nested = [name for name, kind in table.schema.items() if kind.is_nested()]
    if nested:
        expected = "one value in each cell; unpack or drop its nested columns"
        raise InvalidProblemError(argument, expected, ", ".join(nested[:5]))


class Columns(Protocol):
    """Columns by name, and their names."""

    @property
    def columns(self) -> list[str]:
        """Names."""
        ...

    def __getitem__(self, name: str) -> pl.Series:
        """Values."""
        ...


def attributes_of(table: Columns, quasi: Sequence[str], kinds: Kinds) -> tuple[Attribute, ...]:
    """Say what kind of column each quasi-identifier is.

    Columns of numbers are numeric unless told otherwise; in a CSV file, a column where each cell that is not empty is a
    number without a zero in front.

    Raises
    ------
    InvalidProblemError
        For a name that is no column or no quasi-identifier, two kinds for one column, or numbers that are none.
    """
    taxonomies = pairs_of(kinds.taxonomies, "--taxonomy")
    weights = {
        name: _number(text, "--weight")
        for name, text in pairs_of(kinds.weights, "--weight").items()
    }
    bounds = {name: _bounds(text) for name, text in pairs_of(kinds.bounds, "--bounds").items()}
    numeric, categorical = names_of(kinds.numeric), names_of(kinds.categorical)
    for option, given in (
        ("--numeric", numeric),
        ("--categorical", categorical),
        ("--taxonomy", taxonomies),
        ("--weight", weights),
        ("--bounds", bounds),
    ):
        _check_known(option, given, quasi)
    for name in quasi:
        told = [name in taxonomies, name in numeric or name in bounds, name in categorical]
        if sum(told) > 1:
            raise InvalidProblemError(name, "one of --taxonomy, --numeric and --categorical", "two")
    for name in quasi:
        if name not in table.columns:
            raise no_column("--quasi", name, len(table.columns))
    made: list[Attribute] = []
    for name in quasi:
        weight = weights.get(name, 1.0)
        if name in taxonomies:
            made.append(Taxonomy(name, _taxonomy(taxonomies[name]), weight))
        elif name in categorical:
            made.append(Categorical(name, weight))
        elif name in numeric or name in bounds or _is_numeric(table[name]):
            made.append(Numeric(name, weight, *bounds.get(name, (None, None))))
        else:
            made.append(Categorical(name, weight))
    return tuple(made)


def _taxonomy(path: str) -> Tree:
    from discreet.kanonymity.taxonomies import read_taxonomy

    try:
        return read_taxonomy(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("--taxonomy", error.expected, error.got) from None


def _check_known(option: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InvalidProblemError(option, "columns of --quasi", repr(name))


def no_column(option: str, name: str, columns: int) -> InvalidProblemError:
    """Say that a table of so many columns has none of a name, and what may be the cause."""
    expected = "columns of the table, whose first line holds their names"
    if columns == 1:
        expected = "columns of the table; only one was found, so separate its cells by commas"
    return InvalidProblemError(option, expected, repr(name))


_SENTENCES = 20_000
"""Rows by which free text is recognized."""


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


def prose_among(table: pl.DataFrame, quasi: Sequence[str], kinds: Kinds) -> list[str]:
    """Name the quasi-identifiers that hold free text, and of which nothing was typed.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"note": [f"came in at {hour} with a cough" for hour in range(9)]})
    >>> prose_among(table, ["note"], Kinds()), prose_among(table, ["note"], Kinds(categorical=["note"]))
    (['note'], [])
    """
    import polars as pl

    typed = {*names_of(kinds.categorical), *pairs_of(kinds.taxonomies, "--taxonomy")}
    return [
        name
        for name in quasi
        if name in table.columns
        and name not in typed
        and table.schema[name] == pl.String
        and is_prose(table[name])
    ]


def _is_numeric(column: pl.Series) -> bool:
    import polars as pl

    if column.dtype != pl.String:
        return column.dtype.is_numeric()
    cells = column.drop_nulls()
    cells = cells.filter(cells.str.strip_chars() != "")
    if not len(cells):
        return False
    return bool(cells.str.contains(_NUMBER).all() and not cells.str.contains(_CODE).any())


def _bounds(text: str) -> tuple[float | None, float | None]:
    found = _BOUNDS.fullmatch(text)
    if found is None:
        raise InvalidProblemError("--bounds", "NAME=LOW:HIGH", repr(text))
    low, high = (None if not end else _number(end, "--bounds") for end in found.groups())
    return low, high


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidProblemError(option, "a number", repr(text)) from None


def refuse_prose(table: pl.DataFrame, quasi: Sequence[str], kinds: Kinds) -> None:
    """Refuse free text among the quasi-identifiers, unless it was said what to make of it.

    Raises
    ------
    InvalidProblemError
        With its name.
    """
    for name in prose_among(table, quasi, kinds):
        expected = (
            f"values that persons share; leave {name} out of the file and of --quasi, or put its values into groups "
            f"with --taxonomy {name}=FILE (or into one set with --categorical {name})"
        )
        raise InvalidProblemError("--quasi", expected, f"free text in {name}")
