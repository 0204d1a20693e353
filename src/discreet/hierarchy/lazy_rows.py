"""Rows in lazy and distributed frames, grouped where they are: only counts by region and size are collected.

No row of a lazy frame has a position, and its regions are not joined to the public list where the rows are: units are
added up there by the labels that they have, and what comes back is one row for each path and size. Their number is
bounded by what is public, so that a column with a label for each row is refused and not collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.refusals import BAD, GROUPS, SIZE, UNIT
from discreet.hierarchy.regions import place_rows
from discreet.tables.frames import collect, name_rows, text_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public

__all__ = ["grouped_cells", "is_remote"]

LAST = "discreet last {}"
"""Columns of our own: the last label of a column of the region path among the rows of a unit."""


def is_remote(source: Any) -> bool:  # noqa: ANN401 - anything
    """Tell whether a table is lazy, and of a library whose rows have no order: all lazy ones but Polars."""
    try:
        table = nw.from_native(source)
    except (TypeError, nw.exceptions.DuplicateError):
        return False
    return isinstance(table, nw.LazyFrame) and not table.implementation.is_polars()


def grouped_cells(source: Any, public: Public, named: Named, frame: Frame) -> Any:  # noqa: ANN401 - a lazy frame of any library
    """Group the rows of a lazy frame by unit, and units by region and size; collect these groups.

    Returns
    -------
    DataFrame
        Region, size, number of units and whether any is bad; where public units are matched by name, a row for each
        unit with its name.

    Raises
    ------
    InvalidProblemError
        For a table that its library cannot compute, names that come twice, or more groups than can be. No value is
        quoted.
    """
    argument, persons = named.argument, named.size is None
    columns = list(public.columns)
    try:
        table = nw.from_native(source).select(*named.columns(public))
        number = named.quantity if persons else named.size
        most = frame.max_quantity if persons else frame.max_size
        if number is None:
            size, bad = nw.lit(1).cast(nw.Int64), nw.lit(0).cast(nw.Int64)
        else:
            size, fine = whole_of(table, number)
            size, bad = size.clip(upper_bound=most), (~fine).cast(nw.Int64)
        once = named.person if persons else named.unit
        if once is not None:
            _refuse_again(table, once, argument)
        texts = [text_of(table, name, name).alias(name) for name in columns]
        keys = [] if named.unit is None else [text_of(table, named.unit, named.unit).alias(UNIT)]
        table = table.select(*texts, *keys, size.alias(SIZE), bad.alias(BAD))
        if keys:
            missing = (nw.col(UNIT) == "").cast(nw.Int64)
            table = table.with_columns((nw.col(BAD) + missing).alias(BAD))
        if persons:
            table = _by_unit(table, columns)
        if public.units is not None:
            return place_rows(_eager(table, argument), public.columns, public.tree)
        top = nw.col(SIZE).clip(upper_bound=frame.max_size)
        cells = table.with_columns(top.alias(SIZE)).group_by(*columns, SIZE)
        most_cells = len(frame.tree.leaves) * (frame.max_size + 1)
        counted = cells.agg(nw.len().alias(GROUPS), nw.col(BAD).max()).head(most_cells + 1)
        return place_rows(_eager(counted, argument), public.columns, public.tree)
    except InvalidProblemError:
        raise
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - each library has errors of its own, which may quote a row
        expected = "a lazy table that its library can group"
        raise InvalidProblemError(argument, expected, type(error).__name__) from None


def _by_unit(table: Any, columns: Sequence[str]) -> Any:  # noqa: ANN401 - a lazy frame
    """Add up the rows of each unit; it is bad where its rows have different labels."""
    ends = [nw.col(name).max().alias(LAST.format(at)) for at, name in enumerate(columns)]
    firsts = [nw.col(name).min() for name in columns]
    units = table.group_by(UNIT).agg(nw.col(SIZE).sum(), nw.col(BAD).max(), *firsts, *ends)
    split = nw.lit(0)
    for at, name in enumerate(columns):
        split = split + (nw.col(name) != nw.col(LAST.format(at))).cast(nw.Int64)
    return units.select(UNIT, *columns, SIZE, (nw.col(BAD) + split).alias(BAD))


def _refuse_again(table: Any, column: str, argument: str) -> None:  # noqa: ANN401 - a lazy frame
    """Refuse a name that is missing, or comes twice."""
    names = table.select(text_of(table, column, column).alias(UNIT))
    groups = names.group_by(UNIT).agg(nw.len().alias(GROUPS))
    bad = groups.filter((nw.col(GROUPS) > 1) | (nw.col(UNIT) == "")).select(GROUPS).head(1)
    if len(_eager(bad, argument)):
        raise InvalidProblemError(column, "every name once", f"others {name_rows([])}")


def _eager(table: Any, argument: str) -> Any:  # noqa: ANN401 - a lazy frame
    """Collect a table as one of PyArrow or pandas, and make it one of Polars."""
    return nw.from_native(collect(table, argument).to_polars(), eager_only=True)
