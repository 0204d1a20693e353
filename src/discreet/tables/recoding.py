"""Recoding: cut points, top and bottom codes, rounding and prefixes, each a public rule for one cell at a time.

The rules are typed before the table is read, so that a recoded table has neighbors wherever the original has some.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import narwhals as nw

from discreet.core.exact import to_fraction
from discreet.core.options import items_of
from discreet.tables.cells import read_cells, replaced
from discreet.tables.columns import no_column
from discreet.tables.keys import key_text
from discreet.tables.options import ReadingOptions
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    Typed = Sequence[str] | Mapping[str, Any]

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?")
_OPEN = re.compile(
    r"(?:(?P<less><=?|under )\s*)?(?P<number>[+-]?\d+(?:\.\d*)?)\s*(?P<more>\+|or more|and over|or over)?"
)
"""A number that may be open to one side, such as 90+ or <5."""

_MAX_PREFIX = 100
"""Limit on the characters of a prefix: a longer one is rather a mistake."""


@final
@dataclass(frozen=True)
class Recoding:
    """Rules by which columns are recoded, as pairs of a column and its numbers.

    Parameters
    ----------
    bins
        Cut points, rising: 18, 40 make ``<18``, ``[18, 40)`` and ``>=40``.
    top, bottom
        Limits of numbers: a number beyond the limit counts as the limit, which then stands for all that is beyond it.
        Text such as ``90+`` or ``<5`` counts as its number.
    rounded
        Widths of intervals between multiples, such as ``[20, 29]`` for 10.
    prefix
        Lengths of the prefixes that codes are cut to.

    Examples
    --------
    >>> Recoding.of(bins=["age=18,40"], top=["income=100000"]).to_dict()
    {'bins': {'age': ['18', '40']}, 'top': {'income': ['100000']}}
    """

    bins: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    top: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    bottom: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    rounded: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()
    prefix: tuple[tuple[str, tuple[Fraction, ...]], ...] = ()

    @classmethod
    def of(
        cls,
        *,
        bins: Typed = (),
        top: Typed = (),
        bottom: Typed = (),
        rounded: Typed = (),
        prefix: Typed = (),
    ) -> Recoding:
        """Read rules as ``COLUMN=NUMBER,NUMBER``, or as mappings from columns to numbers.

        Cut points, limits and widths are read exactly; a rule has one number for each column, ``bins`` one or more.

        Raises
        ------
        InvalidProblemError
            For text of another form, cut points that do not rise, a width that is not positive, a length that is not
            whole, or two rules for one column, top and bottom codes aside.
        """
        stated = {"bins": bins, "top": top, "bottom": bottom, "rounded": rounded, "prefix": prefix}
        made = {rule: _pairs(rule, typed) for rule, typed in stated.items()}
        for name, numbers in made["bins"]:
            if any(low >= high for low, high in pairwise(numbers)):
                raise refused("recoding", "bins", f"other cuts for {name}", form=_FORMS["bins"])
        for rule in ("rounded", "prefix"):
            for name, (number, *_) in made[rule]:
                is_length = number.denominator == 1 and number < _MAX_PREFIX
                if number <= 0 or (rule == "prefix" and not is_length):
                    raise refused("recoding", rule, f"another number for {name}", form=_FORMS[rule])
        one_of = [name for rule in ("bins", "rounded", "prefix") for name, _ in made[rule]]
        both = {name for name in one_of if one_of.count(name) > 1}
        if both:
            raise refused(
                "recoding", "bins", f"two rules for {min(both)}", form="one rule for each column"
            )
        return cls(**made)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that have a rule."""
        rules = (pair for one in fields(self) for pair in getattr(self, one.name))
        return tuple(dict.fromkeys(name for name, _ in rules))

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as plain values, for a record; :meth:`of` reads them.

        Rules without columns are left out; numbers are exact, as text.
        """
        return {
            one.name: {name: [str(number) for number in numbers] for name, numbers in pairs}
            for one in fields(self)
            if (pairs := getattr(self, one.name))
        }

    def rule_of(self, name: str) -> Callable[[Any], Any]:
        """Return the function that recodes one cell of the column `name`; ``None`` stays ``None``.

        With a prefix rule: the first characters of the cell's text. Else a cell without a number stays as it is, and
        a number is limited by the bottom and the top code and written as text: as its bin, or rounded, or in plain
        digits, which is also what a column without a rule gets. Constant time for a cell.
        """
        numbers = {one.name: dict(getattr(self, one.name)).get(name) for one in fields(self)}

        def recoded(cell: Any) -> Any:  # noqa: ANN401 - a cell of any kind
            if cell is None:
                return None
            if numbers["prefix"]:
                return key_text(cell)[: int(numbers["prefix"][0])]
            text = key_text(cell)
            number = _number_in(text, is_open=bool(numbers["top"] or numbers["bottom"]))
            if number is None:
                return cell
            if numbers["bottom"]:
                number = max(number, numbers["bottom"][0])
            if numbers["top"]:
                number = min(number, numbers["top"][0])
            if numbers["bins"]:
                return _bin(number, numbers["bins"])
            if numbers["rounded"]:
                return _multiple(number, numbers["rounded"][0])
            return _plain(number)

        return recoded


@final
@dataclass(frozen=True)
class CellRules:
    """Public rules for one cell at a time, which can therefore be applied to any piece of a table.

    Parameters
    ----------
    reading, recoding
        Marks of missing values and the decimal mark; and how columns are recoded.

    Examples
    --------
    >>> import polars as pl
    >>> rules = CellRules(ReadingOptions.of(missing=["sex=?"]), Recoding.of(prefix=["zip=3"]))
    >>> rules.apply(pl.DataFrame({"zip": ["02139", "10001"]}))["zip"].to_list()
    ['021', '100']
    """

    reading: ReadingOptions = field(default_factory=ReadingOptions)
    recoding: Recoding = field(default_factory=Recoding)

    def check(self, schema: pl.Schema, argument: str) -> None:
        """Raise InvalidProblemError for rules of columns that `schema` does not have, or that have no cells to recode.

        No value is read; `argument` names the table.
        """
        recode(read_cells(schema.to_frame(), self.reading), self.recoding, argument)

    def recode_lazily(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Return a lazy table in which each cell is recoded by the rules when it is read.

        Columns of lists and records stay.

        Only the schema is read here. Rules for columns that are not there are ignored.
        """
        import polars as pl

        if not (self.reading.to_dict() or self.recoding.columns):
            return table
        schema = table.collect_schema()
        kinds = self.apply(schema.to_frame()).schema

        def recoded(column: pl.Series) -> pl.Series:
            return self.apply(column.to_frame()).to_series()

        return table.with_columns(
            pl.col(name).map_batches(recoded, kinds[name], is_elementwise=True)
            for name, kind in schema.items()
            if not kind.is_nested()
        )

    def apply(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the table with the rules applied to the columns that it has; other rules are ignored.

        One pass a column.
        """
        marks = (pair for pair in self.reading.missing_by_column if pair[0] in rows.columns)
        reading = replace(self.reading, missing_by_column=tuple(marks))
        rules = {
            one.name: tuple(
                pair for pair in getattr(self.recoding, one.name) if pair[0] in rows.columns
            )
            for one in fields(Recoding)
        }
        recoded: pl.DataFrame = recode(
            read_cells(rows, reading, row_by_row=True), Recoding(**rules)
        )
        return recoded


@final
@dataclass(frozen=True, eq=False)
class ReadRows:
    """Private rows, and the public options by which they were read and recoded.

    Parameters
    ----------
    rows
        A path or a frame.
    options
        As of :func:`recorded`; the record of a release states them.
    """

    rows: Any
    options: Mapping[str, Any]


def recorded(reading: ReadingOptions, recoding: Recoding) -> dict[str, Any]:
    """Return the options that differ from the defaults as plain values, for the record beside a table.

    Examples
    --------
    >>> recorded(ReadingOptions.of(missing="NA"), Recoding.of(top=["age=85"]))
    {'reading': {'missing': ['NA']}, 'recoding': {'top': {'age': ['85']}}}
    """
    both = {"reading": reading.to_dict(), "recoding": recoding.to_dict()}
    return {name: stated for name, stated in both.items() if stated}


_FORMS = {
    "bins": "COLUMN=CUT,CUT with rising cut points",
    "top": "COLUMN=NUMBER",
    "bottom": "COLUMN=NUMBER",
    "rounded": "COLUMN=WIDTH above 0",
    "prefix": "COLUMN=LENGTH, a whole number from 1",
}


def _pairs(rule: str, typed: Typed) -> tuple[tuple[str, tuple[Fraction, ...]], ...]:
    """Return a rule as pairs of a column and its exact numbers, from a mapping or texts ``column=numbers``.

    `rule` names the rule. InvalidProblemError for a column that comes twice or without a name, no number, or several
    for another rule than ``bins``.
    """
    widths: dict[str, tuple[Fraction, ...]] = {}
    listed: list[tuple[Any, Any]]
    if isinstance(typed, Mapping):
        listed = list(typed.items())
    else:
        texts = (typed,) if isinstance(typed, str) else items_of(typed, rule, "texts")
        split = (str(text).rpartition("=") for text in texts)
        listed = [(name, values) for name, _, values in split]
    for column, values in listed:
        name = str(column).strip()
        parts = values.split(",") if isinstance(values, str) else values
        try:
            numbers = tuple(
                to_fraction(part.strip() if isinstance(part, str) else part, rule)
                for part in (parts if isinstance(parts, list | tuple) else [parts])
            )
        except ValueError:
            numbers = ()
        if not name or name in widths or not numbers or (rule != "bins" and len(numbers) > 1):
            raise refused("recoding", rule, "another form", form=_FORMS[rule])
        widths[name] = numbers
    return tuple(widths.items())


def _number_in(text: str, *, is_open: bool, max_characters: int = 60) -> Fraction | None:
    """Return the number in a text, or the end of an open interval if `is_open`; ``None`` for others.

    Longer text is no number, so that no rule fails for the value of a cell.
    """
    if len(text) > max_characters:
        return None
    if _NUMBER.fullmatch(text):
        return Fraction(text)
    opened = _OPEN.fullmatch(text) if is_open else None
    return None if opened is None else Fraction(opened["number"])


def _bin(number: Fraction, cuts: tuple[Fraction, ...]) -> str:
    """Return the name of the half-open interval between rising cuts in which a number lies."""
    at = bisect_right(cuts, number)
    if at == 0:
        return f"<{_plain(cuts[0])}"
    if at == len(cuts):
        return f">={_plain(cuts[-1])}"
    return f"[{_plain(cuts[at - 1])}, {_plain(cuts[at])})"


def _multiple(number: Fraction, width: Fraction) -> str:
    """Return the name of the interval of a width in which a number lies; of whole numbers with both ends."""
    low = math.floor(number / width) * width
    if width.denominator == 1 and number.denominator == 1:
        return f"[{_plain(low)}, {_plain(low + width - 1)}]" if width > 1 else _plain(low)
    return f"[{_plain(low)}, {_plain(low + width)})"


def _plain(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def recode(table: Any, recoding: Recoding, argument: str = "table") -> Any:  # noqa: ANN401 - a dataframe of any library
    """Recode columns of a dataframe; columns of numbers with top and bottom codes stay numbers.

    A rule is applied once for each different value of a column.

    Other columns become text. Numbers keep their type where it has the limits; columns of integers become those of 64
    bits otherwise, or floats for limits with a fraction, whatever the cells. Also raises for columns of lists, records
    or bytes.

    Raises
    ------
    InvalidProblemError
        For a rule of a column that is not there.

    Examples
    --------
    >>> import polars as pl
    >>> rules = Recoding.of(bins=["age=18,40"], top=["cm=190"], prefix=["zip=3"])
    >>> recode(pl.DataFrame({"age": ["12", "40"], "cm": ["190+", "171"], "zip": ["02139", None]}), rules).rows()
    [('<18', '190', '021'), ('>=40', '171', None)]
    """
    import polars as pl

    if not recoding.columns:
        return table
    frame = nw.from_native(table, eager_only=True)
    limits = {name for name, _ in (*recoding.top, *recoding.bottom)}
    limits -= {name for name, _ in (*recoding.bins, *recoding.rounded)}
    made = {}
    for name in recoding.columns:
        if name not in frame.columns:
            raise no_column(argument, name, frame.columns)
        cells = pl.Series(frame[name].to_polars())
        if cells.dtype.is_nested() or cells.dtype in (pl.Binary, pl.Object):
            raise refused("key-type", name, f"a column of {cells.dtype.base_type().__name__}")
        rule, values = recoding.rule_of(name), cells.drop_nulls().unique().to_list()
        texts = [None if (one := rule(value)) is None else str(one) for value in values]
        recoded = cells.replace_strict(values, texts, default=None, return_dtype=pl.String)
        if name in limits and cells.dtype.is_numeric():
            # By the limits, which are public, and by no cell.
            pairs = (*recoding.top, *recoding.bottom)
            ends = pl.Series(
                [_plain(end) for each, numbers in pairs if each == name for end in numbers]
            )
            wider = () if cells.dtype == pl.UInt64 else (pl.Int64,)
            kinds = (cells.dtype, *wider) if cells.dtype.is_integer() else ()
            fitting = (kind for kind in kinds if not ends.cast(kind, strict=False).null_count())
            kind = next(fitting, pl.Float64) if kinds else cells.dtype
            recoded = recoded.cast(kind, strict=False)
        made[name] = recoded.alias(name)
    return replaced(frame, made)
