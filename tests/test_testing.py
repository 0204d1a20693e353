"""Checks of exact laws can fail, and strategies keep what they promise."""

from __future__ import annotations

import builtins
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from discreet import testing
from discreet.core.errors import InvalidProblemError
from discreet.testing import (
    Law,
    assert_law,
    assert_pure_dp,
    dp_guarantees,
    enumerate_law,
    guarantees,
    metric_spaces,
    rationals,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from discreet.core.guarantee import DPGuarantee, Guarantee
    from discreet.core.spaces.metric import MetricSpace


def law_of(masses: Mapping[Any, str], unexplored: str = "0") -> Law:
    """Write a law down."""
    return Law({o: Fraction(m) for o, m in masses.items()}, Fraction(unexplored), 1)


def test_the_right_law_passes() -> None:
    assert_law(law_of({0: "1/2", 1: "1/2"}), {0: "1/2", 1: 0.5})
    assert_law(law_of({0: "1/2"}, "1/2"), {0: "1/2", 1: "1/2"})
    assert_law(law_of({0: "0.3"}, "0.7"), {0: (Fraction(1, 3), Fraction(1, 2)), 1: "0.5"})
    assert_law(law_of({0: "0.3"}, "0.7"), lambda _: "1/3")


@pytest.mark.parametrize(
    ("law", "expected", "complaint"),
    [
        (law_of({0: "0.6", 1: "0.4"}), {0: "0.5", 1: "0.5"}, "outcome 0: mass 0.6 is more"),
        (law_of({0: "0.5", 2: "0.01"}, "0.49"), {0: "0.5", 1: "0.5"}, "outcome 2"),
        (law_of({0: "0.4"}, "0.2"), {0: "0.5", 1: "0.5"}, "lack 0.6 in sum"),
        (law_of({0: "0.25", 1: "0.25"}, "0.1"), lambda _: "0.5", "lack 0.5 in sum"),
        (law_of({0: "0.6"}, "0.4"), {0: (Fraction(1, 3), Fraction(1, 2))}, "outcome 0"),
    ],
)
def test_a_wrong_law_fails(law: Law, expected: Any, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        assert_law(law, expected)


def test_pure_privacy_is_proved() -> None:
    verdict = assert_pure_dp(law_of({0: "1/3", 1: "2/3"}), law_of({0: "2/3", 1: "1/3"}), "0.7")
    assert verdict.proved
    assert str(verdict) == "7/10-indistinguishable: proved"
    assert assert_pure_dp(law_of({0: "1"}), law_of({0: "1"}), 0).proved


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (law_of({0: "1/3", 1: "2/3"}), law_of({0: "2/3", 1: "1/3"})),
        (law_of({0: "1"}), law_of({0: "0.9", 1: "0.1"})),
        # No single outcome proves it, but their set does: 0.4 > e^0.69 * 0.15 in sum, and not 0.1 > e^0.69 * 0.09.
        (
            law_of(dict.fromkeys(range(10), "0.1")),
            law_of(dict.fromkeys(range(10), "0.04") | {99: "0.51"}, "0.09"),
        ),
    ],
    ids=["just beyond", "an outcome that only one has", "a set of outcomes"],
)
def test_a_certain_violation_is_refused_either_way(a: Law, b: Law) -> None:
    with pytest.raises(AssertionError, match="exceed"):
        assert_pure_dp(a, b, "0.69")
    with pytest.raises(AssertionError, match="exceed"):
        assert_pure_dp(b, a, "0.69")


def test_what_the_unexplored_mass_could_explain_is_undecided() -> None:
    a, b = law_of({0: "0.5", 1: "0.5"}), law_of({0: "0.1", 1: "0.5"}, "0.4")
    verdict = assert_pure_dp(a, b, "0.1")
    assert not verdict.proved
    assert verdict.delta >= Fraction(2, 5)
    assert "undecided" in str(verdict)
    tail = law_of({0: "0.9"}, "0.1")
    assert assert_pure_dp(tail, tail, 1).delta == Fraction(1, 10)


def test_epsilon_is_not_negative() -> None:
    with pytest.raises(InvalidProblemError, match="epsilon"):
        assert_pure_dp(law_of({0: "1"}), law_of({0: "1"}), -1)


@given(rationals("1/3", "5/2", max_denominator=7))
@settings(max_examples=30)
def test_rationals_keep_their_limits(value: Fraction) -> None:
    assert Fraction(1, 3) <= value <= Fraction(5, 2)
    assert value.denominator <= 7


@given(metric_spaces(max_size=4))
@settings(max_examples=15, deadline=None)
def test_made_spaces_have_distinct_points(space: MetricSpace) -> None:
    assert 1 <= space.n <= 4
    assert space.unit == "km"
    assert (space.distances + np.eye(space.n, dtype=np.int64) > 0).all()


@given(metric_spaces(min_size=2, max_size=3, unit="m", distinct=False))
@settings(max_examples=10, deadline=None)
def test_made_spaces_may_have_coinciding_points(space: MetricSpace) -> None:
    assert (space.distances >= 0).all()
    assert space.unit == "m"


@given(guarantees())
def test_made_guarantees_print(guarantee: Guarantee) -> None:
    assert str(guarantee)


@given(dp_guarantees("replace-one"))
def test_made_guarantees_keep_their_neighbors(guarantee: DPGuarantee) -> None:
    assert guarantee.neighbors == "replace-one"


def test_without_hypothesis_the_harness_works_and_strategies_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        if name.split(".", maxsplit=1)[0] == "hypothesis":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    for strategy in (rationals, metric_spaces, guarantees, dp_guarantees):
        with pytest.raises(ImportError, match="pip install hypothesis"):
            strategy()
    assert enumerate_law(lambda bits: bits.randrange(2)).unexplored == 0


def test_all_names_exist() -> None:
    assert sorted(testing.__all__) == testing.__all__
    assert all(hasattr(testing, name) for name in testing.__all__)
