"""Budgets and corners that make no region: a sentence, and soon."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.guarantee import MetricDP
from discreet.lrgeo import Region, design


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-9", "1e12", "1e300"])
def test_a_budget_for_which_there_is_no_net_is_refused_in_a_line(epsilon: str) -> None:
    """With 1e12 the divisors of a cell were looked for among more numbers than anybody can try."""
    with pytest.raises(InvalidProblemError, match="a torus of at most") as caught:
        design(Region.from_grid(2, 2, cell=1, unit="km"), MetricDP(epsilon, "km"))
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("origin", ["41,12", "a", (41.0,), ("a", "b"), 41.0, (41.0, 12.0, 0.0)])
def test_a_corner_is_a_latitude_and_a_longitude(origin: Any) -> None:
    with pytest.raises(InvalidProblemError, match="origin: expected one latitude and longitude"):
        Region.from_grid(2, 2, cell=1, unit="km", origin=origin)
