"""The chain of cumulative counts: pooling equals the recurrence, and the published noise is not for what it claims."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import InvalidProblemError, PureDP, Tree
from discreet.core.randomness import SeededBits
from discreet.hierarchy import GroupSizes, Measured, plan, release
from discreet.hierarchy.measure import measure, truth
from discreet.hierarchy.methods.m_c_ch import Chain, _recurrence

EXAMPLE = Tree.from_paths([("GA",), ("NY",)], root="US")
TREES = [
    Tree.from_paths([("only",)]),
    EXAMPLE,
    Tree.from_paths([("a", "x"), ("a", "y"), ("b", "z")]),
    Tree.from_paths([("a", "b", "c"), ("a", "d", "e"), ("f", "g", "h"), ("f", "g", "i")]),
]


def noisy(tree: Tree, seed: int, epsilon: str = "1") -> Measured:
    rng = np.random.default_rng(seed)
    data = GroupSizes.from_counts(tree, rng.integers(0, 3, (len(tree.leaves), 4)), units="public")
    guarantee = PureDP(epsilon, "add-remove-person")
    return measure(data, "chain", guarantee, bits=SeededBits(seed))


def chain_of(tree: Tree, counts: Any) -> Any:
    """Cumulative counts of each level, sizes first, as they are measured."""
    return truth(GroupSizes.from_counts(tree, counts[tree.leaves], units="public"), "chain")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(TREES))
def test_pooling_and_the_recurrence_cost_the_same(seed: int, tree: Tree) -> None:
    measured = noisy(tree, seed)
    costs = []
    for solver in ("pooling", "recurrence"):
        made = Chain(solver=solver).solve(measured)
        assert made.min() >= 0
        assert (made == tree.totals(made[tree.leaves])).all()
        assert made[0].sum() == measured.frame.total
        costs.append(int(((chain_of(tree, made) - measured.values) ** 2).sum()))
    assert costs[0] == costs[1]


def test_the_tables_of_the_worked_example() -> None:
    """Noisy counts 3, 3 and 2 for one size: the table of the root is 22, 9, 2, 1, 5."""
    domain = np.arange(5)
    first = (domain - 3) ** 2
    second = (domain - 3) ** 2 + np.minimum.accumulate(first)
    root = (domain - 2) ** 2 + second
    assert second.tolist() == [18, 8, 2, 0, 1]
    assert root.tolist() == [22, 9, 2, 1, 5]
    values = np.array([[2], [3], [3]])
    assert _recurrence(EXAMPLE, values, 3).tolist() == [3, 3]
    assert _recurrence(EXAMPLE, values, 4).tolist() == [3, 4]


def test_without_noise_the_chain_gives_the_counts() -> None:
    for seed, tree in enumerate(TREES):
        data = GroupSizes.from_counts(
            tree, np.random.default_rng(seed).integers(0, 9, (len(tree.leaves), 5)), units="public"
        )
        made = release(data, PureDP(10_000, "add-remove-person"), method="m-c-ch-calibrated")
        assert (made.result.counts == data.node_counts()).all()


class Unproven:
    """A method that says why it has no guarantee."""

    kind: Any = Chain.kind
    unproven: Any = "its noise is too small"
    solve: Any = Chain.solve


def test_a_plan_of_another_method_cannot_become_one_of_it() -> None:
    """A plan is a value that can be changed by hand; the method is looked at each time one is made."""
    data = GroupSizes.from_counts(TREES[2], np.ones((3, 3), dtype=int), units="public")
    guarantee = PureDP(1, "add-remove-person")
    planned = plan(data.frame, guarantee, method="m-c-ch-calibrated")
    with pytest.raises(InvalidProblemError, match="one with a guarantee"):
        replace(planned, method=Unproven())  # type: ignore[arg-type] # wrong on purpose


def test_nonsense_is_refused() -> None:
    ragged = Tree.from_paths([("a", "x"), ("b",)])
    guarantee = PureDP(1, "add-remove-person")
    data = GroupSizes.from_counts(ragged, [[1, 1], [1, 1]], units="public")
    with pytest.raises(InvalidProblemError, match="equal depth"):
        release(data, guarantee, method="m-c-ch-calibrated")
    private = GroupSizes.from_counts(EXAMPLE, [[1, 1], [1, 1]], units="private")
    with pytest.raises(InvalidProblemError, match="kind"):
        release(private, guarantee, method="m-c-ch-calibrated")
    with pytest.raises(InvalidProblemError, match="solver"):
        Chain(solver="other")  # type: ignore[arg-type] # wrong on purpose
    many = GroupSizes.from_counts(EXAMPLE, [[10**8, 1], [1, 1]], units="public")
    with pytest.raises(InvalidProblemError, match="table"):
        release(many, guarantee, method=Chain(solver="recurrence"))
