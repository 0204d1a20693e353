"""What large programs share: pruned pairs, repairs of few reports, the verifier's sweeps, and limits that are over."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design, verify
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.methods.baselines import Exponential
from discreet.metricdp.part import Part, WholeProblem
from made_places import made_places

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
    plain = _verify._shorten_paths

    def counted(*given: Any) -> bool:
        sweeps.append(given)
        return bool(plain(*given))

    monkeypatch.setattr(_verify, "_shorten_paths", counted)
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
    monkeypatch.setattr(search, "_is_late", lambda _: next(late, True))
    monkeypatch.setattr(_design, "_costly_methods", lambda *_, **__: ((Never(),), ""))
    space = MetricSpace.grid(3, 4, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", prior=np.arange(1, 13) / 78)
    made = design(problem, MetricDP("0.3", "km"), gap=0.0, time_limit=60, throw=False)
    assert made.provenance.method == "planar-laplace-remap"
