"""Small mechanisms along roads, made by hand as docs/theory/lrgeo-roads.md says, with nothing of the library.

Verifiers and forgeries are tested with these: a few pieces of road are some of which every two points can be compared.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from noises import DECIMETERS, canonical, packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["KINDS", "Small", "limit", "pieces", "roads_digest", "violations"]

Pair = tuple[int, int]


@dataclass(frozen=True)
class Small:
    """What a small mechanism is made of: roads, how they are cut, epsilon, and which vertices are reports."""

    segments: tuple[Pair, ...]
    lengths: tuple[int, ...]
    parts: tuple[int, ...]
    reports: tuple[int, ...]
    epsilon: Fraction
    unit: str = "km"
    bits: int = 48
    origin: tuple[str, str] | None = None

    @property
    def vertices(self) -> int:
        """How many there are."""
        return max(max(pair) for pair in self.segments) + 1

    def ways(self) -> list[list[float]]:
        """Give the shortest way between any two nodes in decimeters, by Floyd and Warshall."""
        n = self.vertices + sum(self.parts) - len(self.parts)
        way = [[0.0 if i == j else math.inf for j in range(n)] for i in range(n)]
        for a, b, size in pieces(self.vertices, self.segments, self.lengths, self.parts):
            way[a][b] = way[b][a] = min(way[a][b], size)
        for middle in range(n):
            for row in way:
                for j in range(n):
                    row[j] = min(row[j], row[middle] + way[middle][j])
        return way

    def weights(self) -> list[int]:
        """Find rows that keep the condition: falling with the way to a report, and flatter until they do."""
        rate, way = float(self.epsilon) / DECIMETERS[self.unit], self.ways()
        for tried in range(60):
            fall, made = rate / 2 * 0.97 ** (1 + tried), []
            for row in way:
                wanted = [math.exp(-fall * row[report]) for report in self.reports]
                if not sum(wanted):
                    # No report can be come to: all alike.
                    wanted = [1.0] * len(wanted)
                whole = [int(one / sum(wanted) * 2**self.bits) for one in wanted]
                largest = whole.index(max(whole))
                whole[largest] += 2**self.bits - sum(whole)
                made += whole
            if not self.violations(made):
                return made
        raise AssertionError("no rows keep the condition")

    def violations(self, weights: Sequence[int]) -> int:
        """Count parts and reports for which the condition does not hold."""
        cut = pieces(self.vertices, self.segments, self.lengths, self.parts)
        rate = self.epsilon / DECIMETERS[self.unit]
        return violations(weights, len(self.reports), cut, rate)

    def parts_of_file(self) -> dict[str, Any]:
        """State the file, without a digest."""
        k = len(self.reports)
        digest = roads_digest(
            self.unit, [end for pair in self.segments for end in pair], self.lengths
        )
        check = {"name": "inequalities violated", "residual": 0, "limit": 0, "exact": True}
        public = {"name": "region", "digest": digest, "description": "roads, made by hand"}
        places = [at for vertex in range(self.vertices) for at in (1000 * vertex, vertex * vertex)]
        return {
            "form": "discreet.lrgeo.roads",
            "version": 1,
            "unit": self.unit,
            "origin": None if self.origin is None else list(self.origin),
            "vertices": packed(places),
            "segments": packed([end for pair in self.segments for end in pair]),
            "lengths": packed([*self.lengths]),
            "parts": packed([*self.parts]),
            "reports": packed([*self.reports]),
            "shown": [[str(number), f"{number}.5"] for number in range(k)],
            "bits": self.bits,
            "weights": packed(self.weights()),
            "guarantee": {
                "kind": "metric-dp",
                "epsilon": str(self.epsilon),
                "unit": self.unit,
                "radius": None,
                "scope": {"roads": digest},
            },
            "certificate": {"passed": True, "checks": [{**check, "passed": True, "detail": ""}]},
            "lower": "0.25",
            "upper": "1.5",
            "provenance": {
                "method": "by hand",
                "parameters": {"nodes": self.vertices},
                "assumed_public": [public],
                "method_trace": ["made by hand."],
                "seeded": False,
                "versions": {"hand": "1"},
            },
        }


def roads_digest(unit: str, ends: Sequence[int], lengths: Sequence[int]) -> str:
    """Give the digest of roads, as the page says."""
    pairs = [[*ends[at : at + 2]] for at in range(0, len(ends), 2)]
    named = canonical({"unit": unit, "segments": pairs, "lengths": [*lengths]})
    return hashlib.sha256(b"discreet.roads/1 " + named).hexdigest()


def pieces(
    vertices: int, segments: Sequence[Pair], lengths: Sequence[int], parts: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Give each part of a road: its two nodes, and its length in decimeters."""
    found, cut = [], vertices
    for (start, stop), length, count in zip(segments, lengths, parts, strict=True):
        before = start
        for at in range(count):
            after = stop if at == count - 1 else cut + at
            found.append((before, after, (at + 1) * length // count - at * length // count))
            before = after
        cut += count - 1
    return found


def violations(
    weights: Sequence[int], k: int, cut: Sequence[tuple[int, int, int]], rate: Fraction
) -> int:
    """Count parts and reports for which the condition does not hold."""
    return sum(rise > rate * size * least for rise, least, size in _rises(weights, k, cut))


def limit(
    weights: Sequence[int], k: int, cut: Sequence[tuple[int, int, int]], digits: int
) -> Fraction:
    """Give the rate of the steepest part, cut to so many digits: it is just too small, or just enough."""
    found = max(
        Fraction(rise, least * size) for rise, least, size in _rises(weights, k, cut) if least
    )
    return Fraction(int(found * 10**digits), 10**digits)


def _rises(
    weights: Sequence[int], k: int, cut: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int]]:
    for first, last, size in cut:
        for report in range(k):
            one, other = weights[first * k + report], weights[last * k + report]
            yield abs(one - other), min(one, other), size


KINDS: dict[str, Small] = {
    "one road": Small(((0, 1),), (5000,), (3,), (0, 1), Fraction(2)),
    "a square with an arm": Small(
        ((0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (1, 2)),
        (2003, 1500, 1999, 1700, 901, 4000),
        (2, 1, 2, 1, 1, 3),
        (0, 2, 4),
        Fraction(3),
    ),
    "a loop": Small(((0, 1), (1, 1)), (1200, 3001), (1, 3), (0, 1), Fraction(1, 2), bits=62),
    "meters": Small(
        ((0, 1), (1, 2), (2, 0)),
        (700, 800, 650),
        (1, 1, 1),
        (0, 1, 2),
        Fraction(1, 50),
        "m",
        bits=30,
    ),
    "two networks": Small(
        ((0, 1), (2, 3)), (3000, 4000), (2, 2), (0, 1, 3), Fraction(4, 3), origin=("41.88", "12.46")
    ),
    "one report": Small(((0, 1),), (9,), (9,), (1,), Fraction(1), bits=62),
}
"""By what is particular in each."""
