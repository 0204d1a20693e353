"""What a mechanism for every point states, judged by brute force: triangle against triangle, and point against point.

**A file of such a mechanism is false** when one of these does not hold of the numbers in it:

- the digest is that of the content, and the scope's is that of the region: plane, outline and reach;
- every row of weights is a distribution: nothing negative, the stated total, at most 53 bits;
- the outline is a convex polygon, counterclockwise, first the corner that is least by (x, y);
- the triangles cover it once: all are counterclockwise and inside, no two share an area, and areas add up;
- what is reported is a continuous function of the point: where any two triangles touch, by one point or along a part
  of their edges, both say the same of every report, in fractions. No edges are matched, so that hanging vertices and
  cracks are what they do, and not what they look like;
- the promise, ``z(x) <= exp(epsilon |x - y|) z(y)`` for every report, both ways: for pairs of corners, of points of
  edges and of the inside; for two very near points beside each corner of a triangle, along the gradient of each report;
- no two points that are taken are farther apart in the plane than on the sphere, by great circles with sixty digits;
- nothing was made with a seed.

Bounds of the loss are stated without a problem: nothing is said of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

from forger.exactly import apart, as_decimal, common, number, seeded
from forger.sealing import canonical, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    Spot = tuple[Fraction, Fraction]

__all__ = [
    "broken",
    "compare",
    "farther",
    "length",
    "once",
    "other_region",
    "points_are_false",
    "spoken",
]

DECIMETERS = {"km": 10_000, "m": 10}
SCALE = 2**20
MOST = 60
"""Triangles up to which all pairs are compared here."""

DIGITS = 170
NEAR, STEP = Fraction(1, 2**90), Fraction(1, 2**100)
"""How far beside a corner two points are looked at, and how far from each other, in parts of a triangle."""

SURE = Decimal("1e-120")
"""Logarithms nearer than this are one."""

ON_SPHERE = Decimal("1e-30")
"""Part of a distance up to which the plane and the sphere are alike: sixty digits are kept."""


def points_are_false(path: Path, said: Any) -> str:
    """Say what is false in a mechanism for every point."""
    stated = json.loads(path.read_bytes(), object_pairs_hook=once)
    plain = {name: value for name, value in stated.items() if name != "digest"}
    if hashlib.sha256(canonical(plain)).hexdigest() != stated["digest"]:
        return "another digest than that of the content"
    flat, threes = unpacked(stated["vertices"]), unpacked(stated["triangles"])
    vertices = [*zip(flat[::2], flat[1::2], strict=True)]
    triangles = [*zip(threes[::3], threes[1::3], threes[2::3], strict=True)]
    outline, weights = unpacked(stated["outline"]), unpacked(stated["weights"])
    if not {*threes, *outline} <= {*range(len(vertices))}:
        return "a vertex that there is not"
    if len(triangles) > MOST:
        return "beyond: more triangles than are compared"
    reports = len(stated["shown"])
    if len(unpacked(stated["reports"])) != 2 * reports:
        return "reports that are not told"
    rows = [weights[at : at + reports] for at in range(0, len(weights), reports)]
    mesh = Mesh(vertices, triangles, [vertices[at] for at in outline], rows)
    return (
        _no_rows(stated, rows, len(vertices))
        or other_region(stated, mesh.region)
        or not_once(mesh)
        or not_continuous(mesh)
        or told_more(mesh, number(stated["guarantee"]["epsilon"]) / DECIMETERS[stated["unit"]])
        or farther(stated, mesh.region)
        or seeded(stated["provenance"])
    )


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that comes twice: such a file states two things."""
    if len(dict(pairs)) != len(pairs):
        raise KeyError("a key comes twice")
    return dict(pairs)


class Mesh:
    """Places as pairs of integers, triangles by the numbers of their corners, the region's corners, and the rows."""

    def __init__(
        self,
        vertices: Sequence[tuple[int, int]],
        triangles: Sequence[tuple[int, int, int]],
        region: Sequence[tuple[int, int]],
        rows: Sequence[Sequence[int]],
    ) -> None:
        self.region, self.rows = region, rows
        self.numbers = triangles
        self.corners: list[list[Spot]] = [
            [(Fraction(vertices[at][0]), Fraction(vertices[at][1])) for at in three]
            for three in triangles
        ]

    def values(self, triangle: int, at: Spot) -> list[Fraction]:
        """Give the chance of each report at a point of a triangle, times the total of a row."""
        a, b, c = self.corners[triangle]
        parts = (side(b, c, at), side(c, a, at), side(a, b, at))
        whole = sum(parts)
        rows = [self.rows[corner] for corner in self.numbers[triangle]]
        return [
            sum((part * weight for part, weight in zip(parts, column, strict=True)), Fraction(0))
            / whole
            for column in zip(*rows, strict=True)
        ]


