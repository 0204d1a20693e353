"""Channels of tails: verified by two judges, better than the exponential mechanism, honest where they fail."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.channels.check_implicit import verify_anchored
from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.core.exact import exp_floor
from discreet.core.guarantee import MetricDP
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.bounds import tails
from discreet.metricdp.bounds.tails import TailDesign, _convolution, tail_channel

GRID = MetricSpace.grid(7, 9, cell=1, unit="km")


def table(made: TailDesign) -> NDArray[np.int64]:
    return np.array([made.channel.row(i) for i in range(made.channel.n_secrets)])


def loss(made: TailDesign) -> float:
    """The mean distance of the report."""
    weights, space = table(made), made.channel.space
    away = space.distances / 2.0**space.scale_bits
    return float(((weights * away).sum(axis=1) / weights.sum(axis=1)).mean())


def private(made: TailDesign) -> bool:
    """Brute force on probabilities, in integers, at the whole of epsilon."""
    rows = table(made).tolist()
    sums = [sum(row) for row in rows]
    edges = made.channel.space.adjacency(made.guarantee.radius)
    for (i, j), length in zip(edges.pairs.tolist(), edges.lengths.tolist(), strict=True):
        growth = exp_floor(made.guarantee.epsilon * Fraction(length, 2**edges.scale_bits), 100)
        for p, q in zip(rows[i], rows[j], strict=True):
            if p * sums[j] << 100 > q * sums[i] * growth:
                return False
            if q * sums[i] << 100 > p * sums[j] * growth:
                return False
    return True


@pytest.mark.parametrize("guarantee", [MetricDP(1, "km"), MetricDP("0.5", "km", "1.5")])
def test_even_totals_cost_far_less_than_half_of_the_budget(guarantee: MetricDP) -> None:
    even, blunt = tail_channel(GRID, guarantee), tail_channel(GRID, guarantee, rounds=0)
    assert even.certificate.passed
    assert blunt.certificate.passed
    assert private(even)
    assert private(blunt)
    assert (blunt.totals_share, blunt.rounds) == (Fraction(1, 2), 0)
    assert even.totals_share < Fraction(1, 6)
    assert loss(even) < 0.86 * loss(blunt)


def test_a_share_that_is_too_small_is_found_out() -> None:
    """The same integers with another split of the budget are rejected."""
    made = tail_channel(GRID, MetricDP(1, "km", "1.5"), rounds=0)
    assert not verify_anchored(made.channel, made.guarantee, totals_share="0.1").passed


def test_when_rounds_run_out_the_next_share_is_tried() -> None:
    guarantee = MetricDP("0.3", "km", "1.5")
    hasty, patient = (tail_channel(GRID, guarantee, rounds=r) for r in (10, 300))
    assert hasty.certificate.passed
    assert hasty.totals_share > patient.totals_share


def test_a_grid_without_a_table_is_convolved(monkeypatch: pytest.MonkeyPatch) -> None:
    guarantee = MetricDP(1, "km", "1.5")
    dense = tail_channel(GRID, guarantee)
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    large = MetricSpace.grid(7, 9, cell=1, unit="km")
    assert tail_channel(large, guarantee).totals_share == dense.totals_share
    vector = np.random.default_rng(0).random(63)
    away = np.hypot(*(large.points[:, None] - large.points[None]).T)  # type: ignore[index]
    expected = np.exp(-0.7 * away) @ vector
    assert np.abs(_convolution(7, 9, 0.7)(vector) - expected).max() < 1e-12


@pytest.mark.parametrize("shape", ["points", "part of a grid"])
def test_other_large_spaces_get_equal_anchors(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    monkeypatch.setattr(tails, "_MAX_SECRETS_FOR_TABLE", 0)
    if shape == "points":
        space = MetricSpace.from_points(np.random.default_rng(1).random((40, 2)) * 3, unit="km")
    else:
        space = MetricSpace.grid(7, 9, cell=1, unit="km").restrict(np.arange(40))
    made = tail_channel(space, MetricDP(1, "km", 2))
    assert made.certificate.passed
    assert made.totals_share == Fraction(1, 2)
    assert np.ptp(made.channel.anchors) == 0
    assert private(made)


def scattered(shape: str) -> MetricSpace:
    """Make forty places without a pattern, or the first of a grid."""
    if shape == "points":
        points = np.random.default_rng(1).random((40, 2)) * 6
        return MetricSpace.from_points(points, unit="km")
    return MetricSpace.grid(7, 9, cell=1, unit="km").restrict(np.arange(40))


@pytest.mark.parametrize("shape", ["points", "part of a grid"])
def test_places_get_even_totals_from_a_table(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = tail_channel(scattered(shape), MetricDP(1, "km", 3))
    monkeypatch.setattr(measures, "DENSE_LIMIT", 0)
    made = tail_channel(scattered(shape), MetricDP(1, "km", 3))
    assert dense.totals_share <= made.totals_share < Fraction(1, 2)
    assert private(made)


def test_secrets_apart_are_refused_by_the_verifier() -> None:
    apart = MetricSpace.from_points([[0.0], [1.0], [9.0], [10.0]], unit="km")
    with pytest.raises(CertificateError, match="groups"):
        tail_channel(apart, MetricDP(1, "km", 2))


def test_secrets_that_nearly_coincide_are_refused() -> None:
    near = MetricSpace.from_points([[0.0], [1.0], [1.0 + 2e-12]], unit="km")
    with pytest.raises(InvalidProblemError, match="nearly coincide"):
        tail_channel(near, MetricDP("0.00001", "km"))


def test_secrets_that_are_near_get_a_larger_lift() -> None:
    near = MetricSpace.from_points([[0.0], [1.0], [1.0001]], unit="km")
    made = tail_channel(near, MetricDP(1, "km"))
    assert made.certificate.passed
    assert private(made)
    assert made.channel.lift > 10**6


@pytest.mark.parametrize("rounds", [-1, True])
def test_wrong_rounds_are_refused(rounds: int) -> None:
    with pytest.raises(InvalidProblemError, match="rounds"):
        tail_channel(GRID, MetricDP(1, "km"), rounds=rounds)


@pytest.mark.slow
def test_a_hundred_thousand_cells_are_designed_verified_and_sampled() -> None:
    space = MetricSpace.grid(316, 317, cell=1, unit="km")
    made = tail_channel(space, MetricDP("0.5", "km", "1.5"))
    assert made.certificate.passed
    assert made.totals_share <= Fraction(1, 8)
    drawn = made.channel.report_many(range(0, space.n, 1000))
    assert drawn.min() >= 0
    assert drawn.max() < space.n
