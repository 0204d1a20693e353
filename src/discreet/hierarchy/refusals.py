"""Refusals of public tables of regions and units, and of private tables by names, shape and declared types alone.

Rows of private tables are never refused: see :mod:`discreet.tables.keys`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import SUFFIXES, look
from discreet.tables.frames import ROW, collect, frame_of, name_rows, open_table, rows_where
from discreet.tables.keys import check_types
from discreet.tables.parsing import UnquotedFile
from discreet.tables.reading import refuse_unreadable
from discreet.tables.refusals import refused
from discreet.tables.sources import is_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.tree import Tree
    from discreet.tables.frames import Table

LEAF, UNIT, SIZE, WHY, LISTED, GROUPS, ROWS, PERSON = (
    f"discreet {name}"
    for name in ("leaf", "unit", "size", "why", "listed", "groups", "rows", "person")
)
"""Columns of our own: lowest region, name of the unit, size, reason why a row is left out (0: it counts), listed
region, number of groups, number of rows, name of the person."""


def check_once(table: Table, column: str, argument: str) -> None:
    """Refuse rows of a public table that have no name, or the name of another row.

    Raises InvalidProblemError that names the rows. Two passes over the rows, a grouping and a join.

    Parameters
    ----------
    table
        The table, with the names as text in the column for units.
    column
        Name of the column in messages.
    argument
        Name of the table in messages.
    """
    _refuse(table, nw.col(UNIT) == "", column, "a name in every row", "none", argument)
    repeated: Table = table.group_by(UNIT).agg(nw.len().alias(GROUPS)).filter(nw.col(GROUPS) > 1)
    # Both are lazy, or neither is.
    other: Any = repeated if isinstance(table, nw.LazyFrame) else collect(repeated, argument)
    again = table.join(other, on=UNIT, how="inner")
    _refuse(again, nw.col(GROUPS) > 1, column, "every name once", "one again", argument)


def check_places(table: Table, columns: tuple[str, ...], tree: Tree, argument: str) -> None:
    """Raise InvalidProblemError for rows of a public table whose path is not one of a lowest region of the tree.

    `columns` hold the path, the top first; the message names the rows, and `argument` the table in it. A pass over
    the rows for each column.
    """
    first, *_ = columns
    _refuse(table, nw.col(first) == "", first, "a region in every row", "none", argument)
    for above, below in itertools.pairwise(columns):
        gap = (nw.col(above) == "") & (nw.col(below) != "")
        _refuse(table, gap, above, f"a region above every {below}", "none", argument)
    astray = rows_where(table, nw.col(LEAF) < 0, argument, *columns)
    if not len(astray):
        return
    reasons: dict[tuple[str, str], list[int]] = {}
    for row, *path in astray.select(ROW, *columns).rows():
        reasons.setdefault(_reason(tuple(path), columns, tree), []).append(row)
    # The reason of the first row; the others come when this one is mended.
    (column, expected), rows = next(iter(reasons.items()))
    raise InvalidProblemError(column, expected, f"others in {name_rows(rows)}")


def check_shape(
    given: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    argument: str,
    wanted: Sequence[str],
) -> None:
    """Refuse what is no table, lacks a column, has a declared type of no use, or does not divide into rows.

    Parameters
    ----------
    given
        A table or its path. Of a lazy frame only the names and types are read: nothing of it is computed.
    argument
        Name of the table in messages.
    wanted
        The columns.

    Raises
    ------
    InvalidProblemError
        For a column that is missing or of another declared type, or a CSV file with a quote that is not closed.

    Complexity
    ----------
    A CSV file is divided into cells, about a second for a million rows; of all else only the schema is read.
    """
    if isinstance(given, str | Path | UnquotedFile):
        open_table(given, argument, wanted, row_by_row=True)
        if not is_plain(given):
            # It was read whole to look at its names.
            return
        mark = look(str(given), argument, (*SUFFIXES, ".txt"), whole=False)
        refuse_unreadable(given, mark, argument, row_by_row=True)
        return
    frame = frame_of(given, argument)
    names = frame.collect_schema().names()
    for name in wanted:
        if name not in names:
            got, known = "none of this name", ", ".join(names)
            raise refused("column-missing", name, got, argument=argument, known=known)
    check_types(frame, wanted)


def _refuse(  # noqa: PLR0917 - internal, and each call names its words in one order
    table: Table, condition: nw.Expr, column: str, expected: str, got: str, argument: str
) -> None:
    """Raise InvalidProblemError with the numbers of the public rows for which `condition` holds, if there are any.

    `column` is the argument in the message, `expected` and `got` its texts; `argument` names the table. One pass over
    the rows.
    """
    rows = rows_where(table, condition, argument)
    if len(rows):
        where = name_rows(rows[ROW].to_list())
        raise InvalidProblemError(column, expected, f"{got} in {where}")


def _reason(path: tuple[str, ...], columns: tuple[str, ...], tree: Tree) -> tuple[str, str]:
    """Return the column at which a path leaves the tree, and what it should have been, as text.

    `path` has a text for each of `columns`, empty at its end. A look-up for each label.
    """
    labels = tuple(label for label in path if label)
    for depth, column in enumerate(columns[: len(labels)]):
        try:
            tree.find(labels[: depth + 1])
        except InvalidProblemError:
            if depth and not len(tree.children(tree.find(labels[:depth]))):
                return column, "nothing below a lowest region"
            return column, "a region of the list"
    return columns[len(labels)], "a path that goes down to a lowest region"
