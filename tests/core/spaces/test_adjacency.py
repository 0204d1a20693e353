from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from discreet.core.errors import InvalidProblemError
from discreet.core.kernels import distances as _kernels
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.adjacency import Adjacency
from discreet.core.spaces.lengths import TableLengths, tree_links
from discreet.core.spaces.metric import MetricSpace, greedy_spanner
from few import each_once


def graph(n: int, edges: dict[tuple[int, int], int]) -> Adjacency:
    pairs = np.array(list(edges), dtype=np.int32).reshape(-1, 2)
    return Adjacency(n, pairs, np.array(list(edges.values()), dtype=np.int64), 0)


def brute_paths(graph: Adjacency) -> list[list[float]]:
    """Floyd and Warshall's recursion, as in the book."""
    n = graph.n
    table = [[0 if i == j else float("inf") for j in range(n)] for i in range(n)]
    for (i, j), length in zip(graph.pairs.tolist(), graph.lengths.tolist(), strict=True):
        table[i][j] = table[j][i] = length
    for k in range(n):
        for i in range(n):
            for j in range(n):
                table[i][j] = min(table[i][j], table[i][k] + table[k][j])
    return table


def brute_prune(graph: Adjacency) -> list[list[int]]:
    """Longest first, drop an edge when what is left has another path no longer."""
    left = {
        (i, j): length
        for (i, j), length in zip(graph.pairs.tolist(), graph.lengths.tolist(), strict=True)
    }
    for edge, length in sorted(left.items(), key=lambda item: -item[1]):
        without = {other: size for other, size in left.items() if other != edge}
        if path_length(graph.n, without, *edge) <= length:
            left = without
    return sorted(list(edge) for edge in left)


def path_length(n: int, edges: dict[tuple[int, int], int], source: int, target: int) -> float:
    around: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for (i, j), length in edges.items():
        around[i].append((j, length))
        around[j].append((i, length))
    best = {source: 0}
    heap = [(0, source)]
    while heap:
        d, node = heapq.heappop(heap)
        if node == target:
            return d
        for end, length in around[node]:
            if d + length < best.get(end, 2**62):
                best[end] = d + length
                heapq.heappush(heap, (d + length, end))
    return float("inf")


def random_graph(seed: int, n: int, chance: float, longest: int, least: int = 1) -> Adjacency:
    rng = np.random.default_rng(seed)
    edges = {
        (i, j): int(rng.integers(least, longest + 1))
        for i, j in combinations(range(n), 2)
        if rng.uniform() < chance
    }
    return graph(n, edges)


def covers(edges: Adjacency, stated: MetricSpace | Adjacency) -> bool:
    """Whether every stated pair is joined by a path of `edges` of at most its stated length."""
    paths = edges.shortest_paths()
    if isinstance(stated, MetricSpace):
        return bool(((paths >= 0) & (paths <= stated.distances)).all())
    i, j = stated.pairs.T
    return bool(((paths[i, j] >= 0) & (paths[i, j] <= stated.lengths)).all())


def test_the_golden_grid_loses_a_third_of_its_edges() -> None:
    """The 20 x 25 grid of the specification: 2777 edges, of which 910 are implied."""
    space = MetricSpace.grid(20, 25, cell=1, unit="km")
    near = space.adjacency(2)
    assert (len(near), len(near.prune())) == (2777, 1867)
    assert covers(near.prune(), near)


