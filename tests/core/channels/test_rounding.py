"""The proved rounding keeps every inequality; rounding to the nearest integers does not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.core.channels.channel import Channel
from discreet.core.channels.rounding import mixing_weight, round_channel
from discreet.core.errors import InvalidProblemError
from discreet.core.exact import exp_floor, log_floor
from discreet.core.kernels.distances import round_rows


def violations(channel: Channel, exponents: dict[tuple[int, int], Fraction]) -> int:
    """Count broken inequalities in exact integers; the oracle of this file."""
    weights = channel.weights.tolist()
    broken = 0
    for (i, j), exponent in exponents.items():
        factor = exp_floor(exponent, 200)
        broken += sum((w << 200) > v * factor for w, v in zip(weights[i], weights[j], strict=True))
    return broken


def exact_slack(
    matrix: NDArray[np.float64], exponents: dict[tuple[int, int], Fraction]
) -> Fraction:
    """The least slack of the matrix with its rows divided by their exact sums, rounded down."""
    rows = [[Fraction(x) for x in row] for row in matrix.tolist()]
    normal = [[x / sum(row) for x in row] for row in rows]
    return min(
        exponent
        - max(
            -Fraction(log_floor(v / w, 80), 1 << 80)
            for w, v in zip(normal[i], normal[j], strict=True)
        )
        for (i, j), exponent in exponents.items()
    ) - Fraction(1, 1 << 70)


@st.composite
def matrices(draw: st.DrawFn) -> tuple[NDArray[np.float64], dict[tuple[int, int], Fraction]]:
    """A positive matrix over many magnitudes, and exponents that leave it a little slack."""
    n, k = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    logs = np.array([[draw(st.floats(-40, 0)) for _ in range(k)] for _ in range(n)])
    matrix = np.exp(logs)
    share = matrix / matrix.sum(axis=1, keepdims=True)
    extra = draw(st.sampled_from([1e-9, 1e-6, 1e-2, 3.0]))
    exponents = {
        (i, j): Fraction(float(np.max(np.log(share[i] / share[j])) + extra) if i != j else 0.0)
        for i in range(n)
        for j in range(n)
        if i != j
    }
    return matrix, exponents


@given(matrices(), st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=80)
def test_rounding_keeps_every_inequality(
    case: tuple[NDArray[np.float64], dict[tuple[int, int], Fraction]], limbs: int
) -> None:
    matrix, exponents = case
    slack = exact_slack(matrix, exponents)
    assert slack > 0
    channel = round_channel(matrix, slack=slack, limbs=limbs)
    assert violations(channel, exponents) == 0
    theta = mixing_weight(matrix.shape[1], slack, limbs=limbs)
    share = matrix / matrix.sum(axis=1, keepdims=True)
    assert np.abs(channel.probabilities - share).max() <= float(theta) + 1e-12


@given(
    st.integers(1, 3), st.integers(1, 6), st.integers(2, 2**38), st.integers(-900, 900), st.data()
)
@settings(deadline=None, max_examples=100)
def test_pairs_of_floats_round_within_a_unit(
    n: int, k: int, lift: int, exponent: int, data: st.DataObject
) -> None:
    """Every weight is within 1 + 2^-38 units of its exact share, whatever the magnitudes."""
    logs = np.array([[data.draw(st.floats(-200, 0)) for _ in range(k)] for _ in range(n)])
    matrix = np.ldexp(np.exp(logs), exponent // 2)
    matrix[:, data.draw(st.lists(st.integers(0, k - 1), max_size=k - 1))] = 0.0
    rows = round_rows(np.ldexp(matrix, -np.frexp(matrix.max(axis=1, keepdims=True))[1]), lift)
    for row, weights in zip(matrix.tolist(), rows.tolist(), strict=True):
        exact = [Fraction(x) for x in row]
        free = 2**62 - lift * sum(x > 0 for x in exact)
        assert sum(weights) == 2**62
        for x, weight in zip(exact, weights, strict=True):
            share = free * x / sum(exact) + (lift if x else 0)
            assert abs(weight - share) <= 1 + Fraction(1, 2**38)


def kernel_mechanism(
    size: int, epsilon: float
) -> tuple[NDArray[np.float64], dict[tuple[int, int], Fraction]]:
    """The closed form of the optimal channel on a grid of unit cells, all pairs."""
    points = np.array([(x, y) for x in range(size) for y in range(size)], dtype=float)
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    kernel = np.exp(-epsilon * distances)
    matrix = kernel * np.linalg.solve(kernel, np.ones(len(points)))
    pairs = [(i, j) for i in range(len(points)) for j in range(len(points)) if i != j]
    return matrix, {(i, j): Fraction(epsilon) * Fraction(float(distances[i, j])) for i, j in pairs}


def nearest(matrix: NDArray[np.float64]) -> Channel:
    """Round each weight to an integer, the largest remainders up: what the proved rounding replaces."""
    share = matrix / matrix.sum(axis=1, keepdims=True)
    weights = [[int(Fraction(x) * 2**62) for x in row] for row in share.tolist()]
    for row in weights:
        row[int(np.argmax(row))] += 2**62 - sum(row)
    return Channel.from_weights(weights)


def test_rounding_to_the_nearest_integers_is_rejected_by_the_same_oracle() -> None:
    """On the 5 x 5 grid at epsilon 10, 62 bits: zeros stand beside ones, infinite ratios."""
    matrix, exponents = kernel_mechanism(5, 10.0)
    naive = nearest(matrix)
    weights = naive.weights
    infinite = sum(int(((weights[i] > 0) & (weights[j] == 0)).sum()) for i, j in exponents)
    assert infinite > 500
    assert violations(naive, exponents) >= infinite
    design, _ = kernel_mechanism(5, 10.0 * (1 - 1e-6))
    slack = Fraction(10) * Fraction(1, 10**6) * Fraction(1, 2)
    assert violations(round_channel(design, slack=slack), exponents) == 0


def test_slack_that_the_matrix_does_not_have_is_not_made_up() -> None:
    """The proof needs the slack: claimed falsely, inequalities break, and the oracle notices."""
    tight = np.array([[0.75, 0.25], [0.25, 0.75]])
    exponents = {(0, 1): Fraction(math.log(3)), (1, 0): Fraction(math.log(3))}
    loose = {pair: exponent - Fraction(1, 100) for pair, exponent in exponents.items()}
    assert violations(round_channel(tight, slack="0.01"), loose) > 0


def test_zeros_stay_zero_and_rows_sum_exactly() -> None:
    channel = round_channel([[0.5, 0.0, 0.5], [0.9, 0.0, 0.2]], slack="1e-3")
    assert channel.weights[:, 1].tolist() == [0, 0]
    assert channel.weights.astype(object).sum(axis=1).tolist() == [2**62, 2**62]
    one = round_channel([[5.0]], slack=1)
    assert one.weights.tolist() == [[2**62]]


@pytest.mark.parametrize(
    ("matrix", "slack", "name"),
    [
        ([0.5, 0.5], 1, "matrix"),
        ([[]], 1, "matrix"),
        ([[0.5, -0.5]], 1, "matrix"),
        ([[0.5, math.nan]], 1, "matrix"),
        ([[0.5, math.inf]], 1, "matrix"),
        ([[0.5, 0.5], [0.0, 0.0]], 1, "matrix"),
        ([[0.5, 0.5]], 0, "slack"),
        ([[0.5, 0.5]], -1, "slack"),
        ([[0.5, 0.5]], "1e-18", "slack"),
    ],
)
def test_what_cannot_be_rounded_is_refused(
    matrix: list[list[float]], slack: float | str, name: str
) -> None:
    with pytest.raises(InvalidProblemError, match=f"^{name}: expected"):
        round_channel(matrix, slack=slack)


def test_more_lift_than_pairs_of_floats_can_vouch_for_is_rounded_in_integers() -> None:
    channel = round_channel([[0.5, 0.25, 0.0], [0.25, 0.25, 0.0]], slack="1e-12")
    assert channel.weights.astype(object).sum(axis=1).tolist() == [2**62, 2**62]
    assert channel.weights[1].tolist() == [2**61, 2**61, 0]


def test_a_second_limb_carries_less_slack() -> None:
    channel = round_channel([[0.5, 0.5]], slack="1e-18", limbs=2)
    assert channel.total == 2**124
    assert mixing_weight(2, "1e-18", limbs=2) < Fraction(1, 10**18)
