"""A measured privacy loss is never below the true one, not even where logarithms of large weights nearly cancel."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.channels.channel import Channel, split_limbs
from discreet.core.exact import log_floor
from discreet.core.spaces.metric import MetricSpace

BITS = 200


@pytest.mark.parametrize("limbs", [1, 2])
@pytest.mark.parametrize("part", [10**k + 7 for k in range(1, 14)])
def test_the_loss_of_nearly_equal_rows_is_rounded_up(limbs: int, part: int) -> None:
    half = 1 << (62 * limbs - 1)
    apart = half // part
    channel = Channel(split_limbs([[half + apart, half - apart], [half, half]], limbs))
    space = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km")
    least = Fraction(log_floor(Fraction(half, half - apart), BITS), 1 << BITS)
    measured = channel.privacy_loss(space).epsilon
    assert measured is not None
    assert measured >= least
    assert measured <= least + Fraction(1, 10**10)
