"""The engine's counts are an optimum: by brute force, by its certificate, and by laws that no optimum breaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.datasets import made_census
from discreet.hierarchy import laminar
from discreet.hierarchy.kernels import laminar as _kernels
from discreet.hierarchy.laminar import continuous, objective, optimal, project
from discreet.hierarchy.problem import Frame
from hierarchy.small_trees import least_cost, problems, random_tree, summed, tables
from trees import tree_of

STATES = Tree.from_paths([("GA",), ("NY",)], root="US")


def noisy_census(spread: int = 6, **sizes: Any) -> tuple[Tree, np.ndarray, np.ndarray, int]:
    """Make a census, its counts in all regions, and the same with noise."""
    made = made_census(**sizes)
    true = made.tree.totals(made.counts)
    generator = np.random.default_rng(5)
    noise = generator.geometric(1 / spread, true.shape) - generator.geometric(
        1 / spread, true.shape
    )
    return made.tree, true, true + noise, made.groups


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_no_counts_cost_less(problem: Any) -> None:
    """Random trees, ragged, weighted, some regions without weight: equal to plain min-plus tables."""
    tree, y, total, weights = problem
    found = project(tree, y, total=total, weights=weights)
    assert objective(tree, found, y, weights=weights) == least_cost(tree, y, total, weights)
    assert optimal(tree, found, y, total=total, weights=weights).passed


@pytest.mark.jit
def test_hundreds_of_random_trees() -> None:
    generator = np.random.default_rng(42)
    for _ in range(200):
        tree = random_tree(generator, int(generator.integers(1, 10)))
        y = generator.integers(-5, 8, (tree.n, int(generator.integers(1, 4))))
        weights = generator.integers(1, 4, tree.n)
        total = None if generator.random() < 0.3 else int(generator.integers(0, 16))
        found = project(tree, y, total=total, weights=weights)
        cost = objective(tree, found, y, weights=weights)
        assert cost == least_cost(tree, y, total, weights)


@settings(max_examples=100, deadline=None)
@given(problem=problems(), data=st.data())
def test_the_certificate_tells_an_optimum_from_everything_else(
    problem: Any, data: st.DataObject
) -> None:
    """Of all feasible counts it accepts those of least cost, and only those."""
    tree, y, total, weights = problem
    most = 4 if total is None else total
    cells = len(tree.leaves) * y.shape[1]
    drawn = data.draw(st.lists(st.integers(0, most), min_size=cells, max_size=cells))
    leaves = np.array(drawn, dtype=np.int64).reshape(-1, y.shape[1])
    if total is not None and leaves.sum() != total:
        leaves[:] = 0
        leaves[data.draw(st.integers(0, len(leaves) - 1)), -1] = total
    some = tree.totals(leaves)
    cost, least = objective(tree, some, y, weights=weights), least_cost(tree, y, total, weights)
    assert optimal(tree, some, y, total=total, weights=weights).passed == (cost == least)


def test_the_certificate_rejects_what_does_not_add_up() -> None:
    y = np.array([[3, 1, 2], [2, -1, 1], [0, 1, 3]])
    x = project(STATES, y, total=6)
    for change, failed in (
        (np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]]), [1, 2]),
        (np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0]]), [2]),
        (np.array([[0, 0, 0], [1, -1, 0], [-1, 1, 0]]), [0]),
    ):
        verdicts = [check.passed for check in optimal(STATES, x + change, y, total=6).checks]
        assert not any(verdicts[at] for at in failed)


@settings(max_examples=40, deadline=None)
@given(problem=problems())
def test_the_tables_of_every_region_are_convex(problem: Any) -> None:
    """Lemma 5: tau and phi have increments that never fall; with a weight, those of tau rise by twice it."""
    tree, y, _, weights = problem
    for node, by_size in enumerate(tables(tree, y, weights, 9)):
        for table in by_size:
            assert np.diff(table, 2).min() >= 2 * weights[node]
        if tree.children(node):
            for s in range(y.shape[1]):
                phi = summed([tables(tree, y, weights, 9)[c][s] for c in tree.children(node)])
                assert np.diff(phi, 2).min() >= 0


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_without_integrality_the_cost_is_no_higher_and_the_prices_agree(problem: Any) -> None:
    """In fractions: what is above zero has one marginal cost along every path, what is at zero no lower one."""
    tree, y, total, weights = problem
    x = continuous(tree, y, total=total, weights=weights)
    whole = project(tree, y, total=total, weights=weights)
    assert (weights[:, None] * (x - y) ** 2).sum() <= objective(
        tree, whole, y, weights=weights
    ) + 1e-6
    assert x.min() >= 0
    assert np.abs(tree.totals(x[tree.leaves]) - x).max() < 1e-9
    price = 2 * weights[:, None] * (x - y)
    along = np.array([price[tree.ancestors(leaf)].sum(axis=0) for leaf in tree.leaves])
    used = x[tree.leaves] > 1e-9
    common = 0.0 if total is None else float(along[used].mean()) if used.any() else along.min()
    if total is not None:
        assert x[0].sum() == pytest.approx(total, abs=1e-6)
    assert np.abs(along[used] - common).max(initial=0.0) < 1e-6
    assert (along >= common - 1e-6).all()


CASES: dict[str, tuple[Tree, Any, int | None]] = {
    "one region": (Tree(("all",), np.array([-1])), [[3, -2, 5]], 7),
    "one region, free": (Tree(("all",), np.array([-1])), [[3, -2, 5]], None),
    "one cell": (Tree(("all",), np.array([-1])), [[3]], 0),
    "a chain": (Tree.from_paths([("a", "b", "c", "d")]), [[9], [2], [0], [-4], [7]], None),
    "all zeros": (STATES, np.zeros((3, 4), dtype=int), 0),
    "all negative": (STATES, -np.arange(1, 13).reshape(3, 4), 5),
    "nothing to give": (STATES, np.arange(12).reshape(3, 4), 0),
    "far more than measured": (STATES, np.ones((3, 2), dtype=int), 10**9),
    "far less than measured": (STATES, np.full((3, 2), 10**9), 3),
    "a giant beside nothing": (STATES, [[10**8, 0], [0, 3], [10**8, -3]], 10**8),
    "parents far from children": (STATES, [[10**6, 0], [0, 0], [0, 0]], None),
    "a star": (Tree.from_paths([(str(i),) for i in range(300)]), np.arange(301)[:, None] % 7, 40),
}


@pytest.mark.parametrize("name", CASES)
def test_structures_of_all_kinds_are_solved(name: str) -> None:
    tree, y, total = CASES[name]
    found = project(tree, y, total=total)
    assert found.dtype == np.int64
    assert optimal(tree, found, y, total=total).passed


@pytest.mark.jit
def test_a_small_census_is_solved_exactly() -> None:
    """Consistent, whole, not negative, with the total on each level; no level is off by more than twice the total."""
    tree, true, y, total = noisy_census(states=5, counties=40, groups=20_000, max_size=60)
    found = project(Frame(tree, 60, "private"), y, total=total)
    certificate = optimal(tree, found, y, total=total)
    assert certificate.passed, str(certificate)
    for first, stop in zip(tree.level_start[:-1], tree.level_start[1:], strict=True):
        assert found[first:stop].sum() == total
        assert np.abs(found[first:stop] - true[first:stop]).sum() <= 2 * total


@pytest.mark.jit
def test_a_deep_ragged_tree_with_weights_is_solved_exactly() -> None:
    generator = np.random.default_rng(3)
    tree = random_tree(generator, 400)
    y = generator.integers(-30, 60, (400, 25))
    weights = generator.integers(1, 1000, 400)
    for total in (None, 0, 1000, 10**7):
        found = project(tree, y, total=total, weights=weights)
        assert optimal(tree, found, y, total=total, weights=weights).passed


def test_where_no_window_holds_a_solution_scaling_finds_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Floats are a guess: with a worthless one the result is as good."""
    y = np.array([[900, 40], [700, -3], [150, 60]])
    best = objective(STATES, project(STATES, y, total=1000), y)
    for guess in (0.0, 1e6):
        monkeypatch.setattr(laminar, "_flows", lambda task, g=guess: np.full(task.ys.shape, g))
        found = project(STATES, y, total=1000)
        assert objective(STATES, found, y) == best
        assert optimal(STATES, found, y, total=1000).passed


