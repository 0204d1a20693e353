"""Read what is public about a private choice: the ground set and the matroid; and then the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.cli.inputs import read_table
from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from discreet.submodular import Matroid, Objective

__all__ = ["ground_set", "read_matroid", "read_objective"]

_KINDS = "uniform:R, partition:FILE, laminar:FILE, graphic:FILE or transversal:FILE"


def ground_set(
    similarity: str | None, coverage: str | None, candidates: str | None, matroid: str
) -> list[str]:
    """Name the candidates, from public sources alone.

    They are the rows of `candidates`, or else of a file that the matroid names, or else the columns of the similarity
    matrix by number. Rows of private edges never name candidates.

    Raises
    ------
    InvalidProblemError
        When nothing public names them, or one comes twice.
    """
    if (similarity is None) == (coverage is None):
        got = "neither" if similarity is None else "both"
        raise InvalidProblemError("--similarity", "a file here, or with --coverage", got)
    kind, _, rest = matroid.partition(":")
    named = None
    if candidates is not None:
        named = _names(read_table(candidates, "--candidates"), "--candidates")
    elif coverage is not None and kind in {"partition", "graphic", "transversal"}:
        named = list(dict.fromkeys(_names(read_table(rest, "--matroid"), "--matroid")))
    if similarity is not None:
        columns = _columns(similarity)
        if named is not None and len(named) != columns:
            raise InvalidProblemError(
                "--candidates", f"one row for each of {columns} columns", len(named)
            )
        named = named or [str(i) for i in range(columns)]
    if named is None:
        expected = "a file of the candidates: those in the edges are private"
        raise InvalidProblemError("--candidates", expected, "none")
    if len(set(named)) != len(named):
        raise InvalidProblemError("--candidates", "different names", "one of them twice")
    return named


def _columns(path: str) -> int:
    """Columns of a similarity matrix, from its header."""
    try:
        shape = np.load(Path(path), mmap_mode="r", allow_pickle=False).shape
    except (OSError, ValueError, EOFError):
        raise InvalidProblemError("--similarity", "a .npy file of numbers", repr(path)) from None
    if len(shape) != 2:
        raise InvalidProblemError(
            "--similarity", "clients x candidates", f"{len(shape)} dimensions"
        )
    return int(shape[1])


def _names(table: pl.DataFrame, argument: str) -> list[str]:
    """The column ``candidate`` as text, or else the first one."""
    import polars as pl

    name = "candidate" if "candidate" in table.columns else table.columns[0]
    column = table[name]
    if column.null_count():
        raise InvalidProblemError(argument, f"a name in each row of column {name}", "none in one")
    return [str(value) for value in column.cast(pl.String).to_list()]


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
        raise InvalidProblemError("--matroid", error.expected, error.got) from None


def _column(table: pl.DataFrame, name: str) -> list[Any]:
    if name not in table.columns or table[name].null_count():
        expected = f"a value in each row of column {name}"
        raise InvalidProblemError("--matroid", expected, ", ".join(table.columns))
    return list(table[name].to_list())


def _whole(values: Sequence[Any], name: str) -> list[int]:
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        raise InvalidProblemError("--matroid", f"integers in column {name}", "something else")
    return [int(value) for value in values]


def _capacities(table: pl.DataFrame, groups: Sequence[Any]) -> dict[Any, int]:
    """The capacity of each group, 1 unless told."""
    if "capacity" not in table.columns:
        return dict.fromkeys(groups, 1)
    found: dict[Any, int] = {}
    for group, capacity in zip(groups, _whole(_column(table, "capacity"), "capacity"), strict=True):
        if found.setdefault(group, capacity) != capacity:
            raise InvalidProblemError("--matroid", "one capacity for each group", repr(group))
    return found


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


def read_objective(similarity: str | None, coverage: str | None, names: Sequence[str]) -> Objective:
    """Read the records. No message says anything about a row.

    Edges of candidates that are not in the ground set, and edges without a client or a candidate, do not count: to
    refuse them would tell that there are some.
    """
    from discreet.submodular import Coverage, FacilityLocation

    if similarity is not None:
        try:
            return FacilityLocation(similarity)
        except InvalidProblemError as error:
            raise InvalidProblemError("--similarity", error.expected, error.got) from None
    table = _edges(str(coverage), names)
    return Coverage.from_edges(
        table["client"].to_numpy(), table["place"].to_numpy(), n_elements=len(names)
    )


def _edges(path: str, names: Sequence[str]) -> pl.DataFrame:
    """Read edges as numbers of clients and candidates."""
    import polars as pl

    try:
        if Path(path).suffix.lower() == ".parquet":
            table = pl.read_parquet(path)
        else:
            table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError):
        # What a reader says of a row that it can't read would show that row.
        raise InvalidProblemError(
            "--coverage", "a CSV or Parquet file that can be read", repr(path)
        ) from None
    for column in ("client", "candidate"):
        if column not in table.columns:
            raise InvalidProblemError(
                "--coverage", f"a column {column}", ", ".join(table.columns) or "none"
            )
    numbers = pl.DataFrame({"candidate": list(names), "place": range(len(names))})
    return (
        table.select(pl.col("client", "candidate").cast(pl.String))
        .drop_nulls()
        .join(numbers.with_columns(pl.col("place").cast(pl.Int64)), on="candidate", how="inner")
        .select(pl.col("client").rank("dense").cast(pl.Int64), "place")
    )
