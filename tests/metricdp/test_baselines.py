"""Baselines: their formulas, their privacy before any repair, and what a remap may and may not do."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design
from discreet.metricdp.bounds.repair import repair
from discreet.metricdp.methods import BASELINES, METHODS
from discreet.metricdp.methods import hub as _hub
from discreet.metricdp.methods.baselines import (
    BestConstant,
    Exponential,
    PlanarLaplace,
    Uniform,
    nearest_output_floor,
)
from discreet.metricdp.methods.hub import TailsAndHub
from discreet.metricdp.methods.kernel import Kernel
from discreet.metricdp.methods.remap import rename_columns
from discreet.metricdp.part import Candidate, PartLimits, WholeProblem
from discreet.metricdp.verify import Claim
from unrepaired import baseline_matrix, matrix_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.metricdp.part import Part

GRID = MetricSpace.grid(3, 4, cell=1, unit="km")


def most_nats_per_unit(matrix: NDArray[np.float64], space: MetricSpace) -> float:
    """The largest log-ratio per unit of distance, in floats."""
    logs = np.log(matrix)
    i, j = np.triu_indices(space.n, 1)
    apart = np.abs(logs[i] - logs[j]).max(axis=1)
    return float((apart / (space.distances[i, j] * 2.0**-space.scale_bits)).max())


@pytest.mark.parametrize("name", METHODS.proven)
def test_every_name_is_a_method(name: str) -> None:
    assert callable(METHODS.resolve(name).solve)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("radius", [None, 1])
def test_every_baseline_ends_as_a_verified_channel(name: str, radius: int | None) -> None:
    problem = Problem(GRID, utility_loss="euclidean")
    best = design(problem, MetricDP(1, unit="km", radius=radius), gap=1e-3)
    made = design(problem, MetricDP(1, unit="km", radius=radius), method=name, throw=False)
    assert made.certificate.passed
    assert Claim(GRID, made.guarantee).check(made.channel).passed
    assert made.upper >= best.upper * (1 - 1e-9)


def test_the_exponential_mechanism_is_its_formula() -> None:
    """Two secrets at d: e^(-epsilon d / 2) for the other report, before normalization."""
    pair = MetricSpace.from_points([[0.0], [3.0]], unit="km")
    matrix = matrix_of(Exponential(), pair, "0.5")
    q = math.exp(-0.5 * 3 / 2)
    assert matrix.tolist() == pytest.approx(np.array([[1, q], [q, 1]]) / (1 + q))


@settings(max_examples=30)
@given(st.integers(2, 12), st.sampled_from(["0.1", "1", "7"]), st.integers(0, 10**6))
def test_the_exponential_mechanism_is_private_for_all_pairs(
    n: int, epsilon: str, seed: int
) -> None:
    """Equation (66) with its one half; without it, twice the epsilon is reached."""
    points = np.random.default_rng(seed).random((n, 2)) * 4
    space = MetricSpace.from_points(points, unit="km")
    matrix = matrix_of(Exponential(), space, epsilon)
    assert most_nats_per_unit(matrix, space) <= float(epsilon) * (1 + 1e-9)


def test_without_the_one_half_it_is_not_private() -> None:
    """Distances counted twice are the same as no half: on a line with a crowded end that is too much."""
    line = MetricSpace.from_points([[0.0], [1.0], [1.1]], unit="km")
    twice = MetricSpace.from_points([[0.0], [2.0], [2.2]], unit="km")
    assert most_nats_per_unit(matrix_of(Exponential(), line, "1"), line) < 1
    assert most_nats_per_unit(matrix_of(Exponential(), twice, "1"), line) > 1.05


def test_reports_that_are_numbered_stand_where_they_are_cheapest() -> None:
    """Five reports for two secrets: three at home in the first, two in the second."""
    pair = MetricSpace.from_points([[0.0], [1.0]], unit="km")
    loss = [[0.0, 0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0, 0.0]]
    problem = Problem(pair, utility_loss=loss)
    matrix = baseline_matrix(Exponential(), problem, pair.adjacency(), Fraction(2))
    q = math.exp(-1)
    assert matrix[0].tolist() == pytest.approx(np.array([1, 1, q, 1, q]) / (3 + 2 * q))


def test_reports_that_name_secrets_stand_there_whatever_they_cost() -> None:
    """The exponential mechanism as published scores the distance to the secret that a report names."""
    pair = MetricSpace.from_points([[0.0], [3.0]], unit="km")
    problem = Problem(pair, utility_loss=[[1.0, 0.25], [0.5, 1.0]], reports=[0, 1])
    matrix = baseline_matrix(Exponential(), problem, pair.adjacency(), Fraction(1, 2))
    q = math.exp(-0.5 * 3 / 2)
    assert matrix.tolist() == pytest.approx(np.array([[1, q], [q, 1]]) / (1 + q))


def test_the_exponential_mechanism_knows_far_reports() -> None:
    """The nearest report 4000 nats away: the row is shifted, and no row is zero divided by zero."""
    space = MetricSpace.from_points([[0.0], [1.0], [800.0]], unit="km")
    matrix = matrix_of(Exponential(), space, "10", reports=[2])
    assert matrix.tolist() == [[1.0], [1.0], [1.0]]


def cell_by_quadrature(
    secret: tuple[float, float], box: tuple[float, ...], epsilon: float
) -> float:
    """Planar Laplace mass of a rectangle, by a product rule that knows nothing of angles."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    total = 0.0
    # A corner of the integrand, where the noise is centered, must be a corner of a panel.
    for x0, x1 in _panels(box[0], box[1], secret[0]):
        for y0, y1 in _panels(box[2], box[3], secret[1]):
            x = (x0 + x1) / 2 + (x1 - x0) / 2 * nodes
            y = (y0 + y1) / 2 + (y1 - y0) / 2 * nodes
            r = np.hypot(x[:, None] - secret[0], y[None] - secret[1])
            total += float(weights @ np.exp(-epsilon * r) @ weights) * (x1 - x0) * (y1 - y0) / 4
    return total * epsilon**2 / (2 * math.pi)