@settings(max_examples=40, deadline=None)
@given(problem=problems(), data=st.data())
def test_the_order_of_sizes_and_siblings_does_not_change_the_cost(
    problem: Any, data: st.DataObject
) -> None:
    tree, y, total, weights = problem
    best = objective(tree, project(tree, y, total=total, weights=weights), y, weights=weights)
    order = data.draw(st.permutations(range(y.shape[1])))
    turned = y[:, order]
    found = project(tree, turned, total=total, weights=weights)
    assert objective(tree, found, turned, weights=weights) == best
    names, above = list(tree.labels), [None, *(str(tree.labels[p]) for p in tree.parents[1:])]
    shuffled = data.draw(st.permutations(range(tree.n)))
    other = tree_of([str(names[i]) for i in shuffled], [above[i] for i in shuffled])
    moved = np.array([names.index(label) for label in other.labels])
    found = project(other, y[moved], total=total, weights=weights[moved])
    assert objective(other, found, y[moved], weights=weights[moved]) == best


def test_equal_inputs_give_equal_outputs_however_the_arrays_lie_in_memory() -> None:
    tree, _, y, total = noisy_census(states=3, counties=9, groups=900, max_size=12)
    first = project(tree, y, total=total)
    for same in (np.asfortranarray(y), y[::-1][::-1], y.astype(np.int32), y.tolist()):
        assert np.array_equal(project(tree, same, total=total), first)
    assert not np.shares_memory(first, y)


