"""How mechanisms for every point are searched: starts from coarse meshes, and the projection before the mending."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Region, design
from discreet.lrgeo.points.coarse import coarser_meshes, lift
from discreet.lrgeo.points.lattice import lattice, refined
from discreet.lrgeo.points.layout import lay_out
from discreet.lrgeo.points.mend import exponential, mended, slack
from discreet.lrgeo.points.mesh import Mesh
from discreet.lrgeo.points.steps import ConeIterate

EPSILON = 2e-4
"""Nats per decimeter: half a nat a cell."""

FINE = lattice((0, 0), (20_000, 20_000), 1_250, reach=0)
REPORTS = np.array([(x, y) for y in range(0, 20_001, 5_000) for x in range(0, 20_001, 5_000)])


def iterate(mesh: Mesh) -> ConeIterate:
    """Users at the reports, each as likely; the loss is the distance."""
    away = np.hypot(*(mesh.vertices[:, None] - REPORTS).transpose(2, 0, 1)).astype(float)
    corners, weights = mesh.coefficients(REPORTS)
    lost = np.hypot(*(REPORTS[:, None] - REPORTS).transpose(2, 0, 1)) / len(REPORTS)
    cost = np.zeros(away.shape)
    for corner, weight in zip(corners.T, weights.T, strict=True):
        np.add.at(cost, corner, weight[:, None] * lost)
    return ConeIterate(mesh, cost, EPSILON, away)


def advanced(state: ConeIterate, steps: int) -> ConeIterate:
    for _ in range(steps):
        state.advance()
    return state


def gap(state: ConeIterate) -> float:
    bound = max(state.bound(one, EPSILON) for one in (state.L, state.mean()))
    table = mended(state.mesh, state.matrix(), EPSILON)
    upper = float((state.cost * table).sum())
    return (upper - bound) / upper


def test_coarse_meshes_cover_the_fine_one_however_uneven_it_is() -> None:
    uneven = refined(
        lattice((0, 0), (16_384, 8_192), 4_096, reach=0), np.array([[10, 10], [9_000, 77]]), 64
    )
    for mesh in (FINE, uneven):
        for coarse, side in coarser_meshes(mesh):
            (left, low), (right, high) = mesh.box
            (west, south), (east, north) = coarse.box
            assert west <= left <= right <= east
            assert south <= low <= high <= north
            assert (np.sqrt(coarse.twice_areas) == side).all()
            assert 3 * len(coarse.vertices) <= len(mesh.vertices)
    assert coarser_meshes(lattice((0, 0), (40, 40), 10, reach=0)) == []


def test_a_start_from_a_coarse_mesh_is_nearer_to_the_optimum() -> None:
    """As many steps on the fine mesh, with and without: the gap is smaller by a quarter at least."""
    state: ConeIterate | None = None
    held = 0
    for mesh, side in coarser_meshes(FINE):
        following = iterate(mesh)
        if state is not None:
            lift(state, held, following)
        state, held = advanced(following, 300), side
    assert state is not None
    started = iterate(FINE)
    lift(state, held, started)
    rows = started.matrix()
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert rows.min() >= 0
    # At vertices of both meshes it is the coarse row.
    where = {
        tuple(place): row for place, row in zip(mesh.vertices.tolist(), state.matrix(), strict=True)
    }
    for place, row in zip(FINE.vertices.tolist(), rows, strict=True):
        if tuple(place) in where:
            coarse = where[tuple(place)]
            assert row == pytest.approx(coarse / coarse.sum(), abs=1e-5)
    assert gap(advanced(started, 150)) < 0.75 * gap(advanced(iterate(FINE), 150))


def test_projection_leaves_what_keeps_the_condition_as_it_is() -> None:
    away = np.hypot(*(FINE.vertices[:, None] - REPORTS).transpose(2, 0, 1))
    table = np.exp(-0.3 * EPSILON * away)
    table /= table.sum(axis=1, keepdims=True)
    assert slack(FINE, table, EPSILON)[0].min() > 0
    assert mended(FINE, table, EPSILON) == pytest.approx(table, rel=1e-12)


def test_projection_saves_most_of_what_mending_adds() -> None:
    state = advanced(iterate(FINE), 200)
    raw = state.matrix()
    with_it, without = (mended(FINE, raw, EPSILON, sweeps=sweeps) for sweeps in (120, 0))
    raw_loss = float((state.cost * (raw / raw.sum(axis=1, keepdims=True))).sum())
    added, added_without = (
        float((state.cost * one).sum()) - raw_loss for one in (with_it, without)
    )
    assert added < added_without / 2
    for table in (with_it, without):
        assert slack(FINE, table, EPSILON)[1].min() > -1e-9
        assert table.sum(axis=1) == pytest.approx(1)
    again = mended(FINE, raw, EPSILON, sweeps=120, threads=3)
    assert (again == with_it).all()


def test_a_mesh_is_even_unless_its_table_would_be_too_large() -> None:
    places = np.random.default_rng(4).integers(0, 60_000, (50, 2))
    region = Region(places, None, "km")
    even = lay_out(region, Fraction(2)).mesh
    assert len(np.unique(even.twice_areas)) == 1
    assert float(np.sqrt(even.twice_areas[0])) <= 1_250
    uneven = lay_out(region, Fraction(2), max_weights=len(even.vertices) * 50 - 1).mesh
    assert len(uneven.vertices) < len(even.vertices)
    legs = np.sqrt(uneven.twice_areas)
    assert legs.min() <= 1_250
    assert legs.max() > 3_000


@pytest.mark.parametrize("epsilon", [EPSILON / 4, EPSILON, 4 * EPSILON])
def test_the_exponential_mechanism_on_a_mesh_keeps_the_condition(epsilon: float) -> None:
    state = iterate(FINE)
    away = np.hypot(*(FINE.vertices[:, None] - REPORTS).transpose(2, 0, 1)).astype(float)
    table = exponential(FINE, away, state.cost, epsilon)
    assert slack(FINE, table, epsilon)[1].min() > -1e-9
    assert table.sum(axis=1) == pytest.approx(1)
    alike = np.full(table.shape, 1 / table.shape[1])
    assert float((state.cost * table).sum()) < float((state.cost * alike).sum())


def test_a_short_limit_ends_with_the_exponential_mechanism_and_not_with_all_reports_alike() -> None:
    region, promise = Region.from_grid(6, 6, cell="1", unit="km"), MetricDP(2, "km")
    made = design(region, promise, method="mesh", time_limit=1e-3)
    alike = float(np.mean(region.space.distances))
    assert made.certificate.passed
    assert made.upper is not None
    # 3.0 of all reports alike, 1.13 of it, and 0.6 of a design with time.
    assert made.upper < alike / 2
    assert "exponential mechanism" in " ".join(made.provenance.method_trace)
