"""How far a sum of noises is from 0: against exact convolutions in fractions, and never too near."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.exact import exp_ceil, exp_floor
from discreet.hierarchy.noise_sum import Term, half_width

BITS = 160


def law(scale: Fraction, noise: str) -> dict[int, Fraction]:
    """Give a law in fractions whose distance from the true one is below 2^-120."""

    def weight(x: int) -> Fraction:
        exponent = -abs(x) / scale if noise == "laplace" else -Fraction(x * x) / (2 * scale)
        return Fraction(exp_floor(exponent, BITS) + exp_ceil(exponent, BITS), 2 << BITS)

    most = int(100 * scale) + 1 if noise == "laplace" else int(15 * float(scale) ** 0.5) + 2
    weights = {x: weight(x) for x in range(-most, most + 1)}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items()}


@cache
def whole_law(case: int, noise: str) -> dict[int, Fraction]:
    """Convolve the terms of a case exactly; what is rounded is below 2^-150."""
    whole = {0: Fraction(1)}
    for term, count in CASES[case].items():
        one = law(term.scale, noise)
        for _ in range(count):
            added: dict[int, Fraction] = {}
            for (x, p), (y, q) in product(whole.items(), one.items()):
                at = x + term.factor * y
                added[at] = added.get(at, Fraction(0)) + Fraction(int((p * q) * 2**BITS), 2**BITS)
            whole = added
    return whole


def exact(case: int, noise: str, coverage: Fraction) -> int:
    whole = whole_law(case, noise)
    covered, k = whole[0], 0
    while covered < coverage:
        k += 1
        covered += whole.get(k, 0) + whole.get(-k, 0)
    return k


CASES: list[dict[Term, int]] = [
    {Term(1, Fraction(1)): 1},
    {Term(1, Fraction(1)): 2},
    {Term(1, Fraction(1, 10)): 1},
    {Term(3, Fraction(1, 2)): 1},
    {Term(1, Fraction(1, 2)): 1, Term(2, Fraction(2, 3)): 1},
]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("coverage", ["0.5", "0.9", "0.95", "0.999"])
def test_the_half_width_is_the_least_that_covers(case: int, noise: str, coverage: str) -> None:
    found = half_width(CASES[case], noise, Fraction(coverage))  # type: ignore[arg-type]
    assert found == exact(case, noise, Fraction(coverage))


def test_no_noise_has_no_width() -> None:
    assert half_width({}, "laplace", Fraction(1, 2)) == 0


def test_a_probability_near_1_has_a_half_width_that_covers() -> None:
    """Where floats cannot tell, Chernoff's bound is taken."""
    beyond = Fraction(1, 10**13)
    width = half_width({Term(1, Fraction(3)): 1}, "laplace", 1 - beyond)
    # P(|X| > k) = 2 q^(k + 1) / (1 + q) with q = exp(-1/3).
    q = Fraction(exp_ceil(-Fraction(1, 3), BITS), 1 << BITS)
    assert 2 * q ** (width + 1) / (1 + q) <= beyond
    assert width < 120


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_wide_noise_is_at_most_a_percent_wider(noise: str) -> None:
    """The law of wide noise is near a continuous one, which scales."""
    small, large = Fraction(20), Fraction(20_000)
    if noise == "gaussian":
        small, large = small**2, large**2
    fine = half_width({Term(1, small): 2}, noise, Fraction("0.95"))  # type: ignore[arg-type]
    wide = half_width({Term(1, large): 2}, noise, Fraction("0.95"))  # type: ignore[arg-type]
    assert 1000 * (fine - 1) <= wide <= 1000 * (fine + 1) * 1.01


@settings(max_examples=12, deadline=None)
@given(
    st.fractions(min_value=Fraction(1, 4), max_value=50, max_denominator=10),
    st.integers(1, 50),
    st.sampled_from(["laplace", "gaussian"]),
)
def test_more_noise_or_more_coverage_is_wider(scale: Fraction, count: int, noise: str) -> None:
    def width(scale: Fraction, count: int, coverage: str) -> int:
        return half_width({Term(1, scale): count}, noise, Fraction(coverage))  # type: ignore[arg-type]

    one = width(scale, count, "0.9")
    assert one <= width(scale, count, "0.99")
    assert one <= width(scale, count + 1, "0.9")
    assert one <= width(2 * scale, count, "0.9") <= 4 * one + 4
