"""The replay harness counts every draw once, and admits what it did not follow."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.randomness.replay import enumerate_law
from discreet.testing import assert_law

if TYPE_CHECKING:
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
