"""Exact laws of private choices on tiny instances, for neighbors; and broken variants that the same checks refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet.core.guarantee import ApproxDP, DPGuarantee, PureDP
from discreet.core.randomness import RandomBits, exponential_mechanism
from discreet.submodular import Coverage, GraphicMatroid, PartitionMatroid, UniformMatroid
from discreet.submodular.draws.fractional import sampled_marginals
from discreet.submodular.draws.growing import LazyThinning
from discreet.submodular.matroids.base import Matroid
from discreet.submodular.methods.algorithm_1 import Algorithm1
from discreet.submodular.methods.algorithm_3 import Algorithm3
from discreet.submodular.methods.algorithm_4 import Algorithm4
from discreet.submodular.methods.badanidiyuru_vondrak import BadanidiyuruVondrak
from discreet.submodular.methods.bases import BaseContinuousGreedy, MeasuredContinuousGreedy
from discreet.submodular.methods.gupta import Gupta
from discreet.submodular.methods.mitrovic import Mitrovic
from discreet.submodular.methods.part_sampled import PartSampled
from discreet.submodular.methods.permute_and_flip import PermuteAndFlip, permute_and_flip
from discreet.submodular.methods.subsampled import Subsampled
from discreet.submodular.methods.subsampled_rounds import SubsampledRounds
from discreet.testing import DPVerdict, Law, assert_law, assert_pure_dp, enumerate_law
from few import each_once
from submodular.tiny import Declared, Reach, Whole, law_of

RECORDS = [{0}, {0, 1}, {2}]
"""One record each: which elements reach it."""

PAIR = UniformMatroid(3, 2)


def judge(laws: list[Law], epsilon: Any) -> DPVerdict:
    one, other = laws
    return assert_pure_dp(one, other, epsilon)


def laws_of(run: Callable[..., object], cases: list[Any], runs: int) -> list[Law]:
    """The laws of ``run(case, bits)``, one for each case."""
    return [enumerate_law(partial(run, case), max_runs=runs) for case in cases]


METHODS = [
    *(Algorithm3(lazy=False), Algorithm3(), Subsampled(lazy=False), Algorithm4("0.9"), Mitrovic()),
    *(PartSampled("0.9"), PermuteAndFlip(), BadanidiyuruVondrak(rounds=1, samples=1)),
]


@pytest.mark.parametrize(("method", "extra"), each_once(METHODS, [{0}, {1, 2}]))
def test_pure_guarantees_hold_on_all_neighbors(method: Any, extra: set[int]) -> None:
    guarantee = PureDP(1, "add-remove-one")
    # Coins of kept records multiply what there is to enumerate.
    records = RECORDS[:1] if method.name == "subsampled" else RECORDS[:2]
    runs = 900 if method.name == "subsampled" else 500
    one, other = (
        law_of(method, Reach(data, 3), PAIR, guarantee, runs=runs)
        for data in (records, [*records, extra])
    )
    verdict = assert_pure_dp(one, other, 1)
    assert verdict.delta < Fraction(1, 4)


def test_replacement_is_accounted_for_twice() -> None:
    guarantee = PureDP(1, "replace-one")
    for method in (Algorithm3(), Subsampled(lazy=False), PermuteAndFlip()):
        laws = [
            law_of(method, Reach(data, 3), PAIR, guarantee, runs=600)
            for data in ([{0}, {1}], [{0}, {2}])
        ]
        assert judge(laws, 1).delta < Fraction(1, 4)


@pytest.mark.parametrize(
    "method", [BaseContinuousGreedy(steps=1), MeasuredContinuousGreedy(steps=1)]
)
def test_draws_of_whole_bases_lose_the_rank_times_a_score(method: Any) -> None:
    """A function of all records at once, moved by +1 on one base and by -1 elsewhere: the constant is attained."""
    matroid = PartitionMatroid([0, 0, 1, 1], 1)
    guarantee = PureDP(1, "add-remove-one")

    def highest(up: int, chosen: frozenset[int]) -> int:
        return max((5 + up * (1 if e in {0, 2} else -1) for e in chosen), default=0)

    one, other = (
        law_of(
            type(method)(steps=1, samples=1),
            Whole(partial(highest, up), 4),
            matroid,
            guarantee,
            runs=1500,
        )
        for up in (0, 1)
    )
    verdict = assert_pure_dp(one, other, 1)
    assert verdict.delta < Fraction(1, 4)
    with pytest.raises(AssertionError, match="not 2/5-indistinguishable"):
        assert_pure_dp(one, other, "2/5")


def test_a_halved_sensitivity_is_refused() -> None:
    """With epsilon 2 the halved sensitivity leaves a loss near 3."""
    guarantee = PureDP(2, "add-remove-one")
    matroid = UniformMatroid(6, 1)
    one, other = (
        law_of(Algorithm3(), Declared(data, 6), matroid, guarantee, runs=3000)
        for data in ([], [{0}])
    )
    with pytest.raises(AssertionError, match="not 2-indistinguishable"):
        assert_pure_dp(one, other, 2)
    honest = [
        law_of(Algorithm3(), Reach(data, 6), matroid, guarantee, runs=3000) for data in ([], [{0}])
    ]
    judge(honest, 2)


def test_an_unkept_secret_subsample_is_refused() -> None:
    """The choice and the number of kept records together are not private: an empty data set keeps none."""
    guarantee = PureDP(1, "add-remove-one")
    method = Subsampled(lazy=False)

    def run(data: list[set[int]], bits: RandomBits) -> object:
        objective = Reach(data, 3)
        kept: list[int] = []
        start = objective.start

        def watched(records: Any = None) -> Any:
            kept.append(int(np.sum(records)))
            return start(records)

        objective.start = watched  # type: ignore[method-assign]
        plan = method.plan(_statement(objective, PAIR, guarantee), PAIR, guarantee)
        return method.choose(objective, PAIR, plan, bits), kept[0]

    with pytest.raises(AssertionError, match="not 1-indistinguishable"):
        judge(laws_of(run, [[], [{0}]], 900), 1)


def _statement(objective: Any, matroid: Matroid, guarantee: DPGuarantee) -> Any:
    from discreet.submodular.stating import state_choice

    return state_choice(objective, matroid, guarantee)


def test_a_ground_set_from_private_rows_is_refused() -> None:
    """Candidates that only occur because a record has them name that record."""
    guarantee = PureDP(1, "add-remove-one")

    def run(data: list[set[int]], bits: RandomBits) -> object:
        named = sorted(set().union(*data))
        objective = Reach([{named.index(e) for e in record} for record in data], len(named))
        matroid = UniformMatroid(len(named), 1)
        method = Algorithm3()
        plan = method.plan(_statement(objective, matroid, guarantee), matroid, guarantee)
        ((element, _),) = method.choose(objective, matroid, plan, bits)
        return named[element]

    with pytest.raises(AssertionError, match="not 1-indistinguishable"):
        judge(laws_of(run, [[{0}], [{0}, {7}]], 500), 1)


def eager_law(objective: Reach, matroid: Matroid, rate: Fraction) -> dict[Any, float]:
    """The law of greedy draws, computed from the formula."""
    law: dict[Any, float] = {}

    def follow(chosen: tuple[tuple[int, int], ...], mass: float) -> None:
        if len(chosen) == matroid.rank:
            law[chosen] = law.get(chosen, 0) + mass
            return
        state, grown = objective.start(), matroid.start()
        for element, kind in chosen:
            state.add(element, kind)
            grown.add(element)
        candidates = np.flatnonzero(grown.feasible())
        weights = np.exp(float(rate) * state.gains(candidates))
        for (at, kind), weight in np.ndenumerate(weights / weights.sum()):
            follow((*chosen, (int(candidates[at]), kind)), mass * float(weight))

    follow((), 1.0)
    return law


@pytest.mark.parametrize("kinds", [1, 2])
def test_lazy_thinning_has_the_law_of_the_eager_mechanism(kinds: int) -> None:
    pairs = [{(0, 0), (1, 0)}, {(0, 0)}, {(1, kinds - 1), (2, 0)}, {(0, kinds - 1), (1, 0)}]
    objective = Reach(pairs, 3, kinds)
    guarantee = PureDP(2, "add-remove-one")
    laws = [
        law_of(Algorithm3(lazy=lazy), objective, PAIR, guarantee, runs=1500)
        for lazy in (True, False)
    ]
    expected = eager_law(objective, PAIR, Fraction(1))
    for law in laws:
        assert law.unexplored < Fraction(1, 4)
        assert_law(law, {o: _near(p) for o, p in expected.items()})
    assert (
        max(
            abs(laws[0].masses[o] - laws[1].masses[o])
            for o in laws[1].masses
            if o in laws[0].masses
        )
        <= laws[0].unexplored + laws[1].unexplored
    )


def _near(p: float) -> tuple[Fraction, Fraction]:
    return Fraction(p) * (1 - Fraction(1, 10**9)), Fraction(p) * (1 + Fraction(1, 10**9))


def test_stale_bounds_fed_to_the_exponential_mechanism_are_refused() -> None:
    """Refresh only what looks best, as lazy greedy does, and draw from the mixture: the law leaks which were fresh."""

    def careless(gains: list[int], bits: RandomBits) -> int:
        bounds, fresh = [40, 40, 21], [False] * 3
        while not fresh[best := max(range(3), key=bounds.__getitem__)]:
            bounds[best], fresh[best] = gains[best], True
        return sound(bounds, bits)

    def sound(gains: list[int], bits: RandomBits) -> int:
        return exponential_mechanism(gains, Fraction(1, 2), 1, monotone=True, bits=bits)

    # One record more in the first two gains; the third is refreshed, or not, because of it.
    cases = [[20, 20, 0], [21, 21, 0]]
    with pytest.raises(AssertionError, match="not 1/2-indistinguishable"):
        judge(laws_of(careless, cases, 300), "1/2")
    judge(laws_of(sound, cases, 300), "1/2")


def test_adaptive_stopping_of_the_estimate_is_refused() -> None:
    """Draw sets until the estimates look alike: the number of sets tells about a record."""

    def run(case: tuple[bool, list[set[int]]], bits: RandomBits) -> int:
        adaptive, data = case
        objective, x = Reach(data, 3), np.array([1, 0, 0])
        total = sampled_marginals(objective, x, 2, 1, bits)
        if adaptive and abs(int(total[1] - total[2])) > 19:
            total = total + sampled_marginals(objective, x, 2, 1, bits)
        return exponential_mechanism(total.tolist(), Fraction(1, 10), 1, monotone=True, bits=bits)

    many = [{1}] * 19
    data = [many, [*many, {1}]]
    judge(laws_of(run, [(False, d) for d in data], 400), "1/10")
    with pytest.raises(AssertionError, match="not 1/10-indistinguishable"):
        judge(laws_of(run, [(True, d) for d in data], 400), "1/10")


def renyi_two(p: dict[Any, float], q: dict[Any, float]) -> float:
    return math.log(sum(p[o] ** 2 / q[o] for o in p))


def exact_flip(scores: list[int], rate: float) -> dict[int, float]:
    """The law of permute-and-flip, by its recursion over the set that is left."""
    best = max(scores)

    def follow(left: tuple[int, ...]) -> dict[int, float]:
        law = dict.fromkeys(range(len(scores)), 0.0)
        for i in left:
            accepted = math.exp(-rate * (best - scores[i]))
            law[i] += accepted / len(left)
            if accepted < 1:
                for j, mass in follow(tuple(k for k in left if k != i)).items():
                    law[j] += (1 - accepted) * mass / len(left)
        return law

    return follow(tuple(range(len(scores))))


def test_permute_and_flip_has_its_law_and_no_bounded_range() -> None:
    """At rate 1/2 and changes of +-1 epsilon is 1; the divergence of order 2 exceeds 2 epsilon^2/8."""
    rate = Fraction(1, 2)
    for scores in ([0, 2, 3], [1, 1, 3]):
        (law,) = laws_of(lambda s, bits: permute_and_flip(np.array(s), rate, bits), [scores], 4000)
        expected = exact_flip(scores, 0.5)
        assert_law(law, {i: _near(p) for i, p in expected.items()})
    p, q = exact_flip([10, 10] + [0] * 6, 0.5), exact_flip([11, 9] + [0] * 6, 0.5)
    ratios = [math.log(p[i] / q[i]) for i in p]
    assert max(ratios) - min(ratios) > 1.2
    assert max(abs(ratio) for ratio in ratios) <= 1
    assert renyi_two(q, p) > 2 * 1 / 8 or renyi_two(p, q) > 2 * 1 / 8


def test_gupta_holds_in_both_directions() -> None:
    guarantee = ApproxDP(4, "0.01", "add-remove-one")
    laws = [
        law_of(Gupta(), Reach(data, 3), PAIR, guarantee, runs=1500) for data in ([{0}], [{0}, {1}])
    ]
    verdict = judge(laws, 4)
    assert verdict.delta < Fraction(1, 10)


def test_the_one_sided_bound_does_not_grow_with_the_rank_and_the_other_side_does() -> None:
    """Adding a record changes greedy's law by at most e^c, removing it by more as the rank grows."""
    losses = []
    for rank in (1, 2, 3):
        matroid = PartitionMatroid([p for p in range(rank) for _ in range(2)], 1)
        before, after = (
            eager_law(Reach(data, 2 * rank), matroid, Fraction(1))
            for data in ([], [set(range(0, 2 * rank, 2))])
        )
        up = max(math.log(after[o] / before[o]) for o in after)
        down = max(math.log(before[o] / after[o]) for o in after)
        assert up <= 1
        losses.append(down)
    assert losses[0] < losses[1] < losses[2]
    assert losses[2] > 1


