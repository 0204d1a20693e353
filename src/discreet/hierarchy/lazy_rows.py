"""Rows in lazy and distributed frames, grouped where they are: only counts by region and size are collected.

No row of a lazy frame has a position, and its regions are not joined to the public list where the rows are: units are
added up there by the labels that they have, and what comes back is one row for each path and size. Rows whose labels
are not in the public lists are one group, so that the number of groups is bounded by public facts.

Trusted: the guarantee rests on this code, which counts private rows.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.hierarchy.problem import OTHER
from discreet.hierarchy.refusals import GROUPS, LEAF, ROWS, SIZE, UNIT, WHY
from discreet.hierarchy.regions import grouped_keys, place_rows
from discreet.tables.frames import collect
from discreet.tables.keys import key_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from discreet.hierarchy.problem import Frame
    from discreet.hierarchy.regions import Named, Public


def is_remote(source: Any) -> bool:  # noqa: ANN401 - anything
    """Test whether a table is lazy, and of a library whose rows have no order: all lazy ones but Polars."""
    try:
        table = nw.from_native(source)
    except (TypeError, nw.exceptions.DuplicateError):
        return False
    return isinstance(table, nw.LazyFrame) and not table.implementation.is_polars()


def listed_keys(
    table: Any,  # noqa: ANN401 - a lazy frame
    labels: Mapping[str, Sequence[str]],
    reasons: Mapping[str, int],
    why: nw.Expr,
) -> tuple[list[nw.Expr], nw.Expr]:
    """Return expressions for the keys of columns, all empty in rows that do not count, and for the reason.

    Nothing is computed. A reason of an earlier column goes before one of a later, and both before `why`.

    Parameters
    ----------
    table
        The lazy frame.
    labels
        Column -> its public keys; if :data:`~discreet.hierarchy.problem.OTHER` is one, other keys are it.
    reasons
        Column -> number of the reason for other keys.
    why
        Reason by the other columns, 0 for none.
    """
    keys = {name: key_of(table, name) for name in labels}
    for name in reversed(list(labels)):
        listed = keys[name].is_in(list(dict.fromkeys(labels[name])))
        if OTHER in labels[name]:
            keys[name] = nw.when(listed).then(keys[name]).otherwise(nw.lit(OTHER))
            continue
        why = nw.when(listed).then(why).otherwise(nw.lit(reasons[name]))
    shown = [
        nw.when(why == 0).then(key).otherwise(nw.lit("")).alias(name) for name, key in keys.items()
    ]
    return shown, why.cast(nw.Int64)


def remote_groups(source: Any, public: Public, named: Named, frame: Frame) -> Any:  # noqa: ANN401 - a lazy frame of any library
    """Group the rows of a lazy frame by unit, and units by region and size, where they are; collect only the groups.

    Raises InvalidProblemError if the library cannot group the table. One pass over the rows where they are; in memory
    only the groups.

    Returns
    -------
    DataFrame
        Region, size, reason and number of units and rows; where public units are matched by name, a row for each unit
        with its name.
    """
    table = nw.from_native(source).select(*named.columns(public))
    persons = named.size is None
    number, most = (named.quantity, frame.max_quantity) if persons else (named.size, frame.max_size)
    size, fine = (nw.lit(1), nw.lit(value=True)) if number is None else whole_of(table, number)
    unit = nw.lit("") if named.unit is None else key_of(table, named.unit)
    why = nw.when(fine).then(nw.lit(0)).otherwise(nw.lit(2))
    if named.unit is not None:
        why = nw.when(unit == "").then(nw.lit(3)).otherwise(why)
    labels = grouped_keys(public.columns, public.tree)
    texts, why = listed_keys(table, labels, dict.fromkeys(labels, 1), why)
    size = size.cast(nw.Int64).clip(upper_bound=most)
    one = nw.lit(1).cast(nw.Int64)
    table = table.select(
        *texts,
        nw.when(why == 0).then(unit).otherwise(nw.lit("")).alias(UNIT),
        nw.when(why == 0).then(size).otherwise(nw.lit(0)).cast(nw.Int64).alias(SIZE),
        why.alias(WHY),
        one.alias(ROWS),
    )
    if named.unit is not None:
        table = table.group_by(*labels, UNIT, WHY).agg(nw.col(SIZE).sum(), nw.col(ROWS).sum())
    if public.units is None:
        top = nw.col(SIZE).clip(upper_bound=frame.max_size)
        grouped = table.with_columns(top.alias(SIZE)).group_by(*labels, SIZE, WHY)
        table = grouped.agg(nw.len().alias(GROUPS), nw.col(ROWS).sum())
    placed = place_rows(collect_remote(table, named.argument), public.columns, public.tree)
    lost = (nw.col(WHY) == 0) & (nw.col(LEAF) < 0)
    return placed.with_columns(nw.when(lost).then(nw.lit(1)).otherwise(nw.col(WHY)).alias(WHY))


def add_up(
    groups: nw.DataFrame[Any], column: str, counted: str, shape: tuple[int, int]
) -> tuple[NDArray[np.int64], Counter[int]]:
    """Count by lowest region and `column`, an int64 array of `shape`, and rows by the reason why they do not count.

    `groups` have the columns LEAF, WHY (0: it counts), ROWS, `column` and `counted`. Private. Linear in them.
    """
    leaf, place, why, rows, many = (
        groups[name].to_numpy().astype(np.int64) for name in (LEAF, column, WHY, ROWS, counted)
    )
    counts, fine = np.zeros(shape, dtype=np.int64), why == 0
    np.add.at(counts, (leaf[fine], place[fine]), many[fine])
    left_out: Counter[int] = Counter()
    for reason, number in zip(why[~fine].tolist(), rows[~fine].tolist(), strict=True):
        left_out[reason] += number
    return counts, left_out


def collect_remote(table: Any, argument: str) -> Any:  # noqa: ANN401 - a lazy frame
    """Collect a lazy frame as one of PyArrow or pandas, and convert it to one of Polars.

    `argument` names the table in messages. It is computed and read into memory whole.

    Raises
    ------
    InvalidProblemError
        If the library can't group the table; the message has only the kind of its error.
    """
    try:
        return nw.from_native(collect(table, argument).to_polars(), eager_only=True)
    except (InvalidProblemError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - each library has errors of its own, which may quote a row
        expected = "a lazy table that its library can group"
        raise InvalidProblemError(argument, expected, type(error).__name__) from None
