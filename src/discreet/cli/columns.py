"""Columns of microdata, for all commands that read it: the options about them, and what is typed, as attributes."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.cli.options import PROMISED, names, names_of
from discreet.cli.output import renamed_arguments, warn
from discreet.core import printed
from discreet.core.dates import FORMATS, resolved_format
from discreet.core.errors import InvalidProblemError
from discreet.core.option_groups import REQUIRED, Option, OptionGroup, option
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
from discreet.tables.columns import columns_at, no_column, present_in
from discreet.tables.option_groups import COLUMNS, READING
from discreet.tables.refusals import warning

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import polars as pl

    from discreet.core.tree import Tree
    from discreet.tables.roles import AssignedRoles


class RoleOptions(OptionGroup, panel=PROMISED):
    """The role of each column."""

    quasi: tuple[str, ...] = names(
        "Quasi-identifiers: columns that an attacker may know of a person.", default=REQUIRED
    )
    sensitive: tuple[str, ...] = names(
        "Sensitive attributes: columns that are published as they are; l and t of each are printed."
    )
    keep: tuple[str, ...] = names(
        "Columns that are published as they are, though nothing protects them."
    )
    drop: tuple[str, ...] = names(
        "Columns that are left out, such as names and numbers of persons."
    )
    unassigned: str | None = option(
        "The role of columns that are in none of these options. Default: such columns are refused. What looks "
        "like an identifier is kept only by --keep.",
        "keep|drop",
    )


class DemandOptions(OptionGroup, panel=PROMISED):
    """What each class must hold in a sensitive column."""

    l_diversity: int | None = option(
        "Short for --require NAME=distinct:L in each column of --sensitive.", "L"
    )
    t_closeness: str | None = option(
        "Short for --require NAME=closeness:T: the largest distance of a class's values from the table's.",
        "T",
    )
    alpha: str | None = option(
        "Short for --require NAME=alpha:SHARE: the largest share of a class that one value may have.",
        "SHARE",
    )
    require: tuple[str, ...] = option(
        "What each class must hold in a column: distinct:L, entropy:L, recursive:C,L, closeness:T, "
        "ordered-closeness:T or alpha:A. Again for each.",
        "NAME=MODEL",
        repeated=True,
    )

    def demanded(self, sensitive: Collection[str]) -> tuple[str, ...]:
        """Return all demands as ``--require`` takes them, the short forms for each sensitive column first.

        Raises
        ------
        InvalidProblemError
            When something is demanded of sensitive columns and there are none.

        Examples
        --------
        >>> DemandOptions(l_diversity=3, alpha="1/2").demanded(["disease"])
        ('disease=distinct:3', 'disease=alpha:1/2')
        """
        short = {"distinct": self.l_diversity, "closeness": self.t_closeness, "alpha": self.alpha}
        models = [f"{kind}:{value}" for kind, value in short.items() if value is not None]
        if models and not sensitive:
            expected = "columns, with --l-diversity, --t-closeness or --alpha"
            raise InvalidProblemError("--sensitive", expected, "none")
        return (*(f"{name}={model}" for name in sensitive for model in models), *self.require)


class StatedKinds(OptionGroup, panel=COLUMNS):
    """The kind of columns of a table that is judged."""

    taxonomy: tuple[str, ...] = option(
        "A taxonomy in ARX's column format: each value, then what stands for it level by level. Again for each.",
        "NAME=FILE",
        repeated=True,
    )
    numeric: tuple[str, ...] = names(
        "Columns to publish as intervals; columns of numbers are by default."
    )
    categorical: tuple[str, ...] = names("Columns to publish as sets of values.")


class Kinds(StatedKinds, panel=COLUMNS):
    """The kind of columns of a table that is published."""

    prefix: tuple[str, ...] = option(
        "Hierarchical codes to publish by their first characters: postal codes, ICD. NAME=3,2 for these lengths.",
        "A,B,...",
        repeated=True,
    )
    date: tuple[str, ...] = option(
        "How dates are written, such as DD/MM/YYYY; needed where day and month cannot be told apart. "
        "NAME=FORMAT:year publishes nothing finer than years.",
        "NAME=FORMAT",
        repeated=True,
    )
    rounded: tuple[str, ...] = option(
        "Numbers to publish as intervals between multiples of STEP, or of each of STEP,STEP,...: age=5,10,20.",
        "NAME=STEP",
        "--round",
        repeated=True,
    )
    weight: tuple[str, ...] = option(
        "What a wholly generalized cell costs. Default: 1.", "NAME=W", repeated=True
    )
    bounds: tuple[str, ...] = option(
        "Range of a numeric column. Default: that of the table.", "NAME=LOW:HIGH", repeated=True
    )
    show_columns: bool = option(
        "Name all columns in messages. Without a line of names they would be cells of a row.",
        default=False,
    )


SHOWN = {
    **{name: Option("MARK", READING) for name in ("delimiter", "decimal")},
    **{name: Option("NAME", READING) for name in ("encoding", "sheet")},
    "missing": Option("MARK,...", READING, repeated=True),
    "bins": Option("NAME=CUT,...", COLUMNS, repeated=True),
    **{name: Option("NAME=NUMBER", COLUMNS, repeated=True) for name in ("top", "bottom")},
    "rounded": Option("NAME=WIDTH", COLUMNS, flags=("--round",), repeated=True),
    "prefix": Option("NAME=LENGTH", COLUMNS, repeated=True),
    **{name: Option("COLUMN", PROMISED) for name in ("person", "weights")},
}
"""Argument of a public call -> how it is typed."""


def warn_of_kept(
    table: pl.DataFrame,
    roles: AssignedRoles,
    typed: Collection[str],
    *,
    show: bool,
    quiet: bool,
) -> None:
    """Print a warning for each column published unchanged in which rows have a value that no other row has.

    Columns that are not in `typed` are named by their position, unless `show`. One pass over each such column.
    """
    from discreet.tables.frames import singled_out

    for name in (*roles.keep, *roles.sensitive):
        alone = singled_out(table, name)
        if alone:
            column = columns_at([name], table.columns, show=show or name in typed)
            of, has = printed.count(table.height), "has" if alone == 1 else "have"
            rows = f"{printed.count(alone)} of {of} rows {has} a value there that no other row has"
            warn(warning("singled-out", column=column, rows=rows), quiet=quiet)


_BOUNDS = re.compile(r"([^:]*):([^:]*)")


def pairs_of(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Split each ``NAME=VALUE`` at its last equals sign; return values by name, empty without any.

    InvalidProblemError, naming `option`, for another form or a name that comes twice.
    """
    pairs: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name.strip() or name.strip() in pairs:
            raise InvalidProblemError(option, "NAME=VALUE, each name once", repr(text))
        pairs[name.strip()] = value.strip()
    return pairs


