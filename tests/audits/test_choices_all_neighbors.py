"""Private choices on every tiny data set and every neighbor of it, with laws from formulas; and rules that fail there.

That the production code has these laws is checked elsewhere, by enumeration. Here everything is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product

import pytest

from discreet.submodular.accounting import one_pass
from discreet.submodular.methods.subsampled import subsampled_coefficient
from few import each_once

Pair = tuple[int, int]
Record = frozenset[Pair]
Data = tuple[Record, ...]
Transcript = tuple[Pair, ...]
Law = dict[Transcript, float]

N, RANK = 3, 2


def records(kinds: int) -> list[Record]:
    """Every record: the pairs that reach it."""
    pairs = [(e, i) for e in range(N) for i in range(kinds)]
    return [
        frozenset(chosen) for size in range(len(pairs) + 1) for chosen in combinations(pairs, size)
    ]


@lru_cache(maxsize=100_000)
def greedy_law(data: Data, kinds: int, coefficient: float) -> tuple[tuple[Transcript, float], ...]:
    """The law of two greedy draws with probability proportional to exp(c gain)."""
    law: Law = {}

    def follow(chosen: Transcript, mass: float) -> None:
        if len(chosen) == RANK:
            law[chosen] = mass
            return
        used = {e for e, _ in chosen}
        left = [r for r in data if not r & set(chosen)]
        options = [(e, i) for e in range(N) if e not in used for i in range(kinds)]
        weights = [math.exp(coefficient * sum(pair in r for r in left)) for pair in options]
        for pair, weight in zip(options, weights, strict=True):
            follow((*chosen, pair), mass * weight / sum(weights))

    follow((), 1.0)
    return tuple(sorted(law.items()))


def subsampled_law(data: Data, kinds: int, epsilon: Fraction) -> Law:
    """The mixture over what is kept."""
    keep, c = -math.expm1(-float(epsilon)), float(subsampled_coefficient(epsilon))
    mixed: Law = {}
    for choice in product((False, True), repeat=len(data)):
        share = math.prod(keep if kept else 1 - keep for kept in choice)
        kept_data = tuple(r for r, kept in zip(data, choice, strict=True) if kept)
        for o, p in greedy_law(kept_data, kinds, c):
            mixed[o] = mixed.get(o, 0.0) + share * p
    return mixed


def additions(kinds: int, most: int) -> Iterator[tuple[Data, Data]]:
    """Every data set of up to so many records, and every one with one record more."""
    every = sorted(records(kinds), key=sorted)
    for size in range(most + 1):
        for data in combinations_with_replacement(every, size):
            for extra in every:
                yield data, tuple(sorted((*data, extra), key=sorted))


def ratio(p: Law, q: Law) -> float:
    """The largest log-ratio of p to q."""
    return max(math.log(p[o] / q[o]) for o in p)


@pytest.mark.parametrize(("kinds", "most"), [(1, 2), (2, 1)])
def test_greedy_loses_the_rank_times_c_and_one_side_only_c(kinds: int, most: int) -> None:
    c = 1.0
    worst_up = worst_down = 0.0
    for data, more in additions(kinds, most):
        before, after = dict(greedy_law(data, kinds, c)), dict(greedy_law(more, kinds, c))
        worst_up = max(worst_up, ratio(after, before))
        worst_down = max(worst_down, ratio(before, after))
    assert worst_up <= c
    assert worst_down <= RANK * c
    assert worst_down > 0.5 * c


@pytest.mark.parametrize(("epsilon", "size"), each_once(["0.1", "1", "2"], [(1, 2), (2, 1)]))
def test_the_subsample_is_private_whatever_the_rank(epsilon: str, size: tuple[int, int]) -> None:
    e, (kinds, most) = Fraction(epsilon), size
    worst = 0.0
    for data, more in additions(kinds, most):
        before, after = subsampled_law(data, kinds, e), subsampled_law(more, kinds, e)
        worst = max(worst, ratio(before, after), ratio(after, before))
    assert worst <= float(e)
    assert worst > 0.3 * float(e)


def test_a_subsample_with_a_larger_coefficient_or_share_is_rejected() -> None:
    """Without dropping records the same coefficient breaks the budget."""
    c = float(subsampled_coefficient(Fraction(1, 10)))
    worst = max(
        ratio(dict(greedy_law(more, 1, c)), dict(greedy_law(data, 1, c)))
        for data, more in additions(1, 1)
    )
    assert worst > 0.1


def test_replacement_costs_twice() -> None:
    """At half of epsilon each replaced record stays within epsilon; at the whole of it some do not."""
    every = sorted(records(1), key=sorted)
    half, whole = [
        max(
            ratio(subsampled_law((a, b), 1, e), subsampled_law((a, other), 1, e))
            for a, b, other in product(every, repeat=3)
        )
        for e in (Fraction(1, 2), Fraction(1))
    ]
    assert half <= 1
    assert whole > half


@pytest.mark.parametrize("c", ["0.1", "0.5", "1", "2"])
@pytest.mark.parametrize("delta", ["0.001", "0.1"])
def test_one_pass_holds_when_a_record_leaves(c: str, delta: str) -> None:
    """The mass of D beyond e^epsilon times that of D + x is at most delta, for every data set and record."""
    loss, slack = Fraction(c), Fraction(delta)
    epsilon = float(one_pass(loss, slack, "add-remove-one").epsilon)
    for data, more in additions(1, 2):
        before, after = dict(greedy_law(data, 1, float(c))), dict(greedy_law(more, 1, float(c)))
        for p, q in ((before, after), (after, before)):
            beyond = sum(max(0.0, p[o] - math.exp(epsilon) * q[o]) for o in p)
            assert beyond <= float(slack)


def test_bounded_range_composes_to_zcdp() -> None:
    """Renyi divergences of all orders tried stay below the sum of epsilon^2/8, and half of it would be too little."""
    c = 1.0
    rho = RANK * c**2 / 8
    worst = 0.0
    for data, more in additions(1, 2):
        p, q = dict(greedy_law(data, 1, c)), dict(greedy_law(more, 1, c))
        for one, other in ((p, q), (q, p)):
            for order in (1.5, 2.0, 4.0, 16.0):
                power = sum(one[o] ** order * other[o] ** (1 - order) for o in one)
                worst = max(worst, math.log(power) / (order - 1) / order)
    assert worst <= rho
    assert worst > rho / 4


def test_permute_and_flip_breaks_the_zcdp_of_bounded_range() -> None:
    """At epsilon 1 its divergence exceeds 1/8, so that the rule must not be used for it."""

    def law(scores: tuple[int, ...]) -> list[float]:
        best = max(scores)
        accept = [math.exp(-0.5 * (best - score)) for score in scores]

        def follow(left: tuple[int, ...]) -> list[float]:
            found = [0.0] * len(scores)
            for i in left:
                found[i] += accept[i] / len(left)
                if accept[i] < 1:
                    rest = follow(tuple(j for j in left if j != i))
                    found = [
                        a + (1 - accept[i]) * b / len(left)
                        for a, b in zip(found, rest, strict=True)
                    ]
            return found

        return follow(tuple(range(len(scores))))

    worst = 0.0
    base = (8, 8, 0, 0, 0, 0)
    for change in product((-1, 0, 1), repeat=2):
        other = tuple(s + d for s, d in zip(base, (*change, 1, 1, 1, 1), strict=True))
        p, q = law(base), law(other)
        for one, two in ((p, q), (q, p)):
            power = sum(a**2 / b for a, b in zip(one, two, strict=True))
            worst = max(worst, math.log(power) / 2)
    assert worst > 1 / 8


def test_the_formulas_are_laws() -> None:
    data: Data = (frozenset({(0, 0)}),)
    assert sum(p for _, p in greedy_law(data, 1, 1.0)) == pytest.approx(1)
    assert sum(subsampled_law(data, 2, Fraction(1)).values()) == pytest.approx(1)


def path_law(data: Data, rounds: int, coefficient: float) -> Law:
    """The law of the drawn path of continuous greedy on coverage, by the formula."""
    law: Law = {}

    def follow(path: Transcript, mass: float) -> None:
        if len(path) == rounds * RANK:
            law[path] = mass
            return
        x = [sum(e == f for f, _ in path) / rounds for e in range(N)]
        current = {e for e, _ in path[len(path) - len(path) % RANK :]}
        missed = [math.prod(1 - x[e] for e, _ in record) for record in data]
        options = [e for e in range(N) if e not in current]
        weights = [
            math.exp(
                coefficient
                * sum(m for m, record in zip(missed, data, strict=True) if (e, 0) in record)
            )
            for e in options
        ]
        for e, weight in zip(options, weights, strict=True):
            follow((*path, (e, 0)), mass * weight / sum(weights))

    follow((), 1.0)
    return law


@pytest.mark.parametrize("rounds", [1, 2])
def test_continuous_greedy_s_one_side_grows_with_the_rounds_alone(rounds: int) -> None:
    """Adding a record multiplies the law of the path by at most e^(c M), whatever the rank; M = 2 needs it."""
    c = 1.0
    worst = max(
        ratio(path_law(more, rounds, c), path_law(data, rounds, c))
        for data, more in additions(1, 1)
    )
    assert worst <= c * rounds
    assert worst > (0.4, 1.0)[rounds - 1] * c
