"""Costs lent to rare secrets outside of tiles: who lends, that prices prove what is claimed, and what it is worth."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.core.guarantee import MetricDP
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Direct, PrimalDual, Problem, design, verify
from discreet.metricdp.bounds.bound import Multipliers, exp_up, lower_bound, row_levels
from discreet.metricdp.bounds.loans import Loans
from discreet.metricdp.bounds.local import Plan
from discreet.metricdp.methods import primal_dual as steps
from discreet.metricdp.part import Part, WholeProblem
from discreet.metricdp.primal_dual.order import OrderedProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray


def uneven(n: int, *, seed: int) -> Problem:
    """Points in a plane, a third of probability 0."""
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.uniform(0, np.sqrt(n), (n, 2)), unit="km")
    prior = rng.gamma(1.0, size=n)
    prior[rng.permutation(n)[: n // 3]] = 0.0
    return Problem(space, utility_loss="euclidean", prior=prior / prior.sum())


def part_of(problem: Problem, radius: float | None = 2.5) -> Part:
    return WholeProblem(problem, problem.space.adjacency(radius), Fraction(2)).parts[0]


def loans_of(part: Part) -> tuple[Loans, NDArray[np.float64]]:
    edges = part.binding
    return Loans.among(edges, part.nats(edges.lengths), part.cost.mean(axis=1)), part.cost


@pytest.mark.parametrize("seed", range(3))
def test_frequent_neighbors_lend(seed: int) -> None:
    part = part_of(uneven(90, seed=seed))
    loans, cost = loans_of(part)
    typical = cost.mean(axis=1)
    assert len(loans.borrower) > 20
    assert len(set(loans.borrower.tolist())) == len(loans.borrower)
    assert not np.isin(loans.lender, loans.borrower).any()
    edges = {(int(i), int(j)): t for t, (i, j) in enumerate(part.binding.pairs)}
    nats = part.nats(part.binding.lengths)
    for b, j, decay in zip(loans.borrower, loans.lender, loans.decay, strict=True):
        edge = edges.get((int(b), int(j)), edges.get((int(j), int(b))))
        assert edge is not None
        assert np.exp(-nats[edge]) * (1 - 1e-11) < decay < np.exp(-nats[edge])
        assert decay * typical[j] >= 4 * typical[b] * (1 - 1e-9)
    given = np.bincount(loans.lender, loans.share, minlength=part.n)
    assert given[np.unique(loans.lender)] == pytest.approx(0.75)


@pytest.mark.parametrize("seed", range(3))
def test_prices_prove_the_costs_after_loans(seed: int) -> None:
    """The exact bound of each row, by the constraints of the space, is at least what is claimed outside of tiles."""
    part = part_of(uneven(90, seed=seed))
    loans, cost = loans_of(part)
    rng = np.random.default_rng(seed)
    absent = np.isin(loans.lender, rng.permutation(np.unique(loans.lender))[:5])
    gone = np.concatenate([loans.lender[absent], loans.borrower[absent]])
    outside = np.setdiff1d(np.arange(part.n), gone)
    claimed = cost[outside]
    made, prices = loans.lend(outside, claimed)
    assert (made == ~absent).all()
    assert (claimed > 0).mean() > (cost[outside] > 0).mean() + 0.1
    report = np.tile(np.arange(part.n_reports), int(made.sum()))
    source, target = (
        np.repeat(one[made], part.n_reports) for one in (loans.borrower, loans.lender)
    )
    listed = Multipliers(report, source, target, prices.ravel())
    levels = row_levels(cost, part.constraints, part.epsilon, listed)
    assert (claimed.min(axis=1) <= levels[outside] + 1e-300).all()
    assert claimed.min(axis=1) == pytest.approx(levels[outside], rel=1e-9, abs=1e-15)


def test_a_lender_of_thousands_keeps_what_is_claimed() -> None:
    """Exactly: what is left of its cost, less what all prices take from it."""
    n = 3000
    pairs = np.stack([np.zeros(n - 1), np.arange(1, n)], axis=1).astype(np.int32)
    lengths = np.random.default_rng(1).integers(1, 1 << 20, n - 1)
    graph, rate = Adjacency(n, pairs, lengths, 20), Fraction(1)
    cost = np.full((n, 1), 1e-9)
    cost[0] = 0.7
    loans = Loans.among(graph, lengths / (1 << 20), cost[:, 0])
    assert len(loans.borrower) == n - 1
    claimed = cost.copy()
    is_made, prices = loans.lend(np.arange(n), claimed)
    assert is_made.all()
    listed = Multipliers(np.zeros(n - 1, int), loans.borrower, loans.lender, prices[:, 0])
    factors = exp_up(lengths, rate / (1 << 20))[loans.borrower - 1]
    spent = sum(
        Fraction(float(v)) * Fraction(float(f)) for v, f in zip(listed.value, factors, strict=True)
    )
    assert Fraction(float(claimed[0, 0])) <= Fraction(0.7) - spent
    assert claimed[0, 0] == pytest.approx(0.175, rel=1e-9)
    for i, v in zip(loans.borrower, listed.value, strict=True):
        assert Fraction(float(claimed[i, 0])) <= Fraction(1e-9) + Fraction(float(v))


def plan_of(part: Part, reach: float) -> Plan:
    assert part.home is not None
    near = OrderedProgram.of(part.cost, part.paths, part.home)
    return Plan(near, near.renumber(part.binding), part.epsilon, farthest=reach)


def test_listed_prices_have_those_of_loans() -> None:
    """What the tiles' float bound claims is proven by the list, and loans are a part of it at a short reach."""
    part = part_of(uneven(160, seed=3))
    plan = plan_of(part, 3.0)
    assert plan.reach == 3.0
    state = plan.state(1)
    for _ in range(150):
        state.advance(None)
    state.update_best(None)
    claimed = plan.lower_bound()
    near = plan.costs
    assert isinstance(near, OrderedProgram)
    listed = plan.list_multipliers(1e-9, near.secrets, near.reports)
    proven = lower_bound(part.cost, part.constraints, part.epsilon, listed)
    assert proven == pytest.approx(claimed, rel=1e-3)
    plan = plan_of(part, 3.0)
    plan.loans = Loans(*(one[:0] for one in vars(plan.loans).values()))
    state = plan.state(1)
    for _ in range(150):
        state.advance(None)
    state.update_best(None)
    assert plan.lower_bound() < 0.99 * claimed


