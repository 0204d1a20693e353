"""Exact partitions of a few rows, and the search over unions of near classes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity import bound
from discreet.kanonymity.arrays import arrays_of
from discreet.kanonymity.bound import nearest_bound
from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.methods.local_search import LocalSearch, split_large
from discreet.kanonymity.methods.subsets import SubsetProgram, optimum_of
from discreet.kanonymity.problem import Numeric, Problem
from discreet.kanonymity.search.local import unions_for
from kanonymity.tables import fars, mixed, numeric


def all_partitions(n: int, k: int) -> list[list[int]]:
    """Labels of every partition of n rows into classes of k or more, of any size."""
    found: list[list[int]] = []

    def extend(labels: list[int]) -> None:
        if len(labels) == n:
            if min(labels.count(label) for label in set(labels)) >= k:
                found.append(labels)
            return
        for label in range(max(labels, default=-1) + 2):
            extend([*labels, label])

    extend([])
    return found


@settings(max_examples=25)
@given(n=st.integers(2, 7), k=st.integers(1, 4), seed=st.integers(0, 999), kind=st.integers(0, 2))
def test_the_subset_program_finds_the_optimum_over_classes_of_any_size(
    n: int, k: int, seed: int, kind: int
) -> None:
    """Classes of 2k rows and more need not be looked at (F2), which this does."""
    if n < k:
        return
    rows = np.random.default_rng(seed).integers(0, 4, (n, 2)).astype(float)
    problem = [mixed(n, seed), mixed(n, seed, "one-hot", missing=True), numeric(rows)][kind]
    best = min(problem.loss_of(labels) for labels in all_partitions(n, k))
    found = SubsetProgram().solve(problem, k, SearchLimits())
    assert problem.loss_of(found.labels) == pytest.approx(best, abs=1e-12)
    assert found.lower <= best
    assert found.lower == pytest.approx(best, abs=1e-9)


def test_a_preference_for_more_classes_never_raises_the_loss() -> None:
    """Two groups of six rows, each of which loses nothing in threes and next to nothing in pairs."""
    tiny = 4e-13
    rows = np.repeat([0.0, tiny, 0.5, 0.5 + tiny], 3)
    problem = Problem.from_columns({"a": rows}, [Numeric("a", low=0, high=1)])
    found = SubsetProgram().solve(problem, 2, SearchLimits())
    assert problem.loss_of(found.labels) == 0.0 == found.lower


def test_equal_rows_are_kept_in_classes_of_k() -> None:
    """T11: of the many optima the one with the most classes."""
    labels, loss = optimum_of(numeric(np.zeros((9, 2))), np.arange(9), 3)
    assert loss == 0
    assert np.bincount(labels).tolist() == [3, 3, 3]


def test_a_part_of_the_rows_is_partitioned_with_the_units_of_the_whole() -> None:
    labels, loss = optimum_of(fars(), np.array([12, 1, 11, 14, 7, 10]), 3)
    assert labels[:3].tolist() == [labels[0]] * 3
    assert loss == pytest.approx(3 * (30 / 62 + 0 / 4) + 3 * (31 / 62 + 1 / 4))


@settings(max_examples=30)
@given(n=st.integers(4, 12), k=st.integers(2, 4), seed=st.integers(0, 999))
def test_the_search_keeps_classes_of_k_and_loses_no_more(n: int, k: int, seed: int) -> None:
    problem = mixed(n, seed, missing=True)
    start = Initial().solve(problem, k, SearchLimits()).labels
    method = LocalSearch(rounds=30, seed=seed)
    found = method.solve(problem, k, SearchLimits(start=start))
    assert audit(found.labels, k).passed
    assert np.bincount(found.labels).max() < 2 * k
    assert problem.loss_of(found.labels) <= problem.loss_of(start) + 1e-9
    assert problem.loss_of(found.labels) >= SubsetProgram().solve(problem, k, SearchLimits()).lower


def test_it_finds_the_optimum_of_the_worked_example() -> None:
    method = LocalSearch(rounds=200)
    found = method.solve(fars(), 3, SearchLimits())
    assert fars().loss_of(found.labels) == pytest.approx(19.266129, abs=1e-6)
    weighted = fars((0.8, 0.05, 0.1, 0.05))
    found = method.solve(weighted, 3, SearchLimits())
    assert weighted.loss_of(found.labels) == pytest.approx(4.114516129, abs=1e-9)


@pytest.mark.parametrize("k", [5, 8])
def test_larger_classes_are_grown_anew_and_polished(k: int) -> None:
    problem = mixed(120, 1)
    start = Initial().solve(problem, k, SearchLimits()).labels
    found = LocalSearch(rounds=150).solve(problem, k, SearchLimits(start=start))
    assert audit(found.labels, k).passed
    assert problem.loss_of(found.labels) < 0.8 * problem.loss_of(start)


def test_equal_seeds_give_equal_partitions() -> None:
    problem = mixed(60, 2)
    first, second = (
        LocalSearch(rounds=40, seed=5).solve(problem, 3, SearchLimits()).labels for _ in range(2)
    )
    assert first.tolist() == second.tolist()


def test_it_ends_with_the_time() -> None:
    problem = mixed(60, 2)
    found = LocalSearch().solve(problem, 3, SearchLimits.within(0.05))
    assert audit(found.labels, 3).passed


def test_without_a_limit_it_ends_by_itself() -> None:
    assert audit(LocalSearch().solve(fars(), 3, SearchLimits()).labels, 3).passed


def test_near_points_among_very_many_come_from_several_orders(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bound, "NEAR", replace(bound.NEAR, max_near_seconds=0))
    problem = mixed(80, 3)
    start = Initial().solve(problem, 3, SearchLimits()).labels
    found = LocalSearch(rounds=200).solve(problem, 3, SearchLimits(start=start))
    assert problem.loss_of(found.labels) < 0.8 * problem.loss_of(start)


def test_one_class_alone_stays_what_it_is() -> None:
    for rows in (np.zeros((5, 1)), np.arange(5.0)[:, None]):
        found = LocalSearch(rounds=3).solve(numeric(rows), 4, SearchLimits())
        assert found.labels.tolist() == [0] * 5


@settings(max_examples=20)
@given(n=st.integers(2, 30), k=st.integers(1, 5), seed=st.integers(0, 999))
def test_splitting_large_classes_loses_nothing(n: int, k: int, seed: int) -> None:
    if n < k:
        return
    problem = mixed(n, seed)
    whole = np.zeros(n, dtype=np.int32)
    split = split_large(problem, whole, k)
    sizes = np.bincount(split)
    assert k <= sizes.min()
    assert sizes.max() < 2 * k
    assert problem.loss_of(split) <= problem.loss_of(whole) + 1e-9


@settings(max_examples=25)
@given(labels=st.lists(st.integers(-1, 5), min_size=1, max_size=20), k=st.integers(1, 4))
def test_classes_are_split_within_themselves_and_small_ones_stay(labels: list[int], k: int) -> None:
    before = np.array(labels, dtype=np.int32)
    split = split_large(mixed(len(labels), 1), before, k)
    assert set(split.tolist()) - {-1} == set(range(split.max() + 1))
    assert (split < 0).tolist() == (before < 0).tolist()
    for label in range(split.max() + 1):
        (old,) = set(before[split == label].tolist())
        rows = int((split == label).sum())
        assert k <= rows < 2 * k or rows == labels.count(old) < k


def best_with_suppression(problem: Problem, k: int, most: int) -> float:
    """The optimum over all choices of suppressed rows."""
    best = np.inf
    for count in range(most + 1):
        for out in itertools.combinations(range(problem.n), count):
            kept = np.setdiff1d(np.arange(problem.n), out)
            if len(kept) < k and len(kept):
                continue
            loss = optimum_of(problem, kept, k)[1] if len(kept) else 0.0
            best = min(best, loss + count * problem.suppressed_cost)
    return best


@settings(max_examples=15)
@given(n=st.integers(4, 9), seed=st.integers(0, 999), k=st.integers(2, 3), most=st.integers(0, 2))
def test_suppression_stays_within_its_limit_and_the_bound_below(
    n: int, seed: int, k: int, most: int
) -> None:
    problem = mixed(n, seed)
    best = best_with_suppression(problem, k, most)
    assert nearest_bound(problem, k) <= best + 1e-12
    start = Initial().solve(problem, k, SearchLimits()).labels
    found = LocalSearch(rounds=60).solve(problem, k, SearchLimits(suppress=most, start=start))
    assert audit(found.labels, k, suppress=most).passed
    assert best - 1e-9 <= problem.loss_of(found.labels) <= problem.loss_of(start) + 1e-9


def test_an_outlier_is_suppressed_where_that_loses_less() -> None:
    """One row far away would widen the cells of four others."""
    rows = np.array([[0.0], [0], [0], [0], [1], [1], [1], [1], [1], [99]])
    problem = numeric(rows)
    kept = LocalSearch(rounds=200).solve(problem, 5, SearchLimits())
    assert problem.loss_of(kept.labels) > 4
    found = LocalSearch(rounds=200).solve(problem, 5, SearchLimits(suppress=1))
    assert (found.labels < 0).tolist() == [False] * 9 + [True]
    assert problem.loss_of(found.labels) == pytest.approx(1 + 9 / 99)
    again = LocalSearch(rounds=50).solve(problem, 5, SearchLimits(suppress=1, start=found.labels))
    assert problem.loss_of(again.labels) == pytest.approx(1 + 9 / 99)


def test_a_row_that_was_left_out_without_need_is_taken_back() -> None:
    problem = numeric(np.zeros((7, 1)))
    start = np.array([0, 0, 0, 0, 0, 0, -1], dtype=np.int32)
    found = LocalSearch(rounds=200).solve(problem, 3, SearchLimits(suppress=2, start=start))
    assert found.labels.min() >= -1
    rows = numeric(np.array([[0.0], [0], [0], [1], [1], [1], [1]]))
    start = np.array([0, 1, 0, 1, 0, 1, -1], dtype=np.int32)
    found = LocalSearch(rounds=200).solve(rows, 3, SearchLimits(suppress=2, start=start))
    assert rows.loss_of(found.labels) == 0


def test_a_start_with_more_suppressed_rows_than_allowed_is_refused() -> None:
    with pytest.raises(InvalidProblemError):
        LocalSearch().solve(fars(), 3, SearchLimits(start=np.array([-1] + [0] * 19)))


def span_of(problem: Problem, j: int, lo: int, hi: int) -> float:
    from discreet.kanonymity.kernels.boxes import span

    return float(span(arrays_of(problem), j, lo, hi))


@pytest.mark.parametrize("loss", ["ncp", "arx-loss", "one-hot"])
def test_kernels_and_columns_agree_on_every_span(loss: str) -> None:
    problem = mixed(40, 0, loss, missing=True)
    for j in (0, 2):
        size = len(problem.columns[j].domain)
        for lo in range(size):
            for hi in range(lo, size):
                assert span_of(problem, j, lo, hi) == problem.columns[j].span_cost(lo, hi)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 8, 100])
def test_unions_hold_two_classes_or_more(k: int) -> None:
    unions = unions_for(k)
    assert all(union.rows >= 2 * k and union.classes >= 2 for union in unions)
    assert [union.work for union in unions] == sorted(union.work for union in unions)


def test_where_nothing_is_lost_the_search_ends_at_once() -> None:
    """The clock is not waited for, and no portion of work grows beyond bounds."""
    problem = numeric(np.zeros((12, 2)))
    limits = SearchLimits.within(60, start=np.arange(12, dtype=np.int32) // 3)
    labels = LocalSearch().solve(problem, 3, limits).labels
    assert audit(labels, 3).passed
    assert limits.left > 50