def test_the_golden_stretches() -> None:
    """Octile distances stretch by 1/cos(22.5 degrees), city blocks by the root of two."""
    space = MetricSpace.grid(20, 25, cell=1, unit="km")
    octile, blocks = space.adjacency("1.5").stretch(space), space.adjacency(1).stretch(space)
    assert octile is not None
    assert blocks is not None
    assert float(octile) == pytest.approx(1 / np.cos(np.pi / 8), abs=1e-3)
    assert float(blocks) == pytest.approx(2**0.5, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("chance", [0.1, 0.25, 1.0])
@pytest.mark.parametrize("longest", [2, 40])
def test_pruning_is_exact(seed: int, chance: float, longest: int) -> None:
    """Sparse and dense, many ties and few, edges longer than their paths: as one by one."""
    original = random_graph(seed, 14, chance, longest)
    pruned = original.prune()
    assert pruned.pairs.tolist() == brute_prune(original)
    assert (pruned.shortest_paths() == original.shortest_paths()).all()
    assert pruned.prune().pairs.tolist() == pruned.pairs.tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("chance", [0.15, 1.0])
def test_pruning_with_lengths_of_zero_keeps_paths_and_is_irredundant(
    seed: int, chance: float
) -> None:
    original = random_graph(seed, 12, chance, 2, least=0)
    pruned = original.prune()
    assert (pruned.shortest_paths() == original.shortest_paths()).all()
    assert brute_prune(pruned) == pruned.pairs.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_points_are_pruned_as_one_by_one(seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 4, (11, 2))
    space = MetricSpace.from_points(points, unit="km").merge_duplicates()[0]
    everything = space.adjacency()
    assert everything.prune().pairs.tolist() == brute_prune(everything)


def test_the_sparse_and_the_dense_search_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    original = random_graph(1, 20, 0.9, 25)
    paths = original.shortest_paths().astype(float)
    np.fill_diagonal(paths, np.inf)
    dense = _kernels.implied_dense(paths, original.pairs, original.lengths.astype(float))
    monkeypatch.setattr(measures, "DENSE_LIMIT", 5)
    sparse = original.prune()
    assert original.pairs[~dense].tolist() == sparse.pairs.tolist()


@pytest.mark.parametrize("chance", [0.15, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_shortest_paths_are_exact(seed: int, chance: float) -> None:
    original = random_graph(seed, 12, chance, 2**45, least=0)
    paths = original.shortest_paths()
    expected = np.array(brute_paths(original))
    assert (paths == np.where(np.isinf(expected), -1, expected)).all()


def test_shortest_paths_are_kept() -> None:
    line = graph(3, {(0, 1): 1, (1, 2): 2})
    before = line.paths_known
    paths = line.shortest_paths()
    assert (before, line.paths_known) == (False, True)
    assert line.shortest_paths() is paths
    assert not paths.flags.writeable


def test_paths_too_long_for_floats_are_refused() -> None:
    edges = {(i, i + 1): 2**51 for i in range(5)}
    with pytest.raises(InvalidProblemError, match="2\\^53"):
        graph(6, edges).shortest_paths()
    assert graph(4, {(0, 1): 2**51, (1, 2): 2**51}).shortest_paths().max() == 2**52


def test_all_paths_of_a_large_graph_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 3)
    with pytest.raises(InvalidProblemError, match="at most 3"):
        graph(4, {(0, 1): 1}).shortest_paths()


def test_components_and_isolated_secrets() -> None:
    made = graph(6, {(4, 1): 1, (3, 0): 2, (0, 4): 3})
    assert made.pairs.tolist() == [[0, 3], [0, 4], [1, 4]]
    assert made.lengths.tolist() == [2, 3, 1]
    assert made.components.tolist() == [0, 0, 1, 0, 0, 2]
    assert made.isolated.tolist() == [2, 5]
    assert repr(made) == "Adjacency(n=6, edges=3, components=3, isolated=2)"
    empty = graph(2, {})
    assert (len(empty), empty.components.tolist(), len(empty.prune())) == (0, [0, 1], 0)
    assert empty.shortest_paths().tolist() == [[0, -1], [-1, 0]]
    for array in (made.pairs, made.lengths, made.components):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("n", "pairs", "lengths", "field"),
    [
        (0, [], [], "n"),
        (2, [[0, 1]], [1, 2], "lengths"),
        (2, [[0, 1]], [-1], "lengths"),
        (2, [[0, 1]], [2**52], "lengths"),
        (2, [[0, 2]], [1], "pairs"),
        (2, [[-1, 0]], [1], "pairs"),
        (2, [[1, 1]], [1], "pairs"),
        (2, [[0, 1], [1, 0]], [1, 1], "pairs"),
    ],
)
def test_graphs_that_make_no_sense(
    n: int, pairs: list[list[int]], lengths: list[int], field: str
) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        Adjacency(n, np.array(pairs, dtype=np.int32), np.array(lengths, dtype=np.int64), 0)
    assert caught.value.field == field


def islands() -> MetricSpace:
    """Three groups of points and a lone one."""
    rng = np.random.default_rng(7)
    centers = np.array([[0, 0], [5, 0], [0, 6]])
    points = [center + rng.uniform(-0.4, 0.4, (8, 2)) for center in centers]
    return MetricSpace.from_points(np.concatenate([*points, [[9, 9]]]), unit="km")


def shortest_total(space: MetricSpace, labels: np.ndarray) -> int:
    """Prim's algorithm on the components."""
    parts = int(labels.max()) + 1
    gaps = np.array(
        [
            [space.distances[np.ix_(labels == a, labels == b)].min() for b in range(parts)]
            for a in range(parts)
        ]
    )
    inside, total = {0}, 0
    while len(inside) < parts:
        length, new = min(
            (int(gaps[a, b]), b) for a in inside for b in range(parts) if b not in inside
        )
        inside.add(new)
        total += length
    return total


@pytest.mark.parametrize("radius", ["0.001", 1, 2])
@pytest.mark.parametrize("limit", [4096, 10])
def test_components_are_joined_by_their_shortest_links(
    radius: str | int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = islands()
    near = space.adjacency(radius)
    expected = shortest_total(space, near.components)
    monkeypatch.setattr(measures, "DENSE_LIMIT", limit)
    joined, added = near.join(space)
    assert (joined.components == 0).all()
    assert len(added) == near.components.max()
    rows = {tuple(pair): int(at) for at, pair in enumerate(joined.pairs.tolist())}
    lengths = [int(joined.lengths[rows[tuple(pair)]]) for pair in added.tolist()]
    # Without a matrix lengths are not closed: a unit more for some.
    assert 0 <= sum(lengths) - expected <= len(added)
    assert joined.join(space)[0] is joined
    assert joined.join(space)[1].shape == (0, 2)


def test_large_components_are_linked_by_trees() -> None:
    """More than 64 points each, so that nearest neighbors within a component hide the others."""
    rng = np.random.default_rng(8)
    points = np.concatenate([rng.uniform([s, 0], [s + 1, 1], (70, 2)) for s in (0, 3, 5)])
    labels = np.repeat([0, 1, 2], 70).astype(np.int32)
    links = tree_links(points, 2.0, labels)
    assert {tuple(sorted(labels[link])) for link in links} == {(0, 1), (1, 2)}
    for i, j in links.tolist():
        others = points[labels == labels[i]][:, None] - points[labels == labels[j]]
        shortest = np.linalg.norm(others, axis=2).min()
        assert np.linalg.norm(points[i] - points[j]) == pytest.approx(shortest)


def test_ties_between_links_leave_one_component() -> None:
    corners = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    space = MetricSpace.from_points(corners, unit="km")
    near = space.adjacency("0.5")
    joined, added = near.join(space)
    assert added.tolist() == [[0, 1], [0, 2], [1, 3]]
    assert (joined.components == 0).all()


def test_stretch_is_exact() -> None:
    space = MetricSpace.from_graph(
        4, [(0, 1), (1, 2), (2, 3), (3, 0)], [1.0, 1.0, 1.0, 1.0], unit="km"
    )
    without = space.adjacency().subgraph(np.array([0, 3, 5]))
    assert without.pairs.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert without.stretch(space) == 3
    assert space.adjacency().stretch(space) == 1
    brute = max(
        Fraction(int(path), int(distance))
        for path, distance in zip(
            without.shortest_paths()[np.triu_indices(4, 1)],
            space.distances[np.triu_indices(4, 1)],
            strict=True,
        )
    )
    assert brute == 3


def test_stretch_of_what_has_no_path_is_none() -> None:
    space = MetricSpace.from_points([[0.0], [1.0], [5.0]], unit="km")
    assert space.adjacency(1).stretch(space) is None
    twins = MetricSpace.from_points([[0.0], [1.0], [0.0]], unit="km")
    apart = twins.adjacency().subgraph(np.array([0, 2]))
    assert apart.pairs.tolist() == [[0, 1], [1, 2]]
    assert apart.stretch(twins) is None
    assert twins.adjacency().stretch(twins) == 1
    lone = MetricSpace.from_points([[0.0]], unit="km")
    assert lone.adjacency().stretch(lone) == 1


def test_a_cover_with_an_edge_missing_is_rejected() -> None:
    space = MetricSpace.grid(4, 4, cell=1, unit="km")
    everything, near = space.adjacency(), space.adjacency(2)
    pruned = everything.prune()
    assert covers(pruned, space)
    assert covers(pruned, everything)
    for edge in range(len(pruned)):
        rest = pruned.subgraph(np.delete(np.arange(len(pruned)), edge))
        assert not covers(rest, space)
        assert not covers(rest, everything)
    assert covers(near.prune(), near)
    assert not covers(near, space)
    assert not covers(space.adjacency("0.5"), space)
    assert covers(near, space.adjacency("0.5"))


def test_other_spaces_are_refused() -> None:
    space = MetricSpace.grid(3, 3, cell=1, unit="km")
    near = space.adjacency(1)
    smaller = MetricSpace.grid(2, 2, cell=1, unit="km")
    finer = MetricSpace.grid(3, 3, cell="0.1", unit="km")
    for other in (smaller, finer):
        for call in (near.join, near.stretch):
            with pytest.raises(InvalidProblemError, match=r"in units of 2\^-"):
                call(other)


@pytest.mark.parametrize("dilation", [1, "1.1", Fraction(4, 3), 2, 10**9])
def test_a_spanner_stretches_no_more_than_stated(dilation: int | str | Fraction) -> None:
    points = np.random.default_rng(9).normal(size=(25, 2))
    space = MetricSpace.from_points(np.concatenate([points, points[:2]]), unit="km")
    spanner = greedy_spanner(space, dilation)
    stretch = spanner.stretch(space)
    assert stretch is not None
    assert stretch <= Fraction(dilation)


@pytest.mark.parametrize(("dilation", "seed"), each_once([1.0, 1.1, 1.7], range(3)))
def test_a_spanner_takes_each_pair_that_the_graph_so_far_stretches(
    dilation: float, seed: int
) -> None:
    """Against distances computed anew after each pair; several pairs have the same length."""
    points = np.random.default_rng(seed).integers(0, 6, (14, 2))
    pairs = np.array(list(combinations(range(14), 2)), dtype=np.int32)
    lengths = np.abs(points[pairs[:, 0]] - points[pairs[:, 1]]).sum(axis=1).astype(float)
    order = np.argsort(lengths, kind="stable")
    pairs, lengths = pairs[order], lengths[order]
    chosen: dict[tuple[int, int], int] = {}
    for (i, j), length in zip(pairs.tolist(), lengths.tolist(), strict=True):
        if not chosen or brute_paths(graph(14, chosen))[i][j] > dilation * length:
            chosen[i, j] = int(length)
    for most in (len(pairs), len(chosen), 5):
        marked = _kernels.spanner(14, pairs, lengths, dilation * lengths, most)
        assert [tuple(pair) for pair in pairs[marked].tolist()] == list(chosen)[: most + 1]


def test_a_spanner_of_dilation_one_is_the_pruned_graph() -> None:
    space = MetricSpace.grid(4, 4, cell=1, unit="km")
    spanner = greedy_spanner(space, 1)
    assert spanner.pairs.tolist() == space.adjacency().prune().pairs.tolist()
    assert len(greedy_spanner(space, 100)) == 15


@pytest.mark.parametrize("dilation", [0.99, 0, "x"])
def test_a_dilation_is_at_least_one(dilation: object) -> None:
    with pytest.raises(InvalidProblemError, match="dilation"):
        greedy_spanner(MetricSpace.grid(2, 2, cell=1, unit="km"), dilation)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 3, 9, 14])
