"""Coverage and facility location against their definitions, and the laws that every function keeps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.core.errors import InvalidProblemError
from discreet.submodular.objectives.coverage import Coverage, WeightedCoverage
from discreet.submodular.objectives.facility import FacilityLocation
from discreet.submodular.objectives.kinds import ResourceLocation
from discreet.submodular.objectives.objective import MARGINAL_BITS, Objective, ObjectiveSpec

SHAPES = st.tuples(st.integers(0, 7), st.integers(1, 4), st.integers(0, 2**32 - 1))


def tables(shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """A table of similarities, with ties, zeros and entries beyond [0, 1]."""
    n, m, seed = shape
    return np.random.default_rng(seed).integers(-1, 6, (n, m)) / 4


def made(kind: str, table: NDArray[np.float64]) -> Objective:
    m = table.shape[1]
    if kind == "facility":
        return FacilityLocation(table, scale_bits=4)
    if kind == "coverage":
        return Coverage(table > 0.5)
    records, elements = np.nonzero(table > 0.5)
    return WeightedCoverage(records, elements, weights=table[:, 0], n_elements=m, scale_bits=3)


def by_definition(kind: str, table: NDArray[np.float64], chosen: list[int]) -> NDArray[np.float64]:
    """Each record's part, in units of 1."""
    if not chosen:
        return np.zeros(len(table))
    if kind == "facility":
        return np.asarray(np.floor(np.clip(table[:, chosen], 0, 1).max(axis=1) * 16) / 16)
    covered = (table[:, chosen] > 0.5).any(axis=1).astype(np.float64)
    weight = np.floor(np.clip(table[:, 0], 0, 1) * 8) / 8
    return np.asarray(covered if kind == "coverage" else covered * weight)


KINDS = ["facility", "coverage", "weighted"]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=25)
@given(shape=SHAPES)
def test_values_and_gains_are_those_of_the_definition(
    kind: str, shape: tuple[int, int, int]
) -> None:
    table = tables(shape)
    f = made(kind, table)
    unit = 2**f.scale_bits
    m = f.n_elements
    for size in range(m + 1):
        for chosen in itertools.combinations(range(m), size):
            worth = by_definition(kind, table, list(chosen)).sum() * unit
            assert f.value(chosen) == worth
            state = f.start()
            for e in reversed(chosen):
                state.add(e)
            assert state.value == worth
            gains = state.gains()
            assert gains.shape == (m, 1)
            for e in range(m):
                grown = by_definition(kind, table, sorted({*chosen, e})).sum() * unit
                assert gains[e, 0] == state.gain(e) == grown - worth
            assert state.gains([m - 1]).tolist() == [[gains[m - 1, 0]]]


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=25)
@given(shape=SHAPES)
def test_a_subsample_is_the_function_of_the_kept_records(
    kind: str, shape: tuple[int, int, int]
) -> None:
    table = tables(shape)
    kept = np.random.default_rng(shape[2]).random(len(table)) < 0.5
    f, g = made(kind, table), made(kind, table[kept])
    ours, theirs = f.start(kept), g.start()
    for e in range(f.n_elements):
        assert (ours.gains() == theirs.gains()).all()
        ours.add(e)
        theirs.add(e)
        assert ours.value == theirs.value
    x = np.random.default_rng(shape[2]).random(f.n_elements)
    w, v = f.multilinear_marginals(x, kept), g.multilinear_marginals(x)
    assert w is not None
    assert v is not None
    assert (w == v).all()


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=25)
@given(shape=SHAPES, whole=st.booleans())
def test_marginals_are_the_expectations_rounded_down_for_each_record(
    kind: str, shape: tuple[int, int, int], *, whole: bool
) -> None:
    table = tables(shape)
    f = made(kind, table)
    m = f.n_elements
    x = np.random.default_rng(shape[2]).integers(0, 2 if whole else 5, m) / (1 if whole else 4)
    expected = np.zeros(m)
    for size in range(m + 1):
        for chosen in itertools.combinations(range(m), size):
            inside = np.isin(np.arange(m), chosen)
            chance = np.where(inside, x, 1 - x).prod()
            before = by_definition(kind, table, list(chosen)).sum()
            for e in range(m):
                after = by_definition(kind, table, sorted({*chosen, e})).sum()
                expected[e] += chance * (after - before)
    w = f.multilinear_marginals(x)
    assert w is not None
    assert (w * 2**MARGINAL_BITS == np.rint(w * 2**MARGINAL_BITS)).all()
    assert (w <= expected + 1e-12).all()
    assert (w >= expected - 1.01 * len(table) * 2.0**-MARGINAL_BITS - 1e-12).all()


