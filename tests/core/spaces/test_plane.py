"""Integer lengths in the plane: what they are by definition, that they are a metric, never above the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.check_implicit import triangle_defect, verify_anchored
from discreet.core.channels.implicit import AnchoredChannel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.check_distances import distance_checks
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.plane import PlaneLengths

integers = st.integers(-(2**28), 2**28)
some_places = st.lists(st.tuples(integers, integers), min_size=2, max_size=7, unique=True)


def lengths_of(places: list[tuple[int, int]], bits: int = 16) -> PlaneLengths:
    return PlaneLengths(np.array(places), Fraction(1, 10), bits)


def space_of(places: list[tuple[int, int]]) -> MetricSpace:
    source = lengths_of(places, bits=20)
    return MetricSpace("m", "euclidean", 20, source, np.array(places) / 10)


@settings(max_examples=60)
@given(some_places)
def test_lengths_are_a_metric_just_below_the_truth(places: list[tuple[int, int]]) -> None:
    lengths = lengths_of(places)
    table, factor = lengths.dense(), lengths.per_step
    assert (table == table.T).all()
    assert (table[:, None, :] <= table[:, :, None] + table[None, :, :]).all()
    for i, (a, b) in enumerate(places):
        for j, (c, d) in enumerate(places):
            square = (a - c) ** 2 + (b - d) ** 2
            by_definition = 1 + math.isqrt(factor**2 * square) if square else 0
            assert table[i, j] == by_definition
            # In units: at most 2^s / 10 for each decimeter.
            assert (10 * int(table[i, j])) ** 2 <= square << 32
            assert square == 0 or table[i, j] > factor * math.sqrt(square) * (1 - 1e-12)


def test_what_floats_leave_open_is_settled_in_integers() -> None:
    """Whole multiples of M sit exactly on integers."""
    lengths = lengths_of([(0, 0), (3, 4), (5, 12), (3_000_000, 4_000_000)])
    first = np.zeros(3, dtype=np.int64)
    multiples = [5, 13, 5_000_000]
    assert lengths.between(first, np.array([1, 2, 3])).tolist() == [
        1 + lengths.per_step * times for times in multiples
    ]


def test_near_pairs_are_all_found() -> None:
    places = [(x, y) for x in range(0, 90, 30) for y in range(0, 90, 30)]
    lengths = lengths_of(places)
    table = lengths.dense()
    limit = int(table[0, 4])
    found = {tuple(pair) for pair in lengths.near(limit).tolist()}
    assert {(i, j) for i, j in np.argwhere(np.triu(table <= limit, 1)).tolist()} <= found


def test_no_pairs_and_fewer_places() -> None:
    lengths = lengths_of([(0, 0), (3, 4), (9, 9)])
    empty = np.zeros(0, dtype=np.int64)
    assert lengths.between(empty, empty).tolist() == []
    assert lengths.take(np.array([2, 0])).places.tolist() == [[9, 9], [0, 0]]
    assert lengths.is_closed
    assert lengths.n == 3


@pytest.mark.parametrize(
    ("places", "bits", "field"),
    [([(0, 0), (2**30, 0)], 16, "places"), ([(0, 0), (1, 0)], 4, "scale_bits")],
)
def test_what_has_no_lengths_is_refused(
    places: list[tuple[int, int]], bits: int, field: str
) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        lengths_of(places, bits)
    assert caught.value.field == field


def test_a_channel_over_the_plane_needs_no_table_and_passes_the_verifier() -> None:
    space = space_of([(0, 0), (1003, 17), (-530, 2041), (2999, 3001)])
    channel = AnchoredChannel(space, "0.0049", range(4), [2**40] * 4, lift=2**16)
    assert channel.lengths is space.source
    assert triangle_defect(space) == 0
    assert verify_anchored(channel, MetricDP("0.01", "m"), totals_share="0.5").passed
    assert not verify_anchored(channel, MetricDP("0.0097", "m"), totals_share="0.5").passed
    assert all(check.passed for check in distance_checks(space))
