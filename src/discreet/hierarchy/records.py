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
from discreet.core.options import items_of, name_of
from discreet.core.spaces.inputs import positive_count
from discreet.core.tree import Tree
from discreet.hierarchy.problem import Frame, GroupSizes
from discreet.hierarchy.refusals import (
    BAD,
    GROUPS,
    LEAF,
    LISTED,
    SIZE,
    UNIT,
    check_once,
    check_places,
    explain,
)
from discreet.tables.frames import ROW, collect, name_rows, open_table, text_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.tables.frames import Table

__all__ = [
    "Named",
    "Public",
    "canonical",
    "check_columns",
    "count_rows",
    "declared_regions",
    "from_records",
    "from_units",
    "join_left",
    "place_rows",
    "read_public",
]


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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the wrapper of the table of units, which does not pickle; the table itself does."""
        kept = None if self.units is None else nw.to_native(self.units)
        return {**self.__dict__, "units": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state["units"]
        self.__dict__.update(state, units=None if kept is None else nw.from_native(kept))

    def frame(self, max_size: int, max_quantity: int) -> Frame:
        """Give the public facts of a release."""
        if self.groups is None:
            return Frame(self.tree, max_size, "private", max_quantity)
        totals = self.tree.totals(self.groups)
        return Frame(self.tree, max_size, "public", max_quantity, totals)


@final
@dataclass(frozen=True)
class Named:
    """Names of the columns of a private table, beside those of the region path.

    Parameters
    ----------
    unit
        Of the unit, such as a household.
    size
        Of the size of the unit, in a table with one row for each unit; ``None`` for one row for each person.
    quantity
        Of what a person adds to the size.
    person
        Of the person, where one person may not have two rows.

    Raises
    ------
    InvalidProblemError
        For a table of persons without units, or one of units with columns of persons.
    """

    unit: str | None = None
    size: str | None = None
    quantity: str | None = None
    person: str | None = None

    def __post_init__(self) -> None:
        for field in ("unit", "size", "quantity", "person"):
            name = getattr(self, field)
            if name is not None and not isinstance(name, str):
                raise InvalidProblemError(field, "the name of a column", type(name).__name__)
        if self.size is None and self.unit is None:
            raise InvalidProblemError("unit", "the column of the unit of each person", "none")
        for field in ("quantity", "person"):
            if self.size is not None and getattr(self, field) is not None:
                expected = "no such column with one row for each unit"
                raise InvalidProblemError(field, expected, repr(getattr(self, field)))

    @property
    def argument(self) -> str:
        """What messages call the table."""
        return "people" if self.size is None else "units"

    def columns(self, public: Public) -> list[str]:
        """All columns that are read, those of the region path first.

        Raises
        ------
        InvalidProblemError
            When one of them has two uses.
        """
        given = (self.unit, self.size, self.quantity, self.person)
        wanted = [*public.columns, *(name for name in given if name is not None)]
        if len(set(wanted)) < len(wanted):
            raise InvalidProblemError(
                "unit, size, quantity, person", "different columns", repr(wanted)
            )
        return wanted


def read_public(
    columns: Sequence[str],
    *,
    regions: Any = None,  # noqa: ANN401 - any table that Narwhals knows, a path, a tree, or paths of labels
    public_units: Any = None,  # noqa: ANN401 - any table that Narwhals knows, or a path
    unit: str | None = None,
    root: Hashable = "all",
) -> Public:
    """Read what is public: the regions and, where they are public, the units.

    Parameters
    ----------
    columns
        Columns of the region path, from the top down.
    regions
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
    columns = check_columns(columns, unit)
    if regions is None and public_units is None:
        raise InvalidProblemError(
            "regions", "the public list of regions, or public units", "neither"
        )
    units = None
    if public_units is not None:
        wanted = columns if unit is None else (*columns, unit)
        units = canonical(open_table(public_units, "public_units", wanted), columns)
    tree = _read_tree(columns, regions, units, root)
    if units is None:
        return Public(columns, tree, unit)
    units = place_rows(units, columns, tree)
    check_places(units, columns, tree, "public_units", private=False)
    counted = collect(units.group_by(LEAF).agg(nw.len().alias(GROUPS)), "public_units")
    groups = np.zeros(len(tree.leaves), dtype=np.int64)
    groups[counted[LEAF].to_numpy()] = counted[GROUPS].to_numpy()
    if unit is None:
        return Public(columns, tree, None, groups)
    units = units.with_columns(text_of(units, unit, "public_units").alias(UNIT))
    check_once(units, unit, "public_units", private=False)
    return Public(columns, tree, unit, groups, units.select(UNIT, nw.col(LEAF).alias(LISTED)))