@pytest.mark.parametrize("reach", [2.0, 5.0])
def test_a_lender_is_in_the_tiles_of_its_borrowers(reach: float) -> None:
    plan = plan_of(part_of(uneven(160, seed=3)), reach)
    plan.state(1)
    assert len(plan.tiles) == 3
    for tile in plan.tiles:
        lenders, borrowers = (
            np.isin(ends, tile.secrets) for ends in (plan.loans.lender, plan.loans.borrower)
        )
        assert (lenders == borrowers).all()
        assert not lenders.all()


def test_a_short_reach_costs_little_with_zeros_in_the_prior(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where only borrowers were in the tiles of lenders, the gap was 7.9 %, and 2.8 % so."""
    monkeypatch.setattr(
        steps, "_TUNING", steps._TUNING._replace(reach_nats=5.0, max_held_share=1.0)
    )
    claim = MetricDP("1.7", "km")
    made = design(uneven(144, seed=0), claim, method=PrimalDual(1200), gap=0.01, throw=False)
    assert made.gap is not None
    assert made.gap < 0.04


def test_a_bound_with_loans_is_below_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    short = steps._TUNING._replace(max_reach_nats=4.0, max_held_share=1.0)
    monkeypatch.setattr(steps, "_TUNING", short)
    problem = uneven(90, seed=5)
    claim = MetricDP(2, "km", "1.8")
    made = design(problem, claim, method=PrimalDual(600), gap=0.01, throw=False)
    assert "of 4 nats" in made.provenance.method_trace[-1]
    assert verify(made, optimality=True).passed
    best = design(problem, claim, method=Direct(), gap=1e-4)
    assert best.lower is not None
    assert made.lower is not None
    assert 0.9 * best.lower < made.lower <= best.upper
    assert made.upper >= best.lower
