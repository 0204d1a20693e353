"""Trusted: the public rule by which each row of a private table is counted, mapped or left out, one by one.

A mechanism that spends budget refuses nothing because of a value. What options, public lists and *declared* types
(Parquet, Arrow, Polars) show is refused before the charge, by :func:`check_types`. All else is read row by row:

1. A cell is a key, its text by :func:`key_of`. The key depends on the value in the cell alone: 1, 1.0 and the texts
   "1.0" and " 1" are one key, and "01" is another; a missing value, or a day outside of the years 1 to 9999, is the
   empty key. Our own readers take the cells of a CSV file as text, bytes that are not UTF-8 as U+FFFD, cells that a row
   lacks as empty, and ignore cells beyond the last name. A CSV file with a quote
   out of place (RFC 4180: a cell with a quote stands between
   quotes, its own are doubled) is the file of no table, and is refused before the charge as a damaged Parquet file
   is. The file of any table passes. Whether a writer quotes is public: of a file without quoting
   (:class:`~discreet.tables.parsing.UnquotedFile`) a row is a line, a quote is a letter, and nothing is refused.
2. A row counts if its keys are in the public lists and its number is whole and not negative. Other rows are left out.
   Rows of one unit in two regions are two units, one in each region.
3. Of a person, of whom at most m rows may count, m count that are drawn at random (:func:`nth_rows`).

Why the guarantee stays: rules 1 and 2 look at one row and at public lists, rule 3 at the rows of one person. So the
counted rows are the union, over persons, of a set that depends on the rows of that person alone, and that has at most m
rows. Rule 3 draws from the rows of one person by a random key that does not depend on any row. For each fixed key the
drawn rows are such a set, so the guarantee holds for each key, and therefore for a random one. Let T and
T' be neighbors by adding all rows of a person p. The sets of all other persons are the same in both
tables, and that of p is empty in T: the counted tables differ in at most m rows of p, which is what the sensitivity of
each mechanism is computed for. To replace p is to remove and to add. An order of the rows over all persons ("the first
rows of the file"), a limit for the whole table, or a type that is inferred from a column would break this, because one
person then decides about rows of others. A record without a name for the person never counts. The last holds for a
frame that its owner has read with inferred types, too: beside one row with a letter "01" stays text, and without it
becomes 1. No one can see that in the frame, so that pages and docstrings say to read such columns as text.

Neither rule can fail for a value, so that the status, the output and the set of files of neighboring tables have the
laws of the mechanism. How many rows were left out or mapped is written to standard error alone, marked as private, by
:func:`write_private_note`. With ``refuse_rows`` such rows raise an error after the charge: that is the caller's choice,
and outside of the guarantee, because the error tells neighboring tables apart.
"""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections import Counter
from contextlib import suppress
from hashlib import blake2b
from os import urandom
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from discreet.core import printed
from discreet.tables.refusals import refused, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Table = nw.DataFrame[Any] | nw.LazyFrame[Any]

_WHOLE = r"^-?(?:0|[1-9][0-9]*)\.0+$"
_BLANKS = " \t\r\n"
"""Blanks that are stripped at the ends of a key."""

_TRUTHS = ("True", "TRUE", "False", "FALSE")
_DIGITS = r"^\s*-?[0-9]{1,15}(?:\.0*)?\s*$"
_MAX_WHOLE = 10**sys.float_info.dig
"""Floats below this limit that are whole are read as integers; each of them has an exact text."""

_UNREADABLE = (nw.List, nw.Array, nw.Struct, nw.Binary, nw.Object, nw.Time, nw.Duration)
"""Declared types of columns whose cells are no keys."""


