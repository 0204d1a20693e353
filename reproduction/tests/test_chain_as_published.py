"""The chain of cumulative counts with the published noise, which is not for the budget that it claims."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import InvalidProblemError, PureDP, Tree, Unproven, ZeroConcentratedDP
from discreet.core.randomness import SeededBits
from discreet.hierarchy import GroupSizes, diagnose, release, reproduce
from discreet.hierarchy.methods.m_c_ch import Chain
from hierarchy.test_chain import TREES


@pytest.mark.parametrize(
    "guarantee", [PureDP(1, "add-remove-person"), ZeroConcentratedDP(1, "add-remove-person")]
)
def test_as_published_it_is_no_release_and_says_what_it_spends(guarantee: Any) -> None:
    """Levels of 1, 2 and 3 regions with a third of the budget each: twice the budget."""
    tree = TREES[2]
    data = GroupSizes.from_counts(tree, np.ones((3, 3), dtype=int), units="public")
    with pytest.raises(InvalidProblemError, match="guarantee"):
        release(data, guarantee, method="m-c-ch")
    made = reproduce(data, guarantee, method="m-c-ch", keep_measurements=True)
    assert isinstance(made, Unproven)
    assert "the number of its regions" in made.reason
    assert "no more than: 2-" in made.reason
    measured = made.result.measurements
    assert measured is not None
    # The paper's scale for each level: L / epsilon, and for Gaussian noise L / (2 rho).
    assert set(measured.scales) == {Fraction(3) if measured.noise == "laplace" else Fraction(3, 2)}
    calibrated = release(data, guarantee, method="m-c-ch-calibrated", keep_measurements=True)
    kept = calibrated.result.measurements
    assert kept is not None
    base = measured.scales[0]
    assert base is not None
    assert kept.scales == (base, 2 * base, 2 * base, 3 * base, 3 * base, 3 * base)
    reproduced = reproduce(data, guarantee, method=Chain())
    assert "no more than" not in reproduced.reason


def test_calibrated_it_is_far_worse_than_published() -> None:
    paths = [(str(i), str(j)) for i in range(8) for j in range(8)]
    rng = np.random.default_rng(5)
    data = GroupSizes.from_counts(Tree.from_paths(paths), rng.poisson(50, (64, 10)), units="public")
    guarantee = PureDP(1, "add-remove-person")
    published = diagnose(data, reproduce(data, guarantee, method="m-c-ch", bits=SeededBits(1)))
    honest = diagnose(
        data, release(data, guarantee, method="m-c-ch-calibrated", bits=SeededBits(1))
    )
    assert honest.l1[-1] > 5 * published.l1[-1]
