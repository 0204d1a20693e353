"""Every function: its definition, monotone and (k-)submodular on all choices, and how far one record moves it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import CertificateError, InvalidProblemError
from discreet.submodular.matroids.capacities import PartitionMatroid
from discreet.submodular.methods.baselines import Greedy, LazyGreedy
from discreet.submodular.objectives.checker import check
from discreet.submodular.objectives.combine import FromFunction, FromRecords
from discreet.submodular.objectives.concave import ConcaveOverModular, Influence, concave_table
from discreet.submodular.objectives.coverage import Coverage, WeightedCoverage
from discreet.submodular.objectives.entropy import MutualInformation, SensorPlacement
from discreet.submodular.objectives.kinds import AdAllocation, ResourceLocation, TopicInfluence
from discreet.submodular.objectives.objective import MARGINAL_BITS, Objective

N_RECORDS = 5
Chosen = tuple[tuple[int, int], ...]


class Case:
    """A function made from some records of random data, and its definition for one record, in units of 1."""

    def __init__(
        self,
        make: Callable[[Any, list[int]], Objective],
        data: Callable[[np.random.Generator], Any],
        part: Callable[[Any, int, Chosen], float] | None,
        tolerance: float,
    ) -> None:
        self.make, self.data, self.part, self.tolerance = make, data, part, tolerance


def edges(table: Any, keep: list[int]) -> tuple[Any, ...]:
    """The nonzero entries of some records' tables, and their values."""
    places = np.nonzero(table[keep])
    return (*places, table[keep][places])


def saturated(table: Any, keep: list[int]) -> Objective:
    records, elements, weights = edges(table, keep)
    return ConcaveOverModular.saturated(
        records, elements, weights, cap=2.0, n_elements=4, n_records=len(keep)
    )


def root(table: Any, keep: list[int]) -> Objective:
    records, elements, weights = edges(table, keep)
    return ConcaveOverModular(
        records,
        elements,
        weights.astype(np.int64),
        table=concave_table(np.sqrt(np.arange(9) / 8)),
        n_elements=4,
        n_records=len(keep),
    )


def influence(table: Any, keep: list[int]) -> Objective:
    records, elements, chances = edges(table, keep)
    return Influence(records, elements, chances, n_elements=4, n_records=len(keep))


def topics(table: Any, keep: list[int]) -> Objective:
    records, elements, kinds, chances = edges(table, keep)
    return TopicInfluence(
        records, elements, kinds, chances, n_elements=3, n_topics=2, n_records=len(keep)
    )


def advertising(table: Any, keep: list[int]) -> Objective:
    records, elements, kinds, _ = edges(table, keep)
    return AdAllocation(records, elements, kinds, n_elements=3, n_agencies=3, n_records=len(keep))


def resources(table: Any, keep: list[int]) -> Objective:
    return ResourceLocation([table[keep][:, :, k] for k in range(2)])


def from_records(table: Any, keep: list[int]) -> Objective:
    return FromRecords(
        [table[i] for i in keep],
        lambda row, chosen: float(min(sum(row[e] for e in chosen), 1.0)),
        n_elements=4,
    )


def kinds_from_records(table: Any, keep: list[int]) -> Objective:
    return FromRecords(
        [table[i] for i in keep],
        lambda row, chosen: float(
            sum(max((row[e, k] for e in chosen[k]), default=0.0) for k in range(2)) / 2
        ),
        n_elements=3,
        n_kinds=2,
    )


