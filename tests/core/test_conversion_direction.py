"""The epsilon to which a rho is converted is rounded up: it is never below the formula's least value."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from scipy.optimize import minimize_scalar

from discreet.core.calculus import to_approx_dp
from discreet.core.guarantee import ZeroConcentratedDP

GRID = Fraction(1, 1 << 40)
ROUNDING = Fraction(1, 10**14)
"""More than a minimum found in floats is off, since its error enters squared."""


def least(rho: Fraction, delta: Fraction) -> Fraction:
    """Minimize ``rho a + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)`` in floats, evaluate it there with 50 digits."""

    def rough(t: float) -> float:
        a = 1 + math.exp(t)
        tail = (math.log(delta) + math.log(a)) / (a - 1)
        return float(rho) * a + math.log1p(-1 / a) - tail

    best = minimize_scalar(rough, bounds=(-10, 20), method="bounded", options={"xatol": 1e-10})
    with localcontext() as context:
        context.prec = 50
        a = 1 + Decimal(math.exp(best.x))
        slack = Decimal(delta.numerator) / Decimal(delta.denominator)
        first = Decimal(rho.numerator) / Decimal(rho.denominator) * a
        return Fraction(first + (1 - 1 / a).ln() - (slack.ln() + a.ln()) / (a - 1))


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 50)])
@pytest.mark.parametrize("rho", [Fraction(n, 7) for n in (1, 2, 3, 10, 50)])
def test_a_converted_epsilon_is_at_least_what_is_proved(rho: Fraction, delta: Fraction) -> None:
    found = to_approx_dp(ZeroConcentratedDP(rho, "replace-one"), delta=delta).epsilon
    assert found >= least(rho, delta) - ROUNDING
    assert found <= least(rho, delta) + GRID + ROUNDING
    assert found % GRID == 0