def check_types(table: Any, names: Sequence[str]) -> None:  # noqa: ANN401 - a frame of Narwhals
    """Raise for columns whose declared type holds no keys: lists, records, bytes, times of day, durations, objects.

    Types of pandas are inferred from values and never refused.

    Raises
    ------
    InvalidProblemError
        With the column and the name of its type, without its fields, which may be cells.

    Examples
    --------
    >>> import polars as pl
    >>> check_types(nw.from_native(pl.DataFrame({"home": [[1], [2]]})), ["home"])
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: home: expected a column of text, numbers, dates or Booleans, got a...
    """
    if table.implementation.is_pandas_like():
        return
    schema = table.collect_schema()
    for name in names:
        if isinstance(schema[name], _UNREADABLE):
            raise refused("key-type", name, f"a column of {type(schema[name]).__name__}")


def with_plain_cells(table: Table, names: Iterable[str]) -> Table:
    """Return the table with mixed Python objects (of pandas) and moments of Arrow as texts: the key of each cell.

    Only columns `names` are looked at, and a lazy table is returned as it is. Arrow can neither compare nor write a
    moment outside of the calendar. Linear in the cells of such columns.
    """
    schema = table.collect_schema()
    if isinstance(table, nw.LazyFrame):
        return table
    import polars as pl

    backend = table.implementation
    texts = {
        name: [key_text(cell) for cell in table[name].to_list()]
        for name in names
        if schema[name] == nw.Object
    }
    for name in names:
        if isinstance(schema[name], nw.Datetime) and _is_arrow(table, name):
            column: Any = table[name].to_arrow()
            ticks: Any = pl.from_arrow(column.cast("int64"))
            unit = column.type.unit
            if unit == "s":
                # Polars has no seconds; beyond these there is no calendar.
                ticks, unit = ticks.clip(-(10**12), 10**12) * 1000, "ms"
            cells = pl.DataFrame({name: ticks.cast(pl.Datetime(unit, column.type.tz))})
            moments = nw.from_native(cells, eager_only=True)
            texts[name] = moments.select(key_of(moments, name))[name].to_list()
    return table.with_columns(
        nw.new_series(name, cells, nw.String, backend=backend) for name, cells in texts.items()
    )


def _is_arrow(table: nw.DataFrame[Any], name: str) -> bool:
    """Return whether a column is Arrow's, in a frame of Arrow or of pandas."""
    if table.implementation.is_pandas_like():
        return str(table.to_native()[name].dtype).endswith("[pyarrow]")
    return bool(table.implementation.is_pyarrow())


def key_text(cell: object) -> str:
    """Return the key of a cell or of a public label, as :func:`key_of` computes it for a column.

    Examples
    --------
    >>> [key_text(cell) for cell in (1, 1.0, "1.0 ", 1.5, "01", None, float("nan"), True, "TRUE")]
    ['1', '1', '1', '1.5', '01', '', '', 'true', 'true']
    """
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return ""
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if not np.isfinite(number):
            return ""
        return str(int(number)) if number.is_integer() and abs(number) < _MAX_WHOLE else str(number)
    if isinstance(cell, dt.datetime):
        return cell.strftime("%Y-%m-%dT%H:%M:%S").removesuffix("T00:00:00")
    text = str(cell).strip(_BLANKS)
    if text in _TRUTHS:
        return text.lower()
    return text.partition(".")[0] if re.match(_WHOLE, text) else text


def key_of(table: Table, column: str) -> nw.Expr:
    """Return an expression for the keys of a column: text that depends on each cell alone.

    Missing values, NaN and infinite numbers have the empty key.

    Integers below 2^53 in floats have the key of the integer, midnight that of the day, and true and false are
    lowercase.
    """
    dtype, cells = _cells_of(table, column)
    if dtype.is_float():
        is_integer = (cells.abs() < _MAX_WHOLE).fill_null(value=False)
        near = nw.when(is_integer).then(cells).otherwise(nw.lit(0.5))
        text = nw.when(cells.is_finite()).then(cells.cast(nw.String)).otherwise(nw.lit(""))
        integers = nw.when(near % 1 == 0).then(near).otherwise(nw.lit(0)).cast(nw.Int64)
        return nw.when(near % 1 == 0).then(integers.cast(nw.String)).otherwise(text).fill_null("")
    if isinstance(dtype, nw.Datetime):
        day, moment = cells.dt.to_string("%Y-%m-%d"), cells.dt.to_string("%Y-%m-%dT%H:%M:%S")
        midnight = moment.str.contains("T00:00:00$").fill_null(value=False)
        return nw.when(midnight).then(day).otherwise(moment).fill_null("")
    text = cells.cast(nw.String).fill_null("")
    if dtype.is_integer():
        return text
    text = text.str.strip_chars(_BLANKS)
    plain = nw.when(text.is_in(_TRUTHS)).then(text.str.to_lowercase()).otherwise(text)
    cut = text.str.replace_all(r"\.0+$", "")
    return nw.when(text.str.contains(_WHOLE)).then(cut).otherwise(plain)