def quarters(*shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(0, 5, (N_RECORDS, *shape)) / 4


def missed(chances: Any) -> float:
    return float(np.prod([1 - p for p in chances]))


DECOMPOSABLE: dict[str, Case] = {
    "saturated": Case(
        saturated, quarters(4), lambda t, x, s: min(sum(t[x, e] for e, _ in s) / 2, 1), 1e-4
    ),
    "root": Case(
        root,
        lambda rng: rng.integers(0, 4, (N_RECORDS, 4)),
        lambda t, x, s: (min(sum(t[x, e] for e, _ in s), 8) / 8) ** 0.5,
        1e-7,
    ),
    "influence": Case(
        influence, quarters(4), lambda t, x, s: 1 - missed(t[x, e] for e, _ in s), 2e-3
    ),
    "topics": Case(
        topics, quarters(3, 2), lambda t, x, s: 1 - missed(t[x, e, k] for e, k in s), 2e-3
    ),
    "advertising": Case(
        advertising,
        lambda rng: rng.integers(0, 2, (N_RECORDS, 3, 3)),
        lambda t, x, s: len({k for e, k in s if t[x, e, k]}) / 3,
        1e-8,
    ),
    "resources": Case(
        resources,
        quarters(3, 2),
        lambda t, x, s: (
            sum(max((t[x, e, k] for e, i in s if i == k), default=0.0) for k in range(2)) / 2
        ),
        1e-4,
    ),
    "from records": Case(
        from_records, quarters(4), lambda t, x, s: min(sum(t[x, e] for e, _ in s), 1), 1e-4
    ),
    "kinds from records": Case(
        kinds_from_records,
        quarters(3, 2),
        lambda t, x, s: (
            sum(max((t[x, e, k] for e, i in s if i == k), default=0.0) for k in range(2)) / 2
        ),
        1e-4,
    ),
}


def sensors(table: Any, keep: list[int]) -> Objective:
    return SensorPlacement(table[keep][:, :, :2], n_values=3, most_records=6)


def mutual(table: Any, keep: list[int]) -> Objective:
    return MutualInformation(table[keep][:, :, 0], table[keep][:, 0, 2], n_values=3, most_records=6)


def readings(rng: np.random.Generator) -> Any:
    return rng.integers(0, 3, (9, 3, 3))


WHOLE = {"sensors": Case(sensors, readings, None, 0), "mutual": Case(mutual, readings, None, 0)}


def choices(f: Objective) -> list[Chosen]:
    """Every choice, each in the order of its elements."""
    return [
        tuple((e, kind - 1) for e, kind in enumerate(kinds) if kind)
        for kinds in itertools.product(range(f.n_kinds + 1), repeat=f.n_elements)
    ]


@pytest.mark.parametrize("name", DECOMPOSABLE)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_values_are_those_of_the_definition(name: str, seed: int) -> None:
    """Whole and for each record alone, and a record's part never exceeds 1 unit."""
    case = DECOMPOSABLE[name]
    data = case.data(np.random.default_rng(seed))
    assert case.part is not None
    f = case.make(data, list(range(N_RECORDS)))
    unit = 2**f.scale_bits
    alone = [case.make(data, [x]) for x in range(N_RECORDS)]
    for chosen in choices(f):
        parts = [g.value(chosen) for g in alone]
        assert f.value(chosen) == sum(parts)
        for x, part in enumerate(parts):
            assert 0 <= part <= unit
            assert part / unit == pytest.approx(case.part(data, x, chosen), abs=case.tolerance)


@pytest.mark.parametrize("name", DECOMPOSABLE)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_function_is_monotone_and_submodular(name: str, seed: int) -> None:
    case = DECOMPOSABLE[name]
    f = case.make(case.data(np.random.default_rng(seed)), list(range(N_RECORDS)))
    assert f.decomposable
    # What is rounded as a whole may be off by one unit for each record in each of two gains.
    certificate = check(f, slack=0 if f.submodular else 4 * N_RECORDS)
    assert certificate.passed, certificate


@pytest.mark.parametrize("name", DECOMPOSABLE)
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 2**32 - 1))
def test_states_agree_with_values_and_subsamples_with_fewer_records(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = DECOMPOSABLE[name]
    data = case.data(rng)
    kept = rng.random(N_RECORDS) < 0.5
    f = case.make(data, list(range(N_RECORDS)))
    g = case.make(data, np.flatnonzero(kept).tolist())
    state, other = f.start(kept), g.start()
    for e in rng.permutation(f.n_elements).tolist():
        gains = state.gains()
        assert (gains == other.gains()).all()
        kind = int(rng.integers(f.n_kinds))
        before, gain = state.value, state.gain(e, kind)
        state.add(e, kind)
        other.add(e, kind)
        assert state.value - before == gains[e, kind] == gain
        assert not state.gains([e]).any()
        assert state.value == other.value == g.value(state.members)


@pytest.mark.parametrize("name", WHOLE)
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), keep=st.integers(1, 8))
def test_one_record_moves_entropies_by_the_proven_amount(name: str, seed: int, keep: int) -> None:
    """Scores of all sets move within one interval of length 1, for fewer and for more records than were declared."""
    data = WHOLE[name].data(np.random.default_rng(seed))
    with_one = WHOLE[name].make(data, list(range(keep + 1)))
    without = WHOLE[name].make(data, list(range(keep)))
    unit = 2**with_one.scale_bits
    moves = [with_one.value(chosen) - without.value(chosen) for chosen in choices(with_one)]
    assert max(abs(move) for move in moves) <= unit * with_one.sensitivity
    assert max(moves) - min(moves) <= unit
    if name == "sensors":
        assert min(moves) >= 0


