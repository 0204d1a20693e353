"""Exponentials against which probabilities of two points are compared, exactly."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from discreet.evaluate.audit.points import exceeds


@given(st.fractions(min_value="1/50", max_value=9), st.integers(40, 300))
def test_an_exponential_is_compared_with_as_many_digits_as_it_takes(x: Fraction, bits: int) -> None:
    scale = 1 << bits
    # The exponential by another way: a Taylor sum of sixty terms in fractions, off by less than 2^-200.
    total, term = Fraction(0), Fraction(1)
    for n in range(1, 160):
        total += term
        term = term * x / n
    below, above = Fraction(int(total * scale) - 1, scale), Fraction(int(total * scale) + 2, scale)
    if bits <= 160:
        assert not exceeds(below, x * x)
        assert exceeds(above, x * x)
