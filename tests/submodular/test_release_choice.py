"""Releases of choices: the order of the charge, what is refused, what methods reach without noise, what they ask."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.core.budget import MemoryBudget
from discreet.core.errors import BudgetError, InvalidProblemError
from discreet.core.guarantee import ApproxDP, KAnonymity, PureDP, ZeroConcentratedDP
from discreet.core.outcome import Unproven
from discreet.core.progress import Progress
from discreet.core.randomness import SeededBits
from discreet.submodular import (
    Algorithm3,
    BadanidiyuruVondrak,
    Coverage,
    FacilityLocation,
    GraphicMatroid,
    PartitionMatroid,
    PartSampled,
    Selection,
    Subsampled,
    UniformMatroid,
    diagnose,
    release,
    reproduce,
)
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.methods.algorithm_1 import Algorithm1
from discreet.submodular.methods.algorithm_4 import Algorithm4
from discreet.submodular.methods.baselines import (
    ContinuousGreedy,
    Greedy,
    LazyGreedy,
    RandomBase,
    StochasticGreedy,
)
from discreet.submodular.methods.bases import BaseContinuousGreedy, MeasuredContinuousGreedy
from discreet.submodular.methods.gupta import Gupta
from discreet.submodular.methods.mitrovic import Mitrovic
from discreet.submodular.methods.permute_and_flip import PermuteAndFlip
from discreet.submodular.methods.subsampled_rounds import SubsampledRounds
from discreet.submodular.objectives.kinds import ResourceLocation
from discreet.submodular.objectives.objective import Objective
from discreet_reproduction.submodular.as_published.algorithm_2 import Algorithm2
from submodular.tiny import Reach, Whole, best_value

RNG = np.random.default_rng(6)
REACH = Coverage(RNG.random((80, 6)) < 0.3)
PLACES = FacilityLocation(RNG.random((80, 6)))
PURE = PureDP(1, "add-remove-one")
PLENTY = ApproxDP(4000, "1e-6", "add-remove-one")
PARTS = PartitionMatroid([0, 0, 0, 1, 1, 1], [2, 1])
MATROIDS: list[Matroid] = [
    UniformMatroid(6, 3),
    PARTS,
    GraphicMatroid(4, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
]


class Watched(Objective):
    """Says when its records are read."""

    def __init__(self, events: list[str]) -> None:
        self.events = events
        self.n_elements, self.n_kinds = REACH.n_elements, 1
        self.n_records, self.scale_bits = REACH.n_records, 0

    def begin(self, kept: Any) -> Any:
        self.events.append("read")
        return REACH.begin(kept)

    def gains_at(self, state: Any, elements: Any) -> Any:
        return REACH.gains_at(state, elements)

    def extended(self, state: Any, element: int, kind: int) -> Any:
        return REACH.extended(state, element, kind)


class Paying:
    """A ledger that says when it is charged, and may refuse."""

    def __init__(self, events: list[str], *, refuse: bool = False) -> None:
        self.events, self.refuse = events, refuse

    def reserve(self, dataset: str, guarantee: Any) -> None:
        self.events.append(f"charge {dataset}")
        if self.refuse:
            raise BudgetError("nothing left")


def test_the_charge_comes_before_the_records() -> None:
    events: list[str] = []
    release(Watched(events), PARTS, PURE, budget=Paying(events), dataset="trips")
    assert events[:2] == ["charge trips", "read"]
    events.clear()
    with pytest.raises(BudgetError):
        release(Watched(events), PARTS, PURE, budget=Paying(events, refuse=True), dataset="trips")
    assert events == ["charge trips"]


def test_what_is_refused_is_not_charged() -> None:
    budget = MemoryBudget({"trips": PURE})
    with pytest.raises(InvalidProblemError):
        release(REACH, PARTS, PURE, method=Gupta(), budget=budget, dataset="trips")
    release(REACH, PARTS, PURE, budget=budget, dataset="trips")
    with pytest.raises(BudgetError):
        release(REACH, PARTS, PURE, budget=budget, dataset="trips")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((REACH, UniformMatroid(5, 2), PURE), "matroid: expected 6 elements, got 5"),
        ((REACH, UniformMatroid(6, 0), PURE), "matroid: expected a rank of at least 1"),
        ((REACH, "uniform", PURE), "matroid: expected a Matroid, got str"),
        (([[1]], PARTS, PURE), "objective: expected an Objective, got list"),
        ((REACH, PARTS, KAnonymity(2, ("a",))), "guarantee: expected PureDP, ApproxDP or Zero"),
        ((REACH, PARTS, 1.0), "guarantee: expected PureDP, ApproxDP or Zero"),
        ((REACH, PARTS, PureDP(1, "replace-person")), "neighbors: expected add-remove-one or"),
    ],
)
def test_nonsense_is_refused(arguments: tuple[Any, Any, Any], said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        release(*arguments)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Gupta(), "guarantee: expected ApproxDP for gupta"),
        (Algorithm4(), "method: expected part-sampled, or algorithm-4 with a uniform matroid"),
        (Algorithm1("0.01"), "rho: expected a radius with at most"),
    ],
)
def test_methods_refuse_what_they_can_t_do(method: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        release(REACH, PARTS, PURE, method=method)


@pytest.mark.parametrize("method", [Gupta(), Subsampled()])
def test_decomposable_methods_refuse_other_functions(method: Any) -> None:
    whole = Whole(len, 6)
    with pytest.raises(InvalidProblemError, match="objective: expected a decomposable function"):
        release(whole, PARTS, PLENTY, method=method)


@pytest.mark.parametrize(
    "method", [Mitrovic(), BadanidiyuruVondrak(), BaseContinuousGreedy(), Algorithm1(1)]
)
def test_methods_for_sets_refuse_several_kinds(method: Any) -> None:
    with pytest.raises(InvalidProblemError, match="objective: expected one kind"):
        release(Reach([[(0, 1)]], 6, 2), PARTS, PLENTY, method=method)


def test_rounds_on_a_subsample_need_a_closed_form() -> None:
    with pytest.raises(InvalidProblemError, match="objective: expected one with a closed form"):
        release(Reach([{0}], 6), PARTS, PURE, method=SubsampledRounds())


def test_part_sampling_needs_parts() -> None:
    with pytest.raises(InvalidProblemError, match="matroid: expected a partition or uniform"):
        release(REACH, MATROIDS[2], PURE, method=PartSampled())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Algorithm4(0), "gamma: expected a number strictly between 0 and 1"),
        (lambda: PartSampled("1"), "gamma: expected a number strictly between 0 and 1"),
        (lambda: BadanidiyuruVondrak(rounds=0), "rounds: expected a positive integer"),
        (lambda: BaseContinuousGreedy(samples=0), "samples: expected a positive integer"),
        (lambda: MeasuredContinuousGreedy(steps=-1), "steps: expected a positive integer"),
        (lambda: Algorithm1(0), "rho: expected a positive radius"),
        (lambda: Algorithm2(0), "epsilon: expected a positive number"),
    ],
)
def test_parameters_without_a_meaning_are_refused(make: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        make()


def test_a_dataset_needs_a_budget_and_a_budget_a_dataset() -> None:
    with pytest.raises(InvalidProblemError, match="dataset: expected a budget with it"):
        release(REACH, PARTS, PURE, dataset="trips")
    with pytest.raises(InvalidProblemError, match="dataset: expected its name in the ledger"):
        release(REACH, PARTS, PURE, budget=MemoryBudget({"trips": PURE}))


def test_the_method_is_chosen_from_public_facts_and_says_why() -> None:
    """Whatever the number of records: the subsample at rank 3, all records at rank 1, and for other functions."""
    chosen = {
        (rank, n): release(
            Coverage(np.ones((n, 6), dtype=np.bool_)), UniformMatroid(6, rank), PURE
        ).provenance
        for rank in (1, 3)
        for n in (1, 300)
    }
    assert {chosen[3, n].method for n in (1, 300)} == {"subsampled"}
    assert {chosen[1, n].method for n in (1, 300)} == {"algorithm-3"}
    assert chosen[3, 1].method_trace == chosen[3, 300].method_trace
    assert "Signal of a draw" in chosen[3, 1].method_trace[0]
    whole = release(Whole(len, 6), PARTS, PURE).provenance
    assert whole.method == "algorithm-3"
    assert "not a sum over records" in whole.method_trace[0]


def test_a_release_holds_nothing_of_the_records() -> None:
    """Its fields, its pickle's size and its text say the same for one record and for eighty."""
    facts = []
    for records in (REACH, Coverage(np.zeros((1, 6), dtype=np.bool_))):
        made = release(records, PARTS, PURE, bits=SeededBits(1))
        facts.append(
            (
                made.provenance.to_dict() | {"versions": None},
                made.result.statement,
                made.result.accounting,
                made.certificate.to_dict(),
            )
        )
        assert "80" not in repr(made.provenance.parameters)
    assert facts[0] == facts[1]
    made = release(REACH, PARTS, PURE)
    assert pickle.loads(pickle.dumps(made)).result == made.result  # noqa: S301 - our own bytes
    with pytest.raises(FrozenInstanceError):
        made.result.chosen = ()  # type: ignore[misc] # on purpose


