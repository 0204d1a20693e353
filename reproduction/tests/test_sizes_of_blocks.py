"""Sizes of blocks and of components of the master, as the paper tells them and as they are."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.blocks import Partition, partition
from discreet_reproduction.metricdp.sizes import component_sizes


def means(space: MetricSpace, radius: int, name: str = "k-m-DV") -> dict[str, float]:
    """Means over three starts, with the paper's 25 blocks."""
    graph = space.adjacency(radius)
    found = [Partition(partition(space, graph, 25, name, seed=seed), graph) for seed in range(3)]
    return {
        "boundary": float(np.mean([p.boundary.sum() for p in found])),
        "mean": float(np.mean([p.internal_sizes.mean() for p in found])),
        "max": float(np.mean([p.internal_sizes.max() for p in found])),
        "linked": float(np.mean([component_sizes(p).mean() for p in found])),
        "crossing": float(np.mean([component_sizes(p, crossing_only=True).mean() for p in found])),
    }


def test_the_papers_grid_does_not_give_the_papers_table() -> None:
    """E5, within a tenth: with cells of 1 km and a radius of 2 nearly all records are on the boundary."""
    found = means(MetricSpace.grid(20, 25, cell=1, unit="km"), 2)
    assert found["boundary"] == pytest.approx(439, rel=0.05)
    assert found["mean"] == pytest.approx(2.4, abs=0.5)
    assert found["linked"] == pytest.approx(439, rel=0.05)
    four = means(MetricSpace.grid(20, 25, cell=1, unit="km"), 1)
    assert four["boundary"] == pytest.approx(272, rel=0.05)
    assert four["mean"] == pytest.approx(9.1, rel=0.1)
    assert four["crossing"] == pytest.approx(4.9, rel=0.2)


def test_points_of_a_wide_normal_law_give_the_table_of_the_synthetic_data() -> None:
    """E5: with a standard deviation of 4, subproblems of 9 to 10 records on average; the paper has 9.6 and 17.9."""
    rng = np.random.default_rng(0)
    space = MetricSpace.from_points(4 * rng.standard_normal((500, 3)), unit="km")
    found = means(space, 2)
    assert found["boundary"] == pytest.approx(265, rel=0.1)
    assert found["mean"] == pytest.approx(9.4, rel=0.1)
    assert found["max"] == pytest.approx(18, rel=0.2)
    assert found["crossing"] == pytest.approx(11.5, rel=0.35)


def test_components_of_a_row_of_places() -> None:
    graph = MetricSpace.grid(1, 9, cell=1, unit="km").adjacency(1)
    thirds = Partition(np.repeat([0, 1, 2], 3), graph)
    assert component_sizes(thirds).tolist() == [2, 2]
    wide = MetricSpace.grid(1, 12, cell=1, unit="km").adjacency(2)
    both = Partition(np.repeat([0, 1, 2], 4), wide)
    assert component_sizes(both).tolist() == [8]
    assert component_sizes(both, crossing_only=True).tolist() == [4, 4]
