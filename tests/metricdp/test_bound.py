"""The lower bound: what it is exactly, that it holds for any prices, and that routed demands cancel."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_ceil, exp_floor
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem
from discreet.metricdp.bounds.bound import Multipliers, exp_up, lower_bound, route_demands

if TYPE_CHECKING:
    from numpy.typing import NDArray

LINE = Adjacency(3, [(0, 1), (1, 2)], [3, 5], scale_bits=2)  # type: ignore[arg-type]


def exact_bound(
    cost: NDArray[np.float64], graph: Adjacency, epsilon: Fraction, prices: Multipliers
) -> Fraction:
    """Evaluate the formula in fractions, e^x replaced by 200 bits of it, rounded up as the bound wants it."""
    bracket = [[Fraction(entry) for entry in row] for row in cost.tolist()]
    lengths = {
        pair: Fraction(length, 1 << graph.scale_bits)
        for pair, length in zip(
            map(tuple, graph.pairs.tolist()), graph.lengths.tolist(), strict=True
        )
    }
    for k, s, t, value in zip(
        prices.report.tolist(),
        prices.source.tolist(),
        prices.target.tolist(),
        prices.value.tolist(),
        strict=True,
    ):
        ratio = Fraction(exp_ceil(epsilon * lengths[min(s, t), max(s, t)], 200), 1 << 200)
        bracket[s][k] += Fraction(value)
        bracket[t][k] -= ratio * Fraction(value)
    # Secrets at distance 0 share a row.
    root = list(range(graph.n))
    for (i, j), length in lengths.items():
        if length == 0:
            old, new = root[j], root[i]
            root = [new if r == old else r for r in root]
    rows = [[bracket[i] for i in range(graph.n) if root[i] == r] for r in set(root)]
    least = [min(map(sum, zip(*group, strict=True))) for group in rows]
    return Fraction(sum(least))


@st.composite
def instances(draw: st.DrawFn) -> tuple[NDArray[np.float64], Adjacency, Fraction, Multipliers]:
    n, k = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    every = [(i, j) for i in range(n) for j in range(i + 1, n)]
    pairs = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    lengths = draw(st.lists(st.integers(0, 40), min_size=len(pairs), max_size=len(pairs)))
    graph = Adjacency(n, pairs, lengths, 3)  # type: ignore[arg-type]
    numbers = st.floats(0, 100, allow_subnormal=True)
    cost = np.array(draw(st.lists(numbers, min_size=n * k, max_size=n * k))).reshape(n, k)
    chosen = draw(
        st.lists(st.tuples(st.sampled_from(pairs), st.booleans(), st.integers(0, k - 1), numbers))
    )
    prices = Multipliers(
        np.array([report for _, _, report, _ in chosen], dtype=np.int32),
        np.array([pair[turned] for pair, turned, _, _ in chosen], dtype=np.int32),
        np.array([pair[not turned] for pair, turned, _, _ in chosen], dtype=np.int32),
        np.array([value for *_, value in chosen], dtype=np.float64),
    )
    return cost, graph, Fraction(draw(st.integers(1, 30)), 10), prices


@given(instances())
@settings(max_examples=150)
def test_it_is_below_the_exact_formula_and_close_to_it(
    instance: tuple[NDArray[np.float64], Adjacency, Fraction, Multipliers],
) -> None:
    cost, graph, epsilon, prices = instance
    bound, exact = (
        lower_bound(cost, graph, epsilon, prices),
        exact_bound(cost, graph, epsilon, prices),
    )
    assert Fraction(bound) <= exact
    size = float(cost.sum()) + float(prices.value.sum()) * math.exp(float(epsilon) * 5.5)
    assert float(exact - Fraction(bound)) <= 1e-11 * (size + 1e-290)


@given(instances())
@settings(max_examples=100)
def test_it_holds_for_every_private_channel_whatever_the_prices(
    instance: tuple[NDArray[np.float64], Adjacency, Fraction, Multipliers],
) -> None:
    cost, graph, epsilon, prices = instance
    # The exponential mechanism on shortest paths, with random centers, and constant reports: all are private.
    paths = graph.shortest_paths().astype(float)
    paths[paths < 0] = np.inf
    rng = np.random.default_rng(len(prices))
    centers = rng.integers(0, graph.n, cost.shape[1])
    half = np.exp(-0.5 * float(epsilon) * 2.0**-graph.scale_bits * paths[:, centers]) + 1e-300
    for channel in (
        half,
        np.eye(cost.shape[1])[rng.integers(0, cost.shape[1], 1)].repeat(graph.n, 0),
    ):
        loss = (cost * (channel / channel.sum(axis=1, keepdims=True))).sum()
        assert lower_bound(cost, graph, epsilon, prices) <= loss * (1 + 1e-9) + 1e-300


def test_no_prices_give_the_loss_without_privacy() -> None:
    cost = np.array([[1.0, 2.0], [3.0, 1.0], [0.5, 0.25]])
    bound = lower_bound(cost, LINE, Fraction(1), Multipliers.empty())
    assert 2.25 - 1e-12 < bound <= 2.25


def test_two_secrets_closed_form() -> None:
    """O1: two secrets at distance d, loss d, optimum d q / (1 + q) with q = e^(-epsilon d)."""
    for epsilon in ("0.1", 1, 10, 30):
        d, e = 1.5, Fraction(epsilon)
        space = MetricSpace.from_matrix([[0, d], [d, 0]], unit="km")
        q = math.exp(-float(e) * d)
        price = 0.5 * d * q / (1 + q)
        prices = Multipliers([0, 1], [0, 1], [1, 0], [price, price])
        cost = Problem(space, utility_loss="distance").cost
        assert lower_bound(cost, space.adjacency(), e, prices) == pytest.approx(
            d * q / (1 + q), rel=1e-9
        )


@pytest.mark.parametrize("nats", [300, 700, 709, 710, 5000])
def test_huge_exponents_overflow_to_no_bound_and_never_to_a_wrong_one(nats: int) -> None:
    pair = Adjacency(2, [(0, 1)], [nats], 0)  # type: ignore[arg-type]
    cost = np.array([[0.0, 1.0], [1.0, 0.0]])
    tiny = Multipliers([0], [0], [1], [math.exp(-min(nats, 700))])
    bound = lower_bound(cost, pair, Fraction(1), tiny)
    assert bound <= 0.0 or bound == pytest.approx(math.exp(-nats), rel=1e-9)
    assert bound == -math.inf or nats <= 709
    assert lower_bound(cost, pair, Fraction(1), Multipliers([0], [0], [1], [1.0])) < 0
    none = Multipliers([0], [0], [1], [0.0])
    assert -1e-300 < lower_bound(cost, pair, Fraction(1), none) <= 0.0


def test_a_sum_beyond_the_floats_is_no_bound() -> None:
    same = Adjacency(2, [(0, 1)], [0], 0)  # type: ignore[arg-type]
    assert (
        lower_bound(np.full((2, 1), 1.5e308), same, Fraction(1), Multipliers.empty()) == -math.inf
    )
    apart = Adjacency(2, [(0, 1)], [1], 0)  # type: ignore[arg-type]
    assert lower_bound(np.full((2, 1), 1e308), apart, Fraction(1), Multipliers.empty()) == -math.inf


@given(st.lists(st.integers(0, 2**45), min_size=1, max_size=5), st.integers(1, 10**6))
def test_exponentials_are_bracketed_from_above(lengths: list[int], per_mille: int) -> None:
    rate = Fraction(per_mille, 1000) / (1 << 41)
    for length, found in zip(lengths, exp_up(np.array(lengths), rate).tolist(), strict=True):
        if math.isinf(found):
            assert rate * length > 600
            continue
        exact = Fraction(exp_ceil(rate * length, 100), 1 << 100)
        assert (
            Fraction(exp_floor(rate * length, 100), 1 << 100)
            <= Fraction(found)
            <= exact * (1 + Fraction(1, 10**14))
        )


def test_duplicates_are_one_secret() -> None:
    graph = Adjacency(3, [(0, 1), (1, 2)], [0, 4], 0)  # type: ignore[arg-type]
    cost = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]])
    # Alone the first two would cost nothing; as one they cost 1 whatever is reported.
    assert lower_bound(cost, graph, Fraction(1), Multipliers.empty()) == pytest.approx(1.0)
    within = Multipliers([0, 1], [0, 1], [1, 0], [5.0, 7.0])
    assert lower_bound(cost, graph, Fraction(1), within) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("k", "s", "t", "says"),
    [
        (0, 0, 2, "the pair 0, 2"),
        (0, 0, 7, "the pair 0, 7"),
        (2, 0, 1, "reports below 2, got 2"),
        (0, 1, 1, "the pair 1, 1"),
    ],
)
def test_prices_of_what_is_not_stated_are_refused(k: int, s: int, t: int, says: str) -> None:
    with pytest.raises(InvalidProblemError, match=f"multipliers: .*{says}"):
        lower_bound(np.ones((3, 2)), LINE, Fraction(1), Multipliers([k], [s], [t], [1.0]))


def test_prices_on_a_graph_without_constraints_are_refused() -> None:
    alone = Adjacency(2, [], [], 0)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match="the pair 0, 1"):
        lower_bound(np.ones((2, 1)), alone, Fraction(1), Multipliers([0], [0], [1], [1.0]))


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("value", ([0], [0], [1], [-1.0])),
        ("value", ([0], [0], [1], [math.inf])),
        ("value", ([0], [0], [1], [math.nan])),
        ("value", ([0], [0], [1], [[1.0]])),
        ("report", ([0, 1], [0], [1], [1.0])),
        ("source", ([0], [-1], [1], [1.0])),
        ("target", ([0], [0], [0.5], [1.0])),
        ("target", ([0], [0], [2**31], [1.0])),
    ],
)
def test_senseless_multipliers_are_refused(field: str, parts: tuple[Any, Any, Any, Any]) -> None:
    with pytest.raises(InvalidProblemError, match=f"{field}: "):
        Multipliers(*parts)


def test_multipliers_are_frozen_relabelled_scaled_and_stacked() -> None:
    first = Multipliers([0], [0], [1], [1.0])
    moved = first.relabel(np.array([5, 3])).scaled(2.0)
    both = Multipliers.stack([first, moved])
    assert len(both) == 2
    assert (both.source.tolist(), both.target.tolist(), both.value.tolist()) == (
        [0, 5],
        [1, 3],
        [1.0, 2.0],
    )
    with pytest.raises(ValueError, match="read-only"):
        both.value[0] = 3.0


@pytest.mark.parametrize("radius", [None, 1])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_routed_demands_lower_their_entries_and_raise_the_root_alone(
    radius: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n, epsilon = 7, Fraction(3, 2)
    space = MetricSpace.from_points(rng.uniform(0, 2, (n, 2)), unit="km")
    graph = space.adjacency(radius).join(space)[0]
    paths = graph.shortest_paths()
    roots = rng.permutation(n)
    demands = rng.uniform(0, 1, (n, n)) * (rng.uniform(0, 1, (n, n)) < 0.5)
    prices = route_demands(demands, roots, paths, graph, epsilon)
    bracket = np.zeros((n, n))
    pairs = {
        tuple(pair): length
        for pair, length in zip(graph.pairs.tolist(), graph.lengths.tolist(), strict=True)
    }
    rate = float(epsilon) * 2.0**-graph.scale_bits
    for k, s, t, value in zip(
        prices.report, prices.source, prices.target, prices.value, strict=True
    ):
        bracket[s, k] += value
        bracket[t, k] -= value * math.exp(rate * pairs[min(s, t), max(s, t)])
    expected = -demands.copy()
    for k, root in enumerate(roots.tolist()):
        others = np.arange(n) != root
        expected[root, k] = (demands[others, k] * np.exp(-rate * paths[root, others])).sum()
    assert np.abs(bracket - expected).max() < 1e-9


def test_demands_too_far_away_are_dropped() -> None:
    graph = Adjacency(3, [(0, 1), (1, 2)], [30, 30], 0)  # type: ignore[arg-type]
    demands = np.zeros((3, 2))
    demands[1:, 0] = 1.0
    prices = route_demands(demands, np.array([0, -1]), graph.shortest_paths(), graph, Fraction(1))
    assert (prices.source.tolist(), prices.target.tolist()) == ([0], [1])