def test_seeds_are_told() -> None:
    seeded = release(REACH, PARTS, PURE, bits=SeededBits(1))
    again = release(REACH, PARTS, PURE, bits=SeededBits(1))
    assert seeded.provenance.seeded
    assert seeded.result == again.result
    assert not release(REACH, PARTS, PURE).provenance.seeded


def test_progress_counts_draws() -> None:
    for method, draws in (
        (Algorithm3(), 3),
        (Subsampled(), 3),
        (BadanidiyuruVondrak(rounds=2), 6),
        (SubsampledRounds(rounds=2), 6),
        (BaseContinuousGreedy(steps=4), 4),
        (MeasuredContinuousGreedy(steps=4), 4),
        (PermuteAndFlip(), 3),
        (RandomBase(), 3),
    ):
        seen: list[Progress] = []
        release(
            REACH,
            PARTS,
            PURE,
            method=method,
            on_progress=seen.append,
        )
        assert seen == [Progress(None, "draws", i + 1, draws) for i in range(draws)]


ALL: list[Any] = [
    Algorithm3(),
    Algorithm3(lazy=False),
    Mitrovic(),
    Gupta(),
    PartSampled("0.001"),
    PermuteAndFlip(),
    Subsampled(),
    SubsampledRounds(rounds=3),
    BadanidiyuruVondrak(rounds=3),
    BaseContinuousGreedy(steps=9),
    MeasuredContinuousGreedy(steps=9),
]


