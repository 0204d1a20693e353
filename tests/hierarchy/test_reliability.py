"""Marks of reliability and rounded answers: what they state of an answer and its interval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet import PureDP, Tree, ZeroConcentratedDP
from discreet.hierarchy import GroupSizes, query
from discreet.hierarchy.contingency import CellCounts, Domain, TableFrame
from discreet.hierarchy.contingency import query as query_tables
from discreet.hierarchy.contingency.measure import measure as measure_tables
from discreet.hierarchy.measure import measure
from discreet.hierarchy.reliability import CLASSES, mark_reliability, round_within

TREE = Tree.from_paths([("GA",), ("NY",)], root="US")


@given(
    st.fractions(-(10**9), 10**9, max_denominator=1 << 40),
    st.fractions(0, 10**8, max_denominator=1000),
)
def test_a_rounded_answer_stays_in_its_interval_and_near_its_value(
    value: Fraction, half: Fraction
) -> None:
    low, high = -((half - value) // 1), (value + half) // 1
    if low > high:
        low = high = round(value)
    rounded = round_within(value, low, high)
    assert low <= rounded <= high
    assert abs(rounded - value) <= max(Fraction(1, 2), Fraction(high - low, 20))
    # The next power of ten would be too coarse.
    digits = len(str(rounded)) - len(str(rounded).rstrip("0"))
    assert rounded == round(value) or 10 ** (digits - 1) <= Fraction(high - low, 10) or not rounded


def test_marks_follow_the_coefficient_of_variation() -> None:
    at = [mark_reliability(1000, Fraction(cv) ** 2) for cv in ("165", "165.1", "333", "333.1")]
    assert at == [CLASSES[0], CLASSES[1], CLASSES[1], CLASSES[2]]
    assert mark_reliability(0, 0) == mark_reliability(-5, 0) == CLASSES[0]
    assert mark_reliability(0, Fraction(1, 10**9)) == CLASSES[2]


def test_answers_are_marked_by_the_variance_of_their_noise() -> None:
    """Two survival counts of variance 1/(2 rho) each make the count of one size: marks are those of twice that."""
    data = GroupSizes.from_counts(TREE, [[500, 3, 1], [40, 1, 1]], units="private")
    kept = measure(data, "direct", ZeroConcentratedDP(1, neighbors="add-remove-person"))
    answers = query(kept, level=2, sizes=[1])
    assert answers.variances is not None
    assert all(one > 0 for one in answers.variances)
    frame = answers.to_frame("dict")
    expected = [
        mark_reliability(value, noise)
        for value, noise in zip(answers.values.tolist(), answers.variances, strict=True)
    ]
    assert frame["reliability"] == expected
    assert frame["reliability"][0] == "reliable"


def test_values_of_tables_are_rounded_on_request_alone() -> None:
    half = (Fraction(1, 2),) * 2
    frame = TableFrame(TREE, Domain.read({"sex": ["F", "M"]}), {(0,): half})
    data = CellCounts(frame, np.array([[123_456, 7], [99, 0]]))
    kept = measure_tables(data, PureDP("0.01", neighbors="add-remove-person"))
    answers = query_tables(kept, level=2, by=["sex"])
    plain, rounded = answers.to_frame("dict"), answers.to_frame("dict", rounded=True)
    assert plain["value"] == [float(one) for one in answers.values.reshape(-1)]
    assert {name: plain[name] for name in ("low", "high", "reliability")} == {
        name: rounded[name] for name in ("low", "high", "reliability")
    }
    # Intervals are about a thousand long: tens are what they support.
    assert all(value % 10 == 0 for value in rounded["value"])
    assert any(value % 10 for value in plain["value"])
    assert rounded["reliability"][0] == "reliable"
    assert rounded["reliability"][3] == "unreliable"
