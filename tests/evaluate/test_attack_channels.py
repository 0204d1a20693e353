"""Attacks on channels: closed forms, what nobody can beat, and samplers that betray more than their matrix."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.core.channels.channel import Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.core.randomness import SeededBits
from discreet.core.spaces.metric import MetricSpace
from discreet.evaluate.attack.bayes import (
    Vulnerability,
    bayes_vulnerability,
    expected_error,
    g_vulnerability,
    infer,
    success_limit,
)
from discreet.evaluate.attack.finding import Attacked, Finding
from discreet.evaluate.attack.reports import attack_reports, repeated_success, watch_repeated
from discreet.evaluate.intervals import Estimate
from discreet.metricdp import Direct, Problem, design

ONE = 2**62
IDENTITY = Channel.from_weights([[ONE, 0, 0], [0, ONE, 0], [0, 0, ONE]])
BLIND = Channel.from_weights([[ONE // 4, 3 * ONE // 4]] * 3)


def response(n: int, keep: int, of: int) -> Channel:
    """Randomized response: the truth `keep` times in `of`, each lie once (`of` is a power of two)."""
    assert of == keep + n - 1
    rows = np.full((n, n), ONE // of, dtype=object)
    np.fill_diagonal(rows, keep * (ONE // of))
    return Channel.from_weights(rows)


def geometric(n: int, halvings: int) -> Channel:
    """Truncated geometric mechanism with ratio 2^-halvings, whose rows are dyadic where the truncation is."""
    q = 2.0**-halvings
    rows = np.empty((n, n), dtype=object)
    for i in range(n):
        for k in range(n):
            share = (1 - q) / (1 + q) * q ** abs(i - k)
            if k in {0, n - 1}:
                share = q ** abs(i - k) / (1 + q)
            rows[i, k] = int(share * ONE)
        rows[i, i] += ONE - sum(rows[i])
    return Channel.from_weights(rows)


@st.composite
def channels(draw: st.DrawFn) -> tuple[Channel, NDArray[np.float64]]:
    """A small channel with zeros here and there, and a prior."""
    n, k = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shares = draw(
        st.lists(
            st.lists(st.integers(0, 8), min_size=k, max_size=k).filter(any), min_size=n, max_size=n
        )
    )
    rows = []
    for row in shares:
        weights = [ONE // sum(row) * share for share in row]
        weights[row.index(max(row))] += ONE - sum(weights)
        rows.append(weights)
    masses = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n).filter(any)), float)
    return Channel.from_weights(rows), masses / masses.sum()


def test_a_channel_that_tells_all() -> None:
    found = infer(IDENTITY, [0.5, 0.25, 0.25], 1 - np.eye(3))
    assert found.guess.prior == 0.5
    assert found.guess.posterior == 1
    assert found.guess.bits == found.mutual_information - 0.5 == 1
    assert found.capacity == pytest.approx(math.log2(3))
    assert found.error is not None
    assert (found.error.prior, found.error.posterior) == (0.5, 0.0)


def test_a_channel_that_tells_nothing() -> None:
    found = infer(BLIND, [0.5, 0.3, 0.2], np.abs(np.subtract.outer(np.arange(3), np.arange(3))))
    assert found.guess.multiplicative == pytest.approx(1)
    assert found.mutual_information == pytest.approx(0, abs=1e-12)
    assert found.capacity == pytest.approx(0, abs=1e-12)
    assert found.error is not None
    assert found.error.posterior == pytest.approx(found.error.prior)


@pytest.mark.parametrize(("n", "keep", "of"), [(2, 3, 4), (2, 15, 16), (4, 5, 8), (8, 1, 8)])
def test_randomized_response(n: int, keep: int, of: int) -> None:
    found = infer(response(n, keep, of))
    p = keep / of
    assert found.guess.posterior == pytest.approx(p)
    assert found.guess.bits == pytest.approx(math.log2(n * p))
    noise = -p * math.log2(p) - (n - 1) / of * math.log2(1 / of)
    assert found.mutual_information == pytest.approx(math.log2(n) - noise)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize("halvings", [1, 2])
def test_the_geometric_mechanism(n: int, halvings: int) -> None:
    """Guesses are the reports; the two ends gather the tails: (2 + (n - 2)(1 - q)) / (n (1 + q))."""
    q = 2.0**-halvings
    found = bayes_vulnerability(geometric(n, halvings))
    assert found.posterior == pytest.approx((2 + (n - 2) * (1 - q)) / (n * (1 + q)))
    assert found.answers.tolist() == list(range(n))


@given(channels(), st.integers(0, 2**32))
@settings(max_examples=60)
def test_no_strategy_beats_the_best(made: tuple[Channel, NDArray[np.float64]], seed: int) -> None:
    """Every rule from reports to answers, all of them tried, does at most what the optimal one does."""
    channel, prior = made
    generator = np.random.default_rng(seed)
    joint = prior[:, None] * channel.probabilities
    gain = generator.normal(size=(3, channel.n_secrets))
    loss = generator.uniform(size=(channel.n_secrets, 3))
    guess = bayes_vulnerability(channel, prior)
    g, error = g_vulnerability(channel, gain, prior), expected_error(channel, prior, loss)
    best = [0.0, -math.inf, math.inf]
    for rule in itertools.product(range(channel.n_secrets), repeat=channel.n_reports):
        best[0] = max(best[0], float(sum(joint[i, k] for k, i in enumerate(rule))))
    for rule in itertools.product(range(3), repeat=channel.n_reports):
        best[1] = max(best[1], float(sum(joint[:, k] @ gain[w] for k, w in enumerate(rule))))
        best[2] = min(best[2], float(sum(joint[:, k] @ loss[:, w] for k, w in enumerate(rule))))
    assert guess.posterior == pytest.approx(best[0])
    assert g.posterior == pytest.approx(best[1])
    assert error.posterior == pytest.approx(best[2])
    # A report never harms an attacker.
    assert guess.posterior >= guess.prior - 1e-12
    assert g.posterior >= g.prior - 1e-12
    assert error.posterior <= error.prior + 1e-12
    assert infer(channel, prior).guess.bits <= infer(channel, prior).capacity + 1e-12


@given(channels(), st.integers(1, 4))
@settings(max_examples=40)
def test_repeated_reports_are_those_of_the_product_channel(
    made: tuple[Channel, NDArray[np.float64]], reports: int
) -> None:
    channel, prior = made
    z = channel.probabilities
    total = 0.0
    for seen in itertools.product(range(channel.n_reports), repeat=reports):
        total += float((prior * z[:, list(seen)].prod(axis=1)).max())
    assert repeated_success(channel, prior, reports=reports) == pytest.approx(total)
    one = repeated_success(channel, prior, reports=1)
    assert one == pytest.approx(bayes_vulnerability(channel, prior).posterior)


@pytest.fixture(scope="module")
def line() -> tuple[Problem, Channel, MetricDP]:
    problem = Problem(MetricSpace.grid(1, 5, cell=1, unit="km"), utility_loss="euclidean")
    made = design(problem, MetricDP(1, unit="km"), method=Direct())
    return problem, made.channel, made.guarantee


def test_a_guarantee_limits_what_its_channel_tells(
    line: tuple[Problem, Channel, MetricDP],
) -> None:
    problem, channel, guarantee = line
    prior = [0.4, 0.3, 0.1, 0.1, 0.1]
    for reports in range(1, 5):
        limit = success_limit(problem.space, guarantee, prior, reports=reports)
        success = repeated_success(channel, prior, reports=reports)
        assert success is not None
        assert success <= limit < 1
    # Another channel breaks the same limit.
    told = np.full((5, 5), ONE // 100, dtype=object)
    np.fill_diagonal(told, ONE - 4 * (ONE // 100))
    assert bayes_vulnerability(Channel.from_weights(told), prior).posterior > success_limit(
        problem.space, guarantee, prior
    )


def test_a_limit_within_a_radius_allows_more() -> None:
    space = MetricSpace.grid(1, 4, cell=1, unit="km")
    near, all_pairs = MetricDP(1, "km", radius=1), MetricDP(1, "km")
    assert success_limit(space, near) > success_limit(space, all_pairs)
    assert success_limit(space, MetricDP(1, "km", radius="0.5")) == 1


def test_attackers_who_draw_do_what_was_computed(line: tuple[Problem, Channel, MetricDP]) -> None:
    problem, channel, guarantee = line
    limit = success_limit(problem.space, guarantee)
    loss = problem.loss
    found = attack_reports(channel, loss=loss, unit="km", limit=limit, bits=SeededBits(5))
    assert [one.kept for one in found] == [True, True, None, None]
    for one in found:
        assert one.bound is not None
        assert one.attacker.low <= one.bound <= one.attacker.high
    for drawn in (found[1], found[3]):
        assert drawn.control is not None
        lowest, highest = drawn.control.low, drawn.control.high
        # Told about others, the attacker does no better than one who knows nothing.
        assert highest >= drawn.baseline.value if drawn.error else lowest <= drawn.baseline.value


def test_a_sampler_that_betrays_more_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel whose reports are the secrets, whatever its matrix says, breaks the limit when it is drawn from."""
    space = MetricSpace.grid(1, 3, cell=1, unit="km")
    limit = success_limit(space, MetricDP(1, "km"))
    coin = response(3, 2, 4)
    honest = attack_reports(coin, limit=limit, bits=SeededBits(1))
    assert [one.kept for one in honest] == [True, True]

    def betray(channel: Channel, secrets: NDArray[np.int64], bits: object) -> NDArray[np.int64]:
        return secrets

    monkeypatch.setattr(Channel, "report_many", betray)
    broken = attack_reports(coin, limit=limit, bits=SeededBits(1))
    assert [one.kept for one in broken] == [True, False]


