"""What is released is stated with public facts and private counts apart, and nonsense is refused without a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import hierarchy
from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.hierarchy.problem import MOST_GROUPS, Frame, GroupSizes

STATES = Tree.from_paths([("GA",), ("NY",)], root="US")
COUNTS = [[2, 0, 1, 0, 0], [1, 1, 1, 0, 0]]
"""The paper's running example: units A(3, GA), B(1, GA), C(1, GA), D(3, NY), E(1, NY), F(2, NY)."""


def test_public_names_are_loaded_when_they_are_asked_for() -> None:
    for name in dir(hierarchy):
        assert getattr(hierarchy, name).__module__.startswith("discreet.hierarchy.")
    with pytest.raises(AttributeError, match="no attribute 'Histogram'"):
        hierarchy.Histogram  # type: ignore[attr-defined]  # noqa: B018 - the access is the test


def test_the_running_example() -> None:
    data = GroupSizes.from_counts(STATES, COUNTS, units="private")
    assert data.node_counts().tolist() == [[3, 1, 2, 0, 0], *COUNTS]
    assert data.survival().tolist() == [[6, 3, 2, 0, 0], [3, 1, 1, 0, 0], [3, 2, 1, 0, 0]]
    assert data.frame.sizes.tolist() == [1, 2, 3, 4, 5]
    assert data.frame.total is None


def test_public_units_have_size_zero_and_public_totals() -> None:
    data = GroupSizes.from_counts(STATES, np.pad(COUNTS, ((0, 0), (1, 0))), units="public")
    assert data.frame.sizes.tolist() == [0, 1, 2, 3, 4, 5]
    assert data.frame.total == 6
    assert data.frame.group_totals is not None
    assert data.frame.group_totals.tolist() == [6, 3, 3]
    assert data.survival().tolist() == [[6, 3, 2, 0, 0], [3, 1, 1, 0, 0], [3, 2, 1, 0, 0]]


def test_survival_counts_are_the_cumulative_counts_from_the_other_end() -> None:
    """c_s = G_r - t_(s + 1) where units are public."""
    data = GroupSizes.from_counts(STATES, [[5, 2, 0, 1], [0, 1, 1, 1]], units="public")
    totals = data.frame.group_totals
    assert totals is not None
    cumulative = np.cumsum(data.node_counts(), axis=1)
    assert (cumulative[:, :-1] == totals[:, None] - data.survival()).all()


def test_large_groups_are_counted_as_of_the_largest_size() -> None:
    data = GroupSizes.from_counts(STATES, COUNTS, units="private", max_size=2)
    assert data.counts.tolist() == [[2, 1], [1, 2]]
    wider = GroupSizes.from_counts(STATES, COUNTS, units="private", max_size=7)
    assert wider.counts[:, 5:].tolist() == [[0, 0], [0, 0]]
    assert wider.frame.n_sizes == 7


def test_no_count_shows() -> None:
    data = GroupSizes.from_counts(STATES, [[977, 0], [0, 0]], units="private")
    assert "977" not in repr(data) + repr(data.frame)
    assert repr(data) == (
        "GroupSizes(regions=3, levels=2, sizes=1..2, units=private; counts are private)"
    )


def test_arrays_are_copies_and_read_only() -> None:
    given = np.array(COUNTS)
    data = GroupSizes.from_counts(STATES, given, units="public")
    given[0, 0] = 99
    assert data.counts[0, 0] == 2
    assert data.frame.group_totals is not None
    for array in (data.counts, data.frame.group_totals):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_digest_tells_every_public_fact() -> None:
    totals = np.array([6, 3, 3])
    base = Frame(STATES, 5, "public", 1, totals)
    others = [
        Frame(STATES, 6, "public", 1, totals),
        Frame(STATES, 5, "private"),
        Frame(STATES, 5, "public", 2, totals),
        Frame(STATES, 5, "public", 1, np.array([6, 2, 4])),
        Frame(Tree.from_paths([("GA",), ("ny",)], root="US"), 5, "public", 1, totals),
        Frame(Tree.from_paths([("GA", "NY")], root="US"), 5, "public", 1, np.array([6, 6, 6])),
    ]
    assert len({frame.digest for frame in [base, *others]}) == 7
    assert Frame(STATES, 5, "public", 1, totals.copy()) == base
    assert hash(Frame(STATES, 5, "public", 1, totals.copy())) == hash(base)
    assert base != others[0]
    assert base != "a frame"


