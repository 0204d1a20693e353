"""Columns with levels of their own: dates on a calendar, codes by their prefixes, numbers by rounded intervals.

Each is resolved to a taxonomy of the values of a table, which is all that the search reads; a cell's cost is the length
of its span, not the number of the table's values in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.dates import FINEST, FORMATS, day_of, resolved_format, span_of
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

CALENDAR = ("day", "month", "quarter", "year", "5 years", "10 years")
"""Levels of a calendar, from the finest."""

_SEPARATORS = " -./"


@final
@dataclass(frozen=True)
class Dates:
    """A column of dates, published as days, months, quarters, years, or spans of 5 or 10 years.

    Parameters
    ----------
    name
        The column.
    weight
        Cost of a fully generalized cell, not negative. A span of the finest level costs nothing; a wider one of m days
        costs ``(m // u - 1) / (N // u - 1)`` of it, where a quotient below 2 counts as 2. N is the number of days from
        the first decade in the column to the last one, and u that of the shortest span of the finest level in the
        column, 1 if days are published. A list of some exact dates would cost next to nothing.
    format
        How dates are written as text, such as ``DD/MM/YYYY``: a key of :data:`discreet.core.dates.FORMATS`. Empty for
        the one format that all cells have.
    finest
        The finest level that is published: ``day``, ``month``, ``quarter``, ``year``, ``5 years`` or ``10 years``.

    Examples
    --------
    >>> Dates("born", finest="year").finest
    'year'
    """

    name: str
    weight: float = 1.0
    format: str = ""
    finest: str = "day"

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        if self.format and self.format not in FORMATS:
            raise InvalidProblemError(
                f"{self.name}: format", f"one of {', '.join(FORMATS)}", repr(self.format)
            )
        if self.finest not in CALENDAR:
            raise InvalidProblemError(
                f"{self.name}: finest", f"one of {', '.join(CALENDAR)}", repr(self.finest)
            )


@final
@dataclass(frozen=True)
class Prefixes:
    """A column of hierarchical codes such as postal ones or those of diseases, published by their first characters.

    Parameters
    ----------
    name
        The column. Its codes are text: a number would have lost its zeros in front.
    weight
        What a fully generalized cell costs, not negative. A prefix of m of the table's N different codes costs
        ``(m - 1) / (N - 1)`` of it.
    lengths
        Lengths of the prefixes that may be published; empty for all.

    Examples
    --------
    >>> Prefixes("zip", lengths=(3, 2)).lengths
    (3, 2)
    """

    name: str
    weight: float = 1.0
    lengths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        if any(length < 1 for length in self.lengths):
            raise InvalidProblemError(f"{self.name}: lengths", "1 or more", self.lengths)


@final
@dataclass(frozen=True)
class Rounded:
    """A column of numbers, published as intervals between multiples of steps.

    Parameters
    ----------
    name
        The column.
    weight
        What a fully generalized cell costs, not negative. An interval of m of the N finest intervals between the least
        and the greatest number costs ``(m - 1) / (N - 1)`` of it; a finest one costs nothing.
    steps
        Widths of intervals, each a multiple of the one before: floats or text, read by their shortest decimals. A
        single one is followed by 2, 10, 20, 100, ... times it.

    Examples
    --------
    >>> Rounded("age", steps=(5, 10, 20)).steps
    (Fraction(5, 1), Fraction(10, 1), Fraction(20, 1))
    """

    name: str
    weight: float = 1.0
    steps: tuple[Any, ...] = (5,)

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)
        field = f"{self.name}: steps"
        steps = tuple(to_fraction(step, field) for step in self.steps)
        if not steps or steps[0] <= 0:
            raise InvalidProblemError(field, "numbers above 0", self.steps)
        for fine, coarse in pairwise(steps):
            if coarse <= fine or (coarse / fine).denominator != 1:
                raise InvalidProblemError(field, "each a multiple of the one before", self.steps)
        object.__setattr__(self, "steps", steps)


Levels = Dates | Prefixes | Rounded


@final
@dataclass(frozen=True, eq=False)
class Leveled:
    """A column with levels, resolved for the values of a table.

    Parameters
    ----------
    values
        Different values as they are published at the finest level, in the order of the tree's leaves.
    tree
        Their taxonomy.
    codes
        ``(n,)`` which of them each row has, -1 for a missing one.
    sizes
        ``(tree.n,)`` size of each node: codes, finest intervals, or for dates its days divided by those of the
        shortest leaf, rounded down, 1 or more. The root holds all.
    """

    values: tuple[str, ...]
    tree: Tree
    codes: NDArray[np.int32]
    sizes: NDArray[np.int64]


def leveled(levels: Levels, values: Sequence[Any]) -> Leveled:
    """Return the taxonomy of the values of a table.

    Parameters
    ----------
    levels
        The kind of column.
    values
        One value a row; ``None`` is missing.

    Raises
    ------
    InvalidProblemError
        For cells that are no dates, codes or numbers. No message holds one.

    Examples
    --------
    >>> found = leveled(Prefixes("zip"), ["02139", "02140", None, "10001"])
    >>> found.values, found.codes.tolist(), found.tree.labels[0]
    (('02139', '02140', '10001'), [0, 1, -1, 2], '*')
    >>> leveled(Dates("born"), ["1980-02-11", "1984-07-30"]).tree.labels[:4]
    ('*', '1980 to 1989', '1980 to 1984', '1980')
    """
    different = list(dict.fromkeys(value for value in values if value is not None))
    match levels:
        case Dates():
            keys, paths = _calendar(levels, different)
        case Prefixes():
            keys, paths = _prefixed(levels, different)
        case Rounded():
            keys, paths = _rounded(levels, different)
    ordered = sorted(dict.fromkeys(keys.values()), key=lambda key: (key[0], key[1]))
    at = {key: place for place, key in enumerate(ordered)}
    code = {value: at[key] for value, key in keys.items()}
    codes = np.array([-1 if value is None else code[value] for value in values], dtype=np.int32)
    if not ordered:
        tree = Tree(("*",), np.array([-1]))
        return Leveled((), tree, codes, np.ones(1, np.int64))
    listed = [paths[key] for key in ordered]
    tree = Tree.from_paths(listed, root="*")
    return Leveled(tuple(path[-1] for path in listed), tree, codes, _sizes(levels, tree, ordered))


def _calendar(
    levels: Dates, values: list[Any]
) -> tuple[dict[Any, tuple[Any, str]], dict[tuple[Any, str], tuple[str, ...]]]:
    """Return the key of each date, and the spans above it by key, the widest first.

    Raises InvalidProblemError for cells of another form. Linear in the different `values`.
    """
    form = resolved_format(levels.name, values, levels.format)
    above = max(CALENDAR.index(levels.finest), CALENDAR.index(FINEST.get(form, "day")))
    keys, paths = {}, {}
    for value in values:
        day = day_of(value, form)
        if day is None:
            raise InvalidProblemError(
                levels.name, f"dates as {form}", "another cell", code="dates-other"
            )
        path = _spans_above(date.fromordinal(day))
        path = path[: len(path) - above]
        first, _ = span_of(path[-1]) or (day, day)
        keys[value] = (first, path[-1])
        paths[first, path[-1]] = path
    return keys, paths


def _spans_above(day: date) -> tuple[str, ...]:
    """Return the names of the spans that contain a day, from ten years to the day itself."""
    year = day.year
    ten, five = year - year % 10, year - year % 5
    return (
        f"{ten:04d} to {ten + 9:04d}",
        f"{five:04d} to {five + 4:04d}",
        f"{year:04d}",
        f"{year:04d}-Q{(day.month + 2) // 3}",
        f"{year:04d}-{day.month:02d}",
        day.isoformat(),
    )


def _prefixed(
    levels: Prefixes, values: list[Any]
) -> tuple[dict[Any, tuple[Any, str]], dict[tuple[Any, str], tuple[str, ...]]]:
    """Return code -> key ``("", code)`` and key -> ``("0****", ..., code)``; ``SW1*`` where lengths differ.

    Raises InvalidProblemError for numbers of different lengths, and codes with a star.
    """
    texts = {value: str(value).strip() for value in values}
    lengths = {len(text) for text in texts.values()}
    numbers = any(not isinstance(value, str) for value in values)
    if numbers and len(lengths) > 1:
        expected = "codes as text, such as '02139', since numbers lose their zeros in front"
        raise InvalidProblemError(
            levels.name, expected, "numbers of different lengths", code="codes-as-numbers"
        )
    if any("*" in text for text in texts.values()):
        raise InvalidProblemError(
            levels.name, "codes without *", "a code with *", code="codes-with-star"
        )
    even = len(lengths) == 1
    keys, paths = {}, {}
    for value, text in texts.items():
        cuts = [
            cut
            for cut in range(1, len(text) + (not even))
            if not levels.lengths or cut in levels.lengths
        ]
        above = dict.fromkeys(_prefix(text, cut, even=even) for cut in cuts)
        keys[value] = ("", text)
        paths["", text] = (*above, text)
    return keys, paths


def _prefix(text: str, cut: int, *, even: bool) -> str:
    """Write what begins with some characters: ``021**`` where all codes are as long, else ``SW1*``."""
    prefix = text[:cut].rstrip(_SEPARATORS) or text[:cut]
    return prefix + "*" * (len(text) - len(prefix) if even else 1)


def _rounded(
    levels: Rounded, values: list[Any]
) -> tuple[dict[Any, tuple[Any, str]], dict[tuple[Any, str], tuple[str, ...]]]:
    """Return the key of each number, and the intervals above it by key, the widest first; refuse other values."""
    numbers: dict[Any, Fraction] = {}
    for value in values:
        try:
            real = float(value)
        except (TypeError, ValueError):
            raise InvalidProblemError(
                levels.name, "numbers", "another value", code="numbers-none"
            ) from None
        if math.isnan(real):
            raise InvalidProblemError(
                levels.name, "numbers or missing values", "NaN", code="numbers-nan"
            )
        if abs(real) > 2**53:
            raise InvalidProblemError(
                levels.name, "numbers from -2^53 to 2^53", "another", code="numbers-too-large"
            )
        numbers[value] = to_fraction(real, levels.name)
    steps = _steps_of(levels, list(numbers.values()))
    integral = all(number.denominator == 1 for number in numbers.values())
    integral = integral and steps[0].denominator == 1
    keys, paths = {}, {}
    for value, number in numbers.items():
        path = tuple(_interval(number, step, whole=integral) for step in reversed(steps))
        keys[value] = (math.floor(number / steps[0]), path[-1])
        paths[keys[value]] = path
    return keys, paths


def _steps_of(levels: Rounded, numbers: list[Fraction], *, max_widths: int = 40) -> list[Fraction]:
    """Return the widths of the intervals, the narrowest first, as exact fractions; several stated widths are kept.

    One stated width is followed by wider ones, times 2 and 5 in turn, until all `numbers` are in one interval or
    there are `max_widths`; the 40th is 2e19 times the first.
    """
    steps = list(levels.steps)
    if len(steps) > 1 or not numbers:
        return steps
    times = 2
    while (
        len(steps) < max_widths and len({math.floor(number / steps[-1]) for number in numbers}) > 1
    ):
        steps.append(steps[-1] * times)
        times = 7 - times
    return steps


def _interval(number: Fraction, step: Fraction, *, whole: bool) -> str:
    """Return the name of the interval of a width in which a number lies; if `whole` with both ends."""
    low = math.floor(number / step) * step
    if not whole:
        return f"[{_text(low)}, {_text(low + step)})"
    return _text(low) if step == 1 else f"[{_text(low)}, {_text(low + step - 1)}]"


def _text(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else repr(float(number))


def _sizes(levels: Levels, tree: Tree, ordered: list[tuple[Any, str]]) -> NDArray[np.int64]:
    """Return the size of each node, int64 ``(nodes,)``: codes for prefixes, finest intervals for rounded numbers.

    For dates: its days divided by those of the shortest leaf, rounded down, 1 or more; the root spans from the first
    to the last decade. `ordered` are the keys of the leaves, in order.
    """
    sizes = np.asarray(tree.leaf_counts, dtype=np.int64).copy()
    if isinstance(levels, Dates):
        spans = [span_of(str(label)) for label in tree.labels[1:]]
        days = [last - first + 1 for first, last in (span for span in spans if span)]
        sizes[1:] = days
        least = min(days[leaf - 1] for leaf in tree.leaves.tolist())
        tops = [spans[node - 1] for node in range(1, tree.n) if tree.parents[node] == 0]
        ends = [span for span in tops if span]
        sizes[0] = max(last for _, last in ends) - min(first for first, _ in ends) + 1
        return np.asarray(np.maximum(sizes // least, 1))
    if isinstance(levels, Rounded):
        finest = [key[0] for key in ordered]
        sizes[0] = finest[-1] - finest[0] + 1
        depths = tree.levels.tolist()
        steps = list(levels.steps)
        wide = _steps_of(levels, [key * steps[0] for key in finest]) if len(steps) == 1 else steps
        for node in range(1, tree.n):
            step = wide[len(wide) - depths[node]]
            sizes[node] = min(int(step / wide[0]), int(sizes[0]))
    return sizes


def spans_of(levels: Levels, values: Sequence[Any], text: str) -> NDArray[np.bool_]:
    """Mark which finest values a published cell covers, booleans ``(values,)``, read from its text alone.

    ``"*"`` covers all values, an empty text the missing ones alone, and a text that cannot be read nothing. Linear.

    Parameters
    ----------
    levels
        The kind of column.
    values
        Published texts of the finest level; ``None`` for missing values.
    text
        The cell.
    """
    if text == "*":
        return np.ones(len(values), dtype=bool)
    if not text:
        return np.array([value is None for value in values], dtype=bool)
    if isinstance(levels, Prefixes):
        start = text.rstrip("*")
        return np.array(
            [
                value is not None and (value.startswith(start) if start != text else value == text)
                for value in values
            ],
            dtype=bool,
        )
    reader = span_of if isinstance(levels, Dates) else _numbers_in
    outer = reader(text)
    marks = []
    for value in values:
        inner = None if value is None else reader(value)
        inside = inner is not None and outer is not None
        marks.append(inside and outer[0] <= inner[0] and inner[1] <= outer[1])  # type: ignore[index]
    return np.array(marks, dtype=bool)


def _numbers_in(text: str) -> tuple[float, float] | None:
    """Return both ends of an interval of numbers in a published text, whether or not the last is in it.

    Else ``None``.
    """
    inner = text.strip("[])")
    parts = inner.split(", ")
    try:
        ends = [float(part) for part in parts]
    except ValueError:
        return None
    return (ends[0], ends[-1]) if len(ends) <= 2 else None


def check_weight(name: str, weight: float, *, min_weight: float = 1e-100) -> None:
    """Refuse a weight with which sums over rows would have no digits left, or be infinite.

    Raises InvalidProblemError for a weight that is not 0, and below `min_weight` or above its reciprocal.
    """
    if not (weight == 0 or min_weight <= weight <= 1 / min_weight):
        expected = f"0, or a number from {min_weight!r} to {1 / min_weight!r}"
        raise InvalidProblemError(f"{name}: weight", expected, weight)
