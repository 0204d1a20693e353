"""What is printed is never less than what can be learned."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.guarantee import ApproxDP, MetricDP, Scope
from discreet.report.words import (
    distance,
    example_distance,
    factor,
    guesses,
    promise_about_a_person,
    sentence,
    strength,
)

budgets = st.fractions(min_value=0, max_value=40, max_denominator=1000)


@given(budgets)
def test_a_factor_is_rounded_up_and_close(nats: Fraction) -> None:
    printed = float(factor(nats).replace(",", ""))
    exact = math.exp(nats)
    assert exact * (1 - 1e-12) <= printed <= exact * 1.0101


@given(budgets)
def test_guesses_are_rounded_up_by_less_than_one(nats: Fraction) -> None:
    share = 100 / (1 + math.exp(-nats))
    step = 1 if share <= 99 else 0.1
    assert share - 1e-9 <= float(guesses(nats)) < share + step + 1e-9


def test_beyond_what_a_reader_can_use_the_power_stands() -> None:
    assert factor(Fraction(65)) == "e^65"
    assert guesses(Fraction(65)) == "100"


def test_distances_are_those_of_daily_life() -> None:
    assert distance(Fraction(1, 4), "km") == "250 m"
    assert distance(Fraction(1, 4), "m") == "0.25 m"
    assert distance(Fraction(10), "km") == "10 km"


def test_beyond_the_radius_the_epsilon_of_all_pairs_counts() -> None:
    scope = Scope("0" * 64, 5, Fraction(3))
    assert strength(MetricDP(2, "km", 1, scope=scope), Fraction(1)) == 2
    assert strength(MetricDP(2, "km", 1, scope=scope), Fraction(3, 2)) == Fraction(9, 2)
    assert strength(MetricDP(2, "km", scope=scope), Fraction(3, 2)) == 3


@pytest.mark.parametrize("scope", [None, Scope("0" * 64, 5, None, 2, (4,))])
def test_where_nothing_is_promised_nothing_is_said(scope: Scope | None) -> None:
    assert strength(MetricDP(2, "km", 1, scope=scope), Fraction(2)) is None


@given(
    st.fractions(min_value="1/1000", max_value=1000),
    st.none() | st.fractions(min_value="1/100000", max_value=1000),
    st.fractions(min_value=0, max_value=10),
)
def test_the_example_is_one_that_the_guarantee_covers(
    epsilon: Fraction, radius: Fraction | None, least: Fraction
) -> None:
    chosen = example_distance(MetricDP(epsilon, "km", radius), least)
    assert chosen > 0
    assert radius is None or chosen <= radius
    if radius is None:
        assert chosen >= least


def test_delta_grows_with_a_group() -> None:
    """Five steps, each of e^epsilon times the one before: 1 + 2 + 4 + 8 + 16 deltas, not one."""
    group = promise_about_a_person(ApproxDP("0.6931", "1e-6", "add-remove-one"))["group"]
    assert "epsilon counts 5-fold, and delta is 3.1e-5" in group
    weak = promise_about_a_person(ApproxDP(1, "0.2", "add-remove-one"))["group"]
    assert "and delta is 1, which promises nothing." in weak


def test_a_sentence_ends_with_one_full_stop() -> None:
    assert sentence("it is so.") == sentence("it is so") == "It is so."
