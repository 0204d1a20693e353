"""Set partitioning: pricing against enumeration, bounds, branch and bound against brute force."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.exact import tree as partitioning_tree
from discreet.kanonymity.exact.columns import Pool, relax
from discreet.kanonymity.exact.cuts import NO_CUTS, rows_of, violated
from discreet.kanonymity.exact.pricing import Pricer
from discreet.kanonymity.exact.tree import Listed, settle
from discreet.kanonymity.methods.local_search import LocalSearch
from discreet.kanonymity.methods.partitioning import SetPartitioning
from discreet.kanonymity.methods.subsets import optimum_of
from discreet.kanonymity.problem import Numeric, Problem
from discreet.kanonymity.search.search import search
from kanonymity.tables import FARS, fars, mixed, numeric


def cost_of(problem: Problem, rows: tuple[int, ...]) -> float:
    labels = np.full(problem.n, -1)
    labels[list(rows)] = 0
    boxes = problem.boxes(labels)
    return float(boxes.sizes @ boxes.costs.sum(axis=1))


def every_class(problem: Problem, k: int) -> dict[tuple[int, ...], float]:
    """All classes of k to 2k - 1 rows with their costs."""
    return {
        rows: cost_of(problem, rows)
        for size in range(k, min(2 * k, problem.n + 1))
        for rows in combinations(range(problem.n), size)
    }


def listed_of(problem: Problem, k: int) -> Listed:
    every = every_class(problem, k)
    classes = np.full((len(every), 2 * k - 1), -1, dtype=np.int32)
    for at, rows in enumerate(every):
        classes[at, : len(rows)] = rows
    costs = np.array(list(every.values()))
    return Listed(classes, costs, problem.n, k, problem.suppressed_cost)


@settings(max_examples=15, deadline=None)
@given(st.integers(4, 8), st.integers(2, 3), st.integers(0, 10**6), st.booleans())
def test_pricing_lists_exactly_the_classes_of_small_reduced_cost(
    n: int,
    k: int,
    seed: int,
    missing: bool,  # noqa: FBT001 - hypothesis draws it
) -> None:
    problem = mixed(n, seed, missing=missing)
    pi = np.random.default_rng(seed).normal(1, 2, n)
    found = Pricer(problem, k).price(pi, below=1.0)
    listed = {
        tuple(int(row) for row in rows if row >= 0): cost
        for rows, cost in zip(found.classes, found.costs, strict=True)
    }
    true = {
        rows: cost
        for rows, cost in every_class(problem, k).items()
        if cost - pi[list(rows)].sum() < 1.0
    }
    assert found.complete
    assert listed == pytest.approx(true)
    # The bound holds for these multipliers, as for any.
    _, best = optimum_of(problem, np.arange(n), k)
    assert found.lower <= best


def test_pricing_with_a_budget_still_bounds() -> None:
    problem = mixed(8, 3)
    pi = np.full(8, 2.5)
    _, best = optimum_of(problem, np.arange(8), 2)
    whole = Pricer(problem, 2).price(pi)
    for budget in (0, 1, 3):
        short = Pricer(problem, 2).price(pi, budget=budget)
        assert not short.complete
        assert short.lower <= whole.lower + 1e-9 <= best + 2e-9


def test_a_list_that_is_too_long_is_no_proof() -> None:
    short = Pricer(mixed(8, 3), 2).price(np.full(8, 2.5), most=2)
    assert not short.complete
    assert len(short.costs) == 2
    assert short.lower == -np.inf


@settings(max_examples=10, deadline=None)
@given(st.integers(3, 9), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_the_optimum_is_that_of_brute_force(
    n: int,
    k: int,
    seed: int,
    missing: bool,  # noqa: FBT001 - hypothesis draws it
) -> None:
    n = max(n, k)
    problem = mixed(n, seed, missing=missing)
    found = SetPartitioning(polish=0).solve(problem, k, SearchLimits())
    _, best = optimum_of(problem, np.arange(n), k) if k > 1 else (None, 0.0)
    assert audit(found.labels, k).passed
    assert problem.loss_of(found.labels) == pytest.approx(best, abs=1e-9)
    assert best - 1e-8 <= found.lower <= best + 1e-12


@pytest.mark.jit
def test_twenty_rows_of_the_paper_are_proved() -> None:
    SetPartitioning().solve(fars(), 3, SearchLimits())
    began = time.process_time()
    found = SetPartitioning().solve(fars(), 3, SearchLimits())
    assert time.process_time() - began < 1.0
    assert fars().loss_of(found.labels) == pytest.approx(19.266129032, abs=1e-9)
    assert found.lower == pytest.approx(19.266129032, abs=1e-8)
    classes = {frozenset(np.flatnonzero(found.labels == c).tolist()) for c in range(6)}
    expected = ({0, 2, 15, 17}, {1, 11, 12}, {3, 4, 18}, {5, 6, 8, 9}, {7, 10, 16}, {13, 14, 19})
    assert classes == set(map(frozenset, expected))


@pytest.mark.jit
def test_weights_of_the_paper_give_its_table() -> None:
    problem = fars((0.8, 0.05, 0.1, 0.05))
    found = SetPartitioning().solve(problem, 3, SearchLimits())
    assert problem.loss_of(found.labels) == pytest.approx(4.114516129, abs=1e-9)
    assert found.lower == pytest.approx(4.114516129, abs=1e-8)


@pytest.mark.jit
def test_with_declared_bounds_another_table_is_the_optimum() -> None:
    """E6: Table 4(c) is the optimum for the bounds that the twenty rows have, not for those that the file declares."""
    weights = (0.8, 0.05, 0.1, 0.05)
    rows = np.array([row.split(",") for row in FARS.split()], dtype=float)
    kinds = [
        Numeric(name, weight, low=low, high=high)
        for name, weight, low, high in zip(
            "abcd", weights, (1, 1, 0, 0), (100, 2, 6, 1), strict=True
        )
    ]
    problem = Problem.from_columns(dict(zip("abcd", rows.T, strict=True)), kinds)
    found = SetPartitioning().solve(problem, 3, SearchLimits())
    assert found.lower == pytest.approx(3.012121, abs=1e-6)
    printed = ({0, 8, 10, 16}, {1, 14, 15}, {2, 3, 13, 18}, {4, 6, 9}, {5, 7, 11}, {12, 17, 19})
    labels = [next(c for c, part in enumerate(printed) if row in part) for row in range(20)]
    assert problem.loss_of(labels) == pytest.approx(3.025758, abs=1e-6)


def test_equal_rows_lose_nothing() -> None:
    problem = numeric(np.array([[1.0, 2.0]] * 5 + [[4.0, 1.0]] * 4))
    found = SetPartitioning().solve(problem, 3, SearchLimits())
    assert problem.loss_of(found.labels) == 0
    assert found.lower == 0


def test_without_time_there_is_a_partition_and_a_bound_that_holds() -> None:
    found = SetPartitioning().solve(fars(), 3, SearchLimits.within(1e-9))
    assert audit(found.labels, 3).passed
    assert 0 <= found.lower <= 19.266129033


def test_branch_and_bound_needs_no_incumbent() -> None:
    problem = mixed(8, 11)
    _, best = optimum_of(problem, np.arange(8), 2)
    listed = listed_of(problem, 2)
    found = settle(listed, 1e6, SearchLimits())
    assert found.chosen is not None
    assert found.loss == pytest.approx(best)
    assert found.lower == pytest.approx(best, abs=1e-8)
    rows = listed.classes[found.chosen]
    assert sorted(rows[rows >= 0].tolist()) == list(range(8))


def test_branch_and_bound_rejects_a_goal_that_no_partition_reaches() -> None:
    problem = mixed(8, 11)
    _, best = optimum_of(problem, np.arange(8), 2)
    found = settle(listed_of(problem, 2), best - 1e-4, SearchLimits())
    assert found.chosen is None
    assert found.lower == pytest.approx(best - 1e-4)


def test_three_rows_that_fit_in_pairs_alone_are_cut() -> None:
    """Half of each of three pairs covers three rows, and one of the pairs at most is in a partition."""
    from discreet.kanonymity.kernels.pricing import triples

    pairs = np.array([[0, 1, -1], [1, 2, -1], [0, 2, -1], [3, 4, 5]], dtype=np.int32)
    room, value = np.empty((9, 3), dtype=np.int32), np.empty(9)
    found = triples(pairs, np.array([0.5, 0.5, 0.5, 1.0]), 6, 0.02, room, value)
    assert room[:found].tolist() == [[2, 1, 0]]
    assert value[0] == pytest.approx(1.5)
    # A class with all three is one class, and no cut is violated.
    whole = np.array([[0, 1, 2], [3, 4, 5]], dtype=np.int32)
    assert triples(whole, np.ones(2), 6, 0.02, room, value) == 0


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_cuts_hold_for_partitions_and_are_violated_where_they_are_found(seed: int) -> None:
    """What a partition has of three rows, by halves of its classes rounded down, is at most one."""
    rng = np.random.default_rng(seed)
    n = 12
    classes = np.full((9, 4), -1, dtype=np.int32)
    for row in classes:
        held = rng.choice(n, rng.integers(2, 5), replace=False)
        row[: len(held)] = np.sort(held)
    shares = rng.random(9) * 0.9
    cuts = violated(classes, shares, n)
    coefficients = rows_of(cuts, classes, n).toarray()
    for cut, line in zip(cuts, coefficients, strict=True):
        assert len(set(cut.tolist())) == 3
        assert line[:9].tolist() == [np.isin(one, cut).sum() // 2 for one in classes]
        assert not line[9:].any()
        assert line[:9] @ shares > 1
        # A random partition into classes keeps to it.
        parts = np.array_split(rng.permutation(n), rng.integers(2, 5))
        assert sum(np.isin(part, cut).sum() // 2 for part in parts) <= 1
    assert len(np.unique(cuts, axis=0)) == len(cuts)


def test_the_number_of_classes_strengthens_the_relaxation() -> None:
    """Seven rows in a line: with classes of three, at most two, so that one has four."""
    problem = numeric(np.arange(7.0)[:, None])
    pool = Pool(5)
    pool.add(np.array([[0, 1, 2, -1, -1], [3, 4, 5, 6, -1]], dtype=np.int32), np.array([1.0, 2.0]))
    found = relax(Pricer(problem, 3), pool, np.full(7, 0.4), 3.0, SearchLimits())
    _, best = optimum_of(problem, np.arange(7), 3)
    assert best == pytest.approx(3.0)
    assert found.mu > 0
    # Without it the relaxation loses a third for each row.
    assert 7 / 3 + 0.1 < found.lower <= best


def test_a_better_partition_lets_classes_be_forgotten_and_the_optimum_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without cuts there are branches, and the first partition that is found is not the only one looked at."""
    monkeypatch.setattr(partitioning_tree, "violated", lambda *_: NO_CUTS)
    forgotten: list[float] = []
    forget = partitioning_tree._Program.forget

    def noted(self: partitioning_tree._Program, upper: float) -> np.ndarray[Any, Any]:
        useful = forget(self, upper)
        forgotten.append(1 - float(useful.mean()))
        assert len(self.costs) == useful.sum()
        return useful

    monkeypatch.setattr(partitioning_tree._Program, "forget", noted)
    branches = 0
    for seed in range(5):
        rows = np.random.default_rng(seed).integers(0, 9, (14, 5)).astype(float)
        problem = numeric(rows)
        _, best = optimum_of(problem, np.arange(14), 3)
        found = settle(listed_of(problem, 3), 1.6 * best, SearchLimits())
        assert found.loss == pytest.approx(best)
        assert found.lower == pytest.approx(best)
        branches += found.branches
    assert branches > 5
    assert max(forgotten) > 0.2


