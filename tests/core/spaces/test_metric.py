from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidProblemError
from discreet.core.spaces import lengths as measures
from discreet.core.spaces.geography import great_circle, ground_factor, longest_geodesics
from discreet.core.spaces.lattice import LatticeLengths
from discreet.core.spaces.metric import MetricSpace
from discreet.core.spaces.points import PointLengths
from earth import geodesic

GRID = np.stack(np.divmod(np.arange(20), 5), axis=-1).astype(float)


def is_closed(distances: np.ndarray) -> bool:
    """Look at every triangle."""
    return bool((distances[:, :, None] + distances[None] >= distances[:, None, :]).all())


def test_euclidean_lengths_are_exact_floors() -> None:
    """The defining inequalities of a floor, in integers, on points with ties, tiny and large coordinates."""
    rng = np.random.default_rng(1)
    points = np.concatenate([GRID, rng.normal(size=(20, 2)), GRID[:3] + 1e-9, [[1e-300, 0]]])
    space = MetricSpace.from_points(points, unit="km")
    i, j = np.triu_indices(len(points), 1)
    lengths = space.source.between(i, j)
    for a, b, length in zip(i, j, lengths.tolist(), strict=True):
        square = sum(
            (Fraction(x) - Fraction(y)) ** 2
            for x, y in zip(points[a].tolist(), points[b].tolist(), strict=True)
        )
        scaled = square * 4**space.scale_bits
        assert length**2 <= scaled < (length + 1) ** 2


@pytest.mark.parametrize("points", [GRID, GRID * 0.1, np.random.default_rng(2).normal(size=(9, 3))])
def test_manhattan_lengths_are_exact_floors(points: np.ndarray) -> None:
    space = MetricSpace.from_points(points, metric="manhattan", unit="km")
    i, j = np.triu_indices(len(points), 1)
    for a, b, length in zip(i, j, space.source.between(i, j).tolist(), strict=True):
        true = sum(
            abs(Fraction(x) - Fraction(y))
            for x, y in zip(points[a].tolist(), points[b].tolist(), strict=True)
        )
        assert length == math.floor(true * 2**space.scale_bits)


def test_sums_of_few_bits_are_known_to_be_exact() -> None:
    """Otherwise every pair of a lattice would be decided in long integers, one by one."""
    for points, expected in ((GRID, True), (GRID * 0.25, True), (GRID * 0.1, False)):
        source = MetricSpace.from_points(points, metric="manhattan", unit="km").source
        assert isinstance(source, PointLengths)
        assert source._sums_exactly is expected


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_large_integers_are_coordinates_like_others(metric: str) -> None:
    space = MetricSpace.from_points([[2.0**60, 0], [2.0**60 + 2**12, 0]], metric=metric, unit="a")
    assert space.distance(0, 1) == 2**12


def test_haversine_is_below_the_shortened_great_circle_by_next_to_nothing() -> None:
    rng = np.random.default_rng(3)
    points = np.stack([rng.uniform(-90, 90, 30), rng.uniform(0, 360, 30)], axis=-1)
    space = MetricSpace.from_points(points, metric="haversine", unit="km")
    meters = MetricSpace.from_points(points, metric="haversine", unit="m")
    true = great_circle(points[:, None], points) * ground_factor(points[:, 0])
    stored = np.ldexp(space.distances.astype(float), -space.scale_bits)
    assert (stored <= true * (1 - 2.0**-46)).all()
    assert (true - stored).max() < 1e-8
    apart = np.abs(np.ldexp(meters.distances.astype(float), -meters.scale_bits) - 1000 * stored)
    assert apart.max() < 1e-5
    assert is_closed(space.distances)


