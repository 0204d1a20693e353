"""docs/theory/lrgeo-noise.md in Python, with nothing of the library: what a client must find."""

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


BITS = 48
TORUS, REPORTS = (9, 7), 11


def unpacked(stated: dict[str, Any]) -> list[int]:
    body, wide = base64.b64decode(stated["data"]), stated["bytes"]
    return [
        int.from_bytes(body[at : at + wide], "little") + stated["least"]
        for at in range(0, len(body), wide)
    ]


class Made:
    """A box of cells with random noise and random names: the vectors are about bits, not about privacy."""

    def __init__(self, origin: tuple[str, str] | None, unit: str, seed: int) -> None:
        self.source = random.Random(seed)  # noqa: S311 - test points
        self.unit, self.origin = unit, origin
        self.per = {"km": 10_000, "m": 10}[unit]
        self.east, self.north = self.per << 20, self.per << 20
        if origin is not None:
            self.east, self.north = 868_000_000_000, 1_165_964_924_509
        self.reach, self.bits, self.reports = 1234, BITS, REPORTS
        self.low, self.side, self.cells, self.torus = (-3001, 17), 2503, (4, 3), TORUS
        count = TORUS[0] * TORUS[1]
        drawn = [self.source.randrange(1 << 40) for _ in range(count)]
        self.noise = [weight * (1 << BITS) // sum(drawn) for weight in drawn]
        # Noise that cannot be, at the start, in a row and at the end, changes no draw.
        for at in (0, 10, 11, 12, count - 1):
            self.noise[at] = 0
        self.noise[5] += (1 << BITS) - sum(self.noise)
        self.names = [self.source.randrange(REPORTS) for _ in range(count)]

    def file(self, **changed: object) -> dict[str, Any]:
        """State the file; parts that are given take the place of its own."""
        shown = [[str(k), str(-k)] for k in range(self.reports)]
        plain: dict[str, Any] = {
            "form": "discreet.lrgeo.noise", "version": 1, "unit": self.unit,
            "origin": None if self.origin is None else list(self.origin),
            "east": self.east, "north": self.north, "reach": self.reach,
            "low": list(self.low), "side": self.side, "cells": list(self.cells), "torus": list(self.torus),
            "bits": self.bits, "noise": packed(self.noise), "names": packed(self.names),
            "reports": packed(list(range(2 * self.reports))), "shown": shown,
            "guarantee": {"epsilon": "2", "kind": "metric-dp", "radius": None, "scope": {"region": "0" * 64},
                          "unit": self.unit},
            "certificate": {"checks": [], "passed": True}, "provenance": {},
            "lower": None, "upper": "1.5", **changed,
        }  # fmt: skip
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return {**plain, "digest": hashlib.sha256(text.encode()).hexdigest()}

    @classmethod
    def of(cls, file: dict[str, Any], seed: int) -> Made:
        """Take the numbers of a file instead."""
        made = cls(file["origin"], file["unit"], seed)
        made.east, made.north, made.reach = file["east"], file["north"], file["reach"]
        made.low, made.side, made.cells, made.torus = (
            file[name] for name in ("low", "side", "cells", "torus")
        )
        made.bits, made.reports = file["bits"], len(file["shown"])
        made.noise, made.names = unpacked(file["noise"]), unpacked(file["names"])
        return made

    def plane(self, point: tuple[str, str]) -> tuple[Fraction, Fraction] | None:
        """Give the decimeters of a point, as in the first form."""
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

    def locate(self, point: tuple[str, str]) -> list[tuple[int, list[int]]] | None:
        """Give the first column and the weights of three, and the same of rows; nothing where it is refused."""
        plane = self.plane(point)
        if plane is None:
            return None
        found, away = [], Fraction(0)
        for x, low, cells in zip(plane, self.low, self.cells, strict=True):
            inside = min(max(x, Fraction(low)), Fraction(low + cells * self.side))
            away += (x - inside) ** 2
            u = (inside - low) / self.side
            a = min(math.floor(u), cells - 1)
            p, q = (u - a).as_integer_ratio()
            found.append((a, [(q - p) ** 2, q * q + 2 * p * q - 2 * p * p, p * p]))
        return found if away <= self.reach**2 else None

    def draw(self, spot: list[tuple[int, list[int]]], r1: int, r2: int, r3: int) -> int:
        i, j = (
            first + next(at for at in range(3) if r < sum(weights[: at + 1]))
            for (first, weights), r in zip(spot, (r1, r2), strict=True)
        )
        m, n = self.torus
        total = 0
        for s, weight in enumerate(self.noise):
            total += weight
            if total > r3:
                return self.names[(i + s // n) % m * n + (j + s % n) % n]
        raise AssertionError

    def shares(self, spot: list[tuple[int, list[int]]]) -> list[Fraction]:
        """Give the law of the reports by its definition: a sum over control points and noise."""
        (a, columns), (b, rows) = spot
        m, n = self.torus
        told = [0] * self.reports
        for i, column in enumerate(columns, a):
            for j, row in enumerate(rows, b):
                for s, weight in enumerate(self.noise):
                    node = (i + s // n) % m * n + (j + s % n) % n
                    told[self.names[node]] += column * row * weight
        return [Fraction(one, sum(told)) for one in told]

    def typed(self) -> tuple[str, str]:
        """Give a point as a person or a device states it: near and far, at knots, with many digits."""
        source = self.source
        x, y = source.uniform(-4500, 8500), source.uniform(-1500, 9000)
        if source.random() < 0.2:
            x, y = (
                low + self.side * source.randrange(cells + 1)
                for low, cells in zip(self.low, self.cells, strict=True)
            )
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

    def points(self, count: int) -> list[dict[str, Any]]:
        """Give points, what is found of each, and what is drawn for given numbers."""
        points: list[dict[str, Any]] = []
        for point in [
            *(self.typed() for _ in range(count)),
            ("1e-7", "2.5E-1"),
            ("-0", "0"),
            *REFUSED,
        ]:
            spot = self.locate(point)
            if spot is None:
                points.append({"point": point, "refused": True})
                continue
            totals = [*(sum(weights) for _, weights in spot), 1 << self.bits]
            draws = []
            for part in range(8):
                drawn = [self.source.randrange(total) for total in totals]
                if part < 2:
                    # The least and the greatest that can be drawn.
                    drawn = [part * (total - 1) for total in totals]
                draws.append({"drawn": [*map(str, drawn)], "report": self.draw(spot, *drawn)})
            axes = [
                {"first": first, "weights": [str(weight) for weight in weights]}
                for first, weights in spot
            ]
            shares = [float(share) for share in self.shares(spot)]
            points.append({"point": point, "axes": axes, "draws": draws, "shares": shares})
        return points


CASES: dict[str, tuple[tuple[str, str] | None, str]] = {
    "a plane in kilometers": (None, "km"),
    "a plane in meters": (None, "m"),
    "on the sphere": (("41.88", "12.46"), "km"),
    "across the date line": (("-33.5", "179.99"), "m"),
}


def vectors(name: str, make: type[Made] = Made) -> dict[str, Any]:
    """Make the vectors of a case."""
    origin, unit = CASES[name]
    made = make(origin, unit, seed=11)
    return {"file": made.file(), "points": made.points(200)}


FIND = """async ({text, digest, points}) => {
  const m = await client.read(text, digest);
  if (!(m instanceof client.NoiseMechanism && m instanceof client.EveryPoint)) throw new Error("another kind");
  return points.map(({point, draws}) => {
    let spot;
    try { spot = m.locate(...point); } catch (e) { if (e instanceof client.Refused) return null; throw e; }
    return {
      axes: spot.map(({first, weights}) => ({first, weights: weights.map(String)})),
      drawn: draws.map(({drawn: [r1, r2, r3]}) =>
        m.reportAt(m.lineAt(spot[0], BigInt(r1)), m.lineAt(spot[1], BigInt(r2)), BigInt(r3))),
      shares: [...m.shares(spot)],
    };
  });
}"""
"""What a client in JavaScript finds of some points."""

WORDS = """async ([text, digest, asked]) => {
  const m = await client.read(text, digest);
  return asked.map(({point, words}) => {
    let at = 0;
    const report = m.report(m.locate(...point), () => BigInt(words[at++]));
    if (at !== words.length) throw new Error(`${at} words of ${words.length}`);
    return report;
  });
}"""
"""Which reports it draws from given words of 64 bits, all of which it has to take."""

READ = """([text, digest]) => client.read(text, digest).then(() => '', (e) =>
  e instanceof client.Refused ? e.message : `another failure: ${e}`)"""
"""What it says of a file that it refuses."""


def holds(points: list[dict[str, Any]], found: list[Any]) -> None:
    """Compare what a client found with what the page says: bits alike, and the law up to the last digits of floats."""
    assert [one is None for one in found] == ["refused" in point for point in points]
    assert 7 < sum(one is None for one in found) < len(found) / 2
    for one, point in zip(found, points, strict=True):
        if one is None:
            continue
        assert one["axes"] == point["axes"]
        assert one["drawn"] == [draw["report"] for draw in point["draws"]]
        for share, wanted in zip(one["shares"], point["shares"], strict=True):
            assert abs(share - wanted) <= 1e-14


def told_of_words(make: type[Made] = Made) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Give words of 64 bits and the report that follows: some that are refused, some that are two for one number."""
    name = "a plane in kilometers"
    origin, unit = CASES[name]
    made = make(origin, unit, seed=11)
    asked = []
    for point in (
        ("-0.3001", "0.0017"),
        ("0.1", "0.2"),
        ("0.123456789012345", "0.39876543210987654"),
    ):
        spot = made.locate(point)
        assert spot is not None
        for _ in range(20):
            words, drawn = [], []
            for total in (*(sum(weights) for _, weights in spot), 1 << BITS):
                count = -(-(total - 1).bit_length() // 64) or 1
                value = 1 << 64 * count
                while value >= (1 << 64 * count) - (1 << 64 * count) % total:
                    # Of any words, those that are all ones are refused most.
                    new = [made.source.choice([2**64 - 1, made.source.randrange(2**64)])]
                    new += [made.source.randrange(2**64) for _ in range(count - 1)]
                    value = sum(word << 64 * (count - 1 - at) for at, word in enumerate(new))
                    words += new
                drawn.append(value % total)
            report = made.draw(spot, *drawn)
            asked.append({"point": point, "words": [*map(str, words)], "report": report})
    return {"file": made.file()}, asked


BROKEN: tuple[tuple[dict[str, object], str], ...] = (
    ({"version": 2}, "form"),
    ({"unit": "mile"}, "unit"),
    ({"bits": 54}, "bits"),
    ({"bits": BITS - 1}, "noise"),
    ({"bits": BITS + 1}, "noise: another sum"),
    ({"east": 0}, "east"),
    ({"shown": [["1", "2"]]}, "shown"),
    ({"side": 0}, "cells: no box"),
    ({"cells": [0, 3]}, "cells: no box"),
    ({"cells": [4]}, "cells: no pair"),
    ({"cells": [4.5, 3]}, "cells: no integer"),
    ({"low": [2**30, 0]}, "low"),
    ({"side": 2**28 + 1000}, "low"),
    ({"torus": [TORUS[1], TORUS[0]]}, ""),
    ({"torus": [5, 7]}, "torus"),
    ({"torus": [9, 4]}, "torus"),
    ({"torus": [9, 8]}, "noise: not one for each node"),
    ({"torus": [2**12, 2**11]}, "torus"),
    ({"noise": packed([1 << BITS])}, "noise: not one for each node"),
    ({"names": packed([REPORTS] * (TORUS[0] * TORUS[1]))}, "names: out of range"),
    ({"names": packed([0])}, "names: not one for each node"),
)
"""Parts that do not fit the others, and how a refusal begins; another torus of as many nodes fits."""


def broken(at: int) -> tuple[str, str, str]:
    """Give a text with parts that do not fit, its digest, and the complaint."""
    changed, complaint = BROKEN[at]
    file = Made(None, "km", seed=11).file(**changed)
    return json.dumps(file), file["digest"], complaint