def entropy(table: Any) -> float:
    counts = np.unique(table, axis=0, return_counts=True)[1] / len(table)
    return float(-(counts * np.log2(counts)).sum())


def test_entropies_are_those_of_the_definition() -> None:
    data = np.random.default_rng(7).integers(0, 3, (50, 3, 3))
    unit = (np.log2(50) + 49 * np.log2(50 / 49)) / 50
    f = SensorPlacement(data, n_values=3, most_records=50)
    g = MutualInformation(data[:, :, 0], data[:, 0, 2], n_values=3, most_records=50)
    label = data[:, 0, 2:]
    for chosen in choices(f):
        seen = data[:, [e for e, _ in chosen], [k for _, k in chosen]]
        assert f.value(chosen) / 2**30 * unit == pytest.approx(
            entropy(seen) if chosen else 0, abs=1e-6
        )
    for chosen in choices(g):
        seen = data[:, [e for e, _ in chosen], 0]
        both = np.concatenate([seen, label], axis=1)
        information = entropy(seen) + entropy(label) - entropy(both) if chosen else 0.0
        assert g.value(chosen) / 2**30 * unit == pytest.approx(information, abs=1e-6)
    for h in (f, g):
        state = h.start()
        state.add(1)
        before, gains = state.value, state.gains()
        state.add(2)
        assert state.value - before == gains[2, 0]
        # A rounded increment is off by less than one unit, and 50 of them are added up in each of four terms.
        monotone = check(h, slack=400).checks[1]
        assert monotone.passed
    assert check(f, slack=400).passed
    assert not check(g, slack=400).passed


def test_most_records_bounds_what_a_record_counts() -> None:
    """Beyond the declared number a cell's further records add nothing to the entropy, and the proof holds."""
    data = np.zeros((40, 1, 1), dtype=np.int64)
    data[::2] = 1
    few = SensorPlacement(data, n_values=2, most_records=4).value([0])
    many = SensorPlacement(data, n_values=2, most_records=40).value([0])
    assert 0 < few < many <= 40 * 2**30


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), whole=st.booleans())
def test_marginals_of_influence_are_expectations(seed: int, *, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2 if whole else 5, 4) / (1 if whole else 4)
    f = influence(rng.integers(0, 5, (N_RECORDS, 4)) / 4, list(range(N_RECORDS)))
    expected = np.zeros(4)
    for chosen in choices(f):
        inside = np.isin(np.arange(4), [e for e, _ in chosen])
        state = f.start()
        for e, _ in chosen:
            state.add(e)
        expected += np.where(inside, x, 1 - x).prod() * state.gains()[:, 0] / 2**f.scale_bits
    w = f.multilinear_marginals(x)
    assert w is not None
    assert (w * 2**MARGINAL_BITS == np.rint(w * 2**MARGINAL_BITS)).all()
    assert w == pytest.approx(expected, abs=2e-6 * N_RECORDS)
    kept = rng.random(N_RECORDS) < 0.5
    some = f.multilinear_marginals(x, kept)
    rest = f.multilinear_marginals(x, ~kept)
    assert some is not None
    assert rest is not None
    assert (some + rest == w).all()


def test_functions_without_a_closed_form_have_none() -> None:
    f = root(np.ones((N_RECORDS, 4), dtype=np.int64), list(range(N_RECORDS)))
    assert f.multilinear_marginals([0.5] * 4) is None


def test_lazy_greedy_keeps_the_choice_for_several_kinds() -> None:
    rng = np.random.default_rng(11)
    table = (rng.random((80, 30, 3)) < 0.1) * rng.random((80, 30, 3))
    f = TopicInfluence(*edges(table, list(range(80))), n_elements=30, n_topics=3)
    matroid = PartitionMatroid(np.arange(30) % 4, [3, 0, 5, 1])
    assert LazyGreedy().choose(f, matroid) == Greedy().choose(f, matroid)
    with pytest.raises(InvalidProblemError, match="a function known to be submodular"):
        LazyGreedy().choose(sensors(np.zeros((4, 3, 3), dtype=int), [0, 1]), matroid_of(3))


def matroid_of(n: int) -> PartitionMatroid:
    return PartitionMatroid([0] * n, 1)