@pytest.mark.parametrize("total", [900, None])
def test_threads_do_not_change_the_result(total: int | None) -> None:
    tree, _, y, _ = noisy_census(states=3, counties=9, groups=900, max_size=12)
    first = project(tree, y, total=total)
    for threads in (2, 3, 40):
        assert np.array_equal(project(tree, y, total=total, threads=threads), first)


def test_compiled_loops_and_plain_ones_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, _, y, total = noisy_census(states=3, counties=7, groups=400, max_size=10)
    cases = [total, None]
    compiled = [project(tree, y, total=t) for t in cases]
    fractions = continuous(tree, y, total=total)
    for name, function in vars(_kernels).items():
        if hasattr(function, "py_func"):
            monkeypatch.setattr(_kernels, name, function.py_func)
    for t, expected in zip(cases, compiled, strict=True):
        assert np.array_equal(project(tree, y, total=t), expected)
    assert np.abs(continuous(tree, y, total=total) - fractions).max() < 1e-9


@pytest.mark.parametrize("rank", [0, 7, 20, 39])
def test_selection_puts_in_place_what_sorting_would(rank: int) -> None:
    generator = np.random.default_rng(rank)
    for values in (
        generator.integers(0, 5, 50),
        np.arange(50),
        np.arange(50)[::-1].copy(),
        np.zeros(50, dtype=np.int64),
    ):
        part, ends = values[5:45].copy(), values[[0, -1]].copy()
        _kernels.select(values, 5, 45, 5 + rank)
        assert values[5 + rank] == np.sort(part)[rank]
        assert (values[5 : 5 + rank] <= values[5 + rank]).all()
        assert (values[5 + rank : 45] >= values[5 + rank]).all()
        assert np.array_equal(np.sort(values[5:45]), np.sort(part))
        assert np.array_equal(values[[0, -1]], ends)


def test_sizes_are_coupled_by_the_total_alone() -> None:
    """With a free total each size is a problem of its own."""
    tree, _, y, _ = noisy_census(states=3, counties=9, groups=900, max_size=12)
    together = project(tree, y, total=None)
    alone = [project(tree, y[:, [s]], total=None) for s in range(12)]
    assert np.array_equal(together, np.hstack(alone))


def test_a_consistent_shift_moves_the_result_with_it() -> None:
    """Where no bound is active, adding counts that add up adds them to the result."""
    tree, true, y, total = noisy_census(
        states=2, counties=4, groups=100_000, max_size=10, outliers=0, spread=2
    )
    y, shift = y[:, :6], tree.totals(np.arange(24).reshape(4, 6))
    assert true[:, :6].min() > 20
    before = project(tree, y, total=total)
    after = project(tree, y + shift, total=total + int(shift[0].sum()))
    assert objective(tree, after, y + shift) == objective(tree, before, y)


@settings(max_examples=50, deadline=None)
@given(problem=problems())
def test_noise_that_is_consistent_already_is_given_back(problem: Any) -> None:
    tree, y, _, weights = problem
    counts = tree.totals(np.abs(y[tree.leaves]))
    found = project(tree, counts, total=int(counts[0].sum()), weights=weights)
    assert objective(tree, found, counts, weights=weights) == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"y": [1, 2, 3]}, "y"),
        ({"y": [[1], [2]]}, "y"),
        ({"y": np.zeros((3, 0), dtype=int)}, "y"),
        ({"y": [[1.0], [2.0], [3.0]]}, "y"),
        ({"y": [[2**55], [0], [0]]}, "y, weights"),
        ({"weights": [2**54, 1, 1]}, "y, weights"),
        ({"weights": [1, 1]}, "weights"),
        ({"weights": [1.0, 1.0, 1.0]}, "weights"),
        ({"weights": [-1, 1, 1]}, "weights"),
        ({"weights": [1, 0, 1]}, "weights"),
        ({"total": -1}, "total"),
        ({"total": 2**60}, "total"),
        ({"threads": 0}, "threads"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any], field: str) -> None:
    arguments: dict[str, Any] = {"y": [[4], [1], [0]], "total": None} | changes
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        project(STATES, **arguments)


def test_counts_of_another_shape_are_refused() -> None:
    for x in ([[1], [1]], [[1.0], [1.0], [0.0]]):
        with pytest.raises(InvalidProblemError, match="^x: "):
            optimal(STATES, x, [[4], [1], [0]], total=None)
