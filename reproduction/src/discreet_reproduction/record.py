"""What an experiment found, as plain values."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

Cell: TypeAlias = str | int | float | bool | None
"""What may stand in a table."""

Panel: TypeAlias = "Callable[[Axes], object]"
"""Draws on axes; what it returns is not looked at."""

_NAME = re.compile(r"[a-z][a-z0-9]*/[a-z0-9][a-z0-9.-]*")


T = TypeVar("T")


def _silent(_: str) -> None:
    pass


def _compute(_: str, compute: Callable[[], T]) -> T:
    return compute()


@final
@dataclass(frozen=True)
class Run:
    """How an item is to be computed.

    Parameters
    ----------
    quick
        Small sizes: minutes instead of hours.
    seed
        Of synthetic data and of partitions.
    data
        A folder with the paper's own data, or ``None``.
    limit
        Seconds of wall-clock time for each run of a solver, in place of the item's own.
    draws
        Draws of noise, or ``None`` for the item's own number.
    say
        Called with a sentence on where the run stands.
    once
        Called with the name of a part and a function that computes it; returns its result, which may be one that an
        earlier, stopped run left in a file.

    Examples
    --------
    >>> Run(quick=True).seconds(3.0, 60.0), Run(limit=9.5).seconds(3.0, 60.0)
    (3.0, 9.5)
    """

    quick: bool = False
    seed: int = 0
    data: Path | None = None
    limit: float | None = None
    draws: int | None = None
    say: Callable[[str], None] = field(default=_silent, compare=False)
    once: Callable[[str, Callable[[], Any]], Any] = field(default=_compute, compare=False)

    def seconds(self, small: float, full: float) -> float:
        """Give the limit of a run of a solver: the one stated, else the first if quick, else the second."""
        return self.limit or (small if self.quick else full)


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """A table or a figure of a paper, computed anew.

    Parameters
    ----------
    name
        ``"paper/item"``, small letters, digits, hyphens: the name under which it is registered.
    title
        What it shows, in a line.
    rows
        One mapping from column to plain value each. A column that is missing is empty; ``math.inf`` is printed as
        "infinite".
    columns
        Names of the columns, in order; those of the rows by default. A unit stands in parentheses.
    published
        Those of the columns that hold what the paper prints, besides those whose names end in "(paper)".
    notes
        How these figures differ from the paper's, and why: one sentence or two each.
    settings
        Sizes, seeds and parameters of this run, by name.
    panels
        Caption -> a function that draws on Matplotlib axes which it is given.

    Raises
    ------
    InvalidProblemError
        For a name of another form, two columns of one name, a row with a column that is not there, a value that is not
        plain, or one that is no number (NaN).

    Examples
    --------
    >>> found = Experiment(
    ...     "metricdp/table9",
    ...     "Seconds",
    ...     rows=[{"method": "benders", "seconds": 1.5, "seconds (paper)": "161.4 ± 14.3"}],
    ... )
    >>> found.paper, found.item, found.published, found.column("seconds")
    ('metricdp', 'table9', ('seconds (paper)',), [1.5])
    >>> print(found.text())
    method   seconds  seconds (paper)
    benders      1.5     161.4 ± 14.3
    """

    name: str
    title: str
    rows: Sequence[Mapping[str, Cell]]
    columns: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Cell] = field(default_factory=dict)
    panels: Mapping[str, Panel] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidProblemError("name", "paper/item, small letters", repr(self.name))
        named = tuple(self.columns) or tuple(
            dict.fromkeys(name for row in self.rows for name in row)
        )
        stated = [name for name in named if name.endswith("(paper)")]
        object.__setattr__(self, "columns", named)
        object.__setattr__(self, "published", tuple(dict.fromkeys((*self.published, *stated))))
        object.__setattr__(self, "notes", tuple(self.notes))
        if len(set(self.columns)) < len(self.columns) or not self.columns:
            raise InvalidProblemError("columns", "different names", ", ".join(self.columns))
        foreign = [name for name in self.published if name not in self.columns]
        if foreign:
            raise InvalidProblemError("published", "names of columns", ", ".join(foreign))
        object.__setattr__(self, "rows", tuple(self._row(row) for row in self.rows))
        for part in ("settings", "panels"):
            object.__setattr__(self, part, MappingProxyType(dict(getattr(self, part))))

    def _row(self, row: Mapping[str, Cell]) -> Mapping[str, Cell]:
        foreign = [name for name in row if name not in self.columns]
        if foreign:
            raise InvalidProblemError("rows", "no other columns", ", ".join(foreign))
        for name, value in row.items():
            plain = value is None or isinstance(value, str | int | float)
            if not plain or (isinstance(value, float) and math.isnan(value)):
                raise InvalidProblemError("rows", "plain values", f"{name}: {value!r}")
        return MappingProxyType({name: row[name] for name in self.columns if name in row})

    @property
    def paper(self) -> str:
        """The part of the name before the slash."""
        return self.name.partition("/")[0]

    @property
    def item(self) -> str:
        """The part of the name after the slash."""
        return self.name.partition("/")[2]

    def column(self, name: str) -> list[Cell]:
        """Give the values of a column, row by row; ``None`` where a row has none.

        Raises
        ------
        InvalidProblemError
            When there is no such column.
        """
        if name not in self.columns:
            raise InvalidProblemError("name", f"one of {', '.join(self.columns)}", repr(name))
        return [row.get(name) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Give everything but the panels as plain values that JSON knows."""
        rows = [{name: _finite(value) for name, value in row.items()} for row in self.rows]
        return {
            "name": self.name,
            "title": self.title,
            "columns": list(self.columns),
            "published": list(self.published),
            "rows": rows,
            "notes": list(self.notes),
            "settings": {name: _finite(value) for name, value in self.settings.items()},
        }

    def cells(self) -> list[list[str]]:
        """Print the values of all rows as people read them."""
        return [[_printed(row.get(name)) for name in self.columns] for row in self.rows]

    def is_numeric(self) -> list[bool]:
        """Tell which columns hold numbers, hence stand to the right."""
        return [_mostly_numbers(self.column(name)) for name in self.columns]

    def text(self) -> str:
        """Lay the table out in columns of characters, numbers to the right."""
        lines = [list(self.columns), *self.cells()]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        right = [
            numeric or name in self.published
            for numeric, name in zip(self.is_numeric(), self.columns, strict=True)
        ]
        laid = [
            "  ".join(
                cell.rjust(width) if to_right else cell.ljust(width)
                for cell, width, to_right in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join(laid)


def _finite(value: Cell) -> Cell:
    return _printed(value) if isinstance(value, float) and math.isinf(value) else value


def _printed(value: Cell) -> str:
    """Print four significant digits of a float, everything of the rest.

    Examples
    --------
    >>> _printed(1234.56), _printed(0.00012345), _printed(-math.inf), _printed(True), _printed(None)
    ('1235', '0.0001234', '-infinite', 'yes', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    digits = 0 if abs(value) >= 1000 else 4
    return f"{value:.0f}" if not digits else f"{value:.{digits}g}"


def _mostly_numbers(values: Iterable[Cell]) -> bool:
    """Tell whether a column holds a number, and no text but in the place of one."""
    kinds = [isinstance(value, int | float) for value in values if value not in {None, ""}]
    return bool(kinds) and 2 * sum(kinds) >= len(kinds)


def numbers(rows: Iterable[Mapping[str, Cell]], column: str) -> list[float]:
    """Take the numbers of a column for drawing; what is none leaves a hole.

    Examples
    --------
    >>> numbers([{"a": 1}, {"a": None}, {}, {"a": 2.5}], "a")
    [1.0, nan, nan, 2.5]
    """
    values = [row.get(column) for row in rows]
    return [float(value) if isinstance(value, int | float) else math.nan for value in values]
