"""Noise for more places than have a table: an upper bound that covers the exact loss, a lower one below the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.geography import great_circle
from discreet.core.spaces.metric import MetricSpace
from discreet.lrgeo import Region, design
from discreet.lrgeo.points.layout import region_of
from discreet.lrgeo.points.many_places import design_many_places, has_noise
from discreet.lrgeo.points.noise_design import NoiseDesign, design_noise
from discreet.lrgeo.points.verify import verify
from discreet.metricdp import Problem
from discreet.metricdp import design as best_channel
from discreet.metricdp.bounds import parts
from discreet.metricdp.bounds.parts import bound_by_parts
from discreet.metricdp.costs import ImplicitCosts

if TYPE_CHECKING:
    from numpy.typing import NDArray

PER_KM = MetricDP(1, "km")


def scattered(n: int, seed: int = 1) -> NDArray[np.float64]:
    return np.round(4 * np.random.default_rng(seed).random((n, 2)), 4)


def skewed(n: int) -> NDArray[np.float64]:
    return np.arange(1, n + 1) / (n * (n + 1) / 2)


def exact_loss(made: NoiseDesign, costs: ImplicitCosts) -> float:
    """The loss of the places as they were stated, each report at the place whose coordinates it shows."""
    mechanism, points = made.published(), np.asarray(costs.space.points)
    shown = np.array(mechanism.shown, dtype=np.float64)
    far = great_circle if costs.space.metric == "haversine" else lambda p, q: np.hypot(*(p - q).T)
    total = 0.0
    for weight, point in zip(costs.prior.tolist(), points.tolist(), strict=True):
        law = np.array([float(one) for one in mechanism.law(tuple(map(repr, point)))])
        total += weight * float(law @ far(np.array(point), shown))
    return total


@pytest.mark.parametrize("spherical", [False, True])
def test_the_upper_bound_covers_the_exact_loss_and_little_more(spherical: bool) -> None:  # noqa: FBT001
    points = scattered(14)
    if spherical:
        points = np.array([41.9, 12.5]) + points / 100
        space = MetricSpace.from_points(points, metric="haversine", unit="km")
        assert has_noise(space, "haversine")
    else:
        space = MetricSpace.from_points(points, unit="km")
    costs = ImplicitCosts(space, "haversine" if spherical else "distance", skewed(14))
    made = design_many_places(costs, PER_KM, gap=None)
    assert made.upper is not None
    loss = exact_loss(made, costs)
    # Shown coordinates are rounded to a decimeter, which is a part of the slack.
    assert loss <= made.upper * (1 + 1e-6) <= 1.003 * loss + 0.001
    assert made.certificate.passed
    assert verify(made.published().claimed()).passed


def test_names_by_medians_lose_little_more_than_the_best_names() -> None:
    space = MetricSpace.from_points(scattered(40), unit="km")
    costs = ImplicitCosts(space, "euclidean", skewed(40))
    made = design_many_places(costs, PER_KM, gap=None)
    problem = Problem(made.region.space, utility_loss="distance", prior=costs.prior)
    best = design_noise(made.region, PER_KM, problem, spacing="0.0625")
    assert made.upper is not None
    assert best.upper is not None
    assert best.upper * 0.998 <= made.upper <= 1.01 * best.upper


@pytest.mark.parametrize("per_part", [12, 100])
def test_the_bound_of_parts_is_below_the_optimum(
    per_part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "_TUNING", parts._TUNING._replace(secrets=per_part))
    space = MetricSpace.from_points(scattered(40), unit="km")
    best = best_channel(Problem(space, utility_loss="euclidean", prior=skewed(40)), PER_KM)
    points = np.asarray(space.points)
    seen: list[float] = []
    lower = bound_by_parts(
        space,
        points,
        0.0,
        skewed(40),
        PER_KM.epsilon,
        on_progress=lambda step: seen.append(step.lower or 0.0),
    )
    assert 0.4 * best.upper < lower <= best.upper
    assert seen == sorted(seen)
    assert len(seen) == (4 if per_part == 12 else 1)


def test_corners_across_sides_raise_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    space = MetricSpace.from_points(scattered(40, 2), unit="km")
    lower = []
    for detour in (np.inf, 1.05):
        monkeypatch.setattr(parts, "_TUNING", parts._TUNING._replace(least_detour=detour))
        points = np.asarray(space.points)
        lower.append(bound_by_parts(space, points, 0.0, np.full(40, 1 / 40), PER_KM.epsilon))
    best = best_channel(Problem(space, utility_loss="euclidean"), PER_KM)
    assert lower[0] * 1.002 < lower[1] <= best.upper


def test_a_bound_without_time_is_that_of_the_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_TUNING", parts._TUNING._replace(secrets=12))
    space = MetricSpace.from_points(scattered(40), unit="km")
    lower = bound_by_parts(
        space, np.asarray(space.points), 0.0, np.full(40, 1 / 40), PER_KM.epsilon, time_limit=1e-9
    )
    assert 0 < lower < 0.5


@pytest.mark.parametrize("slope", [(1.0, 0.0), (0.0, 1.0), (0.3, 0.7)])
@pytest.mark.parametrize("n", [1, 2, 16])
def test_places_on_one_line_are_bounded(n: int, slope: tuple[float, float]) -> None:
    points = np.outer(np.random.default_rng(n).permutation(n), slope)
    space = MetricSpace.from_points(points, unit="km")
    lower = bound_by_parts(space, points, 0.0, skewed(n), PER_KM.epsilon)
    best = best_channel(Problem(space, utility_loss="euclidean", prior=skewed(n)), PER_KM)
    assert 0.9 * best.upper <= lower <= best.upper


def test_secrets_at_one_decimeter_become_one_place() -> None:
    points = np.concatenate([scattered(12), scattered(12) + 1e-6])
    costs = ImplicitCosts(MetricSpace.from_points(points, unit="km"), "euclidean")
    made = design_many_places(costs, PER_KM)
    alone = design_many_places(
        ImplicitCosts(MetricSpace.from_points(scattered(12), unit="km"), "euclidean"), PER_KM
    )
    assert made.K == 12
    assert made.upper is not None
    assert alone.upper is not None
    assert exact_loss(made, costs) <= made.upper <= alone.upper + 0.001
    assert made.lower is not None
    assert alone.lower is not None
    assert alone.lower - 0.01 < made.lower <= alone.lower


def test_a_region_beyond_the_table_has_noise_for_every_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from discreet.core.spaces import lengths

    monkeypatch.setattr(lengths, "DENSE_LIMIT", 30)
    region = Region.from_grid(8, 8, cell="0.5", unit="km", origin=(41.88, 12.46))
    made = design(region, PER_KM)
    assert (made.status, made.lower, made.region) == ("no gap asked for", None, region)
    with pytest.raises(LimitReachedError) as missed:
        design(region, PER_KM, gap=0.01)
    best: NoiseDesign = missed.value.best  # type: ignore[assignment]
    assert best.lower is not None
    assert 0 < best.lower < (best.upper or 0.0)
    with pytest.raises(InvalidProblemError, match="5120"):
        design(region, PER_KM, method="table")


def test_only_distances_of_a_plane_or_a_sphere_have_noise() -> None:
    flat = [(0.0, 0.0), (1.0, 2.0)]
    assert has_noise(MetricSpace.from_points(flat, metric="haversine", unit="m"), "distance")
    assert not has_noise(MetricSpace.from_points(flat, metric="haversine", unit="m"), "haversine")
    assert not has_noise(MetricSpace.from_points(flat, unit="km"), "squared-euclidean")
    assert not has_noise(MetricSpace.from_points(flat, unit="mile"), "euclidean")
    assert not has_noise(MetricSpace.from_points(flat, metric="manhattan", unit="km"), "distance")
    assert not has_noise(MetricSpace.from_points([(0, 0, 0), (1, 2, 3)], unit="km"), "distance")
    costs = ImplicitCosts(MetricSpace.from_points(flat, unit="km"), "distance")
    with pytest.raises(InvalidProblemError, match="radius"):
        design_many_places(costs, MetricDP(1, "km", 2))
    with pytest.raises(InvalidProblemError, match="line"):
        design_many_places(costs, PER_KM)


def test_the_loss_of_a_place_that_is_moved_to_a_decimeter_pays_for_the_move() -> None:
    exact = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
    moved = [(x + 0.00003, y) for x, y in exact]
    for points, pays in ((exact, False), (moved, True)):
        _, labels, paid = region_of(MetricSpace.from_points(points, unit="km"))
        assert labels.tolist() == [0, 1, 2, 3]
        assert (paid > 0) == pays
        assert paid == 0 or paid >= 0.00003
