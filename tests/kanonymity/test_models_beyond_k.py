"""l-diversity, t-closeness, (alpha, k) and delta-presence: exact, each with a class that it rejects."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.kanonymity.models import (
    AlphaFrequency,
    Closeness,
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    PrivacyModel,
    RecursiveDiversity,
    counts_of,
)

TABLES = st.integers(2, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 6), min_size=width, max_size=width).filter(any),
        min_size=2,
        max_size=5,
    )
)

EACH: list[tuple[PrivacyModel, list[int], list[int]]] = [
    (DistinctDiversity(3), [1, 1, 1], [5, 1, 0]),
    (EntropyDiversity(3), [2, 2, 2], [3, 2, 2]),
    (EntropyDiversity("1.9"), [2, 2, 0], [5, 1, 0]),
    (RecursiveDiversity("1.5", 2), [2, 1, 1], [3, 1, 1]),
    (Closeness("0.25", whole=(2, 1, 1)), [2, 1, 1], [4, 0, 0]),
    (Closeness("0.25", ordered=True, whole=(2, 1, 1)), [3, 0, 1], [0, 0, 4]),
    (AlphaFrequency("1/2"), [2, 1, 1], [3, 1, 1]),
    (AlphaFrequency("1/2"), [1, 2, 1], [1, 3, 1]),
    (AlphaFrequency("1/2"), [1, 1, 2], [0, 1, 3]),
]


@pytest.mark.parametrize(("model", "good", "bad"), EACH)
def test_each_model_accepts_one_class_and_rejects_another(
    model: PrivacyModel, good: list[int], bad: list[int]
) -> None:
    assert model.failing(np.array([good, bad])).tolist() == [False, True]
    assert model.check(np.array([good])).passed
    check = model.check(np.array([good, bad]))
    assert not check.passed
    assert check.residual == 1


def test_presence_accepts_one_class_and_rejects_two() -> None:
    model = DeltaPresence("0.2", "0.5")
    counts = np.array([[2, 2], [1, 3], [9, 1]])
    assert model.failing(counts).tolist() == [False, True, True]
    assert not model.check(counts).passed
    with pytest.raises(InvalidProblemError, match="two columns"):
        model.check(np.ones((2, 3), dtype=np.int64))


@settings(max_examples=60, deadline=None)
@given(TABLES)
def test_merging_classes_that_hold_keeps_every_model(rows: list[list[int]]) -> None:
    counts = np.array(rows)
    whole = tuple((counts.sum(axis=0) + 1).tolist())
    models: list[PrivacyModel] = [
        DistinctDiversity(2),
        EntropyDiversity(2),
        EntropyDiversity("1.5"),
        RecursiveDiversity(2, 2),
        Closeness("0.4", whole=whole),
        Closeness("0.4", ordered=True, whole=whole),
        AlphaFrequency("0.6"),
    ]
    for model in models:
        holding = counts[~model.failing(counts)]
        if len(holding):
            assert model.check(holding.sum(axis=0, keepdims=True)).passed, model


def test_adding_a_row_or_splitting_may_break_diversity() -> None:
    """Which is why classes are merged, and never cut at 2k - 1 rows."""
    model = EntropyDiversity(2)
    assert model.failing(np.array([[2, 2], [3, 2], [2, 0], [0, 2]])).tolist() == [
        False,
        True,
        True,
        True,
    ]


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(10, 40))
def test_entropy_agrees_with_its_definition(rows: list[list[int]], tenths: int) -> None:
    limit = Fraction(tenths, 10)
    for row in rows:
        n = sum(row)
        entropy = -math.fsum(c / n * math.log(c / n) for c in row if c)
        if abs(entropy - math.log(limit)) > 1e-9:
            failing = EntropyDiversity(limit).failing(np.array([row]))
            assert failing.tolist() == [entropy < math.log(limit)]


def test_entropy_at_its_limit_is_decided_in_integers() -> None:
    for width in (2, 3, 7):
        even = np.full((1, width), 1000)
        assert EntropyDiversity(width).check(even).passed
        above = Fraction(width) + Fraction(1, 10**18)
        assert not EntropyDiversity(above).check(even).passed


def test_distances_are_those_of_the_paper() -> None:
    """Salaries 3k to 11k, nine people: the first three, and 6k, 8k and 11k (Section 4 of the paper on t-closeness)."""
    low, spread = [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]
    model = Closeness(1, ordered=True, whole=(1,) * 9)
    assert model.distances(np.array([low, spread])) == [Fraction(3, 8), Fraction(1, 6)]


def test_equal_distance_is_total_variation() -> None:
    counts = np.array([[3, 1], [1, 3]])
    assert Closeness(1).distances(counts) == [Fraction(1, 4), Fraction(1, 4)]


def test_one_value_is_close_to_itself() -> None:
    assert Closeness(0, ordered=True).check(np.array([[3], [4]])).passed


def test_counts_leave_suppressed_rows_out() -> None:
    assert counts_of([0, -1, 1, 0], [0, 2, 1, 1], 4).tolist() == [[1, 1, 0, 0], [0, 1, 0, 0]]
    assert counts_of([], []).shape == (0, 0)


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="shape"):
        counts_of([0, 1], [0])
    with pytest.raises(InvalidProblemError, match="below 0"):
        counts_of([0], [-1])
    with pytest.raises(InvalidProblemError, match="above"):
        counts_of([0], [3], 2)
    with pytest.raises(InvalidProblemError, match="rows"):
        DistinctDiversity(1).failing(np.array([[0, 0]]))
    with pytest.raises(InvalidProblemError, match="whole"):
        Closeness(1, whole=(1, 2, 3)).failing(np.array([[1, 1]]))
    for make in (
        lambda: DistinctDiversity(0),
        lambda: RecursiveDiversity(1, 0),
        lambda: EntropyDiversity("0.5"),
        lambda: EntropyDiversity("many"),
        lambda: Closeness(2),
        lambda: AlphaFrequency(-1),
        lambda: DeltaPresence("1/2", "1/3"),
    ):
        with pytest.raises(InvalidProblemError):
            make()
