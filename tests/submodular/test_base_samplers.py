"""Random bases against enumeration: exact laws of the exact samplers, a bound for the walk, and brackets that hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.randomness import SeededBits
from discreet.submodular import (
    GraphicMatroid,
    LaminarMatroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
)
from discreet.submodular.draws.growing import subset
from discreet.submodular.draws.intervals import add, choose, divide, exponential, multiply
from discreet.submodular.draws.whole_bases import walk_base, walk_steps
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.methods.bases import draw_base, has_exact_sampler
from discreet.testing import assert_law, enumerate_law
from submodular.tiny import bases_of

EXACT: dict[str, Matroid] = {
    "uniform": UniformMatroid(5, 2),
    "all of it": UniformMatroid(3, 3),
    "partition": PartitionMatroid([0, 0, 0, 1, 1], [2, 1]),
    "empty part": PartitionMatroid([0, 0, 0, 1, 1], [2, 0]),
    "roomy part": PartitionMatroid([0, 0, 1, 1], [5, 1]),
    "laminar": LaminarMatroid(5, [[0, 1, 2, 3, 4], [0, 1, 2], [3, 4]], [2, 2, 2]),
    "nested": LaminarMatroid(5, [[0, 1, 2, 3], [0, 1, 2], [0, 1]], [2, 2, 1]),
    "same group twice": LaminarMatroid(4, [[0, 1, 2], [0, 1, 2]], [2, 1]),
    "graph": GraphicMatroid(4, [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]]),
    "parallel edges": GraphicMatroid(3, [[0, 1], [0, 1], [1, 2], [2, 2]]),
    "forest": GraphicMatroid(5, [[0, 1], [2, 3], [3, 4], [2, 4]]),
}

SCORES = [3, 1, 4, 1, 5]


def weights(matroid: Matroid, scores: Sequence[int], rate: float) -> dict[Any, float]:
    powers = {base: math.exp(rate * sum(scores[e] for e in base)) for base in bases_of(matroid)}
    total = sum(powers.values())
    return {base: power / total for base, power in powers.items()}


def near(p: float) -> tuple[Fraction, Fraction]:
    return Fraction(p) * (1 - Fraction(1, 10**9)), Fraction(p) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("name", EXACT)
def test_exact_samplers_have_the_exponential_mechanism_s_law(name: str) -> None:
    matroid = EXACT[name]
    assert has_exact_sampler(matroid)
    scores = SCORES[: matroid.n_elements]
    law = enumerate_law(lambda bits: draw_base(matroid, scores, Fraction(1, 3), bits), max_runs=900)
    assert law.unexplored < Fraction(1, 30)
    assert_law(law, {base: near(p) for base, p in weights(matroid, scores, 1 / 3).items()})


def test_a_sampler_with_rounded_weights_is_rejected() -> None:
    """Integer weights in place of exponentials: the same check says no."""
    matroid = EXACT["uniform"]
    expected = weights(matroid, SCORES, 1 / 3)
    law = enumerate_law(
        lambda bits: draw_base(matroid, [3, 1, 4, 1, 4], Fraction(1, 3), bits), max_runs=900
    )
    with pytest.raises(AssertionError, match="is more than"):
        assert_law(law, {base: near(p) for base, p in expected.items()})


def test_weights_of_any_size_are_no_matter() -> None:
    """Differences of a million in the exponent, ties included."""
    scores = [10**9, 0, 10**9, 5 * 10**8, 0]
    assert draw_base(EXACT["uniform"], scores, Fraction(1, 100), SeededBits(1)) == (0, 2)
    assert draw_base(EXACT["partition"], scores, Fraction(1, 100), SeededBits(1)) == (0, 2, 3)
    assert draw_base(EXACT["graph"], scores, Fraction(1, 100), SeededBits(1)) == (0, 2, 3)


@pytest.mark.statistical
def test_the_walk_comes_close_to_its_law() -> None:
    matroid = TransversalMatroid([[True, False], [True, False], [True, True], [False, True]])
    assert not has_exact_sampler(matroid)
    assert walk_steps(matroid, Fraction(1, 3)) > 2 * 60 * math.log(2)
    bits = SeededBits(5)
    scores = [2, 0, 1, 3]
    drawn = Counter(walk_base(matroid, scores, Fraction(1, 3), bits) for _ in range(300))
    expected = weights(matroid, scores, 1 / 3)
    assert set(drawn) <= set(expected)
    for base, p in expected.items():
        assert abs(drawn[base] / 300 - p) < 5 * math.sqrt(p * (1 - p) / 300)


def test_the_number_of_steps_does_not_depend_on_the_scores() -> None:
    matroid = UniformMatroid(4, 2)

    class Counted:
        """A source that counts the drops, the only draws below 2 that a walk on bases of two elements makes first."""

        def __init__(self) -> None:
            self.source = SeededBits(1)
            self.drops = 0

        def randrange(self, stop: int, /) -> int:
            self.drops += stop == 2
            return self.source.randrange(stop)

        def randranges(self, stop: int, size: int) -> Any:
            return self.source.randranges(stop, size)

    assert walk_steps(matroid, Fraction(1)) == walk_steps(matroid, Fraction(1))
    for scores in ([0, 0, 0, 0], [10**6, 0, 0, 0]):
        bits = Counted()
        walk_base(matroid, scores, Fraction(1), bits)
        assert bits.drops >= walk_steps(matroid, Fraction(1))


@settings(deadline=None, max_examples=60)
@given(
    st.fractions(-3000, 3000, max_denominator=50),
    st.fractions(-3000, 3000, max_denominator=50),
    st.sampled_from([16, 96]),
)
def test_brackets_hold_the_numbers(x: Fraction, y: Fraction, precision: int) -> None:
    """Sums, products and quotients of exponentials, against brackets of four times the bits."""
    a, b = exponential(x, precision), exponential(y, precision)
    fine_a, fine_b = exponential(x, 4 * precision), exponential(y, 4 * precision)
    for operation in (add, multiply, divide):
        low, high, exponent = operation(a, b, precision)
        fine_low, fine_high, fine_exponent = operation(fine_a, fine_b, 4 * precision)
        shift = exponent - fine_exponent
        assert low * Fraction(2) ** shift <= fine_high
        assert high * Fraction(2) ** shift >= fine_low
        assert (high - low) * 2 ** (precision - 8) <= 64 * high


def test_undecided_choices_get_more_bits() -> None:
    """Brackets as wide as a half at first: the law is that of the numbers inside."""
    asked: list[int] = []

    def weigh(precision: int) -> list[tuple[int, int, int]]:
        asked.append(precision)
        wide = 1 if precision > 96 else 1 << 95
        return [((1 << precision) // 3 - wide // 4, (1 << precision) // 3 + wide // 4 + 1, 0)] * 2

    class Script:
        """One half, and a little more after a hundred digits."""

        drawn = 0

        def randrange(self, stop: int, /) -> int:
            self.drawn += 1
            return int(self.drawn in {1, 100})

        def randranges(self, stop: int, size: int) -> Any:
            raise AssertionError

    script = Script()
    assert choose(weigh, script) == 1
    assert asked == [96, 192]
    assert script.drawn >= 100


@pytest.mark.parametrize(("n", "size"), [(3, 0), (3, 1), (4, 2), (4, 3), (3, 7)])
def test_candidates_are_uniform_subsets(n: int, size: int) -> None:
    law = enumerate_law(lambda bits: subset(np.arange(n) * 10, size, bits))
    every = list(combinations(range(0, 10 * n, 10), min(n, size)))
    assert_law(law, dict.fromkeys(every, Fraction(1, len(every))))


@pytest.mark.statistical
def test_a_large_uniform_base_has_the_right_inclusion_probabilities() -> None:
    """Independent of the sampler: inclusion probabilities of 30 elements from elementary symmetric sums in floats."""
    n, r, rate = 30, 5, 0.2
    scores = [(7 * i) % 11 for i in range(n)]
    w = [math.exp(rate * s) for s in scores]

    def symmetric(values: list[float]) -> list[float]:
        sums = [1.0] + [0.0] * r
        for value in values:
            for k in range(r, 0, -1):
                sums[k] += value * sums[k - 1]
        return sums

    whole = symmetric(w)[r]
    counts: Counter[int] = Counter()
    bits = SeededBits(3)
    for _ in range(3000):
        counts.update(draw_base(UniformMatroid(n, r), scores, Fraction(1, 5), bits))
    for e in range(n):
        p = w[e] * symmetric(w[:e] + w[e + 1 :])[r - 1] / whole
        assert abs(counts[e] / 3000 - p) < 5 * math.sqrt(p * (1 - p) / 3000)
