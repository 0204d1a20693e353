"""The cost reference table, its estimates, and the bounds of cost that rest on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.lrgeo.places.region import Region
from discreet_reproduction.lrgeo.as_published.clr_geo import clr_geo
from discreet_reproduction.lrgeo.as_published.coefficients import prepare_global
from discreet_reproduction.lrgeo.as_published.composite import composite_check
from discreet_reproduction.lrgeo.as_published.cost_bounds import lower_bound, upper_bound
from discreet_reproduction.lrgeo.as_published.cost_table import CostTable
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph
from discreet_reproduction.lrgeo.as_published.instance import Instance, trip_cost
from discreet_reproduction.lrgeo.as_published.lr_geo import LRGeo
from discreet_reproduction.lrgeo.as_published.lr_omg import lr_omg
from discreet_reproduction.lrgeo.as_published.protocol import reproduce
from published_cases import batch, detours, grid, sent

SIDE = 12
PLACES = np.arange(SIDE * SIDE)
FINE = PLACES[((PLACES // SIDE) % 2 == 0) & ((PLACES % SIDE) % 2 == 0)]
"""The table's places: every other one, both ways."""


@pytest.mark.parametrize("one_way", [False, True])
def test_with_travel_offsets_both_lemmas_hold(*, one_way: bool) -> None:
    apart, way, targets = detours(SIDE, seed=2, one_way=one_way)
    true = trip_cost(way[:, targets])
    table = CostTable.from_roads(way, FINE, targets, apart)
    for clamp in (True, False):
        assert (table.estimate("upper", clamp=clamp) >= true - 1e-9).all()
        assert (table.estimate("lower", clamp=clamp) <= true + 1e-9).all()


def test_with_the_published_offsets_both_lemmas_fail() -> None:
    """C11: offsets as the crow flies are too small where streets are not straight."""
    apart, way, targets = detours(SIDE, seed=2)
    true = trip_cost(way[:, targets])
    table = CostTable.from_roads(way, FINE, targets, apart, offsets="distance")
    short = true - table.estimate("upper", clamp=False)
    assert 0.001 < (short > 1e-9).mean() < 0.2
    assert short.max() > 0.05
    assert (table.estimate("lower", clamp=False) > true + 1e-9).any()


def test_targets_that_are_moved_have_to_be_paid_for() -> None:
    apart, way, targets = detours(SIDE, seed=2)
    true = trip_cost(way[:, targets])
    moved = CostTable.from_roads(way, FINE, targets, apart, snap_targets=True)
    assert moved.moved > 0
    assert (moved.estimate("upper") >= true - 1e-9).all()
    assert (moved.estimate("lower") <= true + 1e-9).all()
    forgotten = moved.estimate("upper", clamp=False) - 2 * moved.moved
    assert (forgotten < true - 1e-9).any()


def test_the_table_of_all_places_is_exact() -> None:
    apart, way, targets = detours(6)
    table = CostTable.from_roads(way, np.arange(36), targets, apart)
    true = trip_cost(way[:, targets])
    for side in ("upper", "lower", "table"):
        assert np.array_equal(table.estimate(side), true)
    prior = np.arange(1.0, 37.0) / np.arange(1.0, 37.0).sum()
    assert np.array_equal(table.estimate("table", prior), prior[:, None] * true)


def test_a_lower_estimate_may_be_negative_until_it_is_clamped() -> None:
    apart, way, targets = detours(SIDE, seed=2)
    table = CostTable.from_roads(way, FINE, targets, apart)
    assert (table.estimate("lower", clamp=False) < 0).any()
    assert (table.estimate("lower") >= 0).all()


def test_the_table_is_cut_to_a_disc() -> None:
    apart, way, targets = detours(SIDE)
    table = CostTable.from_roads(way, FINE, targets, apart)
    kept = table.within(apart[0, FINE], 4.0)
    assert FINE[kept].tolist() == [0, 2, 4, 24, 26, 48]


def test_cost_is_a_pseudometric() -> None:
    beta = grid(4).beta
    assert np.array_equal(beta, beta.T)
    assert (np.diag(beta) == 0).all()
    assert (beta[:, None, :] <= beta[:, :, None] + beta[None, :, :] + 1e-12).all()


def test_tables_refuse_what_does_not_fit() -> None:
    with pytest.raises(InvalidProblemError, match="nearest"):
        CostTable([[0.0]], None, [1], [0.0])
    with pytest.raises(InvalidProblemError, match="offsets"):
        CostTable([[0.0]], None, [0], [-1.0])
    with pytest.raises(InvalidProblemError, match="side"):
        CostTable([[0.0]], None, [0], [0.0]).estimate("middle")  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="offsets"):
        CostTable.from_roads([[0.0]], [0], [0], [[0.0]], offsets="none")  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="shares"):
        CostTable([[0.0]], [0.5], [0], [0.0])


