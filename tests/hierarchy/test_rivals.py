"""The rivals: top-down, bottom-up, Hay and Kuo, each held to what its own problem demands."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import InvalidProblemError, PureDP, Tree
from discreet.core.randomness import SeededBits
from discreet.hierarchy import GroupSizes
from discreet.hierarchy.measure import measure
from discreet.hierarchy.methods.baselines import BottomUp, BottomUpCumulative, Clipped, RawNoisy
from discreet.hierarchy.methods.hay import HaySorted, HayTree
from discreet.hierarchy.methods.kuo import KuoHc, KuoHg, KuoNaive, _shares, match_down
from discreet.hierarchy.methods.m_c_dp import MCDP, weighted
from discreet.hierarchy.methods.top_down import TopDown, TopDownCumulative, apportion
from discreet.hierarchy.survival import node_weights, survival_of

GUARANTEE = PureDP("1/2", "add-remove-person")
PAIR = Tree.from_paths([("a",), ("b",)])
DEEP = Tree.from_paths([("a", "x"), ("a", "y"), ("a", "v"), ("b", "z"), ("b", "w")])


def measured_of(kind: Any, *, units: Any = "public", seed: int = 1, tree: Tree = DEEP) -> Any:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2, (len(tree.leaves), 6))
    data = GroupSizes.from_counts(tree, counts, units=units)
    return measure(data, kind, GUARANTEE, bits=SeededBits(seed))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-5, 9), min_size=1, max_size=4), st.integers(0, 8))
def test_no_other_whole_row_with_the_sum_is_nearer(row: list[int], total: int) -> None:
    fit = apportion(np.array([row]), np.array([total]))[0]
    assert fit.min() >= 0
    assert fit.sum() == total
    others = [x for x in product(range(total + 1), repeat=len(row)) if sum(x) == total]
    distances = ((np.array(others) - row) ** 2).sum(axis=1)
    assert ((fit - row) ** 2).sum() == distances.min()


def test_what_is_left_over_favors_no_column() -> None:
    fits = apportion(np.zeros((30, 3), dtype=int), np.ones(30, dtype=int))
    assert fits.sum(axis=0).tolist() == [10, 10, 10]


def test_two_levels_down_is_the_least_cost_of_two_levels() -> None:
    """On one level below the root both variants see the same children; on two, variant b also sees theirs."""
    shallow = measured_of("direct", tree=PAIR)
    b = TopDown("b").solve(shallow)
    assert (b == PAIR.totals(b[1:])).all()
    deep = measured_of("direct", seed=4)
    one, two = TopDown("a").solve(deep), TopDown("b").solve(deep)
    errors = [((made[1:] - deep.values[1:]) ** 2).sum() for made in (one, two)]
    assert errors[1] < errors[0]


@pytest.mark.parametrize("epsilon", ["1e-4", "1e-6", "1e-9"])
def test_two_levels_down_hold_the_parent_whatever_the_noise(epsilon: str) -> None:
    """Beyond some noise a weight does not hold a parent at its counts; its counts as totals do."""
    data = GroupSizes.from_counts(DEEP, np.ones((5, 3), dtype=np.int64), units="private")
    guarantee = PureDP(epsilon, "add-remove-person")
    made = TopDown("b").solve(measure(data, "direct", guarantee, bits=SeededBits(1)))
    assert (made >= 0).all()
    assert (made == DEEP.totals(made[DEEP.leaves])).all()


@pytest.mark.parametrize("units", ["public", "private"])
def test_progress_is_told_level_by_level(units: str) -> None:
    for method, kind in (
        (TopDown("a"), "direct"),
        (TopDown("b"), "direct"),
        (TopDownCumulative(), "survival"),
    ):
        told: list[str] = []
        method.solve(measured_of(kind, units=units), on_progress=told.append)
        assert told == ["level 1", "level 2", "level 3"]
    told = []
    MCDP().solve(measured_of("survival", units=units), on_progress=told.append)
    assert len(told) == 2


def test_baselines_are_what_they_are_called() -> None:
    direct = measured_of("direct", units="private", seed=3)
    assert (RawNoisy().solve(direct) == direct.values).all()
    assert RawNoisy().solve(direct).min() < 0
    assert (Clipped().solve(direct) == np.maximum(direct.values, 0)).all()
    bottom = BottomUp().solve(direct)
    assert (bottom[DEEP.leaves] == np.maximum(direct.values[DEEP.leaves], 0)).all()
    public = measured_of("direct")
    totals = public.frame.group_totals
    assert (BottomUp().solve(public).sum(axis=1) == totals).all()
    cumulative = BottomUpCumulative().solve(measured_of("survival"))
    assert (cumulative.sum(axis=1) == totals).all()


def test_the_consistent_tree_is_the_nearest_one() -> None:
    """Any other values that add up are farther, in the weights of the noise."""
    measured = measured_of("direct")
    fit = HayTree().solve(measured)
    np.testing.assert_allclose(DEEP.totals(fit[DEEP.leaves]), fit, atol=1e-9)
    rng = np.random.default_rng(1)
    weights = 1 / measured.variances()[:, None]
    least = (weights * (fit - measured.values) ** 2).sum()
    for _ in range(20):
        other = fit + DEEP.totals(rng.normal(size=(5, 6)))
        assert (weights * (other - measured.values) ** 2).sum() > least
    assert (fit != np.floor(fit)).any()


@pytest.mark.parametrize("method", [HaySorted(), HaySorted("l1"), KuoHg(), KuoHg("l1")])
def test_sorted_sizes_keep_the_number_of_groups(method: HaySorted | KuoHg) -> None:
    measured = measured_of("sorted")
    made = method.solve(measured)
    assert made.min() >= 0
    assert (made.sum(axis=1) == measured.frame.group_totals).all()


def test_a_region_without_groups_has_none() -> None:
    data = GroupSizes.from_counts(PAIR, [[0, 0, 0], [1, 2, 0]], units="public")
    for method in (HaySorted(), KuoHg(), KuoHc(), KuoNaive()):
        made = method.solve(measure(data, method.kind, GUARANTEE))
        assert made[1].sum() == 0
        assert made[2].sum() == 3


@pytest.mark.parametrize("method", [KuoNaive(), KuoHc(), KuoHc("l2"), KuoHg()])
def test_matching_makes_counts_add_up_and_keeps_groups(method: Any) -> None:
    for seed in range(5):
        measured = measured_of(method.kind, seed=seed)
        made = method.solve(measured)
        assert made.min() >= 0
        assert (made == DEEP.totals(made[DEEP.leaves])).all()
        assert (made.sum(axis=1) == measured.frame.group_totals).all()


def test_matching_averages_by_precision() -> None:
    """A parent that knows better moves the sizes of its children; one that knows nothing does not."""
    counts = np.array([[0, 0, 0, 0, 2], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0]])
    for variance, size in ((1e-9, 4), (1e9, 0), (2.0, 2)):
        made = match_down(PAIR, counts, np.array([variance, 1.0, 1.0]))
        assert made[1].tolist() == np.eye(5)[size].tolist()
        assert made[0, size] == 2


def test_matching_costs_no_more_than_the_earth_movers_distance() -> None:
    """Where the children are sure, the parent takes their sizes; where it is sure, they move as little as can be."""
    counts = np.array([[2, 0, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]])
    sure = match_down(PAIR, counts, np.array([1e9, 1.0, 1.0]))
    assert (sure[1:] == counts[1:]).all()
    moved = match_down(PAIR, counts, np.array([1e-9, 1.0, 1.0]))
    assert moved[0].tolist() == counts[0].tolist()
    frame = GroupSizes.from_counts(PAIR, counts[1:], units="public").frame
    distance = np.abs(survival_of(frame, moved) - survival_of(frame, counts))[1:].sum()
    assert distance == 2


def test_groups_are_dealt_in_proportion() -> None:
    assert _shares(np.array([4, 2, 0]), 3).tolist() == [2, 1, 0]
    assert _shares(np.array([1, 1, 1]), 2).sum() == 2
    assert _shares(np.array([5]), 5).tolist() == [5]


@pytest.mark.parametrize(
    ("method", "kind"),
    [(KuoNaive(), "direct"), (KuoHc(), "survival")],
)
def test_what_needs_public_units_says_so(method: Any, kind: str) -> None:
    with pytest.raises(InvalidProblemError, match="public"):
        method.solve(measured_of(kind, units="private"))


def test_other_measurements_and_options_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="direct counts"):
        TopDown().solve(measured_of("survival"))
    with pytest.raises(InvalidProblemError, match="variant"):
        TopDown("c")  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(InvalidProblemError, match="loss"):
        MCDP("l3").solve(measured_of("survival"))  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(InvalidProblemError, match="loss"):
        HaySorted("l3").solve(measured_of("sorted"))  # type: ignore[arg-type] # wrong on purpose


def test_weights_that_grow_with_the_leaves_below_keep_errors_from_adding_up() -> None:
    """Many leaves with few groups: the default is nearer than the published weights on every level, in the mean."""
    rng = np.random.default_rng(2)
    paths = [(str(i), str(j)) for i in range(6) for j in range(20)]
    counts = rng.poisson(40, (120, 6)) * (np.arange(6) < 3)
    data = GroupSizes.from_counts(Tree.from_paths(paths), counts, units="private")
    errors = np.zeros((2, 3))
    for seed in range(6):
        measured = measure(
            data, "survival", PureDP("1/5", "add-remove-person"), bits=SeededBits(seed)
        )
        for place, method in enumerate((weighted(), MCDP())):
            made = method.solve(measured)
            lost = np.abs(made - data.node_counts()).sum(axis=1)
            errors[place] += np.bincount(data.frame.tree.levels, weights=lost)
    assert (errors[0] < errors[1]).all()
    assert errors[0, 0] < 0.7 * errors[1, 0]


def test_weights_are_whole_and_follow_precision() -> None:
    data = GroupSizes.from_counts(DEEP, np.ones((5, 2), dtype=int), units="private")
    levels = ["1/4", "1/4", "1/2"]
    measured = measure(data, "survival", PureDP("1/100", "add-remove-person"), levels=levels)
    assert node_weights(measured, "equal").tolist() == [1] * 8
    assert node_weights(measured, "inverse-variance").tolist() == [16] * 3 + [64] * 5
    spread = node_weights(measured, "spread")
    assert spread.tolist() == [20, 18, 16, 54, 54, 54, 54, 54]
    leaves = measure(data, "survival", GUARANTEE, levels=[0, 0, 1])
    assert node_weights(leaves, "spread").tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    with pytest.raises(InvalidProblemError, match="weights"):
        node_weights(measured, "none")  # type: ignore[arg-type] # wrong on purpose