@pytest.mark.parametrize("latitude", [-89.9, -62.0, -33.9, -1.3, 0.0, 9.0, 41.9, 47.8, 71.0, 89.0])
@pytest.mark.parametrize("size", [1e-3, 0.1, 20.0])
def test_no_stored_length_is_above_the_geodesic(latitude: float, size: float) -> None:
    """North to south at the equator a great circle of the mean radius is .56 % longer than the geodesic."""
    rng = np.random.default_rng(7)
    points = np.array([latitude, 179.99]) + rng.uniform(-size / 2, size / 2, (12, 2))
    points[:2] = (latitude, 180.0), (latitude + size / 2, 180.0)
    points[:, 0] = np.clip(points[:, 0], -90, 90)
    for unit, per in (("km", 1), ("m", 1000)):
        space = MetricSpace.from_points(points, metric="haversine", unit=unit)
        for i, j in combinations(range(12), 2):
            ground = per * geodesic(*(tuple(p) for p in points[[i, j]].tolist()))
            assert 0.989 * ground - 1e-8 < float(space.distance(i, j)) <= ground * (1 + 1e-9)


@pytest.mark.parametrize("band", [(-90, 90), (0, 90), (30, 60), (-20, 10), (-75, -50)])
def test_geodesics_are_within_bounds_from_great_circles(band: tuple[int, int]) -> None:
    """Whole hemispheres; nearly antipodal points are left out, for which the oracle does not converge."""
    rng = np.random.default_rng(5)
    points = np.stack([rng.uniform(*band, 400), rng.uniform(-180, 180, 400)], axis=-1)
    points[::7, 0] = band[0]
    factor = ground_factor(points[:, 0])
    for p, q in zip(points[::2].tolist(), points[1::2].tolist(), strict=True):
        circle = float(great_circle(p, q))
        if circle < 19_000:
            ground = geodesic(tuple(p), tuple(q))
            assert factor * circle <= ground * (1 + 1e-9)
            assert ground <= longest_geodesics([p, q])[0, 1] <= 1.0034 * ground


@pytest.mark.parametrize("latitude", [-80.0, -34.0, 0.0, 12.0, 52.0, 69.6])
def test_upper_bounds_on_geodesics_of_a_city_are_tight(latitude: float) -> None:
    rng = np.random.default_rng(8)
    points = np.array([latitude, 179.9]) + rng.uniform(-0.2, 0.2, (20, 2))
    longest = longest_geodesics(points)
    for i, j in combinations(range(20), 2):
        ground = geodesic(*(tuple(p) for p in points[[i, j]].tolist()))
        assert ground <= longest[i, j] <= ground * (1 + 1e-4)


def test_angles_are_below_the_true_ones_by_next_to_nothing() -> None:
    turns = np.array([0.0, 1e-9, 0.5, 1.0, 2.0, np.pi])
    points = np.stack([np.cos(turns), np.sin(turns)], axis=-1) * [[1], [9], [1e-5], [1], [3], [7]]
    space = MetricSpace.from_points(points, metric="angular", unit="rad")
    stored = np.ldexp(space.distances[0].astype(float), -space.scale_bits)
    assert (turns - stored >= -1e-16).all()
    assert (turns - stored).max() < 1e-11
    doubled = MetricSpace.from_points([[1, 2], [2, 4], [3, 1]], metric="angular", unit="rad")
    assert doubled.distance(0, 1) == 0


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.floats(-0.57, 0.57), st.floats(-0.57, 0.57), st.integers(0, 45)),
        min_size=2,
        max_size=4,
    )
)
def test_distances_in_the_ball_are_below_the_true_ones_by_next_to_nothing(
    given: list[tuple[float, float, int]],
) -> None:
    """Against 400 digits; the third number pulls a point toward the sphere, where floats cancel."""
    points = []
    for x, y, near in given:
        norm = math.hypot(x, y)
        out = (1 - 2.0**-near) / norm if near and norm > 0.01 else 1.0
        points.append((x * out, y * out))
    if any(Fraction(x) ** 2 + Fraction(y) ** 2 >= 1 for x, y in points):
        return
    try:
        space = MetricSpace.from_points(points, metric="hyperbolic", unit="1")
    except InvalidProblemError:
        return  # nearer together than the unit allows
    i, j = np.triu_indices(len(points), 1)
    with localcontext() as context:
        context.prec = 400
        for a, b, length in zip(i, j, space.source.between(i, j).tolist(), strict=True):
            p, q = ([Decimal(x) for x in points[t]] for t in (a, b))
            t = 2 * sum(((x - y) ** 2 for x, y in zip(p, q, strict=True)), Decimal(0))
            t /= (1 - sum((x * x for x in p), Decimal(0))) * (
                1 - sum((y * y for y in q), Decimal(0))
            )
            true = (1 + t + (t * (t + 2)).sqrt()).ln() * 2**space.scale_bits
            assert length <= true
            assert length >= true * (1 - Decimal(2) ** -46) - 1


