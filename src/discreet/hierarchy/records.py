"""From tables of people or of units to counts by region and size: lazily, and no message holds a value.

Everything runs on the table's own library through Narwhals; files are scanned by Polars and grouped in a stream. Rows
that come in parts are grouped part by part, and groups of parts are added up. What is wrong with private rows is said
by column and position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.lazy_rows import grouped_cells, is_remote
from discreet.hierarchy.problem import Frame, GroupSizes
from discreet.hierarchy.refusals import (
    BAD,
    GROUPS,
    LEAF,
    LISTED,
    SIZE,
    UNIT,
    check_once,
    explain,
)
from discreet.hierarchy.regions import (
    Named,
    Public,
    canonical,
    join_left,
    place_rows,
    read_public,
)
from discreet.tables.frames import collect, name_rows, open_table, text_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.tables.frames import Table

__all__ = [
    "FIRST",
    "RowSource",
    "count_groups",
    "count_rows",
    "explain_rows",
    "from_records",
    "from_units",
    "grouped",
    "read_rows",
    "with_keys",
]

FIRST = "discreet first"
"""Column of our own: the first of the regions in which a unit has rows; LEAF is then the last."""


@runtime_checkable
class RowSource(Protocol):
    """Private rows that are counted where they are, such as files that are read piece by piece."""

    def check(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse what can be refused without a look at a value, before anything is charged."""
        ...

    def count(self, public: Public, named: Named, frame: Frame) -> NDArray[np.int64]:
        """Count units: ``(n_leaves, max_size + 1)``, by lowest region and by sizes from 0 on."""
        ...


def count_rows(
    source: Any,  # noqa: ANN401 - any table that Narwhals knows, a path, or a RowSource
    public: Public,
    named: Named,
    *,
    max_size: int,
    max_quantity: int = 1,
) -> GroupSizes:
    """Count groups from the rows of a private table: of persons, or of units where `named` has their sizes.

    Raises
    ------
    InvalidProblemError
        As :func:`from_records`.
    """
    frame = public.frame(positive_count(max_size, "max_size"), max_quantity)
    argument, wanted = named.argument, named.columns(public)
    if isinstance(source, RowSource):
        return _finish(frame, source.count(public, named, frame), public)
    if is_remote(source):
        return _finish(frame, _collected(source, public, named, frame), public)
    table = read_rows(open_table(source, argument, wanted), public, named, frame)
    groups = table
    if named.size is None:
        groups = grouped(with_keys(table, public, named))
        once = named.person
    else:
        once = named.unit
    if once is not None:
        texts = table.with_columns(text_of(table, once, once).alias(UNIT))
        groups = texts if named.size is not None else groups
        check_once(texts, once, argument, private=True)
    counted = count_groups(groups, public, frame, argument)
    if counted is None:
        explain_rows(table, public, named)
    return _finish(frame, counted, public)


def read_rows(table: Table, public: Public, named: Named, frame: Frame) -> Table:
    """Give each row its lowest region, its size, and whether either is missing or makes no sense."""
    table = place_rows(canonical(table, public.columns), public.columns, public.tree)
    persons = named.size is None
    number, most = (named.quantity, frame.max_quantity) if persons else (named.size, frame.max_size)
    table = _with_whole(table, number, most)
    bad = (nw.col(LEAF) < 0) | (nw.col(BAD) > 0)
    return table.with_columns(bad.cast(nw.Int64).alias(BAD))


def with_keys(table: Table, public: Public, named: Named) -> Table:
    """Give each row the name of its unit, as text only where it must be; rows without a name are bad."""
    name = named.unit or ""
    if public.units is None and table.collect_schema()[name].is_integer():
        key, missing = nw.col(name), nw.col(name).is_null()
    else:
        key = text_of(table, name, name)
        missing = key == ""
    bad = (nw.col(BAD) > 0) | missing
    return table.with_columns(key.alias(UNIT), bad.cast(nw.Int64).alias(BAD))


