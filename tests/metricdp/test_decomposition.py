"""The paper's decomposition: equal to the linear program whatever the partition, and every bound proved."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError, SolverError
from discreet.core.guarantee import MetricDP
from discreet.core.lp import solve
from discreet.core.lp.angular import split as split_program
from discreet.core.lp.benders import BendersOptions, benders
from discreet.core.lp.benders import _Loop as LOOP
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Benders, Direct, Exponential, Problem, design, verify
from discreet.metricdp.blocks import PARTITIONERS, Partition, partition
from discreet.metricdp.boundary import (
    Layout,
    implied_rows,
    inner_pairs,
    restate,
    unstated_pairs,
)
from discreet.metricdp.bounds import local
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem

# The module: the package has the function under this name.
_design = import_module("discreet.metricdp.design")

TIGHT = PartLimits(gap=1e-5)


def instance(seed: int) -> WholeProblem:
    """Random places, some twice; all secrets or a few as reports; a radius that leaves several components."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 15))
    points = rng.uniform(0, 2.5, (n, 2))
    if seed % 3 == 0:
        points[1] = points[0]
    space = MetricSpace.from_points(points, unit="km")
    reports = None if seed % 2 else rng.choice(n, max(2, n // 2), replace=False).tolist()
    problem = Problem(
        space, utility_loss="euclidean", prior=rng.dirichlet(np.ones(n)), reports=reports
    )
    epsilon = Fraction(int(rng.integers(1, 5)), 2)
    return WholeProblem(problem, space.adjacency("0.9"), epsilon)


def road(n: int = 30, k: int = 8, seed: int = 2, epsilon: str = "1") -> Part:
    """A connected part of the paper's kind, fewer reports than secrets."""
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.uniform(0, np.sqrt(n / 0.64), (n, 2)), unit="km")
    problem = Problem(
        space, utility_loss="euclidean", reports=rng.choice(n, k, replace=False).tolist()
    )
    graph = space.adjacency(2).join(space)[0]
    return WholeProblem(problem, graph, Fraction(epsilon)).parts[0]


def loss(part: Part, found: Candidate) -> float:
    assert found.matrix is not None
    return float((part.cost * found.matrix).sum())


def proven(part: Part, found: Candidate) -> float:
    assert found.multipliers is not None
    return lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)


def agrees(part: Part, method: Benders, limits: PartLimits = TIGHT) -> Candidate:
    """Compare with the monolithic program: cost and proven bound."""
    found, expected = method.solve(part, limits), loss(part, Direct().solve(part, TIGHT))
    size = max(expected, 1e-6 * float(part.cost.max()))
    assert loss(part, found) == pytest.approx(expected, abs=2e-5 * size + 1e-9)
    assert proven(part, found) <= expected + 1e-6 * size
    assert proven(part, found) == pytest.approx(expected, abs=2e-5 * size + 1e-9)
    return found


def all_partitioners_agree(seed: int) -> None:
    for part in instance(seed).parts:
        if part.n > 1:
            for name in PARTITIONERS:
                agrees(part, Benders(2 + seed % 3, name))


@pytest.mark.parametrize("seed", range(5))
def test_all_partitioners_meet_the_monolithic_program(seed: int) -> None:
    all_partitioners_agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 62))
def test_fifty_more_instances(seed: int) -> None:
    all_partitioners_agree(seed)


def test_the_instances_have_what_they_should() -> None:
    """Several components, isolated records, duplicates, all secrets as reports and fewer."""
    wholes = [instance(seed) for seed in range(12)]
    assert any(len(whole.parts) > 1 for whole in wholes)
    assert any(part.n == 1 for whole in wholes for part in whole.parts)
    assert any(whole.n_classes < whole.problem.n_secrets for whole in wholes)
    widths = {whole.problem.n_reports == whole.problem.n_secrets for whole in wholes}
    assert widths == {True, False}


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_whole_design_with_duplicates_components_and_isolated_secrets(seed: int) -> None:
    whole = instance(seed)
    guarantee = MetricDP(whole.epsilon, unit="km", radius="0.9")
    for apart in (True, False):
        mine, other = (
            design(whole.problem, guarantee, method=method, gap=1e-4, allow_unprotected=apart)
            for method in (Benders(2), Direct())
        )
        assert mine.upper == pytest.approx(other.upper, rel=2e-4)
        assert mine.lower is not None
        assert mine.lower <= other.upper
        assert verify(mine).passed
        assert mine.provenance.method in {"benders", "trivial"}


