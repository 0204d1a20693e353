"""Small members of every family: bounds beside the optimum of another solver, order, bad input, broken kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, PrimalDual, Problem, design, verify
from discreet.metricdp.bounds.bound import Multipliers
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem
from discreet.metricdp.primal_dual.order import order_by_nearness
from discreet.metricdp.primal_dual.tiles import Tile
from few import few_of
from made_places import FAMILIES, PRIORS, made_places

# The module: the package has the function under this name.
_design = import_module("discreet.metricdp.design")


def stated(family: str, seed: int, nats: float, **options: Any) -> tuple[Problem, MetricDP]:
    places = made_places(family, 30, seed=seed, **options)
    problem = Problem(
        places.space, utility_loss=places.loss, prior=places.prior, reports=places.reports
    )
    rate = f"{nats / places.spacing:.6g}"
    return problem, MetricDP(rate, places.space.unit, f"{places.radius:.9g}")


def part_of(problem: Problem, guarantee: MetricDP) -> Part:
    constraints, _ = problem.space.adjacency(guarantee.radius).join(problem.space)
    return WholeProblem(problem, constraints, guarantee.epsilon).parts[0]


def between(problem: Problem, guarantee: MetricDP, gap: float) -> None:
    """Steps alone, beside the simplex method."""
    made = design(problem, guarantee, method=PrimalDual(iterations=3000), gap=gap, throw=False)
    best = design(problem, guarantee, method=Direct("simplex"), gap=1e-6, throw=False)
    assert verify(made, optimality=True).passed
    assert made.lower is not None
    assert best.lower is not None
    assert 0 < made.lower <= best.upper
    assert made.upper >= best.lower


@pytest.mark.parametrize("family", few_of(5, [*FAMILIES[::2], *FAMILIES[1::2]]))
def test_the_optimum_lies_between_the_bounds(family: str) -> None:
    between(*stated(family, 1, 0.7), gap=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("nats", [0.25, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_are_never_above_the_optimum_of_another_solver(family: str, nats: float) -> None:
    for seed in range(4):
        for prior in PRIORS:
            between(*stated(family, seed, nats, prior=prior), gap=0.01)
        between(*stated(family, seed, nats, loss="unrelated"), gap=0.01)
        between(*stated(family, seed, nats, n_reports=9), gap=0.01)


def test_renumbering_the_secrets_changes_nothing_but_their_order() -> None:
    places = made_places("uniform", 40, seed=5)
    points = np.asarray(places.space.points)
    shuffled = np.random.default_rng(1).permutation(40)
    losses = []
    for order in (np.arange(40), shuffled):
        space = MetricSpace.from_points(points[order], unit="km")
        problem = Problem(space, utility_loss="euclidean", prior=places.prior[order])
        made = design(problem, MetricDP("0.7", "km", 2), method=PrimalDual(), gap=0.02)
        losses.append((made.upper, made.lower, made.channel.probabilities[np.argsort(order)]))
    (upper, lower, table), (other_upper, other_lower, other) = losses
    assert other_upper == pytest.approx(upper, rel=1e-9)
    assert other_lower == pytest.approx(lower, rel=1e-9)
    assert other[:, np.argsort(shuffled)] == pytest.approx(table, abs=1e-9)


def test_an_order_puts_near_secrets_together() -> None:
    places = made_places("uniform", 200, seed=3)
    lengths = places.space.distances
    order = order_by_nearness(lengths)
    assert sorted(order.tolist()) == list(range(200))
    along = lengths[order[:-1], order[1:]]
    assert along.mean() < 0.5 * lengths[np.arange(199), np.arange(1, 200)].mean()


def test_a_wrong_multiplier_is_noticed_by_bound_or_verifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One price of a broken list is a thousand times too high, and another belongs to no constraint."""
    problem, guarantee = stated("uniform", 2, 0.7)
    good = design(problem, guarantee, method=PrimalDual(), gap=0.03)
    plain = Tile.prices

    def broken(tile: Tile, least: float) -> Multipliers:
        found = plain(tile, least)
        value = found.value.copy()
        value[:1] = 1000 * value.max(initial=0.0)
        return Multipliers(found.report, found.source, found.target, value)

    monkeypatch.setattr(Tile, "prices", broken)
    made = design(problem, guarantee, method=PrimalDual(iterations=600), gap=0.03, throw=False)
    assert verify(made, optimality=True).passed
    assert made.lower is not None
    assert made.lower < 0.5 * good.upper
    assert good.witness is not None
    w = good.witness
    turned = Multipliers(w.report, w.source, w.source, w.value)
    object.__setattr__(good, "witness", turned)
    assert not verify(good, optimality=True).passed


@pytest.mark.parametrize(
    "points",
    [
        [[0.0, 0.0]],
        [[0.0, 0.0]] * 4,
        [[float(x), 0.0] for x in range(12)],
        [[0.0, 0.0], [1e-9, 0.0], [5.0, 5.0], [5.0, 5.0]],
    ],
)
def test_one_point_points_given_twice_and_points_on_a_line(
    points: list[list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_design, "MAX_ROWS_FOR_DIRECT", 0)
    space = MetricSpace.from_points(points, unit="km")
    made = design(Problem(space, utility_loss="euclidean"), MetricDP("0.5", "km", 2), throw=False)
    assert verify(made, optimality=True).passed
    assert made.status != "limit reached"


def test_what_only_a_relaxed_program_reaches_is_not_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its loosest constraints a program loses less than its repaired answer: the next method has its turn."""
    problem, guarantee = stated("clustered", 3, 1.0)

    @dataclass(frozen=True)
    class Relaxed:
        def solve(self, part: Part, limits: PartLimits) -> Candidate:
            steep = np.flatnonzero(part.nats(part.binding.lengths) <= 0.7)
            return Direct().solve(replace(part, constraints=part.binding.subgraph(steep)), limits)

    methods = (Relaxed(), Direct())
    monkeypatch.setattr(_design, "_costly_methods", lambda *_, **__: (methods, ""))
    monkeypatch.setattr(_design, "_FIRST_METHODS", ())
    made = design(problem, guarantee, gap=1e-4)
    assert made.gap is not None
    assert made.gap <= 1e-4
    solved = [s for s in made.provenance.method_trace if s.startswith(("Relaxed", "Direct"))]
    assert len(solved) == 2
