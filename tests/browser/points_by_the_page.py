"""docs/theory/lrgeo-points.md in Python, with nothing of the library: what a client must find."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import random
import re
from fractions import Fraction
from typing import Any

DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE]([+-]?[0-9]+))?")
SIDE, REPORTS, STEP = 5, 7, 2500
BITS = 48

REFUSED = (
    ("1e41", "0"),
    ("abc", "1"),
    ("1.", "2"),
    ("+1", "2"),
    ("1" * 61, "1"),
    ("0.1", "400"),
    ("91", "0"),
)
"""No points, in any plane here."""


def packed(values: list[int]) -> dict[str, Any]:
    least = min(values)
    wide = max(1, -(-(max(values) - least).bit_length() // 8))
    body = b"".join((value - least).to_bytes(wide, "little") for value in values)
    data = base64.b64encode(body).decode()
    return {"count": len(values), "bytes": wide, "least": least, "data": data}


class Made:
    """A square of triangles with random rows: the vectors are about bits, not about privacy."""

    def __init__(self, origin: tuple[str, str] | None, unit: str, seed: int) -> None:
        self.source = random.Random(seed)  # noqa: S311 - test points
        self.unit, self.origin = unit, origin
        self.per = {"km": 10_000, "m": 10}[unit]
        self.east, self.north = self.per << 20, self.per << 20
        if origin is not None:
            self.east, self.north = 868_000_000_000, 1_165_964_924_509
        self.vertices = [(i * STEP - 3000, j * STEP + 17) for i in range(SIDE) for j in range(SIDE)]
        self.triangles = []
        for i in range(SIDE - 1):
            for j in range(SIDE - 1):
                corners = ((i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1))
                a, b, c, d = (x * SIDE + y for x, y in corners)
                halves = [(a, b, d), (a, d, c)] if (i + j) % 2 else [(a, b, c), (b, d, c)]
                self.triangles += halves
        self.outline = [0, (SIDE - 1) * SIDE, SIDE * SIDE - 1, SIDE - 1]
        self.rows = [self._row() for _ in self.vertices]
        self.reach = 1234

    def _row(self) -> list[int]:
        drawn = [self.source.randrange(1 << 40) for _ in range(REPORTS)]
        row = [weight * (1 << BITS) // sum(drawn) for weight in drawn]
        row[0] += (1 << BITS) - sum(row)
        return row

    def file(self) -> dict[str, Any]:
        shown = [[str(k), str(-k)] for k in range(REPORTS)]
        plain: dict[str, Any] = {
            "form": "discreet.lrgeo.points", "version": 1, "unit": self.unit,
            "origin": None if self.origin is None else list(self.origin),
            "east": self.east, "north": self.north, "reach": self.reach,
            "vertices": packed([axis for vertex in self.vertices for axis in vertex]),
            "triangles": packed([vertex for corners in self.triangles for vertex in corners]),
            "outline": packed(self.outline), "reports": packed(list(range(2 * REPORTS))), "shown": shown,
            "bits": BITS, "weights": packed([weight for row in self.rows for weight in row]),
            "guarantee": {"epsilon": "2", "kind": "metric-dp", "radius": None, "scope": {"region": "0" * 64},
                          "unit": self.unit},
            "certificate": {"checks": [], "passed": True}, "provenance": {},
            "lower": None, "mesh_lower": None, "upper": "1.5",
        }  # fmt: skip
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return {**plain, "digest": hashlib.sha256(text.encode()).hexdigest()}

    def plane(self, point: tuple[str, str]) -> tuple[Fraction, Fraction] | None:
        read = []
        for text in point:
            found = DECIMAL.fullmatch(text)
            if found is None or len(text) > 60 or abs(int(found.group(1) or 0)) > 40:
                return None
            read.append(Fraction(text))
        first, second = read
        if self.origin is None:
            return first * self.east / 2**20, second * self.north / 2**20
        if abs(first) > 90 or not -180 <= second <= 360:
            return None
        latitude, longitude = (Fraction(text) for text in self.origin)
        away = (second - longitude + 180) % 360 - 180
        return away * self.east / 2**20, (first - latitude) * self.north / 2**20

    def projected(self, x: Fraction, y: Fraction) -> tuple[Fraction, Fraction] | None:
        found = []
        for at, start in enumerate(self.outline):
            (ax, ay), (bx, by) = (
                self.vertices[vertex] for vertex in (start, self.outline[(at + 1) % 4])
            )
            along, across = bx - ax, by - ay
            if along * (y - ay) - across * (x - ax) < 0:
                t = ((x - ax) * along + (y - ay) * across) / Fraction(along**2 + across**2)
                t = min(max(t, Fraction(0)), Fraction(1))
                spot = ax + t * along, ay + t * across
                found.append(((x - spot[0]) ** 2 + (y - spot[1]) ** 2, at, spot))
        if not found:
            return x, y
        away, _, nearest = min(found)
        return nearest if away <= self.reach**2 else None

    def locate(self, point: tuple[str, str]) -> tuple[int, list[int]] | None:
        """Give the least triangle of a point and its weights; nothing where it is refused."""
        plane = self.plane(point)
        spot = None if plane is None else self.projected(*plane)
        if spot is None:
            return None
        q = math.lcm(spot[0].denominator, spot[1].denominator)
        px, py = int(spot[0] * q), int(spot[1] * q)
        for number, corners in enumerate(self.triangles):
            at = [self.vertices[vertex] for vertex in corners]
            weights = []
            for one in range(3):
                (bx, by), (cx, cy) = at[(one + 1) % 3], at[(one + 2) % 3]
                weights.append(q * (bx * cy - cx * by) + px * (by - cy) + py * (cx - bx))
            if min(weights) >= 0:
                return number, [weight // math.gcd(*weights) for weight in weights]
        raise AssertionError

    def draw(self, triangle: int, weights: list[int], r1: int, r2: int) -> int:
        corner = next(at for at in range(3) if r1 < sum(weights[: at + 1]))
        row = self.rows[self.triangles[triangle][corner]]
        return next(k for k in range(REPORTS) if r2 < sum(row[: k + 1]))

    def typed(self) -> tuple[str, str]:
        """Give a point as a person or a device states it: near and far, at vertices, with many digits."""
        source = self.source
        x, y = source.uniform(-4500, 8500), source.uniform(-1500, 11_500)
        if source.random() < 0.2:
            x, y = source.choice(self.vertices)
        if source.random() < 0.1:
            x, y = 3 * x, 3 * y
        if self.origin is None:
            point = (repr(x / self.per), repr(y / self.per))
        else:
            longitude = float(self.origin[1]) + x * 2**20 / self.east
            if longitude > 180 and source.random() < 0.5:
                longitude -= 360
            point = (repr(float(self.origin[0]) + y * 2**20 / self.north), repr(longitude))
        if source.random() < 0.2:
            first, second = (text + "0123456789" if "e" not in text else text for text in point)
            point = first, second
        return point

    def vectors(self, count: int) -> dict[str, Any]:
        points: list[dict[str, Any]] = []
        for point in [
            *(self.typed() for _ in range(count)),
            ("1e-7", "2.5E-1"),
            ("-0", "0"),
            *REFUSED,
        ]:
            found = self.locate(point)
            if found is None:
                points.append({"point": point, "refused": True})
                continue
            triangle, weights = found
            draws = []
            for _ in range(5):
                r1, r2 = self.source.randrange(sum(weights)), self.source.randrange(1 << BITS)
                report = self.draw(triangle, weights, r1, r2)
                draws.append({"r1": str(r1), "r2": str(r2), "report": report})
            found_weights = [str(weight) for weight in weights]
            points.append(
                {"point": point, "triangle": triangle, "weights": found_weights, "draws": draws}
            )
        return {"file": self.file(), "points": points}


CASES: dict[str, tuple[tuple[str, str] | None, str]] = {
    "a plane in kilometers": (None, "km"),
    "a plane in meters": (None, "m"),
    "on the sphere": (("41.88", "12.46"), "km"),
    "across the date line": (("-33.5", "179.99"), "m"),
}


def vectors(name: str) -> dict[str, Any]:
    """Make the vectors of a case."""
    origin, unit = CASES[name]
    return Made(origin, unit, seed=9).vectors(200)
