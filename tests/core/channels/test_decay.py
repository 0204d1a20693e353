"""The integer exponential: its specification, replayed in Python integers, and its error bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.decay import Decay
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_ceil, exp_floor

WHOLE = 2**62


def by_specification(rate: Fraction, length: int) -> int:
    """Seven digits to base 256, six products, each rounded down: in integers of any size."""
    value = exp_floor(-rate * (length & 255), 62)
    for place in range(1, 7):
        digit = (length >> 8 * place) & 255
        value = value * exp_floor(-rate * (digit << 8 * place), 62) >> 62
    return value


RATES = [Fraction(1, 2**40), Fraction(3, 10**9), Fraction(1, 7), Fraction(50)]


@pytest.mark.parametrize("rate", RATES)
@given(st.data())
@settings(deadline=None, max_examples=40)
def test_values_are_those_of_the_specification_and_within_its_error(
    rate: Fraction, data: st.DataObject
) -> None:
    near = min(2**52 - 1, int(50 / rate))
    lengths = data.draw(
        st.lists(st.integers(0, near) | st.integers(0, 2**52 - 1), min_size=1, max_size=5)
    )
    values = Decay(rate)(np.array(lengths)).tolist()
    for length, value in zip(lengths, values, strict=True):
        assert value == by_specification(rate, length)
        assert value <= exp_ceil(-rate * length, 62)
        assert value > exp_floor(-rate * length, 62) - 20


def test_a_length_of_zero_is_one() -> None:
    assert Decay(Fraction(1))(np.array([0])).tolist() == [WHOLE]
    assert Decay(Fraction(1))(np.zeros(0, dtype=np.int64)).size == 0


@pytest.mark.parametrize("wrong", [[-1], [2**52]])
def test_lengths_out_of_range_are_refused(wrong: list[int]) -> None:
    with pytest.raises(InvalidProblemError, match="lengths"):
        Decay(Fraction(1))(np.array(wrong))


def test_a_rate_that_is_not_positive_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="rate"):
        Decay(Fraction(0))
