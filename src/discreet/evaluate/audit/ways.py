r"""A judge of mechanisms along roads: the laws of all points of a road network, and pairs of them by ways.

A point of a part of a road mixes the rows of its two ends by how far it is from them. From there on
:func:`~discreet.evaluate.audit.points.count_broken` counts, as for meshes: pairs of points, both ways and for all
reports, with the length of a shortest way along the roads in place of a distance. Ways are integers, from vertex to
vertex. Nothing of the design, of how it finds points, or of its verifier is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness import SeededBits
from discreet.evaluate.audit.points import Ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.evaluate.audit.points import Spot

__all__ = ["RoadLaws", "RoadPairs", "near_road_pairs", "random_road_pairs"]

_COARSE, _FINE = 20, 60
"""Bits of the share of a part at which random points lie, and those near nodes: they fit int64, or do not."""

_MOST_VERTICES = 5120
"""Between which ways are held: 200 megabytes."""

_NO_WAY = 1 << 42
"""Decimeters, more than all roads have: times 2^20 it fits int64."""


@final
@dataclass(frozen=True, eq=False)
class RoadLaws:
    """Laws of all points of a road network.

    Parameters
    ----------
    vertices
        How many there are; cuts are numbered after them, piece by piece.
    segments
        ``(m, 2)`` vertices.
    lengths, parts
        ``(m,)`` of each piece: its length, and into how many parts it is cut.
    weights
        ``(nodes, K)`` integers of at most 2^62 with one sum a row.
    epsilon
        Nats per unit of the lengths.

    Raises
    ------
    InvalidProblemError
        For other shapes or numbers, or more vertices than ways are held between.

    Examples
    --------
    >>> rows = np.array([[3, 1], [1, 3], [2, 2]])
    >>> laws = RoadLaws(2, np.array([[0, 1]]), np.array([9]), np.array([2]), rows, Fraction(1))
    >>> laws.law(1, Fraction(1, 2))
    [Fraction(3, 8), Fraction(5, 8)]
    """

    vertices: int
    segments: NDArray[np.int64]
    lengths: NDArray[np.int64]
    parts: NDArray[np.int64]
    weights: NDArray[np.int64]
    epsilon: Fraction

    def __post_init__(self) -> None:
        m, weights = len(self.segments), self.weights
        if self.segments.shape != (m, 2) or not m or not 1 < self.vertices <= _MOST_VERTICES:
            expected = f"pairs of 2 to {_MOST_VERTICES} vertices"
            raise InvalidProblemError("segments", expected, self.segments.shape)
        if not 0 <= self.segments.min() <= self.segments.max() < self.vertices:
            raise InvalidProblemError("segments", f"vertices 0 to {self.vertices - 1}", "others")
        if self.lengths.min() < 1 or sum(self.lengths.tolist()) >= _NO_WAY:
            raise InvalidProblemError("lengths", "positive, below 2^42 in all", "others")
        if (self.parts < 1).any() or (self.parts > self.lengths).any():
            raise InvalidProblemError("parts", "one or more for each piece", "others")
        nodes = self.vertices + int((self.parts - 1).sum())
        if weights.ndim != 2 or len(weights) != nodes or weights.min() < 0:
            raise InvalidProblemError("weights", f"{nodes} rows, none negative", weights.shape)
        if len({sum(row) for row in weights.tolist()}) != 1:
            raise InvalidProblemError("weights", "rows with one sum", "others")

    @cached_property
    def marks(self) -> NDArray[np.int64]:
        """``(parts, 5)``: piece, where on it the part begins and ends, and the nodes there."""
        rows, cut = [], self.vertices
        listed = (self.segments.tolist(), self.lengths.tolist(), self.parts.tolist())
        for piece, ((a, b), length, count) in enumerate(zip(*listed, strict=True)):
            start, before = 0, a
            for at in range(1, count + 1):
                after, stop = (b, length) if at == count else (cut, at * length // count)
                cut += at < count
                rows.append((piece, start, stop, before, after))
                start, before = stop, after
        return np.array(rows, dtype=np.int64)

    @cached_property
    def ways(self) -> NDArray[np.int64]:
        """``(V, V)`` lengths of shortest ways; 2^42 where there is none."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        n, (start, stop) = self.vertices, self.segments.T
        order = np.lexsort((self.lengths, np.maximum(start, stop), np.minimum(start, stop)))
        low, high = (end(start, stop)[order] for end in (np.minimum, np.maximum))
        # The shortest of several pieces between two vertices; a graph adds them up.
        shortest = np.ones(len(order), dtype=bool)
        shortest[1:] = (np.diff(low) != 0) | (np.diff(high) != 0)
        shortest &= low != high
        some = order[shortest]
        lengths = self.lengths[some].astype(np.float64)
        graph = coo_array((lengths, (start[some], stop[some])), shape=(n, n)).tocsr()
        # Sums of integers below 2^42 are exact.
        found = dijkstra(graph, directed=False)
        return np.where(np.isfinite(found), found, float(_NO_WAY)).astype(np.int64)

    def law(self, part: int, share: Fraction) -> list[Fraction]:
        """Give the law of a point by its part and how far along that it is, from 0 to 1."""
        _, _, _, first, last = self.marks[part].tolist()
        one, other = self.weights[first].tolist(), self.weights[last].tolist()
        whole = sum(one)
        return [((1 - share) * a + share * b) / whole for a, b in zip(one, other, strict=True)]

    def apart(self, pairs: RoadPairs, some: slice) -> NDArray[Any]:
        """Give ``(P,)`` shortest ways between points, times ``2^grain``; from ``2^(42 + grain)`` on there is none."""
        one = 1 << pairs.grain
        ends = []
        for part, at in ((pairs.first, pairs.first_at), (pairs.second, pairs.second_at)):
            piece, start, stop, _, _ = self.marks[part[some]].T
            if at.dtype == object:
                start, stop = start.astype(object), stop.astype(object)
            offset = start * one + at[some] * (stop - start)
            whole = self.lengths[piece].astype(offset.dtype) * one
            a, b = self.segments[piece].T
            ends.append((piece, offset, ((a, offset), (b, whole - offset))))
        (piece, offset, first), (other, others, second) = ends
        found = np.where(piece == other, np.abs(offset - others), _NO_WAY * one)
        for a, left in first:
            for b, right in second:
                between = self.ways[a, b].astype(offset.dtype) * one
                found = np.minimum(found, left + between + right)
        return found

    def ends(self, pairs: RoadPairs, some: slice) -> Ends:
        """Give which rows two points mix, by which integers, and how far apart they are along the roads."""
        one = 1 << pairs.grain
        numbers, counts = [], []
        for part, at in ((pairs.first, pairs.first_at), (pairs.second, pairs.second_at)):
            _, _, _, first, last = self.marks[part[some]].T
            # A piece from a vertex back to it, uncut, has one row: the other end is any other node, and counts nothing.
            again = first == last
            share = np.where(again, 0, at[some])
            last = np.where(again, (first + 1) % len(self.weights), last)
            numbers.append(np.stack([first, last], axis=1))
            counts.append(np.stack([one - share, share], axis=1))
        apart = self.apart(pairs, some)
        far = (apart / one).astype(np.float64)
        far[apart >= _NO_WAY * one] = np.inf
        unit = np.full((len(far), 1), one, dtype=counts[0].dtype)
        return Ends(numbers[0], numbers[1], counts[0], counts[1], unit, far)

    def exactly(self, pairs: RoadPairs, at: int) -> list[tuple[list[Fraction], Spot]]:
        """Give the laws of both points of a pair, and two spots of a plane that are as far apart as the way is long.

        The first is at the decimeters along a piece and the number of the piece.
        """
        one = 1 << pairs.grain
        laws, (piece, start, stop, _, _) = [], self.marks[pairs.first[at]].tolist()
        for part, share in ((pairs.first, pairs.first_at), (pairs.second, pairs.second_at)):
            laws.append(self.law(int(part[at]), Fraction(int(share[at]), one)))
        along = start + Fraction(int(pairs.first_at[at]), one) * (stop - start)
        way = Fraction(int(self.apart(pairs, slice(at, at + 1))[0]), one)
        spots = ((along, Fraction(piece, 1)), (along + way, Fraction(piece, 1)))
        return [*zip(laws, spots, strict=True)]


