"""The checker of published tables accepts what is right and rejects each thing that can be wrong with them."""

from __future__ import annotations

from dataclasses import replace
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
from discreet.hierarchy.measure import measure
from discreet.hierarchy.problem import Frame, GroupSizes
from discreet.hierarchy.result import RegionCounts
from discreet.hierarchy.sensitivity import KINDS
from discreet.hierarchy.verify import (
    PROMISES,
    unchecked,
    verify,
    verify_counts,
    verify_guarantee,
    verify_measurements,
)

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
        # Root, GA and DC, and two counties, each with the noise of one region.
        ({"kind": "chain"}, Fraction(1, 3) + (Fraction(1, 3) + Fraction(2, 3)) + Fraction(2, 3)),
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
        RegionCounts(PUBLIC, counts), ONE, Certificate(()), Provenance("m-h", parameters)
    )


def test_a_release_is_its_table_and_its_guarantee() -> None:
    certificate = verify(made(GOOD, record()))
    assert certificate.passed
    assert len(certificate.checks) == 8
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


@pytest.mark.parametrize("promises", [None, 1, 0.5])
def test_promises_are_a_list(promises: Any) -> None:
    with pytest.raises(InvalidProblemError, match="promises: expected of integral"):
        verify(made(GOOD, record(promises=promises)))


@pytest.mark.parametrize("promises", [[], {}, ()])
def test_a_record_that_promises_nothing_does_not_pass(promises: Any) -> None:
    certificate = verify(made(GOOD, record(promises=promises)))
    assert failed(certificate) == ["tables held to no promise"]


def test_a_promise_that_cannot_be_checked_is_none() -> None:
    """Where units are private there is no public number of groups to be held to."""
    frame = Frame(RAGGED, 2, "private")
    stated = record(units="private", promises=["faithful"])
    out = Release(RegionCounts(frame, GOOD[:, 1:]), ONE, Certificate(()), Provenance("m-h", stated))
    assert failed(verify(out)) == ["tables held to no promise"]
    assert unchecked(frame, stated)[1:] == [
        "that counts are whole numbers, which the record does not promise",
        "that no count is below zero, which the record does not promise",
        "that counts add up along the tree, which the record does not promise",
    ]


def failed(certificate: Certificate) -> list[str]:
    return [check.name for check in certificate.checks if not check.passed]


def test_a_record_without_any_measurement_does_not_pass() -> None:
    """True counts and a claim of a millionth: nothing was measured, and so nothing was spent."""
    stated = record(scale_by_level=["none"] * 3, scale_of_leaves_by_level=["none"] * 3)
    tiny = PureDP("1/1000000", neighbors="add-remove-person")
    assert failed(verify_guarantee(PUBLIC, tiny, stated)) == ["claims without a measurement"]
    out = Release(RegionCounts(PUBLIC, GOOD), tiny, Certificate(()), Provenance("m-h", stated))
    assert failed(verify(out)) == ["counts that nothing measured", "claims without a measurement"]
    # A scale for divided regions of the deepest level, where there are none, is no measurement.
    stated["scale_by_level"] = ["none", "none", "5"]
    assert failed(verify_guarantee(PUBLIC, tiny, stated)) == ["claims without a measurement"]


@pytest.mark.parametrize(
    ("inner", "leaves", "wrong"),
    [
        (["none", "none", "none"], ["none", "1", "1"], 0),
        (["none", "3", "none"], ["none", "3/2", "3"], 0),
        (["3", "3", "none"], ["none", "none", "3"], 1),
        (["3", "3", "none"], ["none", "3/2", "none"], 2),
        (["1", "none", "none"], ["none", "none", "none"], 3),
    ],
)
def test_counts_of_a_lowest_region_need_a_measurement(
    inner: list[str], leaves: list[str], wrong: int
) -> None:
    """DC, or the two counties, or all three; regions above them may be added up."""
    stated = record(scale_by_level=inner, scale_of_leaves_by_level=leaves)
    found = residuals(verify(made(GOOD, stated)))
    assert found["counts that nothing measured"] == wrong


def test_counts_of_a_region_that_was_not_measured_are_those_below_it() -> None:
    """Whatever the record promises: the true counts of the root are not made of noisy ones."""
    stated = record(
        scale_by_level=["none", "none", "none"],
        scale_of_leaves_by_level=["none", "1", "1"],
        promises=["integral"],
    )
    assert verify(made(GOOD, stated)).passed
    rounded = GOOD.copy()
    # Three numbers, each rounded by up to a half.
    rounded[0, 0] += 1
    assert verify(made(rounded, stated)).passed
    rounded[0, 0] += 1
    assert failed(verify(made(rounded, stated))) == ["counts that nothing measured"]
    assert (
        verify(made(rounded, stated | {"scale_by_level": ["9", "none", "none"]})).checks[1].passed
    )
    # In fractions nothing was rounded, where sums are promised.
    exact = stated | {"promises": ["consistent"]}
    assert verify(made(GOOD / 3, exact)).passed
    off = GOOD / 3
    off[0, 0] += 0.01
    assert "counts that nothing measured" in failed(verify(made(off, exact)))