def grouped(table: Table) -> Table:
    """Add up the rows of each unit; it is bad where one of its rows is, or where they lie in two regions.

    Parameters
    ----------
    table
        Rows of :func:`with_keys`, or groups that this function made of parts of them.
    """
    first = nw.col(FIRST if FIRST in table.collect_schema().names() else LEAF).min().alias(FIRST)
    added = nw.col(SIZE).sum(), first, nw.col(LEAF).max(), nw.col(BAD).max()
    groups: Table = table.group_by(UNIT).agg(*added)
    bad = (nw.col(BAD) > 0) | (nw.col(FIRST) != nw.col(LEAF))
    return groups.with_columns(bad.cast(nw.Int64).alias(BAD))


def count_groups(
    groups: Table, public: Public, frame: Frame, argument: str
) -> NDArray[np.int64] | None:
    """Count groups by lowest region and size; nothing where one is bad, not listed, or listed elsewhere.

    Parameters
    ----------
    groups
        One row for each unit, with its region, its size, and its name where units are public by name.
    public, frame
        What is public.
    argument
        What messages call the table.

    Returns
    -------
    array
        ``(n_leaves, max_size + 1)``.
    """
    broken = nw.col(BAD) > 0
    if public.units is not None:
        groups = _match(groups, public)
        broken = broken | (nw.col(LISTED).fill_null(-1) != nw.col(LEAF))
    groups = groups.with_columns(broken.cast(nw.Int64).alias(BAD))
    top = nw.col(SIZE).clip(upper_bound=frame.max_size)
    table = groups.with_columns(top).group_by(LEAF, SIZE)
    cells = collect(table.agg(nw.len().alias(GROUPS), nw.col(BAD).max()), argument)
    return _counts_of(cells, frame)


def _counts_of(cells: nw.DataFrame[Any], frame: Frame) -> NDArray[np.int64] | None:
    """Write groups by region and size into a table; nothing where one is bad."""
    if cells[BAD].to_numpy().astype(bool).any():
        return None
    counts = np.zeros((len(frame.tree.leaves), frame.max_size + 1), dtype=np.int64)
    leaf, size = cells[LEAF].to_numpy(), cells[SIZE].to_numpy().astype(np.int64)
    np.add.at(counts, (leaf, size), cells[GROUPS].to_numpy().astype(np.int64))
    return counts


def _collected(
    source: Any,  # noqa: ANN401 - a lazy frame
    public: Public,
    named: Named,
    frame: Frame,
) -> NDArray[np.int64]:
    """Count the rows of a lazy frame where they are; what is wrong is said without positions, which it has none of."""
    cells = grouped_cells(source, public, named, frame)
    bad = (nw.col(BAD) > 0) | (nw.col(LEAF) < 0)
    cells = cells.with_columns(bad.cast(nw.Int64).alias(BAD))
    by_name = public.units is not None
    counts = (
        count_groups(cells, public, frame, named.argument) if by_name else _counts_of(cells, frame)
    )
    if counts is None:
        columns = (*public.columns, named.unit, named.size or named.quantity)
        field = ", ".join(name for name in columns if name is not None)
        expected = "a listed region, a unit in one region, and whole numbers in every row"
        raise InvalidProblemError(field, expected, f"others {name_rows([])}")
    return counts


