"""Every row of a channel has its total, and an expected loss is never stated too small."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.channels.channel import Channel, split_limbs
from discreet.core.errors import InvalidProblemError

TOTAL = 1 << 62


@pytest.mark.parametrize("limbs", [1, 2])
@pytest.mark.parametrize("off", [-TOTAL // 2, -1, 1])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_row_that_is_off_is_refused_wherever_it_is(limbs: int, off: int, row: int) -> None:
    weights = [[TOTAL**limbs // 4, 3 * (TOTAL**limbs // 4)] for _ in range(3)]
    Channel(split_limbs(weights, limbs))
    weights[row][1] += off
    with pytest.raises(InvalidProblemError, match="row sums"):
        Channel(split_limbs(weights, limbs))


def test_an_expected_loss_is_at_least_the_exact_one() -> None:
    """Weights just short of half a step of floats, and products near a power of two, lose more than the next float."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        first = TOTAL // 2 + 512 * int(rng.integers(0, 1 << 10)) + 255
        weights = [first, TOTAL - first]
        cost = 1 + rng.random(2) * 2.0**-9
        exact = sum(Fraction(c) * w for c, w in zip(cost.tolist(), weights, strict=True)) / TOTAL
        found = Channel(split_limbs([weights], 1)).expected_loss(cost[None])
        assert exact <= found <= exact * (1 + Fraction(1, 10**14))