def test_many_reports_find_the_secret(line: tuple[Problem, Channel, MetricDP]) -> None:
    _, channel, _ = line
    found = watch_repeated(channel, reports=(1, 4, 60), trials=500, bits=SeededBits(2))
    values = [one.success.value for one in found]
    assert values == sorted(values)
    assert values[-1] > 0.9
    assert found[0].control is None
    assert found[-1].control is not None
    assert found[-1].control.low <= 0.2 <= found[-1].control.high


def test_drawn_and_computed_successes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, prior = geometric(4, 1), [0.5, 0.3, 0.1, 0.1]
    computed = watch_repeated(channel, prior, reports=(1, 3))
    from discreet.evaluate.attack import reports

    monkeypatch.setattr(reports, "repeated_success", lambda *_, **__: None)
    monkeypatch.setattr(reports, "MAX_LIKELIHOODS_AT_ONCE", 1000)
    drawn = watch_repeated(channel, prior, reports=(1, 3), trials=3000, bits=SeededBits(3))
    for one, other in zip(computed, drawn, strict=True):
        assert other.success.trials == 3000
        assert other.success.low <= one.success.value <= other.success.high


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: infer(IDENTITY, [0.5, 0.6]),
        lambda: infer(IDENTITY, [1.0]),
        lambda: infer(IDENTITY, [1.5, -0.5]),
        lambda: g_vulnerability(IDENTITY, [[1.0, 2.0]]),
        lambda: g_vulnerability(IDENTITY, [[1.0, 2.0, math.inf]]),
        lambda: expected_error(IDENTITY, None, [[1.0], [2.0]]),
        lambda: repeated_success(IDENTITY, reports=0),
        lambda: watch_repeated(IDENTITY, reports=(2, 1)),
        lambda: Attacked("nothing", ()),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(InvalidProblemError):
        wrong()


