"""Reports are merged where that costs least, and the cost stated is the cost found."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.metricdp.primal_dual.mend import merge_reports


def plane(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a channel that decays with distance, the costs of a prior, and distances."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 7, (50, 2))
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    channel = np.exp(-apart) * rng.random(50) ** 3
    cost = rng.dirichlet(np.ones(50))[:, None] * apart
    return channel / channel.sum(axis=1, keepdims=True), cost, (1000 * apart).astype(np.int64)


@pytest.mark.parametrize("seed", range(4))
def test_merged_columns_keep_the_mass_and_cost_no_more_than_allowed(seed: int) -> None:
    channel, cost, apart = plane(seed)
    before = (cost.T @ channel).min(axis=0).sum()
    sizes = []
    for share in (0.0, 0.01, 0.1):
        merged = merge_reports(channel, cost, apart, share * before)
        assert np.allclose(merged.sum(axis=1), 1.0)
        after = (cost.T @ merged).min(axis=0).sum()
        assert after <= (1 + share + 1e-6) * before
        sizes.append(merged.shape[1])
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 30


@pytest.mark.parametrize("seed", range(4))
def test_cheapest_merges_lose_less_than_groups_of_equal_size(seed: int) -> None:
    channel, cost, apart = plane(seed)
    merged = merge_reports(channel, cost, apart, 0.02 * (cost.T @ channel).min(axis=0).sum())
    firsts = np.linspace(0, 50, merged.shape[1], endpoint=False).astype(int)
    groups = np.add.reduceat(channel, firsts, axis=1)
    assert (cost.T @ merged).min(axis=0).sum() < (cost.T @ groups).min(axis=0).sum()