@pytest.mark.parametrize("method", [Benders(4), Benders()], ids=repr)
def test_each_variant_meets_the_monolithic_program(method: Benders) -> None:
    agrees(road(), method)


def test_the_bound_of_the_problem_is_that_of_the_decomposition() -> None:
    """Chains and envelopes lose nothing when they are restated as prices of stated constraints."""
    part = road(60, 10)
    found = Benders(4).solve(part, PartLimits(gap=0.02))
    assert 0 < loss(part, found) - proven(part, found) <= 0.011 * loss(part, found)


def test_one_block_is_the_whole_program_and_takes_one_iteration() -> None:
    found = agrees(road(), Benders(1))
    assert found.parameters["boundary"] == 0
    assert found.parameters["iterations"] == 1


def test_blocks_of_one_secret_leave_everything_to_the_master() -> None:
    part = road()
    found = agrees(part, Benders(part.n, "k-m-rec"))
    assert found.parameters["boundary"] == part.n
    assert found.parameters["cuts"] == 0


def test_all_pairs_and_a_steep_budget() -> None:
    """All pairs leave no block an inside; at 20 nats between neighbors no constraint fits the program."""
    space = MetricSpace.grid(3, 4, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    agrees(WholeProblem(problem, space.adjacency(), Fraction(1)).parts[0], Benders(3))
    steep = WholeProblem(problem, space.adjacency(1), Fraction(40)).parts[0]
    found = Benders(3).solve(steep, TIGHT)
    assert loss(steep, found) == pytest.approx(0.0, abs=1e-9)


def test_bounds_are_monotone_and_cuts_hold_at_the_optimum() -> None:
    """O7 and O8 on the paper's program."""
    part = road(40, 10)
    split = Partition(partition(space_of(part), part.constraints, 4, "k-m-DV"), part.binding)
    layout = Layout(part, split, 1.0)
    program = layout.program()
    found = benders(
        program,
        layout.columns,
        options=BendersOptions(gap=1e-5),
        implied=implied_rows(layout, inner_pairs(layout)),
    )
    best = solve(program, method="simplex", tolerance=1e-9)
    lower, upper = [step.lower for step in found.history], [step.upper for step in found.history]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert lower[-1] <= best.objective + 1e-9
    assert upper[-1] >= best.objective - 1e-7
    x = best.x[layout.columns < 0]
    z = best.x.reshape(part.cost.shape)
    kinds = {cut.kind for cut in found.cuts}
    assert kinds == {"optimality", "feasibility"}
    inside = np.unique(split.labels[~split.boundary])
    for cut in found.cuts:
        members = np.flatnonzero((split.labels == inside[cut.block]) & ~split.boundary)
        spent = float((part.cost[members] * z[members]).sum())
        assert cut.at(x) <= (spent if cut.kind == "optimality" else 0.0) + 1e-6


def test_strong_duality_of_the_subproblems() -> None:
    """O8: a cut made at a point has the subproblem's cost there as its value."""
    part = road(40, 10)
    split = Partition(partition(space_of(part), part.constraints, 4, "k-m-DV"), part.binding)
    layout = Layout(part, split, 1.0)
    anchor = np.asarray(Exponential().solve(part, PartLimits()).matrix)
    x = anchor[layout.boundary].ravel()
    loop = LOOP(split_program(layout.program(), layout.columns), BendersOptions(), None, None)
    for answer, block in zip(loop._ask(x), loop.parts.blocks, strict=True):
        assert answer.cut is not None
        assert answer.cut.kind == "optimality"
        assert answer.cut.at(x) == pytest.approx(answer.value, rel=1e-8)
        assert answer.value <= block.program.cost @ anchor.ravel()[block.columns] + 1e-9


def space_of(part: Part) -> MetricSpace:
    assert part.space is not None
    return part.space


def test_a_pair_is_priced_along_a_path_so_that_only_its_ends_feel_it() -> None:
    part = road(40, 6)
    split = Partition(partition(space_of(part), part.constraints, 4, "k-m-DV"), part.binding)
    layout = Layout(part, split, 1.0)
    for pairs in (inner_pairs(layout), unstated_pairs(layout)):
        rows = implied_rows(layout, pairs)
        assert rows is not None
        for row in (3, len(pairs) * 6 // 2, len(rows.tags) - 1):
            tag: Any = rows.tags[row]
            report, source, target = tag
            prices = restate(part, Multipliers([report], [source], [target], [0.5]))
            assert len(prices) > 1
            felt = np.zeros(part.n)
            for s, t, value in zip(
                prices.source.tolist(), prices.target.tolist(), prices.value, strict=True
            ):
                at = part.constraints.find(np.array([s]), np.array([t]))
                felt[s] += value
                felt[t] -= value * np.exp(part.nats(part.constraints.lengths[at])[0])
            assert set(prices.report.tolist()) == {report}
            # A row of the master is what its prices are felt as.
            stated = np.zeros((part.n, 6))
            stated[layout.boundary] = rows.matrix[[row]].toarray().reshape(-1, 6)
            assert felt == pytest.approx(0.5 * stated[:, report], rel=1e-9, abs=1e-10)
            assert np.count_nonzero(stated) == 2


def test_the_sparse_initial_cuts_are_few_and_imply_the_printed_ones() -> None:
    """E7: on the boundary, stated constraints and inner pairs have the shortest paths of the whole graph."""
    part = road(80, 4)
    split = Partition(partition(space_of(part), part.constraints, 5, "k-m-DV"), part.binding)
    layout = Layout(part, split, 1.0)
    few, all_of_them = inner_pairs(layout), unstated_pairs(layout)
    assert 0 < len(few) < len(all_of_them) / 3
    stated = np.flatnonzero(split.boundary[part.binding.pairs].all(axis=1))
    graph = Adjacency(
        part.n,
        np.concatenate([part.binding.pairs[stated], few.pairs]),
        np.concatenate([part.binding.lengths[stated], few.lengths]),
        part.binding.scale_bits,
    )
    i, j = all_of_them.pairs.T
    assert (graph.shortest_paths()[i, j] == part.paths[i, j]).all()


def test_no_pairs_no_rows() -> None:
    part = road()
    layout = Layout(part, Partition([0] * part.n, part.binding), 1.0)
    assert implied_rows(layout, inner_pairs(layout)) is None
    assert implied_rows(layout, unstated_pairs(layout)) is None


def test_a_program_that_is_too_large_is_not_built() -> None:
    found = Benders(3, max_rows=100).solve(road(), TIGHT)
    assert (found.multipliers, found.matrix) == (None, None)
    assert "rows and was not built" in found.note
    problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    with pytest.raises(SolverError, match="was not built"):
        design(problem, MetricDP(1, unit="km", radius=1), method=Benders(2, max_rows=100), gap=0.02)


def test_time_runs_out_and_the_anchor_stands() -> None:
    part = road()
    found = Benders(3).solve(part, PartLimits(seconds=0.0))
    assert "time limit" in found.note
    assert found.matrix is not None
    assert found.matrix.sum(axis=1) == pytest.approx(1.0)
    assert proven(part, found) <= loss(part, found)


def test_the_same_seed_gives_the_same_matrix_and_a_pool_of_threads_too() -> None:
    part = road()
    with ThreadPoolExecutor(2) as pool:
        methods = [Benders(3), Benders(3), Benders(3, executor=pool)]
        found = [method.solve(part, PartLimits(gap=0.01)).matrix for method in methods]
    assert methods[0] == methods[2]
    for matrix in found[1:]:
        assert matrix is not None
        assert (matrix == found[0]).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"blocks": 0}, "blocks: "),
        ({"partitioner": "metis"}, "partitioner: "),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        Benders(**options)


def test_a_part_without_a_space_is_refused() -> None:
    graph = Adjacency(2, np.array([[0, 1]]), np.array([1]), 0)
    with pytest.raises(InvalidProblemError, match="part: "):
        Benders(1).solve(Part(np.eye(2), graph, Fraction(1)), TIGHT)


def test_very_many_secrets_are_designed_by_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 10)
    monkeypatch.setattr(local, "_REPORTS_PER_TILE", 4)
    monkeypatch.setattr(local, "TUNING", local.TUNING._replace(max_state_bytes=40_000))
    prior = np.arange(1.0, 21.0) ** 2
    space = MetricSpace.grid(4, 5, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", prior=prior / prior.sum())
    made = design(problem, MetricDP("0.3", "km", 1), gap=0.5)
    assert any(
        "on 5 tiles of " in sentence and "infinite" not in sentence
        for sentence in made.provenance.method_trace
    )
    assert verify(made, optimality=True).passed
