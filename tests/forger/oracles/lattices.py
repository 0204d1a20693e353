"""What noise on a lattice states, judged by brute force: splines by their recursion, and point against point.

**A file of such a mechanism is false** when one of these does not hold of the numbers in it:

- the digest is that of the content, and the scope's is that of the region: plane, box and reach;
- the noise is a distribution on the torus: nothing negative, the stated total, at most 53 bits;
- each node has the name of a report, and no two reports are told alike;
- the promise, ``z(x) <= exp(epsilon |x - y|) z(y)`` for every report, both ways: for pairs of knots, of points of edges
  and of the inside; for two very near points beside each of these, along the gradient of each report. What is reported
  at a point is added up over control points, noise and names; splines come from the recursion of Cox and de Boor, and
  no coefficient of a polynomial is looked at;
- no two points that are taken are farther apart in the plane than on the sphere, by great circles with sixty digits;
- nothing was made with a seed.

That control points need nodes of their own is demanded of files, and not by the promise: nothing is said of it here.
Bounds of the loss are stated without a problem: nothing is said of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from forger.exactly import as_decimal, number, seeded
from forger.oracles.pairs import broken, compare, farther, length, once, other_region, spoken
from forger.sealing import canonical, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Spot = tuple[Fraction, Fraction]

DECIMETERS = {"km": 10_000, "m": 10}
MOST_NODES, MOST_CELLS = 200, 12
"""Up to which all pairs are compared here."""

DIGITS = 170
NEAR, STEP = Fraction(1, 2**90), Fraction(1, 2**100)
"""How far within the box two points are looked at, and how far from each other, in parts of a cell."""


def noise_is_false(path: Path, said: Any) -> str:
    """Say what is false in noise on a lattice."""
    stated = json.loads(path.read_bytes(), object_pairs_hook=once)
    plain = {name: value for name, value in stated.items() if name != "digest"}
    if hashlib.sha256(canonical(plain)).hexdigest() != stated["digest"]:
        return "another digest than that of the content"
    noise, names = unpacked(stated["noise"]), unpacked(stated["names"])
    (wide, tall), (m, n), reports = stated["cells"], stated["torus"], len(stated["shown"])
    if not len(noise) == len(names) == m * n or len(unpacked(stated["reports"])) != 2 * reports:
        return "a table of other nodes, or of other reports"
    if min(wide, tall, stated["side"], m, n) < 1:
        return "a box without cells"
    wrong = _no_noise(stated, noise) or spoken(stated)
    if not wrong and not {*names} <= {*range(reports)}:
        wrong = "a node without a report"
    if wrong:
        return wrong
    if m * n > MOST_NODES or wide * tall > MOST_CELLS:
        return "beyond: more nodes or cells than are compared"
    lattice = Lattice(stated, noise, names)
    rate = number(stated["guarantee"]["epsilon"]) / DECIMETERS[stated["unit"]]
    return (
        other_region(stated, lattice.region)
        or told_more(lattice, rate)
        or farther(stated, lattice.region)
        or seeded(stated["provenance"])
    )


def _no_noise(stated: dict[str, Any], noise: list[int]) -> str:
    bits = stated["bits"]
    if type(bits) is not int or not 0 < bits <= 53:
        return "noise of another form"
    if min(noise) < 0 or sum(noise) != 2**bits:
        return "noise that is no distribution"
    return ""


class Box:
    """A box of cells in the plane, whose control points have rows."""

    def __init__(self, stated: dict[str, Any]) -> None:
        self.low, self.side, self.cells = stated["low"], stated["side"], stated["cells"]
        self.reports = len(stated["shown"])
        (x, y), (wide, tall) = self.low, self.cells
        right, top = x + wide * self.side, y + tall * self.side
        self.region = [(x, y), (right, y), (right, top), (x, top)]

    def row(self, i: int, j: int) -> list[int]:
        """Give how often each report is told from a control point."""
        raise NotImplementedError

    def spread(self, columns: list[Fraction], rows: list[Fraction]) -> list[Fraction]:
        """Add up the rows of control points by what a point, or a slope there, takes of each."""
        told = [Fraction(0)] * self.reports
        for (i, x), (j, y) in product(enumerate(columns), enumerate(rows)):
            if x and y:
                told = [one + x * y * more for one, more in zip(told, self.row(i, j), strict=True)]
        return told

    def along(self, spot: Spot) -> list[Fraction]:
        """Give a point in cells from the corner."""
        return [(x - low) / self.side for x, low in zip(spot, self.low, strict=True)]

    def values(self, spot: Spot) -> list[Fraction]:
        """Give the chance of each report at a point, times the total of the noise."""
        columns, rows = (
            [spline(2, i, u) for i in range(cells + 2)]
            for u, cells in zip(self.along(spot), self.cells, strict=True)
        )
        return self.spread(columns, rows)

    def slopes(self, spot: Spot) -> list[Spot]:
        """Give the gradient of each, by the rule for derivatives of splines."""
        along = [*zip(self.along(spot), self.cells, strict=True)]
        values = [[spline(2, i, u) for i in range(cells + 2)] for u, cells in along]
        slopes = [
            [spline(1, i, u) - spline(1, i + 1, u) for i in range(cells + 2)] for u, cells in along
        ]
        east = self.spread(slopes[0], values[1])
        north = self.spread(values[0], slopes[1])
        return [(x / self.side, y / self.side) for x, y in zip(east, north, strict=True)]


class Lattice(Box):
    """A box of cells in the plane, noise on a torus, and the names of its nodes."""

    def __init__(self, stated: dict[str, Any], noise: list[int], names: list[int]) -> None:
        super().__init__(stated)
        self.torus, self.noise, self.names = stated["torus"], noise, names
        self.rows: dict[tuple[int, int], list[int]] = {}

    def row(self, i: int, j: int) -> list[int]:
        """Give how often each report is told from a control point: all noise is added to it."""
        if (i, j) not in self.rows:
            m, n = self.torus
            told = [0] * self.reports
            for step, weight in enumerate(self.noise):
                told[self.names[(i + step // n) % m * n + (j + step % n) % n]] += weight
            self.rows[i, j] = told
        return self.rows[i, j]


@cache
def spline(degree: int, i: int, u: Fraction) -> Fraction:
    """Evaluate a B-spline on whole knots, the first of them i - 2, by its recursion."""
    knot = i - 2
    if degree == 0:
        return Fraction(knot <= u < knot + 1)
    before, after = spline(degree - 1, i, u), spline(degree - 1, i + 1, u)
    return ((u - knot) * before + (knot + degree + 1 - u) * after) / degree


def told_more(lattice: Box, rate: Fraction) -> str:
    """Say which points a report tells apart by more than the rate times their distance."""
    spline.cache_clear()
    with localcontext(Context(prec=DIGITS, rounding=ROUND_HALF_EVEN, Emin=-(10**8), Emax=10**8)):
        limit, spots = as_decimal(rate), [*_spots(lattice)]
        found = {spot: lattice.values(spot) for spot in spots}
        return _beside(lattice, spots, limit) or compare(found, limit, float(rate))


def _spots(lattice: Box) -> Iterator[Spot]:
    """Give points of each cell: knots, middles, and some of its inside, the same ones for the same lattice."""
    chance = random.Random(lattice.cells[0])  # noqa: S311 - which pairs are tried, and no release
    axes = [range(2 * cells + 1) for cells in lattice.cells]
    drawn = [
        [i + Fraction(chance.randrange(1, 2**20), 2**20) for i in cell]
        for cell in product(*(range(cells) for cells in lattice.cells))
    ]
    halves = [[Fraction(i, 2), Fraction(j, 2)] for i, j in product(*axes)]
    for u, v in [*halves, *drawn]:
        x, y = lattice.low
        yield x + u * lattice.side, y + v * lattice.side


def _beside(lattice: Box, spots: list[Spot], rate: Decimal) -> str:
    """Look at two points very near each other along the gradient of each report."""
    middle = [
        Fraction(sum(axis), 2) for axis in zip(lattice.region[0], lattice.region[2], strict=True)
    ]
    for spot in spots:
        x, y = (at + NEAR * (to - at) for at, to in zip(spot, middle, strict=True))
        values, slopes = lattice.values((x, y)), lattice.slopes((x, y))
        for report, (value, (gx, gy)) in enumerate(zip(values, slopes, strict=True)):
            steepest = max(abs(gx), abs(gy))
            # Floats sort out what is clear.
            if math.hypot(float(gx), float(gy)) < float(rate) * float(value) * (1 - 1e-9):
                continue
            if not steepest:
                continue
            step = STEP * lattice.side / steepest
            on = (x + step * gx, y + step * gy)
            there = lattice.values(on)[report]
            if broken(there, value, rate * length(step * gx, step * gy)):
                return "beside a point a report tells more than epsilon times the distance"
    return ""
