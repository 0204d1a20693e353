"""Releases: what they promise on all methods, what they refuse before anything is charged, what the curator sees."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import (
    ApproxDP,
    BudgetError,
    InvalidProblemError,
    PureDP,
    Release,
    Tree,
    Unproven,
    ZeroConcentratedDP,
)
from discreet.core.budget import MemoryBudget
from discreet.core.randomness import SeededBits
from discreet.hierarchy import GroupSizes, diagnose, release, reproduce, verify
from discreet.hierarchy.methods import METHODS
from discreet.hierarchy.plan import level_parts
from discreet.hierarchy.result import RegionCounts

PERSON = PureDP("1/2", "add-remove-person")
STRONG = PureDP(8, "add-remove-person")
TREES = [
    Tree.from_paths([("only",)]),
    Tree.from_paths([("a",), ("b",), ("c",)]),
    Tree.from_paths([("a", "x"), ("a", "y"), ("b", "z")]),
    Tree.from_paths([("a", "x", "p"), ("a", "x", "q"), ("a", "y"), ("b",)]),
    Tree.from_paths([("a", "b", "c", "d")]),
]
OF_PROGRAMS = {"m-h", "m-dp-op", "m-h-r"}
"""Methods that solve so many programs that they have tests of their own, on smaller data."""
SLOW = {"m-c", *OF_PROGRAMS}


def sample(tree: Tree, units: Any = "public", seed: int = 1, size: int = 4) -> GroupSizes:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.5, (len(tree.leaves), size)) * rng.integers(0, 2, (len(tree.leaves), 1))
    return GroupSizes.from_counts(tree, counts, units=units)


@pytest.mark.parametrize("name", sorted(set(METHODS.proven) - OF_PROGRAMS))
@pytest.mark.parametrize("units", ["public", "private"])
def test_every_method_keeps_its_promises_on_every_tree(name: str, units: str) -> None:
    """One region, one level, three, branches of different depths, a chain of single children."""
    for seed, tree in enumerate(TREES):
        data = sample(tree, units, seed)
        try:
            made = release(data, PERSON, method=name)
            assert made.certificate.passed
        except InvalidProblemError:
            # Methods that need public units, or levels that are partitions, say so.
            assert units == "private" or name == "m-c-ch-calibrated"
            continue
        assert made.provenance.method == name
        promises = made.provenance.parameters["promises"]
        assert (made.result.counts.dtype == np.int64) == ("integral" in promises)
        assert made.result.measurements is None
        assert not made.provenance.seeded


@pytest.mark.parametrize("name", sorted(set(METHODS.proven) - SLOW - {"m-h-dp"}))
def test_a_budget_without_end_gives_the_true_counts(name: str) -> None:
    data = sample(TREES[2])
    for guarantee in (
        PureDP(10_000, "replace-person"),
        ZeroConcentratedDP(10_000, "add-remove-person"),
    ):
        made = release(data, guarantee, method=name)
        np.testing.assert_allclose(made.result.counts, data.node_counts(), atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(TREES), st.sampled_from(["public", "private"]))
def test_the_default_adds_up_whatever_the_noise(seed: int, tree: Tree, units: str) -> None:
    data = sample(tree, units, seed)
    made = release(data, PERSON, bits=SeededBits(seed))
    assert made.certificate.passed
    assert made.provenance.method == "m-c-dp-weighted"
    assert made.provenance.seeded
    again = release(data, PERSON, bits=SeededBits(seed))
    assert np.array_equal(made.result.counts, again.result.counts)


def test_measurements_are_kept_when_asked_for() -> None:
    data = sample(TREES[2])
    kept = release(data, PERSON, keep_measurements=True).result.measurements
    assert kept is not None
    assert kept.values.shape == (6, 3)
    assert kept.guarantee == PERSON


def test_nothing_is_charged_for_what_can_be_refused_without_the_data() -> None:
    data = sample(TREES[1], "private")
    budget = MemoryBudget({"census": PERSON})

    def ask(guarantee: Any = PERSON, **options: Any) -> None:
        release(data, guarantee, budget=budget, **({"dataset": "census"} | options))

    for wrong in (
        {"dataset": None},
        {"levels": [1]},
        {"levels": ["1/2", "1/3"]},
        {"method": "best"},
        {"guarantee": ApproxDP(1, "1e-6", "add-remove-person")},
        {"guarantee": PureDP(1, "replace-one")},
    ):
        with pytest.raises(InvalidProblemError):
            ask(**wrong)
    assert budget.account("census").left == (PERSON.epsilon,)
    ask()
    assert budget.account("census").left == (Fraction(0),)
    with pytest.raises(BudgetError):
        ask()


@pytest.mark.parametrize("name", sorted(METHODS.proven))
def test_what_a_method_needs_is_asked_before_it_is_paid_for(name: str) -> None:
    """Private units, branches of unequal depth, a level without a part: all is known without the data."""
    ragged = Tree.from_paths([("a", "x"), ("b",)])
    parts: tuple[list[str] | None, ...] = (None, ["1/2", "0", "1/2"])
    for units, tree, levels in product(("public", "private"), (TREES[2], ragged), parts):
        data = sample(tree, units, size=2)
        budget = MemoryBudget({"census": PERSON})
        ask: dict[str, Any] = {"levels": levels, "budget": budget, "dataset": "census"}
        try:
            level_parts(data.frame, PERSON, method=name, levels=levels)
        except InvalidProblemError:
            with pytest.raises(InvalidProblemError):
                release(data, PERSON, method=name, **ask)
            assert budget.account("census").left == (PERSON.epsilon,)
            continue
        if name not in SLOW | {"m-h-dp"}:
            assert release(data, PERSON, method=name, **ask).certificate.passed
            assert budget.account("census").left == (Fraction(0),)


@pytest.mark.parametrize(
    "name", ["bottom-up", "bottom-up-cumulative", "kuo-h-c", "kuo-h-g", "kuo-naive"]
)
def test_some_methods_keep_the_public_number_of_groups_of_each_region(name: str) -> None:
    for seed, tree in enumerate(TREES):
        data = sample(tree, "public", seed)
        counts = release(data, PERSON, method=name).result.counts
        assert counts.sum(axis=1).tolist() == np.asarray(data.frame.group_totals).tolist()


def test_methods_say_what_they_lack() -> None:
    data = sample(TREES[2], "private")
    lacking: tuple[tuple[str, list[str] | None, str], ...] = (
        ("kuo-h-c", None, "public"),
        ("hay-sorted", None, "public"),
        ("top-down-a", ["1/2", "0", "1/2"], "each level"),
        ("m-c-dp", ["1/2", "1/2", "0"], "the leaves"),
    )
    for name, levels, said in lacking:
        with pytest.raises(InvalidProblemError, match=said):
            release(data, PERSON, method=name, levels=levels)
    with pytest.raises(InvalidProblemError, match="equal depth"):
        release(sample(TREES[3]), PERSON, method="m-c-ch-calibrated")


def test_leaves_above_the_deepest_level_may_be_left_their_own_part() -> None:
    data = sample(TREES[3], "private")
    for inherit, scale in ((True, Fraction(8, 3)), (False, Fraction(8))):
        made = release(
            data, PERSON, leaves_inherit=inherit, keep_measurements=True, levels=["1/4"] * 4
        )
        assert made.certificate.passed
        assert made.provenance.parameters["leaves_inherit"] is inherit
        measured = made.result.measurements
        assert measured is not None
        # The leaf b, below the root, has its own part of four, or those of the two levels below it too.
        assert measured.scales[data.frame.tree.find(("b",))] == scale


class _UnreadableError(Exception):
    """The data were touched."""


def test_a_budget_is_charged_before_the_data_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_: object) -> None:
        raise _UnreadableError

    data = sample(TREES[1])
    # Compiled code is loaded with made-up counts, once, and touches these methods, too.
    release(data, PERSON)
    for name in ("survival", "node_counts"):
        monkeypatch.setattr(GroupSizes, name, touched)
    budget = MemoryBudget({"census": PERSON})
    with pytest.raises(_UnreadableError):
        release(data, PERSON, budget=budget, dataset="census")
    assert budget.account("census").left == (Fraction(0),)
    with pytest.raises(BudgetError):
        release(data, PERSON, budget=budget, dataset="census")


def test_what_is_reproduced_is_no_release() -> None:
    made = reproduce(sample(TREES[1]), PERSON, method="m-c-dp", bits=SeededBits(1))
    assert isinstance(made, Unproven)
    assert "compared" in made.reason
    assert made.provenance.seeded


def test_the_certificate_sees_a_table_that_does_not_add_up() -> None:
    data = sample(TREES[2], "private")
    made = release(data, PERSON)
    counts = np.array(made.result.counts)
    counts[0, 0] += 1
    broken = Release(RegionCounts(data.frame, counts), PERSON, made.certificate, made.provenance)
    assert not verify(broken).passed


def test_names_and_methods_belong_together() -> None:
    for name in METHODS:
        assert METHODS.name_of(METHODS[name].make()) == name
    with pytest.raises(InvalidProblemError, match="the nearest is 'm-c-dp'"):
        METHODS.resolve("m-c-dq")


def test_the_curator_sees_each_kind_of_error() -> None:
    """A group too large in one leaf, one that is missing, a fraction, a negative count, a sum that is off."""
    data = GroupSizes.from_counts(TREES[1], [[2, 0, 1], [1, 1, 1], [0, 0, 0]], units="private")
    true = data.node_counts()
    assert diagnose(data, RegionCounts(data.frame, true)).l1 == (0.0, 0.0)
    counts = true.astype(np.float64)
    counts[1] = [1, 0, 2]
    counts[2] = [1, 0, 1]
    counts[3] = [0, -1, 0.5]
    seen = diagnose(data, RegionCounts(data.frame, counts))
    assert seen.l1 == (0.0, 2 + 1 + 1.5)
    assert seen.earth_mover == (0.0, 2 + 2 + 0.5 + 0.5 + 0.5)
    assert seen.negative == 1
    assert seen.fractional == 1
    assert (seen.inconsistent, seen.inconsistent_regions) == (3, 1)
    assert seen.bias_on_zeros == (None, (0.5 - 1) / 4)
    assert seen.to_dict()["private"] is True
    with pytest.raises(InvalidProblemError, match="frame"):
        diagnose(sample(TREES[0]), RegionCounts(data.frame, counts))


def test_a_dataset_without_a_ledger_is_not_taken_for_charged() -> None:
    with pytest.raises(InvalidProblemError, match="dataset: expected a budget with it"):
        release(sample(TREES[0]), PERSON, dataset="census")


@pytest.mark.parametrize("levels", [[0, 0, 1], ["1/2", 0, "1/2"]], ids=str)
@pytest.mark.parametrize("units", ["public", "private"])
def test_levels_made_of_measured_leaves_stay_valid(units: Any, levels: list[Any]) -> None:
    """Every method that works without a measurement of a level, and what it then publishes for that level."""
    tree = Tree.from_paths([("a", "p"), ("a", "q"), ("b", "r"), ("b", "s")])
    data = GroupSizes.from_counts(tree, np.arange(12).reshape(4, 3) % 5, units=units)
    guarantee = PureDP("1/2", neighbors="replace-person")
    verified = set()
    for name in METHODS:
        if "every level" in getattr(METHODS[name].make(), "needs", ()):
            continue
        out = release(data, guarantee, method=name, levels=levels)
        assert out.certificate.passed
        assert verify(out).passed
        verified.add(name)
    assert {"m-c-dp-weighted", "hay-tree", "m-h", "m-h-r", "bottom-up-cumulative"} <= verified
