"""The public side of tables of people or of units: which regions there are, and which units where units are public.

Public tables are read first and apart, so that a caller may charge a budget before anything private is looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import items_of, name_of
from discreet.core.tree import Tree
from discreet.hierarchy.problem import OTHER, Frame
from discreet.hierarchy.refusals import GROUPS, LEAF, LISTED, UNIT, check_once, check_places
from discreet.tables.frames import ROW, collect, open_table, text_of
from discreet.tables.keys import key_of, key_text
from discreet.tables.options import QuotedName, split_names
from discreet.tables.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.tables.frames import Table


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
        """Return the table of units without its wrapper, which does not pickle."""
        units = None if self.units is None else nw.to_native(self.units)
        return {**self.__dict__, "units": units}

    def __setstate__(self, state: dict[str, Any]) -> None:
        units = state["units"]
        self.__dict__.update(state, units=None if units is None else nw.from_native(units))

    def frame(self, max_size: int, max_quantity: int) -> Frame:
        """Return the public facts of a release, with these limits on a unit's size and on what one person adds to it.

        InvalidProblemError for limits that are no positive whole numbers. Linear in the regions.
        """
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
        Of the number that a person adds to the size.
    person
        Of the person, of whom one row counts.
    refuse_rows
        Whether rows that do not count are refused, outside of the guarantee.

    Raises
    ------
    InvalidProblemError
        For a table of persons without units, or one of units with columns of persons.
    """

    unit: str | None = None
    size: str | None = None
    quantity: str | None = None
    person: str | None = None
    refuse_rows: bool = False

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
        names = (self.unit, self.size, self.quantity, self.person)
        wanted = [*own_columns(public.columns), *(name for name in names if name is not None)]
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

    Public tables are read whole; a join of the units with the regions, and a grouping by name where units have names.

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
    if (regions is None or public_units is not None) and own_columns(columns) != columns:
        expected = "no column in parentheses beside public units, which have all columns"
        raise InvalidProblemError("columns", expected, repr(columns))
    if public_units is not None:
        wanted = columns if unit is None else (*columns, unit)
        units = canonical(open_table(public_units, "public_units", wanted), columns)
    tree = _read_tree(columns, regions, units, root)
    path_keys(columns, tree)
    if units is None:
        return Public(columns, tree, unit)
    units = place_rows(units, columns, tree, unlisted=False)
    check_places(units, columns, tree, "public_units")
    counted = collect(units.group_by(LEAF).agg(nw.len().alias(GROUPS)), "public_units")
    groups = np.zeros(len(tree.leaves), dtype=np.int64)
    groups[counted[LEAF].to_numpy()] = counted[GROUPS].to_numpy()
    if unit is None:
        return Public(columns, tree, None, groups)
    units = units.with_columns(key_of(units, unit).alias(UNIT))
    check_once(units, unit, "public_units")
    return Public(columns, tree, unit, groups, units.select(UNIT, nw.col(LEAF).alias(LISTED)))


def read_regions(
    columns: Sequence[str] | None,
    regions: Any,  # noqa: ANN401 - as in read_public
    root: Hashable,
) -> tuple[tuple[str, ...], Tree]:
    """Read the columns of the region path and the regions; without both, one region of all records.

    `columns` are names from the top down, `root` is the name of the region that holds all. Returns the names and the
    tree.

    Raises
    ------
    InvalidProblemError
        As :func:`read_public`, and for one of the two without the other.
    """
    if not columns and regions is None:
        return (), Tree((root,), np.array([-1]))
    if columns is None:
        raise InvalidProblemError("columns", "the columns of the region path", "None")
    names = check_columns(columns, None)
    if not isinstance(regions, Tree):
        return names, read_public(names, regions=regions, root=root).tree
    path_keys(names, regions)
    return names, regions


def check_columns(columns: Sequence[str], unit: str | None) -> tuple[str, ...]:
    """Read the names of the columns of the region path; one in parentheses of its own is between quotes: ``"(x)"``.

    `columns` are names from the top down; `unit` is a further one, which must differ, or ``None``. Returns the names;
    those from quotes are no longer taken for parentheses.

    Raises
    ------
    InvalidProblemError
        For one text in place of a list, no name, or a name that comes twice.
    """
    if isinstance(columns, str):
        expected = f"a list of names, such as [{columns!r}]"
        raise InvalidProblemError("columns", expected, f"the text {columns!r}")
    names = items_of(columns, "columns", "different columns, from the top down")
    names = tuple(
        split_names(name)[0] if isinstance(name, str) and _QUOTED.fullmatch(name) else name
        for name in names
    )
    for name in (*names, unit):
        name_of(name, "columns" if name is not unit else "unit")
    bare = [*bare_names(names), *([unit] if unit is not None else [])]
    own = own_columns(names)
    if not own or names[len(names) - len(own) :] != own or len(set(bare)) < len(bare):
        expected = "different columns, from the top down, those in parentheses above the others"
        raise InvalidProblemError("columns", expected, repr(columns))
    return names