def _panels(low: float, high: float, corner: float) -> list[tuple[float, float]]:
    cuts = sorted({low, high, *([corner] if low < corner < high else [])})
    return list(pairwise(cuts))


@pytest.mark.parametrize("epsilon", ["0.2", "1", "6"])
def test_cells_of_a_grid_hold_what_their_integral_says(epsilon: str) -> None:
    """The inner cell of 3 x 3 is a unit square: seen from its center, a neighbor, and a corner."""
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    matrix = matrix_of(PlanarLaplace(), space, epsilon)
    for secret in (4, 1, 0):
        assert space.points is not None
        x, y = space.points[secret].tolist()
        mass = cell_by_quadrature((x, y), (1, 2, 1, 2), float(epsilon))
        assert matrix[secret, 4] == pytest.approx(mass, rel=1e-4 if secret == 4 else 1e-9)


@settings(max_examples=30)
@given(st.integers(1, 9), st.sampled_from(["0.05", "1", "40"]), st.integers(0, 10**6))
def test_planar_laplace_is_private_and_complete_before_any_repair(
    n: int, epsilon: str, seed: int
) -> None:
    """Moving noise to the nearest report is post-processing: rows sum to 1, and epsilon holds for all pairs."""
    points = np.random.default_rng(seed).random((n, 2)) * 3
    space = MetricSpace.from_points(points, unit="km")
    matrix = matrix_of(PlanarLaplace(), space, epsilon)
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-12
    # Masses near the last digit of a sum of 1 say nothing about ratios.
    kept = matrix[:, (matrix > 1e-9).all(axis=0)]
    if n > 1 and kept.size:
        assert most_nats_per_unit(kept, space) <= float(epsilon) * (1 + 1e-6)


