"""The slack that a repair states is there: what is rounded on the strength of it had it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.exact import log_ceil
from discreet.core.spaces.adjacency import Adjacency
from discreet.metricdp.bounds.repair import repair

BITS = 100


@pytest.mark.parametrize("nats", [Fraction(1, 2), Fraction(1), Fraction(2)])
@pytest.mark.parametrize("used", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_a_matrix_that_is_rounded_as_it_was_given_has_the_stated_slack(
    nats: Fraction, used: Fraction
) -> None:
    """Two secrets, two reports; the largest ratio uses a part of the nats, and what is left is the slack."""
    odds = float(np.exp(float(nats * used)))
    matrix = np.array([[odds, 1.0], [1.0, odds]]) / (1 + odds)
    edge = Adjacency(2, np.array([[0, 1]], dtype=np.int32), np.array([1]), 0)
    found = repair(matrix, edge, nats, cost=1 - np.eye(2))
    assert found.delta == 0
    ratio = Fraction(float(matrix[0, 0])) / Fraction(float(matrix[0, 1]))
    largest = Fraction(log_ceil(ratio, BITS), 1 << BITS)
    assert 0 < found.slack <= nats - largest
    assert found.slack >= min(nats - largest, Fraction(1)) - Fraction(1, 10**6)
