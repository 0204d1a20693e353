"""Multivariate Laplace noise: exact on a line, near the exact cells in a plane, near its simulation elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import PlanarLaplace, Problem, design
from discreet.metricdp.methods.multivariate import MultivariateLaplace, _directions
from discreet.metricdp.part import Part, PartLimits
from unrepaired import matrix_of


def test_on_a_line_it_is_the_laplace_distribution() -> None:
    space = MetricSpace.from_points([[0.0], [1.0], [3.0]], unit="1")
    matrix = matrix_of(MultivariateLaplace(), space, "2")
    # From 0: cells end at 0.5 and 2.
    far, middle = math.exp(-2 * 2) / 2, math.exp(-2 * 0.5) / 2
    assert matrix[0].tolist() == pytest.approx([1 - middle, middle - far, far], abs=1e-14)
    # From 1, in the middle cell: 0.5 to the left, 1 to the right.
    left, right = math.exp(-1) / 2, math.exp(-2) / 2
    assert matrix[1].tolist() == pytest.approx([left, 1 - left - right, right], abs=1e-14)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_in_the_plane_it_is_near_the_integrated_cells(epsilon: str) -> None:
    points = np.random.default_rng(3).random((12, 2)) * 4
    space = MetricSpace.from_points(points, unit="1")
    estimate = matrix_of(MultivariateLaplace(1024), space, epsilon, reports=[0, 1, 2, 5, 7, 11])
    exact = matrix_of(PlanarLaplace(), space, epsilon, reports=[0, 1, 2, 5, 7, 11])
    assert np.abs(estimate.sum(axis=1) - 1).max() < 1e-12
    assert np.abs(estimate - exact).max() < 2e-3


def test_in_more_dimensions_it_agrees_with_its_simulation() -> None:
    rng = np.random.default_rng(7)
    points = rng.normal(size=(8, 5))
    space = MetricSpace.from_points(points, unit="1")
    matrix = matrix_of(MultivariateLaplace(4096), space, "3")
    draws = 200_000
    direction = rng.normal(size=(draws, 5))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    noisy = points[2] + rng.gamma(5, 1 / 3, draws)[:, None] * direction
    distance = (noisy**2).sum(axis=1)[:, None] - 2 * noisy @ points.T + (points**2).sum(axis=1)
    counted = np.bincount(distance.argmin(axis=1), minlength=8) / draws
    assert np.abs(counted - matrix[2]).max() < 6 * 0.5 / math.sqrt(draws) + 3e-3


def test_words_at_one_place_share_what_is_given() -> None:
    space = MetricSpace.from_points([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]], unit="1")
    problem = Problem(space, utility_loss="distance")
    made = design(problem, MetricDP(2, "1"), method=MultivariateLaplace(), throw=False)
    assert made.certificate.passed
    assert made.channel.probabilities[1].tolist() == made.channel.probabilities[2].tolist()


@pytest.mark.parametrize("epsilon", ["0.5", "5"])
def test_what_is_estimated_ends_as_a_verified_channel(epsilon: str) -> None:
    points = np.random.default_rng(5).normal(size=(20, 10))
    space = MetricSpace.from_points(points, unit="1")
    problem = Problem(space, utility_loss="distance")
    made = design(problem, MetricDP(epsilon, "1"), method=MultivariateLaplace(), throw=False)
    assert made.certificate.passed
    best = design(problem, MetricDP(epsilon, "1"), throw=False)
    assert best.lower is not None
    assert made.upper >= best.lower


@pytest.mark.parametrize("dimensions", [2, 3, 6, 300])
def test_rays_point_everywhere_and_back(dimensions: int) -> None:
    rays = _directions(dimensions, 64)
    assert rays.shape == (128, dimensions)
    assert np.abs(np.linalg.norm(rays, axis=1) - 1).max() < 1e-12
    assert np.abs(rays.sum(axis=0)).max() < 1e-12
    assert len(np.unique(rays, axis=0)) == 128


@pytest.mark.parametrize("metric", ["angular", "hyperbolic"])
def test_it_needs_euclidean_distances(metric: str) -> None:
    unit = "rad" if metric == "angular" else "1"
    space = MetricSpace.from_points([[0.1, 0.2], [0.3, 0.1]], metric=metric, unit=unit)
    with pytest.raises(InvalidProblemError, match="method: expected one that applies"):
        matrix_of(MultivariateLaplace(), space, "1")


def test_a_part_made_by_hand_has_no_points() -> None:
    space = MetricSpace.grid(1, 2, cell=1, unit="km")
    part = Part(np.ones((2, 2)), space.adjacency(), Fraction(1))
    assert MultivariateLaplace().solve(part, PartLimits()) is None


@pytest.mark.parametrize("directions", [0, 3, -4])
def test_directions_are_a_power_of_two(directions: int) -> None:
    with pytest.raises(InvalidProblemError, match="directions: expected a power of two"):
        MultivariateLaplace(directions)
