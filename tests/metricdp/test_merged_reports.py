"""Merged reports: bounds and channels of the small program are ones of the whole, and short limits fall back on it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.datasets.places import FAMILIES, made_places
from discreet.metricdp import Direct, PrimalDual, Problem, design, verify
from discreet.metricdp.bounds.bound import Multipliers, lower_bound
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.methods import primal_dual as method
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem
from discreet.metricdp.primal_dual.iterate import Iterate
from discreet.metricdp.primal_dual.merged import MergedReports, few_edges

# The modules: the package has functions under these names.
_design = import_module("discreet.metricdp.design")
_verify = import_module("discreet.metricdp.verify")


def all_pairs(family: str, n: int, seed: int, nats: float) -> tuple[Problem, MetricDP]:
    places = made_places(family, n, seed=seed)
    problem = Problem(
        places.space, utility_loss=places.loss, prior=places.prior, reports=places.reports
    )
    return problem, MetricDP(f"{nats / places.spacing:.6g}", places.space.unit)


def part_of(problem: Problem, guarantee: MetricDP) -> Part:
    constraints, _ = problem.space.adjacency(guarantee.radius).join(problem.space)
    return WholeProblem(problem, constraints, guarantee.epsilon).parts[0]


@pytest.mark.parametrize("groups", [1, 4, 11, 30])
@pytest.mark.parametrize("family", ["uniform", "words, cosine"])
def test_prices_of_merged_reports_bound_the_program_itself(family: str, groups: int) -> None:
    problem, guarantee = all_pairs(family, 30, 3, 0.5)
    part = part_of(problem, guarantee)
    reports = MergedReports.of(np.arange(30)[::-1], groups)
    few = few_edges(part.constraints, 3 * 30)
    merged = Part(reports.cost(part.cost), few, part.epsilon, None)
    found = PrimalDual(iterations=600).solve(merged, PartLimits(gap=0.05))
    best = design(problem, guarantee, method=Direct("simplex"), gap=1e-6, throw=False)
    assert best.lower is not None
    if groups == 1:
        # One report says nothing, and costs nothing but the least of each secret.
        assert found is None
        return
    assert found is not None
    assert found.multipliers is not None
    assert found.matrix is not None
    small = lower_bound(merged.cost, merged.constraints, merged.epsilon, found.multipliers)
    proven = lower_bound(
        part.cost, part.constraints, part.epsilon, reports.prices(found.multipliers)
    )
    # Least of the members and least of the groups are the same, but for what rounding takes.
    assert proven == pytest.approx(small, rel=1e-9)
    assert 0 < proven <= best.upper
    channel = reports.renamed(found.matrix, part.cost)
    assert channel.sum(axis=1) == pytest.approx(found.matrix.sum(axis=1))
    assert np.count_nonzero(channel.any(axis=0)) <= groups


def test_each_member_has_the_prices_of_its_group() -> None:
    reports = MergedReports.of(np.array([4, 3, 2, 1, 0]), 2)
    assert [part.tolist() for part in np.split(reports.members, reports.firsts[1:-1])] == [
        [4, 3],
        [2, 1, 0],
    ]
    given = reports.prices(Multipliers([1, 0], [0, 1], [1, 0], [0.5, 0.25]))
    assert given.report.tolist() == [2, 1, 0, 4, 3]
    assert given.source.tolist() == [0, 0, 0, 1, 1]
    assert given.value.tolist() == [0.5, 0.5, 0.5, 0.25, 0.25]


@pytest.mark.parametrize("family", FAMILIES)
def test_few_edges_have_a_path_for_every_edge(family: str) -> None:
    places = made_places(family, 80, seed=2)
    edges = places.space.adjacency()
    few = few_edges(edges, 3 * 80)
    i, j = few.pairs.T
    graph = coo_array((few.lengths.astype(float), (i, j)), shape=(few.n, few.n))
    paths = dijkstra(graph, directed=False)
    assert (paths[*edges.pairs.T] <= 2.0 * edges.lengths + 1).all()
    assert len(few) < len(edges) / 2
    assert few_edges(few, len(few)) is few


@pytest.mark.parametrize(
    ("family", "nats"), [("uniform", 0.25), ("clustered", 0.25), ("words, euclidean", 1.0)]
)
def test_a_limit_too_short_for_all_pairs_gives_a_bound_and_a_channel(
    family: str, nats: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tenth of a second for each pair: as good as no time for a spanner.
    monkeypatch.setattr(method, "_TRIAL", 0.1)
    monkeypatch.setattr(method, "_HANDING_IN", 4e-4)
    problem, guarantee = all_pairs(family, 60, 4, nats)
    part = part_of(problem, guarantee)
    offered: list[Candidate] = []

    def offer(candidate: Candidate) -> bool:
        offered.append(candidate)
        return False

    limits = PartLimits(seconds=10.0, gap=0.05, offer=offer)
    found = PrimalDual(persistent=False).solve(part, limits)
    assert found is not None
    assert found.matrix is not None
    assert found.multipliers is not None
    assert "merged reports" in found.note
    assert not offered
    assert 0 < np.count_nonzero(found.matrix.any(axis=0)) < 60
    lower = lower_bound(part.cost, part.constraints, part.epsilon, found.multipliers)
    plain = Exponential().solve(part, PartLimits()).matrix
    assert plain is not None
    upper = repair(found.matrix, part.binding, part.epsilon, cost=part.cost).upper
    assert upper < float((part.cost.T @ plain).min(axis=0).sum())
    best = design(problem, guarantee, method=PrimalDual(iterations=2000), gap=0.05, throw=False)
    assert best.lower is not None
    assert 0.3 * best.lower < lower <= best.upper
    assert upper >= best.lower


@pytest.mark.parametrize(
    ("times", "stating", "least", "most"),
    [(0.9, 0.0, 0, 0), (1.1, 0.0, 60, 75), (1.1, 30.0, 30, 45)],
)
def test_reports_are_merged_where_handing_all_of_them_in_takes_longer_than_is_left(
    *, times: float, stating: float, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few constraints a secret, so that no spanner is looked for; steps take all but what comes after them takes."""
    places = made_places("uniform", 100, seed=4)
    problem = Problem(places.space, utility_loss=places.loss, prior=places.prior)
    guarantee = MetricDP("0.5", "km", f"{places.radius:.6g}")
    part = part_of(problem, guarantee)
    assert len(part.binding) <= method._DENSE * part.n
    # The clock stands still, but for a second each step.
    now = [0.0]
    plain = Iterate.advance

    def advance(*given: Any) -> None:
        now[0] += 1.0
        plain(*given)

    monkeypatch.setattr(method, "clock", lambda: now[0])
    monkeypatch.setattr(Iterate, "advance", advance)
    monkeypatch.setattr(
        method, "_HANDING_IN", times * 100.0 / (2 * len(part.binding) * part.n_reports)
    )
    multipliers = 2 * len(part.binding) * part.n_reports
    monkeypatch.setattr(method, "_STATING", stating / multipliers)
    monkeypatch.setattr(method, "_SPARSE", part.n)
    limits = PartLimits(seconds=100.0, gap=0.0, offer=lambda _: True)
    found = PrimalDual(persistent=False).solve(part, limits)
    assert found is not None
    assert ("merged reports" in found.note) == (most > 0)
    assert not most or least <= now[0] <= most


