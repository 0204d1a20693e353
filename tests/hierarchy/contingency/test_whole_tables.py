"""Whole tables: what they promise, how near to the best they are proved to be, and tiny ones by brute force."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, ZeroConcentratedDP
from discreet.core.errors import SolverError
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.descent import Siblings, Solved, proved, solve
from discreet.hierarchy.contingency.estimates import InteractionBasis, combine, upward
from discreet.hierarchy.contingency.measure import MeasuredTables, marginal_scales, measure
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.result import RegionTables
from discreet.hierarchy.contingency.rounding import (
    ONE,
    as_units,
    by_exchanges,
    chain_of,
    round_largest,
    round_root,
)
from discreet.hierarchy.contingency.verify import verify_tables
from discreet.hierarchy.contingency.whole import whole
from discreet.hierarchy.laminar import objective, project
from hierarchy.contingency.made_tables import ADDED, RAGGED, REPLACED, SEX_AGE, frame_of

CHAIN: list[Any] = [(), (0,), (0, 1)]
CROSSED: list[Any] = [(), (0,), (1,), (0, 1)]


def data_of(frame: TableFrame, seed: int = 3, most: int = 6) -> CellCounts:
    counts = np.random.default_rng(seed).integers(
        0, most, (len(frame.tree.leaves), frame.domain.size)
    )
    counts[:, ~frame.domain.possible] = 0
    return CellCounts(frame, counts)


@pytest.mark.parametrize("marginals", [CHAIN, CROSSED, [(0, 1)]])
@pytest.mark.parametrize("guarantee", [ZeroConcentratedDP("1/4", ADDED), PureDP(1, ADDED)])
def test_whole_tables_keep_what_they_promise(marginals: list[Any], guarantee: Any) -> None:
    zeros = [{"sex": ["F"], "age": ["65+"]}]
    domain = Domain.read({"sex": ["F", "M"], "age": ["0-17", "18-64", "65+"]}, zeros=zeros)
    frame = frame_of(RAGGED, domain, marginals)
    made = whole(measure(data_of(frame), guarantee, bits=SeededBits(5)))
    assert verify_tables(frame, made.cells).passed
    assert (made.cells[:, 2] == 0).all()
    assert [one.level for one in made.gaps] == [1, 2, 3]
    assert all(0 <= one.lower <= one.upper for one in made.gaps)
    again = whole(measure(data_of(frame), guarantee, bits=SeededBits(5)), threads=2)
    assert np.array_equal(again.cells, made.cells)


@pytest.mark.parametrize("marginals", [CHAIN, CROSSED, [(0, 1)]])
def test_noise_free_tables_come_back_exactly(marginals: list[Any]) -> None:
    frame = frame_of(RAGGED, SEX_AGE, marginals)
    data = data_of(frame, most=1000)
    made = whole(measure(data, ZeroConcentratedDP(10**9, ADDED)))
    assert np.array_equal(made.cells, data.of_regions((0, 1)))


def test_a_public_total_is_kept() -> None:
    counts = np.random.default_rng(5).integers(0, 9, (4, 6))
    shares: dict[Any, Any] = {(0, 1): (Fraction(1, 3),) * 3}
    frame = TableFrame(RAGGED, SEX_AGE, shares, total=int(counts.sum()))
    made = whole(measure(CellCounts(frame, counts), ZeroConcentratedDP("1/10", REPLACED)))
    assert made.cells[0].sum() == counts.sum()
    assert verify_tables(frame, made.cells).passed


def siblings(
    seed: int, children: int = 2, cells: int = 4, *, expected: bool = False
) -> tuple[Siblings, InteractionBasis, np.ndarray[Any, Any]]:
    """Make a tiny problem: targets of either sign, precisions by interaction, a small parent, expected tables."""
    generator = np.random.default_rng(seed)
    domain = Domain.read({"a": ["1", "2"], "b": ["1", "2"]})
    basis = InteractionBasis(domain)
    m = generator.normal(1, 2, (children, cells))
    precision = generator.uniform(0.2, 3, (children, 4))
    parent = generator.integers(0, 4, cells)
    task = Siblings(
        np.asarray(basis.forward(m), dtype=np.float64), precision, parent, None, domain.possible
    )
    if expected:
        # Some are 0, as all below a parent that is; some weigh much more than measurements.
        tables = np.maximum(generator.normal(1, 1, (children, cells)), 0) * (parent > 0)
        task = replace(task, expected=tables, weight=generator.uniform(0.1, 2, m.shape) ** 8)
    return task, basis, m


def cost(task: Siblings, basis: InteractionBasis, tables: np.ndarray[Any, Any]) -> float:
    """Compute the objective from its definition, by projectors."""
    off = basis.forward(tables.astype(np.float64)) - task.targets
    model = task.weight * (tables - task.expected) ** 2
    return float((task.precision[:, basis.subset] * off**2).sum() + np.sum(model)) / 2


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_holds_for_every_whole_table_of_a_tiny_problem(
    seed: int, *, expected: bool
) -> None:
    task, basis, _ = siblings(seed, expected=expected)
    parent = task.parent
    assert parent is not None
    found = solve(task, basis, rounds=2000, tol=1e-7)
    every = [
        np.array([first, parent - np.array(first)])
        for first in product(*(range(int(one) + 1) for one in parent))
    ]
    costs = [cost(task, basis, tables) for tables in every]
    best = min(costs)
    for tables, value in zip(every, costs, strict=True):
        least, most, apart, moved = proved(task, found, tables, basis)
        assert least <= value <= most
        assert cost(replace(task, weight=0.0), basis, tables) <= moved <= most
        assert value - apart <= best + 1e-9
    # The relaxed optimum is a bound that is nearly met, so that it is worth something.
    relaxed = cost(task, basis, found.tables)
    tables = every[int(np.argmin(costs))]
    _, _, apart, _ = proved(task, found, tables, basis)
    assert best - apart <= relaxed + 1e-4
    assert best - apart >= relaxed - 0.02 * max(1.0, relaxed)


@pytest.mark.parametrize("expected", [False, True])
def test_bad_multipliers_give_a_weak_bound_and_never_a_false_one(*, expected: bool) -> None:
    task, basis, _ = siblings(1, expected=expected)
    parent = task.parent
    assert parent is not None
    generator = np.random.default_rng(0)
    every = [
        np.array([first, parent - np.array(first)])
        for first in product(*(range(int(one) + 1) for one in parent))
    ]
    best = min(cost(task, basis, tables) for tables in every)
    for _ in range(20):
        wild = Solved(np.zeros((2, 4)), generator.normal(0, 5, (2, 4)), 0.0)
        tables = every[int(generator.integers(len(every)))]
        _, most, apart, _ = proved(task, wild, tables, basis)
        assert most - apart <= best + 1e-9


def test_tables_that_are_not_feasible_prove_nothing() -> None:
    task, basis, _ = siblings(1)
    found = solve(task, basis, rounds=10)
    with pytest.raises(SolverError, match="not negative"):
        proved(task, found, np.array([[-1, 0, 0, 0], [1, 0, 0, 0]]), basis)


@pytest.mark.parametrize("seed", range(8))
def test_cells_take_their_floor_or_ceiling_and_keep_the_sums_over_children(seed: int) -> None:
    generator = np.random.default_rng(seed)
    parent = generator.integers(0, 7, 12)
    units = as_units(generator.uniform(0, 1, (5, 12)), parent)
    assert (units.sum(axis=0) == ONE * parent).all()
    made = round_largest(units, parent)
    assert (made.sum(axis=0) == parent).all()
    assert (np.abs(made * ONE - units) < ONE).all()
    # Of the fractions that went down none is larger than one that went up.
    rest = units % ONE
    up = made * ONE > units
    for cell in range(12):
        smallest_up = rest[up[:, cell], cell].min(initial=ONE)
        assert rest[~up[:, cell], cell].max(initial=0) <= smallest_up


def test_the_root_is_rounded_along_a_chain() -> None:
    domain = Domain.read({"a": ["1", "2"], "b": ["1", "2", "3"]})
    chain: list[Any] = [(), (0,), (0, 1)]
    assert chain_of([(), (1,), *chain], domain) in (chain, [(), (1,), (0, 1)])
    for seed in range(10):
        table = np.random.default_rng(seed).uniform(0, 3, (1, 6))
        made = round_root(table, domain, chain, None)[None]
        for q in chain:
            assert (np.abs(domain.project(table, q) - domain.project(made, q)) < 1).all()
        assert round_root(table, domain, chain, 9).sum() == 9


@pytest.mark.slow
def test_cells_alone_are_the_problem_of_counts_by_size() -> None:
    """Without marginals the cells are independent trees: the exact engine for groups by size bounds whole tables."""
    tree = Tree.from_paths([("a",), ("b",), ("c",)])
    frame = TableFrame(tree, SEX_AGE, {(0, 1): (Fraction(1, 2),) * 2})
    kept = measure(data_of(frame), ZeroConcentratedDP("1/4", ADDED), bits=SeededBits(2))
    noisy = np.asarray(kept.values[0, 1])
    best = project(tree, noisy, total=None)
    made = whole(kept, rounds=400, look_below=False)
    costs = [objective(tree, cells, noisy) for cells in (best, made.cells)]
    assert costs[0] <= costs[1]
    # The descent without a model of siblings fixes the root first and rounds it; it loses little.
    assert costs[1] <= 1.2 * costs[0] + 6


def test_clipping_moves_zeros_up() -> None:
    """True zeros are published above zero on average, though the noise has mean 0; signed estimates are not."""
    domain = Domain.read({"a": list("abcdefgh"), "b": list("pqrst")})
    tree = Tree.from_paths([(str(k),) for k in range(20)])
    counts = np.zeros((20, 40), dtype=np.int64)
    counts[:, 0] = 500
    frame = TableFrame(tree, domain, {(0, 1): (Fraction(1, 2),) * 2})
    made = whole(
        measure(CellCounts(frame, counts), ZeroConcentratedDP("1/2", ADDED), bits=SeededBits(3))
    )
    leaves = made.cells[tree.leaves]
    assert leaves[:, 1:].mean() > 0.01
    assert leaves[:, 0].mean() < 500


def test_results_of_another_shape_are_refused() -> None:
    frame = frame_of(RAGGED, SEX_AGE, CHAIN)
    with pytest.raises(InvalidProblemError, match="cells"):
        RegionTables(frame, np.zeros((7, 5), dtype=np.int64))
    floats: Any = np.zeros((7, 6))
    with pytest.raises(InvalidProblemError, match="cells"):
        RegionTables(frame, floats)
    wrong: Any = "arrow"
    with pytest.raises(InvalidProblemError, match="backend"):
        RegionTables(frame, np.zeros((7, 6), dtype=np.int64)).to_frame(wrong)


def test_subtrees_apart_are_the_tree_together() -> None:
    """What machines of a cluster make of their states is what one machine makes of all."""
    paths = [(f"s{s}", f"c{s}{c}") for s in range(3) for c in range(2 + s)]
    tree = Tree.from_paths(paths)
    marginals: list[Any] = [(), (0,), (0, 1)]
    frame = frame_of(tree, SEX_AGE, marginals)
    rng = np.random.default_rng(5)
    guarantee = ZeroConcentratedDP("1/4", ADDED)
    counts = rng.integers(0, 30, (len(paths), 6))
    kept = measure(CellCounts(frame, counts), guarantee, bits=SeededBits(2))
    together, made = whole(kept), upward(kept)
    sent = []
    for state in range(3):
        node = tree.find((f"s{state}",))
        rows = [node, *tree.children(node)]
        below = Tree.from_paths([(f"c{state}{c}",) for c in range(2 + state)], root="state")
        part = frame_of(below, SEX_AGE, marginals)
        own = ZeroConcentratedDP(Fraction(1, 6), ADDED)
        values = {q: np.ascontiguousarray(table[rows]) for q, table in kept.values.items()}
        scales = marginal_scales(part, own)
        assert all(scales[q] == kept.scales[q][2:] for q in marginals)
        apart = MeasuredTables(part, values, scales, "gaussian", own)
        estimates = upward(apart)
        sent.append((estimates.means[0], estimates.weights.precision[0]))
        assert np.allclose(estimates.means, made.means[rows], rtol=0, atol=1e-9)
        out = whole(apart, top=together.cells[node])
        assert (out.cells == together.cells[rows]).all()
        assert [one.level for one in out.gaps] == [2]
        assert verify_tables(part, out.cells).passed
    alone = frame_of(Tree(("all",), np.array([-1])), SEX_AGE, marginals)
    top = ZeroConcentratedDP(Fraction(1, 12), ADDED)
    first = {q: np.ascontiguousarray(table[:1]) for q, table in kept.values.items()}
    root = upward(MeasuredTables(alone, first, marginal_scales(alone, top), "gaussian", top))
    mean, precision = combine((root.means[0], root.weights.precision[0]), sent, root.basis.subset)
    assert np.allclose(mean, made.means[0], rtol=0, atol=1e-8)
    assert np.allclose(precision, made.weights.precision[0], rtol=1e-12)
    wrongs: list[Any] = [np.full(6, -1), np.zeros(6), np.zeros(5, dtype=np.int64)]
    for wrong in wrongs:
        with pytest.raises(InvalidProblemError, match="^top: "):
            whole(kept, top=wrong)


@pytest.mark.parametrize("seed", range(4))
def test_exchanges_lower_the_objective_to_where_no_exchange_does(seed: int) -> None:
    """Against all moves of one unit, tried one by one with the dense objective."""
    rng = np.random.default_rng(seed)
    domain = Domain.read({"p": ["a", "b"], "q": ["a", "b", "c"]}, zeros=[{"p": ["a"], "q": ["c"]}])
    basis = InteractionBasis(domain)
    precision = rng.uniform(0.1, 3, (3, 4))
    targets = np.asarray(basis.forward(rng.normal(2, 3, (3, 6))), dtype=np.float64)
    start = np.where(domain.possible, rng.integers(0, 5, (3, 6)), 0)
    task = Siblings(targets, precision, start.sum(axis=0), None, domain.possible)

    def cost(cells: Any) -> float:
        off = basis.forward(np.asarray(cells, dtype=np.float64)) - targets
        return float((precision[:, basis.subset] * off**2).sum()) / 2

    fit: Any = basis.backward(targets)
    made = by_exchanges(start.copy(), fit, task, basis, passes=1000)
    assert (made.sum(axis=0) == start.sum(axis=0)).all()
    assert made.min() >= 0
    assert not made[:, ~domain.possible].any()
    assert cost(made) < cost(start)
    for giver, taker, cell in product(range(3), range(3), range(6)):
        if giver != taker and made[giver, cell]:
            other = made.copy()
            other[giver, cell] -= 1
            other[taker, cell] += 1
            assert cost(other) >= cost(made) - 1e-7