def test_planar_laplace_agrees_with_its_simulation() -> None:
    """Noise drawn around one secret, counted by nearest report."""
    rng = np.random.default_rng(11)
    points = rng.random((6, 2)) * 3
    space = MetricSpace.from_points(points, unit="km")
    matrix = matrix_of(PlanarLaplace(), space, "1.5", reports=[0, 2, 4, 5])
    radius, angle = rng.gamma(2, 1 / 1.5, 200_000), rng.random(200_000) * 2 * math.pi
    noisy = points[1] + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    nearest = ((noisy[:, None] - points[[0, 2, 4, 5]]) ** 2).sum(axis=2).argmin(axis=1)
    counted = np.bincount(nearest, minlength=4) / 200_000
    # Six standard deviations of a proportion.
    assert np.abs(counted - matrix[1]).max() < 6 * 0.5 / math.sqrt(200_000)


def test_secrets_on_a_side_and_reports_at_one_place() -> None:
    """A secret halfway between two reports gives each one half; of reports at one place the first is given."""
    space = MetricSpace.from_points([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [2.0, 0.0]], unit="km")
    matrix = matrix_of(PlanarLaplace(), space, "1", reports=[0, 1, 3])
    assert matrix[2].tolist() == pytest.approx([0.5, 0.5, 0.0], abs=1e-9)
    assert (matrix[:, 2] == 0).all()


def test_noise_of_a_meter_stays_in_its_cell() -> None:
    """At 1000 nats a kilometer every other cell is beyond the least float; the repair gives it its share."""
    matrix = matrix_of(PlanarLaplace(), GRID, "1000")
    assert np.abs(matrix - np.eye(12)).max() < 1e-12
    problem = Problem(GRID, utility_loss="euclidean")
    made = design(problem, MetricDP(1000, unit="km"), method=PlanarLaplace(), throw=False)
    assert made.certificate.passed
    assert made.channel.weights.min() > 0


@pytest.mark.parametrize(
    "problem",
    [
        Problem(MetricSpace.from_points([[0.0], [1.0]], unit="km"), utility_loss="euclidean"),
        Problem(
            MetricSpace.from_points([[0, 0], [1, 1]], metric="manhattan", unit="km"),
            utility_loss="manhattan",
        ),
        Problem(GRID, utility_loss=np.ones((12, 2))),
        Problem(MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km"), utility_loss="distance"),
    ],
)
def test_without_a_plane_there_is_no_planar_noise(problem: Problem) -> None:
    """One dimension, another metric, reports without a place, no points at all."""
    with pytest.raises(InvalidProblemError):
        baseline_matrix(PlanarLaplace(), problem, problem.space.adjacency(), Fraction(1))


def test_secrets_at_one_place_share_a_row() -> None:
    space = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]], unit="km")
    for method in (Exponential(), PlanarLaplace()):
        matrix = matrix_of(method, space, "1")
        assert matrix[0].tolist() == matrix[2].tolist() != matrix[1].tolist()


def test_uniform_and_constant() -> None:
    """Losses by hand: the mean over reports, and the cheapest column."""
    loss = [[0.0, 4.0, 1.0], [4.0, 0.0, 1.0]]
    pair = MetricSpace.from_points([[0.0], [1.0]], unit="km")
    problem = Problem(pair, utility_loss=loss)
    guarantee = MetricDP("0.001", unit="km")
    for method, expected in ((Uniform(), 10 / 6), (BestConstant(), 1.0)):
        made = design(problem, guarantee, method=method, throw=False)
        assert made.upper == pytest.approx(expected, rel=1e-9)
        assert Claim(pair, MetricDP("1e-30", unit="km")).check(made.channel).passed
    matrix = baseline_matrix(BestConstant(), problem, pair.adjacency(), Fraction(1))
    assert matrix.tolist() == [[0, 0, 1], [0, 0, 1]]


