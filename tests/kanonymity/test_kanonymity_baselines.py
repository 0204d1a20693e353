"""Mondrian, full-domain recoding and freeform generalization, and the bound that holds for all partitions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity import bound
from discreet.kanonymity.bound import embed, nearest_bound
from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods import METHODS
from discreet.kanonymity.methods.full_domain import FullDomain, levels_of
from discreet.kanonymity.methods.mondrian import Mondrian
from discreet.kanonymity.methods.subsets import SubsetProgram
from discreet.kanonymity.problem import Categorical, Numeric, Problem, Taxonomy
from kanonymity.tables import COUNTRIES, fars, mixed, numeric


def pair_loss(problem: Problem, i: int, j: int) -> float:
    """What one row of the class of two rows costs."""
    labels = np.full(problem.n, -1)
    labels[[i, j]] = 0
    return float(problem.boxes(labels).costs.sum())


def plain_mondrian(problem: Problem, k: int) -> set[frozenset[int]]:
    """Strict cuts, written with lists."""
    found, stack = set(), [list(range(problem.n))]
    while stack:
        rows = stack.pop()
        labels = np.full(problem.n, -1)
        labels[rows] = 0
        width = problem.boxes(labels).costs[0]
        for j in np.argsort(-width, kind="stable"):
            values = sorted(problem.codes[rows, j].tolist())
            median = values[(len(values) - 1) // 2]
            cuts = [(median, True), (median, False)]
            parts = [
                [[r for r in rows if (problem.codes[r, j] < m + strict) == side] for side in (1, 0)]
                for m, strict in cuts
            ]
            allowed = [part for part in parts if min(map(len, part)) >= k]
            if len(rows) >= 2 * k and width[j] > 0 and allowed:
                stack.extend(allowed[0])
                break
        else:
            found.add(frozenset(rows))
    return found


@settings(max_examples=30)
@given(n=st.integers(3, 25), k=st.integers(2, 4), seed=st.integers(0, 999))
def test_mondrian_cuts_the_widest_column_that_can_be_cut(n: int, k: int, seed: int) -> None:
    if n < k:
        return
    problem = mixed(n, seed, missing=True)
    labels = Mondrian().solve(problem, k, SearchLimits()).labels
    parts = {frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)}
    assert parts == plain_mondrian(problem, k)


@settings(max_examples=30)
@given(n=st.integers(3, 25), k=st.integers(1, 4), seed=st.integers(0, 999), strict=st.booleans())
def test_mondrian_keeps_k_rows_in_each_part(n: int, k: int, seed: int, *, strict: bool) -> None:
    if n < k:
        return
    problem = mixed(n, seed)
    labels = Mondrian(strict=strict).solve(problem, k, SearchLimits()).labels
    assert audit(labels, k).passed
    if not strict:
        assert all(
            size < 2 * k or problem.boxes(labels).costs[c].sum() == 0
            for c, size in enumerate(np.bincount(labels))
        )


def test_levels_of_each_kind_nest() -> None:
    for column in mixed(60, 0, missing=True).columns:
        levels = levels_of(column)
        assert levels[0].tolist() == list(range(len(column.domain)))
        assert set(levels[-1].tolist()) == {0}
        for finer, coarser in itertools.pairwise(levels):
            assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == finer.max() + 1
    homes = Problem.from_columns({"h": ["FR"]}, [Taxonomy("h", COUNTRIES)]).columns[0]
    assert [len(set(level.tolist())) for level in levels_of(homes)] == [6, 5, 3, 1]
    one = Problem.from_columns({"a": ["x"]}, [Categorical("a")]).columns[0]
    assert len(levels_of(one)) == 1


def level_cost(problem: Problem, j: int, level: np.ndarray, code: int) -> float:
    column = problem.columns[j]
    group = np.flatnonzero(level == level[code])
    if column.is_set:
        return float(column.set_cost(len(group)))
    return float(column.span_cost(group.min(), group.max()))


@settings(max_examples=20)
@given(n=st.integers(5, 14), k=st.integers(2, 4), seed=st.integers(0, 99), budget=st.integers(0, 4))
def test_full_domain_recoding_is_the_optimum_over_all_nodes(
    n: int, k: int, seed: int, budget: int
) -> None:
    problem = mixed(n, seed)
    levels = [levels_of(column) for column in problem.columns]
    best = np.inf
    for node in itertools.product(*(range(len(one)) for one in levels)):
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, codes in enumerate(problem.codes.tolist()):
            key = tuple(int(levels[j][node[j]][code]) for j, code in enumerate(codes))
            groups.setdefault(key, []).append(row)
        small = {row for rows in groups.values() if len(rows) < k for row in rows}
        if len(small) > budget:
            continue
        best = min(
            best,
            len(small) * problem.suppressed_cost
            + sum(
                level_cost(problem, j, levels[j][node[j]], code)
                for row, codes in enumerate(problem.codes.tolist())
                if row not in small
                for j, code in enumerate(codes)
            ),
        )
    found = FullDomain().solve(problem, k, SearchLimits(suppress=budget)).labels
    assert audit(found, k, suppress=budget).passed
    # What is published are boxes, which are no wider than levels.
    assert problem.loss_of(found) <= best + 1e-9


def test_full_domain_recoding_needs_a_lattice_that_can_be_searched() -> None:
    with pytest.raises(InvalidProblemError, match="at most 10 nodes"):
        FullDomain(max_nodes=10).solve(fars(), 3, SearchLimits())


@settings(max_examples=40)
@given(n=st.integers(2, 9), k=st.integers(1, 4), seed=st.integers(0, 999), missing=st.booleans())
def test_the_bound_is_the_sum_of_distances_to_the_nearest_others(
    n: int, k: int, seed: int, *, missing: bool
) -> None:
    if n < k:
        return
    problem = mixed(n, seed, missing=missing)
    expected = sum(
        sorted(pair_loss(problem, i, j) for j in range(n) if j != i)[k - 2] if k > 1 else 0
        for i in range(n)
    )
    found = nearest_bound(problem, k)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found <= expected
    assert found <= problem.loss_of(SubsetProgram().solve(problem, k, SearchLimits()).labels)


@settings(max_examples=20)
@given(seed=st.integers(0, 999), loss=st.sampled_from(["ncp", "one-hot", "arx-loss"]))
def test_distances_of_embedded_rows_are_no_larger(seed: int, loss: str) -> None:
    problem = mixed(12, seed, loss, missing=True)
    coordinates = embed(problem)
    for i, j in itertools.combinations(range(12), 2):
        apart = float(np.abs(coordinates[i] - coordinates[j]).sum())
        assert apart <= pair_loss(problem, i, j) + 1e-12


def test_of_very_many_rows_a_tree_finds_the_near_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = numeric(np.random.default_rng(0).integers(0, 9, (60, 3)).astype(float))
    exact = nearest_bound(numbers, 4)
    others = mixed(60, 0)
    weaker = nearest_bound(others, 4)
    monkeypatch.setattr(bound, "NEAR", replace(bound.NEAR, max_points_of_all_pairs=0))
    assert nearest_bound(numbers, 4) == pytest.approx(exact)
    assert 0 < nearest_bound(others, 4) <= weaker * (1 + 1e-9)
    wide = [f"v{i}" for i in range(60)]
    assert nearest_bound(Problem.from_columns({"a": wide}, [Categorical("a")]), 4) == 0


@pytest.mark.parametrize("pairs", [0, 20_000])
def test_a_bound_from_some_rows_alone_is_a_bound(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "NEAR", replace(bound.NEAR, first_portion_points=8))
    monkeypatch.setattr(bound, "NEAR", replace(bound.NEAR, max_points_of_all_pairs=pairs))
    problem = numeric(np.random.default_rng(0).random((60, 3)))
    some = nearest_bound(problem, 4, SearchLimits.within(0))
    assert 0 < some < 0.3 * nearest_bound(problem, 4)


def test_methods_by_name_can_be_loaded_and_keep_k_rows() -> None:
    for record in METHODS.proven.values():
        found = record.make().solve(numeric(np.arange(14.0)[:, None]), 3, SearchLimits())
        assert audit(found.labels, 3).passed


@pytest.mark.parametrize("method", [Mondrian(), FullDomain()])
def test_fewer_rows_than_k_are_infeasible(method: Any) -> None:
    with pytest.raises(InfeasibleError):
        method.solve(fars(), 21, SearchLimits())


def test_a_table_of_numbers_alone_may_declare_the_range_loss() -> None:
    problem = Problem.from_columns({"a": [1, 2, 3]}, [Numeric("a")], loss="range")
    assert problem.loss_of([0, 0, 0]) == 3
