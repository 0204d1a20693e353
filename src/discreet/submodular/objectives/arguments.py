"""Arguments of an objective that hold private records: names, types and shapes, checked before a budget is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping


@final
@dataclass(frozen=True)
class RecordArgument:
    """An argument of an objective that holds records: its name and its shape are public, its values are not.

    Parameters
    ----------
    name
        The argument.
    axes
        What each of its dimensions counts: ``"record"``, ``"edge"``, ``"element"`` or ``"kind"``. Nothing for what has
        no shape, such as a function.
    types
        Kinds of NumPy types that it may have, as in ``dtype.kind``; any where it is empty.
    """

    name: str
    axes: tuple[str, ...] = ()
    types: str = ""

    def shape_of(self, value: object, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
        """Return the shape of a value, if it is known without reading an entry, and refuse another shape.

        ``None`` is returned where `axes` is empty, and for a value that shows no shape or is empty with fewer
        dimensions. ``None`` as a value, and what is neither an array nor lists, are refused. Only first entries of
        lists are looked at.

        Parameters
        ----------
        value
            An array, an array on disk, or lists of lists, of which only lengths are looked at.
        sizes
            The public sizes: ``element`` and ``kind``.

        Raises
        ------
        InvalidProblemError
            For another number of dimensions, another type, or another public size. No message shows the length of a
            private axis.
        """
        if value is None:
            raise InvalidProblemError(self.name, "the records", "None")
        if not self.axes:
            return None
        dtype = getattr(value, "dtype", None)
        kind = getattr(dtype, "kind", "")
        if self.types and kind and kind not in self.types:
            raise InvalidProblemError(self.name, "numbers", f"values of another type ({kind!r})")
        shape = _lengths(value)
        if shape is None and (isinstance(value, type) or not hasattr(value, "__array__")):
            got = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise InvalidProblemError(self.name, "an array, or lists of numbers", got)
        if shape is None or (0 in shape and len(shape) < len(self.axes)):
            return None
        wanted = " x ".join(f"{axis}s" for axis in self.axes)
        if len(shape) != len(self.axes):
            got = f"{len(shape)} dimension{'' if len(shape) == 1 else 's'}"
            raise InvalidProblemError(self.name, f"a table of {wanted}", got)
        for axis, length in zip(self.axes, shape, strict=True):
            if axis in sizes and length != sizes[axis]:
                expected = f"{sizes[axis]} {axis}s, as planned"
                raise InvalidProblemError(self.name, expected, length)
        return shape


def _lengths(value: object) -> tuple[int, ...] | None:
    """Lengths of nested lists along their first entries, or the shape of an array."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return shape
    if not isinstance(value, list | tuple):
        return None
    inner = _lengths(value[0]) if value else ()
    return (len(value), *(inner or ()))
