"""Metric guarantees are added only where their scopes bind the same pairs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.core.calculus import compose
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, Scope

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
