"""Tiny functions whose every set can be looked at, for audits by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.guarantee import DPGuarantee
from discreet.core.randomness import RandomBits
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.objectives.objective import GrowingChoice, Objective
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

    def start(self, records: ArrayLike | None = None) -> GrowingChoice:
        kept = [True] * self.n_records if records is None else np.asarray(records).tolist()
        return _Grown(self, [r for r, keep in zip(self.records, kept, strict=True) if keep])


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

    def start(self, records: ArrayLike | None = None) -> GrowingChoice:
        return _WholeGrown(self)


class _WholeGrown(GrowingChoice):
    def __init__(self, objective: Whole) -> None:
        super().__init__(objective)
        self.of = objective

    def _at(self, *more: int) -> int:
        return self.of.function(frozenset([*(e for e, _ in self._members), *more]))

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        base = self._at()
        return np.array([[self._at(int(e)) - base] for e in elements], dtype=np.int64)

    def _add(self, element: int, kind: int) -> int:
        return self._at(element) - self._at()


class _Grown(GrowingChoice):
    def __init__(self, objective: Reach, records: list[frozenset[Pair]]) -> None:
        super().__init__(objective)
        self.of, self.records = objective, records

    def _sum(self, *more: Pair) -> int:
        chosen = frozenset([*self._members, *more])
        return sum(self.of.worth(record, chosen) for record in self.records)

    def _gains(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        base = self._sum()
        kinds = range(self.of.n_kinds)
        return np.array(
            [[self._sum((int(e), i)) - base for i in kinds] for e in elements], dtype=np.int64
        ).reshape(len(elements), self.of.n_kinds)

    def _add(self, element: int, kind: int) -> int:
        return self._sum((element, kind)) - self._sum()


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