@pytest.mark.parametrize(("block", "width"), [(4, 5), (6, 64), (64, 512)])
def test_closing_in_blocks_is_floyd_and_warshall(n: int, block: int, width: int) -> None:
    """Whole blocks, ragged ones, strips, and pivots that do not come in fours."""
    original = random_graph(n, n, 0.4, 50)
    table = original._matrix()
    _kernels.close(table, block, width)
    assert table.tolist() == brute_paths(original)


def test_strips_of_third_nodes_change_the_speed_alone() -> None:
    original = random_graph(3, 15, 0.5, 9)
    paths, lengths = (one.astype(float) for one in (original.shortest_paths(), original.lengths))
    given = paths + np.diag([np.inf] * 15), original.pairs, lengths
    implied = getattr(_kernels.implied_dense, "py_func", _kernels.implied_dense)
    assert (implied(*given, 4) == implied(*given)).all()
    assert implied(*given).any()


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_equal_plain_ones(seed: int) -> None:
    original = random_graph(seed, 15, 0.5, 9)
    lengths = original.lengths.astype(float)
    plain, quick = original._matrix(), original._matrix()
    _kernels.close.py_func(plain, 4, 5)  # type: ignore[attr-defined]
    _kernels.close(quick, 4, 5)
    assert (plain == quick).all()
    np.fill_diagonal(plain, np.inf)
    ordered = np.argsort(original.lengths, kind="stable")
    limits = np.floor(lengths[ordered] * 1.5)
    for name, arguments in {
        "implied_dense": (plain, original.pairs, lengths),
        "spanning_forest": (original.n, original.pairs),
        "spanner": (original.n, original.pairs[ordered], lengths[ordered], limits, 40),
    }.items():
        function = getattr(_kernels, name)
        assert (function(*arguments) == function.py_func(*arguments)).all()