def test_a_start_is_never_made_worse() -> None:
    problem = numeric(np.random.default_rng(4).integers(0, 9, (40, 3)).astype(float))
    start = LocalSearch(rounds=200).solve(problem, 3, SearchLimits()).labels
    limits = SearchLimits(start=start)
    found = SetPartitioning(polish=1).solve(problem, 3, limits)
    assert found.lower - 1e-8 <= problem.loss_of(found.labels) <= problem.loss_of(start)


def test_what_has_no_answer_is_refused() -> None:
    with pytest.raises(InfeasibleError):
        SetPartitioning().solve(mixed(3, 0), 4, SearchLimits())
    with pytest.raises(InvalidProblemError, match="at most 3 rows"):
        SetPartitioning(max_rows=3).solve(mixed(4, 0), 2, SearchLimits())


def test_a_budget_of_time_gives_up_a_search_and_no_bound() -> None:
    problem = mixed(9, 7)
    pricer = Pricer(problem, 3)
    _, best = optimum_of(problem, np.arange(9), 3)
    short = pricer.price(np.full(9, 2.0), seconds=0.0)
    assert short.lower <= best


@pytest.mark.jit
def test_the_search_proves_small_tables() -> None:
    found = search(fars(), 3)
    assert found.optimal
    assert found.loss == pytest.approx(19.266129032, abs=1e-9)
