"""The comparison of rows: what it counts is what integers count, however close the call."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.core.channels import check_ratios
from discreet.core.channels.channel import Channel
from discreet.core.channels.check_ratios import (
    BoundPairs,
    implied_pairs,
    ratio_checks,
    row_sum_check,
)
from discreet.core.exact import exp_floor
from discreet.core.spaces.metric import MetricSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray


def bound(lengths: list[list[int]], mask: NDArray[np.bool_] | None = None) -> BoundPairs:
    """All pairs of a small symmetric table, in units of one."""
    table = np.array(lengths, dtype=np.int64)
    whole = ~np.eye(len(table), dtype=bool)
    return BoundPairs(whole if mask is None else mask, table, 0)


def rows_of(table: list[list[int]], limbs: int = 1) -> Channel:
    """A channel with these weights, the last column filled up to the total."""
    total = 1 << (62 * limbs)
    return Channel.from_weights([[*row, total - sum(row)] for row in table])


def brute(channel: Channel, pairs: BoundPairs, epsilon: Fraction) -> tuple[int, int]:
    """Zeros beside positives and violated inequalities, one by one."""
    rows = channel.weights.tolist()
    zeros = wrong = 0
    for i, j in np.argwhere(pairs.mask).tolist():
        e = exp_floor(epsilon * int(pairs.lengths[i, j]) / 2**pairs.scale_bits, 300)
        for a, b in zip(rows[i], rows[j], strict=True):
            zeros += a > 0 == b
            wrong += a << 300 > b * e
    return zeros, wrong


@example(n_limbs=1, weights=[[1, 2, 3], [1, 2, 4]], epsilon=Fraction(1), lengths=[0] * 6)
@settings(max_examples=150)
@given(
    n_limbs=st.integers(1, 2),
    weights=st.lists(
        st.lists(st.integers(0, 40) | st.integers(0, 2**60), min_size=3, max_size=3),
        min_size=2,
        max_size=4,
    ),
    epsilon=st.fractions("1/1000000000000", 100, max_denominator=10**12),
    lengths=st.lists(st.integers(0, 30), min_size=6, max_size=6),
)
def test_it_counts_what_integers_count(
    n_limbs: int, weights: list[list[int]], epsilon: Fraction, lengths: list[int]
) -> None:
    n = len(weights)
    table = np.zeros((n, n), dtype=np.int64)
    table[np.triu_indices(n, 1)] = lengths[: n * (n - 1) // 2]
    channel, pairs = rows_of(weights, n_limbs), bound((table + table.T).tolist())
    zeros, violated, achieved = ratio_checks(channel, pairs, epsilon)
    assert (zeros.residual, violated.residual) == brute(channel, pairs, epsilon)
    assert achieved.passed == violated.passed


def closest(length: int) -> tuple[int, int]:
    """The largest a with ``a <= e^length b``, for ``b = 2^40 + 1``."""
    b = 2**40 + 1
    return b * exp_floor(Fraction(length), 200) >> 200, b


def test_one_unit_decides() -> None:
    """The largest weight that is allowed passes, one unit more is rejected; both are settled in integers."""
    a, b = closest(3)
    pair = bound([[0, 3], [3, 0]])
    good = ratio_checks(rows_of([[a], [b]]), pair, Fraction(1))[1]
    bad = ratio_checks(rows_of([[a + 1], [b]]), pair, Fraction(1))[1]
    assert good.passed
    assert not bad.passed
    assert bad.residual == 1
    assert "1 close ones in integers" in good.detail


def test_both_directions_count() -> None:
    """Whichever of the two rows is the larger."""
    a, b = closest(3)
    pair = bound([[0, 3], [3, 0]])
    for rows in ([[a + 1], [b]], [[b], [a + 1]]):
        assert ratio_checks(rows_of(rows), pair, Fraction(1))[1].residual == 1


def test_a_zero_beside_a_positive_weight_is_rejected() -> None:
    zeros, violated, achieved = ratio_checks(
        rows_of([[0], [1]]), bound([[0, 10**6], [10**6, 0]]), Fraction(1)
    )
    assert (zeros.residual, violated.residual, achieved.residual) == (1, 1, math.inf)


def test_two_zeros_tell_nothing() -> None:
    checks = ratio_checks(rows_of([[0], [0]]), bound([[0, 1], [1, 0]]), Fraction(1))
    assert all(check.passed for check in checks)
    assert checks[2].residual == 0


def test_secrets_at_distance_zero_need_equal_rows() -> None:
    """One unit apart in 2^62, which no float can see."""
    pair = bound([[0, 0], [0, 0]])
    assert all(check.passed for check in ratio_checks(rows_of([[7], [7]]), pair, Fraction(1)))
    zeros, violated, achieved = ratio_checks(rows_of([[2**61], [2**61 + 1]]), pair, Fraction(1))
    assert zeros.passed
    assert violated.residual == 2
    assert achieved.residual == math.inf


def test_achieved_epsilon_is_rounded_up_and_never_beyond_what_is_proved() -> None:
    """Two to one over two units: ln(2)/2, from above."""
    checks = ratio_checks(rows_of([[2**50], [2**51]]), bound([[0, 2], [2, 0]]), Fraction(1))
    achieved = checks[2].residual
    assert isinstance(achieved, Fraction)
    assert (
        Fraction(log_two_over_two())
        <= achieved
        <= Fraction(log_two_over_two()) + Fraction(1, 10**14)
    )
    a, b = closest(3)
    tight = ratio_checks(rows_of([[a], [b]]), bound([[0, 3], [3, 0]]), Fraction(1))
    assert 1 - 1e-12 < tight[2].residual <= 1


def log_two_over_two() -> float:
    return math.nextafter(math.log(2) / 2, 1)


def test_achieved_epsilon_above_the_stated_is_rejected() -> None:
    checks = ratio_checks(rows_of([[2**50], [2**51]]), bound([[0, 2], [2, 0]]), Fraction("0.34"))
    assert not checks[2].passed
    assert checks[1].residual == 1


def test_nothing_bound_is_nothing_violated() -> None:
    checks = ratio_checks(rows_of([[0]]), bound([[0]]), Fraction(1))
    assert [check.residual for check in checks] == [0, 0, 0]


def test_beyond_any_ratio_of_weights_only_zeros_count() -> None:
    """e^(10^9) would have a billion bits; it is not computed."""
    pair = bound([[0, 10**9], [10**9, 0]])
    assert all(check.passed for check in ratio_checks(rows_of([[1], [2**61]]), pair, Fraction(1)))
    assert not ratio_checks(rows_of([[0], [2**61]]), pair, Fraction(1))[1].passed


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_pairs_left_out_follow_from_those_that_are_kept(metric: str) -> None:
    """Shortest paths over the kept pairs are no longer than any distance."""
    points = np.random.default_rng(5).integers(0, 6, (30, 2))
    space = MetricSpace.from_points(points.astype(float), metric=metric, unit="km")
    pairs = BoundPairs(~np.eye(30, dtype=bool), space.distances, space.scale_bits)
    implied = implied_pairs(pairs)
    paths = np.where(implied, 1 << 60, space.distances)
    for k in range(30):
        paths = np.minimum(paths, paths[:, k, None] + paths[k])
    assert (paths <= space.distances).all()
    assert implied.any()


def test_a_pair_with_a_part_that_is_not_bound_is_kept() -> None:
    """0-1-2 on a line with 1-2 not bound: 0-2 must be compared."""
    mask = ~np.eye(3, dtype=bool)
    mask[1, 2] = mask[2, 1] = False
    assert not implied_pairs(bound([[0, 1, 2], [1, 0, 1], [2, 1, 0]], mask)).any()


def test_pairs_of_length_zero_imply_nothing() -> None:
    """Three secrets at one place: each pair would follow from the other two, and none would be compared."""
    assert not implied_pairs(bound([[0, 0, 0], [0, 0, 0], [0, 0, 0]])).any()


def test_leaving_pairs_out_loses_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a line, a violation of a long pair shows up on a short one."""
    monkeypatch.setattr(check_ratios, "_SLICE", 4)
    line = np.abs(np.subtract.outer(np.arange(6), np.arange(6))).tolist()
    good = rows_of([[2**20 << (2 * i)] for i in range(6)])
    bad = rows_of([[2**20 << (2 * i + (i == 5))] for i in range(6)])
    good_checks, bad_checks = (ratio_checks(c, bound(line), Fraction("1.4")) for c in (good, bad))
    assert good_checks[1].passed
    assert "10 pairs follow from others" in good_checks[1].detail
    assert not bad_checks[1].passed