def side(a: Any, b: Any, c: Any) -> Any:
    """Give twice the area of a triangle, positive where c is to the left of the way from a to b."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _no_rows(stated: dict[str, Any], rows: list[list[int]], vertices: int) -> str:
    bits = stated["bits"]
    if type(bits) is not int or not 0 < bits <= 53 or len(rows) != vertices:
        return "rows of another form"
    if any(weight < 0 for row in rows for weight in row) or any(sum(r) != 2**bits for r in rows):
        return "a row that is no distribution"
    return spoken(stated)


def spoken(stated: dict[str, Any]) -> str:
    """Say that two reports are told alike."""
    told = [(first, second) for first, second in stated["shown"]]
    return "two reports that are told alike" if len({*told}) < len(told) else ""


def other_region(stated: dict[str, Any], region: Sequence[tuple[int, int]]) -> str:
    claim, unit = stated["guarantee"], stated["unit"]
    if claim["kind"] != "metric-dp" or claim["unit"] != unit or claim["radius"] is not None:
        return "another guarantee than one between any two points, in the unit"
    named: dict[str, Any] = {
        name: stated[name] for name in ("unit", "origin", "east", "north", "reach")
    }
    named["outline"] = [[*corner] for corner in region]
    digest = hashlib.sha256(b"discreet.points/1 " + canonical(named)).hexdigest()
    if claim["scope"] != {"region": digest}:
        return "a scope of another region"
    if stated["origin"] is None and (stated["east"], stated["north"]) != (
        DECIMETERS[unit] * SCALE,
        DECIMETERS[unit] * SCALE,
    ):
        return "a plane in which a unit has another length"
    return ""


def not_once(mesh: Mesh) -> str:
    """Say where the triangles do not cover the convex polygon once."""
    region = mesh.region
    edges = [*zip(region, [*region[1:], *region[:1]], strict=True)]
    if len(region) < 3 or len({*region}) < len(region) or region[0] != min(region):
        return "an outline that is none"
    if any(side(a, b, c) <= 0 for a, b in edges for c in region if c not in {a, b}):
        return "a region that is not convex"
    for three in mesh.corners:
        if side(*three) <= 0:
            return "a triangle without area, or clockwise"
        if any(side(a, b, corner) < 0 for a, b in edges for corner in three):
            return "a triangle outside of the region"
    for one, other in combinations(mesh.corners, 2):
        if _area(shared(one, other)) > 0:
            return "two triangles that cover the same points"
    if sum(side(*three) for three in mesh.corners) != _area(region):
        return "points that no triangle covers"
    return ""


def _area(polygon: Sequence[Any]) -> Any:
    """Give twice the area of a polygon; none where it is only a segment or a point."""
    return sum((side(polygon[0], *two) for two in pairwise(polygon[1:])), 0)


def shared(one: Sequence[Spot], other: Sequence[Spot]) -> list[Spot]:
    """Give the corners of what two triangles share, cut by one edge after the other (Sutherland and Hodgman)."""
    left = [*one]
    for a, b in zip(other, [*other[1:], *other[:1]], strict=True):
        kept: list[Spot] = []
        for at, p in enumerate(left):
            q, here = left[at - 1], side(a, b, p)
            before = side(a, b, q)
            if here * before < 0:
                t = before / (before - here)
                kept.append((q[0] + t * (p[0] - q[0]), q[1] + t * (p[1] - q[1])))
            if here >= 0:
                kept.append(p)
        left = kept
    return left


def not_continuous(mesh: Mesh) -> str:
    """Say where two triangles touch and tell different things of a report."""
    for one, other in combinations(range(len(mesh.corners)), 2):
        for spot in {*shared(mesh.corners[one], mesh.corners[other])}:
            if mesh.values(one, spot) != mesh.values(other, spot):
                return "two triangles that touch, and a report that is not as likely on both sides"
    return ""


def told_more(mesh: Mesh, rate: Fraction) -> str:
    """Say which points a report tells apart by more than the rate times their distance."""
    with localcontext(Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**8), Emax=10**8)):
        limit = as_decimal(rate)
        return _beside_corners(mesh, limit) or _all_pairs(mesh, limit, float(rate))


def broken(p: Fraction, q: Fraction, allowed: Decimal) -> bool:
    """Tell whether a report is likelier than is allowed: by the logarithm of the ratio of both chances."""
    if not p or not q:
        return p != q
    return abs((as_decimal(p) / as_decimal(q)).ln()) > allowed + SURE


def length(x: Fraction, y: Fraction) -> Decimal:
    return as_decimal(x * x + y * y).sqrt()


def _beside_corners(mesh: Mesh, rate: Decimal) -> str:
    """Look at two points very near each corner and each other, along the gradient of each report."""
    for triangle, (a, b, c) in enumerate(mesh.corners):
        twice = side(a, b, c)
        middle = ((a[0] + b[0] + c[0]) / 3, (a[1] + b[1] + c[1]) / 3)
        rows = [mesh.rows[corner] for corner in mesh.numbers[triangle]]
        for report, (u, v, w) in enumerate(zip(*rows, strict=True)):
            gx = ((v - u) * (c[1] - a[1]) - (w - u) * (b[1] - a[1])) / twice
            gy = ((w - u) * (b[0] - a[0]) - (v - u) * (c[0] - a[0])) / twice
            steepest = max(abs(gx), abs(gy))
            if not steepest:
                continue
            values = dict(zip((a, b, c), (u, v, w), strict=True))
            corner = min(values, key=lambda spot: values[spot])
            x, y = (one + NEAR * (to - one) for one, to in zip(corner, middle, strict=True))
            # In the triangle by far: of its size the step is a part of what the point is from the edges.
            span = min(_least_height((a, b, c)), Fraction(1))
            step = STEP * span / steepest
            at, on = (x, y), (x + step * gx, y + step * gy)
            inside = all(side(p, q, on) >= 0 for p, q in ((a, b), (b, c), (c, a)))
            here, there = mesh.values(triangle, at)[report], mesh.values(triangle, on)[report]
            if inside and broken(there, here, rate * length(step * gx, step * gy)):
                return "near a corner a report tells more than epsilon times the distance"
    return ""


def _least_height(three: Sequence[Spot]) -> Fraction:
    """Bound from below how high a triangle is, in decimeters."""
    a, b, c = three
    longest = max(abs(p[at] - q[at]) for p, q in ((a, b), (b, c), (c, a)) for at in (0, 1))
    return Fraction(side(a, b, c)) / (2 * longest)


def _spots(mesh: Mesh) -> Iterator[tuple[int, Spot]]:
    """Give points of each triangle: its corners, of its edges, of its inside, the same ones for the same mesh."""
    chance = random.Random(len(mesh.corners))  # noqa: S311 - which pairs are tried, and no release
    shares = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)]
    for triangle, corners in enumerate(mesh.corners):
        drawn = [tuple(chance.randrange(1, 2**20) for _ in range(3)) for _ in range(2)]
        edge = (1, 2**40, 0)
        for parts in (*shares, *drawn, edge):
            whole = sum(parts)
            x, y = (
                sum(
                    (part * corner[at] for part, corner in zip(parts, corners, strict=True)),
                    Fraction(0),
                )
                / whole
                for at in (0, 1)
            )
            yield triangle, (x, y)


def _all_pairs(mesh: Mesh, rate: Decimal, nearly: float) -> str:
    """Compare all pairs of some points."""
    found = {spot: mesh.values(triangle, spot) for triangle, spot in _spots(mesh)}
    return compare(found, rate, nearly)


def compare(found: dict[Spot, list[Fraction]], rate: Decimal, nearly: float) -> str:
    """Compare what is told at all pairs of some points; floats sort out what is clear."""
    spots = [(spot, values, [float(value) for value in values]) for spot, values in found.items()]
    logs = [[math.log(value) if value else -math.inf for value in rough] for _, _, rough in spots]
    for (i, (p, exact, _)), (j, (q, others, _)) in combinations(enumerate(spots), 2):
        far = nearly * math.hypot(float(p[0] - q[0]), float(p[1] - q[1])) * (1 - 1e-9) - 1e-9
        for report, (one, other) in enumerate(zip(logs[i], logs[j], strict=True)):
            if one != other and abs(one - other) >= far:
                allowed = rate * length(p[0] - q[0], p[1] - q[1])
                if broken(exact[report], others[report], allowed):
                    return "a report tells more of two points than epsilon times their distance"
    return ""


def farther(stated: dict[str, Any], region: Sequence[tuple[int, int]]) -> str:
    """Say whether two points that are taken are farther apart in the plane than they are."""
    reach = stated["reach"]
    if type(reach) is not int or not 0 <= reach < 2**30:
        return "no reach"
    if stated["origin"] is None:
        return ""
    latitude, longitude = (number(text) for text in stated["origin"])
    if abs(latitude) > 90 or not -180 <= longitude <= 360:
        return "an origin that is no place"
    return _longer(latitude, stated["east"], stated["north"], reach, (*region,))


@lru_cache(512)
def _longer(
    latitude: Fraction, east: int, north: int, reach: int, region: tuple[tuple[int, int], ...]
) -> str:
    """Compare points around the region, far ones and near ones, on the sphere and in the plane."""
    if east <= 0 or north <= 0:
        return "a plane without extent"
    least = min(y for _, y in region)
    # Points of the region, and as far outside of it as they are taken, north and south with two that are near.
    taken: set[Spot] = set()
    for x, y in region:
        taken |= {
            (Fraction(x), Fraction(y)),
            (Fraction(x - reach), Fraction(y)),
            (Fraction(x + reach), Fraction(y)),
        }
        away = -reach if y == least else reach
        beside = Fraction(reach, 1000)
        taken |= {(x + beside * sign, y + away * Fraction(999_999, 1_000_000)) for sign in (-1, 1)}
    placed = [(latitude + y * SCALE / north, x * SCALE / east) for x, y in sorted(taken)]
    if any(abs(away) > 180 or abs(up) > 90 for up, away in placed):
        return "beyond: a plane around more than there is of the globe"
    with common():
        globe, _ = apart("haversine", "m", placed)
        for i, j in combinations(range(len(placed)), 2):
            (a, b), (c, d) = (sorted(taken)[at] for at in (i, j))
            if length(a - c, b - d) / 10 > globe(i, j) * (1 + ON_SPHERE):
                return "two points are farther apart in the plane than on the sphere"
    return ""
