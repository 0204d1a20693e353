"""Trajectory attacks: equal to enumeration of all ways, optimal, and idle against the control group."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.progress import Progress
from discreet.core.randomness import SeededBits
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.attack import reports, trajectory
from discreet.evaluate.attack.finding import Finding
from discreet.evaluate.attack.reports import repeated_success
from discreet.evaluate.attack.trajectory import (
    attack_trajectories,
    forward_backward,
    random_walk,
    viterbi,
)
from discreet.metricdp import Exponential, Problem, design

ONE = 2**62


def random_channel(generator: np.random.Generator, n: int, k: int) -> Channel:
    rows = []
    for _ in range(n):
        shares = generator.integers(0, 5, size=k) + (np.arange(k) == generator.integers(k))
        weights = [ONE // int(shares.sum()) * int(share) for share in shares]
        weights[int(shares.argmax())] += ONE - sum(weights)
        rows.append(weights)
    return Channel.from_weights(rows)


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=50)
def test_both_passes_are_what_enumeration_gives(seed: int, n: int, k: int, steps: int) -> None:
    generator = np.random.default_rng(seed)
    channel = random_channel(generator, n, k)
    moves, prior = generator.dirichlet(np.ones(n), size=n), generator.dirichlet(np.ones(n))
    chance: dict[tuple[int, ...], float] = {}
    seen = generator.integers(k, size=steps)
    for way in itertools.product(range(n), repeat=steps):
        p = float(prior[way[0]])
        for t, place in enumerate(way):
            p *= channel.probabilities[place, seen[t]] * (moves[way[t - 1], place] if t else 1)
        chance[way] = p
    total = sum(chance.values())
    if total == 0:
        for attack in (forward_backward, viterbi):
            with pytest.raises(InvalidProblemError, match="the model can give"):
                attack(channel, moves, seen, prior)
        return
    exact = np.zeros((steps, n))
    for way, p in chance.items():
        exact[np.arange(steps), list(way)] += p / total
    assert forward_backward(channel, moves, seen, prior) == pytest.approx(exact)
    found = tuple(viterbi(channel, moves, seen, prior).tolist())
    assert chance[found] == pytest.approx(max(chance.values()))


def test_many_ways_are_each_way() -> None:
    generator = np.random.default_rng(1)
    channel = random_channel(generator, 4, 4)
    moves = generator.dirichlet(np.ones(4), size=4)
    seen = generator.integers(4, size=(2, 3, 5)) * 0 + 1
    together = forward_backward(channel, moves, seen)
    assert together.shape == (2, 3, 5, 4)
    assert together[1, 2] == pytest.approx(forward_backward(channel, moves, seen[1, 2]))
    assert viterbi(channel, moves, seen)[0, 1].tolist() == (
        viterbi(channel, moves, seen[0, 1]).tolist()
    )


def test_blocks_of_ways_are_attacked_as_all_ways_at_once(
    monkeypatch: pytest.MonkeyPatch, grid: tuple[Problem, Channel]
) -> None:
    problem, channel = grid
    moves, told = random_walk(problem.space, 0.5), list[Progress]()

    def attack() -> list[Finding]:
        return attack_trajectories(
            channel,
            moves,
            steps=3,
            loss=problem.loss,
            trials=21,
            bits=SeededBits(4),
            on_progress=told.append,
        )

    whole = attack()
    assert [(step.done, step.total) for step in told] == [(0, 21), (21, 21)]
    told.clear()
    monkeypatch.setattr(trajectory, "MAX_LIKELIHOODS_AT_ONCE", 4 * 3 * 9)
    assert attack() == whole
    assert [step.done for step in told] == [0, 4, 8, 12, 16, 20, 21]


def test_the_control_group_pairs_ways_that_are_independent(grid: tuple[Problem, Channel]) -> None:
    """Each pair of ways counts once: the interval of the control group is that of half as many trials."""
    problem, channel = grid
    found = attack_trajectories(
        channel, random_walk(problem.space, 0.5), steps=2, trials=21, bits=SeededBits(4)
    )
    assert [one.attacker.trials for one in found] == [21] * 4
    assert [one.control.trials for one in found if one.control is not None] == [10] * 4


@pytest.mark.jit
def test_hundreds_of_secrets_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither multisets of reports by all reports nor the beliefs of all ways are in memory at once."""
    n, trials, steps = 250, 200, 20
    rows = np.full((n, n), ONE // (2 * n), dtype=np.uint64)
    rows[np.arange(n), np.arange(n)] += np.uint64(ONE - n * (ONE // (2 * n)))
    channel = Channel.from_weights(rows)
    near = np.eye(n) / 2 + np.roll(np.eye(n), 1, axis=1) / 2
    monkeypatch.setattr(trajectory, "MAX_LIKELIHOODS_AT_ONCE", 1 << 18)
    monkeypatch.setattr(reports, "MAX_LIKELIHOODS_AT_ONCE", 1 << 18)
    # What is imported and compiled on first use is no memory of theirs.
    attack_trajectories(channel, near, steps=2, trials=4)
    tracemalloc.start()
    try:
        assert repeated_success(channel, reports=2) == pytest.approx(0.5, abs=0.01)
        assert tracemalloc.get_traced_memory()[1] < math.comb(n + 1, 2) * n * 8 / 3
        tracemalloc.reset_peak()
        attack_trajectories(channel, near, steps=steps, trials=trials)
        assert tracemalloc.get_traced_memory()[1] < trials * steps * n * 8 * 2
    finally:
        tracemalloc.stop()


def test_long_ways_neither_vanish_nor_overflow() -> None:
    generator = np.random.default_rng(2)
    channel = random_channel(generator, 3, 3)
    moves = generator.dirichlet(np.ones(3), size=3)
    found = forward_backward(channel, moves, np.full(5000, int(channel.limbs[0, 0].argmax())))
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.fixture(scope="module")
def grid() -> tuple[Problem, Channel]:
    problem = Problem(MetricSpace.grid(3, 3, cell=1, unit="km"), utility_loss="euclidean")
    return problem, design(
        problem, MetricDP(2, unit="km"), method=Exponential(), throw=False
    ).channel


def test_whoever_sees_all_reports_does_better_than_whoever_sees_one(
    grid: tuple[Problem, Channel],
) -> None:
    problem, channel = grid
    moves = random_walk(problem.space, 0.5)
    found = attack_trajectories(
        channel, moves, steps=8, loss=problem.loss, unit="km", trials=800, bits=SeededBits(4)
    )
    alone, together, way, whole, error = found
    assert together.attacker.value > alone.attacker.value > alone.baseline.value
    assert together.attacker.value >= way.attacker.value - 0.02
    assert whole.attacker.value > whole.baseline.value
    assert error.error
    assert error.attacker.value < error.baseline.value
    assert error.measure == "error, km"
    for one in found:
        assert one.control is not None
        idle = (
            one.control.high >= one.baseline.low
            if one.error
            else (one.control.low <= one.baseline.high)
        )
        assert idle


def test_somebody_who_stays_is_found_by_repetition() -> None:
    """With no moves the posterior of every step is that of all reports of one secret."""
    q = ONE // 4
    coin = Channel.from_weights([[3 * q, q], [q, 3 * q]])
    found = attack_trajectories(coin, np.eye(2), steps=3, trials=3000, bits=SeededBits(5))
    assert found[0].attacker.low <= 0.75 <= found[0].attacker.high
    assert found[1].attacker.low <= 0.84375 <= found[1].attacker.high


def test_the_best_is_not_beaten_by_another_rule() -> None:
    """Among all rules from three reports to the place in the middle, none beats the posterior's."""
    generator = np.random.default_rng(3)
    channel = random_channel(generator, 2, 2)
    moves, prior = generator.dirichlet(np.ones(2), size=2), np.array([0.3, 0.7])
    joint = np.zeros((8, 2))
    sequences = list(itertools.product(range(2), repeat=3))
    for at, seen in enumerate(sequences):
        for way in itertools.product(range(2), repeat=3):
            p = prior[way[0]] * moves[way[0], way[1]] * moves[way[1], way[2]]
            joint[at, way[1]] += p * np.prod(channel.probabilities[list(way), list(seen)])
    possible = joint.sum(axis=1) > 0
    best = max(
        joint[np.arange(8), list(rule)].sum() for rule in itertools.product(range(2), repeat=8)
    )
    answers = np.zeros(8, dtype=np.int64)
    told = np.array(sequences)[possible]
    answers[possible] = forward_backward(channel, moves, told, prior)[:, 1].argmax(axis=-1)
    assert joint[np.arange(8), answers].sum() == pytest.approx(best)


COIN = Channel.from_weights([[ONE // 2, ONE // 2]] * 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: random_walk(MetricSpace.grid(1, 2, cell=1, unit="km"), 0),
        lambda: forward_backward(COIN, np.eye(3), [0]),
        lambda: forward_backward(COIN, [[0.5, 0.6], [0.5, 0.5]], [0]),
        lambda: forward_backward(COIN, [[1.5, -0.5], [0.5, 0.5]], [0]),
        lambda: forward_backward(COIN, np.eye(2), [2]),
        lambda: forward_backward(COIN, np.eye(2), [0.5]),
        lambda: viterbi(COIN, np.eye(2), []),
        lambda: attack_trajectories(COIN, np.eye(2), steps=0),
        lambda: attack_trajectories(COIN, np.eye(2), steps=1, trials=3),
        lambda: attack_trajectories(COIN, np.eye(2), steps=1, loss=[[1.0]]),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(InvalidProblemError):
        wrong()
