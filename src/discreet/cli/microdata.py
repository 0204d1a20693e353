"""Read microdata, and what people say about its columns. No message holds a value: columns and positions only."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, final

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

__all__ = ["Columns", "Kinds", "attributes_of", "names_of", "pairs_of", "read_rows", "separator_of"]

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
        The file. CSV may be separated by commas, semicolons or tabs, and start with a byte-order mark.
    argument
        The argument that named it.

    Raises
    ------
    InvalidProblemError
        For a file that cannot be read, of another kind, or without rows. The message holds nothing of the rows.
    """
    import polars as pl

    where = Path(path)
    kind = where.suffix.lower()
    if kind not in (".csv", ".tsv", ".parquet"):
        raise InvalidProblemError(
            argument, "a file that ends in .csv, .tsv or .parquet", repr(path)
        )
    try:
        if kind == ".parquet":
            table = pl.read_parquet(where)
        else:
            table = pl.read_csv(where, separator=separator_of(where), infer_schema=False)
    except OSError as error:
        got = f"{path}: {error.strerror or 'it cannot be opened'}"
        raise InvalidProblemError(argument, "a file that can be read", got) from None
    except pl.exceptions.NoDataError:
        raise InvalidProblemError(argument, "a table with rows", f"{path} without any") from None
    except (pl.exceptions.PolarsError, UnicodeDecodeError, csv.Error):
        # What the reader says may quote a row.
        expected = "a table in UTF-8 with as many cells in each row as in the first"
        raise InvalidProblemError(argument, expected, path) from None
    if not table.height:
        raise InvalidProblemError(argument, "a table with rows", f"{path} without any")
    return table


def separator_of(path: Path) -> str:
    """Find what separates the names in the first line of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = file.readline()
    marks = {mark: len(next(csv.reader([head], delimiter=mark), [])) for mark in ",;\t"}
    return max(marks, key=lambda mark: marks[mark])


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
    from discreet.kanonymity.taxonomies import read_taxonomy

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
    _check_known("--quasi", quasi, table.columns)
    made: list[Attribute] = []
    for name in quasi:
        weight = weights.get(name, 1.0)
        if name in taxonomies:
            made.append(Taxonomy(name, read_taxonomy(taxonomies[name]), weight))
        elif name in categorical:
            made.append(Categorical(name, weight))
        elif name in numeric or name in bounds or _is_numeric(table[name]):
            made.append(Numeric(name, weight, *bounds.get(name, (None, None))))
        else:
            made.append(Categorical(name, weight))
    return tuple(made)


def _check_known(option: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            what = "columns of the table" if option == "--quasi" else "columns of --quasi"
            raise InvalidProblemError(option, what, repr(name))


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
