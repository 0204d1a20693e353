"""Assignments with capacities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.transport import transport


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_as_much_is_sent_as_the_narrowest_cut_lets_through(data: st.DataObject) -> None:
    """What sources cannot send anywhere else must fit into the targets that they reach, for any set of sources."""
    n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    supply = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    demand = data.draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))
    pairs = data.draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)), unique=True)
    )
    sent = transport(supply, demand, [a for a, _ in pairs], [b for _, b in pairs])
    reach = {a: {b for x, b in pairs if x == a} for a in range(n)}
    cut = min(
        sum(demand[b] for b in set().union(*(reach[a] for a in kept)))
        + sum(supply[a] for a in range(n) if a not in kept)
        for size in range(n + 1)
        for kept in itertools.combinations(range(n), size)
    )
    assert sent.sum() == cut
    for a in range(n):
        assert sum(s for s, (x, _) in zip(sent, pairs, strict=True) if x == a) <= supply[a]
    for b in range(m):
        assert sum(s for s, (_, y) in zip(sent, pairs, strict=True) if y == b) <= demand[b]


def test_a_unit_gives_way_to_another() -> None:
    """Taking the first free target would leave the second source with nothing."""
    assert transport([1, 1], [1, 1], [0, 0, 1], [0, 1, 0]).tolist() == [0, 1, 1]


def test_amounts_below_two_to_the_31_are_sent_whole() -> None:
    most = 2**31 - 1
    assert transport([most, most], [most, most], [0, 1], [0, 1]).tolist() == [most, most]


@pytest.mark.parametrize(
    ("supply", "demand", "source", "target"),
    [
        ([-1], [1], [0], [0]),
        ([1], [-1], [0], [0]),
        ([2**31], [1], [0], [0]),
        ([1], [2**32 + 1], [0], [0]),
        ([1], [1], [1], [0]),
        ([1], [1], [0], [1]),
        ([1], [1], [-1], [0]),
        ([1], [1], [0], [-1]),
        ([1], [1], [0, 0], [0]),
    ],
)
def test_what_is_not_there_is_refused(
    supply: list[int], demand: list[int], source: list[int], target: list[int]
) -> None:
    with pytest.raises(InvalidProblemError, match=r"supply, demand|source, target"):
        transport(supply, demand, source, target)


def test_without_pairs_nothing_is_sent() -> None:
    assert transport([1], [1], np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
