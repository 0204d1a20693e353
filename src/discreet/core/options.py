"""What options are, read and refused at the border: a wrong type is a sentence, and no error from within.

Messages name the argument, what was expected, and the type that came; never a value, since some of these are private.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from decimal import Decimal
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.printed import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 1 << 62
"""Seconds and counts beyond this are no numbers of either."""


def instance_of(
    value: object, kind: type | tuple[type, ...], field: str, expected: str = ""
) -> None:
    """Refuse what is of another type.

    Raises InvalidProblemError; nothing is returned.

    Parameters
    ----------
    value
        What came.
    kind
        The type that it has to be of, or several.
    field
        The argument, as the caller names it.
    expected
        What was expected, where the names of the types do not say it.

    Examples
    --------
    >>> instance_of("0.5", int, "k")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: k: expected int, got str
    """
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        stated = expected or " or ".join(one.__name__ for one in kinds)
        raise InvalidProblemError(field, stated, type(value).__name__)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


_KINDS: dict[str, tuple[Any, str]] = {
    "str": (str, "text"),
    "int": (int | np.integer, "a whole number"),
    "float": (Real, "a number"),
    "Exact": ((str, Rational, float, np.number, Decimal), "a number, or its text"),
}


def check_fields(record: Any, limits: Mapping[str, int]) -> None:  # noqa: ANN401 - any record
    """Refuse fields of a record whose values are not of the simple type that is stated for them, or too large.

    Raises InvalidProblemError for the first such field; booleans count as neither. Numbers with a limit are at least
    0.

    Parameters
    ----------
    record
        A dataclass. Fields of other types than text and numbers, each with or without ``None``, are not looked at.
    limits
        Field -> its largest value.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> check_fields(make_dataclass("Trial", [("samples", "int | None")])("many"), {})
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: samples: expected a whole number, got str
    """
    for field in fields(record):
        value, stated = getattr(record, field.name), str(field.type)
        kind, expected = _KINDS.get(stated.removesuffix(" | None"), (object, ""))
        if value is None and stated.endswith("None"):
            continue
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InvalidProblemError(field.name, expected, type(value).__name__)
        if field.name in limits and not 0 <= value <= limits[field.name]:
            expected = f"a number from 0 to {count(limits[field.name])}"
            raise InvalidProblemError(field.name, expected, _shown(value))


def path_of(value: Any, field: str) -> str:  # noqa: ANN401 - as it came
    """Return a path as text.

    InvalidProblemError, naming the argument `field`, for anything but text or a path object; bytes are no path.

    Examples
    --------
    >>> path_of("people.csv", "source")
    'people.csv'
    >>> path_of(3, "source")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: source: expected a path, got int
    """
    if not isinstance(value, str | os.PathLike):
        raise InvalidProblemError(field, "a path", type(value).__name__)
    return os.fspath(value)


def relative_gap(value: Any, *, optional: bool = True) -> None:  # noqa: ANN401 - as it came
    """Raise InvalidProblemError unless `value` is a number in [0, 1), or ``None`` where that is `optional`.

    Examples
    --------
    >>> relative_gap("0.5")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: gap: expected a relative gap in [0, 1), or None, got str
    """
    if value is None and optional:
        return
    expected = "a relative gap in [0, 1)" + (", or None" if optional else "")
    if not _is_number(value):
        raise InvalidProblemError("gap", expected, type(value).__name__)
    if not 0 <= value < 1:
        raise InvalidProblemError("gap", expected, _shown(value))


def positive_seconds(value: Any, field: str = "time_limit") -> None:  # noqa: ANN401 - as it came
    """Raise InvalidProblemError unless `value` is positive, or ``None``, or infinity, which means no limit of time.

    `field` names the argument. Finite numbers above ``2^62`` are refused.

    Examples
    --------
    >>> positive_seconds(2.5)
    >>> positive_seconds(-1)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: time_limit: expected positive seconds, or None, got -1
    """
    if value is None:
        return
    if not _is_number(value):
        raise InvalidProblemError(field, "positive seconds, or None", type(value).__name__)
    if not value > 0 or _MOST < value != math.inf:
        raise InvalidProblemError(field, "positive seconds, or None", _shown(value))


def _shown(value: object) -> str:
    """Show a number that is public, and a long one by its beginning."""
    text = (
        "a number of more digits" if isinstance(value, int) and abs(value) > _MOST else f"{value}"
    )
    return text[:80]


def whole_number(value: Any, field: str, expected: str, least: int = 1) -> None:  # noqa: ANN401 - as it came
    """Raise InvalidProblemError unless `value` is an integer from `least` to ``2^62``; booleans are none.

    `field` names the argument, `expected` says in the message what is allowed.

    Examples
    --------
    >>> whole_number(2.5, "threads", "at least one thread")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: threads: expected at least one thread, got float
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise InvalidProblemError(field, expected, type(value).__name__)
    if not least <= value <= _MOST:
        raise InvalidProblemError(field, expected, _shown(value))


