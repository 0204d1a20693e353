"""The verifier of mechanisms: it agrees with fractions on all pairs, and rejects what breaks one inequality."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.channels.implicit import AnchoredChannel, Ball
from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP, PointScope
from discreet.core.spaces.metric import MetricSpace
from discreet.lrgeo import verify

SPACE = MetricSpace.grid(3, 3, cell=1, unit="km")


def tails(space: MetricSpace = SPACE, rate: str = "0.4999", **more: Any) -> AnchoredChannel:
    n = space.n
    return AnchoredChannel(space, rate, range(n), [2**40] * n, lift=2**16, **more)


def worst(channel: AnchoredChannel) -> float:
    """The least epsilon that holds for all pairs, by the shares themselves."""
    rows = [channel.row(i).tolist() for i in range(channel.n_secrets)]
    shares = [[Fraction(weight, sum(row)) for weight in row] for row in rows]
    return max(
        math.log(a / b) / float(channel.space.distance(i, j))
        for i, p in enumerate(shares)
        for j, q in enumerate(shares)
        if i != j
        for a, b in zip(p, q, strict=True)
    )


@settings(max_examples=25)
@given(
    st.lists(st.integers(2**20, 2**40), min_size=9, max_size=9),
    st.sampled_from(["0.3", "0.5", "0.9"]),
)
def test_the_verdict_is_that_of_fractions(anchors: list[int], rate: str) -> None:
    channel = AnchoredChannel(SPACE, rate, range(9), anchors, lift=1000)
    least = worst(channel)
    above, below = Fraction(least * (1 + 1e-9)), Fraction(least * (1 - 1e-9))
    assert verify(channel, MetricDP(above, "km")).passed
    assert not verify(channel, MetricDP(below, "km")).passed


def test_one_weight_that_tells_too_much_is_found() -> None:
    ball = Ball(np.array([4]), np.array([0]), np.array([2**45]))
    assert verify(tails(), MetricDP(1, "km")).passed
    certificate = verify(tails(ball=ball), MetricDP(1, "km"))
    failed = [check.name for check in certificate.checks if not check.passed]
    assert failed == ["inequalities violated"]


def test_what_is_close_to_equality_is_settled_in_integers() -> None:
    """Two places, two reports: the least epsilon is rounded up and down by a part in 2^60."""
    pair = MetricSpace.grid(1, 2, cell=1, unit="km")
    channel = tails(pair)
    p, q = (channel.row(i).tolist() for i in range(2))
    exact = Fraction(p[0] * sum(q), q[0] * sum(p))
    from discreet.core.exact import log_ceil, log_floor

    above, below = Fraction(log_ceil(exact, 60), 2**60), Fraction(log_floor(exact, 60), 2**60)
    assert verify(channel, MetricDP(above * (1 + Fraction(1, 2**40)), "km")).passed
    assert not verify(channel, MetricDP(below * (1 - Fraction(1, 2**40)), "km")).passed


def test_a_radius_binds_only_near_pairs_and_must_connect_all() -> None:
    assert verify(tails(), MetricDP(1, "km", 1)).passed
    line = MetricSpace.from_matrix([[0, 1, 5], [1, 0, 5], [5, 5, 0]], unit="km")
    certificate = verify(tails(line), MetricDP(1, "km", 2))
    assert [check.name for check in certificate.checks if not check.passed] == ["groups of places"]


def test_places_at_distance_zero_are_rejected() -> None:
    same = MetricSpace.from_points([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], unit="km")
    certificate = verify(tails(same), MetricDP(1, "km"))
    assert "pairs at distance 0" in [c.name for c in certificate.checks if not c.passed]


def test_another_unit_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="unit"):
        verify(tails(), MetricDP(1, "m"))


def test_very_many_places_are_verified_by_the_theorem(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setattr(sys.modules["discreet.lrgeo.verify"], "MAX_PLACES_FOR_TRIPLES", 8)
    with pytest.raises(InvalidProblemError, match="totals_share"):
        verify(tails(), MetricDP(1, "km"))
    assert verify(tails(), MetricDP(1, "km"), totals_share="0.5").passed
    assert not verify(tails(), MetricDP("0.9", "km"), totals_share="0.5").passed


def test_beyond_a_table_all_pairs_are_bound_by_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row totals of far pairs need no look; the verdict is that of all pairs of the same channel with a table."""
    from discreet.core.channels import check_implicit as check_anchored
    from discreet.core.spaces import lengths
    from discreet.metricdp import tail_channel

    grid = MetricSpace.grid(7, 7, cell=1, unit="km")
    made = tail_channel(grid, MetricDP(1, "km", "2.5"))
    share, channel = made.totals_share, made.channel
    claims = [MetricDP(epsilon, "km") for epsilon in ("1", "0.9999", "0.97", "0.9")]
    with_table = [
        check_anchored.verify_anchored(channel, claim, totals_share=share).passed
        for claim in claims
    ]
    monkeypatch.setattr(lengths, "DENSE_LIMIT", 20)
    bare = MetricSpace.grid(7, 7, cell=1, unit="km")
    same = AnchoredChannel(bare, channel.rate, channel.centers, channel.anchors, lift=channel.lift)
    without = [
        check_anchored.verify_anchored(same, claim, totals_share=share).passed for claim in claims
    ]
    assert with_table == without
    assert with_table[0]
    assert not with_table[-1]
    ball = Ball(np.array([0]), np.array([0]), np.array([5]))
    round_ball = AnchoredChannel(
        bare, channel.rate, channel.centers, channel.anchors, lift=channel.lift, ball=ball
    )
    with pytest.raises(InvalidProblemError, match="radius"):
        check_anchored.verify_anchored(round_ball, claims[0], totals_share=share)


def test_a_promise_about_points_is_not_that_of_places() -> None:
    """The channel knows places alone, however well it keeps what is said of them."""
    with pytest.raises(InvalidProblemError, match="one about places"):
        verify(tails(), MetricDP(1, "km", scope=PointScope("ab" * 32)))
