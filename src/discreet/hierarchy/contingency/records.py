"""Trusted: from rows of persons to counts by region and cell, by the rule of :mod:`discreet.tables.keys`.

A row counts if its region is a lowest one of the list, each category is listed, and its cell is no structural zero.
Keys that are not listed are those of the category or region ``(other)``, where the public list has it. Of
a person whose column is named, at most `max_rows` rows count, drawn at random.

Files are scanned by Polars and grouped in a stream, so that they may be larger than memory: what comes back is one
number for each region and cell that occurs. Lazy and distributed frames of other libraries are grouped where they are,
but for a column of persons, whose rows are collected; and rows that come in parts are counted part by part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import name_of
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.problem import BLANK
from discreet.hierarchy.lazy_rows import add_up, collect_remote, is_remote, listed_keys
from discreet.hierarchy.planned import RowSource
from discreet.hierarchy.problem import OTHER
from discreet.hierarchy.refusals import LEAF, PERSON, ROWS, WHY
from discreet.hierarchy.regions import canonical, grouped_keys, join_left, own_columns, place_rows
from discreet.tables.frames import collect, open_table
from discreet.tables.keys import distinct_keys, key_of, nth_rows, refuse_or_note

if TYPE_CHECKING:
    from collections import Counter

    from numpy.typing import NDArray

    from discreet.hierarchy.contingency.problem import Domain, TableFrame
    from discreet.tables.frames import Table

PEOPLE = "people"
"""Name of the private table in messages."""

CELL = "discreet cell"
"""Column of our own: the place of a row's cell in the domain."""

_REASONS = (
    "without a lowest region of the list",
    "without the name of a person",
    "in a structural zero",
    "beyond the {max_rows} of a person that count",
)
"""Why a row does not count: reasons 1, 2, ...; those of the attributes follow."""
_FIRST_ATTRIBUTE = len(_REASONS) + 1
"""Reason number of the first attribute."""


@final
@dataclass(frozen=True)
class RecordColumns:
    """Names of the columns of a private table with one row for each record.

    Parameters
    ----------
    regions
        Of the region path, from the top down; in parentheses where rows lack the column.
    person
        Of the person, where rows of one person are counted; ``None`` takes the publisher's word for it.
    refuse_rows
        Whether rows that do not count are refused, outside of the guarantee.

    Raises
    ------
    InvalidProblemError
        For one text in place of a list, or names that come twice.
    """

    regions: tuple[str, ...]
    person: str | None = None
    refuse_rows: bool = False

    def of(self, domain: Domain) -> list[str]:
        """All columns that are read, those of the region path first.

        Raises
        ------
        InvalidProblemError
            For names that come twice, or categories that no cell could tell apart.
        """
        # A coarsened attribute follows from another one.
        plain = [one for one in domain.attributes if one.name not in domain.groups]
        for one in plain:
            distinct_keys([_label(category) for category in one.categories], "domain")
        wanted = [*own_columns(self.regions), *(one.name for one in plain)]
        wanted += [] if self.person is None else [self.person]
        for name in wanted:
            name_of(name, "columns, by, person")
        if len(set(wanted)) < len(wanted):
            raise InvalidProblemError("columns, by, person", "different columns", repr(wanted))
        return wanted


def _label(category: str) -> str:
    """Return the cell that a category stands for: an empty one for the category of blanks."""
    return "" if category == BLANK else category


def count_cells(source: Any, frame: TableFrame, columns: RecordColumns) -> CellCounts:  # noqa: ANN401 - any table that Narwhals knows, or a path
    """Count the rows of a private table by lowest region and cell.

    Rows that do not count are left out, and their number is written to standard error, marked as private.

    Of each person whose column is named `max_rows` rows count, drawn at random. Raises InvalidProblemError for
    missing columns or categories that no cell tells apart, and for rows that do not count if `columns.refuse_rows`.
    One pass over the rows, and a join for each attribute.

    Parameters
    ----------
    source
        A data frame of any library that Narwhals knows, also a lazy one, the path of a CSV or Parquet file, or a
        :class:`RowSource`.
    frame
        The public facts.
    columns
        The columns of the region path, and of the person. Those of the attributes have their names.

    Returns
    -------
    CellCounts
        The counts.

    Examples
    --------
    >>> import polars as pl
    >>> from fractions import Fraction
    >>> from discreet.core.tree import Tree
    >>> from discreet.hierarchy.contingency import Domain, TableFrame
    >>> frame = TableFrame(
    ...     Tree.from_paths([("GA",), ("NY",)]), Domain.read({"sex": ["F", "M"]}), {(0,): (Fraction(1, 2),) * 2}
    ... )
    >>> people = pl.DataFrame({"state": ["GA", "GA", "NY", "XX"], "sex": ["F", "M", "F", "F"]})
    >>> count_cells(people, frame, RecordColumns(("state",))).counts.tolist()
    [[1, 1], [1, 0]]
    """
    if isinstance(source, RowSource):
        counts, rows = source.count_cells(frame, columns)
    elif is_remote(source) and columns.person is None:
        counts, rows = count_placed(
            placed_rows(_grouped(source, frame, columns), frame, columns), frame
        )
    else:
        table = placed_rows(
            open_table(source, PEOPLE, columns.of(frame.domain), row_by_row=True), frame, columns
        )
        if columns.person is not None:
            table = keep_rows(collect(table, PEOPLE), frame.max_rows)
        counts, rows = count_placed(table, frame)
    reasons = [reason.format(max_rows=frame.max_rows) for reason in _REASONS]
    reasons += [f"without a category of {one.name}" for one in frame.domain.attributes]
    refuse_or_note(dict(enumerate(reasons, start=1)), rows, PEOPLE, refuse=columns.refuse_rows)
    return CellCounts(frame, counts)