# Theorems 4.7 and 4.8


def test_the_estimates_enclose_the_optimum() -> None:
    apart, way, targets = detours(6)
    six = Instance(apart, trip_cost(way[:, targets]), unit="km")
    fine = np.arange(0, 36, 2)
    table = CostTable.from_roads(way, fine, targets, apart)
    graph, users = GeoIndGraph(apart, 1.0), [7, 21]
    form = ExponentialForm(1.0, 1.0, 3.0)
    everybody = batch(six, users, reach=2.0, r_obf=3.0)
    true = clr_geo(sent(everybody), form, gamma=1.0, n_places=36).objective
    upper = upper_bound(six, graph, users, form, reach=2.0, estimate=table.estimate("upper"))
    lower = lower_bound(six, graph, users, 1.0, reach=2.0, estimate=table.estimate("lower"))
    relaxed = lower_bound(six, graph, users, 1.0, reach=2.0)
    assert lower <= relaxed + 1e-9 <= true + 2e-9 <= upper + 3e-9


@pytest.mark.parametrize("centered", ["user", "location"])
def test_theorem_4_8_bounds_its_own_program_and_not_every_channel(centered: str) -> None:
    """A6: same rows, range and centering; and a channel of the whole map, which may report anywhere."""
    six = grid(6)
    graph = GeoIndGraph(six.distances, 1.0)
    free = ExponentialForm(1.0, float(six.distances.max()))
    for user in (0, 14):
        one = batch(six, [user], r_obf=2.0, centered=centered)[0]
        own = clr_geo(sent([one]), ExponentialForm(1.0, 1.0, 2.0), gamma=1.0, n_places=36)
        relaxed = clr_geo(sent([one]), free, gamma=1.0, n_places=36).objective
        assert relaxed < own.objective
        rows = np.isin(np.arange(36), one.rows)
        cost = np.where(rows[:, None], six.beta / rows.sum(), 0.0)
        anywhere, _ = lr_omg(replace(prepare_global(six).coefficients, cost=cost), 1.0, gamma=1.0)
        assert lower_bound(six, graph, [user], 1.0, reach=3.0) == pytest.approx(anywhere)
        assert lower_bound(six, graph, [user], 1.0, reach=3.0, columns=2.0) > 1.05 * anywhere


def test_columns_that_are_dropped_give_no_bound_and_the_figures_of_the_errata() -> None:
    """A6: on 10 by 10 places with and without a range, and on 8 by 8 against (19)."""
    ten, eight = grid(10), grid(8)
    graph = GeoIndGraph(ten.distances, 1.0)
    for user, printed, mended in ((0, 0.869, 0.761), (44, 1.183, 1.079)):
        for columns, value in ((2.0, printed), (None, mended)):
            bound = lower_bound(ten, graph, [user], 1.0, reach=3.0, columns=columns)
            assert bound == pytest.approx(value, abs=6e-4)
    graph = GeoIndGraph(eight.distances, 1.0)
    formed = clr_geo(
        sent(batch(eight, [0], r_obf=1.0)), ExponentialForm(0.3, 1.0, 1.0), gamma=1.0, n_places=64
    )
    dropped = lower_bound(eight, graph, [0], 0.3, reach=3.0, columns=1.0)
    assert (dropped, formed.objective) == pytest.approx((1.275, 1.224), abs=1e-3)


def test_an_instance_of_a_region_has_its_distances_and_its_travel_costs() -> None:
    from discreet.core.spaces.metric import MetricSpace

    class Plain:
        space = MetricSpace.grid(2, 2, cell=1, unit="km")
        travel = np.array([[0.0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]])

    found = Instance.from_region(Plain(), targets=[3], prior=[0.1, 0.2, 0.3, 0.4])
    assert found.distances[0, 1] == 1.0
    assert found.beta[0].tolist() == [0.0, 1.0, 1.0, 2.0]
    assert found.cost[3, 0] == pytest.approx(0.8)
    with pytest.raises(InvalidProblemError, match="targets"):
        Instance.from_region(Plain(), targets=[4])
    with pytest.raises(InvalidProblemError, match="targets"):
        Instance.from_region(Plain(), targets=[0.5])


def test_a_real_region_can_be_reproduced_on() -> None:
    places = Instance.from_region(Region.from_grid(3, 3, cell=1, unit="km"), targets=[0, 5])
    method = LRGeo(reach=2, r_exp=1.0, r_obf=2.0)
    made = reproduce(places, MetricDP(1, "km", radius=1), method)
    assert made.guarantee is None
    assert made.result.everywhere == composite_check(made.result.matrix, places.distances, 1.0)
