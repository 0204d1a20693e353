"""The library draws from noise on a lattice, bit for bit, what the page says that everybody draws."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import noises
from browser.noise_by_the_page import Made
from discreet.core.errors import InvalidProblemError
from discreet.lrgeo.points.noise import NoiseMechanism


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


def by_the_page(small: noises.Small) -> Made:
    """Give what follows the page the numbers of a small lattice."""
    made = Made(small.origin, small.unit, seed=5)
    made.low, made.side, made.cells, made.torus = small.low, small.side, small.cells, small.torus
    made.noise, made.names, made.bits = small.noise(), small.names(), small.bits
    made.reports = 1 + max(made.names)
    made.reach = small.reach
    if small.origin is not None:
        made.east, made.north = small.east, 1_165_964_924_509
    return made


@pytest.mark.parametrize("name", noises.KINDS)
def test_it_draws_what_the_page_says(name: str) -> None:
    small = noises.KINDS[name]
    made = by_the_page(small)
    mechanism = NoiseMechanism.from_dict(json.loads(noises.sealed(small.parts())))
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
    small = noises.KINDS["one cell"]
    mechanism = NoiseMechanism.from_dict(json.loads(noises.sealed(small.parts())))
    noise, total = small.noise(), Fraction(1, 4 << small.bits)
    law = mechanism.law(("-0.07", "0.0031"))
    for x in range(3):
        for y in range(3):
            steps = [noise[(x - i) % 3 * 3 + (y - j) % 3] for i in (0, 1) for j in (0, 1)]
            assert law[3 * x + y] == sum(steps) * total
