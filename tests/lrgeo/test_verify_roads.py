"""The verifier of mechanisms along roads, on tables made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from discreet import MetricDP
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import RoadScope, guarantee_from_dict
from discreet.lrgeo.along_roads.network import CutRoads
from discreet.lrgeo.along_roads.verify import ClaimedRoads, verify

ROAD = CutRoads(
    "m",
    np.array([[0, 0], [20, 0], [20, 30]]),
    np.array([[0, 1], [1, 2]]),
    np.array([20, 30]),
    np.array([2, 1]),
)
"""Two pieces of 2 and 3 m, the first cut in the middle: nodes 0, 3, 1, 2 in their order."""

WEIGHTS = np.array([[10, 6], [8, 8], [6, 10], [9, 7]], dtype=np.int64)


def claimed(epsilon: str = "0.15") -> ClaimedRoads:
    """State a table: along the second piece 2 of 6 in 3 m, which needs .111 per m; along the first 1 of 6 in 1 m."""
    claim = MetricDP(epsilon, "m", scope=RoadScope(ROAD.digest))
    return ClaimedRoads("m", 3, ROAD.segments, ROAD.lengths, ROAD.parts, WEIGHTS, 4, claim)


def test_what_holds_passes_and_what_does_not_is_counted() -> None:
    assert verify(claimed("0.17")).passed
    failed = verify(claimed("0.1"))
    assert not failed.passed
    counted = {check.name: check.residual for check in failed.checks}
    # 9 and 10 to 8 and 9 along both halves, and both reports along the second piece.
    assert counted["inequalities violated"] >= 4


def test_equality_is_decided_in_integers() -> None:
    """1 of 6, or of 7, in one meter: a sixth per meter is enough, and hardly less is not."""
    rows = np.array([[7, 9], [7, 9], [7, 9], [6, 10]], dtype=np.int64)
    exact = replace(claimed("1/6"), weights=rows)
    assert verify(exact).passed
    scope = exact.guarantee.scope
    less = MetricDP("0.16666666666666666666666666", "m", scope=scope)
    assert not verify(replace(exact, guarantee=less)).passed


@pytest.mark.parametrize(
    "change",
    [
        {"weights": WEIGHTS[:, :1]},
        {"weights": WEIGHTS[:3]},
        {"weights": WEIGHTS.astype(float)},
        {"weights": WEIGHTS[0]},
        {"weights": WEIGHTS - [[0, 0], [0, 0], [0, 0], [10, -10]]},
        {"bits": 3},
        {"bits": 63},
        {"n_vertices": 2},
        {"n_vertices": 0},
        {"lengths": np.array([20, 0])},
        {"lengths": np.array([20, 30, 40])},
        {"parts": np.array([2, 0])},
        {"parts": np.array([21, 1])},
        {"segments": np.array([[0, 1], [1, 5]])},
        {"segments": np.array([0, 1])},
        {"unit": "km"},
        {"unit": "mile"},
        {"guarantee": MetricDP("0.17", "m", scope=RoadScope("0" * 64))},
        {"guarantee": MetricDP("0.17", "m")},
        {"guarantee": MetricDP("0.17", "m", 3)},
        {"guarantee": MetricDP("0.17", "mile", scope=RoadScope(ROAD.digest))},
    ],
)
def test_what_is_misstated_is_refused(change: dict[str, Any]) -> None:
    assert not verify(replace(claimed("0.17"), **change)).passed


def test_a_claim_beyond_floats_is_judged_in_integers() -> None:
    assert verify(claimed("1e300")).passed
    rows = np.array([[0, 16], [8, 8], [8, 8], [8, 8]], dtype=np.int64)
    assert not verify(replace(claimed("1e300"), weights=rows)).passed
    assert not verify(claimed("1e-300")).passed


def test_sums_that_overflow_are_no_sums() -> None:
    """Five times 2^62 is 2^62 in 64 bits."""
    rows = np.full((4, 5), 1 << 62, dtype=np.int64)
    assert not verify(replace(claimed(), weights=rows, bits=62)).passed
    rows[:, 1:] = 0
    assert verify(replace(claimed(), weights=rows, bits=62)).passed


def test_parts_are_looked_at_in_blocks() -> None:
    whole = verify(claimed("0.1")).checks
    with patch("discreet.lrgeo.along_roads.verify._BLOCK", 1):
        assert verify(claimed("0.1")).checks == whole


def test_a_zero_is_zero_on_all_roads_that_are_joined() -> None:
    rows = np.array([[0, 16], [0, 16], [0, 16], [0, 16]], dtype=np.int64)
    assert verify(replace(claimed(), weights=rows)).passed
    rows[3] = [1, 15]
    assert not verify(replace(claimed("100"), weights=rows)).passed


def test_a_scope_of_roads_is_a_digest_and_says_what_it_is_about() -> None:
    made = MetricDP(2, "km", scope=RoadScope("ab" * 32))
    assert guarantee_from_dict(made.to_dict()) == made
    assert "the way along them" in str(made)
    with pytest.raises(InvalidProblemError, match="roads"):
        RoadScope("ab")