def test_two_choices_of_one_function_grow_on_their_own() -> None:
    for kind in KINDS:
        f = made(kind, np.array([[1.0, 0.25, 0.75], [0.0, 1.0, 0.75]]))
        first, second = f.start(), f.start()
        for element in (0, 1):
            second.add(element)
        first.add(0)
        assert first.members == ((0, 0),)
        assert second.members == ((0, 0), (1, 0))
        assert first.value == f.value([0])
        assert second.value == f.value([0, 1])
        assert first.gain(1) == second.value - first.value


def test_a_file_is_read_as_the_array_that_it_holds(tmp_path: Path) -> None:
    table = np.random.default_rng(3).random((50, 4)).astype(np.float32)
    np.save(tmp_path / "similarity.npy", table)
    read = FacilityLocation(tmp_path / "similarity.npy")
    spilled = FacilityLocation(str(tmp_path / "similarity.npy"), spill=tmp_path)
    plain = FacilityLocation(table.astype(np.float64))
    for f in (read, spilled):
        assert (f.served() == plain.served()).all()
        assert f.value([0, 3]) == plain.value([0, 3])
    assert [path.name for path in tmp_path.iterdir()] == ["similarity.npy"]


def test_slices_of_the_source_join(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(5).random((31, 3))
    whole = FacilityLocation(table).served()
    monkeypatch.setattr("discreet.submodular.objectives.facility._BLOCK_ENTRIES", 12)
    assert (FacilityLocation(table).served() == whole).all()


@pytest.mark.parametrize("bits", [1, 7, 8, 15, 16, 30])
def test_similarities_round_down_at_every_width(bits: int) -> None:
    table = np.array([[0.0, 0.3, 1.0, 7.0, -2.0, 1 - 2.0**-40]])
    f = FacilityLocation(table, scale_bits=bits)
    expected = [0, int(0.3 * 2**bits), 2**bits, 2**bits, 0, 2**bits - 1]
    assert f.served().ravel().tolist() == expected
    assert f.start().gains().ravel().tolist() == expected


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_])
@pytest.mark.parametrize("bits", [7, 15, 30])
def test_similarities_of_every_type_are_read_alike(kind: type, bits: int) -> None:
    table: NDArray[Any] = np.array([[0, 1, 1], [1, 0, 0]]).astype(kind)
    f = FacilityLocation(table, scale_bits=bits)
    assert f.served().tolist() == [[0, 2**bits], [2**bits, 0], [2**bits, 0]]
    halves: NDArray[Any] = np.array([[0.5, 0.25]]).astype(kind)
    expected = [[0.5], [0.25]] if np.issubdtype(kind, np.floating) else halves.T.tolist()
    read = FacilityLocation(halves, scale_bits=bits).served() / 2**bits
    assert read.tolist() == expected


def test_distances_need_a_public_farthest_one() -> None:
    points = FacilityLocation.from_points(
        [[0.0, 0.0]], [[0.0, 0.0], [3.0, 4.0]], farthest=10, metric="euclidean", scale_bits=4
    )
    assert points.served().ravel().tolist() == [16, 8]
    with pytest.raises(InvalidProblemError, match="farthest: expected a positive number, got inf"):
        FacilityLocation.from_points([[1.0]], [[0.0]], farthest=np.inf)