def own_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that the rows have. Those in parentheses are upper levels that only the list of regions has.

    Examples
    --------
    >>> own_columns(["(state)", "county"])
    ('county',)
    """
    return tuple(name for name in columns if not _in_list_alone(name))


def _in_list_alone(name: str) -> bool:
    """Return whether a column is written in parentheses: in the list of regions alone."""
    text = str(name)
    return not isinstance(name, QuotedName) and text.startswith("(") and text.endswith(")")


_QUOTED = re.compile(r'"\([^"]*\)"')


def bare_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns without the parentheses of those that only the list of regions has."""
    return tuple(name[1:-1] if _in_list_alone(name) else name for name in columns)


def declared_regions(
    given: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    columns: tuple[str, ...],
    root: Hashable,
) -> Tree:
    """Build the tree of the regions that the rows of a table name, whose owner declares them to be public.

    Rows that name none, or one with a gap, are left out, as they are when rows are counted.

    Columns in parentheses are refused. Reads all rows; a sort of the distinct paths.

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
    if own_columns(columns) != columns:
        raise InvalidProblemError("columns", "no parentheses without a list", repr(columns))
    table = canonical(open_table(given, "regions", columns), columns)
    # In order of their names: the order of the rows is private.
    listed = collect(table.select(*columns).unique(), "regions").sort(*columns)
    paths = [path for row in listed.rows() if (path := _path_of(row))]
    if not paths:
        raise InvalidProblemError("columns", "columns that name a region", "empty ones")
    try:
        return Tree.from_paths(paths, root=root)
    except InvalidProblemError:
        # What it says would quote cells.
        expected = "regions that each end at one column; give a public list of regions instead"
        raise InvalidProblemError("columns", expected, "a region that ends in two") from None


def _path_of(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the labels of a row up to its first empty cell; none if others follow."""
    depth = next((at for at, label in enumerate(row) if not label), len(row))
    return () if any(row[depth:]) else row[:depth]


def _read_tree(
    columns: tuple[str, ...],
    regions: Any,  # noqa: ANN401 - as in read_public
    units: Table | None,
    root: Hashable,
) -> Tree:
    """Build the tree of a list of regions, or of the regions in which public units are.

    Raises InvalidProblemError for no region, an empty path or a gap in one.

    `regions` is a tree, label paths or a table, ``None`` for the distinct paths in `units`; `columns` hold a path,
    `root` is the name of the root. Linear in the rows.
    """
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
        columns = bare_names(columns)
        table = open_table(regions, argument, columns)
        texts = (text_of(table, name, name).alias(name) for name in columns)
        listed = collect(table.with_columns(*texts), argument).sort(ROW)
    paths = []
    for number, row in enumerate(listed.select(*columns).rows(), start=1):
        paths.append(_path_of(row))
        if not paths[-1]:
            got = f"one with a gap or none at all: {row!r} (row {number})"
            raise InvalidProblemError(argument, f"paths of {', '.join(columns)}", got)
    if not paths:
        got = f"{regions} without rows" if isinstance(regions, str | Path) else "none"
        raise refused("rows-none", argument, got)
    try:
        return Tree.from_paths(paths, root=root)
    except InvalidProblemError as error:
        raise error.renamed(argument) from None


def canonical(table: Table, columns: tuple[str, ...]) -> Table:
    """Write the labels of regions as keys, which are empty for what is missing."""
    keys = [key_of(table, name).alias(name) for name in own_columns(columns)]
    return table.with_columns(*keys) if keys else table


