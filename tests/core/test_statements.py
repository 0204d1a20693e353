"""Every statement of the catalogue has a precondition and a basis, and no counterexample on tiny domains.

A search draws a tiny instance and looks at all tables, events or guessers there. Each statement stands beside a false
variant of it, which the same kind of search refutes.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet import KAnonymity, MetricSpace, Tree
from discreet.core.certificate import Certificate
from discreet.core.channels.channel import Channel
from discreet.core.exact import log_ceil
from discreet.core.guarantee import (
    ApproxDP,
    DPGuarantee,
    MetricDP,
    PureDP,
    ZeroConcentratedDP,
    cautions,
)
from discreet.core.outcome import Design, Provenance
from discreet.core.printed import at_most, share_or_less, share_or_more
from discreet.core.statements import STATEMENTS, state
from discreet.evaluate.comparison import Entry, best_lower
from discreet.hierarchy.contingency.measure import MeasuredTables, marginal_scales
from discreet.hierarchy.contingency.optimum import best_frame
from discreet.hierarchy.contingency.problem import Domain, TableFrame
from discreet.hierarchy.contingency.result import LevelGap
from discreet.hierarchy.contingency.verify_loss import loss_in_words, proved_loss
from discreet.hierarchy.contingency.whole import whole
from discreet.hierarchy.contingency.workload import read_workload
from discreet.hierarchy.measure import variance_of
from discreet.hierarchy.noise_sum import Term, half_width
from discreet.kanonymity import anonymize
from discreet.kanonymity.risk import risk
from discreet.lrgeo import Region
from discreet.lrgeo.places.plane import on_the_ground
from discreet.metricdp import Problem, design
from discreet.report import metricdp as metric_page
from discreet.report.words import guess_about_a_person, guesses, promise_about_a_person
from discreet.submodular import Coverage, UniformMatroid, plan
from discreet.submodular.method import draws_in_words
from discreet.submodular.objectives.objective import ObjectiveSpec
from discreet.testing import enumerate_law
from earth import geodesic
from hierarchy.contingency.dense_workloads import cost_of, information
from hierarchy.contingency.dense_workloads import drawn as drawn_workload
from hierarchy.contingency.dense_workloads import loss_of as dense_loss

pytestmark = pytest.mark.jit

ROOT = Path(__file__).parents[2]
Row = tuple[Fraction, ...]
Found = str | None

INSTANCES, MANY = 200, 10_000
"""Random instances of each search in a usual run, and of the long one."""

DEAR, FEW = frozenset({"draws", "draws, then rounding", "draws by flips", "loss by secret"}), 15
"""Searches that plan or enumerate for each instance, beside losses and bounds; and the instances of a usual run."""

ROUNDING = 1e-9
BITS = 40


@dataclass(frozen=True)
class Search:
    """A search for a counterexample to a statement, and one to a false variant of it."""

    holds: Callable[[Random], Found]
    variant: str
    refutes: Callable[[Random], Found]


SEARCHES: dict[str, Search] = {}


def chance(seed: int) -> Random:
    """Return the random numbers of an instance."""
    return Random(seed)  # noqa: S311 - instances of a test


def searched(name: str, variant: str) -> Callable[[Any], Any]:
    """Register a search that takes an instance and whether the false variant is meant."""

    def register(look: Callable[..., Found]) -> Callable[..., Found]:
        SEARCHES[name] = Search(
            lambda rng: look(rng, false=False), variant, lambda rng: look(rng, false=True)
        )
        return look

    return register


# Tiny instances.


def rows(rng: Random, count: int, reports: int = 3) -> list[Row]:
    """Draw laws with the same support."""
    weights = [[rng.randint(1, 12) for _ in range(reports)] for _ in range(count)]
    return [tuple(Fraction(one, sum(row)) for one in row) for row in weights]


def events(reports: int) -> Iterator[tuple[int, ...]]:
    """List all sets of reports."""
    for size in range(reports + 1):
        yield from combinations(range(reports), size)


def mass(law: Row, event: tuple[int, ...]) -> Fraction:
    """Add up the chances of an event."""
    return sum((law[k] for k in event), Fraction(0))


def nats(laws: list[Row]) -> Fraction:
    """Return the least epsilon that neighboring laws of a list keep, rounded up."""
    ratio = max(max(p / q, q / p) for a, b in pairwise(laws) for p, q in zip(a, b, strict=True))
    exact = Fraction(log_ceil(ratio, BITS), 1 << BITS)
    return max(Fraction(math.ceil(exact * 10**6), 10**6), Fraction(1, 10**6))


def divergence(p: Row, q: Row, order: float) -> float:
    """Return the Rényi divergence of two laws."""
    total = sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, q, strict=True))
    return math.log(total) / (order - 1)


ORDERS = (1.0001, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 40.0)


def concentrated(laws: list[Row]) -> Fraction:
    """Return a rho that neighboring laws keep: the divergence of order a by a, at most, over all a > 1."""
    both = [pair for a, b in pairwise(laws) for pair in ((a, b), (b, a))]
    # Between two orders of a fine grid the divergence rises, and so is that of the higher one by the lower order.
    grid = [1.0001 * 1.05**step for step in range(90)]
    found = max(
        divergence(p, q, high) / low for p, q in both for low, high in pairwise([1.0, *grid])
    )
    return Fraction(math.ceil(found * 1e6) + 1, 10**6)


def spread(laws: list[Row], epsilon: Fraction) -> Fraction:
    """Return the least delta at an epsilon, over all events and both directions, rounded up."""
    factor = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**12))
    a, b = laws
    worst = max(
        mass(p, e) - factor * mass(q, e) for p, q in ((a, b), (b, a)) for e in events(len(a))
    )
    return max(Fraction(math.ceil(worst * 10**6), 10**6), Fraction(1, 10**6))


def numbers(text: str) -> list[float]:
    """Read the numbers of a sentence."""
    return [
        float(one.replace(",", ""))
        for one in re.findall(r"(?<![\w.^])-?\d[\d,]*\.?\d*(?:e-?\d+)?", text)
    ]


def after(text: str, words: str) -> float:
    """Read the number that follows some words."""
    found = re.search(re.escape(words) + r"\D*?(-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)", text)
    assert found is not None, (words, text)
    return float(found[1].replace(",", "").rstrip("."))


def some_guarantee(rng: Random, laws: list[Row]) -> DPGuarantee:
    """Return a guarantee that two neighboring laws have."""
    kind = rng.randrange(3)
    if kind == 0:
        return PureDP(nats(laws), "add-remove-one")
    if kind == 1:
        epsilon = Fraction(rng.randint(1, 10), 10)
        return ApproxDP(epsilon, spread(laws, epsilon), "add-remove-one")
    return ZeroConcentratedDP(concentrated(laws), "add-remove-one")


def best_guess(p: list[Fraction], q: list[Fraction], prior: Fraction = Fraction(1, 2)) -> Fraction:
    """Return how often the best of all guessers is right: one for each function from reports to answers."""
    return max(
        sum(
            (
                prior * a if answer else (1 - prior) * b
                for a, b, answer in zip(p, q, rule, strict=True)
            ),
            Fraction(0),
        )
        for rule in product((False, True), repeat=len(p))
    )


# Guarantees.


@searched("pure differential privacy", "... than on any other dataset")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 3)
    text = str(PureDP(nats(laws), "add-remove-one"))
    limit = math.exp(after(text, "no output is more than e^")) * (1 + ROUNDING)
    pairs = list(pairwise(laws)) + ([(laws[0], laws[2])] if false else [])
    worst = max(max(p / q, q / p) for a, b in pairs for p, q in zip(a, b, strict=True))
    return f"{float(worst)} > {limit}" if worst > limit else None


@searched("approximate differential privacy", "without the slack")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 2)
    epsilon = Fraction(rng.randint(1, 10), 10)
    text = str(ApproxDP(epsilon, spread(laws, epsilon), "add-remove-one"))
    limit, slack = math.exp(after(text, "more than e^")), after(text, "neighbor, plus")
    slack = 0.0 if false else slack
    for p, q in (laws, laws[::-1]):
        for event in events(3):
            if mass(p, event) > limit * mass(q, event) * (1 + ROUNDING) + slack + 1e-12:
                return f"{event} of {p}, {q}"
    return None


@searched("zero-concentrated differential privacy", "at most rho for each order")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 2)
    text = str(ZeroConcentratedDP(concentrated(laws), "add-remove-one"))
    rho = after(text, "is at most")
    for order in ORDERS:
        for p, q in (laws, laws[::-1]):
            if divergence(p, q, order) > rho * (1 if false else order) * (1 + ROUNDING) + 1e-12:
                return f"order {order} of {p}, {q}"
    return None


def lipschitz(values: list[float]) -> list[Row]:
    """Make laws of two reports: the first is exp(value) times a small chance."""
    least = [Fraction(math.exp(one - max(values) - 3)) for one in values]
    return [(one, 1 - one) for one in least]


@searched("metric privacy", "e^epsilon times, however far they are")
def _(rng: Random, *, false: bool) -> Found:
    points = rng.sample(range(9), 3)
    laws = rows(rng, 3)
    pairs = [(i, j) for i, j in combinations(range(3), 2)]
    apart = [abs(points[i] - points[j]) for i, j in pairs]
    least = max(nats([laws[i], laws[j]]) / d for (i, j), d in zip(pairs, apart, strict=True))
    epsilon = Fraction(math.ceil(least * 10**4), 10**4)
    text = str(MetricDP(epsilon, "km"))
    rate = after(text, "no report is more than e^(")
    for (i, j), d in zip(pairs, apart, strict=True):
        limit = math.exp(rate * (1 if false else d)) * (1 + ROUNDING)
        if any(p > limit * q or q > limit * p for p, q in zip(laws[i], laws[j], strict=True)):
            return f"{points[i]} and {points[j]}"
    return None


@searched("geodesics", "... by which this is the stated epsilon")
def _(rng: Random, *, false: bool) -> Found:
    latitude = rng.choice((0.0, -0.5, 30.0, -44.5, 60.0)) + rng.random()
    origin = (latitude, rng.choice((-179.0, 12.5, 179.99)))
    epsilon = Fraction(rng.randint(1, 40), 8)
    region = Region.from_grid(2, 2, cell=rng.choice(("0.5", "2", "20")), unit="km", origin=origin)
    text = on_the_ground(MetricDP(epsilon, "km"), region.stretch or Fraction(0))
    rate = float(epsilon) if false else after(text, "by which this is")
    # The least private of all laws: odds of e^(epsilon d) for the distance in the plane.
    sphere, plane = region.coordinates.tolist(), region.points.tolist()
    for i, j in combinations(range(4), 2):
        nats = float(epsilon) * math.dist(plane[i], plane[j])
        if nats > rate * geodesic(tuple(sphere[i]), tuple(sphere[j])) * (1 + ROUNDING):
            return f"{origin}: {text}"
    return None


@searched("chains of constraints", "... this implies the stated epsilon")
def _(rng: Random, *, false: bool) -> Found:
    points = [(rng.randrange(6), rng.randrange(6)) for _ in range(4)]
    if len(set(points)) < 4:
        return None
    space = MetricSpace.from_points(points, unit="km")
    guarantee = MetricDP(1, "km", 2)
    from discreet.metricdp.design import _constrain

    near, _ = space.adjacency(2).join(space)
    problem = Problem(space, utility_loss="euclidean")
    _, bound = _constrain(problem, guarantee, allow_unprotected=False)
    text = str(bound)
    if "through chains" not in text:
        return None
    implied = 1.0 if false else after(text, "secrets this implies")
    lengths = {
        tuple(sorted(pair)): math.dist(points[pair[0]], points[pair[1]])
        for pair in near.pairs.tolist()
    }
    far = [
        [0.0 if i == j else lengths.get((min(i, j), max(i, j)), math.inf) for j in range(4)]
        for i in range(4)
    ]
    for k, i, j in product(range(4), repeat=3):
        far[i][j] = min(far[i][j], far[i][k] + far[k][j])
    # Paths of the binding pairs, as long as they are: the least private channel that keeps the constraints.
    laws = lipschitz([far[0][j] for j in range(4)])
    for i, j in combinations(range(4), 2):
        ratio = abs(math.log(laws[i][0] / laws[j][0]))
        if ratio > implied * math.dist(points[i], points[j]) * (1 + 1e-6):
            return f"{points}: {i}, {j}"
    return None


def small_table(rng: Random) -> tuple[list[int], list[int], list[str]]:
    """Draw ages, a partition into classes of two rows or more, and a sensitive value for each row."""
    sizes = [rng.randint(2, 3) for _ in range(rng.randint(1, 3))]
    ages = sorted(rng.randrange(8) for _ in range(sum(sizes)))
    labels = [label for label, size in enumerate(sizes) for _ in range(size)]
    return ages, labels, [rng.choice("ab") for _ in ages]


def published(ages: list[int], labels: list[int]) -> list[tuple[int, int]]:
    """Return the interval of the class of each row."""
    ends = {
        label: [age for age, one in zip(ages, labels, strict=True) if one == label]
        for label in labels
    }
    return [(min(ends[label]), max(ends[label])) for label in labels]


@searched("k-anonymity", "each combination of their original values")
def _(rng: Random, *, false: bool) -> Found:
    ages, labels, _ = small_table(rng)
    cells = published(ages, labels)
    k = risk({"age": [str(cell) for cell in cells]}, ["age"]).k
    stated = after(str(KAnonymity(k, ("age",))), "is shared by")
    counted = Counter(ages if false else cells)
    return str(counted) if min(counted.values()) < stated else None


@searched("rows that fit", "... finds k rows or more that fit")
def _(rng: Random, *, false: bool) -> Found:
    ages, labels, _ = small_table(rng)
    cells = published(ages, labels)
    k = min(Counter(cells).values())
    stated = after(state("rows that fit", columns="age", k=k), "of a person finds")
    for known in range(9):
        fit = sum(low <= known <= high for low, high in cells)
        if fit < stated and (false or fit):
            return f"{fit} rows fit {known}"
    return None


@searched("one value in a class", "a row of any class follows from it")
def _(rng: Random, *, false: bool) -> Found:
    ages, labels, ill = small_table(rng)
    cells = [str(cell) for cell in published(ages, labels)]
    found = risk({"age": cells, "ill": ill}, ["age"], sensitive=["ill"]).homogeneity_in_words()
    values = {
        cell: {one for at, one in zip(cells, ill, strict=True) if at == cell} for cell in cells
    }
    alone = [cell for cell in cells if len(values[cell]) == 1 or false]
    if not alone:
        return "; ".join(found) or None
    if len(found) == 0:
        return "nothing was said"
    right = [len(alone), len(cells), len(set(alone))]
    return None if [int(one) for one in numbers(found[0])[:3]] == right else f"not {right}"


# Guessers.


@searched("guess about a person", "... whatever the guesser knows of all others")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 2)
    guarantee = some_guarantee(rng, laws)
    limit = after(guess_about_a_person(guarantee), "is right at most")
    p, q = ([Fraction(one) for one in law] for law in laws)
    if false:
        # Three people come together, and each of them is reported by such a mechanism.
        p, q = ([one * two * three for one, two, three in product(law, repeat=3)] for law in laws)
        right = sum(max(a, b) for a, b in zip(p, q, strict=True)) / 2
    else:
        right = best_guess(p, q)
    return (
        f"right {float(100 * right)} times, {guarantee}" if 100 * right > limit + ROUNDING else None
    )


@searched("guess between two secrets", "... to whom one of them is nine times as likely")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 2)
    epsilon, apart = nats(laws), rng.randint(1, 4)
    times = guesses(epsilon / apart * apart)
    text = state("guess between two secrets", noun="place", distance=f"{apart} km", times=times)
    right = best_guess(list(laws[0]), list(laws[1]), Fraction(9, 10) if false else Fraction(1, 2))
    return str(float(right)) if 100 * right > after(text, "right at most") + ROUNDING else None


@searched("odds between two secrets", "... two reports shift")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 3)
    claim = metric_page._claim_at(MetricDP(nats(laws[:2]), "km"), Fraction(1))
    limit = after(
        state("odds between two secrets", factor=claim["factor"]), "by a factor of at most"
    )
    reports = range(3)
    prior = rows(rng, 1)[0]
    for seen in product(reports, repeat=2 if false else 1):
        odds = [prior[i] * math.prod(laws[i][k] for k in seen) for i in (0, 1)]
        shift = odds[0] / odds[1] / (prior[0] / prior[1])
        if max(shift, 1 / shift) > limit * (1 + ROUNDING):
            return f"{seen} by {float(shift)}"
    return None


@searched("several reports", "n reports allow the epsilon of one")
def _(rng: Random, *, false: bool) -> Found:
    laws, count = rows(rng, 2, 2), rng.randint(2, 3)
    assert "allow n times the epsilon" in state("several reports", noun="place")
    times = guesses(nats(laws) * (1 if false else count))
    both = [[math.prod(one) for one in product(law, repeat=count)] for law in laws]
    right = sum(max(p, q) for p, q in zip(*both, strict=True)) / 2
    return str(float(right)) if 100 * right > float(times) + ROUNDING else None


@searched("sentence or trace", "D is the largest of the distances")
def _(rng: Random, *, false: bool) -> Found:
    """Two places of a line at random distance; both traces move between them, independently."""
    laws, count, apart = rows(rng, 2, 2), rng.randint(2, 3), rng.randint(1, 4)
    epsilon = nats(laws) / apart
    text = state(
        "sentence or trace", epsilon="2", unit="km", noun="place", count=count, total=2 * count
    )
    assert f"{count} reports have epsilon {2 * count} per km" in text
    one, other = ([rng.randrange(2) for _ in range(count)] for _ in range(2))
    away = [apart * abs(i - j) for i, j in zip(one, other, strict=True)]
    total = max(away) if false else sum(away)
    for seen in product(range(2), repeat=count):
        here, there = (
            math.prod(laws[i][k] for i, k in zip(way, seen, strict=True)) for way in (one, other)
        )
        if here > there * math.exp(float(epsilon) * total) * (1 + ROUNDING):
            return f"{one}, {other}: {seen}"
    return None


@searched("loss by secret", "all lose at most the loss of 95 %")
def _(rng: Random, *, false: bool) -> Found:
    n = rng.randint(21, 25)
    losses = np.array([[rng.randint(0, 99) / 7, rng.randint(0, 99) / 7] for _ in range(n)])
    space = MetricSpace.grid(1, n, cell=1, unit="km")
    laws = rows(rng, n, 2)
    weights = [[int(p * 2**62) for p in law[:1]] for law in laws]
    channel = Channel.from_weights([[one, 2**62 - one] for (one,) in weights])
    problem = Problem(space, utility_loss=losses)
    made: Design[Problem, None] = Design(
        channel, MetricDP(1, "km"), Certificate(()), None, 1.0, Provenance("by hand"), problem
    )
    half, most_of, last = map(at_most, made.loss_quantiles.values())
    text = state(
        "loss by secret", noun="place", median=half, share="95 %", most=most_of, worst=last
    )
    exact = [
        sum(Fraction(c) * w for c, w in zip(cost, row, strict=True)) / 2**62
        for cost, row in zip(losses.tolist(), channel.weights.tolist(), strict=True)
    ]
    shares = {
        "places lose at most": Fraction(1, 2),
        "95 % at most": Fraction(1) if false else Fraction(19, 20),
        "worst at most": Fraction(1),
    }
    for words, share in shares.items():
        limit = Fraction(str(after(text, words)))
        if sum(one <= limit for one in exact) < share * n:
            return f"{text}: {sorted(map(float, exact))}"
    return None


@searched("secrets outside", "... at its own distances")
def _(rng: Random, *, false: bool) -> Found:
    """Words 0 and 1 of a line have reports; word 2, somewhere on it, is replaced by one of them."""
    laws, apart = rows(rng, 2), rng.randint(1, 4)
    epsilon = nats(laws) / apart
    assert "at the distances of the replacement" in state("secrets outside", noun="word", count=2)
    outside, stand_in = Fraction(rng.randint(-8, 8), 2), rng.randrange(2)
    away = abs(outside) if false else apart * stand_in
    for mine, first in zip(laws[stand_in], laws[0], strict=True):
        limit = math.exp(float(epsilon * away)) * (1 + ROUNDING)
        if max(mine / first, first / mine) > limit:
            return f"{outside} as {stand_in}"
    return None


def gaussian_guess(rho: float) -> float:
    """Return how often the best guess is right between two Gaussian laws at a rho."""
    return 0.5 * (1 + math.erf(math.sqrt(rho) / 2))


@searched("protects nobody", "said from epsilon 5, or rho 5, on")
def _(rng: Random, *, false: bool) -> Found:
    amount = Fraction(rng.randint(1, 4000), 100)
    pure = rng.random() < 0.5
    guarantee: DPGuarantee = (
        PureDP(amount, "replace-one") if pure else ZeroConcentratedDP(amount, "replace-one")
    )
    said = amount >= 5 if false else bool(cautions(guarantee))
    # Randomized response, and Gaussian noise, have the guarantee.
    right = 1 / (1 + math.exp(-amount)) if pure else gaussian_guess(float(amount))
    return f"{guarantee}: right {right}" if said and right <= 0.999 else None


@searched("delta and records", "... with a tenth as many people one is expected to be")
def _(rng: Random, *, false: bool) -> Found:
    delta = Fraction(rng.randint(1, 300), 1000)
    (text,) = cautions(ApproxDP(1, delta, "add-remove-one"))
    count = after(text, "that probability: with")
    people = rng.randint(1, 3)
    # Publish each record with probability delta: a law over the sets of published records.
    with_all = {
        chosen: delta ** len(chosen) * (1 - delta) ** (people - len(chosen))
        for chosen in events(people)
    }
    without: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for chosen, chance in with_all.items():
        without[tuple(one for one in chosen if one)] += chance
    gone = sum(chance for chosen, chance in with_all.items() if 0 in chosen)
    apart = sum(max(with_all.get(one, 0) - without.get(one, 0), 0) for one in {*with_all, *without})
    if apart > delta or gone != delta:
        return f"{people} people, {delta}: {apart}"
    expected = (count / 10 if false else count) * delta
    return f"{float(expected)} people are expected" if expected < 1 else None


@searched("five people", "... counts once")
def _(rng: Random, *, false: bool) -> Found:
    laws = rows(rng, 6)
    if rng.random() < 0.5:
        epsilon = nats(laws)
        text = promise_about_a_person(PureDP(epsilon, "add-remove-person"))["group"]
        times = 1.0 if false else after(text, "together epsilon counts")
        worst = max(abs(math.log(p / q)) for p, q in zip(laws[0], laws[5], strict=True))
        return f"{laws}" if worst > float(epsilon) * times * (1 + ROUNDING) else None
    rho = concentrated(laws)
    text = promise_about_a_person(ZeroConcentratedDP(rho, "add-remove-person"))["group"]
    times = 1.0 if false else after(text, "together rho counts")
    worst = max(divergence(laws[0], laws[5], a) / a for a in ORDERS)
    # Gaussian laws five steps apart have 25 times the rho of one step.
    worst = max(worst, 25 * float(rho) * (1 - ROUNDING))
    return f"{laws}" if worst > float(rho) * times * (1 + ROUNDING) else None


@searched("five people with delta", "... and delta 5-fold")
def _(rng: Random, *, false: bool) -> Found:
    epsilon = Fraction(rng.randint(1, 10), 10)
    laws = rows(rng, 6)
    if rng.random() < 0.5:
        # The least private: each law has e^epsilon times the mass of the one before, and delta.
        first, delta = Fraction(0), Fraction(rng.randint(1, 5), 10_000)
        laws = [(first, 1 - first)]
        for _step in range(5):
            first = first * Fraction(math.exp(epsilon)) + delta
            laws.append((first, 1 - first))
    delta = max(spread([a, b], epsilon) for a, b in pairwise(laws))
    text = promise_about_a_person(ApproxDP(epsilon, delta, "add-remove-person"))["group"]
    limit = 5 * float(delta) if false else after(text, "and delta is")
    worst = float(spread([laws[0], laws[5]], 5 * epsilon))
    # Both were rounded up to millionths.
    return f"{laws}, {text}: {worst}" if worst > limit * (1 + ROUNDING) + 1e-6 else None


# Optima and bounds.


def joined_design(rng: Random) -> tuple[Any, Any]:
    """Design for three places on a line, two of them near, with a radius that joins them or not."""
    points = [(0.0, 0.0), (rng.choice((0.5, 1.0)), 0.0), (float(rng.randint(2, 12)), 0.0)]
    space = MetricSpace.from_points(points, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    made = design(problem, MetricDP(1, "km", 2), gap=rng.choice((0.001, 0.5)), throw=False)
    return problem, made


def feasible(rng: Random, problem: Any, pairs: list[list[int]]) -> Iterator[np.ndarray[Any, Any]]:
    """Make channels that keep epsilon 1 on some pairs: constant reports, exponential ones, and mixtures of them."""
    d = np.asarray(problem.space.distances) / (1 << problem.space.scale_bits)
    paths = np.full((3, 3), np.inf)
    np.fill_diagonal(paths, 0)
    for i, j in pairs:
        paths[i, j] = paths[j, i] = d[i, j]
    for k in range(3):
        paths = np.minimum(paths, paths[:, [k]] + paths[[k], :])
    kernels = [np.tile(np.eye(3)[k], (3, 1)) for k in range(3)]
    for scale in (0.5, 0.45, 0.3):
        weights = np.exp(-scale * np.minimum(paths, 400))
        kernels.append(weights / weights.sum(axis=1, keepdims=True))
    yield from kernels
    shares = np.array([rng.random() for _ in kernels])
    yield np.tensordot(shares / shares.sum(), np.array(kernels), 1)


def loss_of(problem: Any, z: np.ndarray[Any, Any]) -> float:
    """Return the expected loss of a channel."""
    return float((problem.prior[:, None] * problem.loss * z).sum())


@searched("bound of channels", "... that keeps the guarantee as it was asked, without added links")
def _(rng: Random, *, false: bool) -> Found:
    problem, made = joined_design(rng)
    links = made.guarantee.links_in_words
    text = state("bound of channels", links=links)
    near = problem.space.adjacency(2)
    joined = near.join(problem.space)[0] if "added link" in text and not false else near
    for z in feasible(rng, problem, joined.pairs.tolist()):
        if loss_of(problem, z) < made.lower * (1 - ROUNDING):
            return f"a channel loses {loss_of(problem, z)}, less than {made.lower}"
    return None


@searched("excess over the bound", "half as much more")
def _(rng: Random, *, false: bool) -> Found:
    problem, made = joined_design(rng)
    # Any smaller bound is one, too.
    made = replace(made, lower=made.lower * rng.random())
    text = metric_page._cost(made, [], "km")
    if "more than the lower bound" not in text:
        return None
    over = after(text, "km, ") / 100
    over = over / 2 if false else over
    reached = loss_of(problem, made.channel.probabilities)
    if reached > made.lower * (1 + over) * (1 + ROUNDING):
        return f"{reached} > {made.lower} by more than {over}"
    return None


@searched("bounds by epsilon", "a bound for a stronger promise holds for a weaker one")
def _(rng: Random, *, false: bool) -> Found:
    # Two equally likely secrets, a loss of 1 for a wrong report: the least loss is 1 / (1 + e^epsilon).
    def least(epsilon: Fraction) -> float:
        return 1 / (1 + math.exp(epsilon))

    epsilons = [Fraction(rng.randint(1, 40), 10) for _ in range(3)]
    entries = [
        Entry("a", e, "a", 1.0, least(e) * rng.random(), 1.0, 1.0, 0.0, None, "") for e in epsilons
    ]
    assert "a bound for a weaker promise holds for a stronger one" in state("bounds by epsilon")
    at = rng.choice(epsilons)
    bounds = [entry.lower for entry in entries if entry.lower and entry.epsilon <= at]
    edge = max(bounds) if false else best_lower(entries, at)
    return f"{edge} at {at}" if edge is not None and least(at) < edge else None


def partitions(items: tuple[int, ...], least: int) -> Iterator[list[tuple[int, ...]]]:
    """List all partitions into classes of some size or more."""
    if not items:
        yield []
    for size in range(least, len(items) + 1):
        for others in combinations(items[1:], size - 1):
            left = tuple(one for one in items[1:] if one not in others)
            yield from ([(items[0], *others), *rest] for rest in partitions(left, least))


@searched("bound of tables", "no table ... loses less, whatever it suppresses")
def _(rng: Random, *, false: bool) -> Found:
    count = rng.randint(4, 6)
    table = {
        name: [rng.choice((0, 1, 2, 3, rng.randint(4, 40))) for _ in range(count)]
        for name in ("age", "rooms")[: rng.randint(1, 2)]
    }
    if any(len(set(column)) < 2 for column in table.values()):
        return None
    suppress, k = rng.choice((0.0, 0.4)), rng.choice((2, 2, 3))
    made = anonymize(pl.DataFrame(table), KAnonymity(k, tuple(table)), suppress=suppress)
    may = count if false or "suppresses no row" not in made.bound_in_words() else 0
    spans = {name: max(column) - min(column) for name, column in table.items()}

    def width(members: tuple[int, ...]) -> float:
        ends = {name: [column[at] for at in members] for name, column in table.items()}
        return sum((max(one) - min(one)) / spans[name] for name, one in ends.items())

    # Every table: its suppressed rows, which cost 1 a column, and a partition of the others into classes.
    for gone in events(count):
        if len(gone) > may:
            continue
        left = tuple(at for at in range(count) if at not in gone)
        for classes in partitions(left, k):
            loss = len(gone) * len(table) + sum(len(one) * width(one) for one in classes)
            if loss < made.diagnostics.lower * (1 - ROUNDING):
                return f"{table} without {gone}, {classes}: {loss} < {made.diagnostics.lower}"
    return None


@searched("moved tables", "for all nonnegative tables the difference is at least")
def _(rng: Random, *, false: bool) -> Found:
    tree = Tree.from_paths([("GA",), ("NY",)], root="US")
    half = Fraction(1, 2)
    frame = TableFrame(tree, Domain.read({"sex": ["F", "M"]}), {(0,): (half, half)})
    guarantee = PureDP(2, neighbors="add-remove-person")
    scales = marginal_scales(frame, guarantee)
    values = np.array([[rng.randint(-1, 6) for _ in range(2)] for _ in range(3)])
    measured = MeasuredTables(frame, {(0,): values}, scales, "laplace", guarantee)
    shaped = rng.random() < 0.5 and not false
    made = whole(measured, look_below=shaped, shaped=shaped)
    variance = float(variance_of(next(one for one in scales[(0,)] if one), "laplace"))
    # The root's estimate: its own measurement; where levels below count, and their sum with twice the variance.
    root = (2 * values[0] + values[1] + values[2]) / 3 if shaped else values[0]
    words = made.distances_in_words()
    estimates = [(root[None], variance * (2 / 3 if shaped else 1)), (values[1:], variance)]
    tables = [made.cells[:1], made.cells[1:]]
    for level, (text, (mean, noise), cells) in enumerate(
        zip(words, estimates, tables, strict=True)
    ):

        def far(table: Any, mean: Any = mean, noise: float = noise) -> float:
            return math.sqrt(float(((np.asarray(table) - mean) ** 2).mean()) / noise)

        stated = after(text, "estimates by")
        least = 0.0 if shaped else after(text, "difference is at least")
        if not far(cells) * (1 - 1e-6) <= stated <= far(cells) * 1.01 + 1e-9:
            return f"{text}: {far(cells)}"
        every = product(range(8), repeat=2)
        if level and not false:
            sums = made.cells[0]
            listed: Any = (
                np.array([one, sums - one])
                for one in map(np.array, product(*(range(total + 1) for total in sums)))
            )
        else:
            listed = (np.array([one] * len(mean)) for one in every)
            listed = [np.maximum(np.rint(mean), 0), *listed]
        for table in listed:
            if far(table) < least * (1 - 1e-6) - 1e-9:
                return f"{text}: {table.tolist()} at {far(table)}"
    return None


def drawn_plan(rng: Random) -> tuple[Any, Any, Any, Any, tuple[str, ...]]:
    """Return a tree, a domain, a workload, a guarantee, and what is stated of its plan."""
    tree, domain, tables, levels = drawn_workload(rng)
    loss = rng.choice(["deviations", "variance", "worst"])
    asked = read_workload(domain, tree.depth + 1, tables, levels, loss)
    guarantee = ZeroConcentratedDP(Fraction(1, 2), neighbors="add-remove-person")
    frame, record = best_frame(tree, domain, asked, guarantee)
    assert record is not None
    proved = proved_loss(frame, guarantee, record)
    return tree, domain, asked, frame, loss_in_words("loss", proved, guarantee.neighbors)


@searched("loss of linear mechanisms", "two releases together have no smaller loss either")
def _(rng: Random, *, false: bool) -> Found:
    tree, domain, asked, frame, (words, _) = drawn_plan(rng)
    plain = information(frame)
    factor = np.random.default_rng(rng.getrandbits(32)).normal(size=plain.shape)
    other = plain + factor @ factor.T * rng.choice([0.0, 1e-3, 1e-2, 1.0])
    found = dense_loss(
        asked, tree, domain, other / cost_of(other, "add-remove-person") * (1 + false)
    )
    if dense_loss(asked, tree, domain, plain) > after(words, "at most") * (1 + ROUNDING):
        return f"{words}: the plan's loss"
    if found < after(words, "has one below") * (1 - ROUNDING):
        return f"{words}: {found}"
    return None


@searched(
    "loss of all mechanisms", "the bound of linear mechanisms with Gaussian noise holds for all"
)
def _(rng: Random, *, false: bool) -> Found:
    size, rho = rng.randint(1, 4), Fraction(rng.randint(1, 40), 10)
    domain = Domain.read({"a": list(map(str, range(size)))})
    tree = Tree.from_paths([("a",)])
    asked = read_workload(domain, 2, "cells", [0, 1], "variance")
    guarantee = ZeroConcentratedDP(rho, neighbors="add-remove-person")
    frame, record = best_frame(tree, domain, asked, guarantee)
    assert record is not None
    linear, every = loss_in_words(
        "loss", proved_loss(frame, guarantee, record), guarantee.neighbors
    )
    least = after(linear, "has one below") if false else after(every, "has a loss below")
    x = np.arange(-60, 61)
    laws = [np.exp(-(x**2) * float(rho)), np.exp(-np.abs(x) * math.sqrt(2 * float(rho)))]
    for law in laws:
        found = size * float((law / law.sum()) @ x**2)
        if found < least * (1 - ROUNDING):
            return f"{every}: {found}"
    return None


def laplace_law(scale: Fraction, count: int, reach: int = 400) -> np.ndarray[Any, Any]:
    """Return the law of a sum of discrete Laplace noises on -reach to reach."""
    one = np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(scale))
    law = one / one.sum()
    for _ in range(count - 1):
        law = np.convolve(law, one / one.sum(), mode="same")
    return np.asarray(law)


@cache
def width_and_coverage(scale: Fraction, count: int, coverage: Fraction) -> tuple[int, float]:
    """Return the half-width of an interval, and with which probability it holds the truth."""
    width = half_width({Term(1, scale): count}, "laplace", coverage)
    law = laplace_law(scale, count)
    middle = len(law) // 2
    return width, float(law[middle - width : middle + width + 1].sum())


@searched("interval", "all intervals hold it at once")
def _(rng: Random, *, false: bool) -> Found:
    coverage = Fraction(rng.choice((50, 80, 90, 95)), 100)
    scale, count = Fraction(rng.randint(1, 24), 4), rng.randint(1, 2)
    _, holds = width_and_coverage(scale, count, coverage)
    text = state("interval", probability=share_or_more(coverage))
    holds = holds**8 if false else holds
    return (
        f"{scale}: {holds}" if 100 * holds < after(text, "probability of at least") - 1e-7 else None
    )


@searched("noise of one count", "... in at most 1 of 100 cases")
def _(rng: Random, *, false: bool) -> Found:
    scale, count = Fraction(rng.randint(1, 24), 4), rng.randint(1, 2)
    _, holds = width_and_coverage(scale, count, Fraction(19, 20))
    misses = (
        1
        if false
        else after(
            state("noise of one count", misses=share_or_less(Fraction(1, 20))), "this in at most"
        )
    )
    return f"{scale}: {holds}" if 100 * (1 - holds) > misses + 1e-7 else None


# Laws of choices.


def soft(scores: list[int], c: float) -> list[float]:
    """Return chances in proportion to exp(c score)."""
    weights = [math.exp(c * one) for one in scores]
    return [one / sum(weights) for one in weights]


def flips(scores: list[int], c: float) -> list[float]:
    """Return the law of permute-and-flip, over all orders."""
    found, best = [0.0] * len(scores), max(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for at in order:
            accepted = math.exp(c * (scores[at] - best))
            found[at] += left * accepted
            left *= 1 - accepted
    return found


def drawn(
    method: str, rng: Random
) -> tuple[str, list[int], np.ndarray[Any, Any], dict[int, float], float, float]:
    """Draw one of two candidates by the production code: how the page says so, the scores, and the law."""
    table = np.array([[rng.random() < 0.7, rng.random() < 0.3] for _ in range(rng.randint(1, 3))])
    objective = Coverage(table)
    guarantee = PureDP(Fraction(rng.choice((1, 2))), "add-remove-one")
    planned = plan(
        2, UniformMatroid(2, 1), guarantee, objective=ObjectiveSpec.of(objective), method=method
    )
    law = enumerate_law(
        lambda bits: planned.method.choose(objective, planned.matroid, planned.draws, bits)[0][0],
        max_runs=40,
    )
    text = draws_in_words(method, planned.draws.mechanism, planned.draws.coefficient)
    masses = {int(str(at)): float(one) for at, one in law.masses.items()}
    c = float(planned.draws.coefficient or 0)
    return text, table.sum(axis=0).tolist(), table, masses, float(law.unexplored), c


def stated_law(text: str, scores: list[int], table: Any, c: float, keep: float) -> list[float]:
    """Compute the law that a sentence states."""
    if "come in random order" in text:
        return flips(scores, c)
    if "secret sample" in text:
        found = np.zeros(2)
        for kept in product((False, True), repeat=len(table)):
            chance = math.prod(keep if one else 1 - keep for one in kept)
            found += chance * np.array(soft(table[list(kept)].sum(axis=0).tolist(), c))
        return [float(one) for one in found]
    return soft(scores, c)


def look_at_law(rng: Random, methods: tuple[str, ...], wrong: str, *, false: bool) -> Found:
    text, scores, table, masses, rest, c = drawn(rng.choice(methods), rng)
    stated = after(text, "c =")
    assert abs(stated - c) <= 1e-3 * c
    keep = -math.expm1(-math.log(math.expm1(c))) if math.expm1(c) > 0 else 0.0
    # c = ln(1 + e^epsilon), so that 1 - e^-epsilon is kept.
    law = stated_law(
        wrong if false else text, scores, table, c * (2 if false and wrong == "" else 1), keep
    )
    for at, chance in enumerate(law):
        low = masses.get(at, 0.0)
        if not low - 1e-6 <= chance <= low + rest + 1e-6:
            return f"{text}: {scores}, stated {chance}, found {low} to {low + rest}"
    return None


@searched("draws", "exp(2 c times its score)")
def _(rng: Random, *, false: bool) -> Found:
    return look_at_law(
        rng, ("algorithm-3", "mitrovic", "part-sampled", "subsampled"), "", false=false
    )


@searched("draws by flips", "a candidate's chance is proportional to exp(c times its score)")
def _(rng: Random, *, false: bool) -> Found:
    return look_at_law(rng, ("permute-and-flip",), "proportional", false=false)


@searched("draws, then rounding", "a candidate comes first that passes a coin")
def _(rng: Random, *, false: bool) -> Found:
    return look_at_law(rng, ("base-continuous-greedy",), "come in random order", false=false)


# The tests.


def test_every_statement_has_a_search_and_none_is_left_over() -> None:
    assert set(SEARCHES) == set(STATEMENTS)


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_names_its_precondition_and_what_proves_it(name: str) -> None:
    one = STATEMENTS[name]
    assert one.precondition.endswith(".")
    assert len(one.precondition.split()) >= 3
    bibliography = (ROOT / "docs" / "refs.bib").read_text(encoding="utf-8")
    cited = re.findall(r"\[(\w+)\]_", one.basis)
    pages = re.findall(r"docs/\S+\.md", one.basis)
    assert cited or pages, one.basis
    assert all(f"{{{key}," in bibliography for key in cited)
    assert all((ROOT / page).is_file() for page in pages)


@pytest.mark.parametrize(
    "count", [INSTANCES, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("name", STATEMENTS)
def test_no_tiny_instance_contradicts_a_statement(name: str, count: int) -> None:
    dear = name in DEAR or name.startswith(("loss of", "bound of", "excess"))
    for seed in range(FEW if dear and count == INSTANCES else count):
        found = SEARCHES[name].holds(chance(seed))
        assert found is None, f"{name}, seed {seed}: {found}"


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_false_variant_of_a_statement_is_refuted(name: str) -> None:
    refuted = any(SEARCHES[name].refutes(chance(seed)) for seed in range(INSTANCES))
    assert refuted, SEARCHES[name].variant


def test_no_two_statements_have_one_template() -> None:
    plain = Counter(
        " ".join(sorted(re.findall(r"[a-z]+", re.sub(r"\{\w*\}", "", one.template.lower()))))
        for one in STATEMENTS.values()
    )
    assert max(plain.values()) == 1
    for one in STATEMENTS.values():
        assert all(name is None or name for _, name, _, _ in string.Formatter().parse(one.template))


def test_a_gap_of_a_level_is_half_a_weighted_distance() -> None:
    assert LevelGap(2, 97.0, 100.0).gap == 0.03
