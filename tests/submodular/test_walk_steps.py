"""The walk over bases: every element may be exchanged, and it goes on until its law is as near as delta pays for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.core.randomness import SeededBits
from discreet.submodular import UniformMatroid
from discreet.submodular.draws import whole_bases as exchange_walk
from discreet.submodular.draws.whole_bases import walk_base, walk_steps


@pytest.mark.parametrize("rate", [Fraction(1, 10**6), Fraction(1, 3), Fraction(40)])
@pytest.mark.parametrize(("n", "rank"), [(2, 1), (5, 2), (40, 7), (1000, 30)])
def test_entropy_that_is_left_costs_no_more_than_the_stated_distance(
    n: int, rank: int, rate: Fraction
) -> None:
    """Each step takes off one part in r of the relative entropy to the law; by Pinsker 2^-119 of it is 2^-60."""
    least = rank * (float(rate) * 2.0**62 + math.log(n))
    left = math.log(least) - walk_steps(UniformMatroid(n, rank), rate) / rank
    assert left <= -119 * math.log(2)


def test_one_step_may_exchange_every_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_walk, "walk_steps", lambda *_: 1)
    matroid = UniformMatroid(4, 2)
    found = {
        walk_base(matroid, [0, 0, 0, 0], Fraction(1, 100), SeededBits(seed)) for seed in range(60)
    }
    assert found == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)}