def test_without_time_for_a_few_reports_no_step_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "_TRIAL", 10.0)
    monkeypatch.setattr(method, "_HANDING_IN", 1.0)
    problem, guarantee = all_pairs("uniform", 60, 4, 0.5)
    found = PrimalDual().solve(part_of(problem, guarantee), PartLimits(seconds=1.0))
    assert found is not None
    assert found.matrix is None
    assert found.multipliers is None
    assert "not started" in found.note


def test_reports_that_are_not_used_change_nothing_in_a_repair() -> None:
    problem, guarantee = all_pairs("uniform", 40, 1, 0.5)
    part = part_of(problem, guarantee)
    some = np.array([3, 17, 30])
    table = np.random.default_rng(0).uniform(size=(40, 3))
    wide = np.zeros((40, 40))
    wide[:, some] = table
    alone = repair(table, part.binding, part.epsilon, cost=part.cost[:, some])
    among = repair(wide, part.binding, part.epsilon, cost=part.cost)
    assert among.upper == alone.upper
    assert (among.channel.limbs[:, :, some] == alone.channel.limbs).all()
    assert among.channel.limbs.sum() == alone.channel.limbs.sum()


@pytest.mark.parametrize(("grid", "pruned"), [(True, True), (False, False)])
def test_all_pairs_are_pruned_where_some_follow_from_others(*, grid: bool, pruned: bool) -> None:
    points = np.random.default_rng(0).uniform(0, 20, (420, 2))
    space = (
        MetricSpace.grid(20, 21, cell=1, unit="km")
        if grid
        else MetricSpace.from_points(points, unit="km")
    )
    part = part_of(Problem(space, utility_loss="euclidean"), MetricDP(1, "km"))
    assert (len(part.binding) < len(part.constraints)) == pruned
    few: Any = replace(part, constraints=part.constraints.subgraph(np.arange(1000)))
    assert few.binding is not few.constraints