def test_a_line_through_the_middle_of_the_ball_is_measured_by_artanh() -> None:
    space = MetricSpace.from_points([[0.0, 0.0], [0.5, 0.0]], metric="hyperbolic", unit="1")
    assert float(space.distance(0, 1)) == pytest.approx(2 * math.atanh(0.5), rel=1e-12)


def test_a_grid_has_its_closed_form() -> None:
    space = MetricSpace.grid(4, 5, cell="0.1", unit="km")
    scale = Fraction(2**space.scale_bits, 10)
    for a, b in combinations(range(20), 2):
        rows, columns = abs(a // 5 - b // 5), abs(a % 5 - b % 5)
        g = math.gcd(rows, columns)
        square = ((rows // g) ** 2 + (columns // g) ** 2) * scale**2
        assert space.distances[a, b] == g * math.isqrt(math.floor(square))
    assert is_closed(space.distances)
    assert isinstance(space.source, LatticeLengths)
    assert space.source.is_closed


def test_where_the_grids_condition_fails_the_closure_is_taken() -> None:
    """At two bits the closed form is no metric; the answer still is one, and no larger."""
    places = np.stack(np.divmod(np.arange(40), 8), axis=-1)
    coarse = LatticeLengths(places, Fraction(1), 1)
    assert not coarse.is_closed
    i, j = np.meshgrid(np.arange(40), np.arange(40))
    formula = coarse.between(i.ravel(), j.ravel()).reshape(40, 40)
    assert not is_closed(formula)
    assert is_closed(coarse.dense())
    assert (coarse.dense() <= formula).all()


def test_a_grid_and_its_points_agree() -> None:
    grid = MetricSpace.grid(4, 5, cell=1, unit="km")
    assert grid.points is not None
    points = MetricSpace.from_points(grid.points, unit="km")
    shift = grid.scale_bits - points.scale_bits
    assert np.abs((grid.distances >> shift) - points.distances).max() <= 6
    assert points.distance(0, 4) == 4
    assert len(points.adjacency().prune()) == len(grid.adjacency().prune())


@pytest.mark.parametrize(
    ("points", "metric"),
    [
        (GRID, "euclidean"),
        (GRID * 0.1, "euclidean"),
        (GRID @ [[3, 1], [-1, 2]], "euclidean"),
        (GRID * 0.3, "manhattan"),
        (GRID, "haversine"),
        (GRID + 1, "angular"),
        (GRID / 9, "hyperbolic"),
    ],
)
def test_every_space_is_closed(points: np.ndarray, metric: str) -> None:
    unit = "rad" if metric == "angular" else "km"
    assert is_closed(MetricSpace.from_points(points, metric=metric, unit=unit).distances)


def test_closing_is_needed() -> None:
    """Floors alone break the triangle inequality; the stored distances do not."""
    points = np.random.default_rng(5).uniform(size=(60, 1))
    space = MetricSpace.from_points(points, unit="km")
    i, j = np.meshgrid(np.arange(60), np.arange(60))
    floors = space.source.between(i.ravel(), j.ravel()).reshape(60, 60)
    assert not is_closed(floors)
    assert (space.distances <= floors).all()
    assert (floors - space.distances).max() < 60


@pytest.mark.parametrize(
    "space",
    [
        MetricSpace.from_points(np.random.default_rng(6).normal(size=(40, 2)), unit="km"),
        MetricSpace.from_points(
            np.random.default_rng(6).normal(size=(40, 2)), metric="manhattan", unit="km"
        ),
        MetricSpace.from_points(GRID * 0.01, metric="haversine", unit="m"),
        MetricSpace.from_points(GRID + 0.5, metric="angular", unit="rad"),
        MetricSpace.from_points(GRID / 9, metric="hyperbolic", unit="1"),
        MetricSpace.grid(5, 6, cell=1, unit="km"),
        MetricSpace.from_points(GRID / 8 + 1e7, unit="km"),
        MetricSpace.from_points(41.9 + GRID * 1e-9, metric="haversine", unit="m"),
    ],
    ids=["euclidean", "manhattan", "haversine", "angular", "hyperbolic", "grid", "far off", "tiny"],
)
@pytest.mark.parametrize("part", [1e-6, 0.1, 0.3, 0.97, 3])
def test_trees_find_what_the_matrix_finds(
    space: MetricSpace, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    radius = part * float(space.distances.max()) / 2**space.scale_bits
    dense = space.adjacency(radius)
    monkeypatch.setattr(measures, "DENSE_LIMIT", 10)
    sparse = space.adjacency(radius)
    assert sparse.pairs.tolist() == dense.pairs.tolist()
    # Not closed, so a few units may lie between.
    assert (sparse.lengths >= dense.lengths).all()
    assert (sparse.lengths - dense.lengths).max(initial=0) <= space.n
    assert space.distance(0, 3) >= Fraction(int(space.distances[0, 3]), 2**space.scale_bits)


def test_a_large_space_needs_a_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "DENSE_LIMIT", 10)
    space = MetricSpace.grid(4, 5, cell=1, unit="km")
    with pytest.raises(InvalidProblemError, match="at most 10"):
        _ = space.distances
    with pytest.raises(InvalidProblemError, match="at most 10"):
        space.adjacency()
    assert len(space.adjacency(1)) == 31
    assert space.restrict([0, 1, 7]).distance(1, 0) == 1
    assert len({space.digest, MetricSpace.grid(4, 5, cell=2, unit="km").digest}) == 2
    assert space == MetricSpace.grid(4, 5, cell=1, unit="km")
    with pytest.raises(InvalidProblemError, match="at most 10"):
        MetricSpace.from_matrix(np.zeros((11, 11)), unit="km")
    with pytest.raises(InvalidProblemError, match="at most 10"):
        MetricSpace.from_graph(11, [(0, 1)], [1.0], unit="km")


def test_duplicates_merge_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.concatenate([GRID, GRID[:4]])
    monkeypatch.setattr(measures, "DENSE_LIMIT", 10)
    merged, labels = MetricSpace.from_points(points, unit="km").merge_duplicates()
    assert merged.n == 20
    assert labels.tolist() == [*range(20), 0, 1, 2, 3]


def test_neighbors_at_the_radius_are_in() -> None:
    """0.1 km is a tenth, and points 0.1 apart by their decimals are within it."""
    points = [[0.0], [0.1], [0.2], [0.30000000000000004]]
    assert len(MetricSpace.from_points(points, unit="km").adjacency("0.1")) == 3
    space = MetricSpace.grid(1, 4, cell="0.1", unit="km")
    assert len(space.adjacency("0.2")) == 5
    assert len(space.adjacency(Fraction(2, 10) - Fraction(1, 10**9))) == 3


def test_a_matrix_is_read_exactly() -> None:
    table = np.array([[0, 1.5, 2], [1.5, 0, 3.5], [2, 3.5, 0]])
    space = MetricSpace.from_matrix(table, unit="s")
    assert [space.distance(0, 1), space.distance(1, 2)] == [Fraction(3, 2), Fraction(7, 2)]
    assert space.points is None
    assert space.metric == "matrix"
    assert MetricSpace.from_matrix([[0]], unit="s").n == 1


def test_rounding_in_a_matrix_is_closed_downwards() -> None:
    table = np.array([[0, 1.0, 2 + 1e-10], [1.0, 0, 1.0], [2.0, 1.0 + 1e-10, 0]])
    space = MetricSpace.from_matrix(table, unit="s")
    assert space.distance(0, 2) == 2
    assert space.distance(1, 2) == 1


def test_small_violations_that_add_up_are_closed() -> None:
    """No triangle is wrong by more than a part in 10^9, though a long path is shorter by more than that."""
    n = 9
    table = np.array(
        [
            [abs(i - j) * (1 + 7e-10) ** max(abs(i - j), 1).bit_length() for j in range(n)]
            for i in range(n)
        ]
    )
    space = MetricSpace.from_matrix(table, unit="s")
    assert is_closed(space.distances)
    assert float(space.distance(0, 8)) < table[0, 8] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1]], "square"),
        ([], "square"),
        ([[0, 1], [1, 1]], r"d\(1, 1\) = 1"),
        ([[0, -1], [-1, 0]], r"d\(0, 1\) = -1"),
        ([[0, float("nan")], [1, 0]], r"d\(0, 1\) = nan"),
        ([[0, 1], [float("inf"), 0]], r"d\(1, 0\) = inf"),
        ([[0, 1], [2, 0]], "symmetry"),
        ([[0, 1], [1 + 1e-8, 0]], "symmetry"),
        (
            [[0, 1, 2 + 1e-8], [1, 0, 1], [2 + 1e-8, 1, 0]],
            r"d\(0, 2\) = 2.0000000\d+ > d\(0, 1\) \+ d\(1, 2\) = 2.0, by 9.99e-9",
        ),
        (
            [[0, 0, 1], [0, 0, 2], [1, 2, 0]],
            r"d\(1, 2\) = 2.0 > d\(1, 0\) \+ d\(0, 2\) = 1.0, by 1",
        ),
        ([[0, 1e15], [1e15, 0]], "unit"),
        ([[0, 1e-99], [1e-99, 0]], "unit"),
    ],
)
def test_matrices_that_are_no_metric(matrix: object, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        MetricSpace.from_matrix(matrix, unit="km")  # type: ignore[arg-type]


def test_a_graph_has_its_shortest_paths() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0)]
    space = MetricSpace.from_graph(
        4, edges, [1.0, 2.0, 4.0, 8.0, 5.0], unit="min", points=np.eye(4)[:, :2]
    )
    assert [space.distance(0, k) for k in range(4)] == [0, 1, 3, 7]
    assert space.points is not None
    assert MetricSpace.from_graph(1, [], [], unit="min").n == 1


