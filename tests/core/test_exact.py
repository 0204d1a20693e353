"""Brackets of exp and log hold, are tight, and reading a number is exact."""

from __future__ import annotations

import math
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import (
    exp_ceil,
    exp_floor,
    float_ceil,
    float_floor,
    log_ceil,
    log_floor,
    root_above,
    root_below,
    to_fraction,
)
from discreet.core.printed import at_least, at_most, decimal, decimal_up

rationals = st.fractions(min_value=-800, max_value=800, max_denominator=10**9)


def reference(function: str, x: Fraction, bits: int) -> Decimal:
    """``2^bits exp(x)`` or ``2^bits ln(x)`` to 900 digits, by another library."""
    with localcontext() as context:
        context.prec = 900
        value = Decimal(x.numerator) / Decimal(x.denominator)
        return (value.exp() if function == "exp" else value.ln()) * Decimal(2) ** bits


@given(rationals, st.integers(0, 200))
@settings(deadline=None, max_examples=150)
def test_exp_lies_between_its_brackets_and_they_are_tight(x: Fraction, bits: int) -> None:
    low, high = exp_floor(x, bits), exp_ceil(x, bits)
    with localcontext() as context:
        context.prec = 900
        true = reference("exp", x, bits)
        assert low <= true <= high
    assert high - low <= 2 + (low >> bits if x > 0 else 0)


@given(rationals.filter(bool), st.integers(0, 200))
@settings(deadline=None, max_examples=150)
def test_log_lies_between_its_brackets_and_they_are_tight(x: Fraction, bits: int) -> None:
    y = abs(x)
    low, high = log_floor(y, bits), log_ceil(y, bits)
    with localcontext() as context:
        context.prec = 900
        assert low <= reference("log", y, bits) <= high
    assert high - low <= 3


def test_the_oracle_rejects_a_bracket_that_is_off_by_one_unit() -> None:
    """The comparison above can fail: one unit more on either side is noticed."""
    x, bits = Fraction(7, 3), 60
    true = reference("exp", x, bits)
    assert not exp_ceil(x, bits) + 1 <= true
    assert not exp_floor(x, bits) + 2 <= true


@pytest.mark.parametrize(("x", "value"), [(Fraction(0), 1 << 10), (Fraction(-5000), 0)])
def test_exp_at_the_ends(x: Fraction, value: int) -> None:
    assert exp_floor(x, 10) == value
    assert exp_ceil(Fraction(0), 10) == 1 << 10
    assert exp_ceil(Fraction(-5000), 10) == 1
    assert exp_floor(Fraction(0), 0) == exp_ceil(Fraction(0), 0) == 1


def test_exponents_far_below_zero_form_no_large_integers() -> None:
    x = Fraction(-(10**30))
    assert exp_floor(x, 60) == 0
    assert exp_ceil(x, 60) == 1


def test_log_of_one_is_zero_and_of_nothing_is_refused() -> None:
    assert log_floor(Fraction(1), 50) == log_ceil(Fraction(1), 50) == 0
    for x in (Fraction(0), Fraction(-1)):
        with pytest.raises(InvalidProblemError, match="positive"):
            log_floor(x, 10)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        (2, Fraction(2)),
        (Decimal("1e-6"), Fraction(1, 10**6)),
        (Fraction(5, 7), Fraction(5, 7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        ("1e3", Fraction(1000)),
    ],
)
def test_a_number_is_read_as_it_was_meant(value: object, exact: Fraction) -> None:
    assert to_fraction(value, "epsilon") == exact  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        True,
        math.nan,
        math.inf,
        "",
        "ten",
        "1/0",
        None,
        Decimal("NaN"),
        Decimal("Infinity"),
        [1],
        "nan",
        1j,
    ],
)
def test_what_is_no_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidProblemError, match="^epsilon: expected a"):
        to_fraction(value, "epsilon")  # type: ignore[arg-type]


@given(st.fractions(min_value=-(10**6), max_value=10**6))
def test_floats_are_rounded_in_the_named_direction(x: Fraction) -> None:
    low, high = float_floor(x), float_ceil(x)
    assert Fraction(low) <= x <= Fraction(high)
    assert high in {low, math.nextafter(low, math.inf)}


