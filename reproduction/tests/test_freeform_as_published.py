"""Freeform generalization by greedy and optimal matchings, which is not k-anonymous."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.candidate import SearchLimits
from discreet.kanonymity.methods import UNPROVEN
from discreet.kanonymity.methods.subsets import SubsetProgram
from discreet_reproduction.kanonymity.as_published import doka
from discreet_reproduction.kanonymity.as_published.doka import (
    DokaGreedy,
    DokaHungarian,
    DokaSortGreedy,
)
from discreet_reproduction.kanonymity.as_published.split_carry import reproduce
from kanonymity.tables import fars, mixed, numeric
from kanonymity.test_kanonymity_baselines import pair_loss


@pytest.mark.parametrize("method", [DokaGreedy(), DokaSortGreedy(), DokaHungarian()], ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_freeform_cells_cover_k_rows_and_are_not_k_anonymous(method: Any, k: int) -> None:
    for problem in (fars(), mixed(20, 3, missing=True)):
        found = reproduce(problem, k, method)
        assert "not k-anonymity" in found.reason
        assert found.result.fewest_matches(problem) >= k
        # Two rows that are each other's partners look alike.
        assert found.result.smallest_class < k or k <= 2


def test_freeform_generalization_may_lose_less_than_any_k_anonymous_table() -> None:
    """It is another model, so that such a comparison says nothing about algorithms."""
    problem = numeric(np.arange(5.0)[:, None])
    optimum = SubsetProgram().solve(problem, 2, SearchLimits())
    assert problem.loss_of(optimum.labels) == 2
    assert reproduce(problem, 2, DokaHungarian()).result.loss == 1.5


def test_the_first_round_by_the_best_assignment_is_the_least_cost_of_all() -> None:
    problem = mixed(6, 5)
    best = min(
        sum(pair_loss(problem, i, j) for i, j in enumerate(partner))
        for partner in itertools.permutations(range(6))
        if all(i != j for i, j in enumerate(partner))
    )
    losses = {
        method: reproduce(problem, 2, method).result.loss
        for method in (DokaGreedy(), DokaSortGreedy(), DokaHungarian())
    }
    assert losses[DokaHungarian()] == pytest.approx(best)
    assert min(losses.values()) == losses[DokaHungarian()]


def test_freeform_generalization_ends_before_memory_does() -> None:
    with pytest.raises(InvalidProblemError, match="10000 rows"):
        reproduce(numeric(np.zeros((10_001, 1))), 2, DokaGreedy())


def test_methods_by_name_say_why_they_have_no_guarantee() -> None:
    for name, unproven in UNPROVEN.items():
        assert reproduce(numeric(np.arange(8.0)[:, None]), 3, name).reason == unproven.why_none


def test_pairs_are_left_when_all_rows_are_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheapest pairs come first: after the last row found its partner, nothing can change."""
    n = 40
    cost = np.full((n, n), 2.0)
    cost[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    seen: list[int] = []

    def counting(number: int, by: int) -> tuple[int, int]:
        seen.append(number)
        return divmod(number, by)

    monkeypatch.setattr(doka, "divmod", counting, raising=False)
    partner = doka._by_cost(cost)
    assert partner.tolist() == [(row + 1) % n for row in range(n)]
    assert len(seen) == n + 1