def callback(value: object, field: str = "on_progress") -> None:
    """Raise InvalidProblemError, naming the argument `field`, unless `value` can be called or is ``None``.

    Examples
    --------
    >>> callback(3)
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: on_progress: expected a function, or None, got int
    """
    if value is not None and not callable(value):
        raise InvalidProblemError(field, "a function, or None", type(value).__name__)


def items_of(values: Any, field: str, expected: str) -> tuple[Any, ...]:  # noqa: ANN401 - as it came
    """Return the items of any iterable but text, bytes and an array without dimensions, as a tuple.

    It is gone through once. InvalidProblemError otherwise: `field` names the argument, `expected` says what is
    allowed.

    Examples
    --------
    >>> items_of(iter("ab"), "columns", "a list of names")
    ('a', 'b')
    >>> items_of(3, "columns", "a list of names")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: columns: expected a list of names, got int
    >>> items_of("age", "columns", "a list of names")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: columns: expected a list of names, got str
    """
    # A text would be gone through letter by letter.
    if (
        not isinstance(values, Iterable)
        or isinstance(values, str | bytes)
        or np.ndim(values if isinstance(values, np.ndarray) else [0]) == 0
    ):
        raise InvalidProblemError(field, expected, type(values).__name__)
    return tuple(values)


def name_of(value: object, field: str) -> None:
    """Raise InvalidProblemError, naming the argument `field`, for a value that is not hashable, and so names nothing.

    Examples
    --------
    >>> name_of(["a"], "root")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: root: expected a name, got list
    """
    instance_of(value, Hashable, field, "a name")


def mapping(values: Any, field: str, expected: str) -> None:  # noqa: ANN401 - as it came
    """Raise InvalidProblemError unless `values` are a mapping or ``None``.

    `field` names the argument, `expected` says what is allowed; keys and values are not looked at.

    Examples
    --------
    >>> mapping(["a"], "diverse", "numbers by column")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: diverse: expected numbers by column, got list
    """
    if values is not None:
        instance_of(values, Mapping, field, expected)


def array_of(
    values: Any,  # noqa: ANN401 - anything that NumPy takes
    field: str,
    expected: str = "an array of numbers",
    kind: Any = None,  # noqa: ANN401 - a type of NumPy
) -> NDArray[Any]:
    """Convert values to an array, or raise InvalidProblemError; the message repeats no value.

    Masked entries are refused, and so are complex numbers where a `kind` is given: NumPy would leave something out.

    Parameters
    ----------
    values
        What came. An array is not copied.
    field, expected
        For the message.
    kind
        The type of the array; as NumPy finds it by default.

    Examples
    --------
    >>> array_of([1, 2], "counts").tolist()
    [1, 2]
    >>> array_of([1, [2, 3]], "counts", "integers")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: counts: expected integers, got list
    """
    if np.ma.is_masked(values):
        raise InvalidProblemError(field, expected, "one with masked entries")
    if kind is not None and isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise InvalidProblemError(field, expected, "complex numbers")
    try:
        return np.asarray(values, dtype=kind)
    except (OverflowError, TypeError, ValueError):
        raise InvalidProblemError(field, expected, type(values).__name__) from None


def numbers_below(values: Any, n: int, field: str, noun: str) -> NDArray[np.int64]:  # noqa: ANN401 - as it came
    """Read numbers from 0 to `n` - 1, one or more, as int64 ``(m,)``.

    InvalidProblemError otherwise: `field` names the argument, `noun` what is numbered.

    Examples
    --------
    >>> numbers_below([2, 0], 3, "reports", "secrets").tolist()
    [2, 0]
    >>> numbers_below([2, 0], 2, "reports", "secrets")
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: reports: expected secrets from 0 to 1, got 2
    """
    expected = f"a sequence of {noun}"
    numbers = array_of(values, field, expected)
    if numbers.ndim != 1 or not numbers.size or not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidProblemError(field, expected, f"{numbers.dtype} of shape {numbers.shape}")
    outside = numbers[(numbers < 0) | (numbers >= n)]
    if len(outside):
        raise InvalidProblemError(field, f"{noun} from 0 to {n - 1}", int(outside[0]))
    return numbers.astype(np.int64)


def pairs_of(values: Any, field: str, noun: str) -> NDArray[np.int64]:  # noqa: ANN401 - as it came
    """Read pairs of numbers as int64 ``(m, 2)``; numbers out of range are not refused here.

    InvalidProblemError otherwise: `field` names the argument, `noun` what is numbered.

    Examples
    --------
    >>> pairs_of([[0, 1]], "links", "secrets").tolist(), pairs_of([], "links", "secrets").shape
    ([[0, 1]], (0, 2))
    """
    expected = f"pairs of {noun}, an array (m, 2) of integers"
    pairs = array_of(values, field, expected)
    if not pairs.size:
        pairs = np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise InvalidProblemError(field, expected, f"{pairs.dtype} of shape {pairs.shape}")
    return pairs.astype(np.int64)