def _keys_of_attribute(domain: Domain, name: str) -> list[str]:
    """Return the categories of an attribute as keys of cells, all different."""
    return distinct_keys(
        [_label(one) for one in domain.attributes[domain.place(name)].categories], "domain"
    )


def placed_rows(table: Table, frame: TableFrame, columns: RecordColumns) -> Table:
    """Add to each row its lowest region, its cell, and the reason why it does not count, 0 if it does.

    A lazy frame stays so. Returns columns of person, leaf, cell, reason and number of rows. Reasons: 1 no region, 2
    no person, 3 a structural zero, from `_FIRST_ATTRIBUTE` on no category of an attribute. One pass and a join for
    each attribute.
    """
    domain = frame.domain
    table = place_rows(canonical(table, columns.regions), columns.regions, frame.tree)
    strides = np.cumprod([1, *domain.shape[:0:-1]])[::-1].tolist()
    known = table.collect_schema().names()
    person = nw.lit("x") if columns.person is None else key_of(table, columns.person)
    rows = nw.col(ROWS) if ROWS in known else nw.lit(1, nw.Int64)
    before = nw.col(WHY) if WHY in known else nw.lit(0, nw.Int64)
    table = table.with_columns(person.alias(PERSON), rows.alias(ROWS), before.alias(WHY))
    cell = nw.lit(0, nw.Int64)
    why = nw.when(nw.col(PERSON) == "").then(nw.lit(2)).otherwise(nw.lit(0))
    for at, (attribute, stride) in enumerate(zip(domain.attributes, strides, strict=True)):
        code, text = f"discreet code {at}", f"discreet text {at}"
        name, codes = domain.groups.get(attribute.name, (attribute.name, range(attribute.size)))
        table = table.with_columns(key_of(table, name).alias(text))
        labels = _keys_of_attribute(domain, name)
        listed = {text: labels, code: list(codes)}
        keys = nw.from_dict(listed, backend=nw.get_native_namespace(table))
        table = join_left(table, keys, [text], "domain")
        other = codes[labels.index(OTHER)] if OTHER in labels else -1
        table = table.with_columns(nw.col(code).fill_null(other).cast(nw.Int64))
        cell = cell + nw.col(code) * stride
        why = nw.when(nw.col(code) < 0).then(nw.lit(_FIRST_ATTRIBUTE + at)).otherwise(why)
    why = nw.when(nw.col(LEAF) < 0).then(nw.lit(1)).otherwise(why)
    why = nw.when(nw.col(WHY) > 0).then(nw.col(WHY)).otherwise(why)
    table = table.with_columns(cell.alias(CELL), why.cast(nw.Int64).alias(WHY))
    impossible = np.flatnonzero(~domain.possible).tolist()
    zero = (nw.col(WHY) == 0) & nw.col(CELL).is_in(impossible)
    table = table.with_columns(nw.when(zero).then(nw.lit(3)).otherwise(nw.col(WHY)).alias(WHY))
    return table.select(PERSON, LEAF, CELL, WHY, ROWS)


def keep_rows(table: nw.DataFrame[Any], max_rows: int, key: bytes = b"") -> nw.DataFrame[Any]:
    """Mark the rows of each person that could count, but for `max_rows` at random, with reason 4; return a new table.

    `table` is of :func:`placed_rows`, collected; the key is that of ``nth_rows``, fresh by default. The result is
    sorted by person, reason, leaf and cell, and has the column of ``nth_rows``.
    """
    numbered = nth_rows(table, PERSON, [WHY, LEAF, CELL], key)
    beyond = (nw.col(WHY) == 0) & (nw.col("discreet nth") >= max_rows)
    return numbered.with_columns(nw.when(beyond).then(nw.lit(4)).otherwise(nw.col(WHY)).alias(WHY))


def count_placed(table: Table, frame: TableFrame) -> tuple[NDArray[np.int64], Counter[int]]:
    """Count rows of :func:`placed_rows`: int64 ``(n_leaves, n_cells)`` by lowest region and cell, others by the reason.

    One pass over the rows. Private.

    `table` may be lazy. Reasons are numbers from 1 on, as in :func:`placed_rows`.
    """
    fine = nw.col(WHY) == 0
    # Rows that do not count are one group for each reason.
    table = table.with_columns(
        nw.when(fine).then(nw.col(name)).otherwise(nw.lit(0)).alias(name) for name in (LEAF, CELL)
    )
    grouped = collect(table.group_by(LEAF, CELL, WHY).agg(nw.col(ROWS).sum()), PEOPLE)
    return add_up(grouped, CELL, ROWS, (len(frame.tree.leaves), frame.domain.size))


def _grouped(source: Any, frame: TableFrame, columns: RecordColumns) -> Any:  # noqa: ANN401 - a lazy frame of any library
    """Group the rows of a lazy frame where they are by the keys of their cells; collect the groups with their sizes.

    Returns a frame of keys, the reason why a group does not count (0: it does), and a number of rows. One pass over
    the rows.
    """
    wanted, domain = columns.of(frame.domain), frame.domain
    table = nw.from_native(source).select(*wanted)
    labels = grouped_keys(columns.regions, frame.tree)
    reasons = dict.fromkeys(labels, 1)
    for name in wanted[len(labels) :]:
        labels[name] = _keys_of_attribute(domain, name)
        reasons[name] = _FIRST_ATTRIBUTE + domain.place(name)
    texts, why = listed_keys(table, labels, reasons, nw.lit(0))
    rows = nw.lit(1).cast(nw.Int64).alias(ROWS)
    table = table.select(*texts, why.alias(WHY), rows)
    return collect_remote(table.group_by(*wanted, WHY).agg(nw.col(ROWS).sum()), PEOPLE)
