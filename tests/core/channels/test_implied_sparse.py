"""A pair is left out only where two shorter pairs imply it, whether few pairs are bound or most."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.channels.check_ratios import BoundPairs, implied_pairs


@pytest.mark.parametrize("n", [3, 4, 20])
@pytest.mark.parametrize(("direct", "implied"), [(19, False), (20, True), (21, True), (11, False)])
def test_only_a_pair_no_shorter_than_the_way_round_is_left_out(
    n: int,
    direct: int,
    implied: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Of n secrets three are bound: 0 and 1, 1 and 2 at length 10, 0 and 2 directly."""
    lengths = np.full((n, n), 5)
    mask = np.zeros((n, n), dtype=bool)
    for i, j, length in ((0, 1, 10), (1, 2, 10), (0, 2, direct)):
        lengths[i, j] = lengths[j, i] = length
        mask[i, j] = mask[j, i] = True
    found = implied_pairs(BoundPairs(mask, lengths, 0))
    assert bool(found[0, 2]) is bool(found[2, 0]) is implied
    assert int(found.sum()) == 2 * implied