def exponential_channel(seed: int) -> tuple[Problem, Channel]:
    prior = np.random.default_rng(seed).random(12) ** 4
    problem = Problem(GRID, utility_loss="squared-euclidean", prior=prior / prior.sum())
    made = design(problem, MetricDP("0.3", unit="km"), method=Exponential(), throw=False)
    return problem, made.channel


def test_a_remap_is_the_best_of_all_renamings() -> None:
    """All 27 renamings of three reports, by hand."""
    rng = np.random.default_rng(4)
    space = MetricSpace.from_points([[0.0], [1.0], [3.0]], unit="km")
    problem = Problem(space, utility_loss=rng.random((3, 3)), prior=[0.2, 0.5, 0.3])
    made = design(problem, MetricDP("0.5", unit="km"), method=Exponential(), throw=False)
    z, cost = made.channel.probabilities, problem.cost
    losses = [
        sum(float(z[:, k] @ cost[:, name]) for k, name in enumerate((a, b, c)))
        for a in range(3)
        for b in range(3)
        for c in range(3)
    ]
    names = rename_columns(z, cost)[1]
    assert made.channel.expected_loss(cost[:, names]) == pytest.approx(min(losses), rel=1e-12)


def test_the_floor_is_below_every_channel() -> None:
    """Without privacy each secret gives its cheapest report; rounded down, by exact sums."""
    problem, channel = exponential_channel(0)
    assert nearest_output_floor(problem) == 0.0
    few = Problem(GRID, utility_loss="euclidean", reports=[0, 11])
    exact = sum(Fraction(c) for c in few.cost.min(axis=1).tolist())
    assert 0 <= exact - Fraction(nearest_output_floor(few)) <= exact / 2**52
    assert channel.expected_loss(problem.cost) > 0


COAST = [[-17.5, 179.95], [-17.5, 180.04], [-17.42, 179.99], [-17.47, 180.07], [-17.55, 180.0]]
ROOFS = [[41.90, 12.45], [41.92, 12.47], [41.88, 12.50], [41.85, 12.44], [41.91, 12.52]]


@pytest.mark.parametrize("places", [COAST, ROOFS, [[89.9, 0.0], [89.9, 120.0], [89.9, 240.0]]])
def test_planar_laplace_on_a_sphere_is_private_before_any_repair(places: list[list[float]]) -> None:
    """Epsilon is divided by the largest ratio of a distance in the plane to that on the sphere."""
    space = MetricSpace.from_points(places, unit="km", metric="haversine")
    matrix = matrix_of(PlanarLaplace(), space, "0.2")
    assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-9
    assert 0.1 < most_nats_per_unit(matrix, space) <= 0.2 * (1 + 1e-9)


def test_the_stretch_is_that_of_the_worst_pair() -> None:
    """Places across an ocean: the plane is far from the sphere, and the noise is weaker by just that."""
    far = MetricSpace.from_points(
        [[0.0, 0.0], [0.0, 90.0], [60.0, 45.0]], unit="km", metric="haversine"
    )
    problem = Problem(far, utility_loss="haversine")
    part = WholeProblem(problem, far.adjacency(), Fraction(1, 1000)).parts[0]
    assert part.plane is not None
    points = part.plane[0]
    ratios = [
        np.linalg.norm(points[i] - points[j]) / (far.distances[i, j] * 2.0**-far.scale_bits)
        for i in range(3)
        for j in range(i)
    ]
    assert part.stretch == pytest.approx(max(ratios), rel=1e-9)
    assert part.stretch > 1.01
    matrix = baseline_matrix(PlanarLaplace(), problem, far.adjacency(), Fraction(1, 1000))
    assert most_nats_per_unit(matrix, far) <= 0.001 * (1 + 1e-9)


def test_without_a_plane_there_is_no_stretch() -> None:
    line = MetricSpace.from_points([[0.0], [1.0]], unit="km")
    part = WholeProblem(
        Problem(line, utility_loss="distance"), line.adjacency(), Fraction(1)
    ).parts[0]
    with pytest.raises(ValueError, match="plane"):
        _ = part.stretch


