"""From rows of persons to counts by region and cell: grouped by the table's own library, without a word about values.

Files are scanned by Polars and grouped in a stream, so that they may be larger than memory: what comes back is one
number for each region and cell that occurs. What is wrong with rows is said by column and position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import name_of
from discreet.hierarchy.contingency.problem import CellCounts
from discreet.hierarchy.refusals import BAD, GROUPS, LEAF, UNIT, check_once, check_places
from discreet.hierarchy.regions import canonical, join_left, place_rows
from discreet.tables.frames import ROW, collect, name_rows, open_table, rows_where, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.problem import Domain, TableFrame
    from discreet.tables.frames import Table

__all__ = ["RecordColumns", "count_cells"]

_ARGUMENT = "people"


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


def count_cells(source: Any, frame: TableFrame, columns: RecordColumns) -> CellCounts:  # noqa: ANN401 - any table that Narwhals knows, or a path
    """Count the rows of a private table by lowest region and cell.

    Parameters
    ----------
    source
        A data frame of any library that Narwhals knows, also a lazy one, or the path of a CSV or Parquet file.
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
    domain, tree = frame.domain, frame.tree
    table = canonical(open_table(source, _ARGUMENT, columns.of(domain)), columns.regions)
    table = place_rows(table, columns.regions, tree)
    codes = []
    for at, attribute in enumerate(domain.attributes):
        code, text = f"discreet code {at}", f"discreet text {at}"
        groups = domain.groups.get(attribute.name)
        name = attribute.name if groups is None else groups[0]
        table = table.with_columns(text_of(table, name, name).alias(text))
        categories = domain.attributes[domain.place(name)].categories
        codes_of = range(attribute.size) if groups is None else groups[1]
        known = {text: list(categories), code: list(codes_of)}
        listed = nw.from_dict(known, backend=nw.get_native_namespace(table))
        table = join_left(table, listed, [text], "domain")
        table = table.with_columns(nw.col(code).fill_null(-1).cast(nw.Int64))
        codes.append(code)
    strides = np.cumprod([1, *domain.shape[:0:-1]])[::-1].tolist()
    cell = nw.lit(0, nw.Int64)
    bad = nw.col(LEAF) < 0
    for code, stride in zip(codes, strides, strict=True):
        cell = cell + nw.col(code) * stride
        bad = bad | (nw.col(code) < 0)
    flagged = table.with_columns(cell.alias(_CELL), bad.cast(nw.Int64).alias(BAD))
    if columns.person is not None:
        _check_persons(flagged, columns.person, frame.max_rows)
    grouped = flagged.group_by(LEAF, _CELL).agg(nw.len().alias(GROUPS), nw.col(BAD).max())
    cells = collect(grouped, _ARGUMENT)
    if cells[BAD].to_numpy().astype(bool).any():
        _explain(flagged, columns, frame, codes)
    counts = np.zeros((len(tree.leaves), domain.size), dtype=np.int64)
    place = cells[_CELL].to_numpy().astype(np.int64)
    counts[cells[LEAF].to_numpy().astype(np.int64), place] = cells[GROUPS].to_numpy()
    if not domain.possible[place].all():
        _explain_zeros(flagged, domain)
    return CellCounts(frame, counts)


_CELL = "discreet cell"
"""Column of our own: the place of a row's cell in the domain."""


def _check_persons(table: Table, person: str, most: int) -> None:
    """Refuse a person with more rows than were stated."""
    named = table.with_columns(text_of(table, person, person).alias(UNIT))
    if most == 1:
        check_once(named, person, _ARGUMENT, private=True)
        return
    missing = rows_where(named, nw.col(UNIT) == "", _ARGUMENT)
    if len(missing):
        rows = name_rows(missing[ROW].to_list())
        raise InvalidProblemError(person, "a name in every row", f"none in {rows}")
    counted = named.group_by(UNIT).agg(nw.len().alias(GROUPS), nw.col(ROW).min().alias(ROW))
    found = rows_where(counted, nw.col(GROUPS) > most, _ARGUMENT)
    if len(found):
        rows = name_rows(found[ROW].to_list())
        expected = f"at most {most} rows of a person"
        raise InvalidProblemError(person, expected, f"more, the first of them in {rows}")


def _explain(table: Table, columns: RecordColumns, frame: TableFrame, codes: list[str]) -> None:
    """Say why rows are refused."""
    check_places(table, columns.regions, frame.tree, _ARGUMENT, private=True)
    for attribute, code in zip(frame.domain.attributes, codes, strict=True):
        found = rows_where(table, nw.col(code) < 0, _ARGUMENT)
        if len(found):
            rows = name_rows(found[ROW].to_list())
            expected = "a category of the domain in every row"
            groups = frame.domain.groups.get(attribute.name)
            name = attribute.name if groups is None else groups[0]
            raise InvalidProblemError(name, expected, f"others in {rows}")
    raise InvalidProblemError(_ARGUMENT, "rows that make sense", f"others {name_rows([])}")


def _explain_zeros(table: Table, domain: Domain) -> None:
    """Name rows that lie in structural zeros."""
    impossible: NDArray[np.int64] = np.flatnonzero(~domain.possible)
    found = rows_where(table, nw.col(_CELL).is_in(impossible.tolist()), _ARGUMENT)
    rows = name_rows(found[ROW].to_list())
    raise InvalidProblemError("zeros", "no record in a structural zero", f"some in {rows}")