@pytest.mark.parametrize("method", ALL, ids=lambda method: method.name)
@pytest.mark.parametrize("objective", [REACH, PLACES], ids=repr)
def test_without_noise_the_ratio_is_that_of_the_theorem(method: Any, objective: Objective) -> None:
    """At an epsilon of thousands: half of the optimum, and 1 - e^-(1 - 1/3) for the fractional ones in expectation."""
    for matroid in MATROIDS:
        if method.name == "part-sampled" and isinstance(matroid, GraphicMatroid):
            continue
        best = best_value(objective, matroid)
        made = release(objective, matroid, PLENTY, method=method, bits=SeededBits(2))
        assert objective.value(made.result.chosen) >= best * 0.48


@pytest.mark.parametrize("kinds", [2, 3])
def test_several_kinds_reach_half_of_the_optimum(kinds: int) -> None:
    """Algorithms 3 and 4 and the subsample for k-submodular functions (Theorems 5.3 and 5.6)."""
    rng = np.random.default_rng(kinds)
    resources = ResourceLocation([rng.random((40, 5)) for _ in range(kinds)])
    for matroid in (UniformMatroid(5, 2), PartitionMatroid([0, 0, 0, 1, 1], 1)):
        best = best_value(resources, matroid)
        methods: list[Any] = [Algorithm3(), Subsampled(), PartSampled("0.001")]
        if isinstance(matroid, UniformMatroid):
            methods.append(Algorithm4("0.001"))
        for method in methods:
            found = release(resources, matroid, PLENTY, method=method, bits=SeededBits(3)).result
            assert resources.value(found.chosen) >= best / 2
            assert sorted(e for part in found.sets for e in part) == sorted(found.elements)


