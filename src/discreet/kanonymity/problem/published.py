"""Published cells read back: which values a text such as ``[20, 30]``, ``F|M`` or ``Europe`` covers.

Nothing is shared with what writes them.

Trusted: the guarantee rests on this code, which reads what a published cell covers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.options import items_of
from discreet.kanonymity.problem.attributes import Numeric, Taxonomy
from discreet.kanonymity.problem.levels import spans_of
from discreet.kanonymity.problem.native import Values, values_of_column

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.kanonymity.problem.column import CodedColumn

LARGEST_INTEGER = int(np.iinfo(np.int64).max) // 2
"""What a number of 64 bits holds, with room to spare."""

_INTERVAL = re.compile(r"\[([^\s,]+), ([^\s,]+)\]")
_PIECE = re.compile(r"\\.|[^\\]|\\$", re.DOTALL)


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """What the published cells of a column cover: spans of codes and, where these do not suffice, marks.

    Parameters
    ----------
    lo, hi
        Least and greatest code of each cell; -1 for the greatest of one that covers nothing.
    marks
        For sets and taxonomies ``(cells, size)``: the codes that each cell covers.

    Examples
    --------
    >>> from discreet.kanonymity.problem.column import code_column
    >>> column, _ = code_column(Numeric("age"), [20, 30, 40, None], "ncp")
    >>> cells = Cells.of(column, ["[20, 35]", "", "*", "old"])
    >>> [cells.span(cell) for cell in range(4)]
    [(0, 1), (3, 3), (0, 3), (0, -1)]
    """

    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    marks: NDArray[np.bool_] | None

    @classmethod
    def of(cls, column: CodedColumn, texts: Sequence[str]) -> Cells:
        """Read each text of a published column; one that can't be read covers nothing. ``O(texts D)`` for D codes."""
        if isinstance(column.attribute, Numeric):
            present = [float(str(value)) for value in column.domain if value is not None]
            spans = [_interval(text, np.array(present), len(column.domain)) for text in texts]
            ends = np.array(spans, np.int64).reshape(-1, 2)
            return cls(ends[:, 0], ends[:, 1], None)
        marks = np.stack([_covered(column, text) for text in texts])
        some = marks.any(axis=1)
        last = marks.shape[1] - 1 - np.argmax(marks[:, ::-1], axis=1)
        return cls(np.where(some, np.argmax(marks, axis=1), 0), np.where(some, last, -1), marks)

    def span(self, cell: int) -> tuple[int, int]:
        """Least and greatest code that a cell covers."""
        return int(self.lo[cell]), int(self.hi[cell])

    def covers(self, cell: int, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return for each of `codes` whether the cell covers it.

        `cell` is the place of a text in `texts` of :meth:`of`; `codes` and the result, booleans, are ``(rows,)``.
        """
        if self.marks is not None:
            return np.asarray(self.marks[cell, codes])
        return np.asarray((codes >= self.lo[cell]) & (codes <= self.hi[cell]))


def _interval(text: str, values: NDArray[np.float64], size: int) -> tuple[int, int]:
    """Return the least and greatest code that a cell of a numeric column covers; (0, -1) for no number or interval.

    `values` are the rising numbers; "*" covers all `size` codes, and an empty text the last one, of missing numbers.
    """
    if text == "*":
        return 0, size - 1
    if not text:
        return len(values), size - 1
    match = _INTERVAL.fullmatch(text)
    low, high = (match[1], match[2]) if match else (text, text)
    try:
        ends = float(low), float(high)
    except ValueError:
        return 0, -1
    first, after = np.searchsorted(values, ends[0]), np.searchsorted(values, ends[1], "right")
    return int(first), int(after) - 1


def _covered(column: CodedColumn, text: str) -> NDArray[np.bool_]:
    """Mark the codes ``(D,)`` of a set or a taxonomy that a published cell covers. ``O(D)``."""
    if column.levels is not None:
        return spans_of(column.levels, column.domain, text)
    values = ["" if value is None else str(value) for value in column.domain]
    if isinstance(column.attribute, Taxonomy):
        return _below(column.attribute, values, text)
    parts = set(values if text == "*" else _parts(text))
    return np.array([value in parts for value in values])


def _parts(text: str) -> list[str]:
    r"""Split the published text of a set at its bars; a backslash escapes a bar or a backslash."""
    parts = [""]
    for piece in _PIECE.findall(text):
        if piece == "|":
            parts.append("")
        else:
            parts[-1] += piece[-1]
    return parts


def _below(attribute: Taxonomy, values: list[str], text: str) -> NDArray[np.bool_]:
    """Mark, ``(values,)``, the leaves below all nodes with label `text`; missing values hang below the root.

    ``O(nodes)``.
    """
    tree = attribute.tree
    nodes = {node for node, label in enumerate(tree.labels) if str(label) == text}
    under = np.zeros(tree.n, dtype=bool)
    for node, parent in enumerate(tree.parents.tolist()):
        under[node] = node in nodes or (parent >= 0 and under[parent])
    known = {str(tree.labels[leaf]) for leaf in tree.leaves.tolist() if under[leaf]}
    if not text or 0 in nodes or text == "*":
        known.add("")
    if text == "*":
        known.update(values)
    return np.array([value in known for value in values])


def names_in(table: Any) -> list[str]:  # noqa: ANN401 - a dataframe or a mapping of columns
    """Return the column names of a table of any kind.

    Raises
    ------
    InvalidProblemError
        For a lazy frame, or anything that is not a table.
    """
    if hasattr(table, "column_names"):
        return list(table.column_names)
    if hasattr(table, "collect"):
        expected = "a dataframe, or columns by name; collect a lazy frame first"
        raise InvalidProblemError("table", expected, type(table).__name__)
    names = table.columns if hasattr(table, "columns") else table
    return [*items_of(names, "table", "a dataframe, or columns by name")]


def column_of(table: Any, name: str) -> list[Any]:  # noqa: ANN401 - as above
    """Return a column of a table of any kind, a value for each row; missing values are ``None``.

    A moment that no object of Python holds, finer than a microsecond or beyond the year 9999, is text that does.

    Raises
    ------
    InvalidProblemError
        When there is none of that name, or its values cannot be told apart.
    """
    values = values_in(table, name)
    return values.of_rows(values.values)


def values_in(table: Any, name: str) -> Values:  # noqa: ANN401 - as above
    """Number the different values of a column of a table of any kind.

    Raises
    ------
    InvalidProblemError
        As :func:`column_of`.
    """
    if name not in names_in(table):
        raise InvalidProblemError("table", "columns that are there", repr(name))
    column = table[name]
    if column is None or isinstance(column, str | bytes | int | float):
        raise InvalidProblemError(name, "a column of values", type(column).__name__)
    return values_of_column(column, name)


def joined(codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Number the different tuples of codes from 0 without gaps, in lexicographic order: ``(n,)`` int64.

    All arrays are ``(n,)``, 0 or more, and at least one is required. A sort of the rows.
    """
    labels, size = codes[0], int(codes[0].max(initial=0)) + 1
    for column in codes[1:]:
        width = int(column.max(initial=0)) + 1
        if size * width > LARGEST_INTEGER:
            # Numbered anew, so that the product stays an integer of 64 bits.
            labels = np.unique(labels, return_inverse=True)[1]
            size = int(labels.max(initial=0)) + 1
        labels, size = labels * width + column, size * width
    return np.unique(labels, return_inverse=True)[1]


def numbered(values: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return for each value a number from 0, in the order in which values are first seen."""
    number: dict[Hashable, int] = {}
    codes = (number.setdefault(value, len(number)) for value in values)
    return np.fromiter(codes, np.int64, len(values))