def _cells_of(table: Table, column: str) -> tuple[nw.dtypes.DType, nw.Expr]:
    """Return the type and the cells of a column, without days that no calendar has, which no library can write."""
    dtype, cells = table.collect_schema()[column], nw.col(column)
    if dtype not in (nw.Date, nw.Datetime):
        return dtype, cells
    least: dt.date = dt.date.min
    most: dt.date = dt.date.max
    moments = cells
    if isinstance(dtype, nw.Datetime):
        least = dt.datetime.combine(least, dt.time.min)
        most = dt.datetime.combine(most, dt.time.max)
        if dtype.time_zone is not None:
            # A zone may move the first and the last day out of the calendar.
            day = dt.timedelta(days=1)
            least, most = (
                (least + day).replace(tzinfo=dt.UTC),
                (most - day).replace(tzinfo=dt.UTC),
            )
            moments = cells.dt.convert_time_zone("UTC")
    return dtype, nw.when((moments >= least) & (moments <= most)).then(cells)


def whole_of(table: Table, column: str) -> tuple[nw.Expr, nw.Expr]:
    """Return expressions that read a column of whole numbers, 0 or more, as int64.

    Returns
    -------
    numbers : Expr
        The numbers; 0 where there is none.
    fine : Expr
        Whether there is one.
    """
    dtype, values = _cells_of(table, column)
    if dtype.is_integer() or dtype.is_float():
        # In this order: what is infinite has no remainder, and what has one is no integer.
        fine = (values.abs() < _MAX_WHOLE).fill_null(value=False)
        near = nw.when(fine).then(values).otherwise(nw.lit(0))
        fine = fine & (near % 1 == 0)
        numbers = nw.when(fine).then(values).otherwise(nw.lit(0)).cast(nw.Int64)
    else:
        text = values.cast(nw.String)
        fine = text.str.contains(_DIGITS).fill_null(value=False)
        plain = text.str.strip_chars().str.replace_all(r"\.0*$", "")
        numbers = nw.when(fine).then(plain).otherwise(nw.lit("0")).cast(nw.Int64)
    fine = fine & (numbers >= 0)
    return nw.when(fine).then(numbers).otherwise(nw.lit(0)).cast(nw.Int64), fine


def distinct_keys(labels: Sequence[str], field: str) -> list[str]:
    """Return the keys of public labels, in their order; linear.

    Raises
    ------
    InvalidProblemError
        For two labels with one key, such as 1 and 1.0: no cell could tell them apart.

    Examples
    --------
    >>> distinct_keys(["1.0", "2", "x"], "domain")
    ['1', '2', 'x']
    """
    seen: dict[str, str] = {}
    for label in labels:
        if (other := seen.setdefault(key_text(label), label)) != label:
            raise refused("keys-equal", field, f"{other!r} and {label!r}")
    return list(seen)


def sampling_key() -> bytes:
    """Return a new key of 128 random bits for :func:`nth_rows`, from the operating system."""
    return urandom(16)


