"""Between dataframes and problems: columns in, a published table of the same kind out.

Cells are published as text: an interval as ``[20, 30]``, a set as its sorted values between bars, ``F|M``, without
their multiplicities, a taxonomy's node by its label. A cell that covers one value keeps it. Rows are shuffled by keys
of 128 bits from the operating system, since their order would tell about ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SystemBits
from discreet.kanonymity.problem import Categorical, Numeric, Problem

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.kanonymity.problem import Attribute, Column

__all__ = ["publish", "read_problem"]


def read_problem(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    names: Sequence[str],
    attributes: Mapping[str, Attribute] | Sequence[Attribute] | None,
    loss: str,
) -> Problem:
    """Code the quasi-identifiers of a table.

    Parameters
    ----------
    table
        A dataframe that Narwhals knows.
    names
        The quasi-identifiers.
    attributes
        What kind of column some of them are. Columns of numbers are numeric by default, others sets of values.
    loss
        See :class:`Problem`.
    """
    frame = nw.from_native(table, eager_only=True)
    given = attributes or {}
    listed = given.values() if hasattr(given, "values") else given
    stated = {attribute.name: attribute for attribute in listed}
    for name in stated:
        if name not in names:
            raise InvalidProblemError("attributes", "quasi-identifiers", repr(name))
    for name in names:
        if name not in frame.columns:
            raise InvalidProblemError("quasi_identifiers", "columns of the table", repr(name))
    chosen = [
        stated.get(name) or (Numeric(name) if frame[name].dtype.is_numeric() else Categorical(name))
        for name in names
    ]
    return Problem.from_columns({name: frame[name].to_list() for name in names}, chosen, loss=loss)


def publish(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    problem: Problem,
    labels: NDArray[np.int32],
    bits: RandomBits | None = None,
) -> Any:  # noqa: ANN401 - the same kind
    """Write the generalized table: same columns, suppressed rows left out, rows shuffled.

    Parameters
    ----------
    table
        What :func:`read_problem` was given.
    problem
        What it gave.
    labels
        Classes; -1 for suppressed rows.
    bits
        Where the keys of the shuffle come from; the operating system by default.
    """
    frame = nw.from_native(table, eager_only=True)
    rows = shuffled(np.flatnonzero(labels >= 0), SystemBits() if bits is None else bits)
    out = frame[rows.tolist()]
    made = []
    for j, column in enumerate(problem.columns):
        cells = cells_of(problem, labels, j)
        values = [cells[label] for label in labels[rows].tolist()]
        made.append(nw.new_series(column.name, values, nw.String, backend=frame.implementation))
    return out.with_columns(*made).to_native()


def cells_of(problem: Problem, labels: NDArray[np.int32], j: int) -> list[str]:
    """Give what each class publishes in a column."""
    column, kept = problem.columns[j], labels >= 0
    if column.is_set:
        pairs = np.unique(np.stack([labels[kept], problem.codes[kept, j]]), axis=1)
        found: list[list[Hashable]] = [[] for _ in range(int(labels.max()) + 1)]
        for label, code in pairs.T.tolist():
            found[label].append(column.domain[code])
        return ["|".join(sorted(map(text_of, values))) for values in found]
    boxes = problem.boxes(labels)
    spans = zip(boxes.lo[:, j].tolist(), boxes.hi[:, j].tolist(), strict=True)
    return [_span_text(column, lo, hi) for lo, hi in spans]


def text_of(value: Hashable) -> str:
    """Write a value; a missing one is empty."""
    return "" if value is None else str(value)


def _span_text(column: Column, lo: int, hi: int) -> str:
    if lo == hi:
        return text_of(column.domain[lo])
    if not isinstance(column.attribute, Numeric):
        return text_of(column.node(lo, hi))
    if column.domain[hi] is None:
        return "*"
    return f"[{column.domain[lo]}, {column.domain[hi]}]"


def shuffled(rows: NDArray[np.int64], bits: RandomBits) -> NDArray[np.int64]:
    """Order rows by keys of 128 bits."""
    high, low = bits.randranges(2**64, len(rows)), bits.randranges(2**64, len(rows))
    return rows[np.lexsort([low, high])]
