"""The library draws from rows on a lattice, bit for bit, what the page says that everybody draws."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lattices
import noises
from browser.lattice_by_the_page import Made
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.points.table import LatticeMechanism
from discreet.lrgeo.points.verify import verify


class Given:
    """A source that gives what is wanted, in this order, and for these bounds alone."""

    def __init__(self, *draws: tuple[int, int]) -> None:
        self.left = list(draws)

    def randrange(self, stop: int, /) -> int:
        wanted, drawn = self.left.pop(0)
        assert stop == wanted
        return drawn

    def randranges(self, stop: int, size: int) -> Any:
        raise AssertionError


VECTORS = json.loads(
    (Path(__file__).parents[1] / "data" / "lrgeo-lattice-vectors.json").read_text(encoding="utf-8")
)
"""Files of version 1, and what everybody draws from them for ever."""


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_clients_in_other_languages_must_find_the_same(number: int) -> None:
    stated = VECTORS[number]["file"]
    mechanism, made = LatticeMechanism.from_dict(stated), Made.of(stated, seed=0)
    assert verify(mechanism.claimed()).passed
    assert mechanism.to_dict() == stated
    refused = 0
    for case in VECTORS[number]["points"]:
        point = tuple(case["point"])
        spot = made.locate(point)
        assert (spot is None) == case.get("refused", False)
        if spot is None:
            refused += 1
            with pytest.raises(InvalidProblemError):
                mechanism.draw(point)
            continue
        assert case["axes"] == [
            {"first": first, "weights": [*map(str, weights)]} for first, weights in spot
        ]
        totals = [*(sum(weights) for _, weights in spot), 1 << made.bits]
        for draw in case["draws"]:
            draws = [*map(int, draw["drawn"])]
            assert made.draw(spot, *draws) == draw["report"]
            source = Given(*zip(totals, draws, strict=True))
            assert mechanism.draw(point, source) == draw["report"]
    assert 0 < refused < len(VECTORS[number]["points"]) / 2


@pytest.mark.parametrize("name", lattices.KINDS)
def test_it_draws_what_the_page_says(name: str) -> None:
    file = json.loads(noises.sealed(lattices.KINDS[name].parts()))
    made, mechanism = Made.of(file, seed=5), LatticeMechanism.from_dict(file)
    drawn = refused = 0
    for _ in range(60):
        point = made.typed()
        spot = made.locate(point)
        if spot is None:
            refused += 1
            with pytest.raises(InvalidProblemError):
                mechanism.draw(point)
            continue
        assert mechanism.law(point) == made.shares(spot)
        for _ in range(5):
            totals = [*(sum(weights) for _, weights in spot), 1 << made.bits]
            draws = [made.source.randrange(total) for total in totals]
            source = Given(*zip(totals, draws, strict=True))
            assert mechanism.draw(point, source) == made.draw(spot, *draws)
            assert source.left == []
            drawn += 1
    assert drawn > 20
    assert refused > 0


def test_the_law_at_a_knot_in_fractions() -> None:
    """By hand: at the corner of the region two columns and two rows have a half each."""
    small = lattices.KINDS["one cell"]
    mechanism = LatticeMechanism.from_dict(json.loads(noises.sealed(small.parts())))
    weights, total = small.weights(), Fraction(1, 4 << small.box.bits)
    law = mechanism.law(("-0.07", "0.0031"))
    for k in range(9):
        rows = [weights[(i * 3 + j) * 9 + k] for i in (0, 1) for j in (0, 1)]
        assert law[k] == sum(rows) * total