def test_edges_may_come_twice_and_in_any_order() -> None:
    f = Coverage.from_edges(["b", "a", "b", "b"], [0, 1, 0, 1], n_elements=3)
    assert (f.n_records, f.value([0]), f.value([1]), f.value([2])) == (2, 1, 2, 0)
    nothing = Coverage.from_edges([], [], n_elements=2)
    assert nothing.start().gains().tolist() == [[0], [0]]


def test_bitsets_are_right_across_words() -> None:
    table = np.random.default_rng(1).random((200, 3)) < 0.4
    f = Coverage(table)
    assert f.start().gains().ravel().tolist() == table.sum(axis=0).tolist()
    records, elements = np.nonzero(table)
    g = Coverage.from_edges(records, elements, n_elements=3)
    assert g.value([0, 2]) == f.value([0, 2]) == (table[:, 0] | table[:, 2]).sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FacilityLocation([0.5]), "similarity: expected a table of numbers"),
        (lambda: FacilityLocation([["a"]]), "similarity: expected a table of numbers"),
        (lambda: FacilityLocation([[0.5]], scale_bits=31), "scale_bits: expected an integer"),
        (
            lambda: FacilityLocation.from_points([[0.0]], [[0.0]], farthest=1, metric="taxi"),
            "metric: expected manhattan, euclidean or cosine, got 'taxi'",
        ),
        (
            lambda: FacilityLocation.from_points([[0.0]], [[np.inf]], farthest=1),
            "elements: expected a table of coordinates",
        ),
        (
            lambda: FacilityLocation.from_points([[0.0]], [[0.0, 1.0]], farthest=1),
            "records: expected points of 2 dimensions, got something else",
        ),
        (lambda: Coverage([[1, 0]]), "incidence: expected a table of booleans"),
        (lambda: Coverage.from_edges([0, 1], [0], n_elements=3), "records: expected one for each"),
        (lambda: Coverage.from_edges([0], [0], n_elements=0), "n_elements: expected a positive"),
        (
            lambda: WeightedCoverage([0], [0], weights=[[1.0]], n_elements=1),
            "weights: expected one number for each record",
        ),
        (
            lambda: WeightedCoverage([0], [0], weights=["heavy"], n_elements=1),
            "weights: expected numbers",
        ),
    ],
)
def test_nonsense_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        make()


def test_unknown_elements_are_refused_by_name() -> None:
    f = Coverage([[True, False]])
    state = f.start()
    state.add(0)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: state.add(0), "element: expected one that is not yet chosen, got 0"),
        (lambda: state.add(2), "element: expected 0 to 1, got 2"),
        (lambda: state.gain(0, 1), "kind: expected 0 to 0, got 1"),
        (lambda: state.gains([0, -1]), "elements: expected 0 to 1, got -1"),
        (lambda: state.gains([0.5]), "elements: expected a sequence of integers"),
        (lambda: f.value([1, 1]), "chosen: expected different elements"),
        (lambda: f.start([True, False]), "records: expected one boolean for each record"),
        (lambda: f.multilinear_marginals([0.5, 1.5]), "x: expected 2 numbers from 0 to 1"),
    ]
    for wrong, message in cases:
        with pytest.raises(InvalidProblemError, match=message):
            wrong()
    assert state.gains([]).shape == (0, 1)


