"""Between dataframes and problems: columns in, a published table of the same kind out.

Cells are published as text: an interval as ``[20, 30]``, a set as its sorted values between bars, ``F|M``, without
their multiplicities, a taxonomy's node by its label. A cell that covers one value keeps it. In a set, a bar or a
backslash within a value stands behind a backslash. Rows are shuffled by keys of 128 bits from the operating system,
since their order would tell about ranks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.core.options import instance_of, items_of
from discreet.core.randomness import SystemBits
from discreet.kanonymity.packed import WORD_BITS
from discreet.kanonymity.problem import (
    Categorical,
    Dates,
    Numeric,
    Prefixes,
    Problem,
    Rounded,
    Taxonomy,
)
from discreet.kanonymity.problem.native import Beyond, values_of_column
from discreet.tables.columns import text_holds_numbers
from discreet.tables.frames import rebuilt
from discreet.tables.keys import key_text
from discreet.tables.roles import look_of_column

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from discreet.core.randomness import RandomBits
    from discreet.kanonymity.problem import Attribute, CodedColumn

VALUES_PER_BIT_MASK = WORD_BITS - 1
"""Values of a column below which a set of them is one number."""


def read_problem(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    names: Sequence[str],
    attributes: Mapping[str, Attribute] | Sequence[Attribute] | None,
    loss: str,
) -> Problem:
    """Code the quasi-identifiers of a table.

    A sort of each column. InvalidProblemError for an attribute of no quasi-identifier, a column that is not there, or
    values that its kind cannot have, named by their row.

    Parameters
    ----------
    table
        A dataframe that Narwhals knows.
    names
        The quasi-identifiers.
    attributes
        What kind of column some of them are. Others are numeric where they hold numbers, dates where they hold these,
        and else sets of values. Text of numbers is numeric, whatever library or file it came from, but for text with a
        zero in front, which is a code.
    loss
        See :class:`Problem`.
    """
    frame = nw.from_native(table, eager_only=True)
    kinds = attributes or {}
    listed = items_of(
        kinds.values() if isinstance(kinds, Mapping) else kinds,
        "attributes",
        "attributes of columns",
    )
    for attribute in listed:
        instance_of(getattr(attribute, "name", None), str, "attributes", "attributes of columns")
    stated = {attribute.name: attribute for attribute in listed}
    for name in stated:
        if name not in names:
            raise InvalidProblemError("attributes", "names of quasi-identifiers", repr(name))
    for name in names:
        if name not in frame.columns:
            raise InvalidProblemError("quasi_identifiers", "columns of the table", repr(name))
    chosen = [stated.get(name) or kind_of(frame[name], name) for name in names]
    columns = {
        attribute.name: _values_to_code(frame[attribute.name], attribute) for attribute in chosen
    }
    return Problem.from_columns(columns, chosen, loss=loss)


def kind_of(series: nw.Series[Any], name: str) -> Attribute:
    """Return the attribute of a column by its values: numeric, dates or categorical.

    A format of dates that is not clear is refused where dates are read.

    Examples
    --------
    >>> import polars as pl
    >>> kind_of(nw.from_native(pl.Series(["1.5", "2"]), series_only=True), "cm")
    Numeric(name='cm', weight=1.0, low=None, high=None)
    """
    if series.dtype.is_numeric():
        return Numeric(name)
    if series.dtype in (nw.Date, nw.Datetime) or look_of_column(series, name).kind == "dates":
        return Dates(name)
    return Numeric(name) if text_holds_numbers(series) else Categorical(name)


def _values_to_code(series: nw.Series[Any], attribute: Attribute) -> list[Any] | NDArray[Any]:
    """Return a numeric column of finite numbers only as an array ``(n,)``, any other column as a list of Python values.

    In a list missing values are ``None``. InvalidProblemError for infinite numbers in a numeric or rounded column.
    """
    # NumPy has no integers of 128 bits.
    wide = series.dtype in (nw.Int128, nw.UInt128)
    plain = (series.dtype.is_integer() and not wide) or series.dtype.is_float()
    if isinstance(attribute, Numeric) and plain and not series.is_null().any():
        numbers: NDArray[Any] = series.to_numpy()
        if numbers.dtype.kind in "iu" or (numbers.dtype.kind == "f" and np.isfinite(numbers).all()):
            return numbers
    values = values_of(series, attribute)
    return _finite(attribute.name, values) if isinstance(attribute, Numeric | Rounded) else values


def _finite(name: str, values: list[Any]) -> list[Any]:
    """Replace NaN by ``None``, in place, and return the list.

    Raise InvalidProblemError for infinite numbers, by their row.
    """
    for row, value in enumerate(values):
        if isinstance(value, float | np.floating) and not np.isfinite(value):
            if not np.isnan(value):
                expected = "numbers from -2^53 to 2^53; correct the row, or leave the column out"
                raise InvalidProblemError(name, expected, f"another number in row {row + 1}")
            values[row] = None
    return values


def values_of(series: nw.Series[Any], attribute: Attribute) -> list[Any]:
    """Return a column as a list of values as its kind of attribute needs them, ``None`` for missing ones.

    Text stands for numbers where the column is declared numeric, and numbers for text where a taxonomy has text at its
    leaves. Empty text is a missing value.

    Raises
    ------
    InvalidProblemError
        For text that is no number in a numeric column, or a moment outside of the years 1 to 9999, named by its
        position.
    """
    if series.dtype.is_temporal():
        return _moments(series, attribute)
    pairs = zip(series.to_list(), series.is_null().to_list(), strict=True)
    values: list[Any] = [None if missing else value for value, missing in pairs]
    # Categories of pandas may be numbers.
    text = series.dtype in (nw.String, nw.Categorical, nw.Enum) and all(
        value is None or isinstance(value, str) for value in values
    )
    if isinstance(attribute, Taxonomy):
        labels = {attribute.tree.labels[leaf] for leaf in attribute.tree.leaves.tolist()}
        if all(isinstance(label, str) for label in labels):
            return [_label_of(value, labels) for value in values]
    if not text:
        return values
    values = [None if value is None or not value.strip() else value for value in values]
    return _numbers(attribute.name, values) if isinstance(attribute, Numeric | Rounded) else values


def _label_of(value: Any, labels: set[Hashable]) -> str | None:  # noqa: ANN401 - a value of any kind
    """Return the text of a value as a taxonomy of text has it: 34.0 is 34 where 34 is a label."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value)
    return (text if text in labels else key_text(value)) if text.strip() else None


