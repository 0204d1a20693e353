"""The library draws from noise and from rows on a lattice, bit for bit, what their pages say that everybody draws."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import lattices
import noises
from browser import lattice_by_the_page, noise_by_the_page
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.points.client import read_published
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


DATA = Path(__file__).parents[1] / "data"
PAGES: dict[str, Any] = {
    "noise": (noise_by_the_page.Made, noises.KINDS),
    "lattice": (lattice_by_the_page.Made, lattices.KINDS),
}
"""What each page says, and small mechanisms by hand."""

VECTORS = [
    (page, one)
    for page in PAGES
    for one in json.loads((DATA / f"lrgeo-{page}-vectors.json").read_text(encoding="utf-8"))
]
"""Files of version 1, and what everybody draws from them for ever."""


@pytest.mark.parametrize(("page", "vectors"), VECTORS)
def test_clients_in_other_languages_must_find_the_same(page: str, vectors: Any) -> None:
    stated = vectors["file"]
    mechanism, made = read_published(stated), PAGES[page][0].of(stated, seed=0)
    assert verify(mechanism.claimed()).passed
    assert mechanism.to_dict() == stated
    refused = 0
    for case in vectors["points"]:
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
    assert 0 < refused < len(vectors["points"]) / 2


@pytest.mark.parametrize(
    ("page", "name"), [(page, name) for page in PAGES for name in PAGES[page][1]]
)
def test_it_draws_what_the_page_says(page: str, name: str) -> None:
    of_page, kinds = PAGES[page]
    file = json.loads(noises.sealed(kinds[name].parts()))
    made, mechanism = of_page.of(file, seed=5), read_published(file)
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


def test_the_law_of_noise_at_a_knot_in_fractions() -> None:
    """By hand: at the corner of the region two columns and two rows have a half each."""
    small = noises.KINDS["one cell"]
    noise, total = small.noise(), Fraction(1, 4 << small.bits)
    law = read_published(json.loads(noises.sealed(small.parts()))).law(("-0.07", "0.0031"))
    for x in range(3):
        for y in range(3):
            steps = [noise[(x - i) % 3 * 3 + (y - j) % 3] for i in (0, 1) for j in (0, 1)]
            assert law[3 * x + y] == sum(steps) * total


def test_the_law_of_rows_at_a_knot_in_fractions() -> None:
    small = lattices.KINDS["one cell"]
    weights, total = small.weights(), Fraction(1, 4 << small.box.bits)
    law = read_published(json.loads(noises.sealed(small.parts()))).law(("-0.07", "0.0031"))
    for k in range(9):
        rows = [weights[(i * 3 + j) * 9 + k] for i in (0, 1) for j in (0, 1)]
        assert law[k] == sum(rows) * total
