"""Nodes and edges of a road network from tables: columns, records, a dataframe, or GeoJSON features."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WKT = re.compile(r"\s*LINESTRING\s*\(([^()]*)\)\s*", re.IGNORECASE)


@final
@dataclass(frozen=True, eq=False)
class Edges:
    """Edges as they were read.

    Parameters
    ----------
    courses
        For each edge the points that it runs through, ``(points, 2)``: x (or longitude), y (or latitude).
    lengths
        ``(m,)`` what is stated, NaN where nothing is.
    one_way
        ``(m,)`` whether only the first direction is open.
    """

    courses: list[NDArray[np.float64]]
    lengths: NDArray[np.float64]
    one_way: NDArray[np.bool_]


def read_nodes(table: object) -> dict[str, tuple[float, float]]:
    """Read where each node is: its name as text -> x and y.

    A point in ``geometry`` stands in for x and y that are missing. Of two nodes of one name the last counts. Linear.

    Raises
    ------
    InvalidProblemError
        For a table without ``osmid`` (or ``id``), ``x`` and ``y``, or a node without coordinates.
    """
    # Here, since a reader of frames is loaded with it.
    from discreet.tables.frames import records_of

    records = records_of(table, "nodes")
    nodes: dict[str, tuple[float, float]] = {}
    for number, record in enumerate(records):
        course = record.get("geometry")
        point = course[0] if isinstance(course, list) and len(course) == 1 else None
        x, y = record.get("x"), record.get("y")
        x, y = point if x is None and point is not None else (x, y)
        name = record.get("osmid", record.get("id"))
        place = (_float(x), _float(y))
        if name is None or not all(map(math.isfinite, place)):
            raise InvalidProblemError("nodes", "osmid, x and y", f"none of them in row {number}")
        nodes[_name(name)] = place
    return nodes


def read_edges(table: object, nodes: Mapping[str, tuple[float, float]] | None) -> Edges:
    """Read edges, in the order of the table; edges are left out if an end is not among the nodes.

    `table` has ``u``, ``v``, ``length``, ``oneway`` and ``geometry``, where known; `nodes` are as of
    :func:`read_nodes`, ``None`` if edges have their own courses. Lengths are in the unit of the table. Linear.

    Raises
    ------
    InvalidProblemError
        For a table without ``u`` and ``v`` where nodes are named, without courses where they are not, lengths that are
        negative or infinite, a direction that is no truth value, or no edge at all.
    """
    from discreet.tables.frames import records_of

    courses, lengths, one_way = [], [], []

    for number, record in enumerate(records_of(table, "edges")):
        course = _course(record.get("geometry"))
        if nodes is not None:
            if record.get("u") is None or record.get("v") is None:
                raise InvalidProblemError("edges", "columns u and v", f"none in row {number}")
            start, stop = nodes.get(_name(record["u"])), nodes.get(_name(record["v"]))
            if start is None or stop is None:
                continue
            # OSMnx draws some edges against their direction; the ends decide.
            if course and math.dist(course[0], stop) < math.dist(course[0], start):
                course = course[::-1]
            course = [start, *course[1:-1], stop]
        if len(course) < 2:
            expected = "a course of two points: a LINESTRING in column geometry, or nodes whose osmid u and v name"
            raise InvalidProblemError("edges", expected, f"none in row {number}")
        length = _float(record.get("length"))
        if length < 0 or math.isinf(length):
            raise InvalidProblemError(
                "edges", "lengths that are finite", f"another in row {number}"
            )
        courses.append(np.array(course, dtype=np.float64))
        lengths.append(length)
        one_way.append(_truth(record.get("oneway", record.get("one_way", False)), number))
    if not courses:
        raise InvalidProblemError("edges", "an edge whose ends are nodes", "none")
    return Edges(courses, np.array(lengths), np.array(one_way, dtype=bool))


def _course(geometry: Any) -> list[tuple[float, float]]:  # noqa: ANN401 - text, points, or nothing
    """Return a course as pairs of numbers, from WKT, coordinates, or nothing; refuse a text that is no LINESTRING.

    Also from an object with ``__geo_interface__``. Anything else, and an empty text, gives an empty list.
    """
    if isinstance(geometry, str) and geometry.strip():
        match = _WKT.fullmatch(geometry)
        if match is None:
            raise InvalidProblemError("geometry", "a LINESTRING", "another geometry")
        numbers = [[float(x) for x in point.split()] for point in match[1].split(",")]
        return [(point[0], point[1]) for point in numbers]
    if isinstance(geometry, list | tuple):
        return [(float(point[0]), float(point[1])) for point in geometry]
    inner = getattr(geometry, "__geo_interface__", None)
    return _course(inner["coordinates"]) if isinstance(inner, Mapping) else []


def _name(value: object) -> str:
    """Return a node's name: 5, 5.0 and "5" are the same."""
    text = str(value).strip()
    return text.removesuffix(".0")


def _float(value: object) -> float:
    """Read a float from text or a number; NaN for anything else."""
    try:
        return math.nan if value is None or value == "" else float(str(value))
    except ValueError:
        return math.nan


def _truth(value: object, number: int) -> bool:
    """Read whether an edge is one-way: true, 1 and yes, or false, 0, no, reversible, alternating and a missing value.

    Case does not matter. Any other value raises InvalidProblemError with the row `number` but not the value; -1, which
    OpenStreetMap uses for the opposite direction, has a message of its own.
    """
    text = str(value).strip().lower()
    if text in {"true", "1", "1.0", "yes"}:
        return True
    if text in {"false", "0", "0.0", "no", "", "nan", "none", "reversible", "alternating"}:
        return False
    if text == "-1":
        raise InvalidProblemError("oneway", "the direction of the edge", f"-1 in row {number}")
    raise InvalidProblemError("oneway", "true or false", f"another in row {number}")
