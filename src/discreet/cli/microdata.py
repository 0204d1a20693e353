"""Read what is typed about the columns of microdata: their kinds, weights and bounds."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Protocol

import narwhals as nw

from discreet.cli.columns import Kinds, StatedKinds
from discreet.cli.options import names_of
from discreet.cli.output import renamed_arguments
from discreet.core.dates import FORMATS, resolved_format
from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.cells import kind_of
from discreet.kanonymity.problem import (
    Attribute,
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Rounded,
    Taxonomy,
)
from discreet.tables.columns import no_column, present_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.core.tree import Tree

__all__ = ["Columns", "attributes_of", "pairs_of", "taxonomy_files", "unstated", "with_orders"]

_BOUNDS = re.compile(r"([^:]*):([^:]*)")


def pairs_of(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Split each ``NAME=VALUE`` of an option at its last equals sign; raise InvalidProblemError for a repeated name."""
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip() or name.strip() in pairs:
            raise InvalidProblemError(option, "NAME=VALUE, each name once", repr(text))
        pairs[name.strip()] = value.strip()
    return pairs


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


def taxonomy_files(kinds: StatedKinds) -> tuple[str, ...]:
    """Return the files of taxonomies that the options name."""
    return tuple(pairs_of(kinds.taxonomy, "--taxonomy").values())


class Columns(Protocol):
    """Columns by name, and their names."""

    @property
    def columns(self) -> list[str]:
        """Names."""
        ...

    def __getitem__(self, name: str) -> pl.Series:
        """Values."""
        ...


def attributes_of(
    table: Columns, quasi: Sequence[str], kinds: StatedKinds
) -> tuple[Attribute, ...]:
    """Return the attribute of each quasi-identifier, as typed or else by its values.

    Columns of numbers are numeric by default; in a CSV file, a column where each cell that is not empty is a
    number without a zero in front.

    Raises
    ------
    InvalidProblemError
        For a name that is no column or no quasi-identifier, two kinds for one column, or numbers that are none.
    """
    if not isinstance(kinds, Kinds):
        kinds = Kinds(**kinds.of(StatedKinds))
    stated = _stated(kinds)
    weights = {
        name: _number(text, "--weight") for name, text in pairs_of(kinds.weight, "--weight").items()
    }
    for option, columns in (*stated.items(), ("--weight", weights)):
        for name in columns:
            if name not in quasi:
                raise InvalidProblemError(option, "columns of --quasi", repr(name))
    for name in quasi:
        options = {option for option, columns in stated.items() if name in columns}
        # Bounds are of numbers.
        if len(options - {"--bounds"} | ({"--numeric"} if "--bounds" in options else set())) > 1:
            expected = "one of --taxonomy, --numeric, --categorical, --prefix, --date and --round"
            raise InvalidProblemError(name, expected, "two")
        if name not in table.columns:
            raise no_column("--quasi", name, table.columns, show=kinds.show_columns)
    return tuple(_attribute(table, name, weights.get(name, 1.0), stated) for name in quasi)


def _stated(kinds: Kinds) -> dict[str, dict[str, Any]]:
    """Return what the options of kinds state: option -> column -> stated value.

    Raise InvalidProblemError for other forms.
    """
    rounded = pairs_of(kinds.rounded, "--round")
    bounds = pairs_of(kinds.bounds, "--bounds")
    return {
        "--taxonomy": dict(pairs_of(kinds.taxonomy, "--taxonomy")),
        "--categorical": dict.fromkeys(kinds.categorical),
        "--prefix": dict(_prefixes(kinds.prefix)),
        "--round": {
            name: [part.strip() for part in text.split(",")] for name, text in rounded.items()
        },
        "--date": dict(_dates(kinds.date)),
        "--numeric": dict.fromkeys(kinds.numeric),
        "--bounds": {name: _bounds(text) for name, text in bounds.items()},
    }


