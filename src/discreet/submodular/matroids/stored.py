"""Matroids as plain values: the file of a choice holds its matroid, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.core.errors import InvalidProblemError, refuse_malformed
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.matroids.capacities import (
    LaminarMatroid,
    PartitionMatroid,
    UniformMatroid,
)
from discreet.submodular.matroids.derived import Contraction, DirectSum, Dual, Truncation
from discreet.submodular.matroids.representable import (
    GraphicMatroid,
    LinearMatroid,
    TransversalMatroid,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Limits(NamedTuple):
    """Largest matroids that a file may describe: a few bytes of it may stand for much memory."""

    elements: int = 10_000_000
    """Elements: a uniform matroid is two numbers in a file, and takes some bytes of memory for each element."""
    nested: int = 8
    """Depth of matroids made from matroids."""


_LIMITS = _Limits()


_KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "uniform": (UniformMatroid, ("n_elements", "rank")),
    "partition": (PartitionMatroid, ("labels", "capacities")),
    "laminar": (LaminarMatroid, ("n_elements", "groups", "capacities")),
    "graphic": (GraphicMatroid, ("n_nodes", "edges")),
    "linear": (LinearMatroid, ("vectors",)),
    "transversal": (TransversalMatroid, ("suits",)),
    "truncation": (Truncation, ("matroid", "rank")),
    "direct-sum": (DirectSum, ("matroids",)),
    "dual": (Dual, ("matroid",)),
    "contraction": (Contraction, ("matroid", "elements")),
}
"""Kind of a matroid in a file -> its class, and its arguments, which are its attributes, too."""


def matroid_to_dict(matroid: Matroid) -> dict[str, Any]:
    """Return plain values for JSON: ``"kind"``, and the arguments of the class by name, arrays as lists.

    Raises
    ------
    InvalidProblemError
        For a matroid of a class that is not the library's.

    Examples
    --------
    >>> matroid_to_dict(UniformMatroid(5, 2))
    {'kind': 'uniform', 'n_elements': 5, 'rank': 2}
    """
    for kind, (made, names) in _KINDS.items():
        if type(matroid) is made:
            return {"kind": kind, **{name: _plain(getattr(matroid, name)) for name in names}}
    expected = "one of the library, to be written to a file"
    raise InvalidProblemError("matroid", expected, type(matroid).__name__)


def _plain(value: Any) -> Any:  # noqa: ANN401 - an attribute of a matroid, and its plain value
    """Return arrays and sequences as lists, matroids as plain values, anything else unchanged."""
    if isinstance(value, Matroid):
        return matroid_to_dict(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@refuse_malformed("matroid")
def matroid_from_dict(data: Mapping[str, Any], *, nested: int = 0) -> Matroid:
    """Read what :func:`matroid_to_dict` wrote; it may come from anybody.

    `nested` is the depth of `data` within another matroid. The rank is found anew, which may take a mask of all
    elements for each element.

    Raises
    ------
    InvalidProblemError
        For an unknown kind, too many elements, a missing argument, or numbers that make no matroid.

    Examples
    --------
    >>> matroid_from_dict({"kind": "uniform", "n_elements": 5, "rank": 2})
    UniformMatroid(5 elements, rank 2)
    """
    if nested > _LIMITS.nested:
        raise InvalidProblemError("matroid", f"at most {_LIMITS.nested} nested matroids", "more")
    most = _LIMITS.elements
    if data.get("n_elements", 0) > most or data.get("n_nodes", 0) > most:
        raise InvalidProblemError("matroid", f"at most {most} elements", "more")

    kind = data["kind"]
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidProblemError("matroid", f"one of {', '.join(_KINDS)}", repr(kind))

    def read(name: str) -> Any:  # noqa: ANN401 - an argument of a matroid
        stated = data[name]
        if name in {"vectors", "suits"}:
            return _booleans(stated)
        if name == "matroid":
            return matroid_from_dict(stated, nested=nested + 1)
        if name == "matroids":
            return [matroid_from_dict(part, nested=nested + 1) for part in stated]
        return stated

    made, names = _KINDS[kind]
    matroid: Matroid = made(*(read(name) for name in names))
    return matroid


def _booleans(table: object) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Read a table of true and false; a table without columns is one of booleans, too."""
    read = np.asarray(table)
    return read.astype(np.bool_) if read.dtype != np.bool_ and not read.size else read