@settings(max_examples=25)
@given(st.integers(2, 14), st.sampled_from(["0.3", "1", "5"]), st.integers(0, 10**6))
def test_tails_and_hub_are_private_before_any_repair_and_better_than_their_ends(
    n: int, epsilon: str, seed: int
) -> None:
    """Heights of zero are the best constant report; the closed form, where it is a channel, is one of the family."""
    rng = np.random.default_rng(seed)
    space = MetricSpace.from_points(rng.random((n, 3)) * 3, unit="km")
    prior = rng.random(n)
    problem = Problem(space, utility_loss="distance", prior=prior / prior.sum())
    constraints = space.adjacency()
    part = WholeProblem(problem, constraints, Fraction(epsilon)).parts[0]
    answer = TailsAndHub().solve(part, PartLimits())
    assert answer is not None
    assert answer.matrix is not None
    assert np.abs(answer.matrix.sum(axis=1) - 1).max() < 1e-9
    assert (answer.matrix >= 0).all()
    repaired = repair(answer.matrix, constraints, Fraction(epsilon), cost=problem.cost)
    loss = float((problem.cost * answer.matrix).sum())
    assert repaired.upper <= loss * 1.01 + 1e-6
    assert loss <= problem.cost.sum(axis=0).min() * (1 + 1e-9)
    closed = Kernel().solve(part, PartLimits())
    if closed is not None and closed.matrix is not None:
        assert loss <= float((problem.cost * closed.matrix).sum()) * (1 + 1e-3)


@pytest.mark.parametrize("limit", [1e-9, 5.0])
@pytest.mark.parametrize("metric", ["euclidean", "haversine"])
def test_a_design_never_loses_more_than_the_best_cheap_channel(limit: float, metric: str) -> None:
    rng = np.random.default_rng(5)
    points = rng.random((40, 2)) * 3 + ([41, 12] if metric == "haversine" else [0, 0])
    problem = Problem(
        MetricSpace.from_points(points, unit="km", metric=metric), utility_loss=metric
    )
    guarantee = MetricDP("0.02" if metric == "haversine" else "2", unit="km")
    made = design(problem, guarantee, time_limit=limit, throw=False)
    for name in ("exponential-remap", "planar-laplace", "planar-laplace-remap"):
        other = design(problem, guarantee, method=name, throw=False)
        assert made.upper <= other.upper * (1 + 1e-6), name


def test_tails_that_run_out_of_time_are_private_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After one round the rest may break its ratios; heights shrink to where it keeps them."""
    monkeypatch.setattr(_hub, "_LIMITS", _hub._LIMITS._replace(rounds=1))
    points = np.random.default_rng(1).random((40, 2)) * 6
    space = MetricSpace.from_points(points, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    part = WholeProblem(problem, space.adjacency(), Fraction(1)).parts[0]
    answer = TailsAndHub().solve(part, PartLimits())
    assert answer is not None
    assert answer.matrix is not None
    matrix = np.maximum(answer.matrix, 1e-300)
    used = matrix[:, (answer.matrix > 1e-12).all(axis=0)]
    assert most_nats_per_unit(used, space) <= 1 + 1e-6


def test_a_channel_that_loses_more_than_it_seemed_gives_way_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No private channel reports every secret as it is; the repair makes that dear."""

    def too_good(_method: TailsAndHub, part: Part, _limits: PartLimits) -> Candidate:
        return Candidate("tails-and-hub", np.eye(part.n), None, "Nobody is protected.")

    monkeypatch.setattr(TailsAndHub, "solve", too_good)
    problem, guarantee = Problem(GRID, utility_loss="euclidean"), MetricDP("0.4", unit="km")
    made = design(problem, guarantee, time_limit=1e-9, throw=False)
    plain = design(problem, guarantee, method="planar-laplace-remap", throw=False)
    assert made.provenance.method == "planar-laplace-remap"
    assert made.upper == pytest.approx(plain.upper, rel=1e-9)