def _attribute(
    table: Columns, name: str, weight: float, stated: dict[str, dict[str, Any]]
) -> Attribute:
    """Return the attribute of one column, as an option in `stated` describes it, or else by its values."""
    option = next((option for option, columns in stated.items() if name in columns), "")
    value: Any = stated[option][name] if option else None
    match option:
        case "--taxonomy":
            return Taxonomy(name, _taxonomy(value), weight)
        case "--categorical":
            return Categorical(name, weight)
        case "--prefix":
            return Prefixes(name, weight, value)
        case "--round":
            return Rounded(name, weight, tuple(value))
        case "--date":
            return _checked_date(table, name, Dates(name, weight, *value))
        case "--numeric" | "--bounds":
            return Numeric(name, weight, *stated["--bounds"].get(name, (None, None)))
    kind = replace(kind_of(nw.from_native(table[name], series_only=True), name), weight=weight)
    return _checked_date(table, name, kind) if isinstance(kind, Dates) else kind


def _prefixes(given: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Read ``NAME`` and ``NAME=3,2``, the lengths of prefixes.

    Examples
    --------
    >>> _prefixes(["zip,icd", "plz=3,2"])
    {'zip': (), 'icd': (), 'plz': (3, 2)}
    """
    prefixes: dict[str, tuple[int, ...]] = {}
    for text in given:
        if "=" not in text:
            prefixes |= dict.fromkeys(names_of(text), ())
            continue
        for name, lengths in pairs_of([text], "--prefix").items():
            parts = [part.strip() for part in lengths.split(",")]
            if not all(part.isdecimal() and 0 < int(part) < 100 for part in parts):
                raise InvalidProblemError("--prefix", "NAME, or NAME=LENGTH,LENGTH", repr(text))
            prefixes[name] = tuple(int(part) for part in parts)
    return prefixes


def _dates(given: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Read ``NAME``, ``NAME=FORMAT`` and ``NAME=FORMAT:year``, the finest level that is published.

    Examples
    --------
    >>> _dates(["born=DD/MM/YYYY:month", "died"])
    {'born': ('DD/MM/YYYY', 'month'), 'died': ('', 'day')}
    """
    dates: dict[str, tuple[str, str]] = {}
    for text in given:
        name, _, stated = text.partition("=")
        form, colon, finest = stated.partition(":")
        if form and form not in FORMATS:
            near = get_close_matches(form.upper(), FORMATS, 1)
            got = f"{form!r}{f'; did you mean {near[0]}?' if near else ''}"
            raise InvalidProblemError("--date", f"NAME=FORMAT with {', '.join(FORMATS)}", got)
        dates[name.strip()] = (form, finest.strip() if colon else "day")
    return dates


def _checked_date(table: Columns, name: str, dates: Dates) -> Dates:
    """Return dates with their format resolved, so that the record states it."""
    column = table[name]
    if column.dtype.is_temporal():
        return dates
    return replace(dates, format=resolved_format(name, present_in(column), dates.format))


def _taxonomy(path: str) -> Tree:
    """Read a taxonomy's file; errors name the option."""
    from discreet.tables.taxonomies import read_taxonomy

    with renamed_arguments({}, others="--taxonomy"):
        return read_taxonomy(path)


def unstated(quasi: Sequence[str], kinds: Kinds) -> list[str]:
    """List the quasi-identifiers whose text no option makes clear.

    Examples
    --------
    >>> unstated(["note", "zip"], Kinds(categorical=("note",)))
    ['zip']
    """
    typed = {*kinds.categorical, *pairs_of(kinds.taxonomy, "--taxonomy")}
    typed |= _prefixes(kinds.prefix).keys()
    return [name for name in quasi if name not in typed]


def _bounds(text: str) -> tuple[float | None, float | None]:
    """Read ``LOW:HIGH``, either of which may be missing, from ``NAME=LOW:HIGH``; refuse anything else."""
    ends = _BOUNDS.fullmatch(text)
    if ends is None:
        raise InvalidProblemError("--bounds", "NAME=LOW:HIGH", repr(text))
    low, high = (None if not end else _number(end, "--bounds") for end in ends.groups())
    return low, high


def _number(text: str, option: str) -> float:
    """Read a float; refuse anything else, with the option's name."""
    try:
        return float(text)
    except ValueError:
        raise InvalidProblemError(option, "a number", repr(text)) from None
