"""Weights that are whole numbers are clipped as others are: no record counts more than once."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.submodular import WeightedCoverage


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("bits", [1, 8, 30])
def test_no_record_weighs_more_than_one(dtype: type[np.generic], bits: int) -> None:
    weights = np.array([0, 1, 2, 100]).astype(dtype)
    reach = WeightedCoverage(
        np.arange(4), np.arange(4), weights=weights, n_elements=4, scale_bits=bits
    )
    assert [reach.value([e]) for e in range(4)] == [0, 1 << bits, 1 << bits, 1 << bits]