@pytest.mark.parametrize(
    ("n", "edges", "lengths", "field", "message"),
    [
        (5, [(0, 1), (2, 3)], [1, 1], "edges", "3 components: 2, 2, 1"),
        (10, [], [], "edges", r"10 components: 1, 1, 1, 1, 1, 1, 1, 1, \.\.\."),
        (2, [(0, 1)], [0.0], "lengths", "row 0"),
        (2, [(0, 1)], [-1.0], "lengths", "row 0"),
        (2, [(0, 1)], [float("nan")], "lengths", "row 0"),
        (2, [(0, 1)], [float("inf")], "lengths", "row 0"),
        (2, [(0, 1)], [1.0, 2.0], "lengths", "one for each"),
        (2, [(0, 2)], [1.0], "edges", "row 0"),
        (2, [(0, 1), (1, 1)], [1.0, 1.0], "edges", "row 1"),
        (2, [(0, -1)], [1.0], "edges", "row 0"),
        (2, [(0, 1, 1)], [1.0], "edges", "integers"),
        (2, [(0.0, 1.0)], [1.0], "edges", "integers"),
        (0, [], [], "n", "positive"),
        (True, [], [], "n", "positive"),
    ],
)
def test_graphs_that_are_no_metric(
    n: int, edges: list[tuple[int, ...]], lengths: list[float], field: str, message: str
) -> None:
    with pytest.raises(InvalidProblemError, match=message) as caught:
        MetricSpace.from_graph(n, edges, lengths, unit="km")
    assert caught.value.field == field


