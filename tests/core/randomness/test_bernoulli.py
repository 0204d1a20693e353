"""Coins: exact laws by replay, no product leaves the machine word, and nonsense is refused."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.randomness import (
    SeededBits,
    bernoulli,
    bernoulli_exp,
    bernoulli_exps,
    bernoullis,
)
from discreet.testing import assert_law, enumerate_law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.core.exact import Exact
    from discreet.core.randomness import RandomBits

SURELY = 1e-9
FINE = 200

Range = tuple[Fraction, Fraction]


def exp_range(gamma: Fraction) -> Range:
    """Bracket ``exp(-gamma)``."""
    one = 1 << FINE
    return Fraction(exp_floor(-gamma, FINE), one), Fraction(exp_ceil(-gamma, FINE), one)


def coins_law(*heads: Range) -> dict[tuple[bool, ...], Range]:
    """The law of independent coins, each given by the bracket of its chance of heads."""
    law: dict[tuple[bool, ...], Range] = {(): (Fraction(1), Fraction(1))}
    for low, high in heads:
        law = {
            (*faces, face): (a * (low if face else 1 - high), b * (high if face else 1 - low))
            for faces, (a, b) in law.items()
            for face in (True, False)
        }
    return law


@given(st.fractions(0, 1, max_denominator=50))
def test_a_rational_coin_is_exact(p: Fraction) -> None:
    law = enumerate_law(lambda bits: bernoulli(p, bits))
    assert law.unexplored == 0
    assert_law(law, {True: p, False: 1 - p})


@pytest.mark.parametrize("gamma", ["0", "1/2", "0.3", "1", "7/5", "2"])
def test_an_exponential_coin_is_exact(gamma: Exact) -> None:
    law = enumerate_law(lambda bits: (bernoulli_exp(gamma, bits),), max_runs=3000)
    assert law.unexplored < Fraction(1, 1000)
    assert_law(law, coins_law(exp_range(Fraction(gamma))))


def test_a_coin_with_an_enormous_exponent_returns() -> None:
    assert not bernoulli_exp(10**30, SeededBits(1))
    assert not bernoulli_exps([1 << 62], 1, SeededBits(1)).any()
    assert not bernoulli_exps([10**30], 1, SeededBits(1)).any()


@pytest.mark.parametrize("p", [-1, "1.01", float("nan")])
def test_a_probability_lies_between_0_and_1(p: Exact) -> None:
    with pytest.raises(InvalidProblemError, match="p:"):
        bernoulli(p)


def test_an_exponent_is_not_negative() -> None:
    with pytest.raises(InvalidProblemError, match="gamma"):
        bernoulli_exp("-0.1")


def test_a_batch_of_rational_coins_is_exact() -> None:
    law = enumerate_law(lambda bits: bernoullis([0, 1, 3, 4], 4, bits))
    assert law.unexplored == 0
    expected = coins_law(*[(Fraction(n, 4), Fraction(n, 4)) for n in (0, 1, 3, 4)])
    assert_law(law, expected)


@pytest.mark.parametrize(
    ("numerators", "denominator", "worst"),
    [
        ([1], 2, 1e-15),
        ([5], 2, 1e-2),
        ([0, 1], 2, 1e-15),
        ([1, 2], 3, 5e-2),
        ([3, 1], 2, 1e-2),
        ([4], 4, 1e-5),
    ],
)
def test_a_batch_of_exponential_coins_is_exact(
    numerators: list[int], denominator: int, worst: float
) -> None:
    law = enumerate_law(lambda bits: bernoulli_exps(numerators, denominator, bits), max_runs=1000)
    assert law.unexplored < worst
    expected = coins_law(*[exp_range(Fraction(n, denominator)) for n in numerators])
    assert_law(law, expected)


@pytest.mark.parametrize("word", [2, 3, 8])
def test_the_law_is_the_same_where_products_leave_the_word(
    word: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tiny word the coin of chance gamma / k is tossed as two coins, or one by one."""
    module = import_module("discreet.core.randomness.bernoulli")
    monkeypatch.setattr(module, "_LARGEST_WORD", word)
    law = enumerate_law(lambda bits: bernoulli_exps([2], 3, bits), max_runs=3000)
    assert law.unexplored < Fraction(1, 10**5)
    assert_law(law, coins_law(exp_range(Fraction(2, 3))))


