"""Partitions: the four partitioners, and what the paper measures of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces.metric import MetricSpace
from discreet.metricdp.blocks import (
    PARTITIONERS,
    Partition,
    k_means,
    partition,
)


def test_the_trace_is_the_ratio_cut() -> None:
    """The identity behind BSC, with the unnormalized Laplacian."""
    rng = np.random.default_rng(0)
    space = MetricSpace.from_points(rng.uniform(0, 5, (40, 2)), unit="km")
    graph, labels = space.adjacency("1.2"), rng.integers(0, 4, 40)
    adjacency = np.zeros((40, 40))
    i, j = graph.pairs.T
    adjacency[i, j] = adjacency[j, i] = 1
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    inside = labels[:, None] == np.arange(4)
    F = inside / np.sqrt(inside.sum(axis=0))
    cut = sum(adjacency[np.ix_(m, ~m)].sum() / m.sum() for m in inside.T)
    assert np.trace(F.T @ laplacian @ F) == pytest.approx(cut)


def test_bsc_finds_the_cut_of_two_cliques_and_falls_apart_on_many_components() -> None:
    """E5: eigenvectors of the value zero only know components."""
    points = np.concatenate([np.arange(6), 10 + np.arange(6)])[:, None] * 1.0
    space = MetricSpace.from_points(points, unit="km")
    graph = space.adjacency(5).join(space)[0]
    assert partition(space, graph, 2, "BSC").tolist() == [0] * 6 + [1] * 6
    rng = np.random.default_rng(1)
    sparse = MetricSpace.from_points(4 * rng.standard_normal((300, 3)), unit="km")
    apart = sparse.adjacency(2)
    assert apart.components.max() + 1 > 15
    sizes = np.bincount(partition(sparse, apart, 15, "BSC"))
    assert sizes.max() > 150
    assert np.bincount(partition(sparse, apart, 15, "k-m-DV")).max() < 100


@pytest.mark.parametrize("name", [*PARTITIONERS, "k-m-dv", "bsc"])
def test_labels_have_no_gaps_and_the_seed_decides(name: str) -> None:
    space = MetricSpace.grid(6, 7, cell=1, unit="km")
    graph = space.adjacency(1)
    for count in (1, 2, 5, 42):
        labels = partition(space, graph, count, name, seed=3)
        assert set(labels.tolist()) == set(range(int(labels.max()) + 1))
        assert labels.max() < count
        assert labels[0] == 0
        assert (labels == partition(space, graph, count, name, seed=3)).all()
    starts = {tuple(partition(space, graph, 5, name, seed=seed).tolist()) for seed in range(4)}
    assert len(starts) > 1


def test_all_singletons() -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    labels = partition(space, space.adjacency(1), 9, "k-m-rec")
    assert sorted(labels.tolist()) == list(range(9))
    alone = Partition(labels, space.adjacency(1))
    assert alone.boundary.all()
    assert alone.internal_sizes.tolist() == [0] * 9


def test_k_means_has_no_empty_group_where_rows_differ() -> None:
    rng = np.random.default_rng(5)
    for seed in range(20):
        rows = rng.integers(0, 4, (12, 2)).astype(np.float64)
        k = int(rng.integers(1, 13))
        labels = k_means(rows, k, seed=seed)
        assert labels.max() + 1 == min(k, len(np.unique(rows, axis=0)))


def test_an_empty_group_takes_the_row_that_is_farthest_from_its_own() -> None:
    """Starts of Lloyd's algorithm from which a group loses all its rows."""
    rows = np.array([[0.0], [1.0], [1.0], [1.0], [2.0], [9.0]])
    for seed in range(30):
        assert len(np.unique(k_means(rows, 4, seed=seed))) == 4


def test_no_more_groups_than_different_rows() -> None:
    assert k_means(np.ones((5, 2)), 3).tolist() == [0] * 5


def test_measures_of_a_row_of_places() -> None:
    graph = MetricSpace.grid(1, 9, cell=1, unit="km").adjacency(1)
    thirds = Partition(np.repeat([0, 1, 2], 3), graph)
    assert thirds.n_blocks == 3
    assert thirds.crossing.tolist() == [2, 5]
    assert np.flatnonzero(thirds.boundary).tolist() == [2, 3, 5, 6]
    assert thirds.internal_sizes.tolist() == [2, 1, 2]


@pytest.mark.parametrize("count", [0, 10])
def test_numbers_of_blocks_outside_the_range_are_refused(count: int) -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    with pytest.raises(InvalidProblemError, match="blocks: expected a number from 1 to 9"):
        partition(space, space.adjacency(1), count, "BSC")


def test_records_without_coordinates_are_refused() -> None:
    space = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km")
    with pytest.raises(InvalidProblemError, match="partitioner: .*coordinates"):
        partition(space, space.adjacency(), 1, "k-m-rec")
    assert partition(space, space.adjacency(), 2, "k-m-DV").tolist() == [0, 1]


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0, 0.0], [0, 2, 0], [1, 1, 1], [-1, 0, 1]])
def test_labels_that_make_no_sense_are_refused(labels: Any) -> None:
    graph = MetricSpace.grid(1, 3, cell=1, unit="km").adjacency(1)
    with pytest.raises(InvalidProblemError, match="labels: "):
        Partition(labels, graph)
