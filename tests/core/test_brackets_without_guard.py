"""Brackets of exp and ln hold by the direction of each rounding; guard bits only make them tight."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from discreet.core import exact

DIGITS = 120
NUMBERS = [Fraction(n, d) for n in range(1, 30) for d in (7, 16, 29)]
LONG = Fraction(10) ** (5 - DIGITS)
"""More than a correctly rounded decimal errs by, for numbers below 10^4."""


def decimal_of(x: Fraction) -> Decimal:
    """Divide with all digits."""
    return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.fixture(autouse=True)
def _without_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_GUARD_BITS", 0)


@pytest.mark.parametrize("bits", [1, 5, 12, 30])
def test_a_logarithm_lies_between_its_brackets(bits: int) -> None:
    with localcontext() as context:
        context.prec = DIGITS
        for x in NUMBERS:
            true = Fraction(decimal_of(x).ln()) * 2**bits
            low = exact.log_floor.__wrapped__(x, bits)
            high = exact.log_ceil.__wrapped__(x, bits)
            assert low <= true + LONG, x
            assert high >= true - LONG, x


@pytest.mark.parametrize("bits", [1, 5, 12, 30])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_exponential_lies_between_its_brackets(bits: int, sign: int) -> None:
    with localcontext() as context:
        context.prec = DIGITS
        for x in NUMBERS:
            true = Fraction(decimal_of(sign * x).exp()) * 2**bits
            low = exact.exp_floor.__wrapped__(sign * x, bits)
            high = exact.exp_ceil.__wrapped__(sign * x, bits)
            assert low <= true * (1 + LONG), (sign, x)
            assert high >= true * (1 - LONG), (sign, x)


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("work", [0, 3, 9, 25])
def test_a_series_errs_in_the_direction_that_was_asked(work: int, up: bool) -> None:  # noqa: FBT001 - a parameter
    """The inner sums, before anything is shifted away: exp of what is not negative, and twice artanh up to a third."""
    with localcontext() as context:
        context.prec = DIGITS
        side = 1 if up else -1
        for x in (Fraction(n, 13) for n in range(40)):
            error = exact._exp_positive(x, work, up=up) - Fraction(decimal_of(x).exp()) * 2**work
            assert side * error >= -LONG, x
        for t in (Fraction(n, 90) for n in range(31)):
            true = Fraction(decimal_of((1 + t) / (1 - t)).ln()) * 2**work
            assert side * (exact._twice_artanh(t, work, up=up) - true) >= -LONG, t
