"""From rows of persons to counts by region and cell: grouped by the table's own library, without a word about values.

Files are scanned by Polars and grouped in a stream, so that they may be larger than memory: what comes back is one
number for each region and cell that occurs. Lazy and distributed frames of other libraries are grouped where they are,
and rows that come in parts are counted part by part. What is wrong with rows is said by column and position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, final, runtime_checkable

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import name_of
from discreet.hierarchy.contingency.problem import CellCounts
from discreet.hierarchy.lazy_rows import is_remote
from discreet.hierarchy.refusals import BAD, GROUPS, LEAF, UNIT, check_once, check_places
from discreet.hierarchy.regions import canonical, join_left, place_rows
from discreet.tables.frames import ROW, collect, name_rows, open_table, rows_where, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.problem import Domain, TableFrame
    from discreet.tables.frames import Table

__all__ = [
    "PEOPLE",
    "CellSource",
    "RecordColumns",
    "add_cells",
    "count_cells",
    "explain_cells",
    "named_persons",
    "placed_rows",
    "said_of_persons",
    "too_often",
]

PEOPLE = "people"
"""What messages call the private table."""


@final
@dataclass(frozen=True)
class RecordColumns:
    """Names of the columns of a private table with one row for each record.

    Parameters
    ----------
    regions
        Of the region path, from the top down.
    person
        Of the person, where rows of one person are counted; ``None`` takes the publisher's word for it.

    Raises
    ------
    InvalidProblemError
        For one text in place of a list, or names that come twice.
    """

    regions: tuple[str, ...]
    person: str | None = None

    def of(self, domain: Domain) -> list[str]:
        """All columns that are read, those of the region path first."""
        # A coarsened attribute follows from another one.
        plain = [one.name for one in domain.attributes if one.name not in domain.groups]
        wanted = [*self.regions, *plain]
        wanted += [] if self.person is None else [self.person]
        for name in wanted:
            name_of(name, "columns, by, person")
        if len(set(wanted)) < len(wanted):
            raise InvalidProblemError("columns, by, person", "different columns", repr(wanted))
        return wanted


@runtime_checkable
class CellSource(Protocol):
    """Private rows that are counted where they are, such as files that are read piece by piece."""

    def check(self, argument: str, wanted: Sequence[str]) -> None:
        """Refuse what can be refused without a look at a value, before anything is charged."""
        ...

    def count_cells(self, frame: TableFrame, columns: RecordColumns) -> NDArray[np.int64]:
        """Count rows: ``(n_leaves, n_cells)``, by lowest region and by cell."""
        ...


def count_cells(source: Any, frame: TableFrame, columns: RecordColumns) -> CellCounts:  # noqa: ANN401 - any table that Narwhals knows, or a path
    """Count the rows of a private table by lowest region and cell.

    Parameters
    ----------
    source
        A data frame of any library that Narwhals knows, also a lazy one, the path of a CSV or Parquet file, or a
        :class:`CellSource`. Lazy frames of libraries other than Polars are grouped where they are; no row of them has a
        position, so that a refusal names columns alone.
    frame
        The public facts.
    columns
        The columns of the region path, and of the person. Those of the attributes have their names.

    Returns
    -------
    CellCounts
        The counts.

    Raises
    ------
    InvalidProblemError
        Naming the column and the positions of rows, never values: for a region that is no lowest one of the list, a
        category that is not listed, a record in a structural zero, a person with more rows than were stated. Such a
        refusal depends on private records: it is for the curator's eyes.

    Examples
    --------
    >>> import polars as pl
    >>> from fractions import Fraction
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.contingency import Domain, TableFrame
    >>> frame = TableFrame(
    ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
    ... )
    >>> people = pl.DataFrame({"state": ["GA", "GA", "NY"], "sex": ["F", "M", "F"]})
    >>> count_cells(people, frame, RecordColumns(("state",))).counts.tolist()
    [[1, 1], [1, 0]]
    """
    if isinstance(source, CellSource):
        return CellCounts(frame, source.count_cells(frame, columns))
    if is_remote(source):
        return CellCounts(frame, _collected(source, frame, columns))
    table = placed_rows(open_table(source, PEOPLE, columns.of(frame.domain)), frame, columns)
    if columns.person is not None:
        _check_persons(table, columns.person, frame.max_rows)
    counts = np.zeros((len(frame.tree.leaves), frame.domain.size), dtype=np.int64)
    if not add_cells(counts, table, frame):
        explain_cells(table, frame, columns)
    return CellCounts(frame, counts)


_CELL, _CODE = "discreet cell", "discreet code {}"
"""Columns of our own: the place of a row's cell in the domain, and the category of each attribute."""


def placed_rows(table: Table, frame: TableFrame, columns: RecordColumns) -> Table:
    """Give each row its lowest region, its cell, and whether either is missing or not listed."""
    domain = frame.domain
    table = place_rows(canonical(table, columns.regions), columns.regions, frame.tree)
    strides = np.cumprod([1, *domain.shape[:0:-1]])[::-1].tolist()
    cell, bad = nw.lit(0, nw.Int64), nw.col(LEAF) < 0
    for at, (attribute, stride) in enumerate(zip(domain.attributes, strides, strict=True)):
        code, text = _CODE.format(at), f"discreet text {at}"
        groups = domain.groups.get(attribute.name)
        name = attribute.name if groups is None else groups[0]
        table = table.with_columns(text_of(table, name, name).alias(text))
        categories = domain.attributes[domain.place(name)].categories
        codes_of = range(attribute.size) if groups is None else groups[1]
        known = {text: list(categories), code: list(codes_of)}
        listed = nw.from_dict(known, backend=nw.get_native_namespace(table))
        table = join_left(table, listed, [text], "domain")
        table = table.with_columns(nw.col(code).fill_null(-1).cast(nw.Int64))
        cell = cell + nw.col(code) * stride
        bad = bad | (nw.col(code) < 0)
    return table.with_columns(cell.alias(_CELL), bad.cast(nw.Int64).alias(BAD))


