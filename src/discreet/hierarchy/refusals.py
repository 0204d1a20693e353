"""Why rows are refused: each reason by its column and the positions of rows, never by a value.

Whether anything is wrong was found in one pass over the data. Only then is the reason looked for, one after the other,
in passes of their own.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import narwhals as nw

from discreet.core.errors import InvalidProblemError
from discreet.tables.dialect import SUFFIXES, look
from discreet.tables.frames import ROW, collect, frame_of, name_rows, open_table, rows_where
from discreet.tables.reading import refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.core.tree import Tree
    from discreet.tables.frames import Table

__all__ = [
    "BAD",
    "GROUPS",
    "LEAF",
    "LISTED",
    "SIZE",
    "UNIT",
    "check_once",
    "check_places",
    "check_shape",
    "explain",
]

LEAF, UNIT, SIZE, BAD, LISTED, GROUPS = (
    f"discreet {name}" for name in ("leaf", "unit", "size", "bad", "listed", "groups")
)
"""Columns of our own: lowest region, name of the unit, size, what is wrong, listed region, how many."""


def check_once(table: Table, column: str, argument: str, *, private: bool) -> None:
    """Refuse rows that have no name, or the name of another row.

    Parameters
    ----------
    table
        With the names as text in the column for units.
    column
        What the column is called in the table.
    argument
        What the table is called.
    private
        Whether its rows are.
    """
    said: dict[str, Any] = {"argument": argument, "private": private}
    _refuse(table, nw.col(UNIT) == "", column, "a name in every row", got="none", **said)
    again = _again(table, nw.len().alias(GROUPS), nw.col(GROUPS) > 1)
    _refuse(again, ~nw.col(GROUPS).is_null(), column, "every name once", got="one again", **said)


def check_places(
    table: Table, columns: tuple[str, ...], tree: Tree, argument: str, *, private: bool
) -> None:
    """Refuse rows whose path is not one of a lowest region: missing, with a gap, too short, too long, or unknown."""
    first, *_ = columns
    said: dict[str, Any] = {"argument": argument, "private": private}
    _refuse(table, nw.col(first) == "", first, "a region in every row", got="none", **said)
    for above, below in itertools.pairwise(columns):
        gap = (nw.col(above) == "") & (nw.col(below) != "")
        _refuse(table, gap, above, f"a region above every {below}", got="none", **said)
    astray = rows_where(table, nw.col(LEAF) < 0, argument, *columns)
    if not len(astray):
        return
    reasons: dict[tuple[str, str], list[int]] = {}
    for row, *path in astray.select(ROW, *columns).rows():
        reasons.setdefault(_reason(tuple(path), columns, tree), []).append(row)
    # The reason of the first row; the others come when this one is mended.
    (column, expected), rows = next(iter(reasons.items()))
    raise InvalidProblemError(column, expected, f"others in {name_rows(rows, private=private)}")


def explain(
    table: Table,
    columns: tuple[str, ...],
    tree: Tree,
    *,
    unit: str | None,
    number: str | None,
    argument: str,
) -> NoReturn:
    """Say why private rows are refused.

    Parameters
    ----------
    table
        The rows, with the columns of our own.
    columns, tree
        The columns of the region path, and the regions.
    unit
        The column of units, if there is one.
    number
        The column of quantities or sizes, if there is one.
    argument
        What the table is called.

    Raises
    ------
    InvalidProblemError
        Always.
    """
    if unit is not None:
        missing = nw.col(UNIT) == ""
        _refuse(table, missing, unit, "a unit in every row", got="none", argument=argument)
    check_places(table, columns, tree, argument, private=True)
    if number is not None:
        _refuse(table, nw.col(BAD) > 0, number, "whole numbers, 0 or more", argument=argument)
    if unit is not None:
        split = _again(table, nw.col(LEAF).n_unique().alias(GROUPS), nw.col(GROUPS) > 1)
        several = ~nw.col(GROUPS).is_null()
        expected = "each unit in one region"
        _refuse(split, several, unit, expected, got="one in several", argument=argument)
        if LISTED in table.collect_schema().names():
            unknown, elsewhere = nw.col(LISTED).is_null(), nw.col(LISTED) != nw.col(LEAF)
            _refuse(table, unknown, unit, "units that are public", argument=argument)
            expected = "each unit in the region in which it is public"
            _refuse(table, elsewhere, unit, expected, argument=argument)
    raise InvalidProblemError(argument, "rows that make sense", f"others {name_rows([])}")


def check_shape(
    given: Any,  # noqa: ANN401 - any table that Narwhals knows, or a path
    argument: str,
    wanted: Sequence[str],
) -> None:
    """Refuse what is no table, lacks a column or does not divide into cells; no value of a cell is looked at.

    Parameters
    ----------
    given
        A table or its path. Of a lazy frame only the names are looked at: nothing of it is computed.
    argument
        What messages call it.
    wanted
        The columns.

    Raises
    ------
    InvalidProblemError
        For a column that is missing, or a row of a CSV file with other than as many cells as there are names, by its
        line.

    Complexity
    ----------
    A CSV file is divided into cells, about a second for a million rows; of all else only the names are read.
    """
    if isinstance(given, str | Path):
        open_table(given, argument, wanted)
        mark = look(str(given), argument, (*SUFFIXES, ".txt"))
        refuse_unreadable(str(given), mark, argument)
        return
    names = frame_of(given, argument).collect_schema().names()
    for name in wanted:
        if name not in names:
            expected = f"a column of {argument} ({', '.join(names)})"
            raise InvalidProblemError(name, expected, "none of this name")


def _again(table: Table, what: nw.Expr, condition: nw.Expr) -> Table:
    """Join to each row what holds for all rows of its unit, where the condition does."""
    found: Table = table.group_by(UNIT).agg(what).filter(condition)
    if isinstance(table, nw.LazyFrame):
        return table.join(found.lazy(), on=UNIT, how="left")
    return table.join(collect(found, "rows"), on=UNIT, how="left")


def _refuse(
    table: Table,
    condition: nw.Expr,
    column: str,
    expected: str,
    *,
    got: str = "others",
    argument: str,
    private: bool = True,
) -> None:
    found = rows_where(table, condition, argument)
    if len(found):
        rows = name_rows(found[ROW].to_list(), private=private)
        raise InvalidProblemError(column, expected, f"{got} in {rows}")


def _reason(path: tuple[str, ...], columns: tuple[str, ...], tree: Tree) -> tuple[str, str]:
    """Find the column at which a path leaves the tree, and what should have stood there."""
    labels = tuple(label for label in path if label)
    for depth, column in enumerate(columns[: len(labels)]):
        try:
            node = tree.find(labels[: depth + 1])
        except InvalidProblemError:
            if depth and not len(tree.children(tree.find(labels[:depth]))):
                return column, "nothing below a lowest region"
            return column, "a region of the list"
    del node
    return columns[len(labels)], "a path that goes down to a lowest region"