def test_what_is_shown_is_public() -> None:
    """Neither the representation nor the public inputs tell how many records there are."""
    small, large = FacilityLocation(np.ones((3, 2))), FacilityLocation(np.ones((17, 2)))
    assert repr(small) == repr(large) == "FacilityLocation(2 elements)"
    facts = [ObjectiveSpec.of(f) for f in (small, large)]
    assert facts[0] == facts[1]
    assert facts[0].assumed_public(2) == facts[1].assumed_public(2)
    assert repr(large.start()) == "GrowingChoice(0 chosen)"
    assert facts[0].assumed_public(2) != facts[0].assumed_public(3)
    assert small.sensitivity == 1


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int16, np.uint8, np.int64])
def test_similarities_on_any_public_scale_are_those_on_the_scale_of_one(kind: Any) -> None:
    table = np.random.default_rng(0).integers(0, 101, (40, 5))
    whole = FacilityLocation(table.astype(kind), scale=100, scale_bits=20)
    assert np.array_equal(whole.served(), FacilityLocation(table / 100, scale_bits=20).served())
    assert whole.clipped == 0
    assert whole.scale == 100


@pytest.mark.parametrize("scale", ["0.25", 1, 100])
def test_values_are_clipped_and_counted_but_never_refused(scale: Any) -> None:
    top = float(Fraction(scale))
    table = [[np.nan, np.inf, -np.inf, 2 * top, -top, 0.0, top / 2, top]]
    opened = FacilityLocation(table, scale=scale, scale_bits=2)
    assert opened.served()[:, 0].tolist() == [0, 4, 0, 4, 0, 0, 2, 4]
    assert opened.clipped == 5
    offered = ResourceLocation([table, table], scale=scale, scale_bits=3)
    assert [offered.value([(e, 0)]) for e in range(8)] == [0, 4, 0, 4, 0, 0, 2, 4]
    assert offered.clipped == 10


@pytest.mark.parametrize("scale", [0, -1, "nan", "inf", "many"])
def test_a_scale_is_a_positive_number(scale: Any) -> None:
    with pytest.raises(InvalidProblemError, match="scale"):
        FacilityLocation.spec(scale=scale)


FEATURES = np.random.default_rng(3).normal(size=(40, 5))


def test_rows_of_features_are_compared_by_their_cosine_and_negative_ones_count_nothing() -> None:
    public = np.vstack([np.eye(5), np.zeros(5)])
    f = FacilityLocation.from_points(FEATURES, public, metric="cosine", scale_bits=20)
    lengths = np.linalg.norm(FEATURES, axis=1, keepdims=True)
    expected = np.clip(FEATURES / lengths @ public.T, 0, 1)
    assert np.abs(f.served().T / 2**20 - expected).max() < 2**-19


@pytest.mark.parametrize(
    "build",
    [
        lambda more: FacilityLocation.from_points(FEATURES, FEATURES[:9], metric="cosine", **more),
        lambda more: FacilityLocation.from_points(FEATURES, FEATURES.copy(), farthest=9, **more),
        lambda more: FacilityLocation(np.exp(-np.square(FEATURES[:, :1] - FEATURES[:, 0])), **more),
        lambda more: FacilityLocation(100 * np.eye(5), scale=100, **more),
    ],
)
def test_private_records_are_no_candidates_unless_they_are_declared_public(build: Any) -> None:
    with pytest.raises(InvalidProblemError, match="public_elements=True declares"):
        build({})
    assert build({"public_elements": True}).n_elements > 1


def test_what_similarities_look_like_is_no_reason_to_refuse_after_a_charge() -> None:
    opened = FacilityLocation.spec().open(np.eye(5), 5)
    assert opened.value([0]) == 2**15
    assert ResourceLocation([np.eye(5)]).value([(0, 0)]) > 0


def test_arguments_of_other_libraries_are_answered_by_a_call_for_features() -> None:
    made: Any = FacilityLocation
    with pytest.raises(
        InvalidProblemError, match=r"from_points\(records, elements, metric='cosine'\)"
    ):
        made(FEATURES, metric="cosine")
    with pytest.raises(InvalidProblemError, match="farthest: expected none with cosines"):
        FacilityLocation.from_points(FEATURES, np.eye(5), metric="cosine", farthest=1)