def _moments(series: nw.Series[Any], attribute: Attribute) -> list[Any]:
    """Return moments, as full text if they are finer than a microsecond; refuse one outside of years 1 to 9999.

    Dates and times of Python, ``None`` for missing ones; as text for a taxonomy or prefixes. One pass over the rows.
    """
    moments = values_of_column(series, attribute.name)
    values = moments.of_rows(moments.values)
    beyond = next((row for row, value in enumerate(values) if isinstance(value, Beyond)), None)
    if beyond is not None:
        expected = "dates and times from year 1 to 9999; correct the row, or leave the column out"
        raise InvalidProblemError(attribute.name, expected, f"another date in row {beyond + 1}")
    if isinstance(attribute, Taxonomy | Prefixes):
        return [None if value is None else str(value) for value in values]
    return values


def _numbers(name: str, values: list[Any]) -> list[Any]:
    """Return values as floats, ``None`` for missing ones; raise InvalidProblemError with the row of another value."""
    numbers: list[Any] = []
    for row, value in enumerate(values):
        try:
            numbers.append(None if value is None else _float(value, name))
        except ValueError:
            raise InvalidProblemError(name, "numbers", f"another value in row {row + 1}") from None
    return numbers


def _float(text: str, name: str) -> float:
    """Read a number; infinity, which is refused, for one beyond 2^53 that a float would take for 2^53."""
    number = float(text)
    rounded = abs(number) == 2**53 != abs(to_fraction(text.strip(), name))
    return math.copysign(math.inf, number) if rounded else number


def publish(
    table: Any,  # noqa: ANN401 - a dataframe of any library
    problem: Problem,
    labels: NDArray[np.int32],
    bits: RandomBits | None = None,
    *,
    keep: int | None = None,
) -> Any:  # noqa: ANN401 - the same kind
    """Write the generalized table: same columns, suppressed rows left out, rows shuffled.

    Returns a table of the kind of `table`, its quasi-identifiers as text; other columns are kept as they are. `table`
    and `labels` are not changed. A sort of the published rows.

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
    keep
        Keep suppressed rows, as ``*``, if there are so many of them or more; ``None`` for never.
    """
    published_rows = labels >= 0
    if keep is not None and int((~published_rows).sum()) >= keep:
        published_rows = np.ones(len(labels), dtype=bool)
    rows = shuffled(np.flatnonzero(published_rows), SystemBits() if bits is None else bits)
    # A suppressed row has the last cell.
    texts = {
        column.name: [*cells_of(problem, labels, place), "*"]
        for place, column in enumerate(problem.columns)
    }
    label, classes = labels[rows], int(labels.max(initial=-1)) + 1
    return rebuilt(table, texts, rows, np.where(label < 0, classes, label))


