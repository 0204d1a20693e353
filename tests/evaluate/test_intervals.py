"""Intervals cover what they say they cover, and refuse what is no sample."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.evaluate.intervals import Estimate, bounded_mean, clopper_pearson, student_mean


def tail(trials: int, least: int, share: float) -> float:
    """Probability of `least` successes or more, by the definition."""
    return float(
        sum(
            comb(trials, x) * Fraction(share) ** x * (1 - Fraction(share)) ** (trials - x)
            for x in range(least, trials + 1)
        )
    )


@pytest.mark.parametrize("successes", [1, 3, 9])
@pytest.mark.parametrize("failure", [0.05, 1e-9, 1e-13])
def test_the_ends_are_where_the_binomial_tails_are_half_the_failure(
    successes: int, failure: float
) -> None:
    found = clopper_pearson(successes, 10, failure=failure)
    assert tail(10, successes, found.low) == pytest.approx(failure / 2, rel=1e-6)
    assert 1 - tail(10, successes + 1, found.high) == pytest.approx(failure / 2, rel=1e-2)


def test_no_success_and_no_failure_reach_the_ends() -> None:
    assert clopper_pearson(0, 5, failure=0.1).low == 0
    assert clopper_pearson(5, 5, failure=0.1).high == 1
    assert clopper_pearson(5, 5, failure=0.1).low == pytest.approx(0.05 ** (1 / 5))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.97])
def test_shares_are_covered_as_often_as_promised(share: float) -> None:
    drawn = np.random.default_rng(1).binomial(40, share, size=2000)
    missed = 0
    for successes in drawn.tolist():
        found = clopper_pearson(successes, 40, failure=0.1)
        missed += not found.low <= share <= found.high
    # With 0.1 expected at most, 0.13 of 2000 would be a chance of 1 in 10^5.
    assert missed <= 260


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.5])
def test_bounded_means_are_covered_as_often_as_promised(rate: float) -> None:
    drawn = 3 * np.random.default_rng(2).binomial(1, rate, size=(1000, 60))
    found = [bounded_mean(row, 0, 3, failure=0.1) for row in drawn]
    assert sum(not one.low <= 3 * rate <= one.high for one in found) <= 140
    # It is no interval that says nothing.
    wide = bounded_mean(3 * np.random.default_rng(3).binomial(1, rate, 20_000), 0, 3, failure=0.1)
    assert wide.high - wide.low < 0.2


def test_means_of_normal_runs_are_covered_as_often_as_they_say() -> None:
    drawn = np.random.default_rng(4).normal(2, 5, size=(3000, 8))
    missed = sum(
        not found.low <= 2 <= found.high
        for found in (student_mean(row, failure=0.1) for row in drawn)
    )
    assert 230 <= missed <= 370


def test_a_short_interval_would_be_seen() -> None:
    """The test of coverage rejects an interval that is half as long."""
    drawn = np.random.default_rng(4).normal(2, 5, size=(3000, 8))
    missed = 0
    for row in drawn:
        found = student_mean(row, failure=0.1)
        missed += not (found.low + found.value) / 2 <= 2 <= (found.high + found.value) / 2
    assert missed > 370


def test_plain_values() -> None:
    assert Estimate.computed(0.5).to_dict()["trials"] is None
    assert Estimate(0.0, float("-inf"), 1.0, 3, 0.1).to_dict()["low"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Estimate(1.0, 2.0, 3.0),
        lambda: Estimate(float("nan"), 0.0, 1.0),
        lambda: clopper_pearson(3, 2, failure=0.1),
        lambda: clopper_pearson(0, 0, failure=0.1),
        lambda: clopper_pearson(1, 2, failure=0.0),
        lambda: bounded_mean([0.5], 0, 1, failure=0.1),
        lambda: bounded_mean([0.5, 1.5], 0, 1, failure=0.1),
        lambda: bounded_mean([0.5, float("nan")], 0, 1, failure=0.1),
        lambda: student_mean([1.0], failure=0.1),
        lambda: student_mean([1.0, float("inf")], failure=0.1),
    ],
)
def test_what_is_no_sample_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(InvalidProblemError):
        wrong()
