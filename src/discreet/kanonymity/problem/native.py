"""Columns of any library as numbers of their different values, told apart as they are stored and never by their text.

Two values are the same only where a file that holds them cannot tell them apart. Text may: it cuts nanoseconds off,
and writes NaN as nothing. Floats differ where their bits do, so that -0.0 is not 0.0 and NaN is no missing value;
moments differ where the stored number does; a decimal has the digits that it was given. What cannot be told apart in
this way, such as a list in a cell, is refused.

Trusted: the guarantee rests on this code, which decides which cells are equal.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

Rank = tuple[int, Any, str]
"""A place in the order of values: numbers, then missing ones, NaN, and other values by their text."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)

MAX_INTEGER_BYTES = np.dtype(np.int64).itemsize
"""Bytes of a number up to which all of them count; longer floats have some that mean nothing."""

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

_EXPECTED = "values that can be told apart: numbers, text, bytes, dates and times"


@final
class Beyond(str):
    """The text of a moment outside of the years 1 to 9999, which is all that dates and times of Python reach."""

    __slots__ = ()


@final
@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The different values of a column, numbered as they are first seen.

    Parameters
    ----------
    codes
        ``(n,)`` the number of each row's value.
    values
        Each value: a Python object that holds all of it, or the text of a moment that no such object can hold. Missing
        values are ``None``.
    ranks
        The place of each in the order of values.
    """

    codes: NDArray[np.int64]
    values: tuple[Any, ...]
    ranks: tuple[Rank, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Each value as text: missing ones and NaN as nothing, and both zeros as one."""
        return tuple(_text(value) for value in self.values)

    def readings(self) -> list[NDArray[np.int64]]:
        """Number the values in their order by each reading of them, of which the worst counts for a demand.

        ``(values,)`` each. As they are stored; by their text; by their meaning, so that 34, 34.0 and the text 34.0
        are one value, and missing values, NaN and blank text another; and by their meaning without missing values,
        which are -1. Each reading unites values of the one before; one that unites none is left out.
        """
        order = sorted(range(len(self.values)), key=self.ranks.__getitem__)
        keys: list[list[Hashable]] = [list(order), [self.texts[at] for at in order]]
        meanings = [self._meaning(at) for at in order]
        keys += [meanings, [None if key == "" else key for key in meanings]]
        value_codes: list[NDArray[np.int64]] = []
        for listed in keys:
            number: dict[Hashable, int] = {None: -1}
            codes = np.empty(len(order), dtype=np.int64)
            for place, key in zip(order, listed, strict=True):
                codes[place] = number.setdefault(key, len(number) - 1)
            if not value_codes or codes.max(initial=-1) < value_codes[-1].max(initial=-1):
                value_codes.append(codes)
        return value_codes

    def meaning_codes(self) -> NDArray[np.int64]:
        """Return the number of each value by its meaning, ``(values,)``; -1 for missing ones."""
        number: dict[Hashable, int] = {"": -1}
        keys = map(self._meaning, range(len(self.values)))
        codes = (number.setdefault(key, len(number) - 1) for key in keys)
        return np.fromiter(codes, np.int64, len(self.values))

    def _meaning(self, at: int) -> Hashable:
        """Return a key that equal meanings share; empty text for a missing value."""
        value, rank = self.values[at], self.ranks[at]
        if value is None or rank[0] == 2 or (isinstance(value, str) and not value.strip()):
            return ""
        return rank[:2] if rank[0] == 0 else (3, self.texts[at])

    def in_order(self, order: Sequence[str], name: str) -> Values:
        """Return the values in the stated order; without one, numbers and dates keep their own order.

        Parameters
        ----------
        order
            Values as text, rising; empty for the order of numbers and dates.
        name
            The column, for messages.

        Raises
        ------
        InvalidProblemError
            For text without a stated order, or with a value that the order does not list.
        """
        present = [at for at in range(len(self.values)) if self._meaning(at) != ""]
        if not order and all(self.ranks[at][0] == 0 for at in present):
            return self
        place = {label: at for at, label in enumerate(order)}
        unlisted = any(self.texts[at].strip() not in place for at in present)
        if not order or unlisted:
            expected = (
                f"numbers or dates, or the order of all its values: {name}=ordered-closeness:0.2,low<medium<high, or "
                f"--order {name}=low,medium,high"
            )
            got = "text without one" if not order else "another value"
            raise InvalidProblemError(name, expected, got, code="order-unstated")
        ranks = list(self.ranks)
        for at in present:
            text = self.texts[at]
            ranks[at] = (0, place[text.strip()], text)
        return replace(self, ranks=tuple(ranks))

    def of_rows(self, each: Sequence[Any]) -> list[Any]:
        """Return for each row what stands for its value."""
        made = np.empty(len(each), dtype=object)
        made[:] = each
        return list(made[self.codes].tolist())