def test_algorithm_1_reaches_the_optimum_of_a_toy() -> None:
    reach = Coverage(RNG.random((60, 4)) < 0.3)
    matroid = PartitionMatroid([0, 0, 1, 1], 1)
    made = release(reach, matroid, PLENTY, method=Algorithm1(1), bits=SeededBits(1))
    assert reach.value(made.result.chosen) >= 0.46 * best_value(reach, matroid)
    assert made.result.per_draw == 2


@pytest.mark.parametrize(
    "method",
    [
        Greedy(),
        LazyGreedy(),
        ContinuousGreedy(),
        StochasticGreedy(),
    ],
)
def test_what_has_no_guarantee_says_why(method: Any) -> None:
    made = reproduce(REACH, UniformMatroid(6, 3), method, bits=SeededBits(1))
    assert isinstance(made, Unproven)
    assert made.guarantee is None
    assert len(made.result.chosen) == 3
    assert made.reason.endswith(".")
    with pytest.raises(InvalidProblemError, match="which has none"):
        release(REACH, UniformMatroid(6, 3), PURE, method=method)


def test_reproduce_refuses_what_has_a_guarantee() -> None:
    for method in (Algorithm3(), Algorithm4()):
        with pytest.raises(InvalidProblemError, match="one without a guarantee"):
            reproduce(REACH, UniformMatroid(6, 3), method)
    made = reproduce(REACH, PARTS, Algorithm4("0.5"), bits=SeededBits(1))
    assert "Theorem 5.7 is false" in made.reason


def test_diagnostics_are_exact_and_leave_by_their_own_door() -> None:
    made = release(PLACES, PARTS, PURE)
    assert diagnose(PLACES, made.result).value == Fraction(
        PLACES.value(made.result.chosen), 1 << PLACES.scale_bits
    )
    assert isinstance(made.result, Selection)


def test_sampling_and_lazy_thinning_save_evaluations() -> None:
    """Eager greedy asks for every feasible gain; lazy thinning returns to a few, sampling looks at few."""
    rng = np.random.default_rng(1)
    matroid = UniformMatroid(200, 40)
    objective = Coverage(rng.random((3000, 200)) < rng.random(200) * 0.02)
    counts = {}
    methods: dict[str, Any] = {
        "eager": Algorithm3(lazy=False),
        "lazy": Algorithm3(),
        "sampled": Algorithm4("0.1", lazy=False),
    }
    for name, method in methods.items():
        before = objective.evaluations
        release(
            objective,
            matroid,
            ApproxDP(100, "1e-6", "add-remove-one"),
            method=method,
            bits=SeededBits(1),
        )
        counts[name] = objective.evaluations - before
    assert counts["eager"] == sum(200 - t for t in range(40))
    assert counts["lazy"] < counts["eager"] / 3
    most = sum(math.ceil((200 - t) / (40 - t) * math.log(400)) for t in range(40))
    assert counts["sampled"] <= most


def test_the_library_shows_the_mechanism() -> None:
    assert dc.submodular.release is release


@pytest.mark.parametrize("guarantee", [PURE, PLENTY, ZeroConcentratedDP("0.5", "replace-one")])
def test_a_random_base_has_every_guarantee(guarantee: Any) -> None:
    events: list[str] = []
    made = release(Watched(events), PARTS, guarantee, method=RandomBase())
    assert events == []
    assert made.result.coefficient is None
    assert made.certificate.passed