def test_labels_that_print_alike_are_told_apart() -> None:
    trees = [Tree.from_paths([("1",), ("2",)]), Tree.from_paths([(1,), (2,)])]
    assert Frame(trees[0], 5, "private") != Frame(trees[1], 5, "private")


def test_what_is_assumed_public_is_listed() -> None:
    private = [p.name for p in Frame(STATES, 5, "private").assumed_public()]
    assert private == ["regions", "max_size, max_quantity"]
    listed = Frame(STATES, 5, "public", 1, np.array([6, 3, 3])).assumed_public()
    assert listed[2].name == "units"
    assert "6 groups" in listed[2].description


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"max_size": 0}, "max_size"),
        ({"max_size": 2.5}, "max_size"),
        ({"max_quantity": 0}, "max_quantity"),
        ({"units": "secret"}, "units"),
        ({"units": "public"}, "group_totals"),
        ({"group_totals": [6, 3, 3]}, "group_totals"),
        ({"units": "public", "group_totals": [6, 3]}, "group_totals"),
        ({"units": "public", "group_totals": [6.0, 3.0, 3.0]}, "group_totals"),
        ({"units": "public", "group_totals": [6, 7, -1]}, "group_totals"),
        ({"units": "public", "group_totals": [7, 3, 3]}, "group_totals"),
        ({"units": "public", "group_totals": [2**50, 2**50, 0]}, "group_totals"),
    ],
)
def test_frames_that_make_no_sense_are_refused(arguments: dict[str, Any], field: str) -> None:
    base: dict[str, Any] = {"tree": STATES, "max_size": 5, "units": "private"}
    with pytest.raises(InvalidProblemError, match=f"^{field}: "):
        Frame(**(base | arguments))


@pytest.mark.parametrize(
    ("counts", "units"),
    [
        ([[977, 0]], "private"),
        ([977, 0], "private"),
        ([[0.5, 977], [1, 1]], "private"),
        ([[-1, 977], [1, 1]], "private"),
        ([[977], [1]], "public"),
        (np.zeros((2, 0), dtype=int), "private"),
        (np.full((2, 2), MOST_GROUPS), "private"),
        (np.full((2, 2), 2**64 - 1, dtype=np.uint64), "private"),
    ],
)
def test_counts_that_make_no_sense_are_refused_without_a_value(counts: Any, units: Any) -> None:
    with pytest.raises(InvalidProblemError, match="^counts: ") as caught:
        GroupSizes.from_counts(STATES, counts, units=units)
    assert "977" not in str(caught.value)


def test_counts_that_contradict_the_frame_are_refused() -> None:
    frame = Frame(STATES, 2, "public", 1, np.array([6, 3, 3]))
    for counts in ([[3, 0], [3, 0]], [[4, 0, 0], [2, 0, 0]]):
        with pytest.raises(InvalidProblemError, match="^counts: "):
            GroupSizes(frame, np.array(counts))
    assert GroupSizes(frame, np.array([[3, 0, 0], [1, 1, 1]])).counts.sum() == 6


def test_public_totals_that_wrap_around_are_refused() -> None:
    """Four times 2^62 is 0 in 64 bits, as the root says."""
    tree = Tree.from_paths([(letter,) for letter in "abcd"])
    totals = np.array([0, *[2**62] * 4])
    with pytest.raises(InvalidProblemError, match=f"numbers from 0 to {2**45}"):
        Frame(tree, 1, "public", group_totals=totals)
