"""Road networks as mechanisms see them: pieces of road of whole decimeters, cut into parts, and points on them.

Roads are open both ways here, since a promise needs a distance that is the same in both directions; one-way roads can
only make ways longer, so that what is promised at these distances holds at the ways driven.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import to_fraction
from discreet.lrgeo.places.space import per_unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.lrgeo.places.roads import Roads

__all__ = ["MOST_PARTS", "CutRoads", "RoadSpot"]

MOST_PARTS = 1 << 20
"""Parts of all roads: a file may state any number of them, and arrays of that size are held."""

_FARTHEST = 1 << 30


@final
@dataclass(frozen=True)
class RoadSpot:
    """Where a point is: between two nodes, and the integer weights by which it draws one of them.

    Parameters
    ----------
    nodes
        The nodes before and after it.
    weights
        Of the first and of the second, without a common divisor. Private, as the point is.
    """

    nodes: tuple[int, int]
    weights: tuple[int, int]


@final
@dataclass(frozen=True, eq=False, repr=False)
class CutRoads:
    """Roads in whole decimeters, each piece cut into parts that are as long as can be told apart by little.

    Parameters
    ----------
    unit
        ``"km"`` or ``"m"``: that in which distances are stated.
    vertices
        ``(n, 2)`` decimeters of the plane: for maps. No promise depends on it.
    segments
        ``(m, 2)`` pieces of road, from a vertex to another.
    lengths
        ``(m,)`` decimeters along each, positive, rounded down.
    parts
        ``(m,)`` into how many parts each is cut. Cut i of p is ``floor(i length / p)`` decimeters from its beginning.

    Raises
    ------
    InvalidProblemError
        For parts shorter than a decimeter, more than 2^20 of them, or arrays that do not fit each other.

    Examples
    --------
    >>> road = CutRoads("km", np.array([[0, 0], [9, 0]]), np.array([[0, 1]]), np.array([10]), np.array([3]))
    >>> road.pieces.tolist(), road.piece_lengths.tolist()
    ([[0, 2], [2, 3], [3, 1]], [3, 3, 4])
    >>> road.find(0, "0.0005")
    RoadSpot(nodes=(2, 3), weights=(1, 2))
    """

    unit: str
    vertices: NDArray[np.int64]
    segments: NDArray[np.int64]
    lengths: NDArray[np.int64]
    parts: NDArray[np.int64]

    def __post_init__(self) -> None:
        per_unit(self.unit)
        for part in fields(self)[1:]:
            array = np.array(getattr(self, part.name))
            if array.dtype.kind != "i" or not array.size:
                raise InvalidProblemError(part.name, "integers", array.dtype)
            array = array.astype(np.int64)
            array.setflags(write=False)
            object.__setattr__(self, part.name, array)
        n, m = len(self.vertices), len(self.segments)
        if self.vertices.shape != (n, 2) or self.segments.shape != (m, 2):
            raise InvalidProblemError("vertices and segments", "pairs", "others")
        if np.abs(self.vertices).max() >= _FARTHEST:
            raise InvalidProblemError("vertices", "coordinates below 2^30", "others")
        if self.lengths.shape != (m,) or self.parts.shape != (m,):
            raise InvalidProblemError("lengths and parts", "one for each segment", "others")
        if self.segments.min() < 0 or self.segments.max() >= n:
            raise InvalidProblemError("segments", f"vertices 0 to {n - 1}", "others")
        if self.lengths.max() >= _FARTHEST or not (self.parts >= 1).all():
            raise InvalidProblemError("lengths and parts", "positive, below 2^30", "others")
        if (self.parts > self.lengths).any():
            raise InvalidProblemError("parts", "a decimeter or more each", "shorter ones")
        if int(self.parts.sum()) > MOST_PARTS:
            raise InvalidProblemError("parts", f"at most {MOST_PARTS:,} in all", "more")

    @classmethod
    def of(cls, roads: Roads, unit: str, longest: Fraction) -> CutRoads:
        """Take the roads of a region, cut so that no part is longer than told.

        Parameters
        ----------
        roads
            The roads.
        unit
            ``"km"`` or ``"m"``.
        longest
            Decimeters.
        """
        lengths = np.floor(roads.lengths).astype(np.int64)
        if lengths.min(initial=1) < 1:
            raise InvalidProblemError("roads", "pieces of a decimeter or more", "a shorter one")
        parts = [max(1, min(length, math.ceil(length / longest))) for length in lengths.tolist()]
        return cls(unit, roads.vertices, roads.segments, lengths, np.array(parts))

    @property
    def n_nodes(self) -> int:
        """Vertices and cuts."""
        return len(self.vertices) + int((self.parts - 1).sum())

    @cached_property
    def n_networks(self) -> int:
        """How many networks the pieces of road form; no way joins one to another, and nothing is promised between."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(self.vertices)
        start, stop = self.segments.T
        graph = coo_array((np.ones(len(start)), (start, stop)), shape=(n, n))
        _, labels = connected_components(graph, directed=False)
        # A vertex of no piece is no road.
        return len(np.unique(labels[start]))

    @cached_property
    def _firsts(self) -> NDArray[np.int64]:
        """Give the number of the first cut of each segment: cuts follow the vertices, segment by segment."""
        ends = len(self.vertices) + np.cumsum(self.parts - 1)
        return np.asarray(ends - (self.parts - 1), dtype=np.int64)

    @cached_property
    def _cut(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        segment = np.repeat(np.arange(len(self.segments)), self.parts)
        index = np.arange(len(segment)) - np.repeat(np.cumsum(self.parts) - self.parts, self.parts)
        parts, firsts = self.parts[segment], self._firsts[segment]
        start, stop = self.segments[segment].T
        first = np.where(index == 0, start, firsts + index - 1)
        last = np.where(index == parts - 1, stop, firsts + index)
        length = self.lengths[segment]
        sizes = (index + 1) * length // parts - index * length // parts
        return np.stack([first, last], axis=1), sizes

    @property
    def pieces(self) -> NDArray[np.int64]:
        """``(parts, 2)`` the nodes at the ends of each part, segment by segment."""
        return self._cut[0]

    @property
    def piece_lengths(self) -> NDArray[np.int64]:
        """``(parts,)`` decimeters."""
        return self._cut[1]

    def find(self, segment: int, along: Exact) -> RoadSpot:
        """Find a point on a piece of road.

        Parameters
        ----------
        segment
            Number of the piece.
        along
            How far from its first vertex, in the unit, read exactly; what is stated beyond its end is its end.

        Raises
        ------
        InvalidProblemError
            For no such piece, or a negative distance; the message repeats neither.
        """
        stated: object = segment
        if isinstance(stated, bool) or not isinstance(stated, int):
            raise InvalidProblemError("segment", "the number of a piece of road", "something else")
        if not 0 <= segment < len(self.segments):
            raise InvalidProblemError("segment", "the number of a piece of road", "another")
        try:
            way = to_fraction(along, "along") * per_unit(self.unit)
        except InvalidProblemError:
            raise InvalidProblemError("along", "a distance, 0 or more", "something else") from None
        if way < 0:
            raise InvalidProblemError("along", "a distance, 0 or more", "a negative one")
        length, parts = int(self.lengths[segment]), int(self.parts[segment])
        way = way if way < length else Fraction(length, 1)
        # The last cut that is not beyond it; a few steps, as cuts are rounded down.
        index = min(parts - 1, int(way * parts / length) + 1)
        while index > 0 and index * length // parts > way:
            index -= 1
        low, high = index * length // parts, (index + 1) * length // parts
        offset = way - low
        first, last = (
            int(self.segments[segment, 0])
            if index == 0
            else int(self._firsts[segment]) + index - 1,
            int(self.segments[segment, 1])
            if index == parts - 1
            else int(self._firsts[segment]) + index,
        )
        a = (high - low) * offset.denominator - offset.numerator
        b = offset.numerator
        shared = math.gcd(a, b)
        return RoadSpot((first, last), (a // shared, b // shared))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of unit, segments and lengths, whatever parts they are cut into."""
        named = {
            "unit": self.unit,
            "segments": self.segments.tolist(),
            "lengths": self.lengths.tolist(),
        }
        text = json.dumps(named, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"discreet.roads/1 " + text.encode()).hexdigest()