class Heads:
    """Says yes for a while, and writes down what it was asked."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.stops: list[int] = []

    def randrange(self, stop: int, /) -> int:
        self.stops.append(stop)
        return 0 if len(self.stops) <= self.rounds else stop - 1

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        return np.full(size, self.randrange(stop), dtype=np.uint64)


@pytest.mark.parametrize("denominator", [1 << 61, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63])
def test_no_bound_wraps_around(denominator: int) -> None:
    """Every bound that is asked for is the denominator, the toss, or their product in full."""
    bits = Heads(rounds=8)
    bernoulli_exps([denominator - 1], denominator, bits)
    meant = {denominator * k for k in range(1, 9)} | set(range(1, 10))
    assert len(bits.stops) > 8
    assert set(bits.stops) <= meant
    assert max(bits.stops) <= 1 << 63


@pytest.mark.parametrize("denominator", [(1 << 63) - 1, 1 << 63, (1 << 63) + 1, 1 << 80])
def test_large_denominators_keep_the_law(denominator: int) -> None:
    size = 4000
    halves = [denominator // 2] * size
    seen = int(bernoulli_exps(halves, denominator, SeededBits(5)).sum())
    assert stats.binomtest(seen, size, np.exp(-0.5)).pvalue > SURELY
    seen = int(bernoullis(halves, denominator, SeededBits(6)).sum())
    assert stats.binomtest(seen, size, 0.5).pvalue > SURELY


@given(st.lists(st.integers(0, 100), max_size=20), st.integers(1, 50), st.integers(0, 9))
@settings(max_examples=50)
def test_arrays_and_lists_are_read_alike(
    numerators: list[int], denominator: int, seed: int
) -> None:
    listed = bernoulli_exps(numerators, denominator, SeededBits(seed))
    for dtype in (np.int64, np.uint64, np.uint8, object):
        array = np.array(numerators, dtype=dtype)
        assert np.array_equal(bernoulli_exps(array, denominator, SeededBits(seed)), listed)


@pytest.mark.parametrize("toss", [bernoullis, bernoulli_exps])
def test_an_empty_batch_is_empty(toss: Any) -> None:
    assert toss([], 3).shape == (0,)
    assert toss(np.zeros(0, dtype=np.int64), 1 << 70).shape == (0,)


@pytest.mark.parametrize("toss", [bernoullis, bernoulli_exps])
@pytest.mark.parametrize(
    ("numerators", "denominator", "named"),
    [
        ([-1], 2, "numerators"),
        ([1], 0, "denominator"),
        ([0.5], 2, "numerators"),
        ([1], 2.0, "denominator"),
        (np.array([0.5]), 2, "numerators"),
        (np.array([[1]]), 2, "numerators"),
        (np.array([True]), 2, "numerators"),
        (np.array([0.5], dtype=object), 2, "numerators"),
        (np.array([0.5], dtype=object), 1 << 70, "numerators"),
    ],
)
def test_nonsense_is_refused(toss: Any, numerators: Any, denominator: Any, named: str) -> None:
    with pytest.raises(InvalidProblemError, match=named):
        toss(numerators, denominator)


@pytest.mark.parametrize("denominator", [2, 1 << 70])
def test_a_batch_refuses_a_probability_above_one(denominator: int) -> None:
    with pytest.raises(InvalidProblemError, match="at most the denominator"):
        bernoullis([denominator + 1], denominator)


# What must be rejected: each is a sampler that someone has shipped.


def rounded(bits: RandomBits) -> tuple[bool]:
    """A threshold that was rounded to ten bits."""
    return (bits.randrange(1024) < round(float(np.exp(-0.5)) * 1024),)


def off_by_one(bits: RandomBits) -> tuple[bool]:
    """A comparison that includes its end."""
    k = 1
    while bits.randrange(4 * k) <= 2:
        k += 1
    return (k % 2 == 1,)


def wrong_parity(bits: RandomBits) -> tuple[bool]:
    """Counts the successes in place of the tosses."""
    k = 1
    while bits.randrange(2 * k) < 1:
        k += 1
    return (k % 2 == 0,)


def wrapped(bits: RandomBits) -> tuple[bool]:
    """The bound wraps around a word of three bits."""
    k = 1
    while bits.randrange(max(1, (2 * k) % 8)) < 1 and k < 20:
        k += 1
    return (k % 2 == 1,)


@pytest.mark.parametrize("broken", [rounded, off_by_one, wrong_parity, wrapped])
def test_broken_coins_are_rejected(broken: Any) -> None:
    law = enumerate_law(broken, max_runs=3000)
    with pytest.raises(AssertionError):
        assert_law(law, coins_law(exp_range(Fraction(1, 2))))
