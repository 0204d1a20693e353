"""Audit of channels: the law of what is reported, from running the production sampler, and metric privacy on that law.

A draw below 2^62 cannot be tried value by value. Two ways around: the unmodified sampler on a channel with a tiny
total, over all its draws; and on real channels its steps, found by bisection and probed on both sides.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.channel import Channel
from discreet.core.guarantee import MetricDP
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp import Problem, design
from discreet.testing import Law, assert_law, assert_pure_dp, enumerate_law

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    from discreet.core.randomness.bits import RandomBits

    Sampler = Callable[[Any, int, RandomBits], int]


def tiny(rows: list[list[int]]) -> Any:
    """Something with the parts of a channel that its samplers use, and row sums small enough to try every draw."""
    table = np.array(rows, dtype=np.uint64)
    return SimpleNamespace(
        row=lambda secret: rows[secret],
        limbs=table[None],
        total=sum(rows[0]),
        n_secrets=len(rows),
    )


def off_by_one(channel: Any, secret: int, bits: RandomBits) -> int:
    """A sampler with ``<=`` where ``<`` belongs."""
    target = bits.randrange(channel.total)
    for report, weight in enumerate(channel.row(secret)):
        target -= weight
        if target <= 0:
            return report
    raise AssertionError


class Scripted:
    """Bits that answer one question with a chosen number, and no second one."""

    def __init__(self, answer: int) -> None:
        self.answer = answer
        self.stop: int | None = None

    def randrange(self, stop: int, /) -> int:
        assert self.stop is None, "a second draw"
        self.stop = stop
        return self.answer

    def randranges(self, stop: int, size: int) -> NDArray[np.uint64]:
        assert size == 1
        return np.array([self.randrange(stop)], dtype=np.uint64)


def one_by_one(channel: Any, secret: int, bits: RandomBits) -> int:
    return Channel.report(channel, secret, bits)


def in_a_batch(channel: Any, secret: int, bits: RandomBits) -> int:
    return int(Channel.report_many(channel, [secret], bits)[0])


def law_by_steps(sampler: Sampler, channel: Channel, secret: int) -> Law:
    """Find the law of a sampler whose report never falls when its one draw grows.

    The step to each report is found by bisection; that the report does not fall is checked at all numbers asked.
    """
    asked: dict[int, int] = {}

    def report(target: int) -> int:
        bits = Scripted(target)
        asked[target] = sampler(channel, secret, bits)
        assert bits.stop == channel.total
        return asked[target]

    steps = [0]
    for k in range(1, channel.n_reports + 1):
        low, high = steps[-1], channel.total
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if report(middle) >= k else (middle + 1, high)
        steps.append(low)
    for step in steps[1:]:
        for target in range(max(step - 2, 0), min(step + 2, channel.total)):
            report(target)
    answers = [asked[target] for target in sorted(asked)]
    assert answers == sorted(answers)
    masses: dict[Hashable, Fraction] = {
        k: Fraction(b - a, channel.total) for k, (a, b) in enumerate(pairwise(steps))
    }
    return Law(masses, Fraction(0), len(asked))


def weights_of(channel: Channel, secret: int) -> dict[int, Fraction]:
    return {k: Fraction(w, channel.total) for k, w in enumerate(channel.row(secret))}


# ------------------------------------------------------------------------------- over all draws, tiny totals


@pytest.mark.parametrize("sampler", [one_by_one, in_a_batch])
@settings(max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5).filter(any))
def test_every_draw_is_accounted_for(sampler: Sampler, row: list[int]) -> None:
    """Zeros at either end and in between, one certain report: the law is the row."""
    channel = tiny([row])
    law = enumerate_law(lambda bits: sampler(channel, 0, bits))
    assert law.unexplored == 0
    assert_law(law, {k: Fraction(w, sum(row)) for k, w in enumerate(row)})


def test_reports_of_a_batch_are_independent() -> None:
    """Two secrets, three reports: the joint law is the product."""
    rows = [[1, 3], [2, 2]]
    channel = tiny(rows)
    law = enumerate_law(lambda bits: Channel.report_many(channel, [0, 1, 0], bits))
    expected = {
        (a, b, c): Fraction(rows[0][a] * rows[1][b] * rows[0][c], 64)
        for a in range(2)
        for b in range(2)
        for c in range(2)
    }
    assert_law(law, expected)
    assert law.unexplored == 0


def test_an_off_by_one_in_the_sampler_is_found() -> None:
    """One draw in eight goes to the wrong report."""
    channel = tiny([[1, 7], [0, 8]])
    law = enumerate_law(lambda bits: off_by_one(channel, 0, bits))
    with pytest.raises(AssertionError, match="mass 0.25 is more than 0.125"):
        assert_law(law, {0: "1/8", 1: "7/8"})


def test_metric_privacy_of_tiny_laws() -> None:
    """Weights 1 : 2 are ln 2 = 0.6932 apart: proved at 0.694 nats, refuted at 0.693."""
    channel = tiny([[2, 6], [4, 4]])
    first = enumerate_law(lambda bits: one_by_one(channel, 0, bits))
    second = enumerate_law(lambda bits: one_by_one(channel, 1, bits))
    assert assert_pure_dp(first, second, "0.694").proved
    with pytest.raises(AssertionError, match="not 693/1000-indistinguishable"):
        assert_pure_dp(first, second, "0.693")


# ----------------------------------------------------------------------------------- by steps, real channels


def made(epsilon: int) -> tuple[MetricSpace, Channel]:
    space = MetricSpace.grid(2, 3, cell=1, unit="km")
    problem = Problem(space, utility_loss="euclidean")
    return space, design(problem, MetricDP(epsilon, unit="km")).channel


@pytest.mark.parametrize("sampler", [one_by_one, in_a_batch])
@pytest.mark.parametrize("epsilon", [1, 10])
def test_a_designed_channel_samples_its_weights(sampler: Sampler, epsilon: int) -> None:
    space, channel = made(epsilon)
    for secret in range(space.n):
        assert_law(law_by_steps(sampler, channel, secret), weights_of(channel, secret))


@pytest.mark.parametrize("sampler", [one_by_one, in_a_batch])
def test_two_limbs_sample_their_weights(sampler: Sampler) -> None:
    """Weights of 124 bits, one of them a single unit."""
    channel = Channel.from_weights([[1, 2**62, 0, 2**124 - 2**62 - 1], [2**124, 0, 0, 0]])
    for secret in (0, 1):
        assert_law(law_by_steps(sampler, channel, secret), weights_of(channel, secret))


@pytest.mark.parametrize("epsilon", [1, 10])
def test_the_sampled_laws_are_metric_private(epsilon: int) -> None:
    """Every pair at epsilon times its distance: proved, with nothing unexplored."""
    space, channel = made(epsilon)
    laws = [law_by_steps(one_by_one, channel, secret) for secret in range(space.n)]
    for i in range(space.n):
        for j in range(i):
            assert assert_pure_dp(laws[i], laws[j], epsilon * space.distance(i, j)).proved


def test_a_channel_rounded_without_proof_is_found_out() -> None:
    """Largest remainders alone: one secret never gives a report that its neighbor gives."""
    space = MetricSpace.grid(1, 6, cell=1, unit="km")
    decay = np.exp(-10 * space.distances * 2.0**-space.scale_bits)
    matrix = decay * np.linalg.solve(decay, np.ones(6))
    rows = []
    for row in matrix:
        weights = [round(Fraction(float(x)) * 2**62) for x in row]
        weights[int(row.argmax())] += 2**62 - sum(weights)
        rows.append(weights)
    channel = Channel.from_weights(rows)
    first, second = (law_by_steps(one_by_one, channel, secret) for secret in (0, 1))
    with pytest.raises(AssertionError, match="indistinguishable"):
        assert_pure_dp(first, second, 10 * space.distance(0, 1))


def test_a_sampler_that_reads_probabilities_as_floats_is_found_out() -> None:
    """A cumulative sum of floats moves the steps: the law is not that of the weights."""

    def with_floats(channel: Channel, secret: int, bits: RandomBits) -> int:
        target = bits.randrange(channel.total) / channel.total
        steps = np.cumsum(channel.probabilities[secret])
        return min(int(np.searchsorted(steps, target, side="right")), channel.n_reports - 1)

    _, channel = made(10)
    assert_law(law_by_steps(one_by_one, channel, 0), weights_of(channel, 0))
    with pytest.raises(AssertionError, match="mass"):
        assert_law(law_by_steps(with_floats, channel, 0), weights_of(channel, 0))


def test_a_second_draw_is_found_out() -> None:
    """A report is one draw: nothing else may influence it."""

    def twice(channel: Channel, secret: int, bits: RandomBits) -> int:
        bits.randrange(2)
        return channel.report(secret, bits)

    _, channel = made(1)
    with pytest.raises(AssertionError, match="a second draw"):
        law_by_steps(twice, channel, 0)
