from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.tree import Tree
from discreet.hierarchy.problem import Frame
from discreet.hierarchy.result import RegionCounts, region_names

TREE = Tree.from_paths([("GA", "Fulton"), ("GA", "Cobb"), ("DC",)], root="US")
FRAME = Frame(TREE, 2, "private")
COUNTS = np.arange(10).reshape(5, 2)


def test_the_table_has_one_row_for_each_region_and_size() -> None:
    table = RegionCounts(FRAME, COUNTS).to_frame("dict")
    assert list(table) == ["level", "region", "size", "count"]
    assert table["level"] == [1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    assert table["region"][::2] == ["US", "GA", "DC", "GA/Fulton", "GA/Cobb"]
    assert table["size"] == [1, 2] * 5
    assert table["count"] == list(range(10))


def test_every_backend_lays_out_the_same_table() -> None:
    made = RegionCounts(FRAME, COUNTS)
    plain = made.to_frame("dict")
    polars, arrow = made.to_frame(), made.to_frame("pyarrow")
    assert isinstance(polars, pl.DataFrame)
    assert type(arrow).__module__.startswith("pyarrow")
    assert polars.to_dict(as_series=False) == arrow.to_pydict() == plain


def test_public_units_have_a_column_for_size_zero() -> None:
    frame = Frame(TREE, 1, "public", group_totals=np.array([9, 5, 4, 2, 3]))
    assert RegionCounts(frame, np.ones((5, 2), dtype=int)).to_frame("dict")["size"] == [0, 1] * 5


def test_counts_without_integers_stay_fractions() -> None:
    assert RegionCounts(FRAME, COUNTS / 4).to_frame("dict")["count"][1] == 0.25


def test_the_record_keeps_a_copy_that_nobody_can_write() -> None:
    given = COUNTS.copy()
    made = RegionCounts(FRAME, given)
    given[0, 0] = 99
    assert made.counts[0, 0] == 0
    assert not made.counts.flags.writeable


@pytest.mark.parametrize(
    "counts", [COUNTS[:4], COUNTS.T, COUNTS.ravel(), np.full((5, 2), np.nan)], ids=str
)
def test_counts_that_do_not_fit_are_refused(counts: Any) -> None:
    with pytest.raises(InvalidProblemError, match="counts"):
        RegionCounts(FRAME, counts)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="polars, pandas, pyarrow, dict"):
        RegionCounts(FRAME, COUNTS).to_frame("excel")  # type: ignore[arg-type]


def test_different_regions_have_different_names() -> None:
    tree = Tree.from_paths([("a/b",), ("a", "b"), ("a\\", "b"), ("a\\/b",)])
    names = region_names(tree)
    assert len(set(names)) == tree.n
    assert "a/b" in names


def test_counts_that_64_bits_do_not_hold_are_refused() -> None:
    """2^64 - 1 would be -1."""
    frame = Frame(Tree.from_paths([("GA",)]), 1, "private")
    table = np.array([[1], [2**63]], dtype=np.uint64)
    with pytest.raises(InvalidProblemError, match="counts: expected integers below 2"):
        RegionCounts(frame, table)
    assert RegionCounts(frame, table - 1).counts.tolist() == [[0], [2**63 - 1]]