@pytest.mark.filterwarnings("error")
def test_a_sum_that_is_no_number_does_not_follow() -> None:
    """Infinity less infinity: floats that are finite, and whose sums are not."""
    tree = Tree.from_paths([(letter,) for letter in "abcd"])
    frame = Frame(tree, 1, "private")
    stated = record(
        units="private",
        max_size=1,
        scale_by_level=["none", "none"],
        scale_of_leaves_by_level=["none", "1"],
        promises=["nonnegative"],
    )
    for ends in ([1e308] * 4, [1e308, 1e308, -1e308, -1e308]):
        table = np.array([[7.0], *([end] for end in ends)])
        out = Release(RegionCounts(frame, table), ONE, Certificate(()), Provenance("m", stated))
        assert "counts that nothing measured" in failed(verify(out))


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_where_nothing_was_measured_does_not_pass(kind: Any) -> None:
    """The true counts of the root, in a measurement of the leaves alone."""
    tree = Tree.from_paths([("a", "p"), ("a", "q"), ("b", "r"), ("b", "s")])
    data = GroupSizes.from_counts(tree, np.ones((4, 3), dtype=int), units="public")
    kept = measure(data, kind, ONE, levels=[0, 0, 1])
    assert verify_measurements(kept).passed
    values = kept.values.copy()
    values.reshape(-1)[0] = 12
    assert failed(verify_measurements(replace(kept, values=values))) == [
        "values where nothing was measured"
    ]
    values.reshape(-1)[:] = 0
    none = replace(kept, values=values, scales=(None,) * tree.n)
    assert failed(verify_measurements(none)) == ["claims without a measurement"]
    less = replace(kept, scales=(*kept.scales[:-2], Fraction(1, 9), kept.scales[-1]))
    assert failed(verify_measurements(less)) == ["regions with other noise than their level"]


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.mark.parametrize("promise", ["consistent", "faithful"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_no_integer_type_wraps_around(promise: str, dtype: Any) -> None:
    """Three regions with a sum of 2 to the number of bits, which is 0 in their own arithmetic."""
    bits = np.iinfo(dtype).bits
    third = 2**bits // 3
    parts = [third, third, 2**bits - 2 * third]
    tree = Tree.from_paths([("a",), ("b",), ("c",)])
    frame = Frame(tree, 1, "public", group_totals=np.zeros(4, dtype=int))
    table = np.array([[0, 0], *([0, part] for part in parts)], dtype=dtype)
    assert not verify_counts(frame, table, promises=[promise]).passed
    assert verify_counts(frame, np.zeros_like(table)).passed


def test_a_table_of_bytes_that_holds_passes() -> None:
    """Sums of a row do not fit into a byte; they are right, and what is negative stays so."""
    tree = Tree.from_paths([("a",), ("b",)])
    frame = Frame(tree, 1, "public", group_totals=np.array([200, 100, 100]))
    table = np.array([[100, 100], [100, 0], [0, 100]], dtype=np.int8)
    assert verify_counts(frame, table).passed
    low = np.array([[0, -128], [0, -128], [0, 0]], dtype=np.int8)
    found = residuals(verify_counts(frame, low))
    assert (found["numbers below zero"], found["sums that do not hold"]) == (2, 0)


@pytest.mark.filterwarnings("error")
def test_floats_of_any_size_are_added_up_in_double_precision() -> None:
    """2048 and 1 is 2048 in half precision; beyond double precision there is no number."""
    frame = Frame(Tree.from_paths([("a",), ("b",)]), 1, "private")
    assert not verify_counts(frame, np.array([[2048], [2048], [1]], dtype=np.float16)).passed
    assert verify_counts(frame, np.array([[2049], [2048], [1]], dtype=np.float32)).passed
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        wide = np.array([[1], [1], [0]], dtype=np.longdouble) * np.longdouble("1e400")
        with pytest.raises(InvalidProblemError, match="counts: expected finite numbers"):
            verify_counts(frame, wide)


@pytest.mark.parametrize(
    "scales",
    [
        None,
        3,
        "333",
        {"3": 1},
        ["1e400000000", "3", "none"],
        [True, "3", "none"],
        [[], "3", "none"],
    ],
)
def test_scales_of_other_types_or_without_end_are_refused(scales: Any) -> None:
    with pytest.raises(InvalidProblemError, match="^scale_by_level: "):
        verify_guarantee(PUBLIC, ONE, record(scale_by_level=scales))
