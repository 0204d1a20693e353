"""Metric guarantees are added only where their scopes bind the same pairs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.core.calculus import compose, implies
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, PointScope, Scope

SCOPE = Scope("a" * 64, 5, None, components=2, isolated=(3,), joined=1)


def bound(scope: Scope) -> MetricDP:
    return MetricDP(1, "km", 2, scope=scope)


def test_equal_scopes_add_up() -> None:
    assert compose(bound(SCOPE), bound(SCOPE)).epsilon == 2


@pytest.mark.parametrize(
    "change",
    [{"space": "b" * 64}, {"components": 3}, {"isolated": (4,)}, {"isolated": ()}, {"joined": 0}],
    ids=str,
)
def test_one_difference_is_enough(change: dict[str, object]) -> None:
    with pytest.raises(InvalidProblemError, match="the same space"):
        compose(bound(SCOPE), bound(replace(SCOPE, **change)))  # type: ignore[arg-type] # one field each


def test_a_scope_with_another_epsilon_for_all_pairs_is_the_same_space() -> None:
    whole = replace(SCOPE, all_pairs_epsilon=Fraction(3))
    assert compose(bound(whole), bound(whole)).scope == replace(
        whole, all_pairs_epsilon=Fraction(6)
    )


def test_scopes_of_points_compose_by_region_and_imply_only_true_distances() -> None:
    here, there = PointScope("a" * 64), PointScope("b" * 64)
    one, two = MetricDP(1, "km", scope=here), MetricDP(2, "km", scope=here)
    assert compose(one, two) == MetricDP(3, "km", scope=here)
    of_places = MetricDP(1, "km", scope=Scope("a" * 64, 4, Fraction(1)))
    for other in (MetricDP(1, "km", scope=there), of_places):
        with pytest.raises(InvalidProblemError, match="the same space"):
            compose(one, other)
    assert implies(one, two)
    assert implies(one, MetricDP(1, "km"))
    assert not implies(two, one)
    assert not implies(one, MetricDP(2, "km", scope=there))
    assert not implies(one, of_places)
    assert not implies(of_places, one)
    assert not implies(MetricDP(1, "km"), one)
    with pytest.raises(InvalidProblemError, match="all points of a region"):
        MetricDP(1, "km", 2, scope=here)
