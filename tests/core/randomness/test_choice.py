"""Choices: exact by integer weights and by scores of any size; nonsense is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.randomness import SeededBits, categorical, categoricals, exponential_mechanism
from discreet.core.randomness.choice import _exp_words
from discreet.testing import assert_law, enumerate_law, rationals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.core.exact import Exact


class Script:
    """Draws what it is told."""

    def __init__(self, draws: Iterator[int]) -> None:
        self.draws = draws

    def randrange(self, stop: int, /) -> int:
        return next(self.draws)

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        return np.array([next(self.draws) for _ in range(size)], dtype=np.uint64)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any))
@settings(max_examples=50)
def test_a_choice_by_weights_is_exact(weights: list[int]) -> None:
    expected = {i: Fraction(w, sum(weights)) for i, w in enumerate(weights)}
    assert_law(enumerate_law(lambda bits: categorical(weights, bits)), expected)
    for dtype in (np.uint64, np.int64, object):
        array = np.array(weights, dtype=dtype)
        law = enumerate_law(lambda bits, array=array: categoricals(array, 1, bits))  # type: ignore[misc] # bound early
        assert_law(law, {(i,): p for i, p in expected.items()})


def test_choices_of_a_batch_are_independent() -> None:
    weights = [1, 0, 2]
    law = enumerate_law(lambda bits: categoricals(weights, 3, bits))
    assert law.unexplored == 0
    assert_law(law, lambda seen: Fraction(np.prod([weights[i] for i in seen]).item(), 27))


@pytest.mark.parametrize("unit", [1, 1 << 60, (1 << 61) + 1, 1 << 100])
def test_weights_may_have_any_size(unit: int) -> None:
    """The draw at each border of the sums falls on the right side."""
    weights = [unit, 0, 2 * unit]
    borders = [0, unit - 1, unit, 3 * unit - 1]
    assert [categorical(weights, Script(iter([u]))) for u in borders] == [0, 0, 2, 2]
    assert categoricals(weights, 4, Script(iter(borders))).tolist() == [0, 0, 2, 2]


def test_an_empty_batch_is_empty() -> None:
    assert categoricals([1], 0).shape == (0,)
    assert categoricals([1 << 80], 0).shape == (0,)


@pytest.mark.parametrize("weights", [[], [0, 0], [-1, 2], [0.5], np.array([1.0])])
def test_weights_are_integers_with_a_positive_sum(weights: Any) -> None:
    with pytest.raises(InvalidProblemError, match="weights"):
        categorical(weights)
    with pytest.raises(InvalidProblemError, match="weights"):
        categoricals(weights, 1)


@pytest.mark.parametrize("weight", [1, 1 << 80])
def test_a_size_is_not_negative(weight: int) -> None:
    with pytest.raises(InvalidProblemError, match="size"):
        categoricals([weight], -1)


def test_one_candidate_needs_no_draw() -> None:
    assert exponential_mechanism([5], 1, 1, bits=Script(iter([]))) == 0


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8),
    st.integers(-(10**30), 10**30),
    st.integers(0, 5),
)
@settings(max_examples=60)
def test_only_differences_of_scores_matter(scores: list[int], shift: int, seed: int) -> None:
    plain = exponential_mechanism(scores, "0.1", 1, bits=SeededBits(seed))
    shifted = [score + shift for score in scores]
    assert exponential_mechanism(shifted, "0.1", 1, bits=SeededBits(seed)) == plain


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8), rationals("1/9", 9), st.integers(0, 5)
)
@settings(max_examples=60)
def test_units_of_scores_do_not_matter(scores: list[int], unit: Fraction, seed: int) -> None:
    """Also: arrays and lists, epsilon with and without monotone scores, are read alike."""
    plain = exponential_mechanism(np.array(scores), "0.1", 1, bits=SeededBits(seed))
    scaled = [score * unit for score in scores]
    assert exponential_mechanism(scaled, "0.1", unit, bits=SeededBits(seed)) == plain
    halved = exponential_mechanism(scores, "0.05", 1, monotone=True, bits=SeededBits(seed))
    assert halved == plain


@pytest.mark.parametrize(
    "scores",
    [
        np.array([-(1 << 63), (1 << 63) - 1, 0]),
        np.array([0, (1 << 64) - 1, 5], dtype=np.uint64),
        [0, 10**40, 5],
        [0, "1e40", "0.5"],
        [0, 1 << 63, 1],
    ],
)
def test_enormous_spreads_do_not_wrap(scores: Any) -> None:
    assert [exponential_mechanism(scores, 1, 1, bits=SeededBits(s)) for s in range(9)] == [1] * 9


def test_a_tiny_epsilon_is_nearly_uniform() -> None:
    law = enumerate_law(
        lambda bits: exponential_mechanism([0, 1 << 40], "1e-30", 1, bits=bits), max_runs=100
    )
    assert law.masses[0] < Fraction(1, 2)
    assert law.bounds(1)[0] > Fraction(1, 2) - law.unexplored
    assert law.unexplored < Fraction(1, 1 << 45)


@pytest.mark.parametrize(("last", "chosen"), [(1, 1), (0, 0)])
def test_digits_beyond_the_brackets_are_resolved(last: int, chosen: int) -> None:
    """The digits of 1/3, the border between the first two of three equal scores, are followed for 200 places."""
    third = islice(cycle([0, 1]), 200 if last == 1 else 201)
    bits = Script(chain(third, [last], cycle([last])))
    assert exponential_mechanism([7, 7, 7], 1, 1, bits=bits) == chosen


def test_one_score_may_dominate_many() -> None:
    scores = np.zeros(100_001, dtype=np.int64)
    scores[77_777] = 1000
    drawn = {exponential_mechanism(scores, 1, 1, bits=SeededBits(seed)) for seed in range(5)}
    assert drawn == {77_777}


@pytest.mark.parametrize(
    ("scores", "epsilon", "sensitivity", "named"),
    [
        ([], 1, 1, "scores"),
        (np.zeros(0, dtype=np.int64), 1, 1, "scores"),
        (np.zeros((1, 1), dtype=np.int64), 1, 1, "scores"),
        (np.zeros(2), 1, 1, "scores"),
        ([0, 0.5], 1, 1, "float"),
        ([0, np.float32(1)], 1, 1, "float"),
        ([0, None], 1, 1, "scores"),
        ([0], 0, 1, "epsilon"),
        ([0], -1, 1, "epsilon"),
        ([0], 1, 0, "sensitivity"),
    ],
)
def test_nonsense_is_refused(scores: Any, epsilon: Exact, sensitivity: Exact, named: str) -> None:
    with pytest.raises(InvalidProblemError, match=named):
        exponential_mechanism(scores, epsilon, sensitivity)


@given(
    st.lists(st.integers(0, 500) | st.integers(0, (1 << 63) - 1), min_size=1, max_size=6),
    rationals("1/100000", 3, max_denominator=10**9),
)
@settings(max_examples=60, deadline=None)
def test_machine_words_bracket_exp(deficits: list[int], rate: Fraction) -> None:
    lower, upper = _exp_words(np.array(deficits, dtype=np.int64), rate)
    for deficit, low, high in zip(deficits, lower.tolist(), upper.tolist(), strict=True):
        x = max(-rate * deficit, Fraction(-200))
        assert low << 20 <= exp_ceil(x, 82)
        assert high << 20 >= exp_floor(x, 82)
        assert high - low <= 64


def test_zero_deficits_are_exact() -> None:
    lower, upper = _exp_words(np.zeros(3, dtype=np.int64), Fraction(1, 7))
    assert lower.tolist() == upper.tolist() == [1 << 62] * 3
