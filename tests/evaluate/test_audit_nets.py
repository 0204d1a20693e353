"""The judge of pairs of points of a net: against laws in fractions, and mechanisms that break their promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.evaluate.audit.borders import audit_laws_of_points
from discreet.evaluate.audit.nets import (
    NetLaws,
    NetPairs,
    edge_net_pairs,
    random_net_pairs,
    rows_of_noise,
)
from discreet.evaluate.audit.points import count_broken, exceeds
from discreet.evaluate.simulate.borders import laws_of
from discreet.lrgeo import NoiseMechanism, Region, design

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLAIM = MetricDP(2, "km")


@cache
def mechanism() -> NoiseMechanism:
    region = Region.from_grid(3, 3, cell="0.5", unit="km")
    made = design(region, CLAIM, method="noise", spacing="0.25").published()
    assert isinstance(made, NoiseMechanism)
    return made


@cache
def laws() -> NetLaws:
    return laws_of(mechanism())


def with_noise(noise: NDArray[np.int64], names: NDArray[np.int64], reports: int) -> NetLaws:
    return replace(laws(), weights=rows_of_noise(noise, names, reports, laws().cells))


def slowly(tried: NetLaws, pairs: NetPairs) -> int:
    """Count by laws in fractions alone."""
    broken = 0
    for at in range(len(pairs)):
        (law, (x, y)), (other, (u, v)) = tried.exactly(pairs, at)
        squared = tried.epsilon**2 * ((x - u) ** 2 + (y - v) ** 2)
        ratios = [max(a, b) / min(a, b) for a, b in zip(law, other, strict=True)]
        broken += any(ratio > 1 and (not squared or exceeds(ratio, squared)) for ratio in ratios)
    return broken


def test_the_rows_are_those_of_the_client() -> None:
    tried, made = laws(), mechanism()
    _, rows = made.net.points
    for column, row in ((0, 0), (3, 1), (5, 5)):
        assert (tried.weights[column * rows + row] == made.row_at(column, row)).all()
    half, third = Fraction(1, 2), Fraction(1, 3)
    x, y = ((2_500 + 2_500 * (cell + part)) / 10_000 for cell, part in ((1, half), (2, third)))
    spot = (repr(float(x)), f"{y.numerator * 10**30 // y.denominator}e-30")
    near = made.law(spot)
    assert [float(p) for p in near] == pytest.approx(
        [float(p) for p in tried.law((1, 2), (half, third))]
    )


def test_a_sound_mechanism_passes_everywhere() -> None:
    for pairs in (random_net_pairs(laws(), 3_000), edge_net_pairs(laws(), 1_000)):
        found = count_broken(laws(), pairs)
        assert (found.pairs, found.violated) == (len(pairs), 0)
        # Nearly all of what is allowed is used somewhere.
        assert 0.8 < found.worst <= 1


def test_what_is_counted_is_what_fractions_count() -> None:
    """With epsilon a tenth lower some pairs break the promise, and others do not."""
    less = replace(laws(), epsilon=laws().epsilon * Fraction(9, 10))
    for pairs in (random_net_pairs(less, 120, seed=4), edge_net_pairs(less, 120, seed=5)):
        assert count_broken(less, pairs).violated == slowly(less, pairs) > 0


def test_noise_with_one_entry_moved_is_found_by_pairs() -> None:
    noise = mechanism().noise.copy()
    # Each node by its own name: names that cover many nodes hide what happens at one.
    names = np.arange(noise.size).reshape(noise.shape)
    apart = with_noise(noise, names, names.size)
    assert not count_broken(apart, random_net_pairs(apart, 2_000)).violated
    noise[0, 0] += int(noise[0, 0]) // 2
    # Nearly each of them is left to fractions, of as many laws as there are nodes.
    moved = with_noise(noise, names, names.size)
    assert count_broken(moved, random_net_pairs(moved, 12)).violated > 5


def test_an_audit_rejects_a_stronger_claim() -> None:
    assert not audit_laws_of_points(laws(), CLAIM, 4_000).rejected
    less = replace(laws(), epsilon=laws().epsilon * Fraction(19, 20))
    assert audit_laws_of_points(less, MetricDP("1.9", "km"), 4_000).rejected


def test_pairs_across_edges_lie_on_both_sides_and_at_one_spot() -> None:
    pairs = edge_net_pairs(laws(), 400)
    (x, y), unit = np.abs(pairs.first - pairs.second).T, 1 << pairs.grain
    assert ((x + y) > 0).mean() > 0.9
    same = [laws().exactly(pairs, at) for at in range(60)]
    assert any(one[1] == other[1] and one[0] == other[0] for one, other in same)
    assert pairs.first_at.min() >= 0
    assert pairs.first_at.max() <= unit


def test_what_cannot_be_judged_is_refused() -> None:
    noise, names = mechanism().noise, mechanism().names
    with pytest.raises(InvalidProblemError, match="noise"):
        with_noise(noise - int(noise.max()), names, 3)
    with pytest.raises(InvalidProblemError, match="too many"):
        rows_of_noise(noise, names, 3, (10_000, 10_000))