def add_cells(
    counts: NDArray[np.int64], table: Table, frame: TableFrame, rows: str | None = None
) -> bool:
    """Add rows of :func:`placed_rows` to counts, and give whether all of them may be counted.

    Parameters
    ----------
    counts
        ``(n_leaves, n_cells)``, added to where no row is bad or lies in a structural zero.
    table, frame
        The rows, and what is public.
    rows
        Column that says for how many rows each stands; without it for one.
    """
    many = nw.len() if rows is None else nw.col(rows).sum()
    grouped = table.group_by(LEAF, _CELL).agg(many.alias(GROUPS), nw.col(BAD).max())
    cells = collect(grouped, PEOPLE)
    place = cells[_CELL].to_numpy().astype(np.int64)
    if cells[BAD].to_numpy().astype(bool).any() or not frame.domain.possible[place].all():
        return False
    counts[cells[LEAF].to_numpy().astype(np.int64), place] += cells[GROUPS].to_numpy()
    return True


def _collected(
    source: Any,  # noqa: ANN401 - a lazy frame of any library
    frame: TableFrame,
    columns: RecordColumns,
) -> NDArray[np.int64]:
    """Count the rows of a lazy frame where they are; what is wrong is said without positions, which it has none of."""
    wanted = columns.of(frame.domain)
    counts = np.zeros((len(frame.tree.leaves), frame.domain.size), dtype=np.int64)
    try:
        table = nw.from_native(source).select(*wanted)
        if columns.person is not None:
            _refuse_often(table, columns.person, frame.max_rows)
            wanted.remove(columns.person)
        texts = [text_of(table, name, name).alias(name) for name in wanted]
        # One more than there can be: a column with a label for each row is refused, and not collected.
        groups = table.select(*texts).group_by(*wanted).agg(nw.len().alias(GROUPS))
        listed = collect(groups.head(counts.size + 1), PEOPLE).to_polars()
        placed = placed_rows(nw.from_native(listed, eager_only=True), frame, columns)
        fine = add_cells(counts, placed, frame, GROUPS)
    except (InvalidProblemError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - each library has errors of its own, which may quote a row
        expected = "a lazy table that its library can group"
        raise InvalidProblemError(PEOPLE, expected, type(error).__name__) from None
    if not fine:
        expected = "a listed region and category, and no structural zero, in every row"
        raise InvalidProblemError(", ".join(wanted), expected, f"others {name_rows([])}")
    return counts


def named_persons(table: Table, person: str) -> Table:
    """Give the name of each row's person as text; one that is missing is empty."""
    return table.select(text_of(table, person, person).alias(UNIT))


def too_often(names: Table, most: int) -> Table:
    """Find persons with more rows than were stated, and rows without one."""
    counted = names.group_by(UNIT).agg(nw.len().alias(GROUPS))
    return counted.filter((nw.col(GROUPS) > most) | (nw.col(UNIT) == ""))


def _refuse_often(table: Table, person: str, most: int) -> None:
    """Refuse what :func:`too_often` finds in a lazy table."""
    often = too_often(named_persons(table, person), most)
    if len(collect(often.select(GROUPS).head(1), PEOPLE)):
        raise InvalidProblemError(person, said_of_persons(most), f"others {name_rows([])}")


def said_of_persons(most: int) -> str:
    """Say what is expected of names of persons."""
    return f"a name in every row, and at most {most} row{'s' * (most > 1)} of a person"


def _check_persons(table: Table, person: str, most: int) -> None:
    """Refuse a person with more rows than were stated."""
    named = table.with_columns(text_of(table, person, person).alias(UNIT))
    if most == 1:
        check_once(named, person, PEOPLE, private=True)
        return
    missing = rows_where(named, nw.col(UNIT) == "", PEOPLE)
    if len(missing):
        rows = name_rows(missing[ROW].to_list())
        raise InvalidProblemError(person, "a name in every row", f"none in {rows}")
    counted = named.group_by(UNIT).agg(nw.len().alias(GROUPS), nw.col(ROW).min().alias(ROW))
    found = rows_where(counted, nw.col(GROUPS) > most, PEOPLE)
    if len(found):
        rows = name_rows(found[ROW].to_list())
        expected = f"at most {most} rows of a person"
        raise InvalidProblemError(person, expected, f"more, the first of them in {rows}")


def explain_cells(table: Table, frame: TableFrame, columns: RecordColumns) -> NoReturn:
    """Say why rows of :func:`placed_rows` are refused.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    check_places(table, columns.regions, frame.tree, PEOPLE, private=True)
    for at, attribute in enumerate(frame.domain.attributes):
        found = rows_where(table, nw.col(_CODE.format(at)) < 0, PEOPLE)
        if len(found):
            rows = name_rows(found[ROW].to_list())
            expected = "a category of the domain in every row"
            groups = frame.domain.groups.get(attribute.name)
            name = attribute.name if groups is None else groups[0]
            raise InvalidProblemError(name, expected, f"others in {rows}")
    impossible: NDArray[np.int64] = np.flatnonzero(~frame.domain.possible)
    found = rows_where(table, nw.col(_CELL).is_in(impossible.tolist()), PEOPLE)
    rows = name_rows(found[ROW].to_list())
    raise InvalidProblemError("zeros", "no record in a structural zero", f"some in {rows}")