def test_a_function_of_records_that_is_not_monotone_keeps_its_proof() -> None:
    """Along any order gains stay non-negative, and one record's add up to at most 1."""
    wild = FromRecords(
        [0], lambda _, chosen: [0.5, 7.0, -3.0, float("nan"), 0.2][len(chosen)], n_elements=4
    )
    unit = 2**wild.scale_bits
    for order in itertools.permutations(range(4)):
        state, gained = wild.start(), []
        for e in order:
            gained.append(state.gain(e))
            state.add(e)
        assert min(gained) >= 0
        assert sum(gained) == state.value <= unit


def test_any_function_is_rounded_down_and_may_fall() -> None:
    f = FromFunction(
        lambda s: len(s[0]) - 0.3 * len(s[1]),
        sensitivity="0.5",
        n_elements=2,
        n_kinds=2,
        scale_bits=2,
    )
    state = f.start()
    assert state.gains().tolist() == [[4, -2], [4, -2]]
    state.add(0, 1)
    assert (state.value, state.gain(0), state.gain(1, 0)) == (-2, 0, 4)
    with pytest.raises(CertificateError, match="monotone"):
        check(f).raise_for_failure()


def test_the_checker_rejects_what_breaks_each_property() -> None:
    def worst(function: Callable[[Any], float], kinds: int = 1) -> dict[str, Any]:
        f = FromFunction(function, sensitivity=1, n_elements=2, n_kinds=kinds, scale_bits=1)
        return {c.name: c.residual for c in check(f).checks if not c.passed}

    assert worst(lambda s: -len(s)) == {"monotone": 2}
    assert worst(lambda s: len(s) ** 2) == {"gains fall as sets grow": 4}
    assert worst(lambda s: len(s[0]) - 2 * len(s[1]), kinds=2) == {
        "monotone": 4,
        "kinds of an element do not cancel": 2,
    }
    assert worst(lambda s: min(len(s[0]), 1) - 0.5 * min(len(s[1]), 1), kinds=2) == {
        "monotone": 1,
        "gains fall as sets grow": 1,
        "kinds of an element do not cancel": 1,
    }
    with pytest.raises(InvalidProblemError, match="objective: expected at most 5000 choices"):
        check(Coverage(np.zeros((1, 13), dtype=np.bool_)))


EDGES: list[tuple[Callable[..., Any], list[list[Any]], list[list[Any]]]] = [
    (
        lambda r, e, w: ConcaveOverModular(r, e, w, table=[0, 1, 2], n_elements=2),
        [[0, 1], [0, 1], [1, 1]],
        [[0, 0, 0, 0], [2, -1, 0, "x"], [1, 1, 0.5, 1]],
    ),
    (
        lambda r, e, w: ConcaveOverModular.saturated(r, e, w, cap=1, n_elements=2),
        [[0, 1], [0, 1], [0.5, 1.0]],
        [[0, 1], [0, 0], [-1.0, np.nan]],
    ),
    (
        lambda r, e, w: Influence(r, e, w, n_elements=2),
        [[0, 1], [0, 1], [0.5, 1.0]],
        [[0, 1, 0.5, None], [0, 9, 0, 0], [np.nan, 0.5, 0.5, 0.5]],
    ),
    (
        lambda r, e, w, t: TopicInfluence(r, e, t, w, n_elements=2, n_topics=2),
        [[0, 1], [0, 1], [0.5, 1.0], [0, 1]],
        [[0, 1], [0, 0], [0.5, 0.5], [2, -1]],
    ),
    (
        lambda r, e, a: AdAllocation(r, e, a, n_elements=2, n_agencies=2),
        [[0, 1], [0, 1], [0, 1]],
        [[0, 1, 1], [2, "x", 0], [0, 0, 7]],
    ),
    (
        lambda r, e: Coverage.from_edges(r, e, n_elements=2),
        [[0, 1], [0, 1]],
        [[0, 1, 0], [5, -1, 0.5]],
    ),
    (
        lambda r, e: WeightedCoverage(r, e, weights=[1.0, 1.0], n_elements=2),
        [[0, 1], [0, 1]],
        [[2, -1, "x"], [0, 0, 0]],
    ),
]


@pytest.mark.parametrize(("make", "edges", "odd"), EDGES)
def test_edges_that_do_not_count_change_no_value_and_are_told_to_the_curator_alone(
    capsys: pytest.CaptureFixture[str],
    make: Callable[..., Any],
    edges: list[list[Any]],
    odd: list[list[Any]],
) -> None:
    """A refusal would tell that there is such an edge, and one entry decides about no other."""
    plain, mixed = make(*edges), make(*(a + b for a, b in zip(edges, odd, strict=True)))
    pairs = [(e, kind) for e in range(2) for kind in range(plain.n_kinds)]
    assert [mixed.value([pair]) for pair in pairs] == [plain.value([pair]) for pair in pairs]
    assert any(plain.value([pair]) for pair in pairs)
    told = capsys.readouterr()
    assert not told.out
    assert not told.err or "PRIVATE" in told.err