@final
@dataclass(frozen=True, eq=False)
class RoadPairs:
    """Pairs of points, each by a part of a road and how far along it.

    Parameters
    ----------
    first, second
        ``(P,)`` parts.
    first_at, second_at
        ``(P,)`` how far along, from 0 to ``2^grain``; Python's integers where they are large (``dtype=object``).
    grain
        Bits of these.
    label
        How they were made.
    """

    first: NDArray[np.int64]
    first_at: NDArray[Any]
    second: NDArray[np.int64]
    second_at: NDArray[Any]
    grain: int
    label: str

    def __len__(self) -> int:
        return len(self.first)


def random_road_pairs(laws: RoadLaws, count: int, *, seed: int = 0) -> RoadPairs:
    """Draw pairs of points evenly from the roads, each in a part chosen by its length.

    Parameters
    ----------
    laws
        Which roads.
    count
        Number of pairs.
    seed
        The pairs are public, and can be had again.

    Returns
    -------
    RoadPairs
        Of points at multiples of 2^-20 of a part.
    """
    bits, sides = SeededBits(seed), []
    ends = np.cumsum(laws.marks[:, 2] - laws.marks[:, 1])
    for _ in (0, 1):
        drawn = bits.randranges(int(ends[-1]), count).astype(np.int64)
        part = np.searchsorted(ends, drawn, side="right")
        sides.append((part, bits.randranges((1 << _COARSE) + 1, count).astype(np.int64)))
    (first, one), (second, two) = sides
    return RoadPairs(first, one, second, two, _COARSE, "random points, at (decimeters, piece)")