def test_a_graphs_points_are_one_a_node() -> None:
    with pytest.raises(InvalidProblemError, match="2 rows"):
        MetricSpace.from_graph(2, [(0, 1)], [1.0], unit="km", points=[[0.0, 0.0]])


@pytest.mark.parametrize(
    ("points", "metric", "unit", "message"),
    [
        ([[0.0], [float("nan")]], "euclidean", "km", "row 1"),
        ([[0.0], [float("inf")]], "euclidean", "km", "row 1"),
        ([[0.0], [1e31]], "euclidean", "km", "row 1"),
        ([[0.0], [1e20]], "euclidean", "km", "unit"),
        ([[0.0], [1e-90]], "euclidean", "km", "unit"),
        ([0.0, 1.0], "euclidean", "km", "shape"),
        ([[]], "euclidean", "km", "shape"),
        ([[0.0]], "elliptic", "km", "one of euclidean, manhattan, haversine, angular, hyperbolic"),
        ([[0.0], [1.0]], "hyperbolic", "1", "strictly inside the unit ball, got .* in row 1"),
        ([[0.6, 0.8], [0.0, 0.0]], "hyperbolic", "1", "in row 0"),
        ([[0.0]], "euclidean", " ", "unit"),
        ([[0.0]], "euclidean", None, "unit"),
        ([[0.0, 0.0]], "haversine", "mi", "km or m for haversine"),
        ([[0.0, 0.0]], "angular", "deg", "rad for angular"),
        ([[1.0, 0.0], [0.0, 0.0]], "angular", "rad", "row 1"),
        ([[12.0, 1.0], [95.0, 1.0]], "haversine", "km", "row 1"),
        ([[12.0]], "haversine", "km", "latitude and longitude"),
    ],
)
def test_points_that_make_no_sense(points: object, metric: str, unit: str, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        MetricSpace.from_points(points, metric=metric, unit=unit)


@pytest.mark.parametrize(
    ("rows", "columns", "cell", "field"),
    [
        (0, 1, 1, "rows"),
        (1, 1.5, 1, "columns"),
        (1, 1, 0, "cell"),
        (1, 1, "x", "cell"),
        (2, 1, "1e400", "cell"),
        (2, 1, "1e300", "cell"),
    ],
)
def test_grids_that_make_no_sense(rows: int, columns: int, cell: int, field: str) -> None:
    with pytest.raises(InvalidProblemError) as caught:
        MetricSpace.grid(rows, columns, cell=cell, unit="km")
    assert caught.value.field == field


@pytest.mark.parametrize("radius", [0, -1, "nan"])
def test_a_radius_is_positive(radius: object) -> None:
    with pytest.raises(InvalidProblemError, match="radius"):
        MetricSpace.grid(2, 2, cell=1, unit="km").adjacency(radius)  # type: ignore[arg-type]


def test_one_secret_is_a_space() -> None:
    for space in (
        MetricSpace.grid(1, 1, cell=1, unit="km"),
        MetricSpace.from_points([[3.0, 4.0]], unit="km"),
    ):
        assert space.distances.tolist() == [[0]]
        assert len(space.adjacency()) == 0
        assert space.adjacency(1).isolated.tolist() == [0]
        assert space.merge_duplicates()[0] is space


def test_restriction_keeps_distances() -> None:
    space = MetricSpace.from_points(GRID, unit="km")
    part = space.restrict([7, 3, 11])
    assert part.distances.tolist() == space.distances[np.ix_([7, 3, 11], [7, 3, 11])].tolist()
    assert part.scale_bits == space.scale_bits
    assert part.points is not None
    assert part.points.tolist() == GRID[[7, 3, 11]].tolist()
    again = MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km").restrict([1])
    assert again.points is None


@pytest.mark.parametrize("indices", [[], [[0]], [0.5], [20], [-1], [1, 1]])
def test_secrets_to_keep_are_secrets(indices: object) -> None:
    with pytest.raises(InvalidProblemError, match="indices"):
        MetricSpace.from_points(GRID, unit="km").restrict(indices)  # type: ignore[arg-type]


def test_merging_leaves_no_zero_distance() -> None:
    points = [[2.0], [0.0], [2.0], [1.0], [0.0], [2.0]]
    space, labels = MetricSpace.from_points(points, unit="km").merge_duplicates()
    assert labels.tolist() == [0, 1, 0, 2, 1, 0]
    assert space.points is not None
    assert space.points.ravel().tolist() == [2.0, 0.0, 1.0]
    assert (space.distances + np.eye(3) > 0).all()


def test_the_digest_is_of_unit_scale_and_distances() -> None:
    space = MetricSpace.grid(2, 3, cell=1, unit="km")
    header = f'{{"n":6,"scale_bits":{space.scale_bits},"unit":"km"}}'
    body = b"".join(struct.pack("<q", d) for d in space.distances.ravel().tolist())
    expected = hashlib.sha256(b"discreet space 1\n" + header.encode() + b"\n" + body)
    assert space.digest == expected.hexdigest()
    table = MetricSpace.from_matrix(np.ldexp(space.distances, -space.scale_bits), unit="km")
    others = [
        MetricSpace.grid(2, 3, cell=1, unit="m"),
        MetricSpace.grid(2, 3, cell=2, unit="km"),
        MetricSpace.grid(3, 2, cell=1, unit="km"),
    ]
    assert table.scale_bits == space.scale_bits
    assert (table == space, hash(table) == hash(space)) == (True, True)
    assert len({space, table, *others}) == 4
    assert space != "space"
    assert repr(space) == "MetricSpace(n=6, metric='grid', unit='km', scale_bits=44)"
    assert len(space) == 6


def test_arrays_are_ours_and_read_only() -> None:
    points = GRID.copy()
    space = MetricSpace.from_points(points, unit="km")
    points[0] = 99
    assert space.points is not None
    assert space.points[0].tolist() == [0, 0]
    for array in (space.points, space.distances, space.restrict([1, 2]).distances):
        assert not array.flags.writeable
    for made in (
        MetricSpace.grid(2, 2, cell=1, unit="km").distances,
        MetricSpace.from_matrix([[0, 1], [1, 0]], unit="km").distances,
        MetricSpace.from_graph(2, [(0, 1)], [1.0], unit="km").distances,
    ):
        assert not made.flags.writeable


def test_points_that_numpy_would_make_by_leaving_something_out() -> None:
    masked = np.ma.masked_array(np.eye(3), mask=np.eye(3, dtype=bool))
    for points, came in ((masked, "masked entries"), (np.array([[1j, 0]]), "complex numbers")):
        with pytest.raises(InvalidProblemError, match=f"points: .*{came}"):
            MetricSpace.from_points(points, unit="km")
    assert MetricSpace.from_points(np.ma.masked_array(np.eye(3)), unit="km").n == 3


def test_integers_that_floats_are_not() -> None:
    """2^63 and 2^63 + 1100 would be 2,048 apart, and so less protected than was promised."""
    far = np.array([[2**63], [2**63 + 1100]], dtype=np.uint64)
    with pytest.raises(InvalidProblemError, match="whole coordinates up to 2"):
        MetricSpace.from_points(far, unit="km")
    near = np.array([[2**53], [2**53 - 1100]], dtype=np.int64)
    assert MetricSpace.from_points(near, unit="km").n == 2


def test_beyond_the_matrix_the_digest_is_also_of_the_factor_of_great_circles() -> None:
    places = np.stack([np.linspace(-20, 20, 5200), np.linspace(5, 25, 5200)], axis=1)
    space = MetricSpace.from_points(places, metric="haversine", unit="km")
    assert not space.has_matrix
    assert isinstance(space.source, PointLengths)
    assert space.source.per_unit == ground_factor(places[:, 0]) < 1
    rounder = replace(space, source=replace(space.source, per_unit=1))
    assert rounder.digest != space.digest