def nth_rows(
    table: nw.DataFrame[Any], person: str, order: Sequence[str], key: bytes = b""
) -> nw.DataFrame[Any]:
    """Number the rows of each person from 0 in random order, in the column ``discreet nth``.

    The numbers of a person depend on the rows of that person and on the key alone, so that one key gives the same
    numbers again, whatever else the table holds and in whatever order.

    The result is sorted by person and `order`. A sort of the rows.

    Parameters
    ----------
    table, person
        The rows, and the column of persons.
    order
        Columns that order the rows of a person before the draw. Rows with another cell in the first column have
        numbers of their own.
    key
        Key of the draw; a new :func:`sampling_key` by default.

    Examples
    --------
    >>> import polars as pl
    >>> rows = nw.from_native(pl.DataFrame({"who": ["b", "a", "b"], "why": [0, 0, 1], "cell": [3, 1, 2]}))
    >>> nth_rows(rows, "who", ["why", "cell"]).to_native().rows()
    [('a', 0, 1, 0), ('b', 0, 3, 0), ('b', 1, 2, 0)]
    """
    ordered = table.sort(person, *order)
    names, reasons = ordered[person].to_numpy(), ordered[order[0]].to_numpy()
    starts = np.ones(len(names), dtype=bool)
    starts[1:] = (names[1:] != names[:-1]) | (reasons[1:] != reasons[:-1])
    begins = np.flatnonzero(starts)
    sizes = np.diff(begins, append=len(names))
    nth = np.arange(len(names)) - np.repeat(begins, sizes)
    several = np.repeat(sizes > 1, sizes)
    if several.any():
        key = key or sampling_key()
        seeds = np.array(
            [_seed(key, str(name)) for name in names[begins[sizes > 1]]], dtype=np.uint64
        )
        drawn = _mixed(np.repeat(seeds, sizes[sizes > 1]), nth[several])
        runs = np.repeat(np.arange(len(begins)), sizes)[several]
        # Sorted by run, as the rows are: what changes is the order inside of each run.
        shuffled = nth[several]
        shuffled[np.lexsort((drawn, runs))] = nth[several]
        nth[several] = shuffled
    made = nw.new_series("discreet nth", nth, nw.Int64, backend=table.implementation)
    return nw.maybe_reset_index(ordered).with_columns(made)


def _seed(key: bytes, name: str) -> int:
    """Return a seed of 64 bits from a secret key and a name."""
    hashed = blake2b(name.encode(errors="surrogatepass"), key=key, digest_size=8).digest()
    return int.from_bytes(hashed, "little")


def _mixed(seeds: NDArray[np.uint64], places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return number `places` of the stream of SplitMix64 from each seed, uint64 ``(m,)``.

    No two of one stream are equal.
    """
    mixed: NDArray[np.uint64] = seeds + (places.astype(np.uint64) + np.uint64(1)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def refuse_or_note(
    reasons: Mapping[int, str], rows: Mapping[int, int], argument: str, *, refuse: bool
) -> None:
    """Write how many rows the rule left out or mapped, for the curator alone; or refuse them, outside the guarantee.

    Reason 0, rows that count, is passed over. Nothing is written if no row has another reason.

    Parameters
    ----------
    reasons
        Number of a reason -> its words, public.
    rows
        Number of a reason -> how many rows; private.
    argument
        Name of the table in messages.
    refuse
        Whether to refuse such rows.

    Raises
    ------
    InvalidProblemError
        With `refuse`, if there is such a row. The error depends on private rows.
    """
    counted = Counter({reasons[why]: many for why, many in sorted(rows.items()) if why and many})
    if not counted:
        return
    listed = "; ".join(f"{printed.count(many)} {words}" for words, many in counted.items())
    if refuse:
        raise refused("rows-refused", argument, f"{listed} (private: this depends on rows)")
    write_private_note(warning("rows-left-out", table=argument, listed=listed))


def write_private_note(note: str) -> None:
    """Write a sentence about private rows to standard error, for the curator alone. It never fails.

    Standard error is no output: nothing of the note enters a status, a file, a log or a report.
    """
    with suppress(Exception):
        sys.stderr.write(f"discreet: PRIVATE, not for publication: {note}\n")
        sys.stderr.flush()