def with_orders(required: Sequence[str], orders: Sequence[str]) -> list[str]:
    """Add the stated order of a column of text to its demands of ordered closeness.

    `required` are demands ``NAME=MODEL``, `orders` texts ``NAME=LOW,...,HIGH``. Returns the demands in their order.

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


def attributes_of(
    table: Any,  # noqa: ANN401 - a frame, or columns by name
    quasi: Sequence[str],
    kinds: StatedKinds,
) -> tuple[Attribute, ...]:
    """Return the attribute of each quasi-identifier, as typed or else by its values.

    Columns of numbers are numeric by default; in a CSV file, a column where each cell that is not empty is a
    number without a zero in front.

    `table` may be a frame or columns by name; `quasi` gives the order of the result. Columns whose kind is not typed
    are scanned; dates are, too.

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
    for flag, columns in (*stated.items(), ("--weight", weights)):
        for name in columns:
            if name not in quasi:
                raise InvalidProblemError(flag, "columns of --quasi", repr(name))
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
    """Return what the options of kinds state: option -> column -> value that was read, None where there is none.

    InvalidProblemError for other forms.
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
    table: Any,  # noqa: ANN401 - as above
    name: str,
    weight: float,
    stated: dict[str, dict[str, Any]],
) -> Attribute:
    """Return the attribute of column `name` of `table`, as an option in `stated` describes it, or else by its values.

    `weight` is its weight in the loss. A taxonomy is read from its file; a column whose kind is not stated is
    scanned.
    """
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
    """Return column -> lengths of prefixes, empty if not stated, from ``NAME`` and ``NAME=3,2``.

    InvalidProblemError for lengths that are not from 1 to 99.

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
    """Return column -> format ("" if not stated) and finest level, from ``NAME`` and ``NAME=FORMAT:year``.

    InvalidProblemError for an unknown format; the level, "day" if not stated, is not checked here.

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


def _checked_date(table: Any, name: str, dates: Dates) -> Dates:  # noqa: ANN401 - as above
    """Return `dates` with the format resolved by a scan of the column, so that the record states it.

    InvalidProblemError if the cells are in no such format, or in several.
    """
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
    """Return low and high of ``LOW:HIGH``, None for a missing one; InvalidProblemError for other forms or numbers."""
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
