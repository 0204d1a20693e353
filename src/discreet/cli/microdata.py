"""What is typed about the columns of microdata: their names, kinds, weights and bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol, final

from discreet.core.dates import FORMATS, resolved_format
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.problem import (
    Attribute,
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Rounded,
    Taxonomy,
)
from discreet.tables.columns import holds_numbers, no_column, present_in
from discreet.tables.looks import look_at
from discreet.tables.options import split_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from discreet.core.tree import Tree

__all__ = [
    "Columns",
    "Kinds",
    "attributes_of",
    "demanded",
    "names_of",
    "pairs_of",
    "unstated",
    "with_orders",
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
    prefixes: Sequence[str] = ()
    dates: Sequence[str] = ()
    rounded: Sequence[str] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """Files that are read."""
        return tuple(pairs_of(self.taxonomies, "--taxonomy").values())


def names_of(given: Sequence[str] | str | None) -> list[str]:
    """Split names at commas, quoted ones as in CSV; an option may be given again.

    Examples
    --------
    >>> names_of(["age,sex", "zip"])
    ['age', 'sex', 'zip']
    """
    listed = [given] if isinstance(given, str) else list(given or ())
    return [name for text in listed for name in split_names(text)]


def demanded(sensitive: Sequence[str] | None, **short: str | int | None) -> tuple[str, ...]:
    """Write the short forms, each for all sensitive columns, as ``--require`` takes them.

    Raises
    ------
    InvalidProblemError
        When something is required of sensitive columns and there are none.

    Examples
    --------
    >>> demanded(["disease"], distinct=3, closeness=None, alpha="1/2")
    ('disease=distinct:3', 'disease=alpha:1/2')
    """
    names = names_of(sensitive)
    models = [f"{kind}:{value}" for kind, value in short.items() if value is not None]
    if models and not names:
        expected = "columns, with --l-diversity, --t-closeness or --alpha"
        raise InvalidProblemError("--sensitive", expected, "none")
    return tuple(f"{name}={model}" for name in names for model in models)


def with_orders(required: Sequence[str], orders: Sequence[str]) -> list[str]:
    """Add the stated order of a column of text to its demands of ordered closeness.

    Raises
    ------
    InvalidProblemError
        For an order of a column without such a demand.

    Examples
    --------
    >>> with_orders(["severity=ordered-closeness:0.2"], ["severity=none,mild,severe"])
    ['severity=ordered-closeness:0.2,none<mild<severe']
    """
    stated = pairs_of(orders, "--order")
    demands = []
    for text in required:
        name, _, model = text.rpartition("=")
        if name.strip() in stated and model.startswith("ordered-closeness:") and "," not in model:
            order = "<".join(names_of(stated.pop(name.strip())))
            demands.append(f"{text},{order}")
        else:
            demands.append(text)
    if stated:
        expected = "columns that --require asks for ordered-closeness of"
        raise InvalidProblemError("--order", expected, repr(next(iter(stated))))
    return demands


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
    stated = _stated(kinds)
    weights = {
        name: _number(text, "--weight")
        for name, text in pairs_of(kinds.weights, "--weight").items()
    }
    for option, given in (*stated.items(), ("--weight", weights)):
        _check_known(option, given, quasi)
    for name in quasi:
        told = {option for option, given in stated.items() if name in given}
        # Bounds are of numbers.
        if len(told - {"--bounds"} | ({"--numeric"} if "--bounds" in told else set())) > 1:
            expected = "one of --taxonomy, --numeric, --categorical, --prefix, --date and --round"
            raise InvalidProblemError(name, expected, "two")
        if name not in table.columns:
            raise no_column("--quasi", name, table.columns, show=kinds.show_columns)
    return tuple(_attribute(table, name, weights.get(name, 1.0), stated) for name in quasi)


def _stated(kinds: Kinds) -> dict[str, dict[str, Any]]:
    """Read what each option says of which column."""
    rounded = pairs_of(kinds.rounded, "--round")
    bounds = pairs_of(kinds.bounds, "--bounds")
    return {
        "--taxonomy": dict(pairs_of(kinds.taxonomies, "--taxonomy")),
        "--categorical": dict.fromkeys(names_of(kinds.categorical)),
        "--prefix": dict(_prefixes(kinds.prefixes)),
        "--round": {
            name: [part.strip() for part in text.split(",")] for name, text in rounded.items()
        },
        "--date": dict(_dates(kinds.dates)),
        "--numeric": dict.fromkeys(names_of(kinds.numeric)),
        "--bounds": {name: _bounds(text) for name, text in bounds.items()},
    }


def _attribute(
    table: Columns, name: str, weight: float, stated: dict[str, dict[str, Any]]
) -> Attribute:
    """Make the attribute of one column: as it was typed, or by what it holds."""
    option = next((option for option, given in stated.items() if name in given), "")
    said: Any = stated[option][name] if option else None
    match option:
        case "--taxonomy":
            return Taxonomy(name, _taxonomy(said), weight)
        case "--categorical":
            return Categorical(name, weight)
        case "--prefix":
            return Prefixes(name, weight, said)
        case "--round":
            return Rounded(name, weight, tuple(said))
        case "--date":
            return _checked_date(table, name, Dates(name, weight, *said))
        case "--numeric" | "--bounds":
            return Numeric(name, weight, *stated["--bounds"].get(name, (None, None)))
    if _looks_like_dates(table, name):
        return _checked_date(table, name, Dates(name, weight))
    return Numeric(name, weight) if holds_numbers(table[name]) else Categorical(name, weight)


def _prefixes(given: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Read ``NAME`` and ``NAME=3,2``, the lengths of prefixes.

    Examples
    --------
    >>> _prefixes(["zip,icd", "plz=3,2"])
    {'zip': (), 'icd': (), 'plz': (3, 2)}
    """
    found: dict[str, tuple[int, ...]] = {}
    for text in given:
        if "=" not in text:
            found |= dict.fromkeys(names_of(text), ())
            continue
        for name, lengths in pairs_of([text], "--prefix").items():
            parts = [part.strip() for part in lengths.split(",")]
            if not all(part.isdecimal() and 0 < int(part) < 100 for part in parts):
                raise InvalidProblemError("--prefix", "NAME, or NAME=LENGTH,LENGTH", repr(text))
            found[name] = tuple(int(part) for part in parts)
    return found