def place_rows(
    table: Table, columns: tuple[str, ...], tree: Tree, *, unlisted: bool = True
) -> Table:
    """Return the table with the number of each row's lowest region, its index in ``tree.leaves``, or -1 if not listed.

    With `unlisted` a row whose path is not in the list is in the region ``(other)`` of the deepest region above it that
    has one.

    The number is in a column of our own, :data:`~discreet.hierarchy.refusals.LEAF`. A join with the paths of the
    lowest regions.
    """
    known = path_keys(columns, tree)
    if not columns:
        return table.with_columns(nw.lit(0, nw.Int64).alias(LEAF))
    paths = [tree.path(leaf) for leaf in tree.leaves.tolist()]
    backend = nw.get_native_namespace(table)
    listed = nw.from_dict({**known, LEAF: list(range(len(paths)))}, backend=backend)
    table = join_left(table, listed, list(known), "regions")
    for depth in range(len(columns), 0, -1) if unlisted else ():
        other_leaves = [
            leaf for leaf, path in enumerate(paths) if len(path) == depth and path[-1] == OTHER
        ]
        above = {name: known.get(name) for name in columns[: depth - 1]}
        if not other_leaves or None in above.values():
            continue
        leaf_of_row: nw.Expr = nw.lit(other_leaves[0], nw.Int64)
        if above:
            places = {
                name: [keys[leaf] for leaf in other_leaves] for name, keys in above.items() if keys
            }
            named = nw.from_dict({**places, _OTHER_LEAF: other_leaves}, backend=backend)
            table, leaf_of_row = (
                join_left(table, named, list(above), "regions"),
                nw.col(_OTHER_LEAF),
            )
        unplaced = nw.when(nw.col(LEAF).is_null()).then(leaf_of_row).otherwise(nw.col(LEAF))
        table = table.with_columns(unplaced.alias(LEAF))
        table = table.drop(_OTHER_LEAF) if above else table
    return table.with_columns(nw.col(LEAF).fill_null(-1).cast(nw.Int64))


_OTHER_LEAF = "discreet other leaf"
"""Column of our own: the region ``(other)`` beside a region that is not listed."""


def grouped_keys(columns: tuple[str, ...], tree: Tree) -> dict[str, list[str]]:
    """Return the keys of regions by which the rows of a lazy frame are grouped where they are.

    If the list has a region ``(other)``, each column has this key, for :func:`place_rows` to place.

    By name of each column that the rows have; `columns` are those of the path.
    """
    keys = path_keys(columns, tree)
    has_other = any(OTHER in tree.path(leaf) for leaf in tree.leaves.tolist())
    return {name: [*listed, OTHER] if has_other else listed for name, listed in keys.items()}


def path_keys(columns: tuple[str, ...], tree: Tree) -> dict[str, list[str]]:
    """Return the keys of the paths of all lowest regions, by the columns that the rows have.

    Raises
    ------
    InvalidProblemError
        For too few columns, regions whose labels are one key, such as 1 and 1.0, or columns in parentheses where the
        others do not tell all regions apart.
    """
    paths = [tree.path(leaf) for leaf in tree.leaves.tolist()]
    depth, own = len(columns), own_columns(columns)
    if tree.depth > depth:
        raise InvalidProblemError("columns", f"{tree.depth} columns, as the tree is deep", depth)
    keys = [[key_text(label) for label in path] + [""] * (depth - len(path)) for path in paths]
    rest = [tuple(path[depth - len(own) :]) for path in keys]
    if len(set(map(tuple, keys))) < len(keys):
        expected = "regions whose labels differ as numbers, since 1 and 1.0 are one value"
        raise InvalidProblemError("regions", expected, "two equal regions")
    ends = [path[-1] if not at[0] else "" for at, path in zip(rest, paths, strict=True) if at]
    if own != columns and (len(set(rest)) < len(rest) or set(ends) - {"", OTHER}):
        expected = (
            f"regions that {', '.join(own)} alone tells apart; name all columns without parentheses"
        )
        raise InvalidProblemError("regions", expected, "others")
    return {name: [path[at] for path in rest] for at, name in enumerate(own)}


def join_left(table: Table, other: Table, on: str | list[str], argument: str) -> Table:
    """Join on the left by columns `on`, also with a table of another library or laziness, which is collected.

    `argument` names `other` in messages if it cannot be read. Rows without a match have nulls; lazy if `table` is.
    """
    backend = nw.get_native_namespace(table)
    is_lazy, lookup = isinstance(table, nw.LazyFrame), cast("Any", other)
    if not (is_lazy and isinstance(other, nw.LazyFrame)):
        lookup = collect(other, argument)
        if is_lazy or nw.get_native_namespace(lookup) is not backend:
            texts = {name: lookup[name].to_list() for name in lookup.columns}
            lookup = nw.from_dict(texts, backend=backend)
    return table.join(lookup.lazy() if is_lazy else lookup, on=on, how="left")
