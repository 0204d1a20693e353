"""A published way to make whole tables, on the same measurements: a descent that looks up only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import InvalidProblemError, Tree, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy.contingency import plan
from discreet.hierarchy.contingency.cell_counts import CellCounts
from discreet.hierarchy.contingency.measure import measure
from discreet.hierarchy.contingency.methods.top_down import TopDownPasses
from discreet.hierarchy.contingency.problem import TableFrame
from discreet.hierarchy.contingency.verify import verify_tables
from hierarchy.contingency.made_tables import ADDED, PAIR, SEX_AGE, frame_of


def test_a_descent_that_looks_below_knows_more() -> None:
    """A deep narrow tree: the root's total is known better where the levels below are looked at."""
    tree = Tree.from_paths([(a, b) for a in "xy" for b in "pq"])
    marginals: Any = [(), (0, 1)]
    frame = frame_of(tree, SEX_AGE, marginals)
    counts = np.random.default_rng(1).integers(20, 60, (4, 6))
    truth = CellCounts(frame, counts).of_regions((0, 1))
    off = {"descent": 0.0, "passes": 0.0}
    for seed in range(30):
        kept = measure(
            CellCounts(frame, counts), ZeroConcentratedDP("1/20", ADDED), bits=SeededBits(seed)
        )
        for name, method in (("descent", None), ("passes", TopDownPasses())):
            made = (method or plan(frame, ZeroConcentratedDP(1, ADDED)).method).solve(kept)
            assert verify_tables(frame, made.cells).passed
            off[name] += float(np.abs(made.cells[:3] - truth[:3]).sum())
    assert off["descent"] < 0.95 * off["passes"]


def test_passes_are_a_method_of_a_plan() -> None:
    frame = frame_of(PAIR, SEX_AGE, [(0, 1)])
    made = plan(frame, ZeroConcentratedDP(1, ADDED), method=TopDownPasses(rounds=20))
    out = made.release(CellCounts(frame, np.ones((2, 6), dtype=np.int64)))
    assert out.provenance.method == "top-down-passes"
    assert out.provenance.parameters["method"] == {"rounds": 20}
    uneven: dict[Any, Any] = {
        (): (Fraction(1, 2), Fraction(0)),
        (0, 1): (Fraction(0), Fraction(1, 2)),
    }
    kept = measure(
        CellCounts(TableFrame(PAIR, SEX_AGE, uneven), np.ones((2, 6), dtype=np.int64)),
        ZeroConcentratedDP(1, ADDED),
    )
    with pytest.raises(InvalidProblemError, match="the cells on every level"):
        TopDownPasses().solve(kept)