def test_a_quarter_of_a_million_records_stay_exact() -> None:
    """Sums of many parts of 30 bits stay far from the end of a machine word."""
    n = 250_000
    f = Influence(np.arange(n), np.zeros(n, dtype=np.int64), np.ones(n), n_elements=1)
    assert f.value([0]) == n * f.value([0]) // n
    assert f.value([0]) / (n * 2**30) == pytest.approx(1, abs=1e-6)
    assert f.value([0]) <= n * 2**30


NONSENSE: list[tuple[Callable[[], object], str]] = [
    (lambda: concave_table([0, 0.2, 0.9]), "values: expected 0 first, then a concave rise"),
    (lambda: concave_table([0, 0.8, 1.5]), "values: expected 0 first, then a concave rise"),
    (lambda: concave_table([0.1, 0.2]), "values: expected 0 first"),
    (lambda: concave_table([0.0]), "values: expected at least two finite numbers"),
    (
        lambda: ConcaveOverModular([0], [0], [1], table=[0, 1, 3], n_elements=1),
        "table: expected 0 first, then a concave rise to at most",
    ),
    (
        lambda: ConcaveOverModular.saturated([0], [0], [1.0], cap=0, n_elements=1),
        "cap: expected a positive number",
    ),
    (
        lambda: TopicInfluence([0], [0], [0], [0.5], n_elements=1, n_topics=0),
        "n_topics: expected a positive integer",
    ),
    (lambda: ResourceLocation([]), "similarities: expected a table for each resource"),
    (
        lambda: ResourceLocation([[[0.5]], [[0.5, 0.5]]]),
        "similarities: expected a table for each resource, all of one shape",
    ),
    (
        lambda: SensorPlacement([[0]], n_values=2, most_records=4),
        "readings: expected a table of integers in 3 dimensions",
    ),
    (
        lambda: SensorPlacement(np.zeros((2, 0, 1), int), n_values=2, most_records=4),
        "readings: expected at least one place and kind",
    ),
    (
        lambda: SensorPlacement([[[0]]], n_values=1, most_records=4),
        "n_values: expected an integer of at least 2",
    ),
    (
        lambda: SensorPlacement([[[0]]], n_values=2, most_records=1),
        "most_records: expected an integer of at least 2",
    ),
    (
        lambda: SensorPlacement([[[0]]], n_values=2, most_records=4).start([True]),
        "records: expected None where F is no sum over records",
    ),
    (
        lambda: MutualInformation([[0]], [0, 1], n_values=2, most_records=4),
        "labels: expected one for each record",
    ),
    (
        lambda: MutualInformation([[0]], [0], n_values=2, most_records=4).start([True]),
        "records: expected None where F is no sum over records",
    ),
    (
        lambda: FromRecords([0], lambda *_: 0.0, n_elements=0),
        "n_elements: expected a positive integer",
    ),
    (
        lambda: FromFunction(len, sensitivity=0, n_elements=1),
        "sensitivity: expected a positive number",
    ),
    (
        lambda: FromFunction(lambda _: 1.0, sensitivity=1, n_elements=1),
        "function: expected a normalized one, 0 for the empty set, got another value",
    ),
    (
        lambda: FromFunction(lambda s: 0.0 if not s else 1e999, sensitivity=1, n_elements=1).value(
            [0]
        ),
        "function: expected a finite value, got another",
    ),
    (
        lambda: FromFunction(len, sensitivity=1, n_elements=1).start([True]),
        "records: expected None where F is no sum over records",
    ),
]


@pytest.mark.parametrize(("make", "message"), NONSENSE)
def test_nonsense_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        make()


def test_weights_and_chances_outside_of_their_range_are_clipped_and_counted() -> None:
    values = [np.nan, -1.0, 7.0, 0.5]
    edges = [0, 1, 2, 3]
    for made in (
        ConcaveOverModular.saturated(edges, edges, values, cap=1, n_elements=4),
        Influence(edges, edges, values, n_elements=4),
    ):
        assert [round(made.value([e]) / 2**made.scale_bits, 3) for e in edges] == [0, 0, 1, 0.5]
        assert made.clipped == 3