def cells_of(problem: Problem, labels: NDArray[np.int32], j: int) -> list[str]:
    """Return the published text of each class in column `j`, by class number.

    `labels` is ``(n,)`` without gaps, -1 for suppressed rows. A sort.
    """
    rows = np.flatnonzero(labels >= 0)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    first = np.searchsorted(labels[rows], np.arange(int(labels.max(initial=-1)) + 1))
    codes = problem.codes[rows, j].astype(np.int64)
    texts, at, _ = cells_of_runs(problem.columns[j], codes, first)
    return [texts[place] for place in at.tolist()]


def cells_of_runs(
    column: CodedColumn, codes: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64], NDArray[np.float64]]:
    """Return the published cells of classes in a column whose rows are sorted by class.

    Parameters
    ----------
    column
        The column.
    codes
        ``(n,)`` its codes, one class after another.
    first
        ``(classes,)`` the first row of each.

    Returns
    -------
    texts
        Different cells, some of which may be equal.
    which
        ``(classes,)`` which of them each publishes.
    costs
        ``(classes,)`` what that costs each of its rows.

    Examples
    --------
    >>> from discreet.kanonymity.problem import Categorical, Problem
    >>> problem = Problem.from_columns({"sex": ["F", "M", "F"]}, [Categorical("sex")])
    >>> column, codes = problem.columns[0], problem.codes[:, 0].astype(np.int64)
    >>> texts, which, costs = cells_of_runs(column, codes, np.array([0, 2]))
    >>> [texts[at] for at in which], costs.tolist()
    (['F|M', 'F'], [1.0, 0.0])
    """
    if not column.is_set:
        lo, hi = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
        return *_span_texts(column, lo, hi), column.span_cost(lo, hi)
    size = len(column.domain)
    if size < VALUES_PER_BIT_MASK:
        # There are far fewer different sets than classes.
        masks = np.bitwise_or.reduceat(np.left_shift(np.int64(1), codes), first)
        sets, which = np.unique(masks, return_inverse=True)
        at, values = np.nonzero((sets[:, None] >> np.arange(size)) & 1)
    else:
        runs = np.zeros(len(codes), dtype=np.int64)
        runs[first[1:]] = 1
        pairs = np.unique(np.cumsum(runs) * size + codes)
        which, at, values = np.arange(len(first)), pairs // size, pairs % size
    counts = np.bincount(at)
    return _set_texts(column, len(counts), at, values), which, column.set_cost(counts)[which]


def _set_texts(
    column: CodedColumn, sets: int, at: NDArray[np.int64], values: NDArray[np.int64]
) -> list[str]:
    """Return the texts of `sets` sets, sorted values joined by "|", from pairs of a set `at` and a code in `values`.

    Both are ``(pairs,)``.
    """
    known = [_escaped(text_of(value)) for value in column.domain]
    texts_of_sets: list[list[str]] = [[] for _ in range(sets)]
    for one, value in zip(at.tolist(), values.tolist(), strict=True):
        texts_of_sets[one].append(known[value])
    return ["|".join(sorted(texts)) for texts in texts_of_sets]


def _span_texts(
    column: CodedColumn, lo: NDArray[np.int64], hi: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64]]:
    """Write cells from code `lo` to `hi` ``(cells,)``.

    The different texts, and the index ``(cells,)`` of each cell's text. A sort of the cells.
    """
    size = len(column.domain)
    # There are far fewer different cells than classes.
    spans, which = np.unique(lo * size + hi, return_inverse=True)
    first, last = spans // size, spans % size
    if not isinstance(column.attribute, Numeric):
        # All at once: one by one they take as long as splitting does where parts have few rows.
        return list(map(text_of, column.nodes(first, last))), which
    ends = zip(first.tolist(), last.tolist(), strict=True)
    return [_span_text(column, *span) for span in ends], which


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("|", r"\|")


def text_of(value: Hashable) -> str:
    """Write a value; a missing one is empty."""
    return "" if value is None else str(value)


def _span_text(column: CodedColumn, lo: int, hi: int) -> str:
    """Return the text of a cell from code `lo` to `hi`: the value, an interval, or ``*`` if it has missing values."""
    if lo == hi:
        return text_of(column.domain[lo])
    if column.domain[hi] is None:
        return "*"
    return f"[{column.domain[lo]}, {column.domain[hi]}]"


def shuffled(rows: NDArray[np.int64], bits: RandomBits) -> NDArray[np.int64]:
    """Return `rows` ``(m,)`` in a uniformly random order, by random keys of 128 bits; a copy. A sort."""
    high, low = bits.randranges(2**64, len(rows)), bits.randranges(2**64, len(rows))
    # One sort by 64 bits takes a seventh of the time of two stable ones, and is nearly always enough.
    order = np.argsort(high)
    if (np.diff(high[order]) == 0).any():
        order = np.lexsort([low, high])
    return rows[order]