def test_fractions_print_exactly_or_rounded_up() -> None:
    assert decimal(Fraction(1, 10)) == "0.1"
    assert decimal(Fraction(1, 3)) == "1/3"
    assert decimal(Fraction(10**15 + 1)) == "1000000000000001"
    assert decimal_up(Fraction(1, 3)) == "1/3"
    shown = decimal_up(Fraction(2**60 + 1, 2**60))
    assert shown == "1.000001"
    assert Fraction(decimal_up(Fraction(123456789012345, 7 * 10**12))) >= Fraction(
        123456789012345, 7 * 10**12
    )


@pytest.mark.parametrize(
    "value",
    [
        "1e1001",
        "1E-1001",
        "1E-99999999999",
        Decimal("1e999999999"),
        Decimal("1e-999999999"),
        "2e" + "9" * 5000,
        "1" * 1001,
        "1/" + "3" * 1000,
    ],
)
def test_a_number_that_would_fill_the_memory_is_refused(value: str | Decimal) -> None:
    """It is written in a few letters, and may stand in a file of somebody else."""
    with pytest.raises(InvalidProblemError, match="epsilon: expected a finite number"):
        to_fraction(value, "epsilon")


def test_the_longest_number_is_read_and_what_is_refused_is_cut() -> None:
    assert to_fraction("1e1000", "epsilon") == 10**1000
    assert to_fraction("9" * 1000, "epsilon") == 10**1000 - 1
    assert to_fraction(Decimal("12.5e-7"), "epsilon") == Fraction(1, 800_000)
    with pytest.raises(InvalidProblemError) as caught:
        to_fraction("x" * 10**6, "epsilon")
    assert len(str(caught.value)) < 100


def test_beyond_the_floats_rounding_keeps_its_direction() -> None:
    huge = Fraction(10) ** 400
    assert (float_floor(huge), float_ceil(huge)) == (sys.float_info.max, math.inf)
    assert (float_floor(-huge), float_ceil(-huge)) == (-math.inf, -sys.float_info.max)


@pytest.mark.parametrize(
    "value",
    [
        Fraction(7, 10**324),
        Fraction(1, 3 * 10**320),
        Fraction(1, 3**900),
        Fraction(10**401, 3),
        Fraction(1, 3),
    ],
)
def test_a_printed_budget_is_never_less_than_the_budget(value: Fraction) -> None:
    """Floats near the least of all have few digits, and rounding to one of them went down."""
    shown = Fraction(decimal_up(value))
    assert 0 <= shown / value - 1 < Fraction(1, 10**6)


@given(st.floats(-1e300, 1e300), st.integers(1, 12))
def test_a_printed_bound_is_on_the_side_of_the_bound(value: float, digits: int) -> None:
    below, above = (float(text(value, digits).replace(",", "")) for text in (at_least, at_most))
    assert below <= value <= above
    assert above - below <= abs(value) * 10.0 ** (2 - digits)


def test_a_bound_that_is_infinite_is_printed() -> None:
    assert (at_most(math.inf), at_least(-math.inf), at_least(0.0)) == ("infinite", "-infinite", "0")


def test_the_ceiling_of_zero_has_no_sign() -> None:
    """A channel with one secret was said to achieve an epsilon of -0."""
    assert str(float_ceil(Fraction(0))) == "0.0"
    assert at_most(float_ceil(Fraction(0))) == "0"


@given(st.fractions(min_value=0, max_value=10**9))
def test_bounds_on_a_square_root_enclose_it_within_a_unit(x: Fraction) -> None:
    assert root_below(x) ** 2 <= x < root_above(x) ** 2
    assert root_above(x) - root_below(x) == Fraction(1, 2**60)


@pytest.mark.parametrize("root", [0, 1, 7, Fraction(3, 4)])
def test_the_square_root_of_a_square_is_exact_from_below(root: Fraction) -> None:
    assert root_below(Fraction(root) ** 2) == root
