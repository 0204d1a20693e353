"""Inversion digit by digit: the law is the thresholds', whatever the brackets' width."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.randomness import SeededBits
from discreet.core.randomness.inversion import Inversion, exp_bracket, scaled_product
from discreet.testing import assert_law, enumerate_law

FINE = 300
WHOLE = 2**62


def roots(bits: int) -> list[tuple[int, int]]:
    """Bracket 1/4, 1/2 and 1 times 1 / sqrt(2)."""
    lows = [isqrt(1 << (2 * bits - power)) for power in (5, 3, 1)]
    return [(low, low + 1) for low in lows]


def coarse_roots(bits: int) -> list[tuple[int, int]]:
    """Bracket them so badly that no digit is certain before many bits are asked for."""
    return [(low - (1 << 62), high + (1 << 62)) for low, high in roots(bits)]


def shifted_roots(bits: int) -> list[tuple[int, int]]:
    """Brackets that are wrong by a thousandth."""
    wrong = (1 << bits) // 1000
    return [(low + wrong, high + wrong) for low, high in roots(bits)]


def law_of_roots() -> dict[object, tuple[Fraction, Fraction]]:
    """The probabilities of the pieces between 0, the roots and 1, within 2^-298."""
    low, high = zip(*[(0, 0), *roots(FINE), (1 << FINE, 1 << FINE)], strict=True)
    return {
        (i,): (
            Fraction(low[i + 1] - high[i], 1 << FINE),
            Fraction(high[i + 1] - low[i], 1 << FINE),
        )
        for i in range(4)
    }


@pytest.mark.parametrize("first", [1, 3])
@pytest.mark.parametrize("brackets", [roots, coarse_roots])
def test_the_law_is_that_of_the_thresholds(brackets: type, first: int) -> None:
    law = enumerate_law(lambda bits: Inversion(brackets, first).draw(1, bits), max_runs=150)
    assert law.unexplored < Fraction(1, 10**8)
    assert_law(law, law_of_roots())


def test_wrong_thresholds_are_seen() -> None:
    law = enumerate_law(lambda bits: Inversion(shifted_roots, 1).draw(1, bits), max_runs=150)
    with pytest.raises(AssertionError, match="is more than"):
        assert_law(law, law_of_roots())


def test_draws_of_a_batch_are_independent() -> None:
    law = enumerate_law(lambda bits: Inversion(roots, 2).draw(2, bits), max_runs=800)
    assert law.unexplored < Fraction(1, 50)
    single = law_of_roots()
    pairs = {
        (*a, *b): (single[a][0] * single[b][0], single[a][1] * single[b][1])  # type: ignore[misc] # tuples of one
        for a in single
        for b in single
    }
    assert_law(law, pairs)


def test_an_empty_batch_is_empty() -> None:
    assert Inversion(roots, 2).draw(0, SeededBits(0)).shape == (0,)


@given(st.fractions(-100, 0), st.integers(1, 128))
def test_exp_is_bracketed(x: Fraction, bits: int) -> None:
    low, high = exp_bracket(x, bits)
    assert low << 40 <= exp_ceil(x, bits + 40)
    assert high << 40 >= exp_floor(x, bits + 40)
    assert high - low <= 4


def test_a_power_below_one_unit_costs_nothing() -> None:
    assert exp_bracket(Fraction(-(10**30)), 64) == (0, 1)
    assert exp_bracket(Fraction(0), 64) == (1 << 64, 1 << 64)


@example(2**32 - 1, 2**32 - 1)
@given(st.integers(0, WHOLE), st.integers(0, WHOLE))
@settings(deadline=None)
def test_products_are_those_of_integers(p: int, q: int) -> None:
    assert scaled_product(np.array([p]), np.array([q])).tolist() == [p * q >> 62]


def test_products_of_the_largest_factors_do_not_overflow() -> None:
    edge = [WHOLE, WHOLE - 1, 2**61, 2**31 - 1, 2**62 - 2**31, 0]
    p, q = (side.ravel() for side in np.meshgrid(edge, edge))
    expected = [x * y >> 62 for x, y in zip(p.tolist(), q.tolist(), strict=True)]
    assert scaled_product(p, q).tolist() == expected