def count_rows(
    source: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
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
    table = canonical(open_table(source, argument, wanted), public.columns)
    table = place_rows(table, public.columns, public.tree)
    persons = named.size is None
    number, most = (named.quantity, frame.max_quantity) if persons else (named.size, frame.max_size)
    table = _with_whole(table, number, most)
    if named.unit is not None:
        table = table.with_columns(text_of(table, named.unit, named.unit).alias(UNIT))
    broken = (nw.col(LEAF) < 0) | (nw.col(BAD) > 0)
    if persons:
        groups, broken = _grouped(table, broken)
        if named.person is not None:
            people = table.with_columns(text_of(table, named.person, named.person).alias(UNIT))
            check_once(people, named.person, argument, private=True)
    else:
        groups = table
        if named.unit is not None:
            check_once(table, named.unit, argument, private=True)
    counted = _count(_flagged(groups, broken, public), frame, argument)
    if counted is None:
        explain(
            _match(table, public),
            public.columns,
            public.tree,
            unit=named.unit,
            number=number,
            argument=argument,
        )
    return _finish(frame, counted, public)


def _grouped(table: Table, broken: nw.Expr) -> tuple[Table, nw.Expr]:
    """Add up the rows of each unit; a unit is broken where one of its rows is, or where they lie in two regions."""
    broken = broken | (nw.col(UNIT) == "")
    flagged = table.with_columns(broken.cast(nw.Int64).alias(BAD))
    groups: Table = flagged.group_by(UNIT).agg(
        nw.col(SIZE).sum(),
        nw.col(LEAF).min(),
        nw.col(LEAF).max().alias(GROUPS),
        nw.col(BAD).max(),
    )
    return groups, (nw.col(BAD) > 0) | (nw.col(GROUPS) != nw.col(LEAF))


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


def check_columns(columns: Sequence[str], unit: str | None) -> tuple[str, ...]:
    """Read the names of the columns of the region path.

    Raises
    ------
    InvalidProblemError
        For one text in place of a list, no name, or a name that comes twice.
    """
    if isinstance(columns, str):
        expected = f"a list of names, such as [{columns!r}]"
        raise InvalidProblemError("columns", expected, f"the text {columns!r}")
    names = items_of(columns, "columns", "different columns, from the top down")
    for name in (*names, unit):
        name_of(name, "columns" if name is not unit else "unit")
    if not names or len({*names, unit}) <= len(names):
        raise InvalidProblemError("columns", "different columns, from the top down", repr(columns))
    return names


def declared_regions(
    given: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    columns: tuple[str, ...],
    root: Hashable,
) -> Tree:
    """Make the tree of the regions that the rows of a table name, whose owner declares them to be public.

    Rows that name none, or one with a gap, are left out: they are judged with the others, once a release is charged.

    Parameters
    ----------
    given
        A table, or its path; private but for the columns of the path.
    columns
        Columns of the region path, from the top down.
    root
        Name of the region that holds all.

    Raises
    ------
    InvalidProblemError
        Where no row names a region, or one region ends in two columns. No cell is quoted.
    """
    table = canonical(open_table(given, "regions", columns), columns)
    # In order of their names: the order of the rows is private.
    listed = collect(table.select(*columns).unique(), "regions").sort(*columns)
    paths = []
    for row in listed.rows():
        depth = next((at for at, label in enumerate(row) if not label), len(row))
        if depth and not any(row[depth:]):
            paths.append(row[:depth])
    if not paths:
        raise InvalidProblemError("columns", "columns that name a region", "empty ones")
    try:
        return Tree.from_paths(paths, root=root)
    except InvalidProblemError:
        # What it says would quote cells.
        expected = "regions that each end at one column; give a public list of regions instead"
        raise InvalidProblemError("columns", expected, "one that ends in two") from None


def _read_tree(
    columns: tuple[str, ...],
    regions: Any,  # noqa: ANN401 - as in read_public
    units: Table | None,
    root: Hashable,
) -> Tree:
    """Make the tree of a list of regions, or of the regions in which public units are."""
    if isinstance(regions, Tree):
        return regions
    if isinstance(regions, list | tuple):
        expected = "a table of regions, a tree, or tuples of labels"
        paths = [items_of(path, "regions", expected) for path in regions]
        return Tree.from_paths([tuple(map(str, path)) for path in paths], root=root)
    if regions is None:
        argument = "public_units"
        # In order of their names: a table that is grouped in a stream has no order to keep.
        listed = collect(units.select(*columns).unique(), argument).sort(*columns)  # type: ignore[union-attr]
    else:
        argument = "regions"
        table = canonical(open_table(regions, argument, columns), columns)
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


def canonical(table: Table, columns: tuple[str, ...]) -> Table:
    """Write the labels of regions as text, with nothing for what is missing."""
    return table.with_columns(*(text_of(table, name, name).alias(name) for name in columns))


def place_rows(table: Table, columns: tuple[str, ...], tree: Tree) -> Table:
    """Give each row the number of its lowest region, or -1 where the list has none."""
    paths = [tree.path(leaf) for leaf in tree.leaves.tolist()]
    depth = len(columns)
    if tree.depth > depth:
        raise InvalidProblemError("columns", f"{tree.depth} columns, as the tree is deep", depth)
    known: dict[str, Any] = {
        name: [str(path[at]) if at < len(path) else "" for path in paths]
        for at, name in enumerate(columns)
    }
    known[LEAF] = list(range(len(paths)))
    leaves = nw.from_dict(known, backend=nw.get_native_namespace(table))
    joined = join_left(table, leaves, list(columns), "regions")
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
    return table if public.units is None else join_left(table, public.units, UNIT, "public_units")


def _flagged(groups: Table, broken: nw.Expr, public: Public) -> Table:
    """Mark groups that are broken, or whose unit is not listed or listed elsewhere."""
    if public.units is not None:
        broken = broken | (nw.col(LISTED).fill_null(-1) != nw.col(LEAF))
    return _match(groups, public).with_columns(broken.cast(nw.Int64).alias(BAD))


def join_left(table: Table, other: Table, on: str | list[str], argument: str) -> Table:
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