def test_sweeps_of_the_verifier_follow_a_line_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    order = np.random.default_rng(3).permutation(200)
    space = MetricSpace.from_points(np.column_stack([order, 0 * order]).astype(float), unit="km")
    made = design(
        Problem(space, utility_loss="euclidean"),
        MetricDP(1, "km", 3),
        method=Exponential(),
        throw=False,
    )
    sweeps = []
    plain = _verify._shorten

    def counted(*given: Any) -> bool:
        sweeps.append(given)
        return bool(plain(*given))

    monkeypatch.setattr(_verify, "_shorten", counted)
    assert verify(made).passed
    assert 0 < len(sweeps) <= 4


def test_nothing_starts_once_the_time_is_all_but_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Never:
        def solve(self, *_: object) -> None:
            raise AssertionError

    search = _design.Search
    late = iter([False, True])
    monkeypatch.setattr(search, "_late", lambda _: next(late, True))
    monkeypatch.setattr(_design, "_costly", lambda *_, **__: ((Never(),), ""))
    space = MetricSpace.grid(3, 4, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", prior=np.arange(1, 13) / 78)
    made = design(problem, MetricDP("0.3", "km"), gap=0.0, time_limit=60, throw=False)
    assert made.provenance.method == "planar-laplace"


def test_limits_too_short_for_simplex_let_steps_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_design, "_MAX_ROWS_FOR_DIRECT", 10)
    space = MetricSpace.grid(3, 4, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", prior=np.arange(1, 13) / 78)
    whole = WholeProblem(problem, space.adjacency(), MetricDP(9, "km").epsilon)
    for seconds, expected in ((None, Direct), (100.0, Direct), (1e-4, PrimalDual)):
        methods, why = _design._costly(whole, gap=0.01, seconds=seconds)
        assert isinstance(methods[0], expected)
        assert ("short" in why) == (expected is PrimalDual)
        assert {type(one) for one in methods} >= {Direct, PrimalDual}


def test_simplex_takes_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float | None] = []
    lp = import_module("discreet.core.lp")
    plain = lp.solve

    def solve(*arguments: Any, time_limit: float | None, **options: Any) -> Any:
        given.append(time_limit)
        return plain(*arguments, time_limit=None, **options)

    monkeypatch.setattr(lp, "solve", solve)
    # What building takes is taken off; here it takes nothing.
    monkeypatch.setattr("discreet.metricdp.methods.direct.clock", lambda: 5.0)
    part = part_of(*all_pairs("uniform", 30, 1, 4.0))
    for seconds in (None, 8.0):
        Direct(steepest=6.0, share=0.25).solve(part, PartLimits(seconds=seconds))
    assert given == [None, 2.0]
    with pytest.raises(InvalidProblemError, match="share"):
        Direct(share=0.0)