@pytest.mark.jit
def test_all_pairs_of_the_golden_grid() -> None:
    """A pair is implied when its offset has a common divisor: what is left are primitive offsets."""
    space = MetricSpace.grid(20, 25, cell=1, unit="km")
    pruned = space.adjacency().prune()
    rows, columns = np.divmod(pruned.pairs, 25)
    divisors = np.gcd(np.diff(rows)[:, 0], np.diff(columns)[:, 0])
    assert (divisors == 1).all()
    row, column = np.divmod(np.arange(500), 25)
    every = np.gcd(row[:, None] - row, column[:, None] - column)
    assert len(pruned) == (every == 1).sum() // 2


@pytest.mark.jit
def test_twenty_thousand_places_need_no_matrix() -> None:
    points = np.random.default_rng(10).uniform(0, 50, (20_000, 2))
    space = MetricSpace.from_points(points, unit="km")
    near = space.adjacency("0.5")
    apart = np.linalg.norm(points[near.pairs[:, 0]] - points[near.pairs[:, 1]], axis=1)
    assert (apart <= 0.5).all()
    assert (np.abs(np.ldexp(near.lengths.astype(float), -space.scale_bits) - apart) < 1e-9).all()
    pruned, some = near.prune(), near.pairs[:, 0] < 256
    limit = float(near.lengths.max())
    reached = dijkstra(pruned._graph(), directed=False, indices=np.arange(256), limit=limit)
    assert (reached[tuple(near.pairs[some].T)] <= near.lengths[some]).all()
    assert (near.join(space)[0].components == 0).all()


@pytest.mark.parametrize("radius", [None, 3])
def test_lengths_that_no_space_is_made_with_are_constrained_all_the_same(
    radius: int | None,
) -> None:
    """A file may state a finer scale, in which every length is beyond 2^46; none of its pairs is forgotten."""
    table = np.array([[0, 2, 3], [2, 0, 2], [3, 2, 0]], dtype=np.int64) << 48
    space = MetricSpace("km", "matrix", 48, TableLengths(table))
    assert len(space.adjacency(radius).pairs) == 3


def test_edges_are_found_in_both_directions_and_others_are_not() -> None:
    path = Adjacency(4, np.array([[2, 3], [0, 1], [1, 2]]), np.array([7, 5, 6]), 0)
    place = path.find(np.array([1, 2, 0, 3]), np.array([0, 3, 3, 2]))
    assert path.lengths[place].tolist()[:2] == [5, 7]
    assert place[2] == -1
    assert path.lengths[place[3]] == 7
    none = Adjacency(3, np.zeros((0, 2), dtype=np.int32), np.zeros(0, dtype=np.int64), 0)
    assert none.find(np.array([0]), np.array([1])).tolist() == [-1]
