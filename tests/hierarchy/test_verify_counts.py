"""The checker of published tables accepts what is right and rejects each thing that can be wrong with them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.core.certificate import Certificate
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import KAnonymity, PureDP, ZeroConcentratedDP
from discreet.core.outcome import Provenance, Release
from discreet.core.tree import Tree
from discreet.hierarchy.problem import Frame
from discreet.hierarchy.result import RegionCounts
from discreet.hierarchy.verify import PROMISES, verify, verify_counts, verify_guarantee

RAGGED = Tree.from_paths([("GA", "Cobb"), ("GA", "Fulton"), ("DC",)], root="US")
"""US over GA and DC, GA over Cobb and Fulton."""

PUBLIC = Frame(RAGGED, 2, "public", group_totals=np.array([9, 5, 4, 2, 3]))
PRIVATE = Frame(RAGGED, 2, "private")
GOOD = np.array([[2, 4, 3], [1, 2, 2], [1, 2, 1], [0, 1, 1], [1, 1, 1]])
ONE = PureDP(1, neighbors="add-remove-person")


def record(**changes: Any) -> dict[str, Any]:
    """Describe survival counts with epsilon 1/3, 1/3 and 1/3, where DC has what the counties have, too."""
    stated: dict[str, Any] = {
        "kind": "survival",
        "noise": "laplace",
        "neighbors": "add-remove-person",
        "max_size": 2,
        "units": "public",
        "max_quantity": 1,
        "scale_by_level": ["3", "3", "none"],
        "scale_of_leaves_by_level": ["none", "3/2", "3"],
    }
    return stated | changes


def residuals(certificate: Certificate) -> dict[str, Any]:
    return {check.name: check.residual for check in certificate.checks}


def test_a_right_table_passes_all_four() -> None:
    certificate = verify_counts(PUBLIC, GOOD)
    assert certificate.passed
    assert len(certificate.checks) == 4
    assert all(check.exact for check in certificate.checks)


@pytest.mark.parametrize(
    ("cell", "value", "failed"),
    [
        (
            (3, 0),
            -1,
            {"numbers below zero", "sums that do not hold", "levels that do not sum to G"},
        ),
        ((0, 0), 3, {"sums that do not hold", "levels that do not sum to G"}),
        ((1, 1), 3, {"sums that do not hold", "levels that do not sum to G"}),
        ((4, 2), 0, {"sums that do not hold", "levels that do not sum to G"}),
    ],
)
def test_one_wrong_number_is_rejected(cell: tuple[int, int], value: int, failed: set[str]) -> None:
    table = GOOD.copy()
    table[cell] = value
    certificate = verify_counts(PUBLIC, table)
    assert {check.name for check in certificate.checks if not check.passed} == failed


def test_numbers_that_add_up_to_another_g_are_rejected_where_g_is_public() -> None:
    table = GOOD.copy()
    table[[0, 1, 3], 0] += 1
    assert residuals(verify_counts(PUBLIC, table))["levels that do not sum to G"] == 3
    assert verify_counts(PRIVATE, table[:, 1:]).passed


def test_sizes_may_not_trade_places_between_levels() -> None:
    """Each level sums to G although no size adds up."""
    table = GOOD.copy()
    table[0] = table[0, ::-1]
    found = residuals(verify_counts(PUBLIC, table))
    assert found["levels that do not sum to G"] == 0
    assert found["sums that do not hold"] == 2


def test_halves_are_no_whole_numbers_but_may_add_up() -> None:
    table = GOOD.astype(float)
    table[[0, 1, 3], 0] += 0.5
    table[[0, 1, 3], 1] -= 0.5
    found = verify_counts(PUBLIC, table)
    assert [check.passed for check in found.checks] == [False, True, True, True]
    assert found.checks[0].residual == 6
    assert not found.checks[2].exact
    assert verify_counts(PUBLIC, table, promises=PROMISES[1:]).passed
    table[0, 0] += 1e-3
    assert [c.passed for c in verify_counts(PUBLIC, table).checks] == [False, True, False, False]


def test_only_what_was_promised_is_checked() -> None:
    wrong = GOOD.copy()
    wrong[3, 0] = -1
    assert len(verify_counts(PUBLIC, wrong, promises=["integral"]).checks) == 1
    assert verify_counts(PUBLIC, wrong, promises=["integral"]).passed
    assert not verify_counts(PUBLIC, wrong, promises=[]).passed


@pytest.mark.parametrize(
    ("counts", "promises", "field"),
    [
        (GOOD[:, 1:], PROMISES, "counts"),
        (GOOD[1:], PROMISES, "counts"),
        (GOOD.astype(str), PROMISES, "counts"),
        (np.where(GOOD == 4, np.nan, GOOD), PROMISES, "counts"),
        (GOOD, ["private"], "promises"),
    ],
)
def test_nonsense_is_refused(counts: Any, promises: Any, field: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        verify_counts(PUBLIC, counts, promises=promises)


def test_each_path_costs_exactly_epsilon() -> None:
    certificate = verify_guarantee(PUBLIC, ONE, record())
    assert certificate.passed
    assert certificate.checks[1].residual == 1


@pytest.mark.parametrize(
    ("changes", "spent"),
    [
        ({"kind": "direct"}, 2),
        ({"kind": "sorted", "max_quantity": 2}, 1),
        ({"kind": "chain"}, Fraction(1, 3) + Fraction(4, 3)),
        ({"neighbors": "replace-person"}, 2),
        ({"scale_of_leaves_by_level": ["none", "1", "3"]}, Fraction(4, 3)),
        (
            {"scale_of_leaves_by_level": ["none", "3/2", "2.99"]},
            Fraction(2, 3) + 1 / Fraction("2.99"),
        ),
    ],
)
def test_too_little_noise_is_rejected(changes: dict[str, Any], spent: Fraction) -> None:
    """Halved scales, a sensitivity of the wrong kind, a chain of many regions, a leaf with too much budget."""
    certificate = verify_guarantee(PUBLIC, ONE, record(**changes))
    assert not certificate.passed
    assert certificate.checks[1].residual == spent


def test_a_level_that_was_not_measured_costs_nothing() -> None:
    stated = record(scale_by_level=["none", "3/2", "none"])
    stated["scale_of_leaves_by_level"] = ["none", "1", "3"]
    assert verify_guarantee(PUBLIC, ONE, stated).checks[1].residual == 1


def test_a_quantity_costs_its_size_up_to_the_largest_size() -> None:
    for quantity, spent in ((1, 1), (2, 2), (7, 2)):
        frame = Frame(RAGGED, 2, "private", quantity)
        stated = record(units="private", max_quantity=quantity)
        assert verify_guarantee(frame, ONE, stated).checks[1].residual == spent


@pytest.mark.parametrize(
    ("kind", "neighbors", "squares"),
    [
        ("survival", "add-remove-person", 1),
        ("survival", "replace-person", 2),
        ("direct", "add-remove-person", 2),
        ("direct", "replace-person", 6),
        ("sorted", "replace-person", 2),
    ],
)
def test_gaussian_noise_is_paid_in_rho(kind: str, neighbors: Any, squares: int) -> None:
    stated = record(kind=kind, noise="gaussian", neighbors=neighbors)
    certificate = verify_guarantee(PUBLIC, ZeroConcentratedDP(1, neighbors=neighbors), stated)
    assert certificate.checks[1].residual == Fraction(squares, 2)
    assert certificate.checks[0].passed


def test_the_squares_of_sorted_sizes_are_those_of_the_quantity() -> None:
    frame = Frame(RAGGED, 2, "public", 2, PUBLIC.group_totals)
    stated = record(kind="sorted", noise="gaussian", max_quantity=2)
    certificate = verify_guarantee(frame, ZeroConcentratedDP(2, neighbors=ONE.neighbors), stated)
    assert certificate.checks[1].residual == 2


@pytest.mark.parametrize(
    ("frame", "guarantee", "changes"),
    [
        (PUBLIC, ONE, {"max_size": 3}),
        (PUBLIC, ONE, {"units": "private"}),
        (PUBLIC, ONE, {"max_quantity": 2}),
        (PUBLIC, PureDP(9, neighbors="replace-person"), {}),
        (PUBLIC, PureDP(9, neighbors="add-remove-one"), {}),
        (PUBLIC, ZeroConcentratedDP(9, neighbors="add-remove-person"), {}),
        (PUBLIC, KAnonymity(9, ["zip"]), {}),
        (PRIVATE, ONE, {"units": "private", "kind": "sorted"}),
        (PRIVATE, ONE, {"units": "private", "kind": "chain"}),
    ],
)
def test_facts_that_differ_are_rejected(
    frame: Frame, guarantee: Any, changes: dict[str, Any]
) -> None:
    certificate = verify_guarantee(frame, guarantee, record(**changes))
    assert certificate.checks[0].residual >= 1
    assert not certificate.passed


@pytest.mark.parametrize("name", sorted(record()))
def test_a_record_that_lacks_something_is_refused(name: str) -> None:
    stated = record()
    del stated[name]
    with pytest.raises(InvalidProblemError, match=f"^parameters: .*{name}"):
        verify_guarantee(PUBLIC, ONE, stated)


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": "uniform"},
        {"kind": "median"},
        {"neighbors": "strangers"},
        {"scale_by_level": ["3", "3"]},
        {"scale_by_level": ["3", "0", "none"]},
        {"scale_by_level": ["3", "-1", "none"]},
        {"scale_by_level": ["3", "many", "none"]},
        {"scale_of_leaves_by_level": ["none", "3/2", "1/0"]},
    ],
)
def test_a_record_without_proof_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match="^(parameters|scale_)"):
        verify_guarantee(PUBLIC, ONE, record(**changes))


def made(counts: Any, parameters: dict[str, Any]) -> Release[RegionCounts]:
    return Release(
        RegionCounts(PUBLIC, counts), ONE, Certificate(()), Provenance("m_h", parameters)
    )


def test_a_release_is_its_table_and_its_guarantee() -> None:
    certificate = verify(made(GOOD, record()))
    assert certificate.passed
    assert len(certificate.checks) == 6
    assert not verify(made(GOOD + 1, record())).passed
    assert not verify(made(GOOD, record(kind="direct"))).passed


def test_a_release_that_promises_less_is_held_to_that() -> None:
    noisy = GOOD - 3
    assert not verify(made(noisy, record())).passed
    assert verify(made(noisy, record(promises=["integral"]))).passed


def test_a_tree_of_one_region_has_one_level() -> None:
    tree = Tree(("all",), np.array([-1]))
    frame = Frame(tree, 1, "public", group_totals=np.array([3]))
    assert verify_counts(frame, [[1, 2]]).passed
    assert not verify_counts(frame, [[1, 3]]).passed
    assert verify_counts(frame, [[1.0, 2.0]]).passed


def test_the_checker_finds_parents_without_the_arrays_of_the_engine() -> None:
    """Children are consecutive for the engine; the checker only reads who is whose parent."""
    tree = Tree.from_paths([(str(i), str(j)) for i in range(3) for j in range(i + 1)])
    rows = np.arange(1, 7)[:, None]
    table = tree.totals(rows)
    assert verify_counts(Frame(tree, 1, "private"), table).passed
    for first, second in pairwise(range(tree.n)):
        swapped = table.copy()
        swapped[[first, second]] = swapped[[second, first]]
        same = table[first, 0] == table[second, 0]
        siblings = tree.parents[first] == tree.parents[second] and first in tree.leaves
        siblings = siblings and second in tree.leaves
        assert verify_counts(Frame(tree, 1, "private"), swapped).passed == (same or siblings)


@pytest.mark.parametrize("promise", ["consistent", "faithful"])
def test_sums_that_wrap_do_not_hold(promise: str) -> None:
    """Four times 2^62 is 0 in 64 bits, and not what the region above has."""
    flat = Tree.from_paths([(letter,) for letter in "abcd"])
    frame = Frame(flat, 1, "public", group_totals=np.array([0, 0, 0, 0, 0]))
    forged = np.array([[0, 0], *([0, 2**62] for _ in "abcd")])
    assert not verify_counts(frame, forged, promises=(promise,)).passed


@pytest.mark.parametrize(
    "changes",
    [
        {"sensitivity": [1, 1, 2]},
        {"sensitivity": "1"},
        {"epsilon_by_level": ["1/4", "1/3", "1/3"]},
        {"epsilon_by_level": ["1/3", "1/3", "1/4"]},
        {"epsilon_by_level": ["1/3", "1/3"]},
        {"epsilon_by_level": ["1/3", "1/3", "x"]},
        {"epsilon_by_level": 1},
    ],
)
def test_what_a_record_says_of_levels_is_checked(changes: dict[str, Any]) -> None:
    """The worst path costs what it claims each time; it is what people read of the levels that is wrong."""
    said = {"sensitivity": [1, 1, 1], "epsilon_by_level": ["1/3", "1/3", "1/3"]}
    assert verify_guarantee(PUBLIC, ONE, record(**said)).passed
    certificate = verify_guarantee(PUBLIC, ONE, record(**(said | changes)))
    assert [check.name for check in certificate.checks if not check.passed] == ["facts that differ"]


@pytest.mark.parametrize("changes", [{"neighbors": []}, {"kind": {}}, {"noise": ["laplace"]}])
def test_a_record_of_other_types_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match="that have a proof"):
        verify_guarantee(PUBLIC, ONE, record(**changes))


@pytest.mark.parametrize("promises", ["integral", "xyz", [["integral"]], [1, "integral"]])
def test_promises_are_names(promises: Any) -> None:
    if promises == "integral":
        assert len(verify_counts(PUBLIC, GOOD, promises=promises).checks) == 1
        return
    with pytest.raises(InvalidProblemError, match="promises: expected of integral"):
        verify_counts(PUBLIC, GOOD, promises=promises)
