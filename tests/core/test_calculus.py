"""What follows from guarantees: sums, implications, and the zCDP conversion."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.calculus import compose, implies, to_approx_dp
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import (
    ApproxDP,
    KAnonymity,
    MetricDP,
    PureDP,
    Scope,
    ZeroConcentratedDP,
)

SPACE = Scope("ab" * 32, 25, Fraction(11, 10))
OTHER = Scope("cd" * 32, 25, Fraction(11, 10))
OPEN = Scope("ab" * 32, 25, None, 3, (4,))


def metric(
    epsilon: Any, scope: Scope | None = SPACE, radius: Any = 2, unit: str = "km"
) -> MetricDP:
    return MetricDP(epsilon, unit, radius, scope=scope)


def test_budgets_add() -> None:
    pure = PureDP("0.1", "replace-one")
    assert compose(pure) == pure
    assert compose(pure, pure, pure).epsilon == Fraction(3, 10)
    approx = ApproxDP(1, "1e-6", "replace-one")
    assert compose(approx, pure, approx) == ApproxDP("2.1", "2e-6", "replace-one")
    zcdp = ZeroConcentratedDP("0.5", "replace-one")
    assert compose(pure, zcdp) == ZeroConcentratedDP("0.505", "replace-one")


def test_metric_guarantees_add_on_one_space() -> None:
    both = compose(metric(1), metric("0.5"))
    assert both.epsilon == Fraction(3, 2)
    assert isinstance(both.scope, Scope)
    assert both.scope.all_pairs_epsilon == Fraction(11, 5)
    apart = compose(metric(1, OPEN), metric(1, OPEN))
    assert isinstance(apart.scope, Scope)
    assert apart.scope.all_pairs_epsilon is None


@pytest.mark.parametrize(
    "parts",
    [
        (KAnonymity(5, ("age",)),),
        (PureDP(1, "replace-one"), KAnonymity(5, ("age",))),
        (PureDP(1, "replace-one"), PureDP(1, "add-remove-one")),
        (PureDP(1, "replace-one"), metric(1)),
        (metric(1), PureDP(1, "replace-one")),
        (ApproxDP(1, "1e-6", "replace-one"), ZeroConcentratedDP(1, "replace-one")),
        (metric(1, None), metric(1, None)),
        (metric(1), metric(1, None)),
        (metric(1), metric(1, OTHER)),
        (metric(1), metric(1, OPEN)),
        (metric(1), metric(1, radius=3)),
        (metric(1), metric(1, unit="m")),
    ],
    ids=lambda parts: " + ".join(type(part).__name__ for part in parts),
)
def test_what_has_no_composition_theorem_is_refused(parts: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidProblemError, match="compose"):
        compose(*parts)


PURE = PureDP(1, "add-remove-one")
YES = [
    (PURE, PureDP(1, "add-remove-one")),
    (PURE, ApproxDP(1, "1e-9", "add-remove-one")),
    (PURE, ZeroConcentratedDP("0.5", "add-remove-one")),
    (PURE, PureDP(2, "replace-one")),
    (PURE, ApproxDP(2, "1e-9", "replace-one")),
    (PureDP(1, "add-remove-person"), PureDP(2, "replace-person")),
    (ApproxDP(1, "1e-9", "replace-one"), ApproxDP(2, "1e-8", "replace-one")),
    (ZeroConcentratedDP("0.1", "replace-one"), ZeroConcentratedDP("0.2", "replace-one")),
    (ZeroConcentratedDP("0.1", "replace-one"), ApproxDP("2.2", "1e-6", "replace-one")),
    (metric(1), metric(1)),
    (metric(1), metric(1, None)),
    (metric(1), metric(2, radius=1)),
    (metric(1), metric("1.1", None, radius=None)),
    (metric(1, radius=None), metric(1, None, radius=2)),
    (KAnonymity(5, ("age", "zip")), KAnonymity(3, ("zip",))),
]
NO = [
    (PURE, PureDP("0.9", "add-remove-one")),
    (PURE, PureDP(1, "replace-one")),
    (PURE, ZeroConcentratedDP("0.49", "add-remove-one")),
    (PURE, ZeroConcentratedDP(9, "replace-person")),
    (PURE, PureDP(9, "add-remove-person")),
    (PureDP(1, "replace-one"), PureDP(9, "add-remove-one")),
    (ApproxDP(1, "1e-9", "replace-one"), PureDP(1, "replace-one")),
    (ApproxDP(1, "1e-9", "replace-one"), ApproxDP(1, "1e-10", "replace-one")),
    (ApproxDP(1, "1e-9", "replace-one"), ApproxDP(1, "1e-9", "add-remove-one")),
    (ZeroConcentratedDP("0.1", "replace-one"), ApproxDP(2, "1e-6", "replace-one")),
    (ZeroConcentratedDP("0.1", "replace-one"), ApproxDP(3, "1e-6", "add-remove-one")),
    (ZeroConcentratedDP("0.2", "replace-one"), ZeroConcentratedDP("0.1", "replace-one")),
    (metric(1), metric("0.9")),
    (metric(1), metric(1, radius=3)),
    (metric(1), metric(1, OTHER)),
    (metric(1, None), metric(1)),
    (metric(1), metric(1, unit="m")),
    (metric(1), metric(1, None, radius=None)),
    (metric(1, OPEN), metric(9, None, radius=None)),
    (metric(1, OPEN), metric(1)),
    (KAnonymity(5, ("age",)), KAnonymity(6, ("age",))),
    (KAnonymity(5, ("age",)), KAnonymity(5, ("age", "zip"))),
    (KAnonymity(5, ("age",)), PURE),
    (PURE, KAnonymity(5, ("age",))),
]


@pytest.mark.parametrize(("a", "b"), YES, ids=str)
def test_what_follows(a: Any, b: Any) -> None:
    assert implies(a, b)


@pytest.mark.parametrize(("a", "b"), NO, ids=str)
def test_what_does_not_follow(a: Any, b: Any) -> None:
    assert not implies(a, b)


def delta_of(rho: float, epsilon: float) -> float:
    """The least delta over orders, by brute force on a grid: an oracle with floats."""
    orders = [1 + 10 ** (k / 200) for k in range(-800, 1200)]
    return min(
        math.exp((a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a)) / (a - 1)
        for a in orders
        if (a - 1) * (a * rho - epsilon) < 700
    )


@pytest.mark.parametrize("rho", ["0.001", "0.1", "1", "10"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_the_conversion_is_tight_and_never_optimistic(rho: str, delta: str) -> None:
    epsilon = float(to_approx_dp(ZeroConcentratedDP(rho, "replace-one"), delta=delta).epsilon)
    assert delta_of(float(rho), epsilon) <= float(delta) * (1 + 1e-3)
    assert delta_of(float(rho), epsilon * (1 - 1e-4)) > float(delta) * (1 - 1e-9)


def test_the_conversion_beats_the_textbook_one() -> None:
    rho, delta = 0.1, 1e-6
    textbook = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert to_approx_dp(ZeroConcentratedDP(rho, "replace-one"), delta=delta).epsilon < textbook


@pytest.mark.parametrize("delta", [0, 1, -1, "2"])
def test_delta_is_a_probability(delta: Any) -> None:
    with pytest.raises(InvalidProblemError, match="delta"):
        to_approx_dp(ZeroConcentratedDP(1, "replace-one"), delta=delta)


def test_what_is_not_concentrated_is_not_converted() -> None:
    with pytest.raises(
        InvalidProblemError, match="guarantee: expected ZeroConcentratedDP, got PureDP"
    ):
        to_approx_dp(PureDP(1, "replace-one"), delta="1e-6")  # type: ignore[arg-type]


def test_extreme_parameters_convert_to_a_positive_epsilon() -> None:
    for rho, delta in [("1e-12", "0.999"), ("1000", "1e-300"), ("1e-12", "1e-12")]:
        assert to_approx_dp(ZeroConcentratedDP(rho, "replace-one"), delta=delta).epsilon > 0


@given(
    st.fractions(min_value="1/1000", max_value=20),
    st.fractions(min_value="1/10000", max_value="1/2"),
)
@settings(deadline=None, max_examples=30)
def test_a_pure_guarantee_is_never_weaker_after_two_conversions(
    epsilon: Fraction, delta: Fraction
) -> None:
    """Pure to zCDP to approximate may lose, never gain, a factor that pure DP does not have."""
    pure = PureDP(epsilon, "replace-one")
    zcdp = ZeroConcentratedDP(epsilon**2 / 2, "replace-one")
    assert implies(pure, zcdp)
    approx = to_approx_dp(zcdp, delta=delta)
    assert implies(zcdp, approx)
