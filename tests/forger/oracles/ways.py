"""What a mechanism along roads states, judged by brute force: point against point, by all ways between them.

**A file of such a mechanism is false** when one of these does not hold of the numbers in it:

- the digest is that of the content, and the scope's is that of the roads: unit, pieces and lengths;
- roads are some: each piece joins two vertices that there are, is one to 2^30 - 1 decimeters long, and is cut into
  parts of a decimeter or more; reports are at vertices;
- each node has a row, and each row is a distribution: nothing negative, the stated total, at most 62 bits;
- no two reports are told alike;
- the promise, ``z(x) <= exp(epsilon d(x, y)) z(y)`` for every report, both ways: for pairs of nodes, of middles of
  parts and of points within; and for two very near points beside each end of each part. Ways are added up, by
  Floyd and Warshall between vertices; no slope is looked at. Nothing is promised where there is no way;
- nothing was made with a seed.

Where vertices are in the plane is said for maps, and bounds of the loss without a problem: nothing is said of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from forger.exactly import as_decimal, number, seeded
from forger.oracles.meshes import broken, once, spoken
from forger.sealing import canonical, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ways_are_false"]

DECIMETERS = {"km": 10_000, "m": 10}
MOST_PARTS, MOST_VERTICES, MOST_WEIGHTS = 40, 30, 1000
"""Up to which all pairs are compared here."""

DIGITS = 170
NEAR, STEP = Fraction(1, 2**90), Fraction(1, 2**100)
"""How far from the end of a part two points are looked at, and how far from each other, in parts of it."""


def ways_are_false(path: Path, said: Any) -> str:
    """Say what is false in a mechanism along roads."""
    stated = json.loads(path.read_bytes(), object_pairs_hook=once)
    plain = {name: value for name, value in stated.items() if name != "digest"}
    if hashlib.sha256(canonical(plain)).hexdigest() != stated["digest"]:
        return "another digest than that of the content"
    roads = Roads(stated)
    wrong = roads.no_roads() or roads.no_rows(stated["bits"]) or spoken(stated)
    if wrong:
        return wrong
    if other := other_roads(stated, roads):
        return other
    counts = len(roads.marks), roads.n, len(roads.weights)
    if any(
        at > most
        for at, most in zip(counts, (MOST_PARTS, MOST_VERTICES, MOST_WEIGHTS), strict=True)
    ):
        return "beyond: more roads or weights than are compared"
    rate = number(stated["guarantee"]["epsilon"]) / DECIMETERS[stated["unit"]]
    return told_more(roads, rate) or seeded(stated["provenance"])


class Roads:
    """Pieces of road, their cuts, and a row for each node."""

    def __init__(self, stated: dict[str, Any]) -> None:
        ends = unpacked(stated["segments"])
        self.n = len(unpacked(stated["vertices"])) // 2
        self.pieces = [*zip(ends[::2], ends[1::2], strict=True)]
        self.lengths, self.parts = unpacked(stated["lengths"]), unpacked(stated["parts"])
        self.weights, self.k = unpacked(stated["weights"]), len(stated["shown"])
        self.reports = unpacked(stated["reports"])

    def no_roads(self) -> str:
        """Say what keeps these from being roads."""
        if not len(self.pieces) == len(self.lengths) == len(self.parts) > 0:
            return "pieces of road without a length, or without parts"
        if not {end for piece in self.pieces for end in piece} <= {*range(self.n)}:
            return "a piece of road from or to nowhere"
        if min(self.lengths) < 1 or max(self.lengths) >= 2**30:
            return "a piece of road of no length, or too long"
        if any(not 0 < count <= long for count, long in zip(self.parts, self.lengths, strict=True)):
            return "parts of less than a decimeter"
        if len(self.reports) != self.k or not {*self.reports} <= {*range(self.n)}:
            return "reports that are not told, or at no vertex"
        return ""

    def no_rows(self, bits: object) -> str:
        """Say what keeps rows from being distributions."""
        nodes = self.n + sum(count - 1 for count in self.parts)
        if type(bits) is not int or not 0 < bits <= 62 or len(self.weights) != nodes * self.k:
            return "rows of another form"
        for at in range(0, len(self.weights), max(1, self.k)):
            row = self.weights[at : at + self.k]
            if min(row) < 0 or sum(row) != 2**bits:
                return "a row that is no distribution"
        return ""

    @property
    def marks(self) -> list[tuple[int, int, int, int, int]]:
        """Give each part: its piece, from where to where on it, and its two nodes."""
        found, cut = [], self.n
        for piece, ((a, b), long, count) in enumerate(
            zip(self.pieces, self.lengths, self.parts, strict=True)
        ):
            nodes = [a, *range(cut, cut + count - 1), b]
            cut += count - 1
            at = [math.floor(Fraction(i * long, count)) for i in range(count + 1)]
            found += [(piece, at[i], at[i + 1], nodes[i], nodes[i + 1]) for i in range(count)]
        return found

    def ways(self) -> list[list[Any]]:
        """Give the shortest way between any two vertices, or infinity."""
        way: list[list[Any]] = [
            [0 if i == j else math.inf for j in range(self.n)] for i in range(self.n)
        ]
        for (a, b), long in zip(self.pieces, self.lengths, strict=True):
            way[a][b] = way[b][a] = min(way[a][b], long)
        for middle in range(self.n):
            for row in way:
                for j in range(self.n):
                    row[j] = min(row[j], row[middle] + way[middle][j])
        return way

    def values(self, a: int, b: int, share: Fraction) -> list[Fraction]:
        """Give the chance of each report at a share of the way from a node to the next, times the total of a row."""
        one, other = (self.weights[node * self.k : node * self.k + self.k] for node in (a, b))
        return [(1 - share) * x + share * y for x, y in zip(one, other, strict=True)]


def other_roads(stated: dict[str, Any], roads: Roads) -> str:
    """Say that the claim is about others, or another one."""
    claim = stated["guarantee"]
    if (
        claim["kind"] != "metric-dp"
        or claim["unit"] != stated["unit"]
        or claim["radius"] is not None
    ):
        return "another guarantee than one between any two points, in the unit"
    named = {
        "unit": stated["unit"],
        "segments": [[*piece] for piece in roads.pieces],
        "lengths": roads.lengths,
    }
    digest = hashlib.sha256(b"discreet.roads/1 " + canonical(named)).hexdigest()
    return "" if claim["scope"] == {"roads": digest} else "a scope of other roads"


def told_more(roads: Roads, rate: Fraction) -> str:
    """Say which points a report tells apart by more than the rate times the way between them."""
    with localcontext(Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**8), Emax=10**8)):
        return _beside(roads, as_decimal(rate)) or _all_pairs(roads, rate)


def _beside(roads: Roads, rate: Decimal) -> str:
    """Look at two points very near each other, beside each end of each part."""
    for _, start, stop, a, b in roads.marks:
        for share in (NEAR, 1 - NEAR - STEP):
            here, there = roads.values(a, b, share), roads.values(a, b, share + STEP)
            allowed = rate * as_decimal(STEP * (stop - start))
            if any(broken(p, q, allowed) for p, q in zip(here, there, strict=True)):
                return "near a node a report tells more than epsilon times the way"
    return ""


def _spots(roads: Roads) -> Iterator[tuple[int, Fraction, list[Fraction]]]:
    """Give points of each part: its ends, its middle, and one within, the same ones for the same roads."""
    chance = random.Random(len(roads.pieces))  # noqa: S311 - which pairs are tried, and no release
    for piece, start, stop, a, b in roads.marks:
        shares = [
            Fraction(0),
            Fraction(1, 2),
            Fraction(1),
            Fraction(chance.randrange(1, 2**20), 2**20),
        ]
        for share in shares:
            yield piece, start + share * (stop - start), roads.values(a, b, share)


def _all_pairs(roads: Roads, rate: Fraction) -> str:
    """Compare all pairs of some points; floats sort out what is clear."""
    way, spots = roads.ways(), [*_spots(roads)]
    logs = [[math.log(value) if value else -math.inf for value in values] for _, _, values in spots]
    for (i, one), (j, other) in combinations(enumerate(spots), 2):
        far = _apart(roads, way, one[:2], other[:2])
        if far == math.inf:
            continue
        clear = float(min(rate * far, Fraction(10**9))) * (1 - 1e-9) - 1e-9
        for report in range(roads.k):
            p, q = logs[i][report], logs[j][report]
            if p != q and abs(p - q) >= clear:
                allowed = as_decimal(rate) * as_decimal(Fraction(far))
                if broken(one[2][report], other[2][report], allowed):
                    return (
                        "a report tells more of two points than epsilon times the way between them"
                    )
    return ""


def _apart(
    roads: Roads, way: list[list[Any]], one: tuple[int, Fraction], other: tuple[int, Fraction]
) -> Any:
    """Give the length of a shortest way between two points."""
    ends = []
    for piece, at in (one, other):
        a, b = roads.pieces[piece]
        ends.append(((a, at), (b, roads.lengths[piece] - at)))
    found: list[Any] = [
        first + way[a][b] + second
        for a, first in ends[0]
        for b, second in ends[1]
        if way[a][b] < math.inf
    ]
    if one[0] == other[0]:
        found.append(abs(one[1] - other[1]))
    return min(found, default=math.inf)
