"""Channels hold the integers that are sampled; post-processing is exact and never adds privacy loss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.channel import LIMB_BITS, Channel
from discreet.core.errors import InvalidProblemError
from discreet.core.randomness.bits import SeededBits
from discreet.core.spaces.metric import MetricSpace

ONE = 1 << LIMB_BITS


class Chosen:
    """A source that gives what the test chose and records what was asked for."""

    def __init__(self, values: list[int]) -> None:
        self.values: Iterator[int] = iter(values)
        self.asked: list[int] = []

    def randrange(self, stop: int, /) -> int:
        self.asked.append(stop)
        return next(self.values)

    def randranges(self, stop: int, size: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        return np.array([self.randrange(stop) for _ in range(size)], dtype=np.uint64)


def rows(numbers: list[list[int]], total: int = ONE) -> Channel:
    """Fill each row up to the total with its last entry."""
    return Channel.from_weights([[*row, total - sum(row)] for row in numbers])


def test_a_report_obeys_its_weights_at_every_boundary() -> None:
    """One randrange of the total decides, and each weight owns exactly that many values of it."""
    channel = rows([[3, 0, 5], [1, ONE // 2, 7]])
    for secret in range(2):
        edges = [0, *np.cumsum(channel.row(secret)).tolist()]
        for report, (low, high) in enumerate(itertools.pairwise(edges)):
            for value in {low, high - 1} if high > low else ():
                source = Chosen([value])
                assert channel.report(secret, source) == report
                assert source.asked == [ONE]
                many = channel.report_many([secret], Chosen([value]))
                assert many.tolist() == [report]


def test_two_limbs_report_by_all_their_bits() -> None:
    channel = rows([[1, ONE**2 // 3], [ONE + 5, 2]], total=ONE**2)
    assert channel.total == ONE**2
    assert channel.limbs.shape == (2, 2, 3)
    assert channel.report(0, Chosen([0])) == 0
    assert channel.report(0, Chosen([1])) == 1
    assert channel.report(1, Chosen([ONE + 4])) == 0
    assert channel.report_many([1, 0], Chosen([ONE + 5, ONE**2 - 1])).tolist() == [1, 2]
    assert channel.row(1) == [ONE + 5, 2, ONE**2 - ONE - 7]
    assert channel.probabilities.sum(axis=1) == pytest.approx([1, 1], abs=1e-15)


def test_a_certain_report_fits_the_leading_limb() -> None:
    for total in (ONE, ONE**2):
        channel = Channel.from_weights([[total, 0], [0, total]])
        assert channel.weights.tolist() == [[total, 0], [0, total]]
        assert channel.report(0, Chosen([total - 1])) == 0


@pytest.mark.parametrize(
    "weights",
    [
        [[1, 2]],
        [[ONE - 1, 2]],
        [[ONE, 0], [ONE, 1]],
        [[-1, ONE + 1]],
        [[0.5, 0.5]],
        [[True, ONE - 1]],
        [[0, 0]],
        [[]],
        [1, 2],
        [[1, 0]],
    ],
)
def test_weights_that_are_no_channel_are_refused(weights: Any) -> None:
    with pytest.raises(InvalidProblemError, match="weights|limbs"):
        Channel.from_weights(weights)


@pytest.mark.parametrize(
    "limbs",
    [
        None,
        np.zeros((1, 2, 2)),
        np.zeros((2, 2), dtype=np.uint64),
        np.zeros((1, 0, 2), dtype=np.uint64),
        np.full((1, 1, 2), ONE, dtype=np.uint64),
        np.full((1, 1, 4), 2**63, dtype=np.uint64),
        np.array([[[ONE]], [[ONE]]], dtype=np.uint64),
        np.array([[[ONE - 1, 0]], [[ONE, 0]]], dtype=np.uint64),
    ],
)
def test_limbs_of_a_wrong_kind_shape_or_sum_are_refused(limbs: Any) -> None:
    with pytest.raises(InvalidProblemError, match="limbs"):
        Channel(limbs)


def test_a_channel_owns_read_only_integers() -> None:
    mine = np.array([[[ONE]]], dtype=np.uint64)
    channel = Channel(mine)
    mine[0, 0, 0] = 0
    assert channel.weights.tolist() == [[ONE]]
    for array in (
        channel.limbs,
        channel.weights,
        channel.probabilities,
        rows([[1]], ONE**2).weights,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_an_unknown_secret_is_refused_without_naming_it() -> None:
    channel = rows([[1], [2]])
    for secret in (-1, 2, 98765):
        with pytest.raises(InvalidProblemError, match="from 0 to 1") as caught:
            channel.report(secret)
        assert "98765" not in str(caught.value)
        with pytest.raises(InvalidProblemError, match="from 0 to 1") as caught:
            channel.report_many([0, secret])
        assert "98765" not in str(caught.value)
    for secrets in ([[0]], [0.5]):
        with pytest.raises(InvalidProblemError, match="indices"):
            channel.report_many(secrets)  # type: ignore[arg-type]
    assert channel.report_many([]).size == 0


def test_the_default_source_is_the_operating_system() -> None:
    channel = rows([[ONE // 2], [ONE]])
    assert {channel.report(0) for _ in range(80)} == {0, 1}
    assert channel.report_many([1] * 50).tolist() == [0] * 50


def test_many_reports_fit_the_weights() -> None:
    """Within 7 standard deviations, for a seeded source: this can't flake."""
    channel = rows([[ONE // 4, ONE // 2], [ONE // 8, ONE // 8]])
    n = 20_000
    for secret in range(2):
        drawn = channel.report_many(np.full(n, secret), SeededBits(7))
        counts = np.bincount(drawn, minlength=3)
        p = channel.probabilities[secret]
        assert (np.abs(counts - n * p) <= 7 * np.sqrt(n * p)).all()


def test_renaming_sums_weights_exactly() -> None:
    channel = rows([[1, 2, 3], [4, 5, 6]])
    merged = channel.then([1, 0, 1, 0])
    assert merged.weights.tolist() == [[ONE - 6 + 2, 4], [ONE - 15 + 5, 10]]
    wide = rows([[ONE + 1, ONE - 1], [2, ONE * 5]], ONE**2).then([0, 0, 0])
    assert wide.weights.tolist() == [[ONE**2], [ONE**2]]


def test_sending_reports_through_a_channel_multiplies_exactly() -> None:
    first, second = rows([[1], [5]]), rows([[7], [9]])
    both = first.then(second)
    assert both.total == ONE**2
    assert both.row(0)[0] == 7 + 9 * (ONE - 1)
    assert both.row(1)[0] == 5 * 7 + 9 * (ONE - 5)
    thrice = both.then(second)
    assert thrice.total == ONE**3


@pytest.mark.parametrize("other", [[0, 1], [0, -1, 0], [0.5, 0, 1], rows([[1]])])
def test_post_processing_of_a_wrong_size_is_refused(other: Any) -> None:
    with pytest.raises(InvalidProblemError, match="other"):
        rows([[1, 2], [3, 4]]).then(other)


def test_restriction_keeps_rows_as_they_are() -> None:
    channel = rows([[1], [2], [3]])
    assert channel.restrict([2, 0]).weights[:, 0].tolist() == [3, 1]
    for secrets in ([], [3], [-1], [[0]]):
        with pytest.raises(InvalidProblemError, match="secrets"):
            channel.restrict(secrets)  # type: ignore[arg-type]


def test_digests_tell_channels_apart() -> None:
    assert rows([[1]]).digest == rows([[1]]).digest
    assert rows([[1]]).digest != rows([[2]]).digest


weights3 = st.lists(
    st.lists(st.integers(0, ONE // 3), min_size=2, max_size=2), min_size=2, max_size=3
)
costs = st.floats(0, 1e6)


@given(weights3, st.data())
@settings(deadline=None, max_examples=60)
def test_the_expected_loss_is_rounded_up_and_close(
    numbers: list[list[int]], data: st.DataObject
) -> None:
    for total in (ONE, ONE**2):
        channel = rows(numbers, total)
        cost = np.array([[data.draw(costs) for _ in range(3)] for _ in numbers])
        exact = (
            sum(
                (
                    Fraction(float(c)) * w
                    for c, w in zip(cost.ravel(), channel.weights.ravel().tolist(), strict=True)
                ),
                Fraction(0),
            )
            / total
        )
        upper = Fraction(channel.expected_loss(cost))
        assert exact <= upper <= exact * (1 + Fraction(1, 10**14)) + Fraction(1, 10**300)
        assert (upper == 0) == (exact == 0)


@given(weights3, st.data())
@settings(deadline=None, max_examples=60)
def test_the_loss_of_each_secret_is_rounded_up_and_close(
    numbers: list[list[int]], data: st.DataObject
) -> None:
    for total in (ONE, ONE**2):
        channel = rows(numbers, total)
        cost = np.array([[data.draw(costs) for _ in range(3)] for _ in numbers])
        for table, weights, upper in zip(
            cost, channel.weights, channel.expected_losses(cost), strict=True
        ):
            parts = zip(table.tolist(), weights.tolist(), strict=True)
            exact = sum((Fraction(c) * w for c, w in parts), Fraction(0)) / total
            assert (
                exact
                <= Fraction(float(upper))
                <= exact * (1 + Fraction(1, 10**14)) + Fraction(1, 10**300)
            )
            assert (upper == 0) == (exact == 0)


def test_costs_that_are_no_costs_are_refused() -> None:
    channel = rows([[1], [2]])
    wrong: list[Any] = [
        [[1.0, 2.0]],
        [[1, 2], [3, -1]],
        [[1, 2], [3, math.nan]],
        [[1, 2], [3, math.inf]],
    ]
    for cost in wrong:
        with pytest.raises(InvalidProblemError, match="cost"):
            channel.expected_loss(cost)
        with pytest.raises(InvalidProblemError, match="loss"):
            channel.expected_losses(cost)


LINE = MetricSpace.from_matrix([[0, 1, 3], [1, 0, 2], [3, 2, 0]], unit="km")


def test_the_privacy_loss_is_the_largest_ratio_by_distance() -> None:
    quarter = ONE // 4
    channel = rows([[3 * quarter], [quarter], [quarter]])
    loss = channel.privacy_loss(LINE)
    assert loss.pair == (0, 1)
    assert loss.epsilon is not None
    assert float(loss.epsilon) == pytest.approx(math.log(3), rel=1e-12)
    assert float(loss.epsilon) >= math.log(3)
    near = rows([[quarter], [quarter], [3 * quarter]]).privacy_loss(LINE, radius=2)
    assert near.pair == (1, 2)
    assert near.epsilon is not None
    assert float(near.epsilon) == pytest.approx(math.log(3) / 2, rel=1e-12)


def test_the_privacy_loss_is_the_same_in_small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    quarter = ONE // 4
    channel = rows([[3 * quarter], [quarter], [quarter]])
    whole = channel.privacy_loss(LINE)
    monkeypatch.setattr("discreet.core.channels.channel._SLICE", 1)
    assert channel.privacy_loss(LINE) == whole


def test_one_ratio_with_zero_is_an_infinite_loss() -> None:
    loss = rows([[0], [0], [1]]).privacy_loss(LINE)
    assert loss.epsilon is None
    assert loss.report == 0
    assert loss.pair is not None
    assert 2 in loss.pair


def test_a_report_that_nobody_gives_tells_nothing() -> None:
    channel = Channel.from_weights([[0, ONE // 2, ONE // 2]] * 3)
    assert channel.privacy_loss(LINE).epsilon is not None
    assert float(channel.privacy_loss(LINE).epsilon or 0) < 1e-12


def test_secrets_at_distance_zero_must_have_equal_rows() -> None:
    twins = MetricSpace.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]], unit="km")
    equal = rows([[5], [5], [5]]).privacy_loss(twins)
    assert equal.epsilon is not None
    assert rows([[5], [6], [5]]).privacy_loss(twins).epsilon is None


def test_a_single_secret_gives_nothing_away() -> None:
    alone = MetricSpace.from_matrix([[0]], unit="km")
    assert rows([[5]]).privacy_loss(alone).epsilon == 0
    with pytest.raises(InvalidProblemError, match="space"):
        rows([[5]]).privacy_loss(LINE)


def test_post_processing_never_adds_privacy_loss() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        numbers = rng.integers(1, ONE // 4, (3, 3)).tolist()
        channel = rows(numbers)
        before = channel.privacy_loss(LINE).epsilon
        after = channel.then(rng.integers(0, 2, 4)).privacy_loss(LINE).epsilon
        assert before is not None
        assert after is not None
        assert after <= before + Fraction(1, 10**9)


def test_a_total_that_fits_no_float_is_refused() -> None:
    """Verifiers would otherwise end with another error than ours."""
    large = Channel.from_weights(np.array([[2 ** (62 * 16)]], dtype=object))
    with pytest.raises(InvalidProblemError, match="limbs: expected at most 16 limbs, got 17"):
        large.then(Channel.from_weights([[2**62]]))