def values_of_column(column: Any, name: str) -> Values:  # noqa: ANN401 - a column of any library, or a sequence
    """Number the different values of a column.

    Parameters
    ----------
    column
        A series of Polars or pandas, an array of Arrow or NumPy, or any sequence of values.
    name
        Its name, for messages.

    Raises
    ------
    InvalidProblemError
        For a column whose values cannot be told apart as they are stored.

    Examples
    --------
    >>> found = values_of_column([0.0, -0.0, None, float("nan"), 0.0], "x")
    >>> found.codes.tolist(), found.texts
    ([0, 1, 2, 3, 0], ('0.0', '0.0', '', ''))
    """
    if hasattr(column, "to_native"):
        column = column.to_native()
    library = type(column).__module__.partition(".")[0]
    if library == "polars":
        return _of_polars(column, name)
    if library == "pyarrow":
        return _of_arrow(column, name)
    if library == "pandas" and str(column.dtype).endswith("[pyarrow]"):
        return _of_arrow(column.array.__arrow_array__(), name)
    if isinstance(column, np.ndarray):
        return _of_numpy(column, name)
    if not isinstance(column, list | tuple):
        for method in ("to_list", "to_pylist", "tolist"):
            if hasattr(column, method):
                column = getattr(column, method)()
                break
    return _of_objects(list(column), name)


def rank_of(value: object) -> Rank:
    """Return the sort key of a value: numbers and text of numbers first, then the missing value, NaN and other text.

    Text is a number where it is written in digits, so that ``nan``, ``inf`` and ``1_0`` are text.

    Examples
    --------
    >>> sorted(["b", "nan", "10", "9", None, "1e1"], key=rank_of)
    ['9', '10', '1e1', None, 'b', 'nan']
    """
    if value is None:
        return 1, 0, ""
    if isinstance(value, float) and math.isnan(value):
        return 2, 0, struct.pack("d", value).hex()
    if isinstance(value, int | float) or (isinstance(value, Decimal) and value.is_finite()):
        return 0, value, str(value)
    if isinstance(value, dt.timedelta):
        return 0, value // dt.timedelta(microseconds=1), str(value)
    text = str(value)
    # Integers, floats and decimals are compared exactly with one another.
    return (0, Decimal(text.strip()), text) if _NUMBER.fullmatch(text.strip()) else (3, 0, text)


def _text(value: object) -> str:
    """Return a value as text; missing ones are empty."""
    if isinstance(value, float):
        return "" if math.isnan(value) else str(value + 0.0)
    return "" if value is None else str(value)


def _refused(name: str, kind: object) -> InvalidProblemError:
    """Return the error for a column of a type that is not read."""
    expected = f"{_EXPECTED}; convert or drop the column"
    return InvalidProblemError(name, expected, str(kind), code="value-type")


