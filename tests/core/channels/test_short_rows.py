"""The verifier counts rows by itself: one that falls short is off as one that exceeds is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.channels.channel import Channel, split_limbs
from discreet.core.channels.check_ratios import row_sum_check

TOTAL = 1 << 62


@pytest.mark.parametrize("n_limbs", [1, 2])
@pytest.mark.parametrize("off", [-TOTAL // 2, -1, 1])
def test_a_row_that_is_off_in_either_direction_is_counted(n_limbs: int, off: int) -> None:
    half = TOTAL**n_limbs // 2
    channel = Channel(split_limbs([[half, half], [half, half]], n_limbs))
    assert row_sum_check(channel).residual == 0
    forged = np.array(split_limbs([[half, half], [half, half + off]], n_limbs))
    object.__setattr__(channel, "limbs", forged)
    assert row_sum_check(channel).residual == 1
    assert not row_sum_check(channel).passed