def explain_rows(table: Table, public: Public, named: Named) -> NoReturn:
    """Say why rows of :func:`read_rows` are refused.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    number = named.quantity if named.size is None else named.size
    if named.unit is not None:
        table = table.with_columns(text_of(table, named.unit, named.unit).alias(UNIT))
    # Whether a number is bad, whatever the region is.
    if number is None:
        table = table.with_columns(nw.lit(0, nw.Int64).alias(BAD))
    else:
        fine = whole_of(table, number)[1]
        table = table.with_columns((~fine).cast(nw.Int64).alias(BAD))
    if public.units is not None:
        table = _match(table, public)
    explain(
        table,
        public.columns,
        public.tree,
        unit=named.unit,
        number=number,
        argument=named.argument,
    )


def from_records(
    people: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    *,
    unit: str,
    columns: Sequence[str],
    regions: Any = None,  # noqa: ANN401 - as people, or paths of labels
    max_size: int,
    public_units: Any = None,  # noqa: ANN401 - as people
    quantity: str | None = None,
    max_quantity: int = 1,
    person: str | None = None,
    root: Hashable = "all",
) -> GroupSizes:
    """Count groups from a table with one row for each person.

    Nothing is charged here: :func:`discreet.hierarchy.plan` reads a table after the charge.

    Parameters
    ----------
    people
        A data frame (pandas, Polars, PyArrow, ...), or the path of a CSV or Parquet file.
    unit
        Column that names the unit, such as a household.
    columns
        Columns of the region path, from the top down.
    regions
        The regions that exist, one row for each lowest region: public. Not needed with `public_units`.
    max_size
        N; larger groups are counted as of this size.
    public_units
        The units that exist, one row each, with `unit` and `columns`: public. Units without a person have size 0.
        ``None`` keeps the units private.
    quantity
        Column of what each person adds to the size of the group; 1 without it.
    max_quantity
        Larger quantities are taken as this one.
    person
        Column that names the person, where one person may not have two rows.
    root
        Name of the region that holds all.

    Raises
    ------
    InvalidProblemError
        Naming the column and the positions of rows, never values. Such a refusal depends on private records: it is
        for the curator's eyes.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"home": [1, 1, 2], "state": ["GA", "GA", "NY"]})
    >>> listed = [("GA",), ("NY",), ("DC",)]
    >>> from_records(people, unit="home", columns=["state"], regions=listed, max_size=3).counts.tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    public = read_public(columns, regions=regions, public_units=public_units, unit=unit, root=root)
    named = Named(unit, quantity=quantity, person=person)
    return count_rows(people, public, named, max_size=max_size, max_quantity=max_quantity)


def from_units(
    units: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    *,
    size: str,
    columns: Sequence[str],
    regions: Any = None,  # noqa: ANN401 - as units, or paths of labels
    max_size: int,
    unit: str | None = None,
    public_units: Any = None,  # noqa: ANN401 - as units
    max_quantity: int = 1,
    root: Hashable = "all",
) -> GroupSizes:
    """Count groups from a table with one row for each unit; the rest is as in :func:`from_records`.

    Parameters
    ----------
    units
        A data frame, or the path of a CSV or Parquet file.
    size
        Column of the size of the unit's group.
    columns, regions, max_size, public_units, max_quantity, root
        As in :func:`from_records`.
    unit
        Column that names the unit; needed where some units of `public_units` may have no row.

    Examples
    --------
    >>> import polars as pl
    >>> homes = pl.DataFrame({"people": [2, 1, 5], "state": ["GA", "NY", "GA"]})
    >>> listed = [("GA",), ("NY",)]
    >>> from_units(homes, size="people", columns=["state"], regions=listed, max_size=3).counts.tolist()
    [[0, 1, 1], [1, 0, 0]]
    """
    public = read_public(columns, regions=regions, public_units=public_units, unit=unit, root=root)
    named = Named(unit, size=size)
    return count_rows(units, public, named, max_size=max_size, max_quantity=max_quantity)


def _with_whole(table: Table, column: str | None, most: int) -> Table:
    """Read a column of whole numbers, at most so large; say of each row whether it is bad."""
    if column is None:
        one, fine = nw.lit(1, nw.Int64), nw.lit(0, nw.Int64)
        return table.with_columns(one.alias(SIZE), fine.alias(BAD))
    number, fine = whole_of(table, column)
    bad = (~fine).cast(nw.Int64)
    return table.with_columns(number.clip(upper_bound=most).alias(SIZE), bad.alias(BAD))


def _match(table: Table, public: Public) -> Table:
    """Give each row the region in which its unit is listed, where units are public by name."""
    return join_left(table, public.units, UNIT, "public_units")  # type: ignore[arg-type] # the caller looked


def _finish(frame: Frame, counted: NDArray[np.int64], public: Public) -> GroupSizes:
    """Leave out private units of nobody; give public units without a row the size 0."""
    if public.groups is None:
        return GroupSizes(frame, counted[:, 1:])
    missing = public.groups - counted.sum(axis=1)
    if (missing < 0).any() or (public.unit is None and missing.any()):
        expected = "as many units in each region as are public"
        raise InvalidProblemError("units", expected, f"another number in some {name_rows([])}")
    counted[:, 0] += missing
    return GroupSizes(frame, counted)