def test_leakage_where_there_is_nothing_to_gain() -> None:
    none = np.zeros(1, np.int64)
    assert Vulnerability(0.0, 0.0, none, 0).multiplicative == 1
    assert Vulnerability(0.0, 0.5, none, 0).multiplicative == math.inf
    assert Vulnerability(0.5, 0.0, none, 0).bits == -math.inf


def test_a_finding_compares_with_whoever_does_better_without_the_release() -> None:
    of = Estimate.computed
    share = Finding("a", "share", of(0.8), of(0.5), of(0.6))
    assert share.advantage == pytest.approx(0.5)
    assert Finding("a", "share", of(0.8), of(0.6), of(0.5)).advantage == pytest.approx(0.5)
    error = Finding("a", "km", of(1.0), of(4.0), of(5.0), limit=2.0, error=True)
    assert (error.advantage, error.kept) == (0.75, False)
    assert Finding("a", "share", of(1.0), of(1.0)).advantage is None
    both = Attacked("x", (share, error))
    assert both.kept is False
    assert "BROKEN" in str(both)
    assert Attacked("x", (share,)).kept is None
    assert both.to_dict()["findings"][1]["limit"] == 2.0


def test_a_thousand_secrets_take_less_than_two_seconds() -> None:
    n = 1000
    points = np.random.default_rng(7).uniform(size=(n, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    shares = np.exp(-5 * apart)
    weights = (shares / shares.sum(axis=1, keepdims=True) * 2.0**61).astype(np.uint64)
    weights[np.arange(n), np.arange(n)] += np.uint64(ONE) - weights.sum(axis=1)
    channel = Channel(weights[None])
    start = time.process_time()
    found = infer(channel, None, apart)
    assert time.process_time() - start < 2
    assert found.error is not None
    assert 0 < found.error.posterior < found.error.prior