def _dates(given: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Read ``NAME``, ``NAME=FORMAT`` and ``NAME=FORMAT:year``, the finest level that is published.

    Examples
    --------
    >>> _dates(["born=DD/MM/YYYY:month", "died"])
    {'born': ('DD/MM/YYYY', 'month'), 'died': ('', 'day')}
    """
    found: dict[str, tuple[str, str]] = {}
    for text in given:
        name, _, stated = text.partition("=")
        form, colon, finest = stated.partition(":")
        if form and form not in FORMATS:
            near = get_close_matches(form.upper(), FORMATS, 1)
            got = f"{form!r}{f'; did you mean {near[0]}?' if near else ''}"
            raise InvalidProblemError("--date", f"NAME=FORMAT with {', '.join(FORMATS)}", got)
        found[name.strip()] = (form, finest.strip() if colon else "day")
    return found


def _looks_like_dates(table: Columns, name: str) -> bool:
    column = table[name]
    if column.dtype.is_temporal():
        return str(column.dtype).startswith("Date")
    present = present_in(column)
    return (
        bool(present) and look_at(name, present, rows=len(present) + 1, different=1).kind == "dates"
    )


def _checked_date(table: Columns, name: str, dates: Dates) -> Dates:
    """Decide on the format, so that the record states it."""
    column = table[name]
    if column.dtype.is_temporal():
        return dates
    return replace(dates, format=resolved_format(name, present_in(column), dates.format))


def _taxonomy(path: str) -> Tree:
    from discreet.tables.taxonomies import read_taxonomy

    try:
        return read_taxonomy(path)
    except InvalidProblemError as error:
        raise error.renamed("--taxonomy") from None


def _check_known(option: str, given: Iterable[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise InvalidProblemError(option, "columns of --quasi", repr(name))


def unstated(quasi: Sequence[str], kinds: Kinds) -> list[str]:
    """List the quasi-identifiers of which nothing was typed that makes text clear.

    Examples
    --------
    >>> unstated(["note", "zip"], Kinds(categorical=["note"]))
    ['zip']
    """
    typed = {*names_of(kinds.categorical), *pairs_of(kinds.taxonomies, "--taxonomy")}
    typed |= _prefixes(kinds.prefixes).keys()
    return [name for name in quasi if name not in typed]


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