def test_lazy_thinning_refreshes_bounds_without_changing_the_law() -> None:
    """Bounds far above the gains, as after a large step: many rejections, the same law."""
    data = [{0, 1, 2, 3}] * 2 + [{1}]
    objective = Reach(data, 4)

    def run(bits: RandomBits) -> tuple[int, int]:
        state = objective.start()
        drawer = LazyThinning(state, Fraction(1, 2), bits)
        drawer._bounds[:], drawer._known[:] = state.gains(np.arange(4)), True
        state.add(0)
        return drawer.draw(np.array([1, 2, 3]))

    law = enumerate_law(run, max_runs=1500)
    weights = {1: math.exp(0.5), 2: 1.0, 3: 1.0}
    total = sum(weights.values())
    assert law.unexplored < Fraction(1, 3)
    assert_law(law, {(e, 0): _near(w / total) for e, w in weights.items()})


@pytest.mark.parametrize(
    ("method", "matroid"),
    [
        (Algorithm1(1), UniformMatroid(2, 1)),
        (BadanidiyuruVondrak(rounds=2, samples=1), UniformMatroid(2, 1)),
        (BaseContinuousGreedy(steps=2, samples=1), UniformMatroid(2, 1)),
        (MeasuredContinuousGreedy(steps=1, samples=1), UniformMatroid(3, 2)),
        (BaseContinuousGreedy(steps=1, samples=1), GraphicMatroid(3, [[0, 1], [1, 2], [0, 2]])),
    ],
    ids=lambda part: getattr(part, "name", repr(part)),
)
def test_fractional_methods_keep_their_budget(method: Any, matroid: Matroid) -> None:
    """Several rounds, sets from public coins, points of a covering, and rounding: all draws enumerated."""
    guarantee = PureDP(2, "add-remove-one")
    n = matroid.n_elements
    one, other = (
        law_of(method, Reach(data, n), matroid, guarantee, runs=1500, ordered=False)
        for data in ([{0}], [{0}, {0}])
    )
    verdict = assert_pure_dp(one, other, 2)
    assert verdict.delta < Fraction(1, 4)


@pytest.mark.parametrize(("rounds", "rank"), [(1, 2), (2, 1)])
def test_rounds_on_a_secret_subsample_keep_their_budget(rounds: int, rank: int) -> None:
    """The closed form of coverage, whatever the number of rounds."""
    guarantee = PureDP(1, "add-remove-one")
    matroid = UniformMatroid(3, rank)
    rows = np.array([[True, True, False]])
    laws = [
        law_of(
            SubsampledRounds(rounds), Coverage(data), matroid, guarantee, runs=700, ordered=False
        )
        for data in (rows[:0], rows)
    ]
    assert judge(laws, 1).delta < Fraction(1, 4)
