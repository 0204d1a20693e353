"""Split & Carry: the worked example, dominance, sizes of blocks, and the counterexample to the printed carry rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.kanonymity.candidate import SearchLimits, audit
from discreet.kanonymity.methods import split_carry
from discreet.kanonymity.methods.initial import Initial
from discreet.kanonymity.methods.local_search import LocalSearch
from discreet.kanonymity.methods.split_carry import SplitCarry, solve_rows
from discreet.kanonymity.methods.subsets import SubsetProgram
from discreet.kanonymity.problem import Problem
from kanonymity.tables import fars, mixed, numeric


def blocks_seen(problem: Problem, k: int, method: SplitCarry, monkeypatch: Any) -> list[set[int]]:
    """The rows of each block that was solved."""
    seen: list[set[int]] = []

    def spy(problem: Problem, start: list[np.ndarray], *rest: Any) -> list[np.ndarray]:
        seen.append(set(np.concatenate(start).tolist()))
        return solve_rows(problem, start, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(split_carry, "solve_rows", spy)
        method.solve(problem, k, SearchLimits())
    return seen


@pytest.mark.parametrize(("blocks", "sizes"), [(2, [6, 9, 11]), (3, [9, 17]), (4, [12, 11])])
def test_the_worked_example_is_solved_to_optimality(
    blocks: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SplitCarry(blocks).solve(fars(), 3, SearchLimits())
    assert fars().loss_of(found.labels) == pytest.approx(19.266129032, abs=1e-8)
    seen = blocks_seen(fars(), 3, SplitCarry(blocks), monkeypatch)
    assert [len(rows) for rows in seen] == sizes
    if blocks == 3:
        assert {14, 7, 10, 16, 19, 13} <= seen[1]


@settings(max_examples=25)
@given(
    n=st.integers(6, 16), k=st.integers(2, 3), seed=st.integers(0, 999), blocks=st.integers(2, 3)
)
def test_it_is_between_the_optimum_and_the_initial_solution(
    n: int, k: int, seed: int, blocks: int
) -> None:
    """O3: the initial classes of a block and those carried into it are feasible for it."""
    problem = mixed(n, seed, missing=True)
    found = SplitCarry(blocks).solve(problem, k, SearchLimits())
    assert audit(found.labels, k).passed
    loss = problem.loss_of(found.labels)
    assert loss <= problem.loss_of(Initial().solve(problem, k, SearchLimits()).labels) + 1e-9
    assert loss >= SubsetProgram().solve(problem, k, SearchLimits()).lower


@pytest.mark.parametrize("seed", range(4))
def test_blocks_are_at_most_as_large_as_lemma_2_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    k, S = 2, 3
    seen = blocks_seen(mixed(41, seed), k, SplitCarry(S), monkeypatch)
    assert len(seen) == -(-(41 // k) // S)
    assert max(map(len, seen[:-1])) <= k * (2 * k - 1 + S)
    assert len(seen[-1]) <= k * (2 * k - 1 + S) + k - 1


def test_large_blocks_go_to_the_solver() -> None:
    problem = mixed(60, 4)
    start = problem.loss_of(Initial().solve(problem, 5, SearchLimits()).labels)
    for limits in (SearchLimits(), SearchLimits.within(0.2)):
        found = SplitCarry(4, solver=LocalSearch(rounds=20)).solve(problem, 5, limits)
        assert audit(found.labels, 5).passed
        assert problem.loss_of(found.labels) <= start


def test_a_solver_that_loses_more_is_not_believed() -> None:
    problem = mixed(20, 1)
    good = SplitCarry().solve(problem, 5, SearchLimits()).labels
    start = [np.flatnonzero(good == label) for label in range(good.max() + 1)]
    found = solve_rows(problem, start, 5, SearchLimits(), Initial())
    labels = np.empty(20, dtype=np.int32)
    for label, rows in enumerate(found):
        labels[rows] = label
    assert problem.loss_of(labels) <= problem.loss_of(good) + 1e-9


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidProblemError):
        SplitCarry(1)


def test_fewer_rows_than_k_are_infeasible() -> None:
    with pytest.raises(InfeasibleError):
        SplitCarry().solve(fars(), 21, SearchLimits())


@pytest.mark.jit
def test_a_time_limit_ends_blocks_and_is_not_filled_by_them() -> None:
    problem = numeric(np.random.default_rng(2).integers(0, 9, (60, 3)).astype(float))
    limits = SearchLimits.within(120)
    found = SplitCarry(3).solve(problem, 3, limits)
    assert audit(found.labels, 3).passed
    assert limits.left > 60


def test_sub_problems_tell_what_is_published_and_what_is_carried() -> None:
    blocks = list(SplitCarry(3).sub_problems(fars(), 3, SearchLimits()))
    assert [len(block.rows) for block in blocks] == [9, 17]
    carried = {int(row) for rows in blocks[0].carried for row in rows}
    assert carried == {14, 7, 10, 16, 19, 13}
    assert carried <= set(blocks[1].rows.tolist())
    assert blocks[1].carried == ()
    published = [row for block in blocks for rows in block.published for row in rows.tolist()]
    assert sorted(published) == list(range(20))


def test_no_block_is_solved_once_the_time_is_up(monkeypatch: Any) -> None:
    """At 20,000 rows the blocks went on for twelve times the limit: each is small, and they are thousands."""
    problem = numeric(np.random.default_rng(4).integers(0, 9, (90, 3)).astype(float))

    def solved(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(split_carry, "optimum_of", solved)
    found = SplitCarry(2).solve(problem, 3, SearchLimits.within(0))
    audit(found.labels, 3).raise_for_failure()
    worst = problem.loss_of(Initial().solve(problem, 3, SearchLimits()).labels)
    assert problem.loss_of(found.labels) <= worst + 1e-9
