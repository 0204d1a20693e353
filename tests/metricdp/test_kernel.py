"""The closed form: where it is a channel, where it is optimal, and that agreement of two numbers proves nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Kernel, Problem
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.methods.direct import Direct
from discreet.metricdp.part import Candidate, Part, PartLimits, WholeProblem
from metricdp.test_decomposition import loss, proven

LIMITS = PartLimits()


def grid_part(side: int, epsilon: object, radius: int | None = 2) -> Part:
    space = MetricSpace.grid(side, side, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    return WholeProblem(problem, space.adjacency(radius), Fraction(str(epsilon))).parts[0]


def solved(part: Part) -> Candidate:
    found = Kernel().solve(part, LIMITS)
    assert found is not None
    return found


@pytest.mark.parametrize("epsilon", ["0.1", 1, 10, 40])
def test_two_secrets_are_solved_in_closed_form(epsilon: object) -> None:
    """O1: z = [[1, q], [q, 1]] / (1 + q) with q = e^(-epsilon d)."""
    space = MetricSpace.from_matrix([[0, 1.5], [1.5, 0]], unit="km")
    problem = Problem(space, utility_loss="distance")
    part = WholeProblem(problem, space.adjacency(), Fraction(str(epsilon))).parts[0]
    q = math.exp(-1.5 * float(part.epsilon))
    found = solved(part)
    assert found.matrix == pytest.approx(np.array([[1, q], [q, 1]]) / (1 + q), rel=1e-12)
    assert proven(part, found) == pytest.approx(1.5 * q / (1 + q), rel=1e-9)
    assert loss(part, found) == pytest.approx(1.5 * q / (1 + q), rel=1e-12)


@pytest.mark.parametrize("radius", [2, None])
@pytest.mark.parametrize("epsilon", [2, 10])
def test_where_its_test_succeeds_the_bound_meets_the_loss(epsilon: int, radius: int | None) -> None:
    part = grid_part(5, epsilon, radius)
    found = solved(part)
    assert "succeeds" in found.note
    assert proven(part, found) <= loss(part, found)
    assert proven(part, found) == pytest.approx(loss(part, found), rel=1e-11)


def test_primal_equal_to_dual_proves_nothing() -> None:
    """The identity holds at epsilon 1/2 too, where the matrix has negative entries and is no channel at all."""
    part = grid_part(5, "0.5")
    decay = np.exp(-part.rate * part.paths)
    y = np.linalg.solve(decay, np.ones(part.n))
    level = np.linalg.solve(decay, (decay * part.cost).sum(axis=0))
    assert level.sum() == pytest.approx(float((part.cost * decay * y).sum()), rel=1e-9)
    assert y.min() < -0.01
    assert Kernel().solve(part, LIMITS) is None
    # What is "proven" by the identity lies beside the optimum, not on it.
    best = Direct().solve(part, LIMITS)
    assert abs(level.sum() - loss(part, best)) > 1e-3


def test_a_channel_that_is_not_optimal_gets_a_bound_below_its_loss() -> None:
    """At epsilon 1 y is positive, but prices would be negative: the identity holds, and the channel is beaten."""
    part = grid_part(5, 1)
    found, best = solved(part), Direct().solve(part, LIMITS)
    assert "fails" in found.note
    assert loss(part, best) < loss(part, found) * 0.999
    assert proven(part, found) <= loss(part, best)


def test_random_graphs_agree_with_the_linear_program() -> None:
    rng = np.random.default_rng(5)
    for _ in range(5):
        points = rng.uniform(0, 4, (9, 2))
        space = MetricSpace.from_points(points, unit="km")
        prior = rng.dirichlet(np.ones(9))
        problem = Problem(space, utility_loss="manhattan", prior=prior)
        graph = space.adjacency(2).join(space)[0]
        part = WholeProblem(problem, graph, Fraction(4)).parts[0]
        found, best = Kernel().solve(part, LIMITS), Direct().solve(part, LIMITS)
        optimum = loss(part, best)
        if found is not None:
            assert proven(part, found) <= optimum * (1 + 1e-6)
            assert loss(part, found) >= optimum * (1 - 1e-6)
            if "succeeds" in found.note:
                assert loss(part, found) == pytest.approx(optimum, rel=1e-6)


def test_reports_that_are_just_numbered_are_matched_by_cost() -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    plain = Problem(space, utility_loss="euclidean")
    order = np.random.default_rng(1).permutation(9)
    # Two more columns that are never worth it, and no names.
    table = np.hstack([plain.loss[:, order], np.full((9, 2), 50.0)])
    problem = Problem(space, utility_loss=table)
    part = WholeProblem(problem, space.adjacency(), Fraction(3)).parts[0]
    found = solved(part)
    assert found.matrix is not None
    assert (found.matrix[:, 9:] == 0).all()
    same = WholeProblem(plain, space.adjacency(), Fraction(3)).parts[0]
    assert proven(part, found) == pytest.approx(proven(same, solved(same)), rel=1e-9)
    assert loss(part, found) == pytest.approx(loss(same, solved(same)), rel=1e-12)


def test_fewer_reports_than_secrets_are_not_its_business() -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean", reports=[0, 4, 8])
    assert (
        Kernel().solve(WholeProblem(problem, space.adjacency(), Fraction(3)).parts[0], LIMITS)
        is None
    )


def test_secrets_that_floats_cannot_tell_apart_make_it_decline() -> None:
    graph = Adjacency(3, [(0, 1), (1, 2)], [1, 1], 70)  # type: ignore[arg-type]
    part = Part(1.0 - np.eye(3), graph, Fraction(1))
    assert Kernel().solve(part, LIMITS) is None


@pytest.mark.parametrize("nats", [300, 700, 750, 10_000])
def test_probabilities_below_the_floats_are_positive_after_the_repair(nats: int) -> None:
    graph = Adjacency(3, [(0, 1), (1, 2)], [nats, nats], 0)  # type: ignore[arg-type]
    part = Part(1.0 - np.eye(3), graph, Fraction(1))
    found = solved(part)
    assert found.matrix is not None
    assert int(repair(found.matrix, graph, 1, cost=part.cost).channel.weights.min()) > 0
    assert found.matrix.sum(axis=1) == pytest.approx(1.0)
    assert proven(part, found) >= -1e-300


@pytest.mark.parametrize(("dear", "verdict"), [(9.0, "succeeds"), (0.1, "fails")])
def test_reports_that_are_nobodys_own_are_tested_too(dear: float, verdict: str) -> None:
    """A report of another component may be better than one's own: then the closed form is not the best."""
    space = MetricSpace.from_points([[0.0], [1.0], [50.0], [51.0]], unit="km")
    table = np.array([[0, 1, 9, dear], [1, 0, 9, dear], [9, 9, 0, 1], [9, 9, 1, 0]])
    problem = Problem(space, utility_loss=table)
    part = WholeProblem(problem, space.adjacency(2), Fraction(1)).parts[0]
    found = solved(part)
    assert found.note.endswith(f"its test of optimality {verdict}.")
    assert (proven(part, found) >= loss(part, found) * (1 - 1e-9)) == (verdict == "succeeds")
