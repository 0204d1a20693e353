"""Weights that are whole numbers are clipped as others are: no record counts more than once."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.submodular import WeightedCoverage
from discreet.submodular.objectives.coverage import quantized


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("bits", [1, 8, 30])
def test_no_record_weighs_more_than_one(dtype: type[np.generic], bits: int) -> None:
    weights = np.array([0, 1, 2, 100]).astype(dtype)
    reach = WeightedCoverage(
        np.arange(4), np.arange(4), weights=weights, n_elements=4, scale_bits=bits
    )
    assert [reach.value([e]) for e in range(4)] == [0, 1 << bits, 1 << bits, 1 << bits]


@pytest.mark.parametrize("bits", [0, 31, 32, 40])
def test_bits_beyond_the_integers_that_hold_them_are_refused(bits: int) -> None:
    with pytest.raises(InvalidProblemError, match="scale_bits: expected an integer from 1 to 30"):
        quantized([1.0], "weights", bits)
