"""Small mechanisms of noise on a lattice, made by hand as docs/theory/lrgeo-noise.md says, with nothing of the library.

Verifiers and forgeries are tested with these: a torus of a few nodes is one whose every pair of points can be compared.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DECIMETERS = {"km": 10_000, "m": 10}


def canonical(value: object) -> bytes:
    """Write JSON in the one way."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def sealed(parts: dict[str, Any]) -> bytes:
    """Give the bytes of a file with the digest of what it says."""
    bare = {name: part for name, part in parts.items() if name != "digest"}
    digest = hashlib.sha256(canonical(bare)).hexdigest()
    return canonical({**bare, "digest": digest}) + b"\n"


def packed(values: list[int]) -> dict[str, Any]:
    """Write integers, none of them negative."""
    wide = max(1, -(-max(values).bit_length() // 8))
    body = b"".join(value.to_bytes(wide, "little") for value in values)
    data = base64.b64encode(body).decode()
    return {"count": len(values), "bytes": wide, "least": 0, "data": data}


@dataclass(frozen=True)
class Small:
    """What a small mechanism is made of: the box, the torus, epsilon, and how many reports there are."""

    cells: tuple[int, int]
    torus: tuple[int, int]
    epsilon: Fraction
    unit: str = "km"
    low: tuple[int, int] = (0, 0)
    side: int = 2500
    bits: int = 48
    reports: int = 0
    """As many as nodes where it is 0, each under its own name."""
    origin: tuple[str, str] | None = None
    east: int = 0
    reach: int = 5000

    @property
    def rate(self) -> Fraction:
        """Epsilon per side of a cell."""
        return self.epsilon * self.side / DECIMETERS[self.unit]

    def noise(self) -> list[int]:
        """Find integers that keep the condition: exponential, lower at zero, and flatter until they do."""
        (m, n), rate = self.torus, self.rate
        slope = math.asinh(rate)
        for tried in range(60):
            flatter = 1 - 1e-6 * 1.5**tried
            wanted = [
                math.exp(-slope * flatter * math.hypot(min(a, m - a), min(b, n - b)))
                for a in range(m)
                for b in range(n)
            ]
            wanted[0] *= 1 - float(rate) ** 2 * 0.4 * (1 - 0.9**tried)
            whole = sum(wanted)
            made = [int(one / whole * 2**self.bits) for one in wanted]
            # What rounding left over goes where it is the least part.
            made[0] += 2**self.bits - sum(made)
            if not violations(made, self.torus, rate):
                return made
        raise AssertionError("no noise keeps the condition")

    def names(self) -> list[int]:
        """Give each node its own name, or names in blocks."""
        count = self.torus[0] * self.torus[1]
        return [z * (self.reports or count) // count for z in range(count)]

    def parts(self) -> dict[str, Any]:
        """State the file, without a digest."""
        (x, y), (wide, tall), count = self.low, self.cells, self.reports or math.prod(self.torus)
        right, top = x + wide * self.side, y + tall * self.side
        per = DECIMETERS[self.unit] << 20
        plane: dict[str, Any] = {
            "unit": self.unit,
            "origin": None if self.origin is None else list(self.origin),
            "east": per if self.origin is None else self.east,
            "north": per if self.origin is None else 1_165_964_924_509,
            "reach": self.reach,
        }
        corners = [[x, y], [right, y], [right, top], [x, top]]
        named = canonical({**plane, "outline": corners})
        region = hashlib.sha256(b"discreet.points/1 " + named).hexdigest()
        check = {"name": "inequalities violated", "residual": 0, "limit": 0, "exact": True}
        public = {"name": "region", "digest": region, "description": "a box, made by hand"}
        return {
            **plane,
            "form": "discreet.lrgeo.noise",
            "version": 1,
            "low": [x, y],
            "side": self.side,
            "cells": [wide, tall],
            "torus": list(self.torus),
            "bits": self.bits,
            "noise": packed(self.noise()),
            "names": packed(self.names()),
            "reports": packed([at for k in range(count) for at in (k, 2 * k)]),
            "shown": [[str(k), f"{k}.5"] for k in range(count)],
            "guarantee": {
                "kind": "metric-dp",
                "epsilon": str(self.epsilon),
                "unit": self.unit,
                "radius": None,
                "scope": {"region": region},
            },
            "certificate": {"passed": True, "checks": [{**check, "passed": True, "detail": ""}]},
            "lower": None,
            "upper": "1.5",
            "provenance": {
                "method": "by hand",
                "parameters": {"side": self.side},
                "assumed_public": [public],
                "method_trace": ["made by hand."],
                "seeded": False,
                "versions": {"hand": "1"},
            },
        }


def violations(noise: list[int], torus: tuple[int, int], rate: Fraction) -> int:
    """Count nodes at which the condition does not hold."""
    return sum(x * x + y * y > (rate * value) ** 2 for value, x, y in coefficients(noise, torus))


def coefficients(noise: list[int], torus: tuple[int, int]) -> Iterator[tuple[int, int, int]]:
    """Give value and slopes, node by node as the page says."""
    m, n = torus
    at = [noise[a * n : a * n + n] for a in range(m)]
    for a in range(m):
        for b in range(n):
            near = [[at[(a + i) % m][(b + j) % n] for j in range(3)] for i in range(3)]
            for in_x in (_knot, _middle):
                for in_y in (_knot, _middle):
                    value, x = in_x([in_y(row)[0] for row in near])
                    yield value, x, in_x([in_y(row)[1] for row in near])[0]


def limit(noise: list[int], torus: tuple[int, int], digits: int) -> Fraction:
    """Give the rate of the steepest node, cut to so many digits: it is just too small, or just enough."""
    found = max(
        Fraction(x * x + y * y, value * value)
        for value, x, y in coefficients(noise, torus)
        if value
    )
    scale = 10 ** (2 * digits)
    return Fraction(math.isqrt(found.numerator * scale // found.denominator), 10**digits)


def _knot(c: list[int]) -> tuple[int, int]:
    return c[0] + c[1], 2 * (c[1] - c[0])


def _middle(c: list[int]) -> tuple[int, int]:
    return 2 * c[1], c[2] - c[0]


KINDS: dict[str, Small] = {
    "one cell": Small((1, 1), (3, 3), Fraction(2), low=(-700, 31)),
    "a box": Small((3, 2), (7, 6), Fraction(3), side=1250, reports=5, low=(-1000, -40)),
    "as many bits as may be": Small((2, 1), (5, 4), Fraction(1, 2), bits=53),
    "meters": Small((2, 2), (6, 5), Fraction(1, 500), "m", bits=30, reports=30, reach=0),
    "on the sphere": Small(
        (2, 2), (5, 6), Fraction(4, 3), origin=("41.88", "12.46"), east=867_776_780_113
    ),
}
"""By what is particular in each."""
