"""docs/theory/lrgeo-lattice.md in Python, with nothing of the library: what a client must find.

The plane, the box and its control points are those of noise on a lattice.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

from browser import noise_by_the_page
from browser.noise_by_the_page import BITS, REPORTS, packed, unpacked


class Made(noise_by_the_page.Made):
    """A box of cells with random rows: the vectors are about bits, not about privacy."""

    def __init__(self, origin: tuple[str, str] | None, unit: str, seed: int) -> None:
        super().__init__(origin, unit, seed)
        self.weights: list[int] = []
        for _ in range((self.cells[0] + 2) * (self.cells[1] + 2)):
            drawn = [self.source.randrange(1 << 40) for _ in range(REPORTS)]
            # Reports that cannot be, at the start, in a row and at the end, change no draw.
            for at in self.source.choice([(), (0,), (REPORTS - 1,), (3, 4, 5)]):
                drawn[at] = 0
            row = [weight * (1 << BITS) // sum(drawn) for weight in drawn]
            row[6] += (1 << BITS) - sum(row)
            self.weights += row

    def file(self, **changed: object) -> dict[str, Any]:
        """State the file; parts that are given take the place of its own."""
        plain = super().file()
        for name in ("torus", "noise", "names", "digest"):
            del plain[name]
        plain |= {"form": "discreet.lrgeo.lattice", "weights": packed(self.weights)}
        plain |= {"mesh_lower": None, **changed}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return {**plain, "digest": hashlib.sha256(text.encode()).hexdigest()}

    @classmethod
    def of(cls, file: dict[str, Any], seed: int) -> Made:
        """Take the numbers of a file instead."""
        made = cls(file["origin"], file["unit"], seed)
        made.east, made.north, made.reach = file["east"], file["north"], file["reach"]
        made.low, made.side, made.cells = (file[name] for name in ("low", "side", "cells"))
        made.bits, made.reports = file["bits"], len(file["shown"])
        made.weights = unpacked(file["weights"])
        return made

    def row(self, i: int, j: int) -> list[int]:
        """Give the row of a control point."""
        at = (i * (self.cells[1] + 2) + j) * self.reports
        return self.weights[at : at + self.reports]

    def draw(self, spot: list[tuple[int, list[int]]], r1: int, r2: int, r3: int) -> int:
        i, j = (
            first + next(at for at in range(3) if r < sum(weights[: at + 1]))
            for (first, weights), r in zip(spot, (r1, r2), strict=True)
        )
        row = self.row(i, j)
        return next(k for k in range(self.reports) if sum(row[: k + 1]) > r3)

    def shares(self, spot: list[tuple[int, list[int]]]) -> list[Fraction]:
        """Give the law of the reports by its definition: a sum over control points."""
        (a, columns), (b, rows) = spot
        told = [0] * self.reports
        for i, column in enumerate(columns, a):
            for j, row in enumerate(rows, b):
                # Beyond the last control points the weight of a spline is 0.
                for k, weight in enumerate(self.row(i, j)) if column * row else ():
                    told[k] += column * row * weight
        return [Fraction(one, sum(told)) for one in told]


FIND = noise_by_the_page.FIND.replace("NoiseMechanism", "LatticeMechanism")
"""What a client in JavaScript finds of some points."""

BROKEN: tuple[tuple[dict[str, object], str], ...] = (
    ({"version": 2}, "form"),
    ({"unit": "mile"}, "unit"),
    ({"bits": 54}, "bits"),
    ({"bits": BITS - 1}, "weights"),
    ({"bits": BITS + 1}, "weights: a row of another sum"),
    ({"east": 0}, "east"),
    ({"shown": [["1", "2"]]}, "shown"),
    ({"side": 0}, "cells: no box"),
    ({"cells": [0, 3]}, "cells: no box"),
    ({"cells": [4]}, "cells: no pair"),
    ({"cells": [4.5, 3]}, "cells: no integer"),
    ({"cells": [3, 4]}, ""),
    ({"cells": [4, 4]}, "weights: not a row for each control point"),
    ({"low": [2**30, 0]}, "low"),
    ({"side": 2**28 + 1000}, "low"),
    ({"weights": packed([1 << BITS])}, "weights: not a row for each control point"),
    ({"reports": packed([0, 1]), "shown": [["1", "2"]]}, "weights: not a row"),
    ({"weights": packed([-1, (1 << BITS) + 1] * 165)}, "weights: out of range"),
)
"""Parts that do not fit the others, and how a refusal begins; a box that is turned has as many control points."""


def broken(at: int) -> tuple[str, str, str]:
    """Give a text with parts that do not fit, its digest, and the complaint."""
    changed, complaint = BROKEN[at]
    file = Made(None, "km", seed=11).file(**changed)
    return json.dumps(file), file["digest"], complaint
