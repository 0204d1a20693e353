"""What users sample from, together: the published designs fail, the audited one and the baselines do not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InfeasibleError, InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.outcome import Unproven
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.verify import verify
from discreet_reproduction.lrgeo.as_published.baselines import (
    BASELINES,
    PrintedExponential,
    baseline,
    remapped_cost,
)
from discreet_reproduction.lrgeo.as_published.composite import composite_check
from discreet_reproduction.lrgeo.as_published.exponential_form import ExponentialForm
from discreet_reproduction.lrgeo.as_published.instance import Instance
from discreet_reproduction.lrgeo.as_published.lr_geo import LRGeo
from discreet_reproduction.lrgeo.as_published.lr_omg import LROMG
from discreet_reproduction.lrgeo.as_published.protocol import reproduce
from discreet_reproduction.lrgeo.as_published.released import AsReleased
from discreet_reproduction.lrgeo.audited import Trial, audited_design
from discreet_reproduction.lrgeo.frozen_scales import (
    FrozenScales,
    Scales,
    frozen_scales,
    local_matrix,
)
from published_cases import batch, grid, line

FIVE = grid(5)
NEAR = MetricDP(1, "km", radius=1)


def square(side: int) -> MetricSpace:
    return MetricSpace.grid(side, side, cell=1, unit="km")


# The check


def test_the_check_finds_the_exact_epsilon_of_a_private_channel() -> None:
    decay = np.exp(-0.5 * FIVE.distances)
    found = composite_check(decay / decay.sum(axis=1, keepdims=True), FIVE.distances, 1.0)
    assert found.holds
    assert found.violating_entries == found.violating_pairs == found.infinite_entries == 0
    assert found.largest_excess == 0.0
    assert 0.5 < found.effective <= 1.0
    assert found.pairs == 25 * 24


def test_the_check_sees_one_zero_and_one_entry_among_many() -> None:
    private = np.full((25, 25), 1 / 25)
    broken = private.copy()
    broken[3, 7], broken[3, 8] = 0.0, 2 / 25
    found = composite_check(broken, FIVE.distances, 1.0)
    assert found.effective == np.inf
    assert found.effective_finite == pytest.approx(np.log(2))
    assert found.infinite_entries == 24
    assert not found.holds
    bent = private.copy()
    bent[3, 8], bent[3, 7] = 3.9 / 25, 0.1 / 25
    found = composite_check(bent, FIVE.distances, 1.0)
    # One row against its neighbors, for one report each way: 6 of 15,000 entries, and all pairs with that row nearby.
    assert found.entry_ratio < 0.002
    assert found.effective == pytest.approx(np.log(10))
    assert found.largest_excess == pytest.approx((3.9 - math.e) / 25)
    assert 0 < found.pair_ratio < 0.1


def test_the_check_compares_within_its_radius_only() -> None:
    far = np.eye(3)[[0, 0, 2]]
    assert (
        composite_check(far, line(3) * [[0, 1, 1], [1, 0, 1], [1, 1, 0]], 1.0).effective == np.inf
    )
    one = composite_check([[1.0, 0.0], [0.0, 1.0]], [[0.0, 5.0], [5.0, 0.0]], 1.0, radius=1.0)
    assert (one.pairs, one.pair_ratio, one.entry_ratio, one.effective) == (0, 0.0, 0.0, 0.0)


def test_the_check_refuses_what_is_no_channel() -> None:
    with pytest.raises(InvalidProblemError, match="distances"):
        composite_check([[1.0]], line(2), 1.0)
    with pytest.raises(InvalidProblemError, match="probabilities"):
        composite_check([[-0.1, 1.1], [0.5, 0.5]], line(2), 1.0)


# Published designs


def test_users_who_solve_alone_are_told_apart_from_every_neighbor() -> None:
    """A1 for LR-OMG: nearly all pairs violate, many by infinite ratios."""
    made = reproduce(FIVE, NEAR, LROMG(reach=2))
    assert isinstance(made, Unproven)
    assert made.guarantee is None
    near = made.result.near
    assert near.pair_ratio > 0.9
    assert near.infinite_entries > 0
    assert near.effective == np.inf


def test_shared_scales_do_not_make_the_composite_private() -> None:
    """A1 for CLR-Geo, all users of the map in one batch, with the ranges for which Theorem 4.5 holds."""
    method = LRGeo(reach=3, r_exp=2.0, r_obf=3.0, centered="location")
    made = reproduce(FIVE, NEAR, method)
    result = made.result
    assert result.near.violating_pairs > 0
    assert result.near.effective > 1.2
    assert result.everywhere.effective > result.near.effective
    assert result.counted is not None
    assert result.counted.covered_violating == 0
    assert result.counted.violating > 0
    assert result.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert "A1" in made.reason
    assert "A2" not in made.reason
    assert "B2" in made.reason


def test_batches_know_nothing_of_each_other() -> None:
    together, apart = (
        reproduce(FIVE, NEAR, LRGeo(2, 1.0, 3.0, centered="location", batch=size), users=[6, 7, 12])
        for size in (None, 1)
    )
    assert len(together.result.scales) == 1
    assert len(apart.result.scales) == 3
    assert apart.result.near.effective > together.result.near.effective
    assert apart.result.objective is not None
    assert together.result.objective is not None
    assert apart.result.objective <= together.result.objective + 1e-6


def test_as_uploaded_even_covered_entries_violate() -> None:
    made = reproduce(grid(7), NEAR, LRGeo(3, 1.0, 2.0), users=[8, 10, 16, 24, 31])
    assert made.result.counted is not None
    assert made.result.counted.covered_violating > 0
    assert made.result.counted.covered_ratio > 0
    assert "A2" in made.reason


def test_the_decomposition_gives_what_one_program_gives() -> None:
    whole, split, printed = (
        reproduce(
            FIVE,
            NEAR,
            LRGeo(2, 1.0, 3.0, centered="location", solver=solver),
            users=[6, 12],
        ).result
        for solver in ("whole", "benders", "benders-as-printed")
    )
    assert whole.lower is None
    assert whole.objective is not None
    for one in (split, printed):
        assert one.objective == pytest.approx(whole.objective, rel=2e-4)
        assert one.lower is not None
        assert one.lower <= whole.objective + 1e-6


def test_lr_geo_f_constrains_all_pairs_of_a_users_rows() -> None:
    made = reproduce(FIVE, MetricDP(1, "km"), LRGeo(1.5, 1.0, 3.0, centered="location"), users=[12])
    assert made.result.counted is not None
    assert made.result.counted.violating == 0
    assert made.result.counted.entries == 9 * 8 * 25


def test_the_released_variant_has_twenty_rows_and_infinite_ratios() -> None:
    claim = MetricDP(10, "km", radius=1)
    method = AsReleased(reach=20.0, r_exp=1.0, r_obf=2.0)
    made = reproduce(grid(7), claim, method, users=[8, 24, 40])
    table = made.result.matrix
    assert (table == 0).any()
    assert table.max() <= 0.99 + 1e-6
    assert made.result.everywhere.effective == np.inf
    assert "D2" in made.reason
    with pytest.raises(InvalidProblemError, match="rows_kept"):
        reproduce(grid(7), claim, AsReleased(20.0, 1.0, 2.0, rows_kept=0), users=[8])


def test_the_released_variant_solves_the_same_program_whatever_the_size_of_the_map() -> None:
    from discreet.core.randomness.bits import SeededBits
    from discreet_reproduction.lrgeo.as_published.geo_ind_graph import GeoIndGraph, lr_set

    method = AsReleased(reach=20.0, r_exp=1.0, r_obf=2.0)
    for side in (7, 14):
        apart = grid(side).distances
        ball = lr_set(GeoIndGraph(apart, 1.0), 0, 20.0)
        assert len(ball) >= 49
        chosen = method._choose(ball, SeededBits(1))
        assert len(np.unique(chosen)) == 20
        assert np.isin(chosen, ball).all()


def test_the_printed_exponential_mechanism_is_private_in_another_metric() -> None:
    """A8: roads with detours cost more than the distance, and with the prior in the score all rows are alike."""
    stretched = Instance(FIVE.distances, 2.5 * FIVE.beta, unit="km")
    by_cost = reproduce(stretched, NEAR, PrintedExponential(with_prior=False))
    assert by_cost.result.near.violating_pairs > 0
    by_printed = reproduce(stretched, NEAR, PrintedExponential())
    assert by_printed.result.matrix.std(axis=0).max() < 0.01
    assert by_printed.result.cost > by_cost.result.cost
    assert "A8" in by_cost.reason


def test_reproduce_refuses_other_units_and_nobody() -> None:
    with pytest.raises(InvalidProblemError, match="guarantee"):
        reproduce(FIVE, MetricDP(1, "m"), LROMG(reach=1))
    with pytest.raises(InvalidProblemError, match="users"):
        reproduce(FIVE, NEAR, LROMG(reach=1), users=[])
    with pytest.raises(InvalidProblemError, match="users: expected a place from 0 to 24") as told:
        reproduce(FIVE, NEAR, LROMG(reach=1), users=[77])
    assert "77" not in str(told.value)
    with pytest.raises(InvalidProblemError, match="batch"):
        reproduce(FIVE, NEAR, LRGeo(1, 1.0, 2.0, batch=0), users=[3])


def test_what_was_computed_says_with_what() -> None:
    made = reproduce(FIVE, NEAR, LRGeo(1, 1.0, 2.0), users=[3])
    assert made.provenance.method == "LRGeo"
    assert made.provenance.parameters["rate"] == "1/2"
    assert {one.name for one in made.provenance.assumed_public} == {"distances", "cost", "prior"}


# Frozen scales


def test_rows_with_frozen_scales_exist_everywhere_and_are_not_private() -> None:
    made = reproduce(FIVE, MetricDP(1, "km", radius="1.5"), FrozenScales(reach=2, r_exp=2))
    result = made.result
    assert result.matrix.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert result.near.violating_pairs > 0
    assert "A1" in made.reason
    public = frozen_scales(FIVE, ExponentialForm(1.0, 2.0, rate=Fraction(1)), gamma=1.5)
    assert composite_check(public.matrix, FIVE.distances, 1.0, radius=1.5).pair_ratio == 0.0
    assert result.scales[0] == pytest.approx(public.scales)


def test_rows_at_home_cost_no_more_than_the_rows_of_the_global_channel() -> None:
    public = frozen_scales(FIVE, ExponentialForm(1.0, 2.0, rate=Fraction(1)), gamma=1.0)
    for one in batch(FIVE, [0, 7, 12], reach=2.0, r_obf=np.inf):
        made = local_matrix(one.coefficients, public)
        theirs = public.matrix[one.rows]
        weight = np.full(len(one.rows), 1 / len(one.rows))
        cost = FIVE.beta[one.rows]
        assert weight @ (cost * made).sum(axis=1) <= weight @ (cost * theirs).sum(axis=1) + 1e-6


def test_scales_from_elsewhere_leave_no_rows() -> None:
    from discreet.core.errors import LimitReachedError

    public = frozen_scales(FIVE, ExponentialForm(1.0, 1.0, rate=Fraction(1)), gamma=1.0)
    wrong = Scales(public.scales * 9, public.matrix, public.form, public.gamma, public.objective)
    one = batch(FIVE, [12], reach=2.0, r_obf=np.inf)[0]
    with pytest.raises(LimitReachedError, match="no rows with these scales"):
        local_matrix(one.coefficients, wrong)


# Audited


def test_the_audited_composite_is_private_for_all_pairs_exactly() -> None:
    four = grid(4)
    trials: list[Trial] = []
    about = (square(4), four, MetricDP(1, "km"), FrozenScales(reach=2, r_exp=1.0))
    repaired = audited_design(*about, gamma=1.0, on_audit=trials.append)
    assert verify(repaired).passed
    assert repaired.guarantee.radius is None
    assert [audit.share for audit in trials] == [1.0]
    assert trials[0].check.effective > 1.0
    assert any("were repaired" in told for told in repaired.provenance.method_trace)
    trials.clear()
    rescaled = audited_design(*about, gamma=1.0, mend="rescale", on_audit=trials.append)
    assert verify(rescaled).passed
    assert trials[-1].check.effective <= 1.0
    assert trials[-1].share < 1.0
    assert rescaled.upper == pytest.approx(trials[-1].cost, rel=1e-2)
    assert any("The last keeps the promise" in told for told in rescaled.provenance.method_trace)
    assert repaired.upper < rescaled.upper


def test_rows_that_keep_the_promise_are_taken_as_they_are() -> None:
    trials: list[Trial] = []
    made = audited_design(
        square(4),
        grid(4),
        MetricDP(2, "km"),
        FrozenScales(reach=9, r_exp=-1.0),
        gamma=1.5,
        on_audit=trials.append,
    )
    # Without free entries every user's rows are those of the global channel.
    assert len(trials) == 1
    assert trials[0].check.effective <= 2.0 * (1 + 1e-6)
    assert made.upper == pytest.approx(trials[0].cost, rel=1e-3)


def test_where_no_inner_epsilon_is_small_enough_the_rows_are_repaired() -> None:
    made = audited_design(
        square(4),
        grid(4),
        MetricDP(1, "km"),
        LROMG(reach=1),
        gamma=1.0,
        mend="rescale",
        tries=2,
    )
    assert verify(made).passed
    assert any("were repaired" in told for told in made.provenance.method_trace)


def test_an_audited_design_is_for_all_pairs_of_its_own_space() -> None:
    with pytest.raises(InvalidProblemError, match="guarantee"):
        audited_design(square(4), grid(4), NEAR, LROMG(reach=1))
    with pytest.raises(InvalidProblemError, match="instance"):
        audited_design(square(4), FIVE, MetricDP(1, "km"), LROMG(reach=1))
    with pytest.raises(InvalidProblemError, match="mend"):
        audited_design(
            square(4),
            grid(4),
            MetricDP(1, "km"),
            LROMG(reach=1),
            mend="hope",  # type: ignore[arg-type]
        )
    small = FrozenScales(reach=1, r_exp=-1.0)
    with pytest.raises(InfeasibleError):
        audited_design(square(4), grid(4), MetricDP("0.01", "km"), small, gamma=1.0)


# Baselines


def test_the_baselines_are_private_for_all_pairs_and_in_their_order() -> None:
    four, space = grid(4), square(4)
    made = {name: baseline(space, four, MetricDP(2, "km"), name) for name in BASELINES}
    for name, design in made.items():
        found = composite_check(design.channel.probabilities, four.distances, 2.0)
        assert found.effective <= 2.0 * (1 + 1e-9), name
        assert verify(design).passed
        assert remapped_cost(design, four) <= design.upper + 1e-12
    cost = {name: design.upper for name, design in made.items()}
    assert cost["lp"] <= min(cost.values()) * (1 + 1e-6)
    assert cost["tight"] < cost["laplace"] < cost["exponential"]


def test_renaming_changes_nothing_of_the_best_channel() -> None:
    four = grid(4)
    best = baseline(square(4), four, MetricDP(2, "km"), "lp")
    assert remapped_cost(best, four) == pytest.approx(best.upper, rel=1e-6)


def test_a_baseline_that_does_not_exist_is_named() -> None:
    with pytest.raises(InvalidProblemError, match="name"):
        baseline(square(4), grid(4), MetricDP(2, "km"), "best")
    with pytest.raises(InvalidProblemError, match="space"):
        baseline(square(4), FIVE, MetricDP(2, "km"), "lp")
