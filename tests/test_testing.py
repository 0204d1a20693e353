"""The replay harness counts every draw once, admits what it did not follow, and its checks can fail."""

from __future__ import annotations

import builtins
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    from discreet.core.metric import MetricSpace
    from discreet.core.randomness import RandomBits


@given(st.lists(st.integers(1, 5), max_size=4))
@settings(deadline=None)
def test_every_sequence_of_draws_counts_once(stops: list[int]) -> None:
    law = enumerate_law(lambda bits: [bits.randrange(stop) for stop in stops])
    assert law.unexplored == 0
    assert law.runs >= len(law.masses) == int(np.prod(stops))
    assert set(law.masses.values()) == {Fraction(1, int(np.prod(stops)))}


@given(st.integers(1, 6), st.integers(0, 3))
def test_a_batch_counts_as_its_draws(stop: int, size: int) -> None:
    batch = enumerate_law(lambda bits: bits.randranges(stop, size))
    single = enumerate_law(lambda bits: [bits.randrange(stop) for _ in range(size)])
    assert batch == single


def coin_flips(bits: RandomBits) -> int:
    """How many heads come before tails."""
    n = 0
    while bits.randrange(2):
        n += 1
    return n


def zeros_go_on(bits: RandomBits) -> int:
    """As above, but the harness's first guess never ends."""
    n = 0
    while not bits.randrange(2):
        n += 1
    return n


@pytest.mark.parametrize("sampler", [coin_flips, zeros_go_on])
def test_endless_draws_are_left_out_and_counted(sampler: Any) -> None:
    law = enumerate_law(sampler, max_runs=60)
    assert 0 < law.unexplored < Fraction(1, 1 << 40)
    assert law.masses[0] == Fraction(1, 2)
    assert_law(law, lambda n: Fraction(1, 1 << (n + 1)))


def test_the_likeliest_draws_come_first() -> None:
    """A large bound does not hide the short way out."""

    def run(bits: RandomBits) -> str:
        if bits.randrange(2):
            return f"one of {bits.randrange(1 << 62) >= 0}"
        return "out"

    law = enumerate_law(run, max_runs=10)
    assert law.bounds("out") == (Fraction(1, 2), Fraction(1, 2) + law.unexplored)
    assert law.unexplored > Fraction(1, 2) - Fraction(1, 1 << 50)


def test_a_large_bound_is_followed_value_by_value() -> None:
    law = enumerate_law(lambda bits: bits.randrange(1 << 62) % 2, max_runs=100)
    assert law.runs == 100
    assert law.unexplored == 1 - Fraction(100, 1 << 62)
    pair = enumerate_law(lambda bits: bits.randranges(1 << 62, 2), max_runs=100)
    assert pair.unexplored > 1 - Fraction(100, 1 << 62)


def test_depth_and_mass_are_limited() -> None:
    deep = enumerate_law(zeros_go_on, max_depth=5)
    assert deep.unexplored == Fraction(1, 1 << 5)
    light = enumerate_law(coin_flips, min_mass=Fraction(1, 1 << 10))
    assert Fraction(1, 1 << 12) <= light.unexplored <= Fraction(1, 1 << 9)


def test_outcomes_become_hashable() -> None:
    def run(bits: RandomBits) -> object:
        return [np.array([[bits.randrange(2)]]), np.float64(0.5), ("a", [1])]

    assert set(enumerate_law(run).masses) == {(((n,),), 0.5, ("a", (1,))) for n in range(2)}
    with pytest.raises(TypeError, match="unhashable"):
        enumerate_law(lambda bits: {bits.randrange(1): []})


def test_a_bound_is_positive() -> None:
    with pytest.raises(InvalidProblemError, match="stop"):
        enumerate_law(lambda bits: bits.randrange(0))


def test_a_run_that_remembers_is_found_out() -> None:
    """A sampler whose next bound depends on how often it was run has no law."""
    runs = []

    def remembers(bits: RandomBits) -> int:
        runs.append(1)
        return bits.randrange(1 + len(runs))

    with pytest.raises(InvalidProblemError, match="a function of its draws alone"):
        enumerate_law(remembers)
    tries = []

    def loses_interest(bits: RandomBits) -> int:
        tries.append(1)
        return bits.randrange(2) if len(tries) < 2 else 0

    with pytest.raises(InvalidProblemError, match="a function of its draws alone"):
        enumerate_law(loses_interest)


def test_errors_of_the_sampler_are_its_own() -> None:
    def fails(bits: RandomBits) -> int:
        return 1 // bits.randrange(2)

    with pytest.raises(ZeroDivisionError):
        enumerate_law(fails)


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
