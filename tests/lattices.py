"""Small mechanisms with rows on a lattice, made by hand as docs/theory/lrgeo-lattice.md says, with no code of ours.

Verifiers and forgeries are tested with these. Rows are those of one noise, renamed, in which some reports take a part
of others, more of it in the east: so rows are not one row that is moved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import noises
from noises import packed

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Small:
    """What a small mechanism is made of.

    Parameters
    ----------
    box
        The region, epsilon, the bits and the plane, and the noise that rows begin with.
    moved
        By which part of what two reports have the rows of one column differ from the noise, at most; halved until the
        condition holds.
    """

    box: noises.Small
    moved: Fraction = Fraction(1, 4)

    @property
    def reports(self) -> int:
        """How many there are."""
        return self.box.reports or math.prod(self.box.torus)

    @property
    def points(self) -> int:
        """How many control points there are."""
        return math.prod(count + 2 for count in self.box.cells)

    def weights(self) -> list[int]:
        """Give the rows, one after the other."""
        plain = renamed(self.box.cells, self.box.torus, self.box.noise(), self.box.names())
        part = self.moved
        while part > Fraction(1, 2**40):
            made = self._mixed(plain, part)
            if not violations(made, self.box.cells, self.reports, self.box.rate):
                return made
            part /= 2
        return plain

    def _mixed(self, plain: list[int], part: Fraction) -> list[int]:
        """Let each second report take a part of the next one, more of it in the columns to the east."""
        made, k, tall = list(plain), self.reports, self.box.cells[1] + 2
        for point in range(self.points):
            for report in range(0, k - 1, 2):
                at = point * k + report
                taken = int(made[at + 1] * part * (1 + point // tall) / (self.box.cells[0] + 2))
                made[at], made[at + 1] = made[at] + taken, made[at + 1] - taken
        return made

    def parts(self) -> dict[str, Any]:
        """State the file, without a digest."""
        said = self.box.parts()
        for name in ("torus", "noise", "names"):
            del said[name]
        said |= {"form": "discreet.lrgeo.lattice", "weights": packed(self.weights())}
        return said | {"lower": "0.25", "mesh_lower": None}


def renamed(
    cells: tuple[int, int], torus: tuple[int, int], noise: list[int], names: list[int]
) -> list[int]:
    """Give the rows that one noise has for control points: all of it, added to each."""
    (wide, tall), (m, n), rows = cells, torus, []
    for i in range(wide + 2):
        for j in range(tall + 2):
            row = [0] * (max(names) + 1)
            for step, weight in enumerate(noise):
                row[names[(i + step // n) % m * n + (j + step % n) % n]] += weight
            rows += row
    return rows


def violations(weights: list[int], cells: tuple[int, int], reports: int, rate: Fraction) -> int:
    """Count nodes and reports at which the condition does not hold."""
    return sum(
        x * x + y * y > (rate * value) ** 2 for value, x, y in coefficients(weights, cells, reports)
    )


def coefficients(
    weights: list[int], cells: tuple[int, int], reports: int
) -> Iterator[tuple[int, int, int]]:
    """Give value and slopes, report by report and node by node as the page says."""
    wide, tall = cells
    for k in range(reports):
        at = [
            [weights[(i * (tall + 2) + j) * reports + k] for j in range(tall + 2)]
            for i in range(wide + 2)
        ]
        for in_x in range(2 * wide + 1):
            for in_y in range(2 * tall + 1):
                value, x = _node([_node(column, in_y)[0] for column in at], in_x)
                yield value, x, _node([_node(column, in_y)[1] for column in at], in_x)[0]


def _node(c: list[int], at: int) -> tuple[int, int]:
    """Give value and slope at a knot, whose numbers are even, or at a middle."""
    a = at // 2
    if at % 2 == 0:
        return c[a] + c[a + 1], 2 * (c[a + 1] - c[a])
    return 2 * c[a + 1], c[a + 2] - c[a]


def limit(weights: list[int], cells: tuple[int, int], reports: int, digits: int) -> Fraction:
    """Give the rate of the steepest node, cut to so many digits: it is just too small, or just enough."""
    found = max(
        Fraction(x * x + y * y, value * value)
        for value, x, y in coefficients(weights, cells, reports)
        if value
    )
    scale = 10 ** (2 * digits)
    return Fraction(math.isqrt(found.numerator * scale // found.denominator), 10**digits)


KINDS: dict[str, Small] = {name: Small(box) for name, box in noises.KINDS.items()}
"""By what is particular in each."""