def test_many_rows_are_compared_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the work is cut, the counts stay the same."""
    rng = np.random.default_rng(2)
    channel = rows_of(rng.integers(1, 40, (7, 5)).tolist())
    table = rng.integers(1, 4, (7, 7))
    pairs = bound(np.triu(table, 1).__add__(np.triu(table, 1).T).tolist())
    expected = brute(channel, pairs, Fraction(1))[1]
    assert ratio_checks(channel, pairs, Fraction(1))[1].residual == expected > 0
    monkeypatch.setattr(check_ratios, "implied_pairs", partial(implied_pairs, max_relays=0))
    monkeypatch.setattr(check_ratios, "_SLICE", 1)
    assert ratio_checks(channel, pairs, Fraction(1))[1].residual == expected


@pytest.mark.parametrize("limbs", [1, 2])
def test_a_row_that_does_not_sum_to_the_total_is_counted(limbs: int) -> None:
    """Such a channel can't be made; it has to be forged."""
    channel = rows_of([[1, 2], [3, 4]], limbs)
    assert row_sum_check(channel).passed
    forged = channel.limbs.copy()
    forged[-1, 1, 0] += 1
    object.__setattr__(channel, "limbs", forged)
    assert row_sum_check(channel).residual == 1
    # Sums beyond 64 bits do not wrap around to the right one.
    forged[:, :, :] = 2**63
    assert row_sum_check(channel).residual == 2


def test_lengths_whose_sum_wraps_imply_no_other() -> None:
    """Two lengths of 2^62 add up to less than nothing in 64 bits: a pair at distance 1 would have been left out."""
    lengths = np.full((3, 3), 2**62)
    np.fill_diagonal(lengths, 0)
    lengths[0, 1] = lengths[1, 0] = 1
    assert not implied_pairs(BoundPairs(lengths > 0, lengths, 0)).any()
