"""Kinds of fields of a message: each reads a plain value strictly, writes it, and states its JSON schema.

What a kind refuses it names by the field and by type or size; the value itself is never repeated, for it came from
somebody else's wire.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["Kind", "Matrix", "Maybe", "Number", "Object", "Pair", "Text", "Whole", "Wholes"]

_NUMBER = (float, int, np.floating, np.integer)


class Kind(Protocol):
    """What a field holds."""

    def read(self, value: object, name: str) -> Any:  # noqa: ANN401 - each kind gives its own type
        """Take a plain value, or refuse it."""
        ...

    def write(self, value: Any) -> object:  # noqa: ANN401 - as read
        """Give the plain value back."""
        ...

    def schema(self) -> dict[str, Any]:
        """State the kind as JSON schema."""
        ...


@final
@dataclass(frozen=True)
class Whole:
    """An integer between two bounds, both allowed; a boolean or a float is none."""

    low: int
    high: int

    def read(self, value: object, name: str) -> int:
        """Take an integer."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidProblemError(name, f"an integer, {self._range()}", type(value).__name__)
        if not self.low <= value <= self.high:
            raise InvalidProblemError(name, f"an integer, {self._range()}", "one outside")
        return value

    def write(self, value: int) -> int:
        """Give the integer back."""
        return value

    def schema(self) -> dict[str, Any]:
        """State the bounds."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def _range(self) -> str:
        return f"from {self.low} to {self.high}"


@final
@dataclass(frozen=True)
class Number:
    """A finite number between two bounds, both allowed."""

    low: float
    high: float

    def read(self, value: object, name: str) -> float:
        """Take a number."""
        if isinstance(value, bool) or not isinstance(value, _NUMBER):
            raise InvalidProblemError(name, "a number", type(value).__name__)
        # Compared first: an integer may be too large for a float.
        if not self.low <= value <= self.high or not math.isfinite(value):
            expected = f"a finite number from {self.low:g} to {self.high:g}"
            raise InvalidProblemError(name, expected, "another")
        return float(value)

    def write(self, value: float) -> float:
        """Give the number back."""
        return value

    def schema(self) -> dict[str, Any]:
        """State the bounds."""
        return {"type": "number", "minimum": self.low, "maximum": self.high}


@final
@dataclass(frozen=True)
class Text:
    """A short text that a pattern describes whole."""

    pattern: str
    most: int = 200

    def read(self, value: object, name: str) -> str:
        """Take a text."""
        if not isinstance(value, str):
            raise InvalidProblemError(name, "a text", type(value).__name__)
        if len(value) > self.most or not re.fullmatch(self.pattern, value):
            expected = f"a text of the form {self.pattern}, {self.most} letters at most"
            raise InvalidProblemError(name, expected, "another")
        return value

    def write(self, value: str) -> str:
        """Give the text back."""
        return value

    def schema(self) -> dict[str, Any]:
        """State the pattern."""
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "maxLength": self.most}


@final
@dataclass(frozen=True)
class Object:
    """A mapping that another record knows how to read."""

    what: str

    def read(self, value: object, name: str) -> dict[str, Any]:
        """Take a mapping with texts for keys."""
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise InvalidProblemError(name, self.what, type(value).__name__)
        return value

    def write(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Give the mapping back."""
        return dict(value)

    def schema(self) -> dict[str, Any]:
        """State that it is an object."""
        return {"type": "object", "description": self.what}


@final
@dataclass(frozen=True)
class Pair:
    """Two finite numbers: a place."""

    high: float

    def read(self, value: object, name: str) -> tuple[float, float]:
        """Take two numbers."""
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise InvalidProblemError(name, "two numbers", type(value).__name__)
        number = Number(-self.high, self.high)
        return number.read(value[0], name), number.read(value[1], name)

    def write(self, value: tuple[float, float]) -> list[float]:
        """Give the numbers back."""
        return list(value)

    def schema(self) -> dict[str, Any]:
        """State the two numbers."""
        number = Number(-self.high, self.high).schema()
        return {"type": "array", "items": number, "minItems": 2, "maxItems": 2}


@final
@dataclass(frozen=True)
class Wholes:
    """Integers between 0 and a bound, all different, at least one and not too many."""

    high: int
    most: int

    def read(self, value: object, name: str) -> NDArray[np.int64]:
        """Take integers."""
        listed = _listed(value, name, self.most)
        number = Whole(0, self.high)
        whole = [number.read(_plain(one), name) for one in listed]
        if len(set(whole)) != len(whole):
            raise InvalidProblemError(name, "different integers", "some twice")
        return _frozen(np.array(whole, dtype=np.int64))

    def write(self, value: NDArray[np.int64]) -> list[int]:
        """Give the integers back."""
        whole: list[int] = value.tolist()
        return whole

    def schema(self) -> dict[str, Any]:
        """State the bounds."""
        return {
            "type": "array",
            "items": Whole(0, self.high).schema(),
            "minItems": 1,
            "maxItems": self.most,
            "uniqueItems": True,
        }


@final
@dataclass(frozen=True)
class Matrix:
    """Rows of finite numbers between 0 and a bound, all rows equally long."""

    rows: int
    columns: int
    high: float

    def read(self, value: object, name: str) -> NDArray[np.float64]:
        """Take a matrix: an array, or a list of lists of numbers."""
        if isinstance(value, np.ndarray):
            value = value.tolist()
        rows = _listed(value, name, self.rows)
        width = len(_listed(rows[0], name, self.columns))
        for row in rows:
            if len(_listed(row, name, self.columns)) != width:
                raise InvalidProblemError(name, "rows equally long", "others")
            if not all(isinstance(x, _NUMBER) and not isinstance(x, bool) for x in row):
                raise InvalidProblemError(name, "rows of numbers", "something else")
        try:
            matrix = np.array(rows, dtype=np.float64)
        except OverflowError:
            raise InvalidProblemError(name, "numbers that fit a float", "a larger one") from None
        # Negated, so that what is not a number is refused too.
        if not ((matrix >= 0) & (matrix <= self.high)).all():
            expected = f"finite numbers from 0 to {self.high:g}"
            raise InvalidProblemError(name, expected, "others")
        return _frozen(matrix)

    def write(self, value: NDArray[np.float64]) -> list[list[float]]:
        """Give the rows back."""
        rows: list[list[float]] = value.tolist()
        return rows

    def schema(self) -> dict[str, Any]:
        """State the bounds; that rows are equally long a schema can't say."""
        row = {
            "type": "array",
            "items": Number(0, self.high).schema(),
            "minItems": 1,
            "maxItems": self.columns,
        }
        return {"type": "array", "items": row, "minItems": 1, "maxItems": self.rows}


@final
@dataclass(frozen=True)
class Maybe:
    """A kind, or nothing."""

    kind: Kind

    def read(self, value: object, name: str) -> Any:  # noqa: ANN401 - as the kind within
        """Take nothing, or what the kind takes."""
        return None if value is None else self.kind.read(value, name)

    def write(self, value: Any) -> object:  # noqa: ANN401 - as the kind within
        """Give it back."""
        return None if value is None else self.kind.write(value)

    def schema(self) -> dict[str, Any]:
        """State both."""
        return {"anyOf": [self.kind.schema(), {"type": "null"}]}


def _listed(value: object, name: str, most: int) -> list[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise InvalidProblemError(name, "a list", type(value).__name__)
    if not 1 <= len(value) <= most:
        raise InvalidProblemError(name, f"1 to {most} items", len(value))
    return list(value)


def _plain(value: object) -> object:
    return int(value) if isinstance(value, np.integer) else value


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array
