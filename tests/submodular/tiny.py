"""Tiny functions whose every set can be looked at, for audits by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.guarantee import DPGuarantee
from discreet.core.randomness import RandomBits
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.objectives.objective import Objective
from discreet.submodular.stating import state_choice
from discreet.testing import Law, enumerate_law

Pair = tuple[int, int]


class Reach(Objective):
    """A record is worth 1 once one of its pairs of element and kind is chosen, or what its table says."""

    def __init__(
        self, records: Sequence[Iterable[Pair | int]], n_elements: int, n_kinds: int = 1
    ) -> None:
        self.records = [
            frozenset(pair if isinstance(pair, tuple) else (pair, 0) for pair in record)
            for record in records
        ]
        self.n_elements, self.n_kinds = n_elements, n_kinds
        self.n_records, self.scale_bits = len(self.records), 0

    def worth(self, record: Any, chosen: frozenset[Pair]) -> int:
        return int(bool(record & chosen))

    def begin(
        self, kept: NDArray[np.bool_] | None
    ) -> tuple[list[frozenset[Pair]], frozenset[Pair]]:
        some = (
            self.records
            if kept is None
            else [r for r, k in zip(self.records, kept, strict=True) if k]
        )
        return some, frozenset()

    def gain_at(
        self, state: tuple[list[frozenset[Pair]], frozenset[Pair]], element: int, kind: int
    ) -> int:
        records, chosen = state
        more = chosen | {(element, kind)}
        return sum(self.worth(r, more) - self.worth(r, chosen) for r in records)

    def extended(
        self, state: tuple[list[frozenset[Pair]], frozenset[Pair]], element: int, kind: int
    ) -> tuple[list[frozenset[Pair]], frozenset[Pair]]:
        return state[0], state[1] | {(element, kind)}


class Declared(Reach):
    """The same function with another declared sensitivity: an input that audits must reject."""

    declared = Fraction(1, 2)

    @property
    def sensitivity(self) -> Fraction:
        return self.declared


class Whole(Objective):
    """Any function of sets, given as such: not decomposable."""

    decomposable = False

    def __init__(self, function: Callable[[frozenset[int]], int], n_elements: int) -> None:
        self.function = function
        self.n_elements, self.n_kinds = n_elements, 1
        self.n_records, self.scale_bits = 1, 0

    def begin(self, kept: NDArray[np.bool_] | None) -> frozenset[int]:
        return frozenset()

    def gain_at(self, state: frozenset[int], element: int, kind: int) -> int:
        return self.function(state | {element}) - self.function(state)

    def extended(self, state: frozenset[int], element: int, kind: int) -> frozenset[int]:
        return state | {element}


def law_of(
    method: Any,
    objective: Objective,
    matroid: Matroid,
    guarantee: DPGuarantee,
    *,
    runs: int = 1500,
    ordered: bool = True,
) -> Law:
    """The law of what a method chooses, from the production code over its draws."""
    statement = state_choice(objective, matroid, guarantee)
    plan = method.plan(statement, matroid, guarantee)

    def run(bits: RandomBits) -> Any:
        chosen = method.choose(objective, matroid, plan, bits)
        return chosen if ordered else tuple(sorted(chosen))

    return enumerate_law(run, max_runs=runs, min_mass=Fraction(1, 1 << 28))


def bases_of(matroid: Matroid) -> list[tuple[int, ...]]:
    """All bases, by trying all sets."""
    sets = combinations(range(matroid.n_elements), matroid.rank)
    return [chosen for chosen in sets if matroid.is_independent(chosen)]


def best_value(objective: Objective, matroid: Matroid) -> int:
    """The optimum over bases and kinds, by trying all."""
    return max(
        objective.value(tuple(zip(base, kinds, strict=True)))
        for base in bases_of(matroid)
        for kinds in _words(objective.n_kinds, len(base))
    )


def _words(letters: int, length: int) -> list[tuple[int, ...]]:
    words: list[tuple[int, ...]] = [()]
    for _ in range(length):
        words = [(*word, letter) for word in words for letter in range(letters)]
    return words
