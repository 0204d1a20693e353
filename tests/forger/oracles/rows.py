"""What rows on a lattice state, judged by brute force: splines by their recursion, and point against point.

**A file of such a mechanism is false** when one of these does not hold of the numbers in it:

- the digest is that of the content, and the scope's is that of the region: plane, box and reach;
- each control point has a row, and each row is a distribution: nothing negative, the stated total, at most 53 bits;
- no two reports are told alike;
- the promise, the plane against the sphere, and the lack of a seed, as :mod:`forger.oracles.lattices` says: points
  against points, with splines from the recursion of Cox and de Boor, and no coefficient of a polynomial.

Bounds of the loss are stated without a problem: nothing is said of them.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from forger.exactly import number, seeded
from forger.oracles.lattices import DECIMETERS, MOST_CELLS, Box, told_more
from forger.oracles.pairs import farther, once, other_region, spoken
from forger.sealing import canonical, unpacked

if TYPE_CHECKING:
    from pathlib import Path

MOST_WEIGHTS = 1000
"""Up to which all pairs are compared here."""


def rows_are_false(path: Path, said: Any) -> str:
    """Say what is false in rows on a lattice."""
    stated = json.loads(path.read_bytes(), object_pairs_hook=once)
    plain = {name: value for name, value in stated.items() if name != "digest"}
    if hashlib.sha256(canonical(plain)).hexdigest() != stated["digest"]:
        return "another digest than that of the content"
    weights, (wide, tall), k = unpacked(stated["weights"]), stated["cells"], len(stated["shown"])
    if min(wide, tall, stated["side"], k) < 1:
        return "a box without cells, or nothing to report"
    if len(weights) != (wide + 2) * (tall + 2) * k or len(unpacked(stated["reports"])) != 2 * k:
        return "a table of other control points, or of other reports"
    wrong = _no_rows(stated, weights, k) or spoken(stated)
    if wrong:
        return wrong
    if len(weights) > MOST_WEIGHTS or wide * tall > MOST_CELLS:
        return "beyond: more weights or cells than are compared"
    rows = Rows(stated, weights)
    rate = number(stated["guarantee"]["epsilon"]) / DECIMETERS[stated["unit"]]
    return (
        other_region(stated, rows.region)
        or told_more(rows, rate)
        or farther(stated, rows.region)
        or seeded(stated["provenance"])
    )


def _no_rows(stated: dict[str, Any], weights: list[int], k: int) -> str:
    bits = stated["bits"]
    if type(bits) is not int or not 0 < bits <= 53:
        return "weights of another form"
    for at in range(0, len(weights), k):
        if min(weights[at : at + k]) < 0 or sum(weights[at : at + k]) != 2**bits:
            return "a row that is no distribution"
    return ""


class Rows(Box):
    """A box of cells in the plane, and a row for each control point."""

    def __init__(self, stated: dict[str, Any], weights: list[int]) -> None:
        super().__init__(stated)
        self.weights = weights

    def row(self, i: int, j: int) -> list[int]:
        """Give how often each report is told from a control point."""
        at = (i * (self.cells[1] + 2) + j) * self.reports
        return self.weights[at : at + self.reports]
