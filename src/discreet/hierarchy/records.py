"""Trusted: from tables of people or of units to counts by region and size, by the rule of :mod:`discreet.tables.keys`.

A row counts if its region is a lowest one of the list, its unit has a name, its number is whole, and its unit is public
in this region where units are public. A unit is a name in a region: rows of one name in two regions are two units. So
each row of a person adds at most `max_quantity` to one unit, and nothing else depends on that row. Of a person with
several rows one counts, drawn at random, where the column of persons is named.

In a table of units, sizes of rows with one name in one region are added up. Where units are public and have no names,
and a region has more rows than public units, the smallest sizes are left out: the number of units of size s or more
becomes the least of itself and of the public number, which moves no more than itself when one size does.

Files are scanned by Polars and grouped in a stream; lazy frames of other libraries are grouped where they are; rows
that come in parts are grouped part by part, and groups of parts are added up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreet.core.spaces.inputs import positive_count
from discreet.hierarchy.lazy_rows import add_up, is_remote, remote_groups
from discreet.hierarchy.planned import RowSource
from discreet.hierarchy.problem import GroupSizes
from discreet.hierarchy.refusals import (
    GROUPS,
    LEAF,
    LISTED,
    PERSON,
    ROWS,
    SIZE,
    UNIT,
    WHY,
)
from discreet.hierarchy.regions import (
    Named,
    Public,
    canonical,
    join_left,
    place_rows,
    read_public,
)
from discreet.tables.frames import collect, open_table
from discreet.tables.keys import key_of, nth_rows, refuse_or_note, whole_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy.problem import Frame
    from discreet.tables.frames import Table

PARTS = "discreet parts"
"""Column of our own: whether a group is one of several of its name, in other regions."""

_REASONS = {
    1: "without a lowest region of the list",
    2: "without a whole number, 0 or more",
    3: "without the name of a unit",
    4: "without the name of a person",
    5: "of a unit that is not public in this region",
    6: "beyond the one of a person that counts",
    7: "units with rows in other regions too, each counted as a unit of its own",
    8: "units beyond the public number of a region",
}
"""Reasons why rows are left out, or how units are mapped: public words for private numbers."""


def count_rows(
    source: Any,  # noqa: ANN401 - any table that Narwhals knows, a path, or a RowSource
    public: Public,
    named: Named,
    *,
    max_size: int,
    max_quantity: int = 1,
) -> GroupSizes:
    """Count groups from the rows of a private table: of persons, or of units if `named` has their sizes.

    In a table of units `max_quantity` cuts no size: it is only a public fact of the result. Raises
    InvalidProblemError for names, types or public facts that do not fit, and for rows that do not count if
    `named.refuse_rows`. One pass over the rows, and a sort where the column of persons is named.

    Parameters
    ----------
    source
        Frame, path, :class:`RowSource` or remote table; read once.
    public, named
        The regions and units that are public; the private columns, and whether `named.refuse_rows`.
    max_size
        Largest size that is counted; larger groups count as that size.
    max_quantity
        Most that one row may add to its unit; larger quantities count as that.

    Returns
    -------
    GroupSizes
        Counts by lowest region and size. Rows that do not count are left out, and their number is written to standard
        error, marked as private; or they are refused.
    """
    frame = public.frame(positive_count(max_size, "max_size"), max_quantity)
    once = named.person is not None
    if isinstance(source, RowSource):
        counted, rows = source.count(public, named, frame)
    elif is_remote(source) and not once:
        groups = remote_groups(source, public, named, frame)
        counted, rows = count_groups(groups, public, named, frame)
    else:
        table = open_table(source, named.argument, named.columns(public), row_by_row=True)
        table = read_rows(table, public, named, frame)
        if once:
            table = keep_one_row(collect(table, named.argument))
        groups = table if named.unit is None else add_groups(table)
        counted, rows = count_groups(groups, public, named, frame)
    if public.groups is None:
        # Private units of nobody are none.
        counted = counted[:, 1:]
    else:
        rows[8] += _fit_public(counted, public.groups)
    refuse_or_note(_REASONS, rows, named.argument, refuse=named.refuse_rows)
    return GroupSizes(frame, counted)


def read_rows(table: Table, public: Public, named: Named, frame: Frame) -> Table:
    """Add to each row its lowest region, unit, size and person, and the reason why it does not count, 0 if it does.

    Returns a frame of these columns, lazy if `table` is. Reasons: 1 no region, 2 no number, 3 no unit, 4 no person.
    One pass over the rows.

    `public` and `named` are the regions and the columns; sizes are cut at the largest of `frame`.
    """
    table = place_rows(canonical(table, public.columns), public.columns, public.tree)
    persons = named.size is None
    number, most = (named.quantity, frame.max_quantity) if persons else (named.size, frame.max_size)
    size, fine = (nw.lit(1), nw.lit(value=True)) if number is None else whole_of(table, number)
    unit = nw.lit("") if named.unit is None else key_of(table, named.unit)
    person = nw.lit("x") if named.person is None else key_of(table, named.person)
    table = table.with_columns(
        unit.alias(UNIT),
        person.alias(PERSON),
        size.cast(nw.Int64).clip(upper_bound=most).alias(SIZE),
    )
    nameless = (nw.col(UNIT) == "") if named.unit is not None else nw.lit(value=False)
    why = nw.when(nw.col(PERSON) == "").then(nw.lit(4)).otherwise(nw.lit(0))
    for number_of_reason, condition in ((3, nameless), (2, ~fine), (1, nw.col(LEAF) < 0)):
        why = nw.when(condition).then(nw.lit(number_of_reason)).otherwise(why)
    wanted = (LEAF, UNIT, SIZE, PERSON)
    table = table.with_columns(why.cast(nw.Int64).alias(WHY)).select(*wanted, WHY)
    counts = nw.col(WHY) == 0
    # Rows that do not count are one group for each reason.
    return table.with_columns(
        nw.when(counts).then(nw.col(LEAF)).otherwise(nw.lit(-1)).alias(LEAF),
        nw.when(counts).then(nw.col(SIZE)).otherwise(nw.lit(0)).alias(SIZE),
        nw.when(counts).then(nw.col(UNIT)).otherwise(nw.lit("")).alias(UNIT),
        nw.lit(1, nw.Int64).alias(ROWS),
    )


def keep_one_row(table: nw.DataFrame[Any], key: bytes = b"") -> nw.DataFrame[Any]:
    """Mark all rows of each person but one at random as not counted, with reason 6; return a new table.

    `table` is of :func:`read_rows`, collected. The key is that of ``nth_rows``; fresh by default. Sorts the rows.
    """
    numbered = nth_rows(table, PERSON, [WHY, LEAF, UNIT, SIZE], key)
    again = (nw.col(WHY) == 0) & (nw.col("discreet nth") > 0)
    replacements = {LEAF: nw.lit(-1), SIZE: nw.lit(0), UNIT: nw.lit(""), WHY: nw.lit(6)}
    return numbered.with_columns(
        nw.when(again).then(value).otherwise(nw.col(name)).cast(numbered.schema[name]).alias(name)
        for name, value in replacements.items()
    )


def add_groups(table: Table) -> Table:
    """Add up the rows of each unit in each region, or groups that this function made of parts of the rows.

    Returns unit, region, reason, size and number of rows, one row for each group; lazy if `table` is. One grouping.
    """
    groups: Table = table.group_by(UNIT, LEAF, WHY).agg(nw.col(SIZE).sum(), nw.col(ROWS).sum())
    return groups


def count_groups(
    groups: Table, public: Public, named: Named, frame: Frame
) -> tuple[NDArray[np.int64], Counter[int]]:
    """Count groups by lowest region and size, and rows by the reason why they are left out.

    Parameters
    ----------
    groups
        One row for each unit, with its region, its size and its name; or rows of :func:`remote_groups`.
    public, named, frame
        What is public, and the names of the columns.

    Returns
    -------
    counts : array
        ``(n_leaves, max_size + 1)``.
    rows : Counter
        Private: rows by reason.
    """
    parts = nw.lit(0, nw.Int64)
    if public.units is not None:
        groups = join_left(groups, public.units, UNIT, "public_units")
        other = (nw.col(WHY) == 0) & (nw.col(LISTED).fill_null(-1) != nw.col(LEAF))
        groups = groups.with_columns(
            nw.when(other).then(nw.lit(5)).otherwise(nw.col(WHY)).alias(WHY)
        )
    elif named.unit is not None and UNIT in groups.collect_schema().names():
        parts = ((nw.col(WHY) == 0) & (nw.len().over(UNIT, WHY) > 1)).cast(nw.Int64)
    many = nw.col(GROUPS) if GROUPS in groups.collect_schema().names() else nw.lit(1, nw.Int64)
    top = nw.col(SIZE).clip(upper_bound=frame.max_size)
    table = groups.with_columns(top.alias(SIZE), parts.alias(PARTS), many.alias(GROUPS))
    added = (nw.col(name).sum() for name in (GROUPS, ROWS, PARTS))
    cells = collect(table.group_by(LEAF, SIZE, WHY).agg(*added), named.argument)
    counts, rows = add_up(cells, SIZE, GROUPS, (len(frame.tree.leaves), frame.max_size + 1))
    rows[7] += int(cells[PARTS].sum())
    return counts, rows


def _fit_public(counted: NDArray[np.int64], groups: NDArray[np.int64]) -> int:
    """Fit counts ``(leaves, sizes)`` in place to the public number `groups` ``(leaves,)`` of each leaf's units.

    Returns how many units were beyond it. Units without a row have size 0. Where there are too many, the smallest go.
    Linear in the counts.
    """
    before = int(counted.sum())
    most = np.minimum(np.cumsum(counted[:, ::-1], axis=1), groups[:, None])
    counted[:] = np.diff(most, axis=1, prepend=0)[:, ::-1]
    beyond = before - int(counted.sum())
    counted[:, 0] += groups - counted.sum(axis=1)
    return beyond


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

    One pass over the rows, grouped by unit, and a table of ``n_leaves * max_size`` numbers; with `person` also a
    sort.

    Returns :class:`GroupSizes`: counts ``(n_leaves, n_sizes)`` with their public facts. Rows that do not count are
    left out, and their number is written to standard error.

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
        Column of the number that each person adds to the size of the group; 1 without it.
    max_quantity
        Larger quantities are taken as this one.
    person
        Column that names the person, of whom one row counts.
    root
        Name of the region that holds all.

    Raises
    ------
    InvalidProblemError
        For what names, declared types or public lists show, never for a value of a row.

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
    """Count groups from a table with one row for each unit; nothing is charged here.

    Parameters
    ----------
    units
        A data frame, or the path of a CSV or Parquet file; private.
    size
        Column of the size of the unit's group.
    columns, regions, max_size, public_units, root
        As in :func:`from_records`.
    max_quantity
        The most that one person adds to the size of a group: a public fact of the result, by which no size is cut.
    unit
        Column that names the unit: rows of one name in a region are added up, and public units are matched by name.
        Without it each row is a unit; of more rows than public units the largest count, and missing rows have size 0.

    Returns
    -------
    GroupSizes
        Counts ``(n_leaves, n_sizes)`` with their public facts. Rows that do not count are left out, and their number is
        written to standard error.

    Raises
    ------
    InvalidProblemError
        As :func:`from_records`: for a missing column or file, or public arguments that do not fit each other.

    Complexity
    ----------
    One pass over the rows, grouped by unit if units have names, and a table of ``n_leaves * max_size`` numbers.

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
