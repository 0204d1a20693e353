"""Exact laws of choices by functions that callers write: what keeps their proof, and what would break it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.core.guarantee import PureDP
from discreet.submodular import FromRecords, MutualInformation, SensorPlacement, UniformMatroid
from discreet.submodular.methods.algorithm_3 import Algorithm3
from discreet.submodular.methods.subsampled import Subsampled
from discreet.submodular.objectives.objective import Objective
from discreet.submodular.stating import state_choice
from discreet.testing import assert_pure_dp
from few import each_once
from submodular.tiny import law_of

ONE = PureDP(2, "add-remove-one")


def wild(record: int, chosen: frozenset[int]) -> float:
    """Rises and falls: worth 1 with the record's element, -1 with the next one, and 0.5 with both."""
    return 1.5 * (record in chosen) - 1.0 * ((record + 1) % 3 in chosen)


class Raw(Objective):
    """The same function taken as it is, and said to be a monotone sum over records: what an audit must reject."""

    def __init__(self, records: list[int], n_elements: int) -> None:
        self.records, self.n_elements = records, n_elements
        self.n_records, self.scale_bits, self.submodular = len(records), 1, False

    def begin(self, kept: NDArray[np.bool_] | None) -> frozenset[int]:
        assert kept is None
        return frozenset()

    def gain_at(self, state: frozenset[int], element: int, kind: int) -> int:
        rises = [wild(r, state | {element}) - wild(r, state) for r in self.records]
        return int(2 * sum(rises))

    def extended(self, state: frozenset[int], element: int, kind: int) -> frozenset[int]:
        return state | {element}


def own(records: list[int]) -> FromRecords:
    return FromRecords(records, wild, n_elements=3, scale_bits=1)


@pytest.mark.parametrize(
    ("method", "extra"), each_once([Algorithm3(), Subsampled(lazy=False)], [0, 1])
)
def test_a_function_that_rises_and_falls_keeps_its_guarantee(method: Any, extra: int) -> None:
    matroid = UniformMatroid(3, 2)
    # Coins of kept records multiply what there is to enumerate.
    first = [] if method.name == "subsampled" else [0]
    one, other = (
        law_of(method, own(records), matroid, ONE, runs=1500)
        for records in (first, [*first, extra])
    )
    assert assert_pure_dp(one, other, 2).delta < 0.15


def test_the_same_function_taken_as_it_is_is_refused() -> None:
    matroid = UniformMatroid(3, 1)
    one, other = (
        law_of(Algorithm3(), Raw(records, 3), matroid, ONE, runs=3000) for records in ([], [1])
    )
    with pytest.raises(AssertionError, match="not 2-indistinguishable"):
        assert_pure_dp(one, other, 2)
    honest = [law_of(Algorithm3(), own(records), matroid, ONE, runs=3000) for records in ([], [1])]
    assert_pure_dp(honest[0], honest[1], 2)


@pytest.mark.parametrize("extra", [(0, 0), (1, 1)])
def test_choices_by_entropy_keep_their_guarantee(extra: tuple[int, int]) -> None:
    """Draws are eager, and a record moves all scores within one interval of length 1."""
    table = [(0, 0), (0, 1), (1, 1)]
    laws = []
    for records in (table, [*table, extra]):
        f = SensorPlacement(np.array(records)[:, :, None], n_values=2, most_records=3)
        laws.append(law_of(Algorithm3(), f, UniformMatroid(2, 1), ONE, runs=2000))
    assert assert_pure_dp(laws[0], laws[1], 2).delta < 0.15


def test_choices_by_mutual_information_keep_their_guarantee() -> None:
    table, labels = [(0, 0), (1, 0), (1, 1)], [0, 1, 1]
    laws = []
    for keep in (2, 3):
        f = MutualInformation(table[:keep], labels[:keep], n_values=2, most_records=3)
        laws.append(law_of(Algorithm3(), f, UniformMatroid(2, 1), ONE, runs=2000))
    assert assert_pure_dp(laws[0], laws[1], 2).delta < 0.15


def test_which_functions_count_as_sums_over_records() -> None:
    matroid = UniformMatroid(3, 1)
    assert state_choice(own([0]), matroid, ONE).decomposable
    falls = own([0])
    falls.monotone = False
    assert not state_choice(falls, matroid, ONE).decomposable
