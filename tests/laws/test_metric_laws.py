"""Laws of metric spaces: they are metrics, never above the truth, and do not care for names or units."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.spaces.test_adjacency import covers
from discreet.core.spaces.metric import MetricSpace, greedy_spanner

COORDINATES = st.floats(-1e3, 1e3, width=32) | st.integers(-4, 4).map(float)
METRICS = st.sampled_from(["euclidean", "manhattan"])


@st.composite
def clouds(draw: st.DrawFn) -> np.ndarray:
    """Draw a few points, some on a lattice, some twice."""
    n = draw(st.integers(2, 9))
    return np.array([[draw(COORDINATES), draw(COORDINATES)] for _ in range(n)])


def spread(points: np.ndarray) -> bool:
    """Tell whether some two points are far enough apart for the range of scales."""
    return bool((np.ptp(points, axis=0) > 1e-6).any())


def true_square(p: np.ndarray, q: np.ndarray) -> Fraction:
    return sum(
        ((Fraction(x) - Fraction(y)) ** 2 for x, y in zip(p.tolist(), q.tolist(), strict=True)),
        Fraction(0),
    )


@given(clouds().filter(spread), METRICS)
def test_a_space_is_a_metric_space(points: np.ndarray, metric: str) -> None:
    distances = MetricSpace.from_points(points, metric=metric, unit="km").distances
    assert (np.diag(distances) == 0).all()
    assert (distances == distances.T).all()
    assert (distances >= 0).all()
    assert (distances[:, :, None] + distances[None] >= distances[:, None, :]).all()


@given(clouds().filter(spread))
def test_no_distance_exceeds_the_true_one_and_none_falls_far_below(points: np.ndarray) -> None:
    space = MetricSpace.from_points(points, unit="km")
    for i in range(space.n):
        for j in range(space.n):
            stored = int(space.distances[i, j])
            square = true_square(points[i], points[j]) * 4**space.scale_bits
            assert stored**2 <= square < (stored + space.n) ** 2


@given(clouds().filter(spread), st.fractions("1/1000", 100, max_denominator=1000))
def test_no_true_neighbor_is_missing(points: np.ndarray, radius: Fraction) -> None:
    space = MetricSpace.from_points(points, unit="km")
    found = {tuple(pair) for pair in space.adjacency(radius).pairs.tolist()}
    for i in range(space.n):
        for j in range(i + 1, space.n):
            if true_square(points[i], points[j]) <= radius**2:
                assert (i, j) in found


@given(clouds().filter(spread), METRICS, st.data())
def test_names_do_not_matter(points: np.ndarray, metric: str, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(len(points)))))
    space = MetricSpace.from_points(points, metric=metric, unit="km")
    other = space.restrict(order)
    assert (other.distances == space.distances[np.ix_(order, order)]).all()
    assert len(other.adjacency().prune()) == len(space.adjacency().prune())


@given(clouds().filter(spread), METRICS, st.integers(-8, 8))
def test_a_power_of_two_only_moves_the_scale(points: np.ndarray, metric: str, power: int) -> None:
    space = MetricSpace.from_points(points, metric=metric, unit="km")
    scaled = MetricSpace.from_points(np.ldexp(points, power), metric=metric, unit="km")
    assert scaled.scale_bits == space.scale_bits - power
    assert (scaled.distances == space.distances).all()


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(1, 5), st.fractions("1/100", 50, max_denominator=100))
def test_grids_are_metric_and_exact_along_lines(rows: int, columns: int, cell: Fraction) -> None:
    space = MetricSpace.grid(rows, columns, cell=cell, unit="km")
    distances = space.distances
    assert (distances[:, :, None] + distances[None] >= distances[:, None, :]).all()
    step = math.floor(cell * 2**space.scale_bits)
    assert distances[0, :columns].tolist() == [step * c for c in range(columns)]


@given(clouds().filter(spread), METRICS, st.floats(0.1, 100))
def test_pruning_changes_no_path(points: np.ndarray, metric: str, radius: float) -> None:
    space = MetricSpace.from_points(points, metric=metric, unit="km")
    for graph in (space.adjacency(), space.adjacency(radius)):
        pruned = graph.prune()
        assert (pruned.shortest_paths() == graph.shortest_paths()).all()
        assert covers(pruned, graph)
        for edge in range(len(pruned)):
            rest = pruned.subgraph(np.delete(np.arange(len(pruned)), edge))
            assert not covers(rest, pruned)


@given(clouds().filter(spread), st.floats(0.1, 100))
def test_paths_in_a_neighbor_graph_are_never_shorter_than_distances(
    points: np.ndarray, radius: float
) -> None:
    space = MetricSpace.from_points(points, unit="km")
    joined, _ = space.adjacency(radius).join(space)
    paths = joined.shortest_paths()
    assert (paths >= space.distances).all()
    stretch = joined.stretch(space)
    assert stretch is not None
    assert stretch >= 1
    assert (joined.lengths == space.distances[joined.pairs[:, 0], joined.pairs[:, 1]]).all()


@given(clouds().filter(spread), METRICS, st.fractions(1, 4, max_denominator=10))
def test_a_spanner_keeps_its_promise(points: np.ndarray, metric: str, dilation: Fraction) -> None:
    space = MetricSpace.from_points(points, metric=metric, unit="km")
    stretch = greedy_spanner(space, dilation).stretch(space)
    assert stretch is not None
    assert stretch <= dilation


@given(clouds().filter(spread))
def test_merging_duplicates_loses_no_distance(points: np.ndarray) -> None:
    space = MetricSpace.from_points(np.concatenate([points, points[:2]]), unit="km")
    merged, labels = space.merge_duplicates()
    assert (merged.distances[np.ix_(labels, labels)] == space.distances).all()
    assert (merged.distances + np.eye(merged.n) > 0).all()
