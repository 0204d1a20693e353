"""Baselines choose what they say, and the optimum is the one that enumeration finds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError, LimitReachedError
from discreet.core.randomness import SeededBits
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.matroids.capacities import LaminarMatroid, PartitionMatroid, UniformMatroid
from discreet.submodular.matroids.representable import GraphicMatroid
from discreet.submodular.methods.baselines import (
    ContinuousGreedy,
    Greedy,
    LazyGreedy,
    RandomBase,
    StochasticGreedy,
)
from discreet.submodular.methods.optimal import Optimum, optimum, upper_bound
from discreet.submodular.objectives.combine import FromRecords
from discreet.submodular.objectives.coverage import Coverage, WeightedCoverage
from discreet.submodular.objectives.facility import FacilityLocation
from discreet.submodular.objectives.objective import Objective
from discreet.testing import assert_law, enumerate_law

FUNCTIONS: list[Callable[[np.random.Generator], Objective]] = [
    lambda rng: Coverage(rng.random((9, 6)) < 0.3),
    lambda rng: FacilityLocation(rng.integers(0, 5, (7, 6)) / 4, scale_bits=3),
    lambda rng: WeightedCoverage(
        rng.integers(0, 6, 12), rng.integers(0, 6, 12), weights=rng.random(6), n_elements=6
    ),
]
LAMINAR = LaminarMatroid(6, [[0, 1, 2], [0, 1, 2, 3], [4, 5]], [1, 2, 1])
GRAPH = GraphicMatroid(4, [[0, 1], [1, 2], [0, 2], [2, 3], [0, 3], [1, 3]])
MATROIDS: list[Callable[[np.random.Generator], Matroid]] = [
    lambda rng: UniformMatroid(6, int(rng.integers(0, 5))),
    lambda rng: PartitionMatroid([0, 0, 0, 1, 1, 2], rng.integers(0, 3, 3)),
    lambda _: LAMINAR,
    lambda _: GRAPH,
]


def best_of(f: Objective, matroid: Matroid) -> int:
    return max(
        f.value(chosen)
        for size in range(matroid.rank + 1)
        for chosen in itertools.combinations(range(f.n_elements), size)
        if matroid.is_independent(chosen)
    )


@settings(deadline=None, max_examples=40)
@given(f=st.sampled_from(FUNCTIONS), m=st.sampled_from(MATROIDS), seed=st.integers(0, 2**32 - 1))
def test_greedy_keeps_its_ratio_and_lazy_greedy_its_choice(
    f: Callable[[np.random.Generator], Objective],
    m: Callable[[np.random.Generator], Matroid],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    objective, matroid = f(rng), m(rng)
    chosen = Greedy().choose(objective, matroid)
    assert len(chosen) == matroid.rank
    assert matroid.is_independent([e for e, _ in chosen])
    opt, value = best_of(objective, matroid), objective.value(chosen)
    ratio = 1 - 1 / math.e if isinstance(matroid, UniformMatroid) else 0.5
    assert value >= ratio * opt
    assert opt <= upper_bound(objective, matroid, chosen)
    assert opt <= upper_bound(objective, matroid, [])
    assert LazyGreedy().choose(objective, matroid) == chosen


@settings(deadline=None, max_examples=25)
@given(f=st.sampled_from(FUNCTIONS), m=st.sampled_from(MATROIDS), seed=st.integers(0, 2**32 - 1))
def test_the_optimum_is_that_of_enumeration(
    f: Callable[[np.random.Generator], Objective],
    m: Callable[[np.random.Generator], Matroid],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    objective, matroid = f(rng), m(rng)
    found = optimum(objective, matroid)
    assert matroid.is_independent(found.chosen)
    assert found.value == objective.value(found.chosen) == best_of(objective, matroid)
    assert found.upper >= found.value
    assert found.gap <= 1e-5


def test_lazy_greedy_breaks_ties_as_greedy_does() -> None:
    """Ten copies of each of four elements: every gain comes ten times."""
    table = np.tile(np.random.default_rng(1).random((30, 4)) < 0.4, 10)
    f, matroid = Coverage(table), UniformMatroid(40, 12)
    assert LazyGreedy().choose(f, matroid) == Greedy().choose(f, matroid)


def test_lazy_greedy_looks_at_few_elements() -> None:
    rng = np.random.default_rng(2)
    places = FacilityLocation.from_points(rng.random((400, 2)), rng.random((300, 2)), farthest=0.3)
    matroid = UniformMatroid(300, 20)
    eager = Greedy().choose(places, matroid)
    evaluations = places.evaluations
    steps: list[int] = []
    assert LazyGreedy().choose(places, matroid, on_draw=steps.append) == eager
    assert steps == list(range(1, 21))
    assert evaluations == sum(300 - t for t in range(20))
    assert 4 * (places.evaluations - evaluations) < evaluations


def test_each_gain_that_is_evaluated_is_counted() -> None:
    f = FacilityLocation(np.random.default_rng(5).random((20, 6)))
    state = f.start(np.arange(20) < 9)
    gain = state.gain(3)
    assert f.evaluations == 1
    assert state.gains()[3, 0] == gain
    state.add(2)
    assert f.evaluations == 7


@settings(deadline=None, max_examples=8)
@given(f=st.sampled_from(FUNCTIONS), m=st.sampled_from(MATROIDS), seed=st.integers(0, 2**32 - 1))
def test_continuous_greedy_keeps_its_ratio_before_rounding(
    f: Callable[[np.random.Generator], Objective],
    m: Callable[[np.random.Generator], Matroid],
    seed: int,
) -> None:
    """The mean over rounded bases is at least the stated ratio, up to the error of 25 draws."""
    rng = np.random.default_rng(seed)
    objective, matroid = f(rng), m(rng)
    r, steps = matroid.rank, 3
    bits, method = SeededBits(seed), ContinuousGreedy(steps)
    seen: list[int] = []
    values: list[int] = []
    for _ in range(25):
        chosen = method.choose(objective, matroid, on_draw=seen.append, bits=bits)
        assert matroid.is_independent([e for e, _ in chosen])
        assert len(chosen) == r
        values.append(objective.value(chosen))
    assert seen == [1, 2, 3] * 25
    ratio = 1 - (1 - (1 - (1 - 1 / steps) ** r) / max(r, 1)) ** steps
    error = 4 * np.std(values) / 25**0.5
    assert np.mean(values) + error >= ratio * best_of(objective, matroid) - 1e-3


def test_one_step_of_continuous_greedy_is_the_heaviest_base() -> None:
    f = FacilityLocation(np.random.default_rng(6).random((30, 12)))
    gains = f.start().gains()[:, 0]
    chosen = ContinuousGreedy(1).choose(f, UniformMatroid(12, 4))
    assert [e for e, _ in chosen] == sorted(np.argsort(-gains)[:4].tolist())
    table = np.random.default_rng(8).random((30, 12)) < 0.3
    plain = FromRecords(list(table), lambda row, s: float(any(row[e] for e in s)), n_elements=12)
    sampled = ContinuousGreedy(1, samples=1).choose(plain, UniformMatroid(12, 4))
    assert sampled == ContinuousGreedy(1).choose(Coverage(table), UniformMatroid(12, 4))


def test_stochastic_greedy_asks_for_as_many_gains_as_stated() -> None:
    f, matroid = Coverage(np.random.default_rng(3).random((50, 40)) < 0.1), UniformMatroid(40, 8)
    size = math.ceil(40 / 8 * math.log(10))
    steps: list[int] = []
    chosen = StochasticGreedy("0.1").choose(f, matroid, on_draw=steps.append, bits=SeededBits(1))
    assert len(chosen) == len(set(chosen)) == 8 == len(steps)
    assert size < 40 - 8
    whole = StochasticGreedy("1e-9").choose(f, matroid, bits=SeededBits(2))
    assert f.value(whole) == f.value(Greedy().choose(f, matroid))


def test_stochastic_greedy_takes_the_best_of_a_uniform_subset() -> None:
    """Of three elements two are looked at: the best is missed with probability 1/3."""
    f = Coverage([[True, False, False], [True, True, False], [True, True, True]])
    method = StochasticGreedy("0.6")
    law = enumerate_law(lambda bits: method.choose(f, UniformMatroid(3, 1), bits=bits))
    assert_law(law, {((0, 0),): "2/3", ((1, 0),): "1/3"})


def test_a_random_base_never_reads_the_records() -> None:
    f = Coverage([[True, False, False]])
    law = enumerate_law(
        lambda bits: frozenset(RandomBase().choose(f, UniformMatroid(3, 2), bits=bits))
    )
    pairs = [frozenset({(a, 0), (b, 0)}) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert_law(law, dict.fromkeys(pairs, "1/3"))
    steps: list[int] = []
    assert len(RandomBase().choose(f, UniformMatroid(3, 3), on_draw=steps.append)) == 3
    assert steps == [1, 2, 3]


@pytest.mark.parametrize("seconds", [1e-3, 0.3])
def test_a_time_limit_leaves_the_best_set_and_its_bound(seconds: float) -> None:
    rng = np.random.default_rng(4)
    f, matroid = FacilityLocation(rng.random((150, 40))), UniformMatroid(40, 12)
    greedy = Greedy().choose(f, matroid)
    with pytest.raises(LimitReachedError) as stopped:
        optimum(f, matroid, time_limit=seconds)
    best = stopped.value.best
    assert isinstance(best, Optimum)
    assert matroid.is_independent(best.chosen)
    assert f.value(greedy) <= best.value == f.value(best.chosen)
    assert best.value < best.upper <= upper_bound(f, matroid, greedy)
    assert 0 < best.gap < 0.2


def test_nothing_to_gain_has_no_gap() -> None:
    assert optimum(Coverage([[False, False]]), UniformMatroid(2, 1)).gap == 0


def test_nonsense_is_refused_by_name() -> None:
    f = Coverage([[True, False]])
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: Greedy().choose(f, UniformMatroid(3, 1)), "matroid: expected 2 elements, got 3"),
        (lambda: ContinuousGreedy(0), "steps: expected a positive integer, got 0"),
        (lambda: StochasticGreedy(1), "gamma: expected a number between 0 and 1"),
        (
            lambda: StochasticGreedy().choose(f, PartitionMatroid([0, 1], 1)),
            "matroid: expected a uniform matroid",
        ),
    ]
    for wrong, message in cases:
        with pytest.raises(InvalidProblemError, match=message):
            wrong()