def near_road_pairs(laws: RoadLaws, count: int, *, seed: int = 0) -> RoadPairs:
    """Draw pairs near nodes: in one part, or in two that meet there, from 2^-60 of a part away to a whole one.

    Every fifth point is at the node exactly, where all parts that meet must give one law.

    Parameters
    ----------
    laws
        Which roads.
    count
        Number of pairs.
    seed
        The pairs are public, and can be had again.

    Returns
    -------
    RoadPairs
        With shares as Python integers.
    """
    bits, one = SeededBits(seed), 1 << _FINE
    beside: dict[int, list[tuple[int, bool]]] = {}
    for part, (_, _, _, first, last) in enumerate(laws.marks.tolist()):
        beside.setdefault(first, []).append((part, False))
        beside.setdefault(last, []).append((part, True))
    meeting = list(beside.values())
    found: list[list[tuple[int, int]]] = []
    for _ in range(count):
        at_node, pair = meeting[bits.randrange(len(meeting))], []
        for _ in (0, 1):
            part, at_end = at_node[bits.randrange(len(at_node))]
            little = bits.randrange(1 << bits.randrange(_FINE + 1)) if bits.randrange(5) else 0
            pair.append((part, one - little if at_end else little))
        found.append(pair)
    parts = np.array([[part for part, _ in pair] for pair in found], dtype=np.int64)
    shares = np.array([[share for _, share in pair] for pair in found], dtype=object)
    return RoadPairs(
        parts[:, 0],
        shares[:, 0],
        parts[:, 1],
        shares[:, 1],
        _FINE,
        "points near nodes, at (decimeters, piece)",
    )