def different(keys: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the different integers of `keys` ``(n,)``, ascending, and the index ``(n,)`` of each key among them.

    Linear where they are dense, else a sort.
    """
    integers = keys.dtype.kind in "iu" and len(keys) > 0
    if not integers or int(keys.max()) - int(keys.min()) >= len(keys):
        known, place = np.unique(keys, return_inverse=True)
        return known, place
    # Differences of signed integers may wrap, and are right as unsigned ones.
    above = (keys - keys.min()).view(f"u{keys.dtype.itemsize}")
    seen = np.zeros(int(above.max()) + 1, dtype=np.bool_)
    seen[above] = True
    where = np.flatnonzero(seen)
    return where.astype(keys.dtype) + keys.min(), (np.cumsum(seen) - 1)[above]


def _numbered(
    keys: NDArray[Any], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number integers `keys` ``(n,)`` as they are first seen, `missing` ones as one more value; linear where dense.

    Returns the numbers ``(n,)`` and the first row of each.
    """
    known, inverse = different(keys)
    codes = np.where(missing, len(known), inverse)
    first = np.full(len(known) + 1, -1, dtype=np.int64)
    # The last that is written is the first row.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    seen = np.flatnonzero(first >= 0)
    seen = seen[np.argsort(first[seen], kind="stable")]
    number = np.full(len(known) + 1, -1, dtype=np.int64)
    number[seen] = np.arange(len(seen))
    return number[codes], first[seen]


def _made(codes: NDArray[np.int64], values: Sequence[Any]) -> Values:
    return Values(codes, tuple(values), tuple(rank_of(value) for value in values))


def _of_moments(
    stored: NDArray[np.int64], missing: NDArray[np.bool_], read: Callable[[int], Any]
) -> Values:
    """Number moments by their stored integers ``(n,)``, in whose order they are; `read` makes a value of one."""
    codes, first = _numbered(stored, missing)
    numbers = [None if missing[row] else int(stored[row]) for row in first.tolist()]
    values = tuple(None if number is None else read(number) for number in numbers)
    return Values(codes, values, tuple(rank_of(number) for number in numbers))


def _bits(numbers: NDArray[Any], name: str) -> NDArray[Any]:
    """Return floats as unsigned integers of their bits; refuse those wider than 64 bits."""
    if numbers.dtype.itemsize > MAX_INTEGER_BYTES:
        raise _refused(name, numbers.dtype)
    return np.ascontiguousarray(numbers).view(f"u{numbers.dtype.itemsize}")


def _of_polars(series: Any, name: str) -> Values:  # noqa: ANN401 - no library of tables is imported here
    """Return codes by row and the value of each code, from a series of Polars; refuse nested types."""
    kind, dtype = series.dtype.base_type().__name__, series.dtype
    if kind in {"Object", "Null"}:
        return _of_objects(series.to_list(), name)
    missing = series.is_null().to_numpy()
    physical = series.to_physical()
    if kind in {"Date", "Time", "Datetime", "Duration"}:
        unit = {"Date": "D", "Time": "ns"}.get(kind) or dtype.time_unit
        zone = dtype.time_zone if kind == "Datetime" else None
        return _of_moments(
            physical.fill_null(0).to_numpy().astype(np.int64),
            missing,
            lambda number: _moment(kind, number, unit, zone),
        )
    if kind in {"Decimal", "Int128", "UInt128"}:
        codes = _of_objects(physical.to_list(), name).codes
        return _made(codes, series.gather(_firsts(codes)).to_list())
    if kind in {"String", "Binary"}:
        different = series.drop_nulls().unique(maintain_order=True)
        keys = series.replace_strict(different, range(len(different)), default=-1).to_numpy()
    elif dtype.is_float():
        keys = _bits(physical.fill_null(0.0).to_numpy(), name)
    elif dtype.is_integer() or kind in {"Categorical", "Enum"}:
        keys = physical.fill_null(0).to_numpy()
    elif kind == "Boolean":
        keys = physical.fill_null(value=False).to_numpy()
    else:
        raise _refused(name, kind)
    codes, first = _numbered(keys, missing)
    return _made(codes, series.gather(first).to_list())


def _firsts(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row of each of the codes 0, 1, ..., ``(codes,)``."""
    return np.unique(codes, return_index=True)[1]


_ARROW_MOMENTS = {
    "date32": ("Date", "int32"),
    "date64": ("Datetime", "int64"),
    "time32": ("Time", "int32"),
    "time64": ("Time", "int64"),
    "timestamp": ("Datetime", "int64"),
    "duration": ("Duration", "int64"),
}


def _of_arrow(column: Any, name: str) -> Values:  # noqa: ANN401 - as above
    """Return codes by row and the value of each code, from a column of Arrow; refuse nested types."""
    kind = column.type
    type_name = str(kind)
    if type_name.startswith("dictionary"):
        return _of_arrow(column.cast(kind.value_type), name)
    array = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    missing = array.is_null().to_numpy(zero_copy_only=False)
    base, _, inside = type_name.partition("[")
    if base in _ARROW_MOMENTS:
        what, stored = _ARROW_MOMENTS[base]
        unit = {"date32": "D"}.get(base) or inside.rstrip("]").partition(",")[0]
        numbers = array.view(stored).fill_null(0).to_numpy(zero_copy_only=False)
        zone = getattr(kind, "tz", None)
        return _of_moments(
            numbers.astype(np.int64), missing, lambda number: _moment(what, number, unit, zone)
        )
    if base in {"halffloat", "float", "double"}:
        wide = {"halffloat": "int16", "float": "int32", "double": "int64"}[base]
        keys = array.view(wide).fill_null(0).to_numpy(zero_copy_only=False)
    elif re.fullmatch(r"u?int(8|16|32|64)", base):
        keys = array.fill_null(0).to_numpy(zero_copy_only=False)
    elif base == "bool":
        keys = array.fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - what a missing cell holds
    elif base == "null" or re.match(r"(large_)?(string|binary)|fixed_size_binary|decimal", base):
        return _of_objects(array.to_pylist(), name)
    else:
        raise _refused(name, type_name)
    codes, first = _numbered(keys, missing)
    return _made(codes, array.take(first).to_pylist() if len(first) else [])


def _of_numpy(array: NDArray[Any], name: str) -> Values:
    """Return codes by row and the value of each code, from a vector `array` ``(n,)`` of column `name`.

    Raises InvalidProblemError for other shapes and types. A sort, or linear for dense integers.
    """
    kind = array.dtype.kind
    if array.ndim != 1:
        raise _refused(name, f"an array of {array.ndim} axes")
    if kind in "OUS":
        return _of_objects(array.tolist(), name)
    if kind in "Mm":
        unit, count = np.datetime_data(array.dtype)
        what = "Date" if unit == "D" else "Datetime"
        plain = count == 1 and (unit in _NANOSECONDS or (kind, unit) == ("M", "D"))
        dtype = array.dtype

        def read(number: int) -> Any:  # noqa: ANN401 - a date, a time or text
            if plain:
                return _moment(what if kind == "M" else "Duration", number, unit, None)
            return str(np.array(number).astype(dtype))

        return _of_moments(array.view(np.int64), np.isnat(array), read)
    if kind not in "biuf":
        raise _refused(name, array.dtype)
    keys = _bits(array, name) if kind == "f" else array
    codes, first = _numbered(keys, np.zeros(len(array), dtype=np.bool_))
    return _made(codes, array[first].tolist())


def _of_objects(values: list[Any], name: str) -> Values:
    """Return int64 codes by row, and the value of each code, from Python's objects, one by one.

    Two values have one code only if their types and stored values are the same: 1, 1.0 and True have three. ``None``
    and Pandas's NA and NaT are one missing value. Raises InvalidProblemError, naming the column `name`, for other
    types than those of tables. One look-up a row.
    """
    number: dict[Hashable, int] = {}
    first_values: list[Any] = []
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        key = _key(value, name)
        code = number.setdefault(key, len(number))
        if code == len(first_values):
            first_values.append(None if key is None else value)
        codes[row] = code
    return _made(
        codes, [one.item() if isinstance(one, np.generic) else one for one in first_values]
    )


def _key(value: Any, name: str) -> Hashable:  # noqa: ANN401 - a value of any kind
    """Return a key that is equal for two values only if they are the same; ``None`` for a missing value.

    Raises InvalidProblemError for a value of another type than those of tables.
    """
    kind = type(value)
    if value is None or kind.__name__ in {"NAType", "NaTType"}:
        return None
    if kind in {str, bytes, int, bool, np.str_, np.bytes_}:
        return kind, value
    if kind is float:
        return kind, struct.pack("d", value)
    if (
        isinstance(value, np.generic)
        and value.dtype.kind in "biufMm"
        and value.itemsize <= MAX_INTEGER_BYTES
    ):
        return value.dtype.str, value.tobytes()
    if isinstance(value, Decimal | Fraction | uuid.UUID):
        return kind, str(value)
    if isinstance(value, dt.date | dt.time):
        zone = getattr(value, "tzinfo", None)
        return kind, value.isoformat(), str(zone), getattr(value, "fold", 0)
    if isinstance(value, dt.timedelta):
        fine = getattr(value, "nanoseconds", 0)
        return kind, value.days, value.seconds, value.microseconds, fine
    raise _refused(name, kind.__name__)


def _moment(kind: str, number: int, unit: str, zone: str | None) -> Any:  # noqa: ANN401 - a date, a time or text
    """Read a stored moment: `number` of `unit` after 1970 or midnight, of a `kind`.

    As text where Python has no object.
    """
    try:
        if unit == "D":
            return dt.date.fromordinal(_EPOCH.toordinal() + number)
        micros, rest = divmod(number * _NANOSECONDS[unit], 1000)
        span = dt.timedelta(microseconds=micros)
        if kind == "Duration":
            return span if not rest else f"{number} ns"
        moment = _EPOCH + span
        if kind == "Time" and not dt.timedelta(0) <= span < dt.timedelta(days=1):
            return f"{number} {unit} after midnight"
        if kind == "Time":
            return _fine(moment.time(), rest)
        if zone is None:
            return _fine(moment.replace(tzinfo=None), rest)
        return _fine(moment.astimezone(_zone(zone)), rest)
    except (OverflowError, ValueError):
        return Beyond(f"{number} {unit} after 1970-01-01")


def _zone(zone: str) -> dt.tzinfo:
    """Return a time zone by name; UTC for an unknown one."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        # The moment is the same in any zone.
        return dt.UTC


def _fine(moment: dt.datetime | dt.time, rest: int) -> Any:  # noqa: ANN401 - as above
    """Add nanoseconds, as text, where there are some."""
    if not rest:
        return moment
    text = (
        moment.isoformat(" ", "microseconds")
        if isinstance(moment, dt.datetime)
        else moment.isoformat("microseconds")
    )
    before, _, after = text.partition(".")
    return f"{before}.{after[:6]}{rest:03d}{after[6:]}"
