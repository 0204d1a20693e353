"""What is typed about the columns of microdata: their names, kinds, weights and bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import Attribute, Categorical, Numeric, Taxonomy
from discreet.tables.columns import holds_numbers, is_prose, no_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from discreet.core.tree import Tree

__all__ = [
    "Columns",
    "Kinds",
    "attributes_of",
    "names_of",
    "pairs_of",
    "prose_among",
    "refuse_prose",
]

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
    show_columns: bool = False

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

    Columns of numbers are numeric by default; in a CSV file, a column where each cell that is not empty is a
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
            raise no_column("--quasi", name, table.columns, show=kinds.show_columns)
    made: list[Attribute] = []
    for name in quasi:
        weight = weights.get(name, 1.0)
        if name in taxonomies:
            made.append(Taxonomy(name, _taxonomy(taxonomies[name]), weight))
        elif name in categorical:
            made.append(Categorical(name, weight))
        elif name in numeric or name in bounds or holds_numbers(table[name]):
            made.append(Numeric(name, weight, *bounds.get(name, (None, None))))
        else:
            made.append(Categorical(name, weight))
    return tuple(made)


def _taxonomy(path: str) -> Tree:
    from discreet.tables.taxonomies import read_taxonomy

    try:
        return read_taxonomy(path)
    except InvalidProblemError as error:
        raise InvalidProblemError("--taxonomy", error.expected, error.got) from None


def _check_known(option: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InvalidProblemError(option, "columns of --quasi", repr(name))


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
