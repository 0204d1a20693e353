"""Read what is public about a private choice, the ground set and the matroid, and say where the records are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.tables.arrays import open_array
from discreet.tables.columns import labels_of, refuse_unnamed
from discreet.tables.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.submodular import Matroid

__all__ = ["EDGES", "ground_set", "read_matroid"]

EDGES = ("client", "candidate")
"""Columns of a file of edges."""

_KINDS = "uniform:R, partition:FILE, laminar:FILE, graphic:FILE or transversal:FILE"
_FILE_KINDS = frozenset({"partition", "laminar", "graphic", "transversal"})
"""Kinds of matroid that a file of candidates describes."""


def ground_set(
    similarity: str | None, coverage: str | None, candidates: str | None, matroid: str
) -> list[str] | int:
    """Return the names of the candidates, from public sources alone.

    They are the rows of `candidates`, or else of a file that the matroid names. Columns of a similarity matrix need no
    names: then there is only their number. Rows of private edges never name candidates.

    Raises
    ------
    InvalidProblemError
        When nothing public names them.
    """
    if (similarity is None) == (coverage is None):
        got = "neither" if similarity is None else "both"
        raise InvalidProblemError("--similarity", "a file here, or with --coverage", got)
    kind, colon, rest = matroid.partition(":")
    if not colon or kind not in {"uniform", *_FILE_KINDS}:
        raise InvalidProblemError("--matroid", _KINDS, repr(matroid))
    named = None
    if candidates is not None:
        named = _names(read_table(candidates, "--candidates"), "--candidates")
    elif coverage is not None and kind in _FILE_KINDS:
        named = list(dict.fromkeys(_names(read_table(rest, "--matroid"), "--matroid")))
    if similarity is not None:
        columns = _columns(similarity)
        if named is not None and len(named) != columns:
            raise InvalidProblemError(
                "--candidates", f"one row for each of {columns} columns", len(named)
            )
        if named is None:
            return columns
    if named is None:
        expected = "a file of the candidates: those in the edges are private"
        raise InvalidProblemError("--candidates", expected, "none")
    return named


def _columns(path: str) -> int:
    """Columns of a similarity matrix, from its header."""
    matrix = open_array(path, "--similarity")
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        # Fields of a record are names from the file.
        got = (
            "records"
            if matrix.dtype.names
            else f"{matrix.ndim} dimensions of {matrix.dtype.kind!r}"
        )
        expected = "numbers, clients x candidates"
        raise InvalidProblemError("--similarity", expected, got)
    return int(matrix.shape[1])


def _names(table: pl.DataFrame, argument: str) -> list[str]:
    """Take the column ``candidate``, or else the first one."""
    return labels_of(
        table, "candidate" if "candidate" in table.columns else table.columns[0], argument
    )


def read_matroid(text: str, names: Sequence[str]) -> Matroid:
    """Read a matroid on the candidates.

    Raises
    ------
    InvalidProblemError
        For another form, a file that lacks a column, or candidates that it does not name, or names but are unknown.

    Examples
    --------
    >>> read_matroid("uniform:2", ["a", "b", "c"])
    UniformMatroid(3 elements, rank 2)
    >>> read_matroid("2", ["a", "b", "c"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    discreet.core.errors.InvalidProblemError: --matroid: expected uniform:R, partition:FILE, ..., got '2'
    """
    from discreet.submodular import UniformMatroid

    kind, colon, rest = text.partition(":")
    if kind == "uniform" and rest.strip().isdigit():
        if not 1 <= int(rest) <= len(names):
            raise InvalidProblemError("--matroid", f"uniform:1 to uniform:{len(names)}", text)
        return UniformMatroid(len(names), int(rest))
    readers = {
        "partition": _partition,
        "laminar": _laminar,
        "graphic": _graphic,
        "transversal": _transversal,
    }
    if not colon or kind not in readers:
        raise InvalidProblemError("--matroid", _KINDS, repr(text))
    table = read_table(rest, "--matroid")
    places = {name: place for place, name in enumerate(names)}
    listed = _names(table, "--matroid")
    unknown = [name for name in listed if name not in places]
    if unknown:
        raise InvalidProblemError("--matroid", "known candidates", repr(unknown[0]))
    try:
        return readers[kind](table, [places[name] for name in listed], len(names))
    except InvalidProblemError as error:
        if error.field.startswith("--"):
            raise
        raise error.renamed("--matroid") from None


def _column(table: pl.DataFrame, name: str) -> list[Any]:
    if name not in table.columns or table[name].null_count():
        expected = f"a value in each row of column {name}"
        raise InvalidProblemError("--matroid", expected, ", ".join(table.columns))
    refuse_unnamed(table.schema[name], name, "--matroid")
    return list(table[name].to_list())


def _integers(values: Sequence[Any], name: str) -> list[int]:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise InvalidProblemError(
            "--matroid", f"integers in column {name}", "values of another type"
        )
    return [int(value) for value in values]


def _capacities(table: pl.DataFrame, groups: Sequence[Any]) -> dict[Any, int]:
    """The capacity of each group; default: 1."""
    if "capacity" not in table.columns:
        return dict.fromkeys(groups, 1)
    capacities: dict[Any, int] = {}
    for group, capacity in zip(
        groups, _integers(_column(table, "capacity"), "capacity"), strict=True
    ):
        if capacities.setdefault(group, capacity) != capacity:
            raise InvalidProblemError("--matroid", "one capacity for each group", repr(group))
    return capacities


def _partition(table: pl.DataFrame, places: Sequence[int], n: int) -> Matroid:
    from discreet.submodular import PartitionMatroid

    groups = _column(table, "group")
    if sorted(places) != list(range(n)):
        raise InvalidProblemError(
            "--matroid", f"each of {n} candidates once", f"{len(places)} rows"
        )
    capacities = _capacities(table, groups)
    numbers = {group: number for number, group in enumerate(capacities)}
    labels = np.zeros(n, dtype=np.int64)
    labels[list(places)] = [numbers[group] for group in groups]
    return PartitionMatroid(labels, list(capacities.values()))


def _laminar(table: pl.DataFrame, places: Sequence[int], n: int) -> Matroid:
    from discreet.submodular import LaminarMatroid

    groups = _column(table, "group")
    capacities = _capacities(table, groups)
    members: dict[Any, list[int]] = {group: [] for group in capacities}
    for group, place in zip(groups, places, strict=True):
        members[group].append(place)
    return LaminarMatroid(n, list(members.values()), list(capacities.values()))


def _graphic(table: pl.DataFrame, places: Sequence[int], n: int) -> Matroid:
    from discreet.submodular import GraphicMatroid

    if sorted(places) != list(range(n)):
        raise InvalidProblemError(
            "--matroid", f"each of {n} candidates once", f"{len(places)} rows"
        )
    ends = list(zip(_column(table, "u"), _column(table, "v"), strict=True))
    nodes = {name: number for number, name in enumerate(dict.fromkeys(sum(ends, ())))}
    edges = np.zeros((n, 2), dtype=np.int64)
    edges[list(places)] = [[nodes[u], nodes[v]] for u, v in ends]
    return GraphicMatroid(len(nodes), edges)


def _transversal(table: pl.DataFrame, places: Sequence[int], n: int) -> Matroid:
    from discreet.submodular import TransversalMatroid

    slots = _column(table, "slot")
    numbers = {slot: number for number, slot in enumerate(dict.fromkeys(slots))}
    suits = np.zeros((n, len(numbers)), dtype=np.bool_)
    suits[list(places), [numbers[slot] for slot in slots]] = True
    return TransversalMatroid(suits)
