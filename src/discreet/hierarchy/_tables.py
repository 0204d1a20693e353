"""From tables of people or of units to counts by region and size: lazily, and without a word about values.

Public tables (regions, units) are read first and apart, so that a caller may charge a budget before anything private is
looked at. Everything runs on the table's own library through Narwhals; files are scanned by Polars and grouped in a
stream, so that they may be larger than memory. What is wrong with private rows is said by column and position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.inputs import positive_count
from discreet.core.tree import Tree
from discreet.hierarchy._refusals import check_once, check_places, explain
from discreet.hierarchy._rows import (
    BAD,
    GROUPS,
    LEAF,
    LISTED,
    ROW,
    SIZE,
    UNIT,
    collect,
    name_rows,
    open_table,
    text_of,
    whole_of,
)
from discreet.hierarchy.problem import Frame, GroupSizes

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy._rows import Table

__all__ = ["Public", "count_records", "count_units", "from_records", "from_units", "read_public"]


@final
@dataclass(frozen=True, eq=False)
class Public:
    """What is public of the tables: regions, and units where they are public.

    Parameters
    ----------
    columns
        Names of the columns of the region path, from the top down.
    tree
        The regions.
    unit
        Name of the column of units in all tables, where they are matched by name.
    groups
        ``(n_leaves,)`` how many units each lowest region has; ``None`` where units are private.
    units
        The public units by name, with the region of each; ``None`` where they are not matched.
    """

    columns: tuple[str, ...]
    tree: Tree
    unit: str | None = None
    groups: NDArray[np.int64] | None = None
    units: Table | None = None

    def frame(self, max_size: int, max_quantity: int) -> Frame:
        """Give the public facts of a release."""
        if self.groups is None:
            return Frame(self.tree, max_size, "private", max_quantity)
        totals = self.tree.totals(self.groups)
        return Frame(self.tree, max_size, "public", max_quantity, totals)


def read_public(
    regions: Sequence[str],
    *,
    region_list: Any = None,  # noqa: ANN401 - any table that Narwhals knows, a path, a tree, or paths of labels
    public_units: Any = None,  # noqa: ANN401 - any table that Narwhals knows, or a path
    unit: str | None = None,
    root: Hashable = "all",
) -> Public:
    """Read what is public: the regions and, where they are public, the units.

    Parameters
    ----------
    regions
        Columns of the region path, from the top down.
    region_list
        The regions that exist: a table or file with one row a lowest region, a tree, or paths of labels.
    public_units
        The units that exist: a table or file with one row each.
    unit
        Column of the names of units; without it public units are counted, not matched.
    root
        What to call the region that holds all.

    Returns
    -------
    Public
        The tree, and how many units each region has.

    Raises
    ------
    InvalidProblemError
        For no columns or the same twice, neither list nor units, or rows that make no sense.
    """
    columns = tuple(regions)
    if isinstance(regions, str) or not columns or len({*columns, unit}) <= len(columns):
        raise InvalidProblemError("regions", "different columns, from the top down", repr(regions))
    if region_list is None and public_units is None:
        raise InvalidProblemError(
            "region_list", "the public list of regions, or public units", "neither"
        )
    units = None
    if public_units is not None:
        wanted = columns if unit is None else (*columns, unit)
        units = _canonical(open_table(public_units, "public_units", wanted), columns)
    tree = _read_tree(columns, region_list, units, root)
    if units is None:
        return Public(columns, tree, unit)
    units = _place(units, columns, tree)
    check_places(units, columns, tree, "public_units", private=False)
    counted = collect(units.group_by(LEAF).agg(nw.len().alias(GROUPS)), "public_units")
    groups = np.zeros(len(tree.leaves), dtype=np.int64)
    groups[counted[LEAF].to_numpy()] = counted[GROUPS].to_numpy()
    if unit is None:
        return Public(columns, tree, None, groups)
    units = units.with_columns(text_of(units, unit, "public_units").alias(UNIT))
    check_once(units, unit, "public_units", private=False)
    return Public(columns, tree, unit, groups, units.select(UNIT, nw.col(LEAF).alias(LISTED)))


def count_records(
    people: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    public: Public,
    *,
    unit: str,
    max_size: int,
    quantity: str | None = None,
    max_quantity: int = 1,
    person: str | None = None,
) -> GroupSizes:
    """Count groups from one row a person; see :meth:`GroupSizes.from_records`."""
    frame = public.frame(positive_count(max_size, "max_size"), max_quantity)
    wanted = [*public.columns, unit, *(c for c in (quantity, person) if c is not None)]
    if len(set(wanted)) < len(wanted):
        raise InvalidProblemError("unit, quantity, person", "different columns", repr(wanted))
    table = _canonical(open_table(people, "people", wanted), public.columns)
    table = table.with_columns(text_of(table, unit, unit).alias(UNIT))
    table = _place(table, public.columns, public.tree)
    table = _with_whole(table, quantity, frame.max_quantity)
    broken = (nw.col(UNIT) == "") | (nw.col(LEAF) < 0) | (nw.col(BAD) > 0)
    flagged = table.with_columns(broken.cast(nw.Int64).alias(BAD))
    groups: Table = flagged.group_by(UNIT).agg(
        nw.col(SIZE).sum(),
        nw.col(LEAF).min(),
        nw.col(LEAF).max().alias(GROUPS),
        nw.col(BAD).max(),
    )
    split = nw.col(GROUPS) != nw.col(LEAF)
    if person is not None:
        named = table.with_columns(text_of(table, person, person).alias(UNIT))
        check_once(named, person, "people", private=True)
    counted = _count(_flagged(groups, (nw.col(BAD) > 0) | split, public), frame, "people")
    if counted is None:
        rows = _match(table, public)
        explain(rows, public.columns, public.tree, unit=unit, number=quantity, argument="people")
    return _finish(frame, counted, public)


def count_units(
    units: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    public: Public,
    *,
    size: str,
    max_size: int,
    max_quantity: int = 1,
) -> GroupSizes:
    """Count groups from one row a unit; see :meth:`GroupSizes.from_units`."""
    frame = public.frame(positive_count(max_size, "max_size"), max_quantity)
    named = [] if public.unit is None else [public.unit]
    wanted = [*public.columns, size, *named]
    if len(set(wanted)) < len(wanted):
        raise InvalidProblemError("size", "another column than the others", repr(size))
    table = _place(
        _canonical(open_table(units, "units", wanted), public.columns), public.columns, public.tree
    )
    table = _with_whole(table, size, frame.max_size)
    broken = (nw.col(LEAF) < 0) | (nw.col(BAD) > 0)
    unit = public.unit
    if unit is not None:
        table = table.with_columns(text_of(table, unit, unit).alias(UNIT))
        check_once(table, unit, "units", private=True)
    counted = _count(_flagged(table, broken, public), frame, "units")
    if counted is None:
        rows = _match(table, public)
        explain(rows, public.columns, public.tree, unit=unit, number=size, argument="units")
    return _finish(frame, counted, public)


def from_records(
    people: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    *,
    unit: str,
    regions: Sequence[str],
    region_list: Any = None,  # noqa: ANN401 - as people, or paths of labels
    max_size: int,
    public_units: Any = None,  # noqa: ANN401 - as people
    quantity: str | None = None,
    max_quantity: int = 1,
    person: str | None = None,
    root: Hashable = "all",
) -> GroupSizes:
    """Count groups from one row a person; see :meth:`GroupSizes.from_records`."""
    public = read_public(
        regions, region_list=region_list, public_units=public_units, unit=unit, root=root
    )
    return count_records(
        people,
        public,
        unit=unit,
        max_size=max_size,
        quantity=quantity,
        max_quantity=max_quantity,
        person=person,
    )


def from_units(
    units: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    *,
    size: str,
    regions: Sequence[str],
    region_list: Any = None,  # noqa: ANN401 - as units, or paths of labels
    max_size: int,
    unit: str | None = None,
    public_units: Any = None,  # noqa: ANN401 - as units
    max_quantity: int = 1,
    root: Hashable = "all",
) -> GroupSizes:
    """Count groups from one row a unit; see :meth:`GroupSizes.from_units`."""
    public = read_public(
        regions, region_list=region_list, public_units=public_units, unit=unit, root=root
    )
    return count_units(units, public, size=size, max_size=max_size, max_quantity=max_quantity)


def _read_tree(
    columns: tuple[str, ...],
    region_list: Any,  # noqa: ANN401 - as in read_public
    units: Table | None,
    root: Hashable,
) -> Tree:
    """Make the tree of a list of regions, or of the regions in which public units are."""
    if isinstance(region_list, Tree):
        return region_list
    if isinstance(region_list, list | tuple):
        return Tree.from_paths([tuple(map(str, path)) for path in region_list], root=root)
    if region_list is None:
        argument = "public_units"
        # In order of their names: a table that is grouped in a stream has no order to keep.
        listed = collect(units.select(*columns).unique(), argument).sort(*columns)  # type: ignore[union-attr]
    else:
        argument = "region_list"
        table = _canonical(open_table(region_list, argument, columns), columns)
        listed = collect(table, argument).sort(ROW)
    paths = []
    for number, row in enumerate(listed.select(*columns).rows(), start=1):
        depth = next((at for at, label in enumerate(row) if not label), len(row))
        if not depth or any(row[depth:]):
            got = f"one with a gap or none at all: {row!r} (row {number})"
            raise InvalidProblemError(argument, f"paths of {', '.join(columns)}", got)
        paths.append(row[:depth])
    try:
        return Tree.from_paths(paths, root=root)
    except InvalidProblemError as error:
        raise InvalidProblemError(argument, error.expected, error.got) from None


def _canonical(table: Table, columns: tuple[str, ...]) -> Table:
    """Write the labels of regions as text, with nothing for what is missing."""
    return table.with_columns(*(text_of(table, name, name).alias(name) for name in columns))


def _place(table: Table, columns: tuple[str, ...], tree: Tree) -> Table:
    """Give each row the number of its lowest region, or -1 where the list has none."""
    paths = [tree.path(leaf) for leaf in tree.leaves.tolist()]
    depth = len(columns)
    if tree.depth > depth:
        raise InvalidProblemError("regions", f"{tree.depth} columns, as the tree is deep", depth)
    known: dict[str, Any] = {
        name: [str(path[at]) if at < len(path) else "" for path in paths]
        for at, name in enumerate(columns)
    }
    known[LEAF] = list(range(len(paths)))
    leaves = nw.from_dict(known, backend=nw.get_native_namespace(table))
    joined = _join(table, leaves, list(columns), "regions")
    return joined.with_columns(nw.col(LEAF).fill_null(-1).cast(nw.Int64))


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
    return table if public.units is None else _join(table, public.units, UNIT, "public_units")


def _flagged(groups: Table, broken: nw.Expr, public: Public) -> Table:
    """Mark groups that are broken, or whose unit is not listed or listed elsewhere."""
    if public.units is not None:
        broken = broken | (nw.col(LISTED).fill_null(-1) != nw.col(LEAF))
    return _match(groups, public).with_columns(broken.cast(nw.Int64).alias(BAD))


def _join(table: Table, other: Table, on: str | list[str], argument: str) -> Table:
    """Join on the left, also with a table of another library or laziness."""
    backend = nw.get_native_namespace(table)
    if isinstance(table, nw.LazyFrame):
        if isinstance(other, nw.DataFrame):
            moved = nw.from_dict(
                {name: other[name].to_list() for name in other.columns}, backend=backend
            )
            other = moved.lazy()
        return table.join(other, on=on, how="left")
    eager = collect(other, argument)
    if nw.get_native_namespace(eager) is not backend:
        eager = nw.from_dict(
            {name: eager[name].to_list() for name in eager.columns}, backend=backend
        )
    return table.join(eager, on=on, how="left")


def _count(groups: Table, frame: Frame, argument: str) -> NDArray[np.int64] | None:
    """Count groups by lowest region and size; nothing where any of them is bad."""
    top = nw.col(SIZE).clip(upper_bound=frame.max_size)
    table = groups.with_columns(top).group_by(LEAF, SIZE)
    cells = collect(table.agg(nw.len().alias(GROUPS), nw.col(BAD).max()), argument)
    if cells[BAD].to_numpy().astype(bool).any():
        return None
    leaf, size = cells[LEAF].to_numpy(), cells[SIZE].to_numpy()
    counts = np.zeros((len(frame.tree.leaves), frame.max_size + 1), dtype=np.int64)
    np.add.at(counts, (leaf, size), cells[GROUPS].to_numpy())
    return counts


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
