"""The paper's heuristics and its baselines: traces that it prints, a plain reference, and laws."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity.arrays import points_of
from discreet.kanonymity.candidate import SearchLimits, audit, labels_of, order_of
from discreet.kanonymity.methods.greedy_search import (
    GreedySearch,
    evaluations,
    runs_of_classes,
)
from discreet.kanonymity.methods.initial import (
    Initial,
    initial_sizes,
    variance_columns,
    variance_order,
)
from discreet.kanonymity.methods.k_member import KMember
from discreet.kanonymity.methods.segmentation import Segmentation, segmented
from discreet.kanonymity.methods.subsets import SubsetProgram
from discreet.kanonymity.methods.top_down import TopDown
from discreet.kanonymity.problem import Categorical, Problem
from discreet.kanonymity.search.orders import hilbert_order, several_orders, snake_order
from kanonymity.tables import fars, mixed, numeric

FREE = SearchLimits()


def classes(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def written(text: str) -> set[frozenset[int]]:
    return {frozenset(map(int, part.split(","))) for part in text.split()}


def range_of(problem: Problem, rows: list[int]) -> float:
    """What one row of a class costs."""
    labels = np.full(problem.n, -1)
    labels[rows] = 0
    return float(problem.boxes(labels).costs.sum())


def plain_greedy(problem: Problem, order: list[int], k: int) -> tuple[list[list[int]], int]:
    """Algorithm 2 without its leftovers, from the text, and how many rows it tried."""
    left, found, tried = list(order), [], 0
    while len(left) > problem.n % k:
        rows = [left.pop(0)]
        while len(rows) < k:
            tried += len(left)
            costs = [range_of(problem, [*rows, row]) for row in left]
            best = next(t for t, cost in enumerate(costs) if cost < min(costs) + 1e-12)
            rows.append(left.pop(best))
        found.append(rows)
    return found, tried


def test_the_order_of_rows_is_that_of_the_worked_example() -> None:
    order = variance_order(fars()).tolist()
    assert order == [12, 1, 11, 14, 7, 10, 16, 19, 13, 6, 9, 5, 8, 2, 15, 17, 0, 4, 18, 3]
    names = [fars().columns[j].name for j in variance_columns(fars())]
    assert names == ["DRINKING", "SEX", "INJ_SEV", "AGE"]


def test_the_initial_classes_are_those_of_the_worked_example() -> None:
    """As Table 7 has them; the text prints two of them with a row that stands elsewhere (E9)."""
    found = Initial().solve(fars(), 3, FREE)
    assert classes(found.labels) == written("12,1,11 14,7,10 16,19,13 6,9,5 8,2,15 17,0,4,18,3")
    assert fars().loss_of(found.labels) == pytest.approx(31.774194, abs=1e-6)


def test_eight_orders_of_columns_lose_less_than_that_of_variances() -> None:
    """Sorting by variance is one order of many."""
    problem, sizes = fars(), initial_sizes(20, 3)
    losses = [
        problem.loss_of(labels_of(order_of(problem, columns), sizes))
        for columns in itertools.permutations(range(4))
    ]
    published = problem.loss_of(Initial().solve(problem, 3, FREE).labels)
    assert sum(loss < published - 1e-9 for loss in losses) == 8
    assert min(losses) == pytest.approx(27.314516, abs=1e-6)


def test_greedy_search_follows_table_7() -> None:
    found = GreedySearch("range").solve(fars(), 3, FREE)
    assert classes(found.labels) == written("12,1,11 14,7,10,4 16,5,9 19,13,6,18 8,0,17 2,15,3")
    assert fars().loss_of(found.labels) == pytest.approx(28.508065, abs=1e-6)


def test_the_rule_of_the_text_for_leftovers_loses_less_than_that_of_table_7() -> None:
    """E7: row 18 would go with row 4."""
    found = GreedySearch().solve(fars(), 3, FREE)
    assert frozenset({14, 7, 10, 4, 18}) in classes(found.labels)
    assert fars().loss_of(found.labels) == pytest.approx(27.008065, abs=1e-6)


@settings(max_examples=25)
@given(
    n=st.integers(4, 12),
    k=st.integers(2, 4),
    seed=st.integers(0, 999),
    kind=st.sampled_from(["mixed", "missing", "equal"]),
)
def test_greedy_search_gives_the_classes_of_the_pseudo_code(
    n: int, k: int, seed: int, kind: str
) -> None:
    if kind == "equal":
        problem = numeric(np.random.default_rng(seed).integers(0, 3, (n, 2)).astype(float))
    else:
        problem = mixed(n, seed, missing=kind == "missing")
    expected, tried = plain_greedy(problem, variance_order(problem).tolist(), k)
    assert tried == evaluations(n, k)
    found = GreedySearch("range").solve(problem, k, FREE)
    rest = set(range(n)) - {row for rows in expected for row in rows}
    assert {part - rest for part in classes(found.labels)} == {frozenset(r) for r in expected}


def test_a_column_without_weight_is_sorted_last_and_free() -> None:
    problem = fars((1, 1, 0, 1))
    assert variance_columns(problem)[-1] == 2
    assert GreedySearch().solve(problem, 3, FREE).labels.min() == 0


@settings(max_examples=25)
@given(n=st.integers(4, 12), k=st.integers(2, 4), seed=st.integers(0, 999))
def test_k_member_starts_far_away_and_adds_what_loses_least(n: int, k: int, seed: int) -> None:
    problem = mixed(n, seed)
    order = order_of(problem, range(3)).tolist()
    left, expected, last = list(order), [], 0
    for number in range(n // k):
        if number == 0:
            # The first of the rows that are equal to the start.
            start = next(r for r in left if (problem.codes[r] == problem.codes[0]).all())
        else:
            apart = [range_of(problem, [last, row]) if row != last else 0 for row in left]
            start = left[next(t for t, cost in enumerate(apart) if cost >= max(apart))]
        left.remove(start)
        rows = [start]
        while len(rows) < k:
            costs = [range_of(problem, [*rows, row]) for row in left]
            best = next(t for t, cost in enumerate(costs) if cost < min(costs) + 1e-12)
            rows.append(left.pop(best))
        expected.append(frozenset(rows))
        last = rows[-1]
    found = KMember().solve(problem, k, FREE)
    assert {part & frozenset.union(*expected) for part in classes(found.labels)} == set(expected)


@settings(max_examples=40)
@given(n=st.integers(3, 9), k=st.integers(2, 4), seed=st.integers(0, 999), sets=st.booleans())
def test_segmentation_is_the_best_of_all_cuts(n: int, k: int, seed: int, *, sets: bool) -> None:
    if n < k:
        return
    rng = np.random.default_rng(seed)
    problem = mixed(n, seed) if sets else numeric(rng.integers(0, 5, (n, 3)).astype(float))
    order = rng.permutation(n)
    best = min(
        problem.loss_of(labels_of(order, np.diff([0, *inner, n])))
        for count in range(n)
        for inner in itertools.combinations(range(1, n), count)
        if min(np.diff([0, *inner, n])) >= k
    )
    found = segmented(problem, order, k)
    assert problem.loss_of(found) == pytest.approx(best, abs=1e-12)
    assert np.bincount(found).min() >= k


def test_a_class_around_another_may_beat_every_cut_of_one_sorted_column() -> None:
    problem = numeric(np.array([[0.0], [5.0], [5.0], [5.0], [10.0]]))
    best = SubsetProgram().solve(problem, 2, FREE)
    found = Segmentation().solve(problem, 2, FREE)
    assert best.labels[0] == best.labels[4] != best.labels[2]
    assert problem.loss_of(best.labels) == pytest.approx(2.0)
    assert problem.loss_of(found.labels) == pytest.approx(2.5)


def test_classes_that_cross_in_one_column_are_uncrossed_without_a_loss() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        s, t = (int(size) for size in rng.integers(1, 6, 2))
        first, second = np.sort(rng.integers(0, 30, s)), np.sort(rng.integers(0, 30, t))
        if not (first[0] <= second[0] and first[-1] <= second[-1]):
            continue
        both = np.sort(np.concatenate([first, second]))
        assert np.ptp(both[:s]) <= np.ptp(first)
        assert np.ptp(both[s:]) <= np.ptp(second)


def test_segmentation_is_never_worse_than_the_initial_solution_on_its_order() -> None:
    problem = fars()
    found = segmented(problem, variance_order(problem), 3)
    assert problem.loss_of(found) == pytest.approx(19.629032, abs=1e-6)


def test_a_snake_order_steps_from_one_value_to_the_next() -> None:
    rows = np.array(list(itertools.product(range(3), range(3), range(3))), dtype=float)
    order = snake_order(numeric(rows), [0, 1, 2])
    assert (np.abs(np.diff(rows[order], axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("side", [(8, 2), (4, 3), (2, 5)])
def test_hilberts_curve_steps_to_neighbors(side: tuple[int, int]) -> None:
    """On a full grid whose side is a power of two each step changes one coordinate by one."""
    width, m = side
    rows = np.array(list(itertools.product(range(width), repeat=m)), dtype=float)
    order = hilbert_order(numeric(rows))
    assert sorted(order.tolist()) == list(range(width**m))
    assert (np.abs(np.diff(rows[order], axis=0)).sum(axis=1) == 1).all()


def test_every_order_of_few_columns_is_tried_once() -> None:
    orders = [order.tolist() for order in several_orders(mixed(40, 3))]
    assert len(orders) == 7
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert len(list(several_orders(numeric(np.eye(8))))) in {2, 3}


def test_points_stand_for_equal_rows() -> None:
    problem = numeric(np.array([[1.0], [0], [1], [0], [2]]))
    points = points_of(problem, order_of(problem, [0]))
    assert points.n == 3
    assert points.rows.tolist() == [1, 3, 0, 2, 4]
    assert points.of_row.tolist() == [1, 0, 1, 0, 2]


METHODS: list[Any] = [
    Initial(),
    GreedySearch(),
    GreedySearch("range"),
    KMember(start=1),
    Segmentation(),
    Segmentation(1),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 11, 12])
def test_every_method_gives_classes_of_k_and_never_beats_the_optimum(method: Any, k: int) -> None:
    for seed in range(3):
        problem = mixed(12, seed, missing=True)
        found = method.solve(problem, k, FREE)
        assert audit(found.labels, k).passed
        assert found.labels.min() == 0
        optimum = SubsetProgram().solve(problem, k, FREE)
        assert optimum.lower <= problem.loss_of(found.labels)
        assert found.lower == 0


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_what_cannot_be_done_is_refused(method: Any) -> None:
    with pytest.raises(InfeasibleError, match="fewer than 21 rows"):
        method.solve(fars(), 21, FREE)
    with pytest.raises(InvalidProblemError, match="k: expected an integer"):
        method.solve(fars(), 0, FREE)


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="leftovers"):
        GreedySearch("best")  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="start"):
        KMember(start=20).solve(fars(), 3, FREE)
    with pytest.raises(InvalidProblemError, match="17 rows"):
        SubsetProgram().solve(fars(), 3, FREE)


def test_sizes_of_initial_classes() -> None:
    assert initial_sizes(20, 3).tolist() == [3, 3, 3, 3, 3, 5]
    assert initial_sizes(5, 5).tolist() == [5]


def test_the_audit_rejects_small_classes() -> None:
    assert audit(np.array([0, 0, 1, 1, 1]), 2).passed
    assert not audit(np.array([0, 0, 1, 1, 1]), 3).passed
    assert audit(np.array([0, 0, -1]), 2, suppress=1).passed
    assert not audit(np.array([0, 0, -1]), 2).passed


@pytest.mark.parametrize("threads", [1, 2])
def test_classes_grow_within_parts_of_near_rows(threads: int) -> None:
    rng = np.random.default_rng(4)
    columns = {name: rng.integers(0, 9, 400) for name in "abcdefgh"}
    problem = Problem.from_columns(columns, [Categorical(name) for name in columns])
    start = TopDown().solve(problem, 4, FREE)
    limits = SearchLimits(threads=threads, start=start.labels)
    found = GreedySearch(part=100).solve(problem, 4, limits)
    assert np.bincount(found.labels).min() >= 4
    assert problem.loss_of(found.labels) < problem.loss_of(start.labels)
    runs = runs_of_classes(start.labels, 100)
    assert len(runs) > 2
    for rows in runs:
        mine = set(found.labels[rows].tolist())
        assert not mine & set(np.delete(found.labels, rows).tolist())
        alone = Problem(problem.columns, problem.codes[rows], problem.loss)
        grown = GreedySearch().solve(alone, 4, FREE)
        assert problem.loss_of(found.labels) >= alone.loss_of(grown.labels)
        assert alone.loss_of(grown.labels) == pytest.approx(
            alone.loss_of(found.labels[rows] - min(mine))
        )
    # Without a start, parts are split top-down, and more than all rows are one part.
    assert np.array_equal(GreedySearch(part=100).solve(problem, 4, FREE).labels, found.labels)
    whole = GreedySearch(part=401).solve(problem, 4, FREE).labels
    assert problem.loss_of(whole) == pytest.approx(
        problem.loss_of(GreedySearch().solve(problem, 4, FREE).labels), rel=0.2
    )
    with pytest.raises(InvalidProblemError, match="part: expected at least one row"):
        GreedySearch(part=0)
